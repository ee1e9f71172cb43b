/* Parses rules as users write them.  Every refusal says how to write the rule correctly. */
#include <stdio.h>
#include <string.h>

#include "model/network.h"

#define V4_PREFIX 96
#define ALL_BITS 128
#define MAX_PORT 65535

/* The text of a rule, cut into its parts. */
struct parts {
    const char *text;
    char host[HOST_RULE_TEXT];
    const char *port; /* NULL: none */
    bool bracketed;
};

static int rule_error(const char *text, const char *what, sbr_error *err)
{
    return err_set(err, SBR_E_INVALID, "network", "the host '%.80s' %s", text, what);
}

/* Accepts only digits without leading zeros; returns -1 for all else. */
static int parse_number(const char *text, int max)
{
    int value = 0;

    if (!*text || (text[0] == '0' && text[1]))
        return -1;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return -1;
        value = value * 10 + (*text - '0');
        if (value > max)
            return -1;
    }
    return value;
}

static int check_characters(const char *text, sbr_error *err)
{
    if (!*text)
        return rule_error(text, "is empty; give a name, an address or a range", err);
    if (strlen(text) >= HOST_RULE_TEXT)
        return rule_error(text, "is longer than any host name", err);
    for (const char *p = text; *p; p++) {
        if ((unsigned char)*p >= 0x80)
            return err_set(err, SBR_E_INVALID, "network",
                           "a host's name has characters that are not ASCII; give its ASCII form "
                           "(xn--...)");
        if (*p <= ' ' || *p == 0x7f)
            return rule_error(text, "has a space or a control character in it", err);
    }
    if (strstr(text, "://") || strchr(text, '?') || strchr(text, '#'))
        return rule_error(text, "is a URL; give only the host, as in example.org:443", err);
    if (strchr(text, '@'))
        return rule_error(text, "names a user; give only the host, as in example.org:443", err);
    if (strchr(text, '%'))
        return rule_error(text, "has a '%' in it; a zone or an escape has no place in a rule", err);
    if (strchr(text, ','))
        return rule_error(text, "has a ',' in it; give it once for each host", err);
    return 0;
}

static int split_brackets(struct parts *ret, sbr_error *err)
{
    char *end = strchr(ret->host, ']');

    if (!end || strchr(ret->host + 1, '[') || (end[1] && end[1] != ':'))
        return rule_error(ret->text,
                          "has brackets that do not match; write [::1]:80 or [fd00::/8]:443", err);
    *end = '\0';
    ret->port = end[1] ? end + 2 : NULL;
    ret->bracketed = true;
    memmove(ret->host, ret->host + 1, (size_t)(end - ret->host)); /* with the NUL */
    return 0;
}

/* Two colons without brackets can only be an IPv6 address without a port. */
static int split(const char *text, struct parts *ret, sbr_error *err)
{
    char *colon;

    memset(ret, 0, sizeof(*ret));
    ret->text = text;
    snprintf(ret->host, sizeof(ret->host), "%s", text);
    if (ret->host[0] == '[')
        return split_brackets(ret, err);
    colon = strchr(ret->host, ':');
    if (colon && !strchr(colon + 1, ':')) {
        *colon = '\0';
        ret->port = colon + 1;
    }
    return 0;
}

static int parse_port(const struct parts *parts, uint16_t *ret, sbr_error *err)
{
    int port = 0;

    if (parts->port) {
        port = parse_number(parts->port, MAX_PORT);
        if (port <= 0)
            return rule_error(parts->text,
                              "has a port that is not a number from 1 to 65535; leave it out for "
                              "every port",
                              err);
    }
    *ret = (uint16_t)port;
    return 0;
}

static int parse_name(const struct parts *parts, struct host_rule *rule, sbr_error *err)
{
    const char *name = parts->host, *last;
    size_t len;

    rule->kind = HOST_NAME;
    if (!strncmp(name, "*.", 2)) {
        rule->kind = HOST_BELOW;
        name += 2;
    }
    if (strchr(name, '*'))
        return rule_error(parts->text, "has a '*' elsewhere than in front, as in *.example.org",
                          err);
    len = strlen(name);
    if (hostname_canonical(name, len, rule->name))
        return 0;
    len -= len > 0 && name[len - 1] == '.';
    for (last = name + len; last > name && last[-1] != '.';)
        last--;
    if (*last >= '0' && *last <= '9' && strspn(name, "0123456789abcdefxABCDEFX.") == strlen(name))
        return rule_error(parts->text,
                          "is an address in a form that programs read differently; write four "
                          "decimal numbers, as in 127.0.0.1",
                          err);
    return rule_error(parts->text,
                      "is no host name: labels of 1 to 63 letters, digits, '-' and '_', none "
                      "beginning or ending with '-', 253 characters in all",
                      err);
}

