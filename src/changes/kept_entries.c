#include "changes/kept_output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/listing.h"
#include "base/lock_file.h"
#include "base/record.h"
#include "base/tree_remove.h"

#define META "meta"
#define META_MAGIC 0x6f757431u /* "out1" */
#define META_MAX 4096
#define LEAST_ID 4 /* digits of a shortened id */

const char *const kept_entries_names[N_KEPT_STREAMS] = { "stdout", "stderr" };

void kept_entries_done(struct kept_entries *entries)
{
    free(entries->v);
    *entries = (struct kept_entries){ 0 };
}

int kept_entries_open(bool make, struct state_dir *ret, int *ret_lock, sbr_error *err)
{
    int r = state_open(STATE_OUTPUT, make, ret, err);

    if (r <= 0)
        return r;
    *ret_lock = openat(ret->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*ret_lock >= 0 && lock_file_wait(*ret_lock) == 0)
        return 1;
    state_fail("lock", ret->path, err);
    state_close(ret);
    return err->code;
}

int kept_entries_write(int dir_fd, const struct kept_output *output)
{
    struct buf data;

    record_begin(&data, META_MAGIC, META_MAX);
    buf_put_string(&data, output->about);
    buf_put_u64(&data, (uint64_t)output->created);
    buf_put_u64(&data, output->budget);
    for (unsigned int i = 0; i < N_KEPT_STREAMS; i++)
        buf_put_u64(&data, output->total[i]);
    buf_put_u32(&data, output->ended);
    return record_write(dir_fd, META, &data, 0);
}

/* Without it the entry is that of a run whose supervisor was killed at once. */
static void read_meta(int dir_fd, struct kept_output *ret)
{
    scoped_record struct record record = { 0 };
    struct kept_output read = *ret;
    const char *about;

    if (record_read(dir_fd, META, META_MAGIC, META_MAX, &record) != 1)
        return;
    about = buf_reader_string(&record.fields);
    read.created = (int64_t)buf_reader_u64(&record.fields);
    read.budget = buf_reader_u64(&record.fields);
    for (unsigned int i = 0; i < N_KEPT_STREAMS; i++)
        read.total[i] = buf_reader_u64(&record.fields);
    read.ended = buf_reader_u32(&record.fields) == 1;
    if (record.fields.failed || !about || strlen(about) >= sizeof(read.about))
        return;
    memcpy(read.about, about, strlen(about) + 1);
    if (record.written.tv_sec > read.used)
        read.used = record.written.tv_sec;
    *ret = read;
}

