"""Devices: threat 9.  Five harmless nodes, private terminals, and no way to make another."""
import os
import stat

import pytest

import support
from harness import Attack, assert_each, callers, proofs, root_only, run_attack, run_attacks

# Four independent refusals: the filter, no capability, no power over the host's devices in a user
# namespace, and nodev on every mount.  Nodes: /dev/null's numbers, and those of the first loop.
LAYERS = ("seccomp", "identity", "user-namespace", "mounts+program")

ATTACKS = [
    Attack("a character device of one's own", ("mknod", "{inside_data}/node", "c", "1", "3"),
           LAYERS, also=("landlock",)),
    Attack("a block device of one's own", ("mknod", "{inside_data}/node", "b", "7", "0"), LAYERS,
           also=("landlock",)),
]

(test_the_attack_fails_inside, test_one_layer_alone_stops_the_attack,
 test_the_attack_succeeds_without_the_layers) = proofs(ATTACKS)


@callers
def test_no_device_node_can_be_made_where_files_can(scene, caller):
    attacks = [("mknod", "/tmp/node", *node) for node in (("c", 1, 3), ("b", 7, 0), ("c", 5, 1))]
    assert_each(attacks, run_attacks(scene, attacks, caller=caller),
                lambda answer: answer.error == "EPERM")


@root_only
def test_a_node_in_the_scratch_directory_would_be_dead(scene):
    """All is off but nodev: the node can be made and not be opened."""
    answer = run_attack(scene, "mknod", "/tmp/node", "c", 1, 3,
                        without=("seccomp", "identity", "user-namespace", "landlock"))
    assert answer.line == "NOT EACCES open the node", answer


@callers
@pytest.mark.core
def test_the_device_directory_holds_what_it_should(scene, caller):
    answer = run_attack(scene, "list", "/dev", caller=caller)
    names = {name for name in answer.line.split()[1:] if not name.startswith(".")}
    assert names == {"null", "zero", "full", "random", "urandom", "pts", "ptmx", "shm", "fd",
                     "stdin", "stdout", "stderr"}


@callers
def test_the_devices_are_the_devices(caller):
    code = ("import os\n"
            "for name in 'null zero full random urandom'.split():\n"
            "    st = os.stat('/dev/' + name)\n"
            "    print(name, oct(st.st_mode), os.major(st.st_rdev), os.minor(st.st_rdev))\n")
    expected = "".join(f"{name} 0o20666 1 {minor}\n" for name, minor in
                       [("null", 3), ("zero", 5), ("full", 7), ("random", 8), ("urandom", 9)])
    assert support.python(code, caller=caller)["stdout"] == expected
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@callers
def test_a_device_of_the_host_is_not_there(scene, caller):
    attacks = [("open", f"/dev/{name}", "r") for name in (
        "tty", "console", "mem", "kmsg", "vda", "loop-control", "fuse", "kvm", "net/tun")]
    assert_each(attacks, run_attacks(scene, attacks, caller=caller),
                lambda answer: answer.error in ("ENOENT", "ENXIO"))


@callers
def test_terminals_are_private_to_the_run(caller):
    code = ("import os\n"
            "first, _ = os.openpty()\n"
            "print(sorted(os.listdir('/dev/pts')))\n")
    assert support.python(code, caller=caller)["stdout"] == "['0', 'ptmx']\n"


@callers
def test_terminals_are_limited_in_number(caller):
    code = ("import os\n"
            "made = 0\n"
            "try:\n"
            "    while made < 64: os.openpty(); made += 1\n"
            "except OSError as error: print(made, error.errno)\n")
    result = support.python(code, caller=caller)
    assert result["stdout"].split()[:1] == ["16"], result
