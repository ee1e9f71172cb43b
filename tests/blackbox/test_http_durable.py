"""Asynchronous jobs outlive the gateway: each that was accepted has one answer, and none that had begun begins again."""
import concurrent.futures
import contextlib
import http.client
import http.server
import json
import os
import queue
import random
import signal
import socketserver
import sqlite3
import subprocess
import threading
import time

import pytest

import engine
import gateway
import support

JOBS = int(os.environ.get("SBR_DURABLE_JOBS", "200"))
LOST = "the run was lost when the gateway was killed: it had begun, so it is not run again"
PROGRESS_S = 300  # from one kill to the next
SMALL = {"memory": "32m"}  # without an engine memory is reserved
CONFIG = """
http:
  roots:
    - {{tenant: local, name: out, path: {out}, mode: rw}}
    - {{tenant: me, name: out, path: {out}, mode: rw}}
"""


class Lives(gateway.Gateway):
    """A gateway that is killed and started again, with the same state and the same socket."""

    def __init__(self, folder, options=(), hooks=False, env=None):
        self.out = folder / "out"
        settings = folder / "config" / "sandbox-run" / "config.yaml"
        for path in (folder, self.out, settings.parent):
            path.mkdir(parents=True, exist_ok=True)
        for path in (folder, folder.parent, folder.parent.parent):
            path.chmod(0o755)
        settings.write_text(CONFIG.format(out=self.out))
        settings.chmod(0o600)
        super().__init__(folder / "g", options, env={"XDG_CONFIG_HOME": str(folder / "config"), **(env or {})}, hooks=hooks)
        self.private.append(str(self.out))

    def kill(self):
        """At once, with everything that runs."""
        self.process.kill()
        self.process.wait()
        self.process.stderr.close()
        self.address = None

    def stop(self):
        """As an operator does; what it said."""
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(gateway.END_S + 20) == 0
        said = self.process.stderr.read()
        self.process.stderr.close()
        self.address = None
        return said

    def again(self, kill=True):
        if kill:
            self.kill()
        else:
            self.stop()
        return self.__enter__()

    def post(self, body, path="/v1/executions", **rest):
        return self.ask("POST", path, body, Prefer="respond-async", **rest)

    def begin(self, body, **rest):
        """Where an asynchronous job is."""
        reply = self.post(body, **rest)
        assert reply.status == 202, reply.body
        return reply.headers["Location"]

    def end_of(self, where, **rest):
        """What is known of it when it is over."""
        last = []

        def is_over():
            last[:] = [self.ask("GET", where, **rest)]
            assert last[0].status == 200, (where, last[0].body)
            return last[0].json()["status"] in ("done", "failed")

        assert engine.within(60, is_over), last[0].body
        return last[0].json()


@pytest.fixture(name="lives")
def _lives(tmp_path):
    with Lives(tmp_path / "d") as running:
        yield running


def marks(lives, name):
    """How often a program of this name began."""
    path = lives.out / name
    return len(path.read_text().split()) if path.exists() else 0


def marking(name, then=""):
    return {"args": ["sh", "-c", f"echo x >> /o/{name}; {then}"], "volumes": ["out:/o:rw"], "limits": SMALL}


def test_a_result_is_there_after_a_kill(lives):
    where = lives.begin({"language": "bash", "code": "echo one; echo two >&2; exit 4", "limits": SMALL})
    before = lives.end_of(where)
    events = lives.ask("GET", where + "/events", Accept="application/x-ndjson").body.decode().splitlines()
    lives.again()
    assert lives.ask("GET", where).json() == before and before["result"]["exit_code"] == 4
    rows = lives.ask("GET", "/v1/executions").json()["executions"]
    assert [row["id"] for row in rows] == [before["id"]] and "result" not in rows[0]
    # The events of before are gone, and their number is known; the end is there, however much a reader has.
    after = [json.loads(line) for line in
             lives.ask("GET", where + "/events", Accept="application/x-ndjson").body.decode().splitlines()]
    assert [event["type"] for event in after] == ["lost", "end"] and after[0]["events"] == len(events) - 1
    assert after[1]["seq"] == len(events) - 1 and after[1]["result"] == before["result"]
    for last in (after[1]["seq"] - 1, after[1]["seq"] + 7):
        again = lives.ask("GET", where + "/events", Accept="application/x-ndjson", Last_Event_ID=str(last))
        assert json.loads(again.body)["type"] == "end"
    assert lives.ask("DELETE", where).status == 202 and lives.ask("GET", where).json() == before
    assert lives.ask("POST", where + "/stdin", b"x").status == 409


