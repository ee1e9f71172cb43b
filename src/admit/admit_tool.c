/* Arguments of an agent's tool: they narrow what the operator, or its token, allows. */
#include <string.h>

#include "admit/admit.h"
#include "admit/grant_check.h"
#include "job/job_steps.h"
#include "model/request_fields.h"

int admit_tool_begin(const sbr_request *base, const char *language, sbr_request **ret,
                     sbr_error *err)
{
    sbr_request *req;

    if (request_new(language, NULL, &req, err) < 0)
        return err->code;
    if (request_complete(req, err) < 0 || request_override(req, base, err) < 0) {
        request_free(req);
        return err->code;
    }
    req->has_options = false; /* the reader of messages has arguments */
    *ret = req;
    return 0;
}

int admit_tool_limit(const struct grant *grant, sbr_request *req, enum sbr_limit which,
                     uint64_t value, const char *argument, struct refusal *refusal)
{
    return grant_check_limit(grant, which, value, argument, refusal) < 0 ||
                   limits_set(&req->limits, which, value, &refusal->err) < 0
               ? -1
               : 0;
}

/* What base has of its network is the operator's, and needs no look. */
static int keep_rules(const struct network *base, struct network *ret, sbr_error *err)
{
    for (size_t i = 0; network_goes_outside(ret->mode) && i < base->n_rules; i++)
        if (network_add_rule(ret, &base->rules[i], err) < 0)
            return err->code;
    return 0;
}

static int add_hosts(const json_t *hosts, struct network *ret, sbr_error *err)
{
    const json_t *host;
    size_t i;

    json_array_foreach(hosts, i, host) {
        struct host_rule rule;

        if (host_rule_parse(json_string_value(host), &rule, err) < 0 ||
            network_add_rule(ret, &rule, err) < 0)
            return err->code;
    }
    return 0;
}

/* Replaces the network of base by one that is not wider. */
static int narrow_network(const struct grant *grant, const struct network *base,
                          const json_t *arguments, sbr_request *req, struct refusal *refusal)
{
    const char *name = json_string_value(json_object_get(arguments, "network"));
    const json_t *hosts = json_object_get(arguments, "allow_hosts");
    enum network_mode mode = hosts ? NETWORK_ALLOW : base->mode;

    if (name && network_mode_from_name(name, &mode, &refusal->err) < 0)
        return -1;
    if (mode == base->mode && !hosts)
        return 0;
    network_done(&req->network);
    req->network = (struct network){ .mode = mode,
                                     .allow_dns = network_goes_outside(mode) && base->allow_dns };
    req->network_given = true;
    req->network_asked = mode;
    if (add_hosts(hosts, &req->network, &refusal->err) < 0 ||
        grant_check_network(grant, NULL, &req->network, refusal) < 0)
        return -1;
    return hosts ? 0 : keep_rules(base, &req->network, &refusal->err);
}

int admit_tool(const struct grant *grant, const sbr_request *base, const json_t *arguments,
               sbr_request *req, struct refusal *refusal)
{
    if (grant_check_language(grant, req->language ? req->language : "command", refusal) < 0 ||
        narrow_network(grant, &base->network, arguments, req, refusal) < 0)
        return -1;
    for (size_t i = 0; i < N_REQUEST_FIELDS; i++) {
        struct request_field field = request_fields[i];
        const json_t *value = field.mcp ? json_object_get(arguments, field.mcp) : NULL;

        /* the language it was made with, and the network is there */
        if (!value || field.bound == BOUND_LANGUAGES || field.merge == MERGE_NETWORK)
            continue;
        if (admit_field(grant, &field, value, refusal) < 0)
            return -1;
        field.name = field.mcp; /* in messages */
        if (request_read_field(req, &field, value, &refusal->err) < 0)
            return -1;
    }
    return grant_check_names(grant, req, refusal);
}
