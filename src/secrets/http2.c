/* lint-ok: length: two sessions and the streams between them */
#include "secrets/http2.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "secrets/http2_head.h"

#define STREAM_WINDOW (256 << 10)
#define CONNECTION_WINDOW (1 << 20)
#define KEPT_STREAMS (2 * HTTP2_MAX_STREAMS) /* with those that one end has closed */
#define TAKE_MAX (64 << 10)

/* One direction of a stream. */
struct way {
    struct stream *stream;
    struct http_stream body;
    struct buf ready;            /* looked through, and waits for the other end's window */
    size_t taken;                /* of `ready` */
    size_t owed;                 /* came, and its sender has not got the room back */
    bool ended, begun;           /* its sender has ended it; a head was passed on */
    struct http2_ready trailers; /* behind the body */
    bool has_trailers;
    enum rewrite_event event;
};

struct stream {
    struct link link;
    struct http2 *http2;
    int32_t ids[N_HTTP2_ENDS]; /* 0: not known there */
    bool closed[N_HTTP2_ENDS];
    struct http2_head head;        /* that comes in; frames of heads do not mix */
    struct way ways[N_HTTP2_ENDS]; /* by the end that sends */
};

static enum http2_end other(enum http2_end end)
{
    return end == HTTP2_PROGRAM ? HTTP2_HOST : HTTP2_PROGRAM;
}

static nghttp2_session *session_of(const struct http2 *http2, enum http2_end end)
{
    return http2->sides[end].session;
}

/* Memory of the sessions: heads and bodies pass through it. */
static void *memory_new(size_t size, void *unused)
{
    (void)unused;
    return malloc(size);
}

static void memory_free(void *at, void *unused)
{
    (void)unused;
    if (at)
        explicit_bzero(at, malloc_usable_size(at));
    free(at);
}

static void *memory_zeroes(size_t n, size_t size, void *unused)
{
    (void)unused;
    return calloc(n, size);
}

static void *memory_grow(void *at, size_t size, void *unused)
{
    void *grown = malloc(size);
    size_t had = at ? malloc_usable_size(at) : 0;

    if (!grown)
        return NULL;
    if (at)
        memcpy(grown, at, had < size ? had : size);
    memory_free(at, unused);
    return grown;
}

static void note_text(void *context, unsigned int which)
{
    const struct way *way = context;
    const struct rewrite *rewrite = way->stream->http2->rewrite;

    rewrite->tell(rewrite->context, way->event, which);
}

static void wipe(struct buf *text)
{
    if (text->data)
        explicit_bzero(text->data, text->capacity);
    text->len = 0;
}

static void way_init(struct way *way, struct stream *stream)
{
    way->stream = stream;
    http_stream_init(&way->body);
    way->body.state = HTTP_IN_OTHER;
    way->body.seen = note_text;
    way->body.context = way;
    buf_init(&way->ready, 3 * STREAM_WINDOW);
}

static void way_done(struct way *way)
{
    http_stream_done(&way->body);
    wipe(&way->ready);
    buf_done(&way->ready);
    if (way->has_trailers)
        http2_head_done(&way->trailers);
}

static struct stream *stream_new(struct http2 *http2, int32_t id)
{
    struct stream *stream = http2->n_streams < KEPT_STREAMS ? calloc(1, sizeof(*stream)) : NULL;

    if (!stream)
        return NULL;
    stream->http2 = http2;
    stream->ids[HTTP2_PROGRAM] = id;
    stream->closed[HTTP2_HOST] = true; /* until it is opened there */
    http2_head_init(&stream->head);
    way_init(&stream->ways[HTTP2_PROGRAM], stream);
    way_init(&stream->ways[HTTP2_HOST], stream);
    stream->ways[HTTP2_HOST].event = REWRITE_MASKED;
    stream->ways[HTTP2_HOST].body.mask = &http2->rewrite->rules->replies;
    list_append(&http2->streams, &stream->link);
    http2->n_streams++;
    return stream;
}

/* What never leaves takes no room of the connection. */
static void stream_free(struct stream *stream)
{
    struct http2 *http2 = stream->http2;

    for (enum http2_end end = 0; end < N_HTTP2_ENDS; end++) {
        if (stream->ways[end].owed && session_of(http2, end))
            (void)nghttp2_session_consume_connection(session_of(http2, end),
                                                     stream->ways[end].owed);
        way_done(&stream->ways[end]);
    }
    http2_head_clear(&stream->head);
    link_remove(&stream->link);
    http2->n_streams--;
    free(stream);
}

static struct stream *stream_at(const struct http2_side *side, int32_t id)
{
    return nghttp2_session_get_stream_user_data(side->session, id);
}

