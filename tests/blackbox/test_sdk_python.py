"""The SDK for Python: packed, installed in a clean directory, and used from there."""
import json
import pathlib
import shutil
import subprocess
import tempfile
import urllib.request

import pytest

import engine
import flaky_service
import gateway
import registry_packages
import support

SDK = support.REPO / "sdk" / "python"
PYTHON = "/usr/bin/python3"


@pytest.fixture(name="installed", scope="module")
def sdk_installed(request):
    """A wheel, made from a copy of the sources, that pip installs in a directory of its own."""
    place = pathlib.Path(tempfile.mkdtemp(prefix="sbr-sdk-"))
    place.chmod(0o755)  # an ordinary user reads it too
    request.addfinalizer(lambda: shutil.rmtree(place))
    subprocess.run(["cp", "-r", SDK, place / "source"], check=True)
    pip = [PYTHON, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    root = {"PIP_ROOT_USER_ACTION": "ignore", "PATH": "/usr/bin:/bin", "HOME": str(place)}
    subprocess.run([*pip, "wheel", "--no-build-isolation", "--no-deps", "--no-index", "-w", place / "dist",
                    place / "source"], check=True, env=root)
    wheel, = (place / "dist").glob("*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--no-index", "--target", place / "lib", wheel], check=True, env=root)
    return place / "lib"


@pytest.fixture(name="service", scope="module")
def http_service(tmp_path_factory):
    with gateway.Gateway(tmp_path_factory.mktemp("http") / "g") as running:
        yield {"base_url": f"http://{running.address}", "token": running.token("sdk", "--network", "full")}


@pytest.fixture(name="play", params=["local", "http"])
def player(request, installed, service, folder):
    """Runs a program that uses the SDK and gives what it printed, as JSON.  HERE is where it runs programs."""
    def play(code, caller=None, **env):
        program = folder / "client.py"
        here = service if request.param == "http" else {}
        program.write_text("import asyncio, json, os, time\nfrom sandbox_run import *\n"
                           f"HERE = {here!r}\n" + code)
        given = support.surroundings(caller, {"PYTHONPATH": str(installed), "PYTHONDONTWRITEBYTECODE": "1",
                                              "SANDBOX_RUN_STATE": str(folder / "state"),
                                              "SANDBOX_RUN_BINARY": str(support.SANDBOX_RUN), **env})
        done = subprocess.run([*support.as_caller(caller), PYTHON, program], env=given, cwd=folder,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=support.DEADLINE, check=False)
        assert done.returncode == 0, done.stderr.decode()
        return json.loads(done.stdout)
    return play


def test_a_program_gives_the_result_of_the_command_line(play, root):
    code = "import sys; print(sys.stdin.read().upper()); print('e', file=sys.stderr); sys.exit(3)"
    given = play(f"print(json.dumps(Sandbox(**HERE).run({code!r}, stdin='in', memory='64m').raw))")
    bare = support.result_of("run", "--lang", "python", "--code", code, "--memory", "64m", stdin=b"in", caller=root)
    changing = {"id", "started_at", "total_ms", "execution_time", "cpu_time", "memory_used", "metrics", "stages",
                "startup"}
    same = {key: value for key, value in bare.items() if key not in changing and not key.startswith("_")}
    assert same == {key: given[key] for key in same} and set(given) == set(bare) - {"_status", "_stderr"}


def test_ends_are_results_and_what_could_not_run_is_an_exception(play):
    given = play("""
box, said = Sandbox(**HERE), {}
said["killed"] = box.run("while True: pass", timeout=0.3).outcome
said["command"] = box.run(command=["sh", "-c", "exit 7"]).exit_code
said["bytes"] = list(box.run("import os; os.write(1, bytes([255, 0, 97]))").stdout_bytes_data)
said["file"] = box.run("print(open('d/a.txt').read())", files={"d/a.txt": "there"}).stdout
for name, call in {"language": lambda: box.run("x", "nolang"), "limit": lambda: box.run("1", memory="many"),
                   "binary": lambda: Sandbox(binary="no-such-sandbox-run")}.items():
    try:
        call()
    except SandboxError as error:
        said[name] = [type(error).__name__, error.code, bool(str(error))]
print(json.dumps(said))
""")
    assert given == {"killed": "timeout", "command": 7, "bytes": [255, 0, 97], "file": "there\n",
                     "language": ["NotFound", "not_found", True], "limit": ["InvalidRequest", "invalid", True],
                     "binary": ["BinaryNotFound", "not_found", True]}


