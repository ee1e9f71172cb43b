"""Trees that are brought in to be written to: nothing of a copy-on-write tree changes on the host, what lies
above it is out of reach, and what is written through is written as its owner, without set-id bits."""
import json
import os
import pathlib
import shutil
import stat
import struct
import subprocess
import tempfile

import pytest

import machine_gives
import support
from harness import Attack, callers, proofs, root_only
from support import Callers

TREE = ("--volume", "/usr/share/common-licenses:/tree:cow")  # small: guests copy it
LAYERS = ("seccomp", "identity", "landlock")
ATTACKS = [
    Attack("looking at what lies above a tree", ("list", "/.cow/0"), ("cow-cover",),
           options=TREE, errors=("ENOENT",)),
    Attack("writing past a tree, above it", ("write", "/.cow/0/upper/x", "x"),
           ("cow-cover", "landlock"), options=TREE),
    Attack("taking away what covers it", ("unmask", "/.cow"), LAYERS, options=TREE,
           errors=("EPERM",), lasting=True),
    Attack("taking a tree away", ("unmask", "/tree"), LAYERS, options=TREE, errors=("EPERM",),
           lasting=True),
    Attack("mounting over a tree", ("mount", "/tree"), LAYERS, options=TREE, errors=("EPERM",),
           lasting=True),
    Attack("copying the mount of a tree", ("open-tree", "/tree"), ("seccomp", "identity"),
           options=TREE, errors=("EPERM",)),
]

(test_the_attack_fails_inside, test_one_layer_alone_stops_the_attack,
 test_the_attack_succeeds_without_the_layers) = proofs(ATTACKS)

BACKENDS = ("overlay", "disk", "copy")
backends = pytest.mark.parametrize("backend", BACKENDS)


def owner_of(caller):
    return support.ORDINARY_UID if caller == Callers.USER and os.geteuid() == 0 else os.geteuid()


def give(path, caller):
    for name in [path, *path.rglob("*")]:
        os.chown(name, owner_of(caller), owner_of(caller), follow_symlinks=False)


@pytest.fixture(name="place")
def make_place(scene, tmp_path_factory):
    """A directory that every caller can enter, with a fresh tree and a place for the state in it."""
    place = scene.room / tmp_path_factory.mktemp("cow").name
    place.mkdir(mode=0o755)
    yield place
    shutil.rmtree(place)


@pytest.fixture(name="tree")
def make_tree(place):
    tree = place / "tree"
    (tree / "sub/deep").mkdir(parents=True)
    (tree / "text").write_text("text\n" * 1000)
    (tree / "locked").write_text("locked\n")
    (tree / "locked").chmod(0o400)
    (tree / "run").write_text("#!/bin/sh\n")
    (tree / "run").chmod(0o755)
    (tree / "sub/deep/file").write_text("deep\n")
    (tree / "link").symlink_to("text")
    os.link(tree / "text", tree / "twin")
    os.mkfifo(tree / "pipe")
    return tree


def snapshot(tree):
    """All that the host could see of a change; not when something was read."""
    found = {}
    for path in [tree, *sorted(tree.rglob("*"))]:
        st = path.lstat()
        content = path.read_bytes() if stat.S_ISREG(st.st_mode) else None
        found[str(path)] = (st.st_mode, st.st_uid, st.st_gid, st.st_ino, st.st_nlink, st.st_size,
                            st.st_mtime_ns, st.st_ctime_ns, content)
    return found


def state_env(place, caller, **more):
    state = place / "state"
    if not state.exists():
        state.mkdir(mode=0o700)
        os.chown(state, owner_of(caller), owner_of(caller))
    return {"XDG_STATE_HOME": str(state), "HOME": str(state), **more}


