"""Kept changes: shown, applied, undone; interrupted at every step, on a full disk, and against what others do meanwhile."""
import contextlib
import fcntl
import itertools
import json
import os
import pathlib
import pty
import shutil
import signal
import stat
import subprocess

import pytest

import machine_gives
import support
import trees

# One of everything: edited, mode, deleted, made, moved, a file for a directory and the other way round.
SCRIPT = """
echo more >> edited; chmod 700 tool; rm gone; rm -r logs; mkdir -p new/deep; echo n > new/deep/file
ln -sf edited link; mv moved elsewhere; rm turns; mkdir turns; echo t > turns/inner
rm -r folder; echo f > folder; chmod 700 locked
"""
KILLED = -signal.SIGKILL


def grow(top):
    top.mkdir()
    for name in ("logs", "folder", "locked"):
        (top / name).mkdir()
    for name in ("edited", "tool", "gone", "logs/1", "logs/2", "moved", "turns", "folder/inner", "locked/x"):
        (top / name).write_text(f"content of {name}\n" * 20)
    (top / "link").symlink_to("tool")
    (top / "locked").chmod(0o755)
    (top / "tool").chmod(0o755)


class Place:
    """A tree and a state directory of one caller's, which may be in different file systems."""

    def __init__(self, folder, caller, state=None):
        self.caller = caller
        self.tree = folder / "tree"
        self.state = state or folder / "state"
        self.env = {"SANDBOX_RUN_STATE": str(self.state)}

    def fresh(self, script=SCRIPT):
        """A new tree, and the id of what the script would do to it."""
        shutil.rmtree(self.tree, ignore_errors=True)
        grow(self.tree)
        trees.give(self.tree, self.caller)
        return self.keep(script)

    def keep(self, script, **kwargs):
        result = support.shell(script, "--project", self.tree, "--keep", caller=self.caller,
                               env={**self.env, **kwargs.pop("env", {})}, **kwargs)
        assert result["success"], result
        return result["changes_id"]

    def run(self, *words, env=None, **kwargs):
        return support.sandbox_run(*words, caller=self.caller, env={**self.env, **(env or {})}, **kwargs)

    def well(self, *words, **kwargs):
        done = self.run(*words, **kwargs)
        assert done.returncode == 0, done.stderr.decode(errors="replace")
        return done

    def killed(self, step, *words):
        """Whether it was, before its step-th change."""
        done = self.run(*words, hooks=True, env={"SANDBOX_RUN_TEST_APPLY": str(step)})
        assert done.returncode in (0, KILLED, 128 + signal.SIGKILL), done.stderr
        return done.returncode != 0

    def look(self):
        return trees.look(self.tree)


@pytest.fixture
def place(folder, caller):
    (folder / "state").mkdir(0o700)
    trees.give(folder, caller)
    return Place(folder, caller)


