"""Volumes and projects: what can be brought in, in which mode, and the sentence for what cannot."""
import json
import os
import re
import pathlib
import socket
import stat

import pytest

import support
from support import Callers, result_of, sandbox_run


def uid_of(caller):
    return support.ORDINARY_UID if caller == Callers.USER and os.geteuid() == 0 else os.geteuid()


@pytest.fixture
def tree(folder, caller):
    """A directory of the caller's own, with a file and a directory in it."""
    top = folder / "tree"
    (top / "dir").mkdir(parents=True)
    (top / "file").write_text("old\n")
    (top / "dir" / "deep").write_text("deep\n")
    for path in (top, top / "dir", top / "file", top / "dir" / "deep"):
        if os.geteuid() == 0:
            os.chown(path, uid_of(caller), uid_of(caller))
        path.chmod(0o755 if path.is_dir() else 0o644)
    return top


def snapshot(top):
    found = {}
    for path in [top, *sorted(top.rglob("*"))]:
        st = path.lstat()
        found[str(path.relative_to(top))] = (stat.filemode(st.st_mode), st.st_uid, st.st_gid,
                                             path.read_bytes() if path.is_file() else None)
    return found


def shell(script, *options, caller=None, **kwargs):
    return sandbox_run("exec", *options, "--", "sh", "-c", script, caller=caller, **kwargs)


# ---- modes ----

CHANGES = "echo new > /data/file; echo more > /data/more; rm -r /data/dir; mkdir /data/made; mv /data/file /data/moved"


@pytest.mark.parametrize("suffix", ["", ":ro"])
def test_ro_is_only_read(caller, tree, suffix):
    before = snapshot(tree)
    done = shell("cat /data/file /data/dir/deep; echo x > /data/file; echo $?; touch /data/new; echo $?; rm /data/file",
                 "--volume", f"{tree}:/data{suffix}", caller=caller)
    assert done.stdout == b"old\ndeep\n2\n1\n" and b"Read-only file system" in done.stderr
    assert snapshot(tree) == before


def test_rw_writes_through_as_the_caller(caller, tree):
    done = shell(CHANGES + "; ls /data; cat /data/moved", "--volume", f"{tree}:/data:rw", caller=caller)
    assert (done.stdout, done.stderr, done.returncode) == (b"made\nmore\nmoved\nnew\n", b"", 0)
    assert (tree / "moved").read_text() == "new\n" and not (tree / "dir").exists()
    for name in ("moved", "more", "made"):
        assert ((tree / name).stat().st_uid, (tree / name).stat().st_gid) == (uid_of(caller),) * 2


def test_rw_by_root_writes_as_the_owner_of_the_source(root, tree):
    for path in [tree, *tree.rglob("*")]:
        os.chown(path, 1234, 4321)
    done = shell(CHANGES, "--volume", f"{tree}:/data:rw", caller=root)
    assert (done.stderr, done.returncode) == (b"", 0)
    assert {(s[1], s[2]) for s in snapshot(tree).values()} == {(1234, 4321)}


def one_line(done):
    """All that is said is that the changes are not kept."""
    return re.fullmatch(rb"sandbox-run: not kept: would [^\n]+; --diff shows it, --keep keeps it for `apply`\n",
                        done.stderr) is not None


@pytest.mark.parametrize("backend", ["overlay", "disk", "copy"])
def test_cow_keeps_every_change_inside(caller, tree, backend):
    before = snapshot(tree)
    done = shell("cat /data/file; " + CHANGES + "; ls /data; cat /data/moved", "--volume", f"{tree}:/data:cow",
                 caller=caller, env={"SANDBOX_RUN_COW": backend})
    assert (done.stdout, one_line(done), done.returncode) == (b"old\nmade\nmore\nmoved\nnew\n", True, 0)
    assert snapshot(tree) == before


def test_a_project_is_cow_at_work(caller, tree):
    before = snapshot(tree)
    done = shell("pwd; cat file; rm -r dir; echo new > file; cat file; ls", "--project", tree, caller=caller)
    assert (done.stdout, one_line(done), done.returncode) == (b"/work\nold\nnew\nfile\n", True, 0)
    assert snapshot(tree) == before


