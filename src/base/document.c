#include "base/document.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/secret_memory.h"
#include "base/text.h"

#define DOCUMENT_MOST_KEYS 128
#define DOCUMENT_MOST_BYTES (4u << 20)
#define DOCUMENT_MOST_MEMORY ((size_t)32 << 20)
#define DOCUMENT_LINE_MAX 4096

/* What libcyaml reported: the fault first, then its place from the inside to the outside. */
struct complaint {
    char fault[160];
    char field[64];
    unsigned long line, column;
};

const cyaml_schema_value_t document_text = {
    CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 1, 65536),
};

/* clang-format off */
static const struct {
    const char *fault;
    const char *advice;
} advices[] = {
    { "Invalid INT value",        "use a number or a name from src/plan/policy_schema.c" },
    { "Invalid ENUM value",       "use one of the words that this field knows" },
    { "Invalid",                  "correct the value" },
    { "Missing required mapping", "add the field" },
    { "Unexpected key",           "correct its spelling or remove it" },
    { "Mapping field already",    "keep one of the two" },
    { "Insufficient entries",     "name at least one" },
    { "Expecting",                "give a value of that kind" },
    { "Ignoring documents",       "keep one document per file" },
    { "Aliases",                  "write the value there again" },
    { "libyaml",                  "mend the YAML there" },
};
/* clang-format on */

static const char *advice_for(const char *fault)
{
    for (size_t i = 0; i < ARRAY_LEN(advices); i++) {
        if (strncmp(fault, advices[i].fault, strlen(advices[i].fault)) == 0)
            return advices[i].advice;
    }
    return "correct the file";
}

static void complaint_add_place(struct complaint *c, const char *text)
{
    const char *quoted = strstr(text, "in mapping field '");
    const char *place = strstr(text, "(line: ");

    if (place && c->line == 0) {
        char *end;

        c->line = strtoul(place + strlen("(line: "), &end, 10);
        if (strncmp(end, ", column: ", 10) == 0)
            c->column = strtoul(end + 10, NULL, 10);
    }
    if (quoted && c->field[0] == '\0')
        sscanf(quoted, "in mapping field '%63[^']", c->field);
}

static void __attribute__((format(printf, 3, 0)))
complaint_add(cyaml_log_t level, void *ctx, const char *fmt, va_list args)
{
    struct complaint *c = ctx;
    char text[256];
    const char *start = text;

    (void)level;
    vsnprintf(text, sizeof(text), fmt, args);
    text[strcspn(text, "\n")] = '\0';
    if (strncmp(start, "Load: ", 6) == 0)
        start += 6;
    if (c->fault[0] == '\0')
        snprintf(c->fault, sizeof(c->fault), "%.*s", (int)sizeof(c->fault) - 1, start);
    else
        complaint_add_place(c, start);
}

/* Every key that a mapping of the schema knows, at any depth. */
static size_t collect_keys(const cyaml_schema_value_t *schema, const char **keys, size_t n)
{
    if (schema->type == CYAML_SEQUENCE || schema->type == CYAML_SEQUENCE_FIXED)
        return collect_keys(schema->sequence.entry, keys, n);
    if (schema->type != CYAML_MAPPING)
        return n;
    for (const cyaml_schema_field_t *f = schema->mapping.fields; f->key; f++) {
        if (n < DOCUMENT_MOST_KEYS)
            keys[n++] = f->key;
        n = collect_keys(&f->value, keys, n);
    }
    return n;
}

/* The key below which another one stands; NULL: at the top, or nowhere. */
static const char *find_parent(const cyaml_schema_value_t *schema, const char *key,
                               const char *below)
{
    const char *parent = NULL;

    if (schema->type == CYAML_SEQUENCE || schema->type == CYAML_SEQUENCE_FIXED)
        return find_parent(schema->sequence.entry, key, below);
    if (schema->type != CYAML_MAPPING)
        return NULL;
    for (const cyaml_schema_field_t *f = schema->mapping.fields; f->key && !parent; f++)
        parent = !strcmp(f->key, key) ? below : find_parent(&f->value, key, f->key);
    return parent;
}

/* What to do about it; a misspelt key gets the nearest one. */
static const char *advise(const struct complaint *c, const cyaml_schema_value_t *schema, char *buf,
                          size_t size)
{
    static const char unexpected[] = "Unexpected key: ";
    const char *keys[DOCUMENT_MOST_KEYS], *near, *parent;

    if (strncmp(c->fault, unexpected, sizeof(unexpected) - 1) != 0)
        return advice_for(c->fault);
    near = text_nearest(c->fault + sizeof(unexpected) - 1, keys, collect_keys(schema, keys, 0));
    if (!near)
        return advice_for(c->fault);
    if (strcmp(near, c->fault + sizeof(unexpected) - 1) != 0)
        snprintf(buf, size, "did you mean '%s'?", near);
    else if ((parent = find_parent(schema, near, NULL)))
        snprintf(buf, size, "it belongs below '%s:'", parent);
    else
        snprintf(buf, size, "it belongs to the top of the file");
    return buf;
}

