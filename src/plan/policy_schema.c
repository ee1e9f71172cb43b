/* The grammar of policies/NAME.yaml.
 *
 * Every constant here has the same value on all architectures that we build for, so that the
 * headers of the build machine are valid for the target. */
#include "plan/policy_file.h"

#include <asm/ioctls.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/netlink.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>

/* The kernel does not export this mask (include/linux/net.h). */
#define SOCK_TYPE_MASK 0xf

/* O_TMPFILE without O_DIRECTORY, which differs between architectures. */
#define TMPFILE_BIT (O_TMPFILE & ~O_DIRECTORY)

/* Newer than the headers of Debian 12, or not exported by the kernel. */
#ifndef PR_SET_MEMORY_MERGE
#define PR_SET_MEMORY_MERGE 67
#endif
#ifndef TCP_AO_ADD_KEY
#define TCP_AO_ADD_KEY 38
#endif
#ifndef IPV6_2292PKTOPTIONS
#define IPV6_2292PKTOPTIONS 6
#endif
#ifndef IPV6_FLOWLABEL_MGR
#define IPV6_FLOWLABEL_MGR 32
#endif

/* clang-format off */
#define ROW(name) { #name, name }
/* clang-format on */
#define WORDS(table) (table), ARRAY_LEN(table)
/* One more level of expansion than the original, so that WORDS() becomes two arguments first. */
#define FIELD_WORD(...) CYAML_FIELD_ENUM(__VA_ARGS__)
#define VALUE_WORD(...) CYAML_VALUE_ENUM(__VA_ARGS__)
#define OWNED CYAML_FLAG_POINTER /* libcyaml allocates it */
#define MAYBE CYAML_FLAG_OPTIONAL
#define STRICT CYAML_FLAG_STRICT /* only words, no bare numbers */
#define MANY CYAML_UNLIMITED

/* clang-format off */
static const cyaml_strval_t answers[] = {
    { "ALLOW", ANSWER_ALLOW },
    { "NOTICE", ANSWER_NOTIFY },
    { "COUNT", ANSWER_COUNT },
    { "DONE", ANSWER_DONE },
    ROW(EPERM), ROW(ENOSYS), ROW(EACCES), ROW(EINVAL), ROW(EOPNOTSUPP), ROW(EAFNOSUPPORT),
    ROW(ENOTTY), ROW(ENOMEM), ROW(ENODEV), ROW(ENOPROTOOPT),
};

/* A refused group cannot answer with the first three. */
#define ERRNOS (answers + 3), (ARRAY_LEN(answers) - 3)

/* For a call that is not named; PASS only in a policy that is laid over another one. */
static const cyaml_strval_t unknowns[] = {
    { "PASS", ANSWER_ALLOW },
    ROW(EPERM), ROW(ENOSYS),
};

