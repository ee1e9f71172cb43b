/* Fills kernel memory with one kind of object, until something stops it or enough is there.
 *
 *   kernel_memory KIB KIND...
 *
 * prints one line for each kind:
 *
 *   KIND MADE KIB ERROR
 *
 * MADE is how many objects there were at once, KIB a low estimate of what they take, and ERROR the name of the error
 * that stopped the last process, or "enough".  A limit of the control group leaves no line: it ends everything.
 *
 * Limits of one process are no answer: when one cannot go on, another starts, up to PROCESSES. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/seccomp.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROCESSES 60
#define PAGE 4096L
#define BUFFER (64 << 10)
#define INSNS 1000
#define IPV6_JOIN 20       /* IPV6_ADD_MEMBERSHIP */
#define SIZE_OF_LOCK 192   /* struct file_lock */
#define SIZE_OF_GROUP 256  /* struct ifmcaddr6 */
#define SIZE_OF_POLICY 264 /* struct mempolicy */

struct tally {
    volatile long made, bytes, enough;
    volatile int error;
};

static char buffer[BUFFER];

static int fail(void)
{
    return -1;
}

/* Each makes one object more, number n of its process, and says how many bytes it takes at least;
 * -1 with errno. */

static long fill_netlink(long n)
{
    struct {
        struct nlmsghdr header;
        struct ifinfomsg info;
    } ask = { { sizeof(ask), RTM_GETLINK, NLM_F_REQUEST, 0, 0 }, { .ifi_index = 1 } };
    int size = INT_MAX, fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    int used[9] = { 1 };
    socklen_t len = sizeof(used);
    long bytes = 0;

    (void)n;
    if (fd < 0)
        return fail();
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
    while (used[0] > bytes) {
        bytes = used[0];
        for (int i = 0; i < 64; i++)
            if (send(fd, &ask, sizeof(ask), MSG_DONTWAIT) < 0)
                return fail();
        getsockopt(fd, SOL_SOCKET, 55 /* SO_MEMINFO */, used, &len);
    }
    return bytes;
}

/* Few in each file: the kernel looks at all of them. */
static long lock(long n, int command)
{
    static int fd = -1;
    struct flock range = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };

    if (n % 500 == 0 && (fd = open("/tmp", O_TMPFILE | O_RDWR, 0600)) < 0)
        return fail();
    range.l_start = (1L << 40) - 2 * n;
    return fcntl(fd, command, &range) == 0 ? SIZE_OF_LOCK : -1;
}

static long lock_posix(long n)
{
    return lock(n, F_SETLK);
}

static long lock_ofd(long n)
{
    return lock(n, F_OFD_SETLK);
}

static long lock_flock(long n)
{
    int fd = open("/tmp", O_TMPFILE | O_RDWR, 0600);

    (void)n;
    return fd >= 0 && flock(fd, LOCK_EX) == 0 ? SIZE_OF_LOCK : -1;
}

static long lease(long n)
{
    int fd = open("/tmp", O_TMPFILE | O_RDWR, 0600);

    (void)n;
    return fd >= 0 && fcntl(fd, F_SETLEASE, F_WRLCK) == 0 ? SIZE_OF_LOCK : -1;
}

static long directory_notice(long n)
{
    int fd = open("/tmp", O_RDONLY | O_DIRECTORY);

    (void)n;
    return fd >= 0 && fcntl(fd, F_NOTIFY, DN_ACCESS | DN_MULTISHOT) == 0 ? 64 : -1;
}

/* Each page of a range has a policy of its own. */
static long policy_of_pages(long n)
{
    static char *start;
    const unsigned long node = 1;

    if (!start) {
        start = mmap(NULL, 1L << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (start == MAP_FAILED)
            return fail();
    }
    return syscall(SYS_mbind, start + 2 * n * PAGE, PAGE, 2 /* MPOL_BIND */, &node, 2, 0) == 0
               ? SIZE_OF_POLICY
               : -1;
}

/* The same for shared memory, where the policies outlive the mapping. */
static long policy_of_shared(long n)
{
    static char *start;
    const unsigned long node = 1;

    if (!start) {
        start = mmap(NULL, 1L << 32, PROT_NONE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (start == MAP_FAILED)
            return fail();
    }
    if (syscall(SYS_mbind, start, PAGE, 2, &node, 2, 0) < 0)
        return fail();
    munmap(start, 2 * PAGE);
    start += 2 * PAGE;
    (void)n;
    return SIZE_OF_POLICY;
}

static struct sock_fprog long_filter(void)
{
    static struct sock_filter insns[INSNS];

    for (int i = 0; i < INSNS - 1; i++)
        insns[i] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0);
    insns[INSNS - 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    return (struct sock_fprog){ INSNS, insns };
}

static long filter_socket(long n)
{
    struct sock_fprog program = long_filter();
    int fds[2];

    (void)n;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) < 0)
        return fail();
    if (setsockopt(fds[0], SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) < 0 ||
        setsockopt(fds[1], SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) < 0)
        return fail();
    return 2 * INSNS * 8;
}

