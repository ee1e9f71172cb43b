#include "toolchain/credentials.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/scope.h"
#include "toolchain/credential_parts.h"
#include "toolchain/registries.h"

/* clang-format off */
/* Files by the end of their path, or by the variable that names them. */
static const struct {
    const char *variable, *tail;
    enum credential_form form;
} forms[] = {
    { "NPM_CONFIG_USERCONFIG",   "/.npmrc",                   FORM_NPM          },
    { "NPM_CONFIG_GLOBALCONFIG", "/npmrc",                    FORM_NPM          },
    { "PIP_CONFIG_FILE",         "/pip.conf",                 FORM_PIP          },
    { NULL,                      "/.cargo/config.toml",       FORM_CARGO        },
    { NULL,                      "/.cargo/config",            FORM_CARGO        },
    { NULL,                      "/.cargo/credentials.toml",  FORM_CARGO_TOKENS },
    { NULL,                      "/.cargo/credentials",       FORM_CARGO_TOKENS },
    { "GEMRC",                   "/.gemrc",                   FORM_GEM          },
    { NULL,                      "/gemrc",                    FORM_GEM          },
    { NULL,                      "/settings.xml",             FORM_MAVEN        },
    { NULL,                      "/settings-security.xml",    FORM_SECRET       },
    { NULL,                      "/composer/config.json",     FORM_COMPOSER     },
    { NULL,                      "/.composer/config.json",    FORM_COMPOSER     },
    { NULL,                      "/auth.json",                FORM_COMPOSER     },
    { NULL,                      "/.netrc",                   FORM_NETRC        },
    { "PIP_CLIENT_CERT",         NULL,                        FORM_SECRET       },
};

/* What variables are: of a proxy, of hosts without one, of certificates to trust. */
enum meaning { IS_PROXY, IS_DIRECT, IS_ROOTS, IS_JSON, IS_CERTIFICATE, IS_JAVA, IS_TEXT };

static const struct {
    const char *name;
    enum meaning meaning;
} variables[] = {
    { "http_proxy",             IS_PROXY  }, { "https_proxy",            IS_PROXY  },
    { "all_proxy",              IS_PROXY  }, { "pip_proxy",              IS_PROXY  },
    { "cargo_http_proxy",       IS_PROXY  }, { "npm_config_proxy",       IS_PROXY  },
    { "npm_config_https_proxy", IS_PROXY  }, { "no_proxy",               IS_DIRECT },
    { "npm_config_noproxy",     IS_DIRECT }, { "pip_cert",               IS_ROOTS  },
    { "requests_ca_bundle",     IS_ROOTS  }, { "curl_ca_bundle",         IS_ROOTS  },
    { "npm_config_cafile",      IS_ROOTS  }, { "node_extra_ca_certs",    IS_ROOTS  },
    { "composer_cafile",        IS_ROOTS  }, { "ssl_cert_file",          IS_ROOTS  },
    { "composer_auth",          IS_JSON   }, { "pip_client_cert",        IS_CERTIFICATE },
    { "maven_opts",             IS_JAVA   }, { "maven_args",             IS_JAVA   },
};
/* clang-format on */

enum credential_form credentials_form(const char *variable, const char *path)
{
    size_t len = strlen(path);

    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        size_t tail = forms[i].tail ? strlen(forms[i].tail) : 0;

        if (variable && forms[i].variable && !strcasecmp(forms[i].variable, variable))
            return forms[i].form;
        if (!variable && tail && len >= tail && !strcmp(path + len - tail, forms[i].tail))
            return forms[i].form;
    }
    return FORM_TEXT;
}

static enum meaning meaning_of(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(variables); i++)
        if (!strcasecmp(variables[i].name, name))
            return variables[i].meaning;
    return IS_TEXT;
}

bool credentials_is_roots(const char *variable)
{
    return meaning_of(variable) == IS_ROOTS;
}

int credentials_trust(struct secrets *found, const char *path, sbr_error *err)
{
    return credential_roots_file(found, path, err);
}

