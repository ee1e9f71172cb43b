/* What messages call the parts of a request. */
#include "model/request.h"

static const struct {
    const char *plain;
    const char *option;
} words[N_REQUEST_WORDS] = {
    [CALLED_VOLUME] = { "the volume", "--volume" },
    [CALLED_PROJECT] = { "the project", "--project" },
    [CALLED_WORKSPACE] = { "the workspace", "--workspace" },
    [CALLED_OUTPUT] = { "the output", "--output" },
    [CALLED_DIFF] = { "diff", "--diff" },
    [CALLED_KEEP] = { "keep", "--keep" },
    [CALLED_CHECK] = { "check", "--check" },
    [CALLED_ALLOW_COMMAND] = { "an allowed command", "--allow-command" },
    [CALLED_EXCLUDE] = { "the pattern to exclude", "--exclude" },
    [CALLED_INCLUDE] = { "the pattern to include", "--include" },
    [CALLED_NETWORK] = { "the network mode", "--network" },
    [CALLED_ALLOW_HOST] = { "an allowed host", "--allow-host" },
    [CALLED_ALLOW_DNS] = { "allow_dns", "--allow-dns" },
    [CALLED_PUBLISH] = { "a published port", "--publish" },
    [CALLED_A_PROJECT] = { "a project", "--project DIR" },
    [CALLED_A_COW_VOLUME] = { "a volume SRC:DST:cow", "--volume SRC:DST:cow" },
    [CALLED_AN_OUTPUT] = { "an output PATTERN", "--output PATTERN" },
    [CALLED_LANGUAGE] = { "", " with --lang" },
    [CALLED_A_PROGRAM] = { "code or a file", "a file, --code TEXT or the program on stdin" },
    [CALLED_A_VALUE] = { "the value", "--set" },
};

const char *request_word(const sbr_request *req, enum request_word word)
{
    return req->has_options ? words[word].option : words[word].plain;
}
