#include "policy_model.h"

#include <asm/ioctls.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/fs.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define ALLOW SECCOMP_RET_ALLOW

const struct model_arch model_archs[MODEL_ARCHS] = {
    [MODEL_X86_64] = { "x86_64", AUDIT_ARCH_X86_64, SCMP_ARCH_X86_64 },
    [MODEL_AARCH64] = { "aarch64", AUDIT_ARCH_AARCH64, SCMP_ARCH_AARCH64 },
};

/* Calls that the libseccomp of Debian 12 cannot name. */
static const struct {
    const char *name;
    int number;
} late[] = {
    { "fchmodat2", 452 },    { "statmount", 457 },     { "listmount", 458 },
    { "setxattrat", 463 },   { "removexattrat", 466 }, { "open_tree_attr", 467 },
    { "file_setattr", 469 },
};

/* Words between single spaces, with one at each end. */
struct wordlist {
    const char *policy;
    uint32_t answer;
    const char *words;
};

/* In the order of the security contract; the first list that has a name decides. */
static const struct wordlist lists[] = {
    { "strict", MODEL_REFUSE(EAFNOSUPPORT), " socket " },
    { "strict", MODEL_REFUSE(EPERM),
      " bind connect listen accept accept4 sendmsg recvmsg sendmmsg recvmmsg flock " },
    { "strict", MODEL_REFUSE(ENOSYS),
      " shmget shmat shmdt shmctl semget semop semtimedop semctl msgget msgsnd msgrcv msgctl"
      " mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr"
      " inotify_init inotify_init1 inotify_add_watch inotify_rm_watch " },
    /* what nine language runtimes were seen to use on aarch64 */
    { NULL, ALLOW,
      " bind brk capget chdir clock_getres clock_gettime clock_nanosleep clone close close_range"
      " connect dup dup3 epoll_create1 epoll_ctl epoll_pwait eventfd2 execve exit exit_group"
      " faccessat faccessat2 fadvise64 fallocate fchdir fchmodat fcntl flock fstat ftruncate futex"
      " getcwd getdents64 getegid geteuid getgid getpeername getpgid getpid getppid getrandom"
      " getrusage getsockname gettid getuid ioctl linkat listen lseek madvise mkdirat mmap mprotect"
      " munmap nanosleep newfstatat openat pipe2 ppoll prctl pread64 prlimit64 pwrite64 read"
      " readlinkat recvfrom renameat rseq rt_sigaction rt_sigprocmask rt_sigreturn"
      " sched_getaffinity sched_yield set_robust_list set_tid_address setsockopt shutdown"
      " sigaltstack socket socketpair statfs statx sysinfo tgkill umask uname unlinkat utimensat"
      " wait4 waitid write " },
    /* for breadth */
    { NULL, ALLOW,
      " accept accept4 getsockopt sendto sendmsg recvmsg sendmmsg recvmmsg pselect6 preadv pwritev"
      " preadv2 pwritev2 readv writev copy_file_range sendfile splice tee vmsplice inotify_init1"
      " inotify_add_watch inotify_rm_watch timerfd_create timerfd_settime timerfd_gettime"
      " timer_create timer_settime timer_gettime timer_getoverrun timer_delete signalfd4"
      " memfd_create membarrier mremap mincore mlock munlock msync mlock2 get_mempolicy"
      " set_mempolicy mbind sched_setaffinity sched_getparam sched_setparam sched_getscheduler"
      " sched_setscheduler sched_getattr sched_setattr sched_get_priority_max"
      " sched_get_priority_min sched_rr_get_interval setpriority getpriority getpgrp setpgid setsid"
      " getsid getgroups getresuid getresgid setitimer getitimer alarm tkill rt_sigpending"
      " rt_sigsuspend rt_sigtimedwait rt_sigqueueinfo rt_tgsigqueueinfo kill pidfd_open"
      " pidfd_send_signal symlinkat renameat2 fchmod fchmodat2 fchown fchownat mknodat truncate"
      " fsync fdatasync sync_file_range syncfs getxattr lgetxattr fgetxattr listxattr llistxattr"
      " flistxattr execveat openat2 epoll_pwait2 futex_waitv getcpu times restart_syscall"
      " landlock_create_ruleset landlock_add_rule landlock_restrict_self seccomp shmget shmat shmdt"
      " shmctl semget semop semtimedop semctl msgget msgsnd msgrcv msgctl mq_open mq_unlink"
      " mq_timedsend mq_timedreceive mq_notify mq_getsetattr arch_prctl " },
    /* older twins */
    { NULL, ALLOW,
      " open stat lstat access pipe dup2 poll select epoll_create epoll_wait eventfd inotify_init"
      " signalfd fork vfork getdents readlink rename mkdir rmdir unlink link symlink chmod chown"
      " lchown creat utime utimes futimesat pause time getrlimit setrlimit mknod gettimeofday"
      " fstatfs " },
    /* ids and capabilities that a program has already, or gives up */
    { NULL, ALLOW,
      " setuid setgid setreuid setregid setresuid setresgid setfsuid setfsgid capset "
      "personality " },
    { NULL, MODEL_REFUSE(EPERM),
      " unshare setns mount umount2 fsopen fsconfig fsmount fspick move_mount open_tree"
      " open_tree_attr mount_setattr pivot_root chroot ptrace process_vm_readv process_vm_writev"
      " pidfd_getfd kcmp bpf perf_event_open userfaultfd keyctl add_key request_key"
      " open_by_handle_at name_to_handle_at init_module finit_module delete_module kexec_load"
      " kexec_file_load reboot swapon swapoff acct quotactl quotactl_fd syslog sethostname"
      " setdomainname clock_settime clock_adjtime settimeofday adjtimex iopl ioperm modify_ldt"
      " fanotify_init fanotify_mark nfsservctl lookup_dcookie move_pages migrate_pages"
      " process_madvise process_mrelease memfd_secret vhangup listmount statmount setgroups"
      " file_setattr " },
    { NULL, MODEL_REFUSE(EOPNOTSUPP),
      " setxattr lsetxattr fsetxattr setxattrat removexattr lremovexattr fremovexattr"
      " removexattrat " },
};

