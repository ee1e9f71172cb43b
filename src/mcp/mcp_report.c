/* The result of a run or a cell for a model: how it ended and why first, then both streams, cut to
 * the size that the caller wants.  Words of the program stand in blocks of their own, so that it
 * cannot write ours. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/encoding.h"
#include "base/text.h"
#include "mcp/mcp_files.h"
#include "mcp/mcp_internal.h"
#include "model/denial.h"

#define CHARS 16000
#define TEXT_MAX ((size_t)64 << 20)
#define LINKS_MAX 50

struct report {
    struct mcp_call *call;
    const json_t *result;  /* docs/result.md */
    const json_t *streams; /* the result, or its stage that failed: has both streams */
    json_t *structured;
    size_t max_chars;
};

static const char *const stream_names[] = { "stdout", "stderr" };

static json_t *member(const json_t *of, const char *stream, const char *suffix)
{
    char key[40];

    snprintf(key, sizeof(key), "%s%s", stream, suffix);
    return json_object_get(of, key);
}

/* A stream's bytes as the program wrote them; the caller frees both. */
struct stream_bytes {
    struct mcp_stream view;
    char *head, *tail;
};

static void read_part(const json_t *text, bool base64, char **own, const char **ret,
                      size_t *ret_len)
{
    *ret = json_string_value(text);
    *ret_len = json_string_length(text);
    if (*ret && base64 && encoding_from_base64(*ret, own, ret_len) == 0)
        *ret = *own;
}

static void read_stream(const json_t *of, const char *name, struct stream_bytes *ret)
{
    const char *encoding = json_string_value(member(of, name, "_encoding"));
    bool base64 = encoding && !strcmp(encoding, "base64");

    *ret = (struct stream_bytes){ 0 };
    read_part(member(of, name, ""), base64, &ret->head, &ret->view.head, &ret->view.head_len);
    read_part(member(of, name, "_tail"), base64, &ret->tail, &ret->view.tail, &ret->view.tail_len);
    ret->view.bytes = (uint64_t)json_integer_value(member(of, name, "_bytes"));
    ret->view.omitted = (uint64_t)json_integer_value(member(of, name, "_omitted_bytes"));
    if (!ret->view.head)
        ret->view.head = "";
}

/* A stage before the program that failed has the output that matters. */
static const json_t *failed_stage(const json_t *result)
{
    const char *stage = mcp_text(result, "stage");
    json_t *one;
    size_t i;

    if (stage && strcmp(stage, "run") != 0)
        json_array_foreach(json_object_get(result, "stages"), i, one)
            if (!strcmp(mcp_text(one, "name"), stage) && json_object_get(one, "stderr"))
                return one;
    return result;
}

void mcp_report_stream(const json_t *result, const char *name, struct buf *out)
{
    struct stream_bytes bytes;

    read_stream(failed_stage(result), name, &bytes);
    (void)buf_add(out, bytes.view.head, bytes.view.head_len);
    if (bytes.view.omitted)
        (void)buf_printf(out, "\n[... %llu bytes were not kept ...]\n",
                         (unsigned long long)bytes.view.omitted);
    (void)buf_add(out, bytes.view.tail, bytes.view.tail_len);
    free(bytes.head);
    free(bytes.tail);
}

/* Makes the stream's text, which is cut to `max` characters; the caller frees it. */
static char *shape(struct report *report, const char *name, size_t max, bool *ret_cut)
{
    struct stream_bytes bytes;
    char handle[120];
    struct buf out;

    read_stream(report->streams, name, &bytes);
    buf_init(&out, TEXT_MAX);
    snprintf(handle, sizeof(handle), "read_file {\"run_id\": \"%s\", \"path\": \"%s\"} has it",
             mcp_text(report->result, "id"), name);
    *ret_cut = mcp_shape_stream(&bytes.view, max, handle, &out);
    free(bytes.head);
    free(bytes.tail);
    (void)buf_add_text(&out, "");
    return buf_take(&out, NULL);
}

