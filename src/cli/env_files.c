#include "cli/env_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/source.h"

int env_add(sbr_request *req, const char *text, sbr_error *err)
{
    const char *value = strchr(text, '=') || !*text ? NULL : getenv(text);
    scoped_free char *pair = NULL;

    if (strchr(text, '=') || !*text)
        return request_add_env(req, text, err);
    if (!value)
        return 0;
    if (asprintf(&pair, "%s=%s", text, value) < 0)
        return err_set_oom(err, "options");
    return request_add_env(req, pair, err);
}

/* Values are taken as they stand: there are no quotes, as in docker's files. */
static int add_line(sbr_request *req, const char *path, size_t number, char *line, sbr_error *err)
{
    sbr_error why;
    size_t len = strlen(line);

    if (len && line[len - 1] == '\r')
        line[len - 1] = '\0';
    line += strspn(line, " \t");
    if (!*line || *line == '#' || env_add(req, line, &why) == 0)
        return 0;
    return err_set(err, why.code, "options", "'%.100s' line %zu: %s", path, number, why.message);
}

static int load_one(sbr_request *req, const char *path, sbr_error *err)
{
    scoped_free char *data = NULL;
    size_t len = 0, number = 0;

    if (source_read_path(path, &data, &len, err) < 0)
        return err->code;
    if (memchr(data, '\0', len))
        return err_set(err, SBR_E_INVALID, "options",
                       "'%.200s' has a zero byte; --env-file takes lines of text", path);
    /* A mark of UTF-8, as some editors write it, is no part of the first name. */
    for (char *rest = data + (strncmp(data, "\xef\xbb\xbf", 3) ? 0 : 3), *line;
         (line = strsep(&rest, "\n"));)
        if (add_line(req, path, ++number, line, err) < 0)
            return err->code;
    return 0;
}

static int add_all(sbr_request *req, const struct texts *paths, const struct string_list *over,
                   sbr_error *err)
{
    for (size_t i = 0; i < paths->n; i++)
        if (load_one(req, paths->items[i], err) < 0)
            return err->code;
    for (size_t i = 0; i < over->n; i++)
        if (request_add_env(req, over->items[i], err) < 0)
            return err->code;
    return 0;
}

int env_files_load(struct options *o, sbr_error *err)
{
    struct string_list given = o->request->env;
    int r;

    if (!o->env_files.n)
        return 0;
    o->request->env = (struct string_list){ 0 };
    r = add_all(o->request, &o->env_files, &given, err);
    for (size_t i = 0; i < given.n; i++)
        free(given.items[i]);
    free(given.items);
    return r;
}