static void reset(struct stream *stream, enum http2_end end, uint32_t code)
{
    if (stream->ids[end] && !stream->closed[end])
        (void)nghttp2_submit_rst_stream(session_of(stream->http2, end), NGHTTP2_FLAG_NONE,
                                        stream->ids[end], code);
}

/* Trailers follow the body that has just ended. */
static void submit_trailers(struct stream *stream, struct way *way, enum http2_end to,
                            uint32_t *flags)
{
    if (!way->has_trailers)
        return;
    *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
    if (nghttp2_submit_trailer(session_of(stream->http2, to), stream->ids[to], way->trailers.fields,
                               way->trailers.n) < 0)
        reset(stream, to, NGHTTP2_INTERNAL_ERROR);
}

/* The session asks for the next bytes of a body. */
static ssize_t give_body(nghttp2_session *session, int32_t id, uint8_t *data, size_t size,
                         uint32_t *flags, nghttp2_data_source *source, void *context)
{
    struct http2_side *side = context;
    enum http2_end to = side->end, from = other(to);
    struct stream *stream = source->ptr;
    struct way *way = &stream->ways[from];
    size_t n = way->ready.len - way->taken;

    (void)session;
    (void)id;
    n = n < size ? n : size;
    if (n == 0 && !way->ended)
        return NGHTTP2_ERR_DEFERRED;
    if (n)
        memcpy(data, way->ready.data + way->taken, n);
    way->taken += n;
    way->owed -= n;
    if (n)
        (void)nghttp2_session_consume(session_of(stream->http2, from), stream->ids[from], n);
    if (way->taken == way->ready.len) {
        wipe(&way->ready);
        way->taken = 0;
        if (way->ended) {
            *flags |= NGHTTP2_DATA_FLAG_EOF;
            submit_trailers(stream, way, to, flags);
        }
    }
    return (ssize_t)n;
}

/* A steady stream is never taken whole: what is taken goes before it fills the room. */
static void drop_taken(struct way *way)
{
    if (way->taken < STREAM_WINDOW)
        return;
    buf_drop(&way->ready, way->taken);
    way->taken = 0;
}

static void go_on(struct stream *stream, enum http2_end to)
{
    if (!stream->closed[to])
        (void)nghttp2_session_resume_data(session_of(stream->http2, to), stream->ids[to]);
}

static void end_way(struct stream *stream, enum http2_end from)
{
    struct way *way = &stream->ways[from];

    if (way->ended)
        return;
    if (!http_stream_end(&way->body, &way->ready))
        reset(stream, other(from), NGHTTP2_INTERNAL_ERROR);
    way->ended = true;
    go_on(stream, other(from));
}

/* Places in which values are looked for in this request's body. */
static void choose_mask(struct stream *stream, bool puts_in)
{
    const struct rewrite_rules *rules = stream->http2->rewrite->rules;
    struct way *way = &stream->ways[HTTP2_PROGRAM];

    way->body.only_watches = !puts_in || !rules->body.n;
    way->body.mask = way->body.only_watches ? &rules->watched : &rules->body;
    way->event = !puts_in                 ? REWRITE_OTHER_HOST
                 : way->body.only_watches ? REWRITE_LEFT
                                          : REWRITE_PUT_IN;
}

static bool pass_request(struct stream *stream, bool ended)
{
    struct http2 *http2 = stream->http2;
    const nghttp2_data_provider body = { .source.ptr = stream, .read_callback = give_body };
    struct http2_ready ready;
    int32_t id = -1;

    if (http2_head_request(http2->rewrite, &stream->head, &ready))
        id = nghttp2_submit_request(session_of(http2, HTTP2_HOST), NULL, ready.fields, ready.n,
                                    ended ? NULL : &body, stream);
    choose_mask(stream, ready.puts_in);
    http2_head_done(&ready);
    if (id < 0)
        return false;
    stream->ids[HTTP2_HOST] = id;
    stream->closed[HTTP2_HOST] = false;
    return true;
}

static bool pass_reply(struct stream *stream, bool ended)
{
    struct http2 *http2 = stream->http2;
    nghttp2_session *program = session_of(http2, HTTP2_PROGRAM);
    const nghttp2_data_provider body = { .source.ptr = stream, .read_callback = give_body };
    int32_t id = stream->ids[HTTP2_PROGRAM];
    struct http2_ready ready;
    int r = -1;

    if (stream->closed[HTTP2_PROGRAM])
        return true;
    if (http2_head_reply(http2->rewrite, &stream->head, &ready))
        r = stream->head.status < 200
                ? nghttp2_submit_headers(program, NGHTTP2_FLAG_NONE, id, NULL, ready.fields,
                                         ready.n, NULL)
                : nghttp2_submit_response(program, id, ready.fields, ready.n, ended ? NULL : &body);
    http2_head_done(&ready);
    stream->ways[HTTP2_HOST].begun |= stream->head.status >= 200;
    return r == 0;
}

