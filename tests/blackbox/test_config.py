"""The configuration of the user and of the project: what holds, whose word wins, and what is refused."""
import base64
import hashlib
import json
import os
import subprocess
import tempfile

import pytest

import support
from support import Callers, result_of, sandbox_run
from waiting import wait_until

UID = {Callers.ROOT: 0, Callers.USER: support.ORDINARY_UID}


class Place:
    """A home with a configuration, and a project in it."""

    def __init__(self, folder, caller):
        self.caller, self.home, self.project = caller, folder / "home", folder / "home/project"
        (self.project / ".git").mkdir(parents=True)
        (self.project / "deep").mkdir()
        self.own, self.projects = self.home / ".config/sandbox-run/config.yaml", self.project / ".sandbox-run.yaml"
        self.env = {"HOME": str(self.home), "SANDBOX_RUN_STATE": str(self.home / "state")}
        self.give(folder)

    def give(self, path):
        """To the caller, with all that is below."""
        if os.geteuid() == 0:
            subprocess.run(["chown", "-R", str(UID[self.caller]), path], check=True)

    def write(self, path, text, mode=0o644):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
        self.give(self.home)

    def run(self, *words, **more):
        return sandbox_run(*words, caller=self.caller, env=self.env, cwd=self.project, **more)

    def config(self, *words):
        done = self.run("config", "--json", *words)
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        return {row["name"]: row for row in answer["settings"]}, answer

    def trust(self):
        done = self.run("trust")
        assert done.returncode == 0, done.stderr


@pytest.fixture
def place(folder, caller):
    return Place(folder, caller)


def source(row):
    return row["value"], row["source"], row.get("line")


def test_options_win_over_the_project_over_the_user_over_the_default(place):
    place.write(place.own, "# mine\nlimits:\n  timeout: 9s\n  pids: 50\n  memory: 300m\n")
    place.write(place.projects, "limits: {pids: 40, memory: 200m}\n")
    place.trust()
    rows, answer = place.config("--memory", "100m")
    assert source(rows["limits.timeout"]) == ("9s", "user", 3)
    assert source(rows["limits.pids"]) == ("40", "project", 1)
    assert source(rows["limits.memory"]) == ("100m", "option", None)
    assert source(rows["limits.inodes"]) == ("100000", "default", None)
    assert answer["files"]["project"] == {"path": str(place.projects), "state": "read"} and not answer["notes"]


def test_limits_of_the_compiler_are_the_users_word(place):
    place.write(place.own, "compile_limits:\n  memory: 64m\n  pids: 9\n")
    rows, _ = place.config()
    assert source(rows["compile_limits.pids"]) == ("9", "user", 3) and "compile_limits.cpus" not in rows
    place.write(place.own, "compile_limits: {timeout: 1ms}\n")
    words = ["-l", "c", "-c", f"int main(void) {{ return {os.getpid()} * 0; }} /* {place.home} */"]
    result = result_of("run", *words, caller=place.caller, env=place.env, cwd=place.project)
    assert (result["_status"], result["outcome"]) == (124, "compile_failed"), result
    result = result_of("run", "--compile-limit", "timeout=60s", *words, caller=place.caller, env=place.env,
                       cwd=place.project)
    assert result["exit_code"] == 0, result


def test_a_run_gets_what_the_files_say(place):
    place.write(place.own, "limits: {timeout: 300ms}\n")
    result = result_of("exec", "--", "sleep", "100", caller=place.caller, env=place.env, cwd=place.project)
    assert result["outcome"] == "timeout"
    done = place.run("exec", "--no-config", "--timeout", "20s", "--", "true")
    assert done.returncode == 0, done.stderr


