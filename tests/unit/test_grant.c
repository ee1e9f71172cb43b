/* What a grant has: scopes, languages, hosts, images, and what tools of an agent get of it. */
#include <stdio.h>
#include <stdlib.h>

#include "admit/grant.h"
#include "model/request.h"
#include "unit.h"

static struct grant grant_with(const char *languages, const char *images, const char *hosts)
{
    struct grant grant;

    grant_init_token(&grant);
    snprintf(grant.languages, sizeof(grant.languages), "%s", languages);
    snprintf(grant.images, sizeof(grant.images), "%s", images);
    snprintf(grant.hosts, sizeof(grant.hosts), "%s", hosts);
    return grant;
}

static void a_tenant_is_a_part_of_a_file_name(void **state)
{
    static const char *const good[] = { "a", "A-b_9", "_", "locals",
                                        "12345678901234567890123456789012" };
    static const char *const bad[] = { "",    "-a",       "a.b",
                                       "a/b", "..",       "local",
                                       "a b", "\xc3\xbc", "123456789012345678901234567890123" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        assert_true(grant_is_tenant(good[i]));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(grant_is_tenant(bad[i]));
}

static void scopes_are_words(void **state)
{
    static const struct {
        const char *text;
        int scopes; /* -1: refused */
    } rows[] = {
        { "", SCOPE_NONE },
        { "run", SCOPE_RUN },
        { "run,files", SCOPE_RUN | SCOPE_FILES },
        { "sessions,metrics,", SCOPE_SESSIONS | SCOPE_METRICS },
        { "all", SCOPE_ALL },
        { ",run", -1 },
        { "runs", -1 },
        { "ru", -1 },
        { "run, files", -1 },
        { "ALL", -1 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        unsigned int scopes = 77;
        int r = grant_parse_scopes(rows[i].text, &scopes);

        if (r != (rows[i].scopes < 0 ? -1 : 0) ||
            scopes != (unsigned int)(rows[i].scopes < 0 ? 77 : rows[i].scopes))
            fail_msg("'%s': %d with %u", rows[i].text, r, scopes);
    }
    assert_string_equal(grant_scope_name(SCOPE_FILES), "files");
    assert_null(grant_scope_name(SCOPE_RUN | SCOPE_FILES));
    assert_null(grant_scope_name(16));
}

static void a_new_token_has_no_network_and_the_local_user_has_all(void **state)
{
    struct grant token, local;

    (void)state;
    grant_init_token(&token);
    grant_init_local(&local);
    assert_int_equal(token.network, NETWORK_NONE);
    assert_false(token.packages || token.local);
    assert_int_equal(token.scopes, SCOPE_NONE);
    assert_int_equal(token.idle_ms, GRANT_IDLE_MS);
    assert_int_equal(token.age_ms, GRANT_AGE_MS);
    assert_true(local.local && local.packages);
    assert_int_equal(local.network, NETWORK_FULL);
    assert_int_equal(local.scopes, SCOPE_ALL);
    assert_string_equal(local.name, GRANT_LOCAL);
    assert_false(grant_is_tenant(local.name));
    for (unsigned int i = 0; i < N_LIMITS; i++)
        assert_true(grant_most(&local, (enum sbr_limit)i) == LIMIT_NONE);
}

static void a_language_has_aliases_and_versions(void **state)
{
    static const struct {
        const char *list, *language;
        bool has;
    } rows[] = {
        { "", "python", true },
        { "", "command", true },
        { "python", "python", true },
        { "python", "py", true },
        { "python", "python3", true },
        { "python", "python@3.11", true },
        { "python", "py@3.11", true },
        { "py", "python", true },
        { "javascript", "js", true },
        { "js", "node@20", true },
        { "python,js", "javascript", true },
        { "bash,python", "python", true },
        { "python", "javascript", false },
        { "python", "command", false },
        { "python", "pytho", false },
        { "python", "", false },
        { "command", "command", true },
        { "command", "python", false },
        { "python,command", "command", true },
        { "cpp", "c", false },
        { "c", "cpp", false },
        { "own-language", "own-language", true },
        { "own-language", "own", false },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct grant grant = grant_with(rows[i].list, "", "");

        if (grant_has_language(&grant, rows[i].language) != rows[i].has)
            fail_msg("'%s' with '%s'", rows[i].list, rows[i].language);
    }
}

static void an_image_is_exactly_that_or_any_tag_of_it(void **state)
{
    static const struct {
        const char *list, *image;
        bool has;
    } rows[] = {
        { "", "debian:12", true },
        { "debian:12", "debian:12", true },
        { "debian:12", "debian:13", false },
        { "debian:12", "debian", false },
        { "debian:12", "debian:12@sha256:00", false },
        { "debian", "debian", true },
        { "debian", "debian:12", false },
        { "debian:*", "debian:12", true },
        { "debian:*", "debian", true },
        { "debian:*", "debian@sha256:00", true },
        { "debian:*", "debian-slim:12", false },
        { "debian:*", "debia", false },
        { "debian:*", "evil/debian:12", false },
        { "debian:*", "debian/evil:12", false },
        /* A registry of that name, at a port. */
        { "debian:*", "debian:5000/evil", false },
        { "debian:*", "debian:5000/evil:12", false },
        { "alpine,debian:*", "debian:12", true },
        { "alpine,debian:*", "busybox", false },
        { "r.test:5000/a:*", "r.test:5000/a:1", true },
        { "r.test:5000/a:*", "r.test:5000/b:1", false },
        { ":*", ":*", true },
        { ":*", "debian:12", false },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct grant grant = grant_with("", rows[i].list, "");

        if (grant_has_image(&grant, rows[i].image) != rows[i].has)
            fail_msg("'%s' with '%s'", rows[i].list, rows[i].image);
    }
}

static void a_host_is_covered_by_a_rule_of_the_list_or_of_the_options(void **state)
{
    static const struct {
        const char *list, *rule;
        bool named;
    } rows[] = {
        { "", "example.org", false },
        { "example.org", "example.org:443", true },
        { "example.org:443", "example.org", false },
        { "a.test,*.example.org", "www.example.org", true },
        { "*.example.org", "example.org", false },
        { "10.0.0.0/8", "10.1.2.3:5432", true },
        { "10.0.0.0/8", "10.0.0.0/7", false },
        { "localhost:80", "localhost:80", true },
        { "localhost:80", "localhost:81", false },
        { "not a host,example.org", "example.org", true },
        { "not a host", "example.org", false },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct grant grant = grant_with("", "", rows[i].list), options = grant_with("", "", "");
        struct network own = { .mode = NETWORK_ALLOW };
        struct host_rule rule;
        sbr_error err;

        assert_int_equal(host_rule_parse(rows[i].rule, &rule, &err), 0);
        if (grant_names_host(&grant, &rule) != rows[i].named)
            fail_msg("'%s' with '%s'", rows[i].list, rows[i].rule);
        options.own = &own;
        assert_false(grant_names_host(&options, &rule));
        assert_int_equal(network_add_rule(&own, &rule, &err), 0);
        assert_true(grant_names_host(&options, &rule));
        network_done(&own);
    }
}

static sbr_request *new_request(void)
{
    sbr_request *req = NULL;
    sbr_error err;

    assert_int_equal(request_new("python", NULL, &req, &err), 0);
    return req;
}

static void tools_have_what_the_operators_options_have(void **state)
{
    sbr_request *base = new_request();
    struct grant tools;
    sbr_error err;

    (void)state;
    assert_int_equal(limits_set(&base->limits, SBR_PIDS, 7, &err), 0);
    assert_int_equal(request_allow_host(base, "example.org", &err), 0);
    grant_of_tools(NULL, base, &tools);
    assert_int_equal(grant_most(&tools, SBR_PIDS), 7);
    assert_int_equal(grant_most(&tools, SBR_WALL_MS), GRANT_TOOL_MS);
    assert_int_equal(grant_most(&tools, SBR_MEMORY_BYTES), 512 << 20);
    assert_true(grant_names_host(&tools, &base->network.rules[0]));
    assert_int_equal(tools.network, NETWORK_ALLOW);
    assert_int_equal(tools.scopes, SCOPE_ALL);
    assert_true(tools.packages);
    assert_false(tools.local);
    base->installs_nothing = true;
    assert_int_equal(limits_set(&base->limits, SBR_WALL_MS, 1234, &err), 0);
    grant_of_tools(NULL, base, &tools);
    assert_int_equal(grant_most(&tools, SBR_WALL_MS), 1234);
    assert_false(tools.packages);
    request_free(base);
}

static void tools_of_a_token_keep_its_ceilings(void **state)
{
    sbr_request *base = new_request();
    struct grant token, tools;
    sbr_error err;

    (void)state;
    grant_init_local(&token);
    token.per_minute = 5;
    assert_int_equal(limits_set(&token.ceilings, SBR_MEMORY_BYTES, 64 << 20, &err), 0);
    assert_int_equal(limits_set(&token.ceilings, SBR_WALL_MS, 999999, &err), 0);
    grant_of_tools(&token, base, &tools);
    assert_int_equal(grant_most(&tools, SBR_MEMORY_BYTES), 64 << 20);
    assert_int_equal(grant_most(&tools, SBR_WALL_MS), 999999);
    assert_int_equal(grant_most(&tools, SBR_PIDS), base->limits.value[SBR_PIDS]);
    assert_int_equal(tools.per_minute, 5);
    assert_false(tools.local);
    assert_null(tools.own);
    request_free(base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tenant_is_a_part_of_a_file_name),
        cmocka_unit_test(scopes_are_words),
        cmocka_unit_test(a_new_token_has_no_network_and_the_local_user_has_all),
        cmocka_unit_test(a_language_has_aliases_and_versions),
        cmocka_unit_test(an_image_is_exactly_that_or_any_tag_of_it),
        cmocka_unit_test(a_host_is_covered_by_a_rule_of_the_list_or_of_the_options),
        cmocka_unit_test(tools_have_what_the_operators_options_have),
        cmocka_unit_test(tools_of_a_token_keep_its_ceilings),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
