/* Lines, patterns, and the two together. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "plan/diagnose_parts.h"

/* Where the last DIAGNOSE_MAX_LINES lines start. */
static size_t tail_start(const char *text, size_t len)
{
    size_t n = 0, start = len;

    while (start > 0) {
        if (text[start - 1] == '\n' && start < len && ++n == DIAGNOSE_MAX_LINES)
            break;
        start--;
    }
    return start;
}

/* A long line is cut, not inside of a character, lest a locale's matcher gives up on it. */
static size_t line_copy(char *to, const char *from, size_t len)
{
    size_t copied = len < DIAGNOSE_MAX_LINE ? len : DIAGNOSE_MAX_LINE;

    if (copied < len)
        while (copied > 0 && ((unsigned char)from[copied] & 0xc0) == 0x80)
            copied--;
    else if (copied > 0 && from[copied - 1] == '\r')
        copied--;
    for (size_t i = 0; i < copied; i++)
        to[i] = from[i] ? from[i] : ' ';
    to[copied] = '\0';
    return copied + 1;
}

int lines_split(struct lines *lines, const char *text, size_t len, bool from_end)
{
    size_t used = 0, kept = len < DIAGNOSE_MAX_TEXT ? len : DIAGNOSE_MAX_TEXT;

    *lines = (struct lines){ .text = malloc(kept + 1),
                             .at = calloc(DIAGNOSE_MAX_LINES, sizeof(*lines->at)) };
    if (!lines->text || !lines->at) {
        lines_done(lines);
        return SBR_E_NO_MEMORY;
    }
    if (from_end && len > 0) {
        text += len - kept;
        len = kept;
        kept -= tail_start(text, len);
        text += len - kept;
    }
    while (kept > 0 && lines->n < DIAGNOSE_MAX_LINES) {
        const char *newline = memchr(text, '\n', kept);
        size_t line = newline ? (size_t)(newline - text) : kept;

        lines->at[lines->n] = lines->text + used;
        lines->n++;
        used += line_copy(lines->text + used, text, line);
        line += newline ? 1 : 0;
        text += line;
        kept -= line;
    }
    return 0;
}

void lines_done(struct lines *lines)
{
    free(lines->text);
    free(lines->at);
    *lines = (struct lines){ 0 };
}

/* POSIX has no escapes for a line end and a tab: \n and \t become them here. */
static char *pattern_text(const char *match, size_t *ret_lines)
{
    char *text = malloc(strlen(match) + 1), *out = text;

    *ret_lines = 1;
    while (text && *match) {
        if (match[0] == '\\' && (match[1] == 'n' || match[1] == 't')) {
            *ret_lines += match[1] == 'n';
            *out++ = match[1] == 'n' ? '\n' : '\t';
            match += 2;
            continue;
        }
        if (match[0] == '\\' && match[1])
            *out++ = *match++;
        *out++ = *match++;
    }
    if (text)
        *out = '\0';
    return text;
}

int pattern_init(struct pattern *pattern, const char *match)
{
    char *text = pattern_text(match, &pattern->lines);

    pattern->works = text && pattern->lines <= DIAGNOSE_MAX_WINDOW &&
                     regcomp(&pattern->regex, text, REG_EXTENDED) == 0;
    free(text);
    return pattern->works ? 0 : SBR_E_INVALID;
}

void pattern_done(struct pattern *pattern)
{
    if (pattern->works)
        regfree(&pattern->regex);
    pattern->works = false;
}

/* The lines as one text, in the hit. */
static void window_join(const struct lines *lines, struct hit *hit)
{
    char *out = hit->subject;

    for (size_t i = hit->first; i <= hit->last; i++) {
        size_t len = strlen(lines->at[i]);

        memcpy(out, lines->at[i], len);
        out[len] = i < hit->last ? '\n' : '\0';
        out += len + 1;
    }
}

bool pattern_matches(const struct pattern *pattern, const struct lines *lines, size_t line,
                     enum window window, struct hit *ret)
{
    size_t first = line, more = pattern->lines - 1;
    const char *subject = lines->at[line];

    if (!pattern->works || (window == WINDOW_STARTS ? lines->n - line <= more : line < more))
        return false;
    if (window == WINDOW_ENDS)
        first -= more;
    ret->first = first;
    ret->last = first + more;
    if (more > 0) {
        window_join(lines, ret);
        subject = ret->subject;
    }
    if (regexec(&pattern->regex, subject, DIAGNOSE_MAX_GROUPS, ret->group, 0) != 0)
        return false;
    if (more == 0)
        window_join(lines, ret);
    return true;
}

char *hit_group(const struct hit *hit, int group)
{
    const regmatch_t *g = &hit->group[group];

    if (g->rm_so < 0)
        return strdup("");
    return strndup(hit->subject + g->rm_so, (size_t)(g->rm_eo - g->rm_so));
}

unsigned int hit_number(const struct hit *hit, int group)
{
    char *text = group > 0 ? hit_group(hit, group) : NULL;
    uint64_t value = 0;

    if (!text || text_parse_count(text, &value) != TEXT_OK || value > INT32_MAX)
        value = 0;
    free(text);
    return (unsigned int)value;
}