def test_events_come_while_the_program_runs_and_leaving_them_ends_it(play):
    given = play("""
seen, box = [], Sandbox(**HERE)
for event in box.stream("import time\\nprint('one', flush=True)\\ntime.sleep(1000)"):
    seen.append(event.type)
    if event.type == "stdout":
        seen.append(event.text)
        break
ended = [event for event in box.stream("print('é')")][-1]
print(json.dumps([seen, ended.result.stdout, ended.result.success]))
""")
    assert given == [["start", "stage", "stdout", "one\n"], "é\n", True]


def test_a_line_of_shell_has_its_defaults_and_its_figures(play):
    given = play("""
import dataclasses
box = Sandbox(**HERE)
files = [{"path": "run.sh", "content": "#!/bin/sh\\ncat data/x; echo e >&2; exit 4\\n", "mode": 0o755},
         {"path": "/work/data/x", "content": b"bytes"}]
done = box.execute("./run.sh; s=$?; id -u; nproc > /dev/null; exit $s", {"env": {"A": "b"}, "memory_limit": "256m"},
                   files)
late = box.execute("sleep 100", {"timeout": 300})
outside = []
for wrong in (None, [{"path": "/etc/x", "content": ""}]), ({"cpus": 1}, None):
    try:
        box.execute("true", *wrong)
    except InvalidRequest as error:
        outside.append(str(error))
killed = box.execute("kill -SEGV $$")
assert killed.exit_code == 139, killed
print(json.dumps([dataclasses.asdict(done), late.exit_code, late.duration, outside]))
""")
    done, late, duration, outside = given
    assert (done["exit_code"], done["stdout"], done["stderr"]) == (4, "bytes1000\n", "e\n")
    assert 0 < done["resource_usage"]["memory_usage_mb"] <= done["resource_usage"]["max_memory_mb"] < 256
    assert late == 124 and duration >= 300
    assert "/etc/x" in outside[0] and outside[1].startswith("'cpus' is no field of the configuration; it has cpu_limit,")


def test_a_session_keeps_names_and_files(play):
    given = play("""
with Session("python", memory="128m", **HERE) as s:
    s.run("x = 41")
    shown = s.run("x + 1")
    s.write_file("d/in.txt", b"\\xff")
    streamed = [event.type for event in s.stream("print(open('d/in.txt', 'rb').read())")]
    failed = s.run("1 / 0")
    assert all(len(line) <= 40 for line in s.run("list(range(30))", width=40).display[0]["text/plain"].split("\\n"))
    said = [shown.display, shown._repr_mimebundle_(), shown.cell, list(s.read_file("d/in.txt")),
            [f["path"] for f in s.files()], streamed, failed.diagnosis["type"], s.status()["cells"],
            len(Sandbox(**HERE).sessions())]
print(json.dumps(said + [len(Sandbox(**HERE).sessions())]))
""")
    assert given == [[{"text/plain": "42"}], {"text/plain": "42"}, 2, [255], ["d/in.txt"], ["start", "stdout", "end"],
                     "ZeroDivisionError", 5, 1, 0]


def test_calls_can_be_awaited(play):
    given = play("""
async def main():
    said = []
    async with Session("python", **HERE) as s:
        said.append((await s.run("20 + 1")).display[0]["text/plain"])
        async for event in s.stream("print('x')"):
            said.append(event.type)
    async with AsyncSandbox(**HERE) as box:
        both = await asyncio.gather(box.run("print(1)"), box.run("print(2)"))
        said += [result.stdout for result in both] + [await box.health_check()]
    return said
print(json.dumps(asyncio.run(main())))
""")
    assert given == ["21", "start", "stdout", "end", "1\n", "2\n", True]


# Each leaves a program that would run on for a thousand seconds.
LEAVES = """
import threading
SLOW, said = "import time; print('begun', flush=True); time.sleep(1000)", []
async def leave():
    async with AsyncSandbox(**HERE) as box:
        async def read():
            async for event in box.stream(SLOW):
                pass
        async for event in box.stream(SLOW):
            if event.type == "stdout":
                said.append(event.text)
                break
        for one in box.run(SLOW), box.execute("sleep 1000"), read():
            try:
                await asyncio.wait_for(one, 2)
            except asyncio.TimeoutError:
                said.append("cancelled")
        many = [asyncio.ensure_future(box.run(SLOW, memory="64m")) for _ in range(12)]
        await asyncio.sleep(1)
        for one in many:
            one.cancel()
        said.append(len([one for one in await asyncio.gather(*many, return_exceptions=True) if isinstance(one, asyncio.CancelledError)]))
asyncio.run(leave())
for event in Sandbox(**HERE).stream(SLOW):
    if event.type == "stdout":
        break
try:
    Sandbox(**HERE, call_timeout=2).run(SLOW)
except TimedOut as error:
    said.append(error.code)
call = Call()
threading.Timer(2, call.cancel).start()
try:
    Sandbox(**HERE).run(SLOW, call=call)
except Cancelled as error:
    said.append(error.code)
print(json.dumps(said))
"""