static const cyaml_strval_t constants[] = {
    ROW(CLONE_NEWCGROUP), ROW(CLONE_NEWIPC), ROW(CLONE_NEWNET), ROW(CLONE_NEWNS),
    ROW(CLONE_NEWPID), ROW(CLONE_NEWTIME), ROW(CLONE_NEWUSER), ROW(CLONE_NEWUTS),

    ROW(AF_UNIX), ROW(AF_INET), ROW(AF_INET6), ROW(AF_NETLINK), ROW(NETLINK_ROUTE),
    ROW(SOCK_TYPE_MASK), ROW(SOCK_STREAM), ROW(SOCK_DGRAM), ROW(SOCK_SEQPACKET), ROW(SOCK_RAW),
    ROW(MSG_NOSIGNAL), ROW(IPPROTO_IP), ROW(IPPROTO_TCP), ROW(IPPROTO_UDP),

    ROW(SOL_SOCKET), ROW(SOL_NETLINK), ROW(IPPROTO_IPV6),
    ROW(SO_SNDBUF), ROW(SO_RCVBUF), ROW(SO_ATTACH_FILTER), ROW(SO_ATTACH_REUSEPORT_CBPF),
    ROW(TCP_MD5SIG), ROW(TCP_MD5SIG_EXT), ROW(TCP_ULP), ROW(TCP_AO_ADD_KEY),
    ROW(IP_ADD_MEMBERSHIP), ROW(IP_ADD_SOURCE_MEMBERSHIP), ROW(IPV6_ADD_MEMBERSHIP),
    ROW(MCAST_JOIN_GROUP), ROW(MCAST_JOIN_SOURCE_GROUP),
    ROW(IPV6_2292PKTOPTIONS), ROW(IPV6_FLOWLABEL_MGR), ROW(IPV6_RTHDR),

    ROW(MAP_HUGETLB), ROW(MFD_HUGETLB), ROW(SHM_HUGETLB), ROW(MADV_MERGEABLE),

    ROW(TIOCSTI), ROW(TIOCLINUX), ROW(TIOCSETD),
    ROW(FS_IOC_SETFLAGS), ROW(FS_IOC32_SETFLAGS), ROW(FS_IOC_FSSETXATTR),

    ROW(TCSETS), ROW(TCSETSW), ROW(TCSETSF), ROW(TCFLSH), ROW(TCSBRK), ROW(TCXONC),
    ROW(TIOCSPGRP), ROW(TIOCSWINSZ), ROW(TIOCGSID),

    ROW(TCGETS), ROW(TIOCGWINSZ), ROW(TIOCGPGRP), ROW(FIONREAD), ROW(FIONBIO), ROW(FIOCLEX),
    ROW(FIONCLEX), ROW(FICLONE), ROW(FICLONERANGE), ROW(FS_IOC_GETFLAGS),

    ROW(PR_SET_DUMPABLE), ROW(PR_SET_MM), ROW(PR_SET_PTRACER), ROW(PR_SET_SECUREBITS),
    ROW(PR_CAP_AMBIENT), ROW(PR_CAP_AMBIENT_RAISE),
    ROW(PR_SET_SPECULATION_CTRL), ROW(PR_SPEC_ENABLE),

    ROW(PR_SET_SECCOMP), ROW(PR_SET_MEMORY_MERGE),

    ROW(SECCOMP_FILTER_FLAG_NEW_LISTENER), ROW(SECCOMP_SET_MODE_FILTER),

    ROW(RLIMIT_CORE),

    ROW(S_IFMT), ROW(S_IFREG), ROW(S_IFIFO), ROW(S_IFSOCK), ROW(S_ISUID), ROW(S_ISGID),

    ROW(F_GETLK), ROW(F_SETLK), ROW(F_SETLKW),
    ROW(F_OFD_GETLK), ROW(F_OFD_SETLK), ROW(F_OFD_SETLKW),
    ROW(F_GETLEASE), ROW(F_SETLEASE), ROW(F_NOTIFY),
    ROW(F_SETOWN), ROW(F_SETOWN_EX), ROW(F_SETSIG),
    ROW(O_ACCMODE), ROW(O_TRUNC), ROW(O_CREAT), ROW(TMPFILE_BIT),
};

static const cyaml_strval_t procs[] = {
    { "masked", POLICY_PROC_MASKED },
    { "pid",    POLICY_PROC_PID    },
};

static const cyaml_strval_t modes[] = {
    { "none",  NETWORK_NONE  }, { "localhost", NETWORK_LOCALHOST },
    { "allow", NETWORK_ALLOW }, { "full",      NETWORK_FULL      },
};
/* clang-format on */

static const cyaml_strval_t args[] = {
    { "0", 0 }, { "1", 1 }, { "2", 2 }, { "3", 3 }, { "4", 4 }, { "5", 5 },
};

static const cyaml_strval_t widths[] = { { "32", 32 }, { "64", 64 } };

static const cyaml_schema_value_t constant = {
    VALUE_WORD(CYAML_FLAG_DEFAULT, int64_t, WORDS(constants)),
};

static const cyaml_schema_field_t condition_fields[] = {
    FIELD_WORD("arg", STRICT, struct condition, arg, WORDS(args)),
    FIELD_WORD("bits", STRICT, struct condition, bits, WORDS(widths)),
    CYAML_FIELD_SEQUENCE("mask", OWNED | MAYBE, struct condition, mask, &constant, 1, MANY),
    CYAML_FIELD_SEQUENCE("is", OWNED, struct condition, is, &constant, 1, MANY),
    CYAML_FIELD_END,
};