# Everything that changes a file or a directory, one after the other; what fails, fails.
DESTROY = r"""
import ctypes, fcntl, mmap, os, shutil, sys
os.chdir(sys.argv[1])
done = []
def attempt(what, *args):
    try:
        what(*args)
        done.append(1)
    except OSError:
        pass
with open("text", "r+b") as f:
    m = mmap.mmap(f.fileno(), 0)
    m[0:4] = b"XXXX"
    m.flush()
    m.close()
attempt(os.truncate, "text", 10)
attempt(os.chmod, "twin", 0o777)
attempt(os.utime, "twin", (1, 1))
attempt(os.chown, "run", 1000, 1000)
attempt(os.link, "run", "run2")
attempt(lambda: open("run2", "a").write("more"))
attempt(os.rename, "run2", "run")
attempt(os.unlink, "locked")
attempt(os.mkdir, "locked")
attempt(shutil.rmtree, "sub")
attempt(os.mkdir, "sub")
attempt(os.symlink, "/etc/passwd", "sub/out")
attempt(os.unlink, "link")
attempt(os.mkfifo, "link")
attempt(os.rmdir, "nothing")
attempt(os.setxattr, "text", "user.x", b"1")
attempt(lambda: os.posix_fallocate(os.open("text", os.O_RDWR), 0, 100000))
attempt(os.chmod, ".", 0o700)
attempt(os.utime, ".", (1, 1))
attempt(lambda: fcntl.ioctl(os.open("text", os.O_RDWR), 0x40086602, b"\x10\0\0\0\0\0\0\0"))
for name in os.listdir("."):
    attempt(shutil.rmtree if os.path.isdir(name) and not os.path.islink(name) else os.unlink, name)
print(len(done), os.listdir("."))
"""


@callers
@backends
def test_nothing_of_a_tree_changes_on_the_host(place, tree, caller, backend):
    give(tree, caller)
    before = snapshot(tree)
    result = support.result_of(
        "exec", "--volume", f"{tree}:/tree:cow", "--", "python3", "-c", DESTROY, "/tree",
        caller=caller, env=state_env(place, caller, SANDBOX_RUN_COW=backend))
    assert result["outcome"] == "exited" and result["exit_code"] == 0, result
    assert f"copy-on-write-{backend}" in result["isolation"]["mechanisms"]
    done, left = result["stdout"].split(" ", 1)
    assert int(done) > 15 and left.strip() == "[]", "the program was kept from what it may do"
    assert snapshot(tree) == before
    assert not list((place / "state").rglob("cow/*")), "something of the run is left"


@callers
def test_no_path_of_the_host_is_told(place, tree, caller):
    give(tree, caller)
    result = support.shell("cat /proc/self/mountinfo; ls -A /.cow; readlink -f .", "--project", tree,
                           caller=caller, env=state_env(place, caller))
    assert result["exit_code"] == 0 and result["stdout"].endswith("\n/work\n"), result
    assert str(place) not in result["stdout"]


SETID = r"""
import ctypes, os, sys
os.chdir(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)
open("plain", "w").close()
O = os.O_CREAT | os.O_WRONLY
def named(fd):
    os.link(f"/proc/self/fd/{fd}", "f", follow_symlinks=True)
def new_open():
    how = (ctypes.c_uint64 * 3)(O, 0o4755, 0)
    if libc.syscall(437, -100, b"g", how, 24) < 0:
        raise OSError(ctypes.get_errno(), "openat2")
ways = {
    "chmod": lambda: os.chmod("plain", 0o4755),
    "group": lambda: os.chmod("plain", 0o2755),
    "fchmod": lambda: os.fchmod(os.open("plain", os.O_RDONLY), 0o6755),
    "chmod of a directory": lambda: os.chmod(".", 0o2777),
    "open": lambda: os.open("c", O, 0o4755),
    "mknod": lambda: os.mknod("d", 0o104755),
    "creat": lambda: libc.creat(b"e", 0o4755),
    "tmpfile": lambda: named(os.open(".", os.O_TMPFILE | os.O_WRONLY, 0o4755)),
    "openat2": new_open,
    "copy": lambda: os.system("cp --preserve=mode /usr/bin/passwd h 2>/dev/null"),
}
os.umask(0)
for name, way in ways.items():
    try:
        way()
    except OSError:
        pass
found = [n for n in [".", *os.listdir(".")] if os.lstat(n).st_mode & 0o6000]
print("set-id:", sorted(found))
"""


def set_id_below(tree):
    return [str(path) for path in [tree, *tree.rglob("*")] if path.lstat().st_mode & 0o6000]


def run_setid(place, tree, caller, **kwargs):
    script = place / "setid.py"
    script.write_text(SETID)
    return support.result_of("exec", "--volume", f"{tree}:/tree:rw", "--volume", f"{script}:/setid.py",
                             "--", "python3", "/setid.py", "/tree", caller=caller, **kwargs)


