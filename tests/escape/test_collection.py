"""What a program leaves for the supervisor to take out: hostile trees, through --output and --diff.

Nothing that it planted is followed, opened by surprise or waited for; what comes out is bounded; and what
is left out is named with the reason.
"""
import os
import pathlib
import stat
import time

import pytest

import harness
import support
from collection import LOCKED, MANY, by_path, path_of, place, place_in_memory, skipped  # noqa: F401
from harness import callers
from stages import give

# --- links ---------------------------------------------------------------------------------------

LINKS = ["<secret>", "../../../../../../../../..<secret>", "/etc/passwd", "/proc/self/root<secret>",
         "/proc/1/root", "/proc/self/cwd", "/", ".", "loop"]


@callers
@pytest.mark.core
def test_a_link_is_named_and_not_followed(scene, place):
    targets = [target.replace("<secret>", str(scene.secret)) for target in LINKS]
    make = "; ".join(f"ln -s {target} loop{number}; ln -s {target} d/link{number}" for number, target in enumerate(targets))
    result = place.outputs("bash", f"mkdir d; {make}; ln -s loop loop; echo mine > d/file")
    assert list(place.found()) == [b"d/file"]
    links = [b"/work/t/loop", *(f"/work/t/{name}{number}".encode() for number in range(len(LINKS))
                                for name in ("loop", "d/link"))]
    assert set(skipped(result)) == set(links)
    assert not [path for path, why in skipped(result).items() if "link" not in why]
    assert harness.SECRET.encode() not in place.content()


@callers
@pytest.mark.parametrize("pattern", ["d/file", "d/*", "d/**", "*/file", "d", "file"])
def test_no_link_on_the_way_is_followed(scene, place, pattern):
    """The program replaces a directory of the pattern."""
    result = place.outputs("bash", f"echo x > /tmp/file; ln -s {scene.room} d; ln -s /tmp d2; ln -s /tmp/file file",
                           pattern="t/" + pattern + ":{out}")
    assert not place.found()
    assert not [path for path, file in by_path(result).items() if file["saved"]]
    assert harness.SECRET.encode() not in place.content()


@callers
@pytest.mark.core
def test_links_in_the_project_are_only_text(scene, place):
    """A link that the program made where a file was, or where a directory was."""
    place.put("file")
    (place.project / "dir").mkdir()
    give(place.project / "dir", place.caller)
    result = place.changes("bash", f"rm file; ln -s {scene.secret} file; rmdir dir; ln -s {scene.room} dir; "
                                   f"ln -s {scene.secret} new", "--keep")
    changes = {change["path"]: change for change in result["changes"]}
    assert {"file", "dir", "new"} <= set(changes)
    assert changes["new"]["kind"] == "link"
    assert (place.project / "file").read_text() == "text\n"
    assert harness.SECRET.encode() not in place.content()


# --- what is no file -----------------------------------------------------------------------------

SPECIAL = ("mkfifo pipe; /usr/bin/python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"socket\")'; "
           "mknod null c 1 3 2>/dev/null; mknod white c 0 0 2>/dev/null; echo ok > ok")


@callers
@pytest.mark.core
def test_pipes_sockets_and_devices_are_named(place):
    """Whoever opened the pipe would wait for ever."""
    result = place.outputs("bash", SPECIAL)
    assert list(place.found()) == [b"ok"]
    assert {b"/work/t/pipe", b"/work/t/socket"} <= set(skipped(result))
    assert not any(file["saved"] for path, file in by_path(result).items() if path != b"/work/t/ok")


@callers
def test_pipes_and_sockets_in_the_project_hold_nobody_up(place):
    place.put("file")
    result = place.changes("bash", "rm file; mkfifo file; " + SPECIAL, "--keep")
    assert result["outcome"] == "exited"
    assert "ok" in {change["path"] for change in result["changes"]}
    assert (place.project / "file").read_text() == "text\n"


@callers
def test_a_whiteout_of_the_programs_own_deletes_nothing(place):
    """In the layer above, a device 0:0 means `deleted`; no program can make one."""
    place.put("file")
    result = place.changes("bash", "mknod file2 c 0 0; rm file; mknod file c 0 0; echo back > file")
    assert {change["op"] for change in result["changes"]} == {"modified"}


@callers
def test_an_opaque_directory_of_the_programs_own_hides_nothing(place):
    (place.project / "dir").mkdir()
    give(place.project / "dir", place.caller)
    give_text = place.put("dir/file")
    code = "import os\nfor n in ('user.overlay.opaque', 'trusted.overlay.opaque'):\n" \
           "    try: os.setxattr('dir', n, b'y')\n    except OSError as e: print(e.errno)\nopen('dir/new', 'w')"
    result = place.changes("python", code)
    assert {change["path"] for change in result["changes"] if change["op"] == "deleted"} == set()
    assert give_text.exists()


