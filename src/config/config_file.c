#include "config/config_file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

#define OWNED CYAML_FLAG_POINTER /* libcyaml allocates it */
#define MAYBE CYAML_FLAG_OPTIONAL
#define VALUE_MAX 4096
#define TEXT(type, field) CYAML_FIELD_STRING_PTR(#field, OWNED | MAYBE, type, field, 1, VALUE_MAX)

/* One field for each row of limit_defs, filled before the first use: a new limit is a key at once.
 */
static cyaml_schema_field_t limit_fields[N_LIMITS + 1];

static cyaml_schema_field_t retention_fields[N_RETENTIONS + 1];

static cyaml_schema_field_t text_field(const char *key, size_t index)
{
    return (cyaml_schema_field_t){
        .key = key,
        .data_offset = (uint32_t)(index * sizeof(char *)),
        .value = { CYAML_VALUE_STRING(OWNED | MAYBE, char, 1, VALUE_MAX) },
    };
}

static void fill_fields(void)
{
    for (size_t i = 0; i < N_LIMITS; i++)
        limit_fields[i] = text_field(limit_defs[i].option, i);
    for (size_t i = 0; i < N_RETENTIONS; i++)
        retention_fields[i] = text_field(retention_defs[i].key, i);
}

static const cyaml_schema_field_t network_fields[] = {
    TEXT(struct config_network, mode),
    CYAML_FIELD_SEQUENCE("allow_hosts", OWNED | MAYBE, struct config_network, allow_hosts,
                         &document_text, 0, NETWORK_MAX_RULES),
    CYAML_FIELD_BOOL_PTR("allow_dns", OWNED | MAYBE, struct config_network, allow_dns),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t language_fields[] = {
    TEXT(struct config_language, file),
    TEXT(struct config_language, name),
    TEXT(struct config_language, binary),
    TEXT(struct config_language, version),
    CYAML_FIELD_END,
};

static const cyaml_schema_value_t language_entry = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct config_language, language_fields),
};

static const cyaml_schema_field_t root_fields[] = {
    TEXT(struct config_root, tenant),
    TEXT(struct config_root, name),
    TEXT(struct config_root, path),
    TEXT(struct config_root, mode),
    CYAML_FIELD_END,
};

static const cyaml_schema_value_t root_entry = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct config_root, root_fields),
};

static const cyaml_schema_field_t http_fields[] = {
    CYAML_FIELD_SEQUENCE_COUNT("roots", OWNED | MAYBE, struct config_http, roots, n_roots,
                               &root_entry, 0, 64),
    TEXT(struct config_http, collector),
    TEXT(struct config_http, memory),
    TEXT(struct config_http, share),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t engine_fields[] = {
    TEXT(struct config_engine, share),
    CYAML_FIELD_END,
};

/* What both files can have comes first. */
static const cyaml_schema_field_t document_fields[] = {
    CYAML_FIELD_MAPPING("limits", MAYBE, struct config_document, limits, limit_fields),
    CYAML_FIELD_MAPPING("network", MAYBE, struct config_document, network, network_fields),
    CYAML_FIELD_SEQUENCE("exclude", OWNED | MAYBE, struct config_document, exclude, &document_text,
                         0, EXCLUDE_MAX_PATTERNS),
    CYAML_FIELD_SEQUENCE("include", OWNED | MAYBE, struct config_document, include, &document_text,
                         0, EXCLUDE_MAX_PATTERNS),
    TEXT(struct config_document, policy),
    TEXT(struct config_document, require),
    TEXT(struct config_document, audit),
    TEXT(struct config_document, backend),
    CYAML_FIELD_MAPPING("compile_limits", MAYBE, struct config_document, compile_limits,
                        limit_fields),
    CYAML_FIELD_MAPPING("retention", MAYBE, struct config_document, retention, retention_fields),
    CYAML_FIELD_SEQUENCE_COUNT("languages", OWNED | MAYBE, struct config_document, languages,
                               n_languages, &language_entry, 0, 128),
    CYAML_FIELD_SEQUENCE("secrets", OWNED | MAYBE, struct config_document, secrets, &document_text,
                         0, SECRETS_MAX),
    CYAML_FIELD_MAPPING("http", MAYBE, struct config_document, http, http_fields),
    CYAML_FIELD_MAPPING("engine", MAYBE, struct config_document, engine, engine_fields),
    CYAML_FIELD_END,
};

static const cyaml_schema_value_t document_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct config_document, document_fields),
};

/* The project's file comes with a repository: it must not be able to point elsewhere. */
static int open_text(enum config_kind kind, const char *path)
{
    const int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;

    return open(path, kind == CONFIG_OF_PROJECT ? flags | O_NOFOLLOW : flags);
}

