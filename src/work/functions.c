#include "work/functions.h"

#include <stdlib.h>
#include <string.h>

#include "base/jsonw.h"
#include "base/text.h"

#define DEEPEST 256
#define MOST_USES 500000 /* frames of all stacks; bounds what a hostile file costs */
#define NAME_SIZE 300
#define MOST_IN_JSON 500

/* Stacks while they are read: a use for each of their frames. */
struct reading {
    struct functions *found;
    size_t room;
};

static int add_use(struct reading *r, struct function_use use, sbr_error *err)
{
    struct functions *f = r->found;
    size_t room = r->room ? r->room * 2 : 1024;
    struct function_use *grown;

    if (f->n == r->room) {
        grown = reallocarray(f->uses, room, sizeof(*grown));
        if (!grown)
            return err_set_oom(err, "profile");
        f->uses = grown;
        r->room = room;
    }
    f->uses[f->n++] = use;
    return 0;
}

/* The frames of a line, each once, though a function may call itself; the last is what ran. */
static int add_stack(struct reading *r, char *stack, uint64_t us, sbr_error *err)
{
    const char *seen[DEEPEST];
    size_t n = 0, i;
    char *frame;

    for (char *rest = stack; n < DEEPEST && (frame = strsep(&rest, ";"));) {
        bool is_last = !rest;

        for (i = 0; i < n && strcmp(seen[i], frame) != 0; i++)
            ;
        if (i < n && !is_last)
            continue;
        if (add_use(r, (struct function_use){ frame, is_last ? us : 0, i < n ? 0 : us }, err) < 0)
            return err->code;
        if (i == n)
            seen[n++] = frame;
    }
    r->found->sum_us += us;
    return 0;
}

static int by_frame(const void *a, const void *b)
{
    const struct function_use *left = a, *right = b;

    return strcmp(left->frame, right->frame);
}

static int by_self(const void *a, const void *b)
{
    const struct function_use *left = a, *right = b;

    if (left->self_us != right->self_us)
        return left->self_us > right->self_us ? -1 : 1;
    if (left->total_us != right->total_us)
        return left->total_us > right->total_us ? -1 : 1;
    return by_frame(a, b);
}

/* One use for each frame. */
static void merge(struct functions *f)
{
    size_t n = 0;

    if (!f->n)
        return;
    qsort(f->uses, f->n, sizeof(*f->uses), by_frame);
    for (size_t i = 1; i < f->n; i++) {
        if (strcmp(f->uses[n].frame, f->uses[i].frame) != 0) {
            f->uses[++n] = f->uses[i];
        } else {
            f->uses[n].self_us += f->uses[i].self_us;
            f->uses[n].total_us += f->uses[i].total_us;
        }
    }
    f->n = n + 1;
    qsort(f->uses, f->n, sizeof(*f->uses), by_self);
}

/* Splits `STACK NUMBER`; false when the line has another form, or so long a time that sums of it
 * would not fit. */
static bool split_line(char *line, uint64_t *ret_us)
{
    char *space = strrchr(line, ' ');

    if (!space || space == line || text_parse_count(space + 1, ret_us) != TEXT_OK ||
        *ret_us > UINT32_MAX)
        return false;
    *space = '\0';
    return *ret_us > 0;
}

int functions_read(char *take_text, size_t len, struct functions *ret, sbr_error *err)
{
    struct reading reading = { .found = ret };
    char *line, *rest = take_text;
    uint64_t us;

    *ret = (struct functions){ .text = take_text };
    while (rest && (size_t)(rest - take_text) < len && !ret->cut && (line = strsep(&rest, "\n"))) {
        if (split_line(line, &us) && add_stack(&reading, line, us, err) < 0)
            return err->code;
        ret->cut = ret->n > MOST_USES;
    }
    merge(ret);
    return 0;
}

void functions_done(struct functions *f)
{
    free(f->uses);
    free(f->text);
    *f = (struct functions){ 0 };
}

void functions_name(const struct function_use *use, char *buf, size_t size)
{
    text_copy_visibly(buf, size, use->frame, strlen(use->frame));
}

void functions_put_json(struct jsonw *j, const char *key, const struct functions *f)
{
    char name[NAME_SIZE];

    jsonw_open(j, key, '[');
    for (size_t i = 0; i < f->n && i < MOST_IN_JSON; i++) {
        functions_name(&f->uses[i], name, sizeof(name));
        jsonw_open(j, NULL, '{');
        jsonw_text(j, "function", name);
        jsonw_fixed(j, "self_ms", f->uses[i].self_us, 3);
        jsonw_fixed(j, "total_ms", f->uses[i].total_us, 3);
        jsonw_close(j, '}');
    }
    jsonw_close(j, ']');
}
