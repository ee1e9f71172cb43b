/* How it works.  Candidates (files with content, created or deleted) are sorted by size; sums are
 * made only where a size occurs on both sides.  Those are sorted again, and in each run of equal
 * sums the created are paired with the deleted: first by equal last names, then in order. */
#include "changes/compare.h"

#include <stdlib.h>
#include <string.h>

#define STAGE "changes"
/* Bytes to read for new sums; beyond it a renamed file is shown as created and deleted. */
#define READ_MAX ((uint64_t)4 << 30)

struct candidate {
    size_t index; /* in the changes */
    uint64_t size;
    bool created;
    const char *path;
    char sum[SHA256_HEX_SIZE];
};

struct finder {
    struct changes *changes;
    int source_fd, content_fd;
    uint64_t left; /* bytes that may still be read */
};

static const char *last_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static int by_size(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;

    if (a->size != b->size)
        return a->size < b->size ? -1 : 1;
    return strcmp(a->path, b->path);
}

static int by_sum_and_name(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    int r = strcmp(a->sum, b->sum);

    if (r == 0)
        r = strcmp(last_name(a->path), last_name(b->path));
    return r ? r : strcmp(a->path, b->path);
}

static bool is_candidate(const struct change *c)
{
    return (c->op == CHANGE_CREATED && c->now.kind == NODE_FILE && c->now.size > 0) ||
           (c->op == CHANGE_DELETED && c->base.kind == NODE_FILE && c->base.size > 0);
}

/* What cannot be read has no sum, and stays created or deleted. */
static void make_sum(struct finder *f, struct candidate *candidate)
{
    const struct change *c = &f->changes->items[candidate->index];
    int fd = candidate->created ? f->content_fd : f->source_fd;

    candidate->sum[0] = '\0';
    if (!candidate->created && c->base_sum[0]) {
        memcpy(candidate->sum, c->base_sum, sizeof(c->base_sum));
        return;
    }
    if (candidate->size > f->left)
        return;
    f->left -= candidate->size;
    if (node_sum(fd, candidate->path, candidate->sum) < 0)
        candidate->sum[0] = '\0';
}

/* Merges the deleted change into the created one; what is left of it has no path and is removed. */
static void join(struct changes *changes, const struct candidate *a, const struct candidate *b)
{
    struct change *now = &changes->items[a->created ? a->index : b->index];
    struct change *was = &changes->items[a->created ? b->index : a->index];

    now->op = CHANGE_RENAMED;
    now->from = take_ptr(was->path);
    now->base = was->base;
    now->base_ino = was->base_ino;
    now->base_ctime_ns = was->base_ctime_ns;
    now->raced = was->raced;
    memcpy(now->base_sum, a->sum, sizeof(now->base_sum));
}

/* In one run of equal sums, sorted by last names: pairs equal names of different sides. */
static void pair_by_name(struct changes *changes, struct candidate *run, size_t n)
{
    for (size_t i = 0; i < n;) {
        size_t end = i, created = i, deleted = i;

        while (end < n && !strcmp(last_name(run[i].path), last_name(run[end].path)))
            end++;
        for (;;) {
            while (created < end && !run[created].created)
                created++;
            while (deleted < end && run[deleted].created)
                deleted++;
            if (created >= end || deleted >= end)
                break;
            join(changes, &run[created], &run[deleted]);
            run[created++].size = run[deleted++].size = 0; /* used */
        }
        i = end;
    }
}

static void pair_the_rest(struct changes *changes, const struct candidate *run, size_t n)
{
    size_t created = 0, deleted = 0;

    for (;; created++, deleted++) {
        while (created < n && (!run[created].created || run[created].size == 0))
            created++;
        while (deleted < n && (run[deleted].created || run[deleted].size == 0))
            deleted++;
        if (created >= n || deleted >= n)
            return;
        join(changes, &run[created], &run[deleted]);
    }
}

/* All of one size. */
static void pair_group(struct finder *f, struct candidate *group, size_t n)
{
    size_t n_created = 0, end;

    for (size_t i = 0; i < n; i++)
        n_created += group[i].created;
    if (n_created == 0 || n_created == n)
        return;
    for (size_t i = 0; i < n; i++)
        make_sum(f, &group[i]);
    qsort(group, n, sizeof(group[0]), by_sum_and_name);
    for (size_t i = 0; i < n; i = end) {
        for (end = i + 1; end < n && !strcmp(group[end].sum, group[i].sum);)
            end++;
        if (!group[i].sum[0])
            continue;
        pair_by_name(f->changes, group + i, end - i);
        pair_the_rest(f->changes, group + i, end - i);
    }
}

static void sweep(struct changes *changes, size_t first)
{
    size_t n = first;

    for (size_t i = first; i < changes->n; i++) {
        if (changes->items[i].path)
            changes->items[n++] = changes->items[i];
        else
            change_done(&changes->items[i]);
    }
    changes->n = n;
}

int renames_find(struct changes *changes, size_t first, int source_fd, int content_fd,
                 sbr_error *err)
{
    struct finder f = { changes, source_fd, content_fd, READ_MAX };
    scoped_free struct candidate *list = NULL;
    size_t n = 0, end;

    list = calloc(changes->n - first + 1, sizeof(list[0]));
    if (!list)
        return err_set_oom(err, STAGE);
    for (size_t i = first; i < changes->n; i++) {
        const struct change *c = &changes->items[i];
        bool created = c->op == CHANGE_CREATED;

        if (is_candidate(c))
            list[n++] = (struct candidate){ .index = i,
                                            .size = created ? c->now.size : c->base.size,
                                            .created = created,
                                            .path = c->path };
    }
    qsort(list, n, sizeof(list[0]), by_size);
    for (size_t i = 0; i < n; i = end) {
        for (end = i + 1; end < n && list[end].size == list[i].size;)
            end++;
        pair_group(&f, list + i, end - i);
    }
    sweep(changes, first);
    return 0;
}
