/* Configuration in lines of a name and a value: npm, pip, cargo, RubyGems.  A line that has a
 * credential is left out, so that the client finds none; what the lines say together (a user and
 * a password, a certificate and a key) is put together at the end. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/encoding.h"
#include "base/scope.h"
#include "toolchain/credential_parts.h"
#include "toolchain/registries.h"

#define MAX_HOSTS 32
/* cargo asks nothing that needs a token unless it has one; the way out puts the real one in. */
#define CARGO_TOKEN "token = \"outside\"\n"

/* What lines say of one host; for cargo, of one registry. */
struct host_lines {
    char name[256];
    char *user, *password, *chain, *key, *token, *index;
};

struct lines {
    enum credential_form form;
    struct secrets *found;
    sbr_error *err;
    struct host_lines hosts[MAX_HOSTS];
    size_t n_hosts;
    char section[256];
    char *registry;    /* the address that stands for names without a host */
    char *chain, *key; /* of the client, for its own registry */
};

enum line { LINE_STAYS, LINE_GOES, LINE_TOKEN, LINE_UNKNOWN };

struct setting {
    const char *name;
    size_t len;
    char *value;
};

static bool is_name(const struct setting *s, const char *name)
{
    if (strlen(name) != s->len)
        return false;
    for (size_t i = 0; i < s->len; i++)
        if (tolower((unsigned char)s->name[i]) != name[i] && !(s->name[i] == '_' && name[i] == '-'))
            return false;
    return true;
}

static struct host_lines *host_of(struct lines *lines, const char *name, size_t len)
{
    struct host_lines *host;

    for (size_t i = 0; i < lines->n_hosts; i++)
        if (strlen(lines->hosts[i].name) == len && !memcmp(lines->hosts[i].name, name, len))
            return &lines->hosts[i];
    if (lines->n_hosts == MAX_HOSTS || len >= sizeof(host->name))
        return NULL;
    host = &lines->hosts[lines->n_hosts++];
    memcpy(host->name, name, len);
    return host;
}

static void keep(char **place, struct setting *s)
{
    credential_free(*place);
    *place = s->value;
    s->value = NULL;
}

/* One that stands alone for its host. */
static enum line add_scheme(struct lines *lines, const char *host, size_t len, const char *scheme,
                            const char *value)
{
    struct authority to;

    if (credential_authority(host, len, &to))
        (void)!credential_scheme(lines->found, &to, scheme, value, lines->err);
    return LINE_GOES;
}

/* A setting of npm for one host: //HOST/PATH/:NAME, or of old ones for the registry. */
static enum line npm_host(struct lines *lines, struct setting *s, const char *host, size_t len)
{
    struct host_lines *to = host_of(lines, host, len);

    if (is_name(s, "-authtoken"))
        return add_scheme(lines, host, len, "Bearer", s->value);
    if (is_name(s, "-auth"))
        return add_scheme(lines, host, len, "Basic", s->value);
    if (!to)
        return LINE_UNKNOWN;
    if (is_name(s, "username"))
        keep(&to->user, s);
    else if (is_name(s, "-password"))
        keep(&to->password, s);
    else if (is_name(s, "certfile"))
        keep(&to->chain, s);
    else if (is_name(s, "keyfile"))
        keep(&to->key, s);
    else
        return LINE_UNKNOWN;
    return LINE_GOES;
}

/* PEM in one line: \n stands for a line break. */
static void break_lines(char *text)
{
    char *to = text;

    for (const char *at = text; *at; at++) {
        if (at[0] == '\\' && at[1] == 'n') {
            *to++ = '\n';
            at++;
        } else {
            *to++ = *at;
        }
    }
    *to = '\0';
}

static enum line take_npm(struct lines *lines, struct setting *s)
{
    const char *colon =
        s->len > 2 && !memcmp(s->name, "//", 2) ? memrchr(s->name, ':', s->len) : NULL;

    if (colon) {
        struct setting of = { colon + 1, s->len - (size_t)(colon + 1 - s->name), s->value };
        enum line line = npm_host(lines, &of, s->name, (size_t)(colon - s->name));

        s->value = of.value;
        return line;
    }
    if (is_name(s, "proxy") || is_name(s, "https-proxy") || is_name(s, "http-proxy"))
        (void)!credential_proxy(lines->found, s->value, lines->err);
    else if (is_name(s, "noproxy") || is_name(s, "no-proxy"))
        (void)!credential_direct(lines->found, s->value, lines->err);
    else if (is_name(s, "cafile"))
        (void)!credential_roots_file(lines->found, s->value, lines->err);
    else if (is_name(s, "cert") || is_name(s, "key"))
        keep(is_name(s, "cert") ? &lines->chain : &lines->key, s);
    else if (lines->registry && lines->registry[0])
        return npm_host(lines, s, lines->registry, strlen(lines->registry));
    else
        return LINE_UNKNOWN;
    return LINE_GOES;
}