static uint32_t answer_clone(const uint64_t *args)
{
    const uint32_t namespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET |
                                CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP | CLONE_NEWTIME;

    return ((uint32_t)args[0] & namespaces) != 0 ? MODEL_REFUSE(EPERM) : ALLOW;
}

static uint32_t answer_socket(const uint64_t *args)
{
    int family = (int)args[0], type = (int)args[1] & 0xf, protocol = (int)args[2];

    if (family == AF_UNIX && (type == SOCK_STREAM || type == SOCK_DGRAM || type == SOCK_SEQPACKET))
        return ALLOW;
    if (family == AF_NETLINK && (type == SOCK_RAW || type == SOCK_DGRAM) && protocol == 0)
        return ALLOW;
    return MODEL_REFUSE(EAFNOSUPPORT);
}

static uint32_t answer_socketpair(const uint64_t *args)
{
    return (int)args[0] == AF_UNIX ? ALLOW : MODEL_REFUSE(EAFNOSUPPORT);
}

static uint32_t answer_ioctl(const uint64_t *args)
{
    switch ((unsigned)args[1]) {
    case 0x5412:     /* TIOCSTI           */
    case 0x541c:     /* TIOCLINUX         */
    case 0x5423:     /* TIOCSETD          */
    case 0x40086602: /* FS_IOC_SETFLAGS   */
    case 0x40046602: /* FS_IOC32_SETFLAGS */
    case 0x401c5820: /* FS_IOC_FSSETXATTR */
        return MODEL_REFUSE(EPERM);
    default:
        return ALLOW;
    }
}

static uint32_t answer_prctl(const uint64_t *args)
{
    bool refused = false;

    switch ((int)args[0]) {
    case PR_SET_MM:
    case PR_SET_PTRACER:
    case PR_SET_SECUREBITS:
        refused = true;
        break;
    case PR_CAP_AMBIENT:
        refused = args[1] == PR_CAP_AMBIENT_RAISE;
        break;
    case PR_SET_SPECULATION_CTRL:
        refused = args[2] == PR_SPEC_ENABLE;
        break;
    }
    return refused ? MODEL_REFUSE(EPERM) : ALLOW;
}

static uint32_t answer_seccomp(const uint64_t *args)
{
    return ((unsigned)args[1] & SECCOMP_FILTER_FLAG_NEW_LISTENER) != 0 ? MODEL_REFUSE(EPERM)
                                                                       : ALLOW;
}

static uint32_t answer_personality(const uint64_t *args)
{
    return (int)args[0] == 0 || (int)args[0] == -1 ? ALLOW : MODEL_REFUSE(EPERM);
}

static uint32_t answer_prlimit64(const uint64_t *args)
{
    bool own = (int)args[0] == 0, changes_core = (int)args[1] == RLIMIT_CORE && args[2] != 0;

    return own && !changes_core ? ALLOW : MODEL_REFUSE(EPERM);
}

static uint32_t answer_setrlimit(const uint64_t *args)
{
    return (int)args[0] == RLIMIT_CORE ? MODEL_REFUSE(EPERM) : ALLOW;
}

