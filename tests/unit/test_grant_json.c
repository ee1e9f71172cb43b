/* The file of a token: what is written is read again, and what was damaged gives nothing. */
#include <stdio.h>
#include <stdlib.h>

#include "admit/grant_json.h"
#include "unit.h"

static int read_text(const char *text, struct grant *ret, sbr_error *err)
{
    json_t *value = json_loads(text, JSON_ALLOW_NUL, NULL);
    int r;

    assert_non_null(value);
    r = grant_from_json(value, ret, err);
    json_decref(value);
    return r;
}

static void what_is_written_is_read_again(void **state)
{
    struct grant grant, back;
    sbr_error err;
    json_t *value;

    (void)state;
    grant_init_token(&grant);
    snprintf(grant.name, sizeof(grant.name), "acme");
    snprintf(grant.token_id, sizeof(grant.token_id), "0123456789abcdef");
    snprintf(grant.hosts, sizeof(grant.hosts), "example.org,*.example.net:443");
    snprintf(grant.languages, sizeof(grant.languages), "python,js");
    snprintf(grant.images, sizeof(grant.images), "debian:*");
    grant.scopes = SCOPE_RUN | SCOPE_METRICS;
    grant.network = NETWORK_ALLOW;
    grant.concurrency = 1;
    grant.per_minute = 2;
    grant.sessions = 3;
    grant.workspaces = 4;
    grant.workspace_bytes = (uint64_t)5 << 32;
    grant.idle_ms = 6;
    grant.age_ms = 7;
    grant.packages = true;
    assert_int_equal(limits_set(&grant.ceilings, SBR_MEMORY_BYTES, 64 << 20, &err), 0);
    assert_int_equal(limits_set(&grant.ceilings, SBR_WALL_MS, 1500, &err), 0);
    value = grant_to_json(&grant);
    assert_non_null(value);
    assert_int_equal(grant_from_json(value, &back, &err), 0);
    json_decref(value);
    assert_memory_equal(&back, &grant, sizeof(grant));
}

/* Files of before there were bounds on sessions, workspaces, images and packages. */
static void an_old_file_has_what_a_new_token_has(void **state)
{
    static const struct {
        const char *text;
        bool packages;
    } rows[] = {
        { "{\"tenant\":\"a\",\"network\":\"none\"}", false },
        { "{\"tenant\":\"a\",\"network\":\"localhost\"}", false },
        { "{\"tenant\":\"a\",\"network\":\"allow\"}", true },
        { "{\"tenant\":\"a\",\"network\":\"full\",\"allow_hosts\":\"\"}", true },
        { "{\"tenant\":\"a\",\"network\":\"allow\",\"allow_hosts\":\"a.test\"}", false },
        { "{\"tenant\":\"a\",\"network\":\"full\",\"packages\":false}", false },
        { "{\"tenant\":\"a\",\"network\":\"none\",\"packages\":true}", true },
    };
    struct grant grant;
    sbr_error err;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(read_text(rows[i].text, &grant, &err), 0);
        assert_int_equal(grant.packages, rows[i].packages);
        assert_int_equal(grant.idle_ms, GRANT_IDLE_MS);
        assert_int_equal(grant.age_ms, GRANT_AGE_MS);
        assert_int_equal(grant.workspaces, GRANT_WORKSPACES);
        assert_int_equal(grant.workspace_bytes, GRANT_WORKSPACE_BYTES);
        assert_int_equal(grant.concurrency, 0);
        assert_int_equal(grant.scopes, SCOPE_NONE);
        assert_int_equal(grant.ceilings.given, 0);
        assert_string_equal(grant.images, "");
        assert_false(grant.local);
    }
}

