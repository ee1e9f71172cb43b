#include "session/cell_record.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/scope.h"

#define RECORD_MAX ((off_t)32 << 20)      /* from here on only code */
#define RECORD_MAX_CODE ((off_t)56 << 20) /* from here on nothing */

void cell_record_add(const struct session_dir *dir, const char *code, size_t len,
                     const char *result)
{
    scoped_fd int fd = openat(dir->fd, SESSION_CELLS,
                              O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    scoped_free char *text = NULL;
    struct stat st;
    json_t *line;

    if (fd < 0 || fstat(fd, &st) < 0 || st.st_size + (off_t)len > RECORD_MAX_CODE)
        return;
    line = json_pack("{s:s%}", "code", code, len);
    text = line ? json_dumps(line, JSON_COMPACT) : NULL;
    json_decref(line);
    if (!text)
        return;
    text[strlen(text) - 1] = '\0'; /* open again */
    if (result && st.st_size + (off_t)strlen(result) < RECORD_MAX)
        (void)!dprintf(fd, "%s,\"result\":%s}\n", text, result);
    else
        (void)!dprintf(fd, "%s}\n", text);
}

static json_t *read_lines(const char *text)
{
    json_t *cells = json_array();

    while (text && *text) {
        size_t len = strcspn(text, "\n");
        json_t *cell = json_loadb(text, len, 0, NULL);

        if (json_is_string(json_object_get(cell, "code")))
            json_array_append(cells, cell); /* a line that was cut short is none */
        json_decref(cell);
        text += len + (text[len] == '\n');
    }
    return cells;
}

json_t *cell_record_read(const struct session_dir *dir)
{
    scoped_free char *text = session_dir_read(dir, SESSION_CELLS);

    return read_lines(text);
}

static json_t *member(const json_t *object, const char *key)
{
    return json_object_get(object, key);
}

static const char *text_in(const json_t *object, const char *key)
{
    const char *text = json_string_value(member(object, key));

    return text ? text : "";
}

static void add_stream(json_t *outputs, const json_t *result, const char *name)
{
    const char *text = text_in(result, name);

    if (text[0])
        json_array_append_new(outputs, json_pack("{s:s, s:s, s:s}", "output_type", "stream", "name",
                                                 name, "text", text));
}

static void add_error(json_t *outputs, const json_t *result)
{
    const json_t *diagnosis = member(result, "diagnosis");

    if (json_is_true(member(result, "success")))
        return;
    json_array_append_new(outputs,
                          json_pack("{s:s, s:s, s:s, s:[s]}", "output_type", "error", "ename",
                                    json_is_object(diagnosis) ? text_in(diagnosis, "type")
                                                              : text_in(result, "outcome"),
                                    "evalue",
                                    json_is_object(diagnosis) ? text_in(diagnosis, "message")
                                                              : text_in(result, "explanation"),
                                    "traceback", text_in(result, "stderr")));
}

/* A cell of a notebook, as nbformat 4.5 has it. */
static json_t *notebook_cell(const json_t *cell, size_t number)
{
    json_t *outputs = json_array(), *bundle, *result = member(cell, "result");
    char id[32];
    size_t i;

    snprintf(id, sizeof(id), "cell-%zu", number);
    add_stream(outputs, result, "stdout");
    if (json_is_true(member(result, "success")))
        add_stream(outputs, result, "stderr");
    json_array_foreach(member(result, "display"), i, bundle)
        json_array_append_new(outputs, json_pack("{s:s, s:i, s:O, s:{}}", "output_type",
                                                 "execute_result", "execution_count", (int)number,
                                                 "data", bundle, "metadata"));
    if (result)
        add_error(outputs, result);
    return json_pack("{s:s, s:s, s:i, s:{}, s:s, s:o}", "cell_type", "code", "id", id,
                     "execution_count", (int)number, "metadata", "source", text_in(cell, "code"),
                     "outputs", outputs);
}

static char *as_notebook(const json_t *cells, const char *language)
{
    json_t *list = json_array(), *cell, *book;
    char *text;
    size_t i;

    json_array_foreach(cells, i, cell)
        json_array_append_new(list, notebook_cell(cell, i + 1));
    book =
        json_pack("{s:i, s:i, s:{s:{s:s, s:s, s:s}, s:{s:s}}, s:o}", "nbformat", 4,
                  "nbformat_minor", 5, "metadata", "kernelspec", "name", language, "display_name",
                  language, "language", language, "language_info", "name", language, "cells", list);
    text = book ? json_dumps(book, JSON_INDENT(1)) : NULL;
    json_decref(book);
    return text;
}

static void add_block(struct buf *out, const char *language, const char *text)
{
    buf_printf(out, "```%s\n%s%s```\n\n", language, text,
               text[0] && text[strlen(text) - 1] == '\n' ? "" : "\n");
}

static void add_markdown(struct buf *out, const json_t *cell, const char *language)
{
    const json_t *result = member(cell, "result");
    json_t *bundle;
    size_t i;

    add_block(out, language, text_in(cell, "code"));
    for (int stream = 0; stream < 2; stream++) {
        const char *text = text_in(result, stream ? "stderr" : "stdout");

        if (text[0])
            add_block(out, "text", text);
    }
    json_array_foreach(member(result, "display"), i, bundle)
        add_block(out, "text", text_in(bundle, "text/plain"));
}

static char *as_text(const json_t *cells, const char *language, bool markdown)
{
    json_t *cell;
    struct buf out;
    size_t i;

    buf_init(&out, SIZE_MAX / 2);
    json_array_foreach(cells, i, cell) {
        const char *code = text_in(cell, "code");

        if (markdown)
            add_markdown(&out, cell, language);
        else
            buf_printf(&out, "%s%s", code, code[0] && code[strlen(code) - 1] == '\n' ? "" : "\n");
    }
    return buf_take(&out, &(size_t){ 0 });
}

char *cell_record_export(const json_t *cells, const char *language, const char *extension,
                         const char *format, sbr_error *err)
{
    char *text;

    if (!strcmp(format, "ipynb")) {
        text = as_notebook(cells, language);
    } else if (!strcmp(format, "md")) {
        text = as_text(cells, language, true);
    } else if (extension && !strcmp(format, extension + 1)) {
        text = as_text(cells, language, false);
    } else {
        err_set(err, SBR_E_INVALID, "session",
                "cells of %s cannot be exported as '%.20s'; give ipynb, md or %s", language, format,
                extension ? extension + 1 : "ipynb");
        return NULL;
    }
    if (!text)
        err_set_oom(err, "session");
    return text;
}

/* `source` and `text` of a notebook are a text, or a list of lines. */
static char *joined(const json_t *lines)
{
    const json_t *line;
    struct buf out;
    size_t i;

    if (json_is_string(lines))
        return strdup(json_string_value(lines));
    buf_init(&out, SIZE_MAX / 2);
    buf_add_text(&out, "");
    json_array_foreach(lines, i, line)
        if (json_is_string(line))
            buf_add_text(&out, json_string_value(line));
    return buf_take(&out, &(size_t){ 0 });
}

/* What can be compared of the outputs of a notebook: stdout and values. */
static json_t *result_of(const json_t *outputs)
{
    json_t *result = json_pack("{s:[]}", "display"), *output;
    size_t i;

    json_array_foreach(outputs, i, output) {
        const char *type = text_in(output, "output_type");

        if (!strcmp(type, "stream") && !strcmp(text_in(output, "name"), "stdout")) {
            scoped_free char *text = joined(member(output, "text"));
            json_t *all = json_sprintf("%s%s", text_in(result, "stdout"), text ? text : "");

            json_object_set_new(result, "stdout", all);
        } else if (!strcmp(type, "execute_result") || !strcmp(type, "display_data")) {
            scoped_free char *text = joined(member(member(output, "data"), "text/plain"));

            json_array_append_new(member(result, "display"),
                                  json_pack("{s:s}", "text/plain", text ? text : ""));
        }
    }
    if (!member(result, "stdout"))
        json_object_set_new(result, "stdout", json_string(""));
    return result;
}

static json_t *from_notebook(const json_t *book)
{
    json_t *cells = json_array(), *cell;
    size_t i;

    json_array_foreach(member(book, "cells"), i, cell) {
        scoped_free char *code = joined(member(cell, "source"));

        if (!strcmp(text_in(cell, "cell_type"), "code") && code)
            json_array_append_new(cells, json_pack("{s:s, s:o}", "code", code, "result",
                                                   result_of(member(cell, "outputs"))));
    }
    return cells;
}

json_t *cell_record_import(const char *text, size_t len, sbr_error *err)
{
    json_t *book = json_loadb(text, len, 0, NULL), *cells;

    cells = json_is_array(member(book, "cells")) ? from_notebook(book) : read_lines(text);
    json_decref(book);
    if (json_array_size(cells))
        return cells;
    json_decref(cells);
    err_set(err, SBR_E_INVALID, "session",
            "there is no cell in it; give a notebook (.ipynb) or the cells.jsonl of a session");
    return NULL;
}

static json_t *values_of(const json_t *result)
{
    json_t *values = json_array(), *bundle;
    size_t i;

    json_array_foreach(member(result, "display"), i, bundle)
        json_array_append_new(values, json_string(text_in(bundle, "text/plain")));
    return values;
}

json_t *cell_record_compare(const json_t *recorded, const json_t *result)
{
    json_t *expected, *found, *difference = NULL;

    if (!json_is_object(recorded))
        return NULL; /* a record that is too long has only code */
    expected = json_pack("{s:s, s:o}", "stdout", text_in(recorded, "stdout"), "display",
                         values_of(recorded));
    found =
        json_pack("{s:s, s:o}", "stdout", text_in(result, "stdout"), "display", values_of(result));
    if (!json_equal(expected, found))
        difference = json_pack("{s:O, s:O, s:O}", "cell", member(result, "cell"), "expected",
                               expected, "found", found);
    json_decref(expected);
    json_decref(found);
    return difference;
}
