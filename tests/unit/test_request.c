#include "model/request.h"

#include <stdio.h>
#include <stdlib.h>

#include "unit.h"

static int new_request(void **state)
{
    sbr_error err;

    return request_new("python", NULL, (sbr_request **)state, &err);
}

static int free_request(void **state)
{
    request_free(*state);
    return 0;
}

static void a_new_request_wants_full_isolation_and_presets(void **state)
{
    const sbr_request *req = *state;

    assert_string_equal(req->language, "python");
    assert_null(req->policy);
    assert_null(req->code);
    assert_null(req->stdin_data);
    assert_int_equal(req->require, TIER_CONTAINER);
    assert_true(req->limits.value[SBR_WALL_MS] == limit_defs[SBR_WALL_MS].preset);
    request_free(NULL);
}

static void tiers_have_names(void **state)
{
    enum tier tier;
    sbr_error err;

    (void)state;
    for (int i = 0; i < N_TIERS; i++) {
        assert_int_equal(request_tier_from_name(request_tier_name((enum tier)i), &tier, &err), 0);
        assert_int_equal(tier, i);
    }
    assert_refused(request_tier_from_name("vm", &tier, &err), &err, SBR_E_INVALID,
                   "choose container, reduced or process");
    assert_refused(request_tier_from_name("", &tier, &err), &err, SBR_E_INVALID, "''");
}

static void a_file_is_copied(void **state)
{
    sbr_request *req = *state;
    char data[] = "a\0b";
    sbr_error err;

    assert_int_equal(request_add_file(req, "dir/main.py", data, 3, &err), 0);
    data[0] = 'x';
    assert_int_equal(req->n_files, 1);
    assert_string_equal(req->files[0].path, "dir/main.py");
    assert_int_equal(req->files[0].len, 3);
    assert_memory_equal(req->files[0].data, "a\0b", 4);
    assert_false(req->files[0].executable);
    assert_int_equal(request_add_file(req, "empty", NULL, 0, &err), 0);
    assert_non_null(req->files[1].data);
    assert_int_equal(req->file_bytes, 3);
}

static void a_path_that_could_lead_out_is_refused(void **state)
{
    static const char *const bad[] = { "",     "/work/x", "/",      "/a/../b", "//a",
                                       "../x", "a/../b",  "a//b",   "a/",      ".",
                                       "./a",  "a\n",     "\x1b[m", "..",      "a/./b" };
    sbr_request *req = *state;
    sbr_error err;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_refused(request_add_file(req, bad[i], "", 0, &err), &err, SBR_E_INVALID,
                       "is not usable");
    assert_int_equal(req->n_files, 0);
}

static void a_path_outside_of_work_is_for_a_command(void **state)
{
    sbr_request *req = *state;
    sbr_error err;

    assert_int_equal(request_add_file(req, "/app/x", "", 0, &err), 0);
    assert_non_null(req->language);
    assert_refused(request_check(req, &err), &err, SBR_E_INVALID, "which only a command may have");
    req->command = true;
    assert_int_equal(request_check(req, &err), 0);
}

static void paths_that_clash_are_refused(void **state)
{
    static const struct {
        const char *first, *second;
        bool clash;
    } rows[] = {
        { "a", "a", true },        { "a", "a/b", true },  { "a/b", "a", true },
        { "a/b/c", "a/b", true },  { "a", "ab", false },  { "ab", "a", false },
        { "a/b", "a/c", false },   { "a-b", "a", false }, { "A", "a", false },
        { "a/b", "a-b/c", false },
    };
    sbr_error err;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        sbr_request *req;
        int r;

        assert_int_equal(request_new(NULL, NULL, &req, &err), 0);
        assert_int_equal(request_add_file(req, rows[i].first, "", 0, &err), 0);
        r = request_add_file(req, rows[i].second, "", 0, &err);
        if (rows[i].clash)
            assert_refused(r, &err, SBR_E_INVALID, "clashes with");
        else
            assert_int_equal(r, 0);
        request_free(req);
    }
}