def test_what_had_begun_is_lost_and_not_run_again(lives):
    where = lives.begin(marking("slow", "sleep 600"))
    assert engine.within(30, lambda: marks(lives, "slow"))
    assert lives.ask("GET", where).json()["status"] == "running"
    lives.again()
    end = lives.end_of(where)
    assert end["status"] == "failed" and end["result"]["error"]["message"] == LOST, end
    events = lives.ask("GET", where + "/events", Accept="application/x-ndjson").body.decode().splitlines()
    assert json.loads(events[-1])["type"] == "end" and LOST in events[-1]
    lives.again()
    assert lives.ask("GET", where).json() == end and marks(lives, "slow") == 1


def test_a_key_holds_across_restarts(lives):
    body = marking("once")
    first = lives.post(body, Idempotency_Key="k1")
    end = lives.end_of(first.headers["Location"])
    for kill in (True, False):
        lives.again(kill)
        again = lives.post(body, Idempotency_Key="k1")
        assert again.status == 202 and again.headers["Location"] == first.headers["Location"]
        assert again.headers["Idempotent-Replayed"] == "true" and again.json() == end
        other = lives.post(marking("other"), Idempotency_Key="k1")
        assert other.status == 422 and other.json()["code"] == "idempotency_key"
    assert marks(lives, "once") == 1 and marks(lives, "other") == 0


def test_a_large_request_is_begun_after_a_kill(tmp_path):
    """Its body is read by a thread, and the text of it is put on record."""
    lives, large = Lives(tmp_path / "d", hooks=True), {"language": "bash", "code": "#" * 300000 + "\necho $((6*7))",
                                                       "limits": SMALL}
    lives.env["SANDBOX_RUN_TEST_KILL"] = "accepted:1"
    lives.__enter__()
    with contextlib.suppress(OSError, http.client.HTTPException):
        lives.post(large, Idempotency_Key="k")
    lives.process.wait(support.DEADLINE)
    lives.process.stderr.close()
    del lives.env["SANDBOX_RUN_TEST_KILL"]
    with lives:
        assert lives.end_of(lives.begin(large, Idempotency_Key="k"))["result"]["stdout"] == "42\n"


def test_an_end_by_signal_waits_for_what_runs(lives):
    where = lives.begin(marking("ends", "sleep 2; echo done"))
    assert engine.within(30, lambda: marks(lives, "ends"))
    assert "http: " not in lives.stop()
    lives.__enter__()
    assert lives.end_of(where)["result"]["stdout"] == "done\n" and marks(lives, "ends") == 1


@pytest.mark.parametrize("moment, count", [("accepted", 1), ("begun", 0)])
def test_killed_between_acceptance_and_beginning(tmp_path, moment, count):
    """What was only accepted is begun by the next gateway; what was to begin, on record, is lost."""
    lives = Lives(tmp_path / "d", hooks=True)
    lives.env["SANDBOX_RUN_TEST_KILL"] = f"{moment}:1"
    lives.__enter__()
    with contextlib.suppress(OSError, http.client.HTTPException):  # the reply may be on its way
        lives.post(marking("m"), Idempotency_Key="k")
    lives.process.wait(support.DEADLINE)
    lives.process.stderr.close()
    del lives.env["SANDBOX_RUN_TEST_KILL"]
    with lives:
        assert [row["status"] for row in lives.ask("GET", "/v1/executions").json()["executions"]] != []
        end = lives.end_of(lives.post(marking("m"), Idempotency_Key="k").headers["Location"])
        assert end["status"] == ("done" if count else "failed") and marks(lives, "m") == count, end
        assert count or LOST in str(end)
        assert len(lives.ask("GET", "/v1/executions").json()["executions"]) == 1


def accepted_only(lives, body, path, **rest):
    """A batch is on record when the gateway is killed, and none of its runs has begun."""
    lives.env["SANDBOX_RUN_TEST_KILL"] = "accepted:1"
    lives.__enter__()
    with contextlib.suppress(OSError, http.client.HTTPException):
        lives.post(body, path, **rest)
    lives.process.wait(support.DEADLINE)
    lives.process.stderr.close()
    del lives.env["SANDBOX_RUN_TEST_KILL"]


