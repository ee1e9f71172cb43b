#include "changes/changeset_meta.h"

#include <stdlib.h>
#include <string.h>

size_t changes_find(const struct changes *changes, unsigned int root, const char *path, size_t len)
{
    size_t low = 0, high = changes->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct change *c = &changes->items[middle];
        int order = c->root != root ? (c->root < root ? -1 : 1) : strncmp(c->path, path, len);

        if (order == 0 && !c->path[len])
            return middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return changes->n;
}

/* The deleted directory at the first `len` bytes of the change's path, or NULL. */
static struct fold *fold_at(const struct changes *changes, struct fold *folds,
                            const struct change *c, size_t len)
{
    size_t i = changes_find(changes, c->root, c->path, len);

    return i < changes->n && changes->items[i].op == CHANGE_DELETED &&
                   changes->items[i].base.kind == NODE_DIR
               ? &folds[i]
               : NULL;
}

static void count_for_those_above(const struct changes *changes, struct fold *folds,
                                  const struct change *c)
{
    for (const char *slash = strchr(c->path, '/'); slash; slash = strchr(slash + 1, '/')) {
        struct fold *above = fold_at(changes, folds, c, (size_t)(slash - c->path));

        if (!above)
            continue;
        above->files++;
        if (__builtin_add_overflow(above->bytes, c->base.size, &above->bytes))
            above->bytes = UINT64_MAX;
    }
}

static bool is_reported_above(const struct changes *changes, struct fold *folds,
                              const struct change *c)
{
    for (const char *slash = strchr(c->path, '/'); slash; slash = strchr(slash + 1, '/')) {
        const struct fold *above = fold_at(changes, folds, c, (size_t)(slash - c->path));

        if (above && above->files > FOLD_FILES)
            return true;
    }
    return false;
}

struct fold *changes_fold(const struct changes *changes)
{
    struct fold *folds = calloc(changes->n + 1, sizeof(folds[0]));

    if (!folds)
        return NULL;
    for (size_t i = 0; i < changes->n; i++)
        if (changes->items[i].op == CHANGE_DELETED && changes->items[i].base.kind != NODE_DIR)
            count_for_those_above(changes, folds, &changes->items[i]);
    for (size_t i = 0; i < changes->n; i++)
        if (changes->items[i].op == CHANGE_DELETED)
            folds[i].hidden = is_reported_above(changes, folds, &changes->items[i]);
    return folds;
}
