/* Which lines of two texts differ: the method of E.  Myers ("An O(ND) difference algorithm and its
 * variations"), the variant with linear memory.
 *
 * A box is a piece of both texts.  Paths from its two corners cost one more step at a time,
 * until they meet: there the box is cut in two.  x counts lines of the first text, y of the
 * second, and x - y is constant on a diagonal.  When a cut takes too long, the furthest point is
 * used; when the work is used up, the rest of the box counts as changed. */
#include <stdlib.h>
#include <string.h>

#include "changes/textdiff.h"

#define CUT_MAX_COST 1000 /* steps from both corners, then the best so far is used */

struct box {
    long x, x_end, y, y_end;
};

struct point {
    long x, y;
};

/* The furthest x on each diagonal between two, every other of them. */
struct front {
    long *at; /* by diagonal, which may be negative */
    long low, high;
};

struct side {
    uint32_t *ids;   /* of the lines that occur on both sides */
    size_t *origins; /* where they are in the text */
    bool *changed;   /* of the text */
    long n;
};

struct search {
    struct side a, b;
    struct front forward, backward;
    long *fronts; /* room of both */
    uint64_t *work;
};

static bool spend(struct search *s, uint64_t steps)
{
    bool enough = *s->work > steps;

    *s->work = enough ? *s->work - steps : 0;
    return enough;
}

/* One diagonal more on each end, or one less where the box ends. */
static void widen(struct front *front, long lowest, long highest, long beyond)
{
    if (front->low > lowest)
        front->at[--front->low - 1] = beyond;
    else
        front->low++;
    if (front->high < highest)
        front->at[++front->high + 1] = beyond;
    else
        front->high--;
}

/* True when it met the other front: at *ret. */
static bool go_forward(struct search *s, const struct box *box, bool may_meet, struct point *ret)
{
    struct front *f = &s->forward, *other = &s->backward;
    uint64_t steps = 0;

    widen(f, box->x - box->y_end, box->x_end - box->y, -1);
    for (long d = f->high; d >= f->low; d -= 2) {
        long from_left = f->at[d - 1], from_above = f->at[d + 1];
        long x = from_left < from_above ? from_above : from_left + 1, start = x, y = x - d;

        while (x < box->x_end && y < box->y_end && s->a.ids[x] == s->b.ids[y]) {
            x++;
            y++;
        }
        steps += 1 + (uint64_t)(x - start);
        f->at[d] = x;
        if (may_meet && other->low <= d && d <= other->high && other->at[d] <= x) {
            *ret = (struct point){ x, y };
            return true;
        }
    }
    spend(s, steps);
    return false;
}

static bool go_backward(struct search *s, const struct box *box, bool may_meet, struct point *ret)
{
    struct front *f = &s->backward, *other = &s->forward;
    uint64_t steps = 0;

    widen(f, box->x - box->y_end, box->x_end - box->y, s->a.n + 1);
    for (long d = f->high; d >= f->low; d -= 2) {
        long from_below = f->at[d - 1], from_right = f->at[d + 1];
        long x = from_below < from_right ? from_below : from_right - 1, start = x, y = x - d;

        while (x > box->x && y > box->y && s->a.ids[x - 1] == s->b.ids[y - 1]) {
            x--;
            y--;
        }
        steps += 1 + (uint64_t)(start - x);
        f->at[d] = x;
        if (may_meet && other->low <= d && d <= other->high && x <= other->at[d]) {
            *ret = (struct point){ x, y };
            return true;
        }
    }
    spend(s, steps);
    return false;
}

/* The point of the forward front that has most of the box behind it. */
static struct point furthest(const struct search *s, const struct box *box)
{
    struct point best = { box->x, box->y };

    for (long d = s->forward.low; d <= s->forward.high; d += 2) {
        long x = s->forward.at[d] < box->x_end ? s->forward.at[d] : box->x_end, y = x - d;

        if (y > box->y_end) {
            y = box->y_end;
            x = y + d;
        }
        if (x >= box->x && y >= box->y && x + y > best.x + best.y)
            best = (struct point){ x, y };
    }
    return best;
}

