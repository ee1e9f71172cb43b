"""Kernel memory that no control group is charged for: each kind is refused or bounded by its number.

What is charged ends at the memory limit: test_limits.py.  The table of all kinds is docs/internals/kernel-objects.md.
"""
import os

import pytest

import support
from harness import callers, root_only
from support import Callers

ENOUGH = 24 << 10  # KiB
# Kind, the errors that stop it, and how many KiB there may be by then.
REFUSED = {
    "socket-filters": ("EPERM", 0), "reuseport-filters": ("EPERM", 0),
    "leases": ("EINVAL", 0), "dnotify": ("EINVAL", 0),
    "mbind": ("ENOSYS", 0), "mbind-shared": ("ENOSYS", 0),
    "tcp-md5": ("ENOPROTOOPT", 0), "flow-labels": ("ENOPROTOOPT", 0), "multicast": ("ENODEV", 0),
    "hugetlb": ("ENOMEM", 0),
}
COUNTED = {"netlink": ("ENOMEM", 8 << 10), "seccomp": ("ENOMEM", 2 << 10),
           "signals": ("EAGAIN", 1 << 10), "timers": ("EAGAIN", 2 << 10)}
STRICT = {**REFUSED, "reuseport-filters": ("EAFNOSUPPORT", 0), "tcp-md5": ("EAFNOSUPPORT", 0),
          "flow-labels": ("EAFNOSUPPORT", 0), "multicast": ("EAFNOSUPPORT", 0),
          "leases": ("EPERM", 0), "dnotify": ("EPERM", 0), "flock": ("EPERM", 0),
          "posix-locks": ("EPERM", 0), "ofd-locks": ("EPERM", 0), "netlink": ("EAFNOSUPPORT", 0),
          "seccomp": ("EINVAL", 0), "seccomp-prctl": ("EINVAL", 0),
          "signals": COUNTED["signals"], "timers": COUNTED["timers"]}
TABLES = {("default", "none"): {**REFUSED, **COUNTED},
          ("default", "localhost"): {**REFUSED, **COUNTED},
          ("strict", "none"): STRICT}


def fill(scene, kinds, *options, enough=ENOUGH, without=(), caller=Callers.ROOT):
    """Kind to how many KiB there were, and what stopped it."""
    env = {"SANDBOX_RUN_TEST_WITHOUT": ",".join(without)} if without else {}
    result = support.result_of(
        "exec", "--volume", f"{scene.tools}:/attacks", "--timeout", "60s", *options, "--",
        "/attacks/kernel_memory", enough, *kinds, caller=caller, hooks=bool(without), env=env)
    rows = [line.split() for line in result.get("stdout", "").splitlines()]
    assert len(rows) == len(kinds), result
    return {kind: (int(kib), error) for kind, _, kib, error in rows}


@callers
@pytest.mark.parametrize("policy, network", TABLES)
@pytest.mark.core
def test_what_nobody_is_charged_for_is_refused_or_bounded(scene, policy, network, caller):
    table = TABLES[policy, network]
    found = fill(scene, table, "--policy", policy, "--network", network, caller=caller)
    wrong = {kind: got for kind, got in found.items()
             if got[1] != table[kind][0] or got[0] > table[kind][1]}
    assert wrong == {}


@root_only
def test_there_is_more_of_it_without_the_filter_and_the_limits(scene):
    table = {**REFUSED, **COUNTED, "seccomp-prctl": COUNTED["seccomp"]}
    options = ("--memory", "1g", "--network", "localhost", "--open-files", "4096")
    found = {**fill(scene, REFUSED, *options, enough=100, without=("seccomp",)),
             **fill(scene, ["netlink"], *options, enough=9 << 10, without=("seccomp",)),
             **fill(scene, [kind for kind in table if kind not in (*REFUSED, "netlink")], *options,
                    enough=3 << 10, without=("seccomp", "rlimits"))}
    assert {kind: got for kind, got in found.items() if got[0] <= table[kind][1]} == {}