def test_a_backend_of_the_user_holds_for_every_run(folder):
    place = Place(folder, support.available_callers()[0])
    place.write(place.own, "backend: oci:/usr/bin/false\n")
    done = place.run("exec", "--", "true")
    assert done.returncode == 125 and b"false could not make the container" in done.stderr, done.stderr
    assert place.run("exec", "--backend", "native", "--", "true").returncode == 0
    assert source(place.config()[0]["backend"]) == ("oci:/usr/bin/false", "user", 1)
    gateway = subprocess.run([support.BUILD / "sandbox-run-http", "--listen", "127.0.0.1:0"], env={**os.environ, **place.env}, check=False,
                             stderr=subprocess.PIPE, timeout=support.DEADLINE)
    assert gateway.returncode == 125 and b"only the native backend serves requests over HTTP" in gateway.stderr
    place.own.unlink()
    place.write(place.projects, "backend: native\n")
    assert b"only the user's own file can have it" in place.run("trust").stderr


def test_a_project_opens_nothing(place):
    place.write(place.own, 'network:\n  allow_hosts: ["*.example.org", "10.0.0.0/8:80"]\n')
    place.write(place.projects, "limits: {timeout: 1h, memory: 64g}\nrequire: process\nnetwork:\n  mode: full\n"
                "  allow_dns: true\n  allow_hosts: [www.example.org:443, example.org, evil.test, 10.1.2.3:80, "
                "10.1.2.3:81, 10.0.0.0/7:80, 192.0.2.1]\n")
    place.trust()
    rows, answer = place.config()
    assert source(rows["limits.timeout"])[:2] == ("30s", "default")
    assert rows["require"]["value"] == "container"
    assert rows["network.mode"]["value"] == "allow" and rows["network.allow_dns"]["value"] == "false"
    assert rows["network.allow_hosts"]["value"] == "www.example.org:443, 10.1.2.3:80"
    assert len(answer["notes"]) == 10, answer["notes"]
    assert f"{place.projects}:1: '1h' would allow more than what holds (30s)" in answer["notes"][0]


def test_a_policy_of_the_user_is_not_replaced_by_a_looser_one(place):
    place.write(place.own, "policy: strict\n")
    place.write(place.projects, "policy: default\n")
    place.trust()
    rows, answer = place.config()
    assert source(rows["policy"]) == ("strict", "user", 1) and len(answer["notes"]) == 1


def test_only_a_file_that_is_trusted_as_it_is_counts(place):
    place.write(place.projects, "limits: {timeout: 3s}\n")
    done = place.run("config")
    assert b"is not trusted and is ignored; read it, then say `sandbox-run trust" in done.stderr
    assert b"limits.timeout           30s" in done.stdout
    place.trust()
    assert source(place.config("deep")[0]["limits.timeout"]) == ("3s", "project", 1)
    place.write(place.projects, "limits: {timeout: 2s}\n")
    rows, answer = place.config()
    assert source(rows["limits.timeout"])[:2] == ("30s", "default") and answer["files"]["project"]["state"] == "ignored"
    assert b"changed" in place.run("trust", "--list").stdout
    assert place.run("trust", "--revoke").returncode == 0
    assert place.run("trust", "--list").stdout == b""
    assert place.run("trust", "--revoke").returncode == 127


@pytest.mark.parametrize("text, sentence", [
    ("limits:\n  timout: 3s\n", "config.yaml:2: in 'limits': Unexpected key: timout; did you mean 'timeout'?"),
    ("\nlimits:\n  memory: 12q\n", "config.yaml:3: in 'limits.memory': memory '12q' has an unknown unit"),
    ("network:\n  mode: sometimes\n", "config.yaml:2: in 'network.mode': "),
    ("network:\n  mode: none\n  allow_hosts: [a.test]\n", "config.yaml:3: in 'network.allow_hosts': the mode reaches"),
    ("network: {allow_hosts: [localhost]}\n", "config.yaml:1: in 'network.allow_hosts': "),
    ("policy: loose\n", "config.yaml:1: in 'policy': there is no policy 'loose'"),
    ("compile_limits:\n  memory: much\n", "config.yaml:2: in 'compile_limits.memory': "),
    ("backend: lxc\n", "config.yaml:1: in 'backend': there is no backend 'lxc'"),
    ("languages: [{binary: /usr/bin/python3}]\n", "needs 'file', or 'name' with 'binary' or 'version'"),
    ("a: [\n", "config.yaml:"),
])
def test_a_fault_has_its_place_and_stops_the_run(folder, text, sentence):
    place = Place(folder, support.available_callers()[0])
    place.write(place.own, text)
    done = place.run("exec", "--", "true")
    assert done.returncode == 125 and sentence in done.stderr.decode(), done.stderr
    assert place.run("help").returncode == 0


