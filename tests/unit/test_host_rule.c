#include <stdio.h>

#include "model/network.h"
#include "unit.h"

#define LABEL_63 "a23456789-b23456789-c23456789-d23456789-e23456789-f23456789-abc"

/* clang-format off */
static const struct {
    const char *text;
    enum host_rule_kind kind;
    const char *host; /* the name, or the network */
    unsigned int prefix;
    uint16_t port;
} good[] = {
    { "example.org",              HOST_NAME,    "example.org",  0, 0 },
    { "Example.ORG.",             HOST_NAME,    "example.org",  0, 0 },
    { "example.org:443",          HOST_NAME,    "example.org",  0, 443 },
    { "example.org.:443",         HOST_NAME,    "example.org",  0, 443 },
    { "example.org:1",            HOST_NAME,    "example.org",  0, 1 },
    { "example.org:65535",        HOST_NAME,    "example.org",  0, 65535 },
    { "xn--bcher-kva.example",    HOST_NAME,    "xn--bcher-kva.example", 0, 0 },
    { "build_host:80",            HOST_NAME,    "build_host",   0, 80 },
    { "localhost:8080",           HOST_NAME,    "localhost",    0, 8080 },
    { "LOCALHOST.:8080",          HOST_NAME,    "localhost",    0, 8080 },
    { "notlocalhost",             HOST_NAME,    "notlocalhost", 0, 0 },
    { "*.example.org",            HOST_BELOW,   "example.org",  0, 0 },
    { "*.Example.org:443",        HOST_BELOW,   "example.org",  0, 443 },
    { "*.com",                    HOST_BELOW,   "com",          0, 0 },
    { "10.0.0.5",                 HOST_NETWORK, "10.0.0.5",     128, 0 },
    { "10.0.0.5:5432",            HOST_NETWORK, "10.0.0.5",     128, 5432 },
    { "10.0.0.0/8",               HOST_NETWORK, "10.0.0.0",     104, 0 },
    { "10.0.0.0/8:443",           HOST_NETWORK, "10.0.0.0",     104, 443 },
    { "8.8.8.8/32",               HOST_NETWORK, "8.8.8.8",      128, 0 },
    { "0.0.0.0/0",                HOST_NETWORK, "0.0.0.0",      96, 0 },
    { "::/0",                     HOST_NETWORK, "::",           0, 0 },
    { "2606:4700::1111",          HOST_NETWORK, "2606:4700::1111", 128, 0 },
    { "[2606:4700::1111]",        HOST_NETWORK, "2606:4700::1111", 128, 0 },
    { "[2606:4700::1111]:53",     HOST_NETWORK, "2606:4700::1111", 128, 53 },
    { "fd00::/8",                 HOST_NETWORK, "fd00::",       8, 0 },
    { "[fd00::/8]:443",           HOST_NETWORK, "fd00::",       8, 443 },
    { "::ffff:10.0.0.5",          HOST_NETWORK, "10.0.0.5",     128, 0 },
    { "::ffff:10.0.0.0/104",      HOST_NETWORK, "10.0.0.0",     104, 0 },
    { "::ffff:0:0/96",            HOST_NETWORK, "0.0.0.0",      96, 0 },
    { "127.0.0.1:80",             HOST_NETWORK, "127.0.0.1",    128, 80 },
    { "127.0.0.0/8:80",           HOST_NETWORK, "127.0.0.0",    104, 80 },
    { "[::1]:80",                 HOST_NETWORK, "::1",          128, 80 },
    { "169.254.169.254:80",       HOST_NETWORK, "169.254.169.254", 128, 80 },
    { "240.0.0.0/4",              HOST_NETWORK, "240.0.0.0",    100, 0 },
    { "64:ff9b::/96",             HOST_NETWORK, "64:ff9b::",    96, 0 },
};

