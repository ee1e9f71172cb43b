#include <stdio.h>
#include <stdlib.h>

#include "base/json_read.h"
#include "model/executes.h"
#include "unit.h"

static json_t *parsed(const char *text)
{
    json_t *value = json_read_own(text, 0);

    assert_non_null(value);
    return value;
}

static void assert_request(const char *body, const struct execute_most *most, const char *request)
{
    json_t *asked = parsed(body), *expected = parsed(request), *made;
    sbr_error err = { 0 };

    made = execute_request(asked, most, &err);
    if (!made)
        fail_msg("%s: %s", body, err.message);
    if (!json_equal(made, expected))
        fail_msg("%s became %s", body, json_dumps(made, JSON_SORT_KEYS));
    json_decref(asked);
    json_decref(expected);
    json_decref(made);
}

#define ARGS "\"args\": [\"sh\", \"-c\", \"x\"], \"stdin\": \"\""
#define LIMITS                                                                                     \
    "\"limits\": {\"timeout\": \"300000ms\", \"memory\": \"2147483648b\", "                        \
    "\"disk\": \"1073741824b\", \"pids\": \"100\", \"cpus\": \"1\"}"

static void what_is_not_named_has_its_default(void **state)
{
    (void)state;
    assert_request("{\"command\": \"x\"}", NULL,
                   "{" ARGS ", " LIMITS ", \"files\": [], \"network\": \"localhost\"}");
}

static void every_field_of_a_configuration_has_its_place(void **state)
{
    (void)state;
    assert_request("{\"command\": \"x\", \"config\": {\"image\": \"a:1\", \"timeout\": 1500, "
                   "\"cpuLimit\": \"0.5\", \"memory_limit\": \"1g\", \"workdir\": \"/app\", "
                   "\"networkMode\": \"bridge\", \"readOnly\": true, \"env\": {\"A\": \"b\"}}}",
                   NULL,
                   "{" ARGS ", \"image\": \"a:1\", \"workdir\": \"/app\", \"network\": \"full\", "
                   "\"read_only\": true, \"env\": {\"A\": \"b\"}, \"files\": [], \"limits\": "
                   "{\"timeout\": \"1500ms\", \"cpus\": \"0.5\", \"memory\": \"1g\", "
                   "\"disk\": \"1073741824b\", \"pids\": \"100\"}}");
}

static void defaults_yield_to_what_the_caller_has(void **state)
{
    struct execute_most most = { .network = NETWORK_NONE };

    (void)state;
    for (unsigned int i = 0; i < N_LIMITS; i++)
        most.limits[i] = LIMIT_NONE;
    most.limits[SBR_MEMORY_BYTES] = 64 << 20;
    most.limits[SBR_CPU_MILLIS] = 500;
    assert_request("{\"command\": \"x\", \"config\": {\"timeout\": null}}", &most,
                   "{" ARGS ", \"files\": [], \"network\": \"none\", \"limits\": "
                   "{\"timeout\": \"300000ms\", \"memory\": \"67108864b\", "
                   "\"disk\": \"1073741824b\", \"pids\": \"100\"}}");
}

static void files_begin_at_the_work_directory(void **state)
{
    (void)state;
    assert_request("{\"command\": \"x\", \"config\": {\"workdir\": \"/app/./b\"}, \"files\": ["
                   "{\"path\": \"../c//d\", \"content\": \"\", \"mode\": 493},"
                   "{\"path\": \"/work/e\", \"content\": \"\", \"encoding\": \"base64\"}]}",
                   NULL,
                   "{" ARGS ", " LIMITS ", \"workdir\": \"/app/b\", \"network\": \"localhost\", "
                   "\"files\": [{\"path\": \"/app/c/d\", \"content\": \"\", \"executable\": true}, "
                   "{\"path\": \"e\", \"content\": \"\", \"encoding\": \"base64\", "
                   "\"executable\": false}]}");
}

static void what_is_unknown_is_refused_by_its_name(void **state)
{
    static const char *const wrong[][2] = {
        { "{}", "'command'" },
        { "{\"command\": \"x\", \"cmd\": 1}", "'cmd'" },
        { "{\"command\": \"x\", \"config\": {\"cpus\": 1}}", "'cpus'" },
        { "{\"command\": \"x\", \"config\": {\"timeout\": \"5s\"}}", "'timeout'" },
        { "{\"command\": \"x\", \"config\": {\"networkMode\": 5}}", "'networkMode'" },
        { "{\"command\": \"x\", \"config\": 5}", "'config'" },
        { "{\"command\": \"x\", \"files\": [{\"path\": \"a\"}]}", "'files'" },
        { "{\"command\": \"x\", \"files\": {}}", "'files'" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        json_t *body = parsed(wrong[i][0]);
        sbr_error err = { 0 };

        assert_null(execute_request(body, NULL, &err));
        assert_int_equal(err.code, SBR_E_INVALID);
        if (!strstr(err.message, wrong[i][1]))
            fail_msg("%s: %s", wrong[i][0], err.message);
        json_decref(body);
    }
}

static void an_answer_has_the_status_of_a_shell(void **state)
{
    static const struct {
        const char *result;
        int status;
    } cases[] = {
        { "{\"outcome\": \"exited\", \"exit_code\": 7, \"stdout\": \"\", \"stderr\": \"\"}", 7 },
        { "{\"outcome\": \"timeout\", \"signal\": \"SIGKILL\", \"stdout\": \"\", "
          "\"stderr\": \"\"}",
          124 },
        { "{\"outcome\": \"signaled\", \"signal\": \"SIGSEGV\", \"stdout\": \"\", "
          "\"stderr\": \"\"}",
          139 },
        { "{\"outcome\": \"signaled\", \"signal\": \"signal 40\", \"stdout\": \"\", "
          "\"stderr\": \"\"}",
          168 },
        { "{\"outcome\": \"memory_limit\", \"exit_code\": null, \"signal\": null, "
          "\"stdout\": \"\", \"stderr\": \"\"}",
          137 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        json_t *result = parsed(cases[i].result), *answer = execute_answer(result);

        assert_int_equal(json_integer_value(json_object_get(answer, "exitCode")), cases[i].status);
        json_decref(answer);
        json_decref(result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_named_has_its_default),
        cmocka_unit_test(every_field_of_a_configuration_has_its_place),
        cmocka_unit_test(defaults_yield_to_what_the_caller_has),
        cmocka_unit_test(files_begin_at_the_work_directory),
        cmocka_unit_test(what_is_unknown_is_refused_by_its_name),
        cmocka_unit_test(an_answer_has_the_status_of_a_shell),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
