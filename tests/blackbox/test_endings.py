"""Every end that is not the program's own has one line on stderr; results say when, with what and how long."""
import contextlib
import datetime
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import termios
import time

import pytest

import engine
import machine_gives
import support
from support import Callers, result_of, sandbox_run
from waiting import SOON, on_terminal, read_line, started, wait_until

MORE = "would allow more"

# Options, what `sh` runs, the sentence; an empty one: the program's own end.
ENDS = {
    "time": (["--timeout", "100ms", "--grace", "0"], "sleep 1000",
             f"the program was still running after 100ms; --timeout 200ms {MORE}"),
    "CPU time": (["--cpu-time", "100ms"], "while :; do :; done",
                 f"the program used more CPU time than 100ms; --cpu-time 200ms {MORE}"),
    "memory": (["--memory", "32m", "--disk", "1g"], "head -c 200000000 /dev/zero >/dev/shm/f",
               f"the program needed more memory than 32m (how much is not known); --memory 64m {MORE}"),
    "disk": (["--disk", "1m"], "head -c 2000000 /dev/zero >/tmp/f",
             f"the program filled its space for files, 1m; --disk 2m {MORE}"),
    "files": (["--inodes", "100"], "i=0; while true >/tmp/$i; do i=$((i+1)); done; exit 1",
              f"the program made more files than 100; --inodes 200 {MORE}"),
    "processes": (["--pids", "8"], "for i in 1 2 3 4 5 6 7 8 9; do sleep 1000 & done; exit 1",
                  f"the program was refused a process or thread beyond its 8; --pids 16 {MORE}"),
    "SIGSEGV": ([], "kill -SEGV $$", "the program was ended by SIGSEGV, an invalid access to memory; "
                                     "the sandbox did not send it"),
    "SIGKILL": ([], "kill -KILL $$", "the program was ended by SIGKILL; the sandbox did not send it"),
    "an exit of its own": ([], "exit 3", ""),
    "success": ([], "exit 0", ""),
}


def words_of(how, *more):
    options, code, _ = ENDS[how]
    return ["exec", *more, *options, "--", "sh", "-c", code]


def ours(text):
    """Our sentences among the lines, without what marks them."""
    lines = text.decode().replace("\r\n", "\n").split("\n")
    return [line.removeprefix("sandbox-run: ") for line in lines if line.startswith("sandbox-run: ")]


def sentences(how):
    return [ENDS[how][2]] if ENDS[how][2] else []


# Without a pids group nothing counts what was refused: an ordinary user's limit is seen by chance only.
EACH = pytest.mark.parametrize("caller, how", [(caller, how) for caller in support.available_callers() for how in ENDS
                                               if (caller, how) != (Callers.USER, "processes")])


@EACH
@pytest.mark.core
def test_a_pipe_has_exactly_one_line(caller, how):
    done = sandbox_run(*words_of(how), caller=caller)
    assert ours(done.stderr) == sentences(how), done.stderr


@EACH
def test_a_terminal_has_exactly_one_line(caller, how):
    status, seen = on_terminal(*words_of(how, "--no-color"), caller=caller)
    said = [line for line in ours(seen) if not line.startswith("without ")]  # an ordinary user has no groups
    assert said == sentences(how), seen
    assert (status == 0) == (how == "success")


@EACH
def test_quiet_has_none_and_json_has_it_in_the_result(caller, how):
    assert ours(sandbox_run(*words_of(how, "--quiet"), caller=caller).stderr) == []
    result = result_of(*words_of(how), caller=caller)
    assert (result["explanation"] or "", result["_stderr"]) == (ENDS[how][2], b"")


@pytest.mark.core
def test_output_beyond_its_limit_has_one_line(caller):
    done = sandbox_run("exec", "--max-output", "1k", "--", "yes", caller=caller)
    (said,) = ours(done.stderr)
    assert "output" in said and "--max-output" in said and done.returncode == 137


@pytest.mark.core
def test_a_cancelled_run_names_the_signal(caller):
    words = ["--grace", "0", "--", "sh", "-c", "echo ready; sleep 1000"]
    with started("exec", *words, caller=caller) as process:
        assert read_line(process.stdout) == b"ready\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(SOON) == 128 + signal.SIGTERM
        assert ours(process.stderr.read()) == ["SIGTERM to sandbox-run ended the run"]