static void files_have_a_greatest_number(void **state)
{
    sbr_request *req = *state;
    sbr_error err;
    char name[16];

    req->files = calloc(REQUEST_MAX_FILES, sizeof(*req->files));
    for (req->n_files = 0; req->n_files < REQUEST_MAX_FILES; req->n_files++) {
        snprintf(name, sizeof(name), "f%zu", req->n_files);
        req->files[req->n_files].path = strdup(name);
    }
    assert_refused(request_add_file(req, "one-more", "", 0, &err), &err, SBR_E_INVALID, "10000");
}

/* No such memory is touched: the length is refused before the bytes are looked at. */
static void bytes_have_a_greatest_number(void **state)
{
    sbr_request *req = *state;
    sbr_error err;

    req->file_bytes = REQUEST_MAX_BYTES - 1;
    assert_refused(request_add_file(req, "a", "xx", 2, &err), &err, SBR_E_INVALID, "together");
    assert_int_equal(request_add_file(req, "a", "x", 1, &err), 0);
    assert_refused(request_add_file(req, "b", "", SIZE_MAX, &err), &err, SBR_E_INVALID, "at most");
    assert_refused(request_set_code(req, "", REQUEST_MAX_BYTES + 1, &err), &err, SBR_E_INVALID,
                   "the program is at most");
    assert_refused(request_set_stdin(req, "", REQUEST_MAX_BYTES + 1, &err), &err, SBR_E_INVALID,
                   "stdin is at most");
}

static void code_and_stdin_can_be_set_again(void **state)
{
    sbr_request *req = *state;
    sbr_error err;

    assert_int_equal(request_set_code(req, "one", 3, &err), 0);
    assert_int_equal(request_set_code(req, "", 0, &err), 0);
    assert_string_equal(req->code, "");
    assert_int_equal(req->code_len, 0);
    assert_int_equal(request_set_stdin(req, "one", 3, &err), 0);
    assert_int_equal(request_set_stdin(req, "t\0o", 3, &err), 0);
    assert_memory_equal(req->stdin_data, "t\0o", 4);
    assert_int_equal(req->stdin_len, 3);
}

static void what_is_refused_leaves_the_request_as_it_was(void **state)
{
    sbr_request *req = *state;
    sbr_error err;

    assert_int_equal(request_set_code(req, "code", 4, &err), 0);
    assert_int_equal(request_set_stdin(req, "stdin", 5, &err), 0);
    assert_int_equal(request_set_code(req, "", REQUEST_MAX_BYTES + 1, &err), SBR_E_INVALID);
    assert_int_equal(request_set_stdin(req, "", REQUEST_MAX_BYTES + 1, &err), SBR_E_INVALID);
    assert_int_equal(req->code_len, 4);
    assert_int_equal(req->stdin_len, 5);
}

static void arguments_keep_their_order_and_end_in_null(void **state)
{
    sbr_request *req = *state;
    sbr_error err;

    assert_null(req->args.items);
    assert_int_equal(request_add_arg(req, "-v", &err), 0);
    assert_int_equal(request_add_arg(req, "", &err), 0);
    assert_int_equal(request_add_arg(req, "x y", &err), 0);
    assert_int_equal(req->args.n, 3);
    assert_string_equal(req->args.items[0], "-v");
    assert_string_equal(req->args.items[1], "");
    assert_string_equal(req->args.items[2], "x y");
    assert_null(req->args.items[3]);
}

static void arguments_and_variables_have_a_greatest_number(void **state)
{
    sbr_request *req = *state;
    sbr_error err;

    for (int i = 0; i < REQUEST_MAX_ARGS; i++)
        assert_int_equal(request_add_arg(req, "x", &err), 0);
    assert_refused(request_add_arg(req, "x", &err), &err, SBR_E_INVALID, "4096");
    for (int i = 0; i < REQUEST_MAX_ENV; i++)
        assert_int_equal(request_add_env(req, "A=1", &err), 0);
    assert_refused(request_add_env(req, "A=1", &err), &err, SBR_E_INVALID, "1024");
}

