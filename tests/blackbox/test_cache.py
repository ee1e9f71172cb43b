"""What is kept between runs: shown, verified, pruned, removed."""
import json
import os
import re
import shutil
import time

import pytest

import support
from support import sandbox_run
from waiting import on_terminal

pytestmark = pytest.mark.skipif(not shutil.which("gcc"), reason="needs gcc: its programs are kept")

OLD = 10 * 86400  # seconds


class Cache:
    """A cache of one caller's own, with compiled programs in it."""

    def __init__(self, folder, caller):
        self.path, self.caller, self.folder = folder / "cache", caller, folder
        self.path.mkdir(mode=0o700)
        if caller == support.Callers.USER and os.geteuid() == 0:
            os.chown(self.path, support.ORDINARY_UID, support.ORDINARY_UID)

    def run(self, *words, **kwargs):
        env = {"SANDBOX_RUN_CACHE": str(self.path), **kwargs.pop("env", {})}
        return sandbox_run(*words, caller=self.caller, env=env, **kwargs)

    def command(self, *words, **kwargs):
        return self.run("cache", *words, **kwargs)

    def add(self, name):
        """Compiles and runs a program; returns its entry."""
        source = self.folder / f"{name}.c"
        source.write_text(f'#include <stdio.h>\nint main(void) {{ puts("{name}"); return 0; }}\n')
        done = self.run("run", source)
        assert (done.returncode, done.stdout) == (0, f"{name}\n".encode()), done.stderr
        entry, = (e for e in self.entries() if f"{name}.c" in e["about"])
        return entry

    def entries(self):
        done = self.command("list", "--json")
        assert (done.returncode, done.stderr) == (0, b"")
        return json.loads(done.stdout)["entries"]

    def names(self):
        return sorted(re.search(r"(\w+)\.c", entry["about"])[1] for entry in self.entries())

    def place(self, entry):
        return self.path / entry["kind"] / entry["key"]

    def age(self, entry, seconds):
        then = time.time() - seconds
        os.utime(self.place(entry) / "meta", (then, then))


@pytest.fixture
def cache(folder, caller):
    return Cache(folder, caller)


def program_of(tree):
    return next(path for path in sorted(tree.rglob("*")) if path.is_file())


def test_an_empty_cache_is_no_mistake(cache):
    for words in ([], ["list"], ["verify"], ["prune"], ["clear"]):
        done = cache.command(*words)
        assert (done.returncode, done.stdout) == (0, b"")
        assert len(done.stderr.splitlines()) == 1
    assert list(cache.path.iterdir()) == []


def test_the_path_is_told(cache):
    assert cache.command("path").stdout == f"{cache.path}\n".encode()
    done = sandbox_run("cache", "path", env={"HOME": "/nonexistent", "SANDBOX_RUN_CACHE": None})
    assert done.stdout == f"/var/tmp/sandbox-run-{os.geteuid()}\n".encode()


def test_a_program_is_compiled_once(cache):
    entry = cache.add("one")
    assert (entry["kind"], entry["damaged"]) == ("artifact", False)
    before = program_of(cache.place(entry) / "tree").stat()
    assert cache.add("one") == entry
    assert program_of(cache.place(entry) / "tree").stat() == before
    assert entry["bytes"] == before.st_size and entry["files"] == 1


def test_the_list_has_clean_columns(cache):
    first, second = cache.add("one"), cache.add("two")
    cache.age(first, OLD + 60)
    done = cache.command()
    title, newest, oldest = done.stdout.decode().splitlines()
    assert title.split() == ["KIND", "KEY", "SIZE", "FILES", "IDLE", "ABOUT"]
    assert newest.split()[:2] == ["artifact", second["key"][:12]]
    assert oldest.split()[1] == first["key"][:12] and oldest.split()[3:5] == ["1", "10d"]
    assert b"\x1b" not in done.stdout
    assert done.stderr.decode().startswith("2 entries, ") and str(cache.path) in done.stderr.decode()


def test_colours_are_for_terminals(folder):
    cache = Cache(folder, None)
    cache.add("one")
    env = {"SANDBOX_RUN_CACHE": str(cache.path), "TERM": "xterm"}
    _, seen = on_terminal("cache", env=env)
    assert b"\x1b[2mKIND" in seen
    _, seen = on_terminal("cache", "--no-color", env=env)
    assert b"\x1b" not in seen and b"KIND" in seen


def test_what_was_not_used_for_long_is_pruned(cache):
    cache.age(cache.add("old"), OLD)
    cache.add("new")
    assert cache.command("prune").stderr == b"nothing was removed\n"
    done = cache.command("prune", "--older", "9.5d")
    assert done.returncode == 0 and done.stderr.startswith(b"removed 1 entry, ")
    assert cache.names() == ["new"]
    assert json.loads(cache.command("prune", "--older", "0s", "--json").stdout)["count"] == 1
    assert cache.names() == []


def test_a_size_is_reached_by_removing_the_least_recently_used(cache):
    entries = {name: cache.add(name) for name in ("a", "b", "c")}
    for age, name in enumerate("bca"):
        cache.age(entries[name], OLD - age)
    two = entries["a"]["bytes"] + entries["c"]["bytes"]
    assert cache.command("prune", "--max-size", str(two)).returncode == 0
    assert cache.names() == ["a", "c"]
    cache.command("prune", "--max-size", str(two - 1))
    assert cache.names() == ["a"]
    cache.command("prune", "--max-size", "0")
    assert cache.names() == []


