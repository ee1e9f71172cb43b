#include <asm/ioctls.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "monitor/seccomp_notify.h"

#ifndef AF_VSOCK
#define AF_VSOCK 40
#endif

static void a_call_is_shown_with_what_mattered_of_it(void **state)
{
    static const struct {
        const char *call;
        uint64_t args[3];
        const char *text;
    } rows[] = {
        { "mount", { 1, 2, 3 }, "mount" },
        { "clone", { CLONE_NEWUSER | 17 }, "clone(CLONE_NEWUSER)" },
        { "clone", { CLONE_NEWUSER | CLONE_NEWNET }, "clone(CLONE_NEWUSER|CLONE_NEWNET)" },
        { "unshare", { 0 }, "unshare" },
        { "socket", { AF_PACKET, SOCK_RAW, 3 }, "socket(AF_PACKET)" },
        { "socket", { 1ULL << 40 | AF_VSOCK, SOCK_STREAM, 0 }, "socket(AF_VSOCK)" },
        { "socket", { 63, SOCK_STREAM, 0 }, "socket(63)" },
        { "socket", { AF_INET, SOCK_RAW | SOCK_CLOEXEC, 1 }, "socket(AF_INET, SOCK_RAW, 1)" },
        { "socket", { AF_INET6, SOCK_STREAM, 132 }, "socket(AF_INET6, SOCK_STREAM, 132)" },
        { "socket", { AF_INET, SOCK_STREAM, 0 }, "socket(AF_INET, SOCK_STREAM)" },
        { "socket", { AF_UNIX, SOCK_RAW, 0 }, "socket(AF_UNIX, SOCK_RAW)" },
        { "socket", { AF_NETLINK, SOCK_RAW, 16 }, "socket(AF_NETLINK, 16)" },
        { "socketpair", { AF_INET, SOCK_STREAM }, "socketpair(AF_INET)" },
        { "ioctl", { 0, TIOCSTI }, "ioctl(TIOCSTI)" },
        { "ioctl", { 0, 0xdead }, "ioctl(0xdead)" },
        { "prctl", { PR_SET_MM }, "prctl(PR_SET_MM)" },
        { "seccomp", { 1, 8 }, "seccomp(SECCOMP_FILTER_FLAG_NEW_LISTENER)" },
        { "personality", { 0x40000 }, "personality(0x40000)" },
        { "mknodat", { 0, 0, S_IFBLK | 0600 }, "mknodat(S_IFBLK)" },
        { "fcntl", { 0, F_SETLK }, "fcntl(F_SETLK)" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct seccomp_data data = { .nr = 0 };
        char text[120];

        memcpy(data.args, rows[i].args, sizeof(rows[i].args));
        notify_text(rows[i].call, &data, text, sizeof(text));
        assert_string_equal(text, rows[i].text);
    }
}

static void a_long_text_is_cut(void **state)
{
    const struct seccomp_data data = { .args = { UINT64_MAX } };
    char text[30];

    (void)state;
    notify_text("clone", &data, text, sizeof(text));
    assert_int_equal(strlen(text), sizeof(text) - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_is_shown_with_what_mattered_of_it),
        cmocka_unit_test(a_long_text_is_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
