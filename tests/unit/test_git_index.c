/* Indexes as git 2.39 wrote them, in both forms of names, and what is made of them. */
#include "changes/node.h"

#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "base/sha256.h"
#include "unit.h"

/* clang-format off */
#define HEX_2 \
    "4449524300000002000000036afe077f1bb773296afe077f1bb773290000fe0000997195000081a400000000000000" \
    "0000000006536aca34dbae6b2b8af26bebdcba83543c9546f000042e656e760000000000006afe077f1bb773296afe" \
    "077f1bb773290000fe0000997194000081a4000000000000000000000001c1b0730e0133447badcfd47fd144e25480" \
    "7b06e10005612e74787400000000006afe077f1d25a9296afe077f1d25a9290000fe0000997197000081a400000000" \
    "0000000000000001e25f1814e51579d5f55c0f1fe0135ddb28a47f4a0007642f622e7478740000005080859e369f90" \
    "aa134d7edd70f395d8b81e0d96"
#define HEX_4 \
    "4449524300000004000000036afe077f1bb773296afe077f1bb773290000fe0000997195000081a400000000000000" \
    "0000000006536aca34dbae6b2b8af26bebdcba83543c9546f00004002e656e76006afe077f1bb773296afe077f1bb7" \
    "73290000fe0000997194000081a4000000000000000000000001c1b0730e0133447badcfd47fd144e254807b06e100" \
    "0504612e747874006afe077f1d25a9296afe077f1d25a9290000fe0000997197000081a40000000000000000000000" \
    "01e25f1814e51579d5f55c0f1fe0135ddb28a47f4a000705642f622e74787400c6417362d164a66c3c5ea3abaa0204" \
    "fed27a6cf3"
/* clang-format on */

static char *bytes_of(const char *hex, size_t *ret_len)
{
    size_t len = strlen(hex) / 2;
    char *data = malloc(len);

    assert_non_null(data);
    for (size_t i = 0; i < len; i++) {
        char two[3] = { hex[2 * i], hex[2 * i + 1], '\0' };

        data[i] = (char)strtoul(two, NULL, 16);
    }
    *ret_len = len;
    return data;
}

static bool is_env(const void *context, const char *path)
{
    (void)context;
    return !strcmp(path, ".env");
}

static bool is_nothing(const void *context, const char *path)
{
    (void)context;
    (void)path;
    return false;
}

static void names_of_an_index(void **state)
{
    (void)state;
    assert_true(git_index_is(".git/index"));
    assert_true(git_index_is("below/.git/index"));
    assert_false(git_index_is("x.git/index"));
    assert_false(git_index_is(".git/index.lock"));
    assert_false(git_index_is("index"));
}

/* The form of the names is none of what an index says. */
static void both_forms_say_the_same(void **state)
{
    char sum_2[SHA256_HEX_SIZE], sum_4[SHA256_HEX_SIZE];
    size_t len_2, len_4;
    scoped_free char *two = bytes_of(HEX_2, &len_2), *four = bytes_of(HEX_4, &len_4);

    (void)state;
    assert_true(git_index_sum(two, len_2, sum_2));
    assert_true(git_index_sum(four, len_4, sum_4));
    assert_string_equal(sum_2, sum_4);
}

static void seal(char *data, size_t len)
{
    unsigned char digest[SHA1_SIZE];

    sha1(data, len - SHA1_SIZE, digest);
    memcpy(data + len - SHA1_SIZE, digest, SHA1_SIZE);
}

static void only_stat_may_differ(void **state)
{
    char sum[SHA256_HEX_SIZE], other[SHA256_HEX_SIZE];
    size_t len;
    scoped_free char *data = bytes_of(HEX_2, &len);

    (void)state;
    assert_true(git_index_sum(data, len, sum));
    data[12] ^= 1; /* a time */
    seal(data, len);
    assert_true(git_index_sum(data, len, other));
    assert_string_equal(sum, other);
    data[12 + 40] ^= 1; /* the id of the content */
    seal(data, len);
    assert_true(git_index_sum(data, len, other));
    assert_string_not_equal(sum, other);
}

static void skip_and_take_back(const char *hex)
{
    char sum[SHA256_HEX_SIZE], then[SHA256_HEX_SIZE];
    size_t len;
    scoped_free char *data = bytes_of(hex, &len);
    struct buf skipping;
    sbr_error err;

    assert_true(git_index_sum(data, len, sum));
    assert_int_equal(git_index_skip(data, len, is_env, NULL, &skipping, &err), 1);
    assert_true(git_index_sum(skipping.data, skipping.len, then));
    assert_string_equal(sum, then);
    assert_false(git_index_unskip(skipping.data, skipping.len, is_nothing, NULL));
    assert_true(git_index_unskip(skipping.data, skipping.len, is_env, NULL));
    assert_true(git_index_sum(skipping.data, skipping.len, then));
    assert_string_equal(sum, then);
    assert_false(git_index_unskip(skipping.data, skipping.len, is_env, NULL));
    buf_done(&skipping);
    assert_int_equal(git_index_skip(data, len, is_nothing, NULL, &skipping, &err), 0);
}

static void a_file_is_skipped_and_taken_back(void **state)
{
    (void)state;
    skip_and_take_back(HEX_2);
    skip_and_take_back(HEX_4);
}

/* Bytes of others: sealed, so that the sum does not already refuse them. */
static void try_bytes(char *data, size_t len)
{
    char sum[SHA256_HEX_SIZE];
    struct buf out;
    sbr_error err;

    (void)git_index_sum(data, len, sum);
    if (git_index_skip(data, len, is_env, NULL, &out, &err) == 1)
        buf_done(&out);
    (void)git_index_unskip(data, len, is_env, NULL);
}

static void no_bytes_lead_out_of_it(void **state)
{
    const char *const forms[] = { HEX_2, HEX_4 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        size_t len;
        scoped_free char *data = bytes_of(forms[i], &len), *copy = malloc(len);

        assert_non_null(copy);
        for (size_t at = 4; at < len - SHA1_SIZE; at++) {
            for (unsigned int bit = 0; bit < 8; bit++) {
                memcpy(copy, data, len);
                copy[at] ^= (char)(1u << bit);
                seal(copy, len);
                try_bytes(copy, len);
            }
        }
        for (size_t part = SHA1_SIZE; part < len; part++) {
            scoped_free char *exact = malloc(part);

            assert_non_null(exact);
            memcpy(exact, data, part);
            seal(exact, part);
            try_bytes(exact, part);
            memcpy(exact, data, part);
            assert_int_equal(git_index_unskip(exact, part, is_env, NULL), 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_an_index),
        cmocka_unit_test(both_forms_say_the_same),
        cmocka_unit_test(only_stat_may_differ),
        cmocka_unit_test(a_file_is_skipped_and_taken_back),
        cmocka_unit_test(no_bytes_lead_out_of_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
