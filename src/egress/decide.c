#include "egress/decide.h"

#include <stdio.h>
#include <string.h>

#include "egress/names.h"

/* What is asked.  An address and the one within it are two layers: each has to be allowed. */
struct question {
    const struct network *network;
    const char *name;
    uint16_t port;
    struct address layers[2];
    size_t n_layers;
    enum address_wrap wrap;
};

#define TARGET_SIZE (HOSTNAME_SIZE + sizeof(":65535"))

static bool covers_name(const struct host_rule *rule, const char *name)
{
    size_t len, below = strlen(rule->name);

    if (!name || rule->kind == HOST_NETWORK)
        return false;
    if (rule->kind == HOST_NAME)
        return !strcmp(rule->name, name);
    len = strlen(name);
    return len > below + 1 && name[len - below - 1] == '.' &&
           !strcmp(name + len - below, rule->name);
}

/* Both must be of one family: ::/0 is not for IPv4, although IPv4 is stored as a part of IPv6. */
static bool holds(const struct host_rule *rule, const struct address *a)
{
    return rule->kind == HOST_NETWORK && address_is_v4(a) == address_is_v4(&rule->network) &&
           address_in(a, &rule->network, rule->prefix);
}

static bool is_exactly(const struct host_rule *rule, const struct address *a)
{
    return rule->kind == HOST_NETWORK && rule->prefix == 128 && address_equal(a, &rule->network);
}

static bool is_for_port(const struct host_rule *rule, uint16_t port)
{
    return !rule->port || rule->port == port;
}

static bool is_localhost(const struct host_rule *rule)
{
    return rule->kind == HOST_NAME && network_rule_is_loopback(rule);
}

/* True when the rule opens this layer, which is special. */
static bool opens(const struct host_rule *rule, const struct question *q,
                  const struct address *layer)
{
    enum address_class class = address_outer_class(layer);

    if (rule->only_public || !is_for_port(rule, q->port))
        return false;
    if (rule->anywhere && covers_name(rule, q->name))
        return class != ADDRESS_LINK_LOCAL;
    if (class == ADDRESS_LOOPBACK && is_localhost(rule))
        return true;
    return holds(rule, layer) &&
           address_range_class(&rule->network, rule->prefix) != ADDRESS_PUBLIC;
}

static const struct host_rule *opener(const struct question *q, const struct address *layer)
{
    for (size_t i = 0; i < q->network->n_rules; i++) {
        if (opens(&q->network->rules[i], q, layer))
            return &q->network->rules[i];
    }
    return NULL;
}

static bool opens_own(const struct host_rule *rule, const struct question *q)
{
    if (rule->only_public || !is_for_port(rule, q->port))
        return false;
    if (rule->anywhere && covers_name(rule, q->name))
        return true;
    return is_exactly(rule, &q->layers[0]) ||
           (q->wrap == ADDRESS_TRANSLATED && is_exactly(rule, &q->layers[1]));
}

static bool own_is_open(const struct question *q)
{
    if (address_outer_class(&q->layers[0]) == ADDRESS_LOOPBACK)
        return true; /* always this host's, and opened as loopback before */
    for (size_t i = 0; i < q->network->n_rules; i++) {
        if (opens_own(&q->network->rules[i], q))
            return true;
    }
    return false;
}

/* Opened as a private range is: by a rule that holds nothing else.  A rule for a name does not open
 * it, because any server may answer for that name. */
static bool link_is_open(const struct question *q, size_t i, unsigned int link)
{
    for (size_t k = 0; k < q->network->n_rules; k++) {
        const struct host_rule *rule = &q->network->rules[k];

        if (!rule->only_public && is_for_port(rule, q->port) &&
            ((rule->anywhere && covers_name(rule, q->name)) ||
             (holds(rule, &q->layers[i]) && rule->prefix >= link)))
            return true;
    }
    return false;
}

/* The rule that lists the whole address, special or not. */
static const struct host_rule *listed_by(const struct question *q)
{
    for (size_t i = 0; i < q->network->n_rules; i++) {
        const struct host_rule *rule = &q->network->rules[i];

        if (is_for_port(rule, q->port) &&
            (covers_name(rule, q->name) || holds(rule, &q->layers[0]) ||
             (q->wrap == ADDRESS_TRANSLATED && holds(rule, &q->layers[1])) ||
             (is_localhost(rule) && address_outer_class(&q->layers[0]) == ADDRESS_LOOPBACK)))
            return rule;
    }
    return NULL;
}

/* The form that --allow-host takes. */
static const char *format_target(const struct address *a, uint16_t port, char buf[TARGET_SIZE])
{
    char text[ADDRESS_TEXT_SIZE];

    snprintf(buf, TARGET_SIZE, address_is_v4(a) ? "%s:%u" : "[%s]:%u", address_format(a, text),
             port);
    return buf;
}

