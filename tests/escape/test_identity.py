"""Who the program is: threat 5.  No capability, no other user, no way to become one."""
import os
import shutil
import struct

import pytest

import support
from harness import (EVERYTHING, Attack, assert_each, callers, proofs, root_only, run_attack, run_attacks,
                     run_outside)
from support import Callers

ATTACKS = [
    Attack("having a capability", ("capabilities",), ("identity",)),
    Attack("taking a capability", ("capset",), ("identity",), errors=("EPERM",)),
    Attack("raising an ambient capability", ("ambient",), ("seccomp", "identity"),
           errors=("EPERM",)),
    Attack("changing the securebits", ("securebits",), ("seccomp", "identity"), errors=("EPERM",)),
    Attack("keeping capabilities over a change of user", ("keepcaps",), ("identity",),
           errors=("EPERM",)),
    # 0 is not in the map at all, so it cannot be asked for.
    Attack("becoming root", ("setuid", 0), ("user-namespace",), errors=("EINVAL",)),
    Attack("becoming the root group", ("setgid", 0), ("user-namespace",), errors=("EINVAL",)),
    Attack("leaving groups", ("setgroups",), ("seccomp", "identity"), errors=("EPERM",)),
    Attack("gaining privileges by an exec", ("new-privileges",), ("no-new-privs",),
           also=("landlock", "seccomp", "user-namespace", "identity")),
]

(test_the_attack_fails_inside, test_one_layer_alone_stops_the_attack,
 test_the_attack_succeeds_without_the_layers) = proofs(ATTACKS)


@callers
@pytest.mark.core
def test_the_program_is_the_sandbox_user(scene, caller):
    answer = run_attack(scene, "whoami", caller=caller)
    assert answer.line == "GOT uid 1000 euid 1000 gid 1000 egid 1000"


@callers
def test_no_other_user_can_be_taken(scene, caller):
    attacks = [("setuid", uid) for uid in (0, 1, 65534, 999, 1001, 1900000000)]
    assert_each(attacks, run_attacks(scene, attacks, caller=caller),
                lambda answer: answer.error in ("EINVAL", "EPERM"))


@pytest.fixture(scope="module")
def setuid_tool(scene):
    """A setuid-root copy of the attacker; it can only say who it is when it is asked to."""
    if os.geteuid() != 0:
        pytest.skip("only root can make a setuid-root file")
    path = scene.tools / "setuid"
    shutil.copy(scene.tools / "attack", path)
    path.chmod(0o4755)
    yield path
    path.unlink()


@pytest.fixture(scope="module")
def capable_tool(scene):
    """A copy of the attacker with a capability of its own."""
    if os.geteuid() != 0:
        pytest.skip("only root can give capabilities to a file")
    path = scene.tools / "capable"
    shutil.copy(scene.tools / "attack", path)
    path.chmod(0o755)
    raw_sockets = struct.pack("<IIIII", 0x02000000 | 1, 1 << 13, 0, 0, 0)  # effective, v2
    os.setxattr(path, "security.capability", raw_sockets)
    yield path
    path.unlink()


def exec_tool(scene, path, *words, caller, without=()):
    env = {"SANDBOX_RUN_TEST_WITHOUT": ",".join(without)} if without else {}
    inside = str(path) if "mounts" in without else f"/attacks/{path.name}"
    result = support.result_of("exec", "--volume", f"{scene.tools}:/attacks:ro", "--", inside,
                               *words, caller=caller, hooks=bool(without), env=env)
    return result.get("stdout", "") or str(result)


@callers
@pytest.mark.core
def test_a_setuid_file_gives_nothing(scene, setuid_tool, caller):
    assert exec_tool(scene, setuid_tool, "whoami", caller=caller) == (
        "GOT uid 1000 euid 1000 gid 1000 egid 1000\n")


@root_only
def test_no_new_privileges_alone_stops_a_setuid_file(scene, setuid_tool):
    without = tuple(name for name in EVERYTHING if name != "no-new-privs")
    said = exec_tool(scene, setuid_tool, "am-i-root", caller=Callers.USER, without=without)
    assert said.startswith("NOT EPERM"), said


@root_only
def test_a_user_namespace_without_root_alone_stops_a_setuid_file(scene, setuid_tool):
    """nosuid falls together with the mounts, which need the namespace: see test_from_outside."""
    without = tuple(name for name in EVERYTHING if name != "user-namespace")
    said = exec_tool(scene, setuid_tool, "am-i-root", caller=Callers.USER, without=without)
    assert said.startswith("NOT EPERM"), said


@root_only
def test_a_setuid_file_makes_root_without_the_layers(scene, setuid_tool):
    said = exec_tool(scene, setuid_tool, "am-i-root", caller=Callers.USER, without=EVERYTHING)
    assert said == "GOT euid 0\n"


@callers
@pytest.mark.core
def test_a_file_with_capabilities_gives_nothing(scene, capable_tool, caller):
    assert exec_tool(scene, capable_tool, "capabilities", caller=caller).startswith("NOT EMPTY")


@root_only
def test_a_file_with_capabilities_gives_them_without_the_layers(scene, capable_tool):
    said = exec_tool(scene, capable_tool, "capabilities", caller=Callers.USER, without=EVERYTHING)
    assert "CapEff" in said, said


@callers
def test_the_systems_own_setuid_programs_gain_nothing(caller):
    """su, mount and the like are in /usr, setuid on the host."""
    code = ("import os, stat, subprocess\n"
            "for top in '/usr/bin', '/usr/sbin':\n"
            "    for name in sorted(os.listdir(top)):\n"
            "        path = os.path.join(top, name)\n"
            "        if os.path.isfile(path) and os.stat(path).st_mode & stat.S_ISUID:\n"
            "            print(path)\n"
            "print(subprocess.run(['su', '-c', 'id -u'], stdin=subprocess.DEVNULL,\n"
            "                     capture_output=True).returncode != 0)\n")
    lines = support.python(code, caller=caller)["stdout"].splitlines()
    assert lines[-1] == "True"
    assert len(lines) > 1, "this machine has no setuid program: nothing was shown"


def test_the_attacker_would_see_capabilities_if_it_had_any(scene):
    if os.geteuid() != 0:
        pytest.skip("only root has capabilities to see")
    assert run_outside(scene, "capabilities").got