/* False: the work is used up. */
static bool cut(struct search *s, const struct box *box, struct point *ret)
{
    long from = box->x - box->y, to = box->x_end - box->y_end;
    bool odd = (from - to) & 1;

    s->forward.low = s->forward.high = from;
    s->forward.at[from] = box->x;
    s->backward.low = s->backward.high = to;
    s->backward.at[to] = box->x_end;
    for (int cost = 1; *s->work > 0; cost++) {
        if (go_forward(s, box, odd, ret) || go_backward(s, box, !odd, ret))
            return true;
        if (cost >= CUT_MAX_COST) {
            *ret = furthest(s, box);
            return true;
        }
    }
    return false;
}

static void mark(struct search *s, const struct box *box)
{
    for (long x = box->x; x < box->x_end; x++)
        s->a.changed[s->a.origins[x]] = true;
    for (long y = box->y; y < box->y_end; y++)
        s->b.changed[s->b.origins[y]] = true;
}

static void trim(const struct search *s, struct box *box)
{
    while (box->x < box->x_end && box->y < box->y_end && s->a.ids[box->x] == s->b.ids[box->y]) {
        box->x++;
        box->y++;
    }
    while (box->x < box->x_end && box->y < box->y_end &&
           s->a.ids[box->x_end - 1] == s->b.ids[box->y_end - 1]) {
        box->x_end--;
        box->y_end--;
    }
}

static long area(const struct box *box)
{
    return box->x_end - box->x + box->y_end - box->y;
}

/* Recurses into the smaller half only: the depth is at most the logarithm of the lines. */
static void solve(struct search *s, struct box box)
{
    for (;;) {
        struct box first, second;
        struct point at;

        trim(s, &box);
        if (box.x == box.x_end || box.y == box.y_end || !cut(s, &box, &at)) {
            mark(s, &box);
            return;
        }
        first = (struct box){ box.x, at.x, box.y, at.y };
        second = (struct box){ at.x, box.x_end, at.y, box.y_end };
        if (area(&first) == 0 || area(&second) == 0) { /* no progress */
            mark(s, &box);
            return;
        }
        solve(s, area(&first) < area(&second) ? first : second);
        box = area(&first) < area(&second) ? second : first;
    }
}

/* Lines that the other text does not have at all are changed, and not compared further. */
static int keep_common(struct side *side, struct textdiff_lines *lines, const bool *in_other)
{
    side->changed = lines->changed;
    side->ids = calloc(lines->n + 1, sizeof(side->ids[0]));
    side->origins = calloc(lines->n + 1, sizeof(side->origins[0]));
    if (!side->ids || !side->origins)
        return -1;
    for (size_t i = 0; i < lines->n; i++) {
        if (!in_other[lines->ids[i]]) {
            lines->changed[i] = true;
            continue;
        }
        side->ids[side->n] = lines->ids[i];
        side->origins[side->n++] = i;
    }
    return 0;
}

static void side_done(struct side *side)
{
    free(side->ids);
    free(side->origins);
}

static int search(struct search *s, const bool *in_a, const bool *in_b, struct textdiff_lines *a,
                  struct textdiff_lines *b)
{
    size_t diagonals;

    if (keep_common(&s->a, a, in_b) < 0 || keep_common(&s->b, b, in_a) < 0)
        return -1;
    diagonals = (size_t)(s->a.n + s->b.n) + 3;
    s->fronts = calloc(2 * diagonals, sizeof(s->fronts[0]));
    if (!s->fronts)
        return -1;
    s->forward.at = s->fronts + s->b.n + 1;
    s->backward.at = s->fronts + diagonals + s->b.n + 1;
    solve(s, (struct box){ 0, s->a.n, 0, s->b.n });
    return 0;
}

int textdiff_lines_compare(struct textdiff_lines *a, struct textdiff_lines *b, uint64_t *work)
{
    size_t ids = a->n + b->n + 1; /* they start with 1 */
    scoped_free bool *in = calloc(2 * ids, sizeof(in[0]));
    struct search s = { .work = work };
    int r;

    if (!in)
        return -1;
    for (size_t i = 0; i < a->n; i++)
        in[a->ids[i]] = true;
    for (size_t i = 0; i < b->n; i++)
        in[ids + b->ids[i]] = true;
    r = search(&s, in, in + ids, a, b);
    side_done(&s.a);
    side_done(&s.b);
    free(s.fronts);
    return r;
}
