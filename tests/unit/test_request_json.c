#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "model/request.h"
#include "unit.h"

static sbr_request *read_good(const char *json)
{
    sbr_request *req = NULL;
    sbr_error err;

    if (request_from_json(json, strlen(json), &req, &err) != 0)
        fail_msg("%s: %s", json, err.message);
    return req;
}

static void assert_bad(const char *json, const char *part)
{
    sbr_request *req = NULL;
    sbr_error err;
    int r = request_from_json(json, strlen(json), &req, &err);

    if (r == 0)
        fail_msg("%s should be refused", json);
    assert_refused(r, &err, SBR_E_INVALID, part);
    assert_null(req);
}

static void an_empty_object_is_a_request_with_presets(void **state)
{
    sbr_request *req = read_good("{}");

    (void)state;
    assert_null(req->language);
    assert_null(req->code);
    assert_int_equal(req->require, TIER_CONTAINER);
    assert_int_equal(req->limits.given, 0);
    request_free(req);
}

static void every_field_is_read(void **state)
{
    sbr_request *req =
        read_good("{\"language\": \"python\", \"policy\": \"strict\", \"workdir\": \"/work/sub\","
                  " \"code\": \"print(1)\\u0000\", \"stdin\": \"in\\n\", \"args\": [\"-v\", \"\"],"
                  " \"env\": {\"A\": \"1\", \"B\": \"=\"}, \"volumes\": [\"/srv:/data\"],"
                  " \"files\": [{\"path\": \"a\", \"content\": \"x\"},"
                  "             {\"path\": \"b\", \"content\": \"AP8=\", \"encoding\": \"base64\"},"
                  "             {\"path\": \"c\", \"content\": \"\", \"encoding\": \"utf-8\"}],"
                  " \"limits\": {\"wall_ms\": 1500, \"memory\": \"64m\", \"cpus\": 1.5},"
                  " \"require\": \"reduced\"}");

    (void)state;
    assert_string_equal(req->language, "python");
    assert_string_equal(req->policy, "strict");
    assert_string_equal(req->workdir, "/work/sub");
    assert_int_equal(req->code_len, 9);
    assert_memory_equal(req->code, "print(1)\0", 9);
    assert_string_equal(req->stdin_data, "in\n");
    assert_int_equal(req->args.n, 2);
    assert_string_equal(req->args.items[0], "-v");
    assert_int_equal(req->env.n, 2);
    assert_string_equal(req->env.items[1], "B==");
    assert_string_equal(req->volumes[0].target, "/data");
    assert_int_equal(req->n_files, 3);
    assert_int_equal(req->files[1].len, 2);
    assert_memory_equal(req->files[1].data, "\0\xff", 2);
    assert_true(req->limits.value[SBR_WALL_MS] == 1500);
    assert_true(req->limits.value[SBR_MEMORY_BYTES] == 64 * MIB);
    assert_true(req->limits.value[SBR_CPU_MILLIS] == 1500);
    assert_int_equal(req->require, TIER_REDUCED);
    request_free(req);
}

static void a_network_is_a_mode_and_hosts(void **state)
{
    sbr_request *req = read_good("{\"allow_hosts\": [\"A.example:80\", \"192.0.2.0/24\"],"
                                 " \"allow_dns\": true, \"network\": \"full\"}");

    (void)state;
    assert_true(req->network_given && req->network.allow_dns);
    assert_int_equal(req->network.mode, NETWORK_FULL);
    assert_int_equal(req->network.n_rules, 2);
    assert_string_equal(req->network.rules[0].name, "a.example");
    assert_int_equal(req->network.rules[0].port, 80);
    assert_string_equal(req->network.rules[1].text, "192.0.2.0/24");
    request_free(req);
}