def test_all_modes_side_by_side(caller, tree, folder):
    other = folder / "other"
    other.mkdir()
    if os.geteuid() == 0:
        os.chown(other, uid_of(caller), uid_of(caller))
    done = shell("cat /ro/file; echo a > /rw/made; echo b > /cow/made; echo c > made; ls /ro /rw /cow /work",
                 "--volume", f"{tree}:/ro", "--volume", f"{other}:/rw:rw", "--volume", f"{tree}:/cow:cow",
                 "--project", tree, caller=caller)
    assert done.stdout == (b"old\n/cow:\ndir\nfile\nmade\n\n/ro:\ndir\nfile\n\n/rw:\nmade\n\n/work:\ndir\nfile\nmade\n")
    assert (one_line(done), done.returncode) == (True, 0)
    assert sorted(os.listdir(tree)) == ["dir", "file"] and (other / "made").read_text() == "a\n"


def test_a_single_file_can_be_read_and_written(caller, tree):
    done = shell("cat /one; echo x > /one; echo $?", "--volume", f"{tree}/file:/one", caller=caller)
    assert done.stdout == b"old\n2\n"
    done = shell("cat /one; echo x > /one; echo $?", "--volume", f"{tree}/file:/one:rw", caller=caller)
    assert (done.stdout, (tree / "file").read_text()) == (b"old\n0\n", "x\n"), done.stderr


def test_the_disk_limit_bounds_what_cow_takes(caller, tree):
    before = snapshot(tree)
    result = result_of("exec", "--disk", "4m", "--volume", f"{tree}:/data:cow", "--", "dd", "if=/dev/zero",
                       "of=/data/file", "bs=1M", "count=20", caller=caller)
    assert not result["success"] and snapshot(tree) == before


def test_a_volume_does_not_widen_what_its_caller_may_read(root, folder):
    secret = folder / "secret"
    secret.mkdir(mode=0o700)
    (secret / "file").write_text("secret")
    for mode in ("ro", "rw", "cow"):
        done = shell("cat /data/file", "--volume", f"{secret}:/data:{mode}", caller=Callers.USER)
        assert done.returncode != 0 and b"secret" not in done.stdout


@pytest.mark.parametrize("mode", ["rw", "cow"])
def test_no_file_with_set_id_bits_is_made(caller, tree, mode):
    script = "cp /bin/true /data/x; chmod 4755 /data/x; chmod 2755 /data/x; stat -c %a /data/x"
    done = shell(script, "--volume", f"{tree}:/data:{mode}", caller=caller)
    if mode == "rw":
        assert stat.S_IMODE((tree / "x").stat().st_mode) & 0o7000 == 0 and b"755" in done.stdout
    assert not (tree / "x").exists() or mode == "rw"


# ---- sources ----

def make_socket(path):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


SOURCES = {
    "missing": (lambda path: None, "there is no '{}'; make it, or correct the path"),
    "below a file": (lambda path: path.parent.mkdir() or None, "there is no '{}'"),
    "socket": (make_socket, "'{}' is a socket"),
    "fifo": (lambda path: os.mkfifo(path), "'{}' is a named pipe"),
    "link": (lambda path: os.symlink("/usr", path), "'{}' is a symbolic link to '/usr'; name what it leads to"),
    "broken link": (lambda path: os.symlink("nowhere", path), "'{}' is a symbolic link to 'nowhere'"),
}


@pytest.mark.parametrize("kind", sorted(SOURCES))
def test_a_source_that_cannot_be_brought_in_is_named(folder, kind):
    make, sentence = SOURCES[kind]
    path = folder / "under" / "source" if kind == "below a file" else folder / "source"
    make(path)
    wrong = {}
    for mode in ("ro", "rw", "cow", "project"):
        words = ["--project", path] if mode == "project" else ["--volume", f"{path}:/data:{mode}"]
        done = shell("echo ran", *words, timeout=20)
        said = done.stderr.decode()
        if ((done.returncode, done.stdout, said.count("\n")) != (125, b"", 1) or sentence.format(path) not in said
                or f"{words[0]}:" not in said):
            wrong[mode] = done
    assert not wrong


