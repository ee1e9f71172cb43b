"""Attacks on the store: by its own programs, by other users, and by whoever damages it."""
import contextlib
import itertools
import os
import pathlib
import shutil
import subprocess

import pytest

import harness
import stages
import support
from harness import callers
from stages import Store, give, run, said, store, tree_of  # noqa: F401
from support import ORDINARY_UID, Callers

MAKE = "echo 'echo good' > $BUILD/program; mkdir $BUILD/d; echo data > $BUILD/d/file; ln -s d/file $BUILD/link"
_numbers = itertools.count()
OTHER_UID = 65533  # neither root nor the ordinary user
VICTIM_UID = 65532  # nobody else uses the place of this user's store


def compiled(store, *options, **kwargs):
    return run(store, *options, compile=MAKE, **kwargs)


def error_of(result):
    return harness.json_error(result)["message"]


def only_entry(store, kind="artifact"):
    entries = store.entries(kind)
    assert len(entries) == 1
    return entries[0]


def user_words(uid):
    return ["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups", "--"]


def as_user(uid, *words):
    """Whether a command works for another user."""
    return subprocess.run([*user_words(uid), *map(str, words)], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, check=False).returncode == 0


# --- poison --------------------------------------------------------------------------------------

def poison_bytes(tree):
    (tree / "program").write_text("echo evil\n")


def poison_same_size(tree):
    (tree / "program").write_text("echo evil\n")
    os.truncate(tree / "program", len("echo good\n"))


def poison_times_too(tree):
    before = os.stat(tree / "program")
    poison_same_size(tree)
    os.utime(tree / "program", ns=(before.st_atime_ns, before.st_mtime_ns))


def poison_by_rename(tree):
    (tree / "new").write_text("echo evil\n")
    os.rename(tree / "new", tree / "program")


def poison_by_link(tree):
    (tree.parent / "evil").write_text("echo evil\n")
    (tree / "program").unlink()
    (tree / "program").symlink_to("../evil")


def poison_directory_by_link(tree):
    shutil.move(tree / "d", tree.parent / "moved")
    (tree / "d").symlink_to(tree.parent / "moved")


def poison_by_addition(tree):
    (tree / "more").write_text("echo evil\n")


def poison_by_removal(tree):
    (tree / "d" / "file").unlink()


def poison_mode(tree):
    (tree / "program").chmod(0o4755)


def poison_meta(tree):
    (tree.parent / "meta").write_bytes(b"\0" * 500)


def poison_empty_meta(tree):
    (tree.parent / "meta").write_bytes(b"")


def poison_meta_by_pipe(tree):
    (tree.parent / "meta").unlink()
    os.mkfifo(tree.parent / "meta")


def poison_file_by_pipe(tree):
    (tree / "program").unlink()
    os.mkfifo(tree / "program")


def poison_tree_by_link(tree):
    shutil.move(tree, tree.parent / "moved")
    (tree.parent / "moved" / "program").write_text("echo evil\n")
    tree.symlink_to("moved")


def poison_entry_by_link(tree):
    moved = tree.parents[2] / "moved"
    shutil.move(tree.parent, moved)
    (moved / "tree" / "program").write_text("echo evil\n")
    tree.parent.symlink_to(moved)


def poison_entry_by_file(tree):
    shutil.rmtree(tree.parent)
    tree.parent.write_text("x")


POISONS = [value for name, value in sorted(globals().items()) if name.startswith("poison_")]


@callers
def test_a_poisoned_artifact_is_made_again(store):
    assert compiled(store)["stdout"] == "good\n"
    wrong = []
    for poison in POISONS:
        poison(tree_of(only_entry(store)))
        found = [(result.get("stdout"), result.get("cached")) for result in (compiled(store), compiled(store))]
        if found != [("good\n", False), ("good\n", True)]:
            wrong.append(f"{poison.__name__}: {found}")
            support.sandbox_run("cache", "clear", caller=store.caller, env=store.environment())
            compiled(store)  # for the next one
    harness.assert_none(wrong)


@callers
def test_an_entry_is_not_taken_for_another(store):
    """Its meta says which it is, so a whole entry cannot stand in for another."""
    compiled(store)
    good = only_entry(store)
    run(store, compile="echo 'echo evil' > $BUILD/program")
    evil = next(entry for entry in store.entries("artifact") if entry != good)
    shutil.rmtree(good)
    shutil.copytree(evil, good, symlinks=True)
    for path in (good, *good.rglob("*")):
        os.chown(path, evil.stat().st_uid, evil.stat().st_gid, follow_symlinks=False)
    assert compiled(store)["stdout"] == "good\n"


