#include "model/changes.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void change_done(struct change *change)
{
    free(change->path);
    free(change->from);
    *change = (struct change){ 0 };
}

void changes_done(struct changes *changes)
{
    for (size_t i = 0; i < changes->n; i++)
        change_done(&changes->items[i]);
    free(changes->items);
    for (size_t i = 0; i < changes->n_roots; i++) {
        free(changes->roots[i].source);
        free(changes->roots[i].target);
    }
    free(changes->roots);
    *changes = (struct changes){ 0 };
}

int changes_add_root(struct changes *changes, const char *source, const char *target,
                     sbr_error *err)
{
    struct change_root *grown =
        reallocarray(changes->roots, changes->n_roots + 1, sizeof(changes->roots[0]));
    struct change_root root;

    if (!grown)
        return err_set_oom(err, "changes");
    changes->roots = grown;
    root = (struct change_root){ .source = strdup(source), .target = strdup(target) };
    if (!root.source || !root.target) {
        free(root.source);
        free(root.target);
        return err_set_oom(err, "changes");
    }
    changes->roots[changes->n_roots] = root;
    return (int)changes->n_roots++;
}

int changes_add(struct changes *changes, const struct change *change, sbr_error *err)
{
    struct change taken = *change;

    if (changes->n >= changes->room) {
        size_t room = changes->room ? 2 * changes->room : 16;
        struct change *grown = reallocarray(changes->items, room, sizeof(changes->items[0]));

        if (!grown) {
            change_done(&taken);
            return err_set_oom(err, "changes");
        }
        changes->items = grown;
        changes->room = room;
    }
    changes->items[changes->n++] = taken;
    return 0;
}

static int by_root_and_path(const void *left, const void *right)
{
    const struct change *a = left, *b = right;

    if (a->root != b->root)
        return a->root < b->root ? -1 : 1;
    return strcmp(a->path, b->path);
}

void changes_sort(struct changes *changes)
{
    if (changes->n > 1)
        qsort(changes->items, changes->n, sizeof(changes->items[0]), by_root_and_path);
}

const char *change_op_name(enum change_op op)
{
    static const char *const names[N_CHANGE_OPS] = {
        [CHANGE_CREATED] = "created", [CHANGE_MODIFIED] = "modified", [CHANGE_DELETED] = "deleted",
        [CHANGE_RENAMED] = "renamed", [CHANGE_MODE] = "mode",
    };

    return names[op];
}

const char *changes_node_kind_name(enum node_kind kind)
{
    static const char *const names[N_NODE_KINDS] = {
        [NODE_NONE] = "none", [NODE_FILE] = "file",   [NODE_DIR] = "directory",
        [NODE_LINK] = "link", [NODE_OTHER] = "other",
    };

    return names[kind];
}

void changes_size_text(uint64_t bytes, char buf[SIZE_TEXT_SIZE])
{
    static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    uint64_t scale = 1024, whole, tenths;
    size_t unit = 0;

    if (bytes < 1024) {
        snprintf(buf, SIZE_TEXT_SIZE, "%" PRIu64 " byte%s", bytes, bytes == 1 ? "" : "s");
        return;
    }
    /* Ends when the rounded value is below 1024. */
    while (bytes / scale + (bytes % scale >= scale / 2) >= 1024 && unit + 1 < ARRAY_LEN(units)) {
        scale *= 1024;
        unit++;
    }
    whole = bytes / scale + (bytes % scale >= scale / 2);
    tenths = bytes / scale * 10 + (bytes % scale * 10 + scale / 2) / scale;
    if (tenths < 100 && tenths % 10)
        snprintf(buf, SIZE_TEXT_SIZE, "%" PRIu64 ".%" PRIu64 " %s", tenths / 10, tenths % 10,
                 units[unit]);
    else
        snprintf(buf, SIZE_TEXT_SIZE, "%" PRIu64 " %s", tenths < 100 ? tenths / 10 : whole,
                 units[unit]);
}

/* Counts of one kind of change. */
struct tally {
    uint64_t files, dirs, bytes;
};

static void count(const struct changes *changes, struct tally tallies[N_CHANGE_OPS])
{
    for (size_t i = 0; i < changes->n; i++) {
        const struct change *c = &changes->items[i];
        const struct node *node = c->op == CHANGE_DELETED ? &c->base : &c->now;
        struct tally *tally = &tallies[c->op];

        if (node->kind == NODE_DIR) {
            tally->dirs++;
            continue;
        }
        tally->files++;
        if (node->kind == NODE_FILE &&
            __builtin_add_overflow(tally->bytes, node->size, &tally->bytes))
            tally->bytes = UINT64_MAX;
    }
}

/* A line that is truncated at the end of its buffer. */
struct line {
    char *buf;
    size_t size, len;
};

static void put(struct line *line, const char *fmt, ...) format_like_printf(2, 3);

static void put(struct line *line, const char *fmt, ...)
{
    va_list args;
    int n;

    va_start(args, fmt);
    n = vsnprintf(line->buf + line->len, line->size - line->len, fmt, args);
    va_end(args);
    if (n > 0)
        line->len += (size_t)n < line->size - line->len ? (size_t)n : line->size - line->len - 1;
}

struct clause {
    enum change_op op;
    const char *verb, *past;
    bool sized;
};

/* Changes that destroy data come first. */
/* clang-format off */
static const struct clause clauses[] = {
    { CHANGE_DELETED,  "delete",             "deleted",             true  },
    { CHANGE_MODIFIED, "modify",             "modified",            false },
    { CHANGE_RENAMED,  "rename",             "renamed",             false },
    { CHANGE_CREATED,  "create",             "created",             true  },
    { CHANGE_MODE,     "change the mode of", "changed the mode of", false },
};
/* clang-format on */

/* Prints the noun only where it differs from the previous clause's. */
static void put_clause(struct line *line, const struct clause *clause, const struct tally *tally,
                       const char **noun)
{
    bool files = tally->files > 0;
    uint64_t n = files ? tally->files : tally->dirs;
    const char *one = files ? "file" : "directory", *many = files ? "files" : "directories";
    char size[SIZE_TEXT_SIZE];

    put(line, " %" PRIu64, n);
    if (*noun != one)
        put(line, " %s", n == 1 ? one : many);
    *noun = one;
    if (clause->sized && tally->bytes > 0) {
        changes_size_text(tally->bytes, size);
        put(line, ", %s", size);
    }
}

void changes_summary(const struct changes *changes, bool done, char *buf, size_t size)
{
    struct tally tallies[N_CHANGE_OPS] = { 0 };
    struct line line = { .buf = buf, .size = size };
    const char *noun = NULL;

    count(changes, tallies);
    put(&line, "%s", changes->n == 0 ? "no changes" : done ? "" : "would ");
    for (size_t i = 0; i < ARRAY_LEN(clauses); i++) {
        const struct tally *tally = &tallies[clauses[i].op];

        if (tally->files == 0 && tally->dirs == 0)
            continue;
        put(&line, "%s%s", noun ? "; " : "", done ? clauses[i].past : clauses[i].verb);
        put_clause(&line, &clauses[i], tally, &noun);
    }
}