# --- names ---------------------------------------------------------------------------------------

BAD_NAMES = [b"new\nline", b"\x1b]0;title\x07", b"\x1b[2J", b"\x7f", b"\x01", b"tab\t", b"\r", b"\xc2\x9bm"]
ODD_NAMES = [b"\xff\xfe", b"\x9b2J", b"\xc3(", b"a" * 255, "ünï".encode(), b" ", b"-rf", b"...", b"*", b"'\"`$(x)", b"%s%n",
             b"\xe2\x80\xae"]


def make_named(names):
    return "import os\n" + "".join(f"open({name!r}, 'w').write('x')\n" for name in names)


@callers
@pytest.mark.core
def test_names_that_a_terminal_would_obey_are_left(place):
    result = place.outputs("python", make_named([*BAD_NAMES, b"good"]))
    assert list(place.found()) == [b"good"]
    assert set(skipped(result)) == {b"/work/t/" + name for name in BAD_NAMES}


@callers
def test_a_directory_with_such_a_name_is_left_whole(place):
    result = place.outputs("python", "import os\nos.mkdir('d\\n')\nopen('d\\n/file', 'w')\nopen('good', 'w')")
    assert list(place.found()) == [b"good"]
    assert list(skipped(result)) == [b"/work/t/d\n"]


@callers
def test_other_names_are_kept_as_they_are(place):
    result = place.outputs("python", make_named(ODD_NAMES))
    assert sorted(place.found()) == sorted(ODD_NAMES)
    assert not skipped(result)
    for path, file in by_path(result).items():
        assert pathlib.Path(os.fsdecode(os.fsencode(place.out) + path.removeprefix(b"/work/t"))).exists(), file


@callers
@pytest.mark.core
def test_no_name_reaches_the_terminal_as_it_is(place):
    """Neither of outputs nor of changes, in words for people."""
    code = make_named([*BAD_NAMES, *ODD_NAMES])
    for options in (("--output", f"**:{place.out}"), ("--project", place.project, "--diff")):
        done = support.sandbox_run("run", "--text", *options, "--lang", "python", "--code", code,
                                   caller=place.caller, env={"SANDBOX_RUN_STATE": str(place.state)})
        assert done.returncode == 0, done.stderr
        for byte in (b"\x1b", b"\x07", b"\x7f", b"\x01", b"\r", b"\xc2\x9b", b"\xff", b"\x9b2J"):
            assert byte not in done.stderr + done.stdout, done.stderr


@callers
def test_every_name_is_a_change(place):
    result = place.changes("python", make_named([*BAD_NAMES, *ODD_NAMES]))
    assert sorted(path_of(change) for change in result["changes"]) == sorted([*BAD_NAMES, *ODD_NAMES])


# --- modes ---------------------------------------------------------------------------------------

@callers
@pytest.mark.core
@pytest.mark.parametrize("more", ["", "chmod 0 /work", "chmod 300 d", "chmod 400 d", "chmod 100 d"])
def test_modes_lock_nobody_out(place, more):
    result = place.outputs("bash", LOCKED + more)
    assert {name: path.read_text() for name, path in place.found().items()} == {
        b"d/deep/file": "one\n", b"file": "two\n", b"d/file": "three\n"}
    assert not skipped(result)


@callers
@pytest.mark.parametrize("more", ["", "chmod 0 /work"])
def test_locked_changes_are_told_with_their_modes(place, more):
    result = place.changes("bash", LOCKED + more)
    modes = {change["path"]: change["mode"] for change in result["changes"] if change["kind"] == "file"}
    assert modes == {"d/deep/file": "0000", "file": "0000", "d/file": "0000"}


@callers
def test_no_bit_that_gives_rights_comes_out(place):
    place.outputs("bash", "cp /usr/bin/id id; chmod 6777 id; mkdir -m 7777 d; cp id d; chmod 6755 d/id")
    for path in place.out.rglob("*"):
        assert not path.lstat().st_mode & (stat.S_ISUID | stat.S_ISGID | stat.S_ISVTX), path


@callers
def test_a_locked_file_of_a_volume_stays_locked(place):
    """To read it its mode is changed for a moment; it is the caller's own file."""
    path = place.put("locked")
    place.outputs("bash", "chmod 0 /data/locked", "--volume", f"{place.project}:/data:rw",
                  pattern="/data/*:{out}")
    assert stat.S_IMODE(path.stat().st_mode) == 0
    assert (place.out / "locked").read_text() == "text\n"


# --- too much ------------------------------------------------------------------------------------