static void trees_and_results_are_named(void **state)
{
    sbr_request *req = read_good("{\"project\": \"/srv/app/\", \"program\": \"bin/x.py\","
                                 " \"diff\": true, \"keep\": true, \"volumes\": [\"/a:/b:cow\"],"
                                 " \"outputs\": [\"*.png\", \"report/**:/srv/out\"]}");

    (void)state;
    assert_string_equal(req->project, "/srv/app");
    assert_string_equal(req->program, "bin/x.py");
    assert_true(req->diff && req->keep);
    assert_int_equal(req->volumes[0].mode, VOLUME_COW);
    assert_int_equal(req->outputs.n, 2);
    assert_null(req->outputs.items[0].dir);
    assert_string_equal(req->outputs.items[1].dir, "/srv/out");
    request_free(req);
    req = read_good("{\"tty\": {\"rows\": 30, \"columns\": 100}}");
    assert_int_equal(req->tty.rows, 30);
    assert_int_equal(req->tty.columns, 100);
    assert_int_equal(req->tty.streams, REQUEST_TTY_ALL);
    request_free(req);
    req = read_good("{\"workspace\": \"build\", \"diff\": false}");
    assert_string_equal(req->workspace, "build");
    assert_false(req->diff || req->keep);
    request_free(req);
}

static void degraded_isolation_is_asked_for_in_so_many_words(void **state)
{
    sbr_request *req = read_good("{\"allow_degraded\": true}");

    (void)state;
    assert_int_equal(req->require, TIER_PROCESS);
    request_free(req);
    req = read_good("{\"allow_degraded\": false}");
    assert_int_equal(req->require, TIER_CONTAINER);
    request_free(req);
}

