"""A tree of the host's is more than its content: sockets can be connected to, locks and watches are seen by
whoever else has the same inode.  One program tries all of them at once while the host looks."""
import contextlib
import fcntl
import json
import os
import select
import shutil
import socket
import subprocess

import pytest

import support
from harness import callers, root_only
from support import Callers

SOCKETS = {"stream": socket.SOCK_STREAM, "packets": socket.SOCK_SEQPACKET, "datagrams": socket.SOCK_DGRAM}
SYSTEM_FILE = "/usr/share/common-licenses/BSD"
LINKER_CACHE = "/etc/ld.so.cache"

# Says what it reached, and after a line from the host what it saw of the host's own doings.
PROGRAM = r"""
import ctypes, fcntl, json, os, socket, struct, sys
kinds = {"stream": socket.SOCK_STREAM, "packets": socket.SOCK_SEQPACKET, "datagrams": socket.SOCK_DGRAM}
reached, errors = [], {}
def attempt(name, way):
    try:
        way()
        reached.append(name)
    except OSError as problem:
        errors[name] = problem.strerror
def connect(kind, name):
    with socket.socket(socket.AF_UNIX, kind) as mine:
        mine.connect("/data/" + name)
        mine.send(b"inside")
def send_from_pair(how):
    mine, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with mine, other:
        how(mine)
def pair_connects(mine):
    mine.connect("/data/datagrams")
    mine.send(b"inside")
for name, kind in kinds.items():
    attempt(name, lambda: connect(kind, name))
attempt("pair, sendto", lambda: send_from_pair(lambda mine: mine.sendto(b"inside", "/data/datagrams")))
attempt("pair, sendmsg", lambda: send_from_pair(lambda mine: mine.sendmsg([b"inside"], [], 0, "/data/datagrams")))
attempt("pair, connect", lambda: send_from_pair(pair_connects))
held = open("/data/file")
attempt("flock", lambda: fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB))
also = open("/data/other")
attempt("range lock", lambda: fcntl.lockf(also, fcntl.LOCK_SH | fcntl.LOCK_NB))
libc = ctypes.CDLL(None, use_errno=True)
watch = libc.inotify_init1(os.O_NONBLOCK)
IN_OPEN = 0x20
watched = {libc.inotify_add_watch(watch, name.encode(), IN_OPEN): name for name in sys.argv[1:]}
attempt("pipe", lambda: os.write(os.open("/data/pipe", os.O_RDWR | os.O_NONBLOCK), b"inside"))
print(json.dumps({"reached": reached, "errors": errors}), flush=True)
sys.stdin.readline()
seen = set()
try:
    data = os.read(watch, 65536)
    while data:
        number, _, _, length = struct.unpack_from("iIII", data)
        seen.add(watched.get(number))
        data = data[16 + length:]
except OSError:
    pass
print(json.dumps(sorted(seen - {None})), flush=True)
"""


def owner_of(caller):
    return support.ORDINARY_UID if caller == Callers.USER and os.geteuid() == 0 else os.geteuid()


@pytest.fixture(name="tree")
def make_tree(scene, tmp_path_factory):
    tree = scene.room / tmp_path_factory.mktemp("view").name
    tree.mkdir(mode=0o755)
    yield tree
    shutil.rmtree(tree)


@contextlib.contextmanager
def host_side(tree, caller):
    """Files of the caller's, a pipe, and a listener of each kind, as an agent or a daemon has it."""
    with contextlib.ExitStack() as stack:
        for name, kind in SOCKETS.items():
            one = stack.enter_context(socket.socket(socket.AF_UNIX, kind))
            one.bind(str(tree / name))
            if kind != socket.SOCK_DGRAM:
                one.listen(4)
        os.mkfifo(tree / "pipe")
        for name in ("file", "other"):
            (tree / name).write_text("content\n")
        for path in tree.iterdir():
            os.chown(path, owner_of(caller), owner_of(caller))
            path.chmod(0o777)
        os.chown(tree, owner_of(caller), owner_of(caller))
        pipe = os.open(tree / "pipe", os.O_RDONLY | os.O_NONBLOCK)
        stack.callback(os.close, pipe)
        yield pipe


