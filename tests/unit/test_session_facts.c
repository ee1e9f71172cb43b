/* What a session was given is written and read again, and only who is granted as much may use it. */
#include <stdio.h>
#include <stdlib.h>

#include "admit/session_facts.h"
#include "unit.h"

static const struct config no_config = { .policy = "default" };

static struct grant make_grant(enum network_mode mode, const char *hosts)
{
    struct grant grant;

    grant_init_token(&grant);
    snprintf(grant.name, sizeof(grant.name), "acme");
    snprintf(grant.token_id, sizeof(grant.token_id), "0123456789abcdef");
    snprintf(grant.hosts, sizeof(grant.hosts), "%s", hosts);
    grant.network = mode;
    return grant;
}

static sbr_request *make_request(void)
{
    sbr_request *req = NULL;
    sbr_error err;

    assert_int_equal(request_new("python", NULL, &req, &err), 0);
    return req;
}

/* Of a session that the grant made by this request. */
static struct session_facts facts_of(const struct grant *grant, const sbr_request *req)
{
    json_t *value = session_facts_write(grant, req);
    struct session_facts facts;
    sbr_error err;

    assert_non_null(value);
    if (session_facts_read(value, &facts, &err) < 0)
        fail_msg("%s", err.message);
    json_decref(value);
    return facts;
}

static void what_is_written_is_read_again(void **state)
{
    const struct grant grant = make_grant(NETWORK_ALLOW, "localhost:80");
    sbr_request *req = make_request();
    struct session_facts facts;
    sbr_error err;

    (void)state;
    assert_int_equal(limits_set(&req->limits, SBR_PIDS, 9, &err), 0);
    assert_int_equal(request_set_image(req, "debian:12", &err), 0);
    assert_int_equal(request_allow_host(req, "example.org:443", &err), 0);
    assert_int_equal(request_allow_host(req, "localhost:80", &err), 0);
    request_allow_dns(req, true);
    facts = facts_of(&grant, req);
    assert_string_equal(facts.token_id, "0123456789abcdef");
    assert_string_equal(facts.language, "python");
    assert_string_equal(facts.image, "debian:12");
    assert_memory_equal(facts.limits.value, req->limits.value, sizeof(facts.limits.value));
    assert_int_equal(facts.network.mode, NETWORK_ALLOW);
    assert_true(facts.network.allow_dns);
    assert_int_equal(facts.network.n_rules, 2);
    assert_string_equal(facts.network.rules[0].text, "example.org:443");
    assert_int_equal(facts.granted.n_rules, 1);
    assert_string_equal(facts.granted.rules[0].text, "localhost:80");
    session_facts_done(&facts);
    free(req->language);
    req->language = NULL;
    facts = facts_of(&grant, req);
    assert_string_equal(facts.language, "");
    session_facts_done(&facts);
    request_free(req);
}

static void a_damaged_note_is_an_error(void **state)
{
    const struct grant grant = make_grant(NETWORK_ALLOW, "");
    sbr_request *req = make_request();
    const struct {
        const char *key;
        json_t *value; /* NULL: it is left out */
    } damages[] = {
        { "token", json_integer(1) },
        { "token", json_string("01234567890abcdef") },
        { "language", json_null() },
        { "image", json_true() },
        { "limits", NULL },
        { "limits", json_array() },
        { "limits", json_pack("{s:i}", "wall_ms", 1) },
        { "limits", json_pack("{s:i}", "wall_ms", -1) },
        { "network", NULL },
        { "network", json_string("some") },
        { "network", json_integer(0) },
        { "allow_dns", NULL },
        { "allow_dns", json_integer(0) },
        { "allow_hosts", NULL },
        { "allow_hosts", json_string("a.test") },
        { "allow_hosts", json_pack("[i]", 1) },
        { "allow_hosts", json_pack("[s]", "not a host") },
        { "granted_hosts", NULL },
        { "granted_hosts", json_pack("[s,n]", "a.test") },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(damages); i++) {
        json_t *value = session_facts_write(&grant, req);
        struct session_facts facts;
        sbr_error err = { 0 };

        if (damages[i].value)
            json_object_set_new(value, damages[i].key, damages[i].value);
        else
            json_object_del(value, damages[i].key);
        if (session_facts_read(value, &facts, &err) >= 0)
            fail_msg("row %zu, `%s`", i, damages[i].key);
        assert_refused(err.code, &err, SBR_E_SYSTEM, "damaged");
        assert_null(facts.network.rules);
        json_decref(value);
    }
    request_free(req);
}