def test_a_file_that_others_could_have_written_is_refused(place):
    place.write(place.own, "limits: {timeout: 3s}\n", mode=0o666)
    done = place.run("exec", "--", "true")
    assert done.returncode == 126 and b"others can write to" in done.stderr
    place.own.unlink()
    place.write(place.projects, "limits: {timeout: 3s}\n", mode=0o664)
    assert b"others can write to" in place.run("trust").stderr
    rows, answer = place.config()
    assert rows["limits.timeout"]["source"] == "default" and "it is ignored" in answer["notes"][0]
    place.projects.rename(place.project / "elsewhere")
    place.projects.symlink_to("elsewhere")
    (place.project / "elsewhere").chmod(0o644)
    assert b"is a link" in place.run("trust").stderr


def test_a_directory_that_everyone_can_write_to_has_no_say(place):
    place.write(place.projects, "limits: {timeout: 3s}\n")
    place.project.chmod(0o777)
    assert place.config()[1]["files"]["project"] == {"state": "absent"}


def test_outside_of_a_repository_and_home_only_the_directory_itself_counts(place, folder):
    place.write(place.projects, "limits: {timeout: 3s}\n")
    (place.project / ".git").rmdir()
    place.env["HOME"] = str(folder / "home/project/deep/none")
    assert place.config()[1]["files"]["project"]["state"] == "ignored"
    assert place.config("deep")[1]["files"]["project"] == {"state": "absent"}


def test_languages_are_the_users_word(place):
    place.write(place.own, "languages:\n  - {name: python, binary: /usr/bin/nothing-here}\n")
    done = place.run("run", "--lang", "python", "--code", "1")
    assert done.returncode == 125 and b"'/usr/bin/nothing-here' is no program on this machine" in done.stderr
    place.write(place.projects, "languages: [{name: python, version: '3'}]\n")
    assert b"only the user's own file can have it" in place.run("trust").stderr


# ---- audit ---------------------------------------------------------------------------------------


def runs(place, *words):
    done = place.run("audit", "--json", *words)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["damaged"] == 0
    return answer["runs"]


def test_every_run_goes_on_record_when_the_user_wants_it(place):
    place.write(place.own, "audit: true\n")
    secret = "word-that-is-secret"
    assert place.run("exec", "--env", f"KEY={secret}", "--", "sh", "-c", "exit 3", secret).returncode == 3
    assert place.run("run", "--lang", "nonsense", "--code", "1").returncode == 127
    first, second = runs(place)
    assert (first["outcome"], first["exit_code"], first["uid"]) == ("exited", 3, UID[place.caller])
    assert first["request"]["program"] == "sh" and first["request"]["network"] == "none" and first["wall_us"] > 0
    assert len(first["program_sha256"]) == 64 and len(first["id"]) == 32
    assert (second["outcome"], "exit_code" in second) == ("not_found", False) and "nonsense" in second["error"]
    assert runs(place, "--last", "1") == [second] and runs(place, "--since", "1h") == [first, second]
    assert runs(place, "--since", "2999-01-01") == []
    assert b"exited 3" in place.run("audit").stdout
    kept = place.home / "state/audit.jsonl"
    assert secret not in kept.read_text() and kept.stat().st_mode & 0o777 == 0o600


