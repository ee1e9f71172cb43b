#include "changes/kept_output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/lock_file.h"
#include "base/text.h"
#include "base/tree_remove.h"

const struct kept_output_bounds kept_output_bounds = { .run_bytes = 1ULL << 30,
                                                       .all_bytes = 4ULL << 30,
                                                       .seconds = 24 * 3600 };

static void writer_close(struct kept_writer *writer)
{
    for (unsigned int i = 0; i < N_KEPT_STREAMS; i++) {
        scope_close_fd(&writer->fds[i]);
        writer->fds[i] = -1;
    }
    scope_close_fd(&writer->dir_fd);
    writer->dir_fd = -1;
}

/* Makes the directory and its files, with the lock that says that a run writes. */
static int make_files(const struct state_dir *state, struct kept_writer *writer, sbr_error *err)
{
    const char *id = writer->about.id;
    bool made = mkdirat(state->fd, id, 0700) == 0;

    if (made)
        writer->dir_fd = openat(state->fd, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (writer->dir_fd >= 0 && lock_file_try(writer->dir_fd) == LOCK_FILE_HELD) {
        for (unsigned int i = 0; i < N_KEPT_STREAMS; i++)
            writer->fds[i] = openat(writer->dir_fd, kept_entries_names[i],
                                    O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
        if (writer->fds[KEPT_STDOUT] >= 0 && writer->fds[KEPT_STDERR] >= 0 &&
            kept_entries_write(writer->dir_fd, &writer->about) == 0)
            return 0;
    }
    state_fail("keep the output in", state->path, err);
    if (made)
        (void)tree_remove(state->fd, id);
    return err->code;
}

/* What the others leave of the bound on all. */
static uint64_t budget_of(const struct kept_output_bounds *bounds, const struct kept_entries *all)
{
    uint64_t used = 0, left;

    for (size_t i = 0; i < all->n; i++)
        used += kept_entries_size(&all->v[i]);
    left = used < bounds->all_bytes ? bounds->all_bytes - used : 0;
    return left < bounds->run_bytes ? left : bounds->run_bytes;
}

static int begin(const struct kept_output_bounds *bounds, const struct state_dir *state,
                 struct kept_writer *writer, sbr_error *err)
{
    scoped_kept_entries struct kept_entries all = { 0 };

    if (kept_entries_read(state, &all, err) < 0)
        return err->code;
    kept_entries_make_room(state, bounds, writer->about.created, &all);
    writer->about.budget = budget_of(bounds, &all);
    if (!writer->about.budget)
        return err_set(err, SBR_E_BUSY, "state",
                       "other runs fill the space for kept output; wait for their end");
    return make_files(state, writer, err);
}

int kept_output_begin(const struct kept_output_bounds *bounds, const char *about,
                      struct kept_writer *ret, sbr_error *err)
{
    struct kept_writer writer = { .dir_fd = -1, .fds = { -1, -1 } };
    struct state_dir state;
    scoped_fd int lock = -1;
    int r;

    *ret = writer;
    writer.about.created = time(NULL);
    text_copy_visibly(writer.about.about, sizeof(writer.about.about), about, strlen(about));
    if (encoding_random_id(writer.about.id) < 0)
        return err_set_errno(err, "state", "cannot make an id");
    r = kept_entries_open(true, &state, &lock, err);
    if (r < 0)
        return r;
    r = begin(bounds, &state, &writer, err);
    state_close(&state);
    if (r < 0)
        writer_close(&writer);
    *ret = writer;
    return r;
}

int kept_output_clean(const struct kept_output_bounds *bounds, sbr_error *err)
{
    scoped_kept_entries struct kept_entries all = { 0 };
    struct state_dir state;
    scoped_fd int lock = -1;
    int r = kept_entries_open(false, &state, &lock, err);

    if (r <= 0)
        return r;
    r = kept_entries_read(&state, &all, err);
    if (r == 0)
        kept_entries_make_room(&state, bounds, time(NULL), &all);
    state_close(&state);
    return r < 0 ? r : 0;
}

static size_t write_all(struct kept_writer *writer, int fd, const char *data, size_t len)
{
    size_t done = 0;

    while (done < len) {
        ssize_t n = write(fd, data + done, len - done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            writer->sys_errno = n < 0 ? errno : ENOSPC;
            break;
        }
        done += (size_t)n;
    }
    return done;
}

void kept_output_write(struct kept_writer *writer, enum kept_stream stream, const char *data,
                       size_t len)
{
    struct kept_output *about = &writer->about;
    uint64_t room = about->budget - about->kept[KEPT_STDOUT] - about->kept[KEPT_STDERR];
    size_t part = len < room ? len : (size_t)room;

    about->total[stream] += len;
    /* A stream has no gap: after the first byte that was not kept there are no more. */
    if (part && !writer->sys_errno && about->total[stream] - len == about->kept[stream])
        about->kept[stream] += write_all(writer, writer->fds[stream], data, part);
}

int kept_output_end(struct kept_writer *writer, sbr_error *err)
{
    struct kept_output *about = &writer->about;
    uint64_t lost = about->total[KEPT_STDOUT] - about->kept[KEPT_STDOUT] +
                    about->total[KEPT_STDERR] - about->kept[KEPT_STDERR];
    char most[32];

    about->ended = true;
    if (kept_entries_write(writer->dir_fd, about) < 0 && !writer->sys_errno)
        writer->sys_errno = errno;
    writer_close(writer);
    if (writer->sys_errno) {
        errno = writer->sys_errno;
        return err_set_errno(err, "state", "the output is not kept in full");
    }
    if (!lost)
        return 0;
    text_format_size(about->budget, most, sizeof(most));
    return err_set(err, SBR_E_SYSTEM, "state",
                   "the output is kept up to %s; %llu bytes are only counted", most,
                   (unsigned long long)lost);
}
