/* Decides the network of a stage, and what its root needs for it. */

#include <string.h>

#include "model/network.h"
#include "plan/plan_root.h"

/* The ports that lead outside when netfilter is unavailable and a rule names no port. */
static const uint16_t common_ports[] = { 21,   22,   25,   80,   110,  143,  443,  465,  587,
                                         853,  993,  995,  1433, 3306, 5000, 5432, 5672, 6379,
                                         8000, 8080, 8443, 9000, 9092, 9200, 27017 };

/* clang-format off */
static const struct plan_op switch_op = {
    .kind = OP_FILE, .to = "etc/nsswitch.conf", .mode = 0444, TEXT_FILE(
        "passwd: files\ngroup: files\nhosts: files dns\n")
};

/* The only resolver.  Without egress nothing answers at its address, so programs must not wait. */
static const struct plan_op resolver_ops[] = {
    [false] = { .kind = OP_FILE, .to = "etc/resolv.conf", .mode = 0444, TEXT_FILE(
        "nameserver " EGRESS_RESOLVER4 "\noptions timeout:0 attempts:1\n") },
    [true]  = { .kind = OP_FILE, .to = "etc/resolv.conf", .mode = 0444, TEXT_FILE(
        "nameserver " EGRESS_RESOLVER4 "\n") },
};

/* What a client needs to verify servers. */
static const struct plan_op certificate_ops[] = {
    { .kind = OP_BIND, .from = "/etc/ssl/certs", .to = "etc/ssl/certs",
      .flags = OP_OPTIONAL | OP_VIEW },
    { .kind = OP_COPY, .from = "/etc/ssl/openssl.cnf", .to = "etc/ssl/openssl.cnf", .mode = 0444,
      .flags = OP_OPTIONAL },
    { .kind = OP_BIND, .from = "/etc/pki/tls/certs", .to = "etc/pki/tls/certs",
      .flags = OP_OPTIONAL | OP_VIEW },
    { .kind = OP_BIND, .from = "/etc/ca-certificates", .to = "etc/ca-certificates",
      .flags = OP_OPTIONAL | OP_VIEW },
};
/* clang-format on */

/* The network of the program's own stage: the request's, or else its policy's. */
static int network_of_program(struct plan *plan, const struct plan_input *in, sbr_error *err)
{
    const sbr_request *req = in->request;
    const struct policy *policy = in->policy;
    struct host_rule *rules;

    if (request_has_network(req)) {
        plan->egress = req->network;
        return 0;
    }
    plan->egress = (struct network){ .mode = policy->network, .allow_dns = policy->allow_dns };
    /* Tests and builds talk to servers of their own.  What a person works in may be given hosts
     * later, for which the way out has to be there from the start. */
    if ((req->complete || req->opens_later) && policy->network == NETWORK_NONE &&
        in->features->user_namespaces && policy == policy_find(NULL))
        plan->egress.mode = req->opens_later ? NETWORK_ALLOW : NETWORK_LOCALHOST;
    plan->egress.asks = req->network.asks;
    if (!policy->n_allow_hosts)
        return 0;
    rules = plan_alloc(plan, policy->n_allow_hosts * sizeof(*rules));
    if (!rules)
        return err_set_oom(err, "plan");
    for (size_t i = 0; i < policy->n_allow_hosts; i++)
        if (host_rule_parse(policy->allow_hosts[i], &rules[i], err) < 0)
            return err->code;
    plan->egress.rules = rules;
    plan->egress.n_rules = policy->n_allow_hosts;
    return 0;
}

static void add_port(struct plan *plan, uint16_t port)
{
    for (size_t i = 0; i < plan->n_ports; i++)
        if (plan->ports[i] == port)
            return;
    if (plan->n_ports < PLAN_MAX_PORTS)
        plan->ports[plan->n_ports++] = port;
}

/* Every connection that leaves arrives at a listener at EGRESS_PORT; a second one there, which
 * leads to the host's loopback, would take some of them. */
static int check_own_port(const uint16_t *forwards, size_t n, sbr_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (forwards[i] == EGRESS_PORT)
            return err_set(err, SBR_E_INVALID, "network",
                           "port %d of localhost cannot be opened, because the sandbox's own way "
                           "out listens there; let the server listen at another port",
                           EGRESS_PORT);
    return 0;
}

static int list_ports(struct plan *plan, sbr_error *err)
{
    bool any = plan->network == NETWORK_FULL;
    uint16_t forwards[PLAN_MAX_FORWARDS + 1];
    size_t n = network_loopback_ports(&plan->egress, forwards, ARRAY_LEN(forwards));

    add_port(plan, 53);
    for (size_t i = 0; i < plan->egress.n_rules; i++) {
        any |= plan->egress.rules[i].port == 0;
        if (plan->egress.rules[i].port)
            add_port(plan, plan->egress.rules[i].port);
    }
    for (size_t i = 0; any && i < ARRAY_LEN(common_ports); i++)
        add_port(plan, common_ports[i]);
    if (n > PLAN_MAX_FORWARDS)
        return err_set(
            err, SBR_E_INVALID, "network",
            "at most %d ports of the host's loopback can be opened; leave some of the rules for "
            "localhost out",
            PLAN_MAX_FORWARDS);
    if (check_own_port(forwards, n, err) < 0)
        return err->code;
    memcpy(plan->forward_ports, forwards, n * sizeof(*forwards));
    plan->n_forward_ports = n;
    return 0;
}

