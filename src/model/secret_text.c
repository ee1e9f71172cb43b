/* Parses secrets as users write them, and reads the values from where they are. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/secret_memory.h"
#include "model/secret.h"

#define PLAIN_SCHEME "http://"
#define TLS_SCHEME "https://"
#define PORT_PLAIN 80
#define PORT_TLS 443

static size_t name_length(const char *text)
{
    size_t n = 0;

    if (isdigit((unsigned char)text[0]))
        return 0;
    while (isalnum((unsigned char)text[n]) || text[n] == '_')
        n++;
    return n <= SECRET_MAX_NAME ? n : 0;
}

static int parse_host(const char *text, size_t len, struct host_rule *rule, bool *plain,
                      sbr_error *err)
{
    char host[HOST_RULE_TEXT];
    size_t skip = 0;

    *plain = len > strlen(PLAIN_SCHEME) && !strncmp(text, PLAIN_SCHEME, strlen(PLAIN_SCHEME));
    if (*plain)
        skip = strlen(PLAIN_SCHEME);
    else if (len > strlen(TLS_SCHEME) && !strncmp(text, TLS_SCHEME, strlen(TLS_SCHEME)))
        skip = strlen(TLS_SCHEME);
    if (len - skip >= sizeof(host) - 8)
        return err_set(err, SBR_E_INVALID, "secrets", "a host of the secret is too long");
    snprintf(host, sizeof(host), "%.*s", (int)(len - skip), text + skip);
    if (host_rule_parse(host, rule, err) < 0)
        return err->code;
    if (!rule->port) {
        rule->port = *plain ? PORT_PLAIN : PORT_TLS;
        snprintf(rule->text, sizeof(rule->text),
                 strchr(host, ':') && host[0] != '[' ? "[%.280s]:%u" : "%.280s:%u", host,
                 rule->port);
    }
    return 0;
}

/* HOST[,HOST...]; all with TLS or all without. */
static int parse_hosts(const char *text, size_t len, struct secret *ret, sbr_error *err)
{
    const char *end = text + len;
    bool plain = false;

    ret->n_hosts = 0;
    for (const char *at = text; at <= end;) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        size_t n = (size_t)((comma ? comma : end) - at);

        if (ret->n_hosts == SECRET_MAX_HOSTS)
            return err_set(err, SBR_E_INVALID, "secrets", "a secret has more than %d hosts",
                           SECRET_MAX_HOSTS);
        if (parse_host(at, n, &ret->hosts[ret->n_hosts], &plain, err) < 0)
            return err->code;
        if (ret->n_hosts && plain != ret->plain)
            return err_set(err, SBR_E_INVALID, "secrets",
                           "a secret has hosts with and without http://; give two secrets, so that "
                           "none goes unencrypted by mistake");
        ret->plain = plain;
        ret->n_hosts++;
        at += n + 1;
    }
    return 0;
}

/* Takes "+query" and "+body" off the end. */
static size_t parse_places(const char *text, uint32_t *ret)
{
    static const struct {
        const char *word;
        uint32_t place;
    } words[] = { { "+query", SECRET_IN_QUERY }, { "+body", SECRET_IN_BODY } };
    size_t len = strlen(text), before;

    *ret = 0;
    do {
        before = len;
        for (size_t i = 0; i < ARRAY_LEN(words); i++) {
            size_t n = strlen(words[i].word);

            if (len > n && !strncmp(text + len - n, words[i].word, n)) {
                *ret |= words[i].place;
                len -= n;
            }
        }
    } while (len != before);
    return len;
}

/* A value may hold colons: the hosts are the shortest end that is a list of hosts. */
static const char *find_hosts(const char *text, size_t len, struct secret *ret, sbr_error *err)
{
    const char *scheme;

    for (const char *at = text + len; at > text; at--) {
        sbr_error ignored;

        if (at[-1] != ':' || at == text + len)
            continue;
        scheme = at[0] == '/' && at[1] == '/' ? at - 1 : NULL;
        if (!scheme && parse_hosts(at, (size_t)(text + len - at), ret, &ignored) == 0)
            return at - 1;
    }
    err_set(err, SBR_E_INVALID, "secrets",
            "the secret '%s' names no host that it is for; write it as in %s:api.example.org",
            ret->name, ret->name);
    return NULL;
}

static int take_value(struct secret *ret, const char *data, size_t len, sbr_error *err)
{
    ret->value = secret_memory_take(data, len);
    ret->len = len;
    return ret->value ? 0 : err_set_oom(err, "secrets");
}