static bool keep_trailers(struct stream *stream, enum http2_end from)
{
    struct way *way = &stream->ways[from];

    if (way->has_trailers)
        return false;
    way->has_trailers = true;
    return (from == HTTP2_HOST ? http2_head_reply : http2_head_trailers)(stream->http2->rewrite,
                                                                         &stream->head,
                                                                         &way->trailers);
}

/* A whole head has come. */
static void take_head(const struct http2_side *side, struct stream *stream, bool ended)
{
    struct way *way = &stream->ways[side->end];
    bool first = !way->begun, passed;

    passed = !first                       ? keep_trailers(stream, side->end)
             : side->end == HTTP2_PROGRAM ? pass_request(stream, ended)
                                          : pass_reply(stream, ended);
    if (side->end == HTTP2_PROGRAM)
        way->begun = true;
    http2_head_clear(&stream->head);
    if (!passed) {
        reset(stream, HTTP2_PROGRAM, NGHTTP2_REFUSED_STREAM);
        reset(stream, HTTP2_HOST, NGHTTP2_CANCEL);
    }
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *context)
{
    struct http2_side *side = context;
    struct stream *stream = stream_at(side, frame->hd.stream_id);
    bool ended = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;

    (void)session;
    if (frame->hd.type == NGHTTP2_GOAWAY && side->end == HTTP2_HOST) {
        nghttp2_session *program = session_of(side->http2, HTTP2_PROGRAM);

        (void)nghttp2_submit_goaway(program, NGHTTP2_FLAG_NONE,
                                    nghttp2_session_get_last_proc_stream_id(program),
                                    frame->goaway.error_code, NULL, 0);
    }
    if (!stream || (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA))
        return 0;
    if (frame->hd.type == NGHTTP2_HEADERS)
        take_head(side, stream, ended);
    if (ended)
        end_way(stream, side->end);
    return 0;
}

static int on_head(nghttp2_session *session, const nghttp2_frame *frame, void *context)
{
    struct http2_side *side = context;
    struct stream *stream = stream_at(side, frame->hd.stream_id);

    if (!stream && side->end == HTTP2_PROGRAM && frame->hd.type == NGHTTP2_HEADERS &&
        frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
        stream = stream_new(side->http2, frame->hd.stream_id);
        if (stream)
            (void)nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, stream);
    }
    if (!stream)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    http2_head_clear(&stream->head);
    return 0;
}

