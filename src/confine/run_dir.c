#include "confine/run_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/inode.h"
#include "base/tree_remove.h"

#define MAX_DEPTH 64

int run_dir_enter(struct inside *in, sbr_error *err)
{
    const struct plan *plan = in->plan;

    umask(0); /* the plan's modes are exact */
    if (mkdir(plan->run_dir, 0700) < 0 || chdir(plan->run_dir) < 0)
        return err_set_errno(err, "run_dir",
                             "cannot make the directory '%s' for the program; TMPDIR names another",
                             plan->run_dir);
    for (size_t i = 0; i < plan->n_ops; i++) {
        const struct plan_op *op = &plan->ops[i];

        if ((op->kind == OP_SCRATCH && mkdir(op->to, op->mode) < 0) ||
            (op->kind == OP_SYMLINK && symlink(op->from, op->to) < 0))
            return err_set_errno(err, "run_dir", "cannot make '%s/%s'", plan->run_dir, op->to);
    }
    in->root_fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    in->proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    in->io_fd = open("/proc/self/io", O_RDONLY | O_CLOEXEC);
    if (in->root_fd < 0 || in->proc_fd < 0)
        return err_set_errno(err, "run_dir", "cannot watch over the program");
    return 0;
}

/* Takes over the file descriptor. */
static DIR *collect_dir_of(int fd)
{
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

    if (!dir && fd >= 0)
        close(fd);
    return dir;
}

static DIR *open_dir(int at, const char *name)
{
    return collect_dir_of(openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

/* True for what the program made unreadable, false for what it just removed or replaced. */
static bool is_hidden(int sys_errno)
{
    return sys_errno != ENOENT && sys_errno != ENOTDIR && sys_errno != ELOOP && sys_errno != ESTALE;
}

/* The program locked a directory of its own, and may replace it at any time. */
static DIR *unlock_dir(int at, const char *name, struct stat *st)
{
    return collect_dir_of(inode_open_locked(at, name, O_RDONLY | O_DIRECTORY, 0700, st));
}

static void measure_level(DIR *dir, struct run_dir_use *use, int depth)
{
    const struct dirent *entry;

    /* Stops early, because a directory may grow as fast as it is read. */
    while (use->files <= use->most_files && (entry = readdir(dir))) {
        struct stat st;

        if (tree_is_dots(entry->d_name))
            continue;
        if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
            use->unseen |= is_hidden(errno);
            continue;
        }
        use->files++;
        /* All names of a file are in this tree: none can be linked to from elsewhere. */
        use->bytes +=
            (uint64_t)st.st_blocks * 512 / (S_ISREG(st.st_mode) && st.st_nlink ? st.st_nlink : 1);
        if (S_ISDIR(st.st_mode)) {
            bool locked = false;
            scoped_dir DIR *below = depth > 0 ? open_dir(dirfd(dir), entry->d_name) : NULL;

            locked = !below && depth > 0 && errno == EACCES && use->unlocks;
            if (locked)
                below = unlock_dir(dirfd(dir), entry->d_name, &st);
            use->unseen |= !below && (depth == 0 || is_hidden(errno));
            if (below)
                measure_level(below, use, depth - 1);
            if (below && locked)
                (void)!fchmod(dirfd(below), st.st_mode & 07777);
        }
    }
}

void run_dir_measure(int dir_fd, uint64_t most_files, struct run_dir_use *use)
{
    scoped_dir DIR *dir = open_dir(dir_fd, ".");

    *use = (struct run_dir_use){ .most_files = most_files, .unlocks = use->unlocks };
    if (dir)
        measure_level(dir, use, MAX_DEPTH);
}

void run_dir_remove(const char *path)
{
    (void)tree_remove(AT_FDCWD, path); /* the user sees what remains */
}
