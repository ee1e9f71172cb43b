#include "model/publish.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORM "give [HOST:]PORT[:INSIDE], such as 8080:80"

/* The host's loopback and nothing else: a published port is never open to a network. */
static const struct {
    const char *name;
    bool v4, v6;
} addresses[] = {
    { "localhost", true, true },
    { "127.0.0.1", true, false },
    { "[::1]", false, true },
};

static int read_address(const char *name, size_t len, const char *text, struct publish_rule *ret,
                        sbr_error *err)
{
    for (size_t i = 0; i < ARRAY_LEN(addresses); i++) {
        if (strlen(addresses[i].name) == len && !strncmp(addresses[i].name, name, len)) {
            ret->v4 = addresses[i].v4;
            ret->v6 = addresses[i].v6;
            return 0;
        }
    }
    return err_set(err, SBR_E_INVALID, "publish",
                   "'%.80s' would listen beyond this machine, but ports are published on its "
                   "loopback only; give 127.0.0.1, [::1] or no address",
                   text);
}

/* At most five digits; `least` is 0 where any free port may be meant. */
static int read_port(const char *from, size_t len, unsigned long least, uint16_t *ret)
{
    char digits[6];
    unsigned long value;

    if (len == 0 || len >= sizeof(digits) || strspn(from, "0123456789") < len)
        return -1;
    memcpy(digits, from, len);
    digits[len] = '\0';
    value = strtoul(digits, NULL, 10);
    if (value < least || value > UINT16_MAX)
        return -1;
    *ret = (uint16_t)value;
    return 0;
}

/* Cuts "/tcp" off. */
static int read_protocol(const char *text, size_t *ret_len, sbr_error *err)
{
    const char *slash = strchr(text, '/');

    *ret_len = slash ? (size_t)(slash - text) : strlen(text);
    if (!slash || !strcmp(slash, "/tcp"))
        return 0;
    if (!strcmp(slash, "/udp"))
        return err_set(err, SBR_E_UNSUPPORTED, "publish",
                       "'%.80s': only TCP ports can be published, not UDP", text);
    return err_set(err, SBR_E_INVALID, "publish", "'%.80s' names no protocol that is known; %s",
                   text, FORM);
}

/* Where the ports begin: after an address, which may have colons of its own in brackets. */
static const char *after_address(const char *text, size_t len)
{
    const char *end = text + len, *close = memchr(text, ']', len), *at, *colon = NULL;
    unsigned int colons = 0;

    if (text[0] == '[' && close)
        return close + 1 < end && close[1] == ':' ? close + 2 : end;
    for (at = text; at < end; at++) {
        if (*at == ':' && ++colons == 1)
            colon = at;
    }
    if (colon && (colons > 1 || text[strspn(text, "0123456789-")] != ':'))
        return colon + 1;
    return text;
}

int publish_parse(const char *text, struct publish_rule *ret, sbr_error *err)
{
    struct publish_rule rule = { .v4 = true, .v6 = true };
    const char *ports, *colon;
    size_t len, first;

    if (read_protocol(text, &len, err) < 0)
        return err->code;
    ports = after_address(text, len);
    if (ports > text &&
        read_address(text, (size_t)(ports - text - (ports[-1] == ':')), text, &rule, err) < 0)
        return err->code;
    len -= (size_t)(ports - text);
    colon = memchr(ports, ':', len);
    first = colon ? (size_t)(colon - ports) : len;
    if (memchr(ports, '-', len))
        return err_set(err, SBR_E_UNSUPPORTED, "publish",
                       "'%.80s' is a range of ports; give each port by itself", text);
    if (read_port(ports, first, 0, &rule.port) < 0 ||
        read_port(colon ? colon + 1 : ports, colon ? len - first - 1 : first, 1, &rule.inside) < 0)
        return err_set(err, SBR_E_INVALID, "publish",
                       "'%.80s' is no port that can be published; %s, each from 1 to 65535, or "
                       "0:INSIDE for any free port",
                       text, FORM);
    *ret = rule;
    return 0;
}

static bool is_same_place(const struct publish_rule *a, const struct publish_rule *b)
{
    return a->port && a->port == b->port && ((a->v4 && b->v4) || (a->v6 && b->v6));
}

int publish_add(struct publish *publish, const struct publish_rule *rule, sbr_error *err)
{
    if (publish->n == PUBLISH_MAX)
        return err_set(err, SBR_E_INVALID, "publish",
                       "at most %d ports can be published; leave some out", PUBLISH_MAX);
    for (size_t i = 0; i < publish->n; i++)
        if (is_same_place(&publish->rules[i], rule))
            return err_set(err, SBR_E_INVALID, "publish",
                           "port %u of this machine is published twice; leave one out", rule->port);
    publish->rules[publish->n++] = *rule;
    return 0;
}

int publish_join(struct publish *publish, const struct publish *more, sbr_error *err)
{
    for (size_t i = 0; i < more->n; i++)
        if (publish_add(publish, &more->rules[i], err) < 0)
            return err->code;
    return 0;
}

const char *publish_text(const struct publish_rule *rule, char buf[PUBLISH_TEXT_SIZE])
{
    size_t len = 0;

    buf[0] = '\0';
    if (rule->v4)
        len = (size_t)snprintf(buf, PUBLISH_TEXT_SIZE, "127.0.0.1:%u", rule->port);
    if (rule->v6)
        snprintf(buf + len, PUBLISH_TEXT_SIZE - len, "%s[::1]:%u", rule->v4 ? " and " : "",
                 rule->port);
    return buf;
}

static void put_rule(struct jsonw *j, const struct publish_rule *rule)
{
    jsonw_open(j, NULL, '{');
    jsonw_open(j, "addresses", '[');
    if (rule->v4)
        jsonw_text(j, NULL, "127.0.0.1");
    if (rule->v6)
        jsonw_text(j, NULL, "::1");
    jsonw_close(j, ']');
    jsonw_number(j, "port", rule->port);
    jsonw_number(j, "inside", rule->inside);
    jsonw_number(j, "connections", rule->connections);
    jsonw_number(j, "bytes_in", rule->bytes_in);
    jsonw_number(j, "bytes_out", rule->bytes_out);
    jsonw_close(j, '}');
}

void publish_put_json(struct jsonw *j, const char *key, const struct publish *publish)
{
    if (!publish->n)
        return;
    jsonw_open(j, key, '[');
    for (size_t i = 0; i < publish->n; i++)
        put_rule(j, &publish->rules[i]);
    jsonw_close(j, ']');
}
