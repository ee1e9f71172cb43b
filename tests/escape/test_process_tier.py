"""The tier without namespaces: the user's other files, processes and objects stay out of reach."""
import contextlib
import os
import shutil
import subprocess
import tempfile

import pytest

import harness
import no_userns
import process_tier
from process_tier import (ABI, BOTH, FILTER, KERNEL, RULES, SCOPED, TCP, TRUNCATION, Attack, proofs,
                          try_all)
from support import DEADLINE, Callers

pytestmark = process_tier.needs_landlock

SETUID_LAYERS = ("no-new-privs", "landlock", "seccomp")


@pytest.fixture(scope="module")
def machine(room):
    with tempfile.TemporaryDirectory(dir=room) as folder:
        os.chmod(folder, 0o755)
        with no_userns.machine(folder) as made:
            yield made


@pytest.fixture
def neighbourhood(machine, scene, room):
    with tempfile.TemporaryDirectory(dir=room) as folder:
        os.chmod(folder, 0o755)
        yield from process_tier.make_neighbourhood(machine, scene, folder)


def change(way, layers, path="{secret}"):
    return Attack(f"{way} {path.strip('{}').replace('}', '')}", ("change-file", way, path), layers)


FILES = (
    Attack("read a file", ("read", "{secret}"), RULES),
    Attack("read a file by climbing", ("climb", "{secret}"), RULES),
    Attack("write a file", ("write", "{secret}", "x"), RULES),
    Attack("open a file for both", ("open", "{secret}", "rw"), RULES),
    Attack("list a directory", ("list", "{house}"), RULES),
    Attack("list the directories of other runs", ("open", "{places}", "r"), RULES),
    Attack("list the root", ("list", "/"), RULES),
    Attack("read who the users are", ("read", "/etc/passwd"), RULES),
    *(change(way, RULES) for way in (
        "create", "mkdir", "fifo", "symlink", "unlink", "rename", "take", "replace", "exchange",
        "link", "link-out", "open-empty")),
    *(change(way, BOTH) for way in ("fchmod", "fchown", "futimens", "read-empty")),
    *(change(way, FILTER) for way in (
        "mode-3", "old-mode-3", "mode-3-chmod", "openat2", "chmod", "fchmodat", "chown", "lchown",
        "fchownat", "utime", "utimes", "futimesat", "utimensat", "setxattr", "getxattr",
        "listxattr", "watch")),
    change("truncate", TRUNCATION),
    change("mode-3-empty", TRUNCATION),
    *(change(way, FILTER) for way in ("fchmodat2", "path-descriptor") if KERNEL >= (6, 6)),
    # A read-only volume is a mount in the other tiers; here it is only not to be written.
    Attack("write a file of a volume", ("write", "{shared}/file", "x"), RULES),
    *(change(way, RULES, "{shared}/file") for way in ("create", "unlink", "replace", "link")),
    *(change(way, FILTER, "{shared}/file") for way in ("chmod", "fchmod", "fchown", "futimens",
                                                      "utimensat", "setxattr")),
    change("read-empty", TRUNCATION, "{shared}/file"),
)

PROCESSES = (
    Attack("list processes", ("processes",), RULES),
    *(Attack(f"open {name} of a process", ("proc-of", "{victim}", name), RULES)
      for name in ("cmdline", "environ", "mem", "maps", "fd", "status", "root/etc/passwd")),
    *(Attack(f"follow {name} of a process", ("proc-of", "{victim}", name, "link"), RULES)
      for name in ("exe", "cwd", "fd/0")),
    Attack("trace a process", ("ptrace", "{victim}"), BOTH),
    Attack("read a process's memory", ("memory-of", "r", "{victim}"), BOTH),
    Attack("write a process's memory", ("memory-of", "w", "{victim}"), BOTH),
    Attack("take a process's descriptor", ("steal-descriptor", "{victim}", "0"), BOTH),
    Attack("limit a process", ("limit-other", "{victim}"), FILTER),
    Attack("make a process nice", ("renice", "{victim}"), FILTER),
    *(Attack(f"schedule a process by {way}", ("schedule", way, "{victim}"), FILTER)
      for way in ("priority", "group-priority", "affinity", "scheduler", "param", "attributes",
                  "io")),
    Attack("trace init", ("ptrace", "parent"), BOTH, ("undumpable",)),
    Attack("read init's memory", ("memory-of", "r", "parent"), BOTH, ("undumpable",)),
    Attack("open init's memory", ("proc-of", "parent", "mem"), RULES, ("undumpable",)),
    Attack("take init's channel", ("steal-descriptor", "parent", "3"), BOTH, ("undumpable",)),
    Attack("find init's channel", ("proc-of", "parent", "fd/3", "link"), RULES, ("undumpable",)),
    Attack("signal init", ("kill", "parent", "0"), BOTH if ABI >= 6 else FILTER),
    Attack("limit init", ("limit-other", "parent"), FILTER),
)

