/* Configuration that is a document: Maven's settings, Composer's JSON, .netrc. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/scope.h"
#include "toolchain/credential_parts.h"

#define MAX_NAME 128

/* A piece of a document. */
struct piece {
    const char *at;
    size_t len;
};

/* The next element of that name in the piece: its content, and where it begins and ends as a whole.
 * Maven's own elements have no attributes and do not nest in one of the same name. */
static bool next_element(const struct piece *in, const char *from, const char *name,
                         struct piece *ret, struct piece *whole)
{
    char open[MAX_NAME], close[MAX_NAME];
    const char *end = in->at + in->len, *at, *stop;

    snprintf(open, sizeof(open), "<%s>", name);
    snprintf(close, sizeof(close), "</%s>", name);
    at = memmem(from, (size_t)(end - from), open, strlen(open));
    if (!at)
        return false;
    ret->at = at + strlen(open);
    stop = memmem(ret->at, (size_t)(end - ret->at), close, strlen(close));
    if (!stop)
        stop = end; /* not closed: all of the rest is in it */
    ret->len = (size_t)(stop - ret->at);
    whole->at = at;
    whole->len = (size_t)(stop - at) + (stop < end ? strlen(close) : 0);
    return true;
}

/* &amp; and its like become their character. */
static void unescape(char *text)
{
    static const struct {
        const char *name;
        char is;
    } known[] = {
        { "&amp;", '&' }, { "&lt;", '<' }, { "&gt;", '>' }, { "&quot;", '"' }, { "&apos;", '\'' }
    };
    char *to = text;

    for (const char *at = text; *at;) {
        size_t i = 0;

        while (i < ARRAY_LEN(known) && strncmp(at, known[i].name, strlen(known[i].name)) != 0)
            i++;
        *to++ = i < ARRAY_LEN(known) ? known[i].is : *at;
        at += i < ARRAY_LEN(known) ? strlen(known[i].name) : 1;
    }
    *to = '\0';
}

/* The text of a child; NULL: there is none. */
static char *child(const struct piece *in, const char *name)
{
    struct piece content, whole;
    char *text;

    if (!next_element(in, in->at, name, &content, &whole))
        return NULL;
    text = credential_value(content.at, content.len);
    if (text)
        unescape(text);
    return text;
}

/* Maven keeps a password in braces as it has encrypted it, with a key that only Maven uses. */
static bool is_encrypted(const char *password)
{
    size_t len = strlen(password);

    return len > 2 && password[0] == '{' && password[len - 1] == '}';
}

static int add_headers(const struct piece *server, const struct authority *host,
                       struct secrets *found, sbr_error *err)
{
    struct piece all, property, whole;

    if (!next_element(server, server->at, "httpHeaders", &all, &whole))
        return 0;
    for (const char *from = all.at; next_element(&all, from, "property", &property, &whole);
         from = whole.at + whole.len) {
        scoped_credential char *name = child(&property, "name"), *value = child(&property, "value");

        if (name && value && credential_header(found, host, name, value, err) < 0)
            return err->code;
    }
    return 0;
}

static int add_server(const struct piece *server, const struct authority *host,
                      struct secrets *found, sbr_error *err)
{
    scoped_credential char *user = child(server, "username"), *password = child(server, "password");

    if (user && password && is_encrypted(password))
        return err_set(
            err, SBR_E_UNSUPPORTED, "config",
            "settings.xml has a password that Maven has encrypted, for '%.*s'; installers "
            "do not see it, and nothing else can decrypt it: write it as "
            "${env.NAME}, with the password in that variable",
            (int)host->len, host->at);
    if (user && password && credential_basic(found, host, user, password, err) < 0)
        return err->code;
    return add_headers(server, host, found, err);
}

/* The addresses that an id stands for: of mirrors, repositories, and Maven's own for `central`. */
static int add_for_id(const struct piece *settings, const char *id, const struct piece *server,
                      struct secrets *found, sbr_error *err)
{
    static const char *const kinds[] = { "mirror", "repository", "pluginRepository" };
    struct piece one, whole;
    struct authority host;

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        for (const char *from = settings->at; next_element(settings, from, kinds[i], &one, &whole);
             from = whole.at + whole.len) {
            scoped_credential char *its = child(&one, "id"), *url = child(&one, "url");

            if (its && url && !strcmp(its, id) && credential_authority(url, strlen(url), &host) &&
                add_server(server, &host, found, err) < 0)
                return err->code;
        }
    if (strcmp(id, "central") != 0)
        return 0;
    host = (struct authority){ "repo.maven.apache.org", strlen("repo.maven.apache.org"), false };
    return add_server(server, &host, found, err);
}