static enum line take_pip(struct lines *lines, struct setting *s)
{
    if (is_name(s, "proxy"))
        (void)!credential_proxy(lines->found, s->value, lines->err);
    else if (is_name(s, "client-cert"))
        keep(&lines->chain, s);
    else if (is_name(s, "cert"))
        (void)!credential_roots_file(lines->found, s->value, lines->err);
    else
        return LINE_UNKNOWN;
    return LINE_GOES;
}

static enum line take_gem(struct lines *lines, struct setting *s)
{
    if (is_name(s, "http-proxy"))
        (void)!credential_proxy(lines->found, s->value[0] == ':' ? "" : s->value, lines->err);
    else if (is_name(s, "ssl-client-cert"))
        keep(&lines->chain, s);
    else if (is_name(s, "ssl-ca-cert"))
        (void)!credential_roots_file(lines->found, s->value, lines->err);
    else
        return LINE_UNKNOWN;
    return LINE_GOES;
}

/* [registries.NAME] token = … and index = …; [http] proxy = …, cainfo = … */
static enum line take_cargo(struct lines *lines, struct setting *s)
{
    static const char registries[] = "registries.";
    const char *name = strncmp(lines->section, registries, sizeof(registries) - 1)
                           ? NULL
                           : lines->section + sizeof(registries) - 1;
    struct host_lines *to = name ? host_of(lines, name, strlen(name)) : NULL;
    bool http = !strcmp(lines->section, "http");

    if (memmem(s->name, s->len, "provider", 8))
        return LINE_STAYS; /* how cargo keeps tokens, not one of them */
    if (to && is_name(s, "index")) {
        keep(&to->index, s);
        return LINE_STAYS;
    }
    if (is_name(s, "token")) {
        if (to)
            keep(&to->token, s);
        return LINE_TOKEN;
    }
    if ((http && is_name(s, "proxy")) || is_name(s, "http.proxy"))
        (void)!credential_proxy(lines->found, s->value, lines->err);
    else if ((http && is_name(s, "cainfo")) || is_name(s, "http.cainfo"))
        (void)!credential_roots_file(lines->found, s->value, lines->err);
    else
        return LINE_UNKNOWN;
    return LINE_GOES;
}

static enum line take(struct lines *lines, struct setting *s)
{
    enum line line = lines->form == FORM_NPM   ? take_npm(lines, s)
                     : lines->form == FORM_PIP ? take_pip(lines, s)
                     : lines->form == FORM_GEM ? take_gem(lines, s)
                                               : take_cargo(lines, s);

    if (line != LINE_UNKNOWN)
        return line;
    return registries_is_secret_name(s->name, s->len) ? LINE_GOES : LINE_STAYS;
}

/* The name in front of = or, in YAML, of a colon, without quotes; NULL: the line has none. */
static const char *split(const struct lines *lines, const char *line, size_t len,
                         struct setting *ret)
{
    const char *start = line, *end = line + len, *sign;

    while (start < end && (*start == ' ' || *start == '\t'))
        start++;
    if (start == end || strchr("#;[", *start))
        return NULL;
    while (lines->form == FORM_GEM && start < end && *start == ':')
        start++;
    sign = memchr(start, lines->form == FORM_GEM ? ':' : '=', (size_t)(end - start));
    if (!sign && lines->form == FORM_PIP)
        sign = memchr(start, ':', (size_t)(end - start));
    if (!sign)
        return NULL;
    ret->name = *start == '"' || *start == '\'' ? start + 1 : start;
    ret->len = (size_t)(sign - ret->name);
    while (ret->len && strchr(" \t\"'", ret->name[ret->len - 1]))
        ret->len--;
    return sign + 1;
}

static void enter_section(struct lines *lines, const char *line, size_t len)
{
    size_t n = 0;

    if (!len || *line != '[')
        return;
    for (size_t i = 1; i < len && line[i] != ']' && n + 1 < sizeof(lines->section); i++)
        if (!strchr("\"' ", line[i]))
            lines->section[n++] = line[i];
    lines->section[n] = '\0';
}

/* Where the value ends: a remark of TOML may follow it. */
static size_t value_length(const struct lines *lines, const char *value, size_t len)
{
    size_t start = 0;
    const char *close;

    while (start < len && (value[start] == ' ' || value[start] == '\t'))
        start++;
    if (lines->form != FORM_CARGO && lines->form != FORM_CARGO_TOKENS)
        return len;
    close = start < len && (value[start] == '"' || value[start] == '\'')
                ? memchr(value + start + 1, value[start], len - start - 1)
                : NULL;
    return close ? (size_t)(close + 1 - value) : len;
}

static enum line read_line(struct lines *lines, const char *line, size_t len)
{
    struct setting s = { 0 };
    const char *value = split(lines, line, len, &s);
    enum line what;