/* A whole file, but for this one value; NULL: it is left out. */
static void assert_damaged(const char *key, json_t *value)
{
    json_t *file = json_pack("{s:s, s:s, s:s, s:s, s:[s]}", "tenant", "acme", "id",
                             "0123456789abcdef", "hash", "00", "network", "none", "scopes", "run");
    struct grant grant;
    sbr_error err;

    assert_int_equal(grant_from_json(file, &grant, &err), 0);
    if (value)
        json_object_set_new(file, key, value);
    else
        json_object_del(file, key);
    if (grant_from_json(file, &grant, &err) >= 0)
        fail_msg("damage of `%s` is not seen", key);
    assert_refused(err.code, &err, SBR_E_DENIED, "damaged");
    assert_string_equal(grant.name, "");
    assert_string_equal(grant.token_id, "");
    assert_int_equal(grant.scopes, SCOPE_NONE);
    json_decref(file);
}

static json_t *text_of(size_t len)
{
    char text[1024] = "";

    memset(text, 'a', len);
    return json_string(text);
}

static void a_text_of_the_wrong_length_or_type_is_damage(void **state)
{
    static const struct {
        const char *key;
        size_t size;
    } rows[] = { { "tenant", GRANT_TENANT_SIZE },
                 { "id", GRANT_TOKEN_SIZE },
                 { "allow_hosts", GRANT_HOSTS_SIZE },
                 { "languages", GRANT_LIST_SIZE },
                 { "images", GRANT_LIST_SIZE } };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        json_t *file = json_pack("{s:s, s:s, s:o}", "tenant", "a", "network", "none", rows[i].key,
                                 text_of(rows[i].size - 1));
        struct grant grant;
        sbr_error err;

        assert_int_equal(grant_from_json(file, &grant, &err), 0);
        json_decref(file);
        assert_damaged(rows[i].key, text_of(rows[i].size));
        assert_damaged(rows[i].key, json_integer(1));
        assert_damaged(rows[i].key, json_null());
        assert_damaged(rows[i].key, json_pack("[s]", "a"));
        assert_damaged(rows[i].key, json_stringn("a\0b", 3));
    }
    assert_damaged("tenant", NULL);
    assert_damaged("tenant", json_string(""));
    assert_damaged("tenant", json_string("../a"));
    assert_damaged("tenant", json_string(GRANT_LOCAL));
}

static void a_number_out_of_range_is_damage(void **state)
{
    static const struct {
        const char *key;
        bool is_count;
    } rows[] = { { "concurrency", true },     { "per_minute", true }, { "sessions", true },
                 { "workspaces", true },      { "idle_ms", false },   { "age_ms", false },
                 { "workspace_bytes", false } };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_damaged(rows[i].key, json_integer(-1));
        assert_damaged(rows[i].key, json_integer(INT64_MIN));
        assert_damaged(rows[i].key, json_string("1"));
        assert_damaged(rows[i].key, json_real(1.5));
        assert_damaged(rows[i].key, json_null());
        assert_damaged(rows[i].key, json_true());
        if (rows[i].is_count) {
            assert_damaged(rows[i].key, json_integer((1 << 30) + 1));
            assert_damaged(rows[i].key, json_integer((json_int_t)1 << 32));
        }
    }
}

static void other_values_of_the_wrong_kind_are_damage(void **state)
{
    (void)state;
    assert_damaged("network", NULL);
    assert_damaged("network", json_string("all"));
    assert_damaged("network", json_integer(3));
    assert_damaged("limits", json_array());
    assert_damaged("limits", json_string("memory=1m"));
    assert_damaged("limits", json_null());
    assert_damaged("limits", json_pack("{s:i}", "memory", 67108864));
    assert_damaged("limits", json_pack("{s:s}", "memory", "much"));
    assert_damaged("limits", json_pack("{s:s}", "memory", "-1"));
    assert_damaged("limits", json_pack("{s:s}", "patience", "1s"));
    assert_damaged("packages", json_string("yes"));
    assert_damaged("packages", json_integer(1));
    assert_damaged("scopes", json_string("all"));
    assert_damaged("scopes", json_integer(15));
    assert_damaged("scopes", json_pack("[i]", 15));
    assert_damaged("scopes", json_pack("[s]", "root"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_again),
        cmocka_unit_test(an_old_file_has_what_a_new_token_has),
        cmocka_unit_test(a_text_of_the_wrong_length_or_type_is_damage),
        cmocka_unit_test(a_number_out_of_range_is_damage),
        cmocka_unit_test(other_values_of_the_wrong_kind_are_damage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