/* A private key of a text that is not understood otherwise. */
static void leave_keys_out(const char *data, size_t len, struct buf *ret)
{
    static const char begin[] = "-----BEGIN ", end[] = "-----END ";
    const char *stop = data + len;

    for (const char *at; (at = memmem(data, (size_t)(stop - data), begin, sizeof(begin) - 1));) {
        const char *close = memmem(at, (size_t)(stop - at), end, sizeof(end) - 1);
        const char *after = close ? close : stop;

        while (after < stop && *after != '\n')
            after++;
        (void)buf_add(ret, data, (size_t)(at - data));
        if (!memmem(at, (size_t)(after - at), "PRIVATE KEY", 11))
            (void)buf_add(ret, at, (size_t)(after - at));
        data = after;
    }
    (void)buf_add(ret, data, (size_t)(stop - data));
}

static int take_form(enum credential_form form, const char *data, size_t len, struct secrets *found,
                     struct buf *ret, sbr_error *err)
{
    switch (form) {
    case FORM_NPM:
    case FORM_PIP:
    case FORM_GEM:
    case FORM_CARGO:
    case FORM_CARGO_TOKENS:
        return credential_take_lines(form, data, len, found, ret, err);
    case FORM_MAVEN:
        return credential_take_maven(data, len, found, ret, err);
    case FORM_COMPOSER:
        return credential_take_composer(data, len, found, ret, err);
    case FORM_NETRC:
        return credential_take_netrc(data, len, found, err);
    case FORM_SECRET:
        return 0;
    case FORM_TEXT:
        break;
    }
    leave_keys_out(data, len, ret);
    return 0;
}

int credentials_take(enum credential_form form, const char *data, size_t len, struct secrets *found,
                     struct buf *ret, sbr_error *err)
{
    struct buf plain;
    int r;

    buf_init(&plain, CREDENTIAL_FILE_MAX + 1);
    r = take_form(form, data, len, found, &plain, err);
    if (r == 0 && plain.failed)
        r = err_set_oom(err, "config");
    if (r == 0)
        r = credential_addresses(plain.data ? plain.data : "", plain.len, found, ret, err);
    if (r == 0 && ret->failed)
        r = err_set_oom(err, "config");
    if (plain.data)
        explicit_bzero(plain.data, plain.len);
    buf_done(&plain);
    return r;
}

/* -Dhttps.proxyHost=… and its like go; so does a store of certificates and keys. */
static int take_java(const char *value, struct secrets *found, struct buf *ret, sbr_error *err)
{
    static const char *const gone[] = { "-Dhttp.", "-Dhttps.", "-DsocksProxy",
                                        "-Djavax.net.ssl.keyStore" };
    char host[HOSTNAME_SIZE] = "", port[8] = "80", address[HOSTNAME_SIZE + 16];

    while (*value) {
        size_t len = strcspn(value, " \t"), i = 0;

        if (!strncmp(value, "-Dhttps.proxyHost=", 18) || !strncmp(value, "-Dhttp.proxyHost=", 17))
            snprintf(host, sizeof(host), "%.*s", (int)(len - strcspn(value, "=") - 1),
                     value + strcspn(value, "=") + 1);
        if (!strncmp(value, "-Dhttps.proxyPort=", 18) || !strncmp(value, "-Dhttp.proxyPort=", 17))
            snprintf(port, sizeof(port), "%.*s", (int)(len - strcspn(value, "=") - 1),
                     value + strcspn(value, "=") + 1);
        while (i < ARRAY_LEN(gone) && strncmp(value, gone[i], strlen(gone[i])) != 0)
            i++;
        if (len && i == ARRAY_LEN(gone))
            (void)buf_printf(ret, "%s%.*s", ret->len ? " " : "", (int)len, value);
        value += len + (value[len] != '\0');
    }
    snprintf(address, sizeof(address), strchr(host, ':') && host[0] != '[' ? "[%s]:%s" : "%s:%s",
             host, port);
    return host[0] ? credential_proxy(found, address, err) : 0;
}

