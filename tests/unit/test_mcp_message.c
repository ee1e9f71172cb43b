#include "mcp/mcp_message.h"

#include <stdio.h>

#include "unit.h"

static const struct {
    const char *text;
    enum mcp_kind kind;
    enum mcp_code code;
} cases[] = {
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", MCP_REQUEST, 0 },
    { "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"ping\",\"params\":{}}", MCP_REQUEST, 0 },
    { "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}", MCP_NOTIFICATION, 0 },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", MCP_RESPONSE, 0 },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{}}", MCP_RESPONSE, 0 },
    { "", MCP_BAD, MCP_PARSE_ERROR },
    { "{", MCP_BAD, MCP_PARSE_ERROR },
    { "{\"a\":1,\"a\":2}", MCP_BAD, MCP_PARSE_ERROR },
    { "{\"jsonrpc\":\"2.0\",\"id\":99999999999999999999,\"method\":\"ping\"}", MCP_BAD,
      MCP_PARSE_ERROR },
    { "[]", MCP_BAD, MCP_INVALID_REQUEST },
    { "{\"id\":1,\"method\":\"ping\"}", MCP_BAD, MCP_INVALID_REQUEST },
    { "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}", MCP_BAD, MCP_INVALID_REQUEST },
    { "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", MCP_BAD, MCP_INVALID_REQUEST },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}", MCP_BAD, MCP_INVALID_REQUEST },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":[]}", MCP_BAD,
      MCP_INVALID_REQUEST },
    { "{\"jsonrpc\":\"2.0\",\"id\":1}", MCP_BAD, MCP_INVALID_REQUEST },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":{}}", MCP_BAD, MCP_INVALID_REQUEST },
    { "{\"jsonrpc\":\"2.0\",\"result\":{}}", MCP_BAD, MCP_INVALID_REQUEST },
};

static void messages_are_told_apart(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct mcp_message message;

        mcp_message_read(cases[i].text, strlen(cases[i].text), &message);
        if (message.kind != cases[i].kind || message.code != cases[i].code)
            fail_msg("%s", cases[i].text);
        mcp_message_done(&message);
    }
}

static void an_id_that_is_too_long_is_not_sent_back(void **state)
{
    char text[MCP_ID_MAX + 100];
    struct mcp_message message;
    size_t len = (size_t)snprintf(text, sizeof(text),
                                  "{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"id\":"
                                  "\"%0*d\"}",
                                  MCP_ID_MAX + 1, 0);

    (void)state;
    mcp_message_read(text, len, &message);
    assert_int_equal(message.kind, MCP_BAD);
    assert_null(message.id);
    mcp_message_done(&message);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_are_told_apart),
        cmocka_unit_test(an_id_that_is_too_long_is_not_sent_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
