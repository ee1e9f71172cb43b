/* Files and processes of the same user, as a program sees them that has no namespaces: every way to
 * change the ones and to disturb the others that does not begin with opening a file. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#include "attack.h"

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#ifndef FIOSETOWN
#define FIOSETOWN 0x8901
#endif
#ifndef SIOCSPGRP
#define SIOCSPGRP 0x8902
#endif

/* The older calls, which C libraries no longer use where they exist. */
#ifdef SYS_open
#define old_open(path, flags) syscall(SYS_open, path, flags, 0)
#define old_utime(path) syscall(SYS_utime, path, NULL)
#define old_utimes(path) syscall(SYS_utimes, path, NULL)
#define old_futimesat(path) syscall(SYS_futimesat, AT_FDCWD, path, NULL)
#else
#define old_open(path, flags) open(path, flags)
#define old_utime(path) utime(path, NULL)
#define old_utimes(path) utimes(path, NULL)
#define old_futimesat(path) futimesat(AT_FDCWD, path, NULL)
#endif

#define OWN "own" /* a file in the current directory */

struct way {
    const char *name;
    long (*try)(const char *path);
};

static long make_own(void)
{
    int fd = open(OWN, O_WRONLY | O_CREAT, 0666);

    return fd < 0 ? fd : close(fd);
}

static const char *beside(const char *path)
{
    static char name[4096];

    snprintf(name, sizeof(name), "%.4000s.new", path);
    return name;
}

static long by_create(const char *path)
{
    return open(beside(path), O_WRONLY | O_CREAT | O_EXCL, 0666);
}

static long by_mkdir(const char *path)
{
    return mkdir(beside(path), 0777);
}

static long by_fifo(const char *path)
{
    return mknod(beside(path), S_IFIFO | 0666, 0);
}

static long by_symlink(const char *path)
{
    return symlink("/", beside(path));
}

static long by_unlink(const char *path)
{
    return unlink(path);
}

static long by_rename(const char *path)
{
    return rename(path, beside(path));
}

static long by_taking(const char *path)
{
    return rename(path, OWN);
}

static long by_replacing(const char *path)
{
    return make_own() < 0 ? -1 : rename(OWN, path);
}

static long by_exchanging(const char *path)
{
    return make_own() < 0 ? -1 : renameat2(AT_FDCWD, OWN, AT_FDCWD, path, RENAME_EXCHANGE);
}

static long by_link(const char *path)
{
    return link(path, OWN);
}

static long by_link_out(const char *path)
{
    return make_own() < 0 ? -1 : link(OWN, beside(path));
}

static long by_truncate(const char *path)
{
    return truncate(path, 0);
}

static long by_opening_empty(const char *path)
{
    return open(path, O_WRONLY | O_TRUNC);
}

/* Truncates too, if the file may be written, though it is opened for reading only. */
static long by_reading_empty(const char *path)
{
    return open(path, O_RDONLY | O_TRUNC);
}

/* Neither reading nor writing: an open file on which only its attributes can be changed. */
static long by_mode_3(const char *path)
{
    return open(path, O_ACCMODE);
}

static long by_old_mode_3(const char *path)
{
    return old_open(path, O_ACCMODE);
}

static long by_mode_3_empty(const char *path)
{
    return open(path, O_ACCMODE | O_TRUNC);
}

static long by_openat2(const char *path)
{
    struct open_how how = { .flags = O_ACCMODE };

    return syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
}

static long by_mode_3_chmod(const char *path)
{
    int fd = open(path, O_ACCMODE);

    return fd < 0 ? fd : fchmod(fd, 04777);
}

/* Through a descriptor that may be had in a read-only volume. */
static long by_fchmod(const char *path)
{
    int fd = open(path, O_RDONLY);

    return fd < 0 ? fd : fchmod(fd, 0777);
}

static long by_fchown(const char *path)
{
    int fd = open(path, O_RDONLY);

    return fd < 0 ? fd : fchown(fd, (uid_t)-1, getgid());
}

static long by_futimens(const char *path)
{
    int fd = open(path, O_RDONLY);

    return fd < 0 ? fd : futimens(fd, NULL);
}

static long by_path_descriptor(const char *path)
{
    int fd = open(path, O_PATH);

    return fd < 0 ? fd : syscall(SYS_fchmodat2, fd, "", 0777, AT_EMPTY_PATH);
}

