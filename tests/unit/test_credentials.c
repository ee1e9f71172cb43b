/* What the clients' files and variables say of credentials goes to the way out, and what is left has
 * none of it. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/scope.h"
#include "base/text.h"
#include "toolchain/credentials.h"
#include "unit.h"

#define MAX_TEXT (1 << 20)

static struct secrets found;
static struct buf left;
static sbr_error err;

static int set_up(void **state)
{
    (void)state;
    unsetenv("PIP_INDEX_URL");
    buf_init(&left, MAX_TEXT);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    secrets_done(&found);
    buf_done(&left);
    return 0;
}

/* All that was found, as "HEADER: VALUE @ HOST:PORT". */
static const char *list_found(void)
{
    static char text[4096];
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < found.n; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s: %s @ %s%s", i ? "\n" : "",
                                 found.at[i].use == SECRET_CERTIFICATE ? "certificate"
                                                                       : found.at[i].header,
                                 found.at[i].use == SECRET_CERTIFICATE ? "" : found.at[i].value,
                                 found.at[i].hosts[0].text, found.at[i].plain ? " plain" : "");
    if (found.proxy.host[0])
        snprintf(text + used, sizeof(text) - used, "%sproxy %s@%s:%u", used ? "\n" : "",
                 found.proxy.credentials ? found.proxy.credentials : "", found.proxy.host,
                 found.proxy.port);
    return text;
}

static void take(enum credential_form form, const char *text)
{
    secrets_done(&found);
    buf_done(&left);
    buf_init(&left, MAX_TEXT);
    assert_int_equal(credentials_take(form, text, strlen(text), &found, &left, &err), 0);
}

