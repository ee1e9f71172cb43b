#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/scope.h"
#include "base/tree_remove.h"
#include "changes/changeset_meta.h"

struct entry {
    char id[ENCODE_ID_SIZE];
    int64_t created_ns;
    bool damaged;
};

struct entries {
    struct entry *v;
    size_t n;
};

static void kept_forget(struct kept *kept)
{
    changes_done(&kept->changes);
    output_files_done(&kept->files);
}

/* Which is read twice, and held once: a list of many changes is large. */
static int load(int dir_fd, const char *id, struct kept *kept, sbr_error *err)
{
    scoped_fd int fd = openat(dir_fd, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int r;

    *kept = (struct kept){ .dir_fd = -1, .tree_fd = -1, .lock_fd = -1 };
    memcpy(kept->id, id, sizeof(kept->id));
    r = fd < 0 ? 0 : keep_meta_read(fd, kept, err);
    if (r == 0) {
        kept_forget(kept);
        *kept = (struct kept){ .damaged = true, .dir_fd = -1, .tree_fd = -1, .lock_fd = -1 };
        memcpy(kept->id, id, sizeof(kept->id));
    }
    return r < 0 ? r : 0;
}

static int newest_first(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    if (x->damaged != y->damaged)
        return x->damaged - y->damaged;
    if (x->created_ns != y->created_ns)
        return x->created_ns > y->created_ns ? -1 : 1;
    return strcmp(x->id, y->id);
}

static int add_entry(struct entries *entries, const struct kept *kept)
{
    struct entry *grown = realloc(entries->v, (entries->n + 1) * sizeof(*grown));

    if (!grown)
        return -1;
    entries->v = grown;
    grown[entries->n].created_ns = kept->created_ns;
    grown[entries->n].damaged = kept->damaged;
    memcpy(grown[entries->n++].id, kept->id, sizeof(kept->id));
    return 0;
}

static int collect(const struct state_dir *state, struct entries *entries, sbr_error *err)
{
    scoped_fd int fd = openat(state->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    scoped_dir DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;

    if (!dir)
        return state_fail("read", state->path, err);
    (void)take_fd(fd);
    while ((entry = readdir(dir))) {
        struct kept kept;
        int r;

        if (strlen(entry->d_name) != ENCODE_ID_SIZE - 1 ||
            strspn(entry->d_name, "0123456789abcdef") != ENCODE_ID_SIZE - 1)
            continue;
        r = load(state->fd, entry->d_name, &kept, err);
        if (r == 0 && add_entry(entries, &kept) < 0)
            r = err_set_oom(err, "state");
        kept_forget(&kept);
        if (r < 0)
            return r;
    }
    return 0;
}

static int visit_all(const struct state_dir *state, const struct entries *entries,
                     kept_visit *visit, void *context, sbr_error *err)
{
    for (size_t i = 0; i < entries->n; i++) {
        struct kept kept;
        int r = load(state->fd, entries->v[i].id, &kept, err);

        if (r == 0)
            r = visit(context, &kept);
        kept_forget(&kept);
        if (r != 0)
            return r;
    }
    return 0;
}

int kept_list(kept_visit *visit, void *context, sbr_error *err)
{
    struct entries entries = { 0 };
    struct state_dir state = { .fd = -1 };
    int r = state_open(STATE_CHANGES, false, &state, err);

    if (r == 1) {
        r = collect(&state, &entries, err);
        if (entries.n)
            qsort(entries.v, entries.n, sizeof(*entries.v), newest_first);
        if (r == 0)
            r = visit_all(&state, &entries, visit, context, err);
    }
    free(entries.v);
    state_close(&state);
    return r;
}
