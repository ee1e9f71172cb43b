#include "dialect/translate.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/encoding.h"
#include "base/json_read.h"
#include "base/text.h"
#include "http/offload.h"
#include "model/limits.h"
#include "model/result.h"

#define LARGE_REPLY ((size_t)256 << 10)
#define REPLY_MAX ((size_t)1 << 32)
#define STREAM_MAX ((size_t)1 << 31)
#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

void translate_default(json_t *limits, const struct grant *tenant, enum sbr_limit which,
                       uint64_t value)
{
    const char *name = limit_defs[which].name;

    if (json_object_get(limits, name) || grant_most(tenant, which) < value)
        return;
    json_object_set_new(limits, name, json_integer((json_int_t)value));
}

void translate_add_file(json_t *files, const char *path, json_t *content, const char *encoding)
{
    json_array_append_new(files, json_pack("{s:s, s:o, s:s}", "path", path, "content", content,
                                           "encoding", encoding));
}

const char *translate_word(const json_t *object, const char *key)
{
    const char *word = json_string_value(json_object_get(object, key));

    return word ? word : "";
}

static void add_part(struct buf *all, const json_t *part, bool base64)
{
    scoped_free char *bytes = NULL;
    size_t len;

    if (!json_is_string(part))
        return;
    if (!base64)
        buf_add(all, json_string_value(part), json_string_length(part));
    else if (encoding_from_base64(json_string_value(part), &bytes, &len) == 0)
        buf_add(all, bytes, len);
}

char *translate_stream(const json_t *result, const char *name, size_t *ret_len)
{
    char tail[32], encoding[32];
    struct buf all;
    bool base64;

    snprintf(tail, sizeof(tail), "%s_tail", name);
    snprintf(encoding, sizeof(encoding), "%s_encoding", name);
    base64 = !strcmp(translate_word(result, encoding), "base64");
    buf_init(&all, STREAM_MAX);
    add_part(&all, json_object_get(result, name), base64);
    add_part(&all, json_object_get(result, tail), base64);
    return buf_take(&all, ret_len);
}

json_t *translate_text(const char *data, size_t len)
{
    scoped_free char *text = NULL;
    struct buf clean;
    json_t *string;
    size_t n;

    if (text_is_utf8(data, len))
        return json_stringn(data, len);
    buf_init(&clean, STREAM_MAX);
    for (size_t i = 0; i < len; i += n ? n : 1) {
        n = text_character_len(data + i, len - i);
        buf_add(&clean, n ? data + i : REPLACEMENT, n ? n : strlen(REPLACEMENT));
    }
    text = buf_take(&clean, &n);
    string = text ? json_stringn(text, n) : NULL;
    return string;
}

json_t *translate_stream_text(const json_t *result, const char *name)
{
    json_t *value = json_object_get(result, name);
    scoped_free char *bytes = NULL;
    char tail[32], encoding[32];
    size_t len;

    snprintf(tail, sizeof(tail), "%s_tail", name);
    snprintf(encoding, sizeof(encoding), "%s_encoding", name);
    if (json_is_string(value) && !json_is_string(json_object_get(result, tail)) &&
        strcmp(translate_word(result, encoding), "base64") != 0)
        return json_incref(value);
    bytes = translate_stream(result, name, &len);
    return bytes ? translate_text(bytes, len) : NULL;
}

const json_t *translate_stage(const json_t *result, const char *name)
{
    const json_t *stage;
    size_t i;

    json_array_foreach(json_object_get(result, "stages"), i, stage)
        if (!strcmp(translate_word(stage, "name"), name))
            return stage;
    return NULL;
}

double translate_metric(const json_t *result, const char *name)
{
    return json_number_value(json_object_get(json_object_get(result, "metrics"), name));
}

static int add_piece(const char *data, size_t len, void *context)
{
    return buf_add(context, data, len);
}

static char *dump(const json_t *document)
{
    struct buf text;

    buf_init(&text, REPLY_MAX);
    if (!document ||
        json_dump_callback(document, add_piece, &text,
                           JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(9)) < 0)
        text.failed = true;
    return buf_take(&text, NULL);
}

/* The texts in it have more bytes. */
static bool is_larger(json_t *at, size_t *left)
{
    const char *key;
    json_t *value;
    size_t i;

    if (json_is_string(at)) {
        size_t len = json_string_length(at);

        *left -= len < *left ? len : *left;
    }
    json_object_foreach(at, key, value)
        if (is_larger(value, left))
            return true;
    json_array_foreach(at, i, value)
        if (is_larger(value, left))
            return true;
    return *left == 0;
}