def test_an_error_of_ours_has_one_line_in_any_case(any_caller):
    words = ["--", "/no/such/command"]
    for more in ([], ["--quiet"], ["--text"]):
        done = sandbox_run("exec", *more, *words, caller=any_caller)
        assert len(ours(done.stderr)) == 1 and done.returncode == 127, done.stderr
    result = result_of("exec", *words, caller=any_caller)
    assert (result["_stderr"], result["_status"]) == (b"", 127)


def test_a_line_that_the_program_left_open_is_ended_first(any_caller):
    code = "printf half >&2; kill -SEGV $$"
    done = sandbox_run("exec", "--", "sh", "-c", code, caller=any_caller)
    assert done.stderr.startswith(b"half\nsandbox-run: "), done.stderr
    _, seen = on_terminal("exec", "--no-color", "--", "sh", "-c", "printf half; kill -SEGV $$", caller=any_caller)
    assert b"half\r\nsandbox-run: " in seen, seen


def test_a_reader_that_has_enough_is_no_news(any_caller):
    with started("exec", "--", "yes", caller=any_caller) as process:
        assert read_line(process.stdout) == b"y\n"
        process.stdout.close()
        assert process.wait(SOON) == 128 + signal.SIGPIPE
        assert process.stderr.read() == b""


def on_own_terminal(*words, caller):
    """The tool with a terminal that sends it signals, and our end of that terminal."""
    machine_gives.need_terminal()
    ours_fd, theirs = pty.openpty()

    def take():
        os.setsid()
        fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)

    process = subprocess.Popen(support.command(*words, caller=caller), stdin=theirs, stdout=theirs, stderr=theirs,
                               env=support.surroundings(caller, {"TERM": "xterm"}), preexec_fn=take)
    os.close(theirs)
    return process, ours_fd


def read_until(terminal, text=None):
    """What the terminal shows until `text`, or until its last user is gone."""
    seen, end = b"", time.monotonic() + SOON
    while text is None or text not in seen:
        assert select.select([terminal], [], [], max(0, end - time.monotonic()))[0], seen
        try:
            data = os.read(terminal, 65536)
        except OSError:
            return seen
        if not data:
            return seen
        seen += data
    return seen


def test_the_line_after_ctrl_c_begins_at_the_left(any_caller):
    process, terminal = on_own_terminal("exec", "--no-color", "--", "sh", "-c", "echo ready; exec sleep 1000",
                                        caller=any_caller)
    try:
        read_until(terminal, b"ready")
        os.write(terminal, b"\x03")
        seen = read_until(terminal)
        assert process.wait(SOON) == 128 + signal.SIGINT
    finally:
        process.kill()
        process.wait(SOON)
        os.close(terminal)
    assert not re.search(rb"\^C[^\r\n]", seen) and len(ours(seen)) == 1, seen


def test_what_limits_say_is_said_once(any_caller):
    """The sentence with its remedy; no refusal and no hint repeat it."""
    done = sandbox_run("run", "--text", "--memory", "64m", "--lang", "python", "--code",
                       "x = []\nwhile True: x.append(b'1' * 1000000)", caller=any_caller)
    body = done.stderr.decode().splitlines()[1:-1]
    assert body == [f"sandbox-run: the program needed more memory than 64m (how much is not known); --memory 128m {MORE}"]


# ---- stages ---------------------------------------------------------------------------------------

HELLO_C = '#include <stdio.h>\nint main(void) { puts("hello"); return 0; }\n'
BROKEN_C = "int main(void) { return 0 }\n"


@pytest.fixture
def fresh(folder, any_caller):
    """A store in which nothing is compiled yet."""
    if any_caller == Callers.USER and os.geteuid() == 0:
        os.chown(folder, support.ORDINARY_UID, support.ORDINARY_UID)
    return {"SANDBOX_RUN_CACHE": str(folder / "cache")}


