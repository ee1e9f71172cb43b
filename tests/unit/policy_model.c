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
#define NOTICE SECCOMP_RET_USER_NOTIF
#define COUNTED (SECCOMP_RET_USER_NOTIF | ENOMEM)
#define DONE MODEL_REFUSE(0)

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
    { "strict", MODEL_REFUSE(EINVAL), " seccomp " },
    { "process", MODEL_REFUSE(EAFNOSUPPORT), " socket " },
    { "process", MODEL_REFUSE(EPERM),
      " bind connect listen accept accept4 chmod fchmod fchmodat fchmodat2 chown lchown fchown"
      " fchownat utime utimes futimesat truncate " },
    { "process", MODEL_REFUSE(ENOSYS),
      " shmget shmat shmdt shmctl semget semop semtimedop semctl msgget msgsnd msgrcv msgctl"
      " mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr"
      " inotify_init inotify_init1 inotify_add_watch inotify_rm_watch pidfd_open"
      " pidfd_send_signal openat2 " },
    { "process", MODEL_REFUSE(EOPNOTSUPP), " getxattr lgetxattr listxattr llistxattr " },
    { "keeptimes", MODEL_REFUSE(EPERM), " utimensat " },
    { "nosetid", MODEL_REFUSE(ENOSYS), " openat2 " },
    { "nomemory", MODEL_REFUSE(EPERM), " memfd_create memfd_secret " },
    { "nosignals", MODEL_REFUSE(EPERM),
      " tkill tgkill pidfd_send_signal rt_sigqueueinfo rt_tgsigqueueinfo " },
    { "network", ALLOW, " connect sendto sendmmsg " },
    { "localhost", ALLOW, " sendto " },
    { "process", ALLOW, " sendto sendmmsg " },
    { NULL, NOTICE, " connect sendmmsg " },
    /* what nine language runtimes were seen to use on aarch64 */
    { NULL, ALLOW,
      " bind brk capget chdir clock_getres clock_gettime clock_nanosleep clone close close_range"
      " dup dup3 epoll_create1 epoll_ctl epoll_pwait eventfd2 execve exit exit_group"
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
      " accept accept4 getsockopt sendto sendmsg recvmsg recvmmsg pselect6 preadv pwritev"
      " preadv2 pwritev2 readv writev copy_file_range sendfile splice tee vmsplice inotify_init1"
      " inotify_add_watch inotify_rm_watch timerfd_create timerfd_settime timerfd_gettime"
      " timer_create timer_settime timer_gettime timer_getoverrun timer_delete signalfd4"
      " memfd_create membarrier mremap mincore mlock munlock msync mlock2"
      " sched_setaffinity sched_getparam sched_setparam sched_getscheduler"
      " sched_setscheduler sched_getattr sched_setattr sched_get_priority_max"
      " sched_get_priority_min sched_rr_get_interval setpriority getpriority getpgrp setpgid setsid"
      " getsid getgroups getresuid getresgid setitimer getitimer alarm tkill rt_sigpending"
      " rt_sigsuspend rt_sigtimedwait rt_sigqueueinfo rt_tgsigqueueinfo kill pidfd_open"
      " pidfd_send_signal symlinkat renameat2 fchmod fchmodat2 fchown fchownat mknodat truncate"
      " fsync fdatasync sync_file_range getxattr lgetxattr fgetxattr listxattr llistxattr"
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
      " nfsservctl lookup_dcookie move_pages migrate_pages"
      " process_madvise process_mrelease memfd_secret vhangup listmount statmount setgroups"
      " file_setattr " },
    { NULL, MODEL_REFUSE(ENOSYS), " get_mempolicy set_mempolicy mbind " },
    { NULL, DONE, " sync syncfs " },
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
    if ((family == AF_INET || family == AF_INET6) && (type == SOCK_STREAM || type == SOCK_DGRAM) &&
        (protocol == 0 || protocol == 6 || protocol == 17))
        return ALLOW;
    if (family == AF_NETLINK && (type == SOCK_RAW || type == SOCK_DGRAM) && protocol == 0)
        return COUNTED;
    return MODEL_REFUSE(EAFNOSUPPORT);
}

static uint32_t answer_socket_counted(const uint64_t *args)
{
    uint32_t answer = answer_socket(args);

    return answer == ALLOW && (int)args[0] != AF_UNIX ? NOTICE : answer;
}

static uint32_t answer_ipv6_option(int option)
{
    switch (option) {
    case 20: /* IPV6_ADD_MEMBERSHIP     */
    case 42: /* MCAST_JOIN_GROUP        */
    case 46: /* MCAST_JOIN_SOURCE_GROUP */
        return MODEL_REFUSE(ENODEV);
    case 6:  /* IPV6_2292PKTOPTIONS */
    case 32: /* IPV6_FLOWLABEL_MGR  */
    case 57: /* IPV6_RTHDR          */
        return MODEL_REFUSE(ENOPROTOOPT);
    default:
        return ALLOW;
    }
}

