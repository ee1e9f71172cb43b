"""A copy of a Python session is its kernel's memory in a sandbox of its own: nothing is shared afterwards."""
import json
import os
import signal
import socket
import time

import pytest
from sessions import Session, own_state
from support import sandbox_run
from waiting import SOON, wait_until


class Copied:
    """A session and its copy; each is used by a name."""

    def __init__(self, session):
        self.session = session
        self.made = session.json("fork", session.id)
        assert "id" in self.made, self.made
        self.id = self.made["id"]

    def cell(self, code, *options):
        return self.session.json("exec", self.id, "--code", code, *options)

    def value(self, code):
        return self.cell(code)["display"][-1]["text/plain"]

    def supervisor(self):
        return json.loads((self.session.state / "sessions" / self.id / "session.json").read_text())["pid"]

    def close(self):
        assert self.session.run("close", self.id).returncode == 0


@pytest.fixture
def session(tmp_path, any_caller):
    made = Session(own_state(tmp_path, any_caller), caller=any_caller)
    yield made
    made.close()


@pytest.fixture
def copied(session):
    """A session that has more than replaying its cells would make again, and its copy."""
    session.cell("import os, sys, random, time, json\nborn = time.time_ns(); chance = random.random()\n"
                 "class Point:\n    def __init__(self, x): self.x = x\n"
                 "points = [Point(n) for n in range(20000)]; big = bytearray(os.urandom(4 << 20))\n"
                 "log = open('log', 'w+'); log.write('one'); log.flush()\n"
                 "def walk():\n    yield from range(9)\n"
                 "walker = walk(); next(walker)")
    made = Copied(session)
    assert made.made["by"] == "fork", made.made
    yield made
    made.close()


