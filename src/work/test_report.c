#include "work/test_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/buf.h"
#include "base/jsonw.h"
#include "base/scope.h"
#include "base/text.h"
#include "work/markup.h"

static const char *const outcome_names[] = {
    [CASE_PASSED] = "passed",
    [CASE_FAILED] = "failed",
    [CASE_SKIPPED] = "skipped",
    [CASE_BROKEN] = "error",
};

const char *test_report_outcome_name(enum case_outcome outcome)
{
    return outcome_names[outcome];
}

static char *visible(const char *text, size_t len)
{
    char copy[REPORT_MOST_TEXT];

    text_copy_visibly(copy, sizeof(copy), text, len);
    return strdup(copy);
}

/* A tab is the one control character that is plain text in a message. */
static void add_line(struct buf *out, const char *line, size_t len)
{
    for (size_t at = 0; at < len;) {
        const char *tab = memchr(line + at, '\t', len - at);
        size_t part = tab ? (size_t)(tab - line) - at : len - at;
        scoped_free char *shown = visible(line + at, part);

        buf_add_text(out, shown ? shown : "");
        if (tab)
            buf_add_text(out, "    ");
        at += part + (tab != NULL);
    }
}

/* A polynomial modulo a prime at a random point: names that were chosen to collide do not. */
static uint64_t hash_name(const struct report *r, const char *name)
{
    const uint64_t prime = (1ULL << 61) - 1;
    uint64_t hash = 1;

    for (; *name; name++) {
        unsigned __int128 next = (unsigned __int128)hash * r->key + (unsigned char)*name;

        /* Modulo 2^61 - 1 what is above bit 61 counts as much as what is below. */
        hash = (uint64_t)(next & prime) + (uint64_t)(next >> 61);
        hash = (hash & prime) + (hash >> 61);
    }
    return hash;
}

/* The slot that has the name, or the free one where it belongs. */
static uint32_t *find_slot(const struct report *r, const char *name)
{
    size_t at = hash_name(r, name) & (r->n_slots - 1);

    while (r->slots[at] && strcmp(r->cases[r->slots[at] - 1].name, name) != 0)
        at = (at + 1) & (r->n_slots - 1);
    return &r->slots[at];
}

/* Room for one more case: at most half of the slots are taken. */
static int grow_slots(struct report *r, sbr_error *err)
{
    size_t wanted = r->n_slots ? 2 * r->n_slots : 64;
    uint32_t *slots;

    if (2 * (r->n + 1) <= r->n_slots)
        return 0;
    slots = calloc(wanted, sizeof(*slots));
    if (!slots)
        return err_set_oom(err, "report");
    if (!r->key && getrandom(&r->key, sizeof(r->key), GRND_NONBLOCK) < 0)
        r->key = (uint64_t)(uintptr_t)slots;
    r->key = r->key % ((1ULL << 61) - 2) + 1;
    free(r->slots);
    r->slots = slots;
    r->n_slots = wanted;
    for (size_t i = 0; r->cases && i < r->n; i++)
        *find_slot(r, r->cases[i].name) = (uint32_t)i + 1;
    return 0;
}

/* Room for one more; twice as much whenever the number is a power of two. */
static struct report_case *grow_cases(struct report *r)
{
    struct report_case *grown = r->cases;

    if (!(r->n & (r->n - 1)))
        grown = realloc(r->cases, (r->n ? 2 * r->n : 1) * sizeof(*grown));
    if (grown)
        r->cases = grown;
    return grown;
}

/* Whether `n` more bytes may be kept.  Visible text is longer than what the runner wrote. */
static bool has_room(struct report *r, size_t n, size_t most)
{
    if (r->bytes + n > most)
        return false;
    r->bytes += n;
    return true;
}