static long filter_reuseport(long n)
{
    struct sock_fprog program = long_filter();
    int one = 1, fd = socket(AF_INET, SOCK_DGRAM, 0);

    (void)n;
    program.filter[INSNS - 1].k = 0;
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one)) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program, sizeof(program)) < 0)
        return fail();
    return INSNS * 8;
}

static long filter_calls(long n)
{
    struct sock_fprog program = long_filter();

    (void)n;
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0 ? INSNS * 8 : -1;
}

static long filter_calls_prctl(long n)
{
    struct sock_fprog program = long_filter();

    (void)n;
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0 ? INSNS * 8 : -1;
}

struct ruleset {
    unsigned long fs, net, scoped;
};

struct __attribute__((packed)) path_rule {
    unsigned long access;
    int fd;
};

/* A rule for each of many new files, in rule sets that stay open. */
static long landlock_rules(long n)
{
    const struct ruleset attr = { .fs = 1 << 2 };
    static int set = -1;
    int file = open("/tmp", O_TMPFILE | O_RDWR, 0600);
    const struct path_rule rule = { 1 << 2, file };
    long r;

    if (n % 512 == 0)
        set = (int)syscall(SYS_landlock_create_ruleset, &attr, 8, 0);
    if (set < 0 || file < 0)
        return fail();
    r = syscall(SYS_landlock_add_rule, set, 1, &rule, 0);
    close(file);
    return r == 0 ? 64 : -1;
}

static long watch_event(long n)
{
    static int epoll = -1;
    struct epoll_event event = { .events = EPOLLIN };
    int fd;

    (void)n;
    if (epoll < 0 || n % 500 == 0)
        epoll = epoll_create1(0);
    fd = eventfd(0, 0);
    return fd >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0 ? 128 : -1;
}

static long timer_descriptor(long n)
{
    const struct itimerspec late = { .it_value = { 1 << 20, 0 } };
    int fd = timerfd_create(CLOCK_MONOTONIC, 0);

    (void)n;
    return fd >= 0 && timerfd_settime(fd, 0, &late, NULL) == 0 ? 216 : -1;
}

static long watch_file(long n)
{
    static int fd = -1;
    char name[64];

    if (fd < 0)
        fd = inotify_init1(0);
    snprintf(name, sizeof(name), "/tmp/watched.%d.%ld", (int)getpid(), n);
    close(open(name, O_CREAT | O_RDWR, 0600));
    if (fd < 0 || inotify_add_watch(fd, name, IN_ALL_EVENTS) < 0)
        return fail();
    unlink(name); /* the directory stays small; the watch goes with its file */
    return 80;
}

static long unread_events(long n)
{
    static int fd = -1;
    char name[300];

    if (n % 8000 == 0) {
        fd = inotify_init1(0);
        if (fd < 0 || inotify_add_watch(fd, "/tmp", IN_CREATE | IN_DELETE) < 0)
            return fail();
    }
    snprintf(name, sizeof(name), "/tmp/%0200ld", n);
    close(open(name, O_CREAT | O_RDWR, 0600));
    return unlink(name) == 0 ? 2 * 256 : -1;
}

static long pending_signal(long n)
{
    const union sigval value = { .sival_int = 1 };
    sigset_t all;

    (void)n;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    return sigqueue(getpid(), SIGRTMIN + 1, value) == 0 ? 80 : -1;
}

static long posix_timer(long n)
{
    struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 1 };
    timer_t timer;

    (void)n;
    return timer_create(CLOCK_MONOTONIC, &event, &timer) == 0 ? 336 : -1;
}

