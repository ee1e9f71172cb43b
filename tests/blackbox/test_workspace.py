"""Work directories with a name, kept between runs: phases, quotas, the lock, saving."""
import json
import os
import shutil
import signal
import subprocess

import pytest

import support
from waiting import read_line, started, wait_until
from workspaces import Workspaces, error_of

MIB = 1 << 20
SLACK = 256  # inodes that the bounds of a run let through, mostly a handful


@pytest.fixture
def spaces(folder, caller):
    return Workspaces(folder, caller)


# ---- Phases

@pytest.mark.skipif(not shutil.which("gcc"), reason="needs gcc")
def test_phases_write_compile_and_run(spaces):
    spaces.shell("build", "printf '#include <stdio.h>\\nint main(void) { puts(\"built\"); }\\n' > p.c")
    spaces.shell("build", "mkdir -p out && gcc -o out/p p.c", "--timeout", "60s")
    done = spaces.run("exec", "--workspace", "build", "--", "./out/p")
    assert (done.returncode, done.stdout) == (0, b"built\n"), done.stderr
    assert oct(spaces.tree("build").joinpath("out/p").stat().st_mode & 0o777) == "0o755"


def test_everything_a_program_does_is_there_the_next_time(spaces):
    spaces.shell("w", "mkdir -p d/e; echo 1 > d/e/f; ln -s d/e/f link; echo 2 > gone; chmod 640 d/e/f")
    assert spaces.shell("w", "cat link; stat -c %a d/e/f; readlink link") == "1\n640\nd/e/f\n"
    spaces.shell("w", "rm gone; mv d moved; rm link; mkdir link; echo 3 >> moved/e/f; chmod 700 moved")
    assert spaces.shell("w", "find . ! -name 'main.*' | sort; cat moved/e/f; stat -c %a moved") == (
        ".\n./link\n./moved\n./moved/e\n./moved/e/f\n1\n3\n700\n")
    assert spaces.entries("w") == {
        b"link": ("0o40755", None), b"moved": ("0o40700", None), b"moved/e": ("0o40755", None),
        b"moved/e/f": ("0o100640", b"1\n3\n")}


def test_times_stay(spaces):
    spaces.shell("w", "touch -d @1000000000.5 a; touch b")
    assert spaces.shell("w", "stat -c %Y a; test b -nt a && echo newer") == "1000000000\nnewer\n"


def test_a_run_that_fails_or_is_stopped_saves_too(spaces):
    assert spaces.result("w", "echo 1 > a; exit 3")["exit_code"] == 3
    stopped = spaces.result("w", "echo 2 > b; sleep 1000", "--timeout", "2s")
    assert not stopped["success"]
    assert spaces.shell("w", "cat a b") == "1\n2\n"


def test_workspaces_are_apart(spaces):
    spaces.shell("one", "echo 1 > f")
    spaces.shell("two", "test ! -e f; echo 2 > f")
    assert spaces.shell("one", "cat f") == "1\n"
    assert set(spaces.list()) == {"one", "two"}


def test_no_set_id_bit_stays(spaces):
    spaces.result("w", "cp /bin/true t; chmod 6755 t; mkdir d; chmod 2775 d; chmod 1777 d; exit 0")
    for path, (mode, _) in spaces.entries("w").items():
        assert int(mode, 8) & 0o7000 == 0, path


def test_what_locks_its_owner_out_is_no_trouble(spaces):
    spaces.shell("w", "mkdir d; echo 1 > d/f; chmod 0 d/f d; echo 2 > g; chmod 0 g")
    assert spaces.list()["w"]["used_inodes"] == 4  # and the program
    spaces.shell("w", "chmod 700 d; chmod 600 d/f; cat d/f; rm -rf g; chmod 0 d")
    assert spaces.command("rm", "w").returncode == 0
    assert list((spaces.path / "workspaces").iterdir()) == []
    assert list((spaces.path / "staging").iterdir()) == []


def test_a_project_and_a_workspace_are_one_too_many(spaces):
    done = spaces.run("run", "--workspace", "w", "--project", "/usr/share", "--lang", "bash", "--code", ":")
    assert "workspace" in error_of(done) and "project" in error_of(done)


def test_names_are_checked(spaces):
    """The others are in tests/unit/test_request_trees.c and test_workspace.c."""
    said = {name: error_of(spaces.run("run", f"--workspace={name}", "--lang", "bash", "--code", ":"))
            for name in ("", "../x", "a b", "x" * 65)}
    assert not {name: words for name, words in said.items() if "name" not in words and "workspace" not in words}
    assert not (spaces.path / "workspaces").exists() or not list((spaces.path / "workspaces").iterdir())


# ---- Quotas

