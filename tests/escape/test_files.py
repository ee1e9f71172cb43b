"""The private root: threats 1 and 4.  No host file is read or written, by any kind of name."""
import os

import pytest

import support
from harness import (SECRET, Attack, assert_each, callers, proofs, root_only, run_attack, run_attacks,
                     run_outside)

ATTACKS = [
    Attack("reading a host file by its path", ("read", "{secret}"), ("mounts+program",),
           errors=("ENOENT",)),
    Attack("writing to a host file by its path", ("write", "{canary}", "x"),
           ("mounts+program", "landlock")),
    Attack("making a file in a host directory", ("write", "{data}/made", "x"),
           ("mounts+program", "landlock")),
    Attack("climbing out by dot-dot", ("climb", "{secret}"), ("mounts+program",),
           errors=("ENOENT",)),
    Attack("reading a host file through the root of a host process",
           ("read", "/proc/{victim}/root{secret}"),
           ("mounts+program", "landlock", "user-namespace", "identity")),
    Attack("writing to a volume", ("write", "{inside_data}/canary", "x"),
           ("mounts+program", "landlock")),
    Attack("making a volume writable by a remount, then writing",
           ("remount-write", "{inside_data}", "{inside_data}/canary", "x"), lasting=True,
           layers=("seccomp", "identity", "landlock"), also=("views",), errors=("EPERM",)),
    Attack("mounting over /tmp", ("mount", "/tmp"), ("seccomp", "identity", "landlock"),
           errors=("EPERM",), lasting=True),
    Attack("mounting by the new calls", ("mount-new-api", "/tmp"),
           ("seccomp", "identity", "landlock"), errors=("EPERM",), lasting=True),
    Attack("copying a mount tree", ("open-tree", "/usr"), ("seccomp", "identity"),
           errors=("EPERM",)),
    Attack("taking a mount away", ("unmask", "/dev/shm"), ("seccomp", "identity", "landlock"),
           errors=("EPERM",), lasting=True),
    Attack("changing the root", ("chroot", "/tmp"), ("seccomp", "identity"),
           also=("user-namespace",), errors=("EPERM",)),
    Attack("reaching a unix socket of the host by its path", ("unix", "{data}/socket"),
           ("mounts+program",), errors=("ENOENT",)),
]

(test_the_attack_fails_inside, test_one_layer_alone_stops_the_attack,
 test_the_attack_succeeds_without_the_layers) = proofs(ATTACKS)


def handle_of(scene):
    words = run_outside(scene, "make-handle", "{secret}").line.split()
    if words[0] != "GOT":
        pytest.skip("this file system gives no handles")
    return words[1], words[2]


HANDLE_LAYERS = ("seccomp", "identity", "user-namespace")


@callers
@pytest.mark.core
def test_a_file_handle_opens_no_file_outside(scene, caller):
    answer = run_attack(scene, "by-handle", *handle_of(scene), "{inside_data}", caller=caller)
    assert answer.error == "EPERM", answer


@root_only
@pytest.mark.parametrize("layer", HANDLE_LAYERS)
def test_one_layer_alone_stops_file_handles(scene, layer):
    without = tuple(name for name in (*HANDLE_LAYERS, "views") if name != layer)
    answer = run_attack(scene, "by-handle", *handle_of(scene), "{inside_data}", without=without)
    assert answer.error in ("EPERM", "EACCES"), answer


@root_only
def test_a_file_handle_opens_a_file_outside_without_the_layers(scene):
    answer = run_attack(scene, "by-handle", *handle_of(scene), "{inside_data}",
                        without=(*HANDLE_LAYERS, "views"))
    assert answer.line == f"GOT {SECRET}", answer


@callers
@pytest.mark.core
def test_the_root_holds_only_what_the_sandbox_put_there(scene, caller):
    answer = run_attack(scene, "list", "/", caller=caller)
    allowed = {"attacks", "bin", "data", "dev", "etc", "lib", "lib32", "lib64", "proc", "sbin",
               "tmp", "usr", "work"}
    assert set(answer.line.split()[1:]) <= allowed, answer


@callers
def test_a_host_path_does_not_exist_inside(scene, caller):
    attacks = [("list", path) for path in (
        "/home", "/root", "/run", "/var", "/sys", "/boot", "/opt", "/mnt", "/srv", "/media",
        "/sys/fs/cgroup", "/etc/shadow", "/etc/hostname", "/etc/machine-id", "/etc/ssl", "/etc/ssh")]
    assert_each(attacks, run_attacks(scene, attacks, caller=caller),
                lambda answer: answer.error == "ENOENT")


@callers
def test_the_user_table_is_not_the_hosts(scene, caller):
    result = support.result_of("exec", "--", "cat", "/etc/passwd", caller=caller)
    assert [line.split(":")[0] for line in result["stdout"].splitlines()] == [
        "root", "sandbox", "nobody"]


def assert_nothing_is_made(scene, paths, **kwargs):
    attacks = [("write", path, "x") for path in paths]
    assert_each(attacks, run_attacks(scene, attacks, **kwargs),
                lambda answer: answer.error in ("EROFS", "EACCES"))
    assert not [path for path in paths if os.path.exists(path)]


NOT_SCRATCH = ["/usr/sandbox-run-escape", "/etc/sandbox-run-escape", "/sandbox-run-escape",
               "/dev/sandbox-run-escape"]


@callers
def test_nothing_can_be_made_outside_the_scratch_directories(scene, caller):
    assert_nothing_is_made(scene, [*NOT_SCRATCH, "/etc/alternatives/sandbox-run-escape"], caller=caller)


@root_only
def test_the_mounts_are_read_only_even_without_landlock(scene):
    # The caller's uid owns the private root, so only the mount's own flag is left to refuse.
    assert_nothing_is_made(scene, NOT_SCRATCH, without=("landlock",))


@callers
def test_what_is_written_inside_is_gone_with_the_run(scene, caller):
    names = [f"{directory}/sandbox-run-escape" for directory in ("/work", "/tmp", "/dev/shm")]
    writes, reads = [("write", name, "x") for name in names], [("read", name) for name in names]
    assert_each(writes, run_attacks(scene, writes, caller=caller), lambda answer: answer.got)
    assert not [name for name in names if os.path.exists(name)]
    assert_each(reads, run_attacks(scene, reads, caller=caller), lambda answer: answer.error == "ENOENT")


@callers
def test_times_of_the_hosts_device_nodes_cannot_be_set(scene, caller):
    """They are the host's own inodes: a time stamp would outlive the run, and tell the next one."""
    before = os.stat("/dev/null")
    answer = run_attack(scene, "touch", "/dev/null", caller=caller)
    after = os.stat("/dev/null")
    assert answer.error in ("EROFS", "EACCES", "EPERM"), answer
    assert (before.st_mtime_ns, before.st_ctime_ns) == (after.st_mtime_ns, after.st_ctime_ns)
