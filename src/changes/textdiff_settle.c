/* An added or removed piece can often be shown in several ways: "}, empty line, head {, body" or
 * "empty line, head {, body, }".  People want the one that begins where a block begins.
 *
 * The order of unchanged lines decides which lines of the two texts belong together.  A changed
 * piece that moves over a line equal to its first (or last) leaves that order as it is. */
#include "changes/textdiff.h"

#define MAX_INDENT 60

/* A changed piece of `x`, at the line `other` of `y`, which has nothing changed there. */
struct piece {
    struct textdiff_lines *x;
    const struct textdiff_lines *y;
    size_t start, end, other;
};

/* Columns before the first letter; a line without one: -1. */
static int indent(const struct textdiff_lines *lines, size_t i)
{
    int columns = 0;

    for (size_t at = lines->starts[i]; at < lines->starts[i + 1]; at++) {
        char c = lines->text.data[at];

        if (c == '\n' || c == '\r')
            break;
        if (c != ' ' && c != '\t')
            return columns;
        if (columns < MAX_INDENT)
            columns += c == '\t' ? 8 : 1;
    }
    return -1;
}

/* The cost of a cut before line `i`.  Best is after an empty line, or at an end of the text; worst
 * is the middle of a block. */
static int badness_at(const struct textdiff_lines *lines, size_t i)
{
    int before = i > 0 ? indent(lines, i - 1) : -1, after = i < lines->n ? indent(lines, i) : 0;

    if (before < 0 || i == lines->n)
        return after > 0 ? after : 0;
    if (after < 0)
        return 10;
    return 50 + after + (before > after ? 200 : 0);
}

static int badness(const struct piece *p)
{
    return badness_at(p->x, p->start) + badness_at(p->x, p->end);
}

static bool can_rise(const struct piece *p)
{
    return p->start > 0 && p->other > 0 && !p->x->changed[p->start - 1] &&
           !p->y->changed[p->other - 1] && p->x->ids[p->start - 1] == p->x->ids[p->end - 1];
}

static bool can_sink(const struct piece *p)
{
    return p->end < p->x->n && p->other < p->y->n && !p->x->changed[p->end] &&
           !p->y->changed[p->other] && p->x->ids[p->start] == p->x->ids[p->end];
}

static void shift(struct piece *p, long by)
{
    p->start += (size_t)by;
    p->end += (size_t)by;
    p->other += (size_t)by;
}

static void set_changed(const struct piece *p, bool changed)
{
    for (size_t i = p->start; i < p->end; i++)
        p->x->changed[i] = changed;
}

static void settle(struct piece *p)
{
    struct piece best;
    int least;

    set_changed(p, false);
    while (can_rise(p))
        shift(p, -1);
    best = *p;
    least = badness(p);
    while (can_sink(p)) {
        int bad;

        shift(p, 1);
        bad = badness(p);
        if (bad <= least) {
            least = bad;
            best = *p;
        }
    }
    *p = best;
    set_changed(p, true);
}

void textdiff_lines_settle(struct textdiff_lines *a, struct textdiff_lines *b)
{
    size_t i = 0, k = 0;

    while (i < a->n || k < b->n) {
        struct piece out = { .x = a, .y = b, .start = i, .end = i, .other = k };
        struct piece in = { .x = b, .y = a, .start = k, .end = k, .other = i };

        while (out.end < a->n && a->changed[out.end])
            out.end++;
        while (in.end < b->n && b->changed[in.end])
            in.end++;
        if (out.end > i && in.end == k) {
            settle(&out);
            in.end = out.other;
        } else if (in.end > k && out.end == i) {
            settle(&in);
            out.end = in.other;
        } else if (in.end == k && out.end == i) {
            in.end++;
            out.end++;
        }
        i = out.end;
        k = in.end;
    }
}
