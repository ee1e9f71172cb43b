/* Formats arguments with their symbolic names. */
#include <asm/ioctls.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/err.h"
#include "monitor/seccomp_notify.h"

struct word {
    const char *name;
    uint32_t value;
};

/* clang-format off */
#define ROW(name) { #name, name }
#define END { NULL, 0 }

static const struct word clone_flags[] = {
    ROW(CLONE_NEWUSER), ROW(CLONE_NEWNS), ROW(CLONE_NEWPID), ROW(CLONE_NEWNET), ROW(CLONE_NEWIPC),
    ROW(CLONE_NEWUTS), ROW(CLONE_NEWCGROUP), ROW(CLONE_NEWTIME), END,
};

static const struct word families[] = {
    ROW(AF_UNIX), ROW(AF_INET), ROW(AF_INET6), ROW(AF_NETLINK), ROW(AF_PACKET), ROW(AF_ALG),
    ROW(AF_VSOCK), ROW(AF_BLUETOOTH), ROW(AF_CAN), ROW(AF_TIPC), ROW(AF_KEY), ROW(AF_XDP),
    ROW(AF_RDS), ROW(AF_QIPCRTR), ROW(AF_AX25), ROW(AF_X25), ROW(AF_KCM), ROW(AF_SMC), ROW(AF_NFC),
    ROW(AF_PPPOX), ROW(AF_LLC), END,
};

static const struct word types[] = {
    ROW(SOCK_STREAM), ROW(SOCK_DGRAM), ROW(SOCK_RAW), ROW(SOCK_SEQPACKET), ROW(SOCK_RDM),
    ROW(SOCK_DCCP), END,
};

static const struct word ioctls[] = {
    ROW(TIOCSTI), ROW(TIOCLINUX), ROW(TIOCSETD), ROW(FS_IOC_SETFLAGS), ROW(FS_IOC32_SETFLAGS),
    ROW(FS_IOC_FSSETXATTR), END,
};

static const struct word prctls[] = {
    ROW(PR_SET_DUMPABLE), ROW(PR_SET_MM), ROW(PR_SET_PTRACER), ROW(PR_SET_SECUREBITS),
    ROW(PR_CAP_AMBIENT), ROW(PR_SET_SPECULATION_CTRL), ROW(PR_SET_SECCOMP), END,
};

static const struct word seccomp_flags[] = { ROW(SECCOMP_FILTER_FLAG_NEW_LISTENER), END };

static const struct word fcntls[] = {
    ROW(F_GETLK), ROW(F_SETLK), ROW(F_SETLKW), ROW(F_OFD_GETLK), ROW(F_OFD_SETLK),
    ROW(F_OFD_SETLKW), ROW(F_SETLEASE), ROW(F_NOTIFY), ROW(F_SETOWN), ROW(F_SETOWN_EX),
    ROW(F_SETSIG), END,
};

static const struct word options[] = { ROW(SO_ATTACH_FILTER), ROW(SO_ATTACH_REUSEPORT_CBPF), END };

static const struct word limits[] = { ROW(RLIMIT_CORE), END };

static const struct word modes[] = { ROW(S_IFCHR), ROW(S_IFBLK), ROW(S_IFDIR), ROW(S_IFLNK), END };

/* One argument to show.  With `bits` the words are flags; a value without a word is a number. */
static const struct shown {
    const char *call;
    unsigned int arg;
    uint32_t mask;
    const struct word *words; /* NULL: a number */
    bool bits;
} shown[] = {
    { "clone",       0, UINT32_MAX, clone_flags,   true  },
    { "unshare",     0, UINT32_MAX, clone_flags,   true  },
    { "socket",      0, UINT32_MAX, families,      false },
    { "socket",      1, 0xf,        types,         false },
    { "socket",      2, UINT32_MAX, NULL,          false },
    { "socketpair",  0, UINT32_MAX, families,      false },
    { "ioctl",       1, UINT32_MAX, ioctls,        false },
    { "prctl",       0, UINT32_MAX, prctls,        false },
    { "seccomp",     1, UINT32_MAX, seccomp_flags, true  },
    { "personality", 0, UINT32_MAX, NULL,          false },
    { "prlimit64",   1, UINT32_MAX, limits,        false },
    { "setrlimit",   0, UINT32_MAX, limits,        false },
    { "setsockopt",  2, UINT32_MAX, options,       false },
    { "mknod",       1, S_IFMT,     modes,         false },
    { "mknodat",     2, S_IFMT,     modes,         false },
    { "fcntl",       1, UINT32_MAX, fcntls,        false },
    { "bpf",         0, UINT32_MAX, NULL,          false },
};
/* clang-format on */

static void add(char *text, size_t size, const char *before, const char *word)
{
    size_t len = strlen(text);

    snprintf(text + len, size - len, "%s%s", before, word);
}

static void add_number(char *text, size_t size, const char *before, uint32_t value)
{
    char number[16];

    snprintf(number, sizeof(number), value < 1024 ? "%u" : "0x%x", value);
    add(text, size, before, number);
}

static void add_value(const struct shown *s, uint32_t value, const char *before, char *text,
                      size_t size)
{
    bool found = false;

    for (const struct word *w = s->words; w && w->name; w++) {
        if (s->bits ? !(value & w->value) : value != w->value)
            continue;
        add(text, size, found ? "|" : before, w->name);
        found = true;
    }
    if (!found && !s->bits)
        add_number(text, size, before, value);
}

/* The family is enough, except where some sockets of the family are allowed: then also the type,
 * and the protocol where there is a choice. */
static bool is_reported(const struct shown *s, const struct seccomp_data *data)
{
    uint32_t family = (uint32_t)data->args[0];
    bool internet = family == AF_INET || family == AF_INET6;

    if (strcmp(s->call, "socket") != 0 || s->arg == 0)
        return true;
    if (s->arg == 1)
        return internet || family == AF_UNIX;
    return family == AF_NETLINK || (internet && data->args[2] != 0);
}

void notify_text(const char *call, const struct seccomp_data *data, char *text, size_t size)
{
    bool open = false;

    snprintf(text, size, "%s", call);
    for (size_t i = 0; i < ARRAY_LEN(shown); i++) {
        const struct shown *s = &shown[i];
        size_t len = strlen(text);

        if (strcmp(s->call, call) != 0 || !is_reported(s, data))
            continue;
        add_value(s, (uint32_t)data->args[s->arg] & s->mask, open ? ", " : "(", text, size);
        open |= strlen(text) > len;
    }
    if (open)
        add(text, size, "", ")");
}
