/* explain_denial: what was refused in a run, why, and who could allow it. */
#include <string.h>

#include "mcp/mcp_internal.h"

static const struct {
    const char *kind, *why;
} reasons[] = {
    { "connect", "a sandbox reaches only the hosts that the operator named" },
    { "name", "a sandbox looks up only the names that the operator allowed" },
    { "file", "the program may write below /work, /tmp and trees that were given for it only" },
    { "syscall", "the policy of the sandbox does not have this call" },
    { "process", "the limit of processes was reached" },
    { "memory", "the limit of memory was reached" },
    { "secret", "a secret goes only to the hosts that the operator named for it" },
    { "disk", "the scratch space of the sandbox was full" },
};

static const char *reason_of(const char *kind)
{
    for (size_t i = 0; kind && i < ARRAY_LEN(reasons); i++)
        if (!strcmp(reasons[i].kind, kind))
            return reasons[i].why;
    return "the sandbox does not allow it";
}

void mcp_explain_denial(struct mcp_call *call)
{
    json_t *result =
        mcp_store_find(&call->peer->server->store, mcp_text(call->arguments, "run_id"));
    json_t *list, *one, *explained;
    size_t i;

    if (!result) {
        mcp_call_fail(call, "not_found: there is no such run, or it is not kept any more");
        return;
    }
    explained = json_array();
    list = json_object_get(result, "denials");
    json_array_foreach(list, i, one) {
        json_t *copy = json_copy(one);
        const char *remedy = mcp_text(one, "remedy");

        json_object_set_new(copy, "why", json_string(reason_of(mcp_text(one, "kind"))));
        json_object_set_new(copy, "what_to_do",
                            json_sprintf(remedy ? "Do not try again. Ask the person whether they "
                                                  "want to allow it: sandbox-run mcp %s"
                                                : "Do not try again: no option allows it%s",
                                         remedy ? remedy : "."));
        json_array_append_new(explained, copy);
    }
    mcp_call_return(call,
                    json_pack("{s:O, s:O, s:O?, s:o}", "run_id", json_object_get(result, "id"),
                              "outcome", json_object_get(result, "outcome"), "explanation",
                              json_object_get(result, "explanation"), "denials", explained));
    json_decref(result);
}
