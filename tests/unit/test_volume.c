#include <stdio.h>

#include "job/request.h"
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
    } rows[] = {
        { "/srv/data:/data", "/srv/data", "/data" },
        { "/srv/data:/mnt/deep/er:ro", "/srv/data", "/mnt/deep/er" },
        { "/:/host", "/", "/host" },
        { "/with space:/a b", "/with space", "/a b" },
        { "/x:/worker", "/x", "/worker" },
        { "/x:/usr2", "/x", "/usr2" },
        { "/x:/libexec", "/x", "/libexec" },
    };
    sbr_request *req = *state;
    sbr_error err;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(request_add_volume(req, rows[i].spec, &err), 0);
        assert_int_equal(req->n_volumes, i + 1);
        assert_string_equal(req->volumes[i].source, rows[i].source);
        assert_string_equal(req->volumes[i].target, rows[i].target);
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
        { "/a:/b:", "has a mode other than ro" },
        { "/a:/b:rw", "has a mode other than ro" },
        { "/a:/b:RO", "has a mode other than ro" },
        { "/a:/b:ro:x", "has a mode other than ro" },
        { "a:/b", "has a source that is not an absolute path" },
        { "./a:/b", "has a source that is not an absolute path" },
        { "/a:b", "has a target that is not an absolute path" },
        { "/a:/", "has a target that is not an absolute path" },
        { "/a://b", "has a target that is not an absolute path" },
        { "/a:/b/", "has a target that is not an absolute path" },
        { "/a:/b/../usr", "has a target that is not an absolute path" },
        { "/a:/./usr", "has a target that is not an absolute path" },
        { "/a:/b\nc", "has a target that is not an absolute path" },
    };
    sbr_request *req = *state;
    sbr_error err;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_refused(request_add_volume(req, rows[i].spec, &err), &err, SBR_E_INVALID,
                       rows[i].reason);
    assert_int_equal(req->n_volumes, 0);
}

static void no_volume_covers_the_sandbox_itself(void **state)
{
    static const char *const own[] = { "/bin",  "/dev",  "/etc", "/lib", "/lib32", "/lib64",
                                       "/proc", "/sbin", "/sys", "/tmp", "/usr",   "/work" };
    sbr_request *req = *state;
    char spec[64];
    sbr_error err;

    for (size_t i = 0; i < ARRAY_LEN(own); i++) {
        snprintf(spec, sizeof(spec), "/srv:%s", own[i]);
        assert_refused(request_add_volume(req, spec, &err), &err, SBR_E_INVALID, own[i]);
        snprintf(spec, sizeof(spec), "/srv:%s/below", own[i]);
        assert_refused(request_add_volume(req, spec, &err), &err, SBR_E_INVALID, own[i]);
    }
    assert_int_equal(req->n_volumes, 0);
}

static void volumes_do_not_overlap(void **state)
{
    static const char *const bad[] = { "/x:/data", "/x:/data/sub", "/x:/data/sub/deeper" };
    sbr_request *req = *state;
    sbr_error err;

    assert_int_equal(request_add_volume(req, "/x:/data/sub", &err), 0);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_refused(request_add_volume(req, bad[i], &err), &err, SBR_E_INVALID, "overlaps");
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

#define VOLUME_TEST(test) cmocka_unit_test_setup_teardown(test, new_request, free_request)

int main(void)
{
    const struct CMUnitTest tests[] = {
        VOLUME_TEST(a_volume_is_a_source_and_a_target),
        VOLUME_TEST(a_bad_volume_is_refused_with_its_reason),
        VOLUME_TEST(no_volume_covers_the_sandbox_itself),
        VOLUME_TEST(volumes_do_not_overlap),
        VOLUME_TEST(volumes_have_a_greatest_number),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