def asked_of(service, path):
    asked = urllib.request.Request(service["base_url"] + path, headers={"Authorization": f"Bearer {service['token']}"})
    with urllib.request.urlopen(asked, timeout=support.DEADLINE) as answer:
        return json.load(answer)


def test_who_leaves_cancels_or_waits_no_longer_ends_what_runs(play, service, request):
    """At once: the service itself would wait for another reader for 15 seconds."""
    assert play(LEAVES) == ["begun\n", "cancelled", "cancelled", "cancelled", 12, "timed_out", "cancelled"]
    if request.node.callspec.params["play"] == "http":
        left = [one["id"] for one in asked_of(service, "/v1/executions?limit=100")["executions"]]
        assert len(left) > 8
        assert engine.within(8, lambda: all(asked_of(service, f"/v1/executions/{one}")["status"] in ("done", "failed")
                                            for one in left))


@pytest.mark.parametrize("play", ["local"], indirect=True)
def test_only_what_may_be_repeated_is(play):
    with flaky_service.FlakyService(flaky_service.script()) as service:
        said = play(f"""
box, said = Sandbox({service.address!r}), []
for call in (lambda: box.run("x").stdout, lambda: box.test(files={{"a": ""}}), lambda: box.verify("x", "python").verdict,
             lambda: box.build(files={{"a": ""}}), lambda: box.profile("x"), lambda: len(box.languages())):
    try:
        said.append(call())
    except ConnectionFailed as error:
        said.append("lost")
    except Busy as error:
        said.append("busy")
print(json.dumps(said))
""")
        flaky_service.judge(service, said)


