/* SHA-1, against the vectors of FIPS 180. */
#include "base/sha256.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "unit.h"

static void check(const char *text, size_t times, const char *hex)
{
    unsigned char digest[SHA1_SIZE];
    char seen[2 * SHA1_SIZE + 1];
    size_t len = strlen(text);
    scoped_free char *data = malloc(len * times + 1);

    assert_non_null(data);
    for (size_t i = 0; i < times; i++)
        memcpy(data + i * len, text, len);
    sha1(data, len * times, digest);
    for (size_t i = 0; i < SHA1_SIZE; i++)
        snprintf(seen + 2 * i, 3, "%02x", digest[i]);
    assert_string_equal(seen, hex);
}

static void the_vectors(void **state)
{
    (void)state;
    check("", 1, "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    check("abc", 1, "a9993e364706816aba3e25717850c26c9cd0d89d");
    check("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
          "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
    check("a", 1000000, "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
}

/* Where the length no longer fits into the last block, and where it just does. */
static void the_ends_of_blocks(void **state)
{
    (void)state;
    check("a", 55, "c1c8bbdc22796e28c0e15163d20899b65621d65a");
    check("a", 56, "c2db330f6083854c99d4b5bfb6e8f29f201be699");
    check("a", 64, "0098ba824b5c16427bd7a1122a5a442a25ec644d");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_vectors),
        cmocka_unit_test(the_ends_of_blocks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