# Waiting in sockets of the internet is charged on v2; on v1 it has a limit of its own.
V1 = os.path.exists("/sys/fs/cgroup/memory/memory.kmem.tcp.limit_in_bytes")
needs_v1 = pytest.mark.skipif(not V1 or Callers.ROOT not in support.available_callers(),
                              reason="needs a memory group of v1")
NETWORK = ("--network", "localhost", "--memory", "64m")


@needs_v1
def test_what_waits_in_datagram_sockets_is_bounded(scene):
    kib, error = fill(scene, ["udp"], *NETWORK, enough=96 << 10)["udp"]
    assert error == "ENOBUFS" and kib <= 20 << 10


@needs_v1
def test_what_waits_in_connections_is_bounded(scene):
    kib, error = fill(scene, ["tcp"], *NETWORK, enough=96 << 10)["tcp"]
    assert error == "ENOMEM" and kib <= 64 << 10


@needs_v1
def test_what_waits_in_connections_has_no_bound_without_the_filter(scene):
    _, error = fill(scene, ["tcp"], *NETWORK, enough=96 << 10, without=("seccomp",))["tcp"]
    assert error == "enough"


@needs_v1
def test_what_waits_in_datagram_sockets_has_no_bound_without_the_limit(scene):
    _, error = fill(scene, ["udp"], *NETWORK, enough=96 << 10, without=("socket-memory",))["udp"]
    assert error == "enough"


def test_datagram_sockets_are_counted_where_nobody_is_charged(scene):
    if support.result_of("exec", "--", "true", caller=Callers.USER)["isolation"]["tier"] != "reduced":
        pytest.skip("there is a memory group")
    options = ("--network", "localhost", "--memory", "16m")
    kib, error = fill(scene, ["udp"], *options, enough=96 << 10, caller=Callers.USER)["udp"]
    assert error == "ENOMEM" and kib <= 64 << 10


SCORES = ("import os\n"
          "for pid in 'self', '1':\n"
          "    print(open(f'/proc/{pid}/oom_score_adj').read().strip())\n"
          "for score in '0', '-1000', '999':\n"
          "    try:\n"
          "        with open('/proc/self/oom_score_adj', 'w') as file: file.write(score)\n"
          "    except OSError as error: print(type(error).__name__)\n"
          "print(open('/proc/self/oom_score_adj').read().strip())\n")


@callers
@pytest.mark.parametrize("policy", ["default", "strict"])
@pytest.mark.core
def test_the_host_ends_a_program_before_anything_of_its_own(policy, caller):
    said = support.python(SCORES, "--policy", policy, caller=caller)["stdout"].split()
    assert said[:2] == ["1000", "1000"] and said[-1] == "1000" and len(said) == 6, said


@root_only
def test_the_program_is_as_dear_as_the_host_without_it(scene):
    del scene
    result = support.result_of("exec", "--", "cat", "/proc/self/oom_score_adj", hooks=True,
                               env={"SANDBOX_RUN_TEST_WITHOUT": "oom-score"})
    with open("/proc/self/oom_score_adj", encoding="ascii") as own:
        assert result["stdout"] == own.read()


@callers
@pytest.mark.parametrize("policy", ["default", "strict"])
def test_writing_out_the_host_s_disks_is_answered_as_done(policy, caller):
    code = ("import ctypes, os\n"
            "libc = ctypes.CDLL(None, use_errno=True)\n"
            "fd = os.open('/usr', os.O_RDONLY)\n"
            "print(libc.syncfs(fd), libc.syncfs(-1)); os.sync()\n")
    result = support.python(code, "--policy", policy, caller=caller)
    assert result["stdout"] == "0 0\n" and not result.get("denials"), result


@root_only
def test_writing_out_reaches_the_kernel_without_the_filter(scene):
    del scene
    code = "import ctypes\nprint(ctypes.CDLL(None).syncfs(-1))\n"
    result = support.python(code, hooks=True, env={"SANDBOX_RUN_TEST_WITHOUT": "seccomp"})
    assert result["stdout"] == "-1\n", result