static int add_proxy(const struct piece *proxy, struct secrets *found, sbr_error *err)
{
    scoped_credential char *active = child(proxy, "active"), *host = child(proxy, "host");
    scoped_credential char *port = child(proxy, "port"), *user = child(proxy, "username");
    scoped_credential char *password = child(proxy, "password"), *address = NULL;
    scoped_credential char *direct = child(proxy, "nonProxyHosts");
    struct buf text;

    if (!host || (active && !strcmp(active, "false")))
        return 0;
    buf_init(&text, CREDENTIAL_FILE_MAX);
    for (const char *at = user && password ? user : ""; *at; at++)
        (void)buf_printf(&text, "%%%02x", (unsigned char)*at);
    if (text.len)
        (void)buf_add_text(&text, ":");
    for (const char *at = text.len ? password : ""; *at; at++)
        (void)buf_printf(&text, "%%%02x", (unsigned char)*at);
    (void)buf_printf(&text, strchr(host, ':') && host[0] != '[' ? "%s[%s]:%s" : "%s%s:%s",
                     text.len ? "@" : "", host, port ? port : "8080");
    address = buf_take(&text, &(size_t){ 0 });
    if (!address)
        return err_set_oom(err, "config");
    if (credential_proxy(found, address, err) < 0)
        return err->code;
    return direct ? credential_direct(found, direct, err) : 0;
}

/* Every element of the kind within its list, and the settings without the list. */
static int each_of(const struct piece *settings, const char *list, const char *kind,
                   int (*add)(const struct piece *settings, const struct piece *one,
                              struct secrets *found, sbr_error *err),
                   struct secrets *found, sbr_error *err)
{
    struct piece all, one, whole;

    if (!next_element(settings, settings->at, list, &all, &whole))
        return 0;
    for (const char *from = all.at; next_element(&all, from, kind, &one, &whole);
         from = whole.at + whole.len)
        if (add(settings, &one, found, err) < 0)
            return err->code;
    return 0;
}

static int server_of(const struct piece *settings, const struct piece *one, struct secrets *found,
                     sbr_error *err)
{
    scoped_credential char *id = child(one, "id");

    return id ? add_for_id(settings, id, one, found, err) : 0;
}

static int proxy_of(const struct piece *settings, const struct piece *one, struct secrets *found,
                    sbr_error *err)
{
    (void)settings;
    return add_proxy(one, found, err);
}

/* Copies the text without all elements of that name; "!--" stands for remarks. */
static void leave_out(const char *data, size_t len, const char *name, struct buf *ret)
{
    const char *end = data + len;
    struct piece in = { data, len }, content, whole;

    if (!strcmp(name, "!--"))
        for (const char *at; (at = memmem(data, (size_t)(end - data), "<!--", 4));) {
            const char *close = memmem(at, (size_t)(end - at), "-->", 3);

            (void)buf_add(ret, data, (size_t)(at - data));
            data = close ? close + 3 : end;
        }
    else
        while (next_element(&in, data, name, &content, &whole)) {
            (void)buf_add(ret, data, (size_t)(whole.at - data));
            data = whole.at + whole.len;
        }
    (void)buf_add(ret, data, (size_t)(end - data));
}

/* What is written in another way than Maven's own would go inside with its password. */
static int refuse_rest(const struct buf *rest, sbr_error *err)
{
    static const char *const names[] = { "<password", "<passphrase", "<privateKey", "<httpHeaders",
                                         "<servers ", "<server ",    "<proxies ",   "<proxy " };

    for (size_t i = 0; rest->len && i < ARRAY_LEN(names); i++)
        if (memmem(rest->data, rest->len, names[i], strlen(names[i])))
            return err_set(err, SBR_E_UNSUPPORTED, "config",
                           "settings.xml has %s…> in a place or form that is not understood, and "
                           "with it a password could reach an installer: write it within "
                           "<servers> or <proxies>, without attributes",
                           names[i]);
    return 0;
}

