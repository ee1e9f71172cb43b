"""Processes that serve others are ended while they answer: a session's supervisor, init and kernel; a gateway, its front.

The client has its answer or a true sentence; who starts them again has all that was acknowledged, and nothing is left.

Usage: service_faults.py [--stride N] [--most N] [NAME...]
"""
import argparse
import concurrent.futures
import contextlib
import http.client
import itertools
import json
import os
import pathlib
import re
import signal
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "blackbox")]

import engine as engines  # noqa: E402
import gateway as gateways  # noqa: E402
import mcp_client  # noqa: E402
import registries  # noqa: E402
import strikes  # noqa: E402
import support  # noqa: E402

SOON = 60
LOST = [re.compile(text) for text in (
    r"the session \w+ is lost: its process ended",
    r"the session is lost: ",
    r"the sandbox of the session ended, so its /\w+ cannot be opened; `sandbox-run session list` says why",
    r"the session ended",
    r"there is no session",
    r"the session's connection ended; `sandbox-run session list` says whether the session did",
    r"the sandbox ended before the program did",
    r"the program was ended by SIGKILL; the sandbox did not send it",
    r"the process of the session \w+ was ended by SIGKILL before it answered",
)]


def is_right(done, value):
    return done.returncode == 0 and (value is None or value in done.stdout.decode())


def is_true(done):
    said = done.stderr.decode().splitlines()
    return done.returncode in (125, 126, 127, 130, 137, 143) and any(p.search(line) for p in LOST for line in said)


# ---- sessions ----------------------------------------------------------------------------------------------------

OPERATIONS = {  # the words behind `session`, and what the answer has
    "exec": (["exec", "ID", "--code", "n += 1; print('n is', n)"], "n is 2"),
    "checkpoint": (["checkpoint", "ID"], None),
    "rollback": (["rollback", "ID", "2"], None),
    "fork": (["fork", "ID"], None),
    "restart": (["restart", "ID"], None),
    "dep": (["dep", "ID", "kept"], None),
    "close": (["close", "ID"], None),
    "bash": (["exec", "ID", "--lang", "bash", "--code", "echo second"], "second"),
    "vars": (["vars", "ID"], "n"),
    "put": (["put", "ID", "FILE"], None),
}


def listed(place):
    return {one["id"]: one for one in json.loads(place.well("session", "list", "--json"))["sessions"]}


def parts(place, session):
    """Pids of a session: its supervisor, init, the kernel."""
    pid = json.loads((place.state / "sessions" / session / "session.json").read_text())["pid"]
    found = {"supervisor": pid}
    for child in engines.descendants(pid):
        with contextlib.suppress(OSError):
            line = pathlib.Path(f"/proc/{child}/cmdline").read_bytes()
            if line.startswith(b"sandbox-run-init"):
                found.setdefault("init", child)
            elif b"session-python" in line or b"/driver/" in line:
                found.setdefault("kernel", child)
    return found


def session_strike(place, registry, who, operation, nth):
    """(what is wrong, whether it was struck)."""
    place.renew()
    place.env["PIP_INDEX_URL"] = registry.url
    session = json.loads(place.well("session", "create", "python", "--json"))["id"]
    place.well("session", "exec", session, "--code", "n = 1")
    place.well("session", "checkpoint", session)
    words, value = OPERATIONS[operation]
    words = [{"ID": session, "FILE": str(place.file("given", "text"))}.get(word, word) for word in words]
    family = parts(place, session)
    pids = [family["supervisor"]]
    with strikes.attached(family[who], nth) as tracer:
        done = place.run("session", *words)
        struck = engines.within(0.5, lambda: tracer.poll() is not None)
    wrong = [] if is_right(done, value) or is_true(done) else [f"{done.returncode} {done.stdout} {done.stderr}"[:600]]
    for one in listed(place).values():
        with contextlib.suppress(OSError, KeyError, ValueError):
            pids.append(parts(place, one["id"])["supervisor"])
        if who == "supervisor" and one["id"] == session and one["state"] == "lost":
            restored = place.run("session", "restore", session)
            if restored.returncode:
                wrong.append(f"restore: {restored.stderr}")
            else:
                again = place.run("session", "exec", restored.stdout.decode().strip(), "--code", "print(n)")
                if operation not in ("restart", "close") and again.stdout not in (b"1\n", b"2\n"):
                    wrong.append(f"restored: {again}"[:500])
    for one in listed(place):
        if place.run("session", "close", one).returncode:
            wrong.append(f"{one} cannot be closed")
    if os.listdir(place.state / "sessions"):
        wrong.append(f"sessions are left: {strikes.shape_of(place.state / 'sessions')}")
    return wrong + place.left(pids), struck


