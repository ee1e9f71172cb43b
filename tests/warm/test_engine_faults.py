"""An engine whose factories, zygotes and clients hang, die or crowd it: every run has its answer, and no run pays for it."""
import contextlib
import os
import pathlib
import resource
import select
import signal
import socket
import subprocess
import tempfile

import pytest

import engine as engines
import support

SOON = 20
LEASE, DONE = 1, 2
COLD, REFUSED = 3, 4
MOST_FRESH = 64  # connections beside those that run and wait
PROGRAM = ("import os, sys; print(os.stat('/proc/self/ns/pid').st_ino, flush=True); sys.stdin.read(); "
           "print('off')")

pytestmark = pytest.mark.skipif(not engines.callers() or support.available_callers()[0] not in engines.callers(),
                                reason="needs an engine of the user who runs the tests")


@contextlib.contextmanager
def serving(place, *words):
    """An engine of ours, so that this process may connect to it."""
    with tempfile.TemporaryDirectory(dir=place) as folder:
        os.chmod(folder, 0o755)
        with engines.Engine(pathlib.Path(folder) / "e", support.available_callers()[0], words) as engine:
            yield engine


class Client:
    """Speaks to the engine as a run does."""

    def __init__(self, engine, layout):
        self.layout = layout
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(SOON)
        self.socket.connect(str(engine.socket))

    def ask(self, what, key=""):
        request = bytearray(self.layout["request"])
        request[0:4] = self.layout["version"].to_bytes(4, "little")
        request[4:8] = what.to_bytes(4, "little")
        request[self.layout["key"]:self.layout["key"] + len(key)] = key.encode()
        self.socket.send(request)
        return self

    def answer(self):
        """The kind of the answer; 0 when the engine has hung up."""
        data, descriptors, _, _ = socket.recv_fds(self.socket, 4096, 64)
        for descriptor in descriptors:
            os.close(descriptor)
        return int.from_bytes(data[4:8], "little")

    def close(self):
        self.socket.close()


@pytest.fixture
def clients(layout):
    """Makes them; all are closed afterwards."""
    with contextlib.ExitStack() as stack:
        yield lambda engine: stack.enter_context(contextlib.closing(Client(engine, layout)))


def pool_of(engine, name):
    return next(pool for pool in engine.status()["pools"] if pool["name"] == name)


def made_by(factory):
    """(pid, pid namespace) of all in the sandboxes that a factory has made."""
    found = []
    with contextlib.suppress(OSError):
        own = os.stat(f"/proc/{factory}/ns/pid").st_ino
        for pid in engines.descendants(factory):
            with contextlib.suppress(OSError):
                found.append((pid, os.stat(f"/proc/{pid}/ns/pid").st_ino))
    return [(pid, namespace) for pid, namespace in found if namespace != own]


def kill(pids):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def zygotes_of(engine):
    """Runtimes that a factory has executed, ready or not."""
    found = []
    for pid in engines.descendants(engine.process.pid):
        with contextlib.suppress(OSError):
            if "python" in os.readlink(f"/proc/{pid}/exe"):
                found.append(pid)
    return found


def cpu_s(engine):
    return int(pathlib.Path(f"/proc/{engine.process.pid}/schedstat").read_text().split()[0]) / 1e9


@contextlib.contextmanager
def few_descriptors(engine):
    """The engine keeps what it has and gets no other."""
    before = resource.prlimit(engine.process.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(engine.process.pid, resource.RLIMIT_NOFILE, (3, before[1]))
    try:
        yield
    finally:
        resource.prlimit(engine.process.pid, resource.RLIMIT_NOFILE, before)


def started(engine, *words):
    line = support.command(*words, caller=engine.caller)
    return subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            env=engine.environment())


@contextlib.contextmanager
def stopped(*pids):
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def kill_ready(engine, name):
    """Until none is left; a stopped factory makes no others."""
    def none_left():
        kill(pid for pid, _ in made_by(pool_of(engine, name)["factory_pid"]))
        return pool_of(engine, name)["parked"] == 0

    assert engines.within(SOON, none_left, engines.ASK_S), engine.status()


@contextlib.contextmanager
def one_queued(place, clients):
    """An engine with one slot, the client that holds it, a run that waits for it, and the pid of the pool's factory."""
    with serving(place, "--slots", "1", "--warm", "command", "--park-min", "1", "--park-max", "1") as engine:
        assert engine.wait_full()
        holder = clients(engine).ask(LEASE)
        assert holder.answer() == COLD
        run = started(engine, "exec", "--quiet", "--", "echo", "1")
        try:
            assert engines.within(SOON, lambda: engine.status()["queued"] == 1, engines.ASK_S)
            yield engine, holder, run, pool_of(engine, "command run")["factory_pid"]
        finally:
            run.kill()
            run.communicate()
        assert engine.wait_full()


