"""Help, version, mistakes and their advice; plan and doctor."""
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

import machine_gives
import support
import yaml_text
from support import sandbox_run
from waiting import on_terminal

COMMANDS = ["run", "exec", "plan", "doctor"]


@pytest.mark.parametrize("words", [["--help"], ["-h"], ["help"]])
def test_help_teaches_with_examples(caller, words):
    done = sandbox_run(*words, caller=caller)
    text = done.stdout.decode()
    assert (done.returncode, done.stderr) == (0, b"")
    assert all(f"\n  {command}" in text for command in COMMANDS)
    assert text.count("\n  sandbox-run ") >= 4 and "124" in text and "128+n" in text


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_of_its_own(command):
    texts = {sandbox_run(*words).stdout for words in ([command, "--help"], [command, "-h"],
                                                      ["help", command])}
    text, = texts
    assert sandbox_run(command, "--help").returncode == 0
    assert text.startswith(f"sandbox-run {command} ".encode())


def test_the_help_names_every_limit_with_its_preset():
    text = sandbox_run("run", "--help").stdout.decode()
    for option in ("timeout", "cpu-time", "memory", "cpus", "pids", "disk", "inodes", "open-files",
                   "max-output", "grace", "max-connections", "max-network-in", "max-network-out"):
        assert re.search(rf"--{option} .*\(\w+\)", text), option


def test_the_examples_of_the_help_work(folder):
    (folder / "hello.py").write_text("import sys; print(sys.argv[1:])")
    text = sandbox_run("run", "--help").stdout.decode()
    assert "sandbox-run hello.py first second" in text
    done = sandbox_run("hello.py", "first", "second", cwd=folder)
    assert done.stdout == b"['first', 'second']\n"


def test_help_for_no_such_command_is_an_error():
    done = sandbox_run("help", "nonsense")
    assert done.returncode == 127 and b"nonsense" in done.stderr


def test_a_command_counts_before_a_file_of_its_name(folder):
    (folder / "plan").write_text("#!/bin/sh\necho the file\n")
    done = sandbox_run("plan", "--lang", "bash", "--code", "ls", cwd=folder)
    assert done.returncode == 0 and done.stdout.startswith(b"isolation ")


def test_a_program_may_have_a_name_that_looks_like_a_command(folder):
    (folder / "greet").write_text("#!/bin/sh\necho hello\n")
    assert sandbox_run("greet", cwd=folder).stdout == b"hello\n"


@pytest.mark.skipif(not (support.BUILD / "sandbox-run-full").is_file(), reason="there is one program")
def test_the_lean_program_runs_alone_and_names_the_one_that_it_misses(folder):
    lean = shutil.copy(support.SANDBOX_RUN, folder)
    for words in (["doctor"], ["--help"], ["run", "--request", "x"], ["nonsense"]):
        done = subprocess.run([lean, *words], capture_output=True, env=support.environment(), check=False)
        assert done.returncode in (125, 127) and b"/sandbox-run-full'" in done.stderr, words
    machine_gives.skip_if(support.lacks(support.available_callers()[0]))
    done = subprocess.run([lean, "exec", "-q", "--", "echo", "hi"], stdin=subprocess.DEVNULL,
                          capture_output=True, env=support.environment(), check=False)
    assert (done.returncode, done.stdout) == (0, b"hi\n")


@pytest.mark.parametrize("words", [["--version"], ["-V"], ["run", "--version"]])
def test_the_version_is_told(words):
    done = sandbox_run(*words)
    assert done.returncode == 0
    assert re.fullmatch(rb"sandbox-run \d+\.\d+\.\d+ \(\w+\)\n", done.stdout)


def test_on_a_terminal_without_arguments_there_is_help():
    status, seen = on_terminal(stdin="terminal")
    assert status == 0 and b"Work on code:" in seen


@pytest.mark.parametrize("words, near", [
    (["run", "--timout", "3s", "x.py"], "--timeout"),
    (["run", "--memroy=1g", "x.py"], "--memory"),
    (["exec", "--jsn", "--", "true"], "--json"),
    (["doctor", "--jsom"], "--json"),
])
def test_an_unknown_option_is_answered_with_the_nearest(words, near):
    done = sandbox_run(*words)
    assert (done.returncode, done.stdout) == (125, b"")
    assert f"did you mean {near}?" in done.stderr.decode()
    assert len(done.stderr.splitlines()) == 1


