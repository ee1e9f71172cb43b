/* What a project's file may say: never more than what holds without it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "config/config.h"
#include "unit.h"

static struct host_rule rule_of(const char *text)
{
    struct host_rule rule;
    sbr_error err;

    assert_int_equal(host_rule_parse(text, &rule, &err), 0);
    return rule;
}

static void a_rule_covers_what_it_opens_and_nothing_else(void **state)
{
    static const struct {
        const char *wide, *narrow;
        bool covers;
    } rows[] = {
        { "a.example", "a.example", true },         { "a.example", "b.example", false },
        { "a.example", "a.example:443", true },     { "a.example:443", "a.example", false },
        { "a.example:443", "a.example:80", false }, { "*.example", "a.example", true },
        { "*.example", "*.b.example", true },       { "*.example", "*.example", true },
        { "*.example", "example", false },          { "*.example", "notexample", false },
        { "a.example", "*.example", false },        { "192.0.2.0/24", "192.0.2.7", true },
        { "192.0.2.0/24", "192.0.2.0/25", true },   { "192.0.2.0/24", "192.0.2.0/23", false },
        { "192.0.2.0/24", "198.51.100.1", false },  { "192.0.2.0/24", "a.example", false },
        { "2001:db8::/32", "2001:db8::1", true },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct host_rule wide = rule_of(rows[i].wide), narrow = rule_of(rows[i].narrow);

        if (config_rule_covers(&wide, &narrow) != rows[i].covers)
            fail_msg("%s and %s", rows[i].wide, rows[i].narrow);
    }
}

/* Takes the text as a trusted file of a project on top of the defaults. */
static int tighten(char *yaml, struct config *ret, sbr_error *err)
{
    struct config_text text = { .path = "/p/.sandbox-run.yaml", .text = yaml, .len = strlen(yaml) };
    struct config_document *document = NULL;
    int r;

    *ret = (struct config){ .require = TIER_CONTAINER, .policy = "default" };
    limits_init(&ret->limits);
    buf_init(&ret->notes, 65536);
    r = config_document_load(&text, CONFIG_OF_PROJECT, &document, err);
    if (r == 0)
        r = config_tighten(ret, &text, document, err);
    config_document_free(document);
    return r;
}

static void stricter_values_are_taken_with_their_line(void **state)
{
    char yaml[] = "limits:\n  timeout: 1s\n  memory: 64m\npolicy: strict\nexclude: ['*.log']\n";
    struct config config;
    sbr_error err;

    (void)state;
    assert_int_equal(tighten(yaml, &config, &err), 0);
    assert_int_equal(config.limits.value[SBR_WALL_MS], 1000);
    assert_int_equal(config.from[SBR_MEMORY_BYTES].origin, CONFIG_BY_PROJECT);
    assert_int_equal(config.from[SBR_MEMORY_BYTES].line, 3);
    assert_string_equal(config.policy, "strict");
    assert_int_equal(config.exclude.n, 1);
    assert_string_equal(config.exclude.items[0], "*.log");
    assert_int_equal(config.notes.len, 0);
    config_done(&config);
}

static void looser_values_are_left_out_with_a_note(void **state)
{
    static const char *const looser[] = {
        "limits:\n  memory: 900g\n",
        "network:\n  mode: full\n",
        "network:\n  allow_hosts: [a.example]\n",
        "require: process\n",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(looser); i++) {
        scoped_free char *yaml = strdup(looser[i]);
        struct config config;
        struct limits usual;
        sbr_error err;

        limits_init(&usual);
        assert_int_equal(tighten(yaml, &config, &err), 0);
        assert_int_equal(config.limits.value[SBR_MEMORY_BYTES], usual.value[SBR_MEMORY_BYTES]);
        assert_int_equal(config.network.mode, NETWORK_NONE);
        assert_int_equal(config.network.n_rules, 0);
        assert_int_equal(config.require, TIER_CONTAINER);
        assert_non_null(strstr(config.notes.data, "is not taken"));
        config_done(&config);
    }
}

static void keys_of_the_users_own_file_are_refused(void **state)
{
    static const char *const own[] = {
        "audit: true\n",
        "retention:\n  cache_age: 1d\n",
        "include: ['.env']\n",
        "languages:\n  - {name: python, binary: /x}\n",
        "policy: ./mine.yaml\n",
        "exclude: ['!x']\n",
        "compile_limits:\n  memory: 1g\n",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(own); i++) {
        scoped_free char *yaml = strdup(own[i]);
        struct config config;
        sbr_error err;

        assert_int_equal(tighten(yaml, &config, &err), SBR_E_INVALID);
        assert_non_null(strstr(err.message, "/p/.sandbox-run.yaml:1"));
        config_done(&config);
    }
}

/* As the options --compile-limit and --allow-degraded do. */
static void fields_of_a_request_win_over_the_file(void **state)
{
    static const char json[] =
        "{\"allow_degraded\": true, \"compile_limits\": {\"memory\": \"64m\"}}";
    struct config config = { .require = TIER_REDUCED, .backend = "native" };
    sbr_request *req = NULL;
    sbr_error err;

    (void)state;
    limits_init(&config.limits);
    limits_init(&config.compile_limits);
    assert_int_equal(limits_set(&config.compile_limits, SBR_MEMORY_BYTES, 32 << 20, &err), 0);
    assert_int_equal(limits_set(&config.compile_limits, SBR_PIDS, 7, &err), 0);
    config.from[CONFIG_COMPILE + SBR_MEMORY_BYTES].origin = CONFIG_BY_USER;
    config.from[CONFIG_COMPILE + SBR_PIDS].origin = CONFIG_BY_USER;
    config.from[CONFIG_REQUIRE].origin = CONFIG_BY_USER;
    assert_int_equal(request_from_json(json, sizeof(json) - 1, &req, &err), 0);
    assert_int_equal(config_apply(&config, req, &err), 0);
    assert_int_equal(req->require, TIER_PROCESS);
    assert_int_equal(req->compile_limits.value[SBR_MEMORY_BYTES], 64 << 20);
    assert_int_equal(req->compile_limits.value[SBR_PIDS], 7);
    assert_int_equal(req->compile_limits.given, 1u << SBR_MEMORY_BYTES | 1u << SBR_PIDS);
    assert_int_equal(req->limits.given, 0);
    request_free(req);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rule_covers_what_it_opens_and_nothing_else),
        cmocka_unit_test(stricter_values_are_taken_with_their_line),
        cmocka_unit_test(looser_values_are_left_out_with_a_note),
        cmocka_unit_test(keys_of_the_users_own_file_are_refused),
        cmocka_unit_test(fields_of_a_request_win_over_the_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
