#include <string.h>

#include "base/fields.h"
#include "base/reply_head.h"
#include "front/front_internal.h"

#define STREAM_BLOCK 1024 /* that the library holds for each reply that grows, maybe for hours */
#define BLOCK_SIZE 16384  /* of another one, which ends soon */

/* Called by the library when the client's socket takes more. */
static ssize_t pull(void *context, uint64_t position, char *to, size_t max)
{
    static char frame[FRONT_FRAME_MAX]; /* one thread, and used before the next call */
    struct front_client *c = context;
    struct front_head head;
    ssize_t n;

    (void)position;
    if (c->stage == STAGE_OVER)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (c->taken == c->rest.len) {
        buf_done(&c->rest); /* thousands of clients may wait here */
        buf_init(&c->rest, FRONT_FRAME_MAX);
        c->taken = 0;
        n = front_client_receive(c, frame, &head);
        if (n == 0) {
            front_client_pause(c, EPOLLIN, front_client_go_on); /* and this is called again */
            return 0;
        }
        if (n > 0 && head.type == FRONT_DONE) {
            c->to_come = 0;
            return MHD_CONTENT_READER_END_OF_STREAM;
        }
        if (n < 0 || head.type != FRONT_DATA ||
            buf_add(&c->rest, frame + sizeof(head), (size_t)n - sizeof(head)) < 0)
            return MHD_CONTENT_READER_END_WITH_ERROR;
    }
    n = (ssize_t)(c->rest.len - c->taken);
    n = n < (ssize_t)max ? n : (ssize_t)max;
    memcpy(to, c->rest.data + c->taken, (size_t)n);
    c->taken += (size_t)n;
    if (c->to_come != FRONT_LENGTH_UNKNOWN)
        c->to_come -= (uint64_t)n < c->to_come ? (uint64_t)n : c->to_come;
    return n;
}

/* Headers of the reply; false: they do not read well. */
static bool add_headers(struct MHD_Response *response, const char *fields, size_t len)
{
    const char *end = fields + len;
    struct field field;

    while (fields_next(&fields, end, &field))
        (void)MHD_add_response_header(response, field.name, field.value);
    return fields == end;
}

static struct MHD_Response *make(struct front_client *c, const struct front_head *head,
                                 const char *body, size_t len)
{
    c->to_come = 0;
    if (head->flags & FRONT_UPGRADE)
        return front_socket_response(c);
    if (!reply_head_has_body(head->status))
        return MHD_create_response_from_buffer(0, (void *)body, MHD_RESPMEM_MUST_COPY);
    if (head->flags & FRONT_WHOLE)
        return MHD_create_response_from_buffer(len, (void *)body, MHD_RESPMEM_MUST_COPY);
    c->to_come = head->length;
    c->taken = 0;
    if (buf_add(&c->rest, body, len) < 0)
        return NULL;
    return head->length == FRONT_LENGTH_UNKNOWN
               ? MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK, pull, c, NULL)
               : MHD_create_response_from_callback(head->length, BLOCK_SIZE, pull, c, NULL);
}

static bool take_reply(struct front_client *c, const struct front_head *head, const char *data,
                       size_t len)
{
    if (head->fields_len > len)
        return false;
    c->response = make(c, head, data + head->fields_len, len - head->fields_len);
    if (!c->response || !add_headers(c->response, data, head->fields_len))
        return false;
    c->closes = reply_head_closes(data, head->fields_len);
    if (c->check.state == CHECK_PASS && !(head->flags & FRONT_UPGRADE) && !c->closes) {
        /* what came behind the request was not looked at */
        (void)MHD_add_response_header(c->response, MHD_HTTP_HEADER_CONNECTION, "close");
        c->closes = true;
    }
    c->status = head->status;
    c->stage = STAGE_REPLY;
    return true;
}

/* False: the connection is to end. */
static bool take(struct front_client *c)
{
    static char frame[FRONT_FRAME_MAX];
    struct front_head head;
    ssize_t n;

    if (frames_flush(&c->channel) < 0)
        return false;
    if (c->watch.events & EPOLLOUT && !frames_is_waiting(&c->channel))
        (void)loop_change(&c->front->loop, &c->watch, EPOLLIN);
    n = front_client_receive(c, frame, &head);
    if (n <= 0)
        return n == 0;
    if (head.type == FRONT_REPLY) {
        bool (*taker)(struct front_client * c, const struct front_head *head, const char *data,
                      size_t len) = front_early_applies(c) ? front_early_send : take_reply;

        if (!taker(c, &head, frame + sizeof(head), (size_t)n - sizeof(head)))
            return false;
    }
    if (head.type != FRONT_REPLY && (head.type != FRONT_ADMIT || c->stage != STAGE_ASKED))
        return false;
    front_client_go_on(c);
    return true;
}

void front_reply_take(struct front_client *c)
{
    if (!take(c))
        front_client_give_up(c);
}
