#include "toolchain/credential_parts.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/encoding.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/scope.h"
#include "base/text.h"
#include "base/user_dir.h"

#define ENDS_AUTHORITY "/?#\\ \t\r\n\v\f\"'`<>,|;)"
#define ENDS_WORD " \t\r\n\v\f\"'`<>,|;()"
#define ROOTS_MAX (4u << 20)

void credential_free(char *text)
{
    if (text)
        explicit_bzero(text, strlen(text));
    free(text);
}

static const char *span(const char *at, const char *end, const char *until)
{
    while (at < end && *at && !strchr(until, *at))
        at++;
    return at;
}

bool credential_authority(const char *text, size_t len, struct authority *ret)
{
    const char *end = text + len, *scheme = memmem(text, len, "://", 3), *at = text, *user;

    if (scheme)
        at = scheme + 3;
    else if (len > 2 && !memcmp(text, "//", 2))
        at = text + 2;
    end = span(at, end, ENDS_AUTHORITY);
    user = memrchr(at, '@', (size_t)(end - at));
    at = user ? user + 1 : at;
    *ret = (struct authority){ .at = at, .len = (size_t)(end - at) };
    ret->plain = scheme && scheme - text >= 4 && !strncasecmp(scheme - 4, "http", 4);
    return ret->len > 0;
}

/* HOST:PORT as a rule; false: it is no host that could be asked. */
static bool rule_of(const struct authority *host, struct host_rule *ret)
{
    const char *bracket = memchr(host->at, ']', host->len);
    const char *from = bracket ? bracket : host->at;
    bool port = memchr(from, ':', host->len - (size_t)(from - host->at)) != NULL;
    char text[HOST_RULE_TEXT];
    sbr_error why;

    if ((size_t)snprintf(text, sizeof(text), "%.*s%s", (int)host->len, host->at,
                         port          ? ""
                         : host->plain ? ":80"
                                       : ":443") >= sizeof(text))
        return false;
    if (host_rule_parse(text, ret, &why) < 0 || !ret->port) {
        log_info("config", "no host for a credential: %.80s", text);
        return false;
    }
    ret->anywhere = true; /* the operator's own, as in registries.c */
    return true;
}

static bool is_known(const struct secrets *found, const struct secret *one)
{
    for (size_t i = 0; i < found->n; i++)
        if (found->at[i].use == one->use && !strcmp(found->at[i].header, one->header) &&
            !strcmp(found->at[i].name, one->name))
            return true;
    return false;
}

static int add(struct secrets *found, const struct authority *host, struct secret *one,
               sbr_error *err)
{
    struct host_rule rule;

    if (!rule_of(host, &rule))
        return 0;
    snprintf(one->name, sizeof(one->name), "%.*s", SECRET_MAX_NAME, rule.text);
    if (is_known(found, one))
        return 0;
    one->plain = host->plain;
    one->len = strlen(one->value);
    one->hosts = &rule;
    one->n_hosts = 1;
    return secrets_add(found, one, err);
}

int credential_header(struct secrets *found, const struct authority *host, const char *name,
                      const char *value, sbr_error *err)
{
    struct secret one = { .use = SECRET_ADDED, .value = (char *)value };

    if (!*value || strlen(name) > SECRET_MAX_HEADER)
        return 0;
    snprintf(one.header, sizeof(one.header), "%s", name);
    return add(found, host, &one, err);
}

int credential_scheme(struct secrets *found, const struct authority *host, const char *scheme,
                      const char *value, sbr_error *err)
{
    scoped_credential char *text = NULL;

    if (!*value)
        return 0;
    text = text_format("%s %s", scheme, value);
    return text ? credential_header(found, host, "Authorization", text, err)
                : err_set_oom(err, "config");
}

int credential_basic(struct secrets *found, const struct authority *host, const char *user,
                     const char *password, sbr_error *err)
{
    scoped_credential char *pair = text_format("%s:%s", user, password), *coded = NULL;

    if (pair)
        coded = encoding_to_base64(pair, strlen(pair));
    return coded ? credential_scheme(found, host, "Basic", coded, err) : err_set_oom(err, "config");
}

int credential_certificate(struct secrets *found, const struct authority *host, const char *chain,
                           const char *key, sbr_error *err)
{
    scoped_credential char *text = text_format("%s\n%s", chain, key ? key : "");
    struct secret one = { .use = SECRET_CERTIFICATE, .value = text };

    if (!text)
        return err_set_oom(err, "config");
    return strstr(text, "PRIVATE KEY-----") ? add(found, host, &one, err) : 0;
}

