/* Bytes of a client behind the upgrade to a WebSocket: through the front, over the channel, to what
 * the gateway makes of its messages, and back.  The first byte says how many came with the request.
 */
#include <sys/socket.h>
#include <unistd.h>

#include "../../src/front/front_socket.c"
#include "fuzz.h"
#include "http/websocket.h"

static const struct visitor_user *user;
static void *user_context;
static bool listens, over;
static char frame[FRONT_FRAME_MAX];

struct response *response_of_upgrade(const struct visitor_user *given, void *context)
{
    static struct response response;

    user = given;
    user_context = context;
    return &response;
}

void response_add_header(struct response *r, const char *name, const char *value)
{
    FUZZ_ASSERT(r && name && value);
}

const char *exchange_header(const struct exchange *x, const char *name)
{
    (void)x;
    return !strcmp(name, "Upgrade")                 ? "websocket"
           : !strcmp(name, "Sec-WebSocket-Version") ? "13"
           : !strcmp(name, "Sec-WebSocket-Key")     ? "AAAAAAAAAAAAAAAAAAAAAA=="
                                                    : NULL;
}

void exchange_reply(struct exchange *x, unsigned int status, const char *type, char *body)
{
    (void)x;
    (void)status;
    (void)type;
    (void)body;
    abort();
}

void exchange_reply_with(struct exchange *x, unsigned int status, struct response *response)
{
    FUZZ_ASSERT(x && status == HTTP_SWITCHING_PROTOCOLS && response);
}

void exchange_add_header(struct exchange *x, const char *name, const char *value)
{
    (void)x;
    (void)name;
    (void)value;
    abort();
}

void problem_reply(struct exchange *x, const struct problem *problem)
{
    (void)x;
    (void)problem;
    abort();
}

void visitor_listen(struct visitor *v, bool reads)
{
    (void)v;
    listens = reads;
}

void visitor_close(struct visitor *v)
{
    frames_done(&v->channel);
    over = true;
}

/* The conversation is about no execution. */
void execution_was_read(struct execution *e, uint64_t next)
{
    (void)e;
    (void)next;
    abort();
}

void execution_was_left(struct execution *e)
{
    (void)e;
    abort();
}

/* Says back what it is sent; null ends the conversation. */
static void answer(struct websocket *w, const json_t *message)
{
    if (json_is_null(message))
        websocket_end(w, WEBSOCKET_NORMAL_END, "as you say");
    else
        websocket_say(w, message ? json_deep_copy(message) : json_pack("{}"));
}

static void tell(struct websocket *w, const struct event_log_line *line)
{
    (void)w;
    (void)line;
}

static const struct websocket_manner manner = { .text = answer, .event = tell };

/* Everything that is possible now, in the front and in the gateway, by a client that reads. */
static void run(struct front *front, struct visitor *v, int client)
{
    static char seen[65536];
    bool went = true;

    while (went) {
        struct front_head head;
        ssize_t n;

        went = loop_turn(&front->loop, 0) > 0;
        while (recv(client, seen, sizeof(seen), MSG_DONTWAIT) > 0)
            went = true;
        if (over)
            continue;
        user->turn(user_context);
        while (!over && listens && (n = frames_receive(&v->channel, frame, sizeof(frame))) > 0) {
            FUZZ_ASSERT(n >= (ssize_t)sizeof(head));
            memcpy(&head, frame, sizeof(head));
            FUZZ_ASSERT(head.type == FRONT_MESSAGE);
            if (!user->take(user_context, &head, frame + sizeof(head), (size_t)n - sizeof(head)))
                user->closed(user_context), visitor_close(v);
            went = true;
        }
    }
}

static struct front_client *open_client(struct front *front, int channel, int fd)
{
    struct front_client *c = front_client_new(front, channel);

    FUZZ_ASSERT(c);
    c->plain = false;
    front->in_library = 1;
    c->fd = fd;
    return c;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct front front = { .library.fd = -1, .link.fd = -1 };
    struct visitor v = { .client = -1 };
    struct exchange x = { 0 };
    struct link waiting;
    struct front_client *c;
    int client[2], channel[2];
    size_t early;
    sbr_error err;

    if (!size)
        return 0;
    early = data[0] < size ? data[0] : size - 1;
    over = false;
    listens = true;
    link_init(&waiting);
    link_init(&front.clients);
    FUZZ_ASSERT(loop_init(&front.loop, "fuzz", &err) == 0);
    FUZZ_ASSERT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, client) == 0);
    FUZZ_ASSERT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, channel) ==
                0);
    frames_init(&v.channel, channel[1], 4 * FRONT_MESSAGE_MAX);
    websocket_open(&x, &manner, NULL, &waiting);
    c = open_client(&front, channel[0], client[0]);
    upgraded(c, NULL, NULL, (const char *)data + 1, early, client[0], NULL);
    user->opened(user_context, &v);
    (void)!send(client[1], data + 1 + early, size - 1 - early, MSG_DONTWAIT | MSG_NOSIGNAL);
    run(&front, &v, client[1]);
    shutdown(client[1], SHUT_WR);
    run(&front, &v, client[1]);
    front_client_free(c);
    if (!over)
        websocket_drop_waiting(&waiting);
    FUZZ_ASSERT(over && link_is_alone(&waiting));
    loop_done(&front.loop);
    close(client[0]);
    close(client[1]);
    return 0;
}
