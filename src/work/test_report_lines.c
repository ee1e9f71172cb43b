/* Reports that are lines of text: TAP, and what cargo and unittest print. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/scope.h"
#include "base/text.h"
#include "work/test_report.h"

struct lines {
    const char *text;
    size_t len, at;
};

/* The next line without its end; false: there is none. */
static bool next_line(struct lines *l, const char **ret, size_t *ret_len)
{
    const char *end;

    if (l->at >= l->len)
        return false;
    *ret = l->text + l->at;
    end = memchr(*ret, '\n', l->len - l->at);
    *ret_len = end ? (size_t)(end - *ret) : l->len - l->at;
    l->at += *ret_len + (end != NULL); /* never behind the text's end */
    if (*ret_len && (*ret)[*ret_len - 1] == '\r')
        --*ret_len;
    return true;
}

static bool begins_with(const char *line, size_t len, const char *word)
{
    return len >= strlen(word) && !memcmp(line, word, strlen(word));
}

static struct report_case *add(struct report *r, const char *name, size_t len,
                               enum case_outcome outcome, sbr_error *err)
{
    scoped_free char *copy = strndup(name, len);
    struct report_case *c = copy ? test_report_add(r, NULL, copy, err) : NULL;

    if (!copy)
        err_set_oom(err, "report");
    if (c)
        c->outcome = outcome;
    return c;
}

/* Where a directive such as "# SKIP reason" begins; `len`: there is none. */
static size_t directive_at(const char *line, size_t len)
{
    for (size_t i = 0; i + 2 < len; i++) {
        if (line[i] == '\\')
            i++;
        else if (line[i] == '#' && line[i + 1] == ' ')
            return i;
    }
    return len;
}

static int take_tap(struct report *r, const char *line, size_t len, bool ok, sbr_error *err)
{
    size_t end = directive_at(line, len), from = 0;
    const char *directive = end < len ? line + end + 2 : "";
    bool skipped = end < len && !strncasecmp(directive, "skip", 4);
    bool todo = end < len && !strncasecmp(directive, "todo", 4);
    struct report_case *c;

    while (from < end && line[from] >= '0' && line[from] <= '9')
        from++;
    while (from < end && (line[from] == ' ' || line[from] == '-'))
        from++;
    end = skipped || todo ? end : len;
    while (end > from && line[end - 1] == ' ')
        end--;
    if (skipped && end == from) { /* only the directive says what it is */
        from = (size_t)(directive - line) + 4;
        end = len;
    }
    while (from < end && line[from] == ' ')
        from++;
    c = add(r, line + from, end - from,
            skipped || (todo && !ok) ? CASE_SKIPPED
            : ok                     ? CASE_PASSED
                                     : CASE_FAILED,
            err);
    return c ? 0 : err->code;
}

/* "# TEXT", and what stands below a case between "  ---" and "  ...". */
static bool is_tap_message(const char *line, size_t len)
{
    return begins_with(line, len, "# ") || begins_with(line, len, "  ");
}

/* The lines of a message from this one on are that of the case before them. */
static int take_tap_message(struct report *r, struct lines *lines, const char *line, size_t len,
                            sbr_error *err)
{
    size_t before = lines->at;
    struct buf text;
    int res;

    buf_init(&text, REPORT_MOST_TEXT);
    do {
        if (text.len + len >= REPORT_MOST_TEXT)
            break;
        buf_add(&text, line + 2, len - 2);
        buf_add_text(&text, "\n");
        before = lines->at;
    } while (next_line(lines, &line, &len) && is_tap_message(line, len));
    lines->at = before;
    res = test_report_set_message(r, &r->cases[r->n - 1], text.len ? text.data : "", text.len, err);
    buf_done(&text);
    return res;
}

int test_report_parse_tap(const char *text, size_t len, struct report *r, sbr_error *err)
{
    struct lines lines = { .text = text, .len = len };
    const char *line;
    size_t n;

    while (next_line(&lines, &line, &n)) {
        bool bad = begins_with(line, n, "not ok ");
        int res = 0;

        if (bad || begins_with(line, n, "ok "))
            res = take_tap(r, line + (bad ? 7 : 3), n - (bad ? 7 : 3), !bad, err);
        else if (r->n && is_tap_message(line, n) && r->cases[r->n - 1].outcome == CASE_FAILED)
            res = take_tap_message(r, &lines, line, n, err);
        if (res < 0)
            return res;
    }
    return 0;
}

/* "FILE:LINE" in a message, as compilers and panics name places. */
static void find_place(struct report *r, struct report_case *c, const char *after)
{
    const char *place = c->message ? strstr(c->message, after) : NULL, *colon;
    size_t len;

    if (!place)
        return;
    place += strlen(after);
    len = strcspn(place, ":\n");
    colon = place + len;
    if (*colon != ':' || !len)
        return;
    test_report_set_place(r, c, place, len, strtoul(colon + 1, NULL, 10));
}

static const struct {
    const char *ending;
    enum case_outcome outcome;
} cargo_endings[] = {
    { " ... ok", CASE_PASSED },
    { " ... FAILED", CASE_FAILED },
    { " ... ignored", CASE_SKIPPED },
};