static int complaint_report(const struct complaint *c, const char *path,
                            const cyaml_schema_value_t *schema, sbr_error *err)
{
    static const char unexpected[] = "Unexpected key: ";
    bool is_key = strncmp(c->fault, unexpected, sizeof(unexpected) - 1) == 0;
    unsigned int line = is_key ? document_line_of(path, c->fault + sizeof(unexpected) - 1) : 0;
    char where[96] = "", advice[96];

    if (line > 0) /* libcyaml names the place before the key */
        snprintf(where, sizeof(where), "%u:", line);
    else if (c->line > 0)
        snprintf(where, sizeof(where), "%lu:%lu:", c->line, c->column);
    if (c->field[0] != '\0')
        snprintf(where + strlen(where), sizeof(where) - strlen(where), " in '%.40s':", c->field);
    return err_set(err, SBR_E_INVALID, "compile", "%s:%s %s; %s", path, where, c->fault,
                   advise(c, schema, advice, sizeof(advice)));
}

static void *resize(void *context, void *block, size_t size)
{
    return bounded_memory_resize(context, block, size);
}

int document_load_text(const char *path, const char *text, size_t len,
                       const cyaml_schema_value_t *schema, void **ret_data, sbr_error *err)
{
    struct complaint complaint = { .fault = "" };
    /* An entry of a sequence is two bytes of text, and may be a large struct. */
    struct bounded_memory memory = { .most = DOCUMENT_MOST_MEMORY };
    const cyaml_config_t config = {
        .log_fn = complaint_add,
        .log_ctx = &complaint,
        .mem_fn = resize,
        .mem_ctx = &memory,
        .log_level = CYAML_LOG_WARNING,
        .flags = CYAML_CFG_NO_ALIAS, /* a few of them make a text of any length */
    };
    cyaml_data_t *data = NULL;
    cyaml_err_t fault;

    if (len > DOCUMENT_MOST_BYTES)
        return err_set(err, SBR_E_INVALID, "compile", "%s: it has more than %u bytes", path,
                       DOCUMENT_MOST_BYTES);
    fault = cyaml_load_data((const uint8_t *)text, len, &config, schema, &data, NULL);
    /* A warning means that a part of the file was not read: for a policy that is a fault. */
    if (fault == CYAML_OK && data && complaint.fault[0] == '\0') {
        *ret_data = data;
        return 0;
    }
    document_free(schema, data);
    if (fault == CYAML_ERR_OOM)
        return err_set(err, SBR_E_INVALID, "compile", "%s: it takes more than %zu MiB of memory",
                       path, DOCUMENT_MOST_MEMORY >> 20);
    if (fault == CYAML_ERR_ALIAS) /* only its place was reported */
        snprintf(complaint.fault, sizeof(complaint.fault), "Aliases are not read");
    if (complaint.fault[0] == '\0')
        snprintf(complaint.fault, sizeof(complaint.fault), "%s",
                 fault == CYAML_OK ? "the file says nothing" : cyaml_strerror(fault));
    return complaint_report(&complaint, path, schema, err);
}

int document_load(const char *path, const cyaml_schema_value_t *schema, void **ret_data,
                  sbr_error *err)
{
    scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    scoped_free char *text = NULL;
    size_t len = 0;
    sbr_error fault;

    if (fd < 0)
        return err_set_errno(err, "compile", "%s: cannot be opened", path);
    if (fd_read_text(fd, DOCUMENT_MOST_BYTES, &text, &len, &fault) < 0)
        return err_set(err, fault.code, "compile", "%s: %s", path, fault.message);
    return document_load_text(path, text, len, schema, ret_data, err);
}

void document_free(const cyaml_schema_value_t *schema, void *data)
{
    const cyaml_config_t config = { .mem_fn = cyaml_mem };

    if (data)
        cyaml_free(&config, schema, data, 0);
}

static bool is_word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool line_has_word(const char *line, const char *word)
{
    size_t len = strlen(word);

    for (const char *at = strstr(line, word); at; at = strstr(at + 1, word)) {
        bool starts = at == line || !is_word_char(at[-1]);

        if (starts && !is_word_char(at[len]))
            return true;
    }
    return false;
}

unsigned document_line_of(const char *path, const char *word)
{
    char line[DOCUMENT_LINE_MAX];
    unsigned number = 0;
    FILE *file = fopen(path, "re");

    if (!file)
        return 0;
    while (fgets(line, sizeof(line), file)) {
        number++;
        line[strcspn(line, "#")] = '\0';
        if (line_has_word(line, word)) {
            fclose(file);
            return number;
        }
    }
    fclose(file);
    return 0;
}