MEETINGS = (
    Attack("connect over TCP", ("tcp", "127.0.0.1", "{port}"), TCP),
    Attack("connect over TCP 6", ("tcp6", "::1", "{port6}"), TCP),
    Attack("listen on a port", ("listen",), TCP),
    Attack("send over UDP", ("udp", "127.0.0.1", "9", "x"), FILTER),
    Attack("meet on an abstract name", ("abstract", "{abstract}"), SCOPED),
    Attack("meet on a path", ("unix", "{socket}"), FILTER),
    Attack("send a datagram from a pair", ("datagram", "{datagrams}"), FILTER),
    Attack("ask netlink", ("socket", "16", "3", "0"), FILTER),
    Attack("look at the user's keys", ("keyctl",), FILTER),
    Attack("add a key", ("add-key",), FILTER),
    *([Attack("ask a terminal's driver", ("terminal-ioctl", "0x541c"), BOTH)] if os.path.exists("/dev/pts/ptmx") else []),
    Attack("set up a ring", ("io-uring",), FILTER),
    Attack("set up asynchronous reads", ("aio",), FILTER),
)

(test_the_attack_on_files_fails, test_one_layer_alone_keeps_the_files,
 test_the_attack_on_files_works_without_the_layers) = proofs(FILES)
(test_the_attack_on_processes_fails, test_one_layer_alone_keeps_the_processes,
 test_the_attack_on_processes_works_without_the_layers) = proofs(PROCESSES)
(test_the_meeting_fails, test_one_layer_alone_stops_the_meeting,
 test_the_meeting_works_without_the_layers) = proofs(MEETINGS)

SIGNALS = ("kill", "group", "tkill", "tgkill", "sigqueue", "tgsigqueue", "pidfd", "setown",
           "setown-ex", "fiosetown", "siocspgrp")


SIGNAL_ATTACKS = [Attack(way, ("signal-by", way, "{victim}"), BOTH) for way in SIGNALS]


@pytest.mark.core
@harness.callers
def test_no_signal_reaches_another_process(neighbourhood, caller):
    harness.assert_none([f"{attack.sentence}: {answer}" for attack, answer, untouched in
                         try_all(neighbourhood, SIGNAL_ATTACKS, caller=caller) if not untouched])


@pytest.mark.parametrize("layer", SCOPED)
def test_one_layer_alone_keeps_signals_inside(neighbourhood, layer):
    tried = try_all(neighbourhood, SIGNAL_ATTACKS, lambda attack: attack.without(keep=layer))
    harness.assert_none([f"{attack.sentence}: {answer}" for attack, answer, untouched in tried if not untouched])


def test_a_signal_arrives_without_the_layers(neighbourhood):
    tried = try_all(neighbourhood, SIGNAL_ATTACKS, Attack.without)
    harness.assert_none([f"{attack.sentence}: {answer}" for attack, answer, untouched in tried
                         if untouched or not answer.got])


# Landlock looks at queues because they are files of a file system that has no place in the tree.
OBJECTS = {"shm": ("0x5b720001", FILTER), "sem": ("0x5b720002", FILTER),
           "msg": ("0x5b720003", FILTER), "queue": ("/sandbox-run-escape-tier", BOTH)}


@contextlib.contextmanager
def held(neighbourhood, kind):
    """An object of the user's, held by a process outside."""
    holder = neighbourhood.outside("hold", kind, OBJECTS[kind][0])
    try:
        assert holder.stdout.readline().startswith(b"READY")
        yield
    finally:
        holder.communicate(timeout=DEADLINE)


