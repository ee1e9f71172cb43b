/* A configuration without its credentials: the rest may be part of a key, and a new password does
 * not change the key.
 *
 * There is no parser for each client: a credential is recognised by its key, by its position in an
 * address, or as a PEM block.  Any other one (a token within a path) stays in the text; hence the
 * key is salted. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "toolchain/registries.h"

#define PEM_BEGIN "-----BEGIN "
#define PEM_END "-----END "
#define ENDS_AUTHORITY "/?#\\ \t\r\n\v\f\"'`<>,|"
#define ENDS_WORD " \t\r\n\v\f\"'`<>,|"
#define QUOTES "\"'`"

/* Parts of the names of settings whose values are credentials. */
static const char *const secret_names[] = {
    "password",    "passwd",      "passphrase",    "secret",  "token",
    "_auth",       "apikey",      "api-key",       "api_key", "credential",
    "private-key", "private_key", "authorization", "bearer",  "privatekey",
};

/* Files that contain only credentials. */
static const char *const secret_files[] = { "/.netrc",      "/_netrc",
                                            "/credentials", "/credentials.toml",
                                            "/auth.json",   "/settings-security.xml" };

struct scan {
    const char *start, *at, *end;
    struct buf *out;
};

bool registries_is_secret_file(const char *path)
{
    size_t len = strlen(path);

    for (size_t i = 0; i < ARRAY_LEN(secret_files); i++) {
        size_t tail = strlen(secret_files[i]);

        if (len >= tail && !strcmp(path + len - tail, secret_files[i]))
            return true;
    }
    return false;
}

static bool is_in(char c, const char *set)
{
    return c && strchr(set, c);
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || is_in(c, "_.-");
}

static bool begins(const struct scan *s, const char *text)
{
    size_t len = strlen(text);

    return (size_t)(s->end - s->at) >= len && !memcmp(s->at, text, len);
}

/* What follows the next occurrence of `text`, or the end. */
static const char *behind(const struct scan *s, const char *from, const char *text)
{
    const char *found = memmem(from, (size_t)(s->end - from), text, strlen(text));

    return found ? found + strlen(text) : s->end;
}

static const char *line_end(const struct scan *s, const char *from)
{
    const char *newline = from < s->end ? memchr(from, '\n', (size_t)(s->end - from)) : NULL;

    return newline ? newline : s->end;
}

static const char *span_not(const char *at, const char *end, const char *set)
{
    while (at < end && *at && !is_in(*at, set))
        at++;
    return at;
}

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    return at;
}

bool registries_is_secret_name(const char *word, size_t len)
{
    for (size_t i = 0; i < ARRAY_LEN(secret_names); i++) {
        size_t part = strlen(secret_names[i]);

        for (size_t k = 0; k + part <= len; k++)
            if (!strncasecmp(word + k, secret_names[i], part))
                return true;
    }
    return false;
}

/* `at` is the start of the value. */
static const char *value_end(const struct scan *s, const char *at, bool whole_line)
{
    const char *end = line_end(s, at);
    char triple[4] = "";

    if (at < end && is_in(*at, QUOTES)) {
        const char *close;

        memset(triple, *at, 3);
        if ((size_t)(s->end - at) >= 3 && !memcmp(at, triple, 3))
            return behind(s, at + 3, triple);
        close = memchr(at + 1, *at, (size_t)(end - at - 1));
        return close ? close + 1 : end;
    }
    return whole_line ? end : span_not(at, end, " \t\r");
}

/* The end of the value of the setting whose name ends at `at`; `at` if there is no value. */
static const char *setting_end(const struct scan *s, const char *name, const char *at)
{
    const char *sign = at;
    bool first = *name != '-'; /* options share their line with others */

    if (sign < s->end && is_in(*sign, QUOTES))
        sign++;
    sign = skip_blanks(sign, s->end);
    if (sign == s->end || !is_in(*sign, "=:>"))
        return at;
    if (*sign == '>' && name > s->start && name[-1] == '/')
        return at; /* a closing tag: the value precedes it */
    if (*sign == '>') {
        const char *next = memchr(sign, '<', (size_t)(s->end - sign));

        return next ? next : s->end;
    }
    for (const char *before = name; first && before > s->start && before[-1] != '\n'; before--)
        first = is_in(before[-1], " \t" QUOTES);
    return value_end(s, skip_blanks(sign + 1, s->end), first || *sign == ':');
}

static void pass(struct scan *s, const char *until)
{
    buf_add(s->out, s->at, (size_t)(until - s->at));
    s->at = until;
}

/* Skips user:password@ before a host without a scheme, where a value may begin. */
static bool skip_bare_user(struct scan *s)
{
    const char *end, *user, *colon;

    if (s->at > s->start && !is_in(s->at[-1], ENDS_WORD "="))
        return false;
    end = span_not(s->at, s->end, ENDS_WORD);
    user = memrchr(s->at, '@', (size_t)(end - s->at));
    colon = user ? memchr(s->at, ':', (size_t)(user - s->at)) : NULL;
    if (!colon || memmem(s->at, (size_t)(end - s->at), "://", 3) ||
        memchr(s->at, '=', (size_t)(colon - s->at))) /* a key: the value follows */
        return false;
    s->at = user + 1;
    return true;
}

static void pass_address(struct scan *s)
{
    const char *end, *user;

    pass(s, s->at + 3);
    end = span_not(s->at, s->end, ENDS_AUTHORITY);
    user = memrchr(s->at, '@', (size_t)(end - s->at));
    if (user)
        s->at = user + 1;
}

static void pass_word(struct scan *s)
{
    const char *word = s->at, *end = word;

    while (end < s->end && is_word(*end))
        end++;
    pass(s, end);
    if (registries_is_secret_name(word, (size_t)(end - word)))
        s->at = setting_end(s, word, end);
}

void registries_add_plain(struct buf *text, const char *data, size_t len)
{
    struct scan s = { .start = data, .at = data, .end = data + len, .out = text };

    while (s.at < s.end && !text->failed) {
        if (begins(&s, PEM_BEGIN))
            s.at = line_end(&s, behind(&s, s.at, PEM_END));
        else if (begins(&s, "://"))
            pass_address(&s);
        else if (skip_bare_user(&s))
            continue;
        else if (is_word(*s.at))
            pass_word(&s);
        else
            pass(&s, s.at + 1);
    }
}
