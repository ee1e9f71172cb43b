#include <stdio.h>

#include "model/request.h"
#include "unit.h"

static int new_request(void **state)
{
    sbr_error err;

    return request_new(NULL, NULL, (sbr_request **)state, &err);
}

static int free_request(void **state)
{
    request_free(*state);
    return 0;
}

static void a_volume_is_a_source_and_a_target(void **state)
{
    static const struct {
        const char *spec, *source, *target;
        enum volume_mode mode;
        bool sockets;
    } rows[] = {
        { "/srv/data:/data", "/srv/data", "/data", VOLUME_RO, false },
        { "/srv/data:/mnt/deep/er:ro", "/srv/data", "/mnt/deep/er", VOLUME_RO, false },
        { "/:/host:rw", "/", "/host", VOLUME_RW, false },
        { "/with space:/a b:cow", "/with space", "/a b", VOLUME_COW, false },
        { "/x:/worker", "/x", "/worker", VOLUME_RO, false },
        { "/x:/usr2", "/x", "/usr2", VOLUME_RO, false },
        { "/x:/libexec", "/x", "/libexec", VOLUME_RO, false },
        { "//x//y/./z/.://b//c/.//:cow", "/x/y/z", "/b/c", VOLUME_COW, false },
        { "/x/../y/..z/:/d/..e", "/x/../y/..z", "/d/..e", VOLUME_RO, false },
        { "/./:/f", "/", "/f", VOLUME_RO, false },
        { "/run:/g:ro+sockets", "/run", "/g", VOLUME_RO, true },
        { "/run:/h:rw+sockets", "/run", "/h", VOLUME_RW, true },
    };
    sbr_request *req = *state;
    sbr_error err;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(request_add_volume(req, rows[i].spec, &err), 0);
        assert_int_equal(req->n_volumes, i + 1);
        assert_string_equal(req->volumes[i].source, rows[i].source);
        assert_string_equal(req->volumes[i].target, rows[i].target);
        assert_int_equal(req->volumes[i].mode, rows[i].mode);
        assert_int_equal(req->volumes[i].sockets, rows[i].sockets);
    }
}

static void a_bad_volume_is_refused_with_its_reason(void **state)
{
    static const struct {
        const char *spec, *reason;
    } rows[] = {
        { "", "has no source or no target" },
        { ":", "has no source or no target" },
        { "/a", "has no source or no target" },
        { "/a:", "has no source or no target" },
        { ":/b", "has no source or no target" },
        { "/a::ro", "target" },
        { "/a:/b:", "has no mode ''; choose ro (only read), rw" },
        { "/a:/b:RO", "has no mode 'RO'; choose ro (only read), rw" },
        { "/a:/b:ro:x", "has no mode 'ro:x'; choose ro (only read), rw" },
        { "/a:/b:/c", "has no mode '/c'" },
        { "/a:/b:cow+sockets", "has no mode 'cow+sockets'" },
        { "/a:/b:rw+", "has no mode 'rw+'" },
        { "a:/b", "has a source that is not an absolute path" },
        { "./a:/b", "has a source that is not an absolute path" },
        { "/a:b", "has a target that is not an absolute path" },
        { "/a:/", "has a target that is not an absolute path" },
        { "/a:/.//", "has a target that is not an absolute path" },
        { "/a:/b/../usr", "has a target that is not an absolute path" },
        { "/a:/.view", "cover the sandbox's own /.view" },
        { "/a:/./proc/1", "cover the sandbox's own /proc" },
        { "/a:/data:rx",
          "has no mode 'rx'; choose ro (only read), rw (writes reach the host) or cow" },
        { "/a:/work", "a project puts a directory there" },
        { "/a:/work:cow", "a project puts a directory there" },
        { "/a:/work/sub", "a project puts a directory there" },
        { "/a:/b\nc", "has a target that is not an absolute path" },
    };
    sbr_request *req = *state;
    sbr_error err;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_refused(request_add_volume(req, rows[i].spec, &err), &err, SBR_E_INVALID,
                       rows[i].reason);
    assert_refused(request_add_volume(req, "/a", &err), &err, SBR_E_INVALID, "the volume '/a' ");
    req->has_options = true;
    assert_refused(request_add_volume(req, "/a", &err), &err, SBR_E_INVALID, "--volume '/a' ");
    assert_int_equal(req->n_volumes, 0);
}