@callers
def test_no_file_of_the_host_gets_set_id_bits(place, tree, caller):
    """Started by root they would be root's, and run by anybody."""
    give(tree, caller)
    result = run_setid(place, tree, caller)
    assert result["stdout"] == "set-id: []\n", result
    assert not set_id_below(tree)
    assert (tree / "plain").stat().st_uid == owner_of(caller)


@callers
def test_without_the_filter_there_would_be_some(place, tree, caller):
    give(tree, caller)
    run_setid(place, tree, caller, hooks=True, env={"SANDBOX_RUN_TEST_WITHOUT": "nosetid"})
    found = set_id_below(tree)
    for path in found:
        os.chmod(path, 0o600)
    assert len(found) >= 3, found


# What write() would do too, but that takes the bits away.
REWRITE = """
import mmap, os, sys
f = os.open("/tree/suid", os.O_RDWR)
with mmap.mmap(f, 8, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE) as m:
    m[:8] = b"#!/evil\\n"
print("rewritten")
"""


def rewrite(tree, caller, **kwargs):
    suid = tree / "suid"
    suid.write_text("#!/bin/sh\n")
    give(tree, caller)
    suid.chmod(0o4755)
    result = support.python(REWRITE, "--volume", f"{tree}:/tree:rw", caller=caller, **kwargs)
    return result, suid.read_text(), stat.S_IMODE(suid.stat().st_mode)


@callers
def test_no_set_id_file_of_the_host_is_rewritten(tree, caller):
    """A shared mapping writes to a file and leaves its bits: whoever runs it next becomes its owner."""
    result, text, mode = rewrite(tree, caller)
    assert result["error"]["stage"] == "volumes" and "'suid'" in result["error"]["message"], result
    assert "cow" in result["error"]["message"]
    assert (text, mode) == ("#!/bin/sh\n", 0o4755)
    # A copy may be written to, and without the bit there is nothing to say.
    assert support.python(REWRITE, "--volume", f"{tree}:/tree:cow", caller=caller)["stdout"] == "rewritten\n"
    (tree / "suid").chmod(0o755)
    assert support.python(REWRITE, "--volume", f"{tree}:/tree:rw", caller=caller)["stdout"] == "rewritten\n"


def test_what_can_be_passed_through_is_looked_through():
    """A directory of somebody else's that we may not list: the program opens what is in it by name."""
    if os.geteuid() != 0:
        pytest.skip("only root can make files of others")
    with tempfile.TemporaryDirectory() as name:
        tree = pathlib.Path(name)
        (tree / "others").mkdir()
        (tree / "others/suid").write_text("#!/bin/sh\n")
        give(tree, "user")
        (tree / "others/suid").chmod(0o4755)
        os.chown(tree / "others", 0, 0)
        for mode, fine in ((0o711, False), (0o700, True)):
            (tree / "others").chmod(mode)
            for top in (tree, tree / "others")[:1 if fine else 2]:
                result = support.result_of("exec", "--volume", f"{top}:/tree:rw", "--", "true", caller="user")
                assert fine == (result.get("exit_code") == 0), result
                assert fine or result["error"]["stage"] == "volumes", result


@callers
def test_no_file_with_capabilities_is_made_writable_and_rewritten(tree, caller):
    """A change of mode takes set-id bits away, but not capabilities."""
    if os.geteuid() != 0:
        pytest.skip("only root can give files capabilities")
    capable = tree / "capable"
    capable.write_text("#!/bin/sh\n")
    give(tree, caller)
    os.setxattr(capable, "security.capability", struct.pack("<5I", 0x02000001, 1 << 13, 0, 0, 0))
    code = "import os; os.chmod('/tree/suid', 0o755)\n" + REWRITE
    for mode in (0o555, 0o644, 0o400):
        capable.chmod(mode)
        result = support.python(code.replace("suid", "capable"), "--volume", f"{tree}:/tree:rw", caller=caller)
        assert result["error"]["stage"] == "volumes" and "'capable'" in result["error"]["message"], result
    result = support.python(code.replace("suid", "capable"), "--volume", f"{tree}:/tree:rw", caller=caller, hooks=True,
                            env={"SANDBOX_RUN_TEST_WITHOUT": "setid-look"})
    assert result["stdout"] == "rewritten\n" and "security.capability" in os.listxattr(capable), result


