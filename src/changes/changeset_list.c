#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/scope.h"
#include "base/tree_remove.h"
#include "changes/changeset_meta.h"

struct entry {
    char id[ENCODING_ID_SIZE];
    int64_t created_ns;
    bool damaged;
};

struct entries {
    struct entry *v;
    size_t n;
};

static void kept_forget(struct changeset *changeset)
{
    changes_done(&changeset->changes);
    output_files_done(&changeset->files);
}

/* Which is read twice, and held once: a list of many changes is large. */
static int load(int dir_fd, const char *id, struct changeset *changeset, sbr_error *err)
{
    scoped_fd int fd = openat(dir_fd, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int r;

    *changeset = (struct changeset){ .dir_fd = -1, .tree_fd = -1, .lock_fd = -1 };
    memcpy(changeset->id, id, sizeof(changeset->id));
    r = fd < 0 ? 0 : changeset_meta_read(fd, changeset, err);
    if (r == 0) {
        kept_forget(changeset);
        *changeset =
            (struct changeset){ .damaged = true, .dir_fd = -1, .tree_fd = -1, .lock_fd = -1 };
        memcpy(changeset->id, id, sizeof(changeset->id));
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

static int add_entry(struct entries *entries, const struct changeset *changeset)
{
    struct entry *grown = realloc(entries->v, (entries->n + 1) * sizeof(*grown));

    if (!grown)
        return -1;
    entries->v = grown;
    grown[entries->n].created_ns = changeset->created_ns;
    grown[entries->n].damaged = changeset->damaged;
    memcpy(grown[entries->n++].id, changeset->id, sizeof(changeset->id));
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
        struct changeset changeset;
        int r;

        if (strlen(entry->d_name) != ENCODING_ID_SIZE - 1 ||
            strspn(entry->d_name, "0123456789abcdef") != ENCODING_ID_SIZE - 1)
            continue;
        r = load(state->fd, entry->d_name, &changeset, err);
        if (r == 0 && add_entry(entries, &changeset) < 0)
            r = err_set_oom(err, "state");
        kept_forget(&changeset);
        if (r < 0)
            return r;
    }
    return 0;
}

static int visit_all(const struct state_dir *state, const struct entries *entries,
                     changeset_visit *visit, void *context, sbr_error *err)
{
    for (size_t i = 0; i < entries->n; i++) {
        struct changeset changeset;
        int r = load(state->fd, entries->v[i].id, &changeset, err);

        if (r == 0)
            r = visit(context, &changeset);
        kept_forget(&changeset);
        if (r != 0)
            return r;
    }
    return 0;
}

int changeset_list(changeset_visit *visit, void *context, sbr_error *err)
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