static long by_chmod(const char *path)
{
    return chmod(path, 0777);
}

static long by_fchmodat(const char *path)
{
    return syscall(SYS_fchmodat, AT_FDCWD, path, 0777);
}

static long by_fchmodat2(const char *path)
{
    return syscall(SYS_fchmodat2, AT_FDCWD, path, 0777, 0);
}

static long by_chown(const char *path)
{
    return chown(path, (uid_t)-1, getgid());
}

static long by_lchown(const char *path)
{
    return lchown(path, (uid_t)-1, getgid());
}

static long by_fchownat(const char *path)
{
    return fchownat(AT_FDCWD, path, (uid_t)-1, getgid(), 0);
}

static long by_utime(const char *path)
{
    return old_utime(path);
}

static long by_utimes(const char *path)
{
    return old_utimes(path);
}

static long by_futimesat(const char *path)
{
    return old_futimesat(path);
}

static long by_utimensat(const char *path)
{
    return utimensat(AT_FDCWD, path, NULL, 0);
}

static long by_setxattr(const char *path)
{
    return setxattr(path, "user.mine", "x", 1, 0);
}

static long by_getxattr(const char *path)
{
    char value[64];

    return getxattr(path, "user.note", value, sizeof(value));
}

static long by_listxattr(const char *path)
{
    char names[256];
    long n = listxattr(path, names, sizeof(names));

    if (n == 0)
        errno = ENODATA;
    return n > 0 ? n : -1;
}

static long by_watching(const char *path)
{
    return inotify_add_watch(inotify_init1(0), path, IN_ALL_EVENTS);
}

static const struct way file_ways[] = {
    { "create", by_create },
    { "mkdir", by_mkdir },
    { "fifo", by_fifo },
    { "symlink", by_symlink },
    { "unlink", by_unlink },
    { "rename", by_rename },
    { "take", by_taking },
    { "replace", by_replacing },
    { "exchange", by_exchanging },
    { "link", by_link },
    { "link-out", by_link_out },
    { "truncate", by_truncate },
    { "open-empty", by_opening_empty },
    { "read-empty", by_reading_empty },
    { "mode-3", by_mode_3 },
    { "old-mode-3", by_old_mode_3 },
    { "mode-3-empty", by_mode_3_empty },
    { "mode-3-chmod", by_mode_3_chmod },
    { "openat2", by_openat2 },
    { "fchmod", by_fchmod },
    { "fchown", by_fchown },
    { "futimens", by_futimens },
    { "path-descriptor", by_path_descriptor },
    { "chmod", by_chmod },
    { "fchmodat", by_fchmodat },
    { "fchmodat2", by_fchmodat2 },
    { "chown", by_chown },
    { "lchown", by_lchown },
    { "fchownat", by_fchownat },
    { "utime", by_utime },
    { "utimes", by_utimes },
    { "futimesat", by_futimesat },
    { "utimensat", by_utimensat },
    { "setxattr", by_setxattr },
    { "getxattr", by_getxattr },
    { "listxattr", by_listxattr },
    { "watch", by_watching },
    { NULL, NULL },
};

static int change_file(int argc, char **argv)
{
    (void)argc;
    for (const struct way *way = file_ways; way->name; way++)
        if (!strcmp(way->name, argv[0]))
            return outcome(way->try(argv[1]), way->name);
    return 2;
}

/* Whoever owns a descriptor gets SIGIO when something comes. */
static long own_by_ioctl(unsigned long command, pid_t pid)
{
    int pair[2], on = 1;

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0 || ioctl(pair[0], command, &pid) < 0 ||
        ioctl(pair[0], FIOASYNC, &on) < 0)
        return -1;
    return write(pair[1], "!", 1);
}

static long own_by_fcntl(int command, pid_t pid)
{
    struct f_owner_ex owner = { F_OWNER_PID, pid };
    int pair[2];
    long r = socketpair(AF_UNIX, SOCK_STREAM, 0, pair);

    if (r == 0)
        r = command == F_SETOWN ? fcntl(pair[0], F_SETOWN, pid)
                                : fcntl(pair[0], F_SETOWN_EX, &owner);
    if (r < 0 || fcntl(pair[0], F_SETFL, O_ASYNC) < 0)
        return -1;
    return write(pair[1], "!", 1);
}

