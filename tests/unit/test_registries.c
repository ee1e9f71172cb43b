/* What the operator configured is opened, and what only looks like it is not. */
#include <stdio.h>
#include <stdlib.h>

#include "plan/language.h"
#include "toolchain/registries.h"
#include "unit.h"

#define MAX_TEXT (1 << 20)

static struct network network;
static struct stage_def stage;
static sbr_error err;

static int set_up(void **state)
{
    (void)state;
    network = (struct network){ .mode = NETWORK_ALLOW };
    stage = (struct stage_def){ .network = true };
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    network_done(&network);
    return 0;
}

static int find(const char *data, size_t len)
{
    struct buf text;
    int r;

    buf_init(&text, MAX_TEXT);
    registries_add_text(&text, data, len);
    r = registries_find(&stage, text.data ? text.data : "", &network, &err);
    buf_done(&text);
    return r;
}

/* The rules as "name:port name:port", in their order. */
static const char *found_in(const char *text)
{
    static char list[4096];
    size_t used = 0;

    network_done(&network);
    network = (struct network){ .mode = NETWORK_ALLOW };
    assert_int_equal(find(text, strlen(text)), 0);
    list[0] = '\0';
    for (size_t i = 0; i < network.n_rules; i++) {
        const struct host_rule *rule = &network.rules[i];
        char address[ADDRESS_TEXT_SIZE];

        assert_true(rule->anywhere);
        assert_true(rule->port != 0);
        used +=
            (size_t)snprintf(list + used, sizeof(list) - used, "%s%s%s:%u", i ? " " : "",
                             rule->kind == HOST_BELOW ? "*." : "",
                             rule->kind == HOST_NETWORK ? address_format(&rule->network, address)
                                                        : rule->name,
                             rule->port);
    }
    return list;
}

