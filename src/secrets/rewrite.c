#include "secrets/rewrite.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/encoding.h"
#include "base/err.h"

static void note_header(void *context, unsigned int which)
{
    struct rewrite *rewrite = context;

    rewrite->tell(rewrite->context, rewrite->event, which);
}

/* Applies a mask to what was just added to `out`; it is whole, so nothing is kept back. */
static void apply(struct rewrite *rewrite, const struct mask *mask, enum rewrite_event event,
                  struct buf *out, size_t from)
{
    rewrite->event = event;
    if (!out->failed && out->len > from)
        (void)mask_apply(mask, out->data + from, out->len - from, note_header, rewrite);
}

bool rewrite_is_credential(const struct http_text *name)
{
    static const char *const words[] = { "auth",       "key",    "token",   "secret", "password",
                                         "credential", "cookie", "session", "apikey" };

    if (http_text_begins(name, "sec-"))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        size_t n = strlen(words[i]);

        for (size_t at = 0; at + n <= name->len; at++) {
            const struct http_text part = { name->at + at, n };

            if (http_text_is(&part, words[i]))
                return true;
        }
    }
    return false;
}

/* HOST[:PORT], as it stands in Host and in absolute addresses. */
bool rewrite_names_host(const struct rewrite_rules *rules, const struct http_text *text)
{
    bool usual = rules->port == (rules->tls ? 443 : 80), v6 = strchr(rules->name, ':') != NULL;
    char with_port[300];
    int n = snprintf(with_port, sizeof(with_port), "%s%s%s:%u", v6 ? "[" : "", rules->name,
                     v6 ? "]" : "", rules->port);

    if (http_text_is(text, with_port))
        return true;
    with_port[n - (int)strlen(strrchr(with_port, ':'))] = '\0';
    return usual && http_text_is(text, with_port);
}

/* Behind a front that serves many names, another Host is another host. */
static bool is_for_host(const struct rewrite_rules *rules, const struct http_head *head)
{
    const struct http_text *target = &head->target;
    const char *scheme = rules->tls ? "https://" : "http://";
    struct http_text authority;

    if (!head->host.at || !rewrite_names_host(rules, &head->host))
        return false;
    if (target->at[0] == '/' || http_text_is(target, "*"))
        return true;
    if (!http_text_begins(target, scheme))
        return false;
    authority = (struct http_text){ target->at + strlen(scheme), target->len - strlen(scheme) };
    for (size_t i = 0; i < authority.len; i++)
        if (strchr("/?#", authority.at[i]))
            authority.len = i;
    return rewrite_names_host(rules, &authority);
}

/* Encoded replies could not be looked through, nor frames that are compressed, nor what HTTP/1.1
 * changes to. */
bool rewrite_drops(const struct rewrite_rules *rules, const struct http_line *line, bool puts_in)
{
    static const char *const names[] = { "accept-encoding", "grpc-accept-encoding",
                                         "sec-websocket-extensions", "http2-settings" };

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (http_text_is(&line->name, names[i]))
            return true;
    if (http_text_is(&line->name, "te"))
        return !http_text_is(&line->value, "trailers");
    if (http_text_is(&line->name, "upgrade"))
        return !http_text_is(&line->value, "websocket");
    for (size_t i = 0; puts_in && i < rules->n_added; i++)
        if (http_text_is(&line->name, rules->added[i].name))
            return true;
    return false;
}

/* "Basic " and base64 of USER:PASSWORD: the placeholder is only seen once it is decoded. */
static void put_basic(struct rewrite *rewrite, struct buf *out, size_t from)
{
    const struct http_text value = { out->data + from, out->len - from };
    const size_t skip = strlen("Basic ");
    char *plain = NULL, *again;
    size_t len;

    if (out->failed || !http_text_begins(&value, "basic ") ||
        encoding_from_base64(value.at + skip, &plain, &len) < 0)
        return;
    rewrite->event = REWRITE_PUT_IN;
    (void)mask_apply(&rewrite->rules->headers, plain, len, note_header, rewrite);
    again = encoding_to_base64(plain, len);
    if (again && strlen(again) == value.len - skip)
        memcpy(out->data + from + skip, again, value.len - skip);
    explicit_bzero(plain, len);
    if (again)
        explicit_bzero(again, strlen(again));
    free(again);
    free(plain);
}

void rewrite_put_value(struct rewrite *rewrite, const struct http_line *line, bool puts_in,
                       struct buf *out)
{
    size_t from = out->len;

    buf_add(out, line->value.at, line->value.len);
    if (puts_in && rewrite_is_credential(&line->name)) {
        apply(rewrite, &rewrite->rules->headers, REWRITE_PUT_IN, out, from);
        put_basic(rewrite, out, from);
    } else {
        apply(rewrite, &rewrite->rules->watched, puts_in ? REWRITE_LEFT : REWRITE_OTHER_HOST, out,
              from);
    }
}

static void put_line(struct rewrite *rewrite, const struct http_line *line, bool puts_in,
                     struct buf *out)
{
    buf_add(out, line->name.at, line->name.len);
    buf_add(out, ": ", 2);
    rewrite_put_value(rewrite, line, puts_in, out);
    buf_add(out, "\r\n", 2);
}

void rewrite_put_target(struct rewrite *rewrite, const struct http_text *target, bool puts_in,
                        struct buf *out)
{
    const char *query = memchr(target->at, '?', target->len);
    size_t from = out->len;

