#include "secrets/http2_head.h"

#include <string.h>

#include "base/err.h"
#include "model/secret.h"

#define ADDED_MAX (SECRETS_MAX * (SECRET_MAX_BYTES + SECRET_MAX_HEADER))

static void wipe(struct buf *text)
{
    if (text->data)
        explicit_bzero(text->data, text->capacity);
    buf_done(text);
}

void http2_head_init(struct http2_head *head)
{
    buf_init(&head->text, HTTP_MAX_HEAD);
    head->n = 0;
    head->status = 0;
}

bool http2_head_add(struct http2_head *head, const void *name, size_t name_len, const void *value,
                    size_t value_len)
{
    if (head->n == HTTP_MAX_LINES || buf_add(&head->text, name, name_len) < 0 ||
        buf_add(&head->text, value, value_len) < 0)
        return false;
    if (name_len == 7 && value_len == 3 && !memcmp(name, ":status", 7)) {
        const char *digits = value;

        head->status =
            (unsigned int)((digits[0] - '0') * 100 + (digits[1] - '0') * 10 + (digits[2] - '0'));
    }
    head->fields[head->n].name_len = name_len;
    head->fields[head->n++].value_len = value_len;
    return true;
}

void http2_head_clear(struct http2_head *head)
{
    wipe(&head->text);
    http2_head_init(head);
}

/* The field at *at, which goes on to the next one. */
static struct http_line line_of(const struct http2_head *head, size_t i, size_t *at)
{
    struct http_line line = {
        .name = { head->text.data + *at, head->fields[i].name_len },
        .value = { head->text.data + *at + head->fields[i].name_len, head->fields[i].value_len },
    };

    *at += line.name.len + line.value.len;
    return line;
}

static void begin(struct http2_ready *ready)
{
    ready->n = 0;
    ready->puts_in = false;
    buf_init(&ready->text, ADDED_MAX + HTTP_MAX_HEAD);
}

/* The value is behind the name from `from` on.  Pointers follow in finish(), because text moves. */
static void end_field(struct http2_ready *ready, size_t from, size_t name_len, bool keep_out)
{
    nghttp2_nv *field = &ready->fields[ready->n++];

    field->namelen = name_len;
    field->valuelen = ready->text.len - from - name_len;
    field->flags = keep_out ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE;
}

static bool finish(struct http2_ready *ready)
{
    uint8_t *at = (uint8_t *)ready->text.data;

    for (size_t i = 0; i < ready->n && !ready->text.failed; i++) {
        ready->fields[i].name = at;
        ready->fields[i].value = at + ready->fields[i].namelen;
        at += ready->fields[i].namelen + ready->fields[i].valuelen;
    }
    return !ready->text.failed;
}

static void put_plain(struct http2_ready *ready, const char *name, const char *value, bool keep_out)
{
    size_t from = ready->text.len;

    buf_add_text(&ready->text, name);
    for (size_t i = from; !ready->text.failed && i < ready->text.len; i++)
        if (ready->text.data[i] >= 'A' && ready->text.data[i] <= 'Z')
            ready->text.data[i] = (char)(ready->text.data[i] - 'A' + 'a');
    buf_add(&ready->text, value, strlen(value));
    end_field(ready, from, strlen(name), keep_out);
}

/* Both ways to name the host have to name this one, and so has the scheme. */
static bool is_for_host(const struct rewrite_rules *rules, const struct http2_head *head)
{
    bool named = false;

    for (size_t i = 0, at = 0; i < head->n; i++) {
        struct http_line line = line_of(head, i, &at);
        bool host = http_text_is(&line.name, "host") || http_text_is(&line.name, ":authority");

        if (host && !rewrite_names_host(rules, &line.value))
            return false;
        if (http_text_is(&line.name, ":scheme") &&
            !http_text_is(&line.value, rules->tls ? "https" : "http"))
            return false;
        named |= host;
    }
    return named;
}

/* No tunnel through the host: what would pass in it is not looked at. */
static bool is_tunnel(const struct http_line *line)
{
    return http_text_is(&line->name, ":protocol") ||
           (http_text_is(&line->name, ":method") && http_text_is(&line->value, "connect"));
}

static void put_line(struct rewrite *rewrite, const struct http_line *line,
                     struct http2_ready *ready)
{
    size_t from = ready->text.len;

    buf_add(&ready->text, line->name.at, line->name.len);
    if (http_text_is(&line->name, ":path"))
        rewrite_put_target(rewrite, &line->value, ready->puts_in, &ready->text);
    else
        rewrite_put_value(rewrite, line, ready->puts_in, &ready->text);
    end_field(ready, from, line->name.len,
              rewrite_is_credential(&line->name) || http_text_is(&line->name, ":path"));
}

bool http2_head_request(struct rewrite *rewrite, const struct http2_head *head,
                        struct http2_ready *ret)
{
    const struct rewrite_rules *rules = rewrite->rules;

    begin(ret);
    ret->puts_in = is_for_host(rules, head);
    for (size_t i = 0, at = 0; i < head->n; i++) {
        struct http_line line = line_of(head, i, &at);

        if (is_tunnel(&line))
            return false;
        if (!rewrite_drops(rules, &line, ret->puts_in))
            put_line(rewrite, &line, ret);
    }
    put_plain(ret, "accept-encoding", "identity", false);
    for (size_t i = 0; ret->puts_in && i < rules->n_added; i++) {
        put_plain(ret, rules->added[i].name, rules->added[i].value, true);
        rewrite->tell(rewrite->context, REWRITE_PUT_IN, rules->added[i].which);
    }
    return finish(ret);
}

bool http2_head_reply(struct rewrite *rewrite, const struct http2_head *head,
                      struct http2_ready *ret)
{
    begin(ret);
    for (size_t i = 0, at = 0; i < head->n; i++) {
        struct http_line line = line_of(head, i, &at);
        size_t from = ret->text.len;

        buf_add(&ret->text, line.name.at, line.name.len);
        rewrite_put_reply(rewrite, &line.value, &ret->text);
        end_field(ret, from, line.name.len, false);
    }
    return finish(ret);
}

bool http2_head_trailers(struct rewrite *rewrite, const struct http2_head *head,
                         struct http2_ready *ret)
{
    begin(ret);
    for (size_t i = 0, at = 0; i < head->n; i++) {
        struct http_line line = line_of(head, i, &at);

        put_line(rewrite, &line, ret);
    }
    return finish(ret);
}

void http2_head_done(struct http2_ready *ready)
{
    wipe(&ready->text);
}