def test_sessions_and_prompts_follow_the_configuration(any_caller, folder):
    place = Place(folder, any_caller)
    place.write(place.own, "audit: true\nlimits: {memory: 100m}\n")
    made = place.run("session", "create", "bash", "--json")
    assert made.returncode == 0, made.stderr
    session = json.loads(made.stdout)["id"]
    try:
        ran = json.loads(place.run("session", "exec", session, "--code", "exit 3", "--json").stdout)
    finally:
        place.run("session", "close", session)
    assert ran["limits"]["memory_bytes"] == 100 * 2**20
    assert place.run("repl", "bash", stdin=b"echo two\n").returncode == 0
    assert [run["outcome"] for run in runs(place)].count("cell") == 2
    assert place.run("repl", "bash", "--no-config", stdin=b"echo three\n").returncode == 0
    assert [run["outcome"] for run in runs(place)].count("cell") == 2
    place.write(place.own, "require: everything\n")
    assert b"everything" in place.run("session", "create", "bash").stderr


def test_what_cannot_go_on_record_does_not_run(place):
    place.write(place.own, "audit: true\n")
    kept = place.home / "state/audit.jsonl"
    kept.mkdir(parents=True)
    kept.parent.chmod(0o700)
    place.give(place.home)
    done = place.run("exec", "--", "echo", "ran")
    assert (done.returncode, done.stdout) == (125, b"") and b"audit" in done.stderr


def verified(place):
    done = place.run("audit", "verify", "--json")
    return json.loads(done.stdout) if done.returncode == 0 else done.returncode


def test_the_record_is_a_chain(any_caller, folder):
    place = Place(folder, any_caller)
    place.write(place.own, "audit: true\n")
    for code in range(3):
        assert place.run("exec", "--", "sh", "-c", f"exit {code}").returncode == code
    kept = place.home / "state/audit.jsonl"
    whole = kept.read_text()
    lines = whole.splitlines(keepends=True)
    found = verified(place)
    assert (found["valid"], found["lines"], found["torn"]) == (True, 3, 0)
    assert found["head"] == json.loads(lines[2])["hash"] and json.loads(lines[2])["prev"] == json.loads(lines[1])["hash"]
    for changed in (whole.replace('"exit_code":1', '"exit_code":0'), lines[0] + lines[2], lines[0] + lines[2] + lines[1],
                    lines[0] + "x\n" + lines[2]):
        kept.write_text(changed)
        assert verified(place) == 126, changed
    kept.write_text(whole + lines[2][:100])  # killed while it wrote
    assert place.run("exec", "--", "true").returncode == 0
    found = verified(place)
    assert (found["lines"], found["torn"]) == (4, 1)
    one = json.loads(place.run("audit", "show", json.loads(lines[1])["id"][:12], "--json").stdout)
    assert one == json.loads(lines[1])
    stats = json.loads(place.run("audit", "stats", "--json").stdout)
    assert stats["outcomes"] == {"exited": 4} and stats["languages"] == {"command": 4} and stats["wall_us"] > 0
    lines = place.run("audit", "stats").stdout.decode().splitlines()
    assert lines[:3] == ["entries    4", "outcomes   exited 4", "languages  command 4"] and lines[4].startswith("wall time  ")
    assert place.run("audit", "export", "--last", "1").stdout.decode() == kept.read_text().splitlines(keepends=True)[-1]


def shown(place, number):
    return json.loads(place.run("audit", "show", runs(place)[number]["id"], "--json").stdout)