/* A copy in which names stand for long strings, which `kept` has. */
static json_t *leave_out(json_t *at, struct jsonw_apart *apart, json_t *kept)
{
    json_t *copy = json_is_object(at) ? json_object() : json_array(), *value;
    const char *key;
    size_t i;

    if (json_is_string(at)) {
        const struct jsonw_long text = { .data = json_string_value(at),
                                         .len = json_string_length(at) };
        char name[JSONW_NAME_SIZE];

        json_decref(copy);
        if (!jsonw_take_apart(apart, &text, name))
            return json_incref(at);
        json_array_append(kept, at);
        return json_string(name);
    }
    json_object_foreach(at, key, value)
        json_object_set_new_nocheck(copy, key, leave_out(value, apart, kept));
    json_array_foreach(at, i, value)
        json_array_append_new(copy, leave_out(value, apart, kept));
    if (json_is_object(at) || json_is_array(at))
        return copy;
    json_decref(copy);
    return json_incref(at);
}

static void free_strings(void *kept)
{
    json_decref(kept);
}

/* A reply with long strings, which are sent from where they are. */
struct large_reply {
    struct apart apart;
    json_t *document;
    struct response_text *text;
    unsigned int status;
};

static void write_large(struct apart *a)
{
    struct large_reply *reply = link_owner(a, struct large_reply, apart);
    struct jsonw_apart apart = { 0 };
    json_t *kept = json_array(), *skeleton = NULL;

    if (kept && encoding_random_id(apart.mark) == 0)
        skeleton = leave_out(reply->document, &apart, kept);
    if (skeleton)
        reply->text = response_text_of_apart(dump(skeleton), &apart, kept, free_strings);
    if (!reply->text)
        json_decref(kept);
    json_decref(skeleton);
}

static void send_large(struct apart *a, struct exchange *x)
{
    struct large_reply *reply = link_owner(a, struct large_reply, apart);

    if (x)
        exchange_reply_texts(x, reply->status, JSON_TYPE, &reply->text, 1);
    response_text_drop(reply->text);
    json_decref(reply->document);
    free(reply);
}

void translate_reply(struct exchange *x, unsigned int status, json_t *document)
{
    size_t left = LARGE_REPLY;
    struct large_reply *reply =
        document && is_larger(document, &left) ? calloc(1, sizeof(*reply)) : NULL;

    if (reply) {
        reply->apart = (struct apart){ write_large, send_large };
        reply->document = document;
        reply->status = status;
        apart_do(x, true, &reply->apart);
        return;
    }
    exchange_reply(x, status, JSON_TYPE, dump(document));
    json_decref(document);
}

json_t *translate_both(const struct execution *e)
{
    scoped_free char *all = NULL;
    struct buf text;
    size_t len;

    if (e->log.first)
        return NULL;
    buf_init(&text, STREAM_MAX);
    for (uint64_t i = 0; i < event_log_next(&e->log); i++) {
        const struct event_log_line *line = event_log_get(&e->log, i);
        json_t *event =
            json_read(line->text, line->len, &json_read_answer, JSON_ALLOW_NUL, "the event", NULL);
        const char *type = translate_word(event, "type");
        const json_t *data = json_object_get(event, "data");
        scoped_free char *bytes = NULL;

        if (!strcmp(type, "stdout") || !strcmp(type, "stderr")) {
            if (data)
                buf_add(&text, json_string_value(data), json_string_length(data));
            else if (encoding_from_base64(translate_word(event, "data_b64"), &bytes, &len) == 0)
                buf_add(&text, bytes, len);
        }
        json_decref(event);
    }
    all = buf_take(&text, &len);
    return all ? translate_text(all, len) : NULL;
}

/* One word of a line for a shell, with its quotes taken away; `*at` goes behind it. */
static void take_word(const char **at, struct buf *word)
{
    char quote = '\0';

    for (; **at && (quote || !strchr(" \t\n", **at)); ++*at) {
        if (quote ? **at == quote : **at == '\'' || **at == '"')
            quote = quote ? '\0' : **at;
        else if (**at == '\\' && quote != '\'' && (*at)[1])
            buf_add(word, ++*at, 1);
        else
            buf_add(word, *at, 1);
    }
}

json_t *translate_words(const char *line)
{
    json_t *words = json_array();
    struct buf word;

    for (line += strspn(line, " \t\n"); *line; line += strspn(line, " \t\n")) {
        buf_init(&word, STREAM_MAX);
        take_word(&line, &word);
        json_array_append_new(words, json_stringn(word.data ? word.data : "", word.len));
        buf_done(&word);
    }
    return words;
}

json_t *translate_base64(const char *data, size_t len)
{
    scoped_free char *base64 = data && len ? encoding_to_base64(data, len) : NULL;

    return base64 ? json_string(base64) : json_null();
}