def processes_below(pid):
    """The processes that a supervisor has made, with their children."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                    parents[int(name)] = int(file.read().rpartition(")")[2].split()[1])
            except OSError:
                pass
    found = {pid}
    while more := {one for one, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {pid}


def links(pids, folder, names=None):
    """What these processes have: (text, device, inode)."""
    found = set()
    for pid in pids:
        for name in names or os.listdir(f"/proc/{pid}/{folder}"):
            try:
                path = f"/proc/{pid}/{folder}/{name}"
                found.add((os.readlink(path), os.stat(path).st_dev, os.stat(path).st_ino))
            except OSError:
                pass
    return found


def test_a_copy_is_the_same_process_and_not_its_cells_again(session, copied):
    assert (copied.made["by"], copied.made["replayed"], copied.made["of"]) == ("fork", 0, session.id)
    assert copied.made["not_covered"] == ["threads", "sockets", "children"]
    same = "born, chance, len(points), points[-1].x, hash(bytes(big)), log.tell(), sys.getrefcount(points[7]), os.getcwd()"
    assert copied.value(same) == session.value(same)
    assert copied.value("next(walker)") == session.value("next(walker)") == "1"
    assert copied.value("_ + 41") == "42", "the last value is there, too"
    info = session.json("info", copied.id)
    assert (info["cells"], info["state"]) == (4, "ready")
    assert session.run("export", copied.id, "--format", "py").stdout.count(b"next(walker)") == 2


def test_a_copy_has_the_history_of_its_session(session):
    """Cells of a kernel before a restart are recorded, and are no part of the state."""
    session.cell("before = 1")
    assert session.run("restart", session.id).returncode == 0
    session.cell("x = 1")
    session.cell("x = 2")
    session.run("rollback", session.id, "3")
    session.cell("y = 5")
    copy = Copied(session)
    assert copy.made["by"] == "fork" and copy.value("x, y") == "(1, 5)"
    exported = [session.run("export", one, "--format", "py").stdout for one in (session.id, copy.id)]
    assert exported[1] == exported[0] + b"x, y\n" and b"x = 2" not in exported[1]
    back = session.json("rollback", copy.id, "3")
    assert back["by"] == "replay" and back["replayed"] == 1, back
    assert copy.value("x, 'y' in globals(), 'before' in globals()") == "(1, False, False)"
    copy.close()


def test_what_a_library_does_after_a_fork_it_does_in_the_copy(session):
    """In the original it does what it does in the parent; many files come along."""
    session.cell("import os; seen = []; os.mkdir('d'); [open(f'd/{n}', 'w').write(str(n)) for n in range(300)]\n"
                 "os.register_at_fork(before=lambda: seen.append('before'),\n"
                 "                    after_in_parent=lambda: seen.append('parent'),\n"
                 "                    after_in_child=lambda: seen.append(os.readlink('/proc/self/ns/pid')))")
    copy = Copied(session)
    assert copy.made["by"] == "fork", copy.made
    assert session.value("seen") == "['before', 'parent']"
    look = "seen == ['before', os.readlink('/proc/self/ns/pid')], sum(int(open(f'd/{n}').read()) for n in range(300))"
    assert copy.value(look) == "(True, 44850)"
    copy.close()


def test_a_copy_goes_its_own_way(session, copied):
    copied.cell("points.clear(); big[:4] = b'copy'; log.write('-copy'); log.flush(); open('/tmp/of-copy', 'w').close()")
    session.cell("big[:4] = b'orig'; log.write('-first'); log.flush()")
    assert session.value("len(points), bytes(big[:4]), open('log').read(), os.listdir('/tmp')") == \
        "(20000, b'orig', 'one-first', [])"
    assert copied.value("len(points), bytes(big[:4]), open('log').read()") == "(0, b'copy', 'one-copy')"
    assert session.value("random.random()") != copied.value("random.random()")


def test_a_copy_is_a_whole_kernel(session, copied):
    """Threads, deep calls, much memory, children, saved states, and copies of the copy."""
    assert copied.value("import threading, subprocess; found = []; one = threading.Thread(target=found.append, args=(1,)); "
                        "one.start(); one.join(); found") == "[1]"
    assert copied.value("def deep(n): return n and 1 + deep(n - 1)\nsys.setrecursionlimit(9000); deep(8000)") == "8000"
    assert copied.value("lists = [[n] * 50 for n in range(100000)]; sum(map(len, lists))") == "5000000"
    assert copied.value("subprocess.run(['echo', 'child'], capture_output=True).stdout") == "b'child\\n'"
    late = copied.cell("while True: pass", "--timeout", "300ms")
    assert (late["outcome"], late["session"]) == ("timeout", "kept")
    assert session.json("checkpoint", copied.id)["by"] == "fork"
    copied.cell("chance = None")
    back = session.json("rollback", copied.id, str(session.json("info", copied.id)["cells"]))
    assert back.get("by") == "fork", back
    assert copied.value("chance") == session.value("chance")
    third = session.json("fork", copied.id)
    try:
        assert third["by"] == "fork"
        look = ("nested = []\nfor _ in range(5000): nested = [nested]\n"
                "sys.setrecursionlimit(20000); len(lists), chance, len(repr(nested))") # needs megabytes of stack
        assert session.json("exec", third["id"], "--code", look)["display"][0]["text/plain"] == copied.value(look)
    finally:
        assert session.run("close", third["id"]).returncode == 0


def test_a_copy_shares_nothing_with_its_original(session, copied):
    """Seen from outside: no namespace, no cgroup, no pipe, socket or memory file is in both."""
    session.cell("pass"), copied.cell("pass")
    here, there = processes_below(session.supervisor()), processes_below(copied.supervisor())
    assert here and there and not here & there
    names = ["user", "mnt", "pid", "net", "ipc", "uts", "cgroup"]
    inside = [{one for one in pids if os.readlink(f"/proc/{one}/ns/pid") != os.readlink("/proc/self/ns/pid")}
              for pids in (here, there)]
    assert all(inside)
    common = links(inside[0], "ns", names) & links(inside[1], "ns", names)
    assert not common, common
    open_in = [{link for link in links(pids, "fd") if link[0].startswith(("pipe:", "socket:", "/memfd:"))} for pids in inside]
    assert not open_in[0] & open_in[1], open_in[0] & open_in[1]
    groups = []
    for pids in inside:
        with open(f"/proc/{min(pids)}/cgroup", encoding="utf-8") as file:
            groups.append({line.split(":", 2)[2] for line in file if "memory" in line or line.startswith("0::")} - {"/\n"})
    assert not groups[0] & groups[1], groups
    shared = [set(), set()]
    for pids, found in zip(inside, shared):
        for pid in pids:
            with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
                found |= {tuple(line.split()[3:5]) for line in file if line.split()[1][1::2] == "ws"}
    assert not shared[0] & shared[1], "a writable page is in both"


ATTACK = """
import os, signal, socket, glob
found = []
for number in range(2, 400):
    try:
        os.kill(number, 0)
        with open(f"/proc/{number}/environ", "rb") as file: file.read()
        with open(f"/proc/{number}/cmdline", "rb") as file: found.append(file.read()[:40])
    except OSError: pass
names = []
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
    try:
        one = socket.socket(socket.AF_UNIX, kind); one.connect("\\0of-the-other"); names.append("reached")
    except OSError as error: names.append(error.errno and "refused")
