#include "toolchain/registries.h"

#include <ctype.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"

#define PORT_HTTP 80
#define PORT_HTTPS 443
#define PORT_SOCKS 1080
#define PORT_MAVEN_PROXY 8080
#define AUTHORITY_MAX 1024 /* with user and token */
#define PAIR_LENGTH 512
#define ENDS_AUTHORITY "/?#\\ \t\r\n\v\f\"'`<>,|"
#define ENDS_WORD " \t\r\n\v\f\"'`<>,|"

/* clang-format off */
static const struct {
    const char *name;
    uint16_t port;
} schemes[] = {
    { "http",   PORT_HTTP  }, { "https",   PORT_HTTPS }, { "socks",   PORT_SOCKS },
    { "socks4", PORT_SOCKS }, { "socks4a", PORT_SOCKS }, { "socks5",  PORT_SOCKS },
    { "socks5h", PORT_SOCKS },
};

/* Keys whose values may be hosts without a scheme. */
static const struct {
    const char *key;
    uint16_t port;
} bare_keys[] = {
    { "http_proxy",             PORT_HTTP }, { "https_proxy",            PORT_HTTP },
    { "all_proxy",              PORT_HTTP }, { "proxy",                  PORT_HTTP },
    { "https-proxy",            PORT_HTTP }, { "http-proxy",             PORT_HTTP },
    { "pip_proxy",              PORT_HTTP }, { "npm_config_https_proxy", PORT_HTTP },
    { "http.proxy",             PORT_HTTP }, { "npm_config_proxy",       PORT_HTTP },
    { "cargo_http_proxy",       PORT_HTTP },
    { "goproxy",                PORT_HTTPS }, { "gosumdb",                PORT_HTTPS },
    /* Go fetches these modules directly from their hosts. */
    { "goprivate",              PORT_HTTPS }, { "gonoproxy",              PORT_HTTPS },
    { "sandbox_run_registries", PORT_HTTPS },
};

/* A host and its port under two keys: Maven's settings, Java's options. */
static const struct {
    const char *host, *port, *end;
    uint16_t otherwise;
} pairs[] = {
    { "<host>",     "<port>",     "</proxy>", PORT_MAVEN_PROXY },
    { "proxyHost=", "proxyPort=", "\n",       PORT_HTTP        },
    { "ProxyHost=", "ProxyPort=", "\n",       PORT_SOCKS       },
};
/* clang-format on */

/* Values of those keys that are not hosts. */
static const char *const no_hosts[] = { "off", "direct", "none", "null", "true", "false" };

static bool same_rule(const struct host_rule *a, const struct host_rule *b)
{
    return a->kind == b->kind && a->port == b->port && a->prefix == b->prefix &&
           !strcmp(a->name, b->name) && address_equal(&a->network, &b->network);
}

/* In Maven's default settings 0.0.0.0 means "blocked"; dialling it would reach our own loopback. */
static bool is_nowhere(const struct address *a)
{
    static const uint8_t zero[4];
    struct address none;

    return address_parse("::", &none) &&
           (address_equal(a, &none) || (address_is_v4(a) && !memcmp(a->bytes + 12, zero, 4)));
}

/* Skips a text that is not a host: a client could not ask it either. */
static int add_rule(struct network *network, const char *text, sbr_error *err)
{
    struct host_rule rule;
    sbr_error why;

    if (host_rule_parse(text, &rule, &why) < 0) {
        log_info("config", "not a registry: %s", why.message);
        return 0;
    }
    if (rule.kind == HOST_NETWORK && is_nowhere(&rule.network))
        return 0;
    rule.anywhere = true; /* the operator chose the name, so it may lead anywhere */
    for (size_t i = 0; i < network->n_rules; i++)
        if (same_rule(&network->rules[i], &rule))
            return 0;
    return network_add_rule(network, &rule, err);
}

/* "" and ":" mean the default; 0: not a port. */
static unsigned int read_port(const char *text, size_t len, unsigned int otherwise)
{
    unsigned int port = 0;

    if (len == 0 || (len == 1 && text[0] == ':'))
        return otherwise;
    if (text[0] != ':' || len > 6)
        return 0;
    for (size_t i = 1; i < len; i++) {
        if (!isdigit((unsigned char)text[i]))
            return 0;
        port = port * 10 + (unsigned int)(text[i] - '0');
    }
    return port <= UINT16_MAX ? port : 0;
}

/* [user[:password]@]host[:port] */
static int add_authority(struct network *network, const char *at, size_t len, uint16_t otherwise,
                         sbr_error *err)
{
    const char *user = len && len <= AUTHORITY_MAX ? memrchr(at, '@', len) : NULL;
    char text[HOST_RULE_TEXT];
    const char *close;
    unsigned int port;
    size_t host;

    if (len > AUTHORITY_MAX)
        return 0;
    if (user) {
        len -= (size_t)(user + 1 - at);
        at = user + 1;
    }
    close = len && at[0] == '[' ? memchr(at, ']', len) : NULL;
    host = close ? (size_t)(close + 1 - at) : strnlen(at, len);
    if (!close && memchr(at, ':', len))
        host = (size_t)((const char *)memchr(at, ':', len) - at);
    port = read_port(at + host, len - host, otherwise);
    if (!host || !port ||
        snprintf(text, sizeof(text), "%.*s:%u", (int)host, at, port) >= (int)sizeof(text))
        return 0;
    return add_rule(network, text, err);
}