def test_what_is_begun_again_is_counted(tmp_path):
    """One at a time, as the gateway that begins them is told; a large batch, which a thread reads."""
    lives = Lives(tmp_path / "d", hooks=True)
    run = marking("n", "test $(wc -l < /o/n) -eq $(($(wc -l < /o/over) + 1)) || echo two; echo x >> /o/over")
    (lives.out / "over").touch(mode=0o666)
    accepted_only(lives, {"requests": [{**run, "env": {"LARGE": "x" * 100000}}] * 4}, "/v1/batch", Idempotency_Key="b")
    lives.options = [*lives.options, "--running", "1"]
    with lives:
        where = [f"/v1/executions/{row['id']}" for row in lives.ask("GET", "/v1/executions").json()["executions"]]
        ends = [lives.end_of(one) for one in where]
        assert [end["result"]["stdout"] for end in ends] == [""] * 4 and marks(lives, "n") == 4
        again = lives.post({"requests": [run] * 4}, "/v1/batch", Idempotency_Key="b")
        assert again.status == 422 and lives.ask("POST", "/v1/executions", {"args": ["true"]}).status == 200


def test_a_token_that_is_revoked_ends_what_was_begun_again(tmp_path):
    """What runs is held by the token, and what waits for room begins no more."""
    lives = Lives(tmp_path / "d", hooks=True)
    me, same = lives.token("me"), lives.token("second", "--tenant", "me")
    accepted_only(lives, {"requests": [marking("n", "sleep 600")] * 2}, "/v1/batch", token=me)
    lives.options = [*lives.options, "--running", "1"]
    with lives:
        assert engine.within(30, lambda: marks(lives, "n"))
        subprocess.run([support.SANDBOX_RUN, "token", "revoke", "me"], env=lives.env, check=True, capture_output=True,
                       timeout=support.DEADLINE)
        where = [f"/v1/executions/{row['id']}" for row in
                 lives.ask("GET", "/v1/executions", token=same).json()["executions"]]
        ends = [lives.end_of(one, token=same) for one in where]
        assert sorted(end["status"] for end in ends) == ["done", "failed"] and marks(lives, "n") == 1, ends
        assert {end["outcome"] for end in ends} >= {"cancelled"}
        assert [end for end in ends if "revoked" in end["result"].get("error", {}).get("message", "")]


def test_a_revoked_token_begins_nothing_after_a_restart(tmp_path):
    lives = Lives(tmp_path / "d", hooks=True)
    me = lives.token("me")
    lives.env["SANDBOX_RUN_TEST_KILL"] = "accepted:1"
    lives.__enter__()
    with contextlib.suppress(OSError, http.client.HTTPException):
        lives.post(marking("m"), token=me)
    lives.process.wait(support.DEADLINE)
    lives.process.stderr.close()
    del lives.env["SANDBOX_RUN_TEST_KILL"]
    subprocess.run([support.SANDBOX_RUN, "token", "revoke", "me"], env=lives.env, check=True, capture_output=True,
                   timeout=support.DEADLINE)
    other, same = lives.token("other"), lives.token("second", "--tenant", "me")
    with lives:
        assert lives.ask("GET", "/v1/executions", token=me).status == 401
        assert lives.ask("GET", "/v1/executions", token=other).json()["executions"] == []
        row = lives.ask("GET", "/v1/executions", token=same).json()["executions"][0]
        end = lives.end_of(f"/v1/executions/{row['id']}", token=same)
        assert end["status"] == "failed" and "revoked" in end["result"]["error"]["message"] and not marks(lives, "m")


def test_other_tenants_see_nothing(lives):
    me, other = lives.token("me"), lives.token("other")
    where = lives.begin(marking("mine"), token=me, Idempotency_Key="k")
    batch = lives.post({"requests": [marking("b")]}, "/v1/batch", token=me).headers["Location"]
    lives.end_of(where, token=me)
    lives.again()
    assert lives.ask("GET", where, token=me).status == lives.ask("GET", batch, token=me).status == 200
    for path in (where, where + "/events", batch):
        assert lives.ask("GET", path, token=other).status == 404 == lives.ask("GET", path).status
    for path in (where, batch):
        assert lives.ask("DELETE", path, token=other).status == 404
    assert lives.ask("GET", "/v1/executions", token=other).json()["executions"] == []
    new = lives.post(marking("theirs"), token=other, Idempotency_Key="k")  # their key is another
    assert "Idempotent-Replayed" not in new.headers and new.headers.get("Location") != where


