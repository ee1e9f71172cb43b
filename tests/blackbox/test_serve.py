"""`serve --http`: engine and gateway as one service, what it says when it cannot serve, and what a death of either costs."""
import contextlib
import json
import os
import re
import signal
import socket
import subprocess

import pytest

import engine as engines
import gateway
import support

SOON = 30
NOT_HANDED_ON = {"listen", "openapi", "routes", "help"}  # --http, and what prints instead of serving
SLOW = "import sys, time; print('on', flush=True); time.sleep(600)"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def ask(path, method, where, body=None, **headers):
    """A reply of the gateway at a unix socket, or None when there is none."""
    with contextlib.closing(gateway.UnixConnection(path)) as connection, contextlib.suppress(OSError, gateway.http.client.HTTPException):
        connection.request(method, where, None if body is None else json.dumps(body),
                           {"Content-Type": "application/json", **headers})
        return gateway.Reply(connection.getresponse())
    return None


def serving(folder, *options):
    return engines.Engine(folder, options=("--http", "127.0.0.1:0", "--warm", "", "--park-min", "1", *options))


def gateway_of(warm):
    found = [pid for pid in engines.descendants(warm.process.pid) if gateway.name_of(pid) == "sandbox-run-htt"]
    return found[0] if found else None


def answers(warm):
    reply = ask(warm.folder / "http.sock", "POST", "/v1/executions", {"language": "bash", "code": "echo hi"})
    return reply is not None and reply.status == 200 and reply.json()["stdout"] == "hi\n"


@pytest.mark.parametrize("daemon", [(), ("--daemon",)], ids=["here", "daemon"])
def test_an_address_that_cannot_be_served_ends_it_at_once(tmp_path, daemon):
    env = {"SANDBOX_RUN_SOCKET": str(tmp_path / "engine.sock")}
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        for address in ("foo", f"127.0.0.1:{taken.getsockname()[1]}"):
            done = support.sandbox_run("serve", "--http", address, *daemon, env=env, timeout=SOON)
            assert done.returncode == 125 and address.encode() in done.stderr, done
            assert not (tmp_path / "engine.sock").exists()


def test_a_daemon_holds_no_pipe_of_its_caller(tmp_path):
    env = {"SANDBOX_RUN_SOCKET": str(tmp_path / "engine.sock")}
    try:  # reads both pipes to their end
        done = support.sandbox_run("serve", "--daemon", "--warm", "", "--http", "127.0.0.1:0", env=env, timeout=SOON)
        assert done.returncode == 0 and b"http ready, http://127.0.0.1:" in done.stderr, done
        assert ask(tmp_path / "http.sock", "GET", "/healthz").status == 200
    finally:
        assert support.sandbox_run("serve", "--stop", env=env).returncode == 0


def test_a_gateway_that_dies_is_started_again(tmp_path):
    with serving(tmp_path / "e") as warm:
        for times in (1, 2):
            before = gateway_of(warm)
            os.kill(before, signal.SIGKILL)
            assert engines.within(SOON, lambda: gateway_of(warm) not in (None, before) and answers(warm)), warm.words()
            said = [line for line in warm.said if "started again" in line]
            assert len(said) == times and "Killed" in said[-1], warm.words()
        assert warm.status()["gateway"] == {"pid": gateway_of(warm), "restarts": 2}
        assert "0.1 s" in said[0] and "0.2 s" in said[1], said


def test_who_ignores_the_end_of_children_learns_of_it_too(tmp_path):
    """As some service managers start their programs."""
    words = ["env", "--ignore-signal=CHLD", support.SANDBOX_RUN, "serve", "--warm", "", "--http", "foo"]
    env = support.surroundings(None, {"SANDBOX_RUN_SOCKET": str(tmp_path / "engine.sock"), "SANDBOX_RUN_COLD": None})
    done = subprocess.run(words, env=env, capture_output=True, timeout=SOON)
    assert done.returncode == 125 and b"before it served" in done.stderr, done