@pytest.fixture
def all_held(neighbourhood):
    with contextlib.ExitStack() as stack:
        for kind in OBJECTS:
            stack.enter_context(held(neighbourhood, kind))
        yield [Attack(f"find {kind}", ("find", kind, name), layers) for kind, (name, layers) in OBJECTS.items()]


@pytest.mark.core
@harness.callers
def test_an_object_of_the_users_is_not_found(neighbourhood, all_held, caller):
    tried = try_all(neighbourhood, all_held, caller=caller)
    harness.assert_none([f"{attack.sentence}: {answer}" for attack, answer, _ in tried if not answer.error])


def test_an_object_is_found_without_the_layers(neighbourhood, all_held):
    tried = try_all(neighbourhood, all_held, Attack.without)
    harness.assert_none([f"{attack.sentence}: {answer}" for attack, answer, _ in tried if not answer.got])


def test_no_object_can_be_left_for_others(neighbourhood):
    attacks = [("hold", kind, name) for kind, (name, _) in OBJECTS.items()]
    harness.assert_each(attacks, neighbourhood.attacks(attacks), lambda answer: answer.error)


@pytest.fixture
def setuid_attacker(neighbourhood):
    """The attacker as a program that makes root of whoever executes it."""
    if os.geteuid() != 0:
        pytest.skip("only root can make such a program")
    path = neighbourhood.house.shared / "setuid"
    shutil.copy(neighbourhood.scene.tools / "attack", path)
    path.chmod(0o4755)
    return path


def run_setuid(neighbourhood, program, caller=Callers.USER, without=()):
    env = {"SANDBOX_RUN_TEST_WITHOUT": ",".join(without)} if without else None
    result = neighbourhood.machine.result_of(
        "exec", *neighbourhood.volumes(), "--", program, "am-i-root", caller=caller,
        hooks=bool(without), env=env)
    return result["stdout"]


@pytest.mark.core
@harness.callers
def test_a_setuid_program_gives_nothing(neighbourhood, setuid_attacker, caller):
    assert run_setuid(neighbourhood, setuid_attacker, caller).startswith("NOT")


def test_a_setuid_program_makes_root_without_the_layers(neighbourhood, setuid_attacker):
    assert run_setuid(neighbourhood, setuid_attacker, without=SETUID_LAYERS).startswith("GOT")


@pytest.mark.core
@harness.callers
def test_no_descriptor_is_inherited(neighbourhood, caller):
    with open("/etc/passwd", "rb") as ours:
        os.set_inheritable(ours.fileno(), True)
        assert neighbourhood.attack("descriptors", caller=caller).error == "EBADF"


def supervised_attack(neighbourhood, *words, without=()):
    """The attacker's last word is the supervisor's pid: the shell's, which executes the tool."""
    env = {"SANDBOX_RUN_TEST_WITHOUT": ",".join(without)} if without else None
    machine = neighbourhood.machine
    line = machine.command(*neighbourhood.arguments(words), hooks=bool(without))
    done = subprocess.run(["sh", "-c", 'exec "$@" $$', "sh", *line], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, timeout=DEADLINE, check=False,
                          env=machine.environment(env))
    return done.stdout.decode()


SUPERVISOR = (("ptrace",), ("memory-of", "r"), ("memory-of", "w"), ("limit-other",),
              ("signal-by", "pidfd"), ("signal-by", "kill"))


@pytest.mark.core
@pytest.mark.parametrize("words", SUPERVISOR, ids=" ".join)
def test_the_supervisor_is_out_of_reach(neighbourhood, words):
    assert supervised_attack(neighbourhood, *words).startswith("NOT")


@pytest.mark.parametrize("words", SUPERVISOR[:4], ids=" ".join)
def test_the_supervisor_is_reached_without_the_layers(neighbourhood, words):
    said = supervised_attack(neighbourhood, *words, without=BOTH)
    assert said.startswith("GOT"), said


def test_landlock_is_asked_for_what_the_kernel_has(neighbourhood):
    """All that the kernel can refuse is refused: no newer right is forgotten."""
    plan = neighbourhood.machine.result_of("plan", "--lang", "python", "--code", "1")
    assert plan["landlock"]["abi"] == ABI