@callers
def test_without_the_look_one_would_be(tree, caller):
    result, text, mode = rewrite(tree, caller, hooks=True, env={"SANDBOX_RUN_TEST_WITHOUT": "setid-look"})
    assert result["stdout"] == "rewritten\n", result
    assert (text[:8], mode) == ("#!/evil\n", 0o4755)


NODES = r"""
import os, sys
for name in ("/rw/n", "/cow/n"):
    for device in (os.makedev(1, 3), os.makedev(0, 0), os.makedev(8, 0)):
        for kind in (0o020666, 0o060666):
            try:
                os.mknod(name, kind, device)
                print("made", name, oct(kind), device)
            except PermissionError:
                pass
for name in sys.argv[1:]:
    for way in (os.O_RDONLY, os.O_RDWR, os.O_WRONLY):
        try:
            os.open(name, way | os.O_NONBLOCK)
            print("opened", name)
        except PermissionError:
            pass
"""


@callers
@backends
def test_no_device_is_made_or_opened(place, tree, caller, backend):
    """Of a tree that holds a device already, it is a name."""
    inside = []
    if os.geteuid() == 0:
        os.mknod(tree / "zero", 0o020666, os.makedev(1, 5))
        os.chmod(tree / "zero", 0o666)
        inside = ["/rw/zero", "/ro/zero"] + (["/cow/zero"] if backend != "copy" else [])
    other = place / "other"
    shutil.copytree(tree, other, symlinks=True, ignore=shutil.ignore_patterns("pipe", "zero"))
    if inside:
        os.mknod(other / "zero", 0o020666, os.makedev(1, 5))
    give(tree, caller)
    give(other, caller)
    result = support.result_of(
        "exec", "--volume", f"{other}:/rw:rw", "--volume", f"{tree}:/ro:ro", "--volume",
        f"{tree}:/cow:cow", "--", "python3", "-c", NODES, *inside, caller=caller,
        env=state_env(place, caller, SANDBOX_RUN_COW=backend))
    assert result["stdout"] == "" and result["exit_code"] == 0, result
    assert not (tree / "n").exists()


LINKS = r"""
import os
for old, new in (("/rw/text", "/tmp/x"), ("/rw/text", "/work/x"), ("/rw/text", "/cow/x"), ("/ro/text", "/rw/x"),
                 ("/cow/text", "/rw/x"), ("/cow/text", "/work/x")):
    try:
        os.link(old, new)
        print("linked", old, new)
    except OSError as problem:
        assert problem.errno in (18, 13, 1), problem
"""


@callers
@backends
def test_no_hard_link_leads_from_one_tree_to_another(place, tree, caller, backend):
    give(tree, caller)
    other = shutil.copytree(tree, place / "other", symlinks=True, ignore=shutil.ignore_patterns("pipe"))
    give(other, caller)
    result = support.result_of(
        "exec", "--volume", f"{other}:/rw:rw", "--volume", f"{tree}:/ro:ro", "--volume",
        f"{tree}:/cow:cow", "--", "python3", "-c", LINKS, caller=caller,
        env=state_env(place, caller, SANDBOX_RUN_COW=backend))
    assert result["stdout"] == "" and result["exit_code"] == 0, result
    assert (tree / "text").stat().st_nlink == 2


def request_with(place, tree, files, caller, **more):
    machine_gives.skip_if(support.lacks(caller))
    path = place / "request.json"
    path.write_text(json.dumps({
        "args": ["sh", "-c", "cat main; ls -ld main sub"], "project": str(tree), "allow_degraded": True,
        "files": [{"path": name, "content": content} for name, content in files.items()], **more}))
    return support.result_of("run", "--request", path, caller=caller, env=state_env(place, caller))


@callers
def test_a_file_of_the_request_is_not_written_through_a_link(place, tree, caller):
    """What lies in the tree was perhaps put there by somebody who hopes for it."""
    target = place / "target"
    target.write_text("keep\n")
    target.chmod(0o666)
    (tree / "main").symlink_to(target)
    give(tree, caller)
    result = request_with(place, tree, {"main": "mine\n"}, caller)
    assert result["stdout"].startswith("mine\n-"), result
    assert (tree / "main").is_symlink() and target.read_text() == "keep\n"


