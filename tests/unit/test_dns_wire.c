#include <stdlib.h>

#include "dns_fixture.h"
#include "egress/dns_wire.h"
#include "unit.h"

/* In a block of exactly that size, so that a sanitizer sees one byte too many. */
static int read_exactly(const struct query *query, struct dns_question *ret)
{
    uint8_t *exact = malloc(query->len + !query->len);
    int rcode;

    assert_non_null(exact);
    memcpy(exact, query->bytes, query->len);
    rcode = dns_wire_read(exact, query->len, ret);
    free(exact);
    return rcode;
}

static void a_query_is_read(void **state)
{
    struct query query = query_make(0xbeef, "Www.Example.ORG", DNS_AAAA);
    struct dns_question q;

    assert_int_equal(read_exactly(&query, &q), DNS_NOERROR);
    assert_int_equal(q.id, 0xbeef);
    assert_true(q.recursion && q.canonical && !q.unchecked && !q.edns);
    assert_int_equal(q.type, DNS_AAAA);
    assert_int_equal(q.class, DNS_IN);
    assert_string_equal(q.name, "www.example.org");
    assert_int_equal(q.len, query.len - DNS_HEADER);
    assert_memory_equal(q.bytes, query.bytes + DNS_HEADER, q.len);
}

static void a_query_cut_anywhere_is_no_question(void **state)
{
    struct query query = query_make(7, "www.example.org", DNS_A);
    size_t whole = query.len;
    struct dns_question q;

    for (query.len = 0; query.len < whole; query.len++)
        assert_int_equal(read_exactly(&query, &q),
                         query.len < DNS_HEADER ? DNS_NO_QUERY : DNS_FORMERR);
}

/* OPT with 4096 bytes and DNSSEC wanted; an option of 4 bytes behind it. */
static const uint8_t opt[] = { 0, 0, 41, 16, 0, 0, 0, 0x80, 0, 0, 8, 0, 10, 0, 4, 1, 2, 3, 4 };

static void what_edns_adds_is_read_within_bounds(void **state)
{
    struct query query = query_make(7, "example.org", DNS_A);
    size_t plain = query.len;
    struct dns_question q;

    query_set16(&query, 10, 1);
    query_add(&query, opt, sizeof(opt));
    assert_int_equal(read_exactly(&query, &q), DNS_NOERROR);
    assert_true(q.edns && q.dnssec);
    assert_int_equal(q.edns_size, 4096);
    for (query.len = plain; query.len < plain + sizeof(opt); query.len++) {
        assert_int_equal(read_exactly(&query, &q), DNS_FORMERR);
        assert_int_equal(q.len, plain - DNS_HEADER);
    }
    query_set16(&query, 10, 2); /* a second one is one too many */
    query.len = plain + sizeof(opt);
    query_add(&query, opt, sizeof(opt));
    assert_int_equal(read_exactly(&query, &q), DNS_FORMERR);
}

static void a_header_that_is_no_query_s_is_turned_down(void **state)
{
    static const struct {
        size_t at;
        uint16_t value;
        int rcode;
    } rows[] = {
        { 2, 0x8000, DNS_NO_QUERY }, /* an answer              */
        { 2, 0x8180, DNS_NO_QUERY }, /* the same, the usual way */
        { 2, 0x0900, DNS_NOTIMP },   /* inverse query          */
        { 2, 0x1000, DNS_NOTIMP },   /* status                 */
        { 2, 0x2000, DNS_NOTIMP },   /* notify                 */
        { 2, 0x2800, DNS_NOTIMP },   /* update                 */
        { 2, 0x7800, DNS_NOTIMP },   { 4, 0, DNS_FORMERR },      { 4, 2, DNS_FORMERR },
        { 4, 0xffff, DNS_FORMERR },  { 6, 1, DNS_FORMERR },      { 6, 0xffff, DNS_FORMERR },
        { 8, 1, DNS_FORMERR },       { 8, 0xffff, DNS_FORMERR }, { 10, 1, DNS_FORMERR },
        { 10, 0xffff, DNS_FORMERR },
    };
    struct dns_question q;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct query query = query_make(9, "example.org", DNS_A);

        query_set16(&query, rows[i].at, rows[i].value);
        assert_int_equal(read_exactly(&query, &q), rows[i].rcode);
        assert_int_equal(q.id, 9);
    }
}