static void every_form_is_understood(void **state)
{
    static const struct {
        enum credential_form form;
        const char *text, *left, *found;
    } cases[] = {
        { FORM_PIP, "[global]\nindex-url = https://me:s3cret@pip.example/simple\n",
          "[global]\nindex-url = https://pip.example/simple\n",
          "Authorization: Basic bWU6czNjcmV0 @ pip.example:443" },
        { FORM_PIP,
          "[global]\nextra-index-url =\n  http://me:s3cret@a.example/x\n  https://b.example\n",
          "[global]\nextra-index-url =\n  http://a.example/x\n  https://b.example\n",
          "Authorization: Basic bWU6czNjcmV0 @ a.example:80 plain" },
        { FORM_PIP, "[global]\nproxy = http://me:s3cret@squid.example:3128\nretries = 1\n",
          "[global]\nretries = 1\n", "proxy me:s3cret@squid.example:3128" },
        { FORM_PIP, "[global]\nindex-url = https://tok%65n@pip.example:8443/simple\n",
          "[global]\nindex-url = https://pip.example:8443/simple\n",
          "Authorization: Basic dG9rZW46 @ pip.example:8443" },
        { FORM_NPM,
          "registry=https://npm.example/\n//npm.example/:_authToken=npm_s3cret\nfund=false\n",
          "registry=https://npm.example/\nfund=false\n",
          "Authorization: Bearer npm_s3cret @ npm.example:443" },
        { FORM_NPM, "//npm.example:4873/:_auth=\"bWU6czNjcmV0\"\n", "",
          "Authorization: Basic bWU6czNjcmV0 @ npm.example:4873" },
        { FORM_NPM, "//npm.example/:username=me\n//npm.example/:_password=czNjcmV0\n", "",
          "Authorization: Basic bWU6czNjcmV0 @ npm.example:443" },
        { FORM_NPM, "registry = https://npm.example/\n_authToken = npm_s3cret\n",
          "registry = https://npm.example/\n",
          "Authorization: Bearer npm_s3cret @ npm.example:443" },
        { FORM_NPM, "proxy=null\nhttps-proxy=http://squid.example:3128/\n", "",
          "proxy @squid.example:3128" },
        { FORM_NPM, "//npm.example/:_authToken=${CREDENTIAL_TEST}\n", "",
          "Authorization: Bearer npm_fr0m_env @ npm.example:443" },
        { FORM_CARGO,
          "[registries.ours]\nindex = \"sparse+https://crates.example/i/\"\n"
          "token = \"Bearer s3cret\" # ours\n[net]\nretry = 2\n",
          "[registries.ours]\nindex = \"sparse+https://crates.example/i/\"\n"
          "token = \"outside\"\n[net]\nretry = 2\n",
          "Authorization: Bearer s3cret @ crates.example:443" },
        { FORM_CARGO, "[http]\nproxy = \"me:s3cret@squid.example:3128\"\n", "[http]\n",
          "proxy me:s3cret@squid.example:3128" },
        { FORM_CARGO_TOKENS, "[registries.ours]\ntoken = 's3cret'\n",
          "[registries.ours]\ntoken = \"outside\"\n", "" },
        { FORM_CARGO, "[registry]\nglobal-credential-providers = [\"cargo:token\"]\n",
          "[registry]\nglobal-credential-providers = [\"cargo:token\"]\n", "" },
        { FORM_GEM, ":sources:\n- https://me:s3cret@gems.example/\n:rubygems_api_key: s3cret\n",
          ":sources:\n- https://gems.example/\n",
          "Authorization: Basic bWU6czNjcmV0 @ gems.example:443" },
        { FORM_MAVEN,
          "<settings><!-- <servers> --><servers><server><id>m</id><username>me</username>"
          "<password>s3&amp;cret</password></server></servers><mirrors><mirror><id>m</id>"
          "<url>https://maven.example/all</url></mirror></mirrors></settings>",
          "<settings><mirrors><mirror><id>m</id><url>https://maven.example/all</url></mirror>"
          "</mirrors></settings>",
          "Authorization: Basic bWU6czMmY3JldA== @ maven.example:443" },
        { FORM_MAVEN,
          "<settings><proxies><proxy><active>true</active><host>squid.example</host><port>3128</"
          "port>"
          "<username>me</username><password>s3@cret</password></proxy></proxies></settings>",
          "<settings></settings>", "proxy me:s3@cret@squid.example:3128" },
        { FORM_MAVEN,
          "<settings><servers><server><id>g</id><configuration><httpHeaders><property><name>"
          "Job-Token</name><value>s3cret</value></property></httpHeaders></configuration></server>"
          "</servers><profiles><profile><repositories><repository><id>g</id><url>"
          "https://git.example/maven</url></repository></repositories></profile></profiles></"
          "settings>",
          "<settings><profiles><profile><repositories><repository><id>g</id><url>"
          "https://git.example/maven</url></repository></repositories></profile></profiles></"
          "settings>",
          "Job-Token: s3cret @ git.example:443" },
        { FORM_COMPOSER,
          "{\"http-basic\": {\"repo.example\": {\"username\": \"me\", "
          "\"password\": \"s3cret\"}}, \"bearer\": {\"b.example\": \"s3\\\"c\"}}",
          "",
          "Authorization: Basic bWU6czNjcmV0 @ repo.example:443\n"
          "Authorization: Bearer s3\"c @ b.example:443" },
        { FORM_COMPOSER,
          "{\"config\": {\"secure-http\": false, \"github-oauth\": "
          "{\"github.com\": \"gho_s3cret\"}}, \"repositories\": []}",
          "{\"config\": {\"secure-http\": false}, \"repositories\": []}",
          "Authorization: Bearer gho_s3cret @ api.github.com:443" },
        { FORM_NETRC, "machine go.example login me password s3cret\ndefault login x password y\n",
          "", "Authorization: Basic bWU6czNjcmV0 @ go.example:443" },
        { FORM_SECRET, "<settingsSecurity><master>{x}</master></settingsSecurity>", "", "" },
        { FORM_TEXT, "options(repos = c(X = \"https://me:s3cret@cran.example\"))\n",
          "options(repos = c(X = \"https://cran.example\"))\n",
          "Authorization: Basic bWU6czNjcmV0 @ cran.example:443" },
        { FORM_TEXT, "ssh://git@git.example/x git@git.example:x a@b\n",
          "ssh://git@git.example/x git@git.example:x a@b\n", "" },
        { FORM_TEXT, "go.example,me:s3cret@two.example/x,direct", "go.example,two.example/x,direct",
          "Authorization: Basic bWU6czNjcmV0 @ two.example:443" },
        { FORM_TEXT, "a\n-----BEGIN PRIVATE KEY-----\nxyz\n-----END PRIVATE KEY-----\nb\n",
          "a\n\nb\n", "" },
    };

    (void)state;
    setenv("CREDENTIAL_TEST", "npm_fr0m_env", 1);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        take(cases[i].form, cases[i].text);
        assert_string_equal(left.data ? left.data : "", cases[i].left);
        assert_string_equal(list_found(), cases[i].found);
    }
}