/* Both streams share the room; what one does not need, the other has. */
static void put_streams(struct report *report)
{
    size_t wants[2], half = report->max_chars / 2;
    bool failed = !json_is_true(json_object_get(report->result, "success"));

    for (size_t i = 0; i < 2; i++)
        wants[i] = json_string_length(member(report->streams, stream_names[i], "")) +
                   json_string_length(member(report->streams, stream_names[i], "_tail"));
    for (size_t k = 0; k < 2; k++) {
        size_t i = failed ? 1 - k : k, other = wants[1 - i] < half ? wants[1 - i] : half;
        const char *name = stream_names[i];
        scoped_free char *text = NULL;
        char key[40];
        bool cut;

        text = shape(report, name, report->max_chars - other, &cut);
        json_object_set_new(report->structured, name, json_string(text ? text : ""));
        snprintf(key, sizeof(key), "%s_truncated", name);
        json_object_set_new(report->structured, key, json_boolean(cut));
        snprintf(key, sizeof(key), "%s_bytes", name);
        json_object_set(report->structured, key, json_object_get(report->streams, key));
        if (text && text[0]) {
            scoped_free char *block = text_format("%s:\n%s", name, text);

            if (block)
                mcp_call_say(report->call, block, strlen(block));
        }
    }
}

static void put_diagnosis(struct report *report, struct buf *text)
{
    const json_t *found = json_object_get(report->result, "diagnosis");
    const char *file = mcp_text(found, "file"), *message = mcp_text(found, "message");
    const char *type = mcp_text(found, "type"), *advice = mcp_text(found, "suggestion");
    struct buf line, shown;

    if (!message)
        return;
    buf_init(&line, TEXT_MAX);
    (void)buf_printf(&line, "%s%s%s", type ? type : "", type ? ": " : "", message);
    if (file)
        (void)buf_printf(&line, " (%s, line %lld)", file,
                         (long long)json_integer_value(json_object_get(found, "line")));
    if (advice)
        (void)buf_printf(&line, ". %s", advice);
    buf_init(&shown, TEXT_MAX);
    (void)mcp_shape_visibly(line.data, line.len, &shown);
    (void)buf_printf(text, "\ndiagnosis: %s", shown.data);
    json_object_set_new(report->structured, "diagnosis", json_string(shown.data));
    buf_done(&shown);
    buf_done(&line);
}

static void put_denials(struct report *report, struct buf *text)
{
    json_t *denials = json_object_get(report->result, "denials"), *one;
    json_t *dropped = json_object_get(report->result, "denials_dropped");
    size_t i;

    json_object_set(report->structured, "denials", denials);
    json_array_foreach(denials, i, one) {
        const char *remedy = mcp_text(one, "remedy");

        (void)buf_printf(text, "\nrefused: %s %s by %s", mcp_text(one, "kind"),
                         mcp_text(one, "target"), mcp_text(one, "rule"));
        if (remedy)
            (void)buf_printf(text, "; the operator could allow it with %s", remedy);
    }
    if (!dropped)
        return;
    json_object_set(report->structured, "denials_dropped", dropped);
    (void)
        buf_printf(text,
                   "\nrefused: %lld more that are not listed: a run or session keeps %d different "
                   "ones",
                   (long long)json_integer_value(dropped), DENIALS_MAX);
}

static const char *const copied[] = { "outcome",     "success", "exit_code", "signal",
                                      "explanation", "cell",    "session" };

static json_int_t milliseconds(const json_t *result, const char *key)
{
    return (json_int_t)(json_number_value(json_object_get(result, key)) * 1000 + 0.5);
}

static void put_figures(struct report *report)
{
    json_object_set_new(report->structured, "wall_ms",
                        json_integer(milliseconds(report->result, "execution_time")));
    json_object_set_new(report->structured, "cpu_ms",
                        json_integer(milliseconds(report->result, "cpu_time")));
    json_object_set(report->structured, "peak_memory_bytes",
                    json_object_get(report->result, "memory_used"));
}

/* The first block: how it ended, and all that is not the program's own words. */
static void put_ending(struct report *report)
{
    const char *outcome = mcp_text(report->result, "outcome");
    const char *explanation = mcp_text(report->result, "explanation");
    const char *changes = mcp_text(report->result, "changes_id");
    struct buf text;

    buf_init(&text, TEXT_MAX);
    if (!strcmp(outcome, "exited"))
        (void)buf_printf(&text, "exit code %lld, %lld ms",
                         (long long)json_integer_value(
                             json_object_get(report->result, "exit_code")),
                         (long long)milliseconds(report->result, "execution_time"));
    else
        (void)buf_printf(&text, "%s: %s", outcome, explanation ? explanation : "");
    put_diagnosis(report, &text);
    put_denials(report, &text);
    if (changes) {
        const char *summary = mcp_text(report->result, "changes_summary");

        (void)buf_printf(&text, "\nchanges: %s; changes_id %s", summary ? summary : "", changes);
        json_object_set_new(report->structured, "changes_id", json_string(changes));
        json_object_set_new(report->structured, "changes_summary", json_string(summary));
    }
    mcp_call_say(report->call, text.data, text.len);
    buf_done(&text);
}

