#include "base/sha256.h"

#include "unit.h"

/* FIPS 180-4 and the vectors that NIST gives beside it. */
static const struct {
    const char *text, *hex;
} vectors[] = {
    { "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
    { "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
    { "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
    { "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
      "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
      "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1" },
};

static void digests_are_those_of_the_standard(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(vectors); i++) {
        char hex[SHA256_HEX_SIZE];

        sha256_hex(vectors[i].text, strlen(vectors[i].text), hex);
        assert_string_equal(hex, vectors[i].hex);
    }
}

static void a_million_letters_are_as_the_standard_says(void **state)
{
    char letters[1000], hex[SHA256_HEX_SIZE];
    struct sha256 s;

    (void)state;
    memset(letters, 'a', sizeof(letters));
    sha256_init(&s);
    for (int i = 0; i < 1000; i++)
        sha256_add(&s, letters, sizeof(letters));
    sha256_finish_hex(&s, hex);
    assert_string_equal(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* Around the ends of a block, where padding takes one more. */
static void lengths_around_a_block_are_right(void **state)
{
    static const struct {
        size_t len;
        const char *hex;
    } rows[] = {
        /* of zero bytes */
        { 55, "02779466cdec163811d078815c633f21901413081449002f24aa3e80f0b88ef7" },
        { 56, "d4817aa5497628e7c77e6b606107042bbba3130888c5f47a375e6179be789fbb" },
        { 57, "65a16cb7861335d5ace3c60718b5052e44660726da4cd13bb745381b235a1785" },
        { 64, "f5a5fd42d16a20302798ef6ed309979b43003d2320d9f0e8ea9831a92759fb4b" },
    };
    char zeros[64] = { 0 }, hex[SHA256_HEX_SIZE];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        sha256_hex(zeros, rows[i].len, hex);
        assert_string_equal(hex, rows[i].hex);
    }
}

static void pieces_of_every_size_give_the_same_digest(void **state)
{
    char bytes[300], whole[SHA256_HEX_SIZE], hex[SHA256_HEX_SIZE];

    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)(i * 7);
    sha256_hex(bytes, sizeof(bytes), whole);
    for (size_t piece = 1; piece <= 130; piece++) {
        struct sha256 s;

        sha256_init(&s);
        for (size_t at = 0; at < sizeof(bytes); at += piece)
            sha256_add(&s, bytes + at, sizeof(bytes) - at < piece ? sizeof(bytes) - at : piece);
        sha256_finish_hex(&s, hex);
        assert_string_equal(hex, whole);
    }
}

static void hash_texts(const char *first, const char *second, char hex[SHA256_HEX_SIZE])
{
    struct sha256 s;

    sha256_init(&s);
    sha256_add_text(&s, first);
    sha256_add_text(&s, second);
    sha256_finish_hex(&s, hex);
}

static void fields_do_not_run_into_one_another(void **state)
{
    static const char *const pairs[][2] = {
        { "ab", "c" }, { "a", "bc" },   { "abc", "" },
        { "", "abc" }, { NULL, "abc" }, { "abc", NULL },
    };
    char hex[ARRAY_LEN(pairs)][SHA256_HEX_SIZE];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
        hash_texts(pairs[i][0], pairs[i][1], hex[i]);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(hex[i], hex[k]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digests_are_those_of_the_standard),
        cmocka_unit_test(a_million_letters_are_as_the_standard_says),
        cmocka_unit_test(lengths_around_a_block_are_right),
        cmocka_unit_test(pieces_of_every_size_give_the_same_digest),
        cmocka_unit_test(fields_do_not_run_into_one_another),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
