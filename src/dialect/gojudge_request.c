#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/staging_dir.h"
#include "base/text.h"
#include "base/tree_remove.h"
#include "changes/state_dir.h"
#include "dialect/gojudge.h"
#include "model/limits.h"

#define STATE_COLLECTED "gojudge"
#define NS_OF_MS 1000000
#define FILES_MAX 10000 /* as many as a request may have */

/* -1 with the message: what, and the word it is about. */
static int fail(char message[200], const char *word, const char *what)
{
    snprintf(message, 200, "%.80s: %s", word, what);
    return -1;
}

static int add_env(json_t *request, const json_t *cmd, char message[200])
{
    json_t *env = json_object();
    const json_t *one;
    size_t i;

    json_object_set_new(request, "env", env);
    json_array_foreach(json_object_get(cmd, "env"), i, one) {
        const char *text = json_string_value(one), *equals = text ? strchr(text, '=') : NULL;
        scoped_free char *name = equals ? strndup(text, (size_t)(equals - text)) : NULL;

        if (!name)
            return fail(message, text ? text : "env", "env is a list of NAME=VALUE");
        json_object_set_new(env, name, json_string(equals + 1));
    }
    return 0;
}

/* False: there is no such file, or no memory. */
static bool hold(struct gojudge_command *c, const json_t *value)
{
    const struct gojudge_file *kept =
        gojudge_store_find(c->server, c->tenant, translate_word(value, "fileId"));
    struct response_text **held = kept ? realloc(c->held, (c->n_held + 1) * sizeof(*held)) : NULL;

    if (!held)
        return false;
    c->held = held;
    held[c->n_held++] = response_text_share(kept->content);
    return true;
}

int gojudge_hold(struct gojudge_command *c, char message[200])
{
    const json_t *input = json_array_get(json_object_get(c->given, "files"), 0);
    json_t *value;
    const char *path;

    if (json_object_size(json_object_get(c->given, "copyIn")) > FILES_MAX)
        return fail(message, "copyIn", "a command has at most 10000 files");
    json_object_foreach(json_object_get(c->given, "copyIn"), path, value)
        if (!json_is_string(json_object_get(value, "content")) && !hold(c, value))
            return fail(message, path,
                        "a file of copyIn has `content` or the `fileId` of a file; `src` and "
                        "`symlink` are not allowed here");
    if (input && !json_is_null(input) && !hold(c, input) &&
        !json_is_string(json_object_get(input, "content")))
        return fail(message, "files", "stdin is `content` or the `fileId` of a file");
    return 0;
}

size_t gojudge_held_bytes(const struct gojudge_command *c)
{
    size_t bytes = 0;

    for (size_t i = 0; i < c->n_held; i++)
        bytes += c->held[i]->len;
    return bytes;
}

/* {"content"} or {"fileId"} of a file that goes in. */
static void add_content(struct gojudge_command *c, json_t *files, const char *path,
                        const json_t *value)
{
    json_t *content = json_object_get(value, "content"), *bytes;

    if (json_is_string(content)) {
        translate_add_file(files, path, json_incref(content), "utf-8");
    } else {
        const struct response_text *kept = c->held[c->at_held++];

        bytes = translate_base64(kept->bytes, kept->len);
        translate_add_file(files, path, json_is_string(bytes) ? bytes : json_string(""), "base64");
    }
    json_object_set_new(json_array_get(files, json_array_size(files) - 1), "executable",
                        json_true());
}

static void add_files(struct gojudge_command *c, json_t *request)
{
    json_t *files = json_array(), *value;
    const char *path;

    json_object_set_new(request, "files", files);
    json_object_foreach(json_object_get(c->given, "copyIn"), path, value)
        add_content(c, files, path, value);
}

/* A name that copyIn has is a file of the working directory, also without a slash. */
static int add_args(json_t *request, const json_t *cmd, char message[200])
{
    const json_t *args = json_object_get(cmd, "args");
    const char *first = json_string_value(json_array_get(args, 0));
    scoped_free char *path = NULL;
    json_t *copy;

    if (!first)
        return fail(message, "cmd", "a command needs `args`");
    copy = json_copy((json_t *)args);
    path = strchr(first, '/') ? NULL : text_format("./%s", first);
    if (path && json_object_get(json_object_get(cmd, "copyIn"), first))
        json_array_set_new(copy, 0, json_string(path));
    json_object_set_new(request, "args", copy);
    return 0;
}

/* clang-format off */
static const struct {
    const char *name;
    enum sbr_limit limit;
    uint64_t unit; /* go-judge's, in one of ours */
} numbers[] = {
    { "cpuLimit",    SBR_CPU_MS,       NS_OF_MS },
    { "clockLimit",  SBR_WALL_MS,      NS_OF_MS },
    { "memoryLimit", SBR_MEMORY_BYTES, 1 },
    { "procLimit",   SBR_PIDS,         1 },
};
/* clang-format on */

