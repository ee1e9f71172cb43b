/* A request within a grant passes, and one above is refused by exactly the bound that it passes. */
#include <stdio.h>
#include <stdlib.h>

#include "admit/grant_check.h"
#include "plan/policy.h"
#include "unit.h"

/* What a row gives: rules and modes of the grant, of the configuration and of the request. */
struct net {
    enum network_mode mode;
    const char *hosts; /* with commas */
    bool dns;
};

static struct grant make_grant(const struct net *net)
{
    struct grant grant;

    grant_init_token(&grant);
    snprintf(grant.name, sizeof(grant.name), "acme");
    grant.scopes = SCOPE_RUN;
    grant.network = net->mode;
    snprintf(grant.hosts, sizeof(grant.hosts), "%s", net->hosts ? net->hosts : "");
    return grant;
}

static void add_rules(struct network *network, const char *hosts)
{
    char text[256], *rest = text, *word;

    snprintf(text, sizeof(text), "%s", hosts ? hosts : "");
    while ((word = strsep(&rest, ","))) {
        struct host_rule rule;
        sbr_error err;

        if (*word &&
            (host_rule_parse(word, &rule, &err) < 0 || network_add_rule(network, &rule, &err) < 0))
            fail_msg("%s", err.message);
    }
}

/* Without a network it says nothing of one. */
static struct config make_config(const struct net *net)
{
    struct config config = { .require = TIER_CONTAINER, .policy = "default" };

    limits_init(&config.limits);
    limits_init(&config.compile_limits);
    if (!net)
        return config;
    config.network = (struct network){ .mode = net->mode, .allow_dns = net->dns };
    add_rules(&config.network, net->hosts);
    config.from[CONFIG_NETWORK].origin = CONFIG_BY_USER;
    return config;
}

static sbr_request *make_request(const struct net *net)
{
    sbr_request *req = NULL;
    sbr_error err;

    assert_int_equal(request_new("python", NULL, &req, &err), 0);
    if (!net)
        return req;
    add_rules(&req->network, net->hosts);
    req->network.mode = net->mode;
    req->network.allow_dns = net->dns;
    req->network_given = true;
    return req;
}

/* The rules of a network as text, with commas; "!" before those that open public addresses only. */
static const char *text_of(const struct network *network)
{
    static char text[512];
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < network->n_rules; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s%s", i ? "," : "",
                                 network->rules[i].only_public ? "!" : "", network->rules[i].text);
    return text;
}

static void assert_bound(int r, const struct refusal *refusal, enum bound bound, const char *field,
                         const char *row)
{
    if (r != -1 || refusal->bound != bound || strcmp(refusal->field, field) != 0)
        fail_msg("%s: %d, bound %d of `%s`: %s", row, r, (int)refusal->bound, refusal->field,
                 refusal->err.message);
    assert_int_equal(refusal->kind, REFUSED_FORBIDDEN);
    assert_refused(refusal->err.code, &refusal->err, SBR_E_DENIED, "");
}

static void every_limit_passes_at_its_ceiling_and_not_above(void **state)
{
    (void)state;
    for (unsigned int i = 0; i < 2 * N_LIMITS; i++) {
        const struct limit_def *def = &limit_defs[i / 2];
        enum sbr_limit which = (enum sbr_limit)(i / 2);
        const bool compile = i % 2;
        uint64_t most = def->min + 1;
        struct grant grant = make_grant(&(struct net){ .mode = NETWORK_NONE });
        struct config config = make_config(NULL);
        sbr_request *req = make_request(NULL);
        struct limits *limits = compile ? &req->compile_limits : &req->limits;
        struct refusal refusal = { 0 };

        assert_int_equal(limits_set(&grant.ceilings, which, most, &refusal.err), 0);
        assert_int_equal(limits_set(limits, which, most, &refusal.err), 0);
        assert_int_equal(grant_check(&grant, &config, req, &refusal), 0);
        assert_int_equal(limits->value[which], most);
        assert_int_equal(req->ceilings.value[which], most);
        assert_string_equal(req->caller, "acme");
        limits->value[which] = most + 1;
        assert_bound(grant_check(&grant, &config, req, &refusal), &refusal, BOUND_LIMITS,
                     compile ? "compile_limits" : "limits", def->name);
        assert_non_null(strstr(refusal.err.message, def->option));
        limits->value[which] = LIMIT_NONE;
        assert_int_equal(grant_check(&grant, &config, req, &refusal), -1);
        request_free(req);
    }
}

