"""What a stage leaves behind for the next ones, made by a stranger and handled by the supervisor."""
import os
import stat
import time

import pytest

import harness
from harness import callers
from stages import run, said, stage_of, store, tree_of  # noqa: F401

PROGRAM = "echo 'echo ran' > $BUILD/program; "


def compiled(store, script, *options, run_script="bash $BUILD/program", **kwargs):
    return run(store, *options, compile=PROGRAM + script, run=run_script, **kwargs)


def only_tree(store, kind="artifact"):
    entries = store.entries(kind)
    assert len(entries) == 1, entries
    return tree_of(entries[0])


def assert_refused(store, result, *parts):
    """It is the stage's failure and not ours, in words; nothing is kept."""
    assert result["outcome"] == "compile_failed", said(result)[:600]
    assert any(part in said(result) for part in parts), said(result)[:600]
    assert not store.entries("artifact") and not store.leavings()


# --- links ---------------------------------------------------------------------------------------

@callers
def test_a_link_to_the_host_is_never_followed(scene, store):
    """Neither when the tree is taken in nor when it is used: a link is only a text."""
    links = [str(scene.secret), f"../../../../../../../../..{scene.secret}", f"/proc/self/root{scene.secret}",
             "/proc/1/cwd", "/"]
    make = "; ".join(f"ln -s {link} $BUILD/{number}; ln -s {link} $BUILD/d/{number}" for number, link in enumerate(links))
    look = "; ".join(f"cat /build/{number} /build/d/{number}; readlink /build/{number}" for number in range(len(links)))
    result = compiled(store, f"mkdir $BUILD/d; {make}", run_script=look)
    assert harness.SECRET not in said(result)
    assert result["stdout"].splitlines() == links
    assert harness.SECRET.encode() not in store.content()
    assert [os.readlink(only_tree(store) / str(number)) for number in range(len(links))] == links


@callers
def test_a_link_in_the_place_of_the_program_leads_nowhere(scene, store):
    result = run(store, compile=f"ln -s {scene.tools}/attack $BUILD/program", run="exec /build/program")
    assert result["outcome"] == "exited" and result["exit_code"] != 0, said(result)[:500]


@callers
def test_links_that_turn_in_circles_hold_nobody_up(store):
    result = compiled(store, "ln -s loop $BUILD/loop; ln -s . $BUILD/self; ln -s .. $BUILD/up")
    assert result["stdout"] == "ran\n"


@callers
def test_the_directory_itself_cannot_be_replaced(scene, store):
    """It is a mount of its own."""
    result = compiled(store, f"cd /; rmdir $BUILD; mv $BUILD /tmp/b; ln -sfn {scene.room} $BUILD; true")
    assert harness.SECRET.encode() not in store.content()
    assert result["outcome"] == "exited", said(result)[:500]


# --- what is no file -----------------------------------------------------------------------------

@callers
def test_pipes_sockets_and_devices_are_left_out(store):
    """A pipe would hold up whoever opens it; nothing of the kind means anything later."""
    bind = "import socket; socket.socket(socket.AF_UNIX).bind(\"/build/socket\")"
    result = compiled(store, f"mkfifo $BUILD/pipe; /usr/bin/python3 -c '{bind}'; "
                             "mknod $BUILD/null c 1 3 2>/dev/null; mknod $BUILD/disk b 8 0 2>/dev/null; true",
                      run_script="ls /build")
    assert result["stdout"] == "program\n"
    assert [path.name for path in only_tree(store).iterdir()] == ["program"]


@callers
def test_no_bit_that_gives_rights_is_kept(store):
    result = compiled(store, "cp /usr/bin/id $BUILD/id; chmod 6755 $BUILD/id; mkdir -m 7777 $BUILD/d; "
                             "chmod 777 $BUILD/program", run_script="stat -c %a /build/id /build/d /build/program")
    assert result["stdout"].split() == ["755", "755", "755"]
    for path in (tree := only_tree(store)), *tree.rglob("*"):
        assert not path.lstat().st_mode & (stat.S_ISUID | stat.S_ISGID | stat.S_ISVTX | 0o022), path
        owner = os.geteuid() if store.caller == "root" else path.parent.stat().st_uid
        assert path.lstat().st_uid == owner


@callers
def test_extended_attributes_are_not_kept(store):
    attribute = "import os; os.setxattr(\"/build/program\", \"user.note\", b\"x\")"
    compiled(store, f"/usr/bin/python3 -c '{attribute}' 2>/dev/null; true")
    assert not os.listxattr(only_tree(store) / "program")


@callers
def test_hard_links_become_files_of_their_own(store):
    result = compiled(store, "ln $BUILD/program $BUILD/second; ln /usr/bin/id $BUILD/id 2>/dev/null; true",
                      run_script="cat /build/second; stat -c %h /build/program")
    assert result["stdout"] == "echo ran\n1\n"


# --- too much ------------------------------------------------------------------------------------

@callers
def test_more_files_than_allowed_are_refused(store):
    result = compiled(store, "cd $BUILD; seq 100000 | xargs touch", limits=["inodes=1000"])
    assert result["outcome"] == "compile_failed", said(result)[:500]
    assert not store.entries("artifact") and not store.leavings()