static void a_variable_is_a_name_and_a_value(void **state)
{
    static const char *const good[] = { "A=1", "A=", "A==", "LONG_name.1=x y\n", "\xc3\xbc=1" };
    static const char *const bad[] = { "",     "A",     "=",     "=1",     " A=1",
                                       "A =1", "A\t=1", "A\n=1", "\x7f=1", "A\x1b=1" };
    sbr_request *req = *state;
    sbr_error err;

    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        assert_int_equal(request_add_env(req, good[i], &err), 0);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_refused(request_add_env(req, bad[i], &err), &err, SBR_E_INVALID, "environment");
    assert_int_equal(req->env.n, ARRAY_LEN(good));
}

static void a_dependency_is_neither_an_option_nor_a_path(void **state)
{
    static const char *const good[] = { "a",      "a@1.0",  "@scope/a@^1",   "b[c]>=2",
                                        "a==1.*", "a/b/c",  "example.org/m", "A_b-c+d",
                                        "a~=1",   "a!=2,<3" };
    static const char *const bad[] = { "",
                                       "-r",
                                       "--index-url=x",
                                       "../x",
                                       "/etc/passwd",
                                       "./x",
                                       ".",
                                       "@",
                                       "@@",
                                       "@a",
                                       "~/x",
                                       "a b",
                                       "a\nb",
                                       "a;b",
                                       "$(x)",
                                       "a|b",
                                       "`x`",
                                       "a\\b",
                                       "a'b",
                                       "a\"b",
                                       "a&b",
                                       "a\tb",
                                       "a\x7f",
                                       "\xc3\xa4",
                                       "file:///etc/x",
                                       "x@file:/etc",
                                       "a/../../b",
                                       "a@..",
                                       "http://x/y",
                                       "a#b",
                                       "a%b" };
    char longest[REQUEST_MAX_DEP + 2];
    sbr_request *req = *state;
    sbr_error err;

    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        assert_int_equal(request_add_dep(req, good[i], &err), 0);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_refused(request_add_dep(req, bad[i], &err), &err, SBR_E_INVALID, "dependency");
    memset(longest, 'x', sizeof(longest));
    longest[REQUEST_MAX_DEP + 1] = '\0';
    assert_refused(request_add_dep(req, longest, &err), &err, SBR_E_INVALID, "dependency");
    longest[REQUEST_MAX_DEP] = '\0';
    assert_int_equal(request_add_dep(req, longest, &err), 0);
    assert_int_equal(req->deps.n, ARRAY_LEN(good) + 1);
}

static void dependencies_have_a_greatest_number(void **state)
{
    sbr_request *req = *state;
    sbr_error err;

    for (int i = 0; i < REQUEST_MAX_DEPS; i++)
        assert_int_equal(request_add_dep(req, "a", &err), 0);
    assert_refused(request_add_dep(req, "a", &err), &err, SBR_E_INVALID, "256");
}

static void a_work_directory_is_an_absolute_path_inside(void **state)
{
    static const char *const good[] = { "/", "/work", "/work/sub/dir", "/data.d" };
    static const char *const bad[] = { "",         "work",    "./x",      "//",    "/work/",
                                       "/work//x", "/../etc", "/work/..", "/a\nb", "~" };
    sbr_request *req = *state;
    sbr_error err;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_refused(request_set_workdir(req, bad[i], &err), &err, SBR_E_INVALID,
                       "work directory");
    assert_null(req->workdir);
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        assert_int_equal(request_set_workdir(req, good[i], &err), 0);
        assert_string_equal(req->workdir, good[i]);
    }
}

