"""Landlock: the second layer over files, and the only one against some of them (section 6)."""
import os

import pytest

import support
from harness import Attack, assert_each, callers, proofs, root_only, run_attack, run_attacks, running

# What only Landlock stops: the mounts are writable there, and nothing else would mind.
ATTACKS = [
    Attack("writing a host file in a run without a root of its own", ("write", "{canary}", "x"),
           ("landlock", "mounts+program")),
    Attack("serving on a port of the loopback", ("listen",),
           ("landlock", "seccomp", "network-namespace")),
]

(test_the_attack_fails_inside, test_one_layer_alone_stops_the_attack,
 test_the_attack_succeeds_without_the_layers) = proofs(ATTACKS)


@callers
@pytest.mark.core
def test_every_result_names_landlock(caller):
    result = support.result_of("exec", "--", "true", caller=caller)
    assert "landlock" in result["isolation"]["mechanisms"]


@callers
def test_what_may_be_written_stays_writable(scene, caller):
    """The scratch directories and the devices."""
    attacks = [*[("write", f"{directory}/x", "x") for directory in ("/work", "/tmp", "/dev/shm")],
               *[("open", f"/dev/{name}", "rw") for name in ("null", "zero", "full")]]
    assert_each(attacks, run_attacks(scene, attacks, caller=caller), lambda answer: answer.got)


@callers
def test_a_program_may_restrict_itself_further(caller):
    code = ("import ctypes\n"
            "libc = ctypes.CDLL(None, use_errno=True)\n"
            "print(libc.syscall(444, None, 0, 1) >= 1)\n")
    assert support.python(code, caller=caller)["stdout"] == "True\n"


@root_only
def test_a_run_without_it_can_write_where_only_it_forbids(scene):
    """The read-only mount flag of /proc is the other layer; both off, a program names itself."""
    answer = run_attack(scene, "write-existing", "/proc/self/comm", "x",
                        without=("landlock", "read-only-proc"))
    assert answer.got
    answer = run_attack(scene, "write-existing", "/proc/self/comm", "x",
                        without=("read-only-proc",))
    assert answer.error == "EACCES"


@root_only
def test_landlock_is_seen_from_outside_by_its_effect_on_signals(scene):
    """Scope: without namespaces a landlocked program signals nobody outside."""
    without = ("pid-namespace", "user-namespace")
    with running(scene, "hold", "file", "/tmp/x") as run:
        run.read_line()
        answer = run_attack(scene, "kill", run.process.pid, 0, without=without)
        assert answer.error == "EPERM", answer
        os.kill(run.process.pid, 0)
