"""What was refused is told: in the result, on stderr, and by `explain`."""
import json
import os
import pathlib
import pty
import shutil
import subprocess
import tempfile

import pytest

import machine_gives
import support
from language_tables import TABLES, need, surroundings_of
from support import python, result_of, sandbox_run, shell

SLOW = 600  # a language that is made ready first
FIELDS = {"kind", "target", "rule", "remedy", "count"}
FORKS = """
import os, time
children, refused = [], 0
for _ in range(30):
    try:
        child = os.fork()
    except OSError:
        refused += 1
        continue
    if child == 0:
        time.sleep(20)
        os._exit(0)
    children.append(child)
for child in children:
    os.kill(child, 9)
    os.waitpid(child, 0)
print(refused)
"""
# What each language does to a file of /usr, and how it would look for one of /home.
WRITES = {
    "python": ('open("/usr/refused", "w")', 'open("/home/me/data.csv")'),
    "javascript": ('require("fs").writeFileSync("/usr/refused", "x")',
                   'require("fs").readFileSync("/home/me/data.csv")'),
    "bash": ("set -e; echo x > /usr/refused", "set -e; cat < /home/me/data.csv"),
    "zsh": ("echo x > /usr/refused", "cat < /home/me/data.csv"),
    "sh": ("set -e; echo x > /usr/refused", "cat /home/me/data.csv"),
    "perl": ('open(F, ">", "/usr/refused") or die "/usr/refused: $!"',
             'open(F, "<", "/home/me/data.csv") or die "/home/me/data.csv: $!"'),
    "ruby": ('File.write("/usr/refused", "x")', 'File.read("/home/me/data.csv")'),
    "php": ('<?php if (!fopen("/usr/refused", "w")) { fwrite(STDERR, "/usr/refused: " . '
            'explode(": ", error_get_last()["message"])[2]); exit(1); }',
            '<?php if (!@fopen("/home/me/data.csv", "r")) { fwrite(STDERR, '
            '"/home/me/data.csv: No such file or directory"); exit(1); }'),
    "lua": ('assert(io.open("/usr/refused", "w"))', 'assert(io.open("/home/me/data.csv"))'),
    "r": ('file("/usr/refused", "w")', 'file("/home/me/data.csv", "r")'),
    "go": ('package main\nimport "os"\nfunc main() { if _, e := os.Create("/usr/refused"); e != nil '
           '{ panic(e) } }',
           'package main\nimport "os"\nfunc main() { if _, e := os.Open("/home/me/data.csv"); e != nil '
           '{ panic(e) } }'),
    "java": ('class Main { public static void main(String[] a) throws Exception '
             '{ new java.io.FileWriter("/usr/refused"); } }',
             'class Main { public static void main(String[] a) throws Exception '
             '{ java.nio.file.Files.readString(java.nio.file.Path.of("/home/me/data.csv")); } }'),
    "c": ('#include <stdio.h>\nint main(void) { if (!fopen("/usr/refused", "w")) '
          '{ perror("/usr/refused"); return 1; } }',
          '#include <stdio.h>\nint main(void) { if (!fopen("/home/me/data.csv", "r")) '
          '{ perror("/home/me/data.csv"); return 1; } }'),
}
TOOLS = {"javascript": "node", "c": "gcc", "r": "Rscript", "java": "javac", "lua": "lua",
         "python": "python3"}


def denial_of(result, kind):
    found = [d for d in result["denials"] if d["kind"] == kind]
    assert len(found) == 1 and set(found[0]) == FIELDS, result["denials"]
    return found[0]


def pids_are_counted(result):
    return "pids-cgroup" in result["isolation"]["mechanisms"]


def test_nothing_was_refused(caller):
    result = python("print(1)", caller=caller)
    assert result["denials"] == [] and "denials_dropped" not in result
    assert result["policy"] == "default"
    assert result["network"] == {"mode": "none", "allow_hosts": [], "allow_dns": False}
    for name in ("network_connections", "network_bytes_in", "network_bytes_out"):
        assert result["metrics"][name] == 0


def test_refused_processes_are_told_even_when_the_program_succeeds(root):
    result = python(FORKS, "--pids", "8", caller=root)
    assert result["success"], result["stderr"]
    if not pids_are_counted(result):
        pytest.skip("no pids group counts here")
    denial = denial_of(result, "process")
    assert denial["target"] == "a new process or thread"
    assert (denial["rule"], denial["remedy"]) == ("limits: pids 8", "--pids 16")
    assert denial["count"] >= int(result["stdout"])
    assert python(FORKS, "--pids", "64", caller=root)["denials"] == []


