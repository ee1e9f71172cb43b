/* A request out of the arguments of a tool: what the operator allows, or less. */
#include <stdio.h>
#include <string.h>

#include "base/encoding.h"
#include "base/scope.h"
#include "base/text.h"
#include "config/config.h"
#include "lib/runner.h"
#include "mcp/mcp_internal.h"

/* Where the operator has set none: as long as a client waits, not the short default of a run. */
#define TIMEOUT_MAX_MS 300000

void mcp_request_refuse(struct mcp_call *call, const char *why, const char *option,
                        const char *value)
{
    const char *token = call->peer->server->settings.token;

    mcp_call_fail(call, "denied: %s%s --%s%s%s", why,
                  token ? "; the operator can give a token with"
                        : "; the person can start `sandbox-run mcp` with",
                  option, value[0] ? " " : "", value);
}

/* The most that a call may ask for. */
static uint64_t most(const struct mcp_settings *settings, enum sbr_limit which)
{
    const sbr_request *base = settings->base;

    if (settings->ceilings && settings->ceilings->given >> which & 1)
        return settings->ceilings->value[which];
    if (which == SBR_WALL_MS && !(base->limits.given >> which & 1))
        return TIMEOUT_MAX_MS;
    return base->limits.value[which];
}

uint64_t mcp_request_memory(const struct mcp_settings *settings, const json_t *arguments, bool work)
{
    json_int_t asked = json_integer_value(json_object_get(arguments, "memory_mb"));
    uint64_t allowed = most(settings, SBR_MEMORY_BYTES);
    sbr_request like = *settings->base; /* only looked at: nothing in it is the copy's own */

    like.language = (char *)(uintptr_t)mcp_text(arguments, "language");
    like.deps.n = json_array_size(json_object_get(arguments, "packages"));
    if (asked > 0)
        like.limits.value[SBR_MEMORY_BYTES] =
            (uint64_t)asked < allowed / MIB ? (uint64_t)asked * MIB : allowed;
    return work ? runner_memory_of_any(&like) : runner_memory_of(&like);
}

/* False: the call has failed. */
static bool may_have(struct mcp_call *call, enum sbr_limit which, const char *argument,
                     uint64_t value)
{
    const struct mcp_settings *settings = &call->peer->server->settings;
    uint64_t allowed = most(settings, which);
    char shown[32], why[160], larger[80] = "LARGER";

    if (value <= allowed)
        return true;
    limits_format(which, allowed, shown, sizeof(shown));
    snprintf(why, sizeof(why), "%s is more than the operator allows; ask for at most %s", argument,
             shown);
    if (settings->token)
        snprintf(larger, sizeof(larger), "%s=LARGER", limit_defs[which].option);
    mcp_request_refuse(call, why, settings->token ? "limit" : limit_defs[which].option, larger);
    return false;
}

static bool set_limit(struct mcp_call *call, sbr_request *req, enum sbr_limit which,
                      const char *argument, uint64_t value)
{
    if (!may_have(call, which, argument, value))
        return false;
    if (sbr_request_set_limit(req, which, value) == 0)
        return true;
    mcp_call_fail_by(call, sbr_request_error(req));
    return false;
}

bool mcp_request_timeout(struct mcp_call *call, uint64_t *ret_ms)
{
    json_t *timeout = json_object_get(call->arguments, "timeout_seconds");

    if (timeout)
        *ret_ms = (uint64_t)(json_number_value(timeout) * 1000 + 0.5);
    return !timeout || may_have(call, SBR_WALL_MS, "timeout_seconds", *ret_ms);
}

static bool set_limits(struct mcp_call *call, sbr_request *req)
{
    json_t *timeout = json_object_get(call->arguments, "timeout_seconds");
    json_t *memory = json_object_get(call->arguments, "memory_mb");

    if (timeout && !set_limit(call, req, SBR_WALL_MS, "timeout_seconds",
                              (uint64_t)(json_number_value(timeout) * 1000 + 0.5)))
        return false;
    return !memory || set_limit(call, req, SBR_MEMORY_BYTES, "memory_mb",
                                (uint64_t)json_integer_value(memory) * MIB);
}

static bool narrow_hosts(struct mcp_call *call, sbr_request *req, const json_t *hosts)
{
    const struct mcp_settings *settings = &call->peer->server->settings;
    bool any = settings->network >= NETWORK_ALLOW;
    json_t *host;
    size_t i;

    json_array_foreach(hosts, i, host) {
        struct host_rule rule;
        sbr_error err = { 0 };

        if (host_rule_parse(json_string_value(host), &rule, &err) < 0) {
            mcp_call_fail_by(call, &err);
            return false;
        }
        if (!any && !config_network_covers(&settings->base->network, &rule)) {
            mcp_request_refuse(call, "the operator does not allow this host", "allow-host",
                               rule.text);
            return false;
        }
        if (sbr_request_allow_host(req, json_string_value(host)) < 0) {
            mcp_call_fail_by(call, sbr_request_error(req));
            return false;
        }
    }
    return true;
}