/* The port of the scheme that ends before `colon`; 0: unknown.  sparse+https is https. */
static uint16_t scheme_port(const char *text, const char *colon)
{
    const char *start = colon;

    while (start > text && isalnum((unsigned char)start[-1]))
        start--;
    for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
        if (strlen(schemes[i].name) == (size_t)(colon - start) &&
            !strncasecmp(schemes[i].name, start, (size_t)(colon - start)))
            return schemes[i].port;
    return 0;
}

static int find_addresses(const char *text, struct network *ret, sbr_error *err)
{
    for (const char *at = text; (at = strstr(at, "://")); at += 3) {
        uint16_t port = scheme_port(text, at);

        if (port && add_authority(ret, at + 3, strcspn(at + 3, ENDS_AUTHORITY), port, err) < 0)
            return err->code;
    }
    return 0;
}

/* One word of such a value.  find_addresses() handles those with a scheme; the name of a sum
 * database may end in + and its key. */
static int add_bare(struct network *network, const char *word, size_t len, uint16_t port,
                    sbr_error *err)
{
    const char *user;

    if (memmem(word, len, "://", 3))
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(no_hosts); i++)
        if (strlen(no_hosts[i]) == len && !strncasecmp(no_hosts[i], word, len))
            return 0;
    user = memrchr(word, '@', len);
    for (size_t i = user ? (size_t)(user - word) : 0; i < len; i++)
        if (strchr("/+", word[i]))
            len = i;
    return add_authority(network, word, len, port, err);
}

/* The port for such a key; 0: unknown key. */
static uint16_t key_port(const char *key, size_t len)
{
    for (size_t i = 0; i < ARRAY_LEN(bare_keys); i++)
        if (strlen(bare_keys[i].key) == len && !strncasecmp(bare_keys[i].key, key, len))
            return bare_keys[i].port;
    return 0;
}

static int find_bare_hosts(const char *text, struct network *ret, sbr_error *err)
{
    while (*text) {
        const char *key = text + strspn(text, " \t");
        const char *end = text + strcspn(text, "\n");
        size_t len = strcspn(key, " \t=\n");
        const char *value = key + len + strspn(key + len, " \t");
        uint16_t port = *value == '=' ? key_port(key, len) : 0;

        for (value += port ? 1 : 0; port && value < end; value += len) {
            value += strspn(value, ENDS_WORD);
            len = value < end ? strcspn(value, ENDS_WORD) : 0;
            if (len && add_bare(ret, value, len, port, err) < 0)
                return err->code;
        }
        text = *end ? end + 1 : end;
    }
    return 0;
}

static const char *find_last(const char *at, const char *end, const char *word)
{
    const char *last = NULL;

    while ((at = memmem(at, (size_t)(end - at), word, strlen(word)))) {
        last = at;
        at += strlen(word);
    }
    return last;
}

/* The number after the other key of the same group: the first after the host and before another
 * host, else the last before the host.  Searches only PAIR_LENGTH bytes each way. */
static unsigned long pair_port(const char *text, const char *host, size_t i)
{
    const char *start = host - text < PAIR_LENGTH ? text : host - PAIR_LENGTH;
    const char *end = host + strnlen(host, PAIR_LENGTH);
    const char *other = memmem(host, (size_t)(end - host), pairs[i].host, strlen(pairs[i].host));
    const char *before = find_last(start, host, pairs[i].end), *at;

    if (other)
        end = other;
    other = memmem(host, (size_t)(end - host), pairs[i].end, strlen(pairs[i].end));
    at = memmem(host, (size_t)((other ? other : end) - host), pairs[i].port, strlen(pairs[i].port));
    if (!at)
        at = find_last(before ? before : start, host, pairs[i].port);
    return at ? strtoul(at + strlen(pairs[i].port), NULL, 10) : pairs[i].otherwise;
}

static int find_pairs(const char *text, struct network *ret, sbr_error *err)
{
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
        for (const char *at = text; (at = strstr(at, pairs[i].host));) {
            unsigned long port;

            at += strlen(pairs[i].host);
            port = pair_port(text, at, i);
            at += strspn(at, " \t");
            if (port && port <= UINT16_MAX &&
                add_authority(ret, at, strcspn(at, ENDS_AUTHORITY), (uint16_t)port, err) < 0)
                return err->code;
        }
    }
    return 0;
}

static bool has_line(const char *text, const char *pattern)
{
    regex_t compiled;
    bool found;

    if (!pattern ||
        regcomp(&compiled, pattern, REG_EXTENDED | REG_NEWLINE | REG_NOSUB | REG_ICASE) != 0)
        return false;
    found = regexec(&compiled, text, 0, NULL, 0) == 0;
    regfree(&compiled);
    return found;
}

/* True when, by this configuration, the client asks the registry. */
static bool is_asked(const struct registry *registry, const char *text)
{
    if (registry->when && has_line(text, registry->when))
        return true;
    return registry->unless ? !has_line(text, registry->unless) : !registry->when;
}

int registries_find(const struct stage_def *def, const char *text, struct network *ret,
                    sbr_error *err)
{
    for (unsigned int i = 0; i < def->n_registries; i++) {
        const char *host = def->registries[i].host;

        if (is_asked(&def->registries[i], text) &&
            add_authority(ret, host, strlen(host), PORT_HTTPS, err) < 0)
            return err->code;
    }
    if (find_addresses(text, ret, err) < 0 || find_bare_hosts(text, ret, err) < 0)
        return err->code;
    return find_pairs(text, ret, err);
}
