/* Messages of a client of MCP, and their arguments against the schemas of our tools. */
#include "fuzz.h"
#include "mcp/mcp_message.h"

/* What is sent back is a message again, with the same id. */
static void check_answer(const struct mcp_message *message)
{
    json_t *answer = mcp_message_error(message->id, MCP_INTERNAL, "text", NULL);
    char *text = json_dumps(answer, JSON_COMPACT);
    struct mcp_message again;

    FUZZ_ASSERT(text && !strchr(text, '\n'));
    mcp_message_read(text, strlen(text), &again);
    FUZZ_ASSERT(again.kind == MCP_RESPONSE);
    FUZZ_ASSERT(message->id ? json_equal(message->id, again.id) : !again.id);
    mcp_message_done(&again);
    json_decref(answer);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mcp_message message;

    mcp_message_read((const char *)data, size, &message);
    FUZZ_ASSERT((message.kind == MCP_BAD) == (message.code != MCP_OK));
    FUZZ_ASSERT(message.kind != MCP_BAD || message.why[0]);
    FUZZ_ASSERT(message.kind != MCP_REQUEST || (message.id && message.method));
    FUZZ_ASSERT(message.kind != MCP_NOTIFICATION || (!message.id && message.method));
    FUZZ_ASSERT(!message.params || json_is_object(message.params) || message.kind == MCP_BAD);
    FUZZ_ASSERT(!message.id || !json_is_string(message.id) ||
                json_string_length(message.id) <= MCP_ID_MAX);
    check_answer(&message);
    mcp_message_done(&message);
    return 0;
}