int credential_take_maven(const char *data, size_t len, struct secrets *found, struct buf *ret,
                          sbr_error *err)
{
    struct buf plain, servers;
    struct piece all;
    int r;

    buf_init(&plain, CREDENTIAL_FILE_MAX);
    buf_init(&servers, CREDENTIAL_FILE_MAX);
    leave_out(data, len, "!--", &plain);
    all = (struct piece){ plain.data ? plain.data : "", plain.len };
    r = each_of(&all, "servers", "server", server_of, found, err);
    if (r == 0)
        r = each_of(&all, "proxies", "proxy", proxy_of, found, err);
    leave_out(all.at, all.len, "servers", &servers);
    leave_out(servers.data ? servers.data : "", servers.len, "proxies", ret);
    if (r == 0)
        r = refuse_rest(ret, err);
    if (plain.data)
        explicit_bzero(plain.data, plain.len);
    buf_done(&plain);
    buf_done(&servers);
    return r;
}

/* JSON is read by a scanner of our own: the program that starts most runs has no other. */
static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && strchr(" \t\r\n", *at))
        at++;
    return at;
}

static const char *skip_string(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        at += *at == '\\' && at + 1 < end;
    return at < end ? at + 1 : end;
}

static const char *skip_value(const char *at, const char *end)
{
    size_t depth = 0;

    do {
        if (at < end && *at == '"') {
            at = skip_string(at, end);
            continue;
        }
        depth += at < end && strchr("{[", *at);
        depth -= at < end && depth && strchr("}]", *at);
        at += at < end;
    } while (at < end && (depth || !strchr(",}]", *at)));
    return at;
}

/* The string at `at`, which begins with a quote; NULL: there is none, or no memory. */
static char *string_at(const char *at, const char *end)
{
    const char *stop = at < end && *at == '"' ? skip_string(at, end) : at;
    char *text = stop > at + 1 ? calloc(1, (size_t)(stop - at)) : NULL, *to = text;

    for (at++; text && at < stop - 1; at++) {
        unsigned int code = 0;

        if (*at != '\\')
            *to++ = *at;
        else if (at[1] == 'u' && stop - at > 6 && sscanf(at + 2, "%4x", &code) == 1) {
            *to++ = code < 0x80 ? (char)code : '?';
            at += 5;
        } else
            *to++ = *++at == 'n' ? '\n' : *at == 't' ? '\t' : *at;
    }
    return text;
}

/* The next member of the object: its name, and the piece that its value is. */
static char *next_member(const char **at, const char *end, struct piece *value)
{
    char *name;

    *at = skip_blanks(*at, end);
    while (*at < end && strchr("{,", **at))
        *at = skip_blanks(*at + 1, end);
    name = string_at(*at, end);
    if (!name)
        return NULL;
    *at = skip_blanks(skip_string(*at, end), end);
    *at = skip_blanks(*at + (*at < end), end);
    value->at = *at;
    *at = skip_value(*at, end);
    value->len = (size_t)(*at - value->at);
    return name;
}

static char *member(const struct piece *object, const char *wanted)
{
    const char *at = object->at, *end = object->at + object->len;
    struct piece value;

    while (at < end && *at == '{') {
        scoped_credential char *name = NULL;

        while ((name = next_member(&at, end, &value))) {
            if (!strcmp(name, wanted))
                return string_at(value.at, value.at + value.len);
            credential_free(name);
        }
        break;
    }
    return NULL;
}

/* A host with its credentials, in one of Composer's ways to write them. */
static int add_composer(const char *kind, const char *name, const struct piece *value,
                        struct secrets *found, sbr_error *err)
{
    scoped_credential char *user = member(value, "username"), *password = member(value, "password");
    scoped_credential char *token = string_at(value->at, value->at + value->len);
    struct authority host;

    if (!token)
        token = member(value, "token");
    if (!credential_authority(name, strlen(name), &host))
        return 0;
    if (!strcmp(kind, "http-basic"))
        return user && password ? credential_basic(found, &host, user, password, err) : 0;
    if (!token)
        return 0;
    if (!strcmp(kind, "gitlab-token"))
        return credential_header(found, &host, "PRIVATE-TOKEN", token, err);
    if (!strcmp(kind, "github-oauth") && !strcmp(name, "github.com"))
        host = (struct authority){ "api.github.com", strlen("api.github.com"), false };
    return credential_scheme(found, &host, "Bearer", token, err);
}