    buf_add(out, target->at, target->len);
    if (puts_in && query && rewrite->rules->query.n)
        apply(rewrite, &rewrite->rules->query, REWRITE_PUT_IN, out,
              from + (size_t)(query - target->at));
    apply(rewrite, &rewrite->rules->watched, puts_in ? REWRITE_LEFT : REWRITE_OTHER_HOST, out,
          from);
}

void rewrite_put_reply(struct rewrite *rewrite, const struct http_text *text, struct buf *out)
{
    size_t from = out->len;

    buf_add(out, text->at, text->len);
    apply(rewrite, &rewrite->rules->replies, REWRITE_MASKED, out, from);
}

static void put_added(struct rewrite *rewrite, struct buf *out)
{
    for (size_t i = 0; i < rewrite->rules->n_added; i++) {
        const struct http_added *one = &rewrite->rules->added[i];

        buf_printf(out, "%s: ", one->name);
        buf_add(out, one->value, strlen(one->value));
        buf_add(out, "\r\n", 2);
        rewrite->tell(rewrite->context, REWRITE_PUT_IN, one->which);
    }
}

static bool push(struct rewrite *rewrite, bool is_head)
{
    if (rewrite->n == REWRITE_PENDING)
        return false;
    rewrite->is_head[(rewrite->first + rewrite->n++) % REWRITE_PENDING] = is_head;
    return true;
}

static bool request(void *context, char *data, size_t len, struct http_next *next, struct buf *out)
{
    struct rewrite *rewrite = context;
    struct http_head head;
    bool puts_in;

    if (!http_request_parse(data, len, &head) || !push(rewrite, http_text_is(&head.method, "head")))
        return false;
    puts_in = is_for_host(rewrite->rules, &head);
    rewrite_put_target(rewrite, &head.first, puts_in, out);
    buf_add(out, "\r\n", 2);
    for (size_t i = 0; i < head.n_lines; i++) {
        if (rewrite_drops(rewrite->rules, &head.lines[i], puts_in))
            continue;
        rewrite->other_asked |= http_text_is(&head.lines[i].name, "upgrade");
        put_line(rewrite, &head.lines[i], puts_in, out);
    }
    buf_add_text(out, "Accept-Encoding: identity\r\n");
    if (puts_in)
        put_added(rewrite, out);
    buf_add(out, "\r\n", 2);
    rewrite->out.only_watches = !puts_in || !rewrite->rules->body.n;
    rewrite->out.mask =
        rewrite->out.only_watches ? &rewrite->rules->watched : &rewrite->rules->body;
    rewrite->left_event = puts_in ? REWRITE_LEFT : REWRITE_OTHER_HOST;
    next->body = head.body;
    next->length = head.length;
    return true;
}

static bool reply(void *context, char *data, size_t len, struct http_next *next, struct buf *out)
{
    struct rewrite *rewrite = context;
    struct http_head head;
    bool is_head;

    if (!http_reply_parse(data, len, &head) || !rewrite->n)
        return false;
    rewrite_put_reply(rewrite, &(struct http_text){ data, len }, out);
    if (head.status == 101) {
        rewrite->other = next->other = rewrite->other_asked;
        return rewrite->other;
    }
    if (head.status < 200)
        return true; /* the reply itself follows */
    is_head = rewrite->is_head[rewrite->first];
    rewrite->first = (rewrite->first + 1) % REWRITE_PENDING;
    rewrite->n--;
    next->body = is_head || head.status == 204 || head.status == 304 ? HTTP_NO_BODY : head.body;
    next->length = head.length;
    return true;
}

static void note_out(void *context, unsigned int which)
{
    struct rewrite *rewrite = context;

    rewrite->tell(rewrite->context,
                  rewrite->out.only_watches ? rewrite->left_event : REWRITE_PUT_IN, which);
}

static void note_in(void *context, unsigned int which)
{
    struct rewrite *rewrite = context;

    rewrite->tell(rewrite->context, REWRITE_MASKED, which);
}

void rewrite_init(struct rewrite *rewrite, const struct rewrite_rules *rules,
                  void (*tell)(void *context, enum rewrite_event event, unsigned int which),
                  void *context)
{
    *rewrite = (struct rewrite){ .rules = rules, .tell = tell, .context = context };
    rewrite->out = (struct http_stream){ .head = request, .seen = note_out, .context = rewrite };
    rewrite->in = (struct http_stream){
        .head = reply, .seen = note_in, .context = rewrite, .mask = &rules->replies
    };
    http_stream_init(&rewrite->out);
    http_stream_init(&rewrite->in);
}

bool rewrite_out(struct rewrite *rewrite, const char *data, size_t len, struct buf *to)
{
    if (!len)
        return http_stream_end(&rewrite->out, to);
    if (rewrite->other && rewrite->out.state == HTTP_IN_HEAD) {
        rewrite->out.state = HTTP_IN_OTHER;
        rewrite->out.mask = NULL; /* frames of clients are scrambled */
    }
    return http_stream_feed(&rewrite->out, data, len, to);
}

bool rewrite_in(struct rewrite *rewrite, const char *data, size_t len, struct buf *to)
{
    return len ? http_stream_feed(&rewrite->in, data, len, to) : http_stream_end(&rewrite->in, to);
}

void rewrite_done(struct rewrite *rewrite)
{
    http_stream_done(&rewrite->out);
    http_stream_done(&rewrite->in);
}