struct report_case *test_report_add(struct report *r, const char *group, const char *name,
                                    sbr_error *err)
{
    bool grouped = group && *group;
    scoped_free char *whole = NULL, *shown = NULL;
    struct report_case *grown;

    if (r->n == REPORT_MOST_CASES) {
        err_set(err, SBR_E_INVALID, "report", "the runner reports more than %d cases",
                REPORT_MOST_CASES);
        return NULL;
    }
    if (grow_slots(r, err) < 0)
        return NULL;
    whole = text_format("%s%s%s", grouped ? group : "", grouped ? "::" : "", name);
    shown = whole ? visible(whole, strlen(whole)) : NULL;
    grown = shown ? grow_cases(r) : NULL;
    if (!grown) {
        err_set_oom(err, "report");
        return NULL;
    }
    if (!has_room(r, strlen(shown), REPORT_MOST_BYTES)) {
        err_set(err, SBR_E_INVALID, "report",
                "the names of the runner's cases have more than %zu MiB", REPORT_MOST_BYTES >> 20);
        return NULL;
    }
    grown[r->n] = (struct report_case){ .name = take_ptr(shown) };
    *find_slot(r, grown[r->n].name) = (uint32_t)r->n + 1;
    return &grown[r->n++];
}

static const char left_out[] = "(left out: the messages of all cases are too long together)";

int test_report_set_message(struct report *r, struct report_case *c, const char *text, size_t len,
                            sbr_error *err)
{
    struct buf out;

    if (c->message)
        return 0;
    buf_init(&out, 8 * REPORT_MOST_TEXT);
    if (len > REPORT_MOST_TEXT / 2)
        len = REPORT_MOST_TEXT / 2;
    while (len && strchr("\n\t ", text[len - 1]))
        len--;
    for (size_t at = 0; at < len;) {
        const char *end = memchr(text + at, '\n', len - at);
        size_t line = end ? (size_t)(end - text) - at : len - at;

        if (at)
            buf_add_text(&out, "\n");
        add_line(&out, text + at, line);
        at += line + 1;
    }
    buf_add_text(&out, "");
    if (!out.failed && !has_room(r, out.len, REPORT_MOST_WORDS)) {
        out.len = 0;
        buf_add_text(&out, left_out);
    }
    buf_trim(&out); /* it has a page, and there may be many */
    c->message = out.failed ? NULL : buf_take(&out, NULL);
    buf_done(&out);
    return c->message ? 0 : err_set_oom(err, "report");
}

void test_report_set_place(struct report *r, struct report_case *c, const char *file, size_t len,
                           unsigned long line)
{
    if (c->file || !len)
        return;
    c->file = visible(file, len);
    if (c->file && !has_room(r, strlen(c->file), REPORT_MOST_WORDS))
        free(take_ptr(c->file));
    c->line = (unsigned int)line;
}

struct report_case *test_report_find(struct report *r, const char *name)
{
    uint32_t number = r->n_slots ? *find_slot(r, name) : 0;

    return number ? &r->cases[number - 1] : NULL;
}

static bool has_failed(const struct report_case *c)
{
    return c->outcome == CASE_FAILED || c->outcome == CASE_BROKEN;
}

static char *copied(struct report *to, const char *text)
{
    return text && has_room(to, strlen(text), REPORT_MOST_WORDS) ? strdup(text) : NULL;
}

int test_report_merge(struct report *to, const struct report *from, sbr_error *err)
{
    for (size_t i = 0; i < from->n; i++) {
        const struct report_case *c = &from->cases[i];
        struct report_case *old = test_report_find(to, c->name);

        if (!old)
            old = test_report_add(to, NULL, c->name, err);
        if (!old)
            return err->code;
        old->runs++;
        old->failures += has_failed(c);
        old->timed = c->timed;
        old->time_us = c->time_us;
        if (old->runs == 1 || (has_failed(c) && !has_failed(old)))
            old->outcome = c->outcome;
        if (!old->message)
            old->message = copied(to, c->message);
        if (!old->denial)
            old->denial = copied(to, c->denial);
        if (!old->file) {
            old->file = copied(to, c->file);
            old->line = c->line;
        }
    }
    return 0;
}

bool test_report_is_flaky(const struct report_case *c)
{
    return c->failures && c->failures < c->runs;
}

size_t test_report_count(const struct report *r, enum case_outcome outcome)
{
    size_t n = 0;

    for (size_t i = 0; i < r->n; i++)
        n += r->cases[i].outcome == outcome;
    return n;
}

