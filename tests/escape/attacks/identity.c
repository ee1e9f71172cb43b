/* Becoming somebody, or somebody with more rights. */
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attack.h"

#ifndef PR_SET_MM
#define PR_SET_MM 35
#endif

static int who_am_i(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return got("uid %d euid %d gid %d egid %d", getuid(), geteuid(), getgid(), getegid());
}

static int am_i_root(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return geteuid() == 0 ? got("euid 0") : not_because("EPERM euid %d", (int)geteuid());
}

static int become_user(int argc, char **argv)
{
    (void)argc;
    return outcome(setuid((uid_t)number(argv[0])), "setuid");
}

static int become_group(int argc, char **argv)
{
    (void)argc;
    return outcome(setgid((gid_t)number(argv[0])), "setgid");
}

static int leave_groups(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return outcome(setgroups(0, NULL), "setgroups");
}

/* Any bit in any of the five sets. */
static int have_capabilities(int argc, char **argv)
{
    char line[256], found[512] = "";
    FILE *status = fopen("/proc/self/status", "r");

    (void)argc;
    (void)argv;
    if (!status)
        return not("open");
    while (fgets(line, sizeof(line), status))
        if (!strncmp(line, "Cap", 3) && strtoull(line + 8, NULL, 16) != 0) {
            line[strcspn(line, "\n")] = ' ';
            strcat(found, line);
        }
    fclose(status);
    return found[0] ? got("%s", found) : not_because("EMPTY no capability");
}

static int raise_capabilities(int argc, char **argv)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct sets[2] = { { 0 } };

    (void)argc;
    (void)argv;
    sets[0].effective = sets[0].permitted = 1u << CAP_SYS_ADMIN;
    return outcome(syscall(SYS_capset, &header, sets), "capset");
}

static int raise_ambient(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return outcome(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_ADMIN, 0, 0), "ambient");
}

static int change_securebits(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return outcome(prctl(PR_SET_SECUREBITS, SECBIT_KEEP_CAPS, 0, 0, 0), "securebits");
}

static int keep_capabilities(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return outcome(prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0), "keepcaps");
}

static int no_new_privs(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? not_because("EPERM no new privileges")
                                                       : got("new privileges are possible");
}

/* PR_SET_MM forges what the host sees of a process; the address is this program's own. */
static int set_mm(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return outcome(prctl(PR_SET_MM, 8 /* ARG_START */, argv[0], 0, 0), "PR_SET_MM");
}

static int set_ptracer(int argc, char **argv)
{
    long r = prctl(0x59616d61 /* PR_SET_PTRACER */, -1, 0, 0, 0);

    (void)argc;
    (void)argv;
    /* EINVAL is the answer of a kernel without Yama: it was asked. */
    return r < 0 && errno != EINVAL ? not("PR_SET_PTRACER") : got("the kernel was asked");
}

const struct attack identity_attacks[] = {
    { "whoami", who_am_i, 0 },
    { "am-i-root", am_i_root, 0 },
    { "setuid", become_user, 1 },
    { "setgid", become_group, 1 },
    { "setgroups", leave_groups, 0 },
    { "capabilities", have_capabilities, 0 },
    { "capset", raise_capabilities, 0 },
    { "ambient", raise_ambient, 0 },
    { "securebits", change_securebits, 0 },
    { "keepcaps", keep_capabilities, 0 },
    { "new-privileges", no_new_privs, 0 },
    { "set-mm", set_mm, 0 },
    { "set-ptracer", set_ptracer, 0 },
    { NULL, NULL, 0 },
};