def test_code_is_kept_where_the_user_wants_it(any_caller, folder):
    place = Place(folder, any_caller)
    place.write(place.own, "audit: true\n")
    secret = "word-that-is-secret"
    assert place.run("run", "--lang", "sh", "--code", "echo first").returncode == 0
    kept = place.home / "state/audit-code.jsonl"
    assert not kept.exists() and "code" not in shown(place, 0)
    place.write(place.own, "audit: with-code\n")
    assert place.run("run", "--lang", "sh", "--code", "echo $1", "--", secret).returncode == 0
    assert place.run("exec", "--", "sh", "-c", "exit 3").returncode == 3
    (place.project / "long.sh").write_text("exit 4 #" + "x" * 2**20)
    assert place.run("run", "long.sh").returncode == 4
    first, second, third = (shown(place, number) for number in (1, 2, 3))
    assert first["code"] == {"language": "sh", "code": "echo $1"} and second["code"] == {"args": ["sh", "-c", "exit 3"]}
    assert (third["code_kept"], "code" in third) == (False, False), "longer than the bound: only the digest"
    assert secret not in kept.read_text() and kept.stat().st_mode & 0o777 == 0o600
    assert (verified(place)["code_kept"], verified(place)["code_damaged"]) == (2, 0)
    kept.write_text(kept.read_text().replace('"code":"' + base64.b64encode(b"echo $1").decode(),
                                             '"code":"' + base64.b64encode(b"echo $2").decode()))
    assert shown(place, 1)["code"] is None and verified(place)["code_damaged"] == 1, "it is not what ran"
    with open(kept, "ab") as grows:
        grows.truncate(64 * 2**20)
    place.write(place.own, "audit: true\n")
    assert place.run("exec", "--", "true").returncode == 0
    older = kept.with_suffix(".jsonl.1")
    assert not kept.exists() and older.exists() and len(runs(place)) == 5
    place.write(place.own, "audit: true\nretention: {audit_size: 8m}\n")
    with open(place.home / "state/audit.jsonl", "ab") as grows:
        grows.truncate(8 * 2**20)
    assert place.run("exec", "--", "true").returncode == 0
    assert not older.exists(), "the code goes with its lines"
    place.write(place.own, "audit: sometimes\n")
    assert b"'sometimes' is neither true nor false nor with-code" in place.run("exec", "--", "true").stderr


def test_a_project_cannot_end_the_audit(place):
    place.write(place.projects, "audit: false\n")
    assert b"only the user's own file can have it" in place.run("trust").stderr


def test_lines_of_runs_that_end_together_do_not_mix(any_caller, folder):
    place = Place(folder, any_caller)
    place.write(place.own, "audit: true\n")
    command = support.command("exec", "--", "true", caller=any_caller)
    started = [subprocess.Popen(command, cwd=place.project, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                env=support.surroundings(any_caller, place.env)) for _ in range(8)]
    assert [process.wait(support.DEADLINE) for process in started] == [0] * 8
    assert len({run["id"] for run in runs(place)}) == 8


def fill(kept):
    """Adds lines of the chain, by the rule that docs/configuration.md gives, until the file is full."""
    prev = json.loads(kept.read_text().splitlines()[-1])["hash"]
    lines = []
    while len(lines) * 4000 < 8 * 2**20:
        body = '{"time":"2026-01-01T00:00:00.000Z","id":"x","outcome":"%s","prev":"%s"' % ("y" * 3800, prev)
        prev = hashlib.sha256(body.encode()).hexdigest()
        lines.append(f'{body},"hash":"{prev}"}}\n')
    with open(kept, "a", encoding="ascii") as grows:
        grows.writelines(lines)
    return len(lines)


