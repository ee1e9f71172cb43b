"""Nothing of ours mixes into the program's streams; colours and escapes only where they belong."""
import json

import pytest

from support import sandbox_run
from waiting import on_terminal

BOTH = ["run", "--lang", "sh", "--code", "echo out; echo err >&2; exit 3"]


def with_options(*options):
    return [BOTH[0], *options, *BOTH[1:]]


def test_we_are_silent_by_default(caller):
    done = sandbox_run(*BOTH, caller=caller)
    assert (done.returncode, done.stdout, done.stderr) == (3, b"out\n", b"err\n")


@pytest.mark.parametrize("options, env, more", [
    (["--verbose"], {}, False), (["--verbose", "--verbose"], {}, True),
    ([], {"SANDBOX_RUN_LOG": "info"}, False), ([], {"SANDBOX_RUN_LOG": "debug"}, True),
])
def test_the_log_goes_to_stderr_alone_and_tells_stage_and_time(any_caller, options, env, more):
    done = sandbox_run(*with_options(*options), env=env, caller=any_caller)
    assert (done.returncode, done.stdout) == (3, b"out\n")
    lines = done.stderr.decode().splitlines()
    assert "err" in lines
    ours = [line for line in lines if line != "err"]
    assert ours and all(line.startswith("sandbox-run: ") and " ms " in line for line in ours)
    assert any("plan:" in line for line in ours) >= more


@pytest.mark.parametrize("level", ["", "off", "nonsense"])
def test_an_unknown_log_level_is_silence(level):
    done = sandbox_run(*BOTH, env={"SANDBOX_RUN_LOG": level})
    assert (done.stdout, done.stderr) == (b"out\n", b"err\n")


def test_the_log_does_not_mix_into_the_result(any_caller):
    done = sandbox_run(*with_options("--json", "--verbose", "--verbose"), caller=any_caller)
    result = json.loads(done.stdout)
    assert (result["stdout"], result["stderr"]) == ("out\n", "err\n")
    assert b"sandbox-run: " in done.stderr and b"err\n" not in done.stderr


def test_json_is_one_line_and_nothing_else(caller):
    done = sandbox_run(*with_options("--json"), caller=caller)
    assert (done.returncode, done.stderr, done.stdout.count(b"\n")) == (3, b"", 1)
    json.loads(done.stdout)


def test_text_puts_header_and_metrics_around_the_output_on_stderr(caller):
    done = sandbox_run(*with_options("--text"), caller=caller)
    assert done.stdout == b"out\n"
    lines = done.stderr.decode().splitlines()
    assert "sh code" in lines[0] and lines[1] == "err"
    for part in ("exited 3", "cpu", "memory", "1 process", "isolation"):
        assert part in lines[-1], part
    assert "\x1b" not in done.stderr.decode()


@pytest.mark.parametrize("code, options, said", [
    ("kill -SEGV $$", [], "SIGSEGV"),
    ("sleep 1000", ["--timeout", "100ms", "--grace", "0"], "--timeout 200ms would allow more"),
    ("echo 12345678", ["--max-output", "4"], "more output to one stream than 4b; --max-output 8b would allow more"),
])
def test_text_explains_how_it_ended(any_caller, code, options, said):
    done = sandbox_run("run", "--text", *options, "--lang", "sh", "--code", code, caller=any_caller)
    assert said in done.stderr.decode()


@pytest.mark.parametrize("options", [["--quiet"], ["--quiet", "--text"], ["-q"]])
def test_quiet_is_the_programs_output_and_nothing_of_ours(any_caller, options):
    done = sandbox_run(*with_options(*options), caller=any_caller)
    assert (done.stdout, done.stderr) == (b"out\n", b"err\n")
    status, seen = on_terminal(*with_options(*options), caller=any_caller)
    assert (status, sorted(seen.split())) == (3, [b"err", b"out"])