def test_bytes_are_bounded_over_all_runs(spaces):
    write = "head -c {} /dev/zero | tr '\\0' x > {} 2> /dev/null"
    spaces.shell("w", write.format(600 << 10, "a"), "--disk", "1m")
    full = spaces.result("w", write.format(600 << 10, "b") + "; stat -c %s b; exit 1")
    assert int(full["stdout"]) < 500 << 10
    info = spaces.list()["w"]
    assert info["quota_bytes"] == MIB and 600 << 10 <= info["used_bytes"] <= MIB
    spaces.shell("w", "rm -f a b")
    spaces.shell("w", write.format(900 << 10, "b"))
    assert spaces.list()["w"]["used_bytes"] <= MIB


def test_names_are_bounded_over_all_runs(spaces):
    make = "for i in $(seq {} {}); do : > f$i || exit 1; done"
    spaces.shell("w", make.format(1, 30), "--inodes", "50")
    assert not spaces.result("w", make.format(31, 500) + " 2> /dev/null")["success"]
    # Where they are only counted now and then, a run can get far ahead, and is not saved.
    assert 31 <= spaces.list()["w"]["used_inodes"] < 50 + SLACK
    spaces.shell("w", "rm f*", "--inodes", "500")
    spaces.shell("w", make.format(1, 30))
    assert spaces.list()["w"]["used_inodes"] == 31


def test_a_quota_can_grow_and_cannot_shrink_below_the_use(spaces):
    spaces.shell("w", "head -c 700000 /dev/zero | tr '\\0' x > a", "--disk", "1m")
    done = spaces.run("run", "--workspace", "w", "--disk", "512k", "--lang", "bash", "--code", ":")
    assert "--disk" in error_of(done)
    spaces.shell("w", "head -c 700000 /dev/zero | tr '\\0' x > b", "--disk", "2m")
    assert spaces.list()["w"]["quota_bytes"] == 2 * MIB


def test_the_result_says_what_enforces_the_quota(spaces):
    isolation = spaces.result("w", ":")["isolation"]
    said = isolation["mechanisms"] + isolation["missing"]
    assert any("workspace" in word and "quota" in word for word in said), isolation


# ---- One at a time

def test_runs_take_turns(spaces):
    """Each reads, waits for nobody, and writes one line more: none is lost."""
    code = "n=$(cat count 2> /dev/null || echo 0); echo $((n + 1)) > count; echo line >> lines"
    words = support.command("run", "--workspace", "w", "--lang", "bash", "--code", code,
                            caller=spaces.caller)
    runs = [subprocess.Popen(words, env=support.environment(spaces.env), stderr=subprocess.PIPE)
            for _ in range(8)]
    for run in runs:
        _, errors = run.communicate(timeout=support.DEADLINE)
        assert run.returncode == 0, errors
    assert spaces.shell("w", "cat count; wc -l < lines") == "8\n8\n"


def test_waiting_is_no_time_of_the_run(spaces):
    spaces.shell("w", ":")
    with started("run", "--workspace", "w", "--allow-degraded", "--lang", "bash", "--code",
                 "echo ready; read line; echo $line > f", caller=spaces.caller,
                 env=spaces.env) as first:
        assert read_line(first.stdout) == b"ready\n"
        assert spaces.list()["w"]["busy"]
        busy = spaces.command("rm", "w")
        assert "in use" in error_of(busy)
        assert "in use" in error_of(spaces.command("export", "w"))
        with started("run", "--json", "--workspace", "w", "--allow-degraded", "--timeout", "10s",
                     "--lang", "bash", "--code", "cat f", caller=spaces.caller,
                     env=spaces.env) as second:
            first.stdin.write(b"text\n")
            first.stdin.close()
            first.stdin = None
            result = json.loads(second.stdout.read())
    assert result["stdout"] == "text\n", result
    assert wait_until(lambda: not spaces.list()["w"]["busy"])
    assert spaces.command("rm", "w").returncode == 0
    assert spaces.list() == {}


# ---- Killed while it saves

def test_killed_at_each_step_of_the_save(spaces):
    old = "rm -rf * 2> /dev/null; mkdir d; echo old > d/f; echo old > g; echo old > gone; ln -s old l"
    new = "echo new > d/f; chmod 700 d; echo new > g; rm gone; ln -sfn new l; mkdir e; echo new > e/f"
    seen = set()
    for step in range(1, 60):
        spaces.shell("w", old)
        done = spaces.run("run", "--workspace", "w", "--lang", "bash", "--code", new, hooks=True,
                          env={"SANDBOX_RUN_TEST_APPLY": str(step)})
        told = spaces.shell("w", "cat d/f g; readlink l; ls -d gone e 2> /dev/null || true")
        assert told in ("old\nold\nold\ngone\n", "new\nnew\nnew\ne\n"), (step, told)
        seen.add(told[:3])
        if done.returncode == 0:
            break
        assert -done.returncode == signal.SIGKILL or done.returncode == 128 + signal.SIGKILL, done
        assert sorted(spaces.list()) == ["w"] and not spaces.list()["w"]["damaged"]
    assert step > 8 and seen == {"old", "new"}
    assert list((spaces.path / "staging").iterdir()) == []