static uint32_t answer_mode(uint64_t mode)
{
    mode_t type = (mode_t)(uint16_t)mode & S_IFMT;

    return type == 0 || S_ISREG(type) || S_ISFIFO(type) || S_ISSOCK(type) ? ALLOW
                                                                          : MODEL_REFUSE(EPERM);
}

static uint32_t answer_mknod(const uint64_t *args)
{
    return answer_mode(args[1]);
}

static uint32_t answer_mknodat(const uint64_t *args)
{
    return answer_mode(args[2]);
}

static uint32_t answer_fcntl(const uint64_t *args)
{
    int command = (int)args[1];
    bool locks = (command >= 5 && command <= 7) || (command >= 36 && command <= 38);

    return locks || command == 1024 || command == 1026 ? MODEL_REFUSE(EPERM) : ALLOW;
}

/* clang-format off */
static const struct model_call calls[] = {
    { "clone",       answer_clone,       MODEL_REFUSE(EPERM),        1 << 0 },
    { "socket",      answer_socket,      MODEL_REFUSE(EAFNOSUPPORT), 1 << 0 | 1 << 1 | 1 << 2 },
    { "socketpair",  answer_socketpair,  MODEL_REFUSE(EAFNOSUPPORT), 1 << 0 },
    { "ioctl",       answer_ioctl,       ALLOW,                      1 << 1 },
    { "prctl",       answer_prctl,       ALLOW,                      1 << 0 | 1 << 1 | 1 << 2 },
    { "seccomp",     answer_seccomp,     ALLOW,                      1 << 1 },
    { "personality", answer_personality, MODEL_REFUSE(EPERM),        1 << 0 },
    { "prlimit64",   answer_prlimit64,   MODEL_REFUSE(EPERM),        1 << 0 | 1 << 1 | 1 << 2 },
    { "setrlimit",   answer_setrlimit,   ALLOW,                      1 << 0 },
    { "mknod",       answer_mknod,       MODEL_REFUSE(EPERM),        1 << 1 },
    { "mknodat",     answer_mknodat,     MODEL_REFUSE(EPERM),        1 << 2 },
    { "fcntl",       answer_fcntl,       ALLOW,                      1 << 1 },
};

#define EPERM_ SCMP_ACT_ERRNO(EPERM)
#define ALLOW_ SCMP_ACT_ALLOW
#define BITS(arg, mask, value) SCMP_CMP64(arg, SCMP_CMP_MASKED_EQ, mask, value)
#define LOW(arg, value) BITS(arg, 0xffffffffU, value)
#define ALL(arg, value) SCMP_CMP64(arg, SCMP_CMP_EQ, value, 0)