static void hosts_without_a_mode_mean_allow(void **state)
{
    sbr_request *req = *state;
    sbr_error err;

    assert_false(request_has_network(req));
    assert_int_equal(req->network.mode, NETWORK_NONE);
    assert_refused(request_allow_host(req, "a@example", &err), &err, SBR_E_INVALID, "a@example");
    assert_false(request_has_network(req));
    assert_int_equal(request_allow_host(req, "a.example:80", &err), 0);
    assert_true(request_has_network(req));
    assert_int_equal(req->network.mode, NETWORK_ALLOW);
    assert_int_equal(request_check(req, &err), 0);
    assert_int_equal(request_set_network(req, "full", &err), 0);
    assert_int_equal(request_allow_host(req, "b.example", &err), 0);
    assert_int_equal(req->network.mode, NETWORK_FULL);
    assert_int_equal(req->network.n_rules, 2);
    assert_refused(request_set_network(req, "host", &err), &err, SBR_E_INVALID, "'host'");
    assert_int_equal(req->network.mode, NETWORK_FULL);
}

static void what_opens_the_outside_needs_a_mode_that_has_one(void **state)
{
    static const struct {
        const char *mode, *host;
        bool names;
        const char *part; /* NULL: it is fine */
    } rows[] = {
        { NULL, NULL, false, NULL },
        { "none", NULL, false, NULL },
        { "localhost", NULL, false, NULL },
        { "allow", NULL, true, NULL },
        { "full", "a.example", true, NULL },
        { NULL, "a.example", true, NULL },
        { NULL, NULL, true, NULL },
        { "localhost", NULL, true, NULL },
        { "none", NULL, true, "--allow-dns does not go together with --network none" },
        { "none", "a.example", true, "--allow-host does not go together with --network none" },
        { "localhost", "a.example", false, NULL },
        { "localhost", "a.example", true, NULL },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        sbr_request *req;
        sbr_error err;

        assert_int_equal(request_new(NULL, NULL, &req, &err), 0);
        if (rows[i].mode)
            assert_int_equal(request_set_network(req, rows[i].mode, &err), 0);
        if (rows[i].host)
            assert_int_equal(request_allow_host(req, rows[i].host, &err), 0);
        req->has_options = true;
        request_allow_dns(req, rows[i].names);
        if (rows[i].part)
            assert_refused(request_check(req, &err), &err, SBR_E_INVALID, rows[i].part);
        else
            assert_int_equal(request_check(req, &err), 0);
        request_free(req);
    }
}

/* "" is a request that says nothing; `hosts` are those that are left. */
static void assert_override(const char *mode, const char *over_mode, bool over_host,
                            enum network_mode expected, size_t hosts)
{
    sbr_request *req, *over;
    sbr_error err;

    assert_int_equal(request_new(NULL, NULL, &req, &err), 0);
    assert_int_equal(request_new(NULL, NULL, &over, &err), 0);
    if (*mode)
        assert_int_equal(request_set_network(req, mode, &err), 0);
    if (strcmp(mode, "none") != 0)
        assert_int_equal(request_allow_host(req, "a.example", &err), 0);
    if (*over_mode)
        assert_int_equal(request_set_network(over, over_mode, &err), 0);
    if (over_host)
        assert_int_equal(request_allow_host(over, "b.example", &err), 0);
    assert_int_equal(request_override(req, over, &err), 0);
    assert_int_equal(req->network.mode, expected);
    assert_int_equal(req->network.n_rules, hosts);
    assert_int_equal(req->network_given, *mode || *over_mode);
    request_free(over);
    request_free(req);
}

static void a_network_that_is_laid_over_wins_and_hosts_add_up(void **state)
{
    (void)state;
    assert_override("", "", false, NETWORK_ALLOW, 1);
    assert_override("", "", true, NETWORK_ALLOW, 2);
    assert_override("full", "", true, NETWORK_FULL, 2);
    assert_override("full", "allow", true, NETWORK_ALLOW, 2);
    assert_override("none", "allow", true, NETWORK_ALLOW, 1);
    assert_override("none", "", true, NETWORK_NONE, 1); /* request_check refuses it */
    assert_override("full", "none", false, NETWORK_NONE, 0);
    assert_override("", "localhost", false, NETWORK_LOCALHOST, 0);
}