def test_what_made_room_is_counted_and_any_size_can_be_read(any_caller, folder):
    place = Place(folder, any_caller)
    place.write(place.own, "audit: true\n")
    kept = place.home / "state/audit.jsonl"
    full = 0
    for _ in range(3):
        assert place.run("exec", "--", "sh", "-c", "exit 7").returncode == 7
        full = fill(kept)
    assert place.run("exec", "--", "true").returncode == 0
    older = [kept.with_suffix(f".jsonl.{number}") for number in (1, 2, 3)]
    assert all(one.stat().st_size > 8 * 2**20 for one in older) and kept.stat().st_size < 2**20
    first = json.loads(kept.read_text().splitlines()[0])
    assert (first["kind"], first["lines_before"]) == ("continued", 3 * full + 5)
    assert json.loads(older[2].read_text().splitlines()[-1])["hash"] == first["prev"]
    found = verified(place)
    assert (found["lines"], found["torn"], found["gone"]) == (3 * full + 7, 0, 0)
    last = runs(place, "--last", "1")
    assert [run["outcome"] for run in last] == ["exited"] and len(place.run("audit", "export").stdout) > 24 * 2**20

    place.write(place.own, "audit: true\nretention: {audit_size: 12m}\n")
    fill(kept)
    assert place.run("exec", "--", "true").returncode == 0
    assert [one.exists() for one in older] == [False, False, True]
    assert verified(place)["gone"] == 2 * full + 3
    assert f"{2 * full + 3} older lines made room".encode() in place.run("audit", "verify").stdout
    newest = kept.read_text()
    kept.write_text(newest.replace('"lines_before":', '"lines_before":1'))
    assert verified(place) == 126
    kept.write_text(newest)
    kept.with_suffix(".jsonl.4").unlink()  # not by us, and in the middle
    assert verified(place) == 126


# ---- retention -----------------------------------------------------------------------------------

LONG_AGO = 40 * 24 * 3600


def age(path, seconds=LONG_AGO):
    then = os.stat(path).st_mtime - seconds
    os.utime(path, (then, then))


def entries(place):
    answer = json.loads(place.run("cache", "list", "--json").stdout)
    return {entry["key"]: entry["kind"] for entry in answer["entries"]}


def test_what_is_old_goes_by_itself_and_what_is_in_use_stays(any_caller, folder):
    place = Place(folder, any_caller)
    cache = place.home / "cache"
    place.env.update(SANDBOX_RUN_CACHE=str(cache), SANDBOX_RUN_NO_BACKGROUND=None)
    compiled = []
    for number in range(3):
        source = place.project / f"p{number}.c"
        source.write_text(f"#include <stdio.h>\n#include <unistd.h>\nint main(int n, char **v) {{ puts(\"{number}\"); "
                          "fflush(stdout); return n > 1 ? (int)read(0, v[0], 1) : 0; }\n")
        before = set(entries(place))
        assert place.run("run", source).returncode == 0
        compiled += set(entries(place)) - before
    assert len(compiled) == 3
    for key in compiled[:2]:
        age(next(cache.glob(f"*/{key}/meta")))
    held = subprocess.Popen(support.command("run", place.project / "p1.c", "--", "wait", caller=any_caller),
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=place.project,
                            env=support.surroundings(any_caller, place.env))
    with held:
        assert held.stdout.readline() == b"1\n"
        age(next(cache.glob(f"*/{compiled[1]}/meta")))
        age(cache / "cleaned")
        assert place.run("exec", "--", "true").returncode == 0
        assert wait_until(lambda: compiled[0] not in entries(place), 30)
        assert set(compiled[1:]) <= set(entries(place))
        held.stdin.close()
    assert held.returncode == 0