    enter_section(lines, line, len);
    if (!value)
        return LINE_STAYS;
    s.value = credential_value(value, value_length(lines, value, len - (size_t)(value - line)));
    if (!s.value) {
        err_set_oom(lines->err, "config");
        return LINE_GOES;
    }
    what = take(lines, &s);
    credential_free(s.value);
    return what;
}

/* The tokens of a registry may lie in a file of their own, and its address in another. */
static void read_cargo_tokens(struct lines *lines)
{
    static const char *const files[] = { "~/.cargo/credentials.toml", "~/.cargo/credentials" };

    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        scoped_credential char *text = credential_file(files[i]);

        for (char *at = text; at && *at; at += strcspn(at, "\n"), at += *at == '\n')
            (void)read_line(lines, at, strcspn(at, "\n"));
    }
    lines->section[0] = '\0';
}

/* npm's own settings may stand in front of the registry that they are for. */
static void find_registry(struct lines *lines, const char *data, size_t len)
{
    static const char *const names[] = { "registry", "index-url", NULL };
    const char *end = data + len;

    while (data < end) {
        const char *stop = memchr(data, '\n', (size_t)(end - data));
        struct setting s = { 0 };
        const char *value;

        stop = stop ? stop : end;
        value = split(lines, data, (size_t)(stop - data), &s);
        for (size_t i = 0; value && names[i]; i++)
            if (is_name(&s, names[i])) {
                credential_free(lines->registry);
                lines->registry = credential_value(value, (size_t)(stop - value));
            }
        data = stop + 1;
    }
}

static int put_together_cargo(struct lines *lines, struct host_lines *host)
{
    struct authority to;

    if (!host->token || !host->index ||
        !credential_authority(host->index, strlen(host->index), &to))
        return 0;
    return credential_header(lines->found, &to, "Authorization", host->token, lines->err);
}

static int put_together_npm(struct lines *lines, struct host_lines *host)
{
    struct authority to;
    char *password = NULL;
    size_t len;
    int r = 0;

    if (!credential_authority(host->name, strlen(host->name), &to))
        return 0;
    if (host->user && host->password && encoding_from_base64(host->password, &password, &len) == 0)
        r = credential_basic(lines->found, &to, host->user, password, lines->err);
    credential_free(password);
    if (r == 0 && host->chain)
        r = credential_certificate_files(lines->found, &to, host->chain, host->key, lines->err);
    return r;
}

/* The client's own certificate, for its own registry. */
static int put_together_own(struct lines *lines)
{
    const char *of_pip = lines->form == FORM_PIP ? getenv("PIP_INDEX_URL") : NULL;
    const char *registry = of_pip ? of_pip : lines->registry;
    struct authority to;

    if (!lines->chain || !registry || !credential_authority(registry, strlen(registry), &to))
        return 0;
    if (!strstr(lines->chain, "-----BEGIN"))
        return credential_certificate_files(lines->found, &to, lines->chain, NULL, lines->err);
    break_lines(lines->chain);
    if (lines->key)
        break_lines(lines->key);
    return credential_certificate(lines->found, &to, lines->chain, lines->key, lines->err);
}

static int put_together(struct lines *lines)
{
    bool npm = lines->form == FORM_NPM;

    for (size_t i = 0; i < lines->n_hosts; i++)
        if ((npm ? put_together_npm : put_together_cargo)(lines, &lines->hosts[i]) < 0)
            return lines->err->code;
    return put_together_own(lines);
}

static void lines_done(struct lines *lines)
{
    for (size_t i = 0; i < lines->n_hosts; i++) {
        struct host_lines *one = &lines->hosts[i];
        char *const all[] = {
            one->user, one->password, one->chain, one->key, one->token, one->index
        };

        for (size_t k = 0; k < ARRAY_LEN(all); k++)
            credential_free(all[k]);
    }
    credential_free(lines->registry);
    credential_free(lines->chain);
    credential_free(lines->key);
}

int credential_take_lines(enum credential_form form, const char *data, size_t len,
                          struct secrets *found, struct buf *ret, sbr_error *err)
{
    struct lines lines = { .form = form, .found = found, .err = err };
    const char *end = data + len;
    enum line last = LINE_STAYS;
    int r;

    err->code = 0;
    find_registry(&lines, data, len);
    if (form == FORM_CARGO)
        read_cargo_tokens(&lines);
    while (data < end && err->code == 0) {
        const char *stop = memchr(data, '\n', (size_t)(end - data));

        stop = stop ? stop + 1 : end;
        /* In pip's files a line that begins with a blank goes on with the value before it. */
        if (form != FORM_PIP || (*data != ' ' && *data != '\t'))
            last = read_line(&lines, data, (size_t)(stop - data));
        if (last == LINE_STAYS)
            (void)buf_add(ret, data, (size_t)(stop - data));
        else if (last == LINE_TOKEN)
            (void)buf_add_text(ret, CARGO_TOKEN);
        data = stop;
    }
    r = err->code ? err->code : put_together(&lines);
    lines_done(&lines);
    return r;
}