@callers
def test_another_kind_is_not_taken_for_an_artifact(store):
    compiled(store)
    entry = only_entry(store)
    shutil.move(entry, store.path / "layer" / entry.name)
    assert not compiled(store)["cached"]


# --- other users ---------------------------------------------------------------------------------

@callers
@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o1777, 0o720])
def test_a_store_that_others_can_write_is_not_used(store, mode):
    store.path.chmod(mode)
    assert "others can write" in error_of(compiled(store))
    assert not list(store.path.iterdir())


@harness.root_only
@callers
def test_a_store_of_another_user_is_not_used(store):
    os.chown(store.path, OTHER_UID, OTHER_UID)
    store.path.chmod(0o755)
    assert f"belongs to user {OTHER_UID}" in error_of(compiled(store))


@harness.root_only
@pytest.mark.parametrize("caller", [Callers.ROOT])
def test_root_does_not_use_a_users_store(store):
    """What he put there would run as whatever root's programs run as, with root's data."""
    os.chown(store.path, ORDINARY_UID, ORDINARY_UID)
    assert "not to you" in error_of(compiled(store))


@harness.root_only
@callers
def test_nobody_else_can_enter_the_store(store):
    compiled(store)
    entry = only_entry(store)
    for path in (store.path, entry, entry / "meta", tree_of(entry), tree_of(entry) / "program"):
        assert not as_user(OTHER_UID, "ls", path / "." if path.is_dir() else path), path
        assert not as_user(OTHER_UID, "cat", path), path
    assert os.stat(store.path).st_mode & 0o777 == 0o700


@harness.root_only
@callers
def test_every_directory_of_the_store_is_the_owners(store):
    """However loose the caller's umask is."""
    before = os.umask(0)
    try:
        store.path.rmdir()
        store.folder.chmod(0o777)
        compiled(store)
    finally:
        os.umask(before)
    for path in (store.path, *store.path.rglob("*")):
        if not path.is_symlink():
            assert not path.stat().st_mode & 0o022, path
    assert os.stat(store.path).st_mode & 0o777 == 0o700


@harness.root_only
@pytest.mark.parametrize("caller", [Callers.USER])
def test_two_users_never_share(room, store):
    """Without a name of their own for it they have different ones; with the same one, it is refused."""
    compiled(store)
    path = store.file("attack.yaml", stages.language(compile=MAKE))
    result = support.result_of("run", "--language-file", path, "--lang", "attack", "--code", "x",
                               caller=Callers.ROOT, env=store.environment())
    assert "not to you" in error_of(result)
    places = {caller: support.sandbox_run("cache", "path", caller=caller, env={"HOME": "/nonexistent"}).stdout
              for caller in (Callers.ROOT, Callers.USER)}
    assert places[Callers.ROOT] != places[Callers.USER] or not any(places.values())


@harness.root_only
def test_the_shared_place_is_not_taken_by_a_link(room):
    """Whoever comes first may put a link or a directory there, under another's name."""
    place = pathlib.Path(f"/var/tmp/sandbox-run-{VICTIM_UID}")
    target = room / "bait"
    target.mkdir()
    os.chown(target, VICTIM_UID, VICTIM_UID)
    path = room / "shared-place.yaml"
    path.write_text(stages.language(compile=MAKE))

    def runs():
        return support.result_of("run", "--allow-degraded", "--language-file", path, "--lang", "attack", "--code", "x",
                                 prefix=user_words(VICTIM_UID), env={"HOME": "/nonexistent", "SANDBOX_RUN_CACHE": None})

    try:
        place.symlink_to(target)
        result = runs()
        assert "error" in result and not list(target.iterdir()), said(result)[:400]
        place.unlink()
        place.mkdir(mode=0o777)
        os.chown(place, OTHER_UID, OTHER_UID)
        result = runs()
        assert "error" in result and not list(place.iterdir()), said(result)[:400]
        place.rmdir()
        assert "error" not in runs()
    finally:
        with contextlib.suppress(OSError):
            place.unlink() if place.is_symlink() else shutil.rmtree(place)
        shutil.rmtree(target)
        path.unlink()