/* For the index that is asked first. */
static int take_certificate(const char *path, struct secrets *found, sbr_error *err)
{
    const char *index = getenv("PIP_INDEX_URL");
    struct authority host;

    if (!index || !credential_authority(index, strlen(index), &host))
        return 0;
    return credential_certificate_files(found, &host, path, NULL, err);
}

static enum credential_variable gone(int r)
{
    return r < 0 ? CREDENTIAL_ERROR : CREDENTIAL_GONE;
}

enum credential_variable credentials_take_variable(const char *name, const char *value,
                                                   struct secrets *found, struct buf *ret,
                                                   sbr_error *err)
{
    switch (meaning_of(name)) {
    case IS_PROXY:
        return gone(credential_proxy(found, value, err));
    case IS_DIRECT:
        return gone(credential_direct(found, value, err));
    case IS_JSON:
        return gone(credential_take_composer(value, strlen(value), found, &(struct buf){ 0 }, err));
    case IS_CERTIFICATE:
        return gone(take_certificate(value, found, err));
    case IS_JAVA:
        return take_java(value, found, ret, err) < 0 ? CREDENTIAL_ERROR : CREDENTIAL_STAYS;
    case IS_ROOTS:
    case IS_TEXT:
        break;
    }
    return credentials_take(FORM_TEXT, value, strlen(value), found, ret, err) < 0
               ? CREDENTIAL_ERROR
               : CREDENTIAL_STAYS;
}

static bool has_own(const struct secrets *found, const struct host_rule *rule)
{
    for (size_t i = 0; i < found->n; i++)
        if (!strcmp(found->at[i].name, rule->text))
            return true;
    return false;
}

/* HOST:PORT both, with the same host. */
static bool is_same_host(const struct host_rule *one, const struct host_rule *other)
{
    const char *colon = strrchr(one->text, ':'), *its = strrchr(other->text, ':');

    return colon && its && one->port && other->port && colon - one->text == its - other->text &&
           !strncasecmp(one->text, other->text, (size_t)(colon - one->text));
}

int credentials_spread(struct secrets *found, const struct network *network, sbr_error *err)
{
    size_t before = found->n;

    for (size_t i = 0; i < before; i++)
        for (size_t k = 0; found->at[i].any_port && k < network->n_rules; k++) {
            struct host_rule rule = network->rules[k];
            struct secret one = found->at[i];

            if (!is_same_host(&rule, &one.hosts[0]) || has_own(found, &rule))
                continue;
            rule.anywhere = true;
            one.hosts = &rule;
            snprintf(one.name, sizeof(one.name), "%.*s", SECRET_MAX_NAME, rule.text);
            if (secrets_add(found, &one, err) < 0)
                return err->code;
        }
    return 0;
}

/* True when the text has an address of that host without TLS. */
static bool asks_plainly(const char *text, const char *host, size_t len)
{
    static const char scheme[] = "http://";

    for (const char *at = text; (at = strcasestr(at, scheme));) {
        at += sizeof(scheme) - 1;
        if (!strncasecmp(at, host, len) && (!at[len] || strchr("/ \t\r\n\"'<>,|?#)", at[len])))
            return true;
    }
    return false;
}

int credentials_find_plain(struct secrets *found, const char *text, sbr_error *err)
{
    for (size_t i = 0; i < found->n; i++) {
        struct secret *one = &found->at[i];
        struct host_rule *rule = &one->hosts[0];
        size_t len = strlen(rule->text), bare = len - strlen(strrchr(rule->text, ':'));
        char other[HOST_RULE_TEXT];

        if (one->plain)
            continue;
        one->plain = asks_plainly(text, rule->text, len);
        if (one->plain || rule->port != 443 || !asks_plainly(text, rule->text, bare))
            continue;
        /* Its port was not named, and http has another one. */
        snprintf(other, sizeof(other), "%.*s:80", (int)bare, rule->text);
        if (host_rule_parse(other, rule, err) < 0)
            return err->code;
        rule->anywhere = one->plain = true;
    }
    return 0;
}