def test_a_far_away_option_is_answered_with_help():
    done = sandbox_run("run", "--frobnicate", "x.py")
    assert done.returncode == 125 and b"--help" in done.stderr


@pytest.mark.parametrize("word, near", [("rnu", "run"), ("exce", "exec"), ("doctr", "doctor"),
                                        ("paln", "plan")])
def test_an_unknown_command_is_answered_with_the_nearest(word, near):
    done = sandbox_run(word)
    assert (done.returncode, done.stdout) == (127, b"")
    assert f"sandbox-run {near}`" in done.stderr.decode()


@pytest.mark.parametrize("words", [
    ["run", "--json=yes", "x.py"], ["run", "--lang"], ["run", "-l"], ["run", "-Z"],
    ["run", "--", ""], ["run", ""], ["exec", "--check", "--", "true"],
])
def test_a_misused_option_is_refused(words):
    done = sandbox_run(*words)
    assert (done.returncode in (125, 127)) and done.stdout == b""
    assert len(done.stderr.splitlines()) == 1


def test_letters_may_be_joined(root):
    done = sandbox_run("run", "-qlsh", "-cecho joined")
    assert done.stdout == b"joined\n"


def test_a_program_on_a_terminal_without_any_program_is_refused():
    status, seen = on_terminal("run", "--lang", "py", stdin="terminal")
    assert status == 125 and b"no program" in seen
    assert b"`sandbox-run repl python`" in b" ".join(seen.split())


def test_a_plan_can_be_read_without_being_run(caller, folder):
    words = ["plan", "--timeout", "9s", "--env", "A=b", "--workdir", "/tmp", "-v",
             f"{folder}:/data", "--lang", "python", "--code", "print('never')", "--", "arg"]
    text = sandbox_run(*words, caller=caller)
    assert text.returncode == 0 and text.stderr == b""
    said = text.stdout.decode()
    for part in ("isolation", "timeout 9s", "A=b", "/tmp", f"/data <- {folder}", "main.py arg"):
        assert part in said, part
    assert "\nnever" not in said


def test_a_plan_as_json_is_one_object_and_always_the_same(caller):
    words = ["plan", "--json", "--memory", "100m", "--lang", "sh", "--code", "true"]
    first = sandbox_run(*words, caller=caller)
    assert first.returncode == 0 and first.stdout == sandbox_run(*words, caller=caller).stdout
    plan = json.loads(first.stdout)
    assert plan["limits"]["memory_bytes"] == 100 << 20
    assert {"user", "mount", "pid", "network", "ipc", "uts", "cgroup"} == set(plan["namespaces"])
    assert plan["mounts"] and plan["uid"] == 1000
    assert plan["cgroup"]["kind"] if caller == support.Callers.ROOT else plan["supervise"]


def test_a_plan_needs_no_interpreter_input_but_a_known_language(caller):
    done = sandbox_run("plan", "--lang", "nonsense", "--code", "", caller=caller)
    assert (done.returncode, done.stdout) == (127, b"")


def test_doctor_says_what_there_is_and_whether_a_run_works(caller):
    done = sandbox_run("doctor", caller=caller)
    text = done.stdout.decode()
    for name in ("user namespaces", "memory limit", "process limit", "CPU time", "seccomp",
                 "landlock", "trial run", "python", "bash"):
        assert re.search(rf"^(ok|weaker|missing) +{name} ", text, re.M), name
    works = re.search(r"^ok +trial run ", text, re.M)
    assert (done.returncode == 0) == bool(works)
    assert done.stderr == b"" and "\x1b" not in text


def test_doctor_is_content_where_a_container_run_works(root):
    assert sandbox_run("doctor").returncode == 0
    result = json.loads(sandbox_run("exec", "--json", "--", "true").stdout)
    assert result["isolation"]["tier"] == "container"


def test_doctor_gives_the_lines_that_mend_what_is_missing(caller):
    done = sandbox_run("doctor", "--json", caller=caller)
    report = json.loads(done.stdout)
    assert report["works"] == (done.returncode == 0)
    checks = {check["name"]: check for check in report["checks"]}
    assert len(checks) == len(report["checks"]) >= 8
    for check in report["checks"]:
        assert check["state"] in ("ok", "weaker", "missing") and check["found"]
        if check["name"] in ("memory limit", "process limit", "CPU time"):
            assert bool(check["fix"]) == (check["state"] == "missing"), check
    names = {yaml_text.load(path.read_text())["name"]
             for path in pathlib.Path(support.REPO, "languages").glob("*.yaml")}
    assert {language["name"] for language in report["languages"]} == names