static void a_volume_covers_the_system_of_an_image_only(void **state)
{
    static const char *const targets[] = { "/./usr", "//usr//x/", "/bin", "/etc/x", "/lib64" };

    for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
        sbr_request *req;
        char spec[64];
        sbr_error err;

        (void)state;
        snprintf(spec, sizeof(spec), "/srv:%s", targets[i]);
        assert_int_equal(request_new(NULL, NULL, &req, &err), 0);
        assert_int_equal(request_add_volume(req, spec, &err), 0);
        assert_refused(request_check(req, &err), &err, SBR_E_INVALID, "cover the sandbox's own /");
        assert_int_equal(request_set_image(req, "debian:12", &err), 0);
        assert_int_equal(request_check(req, &err), 0);
        request_free(req);
    }
}

static void no_volume_covers_the_sandbox_itself(void **state)
{
    static const char *const own[] = { "/dev",    "/proc",     "/sys",       "/tmp",
                                       "/work",   "/.cow",     "/deps",      "/build",
                                       "/driver", "/prepared", "/toolchain", "/node_modules" };
    sbr_request *req = *state;
    char spec[64];
    sbr_error err;

    for (size_t i = 0; i < ARRAY_LEN(own); i++) {
        snprintf(spec, sizeof(spec), "/srv:%s", own[i]);
        assert_refused(request_add_volume(req, spec, &err), &err, SBR_E_INVALID, own[i]);
        if (!strcmp(own[i], "/tmp"))
            continue; /* there is room below it */
        snprintf(spec, sizeof(spec), "/srv:%s/below", own[i]);
        assert_refused(request_add_volume(req, spec, &err), &err, SBR_E_INVALID, own[i]);
    }
    assert_int_equal(req->n_volumes, 0);
    assert_int_equal(request_add_volume(req, "/srv:/tmp/below:cow", &err), 0);
}

static void volumes_do_not_overlap(void **state)
{
    static const char *const bad[] = { "/x:/data", "/x:/data/sub", "/x:/data/sub/deeper",
                                       "/x://data/", "/x:/data/./sub/:cow" };
    sbr_request *req = *state;
    sbr_error err;

    assert_int_equal(request_add_volume(req, "/x:/data/sub", &err), 0);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_refused(request_add_volume(req, bad[i], &err), &err, SBR_E_INVALID,
                       "overlaps the target /data/sub of another");
    assert_int_equal(request_add_volume(req, "/x:/data/subway", &err), 0);
    assert_int_equal(request_add_volume(req, "/x:/dat", &err), 0);
}

static void volumes_have_a_greatest_number(void **state)
{
    sbr_request *req = *state;
    char spec[32];
    sbr_error err;

    for (int i = 0; i < REQUEST_MAX_VOLUMES; i++) {
        snprintf(spec, sizeof(spec), "/x:/v%d", i + 100);
        assert_int_equal(request_add_volume(req, spec, &err), 0);
    }
    assert_refused(request_add_volume(req, "/x:/more", &err), &err, SBR_E_INVALID, "too many");
}

static void a_project_is_an_absolute_path(void **state)
{
    sbr_request *req = *state;
    char long_path[REQUEST_MAX_PATH + 3] = "/";
    sbr_error err;

    memset(long_path + 1, 'x', REQUEST_MAX_PATH);
    assert_refused(request_set_project(req, "src", &err), &err, SBR_E_INVALID, "'src'");
    assert_refused(request_set_project(req, "", &err), &err, SBR_E_INVALID, "absolute");
    assert_refused(request_set_project(req, long_path, &err), &err, SBR_E_INVALID, "at most 1024");
    assert_null(req->project);
    assert_int_equal(request_set_project(req, "/srv//app/./", &err), 0);
    assert_string_equal(req->project, "/srv/app");
    assert_int_equal(request_set_project(req, "/", &err), 0);
    assert_string_equal(req->project, "/");
}

static void a_workspace_has_a_plain_name(void **state)
{
    static const char *const bad[] = { "", ".", "..", ".x", "-x", "a/b", "a b", "\xc3\xbc", "a\n" };
    static const char *const good[] = { "a", "Build_2.x-1", "0", "_" };
    sbr_request *req = *state;
    char name[WORKSPACE_MAX_NAME + 2];
    sbr_error err;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_refused(request_set_workspace(req, bad[i], &err), &err, SBR_E_INVALID,
                       "usable name");
    memset(name, 'n', sizeof(name));
    name[WORKSPACE_MAX_NAME + 1] = '\0';
    assert_refused(request_set_workspace(req, name, &err), &err, SBR_E_INVALID, "at most 64");
    assert_int_equal(request_set_workspace(req, name + 1, &err), 0);
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        assert_int_equal(request_set_workspace(req, good[i], &err), 0);
    assert_string_equal(req->workspace, "_");
}

