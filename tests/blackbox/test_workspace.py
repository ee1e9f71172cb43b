"""Work directories with a name, kept between runs: phases, quotas, the lock, saving, archives."""
import io
import json
import os
import shutil
import signal
import subprocess
import tarfile

import pytest

import support
from support import sandbox_run
from waiting import read_line, started, wait_until

MIB = 1 << 20
SLACK = 256  # inodes that the bounds of a run let through, mostly a handful


class Workspaces:
    """The state directory of one caller."""

    def __init__(self, folder, caller):
        self.path, self.caller, self.folder = folder / "state", caller, folder
        self.path.mkdir(mode=0o700)
        self.owner = os.geteuid()
        if caller == support.Callers.USER and os.geteuid() == 0:
            self.owner = support.ORDINARY_UID
            os.chown(self.path, self.owner, self.owner)
        self.env = {"SANDBOX_RUN_STATE": str(self.path)}

    def run(self, *words, env=None, **kwargs):
        return sandbox_run(*words, caller=self.caller, env={**self.env, **(env or {})}, **kwargs)

    def result(self, name, code, *options, language="bash", **kwargs):
        """The result of a program in a workspace."""
        return support.result_of("run", "--workspace", name, *options, "--lang", language, "--code",
                                 code, caller=self.caller, env=self.env, **kwargs)

    def shell(self, name, code, *options):
        """What a program that succeeds in a workspace says."""
        result = self.result(name, code, *options)
        assert result["success"], result
        return result["stdout"]

    def command(self, *words, **kwargs):
        return self.run("workspace", *words, **kwargs)

    def list(self):
        done = self.command("list", "--json")
        assert (done.returncode, done.stderr) == (0, b""), done
        return {item["name"]: item for item in json.loads(done.stdout)["workspaces"]}

    def tree(self, name):
        return self.path / "workspaces" / name / "tree"

    def entries(self, name):
        """{path: (kind, mode, content)} of all but the programs that the tool put there."""
        found = {}
        top = os.fsencode(self.tree(name))
        for where, dirs, files in os.walk(top):
            for entry in dirs + files:
                path = os.path.join(where, entry)
                status = os.lstat(path)
                if os.path.islink(path):
                    content = os.readlink(path)
                elif os.path.isfile(path):
                    with open(path, "rb") as file:
                        content = file.read()
                else:
                    content = None
                assert status.st_uid == self.owner
                found[os.path.relpath(path, top)] = (oct(status.st_mode), content)
        return {path: what for path, what in found.items() if not path.startswith(b"main.")}


@pytest.fixture
def spaces(folder, caller):
    return Workspaces(folder, caller)


def error_of(done):
    assert done.returncode in (125, 126, 127), done
    return done.stderr.decode()


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
    stopped = spaces.result("w", "echo 2 > b; while :; do :; done", "--timeout", "500ms")
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
    exported = spaces.command("export", "w")
    assert exported.returncode == 0, exported.stderr
    with tarfile.open(fileobj=io.BytesIO(exported.stdout)) as archive:
        assert archive.getmember("d").mode == 0 and archive.extractfile("d/f").read() == b"1\n"
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


ODD = """
import os
os.mkdir("d"); os.chmod("d", 0o750)
for name in [b"new\\nline", b"esc\\x1b[31m", b"\\xff\\xfe", b"-rf", b" ", b"'\\"", "\\u202etxt".encode(), b"n" * 255]:
    with open(b"d/" + name, "wb") as file:
        file.write(name)
os.symlink("/etc/passwd", "d/link"); os.symlink("x" * 300, "long")
os.makedirs("/".join(["deep" * 10] * 8))
with open("sparse", "wb") as file:
    file.truncate(5 << 20); file.seek(3 << 20); file.write(b"x")
os.chmod("sparse", 0o755)
"""


def test_there_and_back_with_odd_names(spaces):
    result = spaces.result("one", ODD, language="python")
    assert result["success"], result
    archive = spaces.folder / "archive.tar"
    exported = spaces.command("export", "one")
    assert exported.returncode == 0, exported.stderr
    archive.write_bytes(exported.stdout)
    assert spaces.command("import", "two", archive).returncode == 0
    assert spaces.entries("two") == spaces.entries("one") and len(spaces.entries("one")) == 20
    again = spaces.command("export", "two")
    assert again.stdout == exported.stdout
    piped = spaces.command("import", "three", stdin=exported.stdout)
    assert piped.returncode == 0 and b"imported three" in piped.stderr
    assert spaces.shell("three", "stat -c %s sparse; du -k sparse | cut -f 1") == "5242880\n4\n"