def test_batches_go_on(lives):
    body = {"requests": [marking("b0", "echo 0"), marking("b1", "sleep 600"), {"args": ["false"], "limits": SMALL}]}
    first = lives.post(body, "/v1/batch", Idempotency_Key="b")
    where, about = first.headers["Location"], first.json()
    assert first.status == 202 and about["total"] == 3 == len(about["executions"]) and "results" not in about
    assert engine.within(30, lambda: lives.ask("GET", where).json()["over"] == 2 and marks(lives, "b1"))
    lives.again()
    end = lives.end_of(where)
    assert end["executions"] == about["executions"] and end["created"]
    assert [row.get("outcome") for row in end["results"]] == ["exited", "internal_error", "exited"]
    assert end["results"][0]["stdout"] == "0\n" and end["results"][1]["error"]["message"] == LOST
    again = lives.post(body, "/v1/batch", Idempotency_Key="b")
    assert (again.status, again.headers["Location"], again.json()) == (202, where, end)
    assert again.headers["Idempotent-Replayed"] == "true"
    assert lives.post({"requests": [marking("x")]}, "/v1/batch", Idempotency_Key="b").status == 422
    assert marks(lives, "b0") == marks(lives, "b1") == 1 and not marks(lives, "x")
    where = lives.post({"requests": [marking("c", "sleep 600")] * 2}, "/v1/batch").headers["Location"]
    assert lives.ask("DELETE", where).status == 202
    assert [row["outcome"] for row in lives.end_of(where)["results"]] == ["cancelled"] * 2
    assert lives.ask("POST", "/v1/batch", {"requests": [{"args": ["true"]}]}).json()["results"][0]["exit_code"] == 0


def database(lives):
    return next(lives.folder.glob("state/gateway-jobs/*.db"))


def test_nothing_else_can_read_the_record(lives):
    where = lives.begin({"language": "bash", "code": "echo secret-word", "limits": SMALL})
    lives.end_of(where)
    for path in database(lives).parent.iterdir():
        assert path.stat().st_mode & 0o77 == 0, path
    lives.stop()
    assert b"echo secret-word" not in database(lives).read_bytes()  # the request is gone when its run has begun
    lives.__enter__()


def flip(path, word):
    """One bit of the word in the file."""
    data = bytearray(path.read_bytes())
    at = data.index(word)
    data[at] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("damage", ["garbage", "cut", "empty", "bit", "trigger", "directory"])
def test_a_damaged_record_is_not_trusted(lives, damage):
    where = lives.begin({"language": "bash", "code": "echo word-of-the-result; head -c 200000 /dev/zero | tr '\\0' x",
                         "limits": SMALL})
    lives.end_of(where)
    lives.stop()
    path = database(lives)
    if damage == "garbage":
        path.write_bytes(os.urandom(100000))
    elif damage == "cut":
        path.write_bytes(path.read_bytes()[:150000])
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "bit":
        flip(path, b"word-of-the-result")
    elif damage == "directory":
        path.unlink()
        path.mkdir()
    else:
        with contextlib.closing(sqlite3.connect(path)) as db:
            db.execute("CREATE TRIGGER t AFTER INSERT ON jobs BEGIN DELETE FROM jobs; END")
            db.commit()
    lives.__enter__()
    assert lives.ask("GET", where).status == 404
    if damage == "directory":
        reply = lives.post(marking("m"))
        assert reply.status == 503 and reply.json()["code"] == "joblog" and not marks(lives, "m")
        assert lives.run({"args": ["true"], "limits": SMALL})["exit_code"] == 0
        path.rmdir()
        return
    assert (path.with_name(path.name + ".damaged")).exists() == (damage in ("garbage", "cut", "trigger"))
    new = lives.end_of(lives.begin(marking("m")))
    assert new["status"] == "done" and marks(lives, "m") == 1
    lives.again()
    assert lives.ask("GET", f"/v1/executions/{new['id']}").json() == new