const struct model_rule model_rules[] = {
    { "clone",       ALLOW_, 1, { BITS(0, 0x7e020080, 0) } },
    { "socket",      ALLOW_, 2, { LOW(0, AF_UNIX), BITS(1, 0xf, SOCK_STREAM) } },
    { "socket",      ALLOW_, 2, { LOW(0, AF_UNIX), BITS(1, 0xf, SOCK_DGRAM) } },
    { "socket",      ALLOW_, 2, { LOW(0, AF_UNIX), BITS(1, 0xf, SOCK_SEQPACKET) } },
    { "socket",      ALLOW_, 3, { LOW(0, AF_NETLINK), BITS(1, 0xf, SOCK_RAW), LOW(2, 0) } },
    { "socket",      ALLOW_, 3, { LOW(0, AF_NETLINK), BITS(1, 0xf, SOCK_DGRAM), LOW(2, 0) } },
    { "socketpair",  ALLOW_, 1, { LOW(0, AF_UNIX) } },
    { "ioctl",       EPERM_, 1, { LOW(1, TIOCSTI) } },
    { "ioctl",       EPERM_, 1, { LOW(1, TIOCLINUX) } },
    { "ioctl",       EPERM_, 1, { LOW(1, TIOCSETD) } },
    { "ioctl",       EPERM_, 1, { LOW(1, FS_IOC_SETFLAGS) } },
    { "ioctl",       EPERM_, 1, { LOW(1, FS_IOC32_SETFLAGS) } },
    { "ioctl",       EPERM_, 1, { LOW(1, FS_IOC_FSSETXATTR) } },
    { "prctl",       EPERM_, 1, { LOW(0, PR_SET_MM) } },
    { "prctl",       EPERM_, 1, { LOW(0, PR_SET_PTRACER) } },
    { "prctl",       EPERM_, 1, { LOW(0, PR_SET_SECUREBITS) } },
    { "prctl",       EPERM_, 2, { LOW(0, PR_CAP_AMBIENT), ALL(1, PR_CAP_AMBIENT_RAISE) } },
    { "prctl",       EPERM_, 2, { LOW(0, PR_SET_SPECULATION_CTRL), ALL(2, PR_SPEC_ENABLE) } },
    { "seccomp",     EPERM_, 1, { BITS(1, 8, 8) } },
    { "personality", ALLOW_, 1, { LOW(0, 0) } },
    { "personality", ALLOW_, 1, { LOW(0, 0xffffffffU) } },
    /* libseccomp has no "low half differs from": resources are below 16, so four bits tell. */
    { "prlimit64",   ALLOW_, 3, { LOW(0, 0), LOW(1, RLIMIT_CORE), ALL(2, 0) } },
    { "prlimit64",   ALLOW_, 2, { LOW(0, 0), BITS(1, 1, 1) } },
    { "prlimit64",   ALLOW_, 2, { LOW(0, 0), BITS(1, 2, 2) } },
    { "prlimit64",   ALLOW_, 2, { LOW(0, 0), BITS(1, 4, 0) } },
    { "prlimit64",   ALLOW_, 2, { LOW(0, 0), BITS(1, 8, 8) } },
    { "setrlimit",   EPERM_, 1, { LOW(0, RLIMIT_CORE) } },
    { "mknod",       ALLOW_, 1, { BITS(1, S_IFMT, 0) } },
    { "mknod",       ALLOW_, 1, { BITS(1, S_IFMT, S_IFREG) } },
    { "mknod",       ALLOW_, 1, { BITS(1, S_IFMT, S_IFIFO) } },
    { "mknod",       ALLOW_, 1, { BITS(1, S_IFMT, S_IFSOCK) } },
    { "mknodat",     ALLOW_, 1, { BITS(2, S_IFMT, 0) } },
    { "mknodat",     ALLOW_, 1, { BITS(2, S_IFMT, S_IFREG) } },
    { "mknodat",     ALLOW_, 1, { BITS(2, S_IFMT, S_IFIFO) } },
    { "mknodat",     ALLOW_, 1, { BITS(2, S_IFMT, S_IFSOCK) } },
    { "fcntl",       EPERM_, 1, { LOW(1, F_GETLK) } },
    { "fcntl",       EPERM_, 1, { LOW(1, F_SETLK) } },
    { "fcntl",       EPERM_, 1, { LOW(1, F_SETLKW) } },
    { "fcntl",       EPERM_, 1, { LOW(1, F_OFD_GETLK) } },
    { "fcntl",       EPERM_, 1, { LOW(1, F_OFD_SETLK) } },
    { "fcntl",       EPERM_, 1, { LOW(1, F_OFD_SETLKW) } },
    { "fcntl",       EPERM_, 1, { LOW(1, F_SETLEASE) } },
    { "fcntl",       EPERM_, 1, { LOW(1, F_NOTIFY) } },
};
/* clang-format on */

const size_t model_rules_len = COUNT(model_rules);

static bool is_strict(const char *policy)
{
    return strcmp(policy, "strict") == 0;
}

const struct model_call *model_find_call(const char *policy, const char *name)
{
    if (strcmp(name, is_strict(policy) ? "socket" : "fcntl") == 0)
        return NULL; /* has one answer there */
    for (size_t i = 0; i < COUNT(calls); i++) {
        if (strcmp(calls[i].name, name) == 0)
            return &calls[i];
    }
    return NULL;
}

uint32_t model_answer(const char *policy, const char *name)
{
    char word[80];

    snprintf(word, sizeof(word), " %s ", name);
    for (size_t i = 0; i < COUNT(lists); i++) {
        if ((!lists[i].policy || strcmp(lists[i].policy, policy) == 0) &&
            strstr(lists[i].words, word))
            return lists[i].answer;
    }
    return MODEL_REFUSE(ENOSYS);
}

int model_number(const struct model_arch *arch, const char *name)
{
    for (size_t i = 0; i < COUNT(late); i++) {
        if (strcmp(late[i].name, name) == 0)
            return late[i].number;
    }
    return seccomp_syscall_resolve_name_arch(arch->library, name);
}

void model_name(const struct model_arch *arch, int number, char *name, size_t size)
{
    char *known = seccomp_syscall_resolve_num_arch(arch->library, number);

    snprintf(name, size, "%s", known ? known : "");
    free(known);
    for (size_t i = 0; i < COUNT(late); i++) {
        if (late[i].number == number)
            snprintf(name, size, "%s", late[i].name);
    }
}