static int add_hosts(const char *kind, const struct piece *object, struct secrets *found,
                     sbr_error *err)
{
    const char *at = object->at, *end = object->at + object->len;
    struct piece value;

    for (;;) {
        scoped_credential char *name = next_member(&at, end, &value);

        if (!name)
            return 0;
        if (add_composer(kind, name, &value, found, err) < 0)
            return err->code;
    }
}

/* The kind of credentials that the name at `at` stands for; NULL: it is another name. */
static const char *kind_at(const char *at, const char *end)
{
    static const char *const kinds[] = { "http-basic",   "bearer",          "github-oauth",
                                         "gitlab-token", "bitbucket-oauth", "gitlab-oauth" };

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        size_t len = strlen(kinds[i]);

        if ((size_t)(end - at) > len + 2 && !memcmp(at + 1, kinds[i], len) && at[len + 1] == '"')
            return kinds[i];
    }
    return NULL;
}

/* The comma in front of what was left out, unless another value follows. */
static void end_list(struct buf *ret)
{
    while (ret->len && strchr(" \t\r\n,", ret->data[ret->len - 1]))
        ret->data[--ret->len] = '\0';
}

int credential_take_composer(const char *data, size_t len, struct secrets *found, struct buf *ret,
                             sbr_error *err)
{
    const char *end = data + len, *at = data;
    bool any = false;

    while (at < end) {
        const char *next = *at == '"' ? skip_string(at, end) : at + 1, *value;
        const char *kind = *at == '"' ? kind_at(at, end) : NULL;

        value = kind ? skip_blanks(next, end) : end;
        if (value == end || *value != ':') {
            (void)buf_add(ret, at, (size_t)(next - at));
            any |= *at == '"';
            at = next;
            continue;
        }
        value = skip_blanks(value + 1, end);
        at = skip_value(value, end);
        if (add_hosts(kind, &(struct piece){ value, (size_t)(at - value) }, found, err) < 0)
            return err->code;
        if (at < end && *at == ',')
            at++;
        else
            end_list(ret);
    }
    if (!any) /* nothing but credentials */
        buf_drop(ret, ret->len);
    return 0;
}

/* The next word. */
static struct piece next_word(const char **at, const char *end)
{
    struct piece word;

    while (*at < end && strchr(" \t\r\n", **at))
        (*at)++;
    word.at = *at;
    while (*at < end && !strchr(" \t\r\n", **at))
        (*at)++;
    word.len = (size_t)(*at - word.at);
    return word;
}

static bool is_word(const struct piece *word, const char *text)
{
    return word->len == strlen(text) && !memcmp(word->at, text, word->len);
}

static int add_machine(const struct piece *host, const struct piece *login,
                       const struct piece *password, struct secrets *found, sbr_error *err)
{
    scoped_credential char *user = credential_value(login->at, login->len);
    scoped_credential char *secret = credential_value(password->at, password->len);
    struct authority to = { host->at, host->len, false };
    size_t n = found->n;

    if (!host->len || !password->len)
        return 0;
    if (!user || !secret)
        return err_set_oom(err, "config");
    if (credential_basic(found, &to, user, secret, err) < 0)
        return err->code;
    if (found->n > n) /* clients compare the name alone */
        found->at[n].any_port = !memchr(host->at, ':', host->len);
    return 0;
}

int credential_take_netrc(const char *data, size_t len, struct secrets *found, sbr_error *err)
{
    struct piece host = { 0 }, login = { "", 0 }, password = { "", 0 }, word;
    const char *at = data, *end = data + len;

    while ((word = next_word(&at, end)).len) {
        if (is_word(&word, "machine") || is_word(&word, "default")) {
            if (add_machine(&host, &login, &password, found, err) < 0)
                return err->code;
            host = is_word(&word, "machine") ? next_word(&at, end) : (struct piece){ 0 };
            login = password = (struct piece){ "", 0 };
        } else if (is_word(&word, "login")) {
            login = next_word(&at, end);
        } else if (is_word(&word, "password")) {
            password = next_word(&at, end);
        }
    }
    return add_machine(&host, &login, &password, found, err);
}