try: os.write(kept_pipe, b"x"); piped = "written"
except OSError: piped = "refused"
os.path.exists("/tmp/only-there"), os.path.exists("/dev/shm/only-there"), names, piped, len(found)
"""


def test_neither_side_reaches_the_other(session):
    session.cell("import os, socket, threading\nkept_read, kept_pipe = os.pipe(); pair = socket.socketpair()\n"
                 "os.write(kept_pipe, b'first')")
    copied = Copied(session)
    try:
        assert copied.made["by"] == "fork"
        listens = ("s = [socket.socket(socket.AF_UNIX, k) for k in (socket.SOCK_STREAM, socket.SOCK_DGRAM)]\n"
                   "for one in s: one.bind('\\0of-the-other')\ns[0].listen()\n"
                   "open('/tmp/only-there', 'w').close(); open('/dev/shm/only-there', 'w').close()")
        copied.cell(listens)
        at_first = session.value(ATTACK)
        assert at_first.startswith("(False, False, ['refused', 'refused'], 'written', "), "that pipe is its own"
        assert session.value("os.read(kept_read, 99)") == "b'firstx'"
        session.cell("os.remove('/tmp/only-there')" if "True" in at_first else "pass")
        copied.cell("for one in s: one.close()\nos.remove('/tmp/only-there'); os.remove('/dev/shm/only-there')")
        session.cell(listens)
        at_copy = copied.value(ATTACK)
        assert at_copy.startswith("(False, False, ['refused', 'refused'], "), at_copy
        assert copied.cell("os.read(kept_read, 9)")["display"][0]["text/plain"] == "b''", "a place holder, no pipe"
        assert session.cell("pair[0].send(b'hello'); pair[1].recv(9)")["success"]
        assert not copied.cell("pair[0].send(b'hello')")["success"]
    finally:
        copied.close()


def test_limits_hold_for_each(tmp_path, any_caller):
    session = Session(own_state(tmp_path, any_caller), "--memory", "256m", "--pids", "40", caller=any_caller)
    try:
        session.cell("import os\nbig = os.urandom(100 << 20)")
        copied = Copied(session)
        assert copied.made["by"] == "fork"
        assert session.json("metrics", copied.id)["memory_bytes"] > 100 << 20, "its memory counts for itself"
        assert copied.cell("more = os.urandom(300 << 20)")["session"] == "lost"
        assert session.value("len(big)") == str(100 << 20), "only the copy has ended"
        copied.close()
    finally:
        session.close()


def test_a_copy_outlives_its_original_killed_or_closed(tmp_path, any_caller):
    session = Session(own_state(tmp_path, any_caller), caller=any_caller)
    session.cell("x = 41")
    first, second = Copied(session), Copied(session)
    assert session.run("close", first.id).returncode == 0
    os.kill(session.supervisor(), signal.SIGKILL)
    wait_until(lambda: session.listed()[session.id]["state"] == "lost")
    session.close()
    assert second.value("x + 1") == "42"
    second.close()


@pytest.mark.parametrize("code, because", [
    ("import threading; threading.Thread(target=threading.Event().wait, daemon=True).start()",
     "a state with threads cannot be copied"),
    ("import mmap; shared = mmap.mmap(-1, 4096)", "this memory cannot be copied"),
    ("import sys; sys.modules['ctypes'] = None", "ModuleNotFoundError"),
])
def test_what_cannot_be_copied_is_executed_again(session, code, because):
    """At once: the copy waits for no deadline, because the kernel closes the pipes that it does not use."""
    session.cell(code)
    session.cell("x = 42")
    began = time.monotonic()
    copied = Copied(session)
    assert time.monotonic() - began < SOON
    assert (copied.made["by"], copied.made["replayed"]) == ("replay", 2) and because in copied.made["because"], copied.made
    assert copied.value("x") == session.value("x") == "42"
    copied.close()


HOSTILE = """
import os, struct
def forged(pipe, *_):
    pid, data = os.fork(), {data}
    if pid:
        return pid
    try:
        os.write(pipe, data)
        {after}
    finally:
        os._exit(0)
import gc
for thing in gc.get_objects():
    if type(thing).__name__ == "Checkpoints":
        class Forged:
            fork = staticmethod(forged)
        thing.memory = Forged()
"""


@pytest.mark.parametrize("data, after", [
    ("b'nonsense' * 999", "pass"),
    ("struct.pack('<Q', 0x31796e6f69737365) + b'\\xff' * 9000", "pass"),
    ("struct.pack('<Q', 0x31796e6f69737365) + bytes(9000)", "pass"),
])
def test_a_forged_memory_harms_nobody(session, data, after):
    """A cell can write what it likes in place of its memory.  The loader ends, and the cells are executed again."""
    session.cell("x = 42")
    session.cell(HOSTILE.format(data=data, after=after))
    copied = Copied(session)
    assert copied.made["by"] == "replay"
    assert session.value("x") == copied.value("x") == "42"
    copied.close()
    assert sandbox_run("session", "list", "--json", env=session.env, caller=session.caller).returncode == 0


def test_a_child_forked_during_a_pause_goes_on(session):
    """Everything stands still while files are saved.  Linux gives a child that is just being made the stop alone."""
    session.cell("import subprocess, os\nforks = subprocess.Popen(['sh', '-c', 'while :; do ( : ); done'])")
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(session.state / "sessions" / session.id / "socket"))
        lines = client.makefile("rb")
        for _ in range(60):
            client.sendall(b'{"op":"checkpoint"}\n')
            assert json.loads(lines.readline())["type"] == "answer"
    found = session.value("import time\nlook = lambda: [line for line in (open(f'/proc/{n}/stat').read() for n in "
                          "os.listdir('/proc') if n.isdigit() and os.path.exists(f'/proc/{n}/stat')) if ') T ' in line]\n"
                          "forks.kill(); forks.wait(); end = time.monotonic() + 10\n"
                          "while look() and time.monotonic() < end: pass\nlook()")
    assert found == "[]"
