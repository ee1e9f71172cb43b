/* Host rules, a line each, and what is decided with them.  Each line is also taken for a name and
 * for an address that the program asks for. */
#include "egress/decide.h"
#include "egress/names.h"
#include "fuzz.h"

static void check_name(const char *line, size_t len)
{
    char name[HOSTNAME_SIZE], again[HOSTNAME_SIZE];
    struct address a;

    if (!hostname_canonical(line, len, name))
        return;
    FUZZ_ASSERT(strlen(name) == len || strlen(name) + 1 == len); /* a dot at most */
    FUZZ_ASSERT(hostname_canonical(name, strlen(name), again) && !strcmp(name, again));
    FUZZ_ASSERT(!address_parse(name, &a));
}

/* What a rule became is a rule again, and the same. */
static void check_rule(const struct host_rule *rule)
{
    struct host_rule again;
    sbr_error err;

    FUZZ_ASSERT(rule->kind < N_HOST_RULE_KINDS && !rule->anywhere);
    FUZZ_ASSERT(network_rule_is_whole(rule) && (rule->port || !network_rule_is_loopback(rule)));
    if (rule->kind == HOST_NAME && !rule->port) {
        FUZZ_ASSERT(host_rule_parse(rule->name, &again, &err) == 0);
        FUZZ_ASSERT(again.kind == HOST_NAME && !strcmp(again.name, rule->name));
    }
}

/* A rule that names the address, not a range that merely holds it. */
static bool is_named(const struct network *network, const struct address *a, uint16_t port)
{
    for (size_t i = 0; i < network->n_rules; i++) {
        const struct host_rule *rule = &network->rules[i];

        if (rule->port && rule->port != port)
            continue;
        if (network_rule_is_loopback(rule) && address_outer_class(a) == ADDRESS_LOOPBACK)
            return true;
        if (rule->kind == HOST_NETWORK && address_in(a, &rule->network, rule->prefix) &&
            address_range_class(&rule->network, rule->prefix) != ADDRESS_PUBLIC)
            return true;
    }
    return false;
}

static void check_decision(const struct network *network, const char *name, const struct address *a,
                           uint16_t port)
{
    struct decision d = decide_address(network, name, a, port, (struct whereabouts){ 0 });
    enum address_class class = address_class(a);
    struct address inner;

    FUZZ_ASSERT(d.allowed ? !d.rule[0] && !d.remedy[0] : d.rule[0] && !d.by);
    FUZZ_ASSERT(!strchr(d.rule, '\n') && !strchr(d.remedy, '\n'));
    if (!d.allowed)
        return;
    FUZZ_ASSERT(network->mode >= NETWORK_ALLOW);
    FUZZ_ASSERT(network->mode == NETWORK_FULL || d.by);
    FUZZ_ASSERT(class != ADDRESS_MULTICAST && !names_is_inside(a));
    FUZZ_ASSERT(address_outer_class(a) == ADDRESS_PUBLIC || is_named(network, a, port));
    if (address_inner(a, &inner) != ADDRESS_PLAIN)
        FUZZ_ASSERT(address_outer_class(&inner) == ADDRESS_PUBLIC ||
                    is_named(network, &inner, port));
    /* The host's own is never opened by what did not open it as a stranger's. */
    d = decide_address(network, name, a, port, (struct whereabouts){ .own = true });
    FUZZ_ASSERT(!d.allowed || class == ADDRESS_LOOPBACK || d.by);
}

/* The line asks, in every mode: as a name with an address of its own bytes, and as an address. */
static void ask(struct network *network, const char *line, size_t len)
{
    uint16_t port = (uint16_t)(len ? (unsigned char)line[len - 1] : 443);
    struct address address, bytes = { { 0 } };
    char name[HOSTNAME_SIZE];
    bool named = hostname_canonical(line, len, name);

    memcpy(bytes.bytes, line, len < sizeof(bytes.bytes) ? len : sizeof(bytes.bytes));
    for (int mode = 0; mode < N_NETWORK_MODES; mode++) {
        network->mode = (enum network_mode)mode;
        check_decision(network, named ? name : NULL, &bytes, port);
        if (address_parse(line, &address))
            check_decision(network, NULL, &address, port);
        if (named)
            FUZZ_ASSERT(mode >= NETWORK_ALLOW || !decide_name(network, name).allowed);
    }
}

static void check_bytes(const struct network *network)
{
    struct network back;
    struct buf bytes;
    struct buf_reader in = { 0 };
    sbr_error err;

    buf_init(&bytes, 1 << 20);
    network_encode(network, &bytes);
    FUZZ_ASSERT(!bytes.failed);
    in.data = bytes.data;
    in.len = bytes.len;
    FUZZ_ASSERT(network_decode(&in, &back, &err) == 0 && in.pos == in.len);
    FUZZ_ASSERT(back.n_rules == network->n_rules);
    network_done(&back);
    buf_done(&bytes);
}

/* The input as what another process sends. */
static void decode(const uint8_t *data, size_t size)
{
    struct buf_reader in = { .data = (const char *)data, .len = size };
    struct network network;
    sbr_error err;

    if (network_decode(&in, &network, &err) == 0) {
        check_bytes(&network);
        network_done(&network);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), *rest = text, *line;
    struct network network = { 0 };
    struct host_rule rule;
    sbr_error err;

    decode(data, size);
    check_name(text, size); /* with every NUL in it */
    while ((line = strsep(&rest, "\n"))) {
        int r = host_rule_parse(line, &rule, &err);

        check_name(line, strlen(line));
        FUZZ_ASSERT(r == 0 || (r == SBR_E_INVALID && err.message[0]));
        if (r == 0) {
            check_rule(&rule);
            FUZZ_ASSERT(network.n_rules == NETWORK_MAX_RULES ||
                        network_add_rule(&network, &rule, &err) == 0);
        }
        ask(&network, line, strlen(line));
    }
    check_bytes(&network);
    network_done(&network);
    free(text);
    return 0;
}