def test_refused_memory_is_told(caller):
    result = python("b = bytearray(400 << 20)", "--memory", "64m", caller=caller)
    if result["outcome"] != "memory_limit":
        pytest.skip("no memory group here")
    denial = denial_of(result, "memory")
    assert (denial["rule"], denial["remedy"]) == ("limits: memory 64m", "--memory 128m")


@pytest.mark.parametrize("handled", [False, True])
def test_a_full_disk_is_told(handled, caller):
    code = 'open("/tmp/f", "wb").write(b"x" * (8 << 20))'
    if handled:
        code = f"try:\n    {code}\nexcept OSError:\n    print('full')"
    result = python(code, "--disk", "1m", caller=caller)
    assert result["success"] == handled
    denial = denial_of(result, "disk")
    assert (denial["target"], denial["rule"], denial["remedy"]) == (
        "disk space", "limits: disk 1m", "--disk 2m")


def test_too_many_files_are_told(root):
    result = python('for i in range(99): open(f"/tmp/{i}", "w")', "--inodes", "32", caller=root)
    denial = denial_of(result, "disk")
    assert (denial["target"], denial["rule"], denial["remedy"]) == (
        "files", "limits: inodes 32", "--inodes 64")


@pytest.mark.parametrize("options, code", [(["--timeout", "300ms"], "sleep 9"),
                                           (["--max-output", "1k"], "head -c 100000 /dev/zero")])
def test_time_and_output_are_verdicts_and_no_denials(options, code, caller):
    result = shell(code, *options, caller=caller)
    assert result["outcome"] in ("timeout", "output_limit") and result["denials"] == []


@pytest.mark.parametrize("language", WRITES)
def test_a_read_only_file_is_told_in_every_language(language):
    if not shutil.which(TOOLS.get(language, language)):
        pytest.skip(f"needs {language}")
    result = result_of("run", "--lang", language, "--code", WRITES[language][0], timeout=SLOW)
    assert not result["success"]
    denial = denial_of(result, "file")
    assert denial["target"] == "/usr/refused", result["stderr"]
    assert denial["rule"].startswith("stderr: root: /usr is read-only")
    assert denial["remedy"] == "write below /work or /tmp"


@pytest.mark.parametrize("language", WRITES)
def test_a_file_outside_the_tree_is_told_in_every_language(language):
    if not shutil.which(TOOLS.get(language, language)):
        pytest.skip(f"needs {language}")
    result = result_of("run", "--lang", language, "--code", WRITES[language][1], timeout=SLOW)
    assert not result["success"]
    denial = denial_of(result, "file")
    assert denial["target"] == "/home/me/data.csv", result["stderr"]
    assert denial["rule"] == "stderr: root: not in the sandbox"
    assert denial["remedy"] == "--volume /home/me/data.csv:/home/me/data.csv:ro"


def test_the_remedy_for_a_file_is_one():
    with tempfile.NamedTemporaryFile("w", dir="/var/tmp", prefix="sbr-test-") as file:
        file.write("1,2\n")
        file.flush()
        os.chmod(file.name, 0o644)
        code = f'print(open("{file.name}").read())'
        words = denial_of(python(code), "file")["remedy"].split()
        assert words == ["--volume", f"{file.name}:{file.name}:ro"]
        result = python(code, *words)
    assert result["success"] and result["denials"] == []


def test_a_file_that_the_machine_lacks_too_has_no_remedy_that_fails():
    """In text, for the user of this machine; a result does not say what the machine has."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="sbr-test-") as folder:
        look_for(pathlib.Path(folder, "missing.csv"))


def test_what_is_mounted_is_not_asked_for_a_file_that_the_program_named(root):
    """It may be an automounter's, which would ask the host that the program put into the path."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="sbr-test-") as folder:
        missing = f"{folder}/host.example/missing"
        run = support.sandbox_run("exec", "--", "cat", missing, prefix=(
            "unshare", "--mount", "sh", "-c", 'mount -t tmpfs none "$1" && shift && exec "$@"', "-", folder))
    assert f"--volume {missing}:{missing}:ro would allow it" in run.stderr.decode(), run


def look_for(missing):
    run = support.sandbox_run("exec", "--", "cat", str(missing))
    assert f"sandbox-run: not found: {missing} is neither in the sandbox nor on this machine\n" in run.stderr.decode()
    assert b"--volume" not in run.stderr
    missing.write_text("1,2\n")
    run = support.sandbox_run("exec", "--", "cat", str(missing))
    assert f"--volume {missing}:{missing}:ro would allow it" in run.stderr.decode()


@pytest.mark.parametrize("code", [
    "open('/work/nothing')",  # its own
    "import os; open('/tmp/x', 'w').close(); os.chmod('/tmp/x', 0); open('/tmp/x')",
    "open('/usr/share/there/is/none')",  # the tree is there, the file is not
    "open('relative')",
    "import sys; print(\"PermissionError: '/usr/x': Permission denied\", file=sys.stderr)",  # it succeeded
])
def test_what_the_sandbox_did_not_refuse_is_not_told(code):
    assert python(code)["denials"] == []