static uint32_t answer_setsockopt(const uint64_t *args)
{
    int option = (int)args[2];

    switch ((int)args[1]) {
    case 1: /* SOL_SOCKET */
        if (option == SO_SNDBUF || option == SO_RCVBUF)
            return DONE;
        return option == SO_ATTACH_FILTER || option == 51 ? MODEL_REFUSE(EPERM) : ALLOW;
    case 6: /* TCP: two kinds of keys by three names, and layers above */
        return option == 14 || option == 31 || option == 32 || option == 38
                   ? MODEL_REFUSE(ENOPROTOOPT)
                   : ALLOW;
    case 0: /* IP: groups */
        return option == 35 || option == 39 || option == 42 || option == 46 ? MODEL_REFUSE(ENODEV)
                                                                            : ALLOW;
    case 41:
        return answer_ipv6_option(option);
    case 17:  /* UDP     */
    case 270: /* netlink */
        return ALLOW;
    default:
        return MODEL_REFUSE(ENOPROTOOPT);
    }
}

static uint32_t answer_mmap(const uint64_t *args)
{
    return args[3] & 0x40000 ? MODEL_REFUSE(ENOMEM) : ALLOW;
}

static uint32_t answer_memfd(const uint64_t *args)
{
    return args[1] & 4 ? MODEL_REFUSE(ENOMEM) : ALLOW;
}

static uint32_t answer_shmget(const uint64_t *args)
{
    return args[2] & 04000 ? MODEL_REFUSE(ENOMEM) : ALLOW;
}

static uint32_t answer_madvise(const uint64_t *args)
{
    return (int)args[2] == 12 ? MODEL_REFUSE(EINVAL) : ALLOW;
}

static uint32_t answer_sendto(const uint64_t *args)
{
    bool question = (int)args[3] == MSG_NOSIGNAL && args[2] < 512;

    return args[4] == 0 && !question ? ALLOW : NOTICE;
}

static uint32_t answer_socketpair(const uint64_t *args)
{
    return (int)args[0] == AF_UNIX ? ALLOW : MODEL_REFUSE(EAFNOSUPPORT);
}

static uint32_t answer_no_local(const uint64_t *args)
{
    return (int)args[0] == AF_UNIX ? MODEL_REFUSE(EAFNOSUPPORT) : ALLOW;
}

static uint32_t answer_connected_pair(const uint64_t *args)
{
    int type = (int)args[1] & 0xf;

    return type == SOCK_STREAM || type == SOCK_SEQPACKET ? ALLOW : MODEL_REFUSE(EAFNOSUPPORT);
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
    case 67: /* PR_SET_MEMORY_MERGE */
        return MODEL_REFUSE(EINVAL);
    case PR_SET_SECCOMP:
        return COUNTED;
    }
    return refused ? MODEL_REFUSE(EPERM) : ALLOW;
}

static uint32_t answer_prctl_strict(const uint64_t *args)
{
    return (int)args[0] == PR_SET_SECCOMP ? MODEL_REFUSE(EINVAL) : answer_prctl(args);
}

static uint32_t answer_seccomp(const uint64_t *args)
{
    if ((unsigned)args[1] & SECCOMP_FILTER_FLAG_NEW_LISTENER)
        return MODEL_REFUSE(EPERM);
    return (unsigned)args[0] == SECCOMP_SET_MODE_FILTER ? COUNTED : ALLOW;
}

static uint32_t answer_personality(const uint64_t *args)
{
    return (int)args[0] == 0 || (int)args[0] == -1 ? ALLOW : MODEL_REFUSE(EPERM);
}

static uint32_t answer_prlimit64(const uint64_t *args)
{
    bool own = (int)args[0] == 0, changes_core = (int)args[1] == RLIMIT_CORE && args[2] != 0;

    if (own && changes_core && args[3] == 0)
        return DONE;
    return own && !changes_core ? ALLOW : MODEL_REFUSE(EPERM);
}

