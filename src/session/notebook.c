#include "session/notebook.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/encoding.h"
#include "base/json_read.h"
#include "base/text.h"

#define FORMAT 4
#define FORMAT_MINOR 5
#define OWN_KEY "sandbox_run"       /* in the metadata of a cell */
#define NO_CHARACTER "\xef\xbf\xbd" /* U+FFFD */

static json_t *member(const json_t *object, const char *key)
{
    return json_object_get(object, key);
}

static const char *text_in(const json_t *object, const char *key)
{
    const char *text = json_string_value(member(object, key));

    return text ? text : "";
}

/* A notebook is text: what is no character is replaced. */
static void add_scrubbed(struct buf *out, const char *data, size_t len)
{
    for (size_t at = 0; at < len;) {
        size_t n = data[at] ? text_character_len(data + at, len - at) : 0;

        if (n)
            buf_add(out, data + at, n);
        else
            buf_add_text(out, NO_CHARACTER);
        at += n ? n : 1;
    }
}

static void add_part(struct buf *out, const json_t *part, bool is_base64)
{
    scoped_free char *bytes = NULL;
    size_t len = json_string_length(part);

    if (!json_is_string(part) ||
        (is_base64 && encoding_from_base64(json_string_value(part), &bytes, &len) < 0))
        return;
    add_scrubbed(out, bytes ? bytes : json_string_value(part), len);
}

char *notebook_stream(const json_t *result, const char *stream)
{
    char key[40];
    json_int_t omitted;
    bool is_base64;
    struct buf out;

    buf_init(&out, SIZE_MAX / 2);
    buf_add_text(&out, "");
    snprintf(key, sizeof(key), "%s_encoding", stream);
    is_base64 = !strcmp(text_in(result, key), "base64");
    add_part(&out, member(result, stream), is_base64);
    snprintf(key, sizeof(key), "%s_omitted_bytes", stream);
    omitted = json_integer_value(member(result, key));
    if (omitted > 0)
        buf_printf(&out, "\n[... %lld bytes are left out ...]\n", (long long)omitted);
    snprintf(key, sizeof(key), "%s_tail", stream);
    add_part(&out, member(result, key), is_base64);
    buf_add(&out, "", 1);
    return buf_take(&out, &(size_t){ 0 });
}

static void add_stream(json_t *outputs, const json_t *result, const char *name)
{
    scoped_free char *text = notebook_stream(result, name);

    if (text && text[0])
        json_array_append_new(outputs, json_pack("{s:s, s:s, s:s}", "name", name, "output_type",
                                                 "stream", "text", text));
}

static json_t *lines_of(const char *text, bool with_newlines)
{
    json_t *lines = json_array();

    while (*text) {
        size_t len = strcspn(text, "\n"), newline = text[len] == '\n';

        json_array_append_new(lines, json_stringn(text, len + (with_newlines ? newline : 0)));
        text += len + newline;
    }
    return lines;
}

/* Why a cell failed: the error of its code, or the end that we made. */
static void add_error(json_t *outputs, const json_t *result)
{
    const json_t *diagnosis = member(result, "diagnosis");
    bool known = json_is_object(diagnosis);
    const char *name = known ? text_in(diagnosis, "type") : text_in(result, "outcome");
    const char *value = known ? text_in(diagnosis, "message") : text_in(result, "explanation");
    scoped_free char *trace = notebook_stream(result, "stderr");

    json_array_append_new(outputs, json_pack("{s:s, s:s, s:s, s:o}", "ename", name, "evalue", value,
                                             "output_type", "error", "traceback",
                                             lines_of(trace ? trace : "", false)));
}

static bool is_json(const char *kind)
{
    size_t len = strlen(kind);

    return !strcmp(kind, "application/json") || (len > 5 && !strcmp(kind + len - 5, "+json"));
}

/* A bundle of the kernel's, without what no notebook may have. */
static json_t *valid_bundle(const json_t *bundle)
{
    json_t *valid = json_object(), *value;
    const char *kind;

    json_object_foreach((json_t *)bundle, kind, value)
        if (json_is_string(value) || is_json(kind))
            json_object_set(valid, kind, value);
    return valid;
}