/* Up to the next unit: a limit of 1 ns is not none. */
static void add_limits(json_t *request, const json_t *cmd)
{
    json_t *limits = json_object();
    json_int_t most = 0;
    const json_t *file;
    size_t i;

    json_object_set_new(request, "limits", limits);
    for (i = 0; i < ARRAY_LEN(numbers); i++) {
        json_int_t value = json_integer_value(json_object_get(cmd, numbers[i].name));
        json_int_t unit = (json_int_t)numbers[i].unit;

        if (value > 0)
            json_object_set_new(limits, limit_defs[numbers[i].limit].name,
                                json_integer((value - 1) / unit + 1));
    }
    json_array_foreach(json_object_get(cmd, "files"), i, file) {
        json_int_t max = json_integer_value(json_object_get(file, "max"));

        most = max > most ? max : most;
    }
    if (most > 0)
        json_object_set_new(limits, limit_defs[SBR_OUTPUT_BYTES].name, json_integer(most));
}

/* stdin, stdout and stderr; go-judge has no other descriptors in common use. */
static int check_descriptors(struct gojudge_command *c, char message[200])
{
    const json_t *files = json_object_get(c->given, "files"), *file;
    const struct response_text *kept;
    const json_t *content;
    size_t i;

    json_array_foreach(files, i, file) {
        if (json_is_null(file))
            continue;
        if (i > 2 || (i > 0 && !json_is_string(json_object_get(file, "name"))))
            return fail(message, "files", "only stdin, and collectors for stdout and stderr");
        if (i > 0)
            continue;
        content = json_object_get(file, "content");
        kept = c->at_held < c->n_held ? c->held[c->at_held++] : NULL;
        c->input = kept ? kept->bytes : json_string_value(content);
        c->input_len = kept ? kept->len : json_string_length(content);
    }
    return json_is_true(json_object_get(c->given, "tty"))
               ? fail(message, "tty", "a command has no terminal here")
               : 0;
}

json_t *gojudge_request(struct gojudge_command *c, char message[200])
{
    json_t *request = json_object();

    add_files(c, request);
    if (add_args(request, c->given, message) < 0 || add_env(request, c->given, message) < 0 ||
        check_descriptors(c, message) < 0) {
        json_decref(request);
        return NULL;
    }
    add_limits(request, c->given);
    return request;
}

int gojudge_make_dir(struct gojudge_command *c)
{
    struct state_dir state = { .fd = -1 };
    char id[ENCODING_ID_SIZE];
    sbr_error err;

    if (state_open(STATE_COLLECTED, true, &state, &err) < 0)
        return -1;
    staging_dir_sweep(state.fd);
    c->dir_lock = staging_dir_make(state.fd, id);
    if (c->dir_lock >= 0)
        c->dir = text_format("%s/%s", state.path, id);
    state_close(&state);
    return c->dir ? 0 : -1;
}

void gojudge_drop_dir(struct gojudge_command *c)
{
    if (c->dir)
        (void)tree_remove(AT_FDCWD, c->dir);
    if (c->dir_lock >= 0)
        close(c->dir_lock);
    free(c->dir);
    c->dir = NULL;
    c->dir_lock = -1;
}

/* Patterns of ours in a name of theirs would collect something else. */
static int add_output(sbr_request *req, const struct gojudge_command *c, const json_t *wanted,
                      sbr_error *err)
{
    const char *name = json_string_value(wanted);
    scoped_free char *spec = NULL;
    size_t len = name ? strlen(name) : 0;

    if (!len || !strcmp(name, "stdout") || !strcmp(name, "stderr"))
        return 0;
    if (name[strcspn(name, ":*?[\\")] && strcspn(name, ":*?[\\") != len - 1)
        return err_set(err, SBR_E_INVALID, "request", "copyOut: '%.80s' is no plain name", name);
    len -= name[len - 1] == '?';
    spec = text_format("%.*s:%s", (int)len, name, c->dir);
    if (!spec || sbr_request_add_output(req, spec) < 0) {
        *err = *sbr_request_error(req);
        return err->code;
    }
    return 0;
}

int gojudge_add(sbr_request *req, struct gojudge_command *c, sbr_error *err)
{
    static const char *const lists[] = { "copyOut", "copyOutCached" };

    if (c->in < 0 && sbr_request_set_stdin(req, c->input ? c->input : "", c->input_len) < 0) {
        *err = *sbr_request_error(req);
        return err->code;
    }
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        const json_t *names = json_object_get(c->given, lists[i]), *name;
        size_t j;

        if (json_array_size(names) && !c->dir && gojudge_make_dir(c) < 0)
            return err_set_errno(err, "http", "cannot make a directory for files");
        json_array_foreach(names, j, name)
            if (add_output(req, c, name, err) < 0)
                return err->code;
    }
    return 0;
}
