#include "session/cell_record.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/json_read.h"
#include "session/notebook.h"

#define RECORD_MAX ((off_t)32 << 20)      /* from here on only code */
#define RECORD_MAX_CODE ((off_t)56 << 20) /* from here on nothing */

static int open_record(const struct session_dir *dir)
{
    return openat(dir->fd, SESSION_CELLS, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC,
                  0600);
}

void cell_record_add(const struct session_dir *dir, uint64_t number,
                     const struct cell_source *source, const char *result)
{
    scoped_fd int fd = open_record(dir);
    scoped_free char *text = NULL;
    struct stat st;
    json_t *line;

    if (fd < 0 || fstat(fd, &st) < 0 || st.st_size + (off_t)source->len > RECORD_MAX_CODE)
        return;
    line = json_pack("{s:I, s:s%, s:s*}", "cell", (json_int_t)number, "code", source->code,
                     source->len, "lang", source->language);
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

void cell_record_back(const struct session_dir *dir, uint64_t number)
{
    scoped_fd int fd = open_record(dir);

    if (fd >= 0)
        (void)!dprintf(fd, "{\"back\":%llu}\n", (unsigned long long)number);
}

void cell_record_write(const struct session_dir *dir, const char *text)
{
    scoped_fd int fd = open_record(dir);

    if (fd >= 0)
        (void)!fd_write_all(fd, text, strlen(text));
}

void cell_record_clear(const struct session_dir *dir)
{
    (void)unlinkat(dir->fd, SESSION_CELLS, 0);
}

/* A rollback: the cells from its number on are gone. */
static void go_back(json_t *cells, json_int_t number)
{
    size_t n = json_array_size(cells);

    while (n > 0 &&
           json_integer_value(json_object_get(json_array_get(cells, n - 1), "cell")) >= number)
        json_array_remove(cells, --n);
}

json_t *cell_record_parse(const char *text)
{
    json_t *cells = json_array();

    while (text && *text) {
        size_t len = strcspn(text, "\n");
        json_t *cell = json_read(text, len, &json_read_answer, JSON_ALLOW_NUL, "the cell", NULL);

        if (json_is_string(json_object_get(cell, "code")))
            json_array_append(cells, cell); /* a line that was cut short is none */
        else if (json_is_integer(json_object_get(cell, "back")))
            go_back(cells, json_integer_value(json_object_get(cell, "back")));
        json_decref(cell);
        text += len + (text[len] == '\n');
    }
    return cells;
}

json_t *cell_record_read(const struct session_dir *dir)
{
    scoped_free char *text = session_dir_read(dir, SESSION_CELLS);

    return cell_record_parse(text);
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
        scoped_free char *text = notebook_stream(result, stream ? "stderr" : "stdout");

        if (text && text[0])
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
        const char *code = text_in(cell, "code"), *own = json_string_value(member(cell, "lang"));

        if (markdown)
            add_markdown(&out, cell, own ? own : language);
        else if (!own) /* a script has one language */
            buf_printf(&out, "%s%s", code, code[0] && code[strlen(code) - 1] == '\n' ? "" : "\n");
    }
    return buf_take(&out, &(size_t){ 0 });
}

char *cell_record_export(const json_t *cells, const char *language, const char *extension,
                         const char *format, sbr_error *err)
{
    char *text;

    if (!strcmp(format, "ipynb")) {
        text = notebook_write(cells, language);
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

json_t *cell_record_import(const char *text, size_t len, sbr_error *err)
{
    json_t *book = json_read(text, len, &json_read_answer, JSON_ALLOW_NUL, "the record", NULL),
           *cells;

    cells = json_is_array(member(book, "cells")) ? notebook_cells(book) : cell_record_parse(text);
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

/* What a cell did, as far as it can be the same a second time. */
static json_t *comparable(const json_t *result)
{
    const json_t *diagnosis = member(result, "diagnosis");
    scoped_free char *text = notebook_stream(result, "stdout");
    const char *error =
        json_is_object(diagnosis) ? text_in(diagnosis, "type") : text_in(result, "outcome");

    return json_pack("{s:s, s:o, s:o}", "stdout", text ? text : "", "display", values_of(result),
                     "error",
                     json_is_true(member(result, "success")) ? json_null() : json_string(error));
}

json_t *cell_record_compare(const json_t *recorded, const json_t *result)
{
    json_t *expected, *found, *difference = NULL;

    if (!json_is_object(recorded))
        return NULL; /* a record that is too long has only code */
    expected = comparable(recorded);
    found = comparable(result);
    if (!json_equal(expected, found))
        difference = json_pack("{s:O, s:O, s:O}", "cell", member(result, "cell"), "expected",
                               expected, "found", found);
    json_decref(expected);
    json_decref(found);
    return difference;
}