static long message_queue(long n)
{
    struct mq_attr attr = { .mq_maxmsg = 10, .mq_msgsize = 8192 };
    char name[64];
    mqd_t queue;

    snprintf(name, sizeof(name), "/queue.%d.%ld", (int)getpid(), n);
    queue = mq_open(name, O_CREAT | O_RDWR, 0600, &attr);
    if (queue == (mqd_t)-1)
        return fail();
    for (int i = 0; i < 10; i++)
        if (mq_send(queue, buffer, 8192, 0) < 0)
            return fail();
    return 10 * 8192;
}

static long system_v_queue(long n)
{
    struct {
        long type;
        char text[8192];
    } message = { .type = 1 };
    int queue = msgget(IPC_PRIVATE, 0600);

    (void)n;
    if (queue < 0)
        return fail();
    return msgsnd(queue, &message, sizeof(message.text), IPC_NOWAIT) == 0 ? 8192 : -1;
}

static long system_v_semaphores(long n)
{
    (void)n;
    return semget(IPC_PRIVATE, 16000, 0600) >= 0 ? 16000 * 64 : -1;
}

static long system_v_memory(long n)
{
    int id = shmget(IPC_PRIVATE, 1 << 20, 0600);
    char *at = id >= 0 ? shmat(id, NULL, 0) : (char *)-1;

    (void)n;
    if (at == (char *)-1)
        return fail();
    memset(at, 1, 1 << 20);
    shmdt(at);
    return 1 << 20;
}

static long full_pipe(long n)
{
    long bytes = 0, r;
    int fds[2];

    (void)n;
    if (pipe2(fds, O_NONBLOCK) < 0)
        return fail();
    (void)fcntl(fds[1], F_SETPIPE_SZ, 1 << 20);
    while ((r = write(fds[1], buffer, sizeof(buffer))) > 0)
        bytes += r;
    return bytes;
}

static long full_socket(int family, int type)
{
    int fds[2], size = INT_MAX;
    long bytes = 0, r;

    if (socketpair(family, type | SOCK_NONBLOCK, 0, fds) < 0)
        return fail();
    (void)setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
    while ((r = send(fds[0], buffer, 32 << 10, MSG_NOSIGNAL)) > 0)
        bytes += r;
    return bytes ? bytes : fail();
}

static long full_unix_stream(long n)
{
    (void)n;
    return full_socket(AF_UNIX, SOCK_STREAM);
}

static long full_unix_datagram(long n)
{
    (void)n;
    return full_socket(AF_UNIX, SOCK_DGRAM);
}

/* Descriptors that nobody takes out. */
static long descriptor_in_flight(long n)
{
    static int fds[2];
    char room[CMSG_SPACE(sizeof(int))] = { 0 }, byte = 0;
    struct iovec part = { &byte, 1 };
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)
    };
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    int fd = open("/dev/null", O_RDONLY);

    if (n % 200 == 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) < 0)
        return fail();
    *header = (struct cmsghdr){ CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
    memcpy(CMSG_DATA(header), &fd, sizeof(fd));
    if (fd < 0 || sendmsg(fds[0], &message, MSG_NOSIGNAL) < 0)
        return fail();
    close(fd);
    return 1024;
}

static long full_tcp(long n)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    socklen_t len = sizeof(address);
    int size = INT_MAX, server = socket(AF_INET, SOCK_STREAM, 0), client;
    long bytes = 0, r;

    (void)n;
    client = socket(AF_INET, SOCK_STREAM, 0);
    if (server < 0 || client < 0)
        return fail();
    (void)setsockopt(server, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
    (void)setsockopt(client, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
    if (bind(server, (struct sockaddr *)&address, len) < 0 || listen(server, 1) < 0 ||
        getsockname(server, (struct sockaddr *)&address, &len) < 0 ||
        connect(client, (struct sockaddr *)&address, len) < 0)
        return fail();
    fcntl(client, F_SETFL, O_NONBLOCK);
    while ((r = send(client, buffer, sizeof(buffer), MSG_NOSIGNAL)) > 0)
        bytes += r;
    return bytes ? bytes : fail();
}

static long full_udp(long n)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    socklen_t len = sizeof(address);
    int size = INT_MAX, fd = socket(AF_INET, SOCK_DGRAM, 0), used[9] = { 0 };
    long before = -1;

    (void)n;
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, len) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &len) < 0)
        return fail();
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
    while (used[0] > before) {
        before = used[0];
        for (int i = 0; i < 16; i++)
            if (sendto(fd, buffer, 32 << 10, MSG_DONTWAIT, (struct sockaddr *)&address, len) < 0)
                return fail();
        len = sizeof(used);
        getsockopt(fd, SOL_SOCKET, 55 /* SO_MEMINFO */, used, &len);
        len = sizeof(address);
    }
    if (used[0] == 0)
        errno = ENOBUFS;
    return used[0] ? used[0] : fail();
}

