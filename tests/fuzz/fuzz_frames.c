/* Frames in any order of sending, flushing and receiving: each arrives once, whole and in order, or
 * the channel is broken for good.  Two bytes of the input are one call: which, and how long. */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/frames.h"
#include "fuzz.h"

#define WAITING_MAX 20000
#define LENGTH_UNIT 64
#define FRAME_MAX (200 * LENGTH_UNIT) /* some frames are longer than their reader takes */
#define MODEL_MAX 4096

struct model {
    size_t lengths[MODEL_MAX];
    size_t sent, received;
    bool broken; /* a call has said that nothing more is sent */
};

static void send_frame(struct frames *f, struct model *m, uint8_t number)
{
    static char data[256 * LENGTH_UNIT];
    size_t len = (size_t)number * LENGTH_UNIT;
    uint32_t head = (uint32_t)m->sent;
    int r;

    if (m->sent == MODEL_MAX)
        return;
    memset(data, (int)head, len);
    r = frames_send(f, &head, sizeof(head), data, len);
    FUZZ_ASSERT(!m->broken || r < 0);
    m->broken = r < 0;
    if (r == 0)
        m->lengths[m->sent++] = sizeof(head) + len;
}

static void check_frame(const char *frame, size_t len, const struct model *m)
{
    uint32_t head;

    FUZZ_ASSERT(m->received < m->sent && len == m->lengths[m->received]);
    memcpy(&head, frame, sizeof(head));
    FUZZ_ASSERT(head == m->received);
    for (size_t i = sizeof(head); i < len; i++)
        FUZZ_ASSERT(frame[i] == (char)head);
}

/* False: there is none now. */
static bool receive_frame(const struct frames *f, struct model *m)
{
    static char frame[FRAME_MAX];
    ssize_t n = frames_receive(f, frame, sizeof(frame));

    if (n < 0 && errno == EAGAIN)
        return false;
    FUZZ_ASSERT(n != 0);
    if (n < 0)
        FUZZ_ASSERT(errno == EMSGSIZE && m->lengths[m->received] > sizeof(frame));
    else
        check_frame(frame, (size_t)n, m);
    m->received++;
    return true;
}

static void flush(struct frames *f, struct model *m)
{
    int r = frames_flush(f);

    FUZZ_ASSERT(!m->broken || r < 0);
    m->broken = r < 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct model m;
    struct frames near, far;
    int fds[2], small = 4096;

    m = (struct model){ 0 };
    FUZZ_ASSERT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) == 0);
    FUZZ_ASSERT(setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)) == 0);
    frames_init(&near, fds[0], WAITING_MAX);
    frames_init(&far, fds[1], WAITING_MAX);
    for (size_t i = 0; i + 1 < size; i += 2) {
        if (data[i] % 4 == 0)
            flush(&near, &m);
        else if (data[i] % 4 == 1)
            (void)receive_frame(&far, &m);
        else
            send_frame(&near, &m, data[i + 1]);
        FUZZ_ASSERT(near.waiting.len <= WAITING_MAX);
    }
    do
        flush(&near, &m);
    while (receive_frame(&far, &m));
    FUZZ_ASSERT(m.broken || m.received == m.sent);
    frames_done(&near);
    frames_done(&far);
    return 0;
}