static bool read_entry(const struct state_dir *state, const char *id, struct kept_output *ret)
{
    scoped_fd int fd = -1;
    struct stat st;

    if (!encoding_is_hex(id, ENCODING_ID_SIZE - 1))
        return false;
    fd = openat(state->fd, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return false;
    *ret = (struct kept_output){ .created = st.st_mtime, .budget = kept_output_bounds.run_bytes };
    memcpy(ret->id, id, sizeof(ret->id));
    ret->running = lock_file_is_held(fd);
    read_meta(fd, ret);
    for (unsigned int i = 0; i < N_KEPT_STREAMS; i++) {
        if (fstatat(fd, kept_entries_names[i], &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        ret->kept[i] = (uint64_t)st.st_size;
        if (st.st_mtime > ret->used)
            ret->used = st.st_mtime;
        if (!ret->ended)
            ret->total[i] = ret->kept[i]; /* what is known */
    }
    if (!ret->used)
        ret->used = ret->created;
    return true;
}

static int oldest_first(const void *a, const void *b)
{
    const struct kept_output *x = a, *y = b;

    if (x->created != y->created)
        return x->created < y->created ? -1 : 1;
    return strcmp(x->id, y->id);
}

int kept_entries_read(const struct state_dir *state, struct kept_entries *ret, sbr_error *err)
{
    scoped_listing struct listing names = { 0 };

    if (listing_read_at(state->fd, ".", &names) < 0)
        return state_fail("read", state->path, err);
    ret->v = calloc(names.n + 1, sizeof(*ret->v));
    if (!ret->v)
        return err_set_oom(err, "state");
    for (size_t i = 0; i < names.n; i++)
        ret->n += read_entry(state, names.names[i], &ret->v[ret->n]);
    if (ret->n)
        qsort(ret->v, ret->n, sizeof(*ret->v), oldest_first);
    return 0;
}

uint64_t kept_entries_size(const struct kept_output *output)
{
    uint64_t size = output->kept[KEPT_STDOUT] + output->kept[KEPT_STDERR];

    return output->running && output->budget > size ? output->budget : size;
}

static bool is_expired(const struct kept_output *output, const struct kept_output_bounds *bounds,
                       int64_t now)
{
    return output->used <= now - bounds->seconds;
}

void kept_entries_make_room(const struct state_dir *state, const struct kept_output_bounds *bounds,
                            int64_t now, struct kept_entries *entries)
{
    uint64_t most = bounds->all_bytes - bounds->run_bytes, used = 0;
    size_t stay = 0;

    for (size_t i = 0; i < entries->n; i++)
        used += kept_entries_size(&entries->v[i]);
    for (size_t i = 0; i < entries->n; i++) {
        struct kept_output *one = &entries->v[i];
        bool goes = !one->running && (used > most || is_expired(one, bounds, now));

        if (goes && tree_remove(state->fd, one->id) == 0)
            used -= kept_entries_size(one);
        else
            entries->v[stay++] = *one;
    }
    entries->n = stay;
}

int kept_output_list(kept_output_visit *visit, void *context, sbr_error *err)
{
    scoped_kept_entries struct kept_entries all = { 0 };
    struct state_dir state;
    int r = state_open(STATE_OUTPUT, false, &state, err);

    if (r == 1)
        r = kept_entries_read(&state, &all, err);
    state_close(&state);
    for (size_t i = all.n; i > 0 && r == 0; i--)
        r = visit(context, &all.v[i - 1]);
    return r;
}

/* The one whose id begins like this. */
static int find_entry(const struct state_dir *state, const char *prefix, struct kept_output *ret,
                      sbr_error *err)
{
    scoped_kept_entries struct kept_entries all = { 0 };
    size_t found = 0;

    if (state->fd >= 0 && kept_entries_read(state, &all, err) < 0)
        return err->code;
    for (size_t i = 0; i < all.n; i++) {
        if (strncmp(all.v[i].id, prefix, strlen(prefix)) != 0)
            continue;
        *ret = all.v[i];
        found++;
    }
    if (found > 1)
        return err_set(err, SBR_E_INVALID, "state",
                       "%zu ids start with '%.60s'; give more of the one you mean", found, prefix);
    if (!found)
        return err_set(err, SBR_E_NOT_FOUND, "state",
                       "no output '%.60s' is kept; `sandbox-run output` shows what there is",
                       prefix);
    return 0;
}

static int check_id(const char *id, sbr_error *err)
{
    size_t len = strlen(id);

    if (len >= LEAST_ID && len < ENCODING_ID_SIZE && encoding_is_hex(id, len))
        return 0;
    return err_set(err, SBR_E_INVALID, "state",
                   "'%.60s' is not the start of an id; `sandbox-run output` shows them", id);
}

/* The entry is made before its files. */
static int none_kept(const struct kept_output *one, sbr_error *err)
{
    return err_set(err, SBR_E_NOT_FOUND, "state",
                   "the run %.8s was killed before any output could be kept; `sandbox-run output "
                   "rm %.8s` removes its entry",
                   one->id, one->id);
}

int kept_output_open(const char *id, enum kept_stream stream, struct kept_output *ret, int *ret_fd,
                     sbr_error *err)
{
    struct state_dir state = { .fd = -1 };
    scoped_fd int dir = -1;
    int r = check_id(id, err);

    if (r == 0)
        r = state_open(STATE_OUTPUT, false, &state, err);
    if (r >= 0)
        r = find_entry(&state, id, ret, err);
    if (r == 0) {
        dir = openat(state.fd, ret->id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        *ret_fd = dir < 0
                      ? -1
                      : openat(dir, kept_entries_names[stream], O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        if (*ret_fd < 0)
            r = errno == ENOENT ? none_kept(ret, err)
                                : state_fail("read the kept output in", state.path, err);
    }
    state_close(&state);
    return r;
}

static int remove_entry(const struct state_dir *state, const struct kept_output *one,
                        sbr_error *err)
{
    if (one->running)
        return err_set(err, SBR_E_BUSY, "state", "the run %.8s still writes; wait for its end",
                       one->id);
    return tree_remove(state->fd, one->id) < 0 ? state_fail("remove output from", state->path, err)
                                               : 0;
}

int kept_output_remove(const char *id, sbr_error *err)
{
    struct state_dir state = { .fd = -1 };
    struct kept_output one;
    scoped_fd int lock = -1;
    int r = check_id(id, err);

    if (r == 0)
        r = kept_entries_open(false, &state, &lock, err);
    if (r >= 0)
        r = find_entry(&state, id, &one, err);
    if (r == 0)
        r = remove_entry(&state, &one, err);
    state_close(&state);
    return r;
}

int kept_output_remove_all(size_t *ret_n, sbr_error *err)
{
    scoped_kept_entries struct kept_entries all = { 0 };
    struct state_dir state = { .fd = -1 };
    scoped_fd int lock = -1;
    int r = kept_entries_open(false, &state, &lock, err);

    *ret_n = 0;
    if (r == 1)
        r = kept_entries_read(&state, &all, err);
    for (size_t i = 0; i < all.n && r == 0; i++) {
        if (all.v[i].running)
            continue;
        r = remove_entry(&state, &all.v[i], err);
        *ret_n += r == 0;
    }
    state_close(&state);
    return r;
}
