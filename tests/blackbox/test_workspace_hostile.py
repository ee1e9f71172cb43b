"""Projects and state directories that somebody prepared: nothing outside is touched, and nothing crashes."""
import contextlib
import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys

import pytest

import support
import trees
from waiting import wait_until


def keep(tree, script, caller, state, *options, **env):
    result = support.shell(script, "--project", tree, "--keep", *options, caller=caller,
                           env={"SANDBOX_RUN_STATE": str(state), **env})
    assert result["success"], result
    return result


@pytest.fixture
def state(folder, caller):
    (folder / "state").mkdir(0o700)
    trees.give(folder / "state", caller)
    return folder / "state"


def grow(top, caller):
    top.mkdir(parents=True)
    (top / "file").write_text("content\n")
    trees.give(top, caller)
    return top


@pytest.mark.parametrize("words", (["apply"], ["undo"]))
def test_a_link_on_the_way_to_the_project_is_not_followed(folder, caller, state, words):
    """Whoever owns a directory on the way to the project could lead a later apply elsewhere."""
    tree, elsewhere = grow(folder / "theirs" / "tree", caller), grow(folder / "elsewhere" / "tree", caller)
    env = {"SANDBOX_RUN_STATE": str(state)}
    name = keep(tree, "echo new > new; echo more >> file", caller, state)["changes_id"]
    if words == ["undo"]:
        assert support.sandbox_run("apply", name, "--yes", caller=caller, env=env).returncode == 0
    before = trees.look(elsewhere)
    os.rename(folder / "theirs", folder / "moved")
    os.symlink("elsewhere", folder / "theirs")
    done = support.sandbox_run(*words, name, "--yes", caller=caller, env=env)
    assert done.returncode == 126 and b"behind a link" in done.stderr, done
    assert trees.look(elsewhere) == before
    os.unlink(folder / "theirs")
    os.rename(folder / "moved", folder / "theirs")
    assert support.sandbox_run(*words, name, "--yes", caller=caller, env=env).returncode == 0
    assert (tree / "new").exists() == (words == ["apply"])


SWAP = ("import ctypes, sys\n"
        "libc, (a, b) = ctypes.CDLL(None), (one.encode() for one in sys.argv[1:])\n"
        "print(flush=True)\n"
        "while True: libc.renameat2(-100, a, -100, b, 2)\n")


@contextlib.contextmanager
def exchanged(one, other):
    """The two names are exchanged all the time; afterwards they are as before."""
    swapping = subprocess.Popen([sys.executable, "-c", SWAP, one, other], stdout=subprocess.PIPE)
    try:
        swapping.stdout.readline()
        yield
    finally:
        swapping.kill()
        swapping.communicate()
        if one.is_symlink():
            one.rename(one.parent / "between")
            other.rename(one)
            (one.parent / "between").rename(other)


WRITES = {
    "apply": lambda top, name: ["apply", name, "--yes"],
    "undo": lambda top, name: ["undo", name],
    "build": lambda top, name: ["build", top / "tree", "--artifacts", top / "tree/sub/deep/made"],
    "golden": lambda top, name: ["golden", top / "tree/sub/deep", "--update"],
}


@pytest.mark.parametrize("what", WRITES)
def test_a_directory_that_is_a_link_now_and_then_leads_no_write_elsewhere(folder, caller, state, what):
    """`sub` of the project, with what is written, changes places with a link to a directory outside."""
    tree, outside = grow(folder / "tree", caller), folder / "outside"
    for top in (tree / "sub", outside):
        (top / "deep/one").mkdir(parents=True)
        for name, text in (("f", "old\n"), ("one/command", "echo 1\n"), ("one/stdout", "x\n")):
            (top / "deep" / name).write_text(text)
        trees.give(top, caller)
    (tree / "Makefile").write_text("all:\n\tmkdir -p out; echo b > out/a\n")
    (tree / "link").symlink_to(outside)
    trees.give(tree, caller)
    before, env = trees.look(outside), {"SANDBOX_RUN_STATE": str(state)}
    degraded = ["--allow-degraded"] if caller == support.Callers.USER and what in ("build", "golden") and not support.lacks(caller) else []
    for number in range(4):
        name = keep(tree, f"echo {number} > sub/deep/f; echo x > sub/deep/n{number}", caller, state)["changes_id"]
        if what == "undo":
            assert support.sandbox_run("apply", name, "--yes", caller=caller, env=env).returncode == 0
        with exchanged(tree / "sub", tree / "link"):
            done = support.sandbox_run(*WRITES[what](folder, name), *degraded, caller=caller, env=env)
        assert done.returncode >= 0 and trees.look(outside) == before, (number, done)