def test_a_result_says_where_the_time_went(any_caller, fresh):
    before = datetime.datetime.now(datetime.timezone.utc)
    result = result_of("run", "--lang", "c", "--code", HELLO_C, caller=any_caller, env=fresh)
    assert result["success"], result
    stages = {stage["name"]: stage for stage in result["stages"]}
    assert list(stages) == ["compile", "run"] and result["stage"] == "run"
    for stage in stages.values():
        assert 0 < stage["metrics"]["wall_ms"] < stage["total_ms"], stage
    assert result["total_ms"] > sum(stage["total_ms"] for stage in stages.values()) - 1
    at = datetime.datetime.fromisoformat(result["started_at"].replace("Z", "+00:00"))
    slack = datetime.timedelta(milliseconds=1)
    assert before - slack <= at <= datetime.datetime.now(datetime.timezone.utc)
    version = sandbox_run("--version").stdout.split()[1].decode()
    assert result["version"] == version
    assert result["language"]["name"] == "c" and result["language"]["tool"] == "gcc"
    assert re.fullmatch(r"\d+(\.\d+)+", result["language"]["version"])
    assert result_of("exec", "--", "true", caller=any_caller)["language"] is None


def test_the_footer_says_it_too(any_caller, fresh):
    words = ["run", "--text", "--lang", "c", "--code", HELLO_C]
    first, second = (sandbox_run(*words, caller=any_caller, env=fresh).stderr.decode().splitlines()[-1]
                     for _ in range(2))
    assert re.search(r"── exited 0 · c [\d.]+ · compiled [\d.]+ s · ran [\d.]+ s · total [\d.]+ s · cpu ", first), first
    assert "compiled" not in second and re.search(r"── exited 0 · c [\d.]+ · [\d.]+ s · ", second), second
    told = sandbox_run("run", "--verbose", *words[1:], caller=any_caller, env=fresh).stderr.decode().splitlines()[-1]
    assert re.search(r"── sandbox-run [\d.]+ · started \d{4}-\d\d-\d\dT[\d:.]+Z · id [0-9a-f]{32}", told), told


def test_a_failed_compiler_has_its_real_figures(any_caller, fresh):
    result = result_of("run", "--lang", "c", "--code", BROKEN_C, caller=any_caller, env=fresh)
    (stage,) = result["stages"]
    assert (result["outcome"], result["stage"], result["exit_code"]) == ("compile_failed", "compile", 1)
    assert result["metrics"] == stage["metrics"] and result["limits"] == stage["limits"]
    assert result["execution_time"] > 0 and result["cpu_time"] > 0 and result["memory_used"] > 0
    assert result["explanation"] == "the compiler ended with exit code 1, so the program did not run"
    done = sandbox_run("run", "--lang", "c", "--code", BROKEN_C, caller=any_caller, env=fresh)
    assert ours(done.stderr) == [result["explanation"]]
    shown = sandbox_run("run", "--text", "--lang", "c", "--code", BROKEN_C, caller=any_caller, env=fresh)
    assert re.search(r"── compile_failed · c [\d.]+ · compiling [\d.]+ s · total", shown.stderr.decode()), shown.stderr


# Ten times as many empty words in each line: the compiler is busy until it is killed, or has no memory left.
ENDLESS_C = "\n".join(["#define A0", *(f"#define A{i} " + f"A{i - 1} " * 10 for i in range(1, 13)), "A12"])


def test_a_killed_compiler_is_named(any_caller, fresh):
    cold = {**fresh, "SANDBOX_RUN_COLD": "1"}  # with an engine the compiler is none of its caller's children
    with started("run", "--json", "--lang", "c", "--code", ENDLESS_C, caller=any_caller, env=cold) as process:
        assert wait_until(lambda: compiler_of(process.pid))
        os.kill(compiler_of(process.pid), signal.SIGKILL)
        result = json.loads(process.stdout.read())
    assert (result["outcome"], result["exit_code"]) == ("compile_failed", 1), result
    assert result["explanation"].startswith("the compiler says that a program of its own was killed; "), result
    result = result_of("run", "--compile-limit", "memory=64m", "--lang", "c", "--code", ENDLESS_C, caller=any_caller, env=fresh)
    assert result["outcome"] == "compile_failed" and "the compiler needed more memory than 64m" in result["explanation"], result


def compiler_of(pid):
    """The process that compiles; a false one: it has not begun."""
    for child in engine.descendants(pid):
        with contextlib.suppress(OSError):
            if pathlib.Path(f"/proc/{child}/comm").read_text() == "cc1\n":
                return child
    return 0