/* Settings of a request in the order of struct tree_case; what request_check says of them. */
struct tree_case {
    const char *project, *workspace, *program, *volume, *output;
    bool diff, keep, check;
    const char *reason; /* NULL: they go together */
};

static void assert_together(const struct tree_case *row)
{
    sbr_request *req;
    sbr_error err;
    int r;

    assert_int_equal(request_new("python", NULL, &req, &err), 0);
    if ((row->project && request_set_project(req, row->project, &err) < 0) ||
        (row->workspace && request_set_workspace(req, row->workspace, &err) < 0) ||
        (row->program && request_set_program(req, row->program, &err) < 0) ||
        (row->volume && request_add_volume(req, row->volume, &err) < 0) ||
        (row->output && request_add_output(req, row->output, &err) < 0))
        fail_msg("%s", err.message);
    req->has_options = true;
    req->diff = row->diff;
    req->keep = row->keep;
    req->check = row->check;
    r = request_check(req, &err);
    if (row->reason)
        assert_refused(r, &err, SBR_E_INVALID, row->reason);
    else
        assert_int_equal(r, 0);
    request_free(req);
}

static void trees_and_what_is_wanted_of_them_fit_together(void **state)
{
    static const struct tree_case rows[] = {
        { .project = "/p", .diff = true, .keep = true },
        { .project = "/p", .program = "a/b.py", .check = true },
        { .workspace = "w", .diff = true },
        { .volume = "/a:/data:cow", .diff = true, .keep = true },
        { .output = "*.png", .keep = true },
        { .output = "/tmp/x" },
        { .output = "/data/x*", .volume = "/a:/data:rw" },
        { .output = "/data/sub", .volume = "/a:/data/sub" },
        { .project = "/p", .workspace = "w", .reason = "both stand at /work" },
        { .program = "x.py", .reason = "there is no project" },
        { .workspace = "w", .keep = true, .reason = "by itself; leave --keep out" },
        { .workspace = "w", .keep = true, .output = "x", .reason = "leave --keep out" },
        { .diff = true, .reason = "--diff has nothing to look at" },
        { .volume = "/a:/data:rw", .diff = true, .reason = "--diff has nothing to look at" },
        { .keep = true, .reason = "--keep has nothing to store" },
        { .volume = "/a:/data", .keep = true, .reason = "--keep has nothing to store" },
        { .output = "/etc/x", .reason = "outside of /work, /tmp and every volume" },
        { .output = "/dat*/x", .volume = "/a:/data", .reason = "outside of /work" },
        { .project = "/p", .diff = true, .check = true, .reason = "nothing for --diff" },
        { .project = "/p", .keep = true, .check = true, .reason = "nothing for --keep" },
        { .output = "x", .check = true, .reason = "nothing for --output" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_together(&rows[i]);
}

static void a_program_of_a_project_needs_a_language_and_no_code(void **state)
{
    sbr_request *req = *state;
    sbr_error err;

    assert_refused(request_set_program(req, "../x.py", &err), &err, SBR_E_INVALID, "'../x.py'");
    assert_int_equal(request_set_project(req, "/p", &err), 0);
    assert_int_equal(request_set_program(req, "x.py", &err), 0);
    assert_refused(request_check(req, &err), &err, SBR_E_INVALID, "has no language");
    assert_int_equal(request_set_text(&req->language, "python", &err), 0);
    assert_int_equal(request_check(req, &err), 0);
    assert_int_equal(request_set_code(req, "1", 1, &err), 0);
    assert_refused(request_check(req, &err), &err, SBR_E_INVALID, "give the program once");
}

#define VOLUME_TEST(test) cmocka_unit_test_setup_teardown(test, new_request, free_request)

int main(void)
{
    const struct CMUnitTest tests[] = {
        VOLUME_TEST(a_volume_is_a_source_and_a_target),
        VOLUME_TEST(a_bad_volume_is_refused_with_its_reason),
        VOLUME_TEST(no_volume_covers_the_sandbox_itself),
        cmocka_unit_test(a_volume_covers_the_system_of_an_image_only),
        VOLUME_TEST(volumes_do_not_overlap),
        VOLUME_TEST(volumes_have_a_greatest_number),
        VOLUME_TEST(a_project_is_an_absolute_path),
        VOLUME_TEST(a_workspace_has_a_plain_name),
        cmocka_unit_test(trees_and_what_is_wanted_of_them_fit_together),
        VOLUME_TEST(a_program_of_a_project_needs_a_language_and_no_code),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