def test_a_project_that_is_named_through_a_link_is_applied(folder, caller, state):
    tree = grow(folder / "real" / "tree", caller)
    os.symlink("real", folder / "named")
    name = keep(folder / "named" / "tree", "echo new > new", caller, state)["changes_id"]
    done = support.sandbox_run("apply", name, "--yes", caller=caller, env={"SANDBOX_RUN_STATE": str(state)})
    assert done.returncode == 0, done.stderr
    assert (tree / "new").read_text() == "new\n"


@pytest.mark.parametrize("backend", trees.BACKENDS)
@pytest.mark.parametrize("wrong", ("open to others", "a file", "relative"))
def test_a_state_directory_that_cannot_be_used_is_an_error(folder, caller, wrong, backend):
    tree = grow(folder / "tree", caller)
    place = folder / "state"
    if wrong == "a file":
        place.write_text("")
    elif wrong == "open to others":
        place.mkdir(0o755)
    trees.give(folder, caller)
    where = "relative" if wrong == "relative" else str(place)
    done = support.sandbox_run("run", "--project", tree, "--keep", "--lang", "bash", "--code", "echo ran",
                               caller=caller, env={"SANDBOX_RUN_STATE": where, "SANDBOX_RUN_COW": backend})
    assert done.returncode in (125, 126) and b"state" in done.stderr, done
    assert done.stdout == b""


@pytest.mark.parametrize("backend", trees.BACKENDS)
def test_files_of_others_can_be_deleted_as_in_the_real_tree(folder, root, backend):
    """Logs belong to all sorts of groups."""
    tree = grow(folder / "tree", root)
    (folder / "state").mkdir(0o700)
    (tree / "group").write_text("g\n")
    (tree / "user").write_text("u\n")
    (tree / "theirs").mkdir()
    (tree / "theirs" / "file").write_text("t\n")
    os.chown(tree / "group", 0, 12345)
    os.chown(tree / "user", 12345, 12345)
    os.chown(tree / "theirs", 12345, 12345)
    script = "rm -f group user; rm -f theirs/file; echo $?; cat theirs/file; echo x > theirs/new; true"
    result = keep(tree, script, root, folder / "state", SANDBOX_RUN_COW=backend)
    assert {(c["op"], c["path"]) for c in result["changes"]} == {("deleted", "group"), ("deleted", "user")}, result
    assert result["stdout"] == "1\nt\n"
    done = support.sandbox_run("apply", result["changes_id"], "--yes",
                               env={"SANDBOX_RUN_STATE": str(folder / "state")})
    assert done.returncode == 0 and not (tree / "user").exists(), done.stderr


@pytest.mark.parametrize("backend", trees.BACKENDS)
def test_attributes_of_overlayfs_in_a_project_do_no_harm(folder, caller, state, backend):
    """As in a project from an archive; its files may be hidden or refused, but nothing else is shown or changed."""
    tree = grow(folder / "tree", caller)
    (folder / "secret").write_text("secret\n")
    for name in ("opaque", "whiteout", "redirect"):
        (tree / name).mkdir()
        (tree / name / "file").write_text("" if name == "whiteout" else f"{name}\n")
    (tree / "metacopy").write_text("metacopy\n")
    attributes = (("opaque", "opaque", b"y"), ("whiteout", "opaque", b"x"), ("whiteout/file", "whiteout", b"y"),
                  ("redirect", "redirect", b"/../secret"), ("metacopy", "metacopy", b""), (".", "opaque", b"y"),
                  ("metacopy", "redirect", b"/../../secret"), (".", "impure", b"y"), ("file", "nlink", b"L+5"))
    try:
        for name, key, value in attributes:
            os.setxattr(tree / name, f"user.overlay.{key}", value)
        if caller != support.Callers.USER:
            os.mknod(tree / "device", stat.S_IFCHR | 0o600, 0)
    except OSError as problem:
        pytest.skip(f"no user attributes or no such device here: {problem}")
    trees.give(tree, caller)
    before = trees.look(tree)
    script = "cat */file file metacopy; echo more >> file; rm -rf opaque; mkdir opaque; mv redirect moved; true"
    result = keep(tree, script, caller, state, SANDBOX_RUN_COW=backend)
    assert "secret" not in result["stdout"] and trees.look(tree) == before
    found = {(c["op"], c["path"]) for c in result["changes"]}
    assert {("modified", "file"), ("deleted", "opaque/file"), ("renamed", "moved/file")} <= found, found
    done = support.sandbox_run("apply", result["changes_id"], "--yes", caller=caller,
                               env={"SANDBOX_RUN_STATE": str(state)})
    assert done.returncode == 0, done.stderr
    assert (tree / "file").read_text() == "content\nmore\n" and not list((tree / "opaque").iterdir())


