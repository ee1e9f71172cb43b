"""HOME or the current directory is another user's, as with sudo: their links and settings lead root nowhere."""
import contextlib
import os
import shutil
import subprocess
import sys

import pytest

import support
from support import sandbox_run


def give(path):
    for top, folders, files in os.walk(path):
        for name in (top, *(os.path.join(top, one) for one in folders + files)):
            os.chown(name, support.ORDINARY_UID, support.ORDINARY_UID, follow_symlinks=False)


@pytest.fixture(name="home")
def foreign_home(folder, root):
    """Where the cache and the state would be, there are links to a directory that only root has."""
    home, own = folder / "home", folder / "own"
    own.mkdir(0o700)
    for name in (".cache", ".local/state"):
        (home / name).mkdir(parents=True)
        (home / name / "sandbox-run").symlink_to(own)
    give(home)
    return home


# What the caller's own surroundings name would come first.
OTHERS = ("SANDBOX_RUN_CACHE", "SANDBOX_RUN_STATE", "XDG_CACHE_HOME", "XDG_STATE_HOME")


def run(home, *words, **env):
    unset = [word for name in OTHERS if name not in env for word in ("-u", name)]
    return sandbox_run(*words, prefix=("env", *unset, *(f"{key}={value}" for key, value in env.items()), f"HOME={home}"))


def test_links_of_the_owner_of_home_are_not_followed(home):
    own = home.parent / "own"
    made = run(home, "run", "--keep-output", "--lang", "bash", "--code", "echo 1")
    kept = made.stderr.split(b"kept as ")[1].split(b":")[0].decode()
    run(home, "output", "rm", kept)
    assert made.returncode == 0 and os.listdir(own) == [], made
    for name in ("XDG_STATE_HOME", "SANDBOX_RUN_STATE"):
        path = home / ".local/state" / ("sandbox-run" if name.startswith("SANDBOX") else "")
        done = run(home, "changes", "list", **{name: str(path)})
        assert os.listdir(own) == []
        if name.startswith("SANDBOX"):
            assert done.returncode == 126 and b"another user can change 'sandbox-run'" in done.stderr, done


def test_a_directory_that_root_has_in_another_home_can_be_chosen(home):
    place = home / "chosen"
    place.mkdir(0o700)
    assert run(home, "changes", "list", SANDBOX_RUN_STATE=str(place)).returncode == 0
    shutil.rmtree(place)


def test_settings_of_the_owner_of_home_are_not_read(home):
    """A link among them would show the installer, and so a package's script, any file of root's."""
    (home.parent / "own/secret").write_text("PRIVATE = 1\n")
    (home / ".config/pip").mkdir(parents=True)
    (home / ".config/pip/pip.conf").symlink_to(home.parent / "own/secret")
    (home / ".config/sandbox-run/languages").mkdir(parents=True)
    (home / ".config/sandbox-run/languages/own.yaml").write_text("this would be an error\n")
    give(home)
    shown = run(home, "run", "--lang", "python", "--dep", "none-of-this-name", "--code", "1",
                PIP_NO_INDEX="1", SANDBOX_RUN_CACHE=str(home.parent / "own"))
    assert shown.returncode == 1 and b"PRIVATE" not in shown.stderr and b"No matching" in shown.stderr, shown
    for name in ("HOME", "XDG_CONFIG_HOME"):
        more = {} if name == "HOME" else {name: str(home / ".config")}
        assert run(home, "run", "--lang", "bash", "--code", "echo 1", **more).stdout == b"1\n"


@pytest.fixture(name="theirs")
def foreign_directory(folder, root):
    """`theirs/way` leads to root's directory `own`, which has a project."""
    theirs, own = folder / "theirs", folder / "own"
    (own / "project").mkdir(parents=True)
    own.chmod(0o700)
    (own / "project/secret").write_text("PRIVATE")
    theirs.mkdir()
    (theirs / "way").symlink_to(own)
    give(theirs)
    return theirs


@pytest.mark.parametrize("words", [("--project", "{}"), ("--volume", "{}:/data:ro"), ("--volume", "{}:/data:cow"), ("--volume", "{}/secret:/data:ro")])
def test_links_of_another_user_lead_to_no_volume(theirs, words):
    given = [word.format(theirs / "way/project") for word in words]
    done = sandbox_run("run", *given, "--lang", "bash", "--code", "cat secret /data/secret /data")
    assert done.returncode == 126 and b"goes through a link that another user can change" in done.stderr, done
    assert b"PRIVATE" not in done.stdout


def test_links_of_another_user_are_not_written_through(theirs):
    for where in ("way", "way/project"):
        done = sandbox_run("run", "--output", f"/tmp/new:{theirs / where}", "--lang", "bash", "--code", "echo 1 > /tmp/new")
        assert b"of another user, and such a link is not followed" in done.stderr, done
    assert sorted(os.listdir(theirs.parent / "own")) == ["project"]


@contextlib.contextmanager
def way_that_changes(theirs, caller):
    """A third user exchanges the directory `real`, which has a project, for the link, all the time."""
    third = str(support.ORDINARY_UID - 1)
    (theirs / "real/project").mkdir(parents=True)
    (theirs / "real/project/secret").write_text("harmless")
    os.chown(theirs, int(third), int(third))
    if caller == support.Callers.USER:
        give(theirs.parent / "own")
        give(theirs / "real")
    swap = ("import ctypes, sys\n"
            "libc, (a, b) = ctypes.CDLL(None), (one.encode() for one in sys.argv[1:])\n"
            "print(flush=True)\n"
            "while True: libc.renameat2(-100, a, -100, b, 2)\n")
    swapping = subprocess.Popen(["setpriv", "--reuid", third, "--regid", third, "--clear-groups", "--", sys.executable, "-c", swap,
                                 theirs / "way", theirs / "real"], stdout=subprocess.PIPE)
    try:
        swapping.stdout.readline()
        yield theirs / "real/project"
    finally:
        swapping.kill()
        swapping.communicate()


@pytest.mark.parametrize("words", [("--project", "{}"), ("--volume", "{}:/data:ro"), ("--volume", "{}:/data:rw"),
                                   ("--volume", "{}/secret:/data/secret:ro")], ids=["project", "ro", "rw", "file"])
def test_a_link_that_comes_and_goes_leads_to_no_volume(theirs, caller, words):
    """The way is a directory while it is looked at, and a link while it is mounted."""
    with way_that_changes(theirs, caller) as project:
        for _ in range(12):
            done = sandbox_run("run", "--allow-degraded", *(word.format(project) for word in words), "--lang", "bash",
                               "--code", "cat secret /data/secret", caller=caller)
            assert b"PRIVATE" not in done.stdout, done