static void a_limit_that_nobody_asked_for_is_lowered(void **state)
{
    struct grant grant = make_grant(&(struct net){ .mode = NETWORK_NONE });
    struct config config = make_config(NULL);
    sbr_request *req = make_request(NULL);
    struct refusal refusal = { 0 };

    (void)state;
    grant.ceilings.given = 1u << SBR_MEMORY_BYTES | 1u << SBR_PIDS | 1u << SBR_OUTPUT_BYTES;
    grant.ceilings.value[SBR_MEMORY_BYTES] = 64 << 20; /* below the default */
    grant.ceilings.value[SBR_PIDS] = 10000;            /* above it */
    grant.ceilings.value[SBR_OUTPUT_BYTES] = 5;        /* the default is none */
    config.from[SBR_PIDS].origin = CONFIG_BY_USER;
    config.limits.value[SBR_PIDS] = 20000;
    assert_int_equal(grant_check(&grant, &config, req, &refusal), 0);
    assert_int_equal(req->limits.value[SBR_MEMORY_BYTES], 64 << 20);
    assert_int_equal(req->limits.value[SBR_PIDS], 10000);
    assert_int_equal(req->limits.value[SBR_OUTPUT_BYTES], 5);
    assert_true(req->limits.value[SBR_CPU_MS] == LIMIT_NONE);
    request_free(req);
}

static void limits_are_lowered_to_ceilings_and_never_raised(void **state)
{
    struct grant grant = make_grant(&(struct net){ .mode = NETWORK_NONE });
    struct limits limits;
    sbr_error err;

    (void)state;
    limits_init(&limits);
    grant.ceilings.given = 1u << SBR_MEMORY_BYTES | 1u << SBR_PIDS | 1u << SBR_INODES;
    grant.ceilings.value[SBR_MEMORY_BYTES] = (uint64_t)1 << 40;
    grant.ceilings.value[SBR_PIDS] = 50;
    grant.ceilings.value[SBR_INODES] = 50;
    assert_int_equal(limits_set(&limits, SBR_PIDS, 20, &err), 0);
    assert_int_equal(limits_set(&limits, SBR_INODES, 80, &err), 0);
    grant_give_ceilings(&grant, &limits);
    assert_int_equal(limits.value[SBR_MEMORY_BYTES], limit_defs[SBR_MEMORY_BYTES].preset);
    assert_int_equal(limits.value[SBR_PIDS], 20);
    assert_int_equal(limits.value[SBR_INODES], 50);
    assert_int_equal(limits.given, 1u << SBR_PIDS | 1u << SBR_INODES);
}

#define NONE                                                                                       \
    {                                                                                              \
        NETWORK_NONE, NULL, false                                                                  \
    }
#define LOCALHOST                                                                                  \
    {                                                                                              \
        NETWORK_LOCALHOST, NULL, false                                                             \
    }
#define ALLOW(hosts)                                                                               \
    {                                                                                              \
        NETWORK_ALLOW, hosts, false                                                                \
    }
#define ALLOW_DNS(hosts)                                                                           \
    {                                                                                              \
        NETWORK_ALLOW, hosts, true                                                                 \
    }
#define FULL                                                                                       \
    {                                                                                              \
        NETWORK_FULL, NULL, false                                                                  \
    }
#define FULL_WITH(hosts)                                                                           \
    {                                                                                              \
        NETWORK_FULL, hosts, false                                                                 \
    }