def test_on_a_terminal_there_are_header_metrics_and_colour(any_caller):
    status, seen = on_terminal(*BOTH, caller=any_caller)
    assert status == 3
    assert b"sh code" in seen and b"exited 3" in seen and b"\x1b[" in seen


@pytest.mark.parametrize("options, env", [
    (["--no-color"], {}), ([], {"NO_COLOR": "1"}), ([], {"SANDBOX_RUN_NO_COLOR": "1"}),
    ([], {"TERM": "dumb"}),
])
def test_colour_can_be_had_without(any_caller, options, env):
    status, seen = on_terminal(*with_options(*options), env=env, caller=any_caller)
    assert status == 3 and b"exited 3" in seen and b"\x1b" not in seen


def test_an_error_is_coloured_on_a_terminal_only():
    words = ["run", "--lang", "nonsense", "--code", "x"]
    assert b"\x1b[" in on_terminal(*words)[1]
    assert b"\x1b" not in on_terminal(*words, env={"NO_COLOR": "1"})[1]
    assert b"\x1b" not in sandbox_run(*words).stderr


def printf(text):
    return ["run", "--quiet", "--lang", "sh", "--code", f"printf '{text}'"]


ESCAPES = [
    (r"\033]0;title\007after", b"after"),
    (r"\033]0;title\033\\after", b"after"),
    (r"\033]52;c;aGVsbG8=\007after", b"after"),
    (r"\033]8;;http://evil\033\\link\033]8;;\033\\", b"link"),
    (r"\033P+q544e\033\\after", b"after"),
    (r"\033_Gi=1;AAAA\033\\after", b"after"),
    (r"\033^private\033\\after", b"after"),
    (r"\033[6nafter", b"after"),
    (r"\033[cafter", b"after"),
    (r"\033[?1049hafter", b"after"),
    (r"\033[5iafter", b"after"),
    (r"\033[21tafter", b"after"),
    (r"\033cafter", b"after"),
    (r"\033[31mred\033[0m", b"\x1b[31mred\x1b[0m"),
    (r"\033[1;38;5;196mred\033[m", b"\x1b[1;38;5;196mred\x1b[m"),
    (r"\233\061mC1", b"1mC1"),
    ("\u00fc \u20ac \U0001f600", "\u00fc \u20ac \U0001f600".encode()),
    (r"a\tb\bc", b"a\tb\bc"),
]


def test_a_terminal_sees_colours_but_no_other_escapes(any_caller):
    """Between marks, so that each stands for itself."""
    status, got = on_terminal(*printf("|".join(escapes for escapes, _ in ESCAPES)), caller=any_caller)
    parts = got.split(b"|")
    assert (status, len(parts)) == (0, len(ESCAPES)), got
    assert not {escapes: part for (escapes, seen), part in zip(ESCAPES, parts) if part != seen}


def test_a_terminal_sees_no_eight_bit_escape(any_caller):
    status, got = on_terminal(*printf(r"\2350;title\007after"), caller=any_caller)
    assert status == 0 and b"\x9d" not in got


def test_an_escape_that_arrives_in_parts_is_still_seen(any_caller):
    code = ("import os, sys\nfor byte in b'\\x1b]0;title\\x07ok \\x1b[31mred\\x1b[0m':\n"
            "    os.write(1, bytes([byte])); os.sched_yield()")
    status, got = on_terminal("run", "--quiet", "--lang", "python", "--code", code, caller=any_caller)
    assert status == 0 and b"title" not in got and got.endswith(b"red\x1b[0m"), got


def test_raw_lets_escapes_through(any_caller):
    words = printf(r"\033]0;title\007after")
    status, got = on_terminal(words[0], "--raw", *words[1:], caller=any_caller)
    assert (status, got) == (0, b"\x1b]0;title\x07after")


def test_a_pipe_gets_every_byte(any_caller):
    done = sandbox_run(*printf(r"\033]0;title\007\2335n\000"), caller=any_caller)
    assert done.stdout == b"\x1b]0;title\x07\x9b5n\0"