#define HEAD 0, 5, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0

static void a_name_that_is_none_makes_no_question(void **state)
{
    static const uint8_t pointer_to_itself[] = { HEAD, 0xc0, 12, 0, 1, 0, 1 };
    static const uint8_t pointer_after_label[] = { HEAD, 1, 'a', 0xc0, 12, 0, 1, 0, 1 };
    static const uint8_t pointer_to_header[] = { HEAD, 0xc0, 0, 0, 1, 0, 1 };
    static const uint8_t pointer_beyond[] = { HEAD, 0xff, 0xff, 0, 1, 0, 1 };
    static const uint8_t label_of_64[] = { HEAD, 64, 'a', 0, 0, 1, 0, 1 };
    static const uint8_t label_of_128[] = { HEAD, 128, 'a', 0, 0, 1, 0, 1 };
    static const uint8_t label_beyond[] = { HEAD, 63, 'a', 0, 0, 1, 0, 1 };
    static const uint8_t two_questions[] = { HEAD, 1, 'a', 0, 0, 1, 0, 1, 1, 'b', 0, 0, 1, 0, 1 };
    static const uint8_t no_class[] = { HEAD, 1, 'a', 0, 0, 1 };
    static const struct {
        const uint8_t *bytes;
        size_t len;
    } rows[] = {
        { pointer_to_itself, sizeof(pointer_to_itself) },
        { pointer_after_label, sizeof(pointer_after_label) },
        { pointer_to_header, sizeof(pointer_to_header) },
        { pointer_beyond, sizeof(pointer_beyond) },
        { label_of_64, sizeof(label_of_64) },
        { label_of_128, sizeof(label_of_128) },
        { label_beyond, sizeof(label_beyond) },
        { two_questions, sizeof(two_questions) },
        { no_class, sizeof(no_class) },
    };
    struct dns_question q;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct query query = { .len = 0 };

        query_add(&query, rows[i].bytes, rows[i].len);
        assert_int_equal(read_exactly(&query, &q), DNS_FORMERR);
    }
}

/* Four labels that make `wire` bytes with the root. */
static struct query query_of_length(size_t wire)
{
    struct query query = { .len = 0 };
    static const uint8_t head[] = { HEAD };
    uint8_t label[64];

    query_add(&query, head, sizeof(head));
    for (size_t left = wire - 1; left > 0; left -= (size_t)label[0] + 1) {
        memset(label, 'a', sizeof(label));
        label[0] = (uint8_t)(left > 64 ? 63 : left - 1);
        query_add(&query, label, (size_t)label[0] + 1);
    }
    query_add(&query, (uint8_t[]){ 0, 0, 1, 0, 1 }, 5);
    return query;
}

static void a_name_has_255_bytes_at_most(void **state)
{
    struct query longest = query_of_length(255), longer = query_of_length(256),
                 huge = query_of_length(700);
    struct dns_question q;

    assert_int_equal(read_exactly(&longest, &q), DNS_NOERROR);
    assert_true(q.canonical);
    assert_int_equal(strlen(q.name), 253);
    assert_int_equal(read_exactly(&longer, &q), DNS_FORMERR);
    assert_int_equal(read_exactly(&huge, &q), DNS_FORMERR);
}

static void a_message_beyond_the_maximum_is_turned_down(void **state)
{
    struct query query = query_make(7, "example.org", DNS_A);
    uint8_t *large = calloc(1, 65535);
    struct dns_question q;

    assert_non_null(large);
    memcpy(large, query.bytes, query.len);
    assert_int_equal(dns_wire_read(large, 65535, &q), DNS_FORMERR);
    assert_int_equal(dns_wire_read(large, query.len + 1, &q), DNS_FORMERR);
    assert_int_equal(dns_wire_read(large, query.len, &q), DNS_NOERROR);
    free(large);
}

#define BYTES(text) (text), sizeof(text) - 1