/* clang-format off */
static const struct asked {
    struct net grant, request;
    enum bound bound;    /* BOUND_NONE: it passes */
    const char *field;   /* of the refusal */
    const char *rules;   /* afterwards */
    struct net config;   /* only its rules count here */
} asked[] = {
    /* The mode. */
    { NONE, NONE, BOUND_NONE, NULL, "", NONE },
    { NONE, LOCALHOST, BOUND_NETWORK, "network", NULL, NONE },
    { NONE, ALLOW("a.test"), BOUND_NETWORK, "network", NULL, NONE },
    { NONE, FULL, BOUND_NETWORK, "network", NULL, NONE },
    { LOCALHOST, LOCALHOST, BOUND_NONE, NULL, "", NONE },
    { LOCALHOST, ALLOW("a.test"), BOUND_NETWORK, "network", NULL, NONE },
    { ALLOW(""), ALLOW("a.test"), BOUND_NONE, NULL, "!a.test", NONE },
    { ALLOW(""), ALLOW_DNS("a.test,8.8.8.8"), BOUND_NONE, NULL, "!a.test,!8.8.8.8", NONE },
    { ALLOW(""), FULL, BOUND_NETWORK, "network", NULL, NONE },
    { FULL, FULL, BOUND_NONE, NULL, "", NONE },
    { FULL, ALLOW("a.test"), BOUND_NONE, NULL, "!a.test", NONE },
    /* The hosts of the grant. */
    { ALLOW("a.test"), ALLOW("a.test"), BOUND_NONE, NULL, "a.test", NONE },
    { ALLOW("a.test"), ALLOW("a.test:443"), BOUND_NONE, NULL, "a.test:443", NONE },
    { ALLOW("a.test"), ALLOW(""), BOUND_NONE, NULL, "", NONE },
    { ALLOW("a.test:443"), ALLOW("a.test"), BOUND_HOSTS, "allow_hosts", NULL, NONE },
    { ALLOW("a.test"), ALLOW("a.test,b.test"), BOUND_HOSTS, "allow_hosts", NULL, NONE },
    { ALLOW("a.test"), ALLOW("8.8.8.8"), BOUND_HOSTS, "allow_hosts", NULL, NONE },
    { ALLOW("a.test"), ALLOW("0.0.0.0/0"), BOUND_HOSTS, "allow_hosts", NULL, NONE },
    { ALLOW("*.a.test"), ALLOW("x.a.test"), BOUND_NONE, NULL, "x.a.test", NONE },
    { ALLOW("a.test"), ALLOW_DNS("a.test"), BOUND_HOSTS, "network", NULL, NONE },
    { FULL_WITH("a.test"), FULL, BOUND_HOSTS, "network", NULL, NONE },
    { FULL_WITH("a.test"), ALLOW("b.test"), BOUND_HOSTS, "allow_hosts", NULL, NONE },
    /* The configuration does not add to the hosts of a grant. */
    { ALLOW("a.test"), ALLOW("b.test"), BOUND_HOSTS, "allow_hosts", NULL, ALLOW("b.test") },
    /* Addresses that only an operator opens. */
    { ALLOW(""), ALLOW("localhost:8080"), BOUND_ADDRESSES, "allow_hosts", NULL, NONE },
    { ALLOW(""), ALLOW("127.0.0.1:80"), BOUND_ADDRESSES, "allow_hosts", NULL, NONE },
    { ALLOW(""), ALLOW("10.0.0.0/8"), BOUND_ADDRESSES, "allow_hosts", NULL, NONE },
    { ALLOW(""), ALLOW("169.254.169.254:80"), BOUND_ADDRESSES, "allow_hosts", NULL, NONE },
    { ALLOW(""), ALLOW("[::1]:80"), BOUND_ADDRESSES, "allow_hosts", NULL, NONE },
    { ALLOW(""), ALLOW("fd00::/8"), BOUND_ADDRESSES, "allow_hosts", NULL, NONE },
    { ALLOW(""), ALLOW("::ffff:10.0.0.5"), BOUND_ADDRESSES, "allow_hosts", NULL, NONE },
    { ALLOW(""), ALLOW("0.0.0.0:80"), BOUND_ADDRESSES, "allow_hosts", NULL, NONE },
    { ALLOW(""), ALLOW("a.test,192.168.0.0/16"), BOUND_ADDRESSES, "allow_hosts", NULL, NONE },
    { FULL, FULL_WITH("localhost:8080"), BOUND_ADDRESSES, "allow_hosts", NULL, NONE },
    { FULL, FULL_WITH("169.254.169.254:80"), BOUND_ADDRESSES, "allow_hosts", NULL, NONE },
    { ALLOW("localhost:8080"), ALLOW("localhost:8080"), BOUND_NONE, NULL, "localhost:8080", NONE },
    { ALLOW("127.0.0.1:80"), ALLOW("127.0.0.1:80"), BOUND_NONE, NULL, "127.0.0.1:80", NONE },
    { ALLOW("10.0.0.0/8"), ALLOW("10.0.0.0/8,10.1.1.1:1"), BOUND_NONE, NULL, "10.0.0.0/8,10.1.1.1:1", NONE },
    { ALLOW("169.254.169.254:80"), ALLOW("169.254.169.254:80"), BOUND_NONE, NULL, "169.254.169.254:80", NONE },
    { ALLOW("[::1]:80"), ALLOW("[::1]:80"), BOUND_NONE, NULL, "[::1]:80", NONE },
    { ALLOW("fd00::/8"), ALLOW("fd00::1"), BOUND_NONE, NULL, "fd00::1", NONE },
    { ALLOW("10.0.0.0/8"), ALLOW("11.0.0.1"), BOUND_HOSTS, "allow_hosts", NULL, NONE },
    { ALLOW("localhost:8080"), ALLOW("localhost:8081"), BOUND_HOSTS, "allow_hosts", NULL, NONE },
    { ALLOW(""), ALLOW("localhost:8080"), BOUND_NONE, NULL, "localhost:8080", ALLOW("localhost:8080") },
    { ALLOW(""), ALLOW("127.0.0.1:80"), BOUND_NONE, NULL, "127.0.0.1:80", ALLOW("127.0.0.1:80") },
    { ALLOW(""), ALLOW("10.1.0.0/16"), BOUND_NONE, NULL, "10.1.0.0/16", ALLOW("10.0.0.0/8") },
    { ALLOW(""), ALLOW("169.254.169.254:80"), BOUND_NONE, NULL, "169.254.169.254:80", ALLOW("169.254.169.254:80") },
    { ALLOW(""), ALLOW("[::1]:80"), BOUND_NONE, NULL, "[::1]:80", ALLOW("[::1]:80") },
    { ALLOW(""), ALLOW("fd00::/8"), BOUND_NONE, NULL, "fd00::/8", ALLOW("fd00::/8") },
    { ALLOW(""), ALLOW("localhost:8081"), BOUND_ADDRESSES, "allow_hosts", NULL, ALLOW("localhost:8080") },
    { ALLOW(""), ALLOW("a.test,b.test"), BOUND_NONE, NULL, "a.test,!b.test", ALLOW("a.test") },
};