def test_a_strict_checker_of_types_accepts_it(installed, tmp_path):
    """What is installed, and a program that uses it as it is documented."""
    site = registry_packages.pip("mypy", support.REPO / "tests" / "clients" / "mypy" / "requirements.txt")
    (tmp_path / "typed.py").write_text(TYPED)
    shutil.copytree(installed / "sandbox_run", tmp_path / "sandbox_run")
    done = subprocess.run([PYTHON, "-m", "mypy", "--strict", "--cache-dir", tmp_path / "cache", "typed.py", "sandbox_run"],
                          cwd=tmp_path, env={"PYTHONPATH": str(site), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
                          stdout=subprocess.PIPE, check=False, timeout=support.DEADLINE)
    assert done.returncode == 0, done.stdout.decode()


TYPED = """
from sandbox_run import (AsyncSandbox, Call, DockerSandboxExecutor, ExecutionResult, MountedFile, ResourceStats, Result,
                         Sandbox, SandboxConfig, SandboxExecutor, Session)
config: SandboxConfig = {"image": "x", "timeout": 1, "cpu_limit": "0.5", "memory_limit": "1tb", "workdir": "/app",
                         "network_mode": "none", "read_only": True, "env": {"A": "b"}}
files: list[MountedFile] = [{"path": "a", "content": b"", "mode": 0o755}, {"path": "b", "host_path": "/b"}]

def use(box: Sandbox, executor: SandboxExecutor) -> tuple[ResourceStats | None, str]:
    done: ExecutionResult = executor.execute("true", config, files)
    result: Result = box.run("print(1)", timeout=5, call=Call())
    for event in box.stream("print(1)"):
        print(event.text)
    with Session("python", sandbox=box) as session:
        print(session.run("1").display)
    return done.resource_usage, result.stdout

async def later(box: AsyncSandbox) -> str:
    async for event in box.stream("print(1)"):
        print(event.type)
    return (await box.execute("true", config, files)).stdout

use(Sandbox("http://127.0.0.1:1", "t", call_timeout=1, retries=0), DockerSandboxExecutor("/run/docker.sock"))
"""


@pytest.mark.parametrize("play", ["local"], indirect=True)
def test_an_ordinary_user_has_it_too(play, folder):
    user = support.Callers.USER
    folder.chmod(0o777)
    given = play("r = Sandbox(**HERE).run('print(1)', allow_degraded=True); print(json.dumps([r.stdout, r.success]))",
                 caller=user, SANDBOX_RUN_STATE=support.state_of(user))
    assert given == ["1\n", True]


@pytest.mark.parametrize("play", ["local"], indirect=True)
def test_the_executor_of_docker_uses_its_socket(play, folder):
    """A path is never ignored; without one no daemon is needed."""
    given = play(f"""
docker, said = DockerSandboxExecutor({str(folder / "none")!r}), []
try:
    docker.execute("true")
except Unsupported as error:
    said = [error.code, str(error)]
print(json.dumps([DockerSandboxExecutor().execute("echo 1").stdout, DockerSandboxExecutor().health_check(),
                  docker.health_check(), *said]))
""")
    assert given[:4] == ["1\n", True, False, "unsupported"] and f"{folder}/none" in given[4], given


# One project: tests, a build, golden cases; of this machine as a directory, of a service as files and cases.
PROJECT = {"test_a.py": "import unittest\n\nclass A(unittest.TestCase):\n    def test_good(self):\n        pass\n"
                        "    def test_bad(self):\n        self.fail('x')\n",
           "Makefile": "all:\n\t@echo made > out.txt; echo 'a.c:1:2: warning: odd' >&2\n",
           "golden/one/command": "cat Makefile | head -c 4", "golden/one/stdout": "all:"}


def make_project(folder):
    for name, text in PROJECT.items():
        (folder / "p" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "p" / name).write_text(text)


def test_work_on_a_project(play, folder):
    make_project(folder)
    given = play(f"""
files, box = {PROJECT!r}, Sandbox(**HERE)
where = {{"files": {{name: files[name] for name in ("test_a.py", "Makefile")}}}} if HERE else {{"project": os.path.abspath("p")}}
cases = {{**where, "cases": [{{"name": "one", "command": files["golden/one/command"], "stdout": "all:"}}]}}
tested, built = box.test(**where, repeat=2), box.build(**where, tool="make")
os.chdir("p")
golden = box.golden(**cases) if HERE else box.golden(os.path.abspath("golden"))
checked = [box.verify("def f(): return 1", "python", calls=["f() == 1", "f() == 2"]), box.verify(**where, skip=["golden"])]
async def later():
    async with AsyncSandbox(**HERE) as box:
        return (await box.verify("x = (", "python")).verdict
print(json.dumps([tested.runner, {{one["name"]: one["outcome"] for one in tested.cases}}, built.tool, built.messages[0]["line"],
                  [one["path"] for one in built.artifacts], [one["outcome"] for one in golden.cases],
                  [one.verdict for one in checked], [one["outcome"] for one in checked[0].checks[-1]["cases"]],
                  [one["check"] for one in checked[1].checks if not one["file"]], asyncio.run(later())]))
""")
    assert given == ["unittest", {"test_a.A.test_good": "passed", "test_a.A.test_bad": "failed"}, "make", 1, ["out.txt"],
                     ["passed"], ["failed", "failed"], ["passed", "failed"], ["tests"], "failed"]


BUSY = "def slow():\n    return sum(i * i for i in range(2000000))\nprint(slow() and input())"


def test_many_two_and_one_again(play):
    """batch, compare and profile: by this machine and by a service the same names."""
    given = play(f"""
box = Sandbox(**HERE)
many = box.batch([{{"code": "print(1)"}}, {{"code": "print(2); exit(3)"}}, {{"command": ["echo", "3"]}}, {{"code": "x", "language": "nolang"}}][:3 if HERE else 4])
one, two = {{"code": "print(input())", "memory": "64m"}}, {{"code": "print(input().upper())"}}
found = [box.compare(one, two, inputs={{"small": "b\\n", "large": "B\\n"}}, repeat=2, warm_up=0),
         box.compare(one, one, inputs=[b"\\xc3\\xa9\\n"], repeat=2, checker="tokens")]
busy = box.profile({BUSY!r}, stdin="x", repeat=2, warm_up=0, functions=True)
async def later():
    async with AsyncSandbox(**HERE) as box:
        many, found, plain = await asyncio.gather(box.batch([{{"code": "print(4)"}}]), box.compare(one, one, inputs=["b"], repeat=1),
                                                  box.profile("pass", repeat=1))
        return [many[0].stdout, found.same_output, plain.runs, "functions" in plain.raw]
wrong = None
try:
    box.profile("pass", repeat=0)
except InvalidRequest as error:
    wrong = bool(str(error))
print(json.dumps([[(one.raw.get("stdout"), one.raw.get("exit_code"), one.success) for one in many[:3]],
                  many[-1].error["code"] if len(many) == 4 else "not_found",
                  [(one.same_output, one.raw.get("first_different_input"), one.a["wall_ms"]["runs"]) for one in found],
                  [busy.runs, busy.succeeded, any("slow" in one["function"] for one in busy.functions)], asyncio.run(later()), wrong]))
""")
    assert given == [[["1\n", 0, True], ["2\n", 3, False], ["3\n", 0, True]], "not_found",
                     [[False, "small", 4], [True, None, 2]], [2, 2, True], ["4\n", True, 1, False], True]
