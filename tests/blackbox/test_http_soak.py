"""Many clients that leave, and gateways that are killed: nothing is doubled or left over, and the audit holds."""
import collections
import concurrent.futures
import contextlib
import http.client
import json
import os
import random
import subprocess
import threading

import engine
import gateway
import support

REQUESTS = int(os.environ.get("SOAK_REQUESTS", "40"))  # 10,000 by `make soak`
KILLS = 2 if REQUESTS > 1000 else 1  # of the gateway, and of the engine beside it in a long run
AT_ONCE = 64
PATIENCE_S = support.DEADLINE + REQUESTS / 4
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
    if reply.status == 200 and KILLS > 1 and body["outcome"] != "exited":  # its engine was killed
        answers.append((number, None))
        return
    assert reply.status != 200 or body["stdout"] == f"{number}\n", body
    answers.append((number, body["id"] if reply.status == 200 else reply.status))


def kill(running):
    running.process.kill()
    running.process.wait()
    running.process.stderr.close()


def children_of(running):
    return gateway.runs_of(running)


def ask_many(running, numbers, chance, answers, harm):
    """All of them at once as far as AT_ONCE goes; `harm` is done when half of them have an answer."""
    seen = threading.Semaphore(0)
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        asked = [pool.submit(ask, running, n, chance.random() < LEAVES, answers) for n in numbers]
        for future in asked:
            future.add_done_callback(lambda _: seen.release())
        for _ in range(len(asked) // 2):
            assert seen.acquire(timeout=PATIENCE_S)
        harm()
        for future in asked:
            future.result(PATIENCE_S)


def audited(running):
    """How often each run is on record, once the chain is found to be whole."""
    verified = subprocess.run([support.SANDBOX_RUN, "audit", "verify"], env=running.env, capture_output=True, text=True)
    assert verified.returncode == 0, verified.stdout + verified.stderr
    rows = subprocess.run([support.SANDBOX_RUN, "audit", "export"], env=running.env, capture_output=True, check=True).stdout
    return collections.Counter(json.loads(line)["id"] for line in rows.splitlines())


@contextlib.contextmanager
def warm_engine(folder):
    """Only a long run has one: it is killed as well."""
    if KILLS < 2:
        yield None, {}
        return
    with engine.Engine(folder) as warm:
        yield warm, warm.variables()


def test_clients_leave_and_a_gateway_is_killed(tmp_path):
    chance, answers = random.Random(22), []
    with warm_engine(tmp_path / "engine") as (warm, variables):
        env = {**settings(tmp_path, "audit: true\n"), **variables}
        running = gateway.Gateway(tmp_path / "g", env=env)

        def kill_gateway():
            left = children_of(running)
            kill(running)
            assert engine.within(30, lambda: not [pid for pid in left if os.path.exists(f"/proc/{pid}")])
            assert audited(running)

        parts = [kill_gateway] * KILLS + [lambda: None]
        if warm:
            parts[1:1] = [warm.kill] * KILLS
        each = REQUESTS // len(parts)
        for part, harm in enumerate(parts):
            if running.process is None or running.process.poll() is not None:
                running.__enter__()
            ask_many(running, range(part * each, (part + 1) * each), chance, answers, harm)
            if warm and warm.process is None:
                warm.restart()
        assert gateway.children_are_gone(running)
        running.__exit__(None, None, None)
    done = [key for _, key in answers if isinstance(key, str)]
    last = (len(parts) - 1) * each
    assert len(done) > REQUESTS // 4 and not [n for n, key in answers if key is None and n >= last]
    assert len(set(done)) == len(done), "each request has a run of its own"
    times = audited(running)
    assert all(times[key] == 1 for key in done)
    if KILLS > 1:
        print(f"{len(answers)} of {REQUESTS} waited: {len(done)} done, "
              f"{sum(key is None for _, key in answers)} cut off by a kill")


def memory_kib(running):
    """Of the gateway and its fronts."""
    total = 0
    for pid in (running.process.pid, *gateway.fronts(running)):
        with open(f"/proc/{pid}/status", encoding="ascii") as lines:
            total += int(next(line.split()[1] for line in lines if line.startswith("VmRSS")))
    return total


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
            before = memory_kib(running)
            for _ in range(IDLE):
                read()
            each = (memory_kib(running) - before) / IDLE
        assert each <= IDLE_KIB, each
        assert running.ask("DELETE", where).status == 202
