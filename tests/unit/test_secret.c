#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/secret.h"
#include "unit.h"

static struct secrets secrets;

static int nothing(void **state)
{
    (void)state;
    secrets_done(&secrets);
    return 0;
}

static const struct secret *add(const char *text)
{
    sbr_error err;

    secrets_done(&secrets);
    if (secrets_add_text(&secrets, text, &err) < 0)
        fail_msg("'%s': %s", text, err.message);
    return &secrets.at[0];
}

static void a_value_may_hold_colons_and_a_host_a_port(void **state)
{
    static const struct {
        const char *text, *value, *host;
    } rows[] = {
        { "KEY=abcdefgh:example.org", "abcdefgh", "example.org:443" },
        { "KEY=abcdefgh:example.org:8443", "abcdefgh", "example.org:8443" },
        { "KEY=abcd:efgh:example.org:8443", "abcd:efgh", "example.org:8443" },
        { "KEY=a=bb:cc@dd/e+f9:*.example.org", "a=bb:cc@dd/e+f9", "*.example.org:443" },
        { "KEY=abcdefgh:[::1]:8443", "abcdefgh", "[::1]:8443" },
        { "KEY=abcdefgh:[2001:db8::1]", "abcdefgh", "[2001:db8::1]:443" },
        { "KEY=abcdefgh:http://example.org", "abcdefgh", "example.org:80" },
        { "KEY=abcdefgh:http://example.org:81", "abcdefgh", "example.org:81" },
        { "KEY=abcdefgh:https://example.org", "abcdefgh", "example.org:443" },
        { "KEY=abcdefgh+query:example.org", "abcdefgh+query", "example.org:443" },
        { "KEY=http://a:b@c.example:1/:example.org", "http://a:b@c.example:1/", "example.org:443" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct secret *one = add(rows[i].text);

        assert_string_equal(one->name, "KEY");
        assert_string_equal(one->value, rows[i].value);
        assert_int_equal(one->n_hosts, 1);
        assert_string_equal(one->hosts[0].text, rows[i].host);
        assert_int_equal(one->plain, strstr(rows[i].text, ":http://e") != NULL);
    }
}

static void hosts_and_places_are_lists(void **state)
{
    const struct secret *one = add("KEY=abcdefgh:a.example:1,b.example,*.c.example:2+query+body");

    (void)state;
    assert_int_equal(one->n_hosts, 3);
    assert_int_equal(one->hosts[0].port, 1);
    assert_int_equal(one->hosts[1].port, 443);
    assert_int_equal(one->hosts[2].kind, HOST_BELOW);
    assert_int_equal(one->places, SECRET_IN_QUERY | SECRET_IN_BODY);
}

static void the_value_comes_from_a_variable_or_a_file(void **state)
{
    char path[] = "/tmp/test_secret.XXXXXX", text[100];
    int fd = mkstemp(path);

    (void)state;
    setenv("TEST_SECRET_KEY", "from the variable", 1);
    assert_string_equal(add("TEST_SECRET_KEY:example.org")->value, "from the variable");
    unsetenv("TEST_SECRET_KEY");
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "from the file\n", 14), 14);
    close(fd);
    snprintf(text, sizeof(text), "KEY=@%s:example.org", path);
    assert_string_equal(add(text)->value, "from the file");
    unlink(path);
}

static void what_cannot_work_is_refused(void **state)
{
    static const struct {
        const char *text, *part;
    } rows[] = {
        { "", "name of a variable" },
        { "1A=abcdefgh:example.org", "name of a variable" },
        { "A-B=abcdefgh:example.org", "neither '=' nor ':'" },
        { "A=abcdefgh", "names no host" },
        { "A=abcdefgh:", "names no host" },
        { "A=abcdefgh:10.0.0.0/8", "single addresses" },
        { "A=abcdefgh:a.example,http://b.example", "names no host" },
        { "A=short:example.org", "fewer than 8" },
        { "A=--------------:example.org", "fewer than 8" },
        { "A=abcdefgh\nX: y:example.org", "control character" },
        { "NO_SUCH_VARIABLE_HERE:example.org", "no variable" },
        { "A=@/nonexistent:example.org", "cannot read" },
    };
    sbr_error err;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int r = secrets_add_text(&secrets, rows[i].text, &err);

        assert_true(r < 0);
        if (!strstr(err.message, rows[i].part))
            fail_msg("'%s' should say '%s'", err.message, rows[i].part);
        if (strstr(err.message, "abcdefgh"))
            fail_msg("'%s' has the value", err.message);
    }
    assert_int_equal(secrets.n, 0);
}