char *credential_file(const char *path)
{
    scoped_free char *whole = NULL;
    scoped_fd int fd = -1;
    struct stat st;
    sbr_error ignored;
    char *data = NULL;
    size_t len = 0;

    if (!strncmp(path, "~/", 2) && user_dir_home())
        whole = text_format("%s/%s", user_dir_home(), path + 2);
    fd = open(whole ? whole : path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
        fd_read_text(fd, CREDENTIAL_FILE_MAX, &data, &len, &ignored) < 0)
        return NULL;
    return data;
}

int credential_certificate_files(struct secrets *found, const struct authority *host,
                                 const char *chain, const char *key, sbr_error *err)
{
    scoped_credential char *first = credential_file(chain);
    scoped_credential char *second = key ? credential_file(key) : NULL;

    return first ? credential_certificate(found, host, first, second, err) : 0;
}

int credential_roots(struct secrets *found, const char *pem, sbr_error *err)
{
    size_t len = strlen(pem);
    char *grown;

    if (found->roots_len + len + 1 > ROOTS_MAX)
        return err_set(err, SBR_E_INVALID, "config",
                       "the certificates that the package managers trust are longer than %u bytes",
                       ROOTS_MAX);
    grown = realloc(found->roots, found->roots_len + len + 2);
    if (!grown)
        return err_set_oom(err, "config");
    memcpy(grown + found->roots_len, pem, len);
    found->roots = grown;
    found->roots_len += len;
    found->roots[found->roots_len++] = '\n';
    found->roots[found->roots_len] = '\0';
    return 0;
}

int credential_roots_file(struct secrets *found, const char *path, sbr_error *err)
{
    scoped_credential char *pem = credential_file(path);

    return pem ? credential_roots(found, pem, err) : 0;
}

/* %XX of an address becomes the byte. */
static void unescape(char *text)
{
    char *to = text;

    for (const char *at = text; *at; at++) {
        unsigned int byte;

        if (at[0] == '%' && isxdigit((unsigned char)at[1]) && isxdigit((unsigned char)at[2]) &&
            sscanf(at + 1, "%2x", &byte) == 1) {
            *to++ = (char)byte;
            at += 2;
        } else {
            *to++ = *at;
        }
    }
    *to = '\0';
}

char *credential_value(const char *at, size_t len)
{
    struct buf text;

    while (len && isspace((unsigned char)at[len - 1]))
        len--;
    while (len && isspace((unsigned char)*at)) {
        at++;
        len--;
    }
    if (len >= 2 && strchr("\"'", at[0]) && at[len - 1] == at[0]) {
        at++;
        len -= 2;
    }
    buf_init(&text, CREDENTIAL_FILE_MAX + SECRET_MAX_BYTES);
    (void)buf_add(&text, "", 0);
    for (size_t i = 0; i < len; i++) {
        const char *close =
            at[i] == '$' && i + 2 < len && at[i + 1] == '{' ? memchr(at + i, '}', len - i) : NULL;
        char name[128] = "";

        if (close) {
            snprintf(name, sizeof(name), "%.*s", (int)(close - at - (ptrdiff_t)i - 2), at + i + 2);
            const char *value = getenv(!strncmp(name, "env.", 4) ? name + 4 : name);

            if (value)
                (void)buf_add_text(&text, value);
            i = (size_t)(close - at);
        } else {
            (void)buf_add(&text, at + i, 1);
        }
    }
    return buf_take(&text, &(size_t){ 0 });
}

/* user[:password] of an address, in front of its host. */
static int add_user(struct secrets *found, const struct authority *host, const char *at, size_t len,
                    sbr_error *err)
{
    scoped_credential char *user = credential_value(at, len);
    char *password = user ? strchr(user, ':') : NULL;

    if (!user)
        return err_set_oom(err, "config");
    if (password)
        *password++ = '\0';
    unescape(user);
    if (password)
        unescape(password);
    if (!*user && !(password && *password))
        return 0;
    return credential_basic(found, host, user, password ? password : "", err);
}