/* A request that says nothing: what the configuration says, as far as the grant has it. */
static const struct {
    struct net grant, config;
    enum network_mode mode;
    const char *rules;
    bool dns;
} silent[] = {
    { NONE, ALLOW("a.test"), NETWORK_NONE, "", false },
    { NONE, FULL_WITH("10.0.0.0/8"), NETWORK_NONE, "", false },
    { NONE, LOCALHOST, NETWORK_NONE, "", false },
    { LOCALHOST, LOCALHOST, NETWORK_LOCALHOST, "", false },
    { LOCALHOST, ALLOW_DNS("a.test"), NETWORK_LOCALHOST, "", false },
    { FULL, NONE, NETWORK_NONE, "", false },
    { FULL, LOCALHOST, NETWORK_LOCALHOST, "", false },
    { FULL, ALLOW_DNS("a.test,10.0.0.0/8"), NETWORK_ALLOW, "a.test,10.0.0.0/8", true },
    { FULL, FULL, NETWORK_FULL, "", false },
    { ALLOW(""), FULL_WITH("10.0.0.0/8"), NETWORK_ALLOW, "10.0.0.0/8", false },
    { ALLOW(""), ALLOW("a.test"), NETWORK_ALLOW, "a.test", false },
    { ALLOW("a.test"), NONE, NETWORK_NONE, "", false },
    { ALLOW("a.test"), ALLOW_DNS("a.test:443,b.test"), NETWORK_ALLOW, "a.test:443", false },
    { ALLOW("a.test"), ALLOW("b.test"), NETWORK_ALLOW, "", false },
    { ALLOW("a.test,b.test"), FULL, NETWORK_ALLOW, "a.test,b.test", false },
    { FULL_WITH("a.test"), FULL, NETWORK_ALLOW, "a.test", false },
    /* What both have, whoever has more beside it. */
    { ALLOW("x.a.test,b.test"), ALLOW("*.a.test"), NETWORK_ALLOW, "x.a.test", false },
    { ALLOW("10.1.0.0/16"), ALLOW("10.0.0.0/8"), NETWORK_ALLOW, "10.1.0.0/16", false },
    { ALLOW("a.test"), ALLOW("a.test"), NETWORK_ALLOW, "a.test", false },
};
/* clang-format on */

