/* Other processes: init, the host's, and those that should be gone. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"

/* "parent" is whoever started us: init. */
static pid_t pid_of(const char *text)
{
    return !strcmp(text, "parent") ? started_by : (pid_t)number(text);
}

static int send_signal(int argc, char **argv)
{
    (void)argc;
    return outcome(kill(pid_of(argv[0]), (int)number(argv[1])), "kill");
}

/* Every signal there is, several times; then says that it is still alive. */
static int signal_storm(int argc, char **argv)
{
    pid_t pid = pid_of(argv[0]);

    (void)argc;
    for (int round = 0; round < 3; round++)
        for (int number = 1; number <= 64; number++)
            kill(pid, number);
    return got("I am still here");
}

/* Ignores the signal itself: only others may be hit. */
static int signal_group(int argc, char **argv)
{
    int which = (int)number(argv[1]);

    (void)argc;
    signal(which, SIG_IGN);
    kill(pid_of(argv[0]), which);
    return got("I am still here");
}

static int trace(int argc, char **argv)
{
    (void)argc;
    return outcome(ptrace(PTRACE_SEIZE, pid_of(argv[0]), NULL, NULL), "PTRACE_SEIZE");
}

static int trace_child(int argc, char **argv)
{
    pid_t child = fork();
    int r;

    (void)argc;
    (void)argv;
    if (child == 0)
        for (;;)
            pause();
    r = outcome(ptrace(PTRACE_SEIZE, child, NULL, NULL), "PTRACE_SEIZE");
    kill(child, SIGKILL);
    return r;
}

/* Address 1 is nobody's: EFAULT says that the right to look was granted. */
static int touch_memory(int argc, char **argv)
{
    char byte = 0;
    struct iovec here = { &byte, 1 }, there = { (void *)1, 1 };
    pid_t pid = pid_of(argv[1]);
    long r = !strcmp(argv[0], "w") ? process_vm_writev(pid, &here, 1, &there, 1, 0)
                                   : process_vm_readv(pid, &here, 1, &there, 1, 0);

    (void)argc;
    return r < 0 && errno != EFAULT ? not("process_vm") : got("access to the memory of %d", pid);
}

static int steal_descriptor(int argc, char **argv)
{
    long pidfd = syscall(SYS_pidfd_open, pid_of(argv[0]), 0);

    (void)argc;
    if (pidfd < 0)
        return not("pidfd_open");
    return outcome(syscall(SYS_pidfd_getfd, pidfd, number(argv[1]), 0), "pidfd_getfd");
}

/* /proc/PID/WHAT of init, wherever it is. */
static int proc_of_parent(int argc, char **argv)
{
    char path[128], target[300];
    ssize_t n;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid_of(argv[0]), argv[1]);
    if (argc > 2 && !strcmp(argv[2], "link")) {
        n = readlink(path, target, sizeof(target) - 1);
        if (n < 0)
            return not("readlink");
        target[n] = '\0';
        return got("%s", target);
    }
    fd = open(path, argc > 2 && !strcmp(argv[2], "w") ? O_WRONLY : O_RDONLY);
    return outcome(fd, "open");
}

/* Processes in /proc that are neither init nor us. */
static int list_processes(int argc, char **argv)
{
    char found[3000] = "";
    DIR *dir = opendir("/proc");
    struct dirent *entry;

    (void)argc;
    (void)argv;
    if (!dir)
        return not("opendir");
    while ((entry = readdir(dir))) {
        int pid = atoi(entry->d_name);

        if (pid > 1 && pid != getpid() && pid != first_process &&
            strlen(found) < sizeof(found) - 32)
            sprintf(found + strlen(found), "%d ", pid);
    }
    return found[0] ? got("%s", found) : not_because("EMPTY only init and me");
}

/* Leaves a daemon behind that does all that daemons do to stay. */
static int daemonise(int argc, char **argv)
{
    int ready[2];
    char byte;

    if (pipe(ready) < 0)
        return 2;
    if (fork() == 0) {
        setsid();
        if (fork() == 0) {
            for (int number = 1; number < 32; number++)
                signal(number, SIG_IGN);
            if (write(ready[1], "!", 1) < 0)
                _exit(2);
            if (argc > 1 && !strcmp(argv[1], "stopped"))
                raise(SIGSTOP);
            for (;;)
                pause();
        }
        _exit(0);
    }
    close(ready[1]);
    if (read(ready[0], &byte, 1) != 1)
        return not_because("ECHILD the daemon did not start");
    return got("a daemon");
}

/* Floods with daemons that fork on and on, so that no list of them is ever true. */
static int hop(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    for (int i = 0; i < 4; i++)
        if (fork() == 0)
            for (;;) {
                setsid();
                if (fork() > 0)
                    _exit(0);
            }
    return got("hopping");
}

/* Everything that could be init's end of the channel to the supervisor gets a made-up report. */
static int forge_report(int argc, char **argv)
{
    static unsigned int report[4096 / 4];
    size_t size = (size_t)number(argv[0]);
    int sent = 0;

    report[0] = 4; /* EVENT_EXITED */
    for (int fd = 3; fd < 4096; fd++)
        sent += write(fd, report, size) > 0;
    (void)argc;
    return sent ? got("%d reports sent", sent) : not_because("EBADF nowhere to send it");
}

static int renice_init(int argc, char **argv)
{
    (void)argc;
    return outcome(setpriority(PRIO_PROCESS, (id_t)pid_of(argv[0]), 19), "setpriority");
}

static int limit_other(int argc, char **argv)
{
    struct rlimit same;
    pid_t pid = pid_of(argv[0]);

    (void)argc;
    if (prlimit(pid, RLIMIT_NOFILE, NULL, &same) < 0)
        return not("prlimit");
    return outcome(prlimit(pid, RLIMIT_NOFILE, &same, NULL), "prlimit");
}

const struct attack process_attacks[] = {
    { "kill", send_signal, 2 },
    { "signal-storm", signal_storm, 1 },
    { "signal-group", signal_group, 2 },
    { "ptrace", trace, 1 },
    { "ptrace-child", trace_child, 0 },
    { "memory-of", touch_memory, 2 },
    { "steal-descriptor", steal_descriptor, 2 },
    { "proc-of", proc_of_parent, 2 },
    { "processes", list_processes, 0 },
    { "daemon", daemonise, 1 },
    { "hop", hop, 0 },
    { "forge", forge_report, 1 },
    { "renice", renice_init, 1 },
    { "limit-other", limit_other, 1 },
    { NULL, NULL, 0 },
};