@contextlib.contextmanager
def mounted(folder, *options):
    """A file system in memory; only root can have it."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    folder.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", ",".join(options), "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def fill(folder):
    """Not a byte is left afterwards."""
    path = folder / "filler"
    with open(path, "wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))
    return path


def assert_old_or_new(now, old, new):
    for path, seen in now.items():
        if b".sandbox-run-" in path or seen[0] == "d":
            continue
        assert seen in (old.get(path), new.get(path)), path
    for path in old.keys() & new.keys():
        assert path in now, f"{path} is nowhere"


def test_what_is_kept_can_be_seen_applied_undone_and_dropped(place):
    kept = place.fresh()
    old = place.look()
    listed = json.loads(place.well("changes", "--json").stdout)["changes"]
    assert [one["id"] for one in listed] == [kept] and not listed[0]["applied"]
    shown = json.loads(place.well("changes", "show", kept[:8], "--json").stdout)
    assert {"op": "renamed", "path": "elsewhere", "from": "moved"}.items() <= next(
        one for one in shown["changes"] if one["path"] == "elsewhere").items()
    assert b"deleted   logs/1" in place.well("changes", "show").stdout
    assert b"+more" in place.well("changes", "diff").stdout
    assert b"+more" not in place.well("changes", "diff", kept, "logs").stdout
    assert place.look() == old

    place.well("apply", kept, "--yes")
    assert (place.tree / "turns/inner").read_text() == "t\n"
    assert (place.tree / "folder").read_text() == "f\n"
    assert (place.tree / "link").readlink() == pathlib.Path("edited")
    assert not (place.tree / "logs").exists() and not (place.tree / "moved").exists()
    assert json.loads(place.well("changes", "--json").stdout)["changes"][0]["applied"]
    again = json.loads(place.well("apply", kept, "--yes", "--json").stdout)
    assert again["applied"] == 0 and again["conflicts"] == []
    place.well("undo", kept, "--yes")
    assert trees.differing(old, place.look()) == {}
    place.well("changes", "drop", kept)
    assert place.run("changes", "show", kept).returncode == 127
    assert os.listdir(place.state / "changes") == [] and os.listdir(place.state / "staging") == []


def test_times_and_inodes_come_back(place):
    kept = place.fresh()
    old = {path: seen for path, seen in trees.look(place.tree, exactly=True).items() if seen[0] == "file"}
    place.well("apply", kept, "--yes")
    place.well("undo", kept, "--yes")
    new = {path: seen for path, seen in trees.look(place.tree, exactly=True).items() if seen[0] == "file"}
    assert trees.differing(old, new) == {}


def test_a_part_and_then_the_rest(place):
    kept = place.fresh()
    place.well("apply", kept, "new/deep", place.tree / "logs", "/work/tool", "--yes")
    assert (place.tree / "new/deep/file").exists() and not (place.tree / "logs").exists()
    assert (place.tree / "gone").exists() and (place.tree / "tool").stat().st_mode & 0o777 == 0o700
    done = place.run("apply", kept, "nowhere", "--yes")
    assert done.returncode == 127 and b"'nowhere'" in done.stderr
    place.well("apply", kept, "--yes")
    assert not (place.tree / "gone").exists()


def test_nobody_is_asked_without_a_terminal(place):
    kept = place.fresh()
    old = place.look()
    done = place.run("apply", kept)
    assert done.returncode == 125 and b"--yes" in done.stderr
    assert b"would delete" in done.stderr
    assert place.look() == old


def on_a_terminal(place, answer, *words):
    """Status, and what was on the screen."""
    machine_gives.need_terminal()
    pid, fd = pty.fork()
    if pid == 0:
        command = support.command(*words, caller=place.caller)
        os.execvpe(command[0], command, support.environment(place.env))
    os.write(fd, answer)
    screen = b""
    with contextlib.suppress(OSError):
        while piece := os.read(fd, 4096):
            screen += piece
    os.close(fd)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), screen


def test_on_a_terminal_it_asks(place):
    kept = place.fresh()
    old = place.look()
    status, screen = on_a_terminal(place, b"n\n", "apply", kept)
    assert status == 1 and b"[y/N]" in screen and str(place.tree).encode() in screen
    assert place.look() == old
    status, screen = on_a_terminal(place, b"y\n", "apply", kept)
    assert status == 0, screen
    assert place.look() != old
    status, screen = on_a_terminal(place, b"\n", "undo", kept)
    assert status == 1
    status, screen = on_a_terminal(place, b"y\n", "undo", kept)
    assert status == 0 and place.look() == old


def interrupt(place):
    """Killed before each change in turn, and then repeated, or undone, in turn; the number of changes.  Where an ordinary
    user repeats, root undoes, so that each change has both."""
    kept = place.fresh()
    old = place.look()
    place.well("apply", kept, "--yes")
    new = place.look()
    place.well("undo", kept, "--yes")
    for step in itertools.count(1):
        if not place.killed(step, "apply", kept, "--yes"):
            break
        assert_old_or_new(place.look(), old, new)
        repeated = step % 2 == (place.caller == support.Callers.USER)
        if repeated:
            place.well("apply", kept, "--yes")
            assert trees.differing(new, place.look()) == {}, step
        assert place.run("undo", kept, "--yes").returncode in ((0,) if repeated else (0, 127))
        assert trees.differing(old, place.look()) == {}, step
    place.well("undo", kept, "--yes")
    return step


def test_killed_at_each_step_of_apply(place):
    assert interrupt(place) > 40


def test_killed_at_each_step_of_apply_with_the_state_elsewhere(folder, root):
    with mounted(folder / "memory", "mode=0755,size=64m") as memory:
        (memory / "state").mkdir(0o700)
        assert interrupt(Place(folder, root, memory / "state")) > 40


def test_killed_at_each_step_of_undo(place):
    kept = place.fresh()
    old = place.look()
    place.well("apply", kept, "--yes")
    new = place.look()
    for step in itertools.count(1):
        if not place.killed(step, "undo", kept, "--yes"):
            break
        assert_old_or_new(place.look(), old, new)
        assert place.run("undo", kept, "--yes").returncode in (0, 127)
        assert trees.differing(old, place.look()) == {}, step
        place.well("apply", kept, "--yes")
        assert trees.differing(new, place.look()) == {}, step
    assert trees.differing(old, place.look()) == {}
    assert step > 20


def test_a_full_disk_leaves_everything_as_it_was(folder, root):
    with mounted(folder / "disk", "mode=0755,size=8m") as disk:
        (folder / "state").mkdir(0o700)
        place = Place(disk, root, folder / "state")
        kept = place.fresh("head -c 3000000 /dev/zero | tr '\\0' x > big; echo more >> edited; rm gone")
        old = place.look()
        filler = fill(disk)
        done = place.run("apply", kept, "--yes")
        assert done.returncode == 125 and b"No space left" in done.stderr, done.stderr
        assert trees.differing(old, place.look()) == {}
        assert json.loads(place.well("changes", "--json").stdout)["changes"][0]["applied"] is False
        filler.unlink()
        place.well("apply", kept, "--yes")
        assert (place.tree / "big").stat().st_size == 3000000
        place.well("undo", kept, "--yes")
        assert trees.differing(old, place.look()) == {}


def test_a_full_state_directory_leaves_everything_as_it_was(folder, root):
    with mounted(folder / "disk", "mode=0755,size=8m") as disk:
        (disk / "state").mkdir(0o700)
        place = Place(folder, root, disk / "state")
        kept = place.fresh()
        old = place.look()
        filler = fill(disk)
        done = place.run("apply", kept, "--yes")
        assert done.returncode == 125 and b"No space left" in done.stderr, done.stderr
        assert trees.differing(old, place.look()) == {}
        filler.unlink()
        place.well("apply", kept, "--yes")
        assert not (place.tree / "gone").exists()
        filler = fill(disk)
        place.run("undo", kept, "--yes")  # there may be no room to note that it is done
        assert trees.differing(old, place.look()) == {}
        filler.unlink()
        assert place.run("undo", kept, "--yes").returncode in (0, 127)
        assert trees.differing(old, place.look()) == {}


def test_what_changed_since_is_a_conflict(place):
    kept = place.fresh()
    (place.tree / "edited").write_text("by hand\n")
    (place.tree / "new").write_text("was not there\n")
    trees.give(place.tree, place.caller)
    old = place.look()
    done = place.run("apply", kept, "--yes")
    assert done.returncode == 126
    assert b"conflict: edited was changed since" in done.stderr and b"conflict: new is there already" in done.stderr
    assert place.look() == old
    report = json.loads(place.run("apply", kept, "--yes", "--json").stdout)
    assert {one["path"] for one in report["conflicts"]} >= {"edited", "new"}
    place.well("apply", kept, "--yes", "--force", "edited", "--force", "new")
    assert (place.tree / "edited").read_text().endswith("more\n") and (place.tree / "new/deep/file").exists()
    place.well("undo", kept, "--yes")
    assert trees.differing(old, place.look()) == {}


def test_what_is_touched_but_the_same_is_none(place):
    kept = place.fresh()
    for name in ("edited", "gone"):
        content = (place.tree / name).read_bytes()
        (place.tree / name).unlink()
        (place.tree / name).write_bytes(content)
    trees.give(place.tree, place.caller)
    place.well("apply", kept, "--yes")


def test_an_edit_after_apply_is_not_lost_by_undo(place):
    kept = place.fresh()
    old = place.look()
    place.well("apply", kept, "--yes")
    (place.tree / "edited").write_text("by hand\n")
    done = place.run("undo", kept, "--yes")
    assert done.returncode == 126 and b"conflict: edited" in done.stderr
    assert (place.tree / "edited").read_text() == "by hand\n"
    place.well("undo", kept, "--yes", "--force", "edited")
    assert trees.differing(old, place.look()) == {}


def test_a_parent_that_became_a_link_leads_nowhere(place, folder):
    kept = place.fresh("echo x >> logs/1; rm logs/2; echo y > logs/3")
    outside = folder / "outside"
    shutil.move(place.tree / "logs", outside)
    (place.tree / "logs").symlink_to(outside)
    trees.give(place.tree, place.caller)
    before = trees.look(outside)
    for extra in ((), ("--force", "logs")):
        done = place.run("apply", kept, "--yes", *extra)
        assert done.returncode == 126 and b"behind a link" in done.stderr
    assert trees.look(outside) == before


def test_a_link_out_of_the_project_must_be_wanted(place):
    kept = place.fresh("ln -s /etc/passwd out; ln -s ../../x up; ln -s edited fine")
    done = place.run("apply", kept, "--yes")
    assert done.returncode == 126
    assert b"conflict: out is a link" in done.stderr and b"conflict: up is" in done.stderr and b"fine is" not in done.stderr
    place.well("apply", kept, "fine", "out", "--yes", "--force", "out")
    assert os.readlink(place.tree / "out") == "/etc/passwd"


def test_no_bits_to_become_somebody_else(place):
    kept = place.fresh("chmod 6755 tool; cp tool set; chmod 6755 set; mkdir -m 3777 sticky")
    place.well("apply", kept, "--yes", "--also", "tool")
    for name in ("tool", "set", "sticky"):
        assert (place.tree / name).stat().st_mode & 0o7000 == 0, name
    assert (place.tree / "set").stat().st_mode & 0o777 == 0o755


def test_root_leaves_the_owner_what_is_theirs(folder, root):
    (folder / "state").mkdir(0o700)
    place = Place(folder, root)
    grow(place.tree)
    trees.give(place.tree, support.Callers.USER)
    kept = place.keep(SCRIPT)
    place.well("apply", kept, "--yes")
    owners = {(os.lstat(path).st_uid, os.lstat(path).st_gid) for path in place.tree.rglob("*")}
    assert owners == {(support.ORDINARY_UID, support.ORDINARY_UID)}
    place.well("undo", kept, "--yes")
    owners = {(os.lstat(path).st_uid, os.lstat(path).st_gid) for path in place.tree.rglob("*")}
    assert owners == {(support.ORDINARY_UID, support.ORDINARY_UID)}


def test_the_group_of_a_directory_goes_to_what_is_new(folder, root):
    (folder / "state").mkdir(0o700)
    place = Place(folder, root)
    grow(place.tree)
    for path in (place.tree, *place.tree.rglob("*")):
        os.chown(path, 0, 12345, follow_symlinks=False)
    (place.tree / "logs").chmod(0o2775)
    kept = place.keep("mkdir logs/sub; echo x > logs/sub/file; echo y > logs/new")
    place.well("apply", kept, "--yes")
    for name in ("logs/sub", "logs/sub/file", "logs/new"):
        assert (place.tree / name).stat().st_gid == 12345, name
    assert (place.tree / "logs/sub").stat().st_mode & stat.S_ISGID


def test_directories_that_are_closed_to_their_owner(place):
    kept = place.fresh("chmod 555 locked; mkdir -p shut; echo x > shut/file; chmod 500 shut")
    place.well("apply", kept, "--yes")
    assert (place.tree / "locked").stat().st_mode & 0o777 == 0o555
    assert (place.tree / "shut").stat().st_mode & 0o777 == 0o500
    kept = place.keep("chmod 755 locked shut; rm -r locked; echo y > shut/other; chmod 500 shut")
    old = place.look()
    place.well("apply", kept, "--yes")
    assert not (place.tree / "locked").exists() and (place.tree / "shut").stat().st_mode & 0o777 == 0o500
    place.well("undo", kept, "--yes")
    assert trees.differing(old, place.look()) == {}


def test_one_at_a_time(place):
    kept = place.fresh()
    fd = os.open(place.state / "changes" / kept, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        for words in (("apply", kept, "--yes"), ("undo", kept, "--yes"), ("changes", "drop", kept)):
            done = place.run(*words)
            assert done.returncode == 125 and b"another sandbox-run" in done.stderr, done.stderr
        place.well("changes", "show", kept)
    finally:
        os.close(fd)
    place.well("apply", kept, "--yes")


@pytest.mark.parametrize("damage", (b"", b"short", b"\0" * 300, None))
def test_what_is_damaged_is_listed_and_can_be_dropped(place, damage):
    kept = place.fresh()
    meta = place.state / "changes" / kept / "meta"
    if damage is None:
        content = bytearray(meta.read_bytes())
        content[len(content) // 2] ^= 1
        damage = bytes(content)
    meta.write_bytes(damage)
    listed = json.loads(place.well("changes", "--json").stdout)["changes"]
    assert listed == [{"id": kept, "damaged": True}]
    assert b"damaged" in place.well("changes").stdout
    for words in (("changes", "show", kept), ("changes", "diff", kept), ("apply", kept, "--yes"), ("undo", kept, "-y")):
        done = place.run(*words)
        assert done.returncode == 125 and b"damaged" in done.stderr
    place.well("changes", "drop", kept)
    assert json.loads(place.well("changes", "--json").stdout)["count"] == 0


def test_contents_that_are_damaged_are_not_applied(place):
    kept = place.fresh()
    (place.state / "changes" / kept / "tree/0/edited").write_bytes(b"")
    old = place.look()
    done = place.run("apply", kept, "--yes")
    assert done.returncode == 126 and b"damaged" in done.stderr
    assert place.look() == old


def test_an_undo_that_is_damaged_says_so(place):
    kept = place.fresh()
    place.well("apply", kept, "--yes")
    (place.state / "changes" / kept / "undo/journal").write_bytes(b"x" * 200)
    done = place.run("undo", kept, "--yes")
    assert done.returncode == 125 and b"damaged" in done.stderr


def test_names_of_any_bytes(place):
    names = trees.ODD_NAMES
    script = "".join("echo x > $'%s'\n" % "".join("\\x%02x" % byte for byte in name) for name in names)
    kept = place.fresh(script)
    for words in (("changes", "show"), ("changes", "diff"), ("apply", kept, "--yes")):
        done = place.well(*words)
        assert b"\033" not in done.stdout + done.stderr
    for name in names:
        assert os.path.exists(os.path.join(os.fsencode(place.tree), name)), name


def test_an_id_can_be_short_but_not_too_short(place):
    kept = place.fresh()
    assert place.run("changes", "show", kept[:3]).returncode == 125
    place.well("changes", "show", kept[:4])
    done = place.run("changes", "show", "f" * 32 if kept[0] != "f" else "0" * 32)
    assert done.returncode == 127 and b"changes list" in done.stderr


def test_a_state_directory_of_others_is_refused(place, folder):
    place.fresh()
    place.state.chmod(0o755)
    done = place.run("changes")
    assert done.returncode == 126 and b"chmod 700" in done.stderr