def test_a_record_that_is_damaged_meanwhile_is_made_anew(lives):
    before = lives.begin(marking("a"))
    lives.end_of(before)
    # The log becomes a part of the file, which is damaged then: the next look at it finds that.
    assert engine.within(30, lambda: not database(lives).with_name(database(lives).name + "-wal").stat().st_size)
    with open(database(lives), "r+b") as file:
        file.write(os.urandom(file.seek(0, os.SEEK_END)))
        file.seek(0)
        file.write(os.urandom(65536))
    replies = []
    assert engine.within(30, lambda: replies.append(lives.post(marking("b"))) or replies[-1].status == 202), replies
    assert all(reply.status in (202, 503) for reply in replies)
    where = replies[-1].headers["Location"]
    end = lives.end_of(where)
    assert end["status"] == "done" and marks(lives, "b") == 1
    lives.again()
    assert lives.ask("GET", where).json() == end


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_full_disk_refuses_jobs_and_forgets_none(tmp_path):
    lives, disk = Lives(tmp_path / "d"), tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,mode=700", "tmpfs", disk], check=True)
    lives.env["SANDBOX_RUN_STATE"] = str(disk / "state")
    lives.private.append(str(disk))
    try:
        with lives:
            where = lives.begin(marking("a", "while [ ! -e /o/go ]; do sleep 0.02; done; head -c 50000 /dev/zero | tr '\\0' x"))
            assert engine.within(30, lambda: marks(lives, "a"))
            with open(disk / "filler", "wb", buffering=0) as file, contextlib.suppress(OSError):
                while True:
                    file.write(bytes(4096))
            reply = lives.post({**marking("b"), "env": {"X": "x" * 30000}})
            assert reply.status == 503 and reply.json()["code"] == "joblog" and reply.headers["Retry-After"], reply.body
            (lives.out / "go").touch()
            assert lives.run({"args": ["true"], "limits": SMALL})["exit_code"] == 0  # nothing else needs the disk
            (disk / "filler").unlink()
            end = lives.end_of(where)
            assert end["status"] == "done" and not marks(lives, "b")
            lives.again()
            assert lives.ask("GET", where).json() == end and marks(lives, "a") == 1
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_result_that_is_too_large_is_not_kept(lives):
    where = lives.begin({"args": ["sh", "-c", "head -c 70000000 /dev/zero | tr '\\0' x"],
                         "limits": {"memory": "64m", "output_bytes": 80000000}})
    before = lives.end_of(where)
    assert len(before["result"]["stdout"]) == 70000000
    lives.again()
    after = lives.end_of(where)
    assert after["status"] == "failed" and "64 MiB" in after["result"]["error"]["message"]


def runs_of(name):
    """Every third job is a batch of two runs."""
    return [f"{name}-{part}" for part in "ab"] if int(name[1:]) % 3 == 0 else [name]


class Crowd:
    """Clients that want each of their jobs once, whatever becomes of the gateway; they repeat with the same key."""
    ROUND = 10

    def __init__(self, lives, jobs):
        self.lives, self.left = lives, queue.Queue()
        self.where, self.ends = {}, {}  # by name; each is written once, by one thread
        self.over = False
        for at in range(0, len(jobs), self.ROUND):
            self.left.put(jobs[at:at + self.ROUND])

    def work(self):
        with contextlib.suppress(queue.Empty):
            while names := self.left.get_nowait():
                for step in (self.accept, self.end):
                    for name in names:
                        while not step(name) and not self.over:
                            time.sleep(0.01)  # there is no gateway now, or no room: nothing to wait for

    @contextlib.contextmanager
    def at_work(self):
        """What one of them finds wrong is raised here, not waited for."""
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            self.workers = [pool.submit(self.work) for _ in range(4)]
            try:
                yield
                for one in self.workers:
                    one.result()
            finally:
                self.over = True

    def come_to(self, at, look_s):
        """Until so many jobs were accepted."""
        assert engine.within(PROGRESS_S, lambda: len(self.where) >= at or any(one.done() for one in self.workers), look_s)
        for one in self.workers:
            if one.done():
                one.result()

    def asked(self, *words, **rest):
        with contextlib.suppress(OSError, http.client.HTTPException):
            return self.lives.ask(*words, **rest)
        return None

    def post(self, name):
        runs = [marking(run) for run in runs_of(name)]
        path, body = ("/v1/batch", {"requests": runs}) if len(runs) > 1 else ("/v1/executions", runs[0])
        return "POST", path, body

    def accept(self, name):
        reply = self.asked(*self.post(name), Prefer="respond-async", Idempotency_Key=name)
        assert not reply or reply.status in (202, 409, 429, 503), reply.body
        if reply and reply.status == 202:
            self.where[name] = reply.headers["Location"]
        return name in self.where

    def end(self, name):
        reply = self.asked("GET", self.where[name])
        assert not reply or reply.status == 200, (name, reply.body)
        if reply and reply.json()["status"] in ("done", "failed"):
            self.ends[name] = reply.json()
        return name in self.ends