static const struct {
    const char *text, *reason;
} bad[] = {
    { "",                         "is empty" },
    { ":443",                     "has no host" },
    { ":",                        "port that is not a number" },
    { "*",                        "choose the network mode full" },
    { "*:443",                    "choose the network mode full" },
    { "*.",                       "is no host name" },
    { "*example.org",             "elsewhere than in front" },
    { "www.*.example.org",        "elsewhere than in front" },
    { "*.*.example.org",          "elsewhere than in front" },
    { "example.*",                "elsewhere than in front" },
    { "https://example.org",      "give only the host, as in example.org:443" },
    { "https://example.org:443/x", "give only the host, as in example.org:443" },
    { "example.org/path",         "give only the host, as in example.org:443" },
    { "example.org:443/path",     "port that is not a number" },
    { "example.org?x",            "give only the host" },
    { "example.org#x",            "give only the host" },
    { "user@example.org",         "names a user" },
    { "user:secret@example.org",  "names a user" },
    { "example.org,example.net",  "once for each host" },
    { "a%2eb.example",            "has a '%'" },
    { "fe80::1%eth0",             "has a '%'" },
    { "b\xc3\xbc" "cher.example", "(xn--...)" },
    { "\xff.example",             "(xn--...)" },
    { "exam ple.org",             "a space or a control character" },
    { "example.org\n",            "a space or a control character" },
    { "example.org\x7f",          "a space or a control character" },
    { "\x1b[31m.example",         "a space or a control character" },
    { "example.org:",             "from 1 to 65535" },
    { "example.org:0",            "from 1 to 65535" },
    { "example.org:65536",        "from 1 to 65535" },
    { "example.org:99999999999999999999", "from 1 to 65535" },
    { "example.org:-1",           "from 1 to 65535" },
    { "example.org:+1",           "from 1 to 65535" },
    { "example.org:080",          "from 1 to 65535" },
    { "example.org:http",         "from 1 to 65535" },
    { "example.org:*",            "leave it out for every port" },
    { "example.org:80:90",        "is no address" },
    { "example..org",             "is no host name" },
    { "example.org..",            "is no host name" },
    { ".example.org",             "is no host name" },
    { "-a.example",               "is no host name" },
    { "a-.example",               "is no host name" },
    { "a\\b",                     "is no host name" },
    { "a[b",                      "is no host name" },
    { LABEL_63 "x.example",       "is no host name" },
    { LABEL_63 "." LABEL_63 "." LABEL_63 "." LABEL_63, "is no host name" },
    { LABEL_63 "." LABEL_63 "." LABEL_63 "." LABEL_63 "." LABEL_63, "longer than any" },
    { "127.1",                    "write four decimal numbers" },
    { "127.1:80",                 "write four decimal numbers" },
    { "0177.0.0.1",               "write four decimal numbers" },
    { "2130706433",               "write four decimal numbers" },
    { "0x7f000001",               "write four decimal numbers" },
    { "0X7F.1",                   "write four decimal numbers" },
    { "1.2.3.4.",                 "write four decimal numbers" },
    { "256.0.0.1",                "write four decimal numbers" },
    { "*.127.0.0.1",              "write four decimal numbers" },
    { "10.0.0.1/8",               "the network is 10.0.0.0/8" },
    { "10.0.0.1/8:443",           "the network is 10.0.0.0/8" },
    { "fd00::1/8",                "the network is fd00::/8" },
    { "::ffff:10.0.0.1/104",      "the network is 10.0.0.0/8" },
    { "::ffff:0:0/90",            "has bits set behind its prefix" },
    { "10.0.0.0/33",              "from 0 to 32" },
    { "10.0.0.0/",                "from 0 to 32" },
    { "10.0.0.0/08",              "from 0 to 32" },
    { "10.0.0.0/8/8",             "from 0 to 32" },
    { "10.0.0.0/-1",              "from 0 to 32" },
    { "10.0.0.0/255.0.0.0",       "from 0 to 32" },
    { "fd00::/129",               "from 0 to 128" },
    { "fd00::/x",                 "from 0 to 128" },
    { "10.0/8",                   "has a path in it or is no range" },
    { "[::1",                     "brackets" },
    { "::1]:80",                  "is no address" },
    { "[[::1]]:80",               "brackets" },
    { "[::1]80",                  "brackets" },
    { "[fd00::]/8:443",           "brackets" },
    { "[]:80",                    "has no host" },
    { "[example.org]:80",         "is no address" },
    { "[::1]:",                   "from 1 to 65535" },
    { "localhost",                "needs a port" },
    { "LocalHost.",               "needs a port" },
    { "127.0.0.1",                "needs a port" },
    { "127.0.0.0/8",              "needs a port" },
    { "0.0.0.0",                  "needs a port" },
    { "::1",                      "needs a port" },
    { "[::1]",                    "needs a port" },
    { "::",                       "needs a port" },
    { "::ffff:127.0.0.1",         "needs a port" },
    { "*.localhost:80",           "below localhost" },
    { "app.localhost:80",         "below localhost" },
    { "*.app.localhost",          "below localhost" },
    { "224.0.0.1",                "never passed on" },
    { "255.255.255.255:9",        "never passed on" },
    { "ff02::/16",                "never passed on" },
    { ".",                          "is no host name" },
    { "..",                         "is no host name" },
    { "**.org",                     "elsewhere than in front" },
    { "w*b.example.org",            "elsewhere than in front" },
    { "*.93.184.216.34",            "write four decimal numbers" },
    { " web.example.org",           "a space or a control character" },
    { "web.example.org ",           "a space or a control character" },
    { "web.example.org\t:80",       "a space or a control character" },
    { "web\x01.example.org",        "a space or a control character" },
    { "web.ex\xc3\xa4mple.org",     "(xn--...)" },
    { "xn--\xe2\x98\x83.org",       "(xn--...)" },
    { "web\xe3\x80\x82" "example\xe3\x80\x82org", "(xn--...)" },
    { "\xef\xbd\x85xample.org",     "(xn--...)" },
    { "http://example.org",         "give only the host, as in example.org:443" },
    { "[example.org",               "brackets" },
    { "example.org]",               "is no host name" },
    { "::1%lo",                     "has a '%'" },
    { "[fe80::1%eth0]:80",          "has a '%'" },
    { "example.org:+80",            "from 1 to 65535" },
    { "example.org:080x",           "from 1 to 65535" },
    { "example.org: 80",            "a space or a control character" },
    { "0177.0.0.1:80",              "write four decimal numbers" },
    { "0x7f.0.0.1:80",              "write four decimal numbers" },
    { "2130706433:80",              "write four decimal numbers" },
    { "127.0.0.01:80",              "write four decimal numbers" },
    { "127.0.0.256:80",             "write four decimal numbers" },
    { "1.2.3:80",                   "write four decimal numbers" },
    { "1.2.3.4.5",                  "write four decimal numbers" },
    { "10.0.0.0/0x8",               "from 0 to 32" },
    { "10.0.0.0/ 8",                "a space or a control character" },
    { "10/8",                       "give only the host, as in example.org:443" },
    { "fd00::/",                    "from 0 to 128" },
    { "[fd00::/8",                  "brackets" },
    { "fd00:::/8",                  "give only the host, as in example.org:443" },
    { "1::2::3",                    "is no address" },
    { "12345::",                    "is no address" },
    { "example.org;id",             "is no host name" },
    { "$(id).org",                  "is no host name" },
    { "`id`.org",                   "is no host name" },
    { "-\\.org",                    "is no host name" },
    { "%2e.org",                    "has a '%'" },
    { "example.org%00.evil.net",    "has a '%'" },
    { "\\x00.org",                  "is no host name" },
    { " ",                          "a space or a control character" },
    { LABEL_63 "." LABEL_63 "." LABEL_63 "." LABEL_63 "." LABEL_63 ":80", "longer than any" },
};
/* clang-format on */

