#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/jsonw.h"
#include "base/listing.h"
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

static void forget(struct changeset *changeset)
{
    changes_done(&changeset->changes);
    output_files_done(&changeset->files);
}

static void begin(struct changeset *changeset, const char *id)
{
    *changeset = (struct changeset){ .dir_fd = -1, .tree_fd = -1, .lock_fd = -1 };
    memcpy(changeset->id, id, sizeof(changeset->id));
}

/* Read twice, held once: a list of many changes is large. */
static int load(int dir_fd, const char *id, struct changeset *changeset, sbr_error *err)
{
    scoped_fd int fd = openat(dir_fd, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int r;

    begin(changeset, id);
    r = fd < 0 ? 0 : changeset_meta_read(fd, changeset, err);
    if (r == 0) {
        forget(changeset);
        begin(changeset, id);
        changeset->damaged = true;
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

static int collect(const struct state_dir *state, struct entries *entries, sbr_error *err)
{
    scoped_listing struct listing names = { 0 };

    if (listing_read(state->fd, &names) < 0)
        return state_fail("read", state->path, err);
    entries->v = calloc(names.n + 1, sizeof(*entries->v));
    if (!entries->v)
        return err_set_oom(err, "state");
    for (size_t i = 0; i < names.n; i++) {
        struct entry *entry = &entries->v[entries->n];
        struct changeset changeset;
        int r;

        if (!encoding_is_hex(names.names[i], ENCODING_ID_SIZE - 1))
            continue;
        r = load(state->fd, names.names[i], &changeset, err);
        *entry = (struct entry){ .created_ns = changeset.created_ns, .damaged = changeset.damaged };
        memcpy(entry->id, changeset.id, sizeof(entry->id));
        entries->n++;
        forget(&changeset);
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
        forget(&changeset);
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

void changeset_put_json(struct jsonw *j, const struct changeset *changeset)
{
    char summary[240];

    jsonw_text(j, "id", changeset->id);
    jsonw_bool(j, "damaged", changeset->damaged);
    if (changeset->damaged)
        return;
    jsonw_text(j, "about", changeset->about);
    jsonw_number(j, "created", changeset->created > 0 ? (uint64_t)changeset->created : 0);
    jsonw_bool(j, "applied", changeset->applied);
    jsonw_open(j, "roots", '[');
    for (size_t i = 0; i < changeset->changes.n_roots; i++) {
        jsonw_open(j, NULL, '{');
        jsonw_path(j, "source", changeset->changes.roots[i].source);
        jsonw_path(j, "target", changeset->changes.roots[i].target);
        jsonw_close(j, '}');
    }
    jsonw_close(j, ']');
    changes_summary(&changeset->changes, changeset->applied, summary, sizeof(summary));
    jsonw_text(j, "summary", summary);
    jsonw_number(j, "total", changeset->changes.n);
}