static void every_client_is_understood(void **state)
{
    static const struct {
        const char *text, *hosts;
    } cases[] = {
        { "[global]\nindex-url = https://me:secret@pip.corp.example/simple\n",
          "pip.corp.example:443" },
        { "PIP_EXTRA_INDEX_URL=https://a.example/x http://b.example:8080/y",
          "a.example:443 b.example:8080" },
        { "registry=https://npm.corp.example/\n@team:registry=https://team.example:4873/\n",
          "npm.corp.example:443 team.example:4873" },
        { "//npm.corp.example/:_authToken=abc\n", "" },
        { "GOPROXY=https://go.example|http://second.example:81,direct",
          "go.example:443 second.example:81" },
        { "GOPROXY=go.example,direct", "go.example:443" },
        { "GOSUMDB=sum.corp.example+033de0ae+Ac4z https://sum.example",
          "sum.example:443 sum.corp.example:443" },
        { "GOSUMDB=off", "" },
        { "GOPROXY=direct", "" },
        { "GOPRIVATE=*.corp.example,git.example/team", "*.corp.example:443 git.example:443" },
        { "[registries.ours]\nindex = \"sparse+https://crates.example/index/\"\n",
          "crates.example:443" },
        { "[http]\nproxy = \"me:pw@squid.example:3128\"\n", "squid.example:3128" },
        { "http_proxy=squid:3128", "squid:3128" },
        { "HTTPS_PROXY=http://u:p@squid.example:3128", "squid.example:3128" },
        { "all_proxy=socks5h://127.0.0.1:9050", "127.0.0.1:9050" },
        { "all_proxy=socks5://tor.example", "tor.example:1080" },
        { "no_proxy=intern.example,10.0.0.1", "" },
        { "proxy = null", "" },
        { "PIP_INDEX_URL=http://localhost:3141/root/pypi", "localhost:3141" },
        { "PIP_INDEX_URL=http://[fd00::1]:3141/", "fd00::1:3141" },
        { "PIP_INDEX_URL=http://[::1]:3141/", "::1:3141" },
        { "MAVEN_OPTS=-Xmx1g -Dhttps.proxyHost=squid.example -Dhttps.proxyPort=3128 "
          "-Dhttp.nonProxyHosts=*.x.example",
          "squid.example:3128" },
        { "SANDBOX_RUN_REGISTRIES=cdn.example, other.example:8443",
          "cdn.example:443 other.example:8443" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_string_equal(found_in(cases[i].text), cases[i].hosts);
}

static void settings_of_maven_are_understood(void **state)
{
    (void)state;
    assert_string_equal(
        found_in("<?xml version=\"1.0\"?>\n<!-- see https://docs.example/ -->\n"
                 "<settings xmlns=\"http://maven.example/SETTINGS\"\n"
                 "  xsi:schemaLocation='http://maven.example/a > http://maven.example/b'>\n"
                 "<mirrors><mirror><mirrorOf>*</mirrorOf>\n<url>\nhttps://m.example/all\n</url></"
                 "mirror></mirrors>\n"
                 "<proxies><proxy><protocol>http</protocol><host>squid.example</host><port>3128</"
                 "port></proxy>\n"
                 "<proxy><port>81</port><host>second.example</host></proxy>\n"
                 "<proxy><port>82</port><host>third.example</host></proxy>\n"
                 "<proxy><host> fourth.example </host></proxy></proxies>\n"
                 "<!-- <url>https://not.example/</url> "),
        "m.example:443 squid.example:3128 second.example:81 "
        "third.example:82 fourth.example:8080");
}

static void what_no_client_reads_opens_nothing(void **state)
{
    static const char *const texts[] = {
        "# index-url = https://old.example/\n; https://older.example\n",
        "registry = \"x\" # or https://old.example/\n",
        "-----BEGIN CERTIFICATE-----\nhttps://ca.example/\n",
        "ftp://files.example/ file:///etc/passwd git://g.example ssh://git@h.example",
        "javascript://x.example",
        "xhttps://joined.example",
        "https://",
        "https:///path",
        "https://@/",
        "https://:443/",
        "https://host.example:0/",
        "https://host.example:65536/",
        "https://host.example:-1/",
        "https://host.example:443x/",
        "https://${HOST}/",
        "https://*/",
        "https://h\xc3\xb6st.example/",
        "https://host%2eexample/",
        "https://0x7f000001/ https://2130706433/ https://0177.0.0.1/ https://127.1/",
        "https://[::1/ https://[]/ https://[::1]x/ https://[fe80::1%eth0]/",
        "http://0.0.0.0/ http://0.0.0.0:8080/ http://[::]/ http://[::ffff:0.0.0.0]/",
        "https://-.-/ https://a..b/ https://.../",
        "://host.example",
        "http_proxy=",
        "http_proxy==",
        "=https",
        "http_proxy",
        "<host></host><port>99999</port>",
        "proxyHost=x proxyPort=99999",
        "<",
        "<!--",
        "<a href=\"https://attribute.example/\"/>",
        "",
        "\n\n\n",
        "\xef\xbb\xbf",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_string_equal(found_in(texts[i]), "");
}

static void a_name_is_never_more_than_its_own(void **state)
{
    (void)state;
    assert_string_equal(found_in("x=https://good.example\\@evil.example/"), "good.example:443");
    assert_string_equal(found_in("x=https://good.example#@evil.example/"), "good.example:443");
    assert_string_equal(found_in("x=https://good.example?@evil.example/"), "good.example:443");
    assert_string_equal(found_in("x=https://evil.example@good.example/"), "good.example:443");
    assert_string_equal(found_in("x=https://a@b@GOOD.example./"), "good.example:443");
    assert_string_equal(found_in("x=https://good.example/ y=https://GOOD.example:443/z"),
                        "good.example:443");
}

static void bytes_of_every_kind_are_survived(void **state)
{
    static char text[4096];

    (void)state;
    assert_int_equal(find("a\0https://zero.example/\0b", 25), 0);
    assert_int_equal(network.n_rules, 1);
    for (int byte = 0; byte < 256; byte++) {
        memset(text, byte, sizeof(text));
        memcpy(text + 2000, "https://", 8);
        assert_int_equal(find(text, sizeof(text)), 0);
        memcpy(text, "http_proxy=", 11);
        assert_int_equal(find(text, sizeof(text)), 0);
        text[0] = '<';
        assert_int_equal(find(text, sizeof(text)), 0);
    }
}

static void a_long_text_takes_no_time_and_too_many_hosts_are_refused(void **state)
{
    char *text = malloc(MAX_TEXT);
    size_t used = 0;

    (void)state;
    assert_non_null(text);
    while (used < MAX_TEXT / 16)
        used += (size_t)sprintf(text + used, "<host>:</host>");
    assert_int_equal(find(text, used), 0);
    assert_int_equal(network.n_rules, 0);
    used = 0;
    for (int i = 0; i <= NETWORK_MAX_RULES; i++)
        used += (size_t)sprintf(text + used, "https://h%d.example/\n", i);
    assert_true(find(text, used) < 0);
    assert_int_equal(network.n_rules, NETWORK_MAX_RULES);
    free(text);
}

static void defaults_are_replaced_and_come_back(void **state)
{
    struct registry registries[] = {
        { .host = "plain.example" },
        { .host = "index.example:8080", .unless = "^index=" },
        { .host = "files.example", .unless = "^index=", .when = "//index[.]example" },
        { .host = "only.example", .when = "^also=" },
    };

    (void)state;
    stage.registries = registries;
    stage.n_registries = ARRAY_LEN(registries);
    assert_string_equal(found_in(""), "plain.example:443 index.example:8080 files.example:443");
    assert_string_equal(found_in("x=1\nINDEX=https://own.example"),
                        "plain.example:443 own.example:443");
    assert_string_equal(found_in("index=https://index.example/"),
                        "plain.example:443 files.example:443 index.example:443");
    assert_string_equal(found_in("index=x\nalso=1"), "plain.example:443 only.example:443");
    assert_string_equal(found_in("# index=https://own.example\n"),
                        "plain.example:443 index.example:8080 files.example:443");
}

static void languages_replace_theirs(void **state)
{
    static const struct {
        const char *language, *text, *hosts;
    } cases[] = {
        { "python", "", "pypi.org:443 files.pythonhosted.org:443" },
        { "python", "[global]\n index-url=https://own.example/\n", "own.example:443" },
        { "python", "PIP_INDEX_URL=https://own.example/", "own.example:443" },
        { "python", "PIP_NO_INDEX=1", "" },
        { "python", "PIP_INDEX_URL=https://pypi.org/simple",
          "files.pythonhosted.org:443 pypi.org:443" },
        { "python", "extra-index-url = https://own.example/",
          "pypi.org:443 files.pythonhosted.org:443 own.example:443" },
        { "javascript", "", "registry.npmjs.org:443" },
        { "javascript", "npm_config_registry=https://own.example", "own.example:443" },
        { "javascript", "@team:registry=https://own.example",
          "registry.npmjs.org:443 own.example:443" },
        { "typescript", "registry = https://own.example", "own.example:443" },
        { "go", "", "proxy.golang.org:443 sum.golang.org:443" },
        { "go", "GOPROXY=direct\nGOSUMDB=off", "" },
        { "go", "GOPROXY=https://own.example\nGOSUMDB=sum.golang.org",
          "sum.golang.org:443 own.example:443" },
        { "rust", "", "index.crates.io:443 static.crates.io:443" },
        { "rust",
          "[source.crates-io]\nreplace-with = \"own\"\n[source.own]\nregistry = "
          "\"sparse+https://own.example/\"",
          "own.example:443" },
        { "rust", "[registries.own]\nindex = \"sparse+https://own.example/\"",
          "index.crates.io:443 static.crates.io:443 own.example:443" },
        { "java", "", "repo.maven.apache.org:443" },
        { "java", "<settings><mirrorOf>*</mirrorOf><url>https://own.example/</url></settings>",
          "own.example:443" },
        { "java",
          "<settings><mirrorOf>*,!central</mirrorOf><url>https://own.example/</url></settings>",
          "repo.maven.apache.org:443 own.example:443" },
        { "java",
          "<settings><mirrorOf>external:http:*</mirrorOf><url>http://0.0.0.0/</url></settings>",
          "repo.maven.apache.org:443" },
        { "java", "<settings><mirrorOf>other, central</mirrorOf></settings>", "" },
        { "java", "<settings><mirrorOf>other</mirrorOf></settings>", "repo.maven.apache.org:443" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct language *language = language_find(cases[i].language);

        assert_non_null(language);
        stage = language->install;
        assert_string_equal(found_in(cases[i].text), cases[i].hosts);
    }
}

/* What is left of a configuration when its credentials are gone. */
static void credentials_are_left_out(void **state)
{
    static const struct {
        const char *with, *without;
    } rows[] = {
        { "index-url = https://user:pw@a.example/simple\n",
          "index-url = https://a.example/simple\n" },
        { "PIP_INDEX_URL=https://token@a.example:8443/x",
          "PIP_INDEX_URL=https://a.example:8443/x" },
        { "git+ssh://git@a.example/x", "git+ssh://a.example/x" },
        { "https://a.example/@scope/name", "https://a.example/@scope/name" },
        { "https://u:p@a.example,https://v:q@b.example|direct",
          "https://a.example,https://b.example|direct" },
        { "http_proxy=u:p=w@proxy.example:3128", "http_proxy=proxy.example:3128" },
        { "no_proxy=localhost,127.0.0.1,::1", "no_proxy=localhost,127.0.0.1,::1" },
        { "@scope:registry=https://a.example/\n", "@scope:registry=https://a.example/\n" },
        { "//a.example/:_authToken=abc\nregistry=https://a.example",
          "//a.example/:_authToken\nregistry=https://a.example" },
        { "//a.example/:_password=\"a b\" x", "//a.example/:_password x" },
        { "_auth = abc==\nx=1\n", "_auth\nx=1\n" },
        { "always-auth=true\n", "always-auth=true\n" },
        { "password = with blanks in it\nnext = 1", "password\nnext = 1" },
        { "[registries]\nmine = { index = \"https://a.example\", token = \"x y\" }\n",
          "[registries]\nmine = { index = \"https://a.example\", token }\n" },
        { "token = \"\"\"\nabc\n\"\"\"\nx = 1", "token\nx = 1" },
        { "<server><id>a</id><username>u</username><password>\np w\n</password></server>",
          "<server><id>a</id><username>u</username><password</password></server>" },
        { "-Dhttp.proxyPassword=x -Dmirror=https://b.example",
          "-Dhttp.proxyPassword -Dmirror=https://b.example" },
        { "extraheader = Authorization: Basic abc def\nx", "extraheader = Authorization\nx" },
        { "https://a.example/?private_token=abc", "https://a.example/?private_token" },
        { "ca=\"-----BEGIN CERTIFICATE-----\\nAB\\n-----END CERTIFICATE-----\"\nregistry=r\n",
          "ca=\"\nregistry=r\n" },
        { "-----BEGIN PRIVATE KEY-----\nAB", "" },
        { "token", "token" },
        { "token=", "token" },
        { "password>", "password" },
        { "://@", "://" },
        { "", "" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct buf text;

        buf_init(&text, MAX_TEXT);
        registries_add_plain(&text, rows[i].with, strlen(rows[i].with));
        assert_string_equal(text.data ? text.data : "", rows[i].without);
        buf_done(&text);
    }
    assert_true(registries_is_secret_file("/work/.netrc"));
    assert_true(registries_is_secret_file("/work/.cargo/credentials"));
    assert_false(registries_is_secret_file("/work/.cargo/config.toml"));
    assert_false(registries_is_secret_file(".npmrc"));
}

#define REGISTRIES_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        REGISTRIES_TEST(every_client_is_understood),
        REGISTRIES_TEST(settings_of_maven_are_understood),
        REGISTRIES_TEST(what_no_client_reads_opens_nothing),
        REGISTRIES_TEST(a_name_is_never_more_than_its_own),
        REGISTRIES_TEST(bytes_of_every_kind_are_survived),
        REGISTRIES_TEST(a_long_text_takes_no_time_and_too_many_hosts_are_refused),
        REGISTRIES_TEST(defaults_are_replaced_and_come_back),
        REGISTRIES_TEST(languages_replace_theirs),
        REGISTRIES_TEST(credentials_are_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