def test_a_run_that_has_begun_is_not_to_be_repeated_when_its_engine_dies(tmp_path):
    warm = engines.Engine(tmp_path / "e", options=["--warm", "python", "--park-min", "1"])
    with warm, gateway.Gateway(tmp_path / "g", env=warm.variables()) as http:
        slow = {"language": "python", "code": f"import ctypes; ctypes.CDLL(None).prctl(15, b'{tmp_path.name[-15:]}')\n{SLOW}"}
        begun = lambda: sum(gateway.name_of(pid) == tmp_path.name[-15:] for pid in engines.descendants(warm.process.pid))
        warm.parked(lambda: http.run({"language": "python", "code": "pass"}))
        assert warm.wait_full()
        where = http.ask("POST", "/v1/executions", slow, Prefer="respond-async").headers["Location"]
        assert engines.within(SOON, lambda: http.ask("GET", where).json()["status"] == "running") and warm.wait_full()
        with contextlib.closing(http.connect()) as connection:
            connection.request("POST", "/v1/executions", json.dumps(slow), {"Content-Type": "application/json"})
            states = lambda: [one["status"] for one in http.ask("GET", "/v1/executions").json()["executions"][:2]]
            assert engines.within(SOON, lambda: states() == ["running"] * 2), states()
            assert engines.within(SOON, lambda: begun() == 2), begun()
            assert sum(pool["leased"] for pool in warm.status()["pools"]) == 2, warm.status()
            assert not warm.kill()
            reply = gateway.Reply(connection.getresponse())
        problem = reply.json()
        assert reply.status == 500 and "Retry-After" not in reply.headers, (reply.status, problem)
        assert "had begun" in problem["detail"] and "unknown" in problem["detail"], problem
        assert engines.within(SOON, lambda: http.ask("GET", where).json()["status"] == "failed")
        assert "had begun" in str(http.ask("GET", where).json()["result"])
        assert http.run({"language": "python", "code": "print(1)"})["startup"] == "cold"
        warm.restart()


def test_a_killed_engine_leaves_its_addresses_to_the_next(tmp_path):
    """While the gateway that it left still ends a run of its own."""
    port = f"127.0.0.1:{free_port()}"
    with engines.Engine(tmp_path / "e", options=["--http", port, "--warm", ""]) as warm:
        path = warm.folder / "http.sock"
        body = {"language": "python", "code": "import time; print('on', flush=True); time.sleep(3)", "volumes": []}
        with contextlib.closing(gateway.UnixConnection(path)) as connection:
            connection.request("POST", "/v1/executions", json.dumps(body), {"Content-Type": "application/json"})
            listed = lambda: ask(path, "GET", "/v1/executions").json()["executions"][0]["status"]
            assert engines.within(SOON, lambda: listed() == "running")
            before = gateway_of(warm)
            warm.process.kill()
            warm.process.wait()
            warm.forget()
            warm.restart()
            assert answers(warm) and gateway_of(warm) != before, warm.words()
            reply = gateway.Reply(connection.getresponse())  # the run was cold, or its sandbox the engine's
        assert (reply.status, b"on" in reply.body) in ((200, True), (500, False)), reply.body


def test_a_run_that_has_begun_is_not_to_be_repeated_when_the_gateway_ends(tmp_path):
    with gateway.Gateway(tmp_path / "g") as http:
        with contextlib.closing(http.connect()) as connection:
            connection.request("POST", "/v1/executions", json.dumps({"language": "python", "code": SLOW}),
                               {"Content-Type": "application/json"})
            assert engines.within(SOON, lambda: http.metric("sandbox_run_active_sandboxes") == 1)
            assert engines.within(SOON, lambda: gateway.runs_of(http))
            listed = lambda: http.ask("GET", "/v1/executions").json()["executions"][0]["status"]
            assert engines.within(SOON, lambda: listed() == "running")
            http.process.send_signal(signal.SIGTERM)
            http.process.send_signal(signal.SIGTERM)
            reply = gateway.Reply(connection.getresponse())
        assert reply.status == 500 and "Retry-After" not in reply.headers, (reply.status, reply.body)
        assert "had begun" in reply.json()["detail"]
        assert http.process.wait(SOON) == 0


def options_of(text):
    return set(re.findall(r"^ +(?:-\w, )?--([a-z-]+)", text, re.M))


def test_every_option_of_the_gateway_is_one_of_serve():
    own = options_of(subprocess.run([gateway.PROGRAM, "--help"], capture_output=True, text=True, check=True).stdout)
    assert {"listen", "tls-cert", "max-body", "allow-origin"} <= own
    handed = own - NOT_HANDED_ON
    assert handed <= options_of(support.sandbox_run("serve", "--help").stdout.decode())
    manual = (support.BUILD / "sandbox-run.1").read_text().replace("\\-", "-")
    completion = (support.BUILD / "sandbox-run.bash").read_text()
    assert [name for name in handed if f"--{name}" not in manual or f"--{name}" not in completion] == []