static const char *asked_target(const struct question *q, char buf[TARGET_SIZE])
{
    if (!q->name)
        return format_target(&q->layers[0], q->port, buf);
    snprintf(buf, TARGET_SIZE, "%.253s:%u", q->name, q->port);
    return buf;
}

static const char *mode_of(const struct question *q)
{
    return network_mode_name(q->network->mode);
}

/* Refuses by the mode alone, or because no rule matches.  `target` is NAME or HOST:PORT. */
static struct decision refuse_unlisted(const struct network *network, const char *target)
{
    bool closed = network->mode != NETWORK_ALLOW;
    struct decision d = { 0 };

    if (network->closed) {
        snprintf(d.rule, sizeof(d.rule),
                 DENIAL_CLOSED_RULE " (scripts of packages run without one)");
        return d;
    }
    snprintf(d.rule, sizeof(d.rule), "network: %s (%s %.100s)", network_mode_name(network->mode),
             closed ? "nothing outside, not" : "no rule for", target);
    snprintf(d.remedy, sizeof(d.remedy), "%s--allow-host %.260s",
             network->mode == NETWORK_LOCALHOST ? "--network allow " : "", target);
    return d;
}

/* `what` describes the layer, as in "is private". */
static struct decision refuse_layer(const struct question *q, const struct address *layer,
                                    const char *what, bool remedy)
{
    char target[TARGET_SIZE], text[ADDRESS_TEXT_SIZE];
    struct decision d = { 0 };

    address_format(layer, text);
    if (q->name)
        snprintf(d.rule, sizeof(d.rule), "network: %s (%.50s leads to %s, which %.30s)", mode_of(q),
                 q->name, text, what);
    else
        snprintf(d.rule, sizeof(d.rule), "network: %s (%s %.30s)", mode_of(q), text, what);
    if (remedy)
        snprintf(d.remedy, sizeof(d.remedy), "--allow-host %s",
                 format_target(layer, q->port, target));
    return d;
}

static struct decision allow(const struct host_rule *by)
{
    return (struct decision){ .allowed = true, .by = by };
}

static struct decision decide_layer(const struct question *q, const struct address *layer)
{
    enum address_class class = address_outer_class(layer);
    const struct host_rule *by;
    char what[32];

    if (names_is_inside(layer))
        return refuse_layer(q, layer, "stands for no name", false);
    if (class == ADDRESS_MULTICAST)
        return refuse_layer(q, layer, "is multicast or broadcast", false);
    if (class == ADDRESS_PUBLIC)
        return allow(NULL);
    by = opener(q, layer);
    if (by)
        return allow(by);
    snprintf(what, sizeof(what), "is %s", address_class_name(class));
    return refuse_layer(q, layer, what, true);
}

struct decision decide_name(const struct network *network, const char *name)
{
    if (!network_goes_outside(network->mode))
        return refuse_unlisted(network, name);
    for (size_t i = 0; i < network->n_rules; i++) {
        if (covers_name(&network->rules[i], name))
            return allow(&network->rules[i]);
    }
    if (network->mode == NETWORK_FULL || network->allow_dns)
        return allow(NULL);
    return refuse_unlisted(network, name);
}

struct decision decide_name_at(const struct network *network, const char *name, uint16_t port)
{
    const struct question q = { .network = network, .name = name, .port = port };
    char target[TARGET_SIZE];

    for (size_t i = 0; network_goes_outside(network->mode) && i < network->n_rules; i++) {
        const struct host_rule *rule = &network->rules[i];

        if (is_for_port(rule, port) && covers_name(rule, name))
            return allow(rule);
    }
    return refuse_unlisted(network, asked_target(&q, target));
}

struct decision decide_address(const struct network *network, const char *name,
                               const struct address *address, uint16_t port, struct whereabouts at)
{
    struct question q = { .network = network, .name = name, .port = port, .n_layers = 1 };
    const struct host_rule *by = NULL, *listed;
    char target[TARGET_SIZE];

    q.layers[0] = *address;
    q.wrap = address_inner(address, &q.layers[1]);
    q.n_layers += q.wrap != ADDRESS_PLAIN;
    if (!network_goes_outside(network->mode))
        return refuse_unlisted(network, asked_target(&q, target));
    for (size_t i = 0; i < q.n_layers; i++) {
        struct decision d = decide_layer(&q, &q.layers[i]);

        if (!d.allowed)
            return d;
        by = by ? by : d.by;
    }
    if (at.own && !own_is_open(&q))
        return refuse_layer(&q, &q.layers[0], "is this host's own", true);
    for (size_t i = 0; i < q.n_layers; i++)
        if (at.link[i] && address_outer_class(&q.layers[i]) == ADDRESS_PUBLIC &&
            !link_is_open(&q, i, at.link[i]))
            return refuse_layer(&q, &q.layers[i], "is in this host's own network", true);
    listed = listed_by(&q);
    if (!listed && network->mode == NETWORK_ALLOW)
        return refuse_unlisted(network, asked_target(&q, target));
    return allow(by ? by : listed);
}