def test_who_was_queued_does_not_wait_for_a_factory_that_hangs(place, clients):
    """Nor does anybody later: another factory takes its place."""
    with one_queued(place, clients) as (engine, holder, run, hangs), stopped(hangs):
        kill_ready(engine, "command run")
        holder.close()
        assert run.communicate(timeout=SOON) == (b"1\n", b"")
        assert engines.within(SOON, lambda: pool_of(engine, "command run")["factory_pid"] not in (0, hangs),
                              engines.ASK_S), engine.words()
        assert engines.within(SOON, lambda: not os.path.exists(f"/proc/{hangs}"))
        assert engine.wait_full()


def test_a_factory_that_is_given_up_leaves_its_runs_alone(place):
    """Eight sandboxes are lost in a row, which makes the engine take another factory."""
    with serving(place, "--warm", "python", "--park-min", "2") as engine:
        engine.wait_parked("python")
        first = pool_of(engine, "python run")["factory_pid"]
        run = started(engine, "run", "--quiet", "--lang", "python", "--code", PROGRAM)
        try:
            own = int(run.stdout.readline())
            assert pool_of(engine, "python run")["leased"] == 1

            def given_up():
                if pool_of(engine, "python run")["factory_pid"] == first:
                    kill(pid for pid, namespace in made_by(first) if namespace != own)
                    return False
                return True

            assert engines.within(SOON, given_up, engines.ASK_S), engine.words()
            out, err = run.communicate(timeout=SOON)
            assert (run.returncode, out) == (0, b"off\n"), err
        finally:
            run.kill()
            run.communicate()
        assert engines.within(SOON, lambda: not os.path.exists(f"/proc/{first}"))


def test_without_descriptors_nobody_waits_for_a_sandbox(place, clients):
    """Nothing can be made, and nothing would say when something can."""
    with one_queued(place, clients) as (engine, holder, run, factory), few_descriptors(engine):
        kill(pid for pid, _ in made_by(factory))
        assert engines.within(SOON, lambda: not made_by(factory))
        holder.close()
        assert run.communicate(timeout=SOON) == (b"1\n", b"")


def test_without_descriptors_a_client_waits_and_costs_nothing(place, clients):
    with serving(place, "--warm", "command") as engine:
        assert engine.wait_full()
        with few_descriptors(engine):
            client = clients(engine).ask(LEASE)
            before = cpu_s(engine)
            client.socket.settimeout(1)
            with pytest.raises(TimeoutError):
                client.answer()
            assert cpu_s(engine) - before < 0.03
        client.socket.settimeout(SOON)
        assert client.answer() == COLD
        client.close()


def test_idle_connections_make_room(place, clients):
    """A runtime keeps some for its next runs; here they are all that the engine has."""
    with serving(place, "--slots", MOST_FRESH, "--queue", "0", "--warm", "command") as engine:
        idle = []
        for _ in range(2):
            assert engines.within(SOON, lambda: engine.status()["running"] == 0, engines.ASK_S)
            some = [clients(engine) for _ in range(MOST_FRESH)]
            assert [client.ask(LEASE).answer() for client in some] == [COLD] * MOST_FRESH
            for client in some:
                client.ask(DONE)
            idle += some
        assert engine.result_of("exec", "--", "echo", "1")["stdout"] == "1\n"
        assert engine.status()["refused_total"] == 0
        assert idle[0].answer() == 0 and idle[-1].ask(LEASE).answer() == COLD
        idle[-1].close()


def test_who_is_one_too_many_is_told_so(place, clients):
    """Its request is there when the engine closes the connection, which would be an error instead of an answer."""
    with serving(place, "--slots", "2", "--queue", "0", "--warm", "command") as engine:
        assert engine.wait_full()
        with stopped(engine.process.pid):
            many = [clients(engine) for _ in range(MOST_FRESH + 2)]
            last = clients(engine).ask(LEASE)
        closed = select.poll()
        closed.register(last.socket, select.POLLHUP)
        assert closed.poll(SOON * 1000) and last.answer() == REFUSED
        assert many[0].ask(LEASE).answer() == COLD
        many[0].close()


def test_an_engine_that_is_killed_leaves_no_zygote_that_starts(place):
    """Its factory waits for the zygote, which hangs."""
    for _ in range(5):
        with serving(place, "--warm", "") as engine:
            run = started(engine, "run", "--quiet", "--lang", "python", "--code", "pass")
            assert engines.within(SOON, lambda: zygotes_of(engine), 0.0005), engine.words()
            zygote = zygotes_of(engine)[0]
            with stopped(zygote):
                run.communicate(timeout=SOON)
                starts = pool_of(engine, "python run")["state"] == "starting"
                left = engine.kill()
        if starts:
            assert not left, left
            return
    raise AssertionError("every zygote was faster")