static uint32_t answer_setrlimit(const uint64_t *args)
{
    return (int)args[0] == RLIMIT_CORE ? DONE : ALLOW;
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

static uint32_t answer_lease(const uint64_t *args)
{
    return (int)args[1] == 1024 || (int)args[1] == 1026 ? MODEL_REFUSE(EINVAL) : ALLOW;
}

static uint32_t answer_fcntl(const uint64_t *args)
{
    int command = (int)args[1];
    bool locks = (command >= 5 && command <= 7) || (command >= 36 && command <= 38);

    return locks || command == 1024 || command == 1026 ? MODEL_REFUSE(EPERM) : ALLOW;
}

static uint32_t answer_owner(const uint64_t *args)
{
    switch ((int)args[1]) {
    case 8:  /* F_SETOWN    */
    case 10: /* F_SETSIG    */
    case 15: /* F_SETOWN_EX */
        return MODEL_REFUSE(EPERM);
    default:
        return answer_lease(args);
    }
}

static uint32_t answer_ioctl_question(const uint64_t *args)
{
    switch ((unsigned)args[1]) {
    case 0x5401:     /* TCGETS          */
    case 0x5402:     /* TCSETS          */
    case 0x5403:     /* TCSETSW         */
    case 0x5404:     /* TCSETSF         */
    case 0x5409:     /* TCSBRK          */
    case 0x540a:     /* TCXONC          */
    case 0x540b:     /* TCFLSH          */
    case 0x5410:     /* TIOCSPGRP       */
    case 0x5414:     /* TIOCSWINSZ      */
    case 0x5429:     /* TIOCGSID        */
    case 0x5413:     /* TIOCGWINSZ      */
    case 0x540f:     /* TIOCGPGRP       */
    case 0x541b:     /* FIONREAD        */
    case 0x5421:     /* FIONBIO         */
    case 0x5450:     /* FIONCLEX        */
    case 0x5451:     /* FIOCLEX         */
    case 0x40049409: /* FICLONE         */
    case 0x4020940d: /* FICLONERANGE    */
    case 0x80086601: /* FS_IOC_GETFLAGS */
        return ALLOW;
    default:
        return MODEL_REFUSE(ENOTTY);
    }
}

static uint32_t answer_prctl_dumpable(const uint64_t *args)
{
    return (int)args[0] == PR_SET_DUMPABLE && args[1] == 0 ? MODEL_REFUSE(EPERM)
                                                           : answer_prctl(args);
}

static uint32_t answer_open_flags(int flags)
{
    if ((flags & 3) == 3)
        return MODEL_REFUSE(EINVAL);
    return (flags & 3) == O_RDONLY && flags & O_TRUNC ? MODEL_REFUSE(EACCES) : ALLOW;
}

static uint32_t answer_open(const uint64_t *args)
{
    return answer_open_flags((int)args[1]);
}

static uint32_t answer_openat(const uint64_t *args)
{
    return answer_open_flags((int)args[2]);
}

static uint32_t answer_stream_pair(const uint64_t *args)
{
    int type = (int)args[1] & 0xf;

    return (int)args[0] == AF_UNIX && (type == SOCK_STREAM || type == SOCK_SEQPACKET)
               ? ALLOW
               : MODEL_REFUSE(EAFNOSUPPORT);
}

static uint32_t answer_open_file(const uint64_t *args)
{
    return args[1] == 0 ? ALLOW : MODEL_REFUSE(EPERM);
}

static uint32_t answer_self(const uint64_t *args)
{
    return (int)args[0] == 0 ? ALLOW : MODEL_REFUSE(EPERM);
}

static uint32_t answer_not_init(const uint64_t *args)
{
    return (int)args[0] == 1 ? MODEL_REFUSE(EPERM) : ALLOW;
}

static uint32_t answer_priority(const uint64_t *args)
{
    return (int)args[0] == PRIO_USER || (int)args[1] == 1 ? MODEL_REFUSE(EPERM) : ALLOW;
}

static uint32_t answer_own_priority(const uint64_t *args)
{
    return (int)args[0] == 0 && (int)args[1] == 0 ? ALLOW : MODEL_REFUSE(EPERM);
}

/* A mode at argument n of a call that always makes something or changes its mode. */
static uint32_t answer_bits(uint64_t mode)
{
    return mode & (04000 | 02000) ? MODEL_REFUSE(EPERM) : ALLOW;
}

static uint32_t answer_bits_1(const uint64_t *args)
{
    return answer_bits(args[1]);
}

static uint32_t answer_bits_2(const uint64_t *args)
{
    return answer_bits(args[2]);
}

/* 020000000 is O_TMPFILE without O_DIRECTORY, on both architectures. */
static uint32_t answer_bits_open(const uint64_t *args)
{
    return args[1] & (0100 | 020000000) ? answer_bits(args[2]) : ALLOW;
}

static uint32_t answer_bits_openat(const uint64_t *args)
{
    return answer_bits_open(args + 1);
}

/* clang-format off */
static const struct model_call calls[] = {
    { NULL, "clone",       answer_clone,       MODEL_REFUSE(EPERM),        1 << 0 },
    { NULL, "socket",      answer_socket,      MODEL_REFUSE(EAFNOSUPPORT), 1 << 0 | 1 << 1 | 1 << 2 },
    { "network", "socket",   answer_socket_counted, MODEL_REFUSE(EAFNOSUPPORT), 1 << 0 | 1 << 1 | 1 << 2 },
    { "localhost", "socket", answer_socket_counted, MODEL_REFUSE(EAFNOSUPPORT), 1 << 0 | 1 << 1 | 1 << 2 },
    { NULL, "sendto",      answer_sendto,      NOTICE,                     1 << 2 | 1 << 3 | 1 << 4 },
    { NULL, "socketpair",  answer_socketpair,  MODEL_REFUSE(EAFNOSUPPORT), 1 << 0 },
    { NULL, "ioctl",       answer_ioctl,       ALLOW,                      1 << 1 },
    { NULL, "prctl",       answer_prctl,       ALLOW,                      1 << 0 | 1 << 1 | 1 << 2 },
    { NULL, "seccomp",     answer_seccomp,     ALLOW,                      1 << 0 | 1 << 1 },
    { NULL, "setsockopt",  answer_setsockopt,  MODEL_REFUSE(ENOPROTOOPT),  1 << 1 | 1 << 2 },
    { NULL, "mmap",        answer_mmap,        MODEL_REFUSE(ENOMEM),       1 << 3 },
    { NULL, "memfd_create", answer_memfd,      MODEL_REFUSE(ENOMEM),       1 << 1 },
    { NULL, "shmget",      answer_shmget,      MODEL_REFUSE(ENOMEM),       1 << 2 },
    { NULL, "madvise",     answer_madvise,     ALLOW,                      1 << 2 },
    { NULL, "fcntl",       answer_lease,       ALLOW,                      1 << 1 },
    { NULL, "personality", answer_personality, MODEL_REFUSE(EPERM),        1 << 0 },
    { NULL, "prlimit64",   answer_prlimit64,   MODEL_REFUSE(EPERM),        1 << 0 | 1 << 1 | 1 << 2 | 1 << 3 },
    { NULL, "setrlimit",   answer_setrlimit,   ALLOW,                      1 << 0 },
    { NULL, "mknod",       answer_mknod,       MODEL_REFUSE(EPERM),        1 << 1 },
    { NULL, "mknodat",     answer_mknodat,     MODEL_REFUSE(EPERM),        1 << 2 },
    { "strict", "fcntl",    answer_fcntl,       ALLOW,                      1 << 1 },
    { "strict", "prctl",    answer_prctl_strict, ALLOW,                     1 << 0 | 1 << 1 | 1 << 2 },
    { "process", "fcntl",      answer_owner,       ALLOW,                      1 << 1 },
    { "process", "ioctl",      answer_ioctl_question, MODEL_REFUSE(ENOTTY),    1 << 1 },
    { "process", "prctl",      answer_prctl_dumpable, ALLOW,                   1 << 0 | 1 << 1 | 1 << 2 },
    { "process", "open",       answer_open,        ALLOW,                      1 << 1 },
    { "process", "openat",     answer_openat,      ALLOW,                      1 << 2 },
    { "process", "socketpair", answer_stream_pair, MODEL_REFUSE(EAFNOSUPPORT), 1 << 0 | 1 << 1 },
    { "process", "utimensat",  answer_open_file,   MODEL_REFUSE(EPERM),        1 << 1 },
    { NULL, "sched_setaffinity",  answer_not_init, ALLOW,                      1 << 0 },
    { NULL, "sched_setparam",     answer_not_init, ALLOW,                      1 << 0 },
    { NULL, "sched_setscheduler", answer_not_init, ALLOW,                      1 << 0 },
    { NULL, "sched_setattr",      answer_not_init, ALLOW,                      1 << 0 },
    { NULL, "setpriority",        answer_priority, ALLOW,                      1 << 0 | 1 << 1 },
    { "process", "sched_setaffinity",  answer_self, MODEL_REFUSE(EPERM),       1 << 0 },
    { "process", "sched_setparam",     answer_self, MODEL_REFUSE(EPERM),       1 << 0 },
    { "process", "sched_setscheduler", answer_self, MODEL_REFUSE(EPERM),       1 << 0 },
    { "process", "sched_setattr",      answer_self, MODEL_REFUSE(EPERM),       1 << 0 },
    { "process", "setpriority", answer_own_priority, MODEL_REFUSE(EPERM),      1 << 0 | 1 << 1 },
    { "nosignals", "kill",     answer_self,        MODEL_REFUSE(EPERM),        1 << 0 },
    { "nosockets", "socket",   answer_no_local,    ALLOW,                      1 << 0 },
    { "nosockets", "socketpair", answer_connected_pair, MODEL_REFUSE(EAFNOSUPPORT), 1 << 1 },
    { "nosetid", "chmod",      answer_bits_1,      MODEL_REFUSE(EPERM),        1 << 1 },
    { "nosetid", "fchmod",     answer_bits_1,      MODEL_REFUSE(EPERM),        1 << 1 },
    { "nosetid", "fchmodat",   answer_bits_2,      MODEL_REFUSE(EPERM),        1 << 2 },
    { "nosetid", "fchmodat2",  answer_bits_2,      MODEL_REFUSE(EPERM),        1 << 2 },
    { "nosetid", "open",       answer_bits_open,   MODEL_REFUSE(EPERM),        1 << 1 | 1 << 2 },
    { "nosetid", "openat",     answer_bits_openat, MODEL_REFUSE(EPERM),        1 << 2 | 1 << 3 },
    { "nosetid", "creat",      answer_bits_1,      MODEL_REFUSE(EPERM),        1 << 1 },
    { "nosetid", "mknod",      answer_bits_1,      MODEL_REFUSE(EPERM),        1 << 1 },
    { "nosetid", "mknodat",    answer_bits_2,      MODEL_REFUSE(EPERM),        1 << 2 },
    { "nosetid", "mkdir",      answer_bits_1,      MODEL_REFUSE(EPERM),        1 << 1 },
    { "nosetid", "mkdirat",    answer_bits_2,      MODEL_REFUSE(EPERM),        1 << 2 },
};

#define EPERM_ SCMP_ACT_ERRNO(EPERM)
#define EAFNOSUPPORT_ SCMP_ACT_ERRNO(EAFNOSUPPORT)
#define EINVAL_ SCMP_ACT_ERRNO(EINVAL)
#define EACCES_ SCMP_ACT_ERRNO(EACCES)
#define ENOMEM_ SCMP_ACT_ERRNO(ENOMEM)
#define ENODEV_ SCMP_ACT_ERRNO(ENODEV)
#define ENOPROTOOPT_ SCMP_ACT_ERRNO(ENOPROTOOPT)
#define DONE_ SCMP_ACT_ERRNO(0)
#define COUNTED_ SCMP_ACT_NOTIFY
#define ALLOW_ SCMP_ACT_ALLOW
#define BITS(arg, mask, value) SCMP_CMP64(arg, SCMP_CMP_MASKED_EQ, mask, value)
#define LOW(arg, value) BITS(arg, 0xffffffffU, value)
#define ALL(arg, value) SCMP_CMP64(arg, SCMP_CMP_EQ, value, 0)

const struct model_rule model_rules[] = {
    { NULL, "clone",       ALLOW_, 1, { BITS(0, 0x7e020080, 0) } },
    { NULL, "socket",      ALLOW_, 2, { LOW(0, AF_UNIX), BITS(1, 0xf, SOCK_STREAM) } },
    { NULL, "socket",      ALLOW_, 2, { LOW(0, AF_UNIX), BITS(1, 0xf, SOCK_DGRAM) } },
    { NULL, "socket",      ALLOW_, 2, { LOW(0, AF_UNIX), BITS(1, 0xf, SOCK_SEQPACKET) } },
    { NULL, "socket",      ALLOW_, 3, { LOW(0, AF_INET), BITS(1, 0xf, SOCK_STREAM), LOW(2, 0) } },
    { NULL, "socket",      ALLOW_, 3, { LOW(0, AF_INET), BITS(1, 0xf, SOCK_STREAM), LOW(2, 6) } },
    { NULL, "socket",      ALLOW_, 3, { LOW(0, AF_INET), BITS(1, 0xf, SOCK_STREAM), LOW(2, 17) } },
    { NULL, "socket",      ALLOW_, 3, { LOW(0, AF_INET), BITS(1, 0xf, SOCK_DGRAM), LOW(2, 0) } },
    { NULL, "socket",      ALLOW_, 3, { LOW(0, AF_INET), BITS(1, 0xf, SOCK_DGRAM), LOW(2, 6) } },
    { NULL, "socket",      ALLOW_, 3, { LOW(0, AF_INET), BITS(1, 0xf, SOCK_DGRAM), LOW(2, 17) } },
    { NULL, "socket",      ALLOW_, 3, { LOW(0, AF_INET6), BITS(1, 0xf, SOCK_STREAM), LOW(2, 0) } },
    { NULL, "socket",      ALLOW_, 3, { LOW(0, AF_INET6), BITS(1, 0xf, SOCK_STREAM), LOW(2, 6) } },
    { NULL, "socket",      ALLOW_, 3, { LOW(0, AF_INET6), BITS(1, 0xf, SOCK_STREAM), LOW(2, 17) } },
    { NULL, "socket",      ALLOW_, 3, { LOW(0, AF_INET6), BITS(1, 0xf, SOCK_DGRAM), LOW(2, 0) } },
    { NULL, "socket",      ALLOW_, 3, { LOW(0, AF_INET6), BITS(1, 0xf, SOCK_DGRAM), LOW(2, 6) } },
    { NULL, "socket",      ALLOW_, 3, { LOW(0, AF_INET6), BITS(1, 0xf, SOCK_DGRAM), LOW(2, 17) } },
    { NULL, "socket",      COUNTED_, 3, { LOW(0, AF_NETLINK), BITS(1, 0xf, SOCK_RAW), LOW(2, 0) } },
    { NULL, "socket",      COUNTED_, 3, { LOW(0, AF_NETLINK), BITS(1, 0xf, SOCK_DGRAM), LOW(2, 0) } },
    { NULL, "socketpair",  ALLOW_, 1, { LOW(0, AF_UNIX) } },
    { NULL, "ioctl",       EPERM_, 1, { LOW(1, TIOCSTI) } },
    { NULL, "ioctl",       EPERM_, 1, { LOW(1, TIOCLINUX) } },
    { NULL, "ioctl",       EPERM_, 1, { LOW(1, TIOCSETD) } },
    { NULL, "ioctl",       EPERM_, 1, { LOW(1, FS_IOC_SETFLAGS) } },
    { NULL, "ioctl",       EPERM_, 1, { LOW(1, FS_IOC32_SETFLAGS) } },
    { NULL, "ioctl",       EPERM_, 1, { LOW(1, FS_IOC_FSSETXATTR) } },
    { NULL, "prctl",       EPERM_, 1, { LOW(0, PR_SET_MM) } },
    { NULL, "prctl",       EPERM_, 1, { LOW(0, PR_SET_PTRACER) } },
    { NULL, "prctl",       EPERM_, 1, { LOW(0, PR_SET_SECUREBITS) } },
    { NULL, "prctl",       EPERM_, 2, { LOW(0, PR_CAP_AMBIENT), ALL(1, PR_CAP_AMBIENT_RAISE) } },
    { NULL, "prctl",       EPERM_, 2, { LOW(0, PR_SET_SPECULATION_CTRL), ALL(2, PR_SPEC_ENABLE) } },
    { NULL, "seccomp",     EPERM_, 1, { BITS(1, 8, 8) } },
    { NULL, "seccomp",     COUNTED_, 2, { LOW(0, 1), BITS(1, 8, 0) } },
    { NULL, "sched_setaffinity",  EPERM_, 1, { LOW(0, 1) } },
    { NULL, "sched_setparam",     EPERM_, 1, { LOW(0, 1) } },
    { NULL, "sched_setscheduler", EPERM_, 1, { LOW(0, 1) } },
    { NULL, "sched_setattr",      EPERM_, 1, { LOW(0, 1) } },
    { NULL, "setpriority",        EPERM_, 1, { LOW(0, PRIO_USER) } },
    { NULL, "setpriority",        EPERM_, 1, { LOW(1, 1) } },
    { NULL, "prctl",       EINVAL_, 1, { LOW(0, 67) } },
    { NULL, "prctl",       COUNTED_, 1, { LOW(0, PR_SET_SECCOMP) } },
    { "strict", "prctl",   EPERM_, 1, { LOW(0, PR_SET_MM) } },
    { "strict", "prctl",   EPERM_, 1, { LOW(0, PR_SET_PTRACER) } },
    { "strict", "prctl",   EPERM_, 1, { LOW(0, PR_SET_SECUREBITS) } },
    { "strict", "prctl",   EPERM_, 2, { LOW(0, PR_CAP_AMBIENT), ALL(1, PR_CAP_AMBIENT_RAISE) } },
    { "strict", "prctl",   EPERM_, 2, { LOW(0, PR_SET_SPECULATION_CTRL), ALL(2, PR_SPEC_ENABLE) } },
    { "strict", "prctl",   EINVAL_, 1, { LOW(0, 67) } },
    { "strict", "prctl",   EINVAL_, 1, { LOW(0, PR_SET_SECCOMP) } },
    { "process", "prctl",  EINVAL_, 1, { LOW(0, 67) } },
    { "process", "prctl",  COUNTED_, 1, { LOW(0, PR_SET_SECCOMP) } },
    { NULL, "mmap",        ALLOW_, 1, { BITS(3, 0x40000, 0) } },
    { NULL, "memfd_create", ALLOW_, 1, { BITS(1, 4, 0) } },
    { NULL, "shmget",      ALLOW_, 1, { BITS(2, 04000, 0) } },
    { NULL, "madvise",     EINVAL_, 1, { LOW(2, 12) } },
    { NULL, "fcntl",       EINVAL_, 1, { LOW(1, F_SETLEASE) } },
    { NULL, "fcntl",       EINVAL_, 1, { LOW(1, F_NOTIFY) } },
    { NULL, "personality", ALLOW_, 1, { LOW(0, 0) } },
    { NULL, "personality", ALLOW_, 1, { LOW(0, 0xffffffffU) } },
    /* libseccomp has no "low half differs from": resources are below 16, so four bits tell. */
    { NULL, "prlimit64",   ALLOW_, 3, { LOW(0, 0), LOW(1, RLIMIT_CORE), ALL(2, 0) } },
    { NULL, "prlimit64",   ALLOW_, 2, { LOW(0, 0), BITS(1, 1, 1) } },
    { NULL, "prlimit64",   ALLOW_, 2, { LOW(0, 0), BITS(1, 2, 2) } },
    { NULL, "prlimit64",   ALLOW_, 2, { LOW(0, 0), BITS(1, 4, 0) } },
    { NULL, "prlimit64",   ALLOW_, 2, { LOW(0, 0), BITS(1, 8, 8) } },
    { NULL, "setrlimit",   DONE_, 1, { LOW(0, RLIMIT_CORE) } },
    { NULL, "mknod",       ALLOW_, 1, { BITS(1, S_IFMT, 0) } },
    { NULL, "mknod",       ALLOW_, 1, { BITS(1, S_IFMT, S_IFREG) } },
    { NULL, "mknod",       ALLOW_, 1, { BITS(1, S_IFMT, S_IFIFO) } },
    { NULL, "mknod",       ALLOW_, 1, { BITS(1, S_IFMT, S_IFSOCK) } },
    { NULL, "mknodat",     ALLOW_, 1, { BITS(2, S_IFMT, 0) } },
    { NULL, "mknodat",     ALLOW_, 1, { BITS(2, S_IFMT, S_IFREG) } },
    { NULL, "mknodat",     ALLOW_, 1, { BITS(2, S_IFMT, S_IFIFO) } },
    { NULL, "mknodat",     ALLOW_, 1, { BITS(2, S_IFMT, S_IFSOCK) } },
    { "strict", "fcntl",       EPERM_, 1, { LOW(1, F_GETLK) } },
    { "strict", "fcntl",       EPERM_, 1, { LOW(1, F_SETLK) } },
    { "strict", "fcntl",       EPERM_, 1, { LOW(1, F_SETLKW) } },
    { "strict", "fcntl",       EPERM_, 1, { LOW(1, F_OFD_GETLK) } },
    { "strict", "fcntl",       EPERM_, 1, { LOW(1, F_OFD_SETLK) } },
    { "strict", "fcntl",       EPERM_, 1, { LOW(1, F_OFD_SETLKW) } },
    { "strict", "fcntl",       EPERM_, 1, { LOW(1, F_SETLEASE) } },
    { "strict", "fcntl",       EPERM_, 1, { LOW(1, F_NOTIFY) } },
    { "process", "fcntl",      EPERM_, 1, { LOW(1, F_SETOWN) } },
    { "process", "fcntl",      EPERM_, 1, { LOW(1, F_SETSIG) } },
    { "process", "fcntl",      EPERM_, 1, { LOW(1, F_SETOWN_EX) } },
    { "process", "fcntl",      EINVAL_, 1, { LOW(1, F_SETLEASE) } },
    { "process", "fcntl",      EINVAL_, 1, { LOW(1, F_NOTIFY) } },
    { "process", "ioctl",      ALLOW_, 1, { LOW(1, TCSETS) } },
    { "process", "ioctl",      ALLOW_, 1, { LOW(1, TCSETSW) } },
    { "process", "ioctl",      ALLOW_, 1, { LOW(1, TCSETSF) } },
    { "process", "ioctl",      ALLOW_, 1, { LOW(1, TCFLSH) } },
    { "process", "ioctl",      ALLOW_, 1, { LOW(1, TCSBRK) } },
    { "process", "ioctl",      ALLOW_, 1, { LOW(1, TCXONC) } },
    { "process", "ioctl",      ALLOW_, 1, { LOW(1, TIOCSPGRP) } },
    { "process", "ioctl",      ALLOW_, 1, { LOW(1, TIOCSWINSZ) } },
    { "process", "ioctl",      ALLOW_, 1, { LOW(1, TIOCGSID) } },
    { "process", "ioctl",      ALLOW_, 1, { LOW(1, TCGETS) } },
    { "process", "ioctl",      ALLOW_, 1, { LOW(1, TIOCGWINSZ) } },
    { "process", "ioctl",      ALLOW_, 1, { LOW(1, TIOCGPGRP) } },
    { "process", "ioctl",      ALLOW_, 1, { LOW(1, FIONREAD) } },
    { "process", "ioctl",      ALLOW_, 1, { LOW(1, FIONBIO) } },
    { "process", "ioctl",      ALLOW_, 1, { LOW(1, FIOCLEX) } },
    { "process", "ioctl",      ALLOW_, 1, { LOW(1, FIONCLEX) } },
    { "process", "ioctl",      ALLOW_, 1, { LOW(1, FICLONE) } },
    { "process", "ioctl",      ALLOW_, 1, { LOW(1, FICLONERANGE) } },
    { "process", "ioctl",      ALLOW_, 1, { LOW(1, FS_IOC_GETFLAGS) } },
    { "process", "prctl",      EPERM_, 1, { LOW(0, PR_SET_MM) } },
    { "process", "prctl",      EPERM_, 1, { LOW(0, PR_SET_PTRACER) } },
    { "process", "prctl",      EPERM_, 1, { LOW(0, PR_SET_SECUREBITS) } },
    { "process", "prctl",      EPERM_, 2, { LOW(0, PR_SET_DUMPABLE), ALL(1, 0) } },
    { "process", "prctl",      EPERM_, 2, { LOW(0, PR_CAP_AMBIENT), ALL(1, PR_CAP_AMBIENT_RAISE) } },
    { "process", "prctl",      EPERM_, 2, { LOW(0, PR_SET_SPECULATION_CTRL), ALL(2, PR_SPEC_ENABLE) } },
    { "process", "open",       EINVAL_, 1, { BITS(1, 3, 3) } },
    { "process", "open",       EACCES_, 1, { BITS(1, 3 | O_TRUNC, O_TRUNC) } },
    { "process", "openat",     EINVAL_, 1, { BITS(2, 3, 3) } },
    { "process", "openat",     EACCES_, 1, { BITS(2, 3 | O_TRUNC, O_TRUNC) } },
    { "process", "socketpair", ALLOW_, 2, { LOW(0, AF_UNIX), BITS(1, 0xf, SOCK_STREAM) } },
    { "process", "socketpair", ALLOW_, 2, { LOW(0, AF_UNIX), BITS(1, 0xf, SOCK_SEQPACKET) } },
    { "process", "utimensat",  ALLOW_, 1, { ALL(1, 0) } },
    { "process", "sched_setaffinity",  ALLOW_, 1, { LOW(0, 0) } },
    { "process", "sched_setparam",     ALLOW_, 1, { LOW(0, 0) } },
    { "process", "sched_setscheduler", ALLOW_, 1, { LOW(0, 0) } },
    { "process", "sched_setattr",      ALLOW_, 1, { LOW(0, 0) } },
    { "process", "setpriority", ALLOW_, 2, { LOW(0, 0), LOW(1, 0) } },
    { "nosignals", "kill",     ALLOW_, 1, { LOW(0, 0) } },
    { "nosockets", "socket",   EAFNOSUPPORT_, 1, { LOW(0, AF_UNIX) } },
    { "nosockets", "socketpair", ALLOW_, 1, { BITS(1, 0xf, SOCK_STREAM) } },
    { "nosockets", "socketpair", ALLOW_, 1, { BITS(1, 0xf, SOCK_SEQPACKET) } },
    { "nosetid", "chmod",      ALLOW_, 1, { BITS(1, 06000, 0) } },
    { "nosetid", "fchmod",     ALLOW_, 1, { BITS(1, 06000, 0) } },
    { "nosetid", "fchmodat",   ALLOW_, 1, { BITS(2, 06000, 0) } },
    { "nosetid", "open",       ALLOW_, 1, { BITS(1, 020000100, 0) } },
    { "nosetid", "open",       ALLOW_, 1, { BITS(2, 06000, 0) } },
    { "nosetid", "openat",     ALLOW_, 1, { BITS(2, 020000100, 0) } },
    { "nosetid", "openat",     ALLOW_, 1, { BITS(3, 06000, 0) } },
    { "nosetid", "creat",      ALLOW_, 1, { BITS(1, 06000, 0) } },
    { "nosetid", "mknod",      ALLOW_, 1, { BITS(1, 06000, 0) } },
    { "nosetid", "mknodat",    ALLOW_, 1, { BITS(2, 06000, 0) } },
    { "nosetid", "mkdir",      ALLOW_, 1, { BITS(1, 06000, 0) } },
    { "nosetid", "mkdirat",    ALLOW_, 1, { BITS(2, 06000, 0) } },
};
/* clang-format on */

const size_t model_rules_len = COUNT(model_rules);

static bool list_has(const struct wordlist *list, const char *name)
{
    char word[80];

    snprintf(word, sizeof(word), " %s ", name);
    return strstr(list->words, word) != NULL;
}

/* Says nothing of calls that it does not name: another filter does. */
static bool model_passes(const char *policy)
{
    static const char *const over[] = { "nosetid", "nosockets", "nomemory" };

    for (size_t i = 0; i < COUNT(over); i++)
        if (!strcmp(policy, over[i]))
            return true;
    return false;
}

uint32_t model_unknown(const char *policy)
{
    return model_passes(policy) ? ALLOW : MODEL_REFUSE(ENOSYS);
}

/* What a policy says of its own comes before what it has from the default. */
static const struct model_call *find_call_of(const char *policy, const char *name)
{
    for (size_t i = 0; i < COUNT(calls); i++) {
        bool of_policy = policy && calls[i].policy && strcmp(calls[i].policy, policy) == 0;

        if (strcmp(calls[i].name, name) == 0 && (of_policy || (!policy && !calls[i].policy)))
            return &calls[i];
    }
    return NULL;
}

const struct model_call *model_find_call(const char *policy, const char *name)
{
    const struct model_call *own = find_call_of(policy, name);

    for (size_t i = 0; i < COUNT(lists); i++)
        if (lists[i].policy && strcmp(lists[i].policy, policy) == 0 && list_has(&lists[i], name))
            return NULL; /* has one answer there */
    return own || model_passes(policy) ? own : find_call_of(NULL, name);
}

uint32_t model_answer(const char *policy, const char *name)
{
    for (size_t i = 0; i < COUNT(lists); i++) {
        bool own = lists[i].policy && strcmp(lists[i].policy, policy) == 0;

        if ((own || (!lists[i].policy && !model_passes(policy))) && list_has(&lists[i], name))
            return lists[i].answer;
    }
    return model_unknown(policy);
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

bool model_has(const char *policy)
{
    return strcmp(policy, "egress") != 0 && strcmp(policy, "front") != 0 &&
           strcmp(policy, "publish") != 0 && strcmp(policy, "secrets") != 0;
}