/* clang-format off */
/* A token that made the session and another that uses it: networks, with hosts and a configuration. */
static const struct {
    enum network_mode session;
    const char *by, *rule; /* hosts of the token that made it; a rule of the session */
    enum network_mode mode;
    const char *hosts, *config; /* of the token that uses it, and of the operator for all */
    enum bound bound;
} networks[] = {
    { NETWORK_NONE, "", "", NETWORK_NONE, "", "", BOUND_NONE },
    { NETWORK_LOCALHOST, "", "", NETWORK_LOCALHOST, "", "", BOUND_NONE },
    { NETWORK_LOCALHOST, "", "", NETWORK_NONE, "", "", BOUND_NETWORK },
    { NETWORK_ALLOW, "", "a.test", NETWORK_NONE, "", "", BOUND_NETWORK },
    { NETWORK_ALLOW, "", "a.test", NETWORK_ALLOW, "", "", BOUND_NONE },
    { NETWORK_ALLOW, "a.test", "a.test", NETWORK_ALLOW, "", "", BOUND_NONE },
    { NETWORK_ALLOW, "", "a.test", NETWORK_FULL, "", "", BOUND_NONE },
    { NETWORK_FULL, "", "", NETWORK_ALLOW, "", "", BOUND_NETWORK },
    { NETWORK_FULL, "", "", NETWORK_FULL, "", "", BOUND_NONE },
    { NETWORK_FULL, "", "", NETWORK_FULL, "a.test", "", BOUND_NETWORK },
    { NETWORK_ALLOW, "", "a.test", NETWORK_ALLOW, "a.test", "", BOUND_NONE },
    { NETWORK_ALLOW, "", "a.test", NETWORK_ALLOW, "a.test:443", "", BOUND_HOSTS },
    { NETWORK_ALLOW, "", "b.test", NETWORK_ALLOW, "a.test", "", BOUND_HOSTS },
    /* Addresses that the operator opened to the one token are not open to the other. */
    { NETWORK_ALLOW, "localhost:80", "localhost:80", NETWORK_ALLOW, "", "", BOUND_ADDRESSES },
    { NETWORK_ALLOW, "10.0.0.0/8", "10.0.0.5", NETWORK_FULL, "", "", BOUND_ADDRESSES },
    { NETWORK_ALLOW, "localhost:80", "localhost:80", NETWORK_ALLOW, "localhost:80", "", BOUND_NONE },
    { NETWORK_ALLOW, "localhost:80", "localhost:80", NETWORK_ALLOW, "", "localhost:80", BOUND_NONE },
    { NETWORK_ALLOW, "localhost:80", "localhost:80", NETWORK_ALLOW, "a.test", "", BOUND_HOSTS },
    /* What the configuration or a policy opened is open to all. */
    { NETWORK_ALLOW, "", "localhost:80", NETWORK_ALLOW, "", "", BOUND_NONE },
};
/* clang-format on */

