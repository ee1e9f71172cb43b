"""Trees for the tests of workspaces: made at random, looked at, compared."""
import contextlib
import hashlib
import os
import pathlib
import random
import stat
import tempfile

import support

BACKENDS = ("overlay", "disk", "copy")
ODD_NAMES = (b"with space", b"new\nline", b"\xff\xfe", b"-dash", "ünï".encode(), b"colour\033[31m")


def in_memory():
    """Where trees can lie without a disk, if the kernel can do with them what it can with a disk's; None: nowhere."""
    version = tuple(int(word) for word in os.uname().release.split(".")[:2])
    return "/dev/shm" if version >= (6, 6) and os.access("/dev/shm", os.W_OK) else None


@contextlib.contextmanager
def place_of(caller, parent=None):
    """A directory that belongs to the caller, with a place for the tool's state beside what is put there."""
    with tempfile.TemporaryDirectory(prefix="sbr-trees-", dir=parent) as name:
        os.mkdir(os.path.join(name, "state"), 0o700)
        give(name, caller)
        yield pathlib.Path(name)


def give(path, caller):
    """The tree to the caller, links as such."""
    if caller != support.Callers.USER or os.geteuid() != 0:
        return
    os.chown(path, support.ORDINARY_UID, support.ORDINARY_UID)
    for folder, dirs, files in os.walk(os.fsencode(path)):
        for name in (*dirs, *files):
            os.chown(os.path.join(folder, name), support.ORDINARY_UID, support.ORDINARY_UID, follow_symlinks=False)


def grow(top, seed):
    """Some dozens of files in directories of directories; the same for the same seed."""
    rand = random.Random(seed)
    folders = [os.fsencode(top)]
    os.mkdir(top, 0o755)
    for number in range(10):
        folder = os.path.join(rand.choice(folders), b"d%d" % number)
        os.mkdir(folder)
        os.chmod(folder, rand.choice((0o755, 0o700, 0o775)))
        folders.append(folder)
    for number in range(40):
        name = rand.choice(ODD_NAMES) if rand.random() < 0.2 else b"f%d" % number
        path = os.path.join(rand.choice(folders), name)
        if os.path.lexists(path):
            continue
        if rand.random() < 0.1:
            os.symlink(rand.choice((b"f1", b"../d0", b"/nonexistent", b"d1/f2")), path)
            continue
        with open(path, "wb") as file:
            file.write(rand.randbytes(rand.choice((0, 5, 100, 4096, 100_000))))
        os.chmod(path, rand.choice((0o644, 0o600, 0o755, 0o444)))


def look(top, exactly=False):
    """Path -> kind, mode and content of everything; exactly: with owner, time and inode as well."""
    seen = {}
    top = os.fsencode(top)
    for folder, dirs, files in os.walk(top):
        for name in (*dirs, *files):
            path = os.path.join(folder, name)
            about = os.lstat(path)
            seen[os.path.relpath(path, top)] = look_at(path, about) + (
                (about.st_uid, about.st_gid, about.st_mtime_ns, about.st_ino) if exactly else ())
    return seen


def look_at(path, about):
    if stat.S_ISLNK(about.st_mode):
        return ("link", 0, os.readlink(path))
    if not stat.S_ISREG(about.st_mode):
        return (stat.filemode(about.st_mode)[0], stat.S_IMODE(about.st_mode), b"")
    with open(path, "rb") as file:
        return ("file", stat.S_IMODE(about.st_mode), hashlib.sha256(file.read()).digest())


def differing(a, b):
    """What is not the same in two looks, for a message."""
    return {path: (a.get(path), b.get(path)) for path in sorted({*a, *b}) if a.get(path) != b.get(path)}


def assert_backend(result, backend):
    """What was asked for is what was used; a machine that cannot do it may use one of those behind it."""
    used = [word.removeprefix("copy-on-write-") for word in result["isolation"]["mechanisms"]
            if word.startswith("copy-on-write-")]
    allowed = BACKENDS[BACKENDS.index(backend):]
    if os.environ.get("SBR_MUST_WORK") == "1":
        allowed = (backend,)
    assert len(used) == 1 and used[0] in allowed, result["isolation"]