def test_forged_words_are_marked_as_the_program_s():
    code = ("import sys\n"
            "print(\"Permission denied: '/usr/\\x1b]0;owned\\x07x'\", file=sys.stderr)\n"
            "print(\"cat: '/x;rm -rf ~': No such file or directory\", file=sys.stderr)\n"
            "print(\"cat: /home/$(id): No such file or directory\", file=sys.stderr)\n"
            "sys.exit(3)")
    result = python(code)
    assert len(result["denials"]) == 3
    for denial in result["denials"]:
        assert denial["rule"].startswith("stderr: ")
        assert not any(ord(c) < 32 or ord(c) == 127 for c in denial["target"])
        assert not set(denial["remedy"]) & set(";$`~\x1b")
    assert result["denials"][0]["target"] == "/usr/\\x1b]0;owned\\x07x"


def test_denials_are_bounded():
    code = ("import sys\nfor i in range(5000): "
            "print(f\"cat: /absent{i}: No such file or directory\", file=sys.stderr)\nsys.exit(1)")
    assert len(python(code)["denials"]) == 16


def test_a_compiler_that_was_refused_something_has_denials_of_its_own(root):
    need(TABLES["rust"], root)  # gcc tries again for 15 s
    result = result_of("run", "--lang", "rust", "--compile-limit", "pids=1", "--code", "fn main() {}",
                       **surroundings_of(root))
    stage = next(s for s in result["stages"] if s["name"] == "compile")
    if "pids-cgroup" not in result["isolation"]["mechanisms"]:
        pytest.skip("no pids group counts here")
    assert result["outcome"] == "compile_failed" and stage["denials"] == result["denials"]
    denial = denial_of(result, "process")
    assert denial["remedy"] == "--compile-limit pids=2"


def test_lines_on_stderr_tell_a_reader_of_a_failed_run():
    done = sandbox_run("run", "--lang", "python", "--code", WRITES["python"][0])
    last = done.stderr.decode().splitlines()[-1]
    assert last == ("sandbox-run: refused: /usr/refused (/usr is read-only); "
                    "write below /work or /tmp")
    quiet = sandbox_run("run", "--quiet", "--lang", "python", "--code", WRITES["python"][0])
    assert b"refused:" not in quiet.stderr and quiet.returncode == done.returncode == 1


def test_a_limit_that_was_reached_is_said_on_stderr():
    code = 'open("/tmp/f", "wb").write(b"x" * (8 << 20))'
    done = sandbox_run("run", "--disk", "1m", "--lang", "python", "--code", code)
    assert ("sandbox-run: the program filled its space for files, 1m; --disk 2m would allow more\n"
            in done.stderr.decode())
    assert b"refused: more disk space" not in done.stderr, "the sentence says it already"


def test_a_run_that_succeeded_is_left_alone_in_a_pipe_and_told_with_text():
    code = 'try:\n    open("/tmp/f", "wb").write(b"x" * (8 << 20))\nexcept OSError:\n    pass'
    words = ["--disk", "1m", "--lang", "python", "--code", code]
    assert sandbox_run("run", *words).stderr == b""
    assert b"refused: more disk space" in sandbox_run("run", "--text", *words).stderr


def test_only_ten_lines_are_shown():
    code = ("import sys\nfor i in range(14): "
            "print(f\"cat: /absent{i}: No such file or directory\", file=sys.stderr)\nsys.exit(1)")
    said = sandbox_run("run", "--lang", "python", "--code", code).stderr.decode()
    lines = [line for line in said.splitlines() if line.startswith(("sandbox-run: refused:", "sandbox-run: not found:"))]
    assert len(lines) == 11 and lines[-1].endswith("and 4 more; --json has them all")


def test_no_control_character_reaches_a_terminal():
    code = ("import sys; print(\"Permission denied: '/usr/\\x1b]0;owned\\x07x\\u202etxt'\", "
            "file=sys.stderr); sys.exit(3)")
    machine_gives.need_terminal()
    master, slave = pty.openpty()
    with subprocess.Popen(support.command("run", "--lang", "python", "--code", code),
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=slave,
                          env=support.environment({"NO_COLOR": "1"})) as process:
        os.close(slave)
        said = b""
        while True:
            try:
                part = os.read(master, 4096)
            except OSError:
                break
            if not part:
                break
            said += part
        process.wait()
    os.close(master)
    line = next(line for line in said.split(b"\r\n") if b"refused:" in line)
    assert b"\\x1b]0;owned\\x07x\\xe2\\x80\\xae" in line and b"\x1b" not in line


