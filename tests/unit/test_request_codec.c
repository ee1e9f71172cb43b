#include "model/request.h"

#include <stdlib.h>
#include <string.h>

#include "unit.h"

/* A field more, or a longer one: if it points somewhere, the codec has to know it. */
#define SIZE_KNOWN 2360

static sbr_request *make(void)
{
    sbr_request *req = NULL;
    sbr_error err;

    assert_int_equal(request_new("python", NULL, &req, &err), 0);
    assert_int_equal(request_add_file(req, "a/b.py", "x = 1\n\0y", 8, &err), 0);
    assert_int_equal(request_set_code(req, "print(1)", 8, &err), 0);
    assert_int_equal(request_set_stdin(req, "", 0, &err), 0);
    assert_int_equal(request_add_arg(req, "-v", &err), 0);
    assert_int_equal(request_add_dep(req, "numpy", &err), 0);
    assert_int_equal(request_add_env(req, "A=b", &err), 0);
    assert_int_equal(request_add_volume(req, "/srv:/data:cow", &err), 0);
    assert_int_equal(request_add_exclude(req, "*.o", &err), 0);
    assert_int_equal(request_add_output(req, "out/*.png:/tmp", &err), 0);
    assert_int_equal(request_allow_host(req, "example.org:443", &err), 0);
    assert_int_equal(request_set_caller(req, "me", &err), 0);
    assert_int_equal(limits_set(&req->limits, SBR_MEMORY_BYTES, 64 << 20, &err), 0);
    return req;
}

static void what_is_read_is_what_was_written(void **state)
{
    sbr_request *req = make(), *again = NULL;
    struct buf first, second;
    sbr_error err;

    (void)state;
    assert_int_equal(sizeof(sbr_request), SIZE_KNOWN);
    buf_init(&first, 1 << 20);
    buf_init(&second, 1 << 20);
    request_codec_encode(req, &first);
    assert_int_equal(request_codec_decode(&(struct buf_reader){ .data = first.data,
                                                                .len = first.len },
                                          &again, &err),
                     0);
    assert_string_equal(again->language, "python");
    assert_memory_equal(again->files[0].data, "x = 1\n\0y", 9);
    assert_string_equal(again->volumes[0].target, "/data");
    assert_int_equal(again->volumes[0].mode, VOLUME_COW);
    assert_string_equal(again->env.items[0], "A=b");
    assert_null(again->env.items[1]);
    assert_string_equal(again->outputs.items[0].dir, "/tmp");
    assert_string_equal(again->network.rules[0].text, "example.org:443");
    assert_int_equal(again->limits.value[SBR_MEMORY_BYTES], 64 << 20);
    assert_non_null(again->stdin_data);
    assert_null(again->workspace);
    request_codec_encode(again, &second);
    assert_int_equal(first.len, second.len);
    buf_done(&first);
    buf_done(&second);
    request_free(req);
    request_free(again);
}

static void bytes_that_end_too_soon_are_refused(void **state)
{
    sbr_request *req = make();
    struct buf out;

    (void)state;
    buf_init(&out, 1 << 20);
    request_codec_encode(req, &out);
    for (size_t len = 0; len < out.len; len += len < 3000 ? 1 : 7) {
        sbr_request *again = NULL;
        sbr_error err;

        assert_true(request_codec_decode(&(struct buf_reader){ .data = out.data, .len = len },
                                         &again, &err) < 0);
        assert_null(again);
    }
    buf_done(&out);
    request_free(req);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_read_is_what_was_written),
        cmocka_unit_test(bytes_that_end_too_soon_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
