/* Lines, patterns, and matching. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "plan/pattern.h"

/* The start of the last PATTERN_MAX_LINES lines. */
static size_t tail_start(const char *text, size_t len)
{
    size_t n = 0, start = len;

    while (start > 0) {
        if (text[start - 1] == '\n' && start < len && ++n == PATTERN_MAX_LINES)
            break;
        start--;
    }
    return start;
}

/* Cuts a long line, but not inside a character, because a locale's matcher may fail on that. */
static size_t line_copy(char *to, const char *from, size_t len)
{
    size_t copied = len < PATTERN_MAX_LINE ? len : PATTERN_MAX_LINE;

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

int pattern_lines_split(struct lines *lines, const char *text, size_t len, bool from_end)
{
    size_t used = 0, kept = len < PATTERN_MAX_TEXT ? len : PATTERN_MAX_TEXT;

    *lines = (struct lines){ .text = malloc(kept + 1),
                             .at = calloc(PATTERN_MAX_LINES, sizeof(*lines->at)) };
    if (!lines->text || !lines->at) {
        pattern_lines_done(lines);
        return SBR_E_NO_MEMORY;
    }
    if (from_end && len > 0) {
        text += len - kept;
        len = kept;
        kept -= tail_start(text, len);
        text += len - kept;
    }
    while (kept > 0 && lines->n < PATTERN_MAX_LINES) {
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

void pattern_lines_done(struct lines *lines)
{
    free(lines->text);
    free(lines->at);
    *lines = (struct lines){ 0 };
}

/* The "]" of the bracket expression that starts at `p`. */
static const char *bracket_end(const char *p)
{
    p += p[1] == '^' ? 2 : 1;
    if (*p == ']')
        p++;
    while (*p && *p != ']') {
        const char *class_end = p[0] == '[' && p[1] == ':' ? strstr(p + 2, ":]") : NULL;

        p = class_end ? class_end + 2 : p + 1;
    }
    return p;
}

/* Whether a pattern, or the group that starts at `p`, has alternatives; returns the group's ")". */
static const char *alternatives_find(const char *p, bool is_group, bool *ret_found)
{
    int depth = 0, inside = is_group ? 1 : 0;

    *ret_found = false;
    for (; *p; p++) {
        if (*p == '\\' && p[1])
            p++;
        else if (*p == '[')
            p = bracket_end(p);
        else if (*p == '(')
            depth++;
        else if (*p == ')')
            depth--;
        else if (*p == '|' && depth == inside)
            *ret_found = true;
        if (!*p || (is_group && depth == 0))
            break;
    }
    return p;
}

static bool is_quantifier(char c)
{
    return c == '*' || c == '?' || c == '{';
}

/* The next literal character; 0 for everything else.  *ret_at is what follows it. */
static char literal_next(const char *p, const char **ret_at)
{
    bool alternatives;
    const char *end = p;
    char c = *p;

    if (c == '(') {
        end = alternatives_find(p, true, &alternatives);
        if (*end && !alternatives && !is_quantifier(end[1]))
            end = p; /* everything in the group is mandatory */
        c = '\0';
    } else if (c == '[') {
        end = bracket_end(p);
        c = '\0';
    } else if (c == '\\' && p[1]) {
        c = *++end;
    } else if (c == '{') {
        end = strchr(p, '}');
        c = '\0';
    } else if (strchr("^$.*?+)", c)) {
        c = '\0';
    }
    *ret_at = end && *end ? end + 1 : p + strlen(p);
    return is_quantifier(**ret_at) ? '\0' : c;
}

/* The longest text that is part of every match of the pattern; may be empty. */
static char *literal_find(const char *pattern)
{
    size_t len = 0, best = 0, size = strlen(pattern) + 1;
    char *run = malloc(size), *longest = calloc(1, size);
    bool alternatives;

    alternatives_find(pattern, false, &alternatives);
    if (!run || !longest || alternatives) {
        free(run);
        return longest;
    }
    while (*pattern) {
        char c = literal_next(pattern, &pattern);

        if (c)
            run[len++] = c;
        else
            len = 0;
        if (len > best) {
            best = len;
            memcpy(longest, run, len);
            longest[len] = '\0';
        }
    }
    free(run);
    return longest;
}

/* POSIX has no escapes for a newline and a tab: replaces \n and \t. */
static char *pattern_text(const char *match)
{
    char *text = malloc(strlen(match) + 1), *out = text;

    while (text && *match) {
        if (match[0] == '\\' && (match[1] == 'n' || match[1] == 't')) {
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
    *pattern = (struct pattern){ .text = pattern_text(match) };
    if (!pattern->text)
        return SBR_E_NO_MEMORY;
    for (const char *p = pattern->text; *p; p++)
        pattern->lines += *p == '\n';
    pattern->lines++;
    pattern->literal = literal_find(pattern->text);
    return pattern->literal ? 0 : SBR_E_NO_MEMORY;
}

bool pattern_compile(struct pattern *pattern)
{
    if (!pattern->compiled && !pattern->broken) {
        pattern->broken = !pattern->text || pattern->lines > PATTERN_MAX_WINDOW ||
                          regcomp(&pattern->regex, pattern->text, REG_EXTENDED) != 0;
        pattern->compiled = !pattern->broken;
    }
    return pattern->compiled;
}

void pattern_done(struct pattern *pattern)
{
    if (pattern->compiled)
        regfree(&pattern->regex);
    free(pattern->text);
    free(pattern->literal);
    *pattern = (struct pattern){ 0 };
}

/* Joins the lines into one text in the hit. */
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

bool pattern_matches(struct pattern *pattern, const struct lines *lines, size_t line,
                     enum window window, struct hit *ret)
{
    size_t first = line, more = pattern->lines - 1;
    const char *subject = lines->at[line];

    if (window == WINDOW_STARTS ? lines->n - line <= more : line < more)
        return false;
    if (window == WINDOW_ENDS)
        first -= more;
    ret->first = first;
    ret->last = first + more;
    if (more > 0) {
        if (more >= PATTERN_MAX_WINDOW)
            return false;
        window_join(lines, ret);
        subject = ret->subject;
    }
    if (!strstr(subject, pattern->literal) || !pattern_compile(pattern) ||
        regexec(&pattern->regex, subject, PATTERN_MAX_GROUPS, ret->group, 0) != 0)
        return false;
    if (more == 0)
        window_join(lines, ret);
    return true;
}

char *pattern_hit_group(const struct hit *hit, int group)
{
    const regmatch_t *g = &hit->group[group];

    if (g->rm_so < 0)
        return strdup("");
    return strndup(hit->subject + g->rm_so, (size_t)(g->rm_eo - g->rm_so));
}

unsigned int pattern_hit_number(const struct hit *hit, int group)
{
    char *text = group > 0 ? pattern_hit_group(hit, group) : NULL;
    uint64_t value = 0;

    if (!text || text_parse_count(text, &value) != TEXT_OK || value > INT32_MAX)
        value = 0;
    free(text);
    return (unsigned int)value;
}