def look(tree, pipe):
    """What the host notices while the program is inside."""
    seen = set()
    with open(tree / "file") as file, open(tree / "other", "r+") as other:
        for name, lock in (("flock", lambda: fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)),
                           ("range lock", lambda: fcntl.lockf(other, fcntl.LOCK_EX | fcntl.LOCK_NB))):
            try:
                lock()
            except BlockingIOError:
                seen.add(name)
    with contextlib.suppress(BlockingIOError):
        if os.read(pipe, 100):
            seen.add("pipe")
    for name in (SYSTEM_FILE, LINKER_CACHE):
        with open(name, "rb"):
            pass
    return seen


def run(tree, caller, mode, *options, without=None, prefix=()):
    """What was reached from inside, what the host noticed, and what the inside saw of the host."""
    watched = ["/data/file", SYSTEM_FILE, LINKER_CACHE]
    env = {"SANDBOX_RUN_CACHE": support.cache_of(caller), "SANDBOX_RUN_STATE": support.state_of(caller),
           "SANDBOX_RUN_COLD": "1", **({"SANDBOX_RUN_TEST_WITHOUT": without} if without else {})}
    words = support.command("exec", "--quiet", "--stdin", "-", "--volume", f"{tree}:/data:{mode}", *options, "--",
                            "python3", "-c", PROGRAM, *watched, caller=caller, hooks=bool(without))
    with host_side(tree, caller) as pipe, subprocess.Popen(
            [*prefix, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=support.environment(env, caller)) as process:
        assert select.select([process.stdout], [], [], support.DEADLINE)[0]
        line = process.stdout.readline()
        assert line, "the program said nothing"
        first, noticed = json.loads(line), look(tree, pipe)
        out, _ = process.communicate(b"\n", timeout=support.DEADLINE)
    return set(first["reached"]), noticed, set(json.loads(out)), first["errors"]


TO_SOCKETS = {*SOCKETS, "pair, sendto", "pair, sendmsg", "pair, connect"}


@callers
@pytest.mark.parametrize("mode", ["ro", "cow"])
def test_nothing_of_a_tree_but_its_content_is_the_hosts(tree, caller, mode):
    reached, noticed, seen, _ = run(tree, caller, mode)
    assert not reached & TO_SOCKETS and not noticed and not seen, (reached, noticed, seen)
    assert {"flock", "range lock"} <= reached, "locks of its own work"


@callers
def test_without_views_a_read_only_tree_is_a_way_to_the_host(tree, caller):
    reached, noticed, seen, _ = run(tree, caller, "ro", without="views")
    assert TO_SOCKETS <= reached and {"flock", "range lock"} <= noticed, (reached, noticed)
    assert {"/data/file", SYSTEM_FILE} <= seen, seen


@callers
def test_no_socket_of_a_tree_that_is_written_through_is_reached(tree, caller):
    reached, _, seen, errors = run(tree, caller, "rw")
    assert not reached & TO_SOCKETS, reached
    assert {errors[name] for name in TO_SOCKETS} == {"Address family not supported by protocol"}
    assert not seen & {SYSTEM_FILE, LINKER_CACHE}


@callers
def test_without_the_filter_sockets_of_such_a_tree_are_reached(tree, caller):
    reached, _, _, _ = run(tree, caller, "rw", without="nosockets")
    assert TO_SOCKETS <= reached, reached


@callers
@pytest.mark.parametrize("mode", ["ro+sockets", "rw+sockets"])
def test_sockets_are_reached_where_they_were_granted(tree, caller, mode):
    reached, _, _, errors = run(tree, caller, mode)
    assert TO_SOCKETS <= reached, errors


@callers
def test_strict_has_no_datagrams_to_names_beside_a_written_tree(tree, caller):
    reached, _, _, _ = run(tree, caller, "rw", "--policy", "strict")
    assert not reached & TO_SOCKETS, reached


def test_pairs_that_are_connected_for_good_stay(tree):
    """Node and asyncio cannot start without."""
    code = "import socket; [(a.send(b'x'), b.recv(1)) for a, b in (socket.socketpair(socket.AF_UNIX, kind) for kind in (1, 5))]"
    result = support.result_of("exec", "--volume", f"{tree}:/data:rw", "--", "python3", "-c", code)
    assert result["exit_code"] == 0 and not result["denials"], result


def test_a_refused_socket_is_told_with_its_remedy(tree):
    result = support.result_of("exec", "--volume", f"{tree}:/data:rw", "--", "python3", "-c",
                               "import socket; socket.socket(socket.AF_UNIX)")
    [denial] = result["denials"]
    assert denial["kind"] == "syscall" and "nosockets.yaml" in denial["rule"], denial
    assert "rw+sockets" in denial["remedy"] and "cow" in denial["remedy"], denial


def test_the_search_for_a_daemon_of_names_is_told_only_when_the_program_fails(tree):
    """glibc looks for one in every program that names a user."""
    lines = {"id": 0, "id; exit 1": 1}
    for line, told in lines.items():
        result = support.result_of("exec", "--volume", f"{tree}:/data:rw", "--", "sh", "-c", line)
        assert len(result["denials"]) == told, (line, result["denials"])


OVER = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs inner "$0" && touch "$0/inner" && exec "$@"']


@root_only
@callers
def test_a_tree_with_another_file_system_in_it_is_whole_and_has_no_sockets(tree, caller):
    """No overlay shows what is mounted in a tree: it is shown as it is, the filter stands in, and the result says so."""
    below = tree / "below"
    below.mkdir()
    reached, _, _, _ = run(tree, caller, "ro", prefix=[*OVER, str(below)])
    assert not reached & TO_SOCKETS, reached
    result = support.result_of("exec", "--volume", f"{tree}:/data", "--", "ls", "/data/below", caller=caller,
                               prefix=[*OVER, str(below)])
    assert result["stdout"] == "inner\n", result
    assert "inodes apart from the host's" in result["isolation"]["missing"], result["isolation"]


@root_only
@callers
def test_a_file_system_in_usr_is_seen_and_said(caller):
    """Init falls back to the tree itself."""
    result = support.result_of("exec", "--", "ls", "/usr/src", caller=caller, prefix=[*OVER, "/usr/src"])
    assert "inner" in result["stdout"], result
    assert "inodes apart from the host's" in result["isolation"]["missing"], result["isolation"]
    assert "inodes apart from the host's" not in support.shell(":", caller=caller)["isolation"]["missing"]


NAMES = ["plain", "with space", "back\\slash", "comma,here", "a=b", "über"]


@callers
def test_every_name_of_a_source_and_a_target_is_taken_as_it_is(tree, caller):
    words = []
    for name in NAMES:
        (tree / name).mkdir()
        (tree / name / "file").write_text(name)
        words += ["--volume", f"{tree / name}:/data/{name}"]
    result = support.result_of("exec", *words, "--", "python3", "-c",
                               "import os; print(*(open(f'/data/{n}/file').read() for n in sorted(os.listdir('/data'))), sep=';')",
                               caller=caller)
    assert result["stdout"] == ";".join(sorted(NAMES)) + "\n", result
    assert not [name for name in result["isolation"]["missing"] if "inodes" in name]


def test_nothing_of_how_views_are_made_is_left_in_the_root(tree):
    result = support.result_of("exec", "--volume", f"{tree}:/data", "--", "ls", "-A", "/")
    assert ".view" not in result["stdout"] and "data" in result["stdout"], result