static void trees_that_are_laid_over_add_up_or_take_the_place(void **state)
{
    sbr_request *req = *state, *over;
    sbr_error err;

    assert_int_equal(request_new(NULL, NULL, &over, &err), 0);
    assert_int_equal(request_set_project(req, "/old", &err), 0);
    assert_int_equal(request_set_program(req, "x.py", &err), 0);
    assert_int_equal(request_add_volume(req, "/a:/a:rw", &err), 0);
    assert_int_equal(request_add_volume(over, "/b:/b:cow", &err), 0);
    assert_int_equal(request_add_output(over, "*.png", &err), 0);
    assert_int_equal(request_add_output(over, "*.txt:/srv/out", &err), 0);
    over->diff = over->keep = true;
    assert_int_equal(request_override(req, over, &err), 0);
    assert_string_equal(req->project, "/old");
    assert_string_equal(req->program, "x.py");
    assert_int_equal(req->n_volumes, 2);
    assert_int_equal(req->volumes[0].mode, VOLUME_RW);
    assert_int_equal(req->volumes[1].mode, VOLUME_COW);
    assert_int_equal(req->outputs.n, 2);
    assert_string_equal(req->outputs.items[1].dir, "/srv/out");
    assert_true(req->diff && req->keep);
    request_free(over);

    assert_int_equal(request_new(NULL, NULL, &over, &err), 0);
    assert_int_equal(request_set_project(over, "/new", &err), 0);
    assert_int_equal(request_override(req, over, &err), 0);
    assert_string_equal(req->project, "/new");
    assert_string_equal(req->program, "x.py");
    request_free(over);

    assert_int_equal(request_new(NULL, NULL, &over, &err), 0);
    assert_int_equal(request_set_workspace(over, "w", &err), 0);
    assert_int_equal(request_override(req, over, &err), 0);
    assert_null(req->project);
    assert_null(req->program);
    assert_string_equal(req->workspace, "w");
    request_free(over);
}

#define REQUEST_TEST(test) cmocka_unit_test_setup_teardown(test, new_request, free_request)

int main(void)
{
    const struct CMUnitTest tests[] = {
        REQUEST_TEST(a_new_request_wants_full_isolation_and_presets),
        cmocka_unit_test(tiers_have_names),
        REQUEST_TEST(a_file_is_copied),
        REQUEST_TEST(a_path_that_could_lead_out_is_refused),
        REQUEST_TEST(a_path_outside_of_work_is_for_a_command),
        cmocka_unit_test(paths_that_clash_are_refused),
        REQUEST_TEST(files_have_a_greatest_number),
        REQUEST_TEST(bytes_have_a_greatest_number),
        REQUEST_TEST(code_and_stdin_can_be_set_again),
        REQUEST_TEST(what_is_refused_leaves_the_request_as_it_was),
        REQUEST_TEST(arguments_keep_their_order_and_end_in_null),
        REQUEST_TEST(arguments_and_variables_have_a_greatest_number),
        REQUEST_TEST(a_variable_is_a_name_and_a_value),
        REQUEST_TEST(a_dependency_is_neither_an_option_nor_a_path),
        REQUEST_TEST(dependencies_have_a_greatest_number),
        REQUEST_TEST(a_work_directory_is_an_absolute_path_inside),
        REQUEST_TEST(hosts_without_a_mode_mean_allow),
        cmocka_unit_test(what_opens_the_outside_needs_a_mode_that_has_one),
        cmocka_unit_test(a_network_that_is_laid_over_wins_and_hosts_add_up),
        REQUEST_TEST(trees_that_are_laid_over_add_up_or_take_the_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
