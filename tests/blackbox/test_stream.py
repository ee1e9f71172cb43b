"""--stream: events as lines of JSON; and the schemas that are shipped, against what is really printed."""
import base64
import json
import re
import signal
import subprocess

import jsonschema
import pytest

import machine_gives
import support
from support import sandbox_run
from waiting import SOON, started


def strict(schema):
    """A copy in which every object has the fields that it names and no others."""
    if isinstance(schema, list):
        return [strict(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    grown = {key: strict(value) for key, value in schema.items()}
    if "properties" in schema and schema.get("type") == "object":
        grown.setdefault("additionalProperties", False)
    return grown


def load(name):
    return support.schema(name)


def validator(name):
    own = strict(load(name))
    del own["$id"]  # this version resolves no fragment of a URN
    return jsonschema.Draft202012Validator(own)


@pytest.fixture(scope="module")
def is_result():
    return validator("result").validate


@pytest.fixture(scope="module")
def is_event(is_result):
    of_event = validator("event").validate

    def validate(event):
        of_event(event)
        if "result" in event:
            is_result(event["result"])
    return validate


def events_of(done):
    return [json.loads(line) for line in done.stdout.decode().splitlines()]


def stream_of(events, name):
    return b"".join(one["data"].encode() if "data" in one else base64.b64decode(one["data_b64"])
                    for one in events if one["type"] == name)


BYTES = r"printf 'a\303'; printf '\274\n'; printf '\377\000' >&2; seq 3000; echo last >&2"


def test_events_are_lines_of_json(caller, is_event):
    machine_gives.skip_if(support.lacks(caller))
    done = sandbox_run("exec", "--stream", "--", "sh", "-c", BYTES, caller=caller)
    events = events_of(done)
    plain = sandbox_run("exec", "--quiet", "--", "sh", "-c", BYTES, caller=caller)
    assert (done.returncode, done.stderr) == (0, b"")
    for one in events:
        is_event(one)
    assert [one["seq"] for one in events] == list(range(len(events)))
    assert [one["type"] for one in events][:2] == ["start", "stage"]
    assert events[-1]["type"] == "end" and events[-1]["result"]["outcome"] == "exited"
    for name in ("stdout", "stderr"):
        assert stream_of(events, name) == getattr(plain, name)
    assert all("data" in one for one in events if one["type"] == "stdout")
    assert events[-1]["result"]["stdout"].encode() == plain.stdout


def test_a_result_waits_for_its_reader_however_long_it_is(any_caller):
    """The last line has all of the output, and goes into a pipe that holds a small part of it."""
    size = 70_000_000
    done = sandbox_run("exec", "--stream", "--max-output", "100M", "--", "sh", "-c",
                       f"head -c {size} /dev/zero | tr '\\0' x", caller=any_caller)
    assert (done.returncode, done.stderr) == (0, b"")
    assert len(json.loads(done.stdout[done.stdout.rindex(b"\n", 0, -1):])["result"]["stdout"]) == size


@pytest.mark.parametrize("option, status", [("--json", -signal.SIGTERM), ("--stream", 128 + signal.SIGTERM)])
def test_a_reader_that_waits_can_be_left(any_caller, option, status):
    """The run is over, and its result is longer than the pipe: a signal ends what nobody reads, and is no success."""
    with started("exec", option, "--", "sh", "-c", "head -c 900000 /dev/zero | tr '\\0' x", caller=any_caller) as process:
        seen = b""
        while b'"outcome"' not in seen:
            seen = seen[-100:] + process.stdout.read(1)
        process.terminate()
        assert process.wait(SOON) == status


def test_the_library_gives_the_same_bytes(root, session_folder):
    machine_gives.skip_if(support.lacks(support.available_callers()[0]))
    tool = session_folder / "stream-copy"
    library = support.BUILD / "src"
    subprocess.run(["gcc", "-std=gnu17", "-pthread", f"-I{support.REPO}/include",
                    support.REPO / "tests/blackbox/programs/library_stream.c", "-o", tool,
                    f"-L{library}", "-lsandboxrun"], check=True)
    done = subprocess.run([tool, "copy"], capture_output=True, timeout=60, check=False,
                          env=support.surroundings(None, {"LD_LIBRARY_PATH": str(library), "COPY": BYTES}))
    plain = sandbox_run("exec", "--quiet", "--", "sh", "-c", BYTES)
    assert (done.returncode, done.stdout, done.stderr) == (0, plain.stdout, plain.stderr)


def test_metrics_come_while_it_runs(any_caller, is_event):
    done = sandbox_run("exec", "--stream", "--metrics-every", "20ms", "--timeout", "400ms",
                       "--", "sh", "-c", "while :; do :; done", caller=any_caller)
    events = events_of(done)
    for one in events:
        is_event(one)
    assert any(one["metrics"]["processes"] for one in events if one["type"] == "metrics")
    assert done.returncode == 124 and events[-1]["result"]["outcome"] == "timeout"


def test_a_reader_that_leaves_ends_the_run(any_caller):
    command = support.command("exec", "--stream", "--timeout", "50s", "--", "yes", caller=any_caller)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=support.surroundings(any_caller)) as run:
        assert b'"start"' in run.stdout.readline()
        run.stdout.close()
        assert run.wait(timeout=20) == 141


@pytest.mark.parametrize("options, outcome", [
    (["run", "--stream", "--lang", "pyhton", "-c", "1"], "not_found"),
    (["exec", "--stream", "--metrics-every", "1ms", "--", "true"], "invalid_request"),
])
def test_an_error_is_the_last_event(any_caller, is_event, options, outcome):
    events = events_of(sandbox_run(*options, caller=any_caller))
    for one in events:
        is_event(one)
    assert events[-1]["type"] == "end" and events[-1]["result"]["outcome"] == outcome


def test_metrics_need_the_stream(any_caller):
    done = sandbox_run("exec", "--metrics-every", "1s", "--", "true", caller=any_caller)
    assert done.returncode == 125 and b"--stream" in done.stderr


@pytest.mark.parametrize("words", [
    ["run", "-l", "python", "-c", "print(1"],
    ["run", "-l", "python", "-c", "import os; os.kill(os.getpid(), 9)"],
    ["run", "-l", "c", "-c", "int main(void) { return x; }"],
    ["exec", "--output", "*.txt", "--", "sh", "-c", "echo 1 > a.txt; unshare -m true; exit 3"],
    ["exec", "--network", "none", "--", "no-such-command"],
])
def test_results_fit_the_schema(any_caller, is_result, words):
    done = sandbox_run(words[0], "--json", *words[1:], caller=any_caller)
    is_result(json.loads(done.stdout))


OK = {"language": "sh", "code": "true"}


def test_the_request_s_schema_has_every_field():
    source = (support.REPO / "src/model/request_fields.def").read_text()
    assert re.findall(r"^FIELD\((\w+),", source, re.MULTILINE) == list(load("request")["properties"])


@pytest.mark.parametrize("fields", [
    OK, {"args": ["echo", "x"]}, {**OK, "limits": {"timeout": "5s", "memory_bytes": 67108864, "cpus": 0.5}},
    {**OK, "files": [{"path": "a", "content": "", "encoding": "base64", "executable": True}]},
    {**OK, "env": {"A": "b"}, "require": "process", "network": "none", "diff": False},
])
def test_what_the_reader_takes_fits(any_caller, fields):
    validator("request").validate(fields)
    done = sandbox_run("plan", "--request", "-", stdin=json.dumps({"require": "process", **fields}).encode(),
                       caller=any_caller)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("fields", [
    {**OK, "langauge": "sh"}, {**OK, "limits": {"memroy": 1}}, {**OK, "limits": []}, {**OK, "args": "x"},
    {**OK, "files": [{"path": "a"}]}, {**OK, "files": [{"path": "a", "content": "", "mode": 1}]},
    {**OK, "env": {"A": 1}}, {**OK, "network": "bogus"}, {**OK, "require": "vm"}, {**OK, "workdir": "x"},
    {**OK, "project": "relative"}, {**OK, "workspace": "-x"}, {**OK, "diff": "yes"}, {**OK, "stdin": 1},
])
def test_what_the_reader_refuses_does_not_fit(any_caller, fields):
    assert not validator("request").is_valid(fields)
    assert sandbox_run("plan", "--request", "-", stdin=json.dumps(fields).encode(),
                       caller=any_caller).returncode == 125