static void what_is_asked_of_the_network_is_within_the_grant(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
        const struct asked *row = &asked[i];
        const struct grant grant = make_grant(&row->grant);
        struct config config = make_config(&row->config);
        sbr_request *req = make_request(&row->request);
        struct refusal refusal = { 0 };
        char name[32];
        int r = grant_check(&grant, &config, req, &refusal);

        snprintf(name, sizeof(name), "row %zu", i);
        if (row->bound != BOUND_NONE)
            assert_bound(r, &refusal, row->bound, row->field, name);
        else if (r != 0 || strcmp(text_of(&req->network), row->rules) != 0)
            fail_msg("%s: %s, %s", name, text_of(&req->network), refusal.err.message);
        else
            assert_int_equal(req->network.mode, row->request.mode);
        request_free(req);
        network_done(&config.network);
    }
}

static void the_configurations_network_is_met_with_the_grant(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(silent); i++) {
        const struct grant grant = make_grant(&silent[i].grant);
        struct config config = make_config(&silent[i].config);
        sbr_request *req = make_request(NULL);
        struct refusal refusal = { 0 };

        assert_int_equal(grant_check(&grant, &config, req, &refusal), 0);
        if (req->network.mode != silent[i].mode || req->network.allow_dns != silent[i].dns ||
            strcmp(text_of(&req->network), silent[i].rules) != 0)
            fail_msg("row %zu: %s with %s", i, network_mode_name(req->network.mode),
                     text_of(&req->network));
        assert_true(request_has_network(req));
        request_free(req);
        network_done(&config.network);
    }
}

static const char *const policy_hosts[] = { "db.test", "localhost:5432" };
static const struct policy opens_some = { .name = "opens-some",
                                          .network = NETWORK_ALLOW,
                                          .allow_hosts = policy_hosts,
                                          .n_allow_hosts = 2,
                                          .allow_dns = true },
                           opens_all = { .name = "opens-all", .network = NETWORK_FULL },
                           opens_wrong = { .name = "opens-wrong",
                                           .network = NETWORK_ALLOW,
                                           .allow_hosts = (const char *const[]){ "not a host" },
                                           .n_allow_hosts = 1 };

/* A policy whose file has a network gives it to a grant that has it, too, and to no other. */
static void a_policys_network_widens_no_grant(void **state)
{
    static const struct {
        struct net grant;
        const char *policy;
        enum network_mode mode;
        const char *rules;
    } rows[] = {
        { NONE, "opens-some", NETWORK_NONE, "" },
        { NONE, "opens-all", NETWORK_NONE, "" },
        { LOCALHOST, "opens-some", NETWORK_LOCALHOST, "" },
        { ALLOW("a.test"), "opens-some", NETWORK_ALLOW, "" },
        { ALLOW("a.test,db.test"), "opens-some", NETWORK_ALLOW, "db.test" },
        { ALLOW("a.test"), "opens-all", NETWORK_ALLOW, "a.test" },
        { ALLOW(""), "opens-some", NETWORK_ALLOW, "db.test,localhost:5432" },
        { ALLOW(""), "opens-all", NETWORK_ALLOW, "" },
        { FULL, "opens-all", NETWORK_FULL, "" },
    };

    (void)state;
    for (size_t i = 0; i < 2 * ARRAY_LEN(rows); i++) {
        const struct grant grant = make_grant(&rows[i / 2].grant);
        struct config config = make_config(NULL);
        sbr_request *req = make_request(NULL);
        struct refusal refusal = { 0 };

        if (i % 2) {
            snprintf(config.policy, sizeof(config.policy), "%s", rows[i / 2].policy);
            config.from[CONFIG_POLICY].origin = CONFIG_BY_USER;
        } else {
            assert_int_equal(request_set_text(&req->policy, rows[i / 2].policy, &refusal.err), 0);
        }
        assert_int_equal(grant_check(&grant, &config, req, &refusal), 0);
        if (req->network.mode != rows[i / 2].mode ||
            strcmp(text_of(&req->network), rows[i / 2].rules) != 0)
            fail_msg("row %zu: %s with %s", i / 2, network_mode_name(req->network.mode),
                     text_of(&req->network));
        assert_true(req->network_given);
        assert_int_equal(req->network_asked, req->network.mode);
        request_free(req);
    }
}