@callers
@pytest.mark.parametrize("name, sentence", [("sub", "of a directory"), ("away/file", "behind a link"),
                                            ("text/file", "behind a link or a file")])
def test_a_file_of_the_request_that_does_not_fit_is_an_error(place, tree, caller, name, sentence):
    (tree / "away").symlink_to("/tmp")
    give(tree, caller)
    result = request_with(place, tree, {name: "mine\n"}, caller)
    assert sentence in result["error"]["message"], result


@root_only
def test_root_writes_as_the_owner_of_the_tree_and_as_nobody_else(place, tree):
    """The run has an id of its own, which nothing on the host belongs to."""
    give(tree, Callers.USER)
    foreign = tree / "foreign"
    foreign.write_text("others\n")
    foreign.chmod(0o600)
    result = support.result_of(
        "exec", "--volume", f"{tree}:/rw:rw", "--", "sh", "-c",
        "echo new > /rw/new; echo more >> /rw/text; cat /rw/foreign; chown 0 /rw/new; stat -c %u /rw/text",
        caller=Callers.ROOT)
    assert "others" not in result["stdout"] and result["stdout"] == "1000\n", result
    for name in ("new", "text"):
        assert (tree / name).stat().st_uid == support.ORDINARY_UID
    assert foreign.stat().st_uid == 0


@callers
@backends
def test_a_tree_cannot_take_more_room_than_the_limit(place, tree, caller, backend):
    """Where no file system of its own bounds it, init looks: with names and without."""
    give(tree, caller)
    fill = ("import os\nkept = []\nfor i in range(20):\n f = open(f'/tree/{i}', 'wb')\n"
            " os.unlink(f'/tree/{i}') if i % 2 else None\n"
            " f.write(bytes(1 << 20))\n f.flush()\n kept.append(f)\nwhile True: pass")
    result = support.result_of(
        "exec", "--disk", "8M", "--volume", f"{tree}:/tree:cow", "--", "python3", "-c", fill,
        caller=caller, env=state_env(place, caller, SANDBOX_RUN_COW=backend))
    if backend == "overlay":  # the kernel says so at once, and the program may go on
        assert "No space left" in result["stderr"], result
    else:
        assert result["outcome"] == "disk_limit", result


LOCKED = ("import os, stat, sys\nos.mkdir('/tree/d')\nos.mkdir('/tree/d/e')\n"
          "for i in range({n}): open(f'/tree/d/e/{{i}}', 'wb').write(bytes(1 << 20))\n"
          "os.chmod('/tree/d/e', 0)\nos.chmod('/tree/d', 0)\n"
          "while not os.path.exists('/tmp/x') and {n} > 8: pass\n"
          "sys.stdout.close()\nassert stat.S_IMODE(os.stat('/tree/d').st_mode) == 0")


@callers
@pytest.mark.parametrize("backend", BACKENDS[1:])
def test_a_locked_directory_hides_nothing_and_stays_locked(place, tree, caller, backend):
    give(tree, caller)
    outcomes = []
    for n in (1, 20):
        result = support.result_of(
            "exec", "--disk", "8M", "--volume", f"{tree}:/tree:cow", "--", "python3", "-c",
            LOCKED.format(n=n), caller=caller, env=state_env(place, caller, SANDBOX_RUN_COW=backend))
        outcomes.append((result["outcome"], result["exit_code"]))
    assert outcomes == [("exited", 0), ("disk_limit", None)], outcomes


@callers
def test_what_is_mounted_in_a_tree_is_not_seen_through_it(place, tree, caller):
    """Only what the name stands for: a copy-on-write tree ends where another file system begins, and what that covers
    stays covered."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount on the host")
    mounted = tree / "sub"
    (mounted / "secret").write_text("beneath")
    give(tree, caller)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=0755", "sbr-test", mounted], check=True)
    try:
        (mounted / "secret").write_text("x")
        results = [support.shell("find . /tree -name secret 2> /dev/null; true", *options, caller=caller,
                                 env=state_env(place, caller))
                   for options in (("--project", tree), ("--volume", f"{tree}:/tree:cow"))]
    finally:
        subprocess.run(["umount", mounted], check=True)
    for result in results:
        assert result["exit_code"] == 0 and result["stdout"] == "", result
