"""What the makers of sandboxes hand on from one to the next: memory, namespaces, descriptors, mounts, attributes."""
import collections
import contextlib
import ctypes
import itertools
import json
import os
import pathlib
import re

import pytest

import engine as engines
import support
from test_isolation import RUNS, lines, new_mark, parked, program

PROGRAMS = support.REPO / "tests/warm/programs"
NAMESPACES = ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup")
MADE_S = 90  # until newborn ones show whether they live


@pytest.fixture(scope="module", params=engines.callers())
def open_engine(request, place):
    """Of the test build: clients leave defences out, which this engine's own planner would not."""
    with engines.Engine(place / f"open-{request.param}", request.param, ["--warm", ""], hooks=True,
                        env={"SANDBOX_RUN_TEST_WITHOUT": "blueprint-check"}) as found:
        yield found


def without(*defences):
    return {"env": {"SANDBOX_RUN_TEST_WITHOUT": ",".join(defences)}}


# Memory


def test_the_probe_finds_a_mapping_that_is_shared(engine):
    (found,) = lines(parked(engine, "scribble.py", "own"))
    assert found.startswith("shared ")


@pytest.mark.core
def test_a_worker_shares_no_memory_with_the_next(engine):
    parked(engine, "scribble.py", "mark", new_mark())
    before = engine.status()
    for words in (["mark", new_mark()], ["harm"], ["harm"]):
        assert lines(parked(engine, "scribble.py", *words)) == set()
    for _ in range(RUNS):
        assert program(engine, "scribble.py", "mark", "m")["outcome"] == "exited"
    after = engine.status()
    makers = [{pool["key"]: pool["factory_pid"] for pool in status["pools"]} for status in (before, after)]
    assert makers[0] == makers[1] and before["died_total"] == after["died_total"], (before, after)


def test_a_mapping_that_is_left_shared_hands_marks_and_harm_on(open_engine):
    """The attack, where the defence is left out: the next run sees the mark, and newborn workers die."""
    marks, kwargs = [new_mark()[:16] for _ in range(2)], without("private-memory")
    assert lines(parked(open_engine, "scribble.py", "mark", marks[0], **kwargs))
    seen = lines(parked(open_engine, "scribble.py", "mark", marks[1], **kwargs))
    # Of whichever run came before: it takes several until one was parked.
    assert seen and all(any(mark in line for mark in marks) for line in seen)
    before = open_engine.status()["died_total"]
    parked(open_engine, "scribble.py", "harm", **kwargs)

    def some_died():
        program(open_engine, "scribble.py", "harm", **kwargs)
        status = open_engine.status()
        return status["died_total"] > before or any(pool["state"] == "failed" for pool in status["pools"])

    assert engines.within(MADE_S, some_died, engines.ASK_S), open_engine.status()


SHARED = {
    "bash": "while read -r line; do case $line in VmFlags*' sh '*) echo \"$line\";; esac; done < /proc/self/smaps",
    "javascript": "for (const line of require('fs').readFileSync('/proc/self/smaps', 'utf8').split('\\n'))\n"
                  "    if (/^VmFlags.* sh /.test(line)) console.log(line)",
}


@pytest.mark.parametrize("language", SHARED)
def test_no_runtime_that_waits_has_memory_that_is_shared(engine, language):
    if not support.have({"javascript": "node"}.get(language, language)):
        pytest.skip(f"there is no {language}")
    assert lines(engine.parked(lambda: engine.code(language, SHARED[language]))) == set()


RANDOM_BYTES = """import ctypes
find = ctypes.CDLL(None).getauxval
find.restype = ctypes.c_ulong
print(ctypes.string_at(find(25), 16).hex())
"""


def test_every_worker_has_random_bytes_of_its_own(engine, open_engine):
    def drawn(where, **kwargs):
        return [where.parked(lambda: where.python(RANDOM_BYTES, **kwargs))["stdout"] for _ in range(RUNS)]

    assert len(set(drawn(engine))) == RUNS
    assert len(set(drawn(open_engine, **without("own-random-bytes")))) == 1


def test_generators_that_are_not_drawn_anew_repeat_themselves(open_engine):
    """The attack on Node's randomness, where the defence is left out."""
    if not support.have("node"):
        pytest.skip("there is no javascript")
    kwargs = without("own-random-bytes")
    drawn = [open_engine.parked(lambda: open_engine.code("javascript", "console.log(Math.random())", **kwargs))["stdout"]
             for _ in range(2)]
    assert drawn[0] == drawn[1]


# Open files of Node's event loops: the kernel says whether two processes have the same one.

KCMP = {"x86_64": 312, "aarch64": 272}[os.uname().machine]
KCMP_FILE = 0


def have_same_file(one, other):
    """Of (process, descriptor) each."""
    return ctypes.CDLL(None, use_errno=True).syscall(KCMP, one[0], other[0], KCMP_FILE, one[1], other[1]) == 0


def open_files(pid):
    return [(pid, int(number)) for number in os.listdir(f"/proc/{pid}/fd")]


def shared_files(engine):
    """Pairs of open files that two Nodes of this engine have in common; one of them may be the zygote."""
    nodes = [pid for pid in engines.descendants(engine.process.pid) if (link(pid, "exe") or "").endswith("node")]
    assert len(nodes) > 2, nodes
    files = [open_files(pid) for pid in nodes]
    assert all(have_same_file(file, file) for file in files[0]), "this kernel cannot compare open files"
    return [(one, other) for pair in itertools.combinations(files, 2) for one, other in itertools.product(*pair)
            if have_same_file(one, other)]