int credential_proxy(struct secrets *found, const char *address, sbr_error *err)
{
    const char *scheme = strstr(address, "://"), *at = scheme ? scheme + 3 : address;
    const char *end = span(at, at + strlen(at), ENDS_AUTHORITY), *user;
    scoped_credential char *credentials = NULL;
    struct authority host;
    struct host_rule rule;
    char address_text[ADDRESS_TEXT_SIZE];

    if (found->proxy.host[0] || !*address || !strcmp(address, "null") || !strcmp(address, "false"))
        return 0;
    if (scheme && strncasecmp(address, "http://", 7) != 0)
        return err_set(err, SBR_E_UNSUPPORTED, "config",
                       "the proxy '%.*s://…' is not one that is asked by http, and installers "
                       "reach their registries by no other; name one with http://, or unset it",
                       (int)(scheme - address), address);
    if (!credential_authority(at, (size_t)(end - at), &host) ||
        !rule_of(&(struct authority){ host.at, host.len, true }, &rule))
        return err_set(err, SBR_E_INVALID, "config",
                       "the proxy of the package managers is no http://HOST:PORT, and they reach "
                       "their registries by no other way; mend its address, or unset it");
    user = memrchr(at, '@', (size_t)(end - at));
    if (user) {
        credentials = credential_value(at, (size_t)(user - at));
        if (!credentials)
            return err_set_oom(err, "config");
        unescape(credentials);
    }
    if (rule.kind == HOST_BELOW) /* no one host: it is refused as an address */
        rule.port = 0;
    return secrets_set_proxy(found,
                             rule.kind == HOST_NETWORK ? address_format(&rule.network, address_text)
                                                       : rule.name,
                             rule.port, credentials, err);
}

int credential_direct(struct secrets *found, const char *list, sbr_error *err)
{
    while (*list) {
        size_t len = strcspn(list, ", \t|");
        char word[HOSTNAME_SIZE + 8];

        snprintf(word, sizeof(word), "%.*s", (int)len, list);
        if (len && string_list_add(&found->proxy.direct, word, err) < 0)
            return err->code;
        list += len + (list[len] != '\0');
    }
    return 0;
}

static bool is_web(const char *text, const char *colon)
{
    return (colon - text >= 4 && !strncasecmp(colon - 4, "http", 4)) ||
           (colon - text >= 5 && !strncasecmp(colon - 5, "https", 5));
}

/* The user of the address whose :// is at `at`; returns where its host begins. */
static const char *pass_user(const char *data, const char *at, const char *end,
                             struct secrets *found, sbr_error *err)
{
    const char *from = at + 3, *stop = span(from, end, ENDS_AUTHORITY);
    const char *user = memrchr(from, '@', (size_t)(stop - from));
    struct authority host;

    err->code = 0;
    if (!user)
        return from;
    if (!is_web(data, at)) /* a user of ssh is no secret; a password is, and nothing can use it */
        return memchr(from, ':', (size_t)(user - from)) ? user + 1 : from;
    host =
        (struct authority){ user + 1, (size_t)(stop - user - 1), !strncasecmp(at - 4, "http", 4) };
    (void)!add_user(found, &host, from, (size_t)(user - from), err);
    return user + 1;
}

/* The same of user:password@host, where a word begins. */
static const char *pass_bare_user(const char *data, const char *at, const char *end,
                                  struct secrets *found, sbr_error *err)
{
    const char *stop, *user, *colon;
    struct authority host;

    err->code = 0;
    if (at > data && !strchr(ENDS_WORD "=", at[-1]))
        return at;
    stop = span(at, end, ENDS_WORD);
    user = memrchr(at, '@', (size_t)(stop - at));
    colon = user ? memchr(at, ':', (size_t)(user - at)) : NULL;
    if (!colon || memmem(at, (size_t)(stop - at), "://", 3) ||
        memchr(at, '=', (size_t)(colon - at)) || memchr(at, '/', (size_t)(user - at)))
        return at;
    host = (struct authority){ user + 1, (size_t)(span(user + 1, stop, "/+") - user - 1), false };
    (void)!add_user(found, &host, at, (size_t)(user - at), err);
    return user + 1;
}

int credential_addresses(const char *data, size_t len, struct secrets *found, struct buf *ret,
                         sbr_error *err)
{
    const char *end = data + len;

    for (const char *at = data; at < end && !ret->failed;) {
        bool scheme = end - at > 3 && !memcmp(at, "://", 3);
        const char *next = scheme ? pass_user(data, at, end, found, err)
                                  : pass_bare_user(data, at, end, found, err);

        if (err->code < 0)
            return err->code;
        if (scheme)
            (void)buf_add(ret, "://", 3);
        else if (next == at)
            (void)buf_add(ret, next++, 1);
        at = next;
    }
    return ret->failed ? err_set_oom(err, "config") : 0;
}