/* All that a cell showed: the last bundle of a cell that succeeded is its value. */
static json_t *outputs_of(const json_t *result, json_int_t number)
{
    const json_t *shown = member(result, "display");
    bool success = json_is_true(member(result, "success"));
    json_t *outputs = json_array(), *bundle;
    size_t i;

    add_stream(outputs, result, "stdout");
    if (success)
        add_stream(outputs, result, "stderr");
    json_array_foreach(shown, i, bundle) {
        bool is_value = success && i + 1 == json_array_size(shown);

        json_array_append_new(outputs,
                              is_value ? json_pack("{s:o, s:I, s:{}, s:s}", "data",
                                                   valid_bundle(bundle), "execution_count", number,
                                                   "metadata", "output_type", "execute_result")
                                       : json_pack("{s:o, s:{}, s:s}", "data", valid_bundle(bundle),
                                                   "metadata", "output_type", "display_data"));
    }
    if (json_is_object(result) && !success)
        add_error(outputs, result);
    return outputs;
}

static json_t *cell_of(const json_t *cell, size_t number)
{
    const char *language = json_string_value(member(cell, "lang"));
    char id[32];
    json_t *one;

    snprintf(id, sizeof(id), "cell-%zu", number);
    one = json_pack("{s:s, s:i, s:s, s:{}, s:o, s:O}", "cell_type", "code", "execution_count",
                    (int)number, "id", id, "metadata", "outputs",
                    outputs_of(member(cell, "result"), (json_int_t)number), "source",
                    member(cell, "code"));
    if (language) {
        json_object_set_new(one, "source",
                            json_sprintf("%%%%%s\n%s", language, text_in(cell, "code")));
        json_object_set_new(member(one, "metadata"), OWN_KEY, json_pack("{s:s}", "lang", language));
    }
    return one;
}

char *notebook_write(const json_t *cells, const char *language)
{
    json_t *list = json_array(), *cell, *book;
    char *text;
    size_t i;

    json_array_foreach(cells, i, cell)
        json_array_append_new(list, cell_of(cell, i + 1));
    book = json_pack("{s:o, s:{s:{s:s, s:s, s:s}, s:{s:s}}, s:i, s:i}", "cells", list, "metadata",
                     "kernelspec", "display_name", language, "language", language, "name", language,
                     "language_info", "name", language, "nbformat", FORMAT, "nbformat_minor",
                     FORMAT_MINOR);
    text = book ? notebook_dump(book) : NULL;
    json_decref(book);
    return text;
}

