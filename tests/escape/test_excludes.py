"""What a project leaves out cannot be reached by any road that a program has; without the cover each of them leads there."""
import json
import os
import subprocess

import pytest

import support
from harness import callers, root_only

SECRET = "s3cr3t-of-the-project"
# Each road reads the secret or fails; the attacker prints the names of those that led there.
ATTACKER = r'''
import ctypes, glob, mmap, os, shutil, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
NAME = "sub/.env"

def text(path, flags=os.O_RDONLY, dir_fd=None):
    fd = os.open(path, flags, dir_fd=dir_fd)
    try:
        return os.read(fd, 100)
    finally:
        os.close(fd)

def mapped():
    with open(NAME, "rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)[:]

def from_the_directory():
    return text(".env", dir_fd=os.open("sub", os.O_RDONLY | os.O_DIRECTORY))

def from_a_path_descriptor():
    return text("/proc/self/fd/%d" % os.open(NAME, os.O_PATH))

def from_a_child():
    return subprocess.run(["cat", NAME], capture_output=True).stdout

def as_a_script():
    return subprocess.run(["sh", NAME], capture_output=True).stderr

def linked():
    os.link(NAME, "/work/linked")
    return text("linked")

def soft_linked():
    os.symlink(NAME, "soft")
    return text("soft")

def copied():
    shutil.copyfile(NAME, "/tmp/copied")
    return text("/tmp/copied")

def sent():
    a, b = os.open(NAME, os.O_RDONLY), os.open("/tmp/sent", os.O_RDWR | os.O_CREAT)
    os.sendfile(b, a, 0, 100)
    return text("/tmp/sent")

def renamed():
    try:
        os.rename(NAME, "renamed")
        return text("renamed")
    finally:
        os.path.exists("renamed") and os.rename("renamed", NAME)

def exchanged():
    with open("other", "w"):
        pass
    if libc.renameat2(-100, b"other", -100, NAME.encode(), 2):
        return b""
    try:
        return text("other")
    finally:
        libc.renameat2(-100, b"other", -100, NAME.encode(), 2)

def moved_directory():
    shutil.copytree("sub", "moved")
    return text("moved/.env")

def written_to():
    with open(NAME, "a+") as file:
        file.seek(0)
        return file.read().encode()

def above_or_below():
    return b"".join(text(path) for path in glob.glob("/.cow/*/*/sub/.env") + glob.glob("/.cow/**/.env"))

def unmounted():
    libc.umount2(NAME.encode(), 2)
    return text(NAME)

def in_an_archive():
    return subprocess.run(["tar", "-cf", "-", "sub"], capture_output=True).stdout

ROADS = [("opened", lambda: text(NAME)), ("by its full path", lambda: text("/work/" + NAME)),
         ("proc root", lambda: text("/proc/self/root/work/" + NAME)), ("proc cwd", lambda: text("/proc/1/cwd/" + NAME)),
         ("own cwd", lambda: text("/proc/self/cwd/" + NAME)), ("dots", lambda: text("sub/../sub/./.env"))]
ROADS += [(f.__name__, f) for f in (mapped, from_the_directory, from_a_path_descriptor, from_a_child, as_a_script, linked,
                                    soft_linked, copied, sent, renamed, exchanged, moved_directory, written_to,
                                    above_or_below, unmounted, in_an_archive)]
for name, road in ROADS:
    try:
        if b"s3cr3t" in bytes(road()):
            print(name)
    except (OSError, ValueError):
        pass
# Removing it must not bring it back.
subprocess.run(["rm", "-rf", "sub"], stderr=subprocess.DEVNULL)
os.makedirs("sub", exist_ok=True)
if os.path.exists(NAME) and b"s3cr3t" in text(NAME):
    print("removed")
'''
# These need more than the cover to be gone.
OTHER_DEFENCES = {"above_or_below", "proc cwd"}
BACKENDS = ("overlay", "disk", "copy")


def attack(folder, caller, backend, **more):
    top = folder / "project"
    (top / "sub").mkdir(parents=True)
    (top / "sub/.env").write_text(f"{SECRET}\n")
    (top / "attack.py").write_text(ATTACKER)
    if os.geteuid() == 0 and caller == support.Callers.USER:
        subprocess.run(["chown", "-R", str(support.ORDINARY_UID), top], check=True)
    env = {"SANDBOX_RUN_COW": backend, **more.pop("env", {})}
    result = support.result_of("run", "--project", str(top), "--diff", str(top / "attack.py"), caller=caller, env=env, **more)
    assert result["exit_code"] == 0, result
    assert (top / "sub/.env").read_text() == f"{SECRET}\n"
    return set(result["stdout"].splitlines()), result


@pytest.fixture(name="folder")
def make_folder(scene, tmp_path_factory):
    folder = scene.room / tmp_path_factory.mktemp("excludes").name
    folder.mkdir(mode=0o755)
    yield folder
    subprocess.run(["rm", "-rf", folder], check=True)


@callers
@pytest.mark.parametrize("backend", BACKENDS)
def test_no_road_leads_to_what_is_left_out(folder, caller, backend):
    found, result = attack(folder, caller, backend)
    assert found == set()
    assert "sub/.env" not in json.dumps([change for change in result["changes"] if change["kind"] != "created"])


@root_only
def test_every_road_leads_there_without_the_cover(folder):
    found, _ = attack(folder, support.Callers.ROOT, "overlay", hooks=True, env={"SANDBOX_RUN_TEST_WITHOUT": "excludes"})
    assert {"opened", "mapped", "linked", "renamed", "exchanged", "proc root", "in_an_archive", "as_a_script",
            "from_a_path_descriptor", "moved_directory", "written_to", "unmounted"} <= found
    assert not found & OTHER_DEFENCES