static long send_by(const char *way, pid_t pid)
{
    siginfo_t info = { .si_code = SI_QUEUE, .si_signo = SIGUSR1 };

    info.si_pid = getpid();
    info.si_uid = getuid();
    if (!strcmp(way, "kill"))
        return kill(pid, SIGUSR1);
    if (!strcmp(way, "group"))
        return kill(-pid, SIGUSR1);
    if (!strcmp(way, "tkill"))
        return syscall(SYS_tkill, pid, SIGUSR1);
    if (!strcmp(way, "tgkill"))
        return syscall(SYS_tgkill, pid, pid, SIGUSR1);
    if (!strcmp(way, "sigqueue"))
        return syscall(SYS_rt_sigqueueinfo, pid, SIGUSR1, &info);
    if (!strcmp(way, "tgsigqueue"))
        return syscall(SYS_rt_tgsigqueueinfo, pid, pid, SIGUSR1, &info);
    if (!strcmp(way, "pidfd"))
        return syscall(SYS_pidfd_send_signal, syscall(SYS_pidfd_open, pid, 0), SIGUSR1, NULL, 0);
    if (!strcmp(way, "setown"))
        return own_by_fcntl(F_SETOWN, pid);
    if (!strcmp(way, "setown-ex"))
        return own_by_fcntl(F_SETOWN_EX, pid);
    return own_by_ioctl(!strcmp(way, "fiosetown") ? FIOSETOWN : SIOCSPGRP, pid);
}

/* GOT says that nothing refused it; whether it arrived is the victim's to tell. */
static int signal_by(int argc, char **argv)
{
    (void)argc;
    return outcome(send_by(argv[0], (pid_t)number(argv[1])), argv[0]);
}

struct sched_attributes {
    unsigned int size, policy;
    unsigned long long flags;
    int nice;
    unsigned int priority;
    unsigned long long runtime, deadline, period;
};

static long schedule_by(const char *way, pid_t pid)
{
    struct sched_attributes attr = { .size = sizeof(attr), .nice = 19 };
    struct sched_param none = { 0 };
    cpu_set_t cpus;

    if (!strcmp(way, "priority"))
        return setpriority(PRIO_PROCESS, (id_t)pid, 19);
    if (!strcmp(way, "group-priority"))
        return setpriority(PRIO_PGRP, (id_t)pid, 19);
    if (!strcmp(way, "affinity"))
        return sched_getaffinity(pid, sizeof(cpus), &cpus) < 0
                   ? -1
                   : sched_setaffinity(pid, sizeof(cpus), &cpus);
    if (!strcmp(way, "scheduler"))
        return sched_setscheduler(pid, SCHED_BATCH, &none);
    if (!strcmp(way, "param"))
        return sched_setparam(pid, &none);
    if (!strcmp(way, "io"))
        return syscall(SYS_ioprio_set, 1 /* process */, pid, 2 << 13 | 7);
    return syscall(SYS_sched_setattr, pid, &attr, 0);
}

static int schedule(int argc, char **argv)
{
    (void)argc;
    return outcome(schedule_by(argv[0], (pid_t)number(argv[1])), argv[0]);
}

/* Neither socket() nor connect() is needed: one of a pair of datagram sockets sends to a name. */
static int send_datagram(int argc, char **argv)
{
    struct sockaddr_un there = { .sun_family = AF_UNIX };
    int pair[2];

    (void)argc;
    strncpy(there.sun_path, argv[0], sizeof(there.sun_path) - 1);
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) < 0)
        return not("socketpair");
    /* What already has a peer sends to nobody else, until it is without one again. */
    connect(pair[0], &(struct sockaddr){ .sa_family = AF_UNSPEC }, sizeof(there.sun_family));
    return outcome(sendto(pair[0], "hello", 5, 0, (struct sockaddr *)&there, sizeof(there)),
                   "sendto");
}

/* Leaves that many children behind. */
static int crowd(int argc, char **argv)
{
    long want = number(argv[0]);

    (void)argc;
    for (long i = 0; i < want; i++) {
        pid_t pid = fork();

        if (pid < 0)
            return not("fork");
        if (pid == 0)
            for (;;)
                pause();
    }
    return got("%ld children", want);
}

const struct attack neighbour_attacks[] = {
    { "crowd", crowd, 1 },       { "change-file", change_file, 2 }, { "signal-by", signal_by, 2 },
    { "schedule", schedule, 2 }, { "datagram", send_datagram, 1 },  { NULL, NULL, 0 },
};