/* Numbers as short as they can be read again, as Jupyter writes them. */
char *notebook_dump(const json_t *book)
{
    scoped_free char *text = json_dumps(book, JSON_INDENT(1) | JSON_REAL_PRECISION(15));
    json_t *again = json_read_own(text, JSON_ALLOW_NUL);
    bool same = json_equal((json_t *)book, again);

    json_decref(again);
    if (!same) {
        free(text);
        text = json_dumps(book, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
    }
    return text ? text_format("%s\n", text) : NULL;
}

/* Each line of an output is a value, and so is each number of a picture that the browser draws. */
static const struct json_bounds notebook_bounds = {
    .bytes = (size_t)256 << 20,
    .values = 250000,
    .depth = 64,
};

json_t *notebook_load(const char *text, size_t len, sbr_error *err)
{
    sbr_error fault;
    json_t *book = json_read(text, len, &notebook_bounds, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL,
                             "the notebook", &fault);
    json_int_t version = json_integer_value(member(book, "nbformat"));

    if (!book)
        err_set(err, SBR_E_INVALID, "notebook", "%s", fault.message);
    else if (!json_is_array(member(book, "cells")) && !member(book, "worksheets"))
        err_set(err, SBR_E_INVALID, "notebook",
                "this is no notebook: it has no \"cells\"; give an .ipynb of Jupyter");
    else if (version != FORMAT || !json_is_array(member(book, "cells")))
        err_set(err, SBR_E_INVALID, "notebook",
                "the notebook has version %lld of its format; `jupyter nbconvert --to notebook` "
                "makes version 4 of it",
                (long long)version);
    else
        return book;
    json_decref(book);
    return NULL;
}

const char *notebook_language(const json_t *book, const char *(*known)(const char *name))
{
    static const char *const places[][2] = {
        { "language_info", "name" },
        { "kernelspec", "language" },
        { "kernelspec", "name" },
    };
    const char *said = NULL, *name = NULL;

    for (size_t i = 0; i < sizeof(places) / sizeof(*places) && !name; i++) {
        const json_t *place = member(member(book, "metadata"), places[i][0]);
        const char *text = json_string_value(member(place, places[i][1]));

        said = said ? said : text;
        name = text ? known(text) : NULL;
    }
    return name ? name : said;
}

bool notebook_is_code(const json_t *cell)
{
    return !strcmp(text_in(cell, "cell_type"), "code");
}

bool notebook_has_tag(const json_t *cell, const char *tag)
{
    const json_t *one;
    size_t i;

    json_array_foreach(member(member(cell, "metadata"), "tags"), i, one)
        if (json_is_string(one) && !strcmp(json_string_value(one), tag))
            return true;
    return false;
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
    buf_add(&out, "", 1);
    return buf_take(&out, &(size_t){ 0 });
}

char *notebook_source(const json_t *cell, const char **ret_language)
{
    const json_t *own = member(member(cell, "metadata"), OWN_KEY);
    char *source = joined(member(cell, "source")), *line_end;

    *ret_language = json_string_value(member(own, "lang"));
    if (source && *ret_language && !strncmp(source, "%%", 2)) {
        line_end = strchr(source, '\n');
        line_end = line_end ? line_end + 1 : source + strlen(source);
        memmove(source, line_end, strlen(line_end) + 1);
    }
    return source;
}

static void split(json_t *object, const char *key)
{
    const char *text = json_string_value(member(object, key));

    if (text)
        json_object_set_new(object, key, lines_of(text, true));
}

/* Texts as lists of lines, as Jupyter writes them: a tool for differences sees lines then. */
static void split_texts(json_t *output)
{
    json_t *data = member(output, "data"), *value;
    const char *kind;
    void *next;

    split(output, "text");
    json_object_foreach_safe(data, next, kind, value)
        if (!strncmp(kind, "text/", 5) || !strcmp(kind, "image/svg+xml"))
            split(data, kind);
}

void notebook_set_outputs(json_t *cell, const json_t *result, json_int_t number)
{
    json_t *outputs = outputs_of(result, number), *output;
    size_t i;

    json_array_foreach(outputs, i, output)
        split_texts(output);
    json_object_set_new(cell, "execution_count", json_integer(number));
    json_object_set_new(cell, "outputs", outputs);
}

/* Adds one output to a result as of a session. */
static void read_output(json_t *result, const json_t *output)
{
    const char *type = text_in(output, "output_type");

    if (!strcmp(type, "stream") && !strcmp(text_in(output, "name"), "stdout")) {
        scoped_free char *text = joined(member(output, "text"));
        json_t *all = json_sprintf("%s%s", text_in(result, "stdout"), text ? text : "");

        json_object_set_new(result, "stdout", all);
    } else if (!strcmp(type, "execute_result") || !strcmp(type, "display_data")) {
        scoped_free char *text = joined(member(member(output, "data"), "text/plain"));

        json_array_append_new(member(result, "display"),
                              json_pack("{s:s}", "text/plain", text ? text : ""));
    } else if (!strcmp(type, "error")) {
        json_object_set_new(result, "success", json_false());
        json_object_set_new(result, "diagnosis",
                            json_pack("{s:s}", "type", text_in(output, "ename")));
    }
}

json_t *notebook_cells(const json_t *book)
{
    json_t *cells = json_array(), *cell, *output;
    size_t i, k;

    json_array_foreach(member(book, "cells"), i, cell) {
        const char *language = NULL;
        scoped_free char *code = notebook_is_code(cell) ? notebook_source(cell, &language) : NULL;
        json_t *result;

        if (!code)
            continue;
        result = json_pack("{s:[], s:s, s:b}", "display", "stdout", "", "success", 1);
        json_array_foreach(member(cell, "outputs"), k, output)
            read_output(result, output);
        json_array_append_new(cells, json_pack("{s:s, s:o, s:s*}", "code", code, "result", result,
                                               "lang", language));
    }
    return cells;
}
