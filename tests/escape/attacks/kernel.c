/* The kernel's larger doors.  None of these changes the machine when it opens. */
#include <asm/unistd.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/io_uring.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/userfaultfd.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

static const struct {
    const char *name;
    unsigned long flag;
} namespaces[] = {
    { "user", CLONE_NEWUSER }, { "mount", CLONE_NEWNS },      { "pid", CLONE_NEWPID },
    { "net", CLONE_NEWNET },   { "ipc", CLONE_NEWIPC },       { "uts", CLONE_NEWUTS },
    { "time", CLONE_NEWTIME }, { "cgroup", CLONE_NEWCGROUP },
};

static unsigned long flag_of(const char *name)
{
    for (size_t i = 0; i < sizeof(namespaces) / sizeof(namespaces[0]); i++)
        if (!strcmp(namespaces[i].name, name))
            return namespaces[i].flag;
    exit(2);
}

static int new_namespace(int argc, char **argv)
{
    (void)argc;
    return outcome(unshare((int)flag_of(argv[0])), "unshare");
}

static int end_child(long pid, const char *what)
{
    if (pid == 0)
        _exit(0);
    if (pid > 0)
        waitpid((pid_t)pid, NULL, __WALL);
    return outcome(pid, what);
}

/* With junk in the upper half, which the kernel drops, when a second word asks for it. */
static int clone_namespace(int argc, char **argv)
{
    unsigned long junk = argc > 1 ? 0x5a5a5a5a00000000UL : 0;

    return end_child(syscall(SYS_clone, junk | flag_of(argv[0]) | SIGCHLD, 0, 0, 0, 0), "clone");
}

static int clone3_namespace(int argc, char **argv)
{
    struct clone_args args = { .flags = flag_of(argv[0]), .exit_signal = SIGCHLD };

    (void)argc;
    return end_child(syscall(SYS_clone3, &args, sizeof(args)), "clone3");
}

static int enter_namespace(int argc, char **argv)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%s/ns/%s", argv[1], argv[0]);
    (void)argc;
    return outcome(setns(open(path, O_RDONLY), 0), "setns");
}

static int load_bpf(int argc, char **argv)
{
    union bpf_attr attr = {
        .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1
    };

    (void)argc;
    (void)argv;
    return outcome(syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr)), "bpf");
}

static int open_perf(int argc, char **argv)
{
    struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
                                    .size = sizeof(attr),
                                    .config = PERF_COUNT_SW_TASK_CLOCK,
                                    .exclude_kernel = 1,
                                    .exclude_hv = 1,
                                    .disabled = 1 };

    (void)argc;
    (void)argv;
    return outcome(syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0), "perf_event_open");
}

static int open_userfault(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return outcome(syscall(SYS_userfaultfd, 1 /* UFFD_USER_MODE_ONLY */ | O_CLOEXEC),
                   "userfaultfd");
}

static int set_up_ring(int argc, char **argv)
{
    struct io_uring_params params = { 0 };

    (void)argc;
    (void)argv;
    return outcome(syscall(SYS_io_uring_setup, 1, &params), "io_uring_setup");
}

static int set_up_aio(int argc, char **argv)
{
    unsigned long context = 0;

    (void)argc;
    (void)argv;
    return outcome(syscall(SYS_io_setup, 1, &context), "io_setup");
}

/* Only looks: the session keyring is its caller's, on the host too. */
static int look_at_keys(int argc, char **argv)
{
    char text[256] = "";
    long r = syscall(SYS_keyctl, KEYCTL_DESCRIBE, KEY_SPEC_USER_KEYRING, text, sizeof(text) - 1);

    (void)argc;
    (void)argv;
    return outcome(r, "keyctl");
}

/* A key of the thread's own, gone with it. */
static int add_key(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return outcome(syscall(SYS_add_key, "user", "sandbox-run-escape", "x", 1,
                           KEY_SPEC_THREAD_KEYRING),
                   "add_key");
}

static int open_socket(int argc, char **argv)
{
    unsigned long junk = argc > 3 ? 0x5a5a5a5a00000000UL : 0;

    return outcome(syscall(SYS_socket, junk | (unsigned long)number(argv[0]),
                           (unsigned long)number(argv[1]), (unsigned long)number(argv[2])),
                   "socket");
}

static int open_socketpair(int argc, char **argv)
{
    int pair[2];

    (void)argc;
    return outcome(socketpair((int)number(argv[0]), SOCK_STREAM, 0, pair), "socketpair");
}

/* A call of the 32-bit table, whose numbers mean other calls to our filter. */
static int foreign_call(int argc, char **argv)
{
#ifdef __x86_64__
    long result;

    (void)argc;
    (void)argv;
    /* 20 is getpid for i386 and writev for us. */
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(20L) : "memory");
    errno = (int)-result;
    return result == getpid() ? got("pid %ld", result) : not("int 0x80");
#else
    (void)argc;
    (void)argv;
    return not_because("ENOTSUP not on this machine");
#endif
}