def test_programs_stay_below_the_bound(cache):
    cache.age(cache.add("a"), OLD)
    done = cache.run("run", "--lang", "c", "--code", "int main(void) { return 0; }",
                     env={"SANDBOX_RUN_CACHE_MAX": "30k"})
    assert done.returncode == 0
    assert all("a.c" not in entry["about"] for entry in cache.entries())


def test_one_entry_is_removed_by_the_start_of_its_key(cache):
    one = cache.add("one")
    cache.add("two")
    done = cache.command("rm", one["key"][:10])
    assert (done.returncode, done.stdout) == (0, b"")
    assert cache.names() == ["two"] and not cache.place(one).exists()
    again = cache.command("rm", one["key"])
    assert again.returncode == 127 and one["key"] in again.stderr.decode()


def test_everything_is_cleared_but_what_is_not_ours(cache):
    cache.add("one")
    (cache.path / "note").mkdir(exist_ok=True)
    mine = [cache.path / "mine", cache.path / "note" / "mine", cache.path / "artifact" / "mine"]
    for path in mine:
        path.write_text("precious")
    assert cache.command("clear").returncode == 0
    assert cache.entries() == [] and all(path.read_text() == "precious" for path in mine)
    for name in ("artifact", "staging", "lock", "note"):
        assert {path.name for path in (cache.path / name).iterdir()} <= {"mine"}


def test_a_changed_program_is_never_run(cache):
    entry = cache.add("one")
    program = program_of(cache.place(entry) / "tree")
    before = program.stat()
    program.write_bytes(program.read_bytes().replace(b"one\0", b"two\0"))
    os.utime(program, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert cache.add("one")["key"] == entry["key"]  # it says "one" again


def test_verification_reads_everything(cache):
    entry = cache.add("one")
    cache.add("two")
    assert cache.command("verify").stderr == b"2 sound, 0 damaged\n"
    program = program_of(cache.place(entry) / "tree")
    program.write_bytes(b"x" + program.read_bytes()[1:])
    done = cache.command("verify")
    assert done.returncode == 1 and entry["key"][:12].encode() in done.stdout
    assert done.stderr == b"1 sound, 1 damaged and removed\n"
    assert cache.names() == ["two"]


def test_a_damaged_entry_is_listed_and_pruned(cache):
    entry = cache.add("one")
    with (cache.place(entry) / "meta").open("r+b") as meta:
        meta.truncate(20)
    assert cache.command().stdout.endswith(b"  damaged\n")
    assert [e["damaged"] for e in cache.entries()] == [True]
    assert cache.command("prune").returncode == 0
    assert cache.entries() == []


MISTAKES = [
    (["lst"], 125, "did you mean `list`?"),
    (["nonsense"], 125, "say one of: list, prune"),
    (["rm"], 125, "say which"),
    (["rm", "abc"], 125, "not the start of a key"),
    (["rm", "../etc"], 125, "not the start of a key"),
    (["rm", "abcdef"], 127, "there is no entry"),
    (["list", "more"], 125, "takes no 'more'"),
    (["list", "--older", "3d"], 125, "for `cache prune`"),
    (["prune", "--older", "soon"], 125, "30d"),
    (["prune", "--older", "d"], 125, "30d"),
    (["prune", "--max-size", "-1"], 125, "2g"),
]


def test_mistakes_are_answered_in_one_sentence(folder):
    cache, wrong = Cache(folder, None), {}
    for words, status, said in MISTAKES:
        done, told = cache.command(*words), cache.command(*words, "--json")
        if ((done.returncode, done.stdout) != (status, b"") or said not in done.stderr.decode()
                or len(done.stderr.splitlines()) != 1 or told.returncode != status
                or said not in json.loads(told.stdout)["error"]["message"]):
            wrong[" ".join(words)] = (done, told)
    assert not wrong


def test_two_keys_with_one_start_are_not_guessed_between(folder):
    cache = Cache(folder, None)
    entry = cache.add("one")
    twin = entry["key"][:63] + ("0" if entry["key"][63] != "0" else "1")
    shutil.copytree(cache.place(entry), cache.path / "artifact" / twin)
    done = cache.command("rm", entry["key"][:20])
    assert done.returncode == 125 and b"2 keys start with" in done.stderr
    assert cache.command("rm", entry["key"]).returncode == 0


@pytest.mark.parametrize("place, said", [("relative", "absolute"), ("{}/open", "chmod 700"),
                                         ("{}/file", "Not a directory"), ("/proc/1", "cache")])
def test_a_place_that_cannot_be_used_is_said(folder, place, said):
    (folder / "open").mkdir()
    (folder / "open").chmod(0o777)
    (folder / "file").write_text("")
    env = {"SANDBOX_RUN_CACHE": place.format(folder)}
    done = sandbox_run("run", "--lang", "c", "--code", "int main(void) { return 0; }", env=env)
    assert done.returncode in (125, 126) and said in done.stderr.decode()
    assert len(done.stderr.splitlines()) == 1


def test_somebody_elses_place_is_refused(folder, root):
    cache = Cache(folder, support.Callers.USER)
    done = sandbox_run("cache", caller=root, env={"SANDBOX_RUN_CACHE": str(cache.path)})
    assert done.returncode == 126 and b"belongs to user 65534" in done.stderr


def test_help_teaches_with_examples():
    text = sandbox_run("cache", "--help").stdout.decode()
    for word in ("prune", "clear", "verify", "rm", "--older", "--max-size", "SANDBOX_RUN_CACHE"):
        assert word in text
    assert text.count("\n  sandbox-run cache") >= 5