static void what_is_not_json_is_refused_with_its_place(void **state)
{
    static const char *const bad[] = { "",
                                       " ",
                                       "{",
                                       "}",
                                       "{}x",
                                       "{'a': 1}",
                                       "{\"code\": }",
                                       "{\"code\": \"a\", \"code\": \"b\"}",
                                       "{\"code\": \"\xff\"}",
                                       "{\"code\": \"\\ud800\"}",
                                       "nul",
                                       "[1,",
                                       "\"" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_bad(bad[i], "is not valid JSON: line ");
    assert_bad("{\"limits\": {\"pids\": 99999999999999999999}}", "is not valid JSON");
    assert_bad("{\"limits\": {\"pids\": NaN}}", "is not valid JSON");
    assert_bad("{\"limits\": {\"pids\": 1e999}}", "is not valid JSON");
    assert_bad("{\"limits\": {\"pids\": 1, \"pids\": 100}}", "is not valid JSON");
}

static void json_that_is_no_object_is_no_request(void **state)
{
    (void)state;
    assert_bad("[]", "is not a JSON object");
    assert_bad("[{}]", "is not a JSON object");
}

static void deep_json_is_refused_without_harm(void **state)
{
    size_t depth = 100000;
    char *json = malloc(depth + 1);

    (void)state;
    assert_non_null(json);
    memset(json, '[', depth);
    json[depth] = '\0';
    assert_bad(json, "is nested more than 32 levels deep");
    free(json);
}

static void an_unknown_field_is_refused(void **state)
{
    (void)state;
    assert_bad("{\"lang\": \"python\"}", "unknown field 'lang'");
    assert_bad("{\"Code\": \"\"}", "unknown field 'Code'");
    assert_bad("{\"\": 1}", "unknown field ''");
}

static void an_unknown_field_of_a_file_is_refused(void **state)
{
    (void)state;
    assert_bad("{\"files\": [{\"path\": \"a\", \"content\": \"AA==\", \"encodng\": \"base64\"}]}",
               "encodng");
}

static void an_encoding_that_is_no_text_is_refused(void **state)
{
    (void)state;
    assert_bad("{\"files\": [{\"path\": \"a\", \"content\": \"AA==\", \"encoding\": 64}]}", "'");
}

static void every_field_has_one_type(void **state)
{
    static const struct {
        const char *json, *part;
    } rows[] = {
        { "{\"language\": 1}", "'language' must be a string" },
        { "{\"language\": null}", "'language' must be a string" },
        { "{\"language\": \"a\\u0000b\"}", "'language' must be a string" },
        { "{\"policy\": []}", "'policy' must be a string" },
        { "{\"workdir\": {}}", "'workdir' must be a string" },
        { "{\"code\": 1}", "'code' must be a string" },
        { "{\"stdin\": true}", "'stdin' must be a string" },
        { "{\"args\": \"x\"}", "'args' must be an array" },
        { "{\"args\": [1]}", "'args' must be an array" },
        { "{\"args\": [\"a\\u0000\"]}", "without NUL" },
        { "{\"env\": [\"A=1\"]}", "'env' must be an object" },
        { "{\"env\": {\"A\": 1}}", "'env' must be an object" },
        { "{\"env\": {\"A=B\": \"1\"}}", "without '=' in the names" },
        { "{\"env\": {\"\": \"1\"}}", "is not NAME=VALUE" },
        { "{\"env\": {\"A B\": \"1\"}}", "blank or control" },
        { "{\"files\": {}}", "'files' must be an array" },
        { "{\"files\": [\"a\"]}", "'files' must be an array" },
        { "{\"files\": [{\"path\": \"a\"}]}", "'files' must be an array" },
        { "{\"files\": [{\"content\": \"a\"}]}", "'files' must be an array" },
        { "{\"files\": [{\"path\": 1, \"content\": \"a\"}]}", "'files' must be an array" },
        { "{\"files\": [{\"path\": \"../a\", \"content\": \"\"}]}", "is not usable" },
        { "{\"volumes\": \"/a:/b\"}", "'volumes' must be an array" },
        { "{\"volumes\": [1]}", "'volumes' must be an array" },
        { "{\"volumes\": [\"/a:/proc\"]}", "/proc" },
        { "{\"volumes\": [\"/a:/b:rx\"]}", "no mode 'rx'" },
        { "{\"project\": 1}", "'project' must be a string" },
        { "{\"project\": \"src\"}", "is not an absolute path" },
        { "{\"program\": []}", "'program' must be a string" },
        { "{\"program\": \"/a\"}", "is not usable" },
        { "{\"tty\": 24}", "'tty' must be an object" },
        { "{\"tty\": {\"rows\": 1}}", "'tty' must be an object" },
        { "{\"tty\": {\"rows\": \"1\", \"columns\": 1}}", "'tty' must be an object" },
        { "{\"tty\": {\"rows\": 1, \"columns\": 1, \"depth\": 1}}", "'tty' must be an object" },
        { "{\"tty\": {\"rows\": 0, \"columns\": 1}}", "1 to 4096 rows" },
        { "{\"tty\": {\"rows\": 1, \"columns\": -1}}", "1 to 4096 columns" },
        { "{\"tty\": {\"rows\": 4097, \"columns\": 1}}", "1 to 4096 rows" },
        { "{\"workspace\": null}", "'workspace' must be a string" },
        { "{\"workspace\": \"a/b\"}", "has no usable name" },
        { "{\"outputs\": \"*.png\"}", "'outputs' must be an array" },
        { "{\"outputs\": [1]}", "'outputs' must be an array" },
        { "{\"outputs\": [\"*.png:out\"]}", "out" },
        { "{\"diff\": 1}", "'diff' must be true or false" },
        { "{\"keep\": \"yes\"}", "'keep' must be true or false" },
        { "{\"limits\": []}", "'limits' must be an object" },
        { "{\"limits\": {\"pids\": null}}", "'pids' must be a number" },
        { "{\"limits\": {\"pids\": true}}", "'pids' must be a number" },
        { "{\"limits\": {\"speed\": 1}}", "there is no limit 'speed'" },
        { "{\"require\": 1}", "'require' must be a string" },
        { "{\"require\": \"vm\"}", "there is no isolation tier" },
        { "{\"network\": 1}", "'network' must be a string" },
        { "{\"network\": \"host\"}", "'host'" },
        { "{\"allow_hosts\": \"a.example\"}", "'allow_hosts' must be an array" },
        { "{\"allow_hosts\": [\"a.example\", 1]}", "allow_hosts[1] must be a string" },
        { "{\"allow_hosts\": [\"a@b\"]}", "allow_hosts[0]: " },
        { "{\"allow_dns\": 1}", "'allow_dns' must be true or false" },
        { "{\"timeout\": 5}", "unknown field 'timeout'" },
        { "{\"allow_host\": [\"a.example\"]}", "unknown field 'allow_host'" },
        { "{\"code\": [\"echo\"]}", "'code' must be a string" },
        { "{\"stdin\": 5}", "'stdin' must be a string" },
        { "{\"workdir\": 1}", "'workdir' must be a string" },
        { "{\"volumes\": [\"/tmp\"]}", "the volume '/tmp'" },
        { "{\"volumes\": [\"relative:/data\"]}", "not an absolute path" },
        { "{\"files\": [{\"path\": \"/a/../b\", \"content\": \"\"}]}", "'/a/../b'" },
        { "{\"files\": [{\"path\": \"a/./b\", \"content\": \"\"}]}", "'a/./b'" },
        { "{\"files\": [{\"path\": \"a//b\", \"content\": \"\"}]}", "'a//b'" },
        { "{\"files\": [{\"path\": \"\", \"content\": \"\"}]}", "file name" },
        { "{\"files\": [{\"path\": \"a\", \"content\": \"\"}, {\"path\": \"a\", \"content\": "
          "\"\"}]}",
          "'a'" },
        { "{\"files\": [{\"path\": \"a\", \"content\": \"\"}, {\"path\": \"a/b\", \"content\": "
          "\"\"}]}",
          "a/b" },
        { "{\"limits\": {\"memroy\": \"1m\"}}", "memroy" },
        { "{\"limits\": {\"memory\": \"1x\"}}", "memory '1x'" },
        { "{\"limits\": {\"memory\": -5}}", "memory '-5'" },
        { "{\"limits\": {\"memory_bytes\": 1}}",
          "memory_bytes 1 is too small; give a value from 4194304 to 70368744177664" },
        { "{\"limits\": {\"connections\": -1}}", "connections" },
        { "{\"limits\": {\"connections\": \"5\"}}", "connections" },
        { "{\"limits\": {\"max-connections\": 1000001}}", "max-connections '" },
        { "{\"limits\": {\"network_in_bytes\": 0.5}}", "network_in_bytes" },
        { "{\"limits\": {\"max-network-out\": \"1025t\"}}", "max-network-out '" },
        { "{\"network\": null}", "'network'" },
        { "{\"network\": [\"allow\"]}", "'network'" },
        { "{\"network\": \"al\\u0000low\"}", "'network'" },
        { "{\"network\": \"\"}", "none, localhost, allow or full" },
        { "{\"allow_hosts\": {\"a.example\": 80}}", "'allow_hosts'" },
        { "{\"allow_hosts\": [\"a.example\\u0000.b\"]}", "allow_hosts[0]" },
        { "{\"allow_hosts\": [\"a.example\", \"a.example\", null]}", "allow_hosts[2]" },
        { "{\"allow_dns\": \"yes\"}", "'allow_dns' must be true or false" },
        { "{\"allow_degraded\": 1}", "'allow_degraded' must be true or false" },
        { "{\"allow_degraded\": \"true\"}", "'allow_degraded' must be true or false" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_bad(rows[i].json, rows[i].part);
}

static void content_in_base64_must_be_base64(void **state)
{
    static const char *const bad[] = { "A",           "A===", "AP8",  "A P8", "AA==AA==",
                                       "AP8=\\u0000", "YQ=",  "####", "Y=Q=" };
    char json[200];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        snprintf(json, sizeof(json),
                 "{\"files\": [{\"path\": \"a\", \"content\": \"%s\", \"encoding\": \"base64\"}]}",
                 bad[i]);
        assert_bad(json, "is not base64");
    }
    assert_bad("{\"files\": [{\"path\": \"a\", \"content\": \"\", \"encoding\": \"latin1\"}]}",
               "use utf-8 or base64");
}

static void assert_limit(const char *json, enum sbr_limit which, uint64_t value)
{
    char text[200];
    sbr_request *req;

    snprintf(text, sizeof(text), "{\"limits\": {%s}}", json);
    req = read_good(text);
    if (req->limits.value[which] != value)
        fail_msg("%s became %llu", json, (unsigned long long)req->limits.value[which]);
    assert_int_equal(req->limits.given, 1u << which);
    request_free(req);
}

static void a_limit_is_a_number_in_its_unit_or_what_its_option_takes(void **state)
{
    (void)state;
    assert_limit("\"wall_ms\": 250", SBR_WALL_MS, 250);
    assert_limit("\"timeout\": 5", SBR_WALL_MS, 5000);
    assert_limit("\"timeout\": 0.5", SBR_WALL_MS, 500);
    assert_limit("\"timeout\": \"2m\"", SBR_WALL_MS, 120000);
    assert_limit("\"memory_bytes\": 8388608", SBR_MEMORY_BYTES, 8 * MIB);
    assert_limit("\"memory\": \"8m\"", SBR_MEMORY_BYTES, 8 * MIB);
    assert_limit("\"cpus\": 2", SBR_CPU_MILLIS, 2000);
    assert_limit("\"cpus\": 0.25", SBR_CPU_MILLIS, 250);
    assert_limit("\"pids\": 10", SBR_PIDS, 10);
    assert_limit("\"pids\": 10.0", SBR_PIDS, 10);
    assert_limit("\"max-output\": \"1k\"", SBR_OUTPUT_BYTES, KIB);
    assert_limit("\"grace_ms\": 0", SBR_GRACE_MS, 0);
}

/* Some serialisers write every number with a point. */
static void a_number_with_a_point_is_in_the_same_unit_as_one_without(void **state)
{
    (void)state;
    assert_limit("\"wall_ms\": 250.0", SBR_WALL_MS, 250);
    assert_limit("\"memory_bytes\": 8388608.0", SBR_MEMORY_BYTES, 8 * MIB);
    assert_limit("\"cpu_ms\": 1e3", SBR_CPU_MS, 1000);
}

static void a_limit_out_of_range_is_refused(void **state)
{
    (void)state;
    assert_bad("{\"limits\": {\"pids\": 0}}", "is too small");
    assert_bad("{\"limits\": {\"pids\": -1}}", "is negative");
    assert_bad("{\"limits\": {\"pids\": 1.5}}", "too many digits");
    assert_bad("{\"limits\": {\"pids\": 1e300}}", "pids '");
    assert_bad("{\"limits\": {\"wall_ms\": -5}}", "not negative");
    assert_bad("{\"limits\": {\"wall_ms\": 1.5}}", "a whole number");
    assert_bad("{\"limits\": {\"wall_ms\": \"250ms\"}}", "a whole number");
    assert_bad("{\"limits\": {\"wall_ms\": 9223372036854775807}}", "is too large");
    assert_bad("{\"limits\": {\"memory\": \"1q\"}}", "unknown unit");
    assert_bad("{\"limits\": {\"memory\": \"\"}}", "is empty");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_object_is_a_request_with_presets),
        cmocka_unit_test(every_field_is_read),
        cmocka_unit_test(a_network_is_a_mode_and_hosts),
        cmocka_unit_test(degraded_isolation_is_asked_for_in_so_many_words),
        cmocka_unit_test(trees_and_results_are_named),
        cmocka_unit_test(what_is_not_json_is_refused_with_its_place),
        cmocka_unit_test(json_that_is_no_object_is_no_request),
        cmocka_unit_test(deep_json_is_refused_without_harm),
        cmocka_unit_test(an_unknown_field_is_refused),
        cmocka_unit_test(an_unknown_field_of_a_file_is_refused),
        cmocka_unit_test(an_encoding_that_is_no_text_is_refused),
        cmocka_unit_test(every_field_has_one_type),
        cmocka_unit_test(content_in_base64_must_be_base64),
        cmocka_unit_test(a_limit_is_a_number_in_its_unit_or_what_its_option_takes),
        cmocka_unit_test(a_number_with_a_point_is_in_the_same_unit_as_one_without),
        cmocka_unit_test(a_limit_out_of_range_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