@callers
def test_a_hundred_thousand_names_of_one_file_are_refused(store):
    """One inode inside, a hundred thousand outside."""
    make = "import os\nfor i in range(100000):\n    os.link(\"/build/program\", f\"/build/f{i}\")"
    result = compiled(store, f"/usr/bin/python3 -c '{make}'", limits=["inodes=1000"])
    assert_refused(store, result, "too many files", "more files")


@callers
def test_hard_links_do_not_multiply_what_is_kept(store):
    """One inode on one file system, a thousand files of it elsewhere."""
    result = compiled(store, "head -c 4M /dev/zero > $BUILD/big; i=0; "
                             "while [ $i -lt 1000 ]; do ln $BUILD/big $BUILD/b$i; i=$((i+1)); done",
                      limits=["disk=16m"])
    assert_refused(store, result, "too large")


@callers
def test_a_sparse_giant_is_refused(store):
    result = compiled(store, "truncate -s 1T $BUILD/giant")
    assert result["outcome"] == "compile_failed", said(result)[:500]
    assert not store.entries("artifact") and not store.leavings()


@callers
def test_many_sparse_files_do_not_take_for_ever(store):
    """Each is below the limit and takes no room, and together they are a terabyte of zeros."""
    make = ("import os\nfor i in range(5000):\n    fd = os.open(f\"/build/s{i}\", os.O_CREAT | os.O_WRONLY)\n"
            "    os.ftruncate(fd, 200 << 20)\n    os.close(fd)")
    began = time.monotonic()
    result = compiled(store, f"/usr/bin/python3 -c '{make}'", limits=["timeout=10s"])
    assert time.monotonic() - began < 20
    assert_refused(store, result, "too large")


@callers
@pytest.mark.parametrize("depth", [200, 3000])
def test_a_tree_that_is_too_deep_is_refused(store, depth):
    make = (f"import os\nos.chdir(\"/build\")\nfor i in range({depth}):\n"
            "    os.mkdir(\"d\" * 200)\n    os.chdir(\"d\" * 200)")
    assert_refused(store, compiled(store, f"/usr/bin/python3 -c '{make}'"), "one another", "symbolic links", "long")


@callers
def test_paths_that_are_too_long_together_are_refused(store):
    """Each name is allowed, and so is the depth."""
    make = ("import os\nos.chdir(\"/build\")\nfor i in range(60):\n"
            "    os.mkdir(\"d\" * 200)\n    os.chdir(\"d\" * 200)\nopen(\"x\", \"w\")")
    assert_refused(store, compiled(store, f"/usr/bin/python3 -c '{make}'"), "too long")


# --- names and modes -----------------------------------------------------------------------------

NAMES = [b"new\nline", b"\x1b]0;title\x07", b"\xff\xfe", b" ", b"-rf", b"...", b"*", b"a" * 255, "ünï".encode(), b"\x01",
         b"'\"`$(x)"]


@callers
def test_any_name_is_kept_as_it_is(store):
    escaped = ["".join(f"\\x{byte:02x}" for byte in name) for name in NAMES]
    result = compiled(store, "; ".join(f"echo x > $BUILD/$'{name}'" for name in escaped))
    assert result["stdout"] == "ran\n", said(result)[:500]
    assert sorted(os.listdir(os.fsencode(only_tree(store)))) == sorted([b"program", *NAMES])


@callers
@pytest.mark.parametrize("script", ["echo x > $BUILD/f; chmod 0 $BUILD/f", "mkdir -m 0 $BUILD/d",
                                    "mkdir $BUILD/d; touch $BUILD/d/f; chmod 300 $BUILD/d", "chmod 0 $BUILD"])
def test_what_cannot_be_read_is_the_stages_own_fault(store, script):
    """Kept readable or refused, but no error of ours."""
    result = compiled(store, script)
    assert result["outcome"] in ("exited", "compile_failed"), said(result)[:500]
    assert not store.leavings()


@callers
def test_a_terminal_is_not_written_to_by_a_name(store):
    result = compiled(store, "mkdir -m 0 $BUILD/$'\\x1b]0;title\\x07\\nsandbox-run: all is well'")
    assert "\\u001b" not in said(result) and b"\x1b" not in result["_stderr"]


@callers
def test_times_that_are_absurd_are_kept_or_not(store):
    result = compiled(store, "touch -d @-9999999999 $BUILD/old; touch -d @99999999999 $BUILD/new")
    assert result["stdout"] == "ran\n"
    again = compiled(store, "touch -d @-9999999999 $BUILD/old; touch -d @99999999999 $BUILD/new")
    assert again["cached"] and again["stdout"] == "ran\n"


@callers
def test_a_stage_that_leaves_nothing_leaves_an_empty_tree(store):
    result = run(store, compile="true", run="ls -A /build")
    assert result["stdout"] == "" and not list(only_tree(store).iterdir())


@callers
def test_a_failed_compile_leaves_nothing(store):
    result = compiled(store, "echo poison > $BUILD/poison; exit 3")
    assert stage_of(result, "compile")["exit_code"] == 3
    assert not store.entries("artifact") and b"poison" not in store.content()


@callers
def test_a_check_leaves_nothing(store):
    result = run(store, "--check", check="echo poison > $BUILD/program", compile="echo poison > $BUILD/program")
    assert result["outcome"] == "exited"
    assert not store.entries("artifact") and b"poison" not in store.content()