static void a_policy_that_is_none_is_an_error(void **state)
{
    static const char *const names[] = { "no-such", "opens-wrong" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const struct grant grant = make_grant(&(struct net)FULL);
        struct config config = make_config(NULL);
        sbr_request *req = make_request(NULL);
        struct refusal refusal = { 0 };

        assert_int_equal(request_set_text(&req->policy, names[i], &refusal.err), 0);
        assert_int_equal(grant_check(&grant, &config, req, &refusal), -1);
        assert_int_equal(refusal.kind, REFUSED_BY_ERROR);
        assert_int_equal(refusal.bound, BOUND_NONE);
        assert_int_not_equal(refusal.err.code, 0);
        request_free(req);
    }
}

static void a_host_of_the_grant_that_is_none_is_an_error(void **state)
{
    const struct grant grant = make_grant(&(struct net)FULL_WITH("not a host"));
    struct config config = make_config(&(struct net)FULL);
    sbr_request *req = make_request(NULL);
    struct refusal refusal = { 0 };

    (void)state;
    assert_int_equal(grant_check(&grant, &config, req, &refusal), -1);
    assert_int_equal(refusal.err.code, SBR_E_INVALID);
    request_free(req);
}

/* A name that begins with one of the token's is another name. */
static void secrets_are_those_that_the_token_names(void **state)
{
    static const struct {
        const char *name;
        bool local, passes;
    } rows[] = { { "KEY", false, true },   { "TOKEN", false, true },  { "OTHER", false, false },
                 { "TOKE", false, false }, { "KEY_2", false, false }, { "OTHER", true, true } };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct grant grant = make_grant(&(struct net){ .mode = NETWORK_NONE });
        struct config config = make_config(NULL);
        sbr_request *req = make_request(NULL);
        struct refusal refusal = { 0 };
        char text[64];
        int r;

        if (rows[i].local)
            grant_init_local(&grant);
        else
            snprintf(grant.secrets, sizeof(grant.secrets), "KEY,TOKEN");
        snprintf(text, sizeof(text), "%s=0123456789abcdef:api.test", rows[i].name);
        assert_int_equal(secrets_add_text(&req->secrets, text, &refusal.err), 0);
        r = grant_check(&grant, &config, req, &refusal);
        if (rows[i].passes)
            assert_int_equal(r, 0);
        else
            assert_bound(r, &refusal, BOUND_HOSTS, "secrets", rows[i].name);
        request_free(req);
    }
}

static void the_local_user_has_what_it_asks_for(void **state)
{
    struct config config = make_config(NULL);
    sbr_request *req = make_request(&(struct net)FULL_WITH("localhost:80,10.0.0.0/8"));
    struct refusal refusal = { 0 };
    struct grant grant;

    (void)state;
    grant_init_local(&grant);
    snprintf(config.policy, sizeof(config.policy), "strict");
    config.from[CONFIG_POLICY].origin = CONFIG_BY_USER;
    assert_int_equal(request_set_text(&req->policy, "default", &refusal.err), 0);
    assert_int_equal(request_set_text(&req->workspace, "w", &refusal.err), 0);
    assert_int_equal(limits_set(&req->limits, SBR_WALL_MS, LIMIT_NONE, &refusal.err), 0);
    assert_int_equal(grant_check(&grant, &config, req, &refusal), 0);
    assert_string_equal(text_of(&req->network), "localhost:80,10.0.0.0/8");
    assert_string_equal(req->workspace, "w");
    assert_int_equal(grant_check_host(&grant, NULL, &req->network.rules[0], &refusal), 0);
    request_free(req);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_limit_passes_at_its_ceiling_and_not_above),
        cmocka_unit_test(a_limit_that_nobody_asked_for_is_lowered),
        cmocka_unit_test(limits_are_lowered_to_ceilings_and_never_raised),
        cmocka_unit_test(what_is_asked_of_the_network_is_within_the_grant),
        cmocka_unit_test(the_configurations_network_is_met_with_the_grant),
        cmocka_unit_test(a_policys_network_widens_no_grant),
        cmocka_unit_test(a_policy_that_is_none_is_an_error),
        cmocka_unit_test(a_host_of_the_grant_that_is_none_is_an_error),
        cmocka_unit_test(secrets_are_those_that_the_token_names),
        cmocka_unit_test(the_local_user_has_what_it_asks_for),
    };

    if (policy_add(&opens_some) < 0 || policy_add(&opens_all) < 0 || policy_add(&opens_wrong) < 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
