/* A message as systemd or a message bus would send it, and the texts of its body. */
#include "fuzz.h"
#include "sandbox/dbus.h"

static void check_message(const struct dbus_message *m, const uint8_t *data, size_t size)
{
    struct buf_reader body = { .data = m->body, .len = m->body_len };
    const char *text;

    FUZZ_ASSERT(m->serial && m->type >= DBUS_CALL && m->type <= DBUS_SIGNAL);
    FUZZ_ASSERT(m->body + m->body_len == (const char *)data + size);
    FUZZ_ASSERT(m->type != DBUS_SIGNAL || (m->path && m->interface && m->member));
    FUZZ_ASSERT(m->type != DBUS_ERROR || (m->error && m->reply_to));
    while ((text = dbus_get_string(&body)))
        FUZZ_ASSERT(text + strlen(text) < (const char *)data + size);
    FUZZ_ASSERT(body.failed);
}

/* What is read can be written, and is then the same. */
static void check_again(const struct dbus_message *m)
{
    struct dbus_message again;
    struct buf bytes;

    buf_init(&bytes, 2 * DBUS_MAX_MESSAGE);
    dbus_encode(&bytes, m);
    FUZZ_ASSERT(!bytes.failed);
    if (bytes.len <= DBUS_MAX_MESSAGE) {
        FUZZ_ASSERT(dbus_decode(bytes.data, bytes.len, &again) == 0);
        FUZZ_ASSERT(again.type == m->type && again.reply_to == m->reply_to);
        FUZZ_ASSERT(again.body_len == m->body_len && !again.member == !m->member);
    }
    buf_done(&bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dbus_message m;

    if (dbus_decode(data, size, &m) == 0) {
        check_message(&m, data, size);
        check_again(&m);
    }
    return 0;
}
