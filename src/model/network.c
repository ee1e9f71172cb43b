#include "model/network.h"

#include <stdlib.h>
#include <string.h>

#define V4_PREFIX 96
#define ALL_BITS 128

static const char *const mode_names[N_NETWORK_MODES] = {
    [NETWORK_NONE] = "none",
    [NETWORK_LOCALHOST] = "localhost",
    [NETWORK_ALLOW] = "allow",
    [NETWORK_FULL] = "full",
};

const char *network_mode_name(enum network_mode mode)
{
    return mode_names[mode];
}

int network_mode_from_name(const char *name, enum network_mode *ret, sbr_error *err)
{
    for (size_t i = 0; i < N_NETWORK_MODES; i++) {
        if (!strcmp(name, mode_names[i])) {
            *ret = (enum network_mode)i;
            return 0;
        }
    }
    return err_set(err, SBR_E_INVALID, "network",
                   "unknown network mode '%.40s'; give none, localhost, allow or full", name);
}

bool network_rule_is_whole(const struct host_rule *rule)
{
    struct address network;

    if (rule->prefix > ALL_BITS || (address_is_v4(&rule->network) && rule->prefix < V4_PREFIX))
        return false;
    network = address_network(&rule->network, rule->prefix);
    return address_equal(&network, &rule->network);
}

bool network_rule_is_loopback(const struct host_rule *rule)
{
    if (rule->kind == HOST_NETWORK)
        return address_range_class(&rule->network, rule->prefix) == ADDRESS_LOOPBACK;
    return rule->kind == HOST_NAME && !strcmp(rule->name, "localhost");
}

bool network_rule_is_for(const struct host_rule *rule, const char *name, uint16_t port)
{
    size_t len = strlen(name), below = strlen(rule->name);
    struct address address;

    if (rule->port && rule->port != port)
        return false;
    if (rule->kind == HOST_NAME)
        return !strcmp(rule->name, name);
    if (rule->kind == HOST_BELOW)
        return len > below + 1 && name[len - below - 1] == '.' &&
               !strcmp(name + len - below, rule->name);
    return rule->prefix == ALL_BITS && address_parse(name, &address) &&
           address_equal(&rule->network, &address);
}

void network_done(struct network *network)
{
    free(network->rules);
    memset(network, 0, sizeof(*network));
}

int network_add_rule(struct network *network, const struct host_rule *rule, sbr_error *err)
{
    struct host_rule *grown;

    if (network->n_rules >= NETWORK_MAX_RULES)
        return err_set(err, SBR_E_INVALID, "network",
                       "more than %d hosts are allowed; give a range or *.NAME instead of each",
                       NETWORK_MAX_RULES);
    grown = realloc(network->rules, (network->n_rules + 1) * sizeof(*grown));
    if (!grown)
        return err_set_oom(err, "network");
    network->rules = grown;
    network->rules[network->n_rules++] = *rule;
    return 0;
}

void network_encode(const struct network *network, struct buf *out)
{
    buf_put_u32(out, network->mode);
    buf_put_u32(out, network->allow_dns);
    buf_put_u32(out, network->closes);
    buf_put_u32(out, network->asks);
    buf_put_u32(out, (uint32_t)network->n_rules);
    for (size_t i = 0; i < network->n_rules; i++) {
        const struct host_rule *rule = &network->rules[i];

        buf_put_u32(out, rule->kind);
        buf_put_string(out, rule->name);
        buf_put_bytes(out, rule->network.bytes, sizeof(rule->network.bytes));
        buf_put_u32(out, rule->prefix);
        buf_put_u32(out, rule->port);
        buf_put_u32(out, rule->anywhere);
        buf_put_u32(out, rule->only_public);
        buf_put_string(out, rule->text);
    }
}

/* Checks the number before a cast can drop bits. */
static uint32_t get_below(struct buf_reader *in, uint32_t end)
{
    uint32_t value = buf_reader_u32(in);

    if (value >= end)
        in->failed = true;
    return in->failed ? 0 : value;
}

static void get_text(struct buf_reader *in, char *ret, size_t size)
{
    const char *text = buf_reader_string(in);

    if (in->failed || !text || strlen(text) >= size)
        in->failed = true;
    else
        memcpy(ret, text, strlen(text) + 1);
}

static void get_rule(struct buf_reader *in, struct host_rule *ret)
{
    const void *bytes;
    size_t len = 0;

    memset(ret, 0, sizeof(*ret));
    ret->kind = (enum host_rule_kind)get_below(in, N_HOST_RULE_KINDS);
    get_text(in, ret->name, sizeof(ret->name));
    bytes = buf_reader_bytes(in, &len);
    if (in->failed || !bytes || len != sizeof(ret->network.bytes))
        in->failed = true;
    else
        memcpy(ret->network.bytes, bytes, len);
    ret->prefix = (uint8_t)get_below(in, ALL_BITS + 1);
    ret->port = (uint16_t)get_below(in, UINT16_MAX + 1);
    ret->anywhere = get_below(in, 2) != 0;
    ret->only_public = get_below(in, 2) != 0;
    get_text(in, ret->text, sizeof(ret->text));
}

/* True for rules as host_rule_parse makes them. */
static bool is_sound(const struct host_rule *rule)
{
    char name[HOSTNAME_SIZE];

    if (rule->kind == HOST_NETWORK && (rule->name[0] || !network_rule_is_whole(rule)))
        return false;
    if (rule->kind != HOST_NETWORK && (!hostname_canonical(rule->name, strlen(rule->name), name) ||
                                       strcmp(name, rule->name) != 0))
        return false;
    return rule->port || !network_rule_is_loopback(rule);
}

int network_decode(struct buf_reader *in, struct network *ret, sbr_error *err)
{
    struct network network = { 0 };
    struct host_rule rule;
    uint32_t n;

    network.mode = (enum network_mode)get_below(in, N_NETWORK_MODES);
    network.allow_dns = get_below(in, 2) != 0;
    network.closes = get_below(in, 2) != 0;
    network.asks = get_below(in, 2) != 0;
    n = get_below(in, NETWORK_MAX_RULES + 1);
    for (uint32_t i = 0; !in->failed && i < n; i++) {
        get_rule(in, &rule);
        if (in->failed || !is_sound(&rule)) {
            in->failed = true;
        } else if (network_add_rule(&network, &rule, err) < 0) {
            network_done(&network);
            return err->code;
        }
    }
    if (in->failed) {
        network_done(&network);
        return err_set(err, SBR_E_INVALID, "network", "the rules of the network are damaged");
    }
    *ret = network;
    return 0;
}

size_t network_loopback_ports(const struct network *network, uint16_t *ports, size_t max)
{
    size_t n = 0;

    for (size_t i = 0; i < network->n_rules && n < max; i++) {
        size_t k = 0;

        if (!network_rule_is_loopback(&network->rules[i]))
            continue;
        while (k < n && ports[k] != network->rules[i].port)
            k++;
        if (k == n)
            ports[n++] = network->rules[i].port;
    }
    return n;
}