static int take_cargo(struct report *r, const char *line, size_t len, sbr_error *err)
{
    for (size_t i = 0; i < sizeof(cargo_endings) / sizeof(*cargo_endings); i++)
        if (text_ends(line, len, cargo_endings[i].ending))
            return add(r, line, len - strlen(cargo_endings[i].ending), cargo_endings[i].outcome,
                       err)
                       ? 0
                       : err->code;
    return 0;
}

/* "---- NAME stdout ----", then what the failed case printed, up to the next such line. */
static int take_cargo_output(struct report *r, struct lines *lines, const char *line, size_t len,
                             sbr_error *err)
{
    scoped_free char *name = strndup(line + 5, len - 5 - strlen(" stdout ----"));
    struct report_case *c = name ? test_report_find(r, name) : NULL;
    size_t from = lines->at, before = lines->at, n;
    const char *next;
    int res;

    while (next_line(lines, &next, &n) && !begins_with(next, n, "---- ") &&
           !begins_with(next, n, "failures:"))
        before = lines->at;
    lines->at = before;
    if (!c)
        return name ? 0 : err_set_oom(err, "report");
    res = test_report_set_message(r, c, lines->text + from, before - from, err);
    find_place(r, c, "panicked at ");
    return res;
}

int test_report_parse_cargo(const char *text, size_t len, struct report *r, sbr_error *err)
{
    struct lines lines = { .text = text, .len = len };
    const char *line;
    size_t n;

    while (next_line(&lines, &line, &n)) {
        int res = 0;

        if (begins_with(line, n, "test "))
            res = take_cargo(r, line + 5, n - 5, err);
        else if (begins_with(line, n, "---- ") && text_ends(line + 5, n - 5, " stdout ----"))
            res = take_cargo_output(r, &lines, line, n, err);
        if (res < 0)
            return res;
    }
    return 0;
}

static const struct {
    const char *word;
    enum case_outcome outcome;
} unittest_words[] = {
    { "ok", CASE_PASSED },
    { "FAIL", CASE_FAILED },
    { "ERROR", CASE_BROKEN },
    { "skipped", CASE_SKIPPED },
    { "expected failure", CASE_PASSED },
    { "unexpected success", CASE_FAILED },
};

/* "test_x (tests.test_a.Class.test_x) ... ok": the name that unittest itself takes is in brackets;
 * before Python 3.11 it lacks the method. */
static int take_unittest(struct report *r, const char *line, size_t len, const char *dots,
                         sbr_error *err)
{
    const char *word = dots + 5, *open = memchr(line, '(', len);
    size_t left = len - (size_t)(word - line);
    size_t n = open ? strcspn(open + 1, ")") : 0, method = strcspn(line, " ");
    scoped_free char *name = NULL;
    struct report_case *c;

    if (!open || open > dots)
        return 0;
    for (size_t i = 0; i < sizeof(unittest_words) / sizeof(*unittest_words); i++) {
        if (!begins_with(word, left, unittest_words[i].word))
            continue;
        bool whole = n > method && !memcmp(open + 1 + n - method, line, method);

        name = whole ? strndup(open + 1, n)
                     : text_format("%.*s.%.*s", (int)n, open + 1, (int)method, line);
        c = name ? add(r, name, strlen(name), unittest_words[i].outcome, err) : NULL;
        if (c && c->outcome == CASE_SKIPPED)
            return test_report_set_message(r, c, word, left, err);
        return c ? 0 : name ? err->code : err_set_oom(err, "report");
    }
    return 0;
}

/* "FAIL: test_x (tests.test_a.Class.test_x)", a rule, and the traceback up to the next rule. */
static int take_traceback(struct report *r, struct lines *lines, const char *line, size_t len,
                          sbr_error *err)
{
    const char *open = memchr(line, '(', len), *next;
    scoped_free char *name = open ? strndup(open + 1, strcspn(open + 1, ")\n")) : NULL;
    struct report_case *c = name ? test_report_find(r, name) : NULL;
    size_t n, from, before;
    int res;

    if (!c || !next_line(lines, &next, &n))
        return 0;
    from = before = lines->at;
    while (next_line(lines, &next, &n) && !begins_with(next, n, "=====") &&
           !begins_with(next, n, "-----"))
        before = lines->at;
    lines->at = before;
    res = test_report_set_message(r, c, lines->text + from, before - from, err);
    if (c->message && (next = strstr(c->message, "File \""))) {
        const char *line_at = strstr(next, ", line ");

        test_report_set_place(r, c, next + 6, strcspn(next + 6, "\"\n"),
                              line_at ? strtoul(line_at + 7, NULL, 10) : 0);
    }
    return res;
}

int test_report_parse_unittest(const char *text, size_t len, struct report *r, sbr_error *err)
{
    struct lines lines = { .text = text, .len = len };
    const char *line;
    size_t n;

    while (next_line(&lines, &line, &n)) {
        const char *dots = n > 5 ? memmem(line, n, " ... ", 5) : NULL;
        int res = 0;

        if (begins_with(line, n, "FAIL: ") || begins_with(line, n, "ERROR: "))
            res = take_traceback(r, &lines, line, n, err);
        else if (dots)
            res = take_unittest(r, line, n, dots, err);
        if (res < 0)
            return res;
    }
    return 0;
}