/* Labels are given as bytes with their lengths; what people see of them follows. */
static void a_name_with_other_bytes_is_not_canonical_but_shown(void **state)
{
    static const struct {
        const char *name;
        size_t len;
        const char *shown;
    } rows[] = {
        { BYTES(""), "." },
        { BYTES("\3a.b"), "a\\046b" },
        { BYTES("\13example.org"), "example\\046org" },
        { BYTES("\2a\0"), "a\\000" },
        { BYTES("\1a\2\n\x1b"), "a.\\010\\027" },
        { BYTES("\2\xc3\xa9"), "\\195\\169" },
        { BYTES("\3a b\1@"), "a\\032b.@" },
        { BYTES("\1\\"), "\\092" },
        { BYTES("\003127\0010\0010\0011"), "127.0.0.1" },
        { BYTES("\0040x7f"), "0x7f" },
        { BYTES("\2-a"), "-a" },
        { BYTES("\1*\7example"), "*.example" },
    };
    char shown[DNS_SHOWN_SIZE];
    struct dns_question q;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        static const uint8_t head[] = { HEAD };
        struct query query = { .len = 0 };

        query_add(&query, head, sizeof(head));
        query_add(&query, rows[i].name, rows[i].len);
        query_add(&query, (uint8_t[]){ 0, 0, 1, 0, 1 }, 5);
        assert_int_equal(read_exactly(&query, &q), DNS_NOERROR);
        assert_false(q.canonical);
        dns_wire_show(&q, shown);
        assert_string_equal(shown, rows[i].shown);
    }
}

static void what_is_shown_is_cut_at_its_end(void **state)
{
    struct query query = query_of_length(255);
    char shown[DNS_SHOWN_SIZE];
    struct dns_question q;

    for (size_t i = 0; i < 63; i++)
        query.bytes[DNS_HEADER + 1 + i] = 0xff;
    assert_int_equal(read_exactly(&query, &q), DNS_NOERROR);
    dns_wire_show(&q, shown);
    assert_in_range(strlen(shown), DNS_SHOWN_SIZE - 6, DNS_SHOWN_SIZE - 1);
}

static void an_answer_repeats_the_question_and_has_one_record(void **state)
{
    static const uint8_t record[] = { 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 30, 0, 4, 198, 18, 4, 0 };
    struct query query = query_make(0x1234, "ExAmple.org", DNS_A);
    uint8_t message[DNS_MAX_OWN_ANSWER];
    struct address address;
    struct dns_question q;
    size_t len;

    query_set16(&query, 2, 0x0110);
    assert_int_equal(read_exactly(&query, &q), DNS_NOERROR);
    assert_true(address_parse("198.18.4.0", &address));
    len = dns_wire_answer(&q, DNS_NOERROR, &address, message);
    assert_int_equal(len, query.len + sizeof(record));
    assert_memory_equal(message, ((uint8_t[]){ 0x12, 0x34, 0x81, 0x90, 0, 1, 0, 1, 0, 0, 0, 0 }),
                        DNS_HEADER);
    assert_memory_equal(message + DNS_HEADER, query.bytes + DNS_HEADER, query.len - DNS_HEADER);
    assert_memory_equal(message + query.len, record, sizeof(record));
    assert_true(address_parse("fd53:6272:1::7", &address));
    assert_int_equal(dns_wire_answer(&q, DNS_NOERROR, &address, message), query.len + 28);
    assert_memory_equal(message + query.len + 12, address.bytes, 16);
    assert_int_equal(dns_wire_answer(&q, DNS_NXDOMAIN, NULL, message), query.len);
    assert_int_equal(message_rcode(message), DNS_NXDOMAIN);
}

static void nothing_but_the_question_goes_on(void **state)
{
    static const uint8_t clean_opt[] = { 0, 0, 41, 16, 0, 0, 0, 0x80, 0, 0, 0 };
    struct query query = query_make(0x1234, "example.org", 16);
    uint8_t message[DNS_MAX_FORWARD];
    struct dns_question q;
    size_t plain = query.len;

    query_set16(&query, 2, 0x0130 | 0x0640); /* and bits that mean nothing in a query */
    query_set16(&query, 10, 1);
    query_add(&query, opt, sizeof(opt));
    assert_int_equal(read_exactly(&query, &q), DNS_NOERROR);
    assert_int_equal(dns_wire_forward(&q, 0xabcd, message), plain + sizeof(clean_opt));
    assert_memory_equal(message, ((uint8_t[]){ 0xab, 0xcd, 1, 0x10, 0, 1, 0, 0, 0, 0, 0, 1 }),
                        DNS_HEADER);
    assert_memory_equal(message + DNS_HEADER, query.bytes + DNS_HEADER, plain - DNS_HEADER);
    assert_memory_equal(message + plain, clean_opt, sizeof(clean_opt));
}