/* What a cell showed: text, and pictures as pictures. */
static void put_display(struct report *report)
{
    json_t *bundles = json_object_get(report->result, "display"), *one, *texts;
    size_t i;

    if (!json_array_size(bundles))
        return;
    texts = json_array();
    json_array_foreach(bundles, i, one) {
        const json_t *plain = json_object_get(one, "text/plain");
        struct mcp_stream stream = { .head = json_string_value(plain),
                                     .head_len = json_string_length(plain),
                                     .bytes = json_string_length(plain) };
        struct buf text;

        mcp_image_of_bundle(report->call, one);
        if (!plain)
            continue;
        buf_init(&text, TEXT_MAX);
        (void)mcp_shape_stream(&stream, report->max_chars, "", &text);
        if (text.len) {
            mcp_call_note(report->call, "value:\n%s", text.data);
            json_array_append_new(texts, json_string(text.data));
        }
        buf_done(&text);
    }
    json_object_set_new(report->structured, "display", texts);
}

static json_t *describe_file(const char *run, const json_t *file)
{
    const char *path = mcp_text(file, "path"), *skipped = mcp_text(file, "skipped");
    const char *mime = mcp_text(file, "mime");
    scoped_free char *uri = NULL;
    char shown[1100];
    json_t *about;

    path += strncmp(path, "/work/", 6) ? 0 : 6;
    text_copy_visibly(shown, sizeof(shown), path, strlen(path));
    about = json_pack("{s:s, s:I, s:s}", "path", shown, "size",
                      json_integer_value(json_object_get(file, "size")), "mime_type",
                      mime ? mime : "application/octet-stream");
    uri = mcp_uri_make(run, shown);
    if (skipped)
        json_object_set_new(about, "skipped", json_string(skipped));
    else if (uri)
        json_object_set_new(about, "uri", json_string(uri));
    return about;
}

/* Each file is a link; pictures are shown besides. */
static void put_files(struct report *report)
{
    json_t *files = json_object_get(report->result, "files"), *file, *list;
    size_t i;

    if (!json_array_size(files))
        return;
    list = json_array();
    json_array_foreach(files, i, file) {
        json_t *about = describe_file(mcp_text(report->result, "id"), file);

        if (i < LINKS_MAX && mcp_text(about, "uri"))
            json_array_append_new(report->call->content,
                                  json_pack("{s:s, s:O, s:O, s:O}", "type", "resource_link", "uri",
                                            json_object_get(about, "uri"), "name",
                                            json_object_get(about, "path"), "mimeType",
                                            json_object_get(about, "mime_type")));
        mcp_image_of_file(report->call, file);
        json_array_append_new(list, about);
    }
    json_object_set_new(report->structured, "files", list);
}

void mcp_report(struct mcp_call *call, json_t *result)
{
    json_t *max = json_object_get(call->arguments, "max_chars");
    struct report report = { .call = call,
                             .result = result,
                             .streams = failed_stage(result),
                             .structured = json_object(),
                             .max_chars = max ? (size_t)json_integer_value(max) : CHARS };
    const char *outcome = mcp_text(result, "outcome");

    for (size_t i = 0; i < ARRAY_LEN(copied); i++)
        if (json_object_get(result, copied[i]))
            json_object_set(report.structured, copied[i], json_object_get(result, copied[i]));
    json_object_set(report.structured, "run_id", json_object_get(result, "id"));
    json_object_set_new(report.structured, "diagnosis", json_null());
    put_figures(&report);
    put_ending(&report);
    put_streams(&report);
    put_display(&report);
    put_files(&report);
    call->is_error = strcmp(outcome, "exited") != 0 && strcmp(outcome, "signaled") != 0;
    call->structured = report.structured;
}