def test_outputs_saved_into_the_project_do_not_hide_changes(folder, caller, state):
    tree = grow(folder / "tree", caller)
    result = keep(tree, "mkdir out; echo made > made; cp made out/made", caller, state, "--output",
                  f"made:{tree}/out")
    assert (tree / "out" / "made").read_text() == "made\n"
    assert ("created", "out/made") in {(c["op"], c["path"]) for c in result["changes"]}


def test_names_that_are_no_text_are_told_as_text_when_they_are_lost(folder, root):
    """Nothing reaches a terminal or the JSON as the program wrote it."""
    tree, place = grow(folder / "tree", root), folder / "state"
    place.mkdir()
    script = "open(b'/work/\\x1b]0;x\\x07\\x9b31m\\xff', 'w').write('x' * 3_000_000)"
    words = ["run", "--project", str(tree), "--keep", "--lang", "python", "--code", script]
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,mode=700", "tmpfs", str(place)], check=True)
    try:
        env = {"SANDBOX_RUN_STATE": str(place)}
        told = support.sandbox_run(*words, env=env)
        result = json.loads(support.sandbox_run(*words, "--json", env=env).stdout.decode())
    finally:
        subprocess.run(["umount", str(place)], check=True)
    assert told.returncode == 126 and told.stderr.isascii() and b"\033" not in told.stderr, told
    assert not result["success"] and "lost" in result["explanation"] and result["changes_id"] is None


def meta_with(data, at, value):
    changed = bytearray(data[:-64])
    changed[at:at + len(value)] = value
    return bytes(changed) + hashlib.sha256(changed).hexdigest().encode()


def test_kept_changes_that_were_tampered_with_crash_nothing(folder, caller, state):
    """The sum is right, so it is what the list says that is looked at."""
    tree = grow(folder / "tree", caller)
    script = "echo more >> file; mkdir d; echo n > d/n; ln -s n d/l"
    kept = state / "changes" / keep(tree, script, caller, state)["changes_id"]
    meta = (kept / "meta").read_bytes()
    outside = trees.look(folder / "state" / "workspaces")
    for at in range(0, len(meta) - 64, 7):
        for value in (b"\xff\xff\xff\xff", b"\0", b"../."):
            (kept / "meta").write_bytes(meta_with(meta, at, value))
            done = support.sandbox_run("apply", kept.name, "--yes", "--json", caller=caller,
                                       env={"SANDBOX_RUN_STATE": str(state)})
            assert done.returncode in (0, 125, 126, 127), (at, value, done)
    assert trees.look(folder / "state" / "workspaces") == outside
    assert sorted(os.listdir(folder)) == ["state", "tree"]


@pytest.mark.parametrize("backend", trees.BACKENDS)
def test_a_directory_that_took_the_place_of_another_meanwhile_conflicts(folder, caller, state, backend):
    """Its files are older than the run, and not what the program saw."""
    tree = folder / "tree"
    for name in ("now", "next"):
        (tree / name / "sub").mkdir(parents=True)
        for path in ("file", "sub/file", "gone"):
            (tree / name / path).write_text(f"{name}\n")
    trees.give(tree, caller)
    (folder / "signals").mkdir(0o777)
    os.chmod(folder / "signals", 0o777)
    script = """
echo seen >> now/file; echo seen >> now/sub/file; rm now/gone; touch /signals/started
while [ ! -e /signals/go ]; do sleep 0.01; done
"""
    words = support.command("run", "--json", "--project", tree, "--volume", f"{folder}/signals:/signals:rw", "--keep",
                            "--lang", "bash", "--code", script, caller=caller)
    env = support.environment({"SANDBOX_RUN_STATE": str(state), "SANDBOX_RUN_COW": backend,
                               "SANDBOX_RUN_CACHE": support.cache_of(caller)})
    with subprocess.Popen(words, stdout=subprocess.PIPE, env=env) as run:
        wait_until(lambda: (folder / "signals" / "started").exists())
        os.rename(tree / "now", tree / "old")
        os.rename(tree / "next", tree / "now")
        (folder / "signals" / "go").touch()
        result = json.loads(run.communicate(timeout=support.DEADLINE)[0])
    done = support.sandbox_run("apply", result["changes_id"], "--yes", caller=caller,
                               env={"SANDBOX_RUN_STATE": str(state)})
    assert done.returncode == 126, done
    for path in ("file", "sub/file", "gone"):
        assert f"conflict: now/{path} was changed while".encode() in done.stderr, done.stderr
    assert (tree / "now" / "file").read_text() == "next\n"