static const cyaml_schema_value_t condition = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct condition, condition_fields),
};

static const cyaml_schema_field_t rule_fields[] = {
    CYAML_FIELD_SEQUENCE("when", OWNED, struct rule, when, &condition, 1, MANY),
    FIELD_WORD("then", STRICT, struct rule, then, WORDS(answers)),
    CYAML_FIELD_END,
};

static const cyaml_schema_value_t rule = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct rule, rule_fields),
};

static const cyaml_schema_field_t call_rules_fields[] = {
    CYAML_FIELD_STRING_PTR("call", OWNED, struct call_rules, call, 1, 64),
    CYAML_FIELD_STRING_PTR("about", OWNED | MAYBE, struct call_rules, about, 1, 100),
    CYAML_FIELD_SEQUENCE("rules", OWNED, struct call_rules, rules, &rule, 1, MANY),
    FIELD_WORD("otherwise", STRICT, struct call_rules, otherwise, WORDS(answers)),
    CYAML_FIELD_END,
};

static const cyaml_schema_value_t call_rules = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct call_rules, call_rules_fields),
};

static const cyaml_schema_field_t allowed_fields[] = {
    CYAML_FIELD_STRING_PTR("group", OWNED, struct call_group, group, 1, 200),
    CYAML_FIELD_SEQUENCE("calls", OWNED, struct call_group, calls, &document_text, 1, MANY),
    CYAML_FIELD_END,
};

static const cyaml_schema_value_t allowed = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct call_group, allowed_fields),
};

static const cyaml_schema_field_t refused_fields[] = {
    CYAML_FIELD_STRING_PTR("group", OWNED, struct call_group, group, 1, 200),
    FIELD_WORD("errno", STRICT, struct call_group, answer, ERRNOS),
    CYAML_FIELD_SEQUENCE("calls", OWNED, struct call_group, calls, &document_text, 1, MANY),
    CYAML_FIELD_END,
};

static const cyaml_schema_value_t refused = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct call_group, refused_fields),
};

static const cyaml_schema_field_t calls_fields[] = {
    FIELD_WORD("unknown", STRICT | MAYBE, struct policy_calls, unknown, WORDS(unknowns)),
    CYAML_FIELD_SEQUENCE("allow", OWNED | MAYBE, struct policy_calls, allow, &allowed, 1, MANY),
    CYAML_FIELD_SEQUENCE("notice", OWNED | MAYBE, struct policy_calls, notice, &allowed, 1, MANY),
    CYAML_FIELD_SEQUENCE("refuse", OWNED | MAYBE, struct policy_calls, refuse, &refused, 1, MANY),
    CYAML_FIELD_SEQUENCE("arguments", OWNED | MAYBE, struct policy_calls, arguments, &call_rules, 1,
                         MANY),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t network_fields[] = {
    FIELD_WORD("mode", STRICT, struct policy_network, mode, WORDS(modes)),
    CYAML_FIELD_SEQUENCE("allow_hosts", OWNED | MAYBE, struct policy_network, allow_hosts,
                         &document_text, 1, NETWORK_MAX_RULES),
    CYAML_FIELD_BOOL("allow_dns", MAYBE, struct policy_network, allow_dns),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t policy_fields[] = {
    CYAML_FIELD_STRING_PTR("name", OWNED, struct policy_file, name, 1, 32),
    CYAML_FIELD_STRING_PTR("about", OWNED, struct policy_file, about, 1, 200),
    CYAML_FIELD_STRING_PTR("extends", OWNED | MAYBE, struct policy_file, extends, 1, 32),
    FIELD_WORD("proc", STRICT, struct policy_file, proc, WORDS(procs)),
    CYAML_FIELD_BOOL("internal", MAYBE, struct policy_file, internal),
    CYAML_FIELD_MAPPING("network", MAYBE, struct policy_file, network, network_fields),
    CYAML_FIELD_MAPPING("syscalls", CYAML_FLAG_DEFAULT, struct policy_file, syscalls, calls_fields),
    CYAML_FIELD_END,
};

const cyaml_schema_value_t policy_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct policy_file, policy_fields),
};