static void variables_are_understood(void **state)
{
    static const struct {
        const char *name, *value, *left, *found;
        enum credential_variable is;
    } cases[] = {
        { "HTTPS_PROXY", "http://me:s3cret@squid.example:3128", "",
          "proxy me:s3cret@squid.example:3128", CREDENTIAL_GONE },
        { "http_proxy", "http://me:s3cret@[0:0::1]:3128/", "", "proxy me:s3cret@::1:3128",
          CREDENTIAL_GONE },
        { "http_proxy", "http://[::1]", "", "proxy @::1:80", CREDENTIAL_GONE },
        { "http_proxy", "127.0.0.1:3128", "", "proxy @127.0.0.1:3128", CREDENTIAL_GONE },
        { "http_proxy", "http://me:s3cret@*.squid.example:3128", "", "", CREDENTIAL_ERROR },
        { "no_proxy", "intern.example", "", "", CREDENTIAL_GONE },
        { "PIP_INDEX_URL", "https://me:s3cret@pip.example/simple", "https://pip.example/simple",
          "Authorization: Basic bWU6czNjcmV0 @ pip.example:443", CREDENTIAL_STAYS },
        { "MAVEN_OPTS", "-Xmx1g -Dhttps.proxyHost=squid.example -Dhttps.proxyPort=3128", "-Xmx1g",
          "proxy @squid.example:3128", CREDENTIAL_STAYS },
        { "MAVEN_OPTS", "-Dhttps.proxyHost=::1 -Dhttps.proxyPort=3128", "", "proxy @::1:3128",
          CREDENTIAL_STAYS },
        { "COMPOSER_AUTH", "{\"bearer\": {\"b.example\": \"s3cret\"}}", "",
          "Authorization: Bearer s3cret @ b.example:443", CREDENTIAL_GONE },
        { "PERL_CPANM_OPT", "--mirror https://me:s3cret@cpan.example/ --mirror-only",
          "--mirror https://cpan.example/ --mirror-only",
          "Authorization: Basic bWU6czNjcmV0 @ cpan.example:443", CREDENTIAL_STAYS },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        secrets_done(&found);
        buf_done(&left);
        buf_init(&left, MAX_TEXT);
        assert_int_equal(credentials_take_variable(cases[i].name, cases[i].value, &found, &left,
                                                   &err),
                         cases[i].is);
        assert_string_equal(left.data ? left.data : "", cases[i].left);
        assert_string_equal(list_found(), cases[i].found);
    }
}

/* A proxy that cannot be used is no reason to go without. */
static void a_proxy_of_another_kind_is_refused(void **state)
{
    (void)state;
    assert_int_equal(credentials_take_variable("all_proxy", "socks5h://me:s3cret@tor.example",
                                               &found, &left, &err),
                     CREDENTIAL_ERROR);
    assert_non_null(strstr(err.message, "socks5h"));
    assert_null(strstr(err.message, "s3cret"));
}

static void a_password_that_maven_encrypted_is_refused(void **state)
{
    static const char text[] = "<servers><server><id>central</id><username>me</username><password>"
                               "{COQLCE6DU6GtcS5P=}</password></server></servers>";

    (void)state;
    assert_true(credentials_take(FORM_MAVEN, text, strlen(text), &found, &left, &err) < 0);
    assert_non_null(strstr(err.message, "encrypted"));
}

static void http_is_for_hosts_that_are_asked_by_it(void **state)
{
    (void)state;
    take(FORM_NPM, "//localhost:4873/:_authToken=npm_s3cret\n//npm.example/:_authToken=npm_0ther\n"
                   "//old.example/:_authToken=npm_third\n");
    assert_int_equal(
        credentials_find_plain(&found,
                               "registry=http://localhost:4873/\n@a:registry="
                               "https://npm.example/\n@b:registry=http://old.example/\n"
                               "http://npm.example:8080/",
                               &err),
        0);
    assert_string_equal(list_found(), "Authorization: Bearer npm_s3cret @ localhost:4873 plain\n"
                                      "Authorization: Bearer npm_0ther @ npm.example:443\n"
                                      "Authorization: Bearer npm_third @ old.example:80 plain");
}

static void files_are_told_by_their_names(void **state)
{
    (void)state;
    assert_int_equal(credentials_form(NULL, "/work/.npmrc"), FORM_NPM);
    assert_int_equal(credentials_form("NPM_CONFIG_USERCONFIG", "/x/any"), FORM_NPM);
    assert_int_equal(credentials_form("npm_config_userconfig", "/x/any"), FORM_NPM);
    assert_int_equal(credentials_form(NULL, "/work/.m2/settings.xml"), FORM_MAVEN);
    assert_int_equal(credentials_form(NULL, "/work/.config/composer/auth.json"), FORM_COMPOSER);
    assert_int_equal(credentials_form("PIP_CERT", "/x/pip.conf"), FORM_TEXT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_form_is_understood, set_up, tear_down),
        cmocka_unit_test_setup_teardown(variables_are_understood, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_proxy_of_another_kind_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_password_that_maven_encrypted_is_refused, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(http_is_for_hosts_that_are_asked_by_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(files_are_told_by_their_names, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