void test_report_done(struct report *r)
{
    for (size_t i = 0; i < r->n; i++) {
        free(r->cases[i].name);
        free(r->cases[i].message);
        free(r->cases[i].denial);
        free(r->cases[i].file);
    }
    free(r->cases);
    free(r->slots);
    *r = (struct report){ 0 };
}

static void put_case(struct jsonw *j, const struct report_case *c)
{
    jsonw_open(j, NULL, '{');
    jsonw_text(j, "name", c->name);
    jsonw_text(j, "outcome", outcome_names[c->outcome]);
    if (c->timed)
        jsonw_fixed(j, "time_ms", c->time_us, 3);
    else
        jsonw_null(j, "time_ms");
    jsonw_text(j, "message", c->message);
    jsonw_text(j, "denial", c->denial);
    jsonw_text(j, "file", c->file);
    if (c->line)
        jsonw_number(j, "line", c->line);
    else
        jsonw_null(j, "line");
    if (c->runs > 1) {
        jsonw_number(j, "runs", c->runs);
        jsonw_number(j, "failures", c->failures);
    }
    jsonw_close(j, '}');
}

void test_report_put_json(struct jsonw *j, const char *key, const struct report *r)
{
    jsonw_open(j, key, '[');
    for (size_t i = 0; i < r->n; i++)
        put_case(j, &r->cases[i]);
    jsonw_close(j, ']');
}

static const char *const junit_elements[] = {
    [CASE_FAILED] = "failure",
    [CASE_SKIPPED] = "skipped",
    [CASE_BROKEN] = "error",
};

static void write_junit_case(const struct report_case *c, struct buf *out)
{
    buf_add_text(out, "  <testcase name=\"");
    markup_escape(out, c->name);
    buf_printf(out, "\" time=\"%" PRIu64 ".%06" PRIu64 "\"", c->time_us / 1000000,
               c->time_us % 1000000);
    if (c->file) {
        buf_add_text(out, " file=\"");
        markup_escape(out, c->file);
        buf_printf(out, "\" line=\"%u\"", c->line);
    }
    if (c->outcome == CASE_PASSED) {
        buf_add_text(out, "/>\n");
        return;
    }
    buf_printf(out, "><%s message=\"", junit_elements[c->outcome]);
    markup_escape(out, c->message ? c->message : "");
    buf_add_text(out, "\"/></testcase>\n");
}

int test_report_write_junit(const struct report *r, const char *suite, struct buf *out)
{
    buf_add_text(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"");
    markup_escape(out, suite);
    buf_printf(out, "\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\">\n", r->n,
               test_report_count(r, CASE_FAILED), test_report_count(r, CASE_BROKEN),
               test_report_count(r, CASE_SKIPPED));
    for (size_t i = 0; i < r->n; i++)
        write_junit_case(&r->cases[i], out);
    return buf_add_text(out, "</testsuite>\n");
}

/* A name with a '#' would begin a directive. */
static void add_tap_name(struct buf *out, const char *name)
{
    for (; *name; name++) {
        if (*name == '#' || *name == '\\')
            buf_add_text(out, "\\");
        buf_add(out, name, 1);
    }
}

static void add_tap_message(struct buf *out, const char *message)
{
    for (const char *line = message; line; line = strchr(line, '\n')) {
        line += line > message || *line == '\n';
        buf_printf(out, "  # %.*s\n", (int)strcspn(line, "\n"), line);
    }
}

int test_report_write_tap(const struct report *r, struct buf *out)
{
    buf_printf(out, "TAP version 13\n1..%zu\n", r->n);
    for (size_t i = 0; i < r->n; i++) {
        const struct report_case *c = &r->cases[i];
        bool bad = c->outcome == CASE_FAILED || c->outcome == CASE_BROKEN;

        buf_printf(out, "%s %zu - ", bad ? "not ok" : "ok", i + 1);
        add_tap_name(out, c->name);
        buf_add_text(out, c->outcome == CASE_SKIPPED ? " # SKIP\n" : "\n");
        if (bad && c->message)
            add_tap_message(out, c->message);
    }
    return out->failed ? -1 : 0;
}
