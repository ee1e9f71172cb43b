"""--request: a whole request as JSON.  Strict, so that a misspelt limit is never no limit."""
import base64
import json

import pytest

import machine_gives
import support
from support import sandbox_run


def request(fields, *options, caller=None, **kwargs):
    """`fields` is an object, or bytes for what is no object."""
    if isinstance(fields, dict) and caller == support.Callers.USER:
        fields = {"allow_degraded": True, **fields}
    data = fields if isinstance(fields, bytes) else json.dumps(fields).encode()
    return sandbox_run("run", "--request", "-", *options, stdin=data, caller=caller, **kwargs)


@pytest.mark.core
def test_a_request_says_everything(caller, folder):
    machine_gives.skip_if(support.lacks(caller))
    (folder / "v").write_text("volume")
    done = request({
        "language": "python",
        "code": "import sys, os; print(sys.argv[1:], os.environ['A'], os.getcwd(), input(),"
                "open('/work/f').read(), open('/work/d/b','rb').read(), open('/v').read())",
        "args": ["x", "--y"], "env": {"A": "b=c"}, "workdir": "/tmp", "stdin": "typed\n",
        "files": [{"path": "f", "content": "utf-8: ü", "encoding": "utf-8"},
                  {"path": "d/b", "content": base64.b64encode(b"\0\xff").decode(),
                   "encoding": "base64"}],
        "volumes": [f"{folder}/v:/v:ro"], "policy": "default",
        "limits": {"timeout": "50s", "memory": "128m", "pids": 9, "cpus": 0.75, "cpu_ms": 40000},
    }, "--json", caller=caller)
    result = json.loads(done.stdout)
    assert result["stdout"] == "['x', '--y'] b=c /tmp typed utf-8: ü b'\\x00\\xff' volume\n"
    limits = result["limits"]
    assert (limits["wall_ms"], limits["memory_bytes"], limits["pids"]) == (50000, 128 << 20, 9)
    assert (limits["cpus"], limits["cpu_ms"]) == (0.75, 40000)


def test_a_request_may_come_from_a_file(caller, folder):
    degraded = {"allow_degraded": caller == support.Callers.USER}
    path = folder / "request.json"
    path.write_text(json.dumps({"language": "sh", "code": "cat", **degraded}))
    done = sandbox_run("run", "--request", path, stdin=b"our stdin", caller=caller)
    assert (done.returncode, done.stdout) == (0, b"our stdin")


def test_a_request_without_a_language_is_a_command(caller):
    assert request({"args": ["echo", "plain"]}, caller=caller).stdout == b"plain\n"


def test_code_may_hold_nul_bytes_and_files_too(caller):
    done = request({"args": ["wc", "-c", "f"], "files": [{"path": "f", "content": "a\0b"}]},
                   caller=caller)
    assert done.stdout == b"3 f\n"


OK = {"language": "sh", "code": "echo ran"}


# Every class of fault is tried by tests/unit/test_request_json.c; these are one for each reader, and what only the
# whole request tells.
BAD_REQUESTS = [
    ({**OK, "timeout": 5}, "timeout"),
    ({**OK, "language": "s\0h"}, "language"),
    ({**OK, "args": [1]}, "args"),
    ({**OK, "env": {"A=B": "1"}}, "env"),
    ({**OK, "workdir": "tmp"}, "tmp"),
    ({**OK, "volumes": ["/tmp"]}, "/tmp"),
    ({**OK, "files": [{"path": "../a", "content": ""}]}, "../a"),
    ({**OK, "files": [{"path": "a" * 300, "content": ""}]}, "aaa"),
    ({**OK, "files": [{"path": "main.sh", "content": ""}]}, "main.sh"),
    ({**OK, "files": [{"path": "a", "content": "YQ==\0", "encoding": "base64"}]}, "base64"),
    ({**OK, "limits": {"memory": "1x"}}, "memory '1x'"),
    ({**OK, "limits": {"wall_ms": 10 ** 18}}, "wall_ms"),
    ({**OK, "require": "everything"}, "everything"),
    ({**OK, "tty": {"rows": 0, "columns": 80}}, "rows"),
    ({"code": "echo ran"}, "language"),
    ({"language": "sh"}, "program"),
    ({}, "command"),
    (b"", "JSON"),
    (b'{"language": "sh", "code": "echo ran", "code": "echo twice"}', "JSON"),
    (b"[" * 100_000, "nested more than 32 levels deep"),
]


def test_a_bad_request_is_refused_in_one_sentence_that_names_the_fault():
    said = {str(fields)[:80]: (named, request(fields)) for fields, named in BAD_REQUESTS}
    assert not {fields: done for fields, (named, done) in said.items()
                if (done.returncode, done.stdout) != (125, b"") or named not in done.stderr.decode()
                or len(done.stderr.splitlines()) != 1}


def test_a_refusal_shows_no_control_characters_of_a_stranger():
    done = request({**OK, "\x1b]0;owned\x07\u009b2J": 1})
    assert done.returncode == 125 and b"owned" in done.stderr
    text = done.stderr.decode()
    assert not [c for c in text if c != "\n" and (ord(c) < 32 or 127 <= ord(c) < 160)], text


def test_an_unknown_language_or_policy_in_a_request_is_not_found():
    for fields in ({**OK, "language": "pyton"}, {**OK, "policy": "strikt"}):
        done = request(fields)
        assert (done.returncode, done.stdout) == (127, b""), done.stderr


def test_an_error_is_one_object_when_json_is_wanted(caller):
    done = request({**OK, "nonsense": 1}, "--json", caller=caller)
    said = json.loads(done.stdout)
    assert (done.returncode, said["success"], said["outcome"]) == (125, False, "invalid_request")
    assert said["error"]["stage"] == "request" and "nonsense" in said["error"]["message"]


@pytest.mark.parametrize("options, check", [
    (["--timeout", "7s"], lambda r: r["limits"]["wall_ms"] == 7000),
    (["--env", "A=1"], lambda r: r["stdout"] == "1\n"),
    (["--workdir", "/tmp"], lambda r: r["stdout"] == "/tmp\n"),
])
def test_an_option_beside_a_request_is_obeyed_or_refused_but_never_ignored(options, check):
    code = "pwd" if "--workdir" in options else "echo $A"
    done = request({"language": "sh", "code": code}, "--json", *options)
    assert done.returncode == 125 or check(json.loads(done.stdout)), done.stdout


def test_allow_degraded_beside_a_request_is_obeyed():
    done = sandbox_run("run", "--request", "-", stdin=json.dumps(OK).encode(),
                       caller=support.Callers.USER)
    assert (done.returncode, done.stdout) == (0, b"ran\n"), done.stderr
