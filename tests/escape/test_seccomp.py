"""The filter: threat 12.  Each door is shut by number or by argument, whatever else guards it.

The argument rules are tried one by one in test_filter_table; here it is what an attacker would do.
"""
import os
import pathlib
import platform

import pytest

from harness import Attack, assert_each, callers, proofs, root_only, run_attack, run_attacks, run_outside

AF_INET, AF_INET6, AF_NETLINK, AF_PACKET, AF_ALG, AF_VSOCK, AF_BLUETOOTH, AF_CAN = (
    2, 10, 16, 17, 38, 40, 31, 29)
SOCK_STREAM, SOCK_DGRAM, SOCK_RAW = 1, 2, 3
NETLINK_AUDIT, NETLINK_KOBJECT_UEVENT, NETLINK_GENERIC, NETLINK_NETFILTER = 9, 15, 16, 12
TIOCSTI, TIOCLINUX, TIOCSETD = 0x5412, 0x541c, 0x5423
ADDR_NO_RANDOMIZE, READ_IMPLIES_EXEC = 0x0040000, 0x0400000
ALL_RIGHTS = ("identity", "user-namespace")

ATTACKS = [
    Attack("loading something for the kernel to run", ("bpf",), ("seccomp",), also=ALL_RIGHTS,
           errors=("EPERM",)),
    Attack("counting kernel events", ("perf",), ("seccomp",), also=ALL_RIGHTS, errors=("EPERM",)),
    Attack("handling page faults", ("userfaultfd",), ("seccomp",), errors=("EPERM",)),
    Attack("a ring of system calls past the filter", ("io-uring",), ("seccomp",),
           errors=("ENOSYS",)),
    Attack("the older asynchronous interface", ("aio",), ("seccomp",), errors=("ENOSYS",)),
    Attack("looking at keys", ("keyctl",), ("seccomp",), errors=("EPERM",)),
    Attack("adding a key", ("add-key",), ("seccomp",), errors=("EPERM",)),
    Attack("a packet socket", ("socket", AF_PACKET, SOCK_RAW, 0), ("seccomp", "identity"),
           also=("user-namespace",), errors=("EAFNOSUPPORT",)),
    Attack("a raw internet socket", ("socket", AF_INET, SOCK_RAW, 1), ("seccomp", "identity"),
           also=("user-namespace",), errors=("EAFNOSUPPORT",)),
    Attack("a raw internet socket with junk in the upper half of the family",
           ("socket", AF_INET, SOCK_RAW, 1, "junk"), ("seccomp", "identity"),
           also=("user-namespace",), errors=("EAFNOSUPPORT",)),
    Attack("a raw internet socket of version 6", ("socket", AF_INET6, SOCK_RAW, 58),
           ("seccomp", "identity"), also=("user-namespace",), errors=("EAFNOSUPPORT",)),
    Attack("a socket to the hypervisor", ("socket", AF_VSOCK, SOCK_STREAM, 0), ("seccomp",),
           errors=("EAFNOSUPPORT",)),
    Attack("netlink for kernel events", ("socket", AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT),
           ("seccomp",), errors=("EAFNOSUPPORT",)),
    Attack("netlink for generic families", ("socket", AF_NETLINK, SOCK_RAW, NETLINK_GENERIC),
           ("seccomp",), errors=("EAFNOSUPPORT",)),
    Attack("a personality without address randomisation", ("personality", ADDR_NO_RANDOMIZE),
           ("seccomp",), errors=("EPERM",)),
    Attack("a personality in which data is code", ("personality", READ_IMPLIES_EXEC), ("seccomp",),
           errors=("EPERM",)),
    Attack("admitting a tracer", ("set-ptracer",), ("seccomp",), errors=("EPERM",)),
    Attack("flags of a file", ("file-flags", "/tmp/x"), ("seccomp",), errors=("EPERM",)),
    Attack("typing into a terminal", ("terminal-ioctl", TIOCSTI), ("seccomp",), errors=("EPERM",)),
    Attack("typing into a terminal with junk in the upper half",
           ("terminal-ioctl", TIOCSTI, "junk"), ("seccomp",), errors=("EPERM",)),
    Attack("driving a console", ("terminal-ioctl", TIOCLINUX), ("seccomp",), errors=("EPERM",)),
    Attack("driving a console with junk in the upper half", ("terminal-ioctl", TIOCLINUX, "junk"),
           ("seccomp",), errors=("EPERM",)),
    Attack("another line discipline", ("terminal-ioctl", TIOCSETD), ("seccomp",),
           errors=("EPERM",)),
]
if platform.machine() == "x86_64":
    ATTACKS.append(Attack("a call of the 32-bit table", ("int80",), ("seccomp",), killed=True))

