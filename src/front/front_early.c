#include <gnutls/gnutls.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/reply_head.h"
#include "front/front_internal.h"

#define DRAIN_US (5 * 1000000ULL) /* how long a client may go on sending what is dropped */

/* A client that waits for `100 Continue` sends no body after another reply. */
bool front_early_applies(const struct front_client *c)
{
    return c->stage == STAGE_BODY ||
           (c->stage == STAGE_ASKED &&
            !MHD_lookup_connection_value(c->connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_EXPECT));
}

/* Line, headers and body of the reply; false: the frame does not read well. */
static bool format(const struct front_head *head, const char *data, size_t len, struct buf *to)
{
    size_t body_len = reply_head_has_body(head->status) ? len - head->fields_len : 0;
    const struct reply_head text = { .status = head->status,
                                     .fields = data,
                                     .fields_len = head->fields_len,
                                     .length = body_len,
                                     .closes = true };

    return reply_head_add(&text, to) && buf_add(to, data + head->fields_len, body_len) == 0;
}

/* Nothing was sent on this connection since the last reply, so that the socket has room. */
static bool send_all(const struct front_client *c, const struct buf *text)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c->connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);

    bool sent;

    if (info && info->tls_session)
        sent = gnutls_record_send(info->tls_session, text->data, text->len) == (ssize_t)text->len &&
               gnutls_bye(info->tls_session, GNUTLS_SHUT_WR) == 0;
    else
        sent =
            send(c->fd, text->data, text->len, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)text->len;
    return sent && shutdown(c->fd, SHUT_WR) == 0;
}

bool front_early_send(struct front_client *c, const struct front_head *head, const char *data,
                      size_t len)
{
    struct buf text;
    bool sent;

    if (head->fields_len > len || !(head->flags & FRONT_WHOLE))
        return false;
    buf_init(&text, 2 * FRONT_FRAME_MAX);
    sent = format(head, data, len, &text) && send_all(c, &text);
    buf_done(&text);
    if (!sent)
        return false;
    loop_remove(&c->front->loop, &c->watch); /* open, so that the gateway counts the connection */
    c->unread = c->stage == STAGE_ASKED;
    c->stage = STAGE_DRAIN;
    c->overdue_us = clock_now_us() + DRAIN_US;
    return true;
}

/* The library calls once before the body, for each piece of it, and once after it. */
enum MHD_Result front_early_drop(struct front_client *c, size_t *len)
{
    bool goes_on = c->unread || *len;

    c->unread = false;
    *len = 0;
    return goes_on ? MHD_YES : MHD_NO;
}