static int check_file(const char *path, const struct stat *st, sbr_error *err)
{
    if (!S_ISREG(st->st_mode))
        return err_set(err, SBR_E_DENIED, "config", "'%.200s' is no regular file", path);
    if (st->st_uid != geteuid() && st->st_uid != 0)
        return err_set(err, SBR_E_DENIED, "config",
                       "'%.200s' belongs to user %u, not to you; make a file of your own", path,
                       (unsigned int)st->st_uid);
    if (st->st_mode & (S_IWGRP | S_IWOTH))
        return err_set(err, SBR_E_DENIED, "config",
                       "others can write to '%.200s'; say `chmod go-w` on it", path);
    if (st->st_size > CONFIG_MAX_BYTES)
        return err_set(err, SBR_E_INVALID, "config", "'%.200s' is longer than %d bytes", path,
                       CONFIG_MAX_BYTES);
    return 0;
}

int config_text_read(enum config_kind kind, const char *path, struct config_text *ret,
                     sbr_error *err)
{
    scoped_fd int fd = -1;
    struct stat st;

    *ret = (struct config_text){ .text = NULL };
    snprintf(ret->path, sizeof(ret->path), "%s", path);
    fd = open_text(kind, path);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return 0;
    if (fd < 0 && errno == ELOOP)
        return err_set(err, SBR_E_DENIED, "config",
                       "'%.200s' is a link; a project's configuration is a file", path);
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_set_errno(err, "config", "cannot read '%.200s'", path);
    if (check_file(path, &st, err) < 0 ||
        fd_read_text(fd, CONFIG_MAX_BYTES, &ret->text, &ret->len, err) < 0)
        return err->code;
    sha256_hex(ret->text, ret->len, ret->digest);
    return 1;
}

void config_text_done(struct config_text *text)
{
    free(text->text);
    text->text = NULL;
}

static bool starts_key(const char *line, const char *key)
{
    size_t len = strlen(key);

    line += strspn(line, " -");
    return !strncmp(line, key, len) && line[len + strspn(line + len, " ")] == ':';
}

unsigned int config_text_line(const struct config_text *text, const char *section, const char *key)
{
    unsigned int number = 0, of_section = 0;
    bool is_inside = false;

    for (const char *line = text->text, *end; line && *line; line = end ? end + 1 : NULL) {
        bool is_top = isalpha((unsigned char)*line);

        end = strchr(line, '\n');
        number++;
        if (is_top && section) {
            is_inside = starts_key(line, section);
            of_section = is_inside ? number : of_section;
        }
        if ((section ? is_inside && !is_top : is_top) && starts_key(line, key))
            return number;
    }
    return of_section;
}

int config_fault(const struct config_text *text, const char *section, const char *key,
                 const char *why, sbr_error *err)
{
    return err_set(err, SBR_E_INVALID, "config", "%s:%u: in '%s%s%s': %s", text->path,
                   config_text_line(text, section, key), section ? section : "", section ? "." : "",
                   key, why);
}

static bool any_given(char *const *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (values[i])
            return true;
    return false;
}

/* Languages are commands and paths of this machine, and what is kept on record is the user's own
 * business: a repository has no say in them. */
static int check_keys_of_project(const struct config_text *text,
                                 const struct config_document *document, sbr_error *err)
{
    const struct {
        const char *key;
        bool given;
    } rows[] = {
        { "languages", document->n_languages > 0 },
        { "audit", document->audit != NULL },
        { "include", document->include_count > 0 },
        { "backend", document->backend != NULL },
        { "http", document->http.n_roots > 0 || document->http.collector || document->http.memory ||
                      document->http.share },
        { "compile_limits", any_given(document->compile_limits.value, N_LIMITS) },
        { "engine", document->engine.share != NULL },
        { "retention", any_given(document->retention.value, N_RETENTIONS) },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (rows[i].given)
            return config_fault(text, NULL, rows[i].key,
                                "only the user's own file can have it; remove it here", err);
    return 0;
}

/* A file with comments only says nothing, which is no fault. */
static bool is_empty(const struct config_text *text)
{
    const char *at = text->text;

    while (at && *at) {
        at += strspn(at, " \t\r\n");
        if (*at && *at != '#' && strncmp(at, "---", 3) != 0)
            return false;
        at += strcspn(at, "\n");
    }
    return true;
}

int config_document_load(const struct config_text *text, enum config_kind kind,
                         struct config_document **ret, sbr_error *err)
{
    void *data = NULL;

    fill_fields();
    if (is_empty(text)) {
        *ret = calloc(1, sizeof(**ret));
        return *ret ? 0 : err_set_oom(err, "config");
    }
    if (document_load_text(text->path, text->text, text->len, &document_schema, &data, err) < 0) {
        char why[sizeof(err->message)];

        snprintf(why, sizeof(why), "%s", err->message);
        return err_set(err, (enum sbr_code)err->code, "config", "%s", why);
    }
    if (kind == CONFIG_OF_PROJECT && check_keys_of_project(text, data, err) < 0) {
        config_document_free(data);
        return err->code;
    }
    *ret = data;
    return 0;
}

void config_document_free(struct config_document *document)
{
    document_free(&document_schema, document);
}