def test_owners_are_right_wherever_apply_was_killed(folder, root):
    """Root applies to somebody else's tree; what an attempt before has made is no exception."""
    place, tree = folder / "state", folder / "tree"
    place.mkdir(0o700)
    env = {"SANDBOX_RUN_STATE": str(place)}
    script = "mkdir -p new/deep; echo n > new/deep/file; rm file; mkdir file; echo i > file/inner; ln -s file link"
    for step in range(1, 200):
        grow(tree, support.Callers.USER)
        name = keep(tree, script, root, place)["changes_id"]
        words = ("apply", name, "--yes")
        killed = support.sandbox_run(*words, hooks=True, env={**env, "SANDBOX_RUN_TEST_APPLY": str(step)}).returncode
        again = support.sandbox_run(*words, env=env)
        assert again.returncode == 0, (step, again.stderr)
        seen = {path: about[-4:-2] for path, about in trees.look(tree, exactly=True).items()}
        assert len(seen) == 6 and set(seen.values()) == {(support.ORDINARY_UID, support.ORDINARY_UID)}, (step, seen)
        assert support.sandbox_run("changes", "drop", name, env=env).returncode == 0
        shutil.rmtree(tree)
        if killed == 0:
            return
    raise AssertionError("it never came to its end")


def test_an_empty_path_does_not_mean_everything(folder, caller, state):
    tree = grow(folder / "tree", caller)
    name = keep(tree, "rm file", caller, state)["changes_id"]
    for words in (["apply"], ["undo"]):
        done = support.sandbox_run(*words, name, "", "--yes", caller=caller, env={"SANDBOX_RUN_STATE": str(state)})
        assert done.returncode == 125 and b"empty path" in done.stderr, done
    assert (tree / "file").exists()


def test_a_tree_is_not_written_through_and_copy_on_write_under_two_names(folder, caller):
    tree = grow(folder / "tree", caller)
    (tree / "below").mkdir()
    os.symlink("tree", folder / "link")
    done = support.sandbox_run("run", "--project", tree, "--volume", f"{folder}/link/below:/data:rw", "--lang", "bash",
                               "--code", "true", caller=caller)
    assert done.returncode == 125 and b"one is in the other" in done.stderr, done


def test_what_is_mounted_in_the_project_is_in_the_way_of_apply(folder, root):
    tree = grow(folder / "tree", root)
    (folder / "state").mkdir(0o700)
    (tree / "mounted").mkdir()
    env = {"SANDBOX_RUN_STATE": str(folder / "state")}
    name = keep(tree, "rmdir mounted; echo file > mounted; echo more >> file", root, folder / "state")["changes_id"]
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(tree / "mounted")], check=True)
    try:
        done = support.sandbox_run("apply", name, "--yes", env=env)
        kept = keep(tree, "rm -rf mounted; echo file > mounted", root, folder / "state")["changes_id"]
        again = support.sandbox_run("apply", kept, "--yes", env=env)
    finally:
        subprocess.run(["umount", str(tree / "mounted")], check=True)
    assert done.returncode == 126 and b"conflict: mounted" in done.stderr, done
    assert again.returncode == 126 and b"conflict: mounted" in again.stderr, again
    assert (tree / "mounted").is_dir() and (tree / "file").read_text() == "content\n"


def test_a_copy_does_not_copy_itself(folder, caller):
    tree = grow(folder / "tree", caller)
    (tree / "state").mkdir(0o700)
    trees.give(tree, caller)
    result = keep(tree, "echo more >> file; ls", caller, tree / "state", SANDBOX_RUN_COW="copy")
    assert {(c["op"], c["path"]) for c in result["changes"]} == {("modified", "file")}, result
    shutil.rmtree(tree / "state")