def test_the_tool_works_from_anywhere_and_under_any_name(caller, folder):
    link = folder / "another-name"
    link.symlink_to(support.SANDBOX_RUN)
    words = support.command("exec", "--", "echo", "here", caller=caller)
    words[words.index(str(support.SANDBOX_RUN))] = "./another-name"
    done = subprocess.run(words, cwd=folder, capture_output=True, timeout=20, env={}, check=False)
    assert (done.returncode, done.stdout) == (0, b"here\n")


def test_the_descriptors_we_were_given_do_not_reach_the_program(caller):
    reader, writer = os.pipe()
    try:
        done = sandbox_run("exec", "--", "ls", "/proc/self/fd", caller=caller,
                           pass_fds=[reader, writer])
        assert done.stdout == b"0\n1\n2\n3\n"  # 3 is the directory that ls reads
    finally:
        os.close(reader)
        os.close(writer)


TOPICS = ["network", "limits", "workspaces", "engine", "languages", "security", "guide"]


@pytest.mark.parametrize("topic", TOPICS)
def test_help_shows_the_pages_of_the_documentation(topic):
    done = sandbox_run("help", topic)
    text = done.stdout.decode()
    assert (done.returncode, done.stderr) == (0, b"") and text.startswith("#")
    pages = {"limits": "SANDBOX_RUN.md", "guide": "SANDBOX_RUN.md", "security": "../SECURITY.md"}
    page = (support.REPO / "docs" / pages.get(topic, f"{topic}.md")).read_text()
    assert text in page and (topic == "limits" or text == page)


def test_help_at_a_terminal_goes_through_the_pager(any_caller):
    status, seen = on_terminal("help", "limits", caller=any_caller, env={"PAGER": "sed s/Limits/Paged/"})
    assert status == 0 and b"Paged" in seen and b"## " not in seen
    names = sandbox_run("help", "--names").stdout.decode().split()
    assert set(TOPICS) | set(COMMANDS) <= set(names)
    assert all(f"\n  {topic} " in sandbox_run("help").stdout.decode() for topic in TOPICS)


def test_the_manual_has_its_sections_and_the_documented_variables():
    text = sandbox_run("completion", "man").stdout.decode()
    for section in ("EXAMPLES", "ENVIRONMENT", "FILES", "EXIT STATUS"):
        assert f"\n.SH {section}\n" in text
    variables = set(re.findall(r"^\.B (SANDBOX_RUN_\w+)$", text, re.M))
    page = (support.REPO / "docs/environment.md").read_text().partition("## Of the desktop")[0]
    assert variables == set(re.findall(r"^\| `(SANDBOX_RUN_\w+)`", page, re.M))
    assert re.search(r"sandbox\\-run hello\.py first second", text)


@pytest.mark.skipif(not shutil.which("bash"), reason="no bash")
@pytest.mark.parametrize("line, word", [
    ("sandbox-run help netw", "network"), ("sandbox-run --lang = pyth", "python"),
    ("sandbox-run --policy str", "strict"), ("sandbox-run serve --st", "--status"),
    ("sandbox-run exec --allow-host exam", "example.org:443"), ("sandbox-run ''", "exec"),
    ("sandbox-run session roll", "rollback"), ("sandbox-run session ''", "interrupt"), ("sandbox-run image out", "outdated"),
    ("sandbox-run exec cat comp", "complete.sh"),
])
def test_bash_completes_topics_languages_policies_and_hosts(folder, line, word):
    """COMP_WORDS as bash cuts them: `=` is a word of its own.  Without a letter, options are left out."""
    (folder / "sandbox-run").mkdir()
    (folder / "sandbox-run/config.yaml").write_text("network:\n  mode: allow\n  allow_hosts: ['example.org:443', a.test]\n")
    script = folder / "complete.sh"
    script.write_text(f"""sandbox-run() {{ '{support.SANDBOX_RUN}' "$@"; }}
{sandbox_run("completion", "bash").stdout.decode()}
COMP_WORDS=({line}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _sandbox_run; printf '%s\\n' "${{COMPREPLY[@]}}"
""")
    done = subprocess.run(["bash", script], capture_output=True, cwd=folder, check=False,
                          env=support.environment({"XDG_CONFIG_HOME": str(folder)}))
    offered = done.stdout.decode().split()
    assert word in offered and "a.test" not in offered, done
    assert "--json" not in offered
    assert ("complete.sh" in offered) == (word in ("complete.sh", "exec"))
