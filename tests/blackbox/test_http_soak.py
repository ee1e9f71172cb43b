"""Many clients that leave, and gateways that are killed: nothing is doubled or left over, and the audit holds."""
import collections
import concurrent.futures
import contextlib
import http.client
import json
import os
import random
import signal
import subprocess
import threading

import engine
import gateway
import support

REQUESTS = int(os.environ.get("SOAK_REQUESTS", "160"))  # 10,000 in a long run
AT_ONCE = 64
LEAVES = 0.2  # of the clients
IDLE = 200
IDLE_KIB = 20


def settings(folder, text):
    place = folder / "config" / "sandbox-run"
    place.mkdir(parents=True)
    (place / "config.yaml").write_text(text)
    (place / "config.yaml").chmod(0o600)
    return {"XDG_CONFIG_HOME": str(folder / "config")}


def ask(running, number, leaves, answers):
    """One request; `answers` gets its status, or None when the gateway was killed meanwhile."""
    connection = running.connect()
    with contextlib.closing(connection):
        try:
            connection.request("POST", "/v1/executions", json.dumps({"args": ["sh", "-c", f"echo {number}"]}),
                               {"Content-Type": "application/json", "Idempotency-Key": f"soak-{number}"})
            if leaves:
                return
            reply = connection.getresponse()
            body = json.loads(reply.read())
        except (OSError, http.client.HTTPException):
            answers.append((number, None))
            return
    assert reply.status in (200, 429, 503), body
    assert reply.status != 200 or body["stdout"] == f"{number}\n", body
    answers.append((number, body["id"] if reply.status == 200 else reply.status))


def kill(running):
    running.process.kill()
    running.process.wait()
    running.process.stderr.close()


def children_of(running):
    return [pid for pid in engine.descendants(running.process.pid) if os.path.exists(f"/proc/{pid}")]


def test_clients_leave_and_a_gateway_is_killed(tmp_path):
    env = settings(tmp_path, "audit: true\n")
    chance, answers, seen = random.Random(22), [], threading.Semaphore(0)
    running = gateway.Gateway(tmp_path / "g", env=env)
    for half in range(2):
        running.__enter__()
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            asked = [pool.submit(ask, running, half * REQUESTS + n, chance.random() < LEAVES, answers)
                     for n in range(REQUESTS // 2)]
            for future in asked:
                future.add_done_callback(lambda _: seen.release())
            if half == 0:
                for _ in range(REQUESTS // 4):
                    assert seen.acquire(timeout=support.DEADLINE)
                left = children_of(running)
                running.process.send_signal(signal.SIGKILL)
            for future in asked:
                future.result(support.DEADLINE)
        if half == 0:
            kill(running)
            assert engine.within(30, lambda: not [pid for pid in left if os.path.exists(f"/proc/{pid}")])
    assert gateway.children_are_gone(running)
    running.__exit__(None, None, None)
    done = [key for _, key in answers if isinstance(key, str)]
    assert len(done) > REQUESTS // 4 and not [n for n, key in answers if key is None and n >= REQUESTS]
    rows = subprocess.run([support.SANDBOX_RUN, "audit", "export"], env=running.env, capture_output=True, check=True).stdout
    times = collections.Counter(json.loads(line)["id"] for line in rows.splitlines())
    assert all(times[key] == 1 for key in done)
    verified = subprocess.run([support.SANDBOX_RUN, "audit", "verify"], env=running.env, capture_output=True, text=True)
    assert verified.returncode == 0, verified.stdout + verified.stderr


def memory_kib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as lines:
        return int(next(line.split()[1] for line in lines if line.startswith("VmRSS")))


def test_idle_readers_are_cheap_and_the_gateway_gains_no_rights(tmp_path):
    with gateway.Gateway(tmp_path / "g") as running:
        with open(f"/proc/{running.process.pid}/status", encoding="ascii") as lines:
            assert "NoNewPrivs:\t1\n" in lines
        where = running.ask("POST", "/v1/executions", {"language": "bash", "code": "read a"},
                            Prefer="respond-async").headers["Location"]
        with contextlib.ExitStack() as readers:
            def read():
                connection = readers.enter_context(contextlib.closing(running.connect()))
                connection.request("GET", where + "/events", headers={"Accept": "text/event-stream"})
                reply = connection.getresponse()
                assert reply.status == 200 and reply.readline()

            for _ in range(20):
                read()
            before = memory_kib(running.process.pid)
            for _ in range(IDLE):
                read()
            each = (memory_kib(running.process.pid) - before) / IDLE
        assert each <= IDLE_KIB, each
        assert running.ask("DELETE", where).status == 202