static long multicast_group(long n)
{
    struct ipv6_mreq group = { .ipv6mr_interface = 1 };
    static int fd = -1;

    if (fd < 0 || n % 200 == 0)
        fd = socket(AF_INET6, SOCK_DGRAM, 0);
    group.ipv6mr_multiaddr.s6_addr[0] = 0xff;
    group.ipv6mr_multiaddr.s6_addr[1] = 1;
    memcpy(&group.ipv6mr_multiaddr.s6_addr[4], &n, 8);
    *(int *)&group.ipv6mr_multiaddr.s6_addr[12] = getpid();
    return fd >= 0 && setsockopt(fd, IPPROTO_IPV6, IPV6_JOIN, &group, sizeof(group)) == 0
               ? SIZE_OF_GROUP
               : -1;
}

static long tcp_key(long n)
{
    struct tcp_md5sig key = { .tcpm_keylen = 16 };
    struct sockaddr_in *address = (struct sockaddr_in *)&key.tcpm_addr;
    static int fd = -1;

    if (fd < 0 || n % 500 == 0)
        fd = socket(AF_INET, SOCK_STREAM, 0);
    address->sin_family = AF_INET;
    address->sin_addr.s_addr = (in_addr_t)(n + 1);
    return fd >= 0 && setsockopt(fd, IPPROTO_TCP, TCP_MD5SIG, &key, sizeof(key)) == 0 ? 160 : -1;
}

static long flow_label(long n)
{
    struct {
        struct in6_addr destination;
        unsigned int label;
        unsigned char action, share;
        unsigned short flags, expires, linger;
        unsigned int pad;
    } ask = { .destination = in6addr_loopback, .share = 1, .flags = 1, .expires = 60 };
    int fd = socket(AF_INET6, SOCK_DGRAM, 0);

    (void)n;
    return fd >= 0 && setsockopt(fd, IPPROTO_IPV6, 32, &ask, sizeof(ask)) == 0 ? 128 : -1;
}

static long memory_file(long n)
{
    int fd = memfd_create("m", 0);

    (void)n;
    return fd >= 0 && ftruncate(fd, 1 << 20) == 0 && fallocate(fd, 0, 0, 1 << 20) == 0 ? 1 << 20
                                                                                       : -1;
}

static long huge_page(long n)
{
    (void)n;
    return mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_NORESERVE, -1, 0) != MAP_FAILED
               ? 2 << 20
               : -1;
}

static long mapping(long n)
{
    int protection = n % 2 ? PROT_READ : PROT_NONE;

    return mmap(NULL, PAGE, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) !=
                   MAP_FAILED
               ? 192
               : -1;
}

/* Zeros that all share take no page, but the table that leads to them. */
static long page_table(long n)
{
    volatile char *at;

    (void)n;
    at = mmap(NULL, 2 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        return fail();
    (void)at[1 << 20];
    return PAGE;
}

/* Names that are not there are remembered as well. */
static long absent(const char *directory, long n)
{
    char name[300];

    snprintf(name, sizeof(name), "%s/%0180d%ld", directory, (int)getpid(), n);
    return access(name, F_OK) < 0 ? 192 + 200 : -1;
}

static long absent_in_usr(long n)
{
    return absent("/usr/lib", n);
}

static long absent_in_proc(long n)
{
    return absent("/proc", n);
}

static long absent_in_tmp(long n)
{
    return absent("/tmp", n);
}

static long empty_file(long n)
{
    char name[300];

    snprintf(name, sizeof(name), "/tmp/%0180d%ld", (int)getpid(), n);
    return mknod(name, S_IFREG | 0600, 0) == 0 ? 900 : -1;
}

static long link_text(long n)
{
    char name[64], text[4000];

    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    snprintf(name, sizeof(name), "/tmp/%d.%ld", (int)getpid(), n);
    return symlink(text, name) == 0 ? 4000 + 900 : -1;
}

static long socket_signal(long n)
{
    int fds[2], on = 1;

    (void)n;
    if (pipe(fds) < 0 || fcntl(fds[0], F_SETFL, O_ASYNC | O_NONBLOCK) < 0)
        return fail();
    (void)on;
    return 48 + 2 * 256;
}

static long wait_table(long n)
{
    return n == 0 && prctl(78 /* PR_FUTEX_HASH */, 1, 1L << 15, 0, 0) == 0 ? 64L << 15 : -1;
}

static long wait_process(long n)
{
    int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);

    (void)n;
    return fd >= 0 ? 256 : -1;
}