(test_the_attack_fails_inside, test_one_layer_alone_stops_the_attack,
 test_the_attack_succeeds_without_the_layers) = proofs(ATTACKS)


def socket_families_of_this_kernel(scene):
    return {family for family in (AF_ALG, AF_BLUETOOTH, AF_CAN)
            if run_outside(scene, "socket", family, 5 if family == AF_ALG else SOCK_RAW, 0).got}


@callers
def test_a_socket_that_is_not_plain_does_not_exist_inside(scene, caller):
    """All families: also those that this kernel lacks and the next has.  Of netlink only routes can be asked,
    and of the internet there are no pairs."""
    attacks = [*[("socket", family, SOCK_DGRAM, 0) for family in range(64)
                 if family not in (1, AF_INET, AF_INET6, AF_NETLINK)],
               ("socket", AF_ALG, 5, 0),
               *[("socket", AF_NETLINK, SOCK_RAW, protocol) for protocol in range(1, 32)],
               ("socketpair", AF_INET)]
    assert_each(attacks, run_attacks(scene, attacks, caller=caller),
                lambda answer: answer.error == "EAFNOSUPPORT")


@callers
def test_plain_sockets_can_be_made(scene, caller):
    """Those of the internet lead nowhere: see test_network and test_notices."""
    attacks = [*[("socket", family, kind, protocol) for family in (AF_INET, AF_INET6)
                 for kind, protocol in ((SOCK_STREAM, 0), (SOCK_DGRAM, 17))],
               ("socket", AF_NETLINK, SOCK_RAW, 0), ("socketpair", 1)]
    assert_each(attacks, run_attacks(scene, attacks, caller=caller), lambda answer: answer.got)


@root_only
def test_a_family_is_asked_of_the_kernel_without_the_filter(scene):
    """Where the kernel lacks crypto sockets, another family shows whose answer it was."""
    families = socket_families_of_this_kernel(scene) | {AF_VSOCK}
    attacks = [("socket", family, 5 if family == AF_ALG else SOCK_STREAM, 0) for family in families]
    answers = run_attacks(scene, attacks, without=("seccomp", "landlock", *ALL_RIGHTS))
    assert_each(attacks, answers, lambda answer: answer.got)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="x32 is an ABI of x86_64")
@callers
def test_a_call_of_the_x32_table_ends_the_program(scene, caller):
    """One of them: that each ends its process is in test_filter_table."""
    answer = run_attack(scene, "x32", 39, caller=caller)
    assert answer.outcome == "denied" and not answer.line, answer


@root_only
def test_a_call_of_the_x32_table_gets_an_answer_without_the_filter(scene):
    answer = run_attack(scene, "x32", 39, without=("seccomp",))
    assert answer.outcome == "exited" and answer.line, answer


@callers
def test_the_strict_policy_has_no_sockets(scene, caller):
    attacks = [("socket", 1, 1, 0), ("socketpair", 1)]
    socket, pair = run_attacks(scene, attacks, caller=caller, options=("--policy", "strict"))
    assert socket.error == "EAFNOSUPPORT" and pair.got, (socket, pair)


def test_this_kernel_has_the_filter_that_the_table_assumes():
    assert "errno" in pathlib.Path("/proc/sys/kernel/seccomp/actions_avail").read_text()
    assert os.uname().machine in ("x86_64", "aarch64")
