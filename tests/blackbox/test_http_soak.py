"""Many clients that leave, and gateways that are killed: nothing is doubled or left over, and the audit holds."""
import collections
import concurrent.futures
import contextlib
import hashlib
import http.client
import json
import os
import random
import struct
import subprocess
import threading

import engine
import gateway
import support

REQUESTS = int(os.environ.get("SOAK_REQUESTS", "40"))  # 10,000 by `make soak`
KILLS = 2 if REQUESTS > 1000 else 1  # of the gateway, and of the engine beside it in a long run
AT_ONCE = 64
PATIENCE_S = support.DEADLINE + REQUESTS / 4
ASK_S = 0.05  # between two questions of a client that was cut off or refused
LEAVES = 0.2  # of the clients
IDLE = 200
IDLE_KIB = 20


def settings(folder, text):
    place = folder / "config" / "sandbox-run"
    place.mkdir(parents=True)
    (place / "config.yaml").write_text(text)
    (place / "config.yaml").chmod(0o600)
    return {"XDG_CONFIG_HOME": str(folder / "config")}


class Client:
    """One request.  A client that was cut off or refused asks again, with the same key, until it has its answer."""

    def __init__(self, running, number, leaves):
        self.running, self.number, self.leaves = running, number, leaves
        self.id, self.cut_off = None, 0

    def ask(self):
        """True when it is done."""
        connection = self.running.connect()
        with contextlib.closing(connection):
            try:
                connection.request("POST", "/v1/executions", json.dumps({"args": ["sh", "-c", f"echo {self.number}"]}),
                                   {"Content-Type": "application/json", "Idempotency-Key": f"soak-{self.number}"})
                if self.leaves:
                    return True
                reply = connection.getresponse()
                body = json.loads(reply.read())
            except (OSError, http.client.HTTPException):
                self.cut_off += 1
                return False
        assert reply.status in (200, 429, 503), body
        if reply.status != 200:
            return False
        if KILLS > 1 and body["outcome"] != "exited":  # its engine was killed; the key has this result now
            self.id, self.cut_off = body["id"], self.cut_off + 1
            return True
        assert body["stdout"] == f"{self.number}\n", body
        self.id = body["id"]
        return True

    def run(self):
        assert engine.within(PATIENCE_S, self.ask, look_s=ASK_S), self.number
        return self


def kill(running):
    """Without a word; nothing of it is left then."""
    left, groups = gateway.runs_of(running), engine.groups_of(running.process.pid)
    pid = running.process.pid
    running.process.kill()
    running.process.wait()
    running.process.stderr.close()
    assert engine.within(30, lambda: not [child for child in left if os.path.exists(f"/proc/{child}")])
    assert engine.within(30, lambda: not engine.groups_of(pid) and not any(map(os.path.exists, groups)))


def ask_many(clients, harm):
    """All of them at once as far as AT_ONCE goes; `harm` is done when half of them have an answer."""
    seen = threading.Semaphore(0)
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        asked = [pool.submit(client.run) for client in clients]
        for future in asked:
            future.add_done_callback(lambda _: seen.release())
        for _ in range(len(asked) // 2):
            assert seen.acquire(timeout=PATIENCE_S)
        harm()
        for future in asked:
            future.result(PATIENCE_S)


def audited(running):
    """The runs on record, once the chain is found to be whole."""
    verified = subprocess.run([support.SANDBOX_RUN, "audit", "verify"], env=running.env, capture_output=True, text=True)
    assert verified.returncode == 0, verified.stdout + verified.stderr
    rows = subprocess.run([support.SANDBOX_RUN, "audit", "export"], env=running.env, capture_output=True, check=True).stdout
    return [row for row in map(json.loads, rows.splitlines()) if "kind" not in row]


@contextlib.contextmanager
def warm_engine(folder):
    """Only a long run has one: it is killed as well."""
    if KILLS < 2:
        yield None, {}
        return
    with engine.Engine(folder) as warm:
        yield warm, warm.variables()


def digest_of(number):
    """As the audit has it: of a command's words."""
    words = ["sh", "-c", f"echo {number}"]
    data = struct.pack("=QQ", 2**64 - 1, 0) + b"".join(struct.pack("=Q", len(word)) + word.encode() for word in words)
    return hashlib.sha256(data).hexdigest()


def test_clients_leave_and_a_gateway_is_killed(tmp_path):
    chance, clients = random.Random(22), []
    with warm_engine(tmp_path / "engine") as (warm, variables):
        env = {**settings(tmp_path, "audit: true\n"), **variables}
        running = gateway.Gateway(tmp_path / "g", env=env).__enter__()

        def kill_gateway():
            kill(running)
            assert audited(running)
            running.__enter__()

        def kill_engine():
            assert not warm.kill()
            warm.restart()

        harms = ([kill_gateway, kill_engine] if warm else [kill_gateway]) * KILLS + [lambda: None]
        for part, harm in enumerate(harms):
            numbers = range(part * REQUESTS // len(harms), (part + 1) * REQUESTS // len(harms))
            clients += [Client(running, number, chance.random() < LEAVES) for number in numbers]
            ask_many(clients[numbers[0]:], harm)
        assert gateway.children_are_gone(running)
        running.__exit__(None, None, None)
    waited = [client for client in clients if not client.leaves]
    rows = audited(running)
    times, runs = collections.Counter(row["id"] for row in rows), collections.Counter(row["program_sha256"] for row in rows)
    assert all(client.id for client in waited) and len({client.id for client in waited}) == len(waited), "none is lost"
    assert all(times[client.id] == 1 and runs[digest_of(client.number)] for client in waited), "each is on record"
    doubled = [client.number for client in clients if runs[digest_of(client.number)] > 1 + client.cut_off]
    assert not doubled, "only what was cut off runs again"
    if KILLS > 1:
        print(f"{len(clients)} requests, {len(waited)} waited, {sum(client.cut_off for client in clients)} cut off")


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