def test_an_archive_goes_to_a_file_and_replaces_none_in_vain(spaces):
    target = spaces.folder / "out"
    target.mkdir()
    os.chown(target, spaces.owner, -1)
    file = target / "w.tar"
    spaces.shell("w", "echo 1 > f")
    assert spaces.command("export", "w", file).returncode == 0
    before = file.read_bytes()
    assert spaces.command("export", "missing", file).returncode == 127
    assert file.read_bytes() == before and [path.name for path in target.iterdir()] == ["w.tar"]
    with tarfile.open(file) as archive:
        assert archive.extractfile("f").read() == b"1\n"
        assert {(member.uid, member.gid) for member in archive} == {(0, 0)}
    assert spaces.command("export", "w", "/dev/null").returncode == 0


def test_what_other_programs_pack_is_read(spaces):
    source = spaces.folder / "source"
    source.mkdir()
    (source / "f").write_text("text")
    (source / ("n" * 150)).write_text("long")
    os.link(source / "f", source / "same")
    (source / "l").symlink_to("f")
    for number, form in enumerate(("ustar", "gnu", "pax", "posix")):
        without = ["--exclude=nnn*"] if form == "ustar" else []  # which cannot have such a name
        packed = subprocess.run(["tar", "-C", source, f"--format={form}", *without, "-cf", "-", "."],
                                check=True, stdout=subprocess.PIPE).stdout
        done = spaces.command("import", f"w{number}", stdin=packed)
        assert done.returncode == 0, done.stderr
        entries = spaces.entries(f"w{number}")
        assert entries[b"f"][1] == entries[b"same"][1] == b"text" and entries[b"l"][1] == b"f"


def hostile(*members):
    """An archive of (name, type, link, content)."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        for name, kind, link, content in members:
            member = tarfile.TarInfo(name)
            member.type, member.linkname, member.size, member.mode = kind, link, len(content), 0o6777
            archive.addfile(member, io.BytesIO(content))
    return data.getvalue()


FILE, LINK, HARD, DIR, DEVICE = b"0", b"2", b"1", b"5", b"3"
HOSTILE = {
    "absolute": ([("/tmp/sbr-out", FILE, "", b"x")], "absolute"),
    "dots": ([("a/../../../sbr-out", FILE, "", b"x")], "'..'"),
    "through-a-link": ([("l", LINK, "/tmp", b""), ("l/sbr-out", FILE, "", b"x")], "through a link"),
    "over-a-link": ([("l", LINK, "/tmp/sbr-out", b""), ("l", FILE, "", b"x")], "two entries"),
    "hard-link-out": ([("h", HARD, "/etc/passwd", b"")], "leads out"),
    "hard-link-through": ([("l", LINK, "/etc", b""), ("h", HARD, "l/passwd", b"")], "no file in it"),
    "too-many": ([(f"f{i}", FILE, "", b"") for i in range(100)], "--inodes"),
    "too-large": ([("f", FILE, "", b"x" * MIB)], "--disk"),
    "hard-links-count": ([("f", FILE, "", b"x" * 200000), ("g", HARD, "f", b"")], "--disk"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_archive_makes_nothing(spaces, case):
    members, says = HOSTILE[case]
    done = spaces.command("import", "w", "--disk", "300k", "--inodes", "50", stdin=hostile(*members))
    assert done.returncode == 125 and says in done.stderr.decode(), done
    assert spaces.list() == {} and not os.path.lexists("/tmp/sbr-out")
    assert list((spaces.path / "staging").iterdir()) == []


def test_archives_that_are_cut_or_packed_are_told(spaces):
    whole = hostile(("f", FILE, "", b"x" * 2000))
    for data, says in ((b"", "empty"), (whole[:1000], "ends in the middle"), (b"\x1f\x8b\x08" + bytes(600), "gzip -dc"),
                       (b"\x28\xb5\x2f\xfd" + bytes(600), "zstd -dc"), (b"x" * 600, "no tar archive")):
        done = spaces.command("import", "w", stdin=data)
        assert done.returncode == 125 and says in done.stderr.decode(), done
    assert spaces.list() == {}


def test_devices_are_left_out_and_told(spaces):
    done = spaces.command("import", "w", stdin=hostile(("dev/x", DEVICE, "", b""), ("f", FILE, "", b"1")))
    assert done.returncode == 0 and b"left out 1 device" in done.stderr and b"dev/x" in done.stderr
    assert spaces.entries("w") == {b"f": ("0o100777", b"1")}
    done = spaces.command("import", "v", "--json", stdin=hostile(("dev/x", DEVICE, "", b"")))
    assert json.loads(done.stdout) == {"imported": "v", "left_out": 1}


def test_a_name_that_is_taken_is_refused(spaces):
    spaces.shell("w", "echo 1 > f")
    assert "already" in error_of(spaces.command("import", "w", stdin=hostile(("f", FILE, "", b"2"))))
    assert spaces.shell("w", "cat f") == "1\n"
