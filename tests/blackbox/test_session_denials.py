"""Each cell of every kernel reports what it was refused, and nothing else: not what other kernels were."""
import re

import pytest

from sessions import Session
from waiting import wait_until

# Refused calls without an end, each of another address, from processes that leave their session of processes:
# more than a list of refusals can hold, and more than are answered at once.
FLOOD = """
import os, signal, socket
def flood(n):
    os.setsid() if n % 2 else None
    while True:
        for last in range(1, 255):
            try:
                socket.socket().connect((f'192.0.2.{last}', 1000 + n))
            except OSError:
                pass
flooders = []
for n in range(4):
    child = os.fork()
    if not child:
        flood(n)
    flooders.append(child)
"""
# The listener is with the supervisor.  Init had it for a moment, and a new one would take the notifications.
STEAL = """
import ctypes, os, struct
libc, found = ctypes.CDLL(None, use_errno=True), []
for place in ('/proc/1/fd', '/proc/self/fd'):
    try:
        found += [os.readlink(f'{place}/{fd}') for fd in os.listdir(place) if os.path.islink(f'{place}/{fd}')]
    except OSError as error:
        found.append(error.strerror)
pidfd = libc.syscall(434, 1, 0) # pidfd_open
found += [libc.syscall(438, pidfd, fd, 0) for fd in range(12)] # pidfd_getfd
allow = ctypes.create_string_buffer(struct.pack('HBBI', 6, 0, 0, 0x7fff0000)) # BPF_RET, SECCOMP_RET_ALLOW
program = ctypes.create_string_buffer(struct.pack('HxxxxxxP', 1, ctypes.addressof(allow)))
found.append(libc.syscall(317, 1, 8, program)) # seccomp: a filter with a new listener
[one for one in found if 'seccomp' in str(one) or isinstance(one, int) and one >= 0]
"""


@pytest.fixture(name="session", scope="module")
def one_session(tmp_path_factory):
    session = Session(tmp_path_factory.mktemp("denials") / "state", "--pids", "40")
    yield session
    session.close()


def refused(done):
    return [(one["kind"], one["target"], one["remedy"]) for one in done["denials"]]


def test_each_cell_has_its_own_refusals_with_their_remedies(session):
    to = "import socket\ntry: socket.create_connection(('192.0.2.{}', 80))\nexcept OSError: pass"
    remedy = "--network allow --allow-host 192.0.2.{}:80"
    assert refused(session.cell(to.format(7))) == [("connect", "192.0.2.7:80", remedy.format(7))]
    assert refused(session.cell("1")) == []
    second = session.cell("exec 9<>/dev/tcp/192.0.2.8/80; unshare -U true", "--lang", "bash")
    assert refused(second) == [("connect", "192.0.2.8:80", remedy.format(8)),
                               ("syscall", "unshare(CLONE_NEWUSER)", None)]
    assert refused(session.cell("true", "--lang", "bash")) == []
    written = session.cell("echo > /etc/mine", "--lang", "bash")
    assert refused(written) == [("file", "/etc/mine", "write below /work or /tmp")]
    many = session.cell("import threading\nend = threading.Event()\n"
                        "try:\n    for _ in range(60): threading.Thread(target=end.wait).start()\nfinally: end.set()")
    assert refused(many) == [("process", "a new process or thread", "--pids 80")], many["stderr"]
    assert refused(session.cell("1")) == []


def test_a_kernel_neither_steals_nor_blocks_the_refusals_of_another(session):
    stolen = session.cell(STEAL)
    assert stolen["display"][0]["text/plain"] == "[]", stolen
    session.cell(FLOOD)
    try:
        assert wait_until(lambda: session.json("metrics", session.id).get("background_denials_dropped", 0) > 4096)
        done = session.cell("mount -t tmpfs none /tmp", "--lang", "bash")
        assert refused(done) == [("syscall", "mount", None)] and "denials_dropped" not in done, done["denials"]
    finally:
        session.cell("for one in flooders: os.kill(one, signal.SIGKILL)")


def test_a_way_out_reports_to_the_cell_that_went_there(folder):
    session = Session(folder / "state", "--network", "allow", "--allow-host", "192.0.2.1:9")
    try:
        for lang, code in (("python", "import socket\nsocket.create_connection(('192.0.2.9', 80), 2).recv(1)"),
                           ("bash", "exec 9<>/dev/tcp/192.0.2.9/80 && read -r -t 2 <&9"),
                           ("python", "socket.create_connection(('192.0.2.9', 80), 2).recv(1)")):
            done = session.cell(code, *(("--lang", lang) if lang != "python" else ()))
            assert [(one["target"], one["remedy"], one["count"]) for one in done["denials"]] \
                == [("192.0.2.9:80", "--allow-host 192.0.2.9:80", 1)], (lang, done)
        assert session.cell("1")["denials"] == []
    finally:
        session.close()


def test_refusals_are_told_as_text_and_their_remedy_works(folder):
    session = Session(folder / "state", "--network", "allow", "--allow-host", "192.0.2.1:9")
    try:
        connect = "import socket\nsocket.create_connection(('192.0.2.9', 80), 2).recv(1)\n"
        failed = session.run("exec", session.id, "--code", connect)
        said = [line for line in failed.stderr.decode().splitlines() if line.startswith("sandbox-run: ")]
        assert failed.returncode == 1 and len(said) == 1, failed.stderr
        remedy = re.fullmatch(r"sandbox-run: refused: connect to 192\.0\.2\.9:80 \(.*\); "
                              r"`sandbox-run session (allow \S+ \S+)` allows it", said[0])
        assert remedy and remedy[1] == f"allow {session.id} 192.0.2.9:80", said
        assert b"sandbox-run: " not in session.run("exec", session.id, "--quiet", "--code", connect).stderr
        assert session.run(*remedy[1].split()).returncode == 0
        assert b"refused: connect" not in session.run("exec", session.id, "--code", connect).stderr
        failed = session.run("exec", session.id, "--lang", "bash", "--code", "echo > /etc/mine")
        assert failed.stderr.endswith(b"write below /work or /tmp\n")
        assert session.run("exec", session.id, "--lang", "bash", "--code", "echo > /etc/mine; true").stderr.count(b"\n") == 1
    finally:
        session.close()
