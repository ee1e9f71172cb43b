/* A request out of the arguments of a tool: what the operator allows, or less. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admit/admit.h"
#include "admit/grant_check.h"
#include "admit/need.h"
#include "admit/session_facts.h"
#include "mcp/mcp_internal.h"
#include "model/request_fields.h"

/* What the reader of a refusal could do about it. */
static void add_remedy(char *text, size_t size, const struct refusal *refusal, const char *option,
                       bool token)
{
    const struct request_field *field = request_field_find(refusal->field);
    const char *name = option ? option : field ? field->option : NULL;

    if (!name || refusal->bound == BOUND_PACKAGES)
        return;
    if (!token)
        snprintf(text, size, "; the person can start `sandbox-run mcp` with another --%s", name);
    else if (option)
        snprintf(text, size, "; the operator can give a token with --limit %s=LARGER", name);
    else
        snprintf(text, size, "; the operator can give a token with another --%s", name);
}

static bool refuse(struct mcp_call *call, const struct refusal *refusal, const char *option)
{
    char remedy[160] = "";

    if (refusal->kind == REFUSED_BY_ERROR) {
        mcp_call_fail_by(call, &refusal->err);
        return false;
    }
    add_remedy(remedy, sizeof(remedy), refusal, option, call->peer->server->settings.token);
    mcp_call_fail(call, "denied: %s: %s%s", refusal->field, refusal->err.message, remedy);
    return false;
}

uint64_t mcp_request_memory(const struct mcp_server *server, const json_t *arguments, bool work)
{
    json_int_t asked = json_integer_value(json_object_get(arguments, "memory_mb"));
    uint64_t allowed = grant_most(&server->grant, SBR_MEMORY_BYTES);
    sbr_request like = *server->settings.base; /* only looked at: nothing in it is the copy's own */

    like.language = (char *)(uintptr_t)mcp_text(arguments, "language");
    like.deps.n = json_array_size(json_object_get(arguments, "packages"));
    if (asked > 0)
        like.limits.value[SBR_MEMORY_BYTES] =
            (uint64_t)asked < allowed / MIB ? (uint64_t)asked * MIB : allowed;
    return work ? need_memory_of_any(&like) : need_memory_of(&like);
}

static uint64_t time_of(const json_t *seconds)
{
    return (uint64_t)(json_number_value(seconds) * 1000 + 0.5);
}

bool mcp_request_timeout(struct mcp_call *call, uint64_t *ret_ms)
{
    json_t *timeout = json_object_get(call->arguments, "timeout_seconds");
    struct refusal refusal = { 0 };

    if (timeout)
        *ret_ms = time_of(timeout);
    return !timeout ||
           grant_check_limit(&call->peer->server->grant, SBR_WALL_MS, *ret_ms, "timeout_seconds",
                             &refusal) == 0 ||
           refuse(call, &refusal, limit_defs[SBR_WALL_MS].option);
}

bool mcp_request_life(struct mcp_call *call, uint64_t *idle_ms, uint64_t *age_ms)
{
    struct refusal refusal = { 0 };

    if (admit_life(&call->peer->server->grant, idle_ms, age_ms, &refusal) == 0)
        return true;
    snprintf(refusal.field, sizeof(refusal.field), "ttl_seconds");
    return refuse(call, &refusal, NULL);
}

static bool set_limit(struct mcp_call *call, sbr_request *req, enum sbr_limit which,
                      const char *argument, uint64_t value)
{
    struct refusal refusal = { 0 };

    return admit_tool_limit(&call->peer->server->grant, req, which, value, argument, &refusal) ==
               0 ||
           refuse(call, &refusal, limit_defs[which].option);
}

/* A tool has these two under names of its own. */
static bool set_limits(struct mcp_call *call, sbr_request *req)
{
    json_t *timeout = json_object_get(call->arguments, "timeout_seconds");
    json_t *memory = json_object_get(call->arguments, "memory_mb");

    return (!timeout || set_limit(call, req, SBR_WALL_MS, "timeout_seconds", time_of(timeout))) &&
           (!memory || set_limit(call, req, SBR_MEMORY_BYTES, "memory_mb",
                                 (uint64_t)json_integer_value(memory) * MIB));
}

/* What both kinds of request begin with; NULL: the call has failed. */
static sbr_request *begin(struct mcp_call *call, const char *language)
{
    sbr_request *req = NULL;
    sbr_error err = { 0 };

    if (admit_tool_begin(call->peer->server->settings.base, language, &req, &err) < 0) {
        mcp_call_fail_by(call, &err);
        return NULL;
    }
    if (mcp_roots_use(call, req))
        return req;
    sbr_request_free(req);
    return NULL;
}

sbr_request *mcp_request_make(struct mcp_call *call, const char *language)
{
    const struct mcp_server *server = call->peer->server;
    sbr_request *req = begin(call, language);
    struct refusal refusal = { 0 };

    if (!req)
        return NULL;
    if (set_limits(call, req) &&
        (admit_tool(&server->grant, server->settings.base, call->arguments, req, &refusal) == 0 ||
         refuse(call, &refusal, NULL)))
        return req;
    sbr_request_free(req);
    return NULL;
}

sbr_request *mcp_request_plain(struct mcp_call *call)
{
    sbr_request *req = begin(call, NULL);

    if (req) /* whatever languages are allowed, files can be read */
        free(take_ptr(req->only_languages));
    return req;
}