def test_kept_changes_and_output_are_bounded_by_the_configuration(any_caller, folder):
    place = Place(folder, any_caller)
    place.write(place.own, "retention:\n  changes_size: 3k\n  output_age: 2d\n  output_size: 1m\n  cache_age: 7d\n")
    place.env.update(SANDBOX_RUN_CACHE=str(place.home / "cache"), SANDBOX_RUN_NO_BACKGROUND=None)
    rows, _ = place.config()
    assert source(rows["retention.output_age"]) == ("2d", "user", 3)
    assert source(rows["retention.cache_age"]) == ("7d", "user", 5)
    assert source(rows["retention.changes_age"]) == ("90d", "default", None)
    for number in range(2):
        done = place.run("exec", "--project", place.project, "--keep", "--keep-output", "--", "sh", "-c",
                         f"head -c 2000 /dev/zero > new{number}; echo {number}")
        assert done.returncode == 0, done.stderr

    def kept(what):
        return sorted(path.name for path in (place.home / "state" / what).iterdir() if len(path.name) == 32)

    assert len(kept("changes")) == 2 and len(kept("output")) == 2
    first = min(kept("changes"), key=lambda name: (place.home / "state/changes" / name).stat().st_mtime)
    for name in kept("output"):
        for path in (place.home / "state/output" / name).iterdir():
            age(path)
    stamp = next(path for path in (place.home / "cache/cleaned", place.home / "state/cleaned") if path.exists())
    age(stamp)
    assert place.run("exec", "--", "true").returncode == 0
    assert wait_until(lambda: len(kept("changes")) == 1 and not kept("output"), 30) and first not in kept("changes")


def test_an_age_has_a_unit(any_caller, folder):
    place = Place(folder, any_caller)
    place.write(place.own, "retention: {cache_age: 12x}\n")
    assert b"in 'retention.cache_age': '12x' has an unknown unit; write it as 30d or 12h" in \
        place.run("exec", "--", "true").stderr


# ---- a full disk ---------------------------------------------------------------------------------


LARGE = '#include <stdio.h>\nchar data[12 << 20] = { 1 };\nint main(void) { return puts("works") < 0 || !*data; }\n'
SMALL = LARGE.replace("12 << 20", "9")


@pytest.mark.parametrize("size, text", [("256k", SMALL), ("10m", LARGE)], ids=["before", "in the middle"])
def test_a_full_disk_under_the_cache_is_no_reason_to_fail(root, folder, size, text):
    """Before a stage, or when what the stage left does not fit: then the stage is done again."""
    cache, source = folder / "cache", folder / "p.c"
    cache.mkdir(mode=0o700)
    source.write_text(text)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "tmpfs", cache], check=True)
    try:
        done = sandbox_run("run", source, caller=root, env={"SANDBOX_RUN_CACHE": str(cache)})
        assert (done.returncode, done.stdout) == (0, b"works\n"), done.stderr
        assert b"the disk of the cache is full, so what was compiled or installed was in memory" in done.stderr
        assert not list((cache / "artifact").glob("*")) and not list((cache / "staging").glob("*"))
    finally:
        subprocess.run(["umount", cache], check=True)
    assert not os.path.exists("/dev/shm/sandbox-run-memory-0")


FULL = """for place in /dev/shm /run /tmp; do mount -t tmpfs -o size=256k,mode=1777 tmpfs "$place" || exit 99; done
mount -t tmpfs -o size=10m,mode=700 tmpfs "$SANDBOX_RUN_CACHE" || exit 99
"$@"; echo "status $?"; find "$SANDBOX_RUN_CACHE"/artifact "$SANDBOX_RUN_CACHE"/staging /dev/shm -type f"""


@pytest.mark.container
def test_without_room_in_memory_the_full_disk_is_named_and_nothing_is_left(root):
    """In a mount namespace of its own, so that no other run finds the small file systems."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="sbr-full-") as place:
        env = support.surroundings(root, {"SANDBOX_RUN_CACHE": f"{place}", "XDG_RUNTIME_DIR": None})
        done = subprocess.run(["unshare", "-m", "sh", "-c", FULL, "-", support.visible_program(), "--lang", "c", "--code",
                               LARGE], capture_output=True, check=True, env=env, timeout=support.DEADLINE)
    assert done.stdout == b"status 125\n", done
    assert done.stderr.splitlines() == [
        b"sandbox-run: cache: the disk became full while something was kept in '%s'; make room there, or set "
        b"SANDBOX_RUN_CACHE to a directory on another disk" % place.encode()]