/* The default policy has variants with a network; every other policy must allow one itself. */
static int choose_policy(struct plan *plan, const struct plan_input *in, sbr_error *err)
{
    plan->policy = in->policy;
    if (plan->network == NETWORK_NONE || in->policy->network != NETWORK_NONE)
        return 0;
    if (in->policy == policy_find(NULL))
        plan->policy = policy_find(plan->network == NETWORK_LOCALHOST ? "localhost" : "network");
    else
        return err_set(err, SBR_E_INVALID, "plan",
                       "policy '%s' leaves the program no network, so %s %s cannot be had with it; "
                       "leave one of them out",
                       in->policy->name, request_word(in->request, CALLED_NETWORK),
                       network_mode_name(plan->network));
    return 0;
}

/* A published port leads to the sandbox's own loopback, so there is one. */
static int publish_ports(struct plan *plan, const struct plan_input *in, sbr_error *err)
{
    const sbr_request *req = in->request;

    if (!req->publish.n)
        return 0;
    if (!in->features->user_namespaces)
        return err_set(err, SBR_E_UNSUPPORTED, "plan",
                       "without namespaces the program has no network of its own, so %s is "
                       "refused; `sandbox-run doctor` says how to get them",
                       request_word(req, CALLED_PUBLISH));
    if (plan->network == NETWORK_NONE)
        plan->network = plan->egress.mode = NETWORK_LOCALHOST;
    plan->publish = req->publish;
    plan->n_published = (uint32_t)req->publish.n;
    result_add_mechanism(&plan->isolation, "publish");
    return 0;
}

/* Both would mean the port of the sandbox's loopback: one leads in, the other out. */
static int check_published(const struct plan *plan, const sbr_request *req, sbr_error *err)
{
    for (size_t i = 0; i < plan->publish.n; i++)
        for (size_t k = 0; k < plan->n_forward_ports; k++)
            if (plan->publish.rules[i].inside == plan->forward_ports[k])
                return err_set(err, SBR_E_INVALID, "plan",
                               "port %u inside cannot both be published and lead to this "
                               "machine's localhost; leave %s or the rule for localhost out",
                               plan->forward_ports[k], request_word(req, CALLED_PUBLISH));
    return 0;
}

int plan_network(struct plan *plan, const struct plan_input *in, sbr_error *err)
{
    if (in->stage == STAGE_RUN && network_of_program(plan, in, err) < 0)
        return err->code;
    if (in->stage != STAGE_RUN && in->config)
        plan->egress = in->config->network;
    if (plan_secrets_network(plan, in, err) < 0)
        return err->code;
    plan->network = plan->egress.mode;
    if (in->stage == STAGE_RUN && publish_ports(plan, in, err) < 0)
        return err->code;
    if (plan->network != NETWORK_NONE && !in->features->user_namespaces)
        return err_set(err, SBR_E_UNSUPPORTED, "plan",
                       "without namespaces there is no network that could be limited, so %s %s "
                       "is refused; `sandbox-run doctor` says how to get them",
                       request_word(in->request, CALLED_NETWORK), network_mode_name(plan->network));
    if (choose_policy(plan, in, err) < 0)
        return err->code;
    if (network_goes_outside(plan->network)) {
        if (list_ports(plan, err) < 0)
            return err->code;
        result_add_mechanism(&plan->isolation, "egress");
        if (plan->has_secrets)
            result_add_mechanism(&plan->isolation, "secrets");
    }
    return check_published(plan, in->request, err);
}

struct plan_op plan_network_resolver(const struct plan *plan)
{
    return resolver_ops[network_goes_outside(plan->network)];
}

/* Under this directory the bundle is another one, and no bind mount could be written to. */
static bool is_replaced(const struct plan *plan, const struct plan_op *op)
{
    return plan->has_secrets && strstr(op->to, "certs");
}

int plan_network_root(struct plan *plan, const struct plan_input *in, sbr_error *err)
{
    if (plan_add_op(plan, switch_op, err) < 0 ||
        plan_add_op(plan, plan_network_resolver(plan), err) < 0)
        return err->code;
    for (size_t i = 0; network_goes_outside(plan->network) && i < ARRAY_LEN(certificate_ops); i++)
        if (!is_replaced(plan, &certificate_ops[i]) &&
            plan_add_op(plan, certificate_ops[i], err) < 0)
            return err->code;
    return plan_secrets_root(plan, in, err);
}