def explained(text, *options):
    done = sandbox_run("explain", *options, stdin=text)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


def test_explain_reads_a_result(folder):
    done = sandbox_run("run", "--json", "--lang", "python", "--code", WRITES["python"][0])
    text = explained(done.stdout)
    assert "nothing, not even loopback" in text and "--timeout" in text
    assert "policies/default.yaml" in text
    refused = text.split("What was refused\n")[1]
    assert "/usr/refused" in refused and "by     stderr: root: /usr is read-only" in refused
    assert "a program can print anything" in refused and "write below /work or /tmp" in refused
    (folder / "r.json").write_bytes(done.stdout)
    assert explained(b"", folder / "r.json") == text
    assert explained(done.stdout, "-") == text
    assert explained(done.stdout, "/dev/stdin") == text  # as <(...) of a shell hands it in


def test_explain_as_json_has_the_same_facts():
    done = sandbox_run("run", "--json", "--lang", "python", "--code", WRITES["python"][0])
    told = json.loads(explained(done.stdout, "--json"))
    assert told["about"] == "result" and told["outcome"] == "exited"
    assert told["allowed"]["network"]["mode"] == "none"
    assert told["allowed"]["system_calls"]["file"] == "policies/default.yaml"
    [refusal] = told["refused"]
    assert FIELDS | {"source", "stage"} == set(refusal) and refusal["target"] == "/usr/refused"


def test_explain_reads_a_plan_and_makes_one(folder):
    words = ["--memory", "100m", "--volume", "/usr:/data", "--lang", "sh", "--code", "true"]
    saved = sandbox_run("plan", "--json", *words).stdout
    made = json.loads(explained(b"", "--json", *words))
    assert json.loads(explained(saved, "--json")) == made
    assert made["about"] == "plan" and made["refused"] == [] and made["outcome"] is None
    files = {f["path"]: (f["access"], f["from"]) for f in made["allowed"]["files"]}
    assert files["/data"] == ("read", "/usr") and files["/work"] == ("write", None)
    limits = {item["option"]: item["value"] for item in made["allowed"]["limits"]}
    assert limits["--memory"] == "100m"
    groups = made["allowed"]["system_calls"]["refused"]
    assert any("mount" in g["calls"] and g["file"] == "default.yaml" for g in groups)
    (folder / "hello.sh").write_text("echo hello\n")
    assert "What the program may use" in explained(b"", folder / "hello.sh")
    text = explained(b"", "--network", "allow", "--allow-host", "example.org:443", folder / "hello.sh")
    assert "--allow-host example.org:443" in text


@pytest.mark.parametrize("text", [b"", b"nonsense", b"[]", b"{}", b"1", b'{"a": 1}', b"{" * 5000,
                                  b'{"outcome": 3}', b'\xff\xfe{', b'{"outcome": "x"'])
def test_explain_refuses_what_is_neither(text):
    done = sandbox_run("explain", stdin=text)
    assert done.returncode == 125 and done.stdout == b"", done.stdout
    assert done.stderr.decode().startswith("sandbox-run: explain: ") and done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("record", [
    {"outcome": "x\x1b[31m", "denials": [{"kind": "\x1b", "target": "\x07", "rule": "\u202e"}]},
    {"outcome": "x", "denials": [1, None, {}, {"kind": 1, "target": 2, "rule": 3}], "stages": {}},
    {"outcome": "x", "denials": {"kind": "a"}, "stages": [1, {"denials": [None]}], "limits": []},
    {"outcome": "x", "limits": {"pids": -1, "memory_bytes": "a", "cpus": 1e300}, "isolation": 4},
    {"outcome": "x", "network": {"mode": "\x1b", "allow_hosts": "x"}, "policy": "../../etc/passwd"},
    {"outcome": "\x00x", "explanation": "a\nb"},
    {"mounts": [1, {"op": "bind", "to": 5}, {"op": "bind", "to": "\x1b", "from": "\n"}]},
    {"mounts": [], "env": ["A=\x1b]0;x\x07"], "isolation": {"missing": ["\x1b"]}},
    {"outcome": "x", "denials": [{"kind": "file", "target": "a" * 100000, "rule": "r" * 100000}]},
])
def test_explain_survives_a_record_that_somebody_made_up(record):
    text = explained(json.dumps(record).encode())
    assert not any(ord(c) < 32 and c != "\n" or ord(c) in (127, 0x202e) for c in text)
    json.loads(explained(json.dumps(record).encode(), "--json"))


def test_explain_tells_why_nothing_ran():
    done = sandbox_run("exec", "--json", "--", "/nonexistent")
    assert "cannot run '/nonexistent'" in explained(done.stdout)