@pytest.mark.container
@pytest.mark.skipif(os.geteuid() != 0 or not support.have("node"), reason="needs root, who may compare, and Node")
@pytest.mark.parametrize("defences", [(), ("own-descriptors",)], ids=["renewed", "left as they are"])
def test_two_nodes_share_no_open_file(place, defences):
    env = {"SANDBOX_RUN_TEST_WITHOUT": ",".join(("blueprint-check", *defences))}
    with engines.Engine(place / f"files{len(defences)}", engines.callers()[0], ["--warm", ""], hooks=True, env=env) as engine:
        engine.parked(lambda: engine.code("javascript", "0", env=env))
        engine.wait_full(MADE_S)
        assert bool(shared_files(engine)) == bool(defences)


# The network namespace


@pytest.mark.core
def test_no_network_namespace_is_used_twice(engine):
    cold = json.loads(program(engine, "net.py", new_mark()[:16], options=["--cold"])["stdout"])
    runs = [json.loads(parked(engine, "net.py", new_mark()[:16])["stdout"]) for _ in range(RUNS)]
    assert all(run["left"] == cold["left"] for run in runs)
    for run in runs:
        assert run["before"] == cold["before"]
    cookies = {run["cookie"] for run in runs}
    assert cookies == {None} or len(cookies) == RUNS, cookies


# Everything else that can be seen from outside


def link(pid, name):
    with contextlib.suppress(OSError):
        return os.readlink(f"/proc/{pid}/{name}")
    return None


def objects_of(pid):
    """What a process holds that another could share: pipes, sockets, other descriptors without a path, shared memory."""
    found = set()
    with contextlib.suppress(OSError):
        for number in os.listdir(f"/proc/{pid}/fd"):
            target = link(pid, f"fd/{number}") or ""
            # Anonymous inodes (eventfd, signalfd, pidfd) all have one number: those are not told apart.
            if re.match(r"(pipe|socket|mnt|net):|/memfd:|/dev/shm/", target):
                found.add((target, os.stat(f"/proc/{pid}/fd/{number}").st_ino))
        for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
            _, access, _, device, inode, *path = line.split(maxsplit=5)
            if access[1] == "w" and access[3] == "s":
                found.add((f"memory {device} {path}", int(inode)))
    return found


def written_mounts(pid):
    """File systems that can be written to where this process is; what is covered by another mount is out of reach."""
    found = {}
    with contextlib.suppress(OSError):
        for line in pathlib.Path(f"/proc/{pid}/mountinfo").read_text().splitlines():
            _, _, device, _, where, options, *rest = line.split()
            found[where] = (device, rest[rest.index("-") + 1], "rw" in options.split(","))
    return {(device, kind) for device, kind, writable in found.values() if writable}


def sandboxes(engine):
    """Processes of each sandbox, by their pid namespace.  Those of the engine and of the nurseries are left out."""
    status = engine.status()
    makers = {link(pid, "ns/pid") for pid in [engine.process.pid, *(pool["factory_pid"] for pool in status["pools"])]}
    found = collections.defaultdict(list)
    for pid in engines.descendants(engine.process.pid):
        place = link(pid, "ns/pid")
        if place and place not in makers:
            found[place].append(pid)
    return found


@pytest.mark.core
def test_two_sandboxes_that_wait_have_nothing_in_common(engine):
    """Namespaces, descriptors, shared memory, and file systems that can be written to."""
    parked(engine, "look.py", new_mark())
    engine.wait_parked("bash")
    engine.wait_full(MADE_S)
    held = {}
    for place, pids in sandboxes(engine).items():
        first = min(pids)
        held[place] = {f"{name} {link(first, f'ns/{name}')}" for name in NAMESPACES}
        held[place] |= set().union(*map(objects_of, pids)) | written_mounts(first)
    assert len(held) > 4 and all(len(things) > len(NAMESPACES) for things in held.values()), held
    for one, other in itertools.combinations(held, 2):
        assert not held[one] & held[other], (one, other)


@pytest.mark.parametrize("words", [["run", "--file"], ["exec"]], ids=["worker", "shell"])
def test_what_a_process_inherits_is_as_in_the_cold_path(engine, words):
    """Limits, signals, priorities, timers: also after a run that changed them."""
    def run(*options):
        if words == ["exec"]:
            return engine.result_of("exec", *options, "--", "python3", "-c", (PROGRAMS / "attributes.py").read_text())
        return engine.result_of(*words, PROGRAMS / "attributes.py", *options)

    cold = json.loads(run("--cold")["stdout"])
    for _ in range(3):
        assert json.loads(engine.parked(run)["stdout"]) == cold


# The place of a compiled program

WRITES = """#include <stdio.h>
#include <sys/stat.h>
int main(void)
{
    if (fopen("/build/more", "w")) puts("written");
    if (chmod("/build", 0777) == 0) puts("changed");
    return 0;
}
"""


@pytest.mark.skipif(not support.have("gcc"), reason="there is no C compiler")
def test_a_program_cannot_write_where_its_artifact_is(open_engine):
    """A mount and Landlock forbid it, each alone; without both it can.  Landlock knows no modes."""
    def done(*defences):
        return lines(open_engine.parked(lambda: open_engine.code("c", WRITES, **without(*defences))))

    assert done() == set()
    assert done("landlock") == set()
    assert "written" not in done("read-only-artifact")
    assert done("landlock", "read-only-artifact") == {"written", "changed"}