static int read_value(struct secret *ret, const char *path, size_t path_len, sbr_error *err)
{
    scoped_free char *name = strndup(path, path_len);
    char data[SECRET_MAX_BYTES + 2];
    ssize_t n;
    int r;

    if (!name)
        return err_set_oom(err, "secrets");
    {
        scoped_fd int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY);

        n = fd < 0 ? -1 : fd_read_full(fd, data, sizeof(data));
    }
    if (n < 0)
        return err_set_errno(err, "secrets", "cannot read '%.150s' for the secret '%s'", name,
                             ret->name);
    while (n > 0 && (data[n - 1] == '\n' || data[n - 1] == '\r'))
        n--;
    r = take_value(ret, data, (size_t)n, err);
    explicit_bzero(data, sizeof(data));
    return r;
}

static int take_variable(struct secret *ret, sbr_error *err)
{
    const char *value = getenv(ret->name);

    if (!value)
        return err_set(err, SBR_E_INVALID, "secrets",
                       "there is no variable %s for the secret; set it, or give %s=@FILE:HOST",
                       ret->name, ret->name);
    return take_value(ret, value, strlen(value), err);
}

static int parse(const char *text, struct secret *ret, sbr_error *err)
{
    size_t n = name_length(text), len = parse_places(text, &ret->places);
    const char *colon;

    if (!n)
        return err_set(err, SBR_E_INVALID, "secrets",
                       "a secret begins with the name of a variable of at most %d letters, digits "
                       "and '_', as in API_KEY:api.example.org",
                       SECRET_MAX_NAME);
    memcpy(ret->name, text, n);
    if (!text[n])
        return 0; /* a name that the configuration knows */
    if (text[n] == ':')
        return parse_hosts(text + n + 1, len - n - 1, ret, err) < 0 ? err->code
                                                                    : take_variable(ret, err);
    if (text[n] != '=')
        return err_set(err, SBR_E_INVALID, "secrets",
                       "behind the name of the secret '%s' stands neither '=' nor ':'; write it as "
                       "in %s:api.example.org",
                       ret->name, ret->name);
    colon = find_hosts(text + n + 1, len - n - 1, ret, err);
    if (!colon)
        return err->code;
    if (text[n + 1] == '@')
        return read_value(ret, text + n + 2, (size_t)(colon - text) - n - 2, err);
    return take_value(ret, text + n + 1, (size_t)(colon - text) - n - 1, err);
}

int secrets_add_text(struct secrets *secrets, const char *text, sbr_error *err)
{
    struct secret one = { 0 };
    int r;

    one.hosts = calloc(SECRET_MAX_HOSTS, sizeof(*one.hosts));
    if (!one.hosts)
        return err_set_oom(err, "secrets");
    r = parse(text, &one, err);
    if (r == 0)
        r = secrets_add(secrets, &one, err);
    secret_memory_free(one.value);
    free(one.hosts);
    return r;
}

int secrets_add_name(struct secrets *secrets, const char *name, sbr_error *err)
{
    struct secret one = { 0 };
    size_t n = name_length(name);

    if (!n || name[n])
        return err_set(err, SBR_E_INVALID, "secrets",
                       "a request names a secret that the configuration defines, by letters, "
                       "digits and '_' alone");
    memcpy(one.name, name, n);
    return secrets_add(secrets, &one, err);
}

static const char *find_text(const struct string_list *known, const char *name)
{
    size_t len = strlen(name);

    for (size_t i = 0; i < known->n; i++)
        if (!strncmp(known->items[i], name, len) && name_length(known->items[i]) == len)
            return known->items[i];
    return NULL;
}

int secrets_resolve(struct secrets *secrets, const struct string_list *known, sbr_error *err)
{
    for (size_t i = 0; i < secrets->n; i++) {
        struct secret *one = &secrets->at[i];
        const char *text = one->value ? NULL : find_text(known, one->name);
        struct secrets found = { 0 };

        if (!text)
            continue;
        if (secrets_add_text(&found, text, err) < 0)
            return err->code;
        *one = found.at[0];
        free(found.at);
    }
    return 0;
}

int secrets_check_text(const char *text, sbr_error *err)
{
    size_t n = name_length(text);

    if (n && (text[n] == ':' || text[n] == '=') && strchr(text + n, ':'))
        return 0;
    return err_set(err, SBR_E_INVALID, "secrets",
                   "'%.60s' is no secret; write it as in API_KEY:api.example.org or "
                   "API_KEY=@FILE:api.example.org",
                   n ? text : "");
}

int secrets_check(const struct secrets *secrets, sbr_error *err)
{
    for (size_t i = 0; i < secrets->n; i++)
        if (!secrets->at[i].value)
            return err_set(err, SBR_E_INVALID, "secrets",
                           "no secret '%s' is defined; give %s:HOST, or name it under secrets: in "
                           "the configuration",
                           secrets->at[i].name, secrets->at[i].name);
    return 0;
}
