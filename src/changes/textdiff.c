#include "changes/textdiff.h"

#include <stdlib.h>
#include <string.h>

#define CONTEXT 3
#define NO_NEWLINE "\\ No newline at end of file\n"

/* A range of lines of both texts, from 0, without the ends. */
struct range {
    size_t a, a_end, b, b_end;
};

/* Finds the next difference at or after the end of *range; false: there is none. */
static bool next_difference(const struct textdiff_lines *a, const struct textdiff_lines *b,
                            struct range *range)
{
    size_t i = range->a_end, k = range->b_end;

    while (i < a->n && k < b->n && !a->changed[i] && !b->changed[k]) {
        i++;
        k++;
    }
    *range = (struct range){ i, i, k, k };
    while (range->a_end < a->n && a->changed[range->a_end])
        range->a_end++;
    while (range->b_end < b->n && b->changed[range->b_end])
        range->b_end++;
    return range->a_end > range->a || range->b_end > range->b;
}

static void put_line(struct buf *out, char sign, const struct textdiff_lines *lines, size_t i)
{
    size_t len = lines->starts[i + 1] - lines->starts[i];
    const char *data = lines->text.data + lines->starts[i];

    buf_add(out, &sign, 1);
    buf_add(out, data, len);
    if (data[len - 1] != '\n')
        buf_add_text(out, "\n" NO_NEWLINE);
}

/* Counts lines from 1; for an empty range, names the line before it. */
static void put_count(struct buf *out, char sign, size_t start, size_t n)
{
    buf_printf(out, "%c%zu", sign, n == 0 ? start : start + 1);
    if (n != 1)
        buf_printf(out, ",%zu", n);
}

static void put_hunk(struct buf *out, const struct textdiff_lines *a,
                     const struct textdiff_lines *b, struct range hunk)
{
    size_t i = hunk.a, k = hunk.b;

    buf_add_text(out, "@@ ");
    put_count(out, '-', hunk.a, hunk.a_end - hunk.a);
    buf_add_text(out, " ");
    put_count(out, '+', hunk.b, hunk.b_end - hunk.b);
    buf_add_text(out, " @@\n");
    while (i < hunk.a_end || k < hunk.b_end) {
        for (; i < hunk.a_end && a->changed[i]; i++)
            put_line(out, '-', a, i);
        for (; k < hunk.b_end && b->changed[k]; k++)
            put_line(out, '+', b, k);
        for (; i < hunk.a_end && k < hunk.b_end && !a->changed[i] && !b->changed[k]; i++, k++)
            put_line(out, ' ', a, i);
    }
}

static void put_hunks(struct buf *out, const struct textdiff_lines *a,
                      const struct textdiff_lines *b)
{
    struct range next = { 0 };
    bool more = next_difference(a, b, &next);

    while (more && !out->failed) {
        size_t before = next.a < CONTEXT ? next.a : CONTEXT, after;
        struct range hunk = next;

        if (next.b < before)
            before = next.b;
        hunk.a -= before;
        hunk.b -= before;
        do {
            hunk.a_end = next.a_end;
            hunk.b_end = next.b_end;
            more = next_difference(a, b, &next);
        } while (more && next.a - hunk.a_end <= 2 * CONTEXT);
        after = a->n - hunk.a_end < CONTEXT ? a->n - hunk.a_end : CONTEXT;
        hunk.a_end += after;
        hunk.b_end += after;
        put_hunk(out, a, b, hunk);
    }
}

int textdiff(struct text before, struct text after, uint64_t *work, struct buf *out)
{
    struct textdiff_lines a, b;
    int r = textdiff_lines_init(&a, &b, before, after);

    if (r == 0)
        r = textdiff_lines_compare(&a, &b, work);
    if (r == 0) {
        textdiff_lines_settle(&a, &b);
        put_hunks(out, &a, &b);
    }
    textdiff_lines_done(&a);
    textdiff_lines_done(&b);
    return r < 0 || out->failed ? -1 : 0;
}
