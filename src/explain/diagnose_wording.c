/* Expands the texts of rules with what they quote. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "explain/diagnose_internal.h"

#define WORDING_MAX 4096
#define ALTERNATIVE " || "

void diagnose_wording_clean(char *text, size_t max)
{
    size_t len = strlen(text);

    if (len > max) {
        len = max;
        while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
            len--;
        text[len] = '\0';
    }
    if (!text_is_utf8(text, len))
        for (char *p = text; *p; p++)
            if ((unsigned char)*p >= 0x80)
                *p = '?';
    for (char *p = text; *p; p++)
        if (((unsigned char)*p < ' ' && *p != '\n' && *p != '\t') || *p == 0x7f)
            *p = '?';
}

static void add_group(struct buf *out, const struct hit *hit, int group)
{
    const regmatch_t *g = &hit->group[group];

    if (g->rm_so >= 0)
        buf_add(out, hit->subject + g->rm_so, (size_t)(g->rm_eo - g->rm_so));
}

static void add_groups(struct buf *out, const struct hit *hit, struct source text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.text[i] == '\\' && i + 1 < text.len && text.text[i + 1] >= '0' &&
            text.text[i + 1] <= '9')
            add_group(out, hit, text.text[++i] - '0');
        else
            buf_add(out, &text.text[i], 1);
    }
}

/* 0, or -1 when no word is near. */
static int add_nearest(struct buf *out, const struct diagnose_input *in, const struct hit *hit,
                       struct source words)
{
    scoped_free char *near = NULL;
    struct buf expanded;

    buf_init(&expanded, WORDING_MAX);
    add_groups(&expanded, hit, words);
    if (!expanded.failed && expanded.len > 0)
        near = diagnose_source_nearest(in, expanded.data);
    buf_done(&expanded);
    return near ? buf_add_text(out, near) : -1;
}

/* Quotes the text for a shell where it has to be. */
static int add_quoted(struct buf *out, const char *text, size_t len)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-+@%,=:";

    if (memchr(text, '\'', len))
        return -1;
    if (strspn(text, plain) >= len)
        return buf_add(out, text, len);
    buf_add(out, "'", 1);
    buf_add(out, text, len);
    return buf_add(out, "'", 1);
}

/* Messages put a name in quotes, or not. */
static char *without_quotes(char *name)
{
    size_t len = strlen(name);

    if (len < 2 || !strchr("'\"`", name[0]) || !strchr("'\"", name[len - 1]))
        return name;
    name[len - 1] = '\0';
    return name + 1;
}

/* The program chose the name: only what stays below its directory is looked for. */
static const char *name_beside(const struct diagnose_input *in, char *name)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-";
    size_t work = in->work ? strlen(in->work) : 0;

    name = without_quotes(name);
    if (work && !strncmp(name, in->work, work) && name[work] == '/')
        name += work + 1;
    while (!strncmp(name, "./", 2))
        name += 2;
    if (!*name || *name == '/' || name[strspn(name, plain)] || strstr(name, ".."))
        return NULL;
    return in->is_beside && in->origin && in->is_beside(in->origin, name) ? name : NULL;
}

/* The first of several files, separated by |, that lies beside the program; -1: none does. */
static int add_beside(struct buf *out, const struct diagnose_input *in, const struct hit *hit,
                      struct source words)
{
    const char *found = NULL;
    char *rest, *name;
    struct buf expanded;
    int r = -1;

    buf_init(&expanded, WORDING_MAX);
    add_groups(&expanded, hit, words);
    buf_add(&expanded, "", 1);
    rest = expanded.failed ? NULL : expanded.data;
    while (rest && !found && (name = strsep(&rest, "|")))
        found = name_beside(in, name);
    if (found && strcmp(in->origin, ".") != 0) {
        scoped_free char *path = NULL;

        if (asprintf(&path, "%s/%s", in->origin, found) >= 0)
            r = add_quoted(out, path, strlen(path));
    } else if (found)
        r = add_quoted(out, found, strlen(found));
    buf_done(&expanded);
    return r;
}

static int add_origin(struct buf *out, const struct diagnose_input *in, const struct hit *hit,
                      struct source words)
{
    (void)hit;
    (void)words;
    return in->origin ? add_quoted(out, in->origin, strlen(in->origin)) : -1;
}

/* What stands for words that are looked up. */
static const struct {
    const char *start;
    int (*add)(struct buf *out, const struct diagnose_input *in, const struct hit *hit,
               struct source words);
} lookups[] = {
    { "${nearest:", add_nearest },
    { "${beside:", add_beside },
    { "${origin", add_origin },
};

/* The one that begins here, or -1. */
static int lookup_at(const char *at, size_t len)
{
    for (size_t i = 0; i < ARRAY_LEN(lookups); i++)
        if (strlen(lookups[i].start) <= len &&
            !memcmp(at, lookups[i].start, strlen(lookups[i].start)))
            return (int)i;
    return -1;
}

static char *expand(const struct diagnose_input *in, const struct hit *hit, struct source text)
{
    struct buf out;

    buf_init(&out, WORDING_MAX);
    buf_add(&out, "", 0);
    while (text.len > 0) {
        const char *from = memmem(text.text, text.len, "${", 2);
        int which = from ? lookup_at(from, text.len - (size_t)(from - text.text)) : -1;
        const char *end =
            which >= 0 ? memchr(from, '}', text.len - (size_t)(from - text.text)) : NULL;
        size_t plain = end ? (size_t)(from - text.text) : text.len;

        add_groups(&out, hit, (struct source){ text.text, plain });
        if (!end)
            break;
        from += strlen(lookups[which].start);
        if (lookups[which].add(&out, in, hit, (struct source){ from, (size_t)(end - from) }) < 0)
            out.failed = true;
        text.len -= (size_t)(end + 1 - text.text);
        text.text = end + 1;
    }
    if (out.failed) {
        buf_done(&out);
        return NULL;
    }
    while (out.len > 0 && out.data[out.len - 1] == ' ') /* before an unmatched group */
        out.data[--out.len] = '\0';
    return buf_take(&out, NULL);
}

char *diagnose_wording_expand(const struct diagnose_input *in, const struct hit *hit,
                              const char *text)
{
    char *expanded = text ? expand(in, hit, (struct source){ text, strlen(text) }) : NULL;

    if (expanded)
        diagnose_wording_clean(expanded, PATTERN_MAX_LINE);
    return expanded;
}

char *diagnose_wording_expand_first(const struct diagnose_input *in, const struct hit *hit,
                                    const char *text)
{
    char *expanded = NULL;

    while (text && !expanded) {
        const char *end = strstr(text, ALTERNATIVE);
        size_t len = end ? (size_t)(end - text) : strlen(text);

        expanded = expand(in, hit, (struct source){ text, len });
        text = end ? end + strlen(ALTERNATIVE) : NULL;
    }
    if (expanded)
        diagnose_wording_clean(expanded, PATTERN_MAX_LINE);
    return expanded;
}
