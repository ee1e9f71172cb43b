/* What a client of MCP sends, line by line, to one server: every message that starts no program. */
#include "fuzz.h"
#include "mcp/mcp.h"

static void check_sent(void *context, enum mcp_kind kind, const char *text, size_t len)
{
    struct mcp_message message;

    (void)context;
    (void)kind;
    FUZZ_ASSERT(!memchr(text, '\n', len));
    mcp_message_read(text, len, &message);
    FUZZ_ASSERT(message.kind != MCP_BAD);
    mcp_message_done(&message);
}

static struct mcp_server *server(void)
{
    static struct mcp_server *one;
    static sbr_request *base;
    struct mcp_settings settings = { 0 };
    sbr_error err;

    if (one)
        return one;
    FUZZ_ASSERT(sbr_request_new(NULL, NULL, &base, &err) == 0);
    settings.base = base;
    FUZZ_ASSERT(mcp_server_new(&settings, &one, &err) == 0);
    return one;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), *line = text, *end = text + size;
    struct mcp_peer *peer = mcp_peer_new(server(), check_sent);

    FUZZ_ASSERT(peer);
    while (line < end) {
        char *newline = memchr(line, '\n', (size_t)(end - line));
        size_t len = newline ? (size_t)(newline - line) : (size_t)(end - line);
        struct mcp_message message;

        mcp_message_read(line, len, &message);
        if (!mcp_peer_may_wait(&message))
            (void)mcp_peer_handle(peer, &message);
        else
            mcp_peer_refuse(peer, &message, "not here");
        line += len + 1;
    }
    mcp_peer_leave(peer);
    mcp_peer_free(peer);
    free(text);
    return 0;
}