static long open_directory(long n)
{
    int fd = open("/proc/self", O_RDONLY);

    (void)n;
    return fd >= 0 ? 256 : -1;
}

static const struct {
    const char *name;
    long (*make)(long n);
} pools[] = {
    { "netlink", fill_netlink },
    { "posix-locks", lock_posix },
    { "ofd-locks", lock_ofd },
    { "flock", lock_flock },
    { "leases", lease },
    { "dnotify", directory_notice },
    { "mbind", policy_of_pages },
    { "mbind-shared", policy_of_shared },
    { "socket-filters", filter_socket },
    { "reuseport-filters", filter_reuseport },
    { "seccomp", filter_calls },
    { "seccomp-prctl", filter_calls_prctl },
    { "landlock", landlock_rules },
    { "epoll", watch_event },
    { "timerfd", timer_descriptor },
    { "inotify", watch_file },
    { "inotify-events", unread_events },
    { "signals", pending_signal },
    { "timers", posix_timer },
    { "mqueue", message_queue },
    { "sysv-msg", system_v_queue },
    { "sysv-sem", system_v_semaphores },
    { "sysv-shm", system_v_memory },
    { "pipes", full_pipe },
    { "unix-stream", full_unix_stream },
    { "unix-dgram", full_unix_datagram },
    { "in-flight", descriptor_in_flight },
    { "tcp", full_tcp },
    { "udp", full_udp },
    { "multicast", multicast_group },
    { "tcp-md5", tcp_key },
    { "flow-labels", flow_label },
    { "memfd", memory_file },
    { "hugetlb", huge_page },
    { "mappings", mapping },
    { "page-tables", page_table },
    { "absent-usr", absent_in_usr },
    { "absent-proc", absent_in_proc },
    { "absent-tmp", absent_in_tmp },
    { "files", empty_file },
    { "symlinks", link_text },
    { "fasync", socket_signal },
    { "futex-hash", wait_table },
    { "pidfd", wait_process },
    { "open-proc", open_directory },
};

static void fill(struct tally *tally, long (*make)(long))
{
    tally->error = 0;
    for (long n = 0; tally->bytes < tally->enough; n++) {
        long bytes = make(n);

        if (bytes < 0) {
            tally->error = errno;
            return;
        }
        tally->made++;
        tally->bytes += bytes;
    }
}

/* One process after the other; all stay until the end.  One that makes nothing is the last. */
static void fill_all(struct tally *tally, long (*make)(long))
{
    int done[2], stay[2], n = 0;
    char byte;

    if (pipe(done) < 0 || pipe(stay) < 0)
        abort();
    while (n < PROCESSES && tally->bytes < tally->enough) {
        long before = tally->made;

        fflush(stdout);
        switch (fork()) {
        case -1:
            tally->error = errno;
            n = PROCESSES;
            continue;
        case 0:
            close(stay[1]);
            fill(tally, make);
            (void)!write(done[1], "", 1);
            (void)!read(stay[0], &byte, 1);
            _exit(0);
        }
        n++;
        (void)!read(done[0], &byte, 1);
        if (tally->made == before)
            break;
    }
    close(stay[1]);
    while (wait(NULL) > 0)
        continue;
    close(stay[0]);
    close(done[0]);
    close(done[1]);
}

int main(int argc, char **argv)
{
    struct tally *tally =
        mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    for (int i = 2; i < argc; i++)
        for (size_t k = 0; k < sizeof(pools) / sizeof(pools[0]); k++) {
            if (strcmp(argv[i], pools[k].name) != 0)
                continue;
            *tally = (struct tally){ .enough = atol(argv[1]) << 10 };
            fill_all(tally, pools[k].make);
            printf("%s %ld %ld %s\n", argv[i], tally->made, tally->bytes >> 10,
                   tally->bytes >= tally->enough ? "enough" : strerrorname_np(tally->error));
        }
    return 0;
}