static int on_field(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                    size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
                    void *context)
{
    struct stream *stream = stream_at(context, frame->hd.stream_id);

    (void)session;
    (void)flags;
    return stream && http2_head_add(&stream->head, name, name_len, value, value_len)
               ? 0
               : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

static int on_body(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data,
                   size_t len, void *context)
{
    struct http2_side *side = context;
    struct stream *stream = stream_at(side, id);
    struct way *way = stream ? &stream->ways[side->end] : NULL;

    (void)flags;
    if (!stream || stream->closed[other(side->end)]) { /* nobody wants it any more */
        (void)nghttp2_session_consume(session, id, len);
        return 0;
    }
    way->owed += len;
    drop_taken(way);
    if (!http_stream_feed(&way->body, (const char *)data, len, &way->ready))
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    go_on(stream, other(side->end));
    return 0;
}

/* The other end's stream ends as well, unless there is something left to give. */
static int on_close(nghttp2_session *session, int32_t id, uint32_t code, void *context)
{
    struct http2_side *side = context;
    struct stream *stream = stream_at(side, id);

    (void)session;
    if (!stream)
        return 0;
    stream->closed[side->end] = true;
    if (stream->closed[other(side->end)])
        stream_free(stream);
    else if (code != NGHTTP2_NO_ERROR || !stream->ways[side->end].ended)
        reset(stream, other(side->end), code != NGHTTP2_NO_ERROR ? code : NGHTTP2_CANCEL);
    return 0;
}

/* A request that the host's end takes no more: it never had a stream there. */
static int on_not_sent(nghttp2_session *session, const nghttp2_frame *frame, int code,
                       void *context)
{
    struct http2_side *side = context;

    (void)session;
    (void)code;
    if (side->end != HTTP2_HOST || frame->hd.type != NGHTTP2_HEADERS)
        return 0;
    list_each(at, &side->http2->streams) {
        struct stream *stream = link_owner(at, struct stream, link);

        if (stream->ids[HTTP2_HOST] != frame->hd.stream_id)
            continue;
        stream->closed[HTTP2_HOST] = true;
        reset(stream, HTTP2_PROGRAM, NGHTTP2_REFUSED_STREAM);
    }
    return 0;
}

static nghttp2_session_callbacks *callbacks_new(void)
{
    nghttp2_session_callbacks *ret = NULL;

    if (nghttp2_session_callbacks_new(&ret) < 0)
        return NULL;
    nghttp2_session_callbacks_set_on_begin_headers_callback(ret, on_head);
    nghttp2_session_callbacks_set_on_header_callback(ret, on_field);
    nghttp2_session_callbacks_set_on_frame_recv_callback(ret, on_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(ret, on_body);
    nghttp2_session_callbacks_set_on_stream_close_callback(ret, on_close);
    nghttp2_session_callbacks_set_on_frame_not_send_callback(ret, on_not_sent);
    return ret;
}

static bool settle(struct http2_side *side)
{
    static const nghttp2_settings_entry settings[] = {
        { NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW },
        { NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HTTP_MAX_HEAD },
        { NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, HTTP2_MAX_STREAMS },
        { NGHTTP2_SETTINGS_ENABLE_PUSH, 0 },
    };
    /* The last one is for servers. */
    size_t n = ARRAY_LEN(settings) - (side->end == HTTP2_PROGRAM);

    return nghttp2_submit_settings(side->session, NGHTTP2_FLAG_NONE, settings, n) == 0 &&
           nghttp2_session_set_local_window_size(side->session, NGHTTP2_FLAG_NONE, 0,
                                                 CONNECTION_WINDOW) == 0;
}

static bool open_side(struct http2_side *side, const nghttp2_session_callbacks *callbacks,
                      const nghttp2_option *option)
{
    static nghttp2_mem memory = { NULL, memory_new, memory_free, memory_zeroes, memory_grow };
    int r = side->end == HTTP2_PROGRAM
                ? nghttp2_session_server_new3(&side->session, callbacks, side, option, &memory)
                : nghttp2_session_client_new3(&side->session, callbacks, side, option, &memory);

    return r == 0 && settle(side);
}

struct http2 *http2_new(struct rewrite *rewrite)
{
    struct http2 *http2 = calloc(1, sizeof(*http2));
    nghttp2_session_callbacks *callbacks = callbacks_new();
    nghttp2_option *option = NULL;
    bool opened = http2 && callbacks && nghttp2_option_new(&option) == 0;

    if (http2) {
        link_init(&http2->streams);
        http2->rewrite = rewrite;
    }
    if (opened) {
        nghttp2_option_set_no_auto_window_update(option, 1);
        nghttp2_option_set_peer_max_concurrent_streams(option, HTTP2_MAX_STREAMS);
        nghttp2_option_set_max_send_header_block_length(option, 8 * HTTP_MAX_HEAD);
    }
    for (enum http2_end end = 0; opened && end < N_HTTP2_ENDS; end++) {
        http2->sides[end] = (struct http2_side){ .http2 = http2, .end = end };
        opened = open_side(&http2->sides[end], callbacks, option);
    }
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    if (opened)
        return http2;
    http2_free(http2);
    return NULL;
}

void http2_free(struct http2 *http2)
{
    if (!http2)
        return;
    for (enum http2_end end = 0; end < N_HTTP2_ENDS; end++) {
        nghttp2_session_del(http2->sides[end].session);
        http2->sides[end].session = NULL;
    }
    list_each(at, &http2->streams)
        stream_free(link_owner(at, struct stream, link));
    free(http2);
}

bool http2_feed(struct http2 *http2, enum http2_end from, const char *data, size_t len)
{
    return nghttp2_session_mem_recv(session_of(http2, from), (const uint8_t *)data, len) ==
           (ssize_t)len;
}

bool http2_take(struct http2 *http2, enum http2_end to, struct buf *out)
{
    nghttp2_session *session = session_of(http2, to);

    while (out->len < TAKE_MAX) {
        const uint8_t *data;
        ssize_t n = nghttp2_session_mem_send(session, &data);

        if (n < 0 || buf_add(out, data, (size_t)n) < 0)
            return false;
        if (n == 0)
            break;
    }
    return out->len || nghttp2_session_want_read(session) || nghttp2_session_want_write(session);
}

bool http2_has(const struct http2 *http2, enum http2_end to)
{
    return nghttp2_session_want_write(session_of(http2, to));
}

size_t http2_held(const struct http2 *http2, enum http2_end to)
{
    size_t most = 0;

    list_each(at, &http2->streams) {
        const struct stream *stream = link_owner(at, struct stream, link);
        size_t held = http_stream_held(&stream->ways[other(to)].body);

        most = held > most ? held : most;
    }
    return most;
}

void http2_release(struct http2 *http2, enum http2_end to)
{
    list_each(at, &http2->streams) {
        struct stream *stream = link_owner(at, struct stream, link);
        struct way *way = &stream->ways[other(to)];

        http_stream_release(&way->body, &way->ready);
        go_on(stream, to);
    }
}
