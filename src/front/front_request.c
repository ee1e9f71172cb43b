#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/fields.h"
#include "base/text.h"
#include "front/front_internal.h"

#define IDLE_US (60 * 1000000ULL) /* of a connection between two requests */
#define BODY_US (60 * 1000000ULL) /* until the body is read               */

struct front_client *front_request_client(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    return info ? info->socket_context : NULL;
}

static void add_field(struct front_client *c, char kind, const char *name, const char *value)
{
    (void)fields_add(&c->request, kind, name, value); /* send_request looks */
}

static enum MHD_Result add_header(void *context, enum MHD_ValueKind kind, const char *name,
                                  const char *value)
{
    (void)kind;
    add_field(context, FRONT_FIELD_HEADER, name, value ? value : "");
    return MHD_YES;
}

static enum MHD_Result add_parameter(void *context, enum MHD_ValueKind kind, const char *name,
                                     const char *value)
{
    (void)kind;
    add_field(context, value ? FRONT_FIELD_QUERY : FRONT_FIELD_FLAG, name, value ? value : "");
    return MHD_YES;
}

/* True for a body that goes with its request: there is none, or its length is known and small. */
static bool is_small(struct MHD_Connection *connection)
{
    const char *length =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
    uint64_t bytes = 0;

    if (MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
                                    MHD_HTTP_HEADER_TRANSFER_ENCODING) ||
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_EXPECT))
        return false;
    return !length || (text_parse_count(length, &bytes) == TEXT_OK && bytes <= FRONT_SMALL_BODY);
}

static bool send_frame(struct front_client *c, uint8_t type, const void *data, size_t len)
{
    const struct front_head head = { .type = type };

    return frames_send(&c->channel, &head, sizeof(head), data, len) == 0;
}

/* The head is in `request` already, without its flags. */
static bool send_request(struct front_client *c)
{
    struct front_head head = { .type = FRONT_REQUEST,
                               .flags = c->gathers ? FRONT_WHOLE : 0,
                               .fields_len = c->fields_len };
    bool sent = !c->request.failed && c->request.len <= FRONT_FRAME_MAX - sizeof(head) &&
                frames_send(&c->channel, &head, sizeof(head), c->request.data, c->request.len) == 0;

    buf_done(&c->request);
    buf_init(&c->request, FRONT_FRAME_MAX);
    return sent;
}

/* The last frame may wait for room in the channel: nothing else would send it. */
static void await_reply(struct front_client *c)
{
    front_client_pause(c, EPOLLIN | (frames_is_waiting(&c->channel) ? EPOLLOUT : 0),
                       front_reply_take);
}

/* The headers are there. */
static enum MHD_Result begin(struct front_client *c, const char *path, const char *method)
{
    if (c->heads++ == c->check.heads) /* libmicrohttpd has read it past front_read.c */
        return MHD_NO;
    c->overdue_us = clock_now_us() + BODY_US;
    add_field(c, FRONT_FIELD_METHOD, "", method);
    add_field(c, FRONT_FIELD_PATH, "", path);
    (void)MHD_get_connection_values(c->connection, MHD_HEADER_KIND, add_header, c);
    (void)MHD_get_connection_values(c->connection, MHD_GET_ARGUMENT_KIND, add_parameter, c);
    c->fields_len = (uint32_t)c->request.len;
    c->gathers = is_small(c->connection);
    c->stage = STAGE_BODY;
    if (c->gathers)
        return c->request.failed ? MHD_NO : MHD_YES;
    if (!send_request(c))
        return MHD_NO;
    c->stage = STAGE_ASKED;
    c->answered = front_reply_take;
    await_reply(c);
    return MHD_YES;
}

/* What the channel does not take now stays with the library. */
static enum MHD_Result take_body(struct front_client *c, const char *data, size_t *len)
{
    size_t n = *len < FRONT_FRAME_MAX - sizeof(struct front_head)
                   ? *len
                   : FRONT_FRAME_MAX - sizeof(struct front_head);

    if (c->gathers) {
        *len = 0;
        return buf_add(&c->request, data, n) < 0 ? MHD_NO : MHD_YES;
    }
    if (frames_flush(&c->channel) < 0)
        return MHD_NO;
    if (frames_is_waiting(&c->channel)) {
        front_client_pause(c, EPOLLOUT, front_client_go_on);
        return MHD_YES;
    }
    *len -= n;
    return send_frame(c, FRONT_BODY, data, n) ? MHD_YES : MHD_NO;
}

static enum MHD_Result end_body(struct front_client *c)
{
    if (frames_flush(&c->channel) < 0)
        return MHD_NO;
    if (frames_is_waiting(&c->channel)) {
        front_client_pause(c, EPOLLOUT, front_client_go_on);
        return MHD_YES;
    }
    if (!(c->gathers ? send_request(c) : send_frame(c, FRONT_END, NULL, 0)))
        return MHD_NO;
    c->stage = STAGE_WAITING;
    await_reply(c);
    return MHD_YES;
}

static enum MHD_Result send_reply(struct front_client *c)
{
    enum MHD_Result r = MHD_queue_response(c->connection, c->status, c->response);

    MHD_destroy_response(c->response);
    c->response = NULL;
    return r;
}

static bool is_known(const char *version)
{
    return !strcmp(version, MHD_HTTP_VERSION_1_1) || !strcmp(version, MHD_HTTP_VERSION_1_0);
}

/* Called by the library: with the headers, with each piece of the body, at its end, and again when
 * a reply that waited is there.
 * NOLINTNEXTLINE(readability-function-size): as the library calls it */
enum MHD_Result front_request_handle(void *context, struct MHD_Connection *connection,
                                     const char *path, const char *method, const char *version,
                                     const char *data, size_t *len, void **state)
{
    struct front_client *c = front_request_client(connection);

    (void)context;
    if (!c || c->stage == STAGE_OVER || !is_known(version))
        return MHD_NO;
    c->connection = connection;
    *state = c;
    if (c->stage == STAGE_DRAIN)
        return front_early_drop(c, len);
#ifdef SBR_TEST_HOOKS
    if (c->stage == STAGE_IDLE && (c->response = front_attack_try(c))) {
        c->status = MHD_HTTP_OK;
        c->stage = STAGE_REPLY;
    }
#endif
    if (c->response)
        return send_reply(c);
    if (c->stage == STAGE_IDLE)
        return begin(c, path, method);
    if (c->stage == STAGE_ASKED) { /* the library calls once more: it was admitted */
        c->stage = STAGE_BODY;
        return MHD_YES;
    }
    if (c->stage != STAGE_BODY)
        return MHD_YES;
    return *len ? take_body(c, data, len) : end_body(c);
}

void front_request_completed(void *context, struct MHD_Connection *connection, void **state,
                             enum MHD_RequestTerminationCode code)
{
    struct front_client *c = *state;

    (void)context;
    (void)connection;
    *state = NULL;
    if (!c)
        return;
    if (code != MHD_REQUEST_TERMINATED_COMPLETED_OK || c->to_come) {
        front_client_give_up(c); /* part of a reply may still be in the channel */
        return;
    }
    buf_done(&c->rest);
    buf_init(&c->rest, FRONT_FRAME_MAX);
    c->stage = STAGE_IDLE;
    c->overdue_us = clock_now_us() + IDLE_US;
    if (c->check.status && !c->closes)
        front_read_refuse(c);
}