static void a_rule_is_a_name_or_a_network_and_a_port(void **state)
{
    struct host_rule rule;
    char text[ADDRESS_TEXT_SIZE];
    sbr_error err;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        if (host_rule_parse(good[i].text, &rule, &err) < 0)
            fail_msg("%s", err.message);
        assert_int_equal(rule.kind, good[i].kind);
        assert_int_equal(rule.port, good[i].port);
        assert_int_equal(rule.prefix, good[i].prefix);
        assert_string_equal(rule.text, good[i].text);
        assert_string_equal(rule.kind == HOST_NETWORK ? address_format(&rule.network, text)
                                                      : rule.name,
                            good[i].host);
        assert_false(rule.anywhere);
    }
}

static void a_bad_rule_is_refused_with_the_way_to_say_it_right(void **state)
{
    struct host_rule rule, before;
    sbr_error err;

    (void)state;
    memset(&rule, 0x5a, sizeof(rule));
    before = rule;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        if (host_rule_parse(bad[i].text, &rule, &err) == 0)
            fail_msg("'%s' was taken", bad[i].text);
        assert_refused(err.code, &err, SBR_E_INVALID, bad[i].reason);
        assert_string_equal(err.stage, "network");
        assert_memory_equal(&rule, &before, sizeof(rule));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rule_is_a_name_or_a_network_and_a_port),
        cmocka_unit_test(a_bad_rule_is_refused_with_the_way_to_say_it_right),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
