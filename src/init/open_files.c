#include "init/disk_usage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

/* The sum that a file without a name counts in; NULL: none, it is a file of the host. */
static uint64_t *sum_of(struct open_files *files, dev_t device)
{
    if (device == files->scratch)
        return &files->disk_bytes;
    for (size_t i = 0; files->disk_usage && i < files->disk_usage->n_devices; i++)
        if (files->disk_usage->devices[i] == device)
            return files->disk_usage->measured[i] ? &files->disk_usage_bytes : NULL;
    return &files->memory_bytes;
}

static void add_file(struct open_files *files, const struct stat *st)
{
    uint64_t *sum = sum_of(files, st->st_dev);
    uint64_t bytes = (uint64_t)st->st_blocks * 512;

    if (!S_ISREG(st->st_mode) || st->st_nlink > 0)
        return;
    for (size_t i = 0; i < files->n_seen; i++)
        if (files->seen[i] == st->st_ino)
            return;
    if (files->n_seen < ARRAY_LEN(files->seen))
        files->seen[files->n_seen++] = st->st_ino;
    if (sum)
        *sum += bytes;
}

/* False for a process that is dead but not reaped: its files in procfs belong to root. */
static bool has_memory(int proc_fd, pid_t pid)
{
    char path[32], text[4096];

    snprintf(path, sizeof(path), "%d/status", (int)pid);
    return fd_read_small(proc_fd, path, text, sizeof(text)) > 0 && strstr(text, "\nVmSize:");
}

/* Flag in /proc/PID/stat, where flags are the seventh field after the name: the process was forked
 * and has not called exec. */
#define FORKED_ONLY 0x40

/* True while the program is still a copy of init, whose files cannot be read.  Children of the
 * program are no such copies: what they inherit is the program's. */
static bool is_starting(const struct open_files *files, pid_t pid)
{
    char path[32], text[1024];
    const char *p;

    snprintf(path, sizeof(path), "%d/stat", (int)pid);
    if (pid != files->program || fd_read_small(files->proc_fd, path, text, sizeof(text)) <= 0)
        return false;
    p = strrchr(text, ')');
    for (int field = 0; p && field < 7; field++) {
        p = strchr(p, ' ');
        p = p ? p + 1 : NULL;
    }
    return p && strtoul(p, NULL, 10) & FORKED_ONLY;
}

/* The program's exec may come between the failed attempt and the question whether it is still a
 * copy, so there is a second attempt; if that fails too, the program hides its files. */
static int open_descriptors(struct open_files *files, pid_t pid)
{
    char path[32];
    int fd = -1;

    snprintf(path, sizeof(path), "%d/fd", (int)pid);
    for (int attempt = 0; fd < 0 && attempt < 2; attempt++) {
        fd = openat(files->proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0 && (errno != EACCES || is_starting(files, pid)))
            return -1;
    }
    if (fd < 0 && has_memory(files->proc_fd, pid))
        files->unseen = true;
    return fd;
}

void open_files_add(void *context, pid_t pid)
{
    struct open_files *files = context;
    scoped_dir DIR *dir = NULL;
    const struct dirent *entry;
    int fd = open_descriptors(files, pid);

    dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (!dir && fd >= 0)
        close(fd);
    while (dir && (entry = readdir(dir))) {
        struct stat st;

        if (entry->d_name[0] != '.' && fstatat(dirfd(dir), entry->d_name, &st, 0) == 0)
            add_file(files, &st);
    }
}