static void a_session_is_for_who_has_its_network(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(networks); i++) {
        const struct grant by = make_grant(networks[i].session, networks[i].by);
        const struct grant user = make_grant(networks[i].mode, networks[i].hosts);
        struct config config = { .policy = "default" };
        sbr_request *req = make_request();
        struct refusal refusal = { 0 };
        struct session_facts facts;
        struct host_rule rule;
        int r;

        if (networks[i].rule[0])
            assert_int_equal(request_allow_host(req, networks[i].rule, &refusal.err), 0);
        if (host_rule_parse(networks[i].config, &rule, &refusal.err) == 0)
            assert_int_equal(network_add_rule(&config.network, &rule, &refusal.err), 0);
        req->network.mode = networks[i].session;
        facts = facts_of(&by, req);
        r = admit_cell(&user, &config, &facts, NULL, NULL, &refusal);
        if (r != (networks[i].bound ? -1 : 0) || refusal.bound != networks[i].bound)
            fail_msg("row %zu: %d, bound %d: %s", i, r, (int)refusal.bound, refusal.err.message);
        if (r < 0)
            assert_non_null(strstr(refusal.err.message, "make one of your own"));
        session_facts_done(&facts);
        network_done(&config.network);
        request_free(req);
    }
}

static void names_of_others_are_looked_up_by_none_with_hosts(void **state)
{
    struct grant grant = make_grant(NETWORK_ALLOW, "");
    struct session_facts facts = { .network = { .mode = NETWORK_ALLOW, .allow_dns = true } };
    struct refusal refusal = { 0 };

    (void)state;
    assert_int_equal(admit_cell(&grant, &no_config, &facts, NULL, NULL, &refusal), 0);
    snprintf(grant.hosts, sizeof(grant.hosts), "a.test");
    assert_int_equal(admit_cell(&grant, &no_config, &facts, NULL, NULL, &refusal), -1);
    assert_int_equal(refusal.bound, BOUND_NETWORK);
}

static void a_session_is_for_who_has_its_languages_and_image(void **state)
{
    static const struct {
        const char *languages, *images, *language; /* of a second kernel */
        enum bound bound;
    } rows[] = {
        { "", "", NULL, BOUND_NONE },
        { "", "", "bash", BOUND_NONE },
        { "py", "debian:12", NULL, BOUND_NONE },
        { "python,js", "debian:*", "node", BOUND_NONE },
        { "bash", "", NULL, BOUND_LANGUAGES },
        { "bash", "", "bash", BOUND_LANGUAGES },
        { "python", "", "bash", BOUND_LANGUAGES },
        { "python", "alpine", NULL, BOUND_IMAGES },
    };
    struct session_facts facts = { .language = "python", .image = "debian:12" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct grant grant = make_grant(NETWORK_NONE, ""), local;
        struct refusal refusal = { 0 };
        int r;

        snprintf(grant.languages, sizeof(grant.languages), "%s", rows[i].languages);
        snprintf(grant.images, sizeof(grant.images), "%s", rows[i].images);
        r = admit_cell(&grant, &no_config, &facts, rows[i].language, NULL, &refusal);
        if (r != (rows[i].bound ? -1 : 0) || refusal.bound != rows[i].bound)
            fail_msg("row %zu: %d, bound %d", i, r, (int)refusal.bound);
        grant_init_local(&local);
        assert_int_equal(admit_cell(&local, &no_config, &facts, rows[i].language, NULL, &refusal),
                         0);
    }
}

static void a_session_is_for_who_has_its_limits(void **state)
{
    (void)state;
    for (unsigned int i = 0; i < N_LIMITS; i++) {
        struct grant grant = make_grant(NETWORK_NONE, "");
        struct session_facts facts = { .language = "python" };
        struct refusal refusal = { 0 };

        grant.ceilings.given = 1u << i;
        facts.limits.value[i] = grant.ceilings.value[i] = limit_defs[i].min + 1;
        assert_int_equal(admit_cell(&grant, &no_config, &facts, NULL, NULL, &refusal), 0);
        facts.limits.value[i]++;
        if (i == SBR_WALL_MS) { /* of each cell */
            assert_int_equal(admit_cell(&grant, &no_config, &facts, NULL, NULL, &refusal), 0);
            continue;
        }
        assert_int_equal(admit_cell(&grant, &no_config, &facts, NULL, NULL, &refusal), -1);
        assert_int_equal(refusal.bound, BOUND_LIMITS);
        assert_non_null(strstr(refusal.err.message, limit_defs[i].option));
    }
}