static void a_name_takes_what_the_configuration_says(void **state)
{
    struct string_list known = { 0 };
    sbr_error err;

    (void)state;
    assert_int_equal(string_list_add(&known, "KEYS=other-value:a.example", &err), 0);
    assert_int_equal(string_list_add(&known, "KEY=the-value-1:b.example", &err), 0);
    assert_int_equal(secrets_add_name(&secrets, "KEY", &err), 0);
    assert_refused(secrets_check(&secrets, &err), &err, SBR_E_INVALID, "no secret 'KEY'");
    assert_int_equal(secrets_resolve(&secrets, &known, &err), 0);
    assert_int_equal(secrets_check(&secrets, &err), 0);
    assert_string_equal(secrets.at[0].value, "the-value-1");
    assert_refused(secrets_add_name(&secrets, "KEY=x:y.example", &err), &err, SBR_E_INVALID,
                   "letters, digits");
    assert_refused(secrets_add_name(&secrets, "KEY", &err), &err, SBR_E_INVALID, "twice");
    string_list_done(&known);
}

static int kind(char c)
{
    return isdigit((unsigned char)c)   ? 0
           : islower((unsigned char)c) ? 1
           : isupper((unsigned char)c) ? 2
                                       : c;
}

static void a_placeholder_has_the_shape_of_the_value(void **state)
{
    static const struct {
        const char *value, *kept;
    } rows[] = {
        { "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "ghp_" },
        { "sk-ant-Zk3v9QpL7xWn2TbRyU5o", "sk-ant-" },
        { "AKIAIOSFODNN7EXAMPLE", "AKIA" },
        { "github_pat_11ABCDEFG0abcdefghijkl", "github_pat_" },
        { "550e8400-e29b-41d4-a716-446655440000", "" },
        { "deadbeefdeadbeefdeadbeefdeadbeef", "" },
        { "correct horse battery staple", "" },
    };
    sbr_error err;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[100], first[100];
        const struct secret *one;

        snprintf(text, sizeof(text), "KEY=%s:example.org", rows[i].value);
        one = add(text);
        assert_int_equal(secrets_draw(&secrets, &err), 0);
        snprintf(first, sizeof(first), "%s", one->placeholder);
        assert_string_not_equal(first, rows[i].value);
        assert_int_equal(strlen(first), strlen(rows[i].value));
        assert_memory_equal(first, rows[i].kept, strlen(rows[i].kept));
        for (size_t k = 0; first[k]; k++)
            assert_int_equal(kind(first[k]), kind(rows[i].value[k]));
        assert_int_equal(secrets_draw(&secrets, &err), 0);
        assert_string_not_equal(first, one->placeholder);
    }
    add("KEY=deadbeefdeadbeefdeadbeefdeadbeef:example.org");
    assert_int_equal(secrets_draw(&secrets, &err), 0);
    assert_int_equal(strspn(secrets.at[0].placeholder, "0123456789abcdef"), 32);
}

static void they_cross_to_another_process_whole(void **state)
{
    struct secrets there;
    struct buf_reader in;
    struct buf out;
    sbr_error err;

    (void)state;
    add("KEY=the-value-12:a.example:1,*.b.example+body");
    assert_int_equal(secrets_draw(&secrets, &err), 0);
    assert_int_equal(secrets_set_proxy(&secrets, "proxy.example", 3128, "me:secret", &err), 0);
    buf_init(&out, 1 << 20);
    secrets_encode(&secrets, &out);
    in = (struct buf_reader){ .data = out.data, .len = out.len };
    assert_int_equal(secrets_decode(&in, &there, &err), 0);
    assert_string_equal(there.at[0].value, "the-value-12");
    assert_string_equal(there.at[0].placeholder, secrets.at[0].placeholder);
    assert_string_equal(there.at[0].hosts[1].text, "*.b.example:443");
    assert_string_equal(there.proxy.credentials, "me:secret");
    secrets_done(&there);
    for (size_t len = 0; len < out.len; len++) { /* damaged: refused, and nothing is left */
        in = (struct buf_reader){ .data = out.data, .len = len };
        assert_true(secrets_decode(&in, &there, &err) < 0);
    }
    secrets_wipe_values(&secrets);
    assert_null(secrets.at[0].value);
    assert_non_null(secrets.at[0].placeholder);
    buf_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_value_may_hold_colons_and_a_host_a_port, nothing),
        cmocka_unit_test_teardown(hosts_and_places_are_lists, nothing),
        cmocka_unit_test_teardown(the_value_comes_from_a_variable_or_a_file, nothing),
        cmocka_unit_test_teardown(what_cannot_work_is_refused, nothing),
        cmocka_unit_test_teardown(a_name_takes_what_the_configuration_says, nothing),
        cmocka_unit_test_teardown(a_placeholder_has_the_shape_of_the_value, nothing),
        cmocka_unit_test_teardown(they_cross_to_another_process_whole, nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