@callers
@pytest.mark.core
def test_hard_links_multiply_what_comes_out_only_so_far(place):
    """One file of 4 MB under a thousand names: a limit of 16 MB lets 64 MB out."""
    code = ("import os\nopen('big', 'wb').write(os.urandom(4 << 20))\n"
            "for i in range(1000): os.link('big', f'name{i}')")
    result = place.outputs("python", code, "--disk", "16m")
    sizes = [path.stat().st_blocks * 512 for path in place.found().values()]
    assert 0 < sum(sizes) <= 64 << 20
    reasons = skipped(result)
    assert len(reasons) + len(sizes) == 1001
    assert len(set(reasons.values())) == 1 and "may be taken" in reasons.popitem()[1]


@callers
def test_hard_links_of_a_project_fail_in_a_sentence(place):
    code = ("import os\nopen('big', 'wb').write(os.urandom(4 << 20))\n"
            "for i in range(1000): os.link('big', f'name{i}')")
    done = support.sandbox_run("run", "--json", "--disk", "16m", "--project", place.project, "--diff", "--lang",
                               "python", "--code", code, caller=place.caller,
                               env={"SANDBOX_RUN_STATE": str(place.state)})
    assert b"too large" in done.stdout + done.stderr, (done.stdout[-1000:], done.stderr)
    assert b"disk" in done.stdout + done.stderr


@callers
@pytest.mark.core
def test_sparse_bombs_take_no_room_and_no_time(place):
    """Each as large as a file may be, and together they are terabytes of zeros."""
    code = ("import os\nfor i in range(5000):\n    fd = os.open(f's{i}', os.O_CREAT | os.O_WRONLY)\n"
            "    os.ftruncate(fd, 200 << 20)\n    os.close(fd)")
    began = time.monotonic()
    result = place.outputs("python", code, "--disk", "256m")
    assert time.monotonic() - began < 40
    taken = place.found().values()
    assert sum(path.stat().st_blocks * 512 for path in taken) < 64 << 20
    assert sum(path.stat().st_size for path in taken) <= 32 * (256 << 20)
    assert len(taken) + len(skipped(result)) == 5000


@callers
def test_a_sparse_file_comes_out_as_it_is(place):
    code = ("f = open('sparse', 'wb')\nf.write(b'start')\nf.seek(100 << 20)\nf.write(b'middle')\n"
            "f.truncate(200 << 20)")
    place.outputs("python", code)
    path = place.out / "sparse"
    assert path.stat().st_size == 200 << 20 and path.stat().st_blocks * 512 < 1 << 20
    with path.open("rb") as file:
        assert file.read(5) == b"start"
        file.seek(100 << 20)
        assert file.read(7) == b"middle\0"


@callers
@pytest.mark.parametrize("depth, name", [(500, "d"), (60, "d" * 200), (3000, "d" * 250)])
def test_what_is_too_deep_is_left(place, depth, name):
    code = (f"import os\nopen('top', 'w').write('x')\nfor i in range({depth}):\n"
            f"    os.mkdir('{name}')\n    os.chdir('{name}')\nopen('bottom', 'w')")
    result = place.outputs("python", code)
    assert list(place.found()) == [b"top"]
    (why,) = skipped(result).values()
    assert "deep" in why


@callers
def test_changes_that_are_too_deep_fail_in_a_sentence(place):
    code = "import os\nfor i in range(500):\n    os.mkdir('d')\n    os.chdir('d')"
    done = support.sandbox_run("run", "--json", "--project", place.project, "--diff", "--lang", "python", "--code",
                               code, caller=place.caller, env={"SANDBOX_RUN_STATE": str(place.state)})
    assert b"in one another" in done.stdout + done.stderr, (done.stdout[-1000:], done.stderr)


@callers
def test_more_files_than_are_listed_are_taken(place_in_memory):
    result = place_in_memory.outputs("python", MANY.format(n=30000), "--inodes", "50000", timeout=240)
    assert sum(1 for _ in os.scandir(place_in_memory.out / "d")) == 30000
    assert len(result["files"]) == 10000 and result["files_dropped"] == 20000


@callers
def test_more_links_than_are_listed_are_left(place_in_memory):
    code = "import os\nfor i in range(30000): os.symlink('/etc/passwd', f'l{i}')"
    result = place_in_memory.outputs("python", code, "--inodes", "50000")
    assert not place_in_memory.found()
    assert len(result["files"]) == 10000 and all(file["skipped"] for file in result["files"])


@callers
def test_a_pattern_of_many_stars_takes_no_time(place):
    code = MANY.format(n=2000).replace("d/{i}", "d/{'a' * 200}{i}")
    began = time.monotonic()
    place.outputs("python", code, pattern="/work/t/**/*a*a*a*a*a*a*a*a*a*b:{out}")
    assert time.monotonic() - began < 30 and not place.found()