/* Replaces the operator's network by one that is not wider. */
static bool narrow_network(struct mcp_call *call, sbr_request *req)
{
    const struct mcp_settings *settings = &call->peer->server->settings;
    const sbr_request *base = settings->base;
    enum network_mode widest =
        settings->network > base->network.mode ? settings->network : base->network.mode;
    const char *name = mcp_text(call->arguments, "network");
    json_t *hosts = json_object_get(call->arguments, "allow_hosts");
    enum network_mode mode = hosts ? NETWORK_ALLOW : base->network.mode;
    sbr_error err = { 0 };
    char why[80];

    if (!name && !hosts)
        return true;
    if (name && network_mode_from_name(name, &mode, &err) < 0) {
        mcp_call_fail_by(call, &err);
        return false;
    }
    if (mode > widest) {
        snprintf(why, sizeof(why), "the operator allows network \"%s\" at most",
                 network_mode_name(widest));
        mcp_request_refuse(call, why, "network", network_mode_name(mode));
        return false;
    }
    if (mode == base->network.mode && !hosts)
        return true;
    network_done(&req->network);
    req->network =
        (struct network){ .mode = mode,
                          .allow_dns = network_goes_outside(mode) && base->network.allow_dns };
    req->network_given = true;
    req->network_asked = mode;
    if (hosts)
        return narrow_hosts(call, req, hosts);
    for (size_t i = 0; network_goes_outside(mode) && i < base->network.n_rules; i++)
        if (network_add_rule(&req->network, &base->network.rules[i], &err) < 0) {
            mcp_call_fail_by(call, &err);
            return false;
        }
    return true;
}

static bool add_file(struct mcp_call *call, sbr_request *req, const json_t *file)
{
    const json_t *content = json_object_get(file, "content");
    const char *encoding = mcp_text(file, "encoding"), *data = json_string_value(content);
    scoped_free char *bytes = NULL;
    size_t len = json_string_length(content);

    if (encoding && !strcmp(encoding, "base64")) {
        if (encoding_from_base64(data, &bytes, &len) < 0) {
            mcp_call_fail(call, "invalid: the content of a file is no base64");
            return false;
        }
        data = bytes;
    }
    if (sbr_request_add_file(req, mcp_text(file, "path"), data, len) == 0)
        return true;
    mcp_call_fail_by(call, sbr_request_error(req));
    return false;
}

static bool add_lists(struct mcp_call *call, sbr_request *req)
{
    json_t *packages = json_object_get(call->arguments, "packages"), *one;
    const char *name;
    size_t i;

    if (json_array_size(packages) && call->peer->server->settings.no_packages) {
        mcp_call_fail(call, "denied: the operator lets no packages be installed%s",
                      call->peer->server->settings.token ? ": the token has no network"
                                                         : " (--no-packages)");
        return false;
    }
    json_array_foreach(json_object_get(call->arguments, "files"), i, one)
        if (!add_file(call, req, one))
            return false;
    json_array_foreach(packages, i, one)
        if (sbr_request_add_dependency(req, json_string_value(one)) < 0)
            return false;
    json_object_foreach(json_object_get(call->arguments, "env"), name, one)
        if (sbr_request_set_env(req, name, json_string_value(one)) < 0)
            return false;
    return true;
}

static bool add_words(struct mcp_call *call, sbr_request *req)
{
    const json_t *in = json_object_get(call->arguments, "stdin");
    const char *dir = mcp_text(call->arguments, "cwd");
    const char *image = mcp_text(call->arguments, "image");

    if (image && !request_image_is_name(image)) {
        mcp_call_fail(call,
                      "denied: an image is named as in a registry, such as debian:12, and the "
                      "person has pulled it with `sandbox-run image pull`");
        return false;
    }
    return (!in ||
            sbr_request_set_stdin(req, json_string_value(in), json_string_length(in)) == 0) &&
           (!dir || sbr_request_set_workdir(req, dir) == 0) &&
           (!image || sbr_request_set_image(req, image) == 0);
}

static bool begin(struct mcp_call *call, sbr_request *req)
{
    const sbr_request *base = call->peer->server->settings.base;
    sbr_error err = { 0 };

    if (request_override(req, base, &err) < 0) {
        mcp_call_fail_by(call, &err);
        return false;
    }
    req->audit = base->audit;
    req->audit_code = base->audit_code;
    req->audit_bytes = base->audit_bytes;
    req->keep_seconds = base->keep_seconds;
    req->keep_bytes = base->keep_bytes;
    memcpy(req->caller, base->caller, sizeof(req->caller));
    req->has_options = false; /* the reader of messages has arguments */
    return mcp_roots_use(call, req);
}

static bool fill(struct mcp_call *call, sbr_request *req)
{
    if (!begin(call, req) || !set_limits(call, req) || !narrow_network(call, req))
        return false;
    if (add_lists(call, req) && add_words(call, req))
        return true;
    if (!call->is_error)
        mcp_call_fail_by(call, sbr_request_error(req));
    return false;
}

static sbr_request *make(struct mcp_call *call, const char *language,
                         bool (*fill_in)(struct mcp_call *call, sbr_request *req))
{
    sbr_request *req = NULL;
    sbr_error err = { 0 };

    if (sbr_request_new(language, NULL, &req, &err) < 0) {
        mcp_call_fail_by(call, &err);
        return NULL;
    }
    if (fill_in(call, req))
        return req;
    sbr_request_free(req);
    return NULL;
}

/* False: the call has failed. */
static bool may_use(struct mcp_call *call, const char *language)
{
    const char *allowed = call->peer->server->settings.languages;
    char name[64];

    snprintf(name, sizeof(name), "%.*s", (int)strcspn(language, "@"), language);
    if (!allowed || text_list_has(allowed, name))
        return true;
    mcp_call_fail(call, "denied: the token allows these languages only: %s", allowed);
    return false;
}

sbr_request *mcp_request_make(struct mcp_call *call, const char *language)
{
    if (!may_use(call, language ? language : "command"))
        return NULL;
    return make(call, language, fill);
}

sbr_request *mcp_request_plain(struct mcp_call *call)
{
    return make(call, NULL, begin);
}