/* ADDRESS or ADDRESS/BITS. */
static int parse_network(const struct parts *parts, struct host_rule *rule, sbr_error *err)
{
    char host[HOST_RULE_TEXT], shown[ADDRESS_TEXT_SIZE];
    char *slash;
    int bits = ALL_BITS;
    bool v4;

    snprintf(host, sizeof(host), "%s", parts->host);
    slash = strchr(host, '/');
    if (slash)
        *slash = '\0';
    if (!address_parse(host, &rule->network))
        return rule_error(parts->text,
                          slash ? "has a path in it or is no range; give only the host, as in "
                                  "example.org:443, or a range, as in 10.0.0.0/8"
                                : "is no address; a port stands behind brackets, as in [::1]:80, "
                                  "or behind a name, as in example.org:443",
                          err);
    v4 = !strchr(host, ':');
    if (slash)
        bits = parse_number(slash + 1, v4 ? ALL_BITS - V4_PREFIX : ALL_BITS);
    if (bits < 0)
        return rule_error(parts->text,
                          v4 ? "is no range: a number from 0 to 32 follows the '/'"
                             : "is no range: a number from 0 to 128 follows the '/'",
                          err);
    rule->kind = HOST_NETWORK;
    rule->prefix = (uint8_t)(slash && v4 ? V4_PREFIX + bits : bits);
    if (!network_rule_is_whole(rule)) {
        struct address network = address_network(&rule->network, rule->prefix);

        return err_set(err, SBR_E_INVALID, "network",
                       "the range '%.80s' has bits set behind its prefix; the network is %s/%d",
                       parts->text, address_format(&network, shown),
                       rule->prefix - (address_is_v4(&network) ? V4_PREFIX : 0));
    }
    return 0;
}

/* Refuses rules that can never apply or open more than the user may expect. */
static int check_meaning(const char *text, const struct host_rule *rule, sbr_error *err)
{
    static const char below[] = ".localhost";
    size_t len = strlen(rule->name), tail = sizeof(below) - 1;

    if (network_rule_is_loopback(rule) && !rule->port)
        return rule_error(text, "is the host's own loopback and needs a port, as in localhost:8080",
                          err);
    if ((rule->kind == HOST_BELOW && !strcmp(rule->name, "localhost")) ||
        (rule->kind != HOST_NETWORK && len > tail && !strcmp(rule->name + len - tail, below)))
        return rule_error(text,
                          "is below localhost; give localhost and a port, as in "
                          "localhost:8080",
                          err);
    if (rule->kind == HOST_NETWORK &&
        address_range_class(&rule->network, rule->prefix) == ADDRESS_MULTICAST)
        return rule_error(text, "is for multicast or broadcast, which is never passed on", err);
    return 0;
}

int host_rule_parse(const char *text, struct host_rule *ret, sbr_error *err)
{
    struct host_rule rule = { 0 };
    struct address address;
    struct parts parts;
    int r;

    if (check_characters(text, err) < 0 || split(text, &parts, err) < 0 ||
        parse_port(&parts, &rule.port, err) < 0)
        return err->code;
    if (!parts.host[0])
        return rule_error(text, "has no host", err);
    if (!strcmp(parts.host, "*"))
        return rule_error(text, "would be every host; choose the network mode full", err);
    if (parts.bracketed || strchr(parts.host, ':') || strchr(parts.host, '/') ||
        address_parse(parts.host, &address))
        r = parse_network(&parts, &rule, err);
    else
        r = parse_name(&parts, &rule, err);
    if (r < 0 || check_meaning(text, &rule, err) < 0)
        return err->code;
    snprintf(rule.text, sizeof(rule.text), "%s", text);
    *ret = rule;
    return 0;
}
