"""A line of shell with a configuration of few words: the same over HTTP, in C and by the SDK."""
import json
import pathlib
import subprocess
import sys

import pytest

import gateway
import support
import test_library

sys.path.insert(0, str(support.REPO / "sdk" / "python"))

import sandbox_run  # noqa: E402

SCRIPT = {"path": "bin/say", "content": "#!/bin/sh\necho said $A; pwd\n", "mode": 0o755}
# What is asked for, and what comes of it: status, stdout, stderr.
CASES = {
    "npm test": ({"command": "echo \"$0 $A\"; echo e >&2; exit 4", "config": {"env": {"A": "b"}}}, (4, "sh b\n", "e\n")),
    "defaults": ({"command": "pwd; ls -A; cat /proc/net/dev | wc -l; ip() { :; }"}, (0, "/work\n3\n", "")),
    "its own directory": ({"command": "bin/say; cat /app/bin/say | wc -l; touch new; ls", "files": [SCRIPT],
                           "config": {"workdir": "/app", "env": {"A": "it"}}}, (0, "said it\n/app\n2\nbin\nnew\n", "")),
    "deep": ({"command": "pwd; cat x ../y /tmp/z", "config": {"workdir": "/srv/a//b/"},
              "files": [{"path": "./x", "content": "1"}, {"path": "/srv/a/y", "content": "2"}, {"path": "/tmp/z", "content": "3"}]},
             (0, "/srv/a/b\n123", "")),
    "below work": ({"command": "pwd; cat x /work/y", "config": {"workdir": "/work/sub"},
                    "files": [{"path": "x", "content": "1"}, {"path": "/work/y", "content": "2"}]}, (0, "/work/sub\n12", "")),
    "late": ({"command": "echo a; sleep 100", "config": {"timeout": 700}}, (124, "a\n", "")),
    "killed": ({"command": "kill -SEGV $$"}, (139, "", "")),
    "bounds": ({"command": "ulimit -a >/dev/null; head -c 300m /dev/zero | tail -c 1 | wc -c; true",
                "config": {"memoryLimit": "64m", "cpuLimit": "0.5", "networkMode": "none", "readOnly": True}}, None),
}
REFUSED = [
    {"command": 7}, {"command": ""}, {"config": {}}, {"command": "true", "image": "x"},
    {"command": "true", "config": {"cpus": 1}}, {"command": "true", "config": {"timeout": "5s"}},
    {"command": "true", "config": {"networkMode": "host"}}, {"command": "true", "config": {"memoryLimit": "1 byte"}},
    {"command": "true", "config": {"workdir": "app"}}, {"command": "true", "files": [{"path": "a"}]},
    {"command": "true", "files": [{"path": "/usr/a", "content": ""}]},
    {"command": "true", "files": [{"path": "/app/a", "content": ""}]},
    {"command": "true", "files": [{"path": "/dev/a", "content": ""}], "config": {"workdir": "/dev/x"}},
    {"command": "true", "files": [{"path": "..", "content": ""}]},
]


@pytest.fixture(name="http", scope="module")
def _http(tmp_path_factory):
    with gateway.Gateway(tmp_path_factory.mktemp("execute") / "g") as running:
        running.plain = running.token("plain", "--limit", "memory=256m")
        yield running


@pytest.fixture(name="execute", scope="module", params=["http", "c", "python"])
def _execute(request, session_folder, http):
    def by_http(asked):
        reply = http.ask("POST", "/v1/execute", asked, token=http.plain)
        assert reply.status in (200, 422, 400), reply.body
        return reply.json() if reply.status == 200 else None

    def by_c(asked):
        done = test_library.run(tool, input=json.dumps(asked).encode())
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        return None if "refused" in answer else answer

    def by_python(asked):
        try:
            if not isinstance(asked.get("command"), str) or asked.keys() - {"command", "config", "files"} or not asked["command"]:
                return None  # there is no such call
            done = box.execute(asked["command"], asked.get("config"), asked.get("files"))
        except (sandbox_run.InvalidRequest, KeyError):
            return None
        return {"exitCode": done.exit_code, "stdout": done.stdout, "stderr": done.stderr, "duration": done.duration,
                "resourceUsage": {"maxMemoryMb": done.resource_usage.max_memory_mb}}

    if request.param == "c":
        tool = test_library.compiled("library_execute.c", session_folder / "library-execute")
    box = sandbox_run.SandboxExecutor(binary=str(support.SANDBOX_RUN))
    return {"http": by_http, "c": by_c, "python": by_python}[request.param]