def test_a_device_is_named():
    said = {mode: shell("echo ran", "--volume", f"/dev/null:/data:{mode}") for mode in ("ro", "rw", "cow")}
    assert not {mode: done for mode, done in said.items() if (done.returncode, done.stdout) != (125, b"")
                or b"'/dev/null' is a device" not in done.stderr}


def test_only_a_directory_is_a_project_or_cow(folder):
    (folder / "file").write_text("")
    for words in (["--project", folder / "file"], ["--volume", f"{folder}/file:/data:cow"]):
        done = shell("echo ran", *words)
        assert (done.returncode, done.stdout) == (125, b"")
        assert f"'{folder}/file' is a file; only a directory can be".encode() in done.stderr


def test_what_is_cow_cannot_be_written_through_another_name(folder):
    (folder / "sub").mkdir()
    for cow, through in (("", "/sub"), ("/sub", ""), ("/sub", "/sub")):
        done = shell("echo ran", "--project", f"{folder}{cow}", "--volume", f"{folder}{through}:/data:rw")
        assert (done.returncode, done.stdout) == (125, b"")
        assert b"is copy-on-write" in done.stderr and b"is written through" in done.stderr


def test_relative_sources_are_looked_up_from_here(caller, tree):
    for words, cwd in ((["--volume", "tree:/data"], tree.parent), (["--volume", ".:/data"], tree),
                       (["--volume", "../tree/:/data:cow"], tree), (["--volume=~/tree:/data"], "/")):
        done = shell("cat /data/file", *words, caller=caller, cwd=cwd, env={"HOME": str(tree.parent)})
        assert (done.stdout, done.stderr) == (b"old\n", b"")


# ---- targets and specs ----

# The others are in tests/unit/test_request_trees.c.
BAD_SPECS = {
    "/usr:/data:rx": "has no mode 'rx'; choose ro (only read), rw (writes reach the host) or cow",
    "/usr": "has no source or no target; give SRC:DST",
    "": "has no source or no target",
    "/usr:data": "has a target that is not an absolute path",
    "/usr:/a/../b": "has a target that is not an absolute path without '..'",
    "/usr:/work/sub:cow": "--project DIR puts a directory there",
    "/usr:/build": "would cover the sandbox's own /build; choose another target, for example /data",
    "/usr:/etc/ssl": "would cover the sandbox's own /etc",
}


def test_a_bad_volume_is_refused_in_one_sentence():
    wrong = {}
    for spec, sentence in BAD_SPECS.items():
        done = shell("echo ran", "--volume", spec)
        said = done.stderr.decode()
        if ((done.returncode, done.stdout, said.count("\n")) != (125, b"", 1) or f"--volume '{spec}'" not in said
                or sentence not in said):
            wrong[spec] = done
    assert not wrong


def test_targets_do_not_overlap(folder):
    done = shell("echo ran", "--volume", f"{folder}:/data/.", "--volume", f"{folder}:/data/sub/:cow")
    assert (done.returncode, done.stdout) == (125, b"")
    assert b"overlaps the target /data" in done.stderr and b"give each volume a place of its own" in done.stderr


def test_slashes_and_dots_do_not_matter(tree, caller):
    done = shell("cat /data/x/file", "--volume", f"{tree}//.//:/data//x/./", caller=caller)
    assert (done.stdout, done.stderr) == (b"old\n", b"")


NOT_TOGETHER = [
    (["--project", "/usr", "--workspace", "w"], "--project and --workspace both stand at /work; give one of them"),
    (["--diff"], "--diff has nothing to look at; bring a tree in with --project DIR"),
    (["--volume", "/usr:/data", "--diff"], "--diff has nothing to look at"),
    (["--keep"], "--keep has nothing to store"),
    (["--workspace", "w", "--keep"], "a workspace keeps what is changed in it by itself; leave --keep out"),
    (["--workspace", "../w"], "the workspace '../w' has no usable name"),
    (["--output", "/etc/passwd"], "is outside of /work, /tmp and every volume"),
]