static void an_answer_from_outside_must_be_for_the_question(void **state)
{
    struct query query = query_make(0x1234, "ExAmple.org", 16), answer;
    struct dns_question q;

    assert_int_equal(read_exactly(&query, &q), DNS_NOERROR);
    answer = query_make(0xabcd, "example.ORG", 16);
    query_set16(&answer, 2, 0x8180);
    query_add(&answer, "whatever follows", 16);
    assert_true(dns_wire_accept(&q, 0xabcd, answer.bytes, answer.len));
    assert_int_equal(message_id(answer.bytes), 0x1234);
    assert_memory_equal(answer.bytes + DNS_HEADER, query.bytes + DNS_HEADER, q.len);

    assert_false(dns_wire_accept(&q, 0xabcd, answer.bytes, answer.len)); /* its id is another now */
    for (size_t len = 0; len < query.len; len++)
        assert_false(dns_wire_accept(&q, 0x1234, answer.bytes, len));
    assert_true(dns_wire_accept(&q, 0x1234, answer.bytes, query.len));
    query_set16(&answer, 2, 0x0100);
    assert_false(dns_wire_accept(&q, 0x1234, answer.bytes, answer.len));
    query_set16(&answer, 2, 0x9180);
    assert_false(dns_wire_accept(&q, 0x1234, answer.bytes, answer.len));
    answer = query_make(0xabcd, "example.org", 15);
    query_set16(&answer, 2, 0x8180);
    assert_false(dns_wire_accept(&q, 0xabcd, answer.bytes, answer.len));
    answer = query_make(0xabcd, "exbmple.org", 16);
    query_set16(&answer, 2, 0x8180);
    assert_false(dns_wire_accept(&q, 0xabcd, answer.bytes, answer.len));
}

static void a_reverse_name_is_an_address(void **state)
{
    static const struct {
        const char *name, *address;
    } rows[] = {
        { "1.0.18.198.in-addr.arpa", "198.18.0.1" },
        { "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.2.7.2.6.3.5.d.f.ip6.arpa",
          "fd53:6272::1" },
        { "0.18.198.in-addr.arpa", NULL },
        { "256.0.18.198.in-addr.arpa", NULL },
        { "1.1.0.18.198.in-addr.arpa", NULL },
        { "01.0.18.198.in-addr.arpa", NULL },
        { "f.1.ip6.arpa", NULL },
        { "g.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.2.7.2.6.3.5.d.f.ip6.arpa", NULL },
        { "in-addr.arpa", NULL },
        { "example.org", NULL },
    };
    struct address found, expected;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(dns_wire_reverse(rows[i].name, &found), rows[i].address != NULL);
        if (rows[i].address) {
            assert_true(address_parse(rows[i].address, &expected));
            assert_true(address_equal(&found, &expected));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_query_is_read),
        cmocka_unit_test(a_query_cut_anywhere_is_no_question),
        cmocka_unit_test(what_edns_adds_is_read_within_bounds),
        cmocka_unit_test(a_header_that_is_no_query_s_is_turned_down),
        cmocka_unit_test(a_name_that_is_none_makes_no_question),
        cmocka_unit_test(a_name_has_255_bytes_at_most),
        cmocka_unit_test(a_message_beyond_the_maximum_is_turned_down),
        cmocka_unit_test(a_name_with_other_bytes_is_not_canonical_but_shown),
        cmocka_unit_test(what_is_shown_is_cut_at_its_end),
        cmocka_unit_test(an_answer_repeats_the_question_and_has_one_record),
        cmocka_unit_test(nothing_but_the_question_goes_on),
        cmocka_unit_test(an_answer_from_outside_must_be_for_the_question),
        cmocka_unit_test(a_reverse_name_is_an_address),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