@pytest.mark.parametrize("seed", [7])
def test_no_job_is_lost_or_run_twice_by_kills(lives, seed):
    names = [f"j{n}" for n in range(JOBS)]
    crowd, chance = Crowd(lives, names), random.Random(seed)
    kills = sorted(chance.sample(range(1, JOBS), max(6, JOBS // 60)))
    with crowd.at_work():
        for at in kills:
            crowd.come_to(at, 0.0005 * chance.random())
            lives.again()
    lives.again()
    for name in names[-1000:]:  # what was said once is said again; the oldest of thousands are forgotten
        assert lives.ask("GET", crowd.where[name]).json() == crowd.ends[name]
        again = lives.ask(*crowd.post(name), Prefer="respond-async", Idempotency_Key=name)
        assert again.headers["Location"] == crowd.where[name] and again.headers["Idempotent-Replayed"] == "true"
    ends = ends_of(crowd)
    lost = {run for run, end in ends.items() if LOST in end}
    assert all('"outcome": "exited"' in end for run, end in ends.items() if run not in lost), ends
    assert {run: marks(lives, run) for run in ends if run not in lost} == {run: 1 for run in ends if run not in lost}
    assert all(marks(lives, run) <= 1 for run in lost) and len(lost) < len(ends)
    print(f"{JOBS} jobs, {len(ends)} runs, {len(kills)} kills of the gateway: {len(lost)} lost, none twice")


def ends_of(crowd):
    """The text of the result of each run."""
    ends = {}
    for name, end in crowd.ends.items():
        runs = runs_of(name)
        results = end["results"] if len(runs) > 1 else [end["result"]]
        ends.update((run, json.dumps(result)) for run, result in zip(runs, results, strict=True))
    return ends


def strike(lives, warm, which):
    """`kill -9` of the gateway, of its engine, or of both."""
    if which != "gateway":
        warm.process.kill()
        warm.process.wait()
        warm.forget()
    if which != "engine":
        lives.kill()
    if which != "gateway":
        warm.restart()
    if which != "engine":
        lives.__enter__()


def test_no_job_is_lost_or_run_twice_by_kills_of_the_engine(tmp_path):
    """A run of a killed engine had begun, or it is carried out without one."""
    jobs = JOBS // 5
    with engine.Engine(tmp_path / "e", options=["--warm", "python", "--park-min", "1"]) as warm, \
         Lives(tmp_path / "d", env=warm.variables()) as lives:
        crowd, chance = Crowd(lives, [f"e{n}" for n in range(jobs)]), random.Random(11)
        with crowd.at_work():
            for number in range(max(3, jobs // 60)):
                crowd.come_to(jobs * (number + 1) // (max(3, jobs // 60) + 1), 0.0005 * chance.random())
                strike(lives, warm, ("engine", "both", "gateway")[number % 3])
        ends = ends_of(crowd)
        ended = {run: end for run, end in ends.items() if '"outcome": "exited"' not in end}
        assert all("had begun" in end for end in ended.values()), ended
        assert len(crowd.ends) == jobs and len(ended) < len(ends)
        assert {run: marks(lives, run) for run in ends if run not in ended} == {run: 1 for run in ends if run not in ended}
        assert all(marks(lives, run) <= 1 for run in ended)
        print(f"{jobs} jobs, {len(ends)} runs, kills of engine, gateway and both: {len(ended)} lost, none twice")


class Marks(socketserver.StreamRequestHandler):
    """Each program says its name once."""

    def handle(self):
        self.server.seen.append(self.rfile.readline().decode().strip())


NETWORK = "network: {{mode: allow, allow_hosts: ['127.0.0.1:{port}']}}\n"


def test_no_submission_is_lost_or_run_twice_by_kills(tmp_path):
    """A submission of Judge0 has no key: one whose reply was lost is sent again, and is another."""
    jobs = max(12, JOBS // 10)
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Marks) as server:
        server.seen, server.daemon_threads = [], True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        port = server.server_address[1]
        lives, ends = Lives(tmp_path / "d", ["--dialect", "judge0"]), {}
        settings = tmp_path / "d" / "config" / "sandbox-run" / "config.yaml"
        settings.write_text(settings.read_text() + NETWORK.format(port=port))

        def asked(*words):
            with contextlib.suppress(OSError, http.client.HTTPException):
                return lives.ask(*words)
            return None

        def submit(number):
            for attempt in range(1000):
                name = f"{number}.{attempt}"
                code = f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo {name} >&3"
                reply = asked("POST", "/submissions", {"source_code": code, "language_id": 46, "memory_limit": 32768})
                if reply and reply.status == 201:
                    return name, reply.json()["token"]
                assert not reply or reply.status in (429, 503), reply.body
                time.sleep(0.01)  # there is no gateway now, or no room: nothing to wait for
            raise AssertionError("never accepted")

        def work(number):
            name, token = submit(number)

            def is_over():
                reply = asked("GET", f"/submissions/{token}?fields=status,message")
                assert not reply or reply.status == 200, (name, reply.body)
                ends[name] = reply.json() if reply and reply.json()["status"]["id"] > 2 else None
                return ends[name]

            assert engine.within(120, is_over)

        with lives, concurrent.futures.ThreadPoolExecutor(4) as pool:
            all_of_it = [pool.submit(work, number) for number in range(jobs)]
            for part in range(1, 6):
                assert engine.within(120, lambda part=part: sum(one.done() for one in all_of_it) >= jobs * part // 7)
                lives.again()
            for one in all_of_it:
                one.result()
        server.shutdown()
    lost = {name for name, end in ends.items() if end["message"] == LOST}
    assert {end["status"]["id"] for name, end in ends.items() if name not in lost} == {3}, ends
    assert all(server.seen.count(name) == 1 for name in ends if name not in lost) and max(map(server.seen.count, server.seen)) == 1
    print(f"{jobs} submissions, 5 kills: {len(lost)} lost, none twice")


class Receiver(http.server.BaseHTTPRequestHandler):
    """Counts what is PUT to it."""

    def do_PUT(self):  # pylint: disable=invalid-name
        self.server.came.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass


@pytest.fixture(name="receiver")
def _receiver():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as server:
        server.came = queue.Queue()
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def judged(judge, which, **rest):
    """A submission of Judge0 when it is over."""
    last = []

    def is_over():
        last[:] = [judge.ask("GET", f"/submissions/{which}?fields=*", **rest).json()]
        return last[0]["status"]["id"] > 2

    assert engine.within(60, is_over), last
    return last[0]


def judge0(folder, receiver, **rest):
    return Lives(folder, ["--dialect", "judge0", "--allow-callback", f"127.0.0.1:{receiver.server_port}"], **rest)


PYTHON = 71
ECHO = {"language_id": PYTHON, "stdin": "wörd", "memory_limit": 65536, "source_code":
        "import sys\nsys.stdout.write(sys.stdin.read())\nsys.stdout.flush()\nprint('e', file=sys.stderr)"}


def test_judge0_keeps_its_submissions(tmp_path, receiver):
    with judge0(tmp_path / "d", receiver) as judge:
        url = f"http://127.0.0.1:{receiver.server_port}/r"
        me, other = judge.token("me"), judge.token("other")
        plain = judge.ask("POST", "/submissions", ECHO, token=me).json()["token"]
        waited = judge.ask("POST", "/submissions?wait=true", ECHO, token=me).json()["token"]
        both = judge.ask("POST", "/submissions", {**ECHO, "redirect_stderr_to_stdout": True}, token=me).json()["token"]
        many = [row["token"] for row in judge.ask("POST", "/submissions/batch", {"submissions": [ECHO, {
            "language_id": PYTHON, "source_code": "import time\nprint(1, flush=True)\ntime.sleep(9)",
            "memory_limit": 65536, "callback_url": url}]}, token=me).json()]
        done = {token: judged(judge, token, token=me) for token in (plain, waited, both, many[0])}
        assert done[plain]["stdout"] == "wörd" and done[both]["stdout"] == "wörde\n" and not done[both]["stderr"]
        assert engine.within(30, lambda: judge.ask("GET", f"/submissions/{many[1]}", token=me).json()["status"]["id"] == 2)
        judge.again()
        for token, before in done.items():
            assert judge.ask("GET", f"/submissions/{token}?fields=*", token=me).json() == before
            assert judge.ask("GET", f"/submissions/{token}", token=other).status == 404
        lost = judged(judge, many[1], token=me)
        assert lost["status"]["id"] == 13 and lost["message"] == LOST and lost["source_code"]
        assert receiver.came.get(timeout=60)["token"] == many[1]  # its callback says so, once
        rows = judge.ask("GET", f"/submissions/batch?tokens={','.join(many)}", token=me).json()["submissions"]
        assert [row["status"]["id"] for row in rows] == [3, 13]
        assert judge.ask("GET", "/submissions", token=me).json()["meta"]["total_count"] == 5
        assert judge.ask("GET", "/submissions", token=other).json()["meta"]["total_count"] == 0
        assert judge.ask("DELETE", f"/submissions/{plain}", token=other).status == 404
        assert judge.ask("DELETE", f"/submissions/{plain}", token=me).status == 200
        judge.again(kill=False)
        assert judge.ask("GET", f"/submissions/{plain}", token=me).status == 404
        assert judge.ask("GET", f"/submissions/{waited}?fields=*", token=me).json() == done[waited]
        assert judged(judge, many[1], token=me) == lost and receiver.came.empty()


def test_judge0_begins_what_was_only_accepted(tmp_path, receiver):
    judge = judge0(tmp_path / "d", receiver, hooks=True)
    judge.env["SANDBOX_RUN_TEST_KILL"] = "accepted:1"
    judge.__enter__()
    with contextlib.suppress(OSError, http.client.HTTPException):
        judge.ask("POST", "/submissions?base64_encoded=true", {
            **ECHO, "stdin": "AP8=", "callback_url": f"http://127.0.0.1:{receiver.server_port}/r",
            "source_code": "aW1wb3J0IHN5cwpzeXMuc3Rkb3V0LmJ1ZmZlci53cml0ZShzeXMuc3RkaW4uYnVmZmVyLnJlYWQoKSk="})
    judge.process.wait(support.DEADLINE)
    judge.process.stderr.close()
    # Its result is on record together with the callback, which is accepted and not begun.
    judge.env["SANDBOX_RUN_TEST_KILL"] = "accepted:2"
    judge.__enter__()
    judge.process.wait(support.DEADLINE)
    judge.process.stderr.close()
    del judge.env["SANDBOX_RUN_TEST_KILL"]
    with judge:
        assert receiver.came.get(timeout=60)["stdout"] == "AP8="
        row = judge.ask("GET", "/submissions?fields=*").json()["submissions"][0]
        assert row["stdout"] == "AP8=" and row["status"]["id"] == 3
    assert receiver.came.empty()


def test_judge0_sends_a_callback_that_was_not_on_record(tmp_path, receiver):
    """A large result is made into a callback by a thread, so that its end may be on record alone."""
    with judge0(tmp_path / "d", receiver) as judge:
        url, large = f"http://127.0.0.1:{receiver.server_port}/r", {**ECHO, "stdin": "x" * 300000}
        for query in ("", "?wait=true"):
            one = judge.ask("POST", "/submissions" + query, {**large, "callback_url": url}).json()["token"]
            assert receiver.came.get(timeout=60)["token"] == one
        both = judge.ask("GET", "/submissions").json()["meta"]["total_count"]
        judge.again(kill=False)
        assert engine.within(30, lambda: len(judge.ask("GET", "/v1/executions").json()["executions"]) == 4)
        judge.stop()
        with contextlib.closing(sqlite3.connect(database(judge))) as record, record:
            assert record.execute("DELETE FROM jobs WHERE fingerprint=?", (one,)).rowcount == 1
        judge.__enter__()
        assert receiver.came.get(timeout=60)["token"] == one and both == 2
        assert judge.ask("DELETE", f"/submissions/{one}").status == 200
    assert receiver.came.empty()