def session_steps(folder, who, operation, stride=1, most=60):
    wrong, ended = [], 0
    with registries.serving() as registry:
        registry.pages = {"/simple/kept/": b'<a href="/kept-1.0-py3-none-any.whl">kept-1.0-py3-none-any.whl</a>',
                          "/kept-1.0-py3-none-any.whl": registries.wheel_of("kept", {"kept.py": "value = 42\n"})}
        place = strikes.Place(pathlib.Path(folder) / "place")
        for nth in range(1, most, stride):
            found, struck = session_strike(place, registry, who, operation, nth)
            wrong += [f"{who} at {nth} of {operation}: {one}" for one in found]
            ended += struck
            if not struck:
                break
    return wrong, ended


# ---- the gateway -------------------------------------------------------------------------------------------------


def ask_run(running, number):
    reply = running.ask("POST", "/v1/executions", {"args": ["echo", number]})
    return reply.status == 200 and reply.json()["stdout"] == f"{number}\n", reply


def ask_streamed(running, number):
    reply = running.ask("POST", "/v1/executions", {"args": ["echo", number]}, Accept="text/event-stream")
    text = reply.body.decode()
    return reply.status == 200 and f"{number}\\n" in text and '"type":"end"' in text.replace(" ", ""), reply


def ask_batch(running, number):
    reply = running.ask("POST", "/v1/batch", {"requests": [{"args": ["echo", number]}, {"args": ["echo", "two"]}]})
    return reply.status == 200 and [one["stdout"] for one in reply.json()["results"]] == [f"{number}\n", "two\n"], reply


def ask_session(running, number):
    reply = running.ask("POST", "/v1/sessions", {"language": "python"})
    if reply.status not in (200, 201):
        return False, reply
    session = reply.json()["id"]
    cell = running.ask("POST", f"/v1/sessions/{session}/cells", {"code": f"print({number})"})
    running.ask("DELETE", f"/v1/sessions/{session}")
    return cell.status == 200 and f"{number}" in cell.body.decode(), cell


def ask_e2b(running, number):
    key = running.token(f"client-{number}-{next(numbers)}", "--network", "none")
    reply = running.ask("POST", "/v2/sandboxes", {"templateID": "code-interpreter-v1", "timeout": 60}, tcp=True, X_API_Key=key)
    if reply.status == 201:
        running.ask("DELETE", f"/sandboxes/{reply.json()['sandboxID']}", tcp=True, X_API_Key=key)
    return reply.status == 201, reply


def ask_async(running, number):
    """The run is on record before it is accepted, so who looks again finds its result."""
    reply = running.ask("POST", "/v1/executions", {"args": ["echo", number]}, Prefer="respond-async")
    if reply.status != 202:
        return False, reply
    found = []
    assert engines.within(SOON, lambda: found.append(running.ask("GET", reply.headers["Location"])) or
                          found[-1].status != 200 or found[-1].json()["status"] not in ("queued", "running"))
    return found[-1].status == 200 and found[-1].json()["result"]["stdout"] == f"{number}\n", found[-1]


def ask_workspace(running, number):
    """Written, used by a run, read and removed; what a command before the end did not reach is done by the next one."""
    place = f"/v1/workspaces/w{number}"
    for method, path, body, statuses in (("PUT", "/files/a", f"{number}\n".encode(), (204,)), ("GET", "/files/a", None, (200,)),
                                         ("DELETE", "", None, (204,))):
        reply = running.ask(method, place + path, body)
        if reply.status not in statuses:
            return False, reply
        if method == "GET":
            right, read = reply.body == f"{number}\n".encode(), reply
            ran, reply = ask_in(running, {"args": ["cat", "a"], "workspace": f"w{number}"}, f"{number}\n")
            if not right or not ran:
                return False, read if ran else reply
    return True, reply


def ask_in(running, body, out):
    reply = running.ask("POST", "/v1/executions", body)
    return reply.status == 200 and reply.json()["stdout"] == out, reply


def ask_build(running, number):
    """A build whose changes are kept and read."""
    files = [{"path": "Makefile", "content": f"all:\n\techo {number} > out.txt\n"}]
    reply = running.ask("POST", "/v1/builds", {"files": files})
    if reply.status != 200:
        return False, reply
    kept = running.ask("GET", f"/v1/changes/{reply.json()['changes_id']}")
    return reply.json()["success"] and kept.status == 200 and reply.json()["changes_id"] in kept.body.decode(), kept


def ask_mcp(running, number):
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": mcp_client.tool_call(
        "run_command", {"command": f"echo {number}"}, {mcp_client.META + "protocolVersion": mcp_client.STATELESS,
                                                       mcp_client.META + "clientCapabilities": {}})}
    reply = running.ask("POST", "/mcp", body, Accept="application/json, text/event-stream", MCP_Protocol_Version=mcp_client.STATELESS,
                        Mcp_Method="tools/call", Mcp_Name="run_command")
    return reply.status == 200 and f'"stdout":"{number}\\n"' in reply.body.decode().replace(" ", ""), reply


