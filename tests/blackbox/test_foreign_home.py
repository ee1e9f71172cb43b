"""HOME is another user's, as with sudo: that user's links lead root into no directory."""
import os
import shutil

import pytest

import support
from support import sandbox_run


@pytest.fixture(name="home")
def foreign_home(folder, root):
    """Where the cache and the state would be, there are links to a directory that only root has."""
    home, own = folder / "home", folder / "own"
    own.mkdir(0o700)
    for name in (".cache", ".local/state"):
        (home / name).mkdir(parents=True)
        (home / name / "sandbox-run").symlink_to(own)
    for top, folders, files in os.walk(folder / "home"):
        for name in (top, *(os.path.join(top, one) for one in folders + files)):
            os.chown(name, support.ORDINARY_UID, support.ORDINARY_UID, follow_symlinks=False)
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