@callers
@pytest.mark.parametrize("path", ["relative/cache", "cache", "../x"])
def test_a_store_is_named_by_an_absolute_path(store, path):
    result = compiled(store, env={"SANDBOX_RUN_CACHE": path})
    assert "absolute path" in error_of(result)


# --- what runs inside ----------------------------------------------------------------------------

@callers
def test_no_stage_finds_the_store_on_its_way(store):
    """Nothing of it is mounted but the trees, so no other program's artifact can be read or changed."""
    compiled(store)
    look = (f"ls {store.path} {store.folder}; find / -xdev -name meta -path '*artifact*' 2>/dev/null; "
            f"grep -c '{store.path}' /proc/self/mountinfo")
    result = run(store, compile=f"{{ {look}; }} > $BUILD/program 2>&1; true", run=f"cat /build/program; {look}")
    text = result["stdout"] + result["stderr"]
    assert "artifact" not in text.replace(str(store.path), ""), text


@callers
def test_times_of_what_is_kept_cannot_be_changed_from_inside(store):
    touch = ("import os\nfor path in (\"/build\", \"/build/program\"):\n    fd = os.open(path, os.O_RDONLY)\n"
             "    try:\n        os.utime(fd, (1, 1)); print(\"GOT\")\n    except OSError as e: print(\"NOT\", e)")
    result = compiled(store, run=f"/usr/bin/python3 -c '{touch}'")
    assert "GOT" not in result["stdout"] and "NOT" in result["stdout"], said(result)[:400]


@callers
def test_a_run_in_flight_keeps_its_tree_when_the_store_is_cleared(store):
    """Removing is renaming first: what is mounted stays what it was."""
    path = store.file("attack.yaml", stages.language(compile=MAKE, run="read line; bash /build/program"))
    process = subprocess.Popen(
        support.command("run", "--language-file", path, "--lang", "attack", "--code", "x", caller=store.caller),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        env=support.environment(store.environment()))
    harness.wait_until(lambda: store.entries("artifact"), "the artifact is there")
    poison_by_rename(tree_of(only_entry(store)))
    out, _ = process.communicate(b"\n", timeout=support.DEADLINE)
    assert out in (b"good\n", b"evil\n")  # the owner's own doing; but it ends, and says what ran
    assert process.returncode == 0


@callers
def test_two_makers_at_once_make_one_entry(store):
    path = store.file("attack.yaml", stages.language(compile="sleep 0.3; " + MAKE))
    line = support.command("run", "--language-file", path, "--lang", "attack", "--code", "x", caller=store.caller)
    makers = [subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               env=support.environment(store.environment())) for _ in range(4)]
    assert [maker.communicate(timeout=support.DEADLINE)[0] for maker in makers] == [b"good\n"] * 4
    only_entry(store)
    assert not store.leavings()


@callers
def test_a_maker_that_is_killed_leaves_nothing_that_counts(store):
    path = store.file("attack.yaml", stages.language(compile=MAKE + "; sleep 100"))
    maker = subprocess.Popen(
        support.command("run", "--language-file", path, "--lang", "attack", "--code", "x", caller=store.caller),
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env=support.environment(store.environment()))
    harness.wait_until(store.leavings, "the maker has begun")
    maker.kill()
    maker.wait(support.DEADLINE)
    assert not store.entries("artifact")
    assert compiled(store)["stdout"] == "good\n"

    def next_one_sweeps():
        """The kernel takes a moment to end what belonged to the maker, and with it the lock."""
        run(store, compile=f"true {next(_numbers)}", run="true")
        return not store.leavings()

    harness.wait_until(next_one_sweeps, "the next maker sweeps", store.leavings)


@callers
def test_a_link_in_the_staging_is_not_swept_through(scene, store):
    """Cleaning up removes names of the store, and nothing behind them."""
    compiled(store)
    precious = store.folder / "precious"
    precious.mkdir()
    (precious / "file").write_text("x")
    staging = store.path / "staging" / ("0" * 32)
    staging.symlink_to(precious)
    inner = store.path / "staging" / ("1" * 32)
    inner.mkdir()
    (inner / "tree").symlink_to(precious)
    run(store, compile="true", run="true")
    support.sandbox_run("cache", "clear", caller=store.caller, env=store.environment())
    assert (precious / "file").read_text() == "x"