static int x32_call(int argc, char **argv)
{
    (void)argc;
    return outcome(syscall(0x40000000L + number(argv[0])), "x32");
}

static int change_personality(int argc, char **argv)
{
    (void)argc;
    return outcome(personality((unsigned long)number(argv[0])), "personality");
}

static int raise_core_limit(int argc, char **argv)
{
    struct rlimit some = { 4096, 4096 }, now = { 0, 0 };
    long r;

    (void)argc;
    if (!strcmp(argv[0], "setrlimit"))
        r = syscall(SYS_setrlimit, RLIMIT_CORE, &some);
    else
        r = syscall(SYS_prlimit64, 0, RLIMIT_CORE, &some, NULL);
    if (r < 0)
        return not(argv[0]);
    getrlimit(RLIMIT_CORE, &now);
    if (now.rlim_cur != some.rlim_cur)
        return not_because("UNCHANGED, though the answer was success");
    return got("%s", argv[0]);
}

static int set_core_limit(int argc, char **argv)
{
    struct rlimit zero = { 0, 0 }, now = { 0, 0 };

    (void)argc;
    (void)argv;
    if (syscall(SYS_prlimit64, 0, RLIMIT_CORE, &zero, NULL) < 0)
        return not("prlimit64");
    getrlimit(RLIMIT_CORE, &now);
    if (now.rlim_cur != 0)
        return not_because("UNCHANGED, though the answer was success");
    return got("prlimit64");
}

/* A terminal of one's own, so that nothing is ever typed into anyone's. */
static int own_terminal(void)
{
    int master = open("/dev/ptmx", O_RDWR | O_NOCTTY), unlock = 0, number;
    char path[32];

    if (master < 0 || ioctl(master, TIOCSPTLCK, &unlock) < 0 ||
        ioctl(master, TIOCGPTN, &number) < 0)
        return -1;
    snprintf(path, sizeof(path), "/dev/pts/%d", number);
    setsid();
    return open(path, O_RDWR); /* becomes the controlling terminal */
}

/* COMMAND, with junk above its 32 bits when a second word asks for it (CVE-2019-10063). */
static int terminal_ioctl(int argc, char **argv)
{
    unsigned long command = (unsigned long)number(argv[0]);
    int fd = own_terminal();
    char byte = '\n';

    if (fd < 0)
        return not("a terminal of my own");
    if (argc > 1)
        command |= 0x5a5a5a5a00000000UL;
    if (syscall(SYS_ioctl, fd, command, &byte) < 0 && errno != ENOTTY && errno != EINVAL)
        return not("ioctl");
    return got("the terminal's driver was asked");
}

/* Types into the caller's terminal, if there is any way to it. */
static int type_into_terminal(int argc, char **argv)
{
    int fds[] = { 0, 1, 2, open("/dev/tty", O_RDWR), open("/dev/console", O_RDWR | O_NOCTTY) };
    int typed = 0;

    (void)argc;
    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
        for (char *c = argv[0]; *c; c++)
            typed += ioctl(fds[i], TIOCSTI, c) == 0 ||
                     syscall(SYS_ioctl, fds[i], TIOCSTI | 1UL << 32, c) == 0;
    return typed ? got("typed %d bytes", typed) : not("TIOCSTI");
}

static int file_flags(int argc, char **argv)
{
    long flags = 0;
    int fd = open(argv[0], O_RDONLY | O_CREAT, 0644);

    (void)argc;
    if (fd < 0)
        return not("open");
    return outcome(ioctl(fd, _IOW('f', 2, long), &flags), "FS_IOC_SETFLAGS");
}

static int rename_host(int argc, char **argv)
{
    (void)argc;
    return outcome(sethostname(argv[0], strlen(argv[0])), "sethostname");
}

static int tell_hostname(int argc, char **argv)
{
    struct utsname name;

    (void)argc;
    (void)argv;
    uname(&name);
    return got("%s", name.nodename);
}

const struct attack kernel_attacks[] = {
    { "unshare", new_namespace, 1 },
    { "clone", clone_namespace, 1 },
    { "clone3", clone3_namespace, 1 },
    { "setns", enter_namespace, 2 },
    { "bpf", load_bpf, 0 },
    { "perf", open_perf, 0 },
    { "userfaultfd", open_userfault, 0 },
    { "io-uring", set_up_ring, 0 },
    { "aio", set_up_aio, 0 },
    { "keyctl", look_at_keys, 0 },
    { "add-key", add_key, 0 },
    { "socket", open_socket, 3 },
    { "socketpair", open_socketpair, 1 },
    { "int80", foreign_call, 0 },
    { "x32", x32_call, 1 },
    { "personality", change_personality, 1 },
    { "raise-core", raise_core_limit, 1 },
    { "zero-core", set_core_limit, 0 },
    { "terminal-ioctl", terminal_ioctl, 1 },
    { "type", type_into_terminal, 1 },
    { "file-flags", file_flags, 1 },
    { "sethostname", rename_host, 1 },
    { "hostname", tell_hostname, 0 },
    { NULL, NULL, 0 },
};