def test_a_source_cannot_say_that_the_compiler_was_killed(any_caller, fresh):
    lines = "gcc: fatal error: Killed signal terminated program cc1"
    end = "compilation terminated."
    for code in (f"#error {lines}", f'#warning {lines}\n#error {end}', f'#error x\n#pragma message "x\\n{lines}\\n{end}"',
                 f'__asm__(".error \\"x\\\\n{lines}\\\\n{end}\\"");\nint main(void) {{ return 0; }}'):
        result = result_of("run", "--lang", "c", "--code", code, caller=any_caller, env=fresh)
        assert "Killed signal terminated" in result["stages"][0]["stderr"], result
        assert result["explanation"] == "the compiler ended with exit code 1, so the program did not run", result


def test_a_check_has_its_real_figures(any_caller):
    result = result_of("run", "--check", "--lang", "python", "--code", "print(1)", caller=any_caller)
    assert (result["success"], result["stage"]) == (True, "check")
    assert result["execution_time"] > 0 and result["memory_used"] > 0


def test_the_log_names_its_stage_and_keeps_its_lines(any_caller, fresh):
    _, seen = on_terminal("run", "--verbose", "--no-color", "--lang", "c", "--code", HELLO_C, caller=any_caller,
                          env={**support.surroundings(any_caller), **fresh})
    lines = [line for line in seen.decode().replace("\r\n", "\n").split("\n") if " ms " in line and "──" not in line]
    assert lines and all(re.match(r"sandbox-run: +[\d.]+ ms [a-z]+: ", line) for line in lines), seen
    assert any("ms compile: started after" in line for line in lines), lines


# ---- names of outcomes ----------------------------------------------------------------------------

ERRORS = [
    (["exec", "--memory", "lots", "--", "true"], "invalid", "invalid_request", 125),
    (["exec", "--no-such-option", "--", "true"], "invalid", "invalid_request", 125),
    (["run", "/no/such/file.py"], "not_found", "not_found", 127),
    (["run", "--lang", "pyton", "--code", "1"], "not_found", "not_found", 127),
    (["exec", "--", "no-such-command"], "not_found", "not_found", 127),
    (["exec", "--", "/etc/passwd"], "denied", "denied", 126),
]


def test_an_error_has_the_outcome_of_its_code(any_caller):
    for words, code, outcome, status in ERRORS:
        result = result_of(*words, caller=any_caller)
        assert (result["outcome"], result["error"]["code"], result["_status"]) == (outcome, code, status), words
        assert set(result) - {"_status", "_stderr"} == {"schema", "success", "outcome", "error"}


def test_packages_that_cannot_be_had_are_no_fault_of_the_compiler(any_caller, folder):
    language = folder / "fetching.yaml"
    language.write_text(json.dumps({
        "name": "fetching", "about": "fetches nothing", "extensions": [".fetching"], "mains": ["main.fetching"],
        "binaries": ["/bin/sh"], "package": "dash", "source": "main.fetching",
        "install": {"run": ["sh", "-c", "echo no such package >&2; exit 7"]}, "run": ["${binary}", "${source}"],
        "selftest": {"code": "exit 0", "stdout": "", "exit": 0}}))
    words = ["run", "--language-file", language, "--lang", "fetching", "--dep", "nothing", "--code", "exit 0"]
    result = result_of(*words, caller=any_caller)
    assert (result["outcome"], result["stage"], result["_status"]) == ("install_failed", "dependencies", 7), result
    assert result["explanation"] == "the installer ended with exit code 7, so the program did not run"


# ---- JSON -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [["run", "--json", "--lang", "sh", "--code", "exit 0"],
                                   ["plan", "--json", "--lang", "sh", "--code", "exit 0"],
                                   ["doctor", "--json"], ["cache", "--json"],
                                   ["run", "--json", "--lang", "nonsense", "--code", "1"]],
                         ids=["run", "plan", "doctor", "cache", "error"])
def test_json_is_one_line_for_a_pipe_and_many_for_a_person(any_caller, words):
    done = sandbox_run(*words, caller=any_caller)
    assert done.stdout.count(b"\n") == 1 and isinstance(json.loads(done.stdout), dict)
    _, seen = on_terminal(*words, caller=any_caller, env=support.surroundings(any_caller))
    assert seen.count(b"\n") > 3 and seen.startswith(b"{\r\n"), seen
    assert json.loads(seen).keys() == json.loads(done.stdout).keys()