static void the_time_of_a_cell_is_the_grants_at_most(void **state)
{
    static const struct {
        uint64_t ceiling, session, asked, gets; /* ceiling 0: none */
        bool refused;
    } rows[] = {
        { 0, 30000, 0, 0, false },          { 0, 30000, 900000, 900000, false },
        { 5000, 30000, 5000, 5000, false }, { 5000, 30000, 5001, 0, true },
        { 5000, 30000, 0, 5000, false },    { 5000, LIMIT_NONE, 0, 5000, false },
        { 5000, 4000, 0, 0, false },        { 5000, LIMIT_NONE, LIMIT_NONE, 0, true },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct grant grant = make_grant(NETWORK_NONE, "");
        struct session_facts facts = { .language = "python" };
        struct refusal refusal = { 0 };
        uint64_t ms = rows[i].asked;
        int r;

        grant.ceilings.given = rows[i].ceiling ? 1u << SBR_WALL_MS : 0;
        grant.ceilings.value[SBR_WALL_MS] = rows[i].ceiling;
        facts.limits.value[SBR_WALL_MS] = rows[i].session;
        r = admit_cell(&grant, &no_config, &facts, NULL, &ms, &refusal);
        if (r != (rows[i].refused ? -1 : 0) || (r == 0 && ms != rows[i].gets))
            fail_msg("row %zu: %d, %llu ms", i, r, (unsigned long long)ms);
        if (r == 0)
            continue;
        assert_int_equal(refusal.bound, BOUND_CELL_TIME);
        assert_string_equal(refusal.field, "timeout_ms");
    }
}

static void the_life_of_a_session_is_the_grants_at_most(void **state)
{
    static const struct {
        uint64_t idle_most, age_most, idle, age, gets_idle, gets_age; /* most 0: no bound */
        const char *field;                                            /* NULL: it passes */
    } rows[] = {
        { 0, 0, 0, 0, 0, 0, NULL },
        { 0, 0, 99, 99, 99, 99, NULL },
        { 5000, 9000, 5000, 9000, 5000, 9000, NULL },
        { 5000, 9000, 0, 0, 5000, 9000, NULL },
        { 5000, 9000, 5001, 9000, 0, 0, "idle_ms" },
        { 5000, 9000, 5000, 9001, 0, 0, "age_ms" },
        { GRANT_IDLE_MS * 9, GRANT_AGE_MS * 9, 0, 0, GRANT_IDLE_MS, GRANT_AGE_MS, NULL },
        { GRANT_IDLE_MS * 9, 0, GRANT_IDLE_MS * 9, 0, GRANT_IDLE_MS * 9, 0, NULL },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct grant grant = make_grant(NETWORK_NONE, ""), local;
        uint64_t idle = rows[i].idle, age = rows[i].age;
        struct refusal refusal = { 0 };
        int r;

        grant.idle_ms = rows[i].idle_most;
        grant.age_ms = rows[i].age_most;
        grant_init_local(&local);
        assert_int_equal(admit_life(&local, &idle, &age, &refusal), 0);
        assert_int_equal(idle, rows[i].idle);
        r = admit_life(&grant, &idle, &age, &refusal);
        assert_int_equal(r, rows[i].field ? -1 : 0);
        if (r == 0) {
            assert_int_equal(idle, rows[i].gets_idle);
            assert_int_equal(age, rows[i].gets_age);
            continue;
        }
        assert_int_equal(refusal.bound, BOUND_LIFE);
        assert_string_equal(refusal.field, rows[i].field);
        assert_int_equal(refusal.kind, REFUSED_FORBIDDEN);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_again),
        cmocka_unit_test(a_damaged_note_is_an_error),
        cmocka_unit_test(a_session_is_for_who_has_its_network),
        cmocka_unit_test(names_of_others_are_looked_up_by_none_with_hosts),
        cmocka_unit_test(a_session_is_for_who_has_its_languages_and_image),
        cmocka_unit_test(a_session_is_for_who_has_its_limits),
        cmocka_unit_test(the_time_of_a_cell_is_the_grants_at_most),
        cmocka_unit_test(the_life_of_a_session_is_the_grants_at_most),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