def test_what_does_not_go_together_is_refused():
    said = {" ".join(words): (sentence, shell("echo ran", *words)) for words, sentence in NOT_TOGETHER}
    assert not {words: done for words, (sentence, done) in said.items()
                if (done.returncode, done.stdout) != (125, b"") or sentence not in done.stderr.decode()}


def test_nothing_is_run_so_nothing_is_changed(folder):
    for words in (["--diff"], ["--keep"], ["--output", "x"]):
        done = sandbox_run("run", "--check", "--project", folder, *words, "-l", "python", "-c", "1")
        assert done.returncode == 125 and f"nothing for {words[0]}".encode() in done.stderr


# ---- the request and the plan ----

def test_the_request_has_the_same_fields(caller, tree):
    before = snapshot(tree)
    request = {"language": "sh", "project": str(tree), "volumes": [f"{tree}:/data:cow"],
               "code": "cat file /data/file; echo x > file; rm /data/file; ls /data"}
    done = sandbox_run("run", "--request", "-", stdin=json.dumps(request).encode(), caller=caller)
    assert (done.stdout, one_line(done), done.returncode) == (b"old\nold\ndir\n", True, 0)
    assert snapshot(tree) == before


def test_options_win_over_the_request(tree, folder):
    request = {"language": "sh", "project": str(folder / "nowhere"), "code": "cat file; ls -d /more"}
    done = sandbox_run("run", "--request", "-", "--project", tree, "--volume", f"{tree}:/more:cow",
                       stdin=json.dumps(request).encode())
    assert (done.stdout, done.stderr) == (b"old\n/more\n", b"")


BAD_REQUESTS = [
    ('{"project": "relative", "args": ["true"]}', "the project 'relative' is not an absolute path"),
    ('{"volumes": ["relative:/data"], "args": ["true"]}', "has a source that is not an absolute path"),
    ('{"outputs": ["*.png:relative"], "args": ["true"]}', "relative"),
    ('{"program": "x.py", "language": "python"}', "there is no project; name it with --project"),
    ('{"program": "../x.py", "language": "python", "project": "/usr"}', "the program '../x.py' is not usable"),
    ('{"program": "x.py", "project": "/usr"}', "has no language; name one with --lang"),
    ('{"program": "x.py", "code": "1", "language": "python", "project": "/usr"}', "give the program once"),
]


def test_a_request_is_checked():
    said = {text: (sentence, sandbox_run("run", "--request", "-", stdin=text.encode()))
            for text, sentence in BAD_REQUESTS}
    assert not {text: done for text, (sentence, done) in said.items()
                if (done.returncode, done.stdout) != (125, b"") or sentence not in done.stderr.decode()}


def test_the_plan_shows_what_is_brought_in(tree):
    (tree / "main.sh").write_text("true\n")
    done = sandbox_run("plan", "--json", "--project", tree, "--volume", f"{tree}:/ro", "--volume",
                       f"{tree}:/cow:cow")
    said = json.dumps(json.loads(done.stdout))
    assert done.stderr == b"" and said.count(str(tree)) >= 3 and "/work/main.sh" in said
    assert pathlib.Path(tree / "main.sh").read_text() == "true\n"


@pytest.mark.container
def test_a_diff_goes_to_a_file(folder, caller):
    """All of it, whatever else is printed; nothing runs when it cannot be written."""
    project, diff = folder / "p", folder / "out.diff"
    project.mkdir()
    folder.chmod(0o777)
    words = ("--allow-degraded", "--project", str(project), "-l", "bash", "-c", "seq 1000 1399 > new; echo said")
    for how in ((), ("--json",), ("--quiet",)):
        diff.unlink(missing_ok=True)
        done = support.sandbox_run(*how, f"--diff={diff}", *words, caller=caller)
        assert done.returncode == 0 and b"+1399" not in done.stderr + done.stdout, done
        lines = diff.read_text().splitlines()
        assert [f"+{n}" for n in range(1000, 1400)] == lines[-400:], lines[:9]
    done = support.sandbox_run(f"--diff={folder}/none/x", *words, caller=caller)
    assert done.returncode == 125 and b"cannot write" in done.stderr and done.stdout == b""