ASKS = {"run": ask_run, "streamed": ask_streamed, "batch": ask_batch, "session": ask_session, "e2b": ask_e2b, "async": ask_async,
        "workspace": ask_workspace, "build": ask_build, "mcp": ask_mcp}


def options_of(what):
    return ["--dialect", "e2b"] if what == "e2b" else []


def asked(running, what, number):
    """None: the connection was cut; else what is wrong."""
    try:
        right, reply = ASKS[what](running, number)
    except (OSError, http.client.HTTPException):
        return None
    sentence = reply.status in (429, 502, 503) and "detail" in reply.body.decode()
    cut = what == "streamed" and reply.status == 200  # a stream that does not end by its end says so by that
    return [] if right or sentence or cut else [f"{reply.status} {reply.body[:400]}"]


def gateway_strike(folder, who, what, nth):
    number, wrong = str(next(numbers)), []
    running = gateways.Gateway(folder, options_of(what))
    pids = []
    with contextlib.suppress(AssertionError), running:
        pids, left = [running.process.pid], []
        target = running.process.pid if who == "gateway" else gateways.fronts(running)[0]
        with strikes.attached(target, nth) as tracer, concurrent.futures.ThreadPoolExecutor(1) as pool:
            future = pool.submit(asked, running, what, number)
            try:
                wrong += future.result(SOON) or []
            except concurrent.futures.TimeoutError:
                wrong.append("no answer")
            left = gateways.runs_of(running)
            struck = engines.within(0.5, lambda: tracer.poll() is not None)
        if who == "front" and not engines.within(SOON, lambda: asked(running, "run", number) == []):
            wrong.append("after the end of its front it answers nothing")
        if running.process.poll() is None:
            running.process.send_signal(signal.SIGTERM)
        status = running.process.wait(SOON)
        if status not in (0, -9) or (who == "front" and status):
            wrong.append(f"the gateway ended with {status}: {running.process.stderr.read()}")
    if not engines.within(SOON, lambda: not any(map(engines.groups_of, pids))):
        wrong.append(f"left {[engines.groups_of(pid) for pid in pids]}")
    if what not in ("session", "e2b") and not engines.within(SOON, lambda: not [p for p in left if os.path.exists(f"/proc/{p}")]):
        wrong.append(f"left {left}")
    again = gateways.Gateway(folder, options_of(what))
    with again:
        right, reply = ASKS[what](again, number)
        if not right:
            wrong.append(f"the next gateway answers {reply.status} {reply.body[:400]}")
        close_sessions(again, wrong)
    return wrong, struck


def close_sessions(running, wrong):
    """A session outlives the gateway that made it; its owner finds it."""
    env = {**running.env}
    done = support.sandbox_run("session", "list", "--json", env={"SANDBOX_RUN_STATE": env["SANDBOX_RUN_STATE"]})
    for one in json.loads(done.stdout)["sessions"]:
        ended = support.sandbox_run("session", "close", one["id"], env={"SANDBOX_RUN_STATE": env["SANDBOX_RUN_STATE"]})
        if ended.returncode:
            wrong.append(f"{one}: {ended.stderr}")


def gateway_steps(folder, who, what, stride=1, most=60):
    wrong, ended = [], 0
    for nth in range(1, most, stride):
        found, struck = gateway_strike(pathlib.Path(folder) / "gateway", who, what, nth)
        wrong += [f"{who} at {nth} of {what}: {one}" for one in found]
        ended += struck
        if not struck:
            break
    return wrong, ended


numbers = itertools.count(os.getpid() * 1000)
SERVICES = {
    **{f"{who}-{operation}": (session_steps, who, operation) for operation in OPERATIONS
       for who in ("supervisor", "init", "kernel")},
    **{f"{who}-{what}": (gateway_steps, who, what) for what in ASKS for who in ("gateway", "front")},
}


def each_step(folder, name, stride=1, most=60):
    """Sentences about what is wrong, and how often a process was ended."""
    steps, who, what = SERVICES[name]
    return steps(folder, who, what, stride, most)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--stride", type=int, default=1)
    parser.add_argument("--most", type=int, default=60)
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    failed = False
    for name in options.names or SERVICES:
        begin = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="sbr-service-") as folder:
            wrong, ended = each_step(folder, name, options.stride, options.most)
        failed |= bool(wrong)
        print(f"{name}: ended {ended} times in {time.monotonic() - begin:.0f} s;", "as it should be" if not wrong else "", flush=True)
        print(*(f"  {one}" for one in wrong), sep="\n", end="\n" if wrong else "", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
