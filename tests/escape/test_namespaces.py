"""Namespaces: threats 6, 8, 11 and 13, as far as they are a matter of which namespace one is in."""
import os
import pathlib
import socket

import pytest

import machine_gives
import support
from harness import Attack, callers, proofs, root_only, run_attack, running

KINDS = ["user", "mount", "pid", "net", "ipc", "uts", "time", "cgroup"]


def layers_of(kind):
    # A user namespace is there for the asking unless forbidden; the others need a capability.
    return ("seccomp", "no-user-namespaces") if kind == "user" else ("seccomp", "identity")


ATTACKS = [
    *[Attack(f"a new {kind} namespace by unshare", ("unshare", kind), layers_of(kind))
      for kind in KINDS],
    *[Attack(f"a new {kind} namespace by clone", ("clone", kind), layers_of(kind),
             errors=("EPERM",)) for kind in KINDS if kind != "time"],
    *[Attack(f"a new {kind} namespace by clone with junk in the upper half",
             ("clone", kind, "junk"), layers_of(kind), errors=("EPERM",))
      for kind in ("user", "mount")],
    *[Attack(f"a new {kind} namespace by clone3", ("clone3", kind), layers_of(kind),
             errors=("ENOSYS",)) for kind in KINDS],
    Attack("entering a namespace by its file", ("setns", "uts", "self"), ("seccomp", "identity"),
           errors=("EPERM",)),
]

(test_the_attack_fails_inside, test_one_layer_alone_stops_the_attack,
 test_the_attack_succeeds_without_the_layers) = proofs(ATTACKS)

SWITCHES = {"user": "user-namespace", "mnt": "mount-namespace", "pid": "pid-namespace",
            "net": "network-namespace", "ipc": "ipc-namespace", "uts": "uts-namespace",
            "cgroup": "cgroup-namespace"}


def namespaces_of(pid):
    return {kind: os.readlink(f"/proc/{pid}/ns/{kind}") for kind in SWITCHES}


@callers
@pytest.mark.core
def test_the_program_shares_no_namespace_with_the_host(scene, caller):
    with running(scene, "hold", "file", "/tmp/x", caller=caller) as run:
        run.read_line()
        inside = namespaces_of(run.find("attack"))
    outside = namespaces_of("self")
    assert [kind for kind in SWITCHES if inside[kind] == outside[kind]] == []


@root_only
@pytest.mark.parametrize("kind", [kind for kind in SWITCHES if kind not in ("mnt", "pid", "user")])
def test_the_program_shares_a_namespace_that_is_left_out(scene, kind):
    with running(scene, "hold", "file", "/tmp/x", without=(SWITCHES[kind],)) as run:
        run.read_line()
        inside = namespaces_of(run.find("attack"))
    assert inside[kind] == os.readlink(f"/proc/self/ns/{kind}")


@callers
def test_two_runs_share_no_namespace(scene, caller):
    with running(scene, "hold", "file", "/tmp/x", caller=caller) as one, \
            running(scene, "hold", "file", "/tmp/x", caller=caller) as two:
        one.read_line()
        two.read_line()
        first, second = (namespaces_of(run.find("attack")) for run in (one, two))
    assert [kind for kind in SWITCHES if first[kind] == second[kind]] == []


@callers
def test_the_host_name_is_not_the_hosts(scene, caller):
    assert run_attack(scene, "hostname", caller=caller).line == "GOT sandbox"


@root_only
def test_the_host_name_shows_without_its_namespace(scene):
    answer = run_attack(scene, "hostname", without=("uts-namespace",))
    assert answer.line == f"GOT {socket.gethostname()}"


HOSTNAME_LAYERS = ("seccomp", "identity")


@callers
def test_the_host_cannot_be_renamed(scene, caller):
    assert run_attack(scene, "sethostname", "escaped", caller=caller).error == "EPERM"


@root_only
def test_renaming_works_without_the_layers_but_stays_inside(scene):
    before = socket.gethostname()
    assert run_attack(scene, "sethostname", "escaped", without=HOSTNAME_LAYERS).got
    assert socket.gethostname() == before


@callers
@pytest.mark.core
def test_the_cgroup_of_the_program_looks_like_the_root_of_all(scene, caller):
    result = support.result_of("exec", "--", "cat", "/proc/self/cgroup", caller=caller)
    if caller == support.Callers.ROOT:
        for line in result["stdout"].splitlines():
            if any(name in line for name in (":memory:", ":pids:", ":cpuacct:", "0::")):
                assert line.endswith(":/"), result["stdout"]
    assert "sandbox-run" not in result["stdout"]


@root_only
def test_the_cgroup_of_the_program_shows_without_its_namespace(scene):
    answer = run_attack(scene, "read", "/proc/self/cgroup", without=("cgroup-namespace",))
    result = support.result_of("exec", "--", "cat", "/proc/self/cgroup", hooks=True,
                               env={"SANDBOX_RUN_TEST_WITHOUT": "cgroup-namespace"})
    assert answer.got
    assert "sandbox-run." in result["stdout"]


@callers
@pytest.mark.core
def test_no_control_group_file_system_is_mounted(caller):
    result = support.result_of("exec", "--", "cat", "/proc/self/mountinfo", caller=caller)
    assert " - cgroup" not in result["stdout"]


def test_the_host_has_a_control_group_file_system_to_hide():
    machine_gives.skip_if(support.lacks(support.available_callers()[0]))
    assert " - cgroup" in pathlib.Path("/proc/self/mountinfo").read_text()