def test_options_of_the_gateway_hold_under_serve(tmp_path):
    words = ["--max-body", "1k", "--allow-host", "one.example", "--allow-host", "two.example", "--socket", tmp_path / "e" / "other.sock"]
    with serving(tmp_path / "e", *words) as warm:
        path = warm.folder / "other.sock"
        assert not (warm.folder / "http.sock").exists()
        assert ask(path, "POST", "/v1/executions", {"language": "bash", "code": "#" * 2000}).status == 413
        port = next(line for line in warm.said if "http://" in line).rsplit(":", 1)[1]
        for host, status in (("one.example", 200), ("two.example", 200), ("three.example", 421)):
            with contextlib.closing(gateway.http.client.HTTPConnection("127.0.0.1", int(port), timeout=SOON)) as connection:
                connection.request("GET", "/healthz", headers={"Host": host})
                assert connection.getresponse().status == status, host


def test_the_words_of_the_documents_serve_warm_runs(tmp_path):
    """As docs/http.md has them, with another port."""
    text = (support.REPO / "docs/http.md").read_text()
    script = text.split("```sh\n")[1].split("```")[0]
    assert "sandbox-run serve --http 127.0.0.1:8710" in script
    assert "sandbox-run serve --http 127.0.0.1:8710" in (support.REPO / "README.md").read_text()
    serve, token, *curl = script.replace("8710", str(free_port())).strip().split("\n")
    options = serve.split(" &")[0].split()[2:]
    with engines.Engine(tmp_path / "e", options=[*options, "--warm", "python", "--park-min", "1"]) as warm:
        env = {**warm.environment(), "PATH": f"{support.BUILD}:{os.environ['PATH']}"}

        def run(code="print(6 * 7)"):
            lines = "\n".join([token, *curl]).replace("print(6 * 7)", code)
            done = subprocess.run(["sh", "-euc", lines], env=env, capture_output=True, timeout=support.DEADLINE, check=True)
            return json.loads(done.stdout)

        assert warm.parked(run)["stdout"] == "42\n"
        held = run("import time; time.sleep(0)")
        assert held["startup"] in ("parked", "forked"), held
        path = warm.folder / "http.sock"
        with contextlib.closing(gateway.UnixConnection(path)) as connection:
            connection.request("POST", "/v1/executions", json.dumps(
                {"language": "python", "code": SLOW, "limits": {"memory_bytes": 300 << 20}}), {"Content-Type": "application/json"})
            assert engines.within(SOON, lambda: warm.status()["memory"]["reserved_bytes"] == 300 << 20), warm.status()["memory"]
        assert engines.within(SOON, lambda: warm.status()["running"] == 0)
        status, metrics = warm.status(), ask(path, "GET", "/metrics").body.decode()
        counted = {name: int(re.search(rf'sandbox_run_startups_total{{startup="{name}"}} (\d+)', metrics).group(1))
                   for name in ("cold", "forked", "parked")}
        assert counted["parked"] >= 1
        assert {name: status[f"{name}_total"] for name in counted} == counted, (status, counted)


def test_the_share_is_a_setting_and_an_option(tmp_path):
    home = tmp_path / "config" / "sandbox-run"
    home.mkdir(parents=True)
    setting = home / "config.yaml"
    env = {"XDG_CONFIG_HOME": str(home.parent)}
    for text, options, share in (("25", (), 25), ("25", ("--share", "75"), 75), (None, (), 50)):
        setting.write_text(f"engine:\n  share: {text}\n" if text else "# none\n")
        with engines.Engine(tmp_path / "e", options=["--warm", "", *options], env=env, caller=support.available_callers()[0]) as warm:
            assert warm.status()["share"] == share
    setting.write_text("engine: {share: 101}\n")
    done = support.sandbox_run("serve", env={**env, "SANDBOX_RUN_SOCKET": str(tmp_path / "e" / "engine.sock")}, timeout=SOON)
    assert done.returncode == 125 and b"engine.share '101'" in done.stderr, done