@pytest.mark.parametrize("name", CASES)
def test_it_is_the_same_by_every_road(execute, name):
    asked, expected = CASES[name]
    done = execute(asked)
    if expected is None:
        assert done["resourceUsage"]["maxMemoryMb"] <= 64
        return
    assert (done["exitCode"], done["stdout"], done["stderr"]) == expected
    assert done["duration"] >= asked.get("config", {}).get("timeout", 0)


@pytest.mark.parametrize("asked", REFUSED, ids=json.dumps)
def test_what_is_wrong_is_refused(execute, asked):
    assert execute(asked) is None


def test_a_token_bounds_it_as_any_run(http):
    """Its defaults yield to the token; what is asked for beyond it is refused."""
    token = http.token("narrow", "--limit", "memory=64m", "--limit", "timeout=5s", "--limit", "pids=20")
    done = http.ask("POST", "/v1/execute", {"command": "cat /proc/net/dev | wc -l"}, token=token)
    assert done.status == 200 and done.json()["exitCode"] == 0, done.body
    for config, field in (({"memoryLimit": "1g"}, "limits"), ({"networkMode": "full"}, "network"), ({"image": "x:1"}, None),
                          ({"timeout": 60000}, "limits")):
        reply = http.ask("POST", "/v1/execute", {"command": "true", "config": config}, token=token)
        assert reply.status == 403 if field else reply.status in (403, 404, 422), (config, reply.body)
    only = http.token("python-only", "--languages", "python")
    assert http.ask("POST", "/v1/execute", {"command": "true"}, token=only).status == 403
    files = http.token("no-runs", "--scope", "files")
    assert http.ask("POST", "/v1/execute", {"command": "true"}, token=files).status == 403


def test_a_work_directory_of_any_name_is_the_programs(root, folder):
    """It can be written to, and nothing beside it; what is there already is not covered."""
    done = support.sandbox_run("exec", "--workdir", "/app/deep", "--", "sh", "-c",
                       "pwd && touch a && mkdir b && ls && touch /beside; touch /app/x; echo $?", caller=root)
    assert done.stdout == b"/app/deep\na\nb\n0\n" and b"/beside" in done.stderr
    assert support.sandbox_run("exec", "--workdir", "/usr/bin", "--", "ls", "env", caller=root).stdout == b"env\n"
    assert support.sandbox_run("exec", "--workdir", "/usr/nonesuch", "--", "true", caller=root).returncode == 125
    python = support.sandbox_run("run", "--workdir", "/app", "--lang", "python", "--code", "import os; print(os.getcwd())", caller=root)
    assert python.stdout == b"/app\n", python.stderr


def test_a_volume_below_tmp(caller, folder):
    support.machine_gives.skip_if(support.lacks(caller))
    logs = folder / "logs"
    logs.mkdir()
    logs.chmod(0o777)
    (logs / "old").write_text("old\n")
    command = "cat old && echo new > new && ls && ls -d /tmp/sandbox && touch /tmp/x"
    for mode, left in (("cow", False), ("rw", True)):
        done = support.sandbox_run("exec", "--volume", f"{logs}:/tmp/sandbox/logs:{mode}", "--workdir", "/tmp/sandbox/logs", "--",
                           "sh", "-c", command, caller=caller)
        assert done.stdout == b"old\nnew\nold\n/tmp/sandbox\n", done.stderr
        assert pathlib.Path(logs, "new").exists() == left
    whole = support.sandbox_run("exec", "--volume", f"{logs}:/tmp:cow", "--", "true", caller=caller)
    assert whole.returncode == 125 and b"would cover the sandbox's own /tmp" in whole.stderr