def test_a_damaged_one_is_told_and_can_go(spaces):
    spaces.shell("w", "echo 1 > f")
    (spaces.path / "workspaces/w/meta").write_bytes(b"what is this")
    assert spaces.list()["w"]["damaged"]
    assert b"damaged" in spaces.command().stdout
    done = spaces.run("run", "--workspace", "w", "--lang", "bash", "--code", ":")
    assert "damaged" in error_of(done) and "workspace rm w" in error_of(done)
    assert spaces.command("rm", "w").returncode == 0
    spaces.shell("w", "test ! -e f")


# ---- The command

def test_nothing_there_is_no_mistake(spaces):
    done = spaces.command()
    assert (done.returncode, done.stdout) == (0, b"") and b"no workspace yet" in done.stderr
    assert spaces.list() == {}
    for words in (["rm", "w"], ["export", "w"]):
        done = spaces.command(*words)
        assert done.returncode == 127 and b"no workspace 'w'" in done.stderr


def test_words_that_do_not_fit(spaces):
    for words, says in ((["rm"], "rm NAME"), (["export"], "export NAME [FILE]"), (["lst"], "list"),
                        (["import", "a", "b", "c"], "too many"), (["list", "--disk", "1m"], "import")):
        assert says in error_of(spaces.command(*words))


def test_the_list_shows_use_and_quota(spaces):
    spaces.shell("demo", "head -c 10000 /dev/zero | tr '\\0' x > f", "--disk", "8m", "--inodes", "77")
    line, = spaces.command().stdout.decode().splitlines()
    assert line.split()[:7] == ["demo", "16K", "of", "8.0M", "2", "of", "77"]
    info = spaces.list()["demo"]
    assert (info["owner"], info["used_bytes"], info["used_inodes"]) == (spaces.owner, 4 * 4096, 2)


# ---- Single files

@pytest.mark.container
def test_files_go_in_and_out(spaces, folder):
    data = bytes(range(256)) * 8192  # 2 MiB: more than a pipe holds
    here, there = folder / "data.bin", folder / "out"
    here.write_bytes(data)
    here.chmod(0o644)
    there.mkdir()
    there.chmod(0o777)
    for to in ("w:in/", "w:deep/er/x y"):
        done = spaces.command("cp", str(here), to)
        assert done.returncode == 0, done.stderr
    assert spaces.command("cp", "-", "w:typed", stdin=b"by hand\n").returncode == 0
    assert spaces.command("cat", "w", "in/data.bin").stdout == data
    assert spaces.command("cp", "w:deep/er/x y", str(there)).returncode == 0
    assert (there / "x y").read_bytes() == data and [*os.listdir(there)] == ["x y"]
    assert spaces.command("ls", "w").stdout.decode().split() == ["deep/", "in/", "8", "typed"]
    assert json.loads(spaces.command("ls", "w", "in", "--json").stdout) == {
        "files": [{"type": "file", "size": len(data), "path": "data.bin"}]}


def test_what_a_program_left_leads_nowhere(spaces, folder):
    """Links to the host, a name with control characters, and places that are not there."""
    secret = folder / "secret"
    secret.write_text("host")
    secret.chmod(0o644)
    folder.chmod(0o777)
    spaces.shell("w", f"ln -s {secret} link; ln -s {folder} away; touch $'a\\033]0;x\\007b'")
    listed = spaces.command("ls", "w").stdout
    assert b"link@" in listed and b"\033" not in listed
    for words, sentence in {
            ("cat", "w", "link"): "No such file", ("cat", "w", "away/secret"): "No such file",
            ("cat", "w", "../x"): "no path below", ("ls", "none"): "no workspace",
            ("cp", "a", "b"): "NAME:PATH", ("cp", "w:a", "w:b"): "copy to a file of yours first",
            ("cp", str(folder), "w:x"): "is a directory",
            ("cp", "w:none", str(folder / "made")): "No such file"}.items():
        done = spaces.command(*words)
        assert done.returncode in (125, 127) and sentence in done.stderr.decode(), (words, done)
    assert not [name for name in os.listdir(folder) if name.startswith("made")]
    assert spaces.command("cp", "-", "w:away/secret", stdin=b"taken").returncode == 127
    assert secret.read_text() == "host" and set(spaces.list()) == {"w"}
