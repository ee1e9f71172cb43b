"""Cells that lay out their memory, or change their process, against a copy: it is made, or the cells are executed again."""
import json
import time

import pytest
from sessions import Session, own_state
from support import sandbox_run
from waiting import SOON

C = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
PRIVATE, AT, LOADER = 0x22, 0x100022, 1 << 34
NONE, READ, WRITE = 0, 1, 3
def place(address, size, prot, flags=AT):
    made = libc.mmap(address, size, prot, flags, -1, 0)
    assert made not in (None, ctypes.c_size_t(-1).value), os.strerror(ctypes.get_errno())
    return made
"""
# A filter that ends a process which gives pages to a pipe.
FILTER = """
import struct
rules = ctypes.create_string_buffer(struct.pack("<HBBI", 0x20, 0, 0, 0) + struct.pack("<HBBI", 0x15, 0, 1, 278)
                                    + struct.pack("<HBBI", 6, 0, 0, 0x80000000) + struct.pack("<HBBI", 6, 0, 0, 0x7fff0000))
program = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", 4, ctypes.addressof(rules)))
assert libc.prctl(22, 2, program, 0, 0) == 0
"""
# What a cell does: how the copy is made (None: in either way), and what both then show.
CELLS = {
    "memory that it has forbidden itself": (
        "hidden = place(None, 1 << 16, WRITE, PRIVATE); ctypes.memset(hidden, 65, 1 << 16); libc.mprotect(hidden, 1 << 16, NONE)",
        "fork", "libc.mprotect(hidden, 1 << 16, READ), ctypes.string_at(hidden + 5000, 3)", "(0, b'AAA')"),
    "mappings where the loader would be": (
        "near = [place(LOADER - 4096, 4096, WRITE), place(2 * LOADER, 4096, WRITE), place(3 * LOADER + 8192, 4096, WRITE),\n"
        "        place(0x10000, 4096, WRITE), place(0x7f0000000000, 4096, WRITE)]\nfor one in near: ctypes.memset(one, 66, 4096)",
        "fork", "[ctypes.string_at(one, 2) for one in near]", str([b"BB"] * 5)),
    "more mappings than there may be": (
        "many = [place(None, 4096, (READ, WRITE)[n % 2], PRIVATE) for n in range(20000)]", "replay", "len(many)", "20000"),
    "a mapping over nearly all addresses": ("place(LOADER, 1 << 46, NONE, AT | 0x4000)", "replay", "1", "1"),
    "memory that is shared": (
        "import mmap; fd = os.memfd_create('m'); os.ftruncate(fd, 4096); shared = mmap.mmap(fd, 4096); shared[:1] = b's'",
        "replay", "shared[:1]", "b's'"),
    "a file that became shorter below its mapping": (
        "import mmap\nwith open('short', 'wb') as f: f.write(bytes(8192))\n"
        "file = open('short', 'r+b'); cut = mmap.mmap(file.fileno(), 8192, flags=mmap.MAP_PRIVATE); os.truncate('short', 0)",
        None, "os.path.getsize('short')", "0"),
    "a filter that ends the writer": (FILTER, "replay", "1", "1"),
    "a process that cannot be looked at": ("libc.prctl(4, 0, 0, 0, 0)", None, "1", "1"),
    "a name of any bytes": ("libc.prctl(15, b'[vdso]\\xff\\n', 0, 0, 0)", "fork", "1", "1"),
    "few descriptors": ("import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (4, 4))", None, "1", "1"),
    "a library that maps memory at a fork": (
        "call = ctypes.CFUNCTYPE(None)(lambda: place(None, 1 << 20, WRITE, PRIVATE))\n"
        "assert libc.__register_atfork(call, None, None, None) == 0", "replay", "1", "1"),
    "a thread that Python does not know": (
        "import _thread, time; _thread.start_new_thread(time.sleep, (1000,))", "fork", "1", "1"),
    "a thread that writes all the time": (
        "import _thread; size = 16 << 20; big = bytearray(size); at = (ctypes.c_char * size).from_buffer(big)\n"
        "def write():\n    for n in range(1 << 30): libc.memset(at, n % 256, size)\n_thread.start_new_thread(write, ())",
        "fork", "1", "1"),
    "another directory and mask": (
        "os.mkdir('deep'); os.chdir('deep'); os.umask(0o27)", "fork", "os.getcwd()[-5:], os.umask(0o27)", "('/deep', 23)"),
    "a directory that is gone": ("os.mkdir('gone'); os.chdir('gone'); os.rmdir('/work/gone')", None, "1", "1"),
    "files that change all the time": (
        "import subprocess; busy = subprocess.Popen(['sh', '-c', 'while :; do echo x > a; mv a b; mkdir -p c/d; rm -r c; done'])",
        None, "1", "1"),
    "names that become links, pipes and directories": (
        "import subprocess; busy = subprocess.Popen(['sh', '-c', 'while :; do ln -s /proc/self/fd/0 a; rm a; mkfifo a; rm a; "
        "mkdir a; rmdir a; ln -s /etc b; mv b a; rm a; echo x > a; rm a; done'])", None, "1", "1"),
    "descriptors of what is gone": (
        "import socket; os.makedirs('d/e'); held = os.open('d/e', os.O_RDONLY); os.removedirs('d/e')\n"
        "file = open('gone', 'w+'); file.write('x'); file.flush(); os.unlink('gone'); open('gone (deleted)', 'w').close()\n"
        "os.mkfifo('fifo'); fifo = os.open('fifo', os.O_RDWR); os.unlink('fifo'); pair = socket.socketpair(); memory = os.memfd_create('m')",
        "fork", "len({os.fstat(fd).st_dev * 1000003 + os.fstat(fd).st_ino for fd in (held, fifo, memory)}) > 0, "
        "sorted(os.listdir('.'))", "(True, ['gone (deleted)'])"),
}


@pytest.fixture(name="session")
def own_session(tmp_path, root):
    made = Session(own_state(tmp_path, root), "--memory", "300m", caller=root)
    yield made
    made.close()


@pytest.mark.parametrize("name", list(CELLS))
def test_a_hostile_cell_is_copied_or_executed_again(session, name):
    code, by, look, shown = CELLS[name]
    assert session.cell("x = 41")["success"]
    result = session.cell(C + code)
    assert result["success"], result["stderr"]
    began = time.monotonic()
    made = session.json("fork", session.id)
    assert time.monotonic() - began < SOON and by in (None, made.get("by")), made
    assert made["by"] == "fork" or by is None or made["because"], made
    try:
        for one in (session.id, made["id"]):
            values = [session.json("exec", one, "--code", text)["display"][-1]["text/plain"] for text in (look, "x + 1")]
            assert values == [shown, "42"], one
    finally:
        assert session.run("close", made["id"]).returncode == 0


def test_a_writer_that_stops_is_waited_for_so_long(session):
    """The one that would write its memory stops before it does: the deadline of the copy ends the wait."""
    session.cell("import os; x = 42; os.register_at_fork(after_in_child=lambda: os.kill(os.getpid(), 19))")
    made = session.json("fork", session.id)
    assert made["by"] == "replay" and "not ready in time" in made["because"], made
    for one in (session.id, made["id"]):
        assert session.json("exec", one, "--code", "x")["display"][0]["text/plain"] == "42"
    assert session.run("close", made["id"]).returncode == 0


def test_a_record_that_is_full_is_no_state_to_return_to(session, tmp_path):
    """More code than is recorded: a copy has the memory; what needs the cells again says that they are not there."""
    file = tmp_path / "long.py"
    for number in range(5):
        file.write_text(f"x = {number}\n#" + "y" * (15 << 20))
        assert session.run("exec", session.id, file).returncode == 0
    made = session.json("fork", session.id)
    assert made["by"] == "fork", made
    try:
        assert session.json("exec", made["id"], "--code", "x")["display"][0]["text/plain"] == "4"
        for one in (session.id, made["id"]):
            back = session.run("rollback", one, "5")
            assert back.returncode == 125 and b"record of the cells is not complete" in back.stderr, back
        assert session.value("x") == "4", "it goes on"
    finally:
        assert session.run("close", made["id"]).returncode == 0
    listed = sandbox_run("session", "list", "--json", env=session.env, caller=session.caller)
    assert [one["id"] for one in json.loads(listed.stdout)["sessions"]] == [session.id]
