"""The life of an engine: who may use it, how it ends, what a crash leaves, and that the dead are replaced."""
import contextlib
import os
import pathlib
import random
import select
import signal
import stat
import subprocess
import tempfile

import pytest

import engine as engines
import support

SOON = 20


def in_flight(engine, *words):
    """A run that says, when its program has started, what its pid namespace is, and ends when its stdin does."""
    code = ("import os, sys; print('on', os.stat('/proc/self/ns/pid').st_ino, flush=True); sys.stdin.read(); "
            "print('off')")
    line = support.command("run", "--quiet", *words, "--lang", "python", "--code", code, caller=engine.caller)
    process = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=engine.environment())
    word, _, process.namespace = process.stdout.readline().decode().partition(" ")
    assert word == "on", process.communicate()
    return process


def inside(namespace):
    """Pids, on the host, of those in a pid namespace."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.stat(f"/proc/{pid}/ns/pid").st_ino == int(namespace):
                found.append(int(pid))
        except OSError:
            continue
    return found


@pytest.mark.core
def test_a_run_uses_the_engine_by_itself_and_not_when_told(engine):
    assert engine.wait_parked("python")["startup"] == "parked"
    assert engine.python("pass", "--cold")["startup"] == "cold"
    assert engine.python("pass", env={"SANDBOX_RUN_COLD": "1"})["startup"] == "cold"


def test_the_socket_is_its_owners_only(engine):
    about = os.stat(engine.socket)
    assert stat.S_ISSOCK(about.st_mode) and stat.S_IMODE(about.st_mode) == 0o600
    assert about.st_uid == (support.ORDINARY_UID if engine.caller == "user" else os.geteuid())


def test_another_user_is_not_served(engine, place):
    if len(support.available_callers()) < 2:
        pytest.skip("needs root")
    other = "user" if engine.caller == "root" else "root"
    os.chmod(engine.folder, 0o711)
    os.chmod(engine.socket, 0o666)
    try:
        result = support.python("print(1)", caller=other, env=engine.variables())
    finally:
        os.chmod(engine.socket, 0o600)
        os.chmod(engine.folder, 0o700)
    assert (result["stdout"], result["startup"]) == ("1\n", "cold")


def test_a_second_one_is_refused(engine):
    done = support.sandbox_run("serve", caller=engine.caller, env=engine.variables(), timeout=SOON)
    assert done.returncode != 0 and done.stderr
    engine.answers()


def test_its_status_is_told(engine):
    engine.wait_parked("python")
    status = engine.status()
    assert "python" in str(status), status


@pytest.mark.core
def test_sigterm_lets_what_runs_come_to_its_end(own_engine):
    own_engine.wait_parked("python")
    running = in_flight(own_engine)
    pid = os.pidfd_open(own_engine.process.pid)
    own_engine.process.terminate()
    assert not select.select([pid], [], [], 0.2)[0], "it did not wait for the run"
    out, _ = running.communicate(timeout=SOON)
    assert (out, running.returncode) == (b"off\n", 0)
    assert own_engine.process.wait(SOON) == 0
    os.close(pid)


@pytest.mark.core
def test_a_crash_ends_its_sandboxes_and_leaves_nothing(own_engine):
    own_engine.wait_parked("python")
    running = in_flight(own_engine)
    left = own_engine.kill()
    assert not left, left
    running.communicate(timeout=SOON)  # it has an answer, whatever it is
    assert not inside(running.namespace)
    result = own_engine.python("print(1)")
    assert (result["stdout"], result["startup"]) == ("1\n", "cold")
    own_engine.restart()
    own_engine.wait_parked("python")


def test_one_that_dies_while_it_is_parked_is_replaced(own_engine):
    """Whatever it is: a worker, its zygote, its factory.

    One that dies in the moment of its lease takes the run along, so it has to be gone first."""
    own_engine.wait_parked("python")
    chance = random.Random(8)
    for _ in range(12):
        assert engines.within(SOON, lambda: engines.descendants(own_engine.process.pid)), own_engine.words()
        victim = chance.choice(engines.descendants(own_engine.process.pid))
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:
            continue
        assert engines.within(SOON, lambda: victim not in engines.descendants(own_engine.process.pid))
        result = own_engine.python("print(1)")
        assert result["stdout"] == "1\n", result
    own_engine.wait_parked("python")


def test_a_client_that_is_killed_takes_its_run_along(engine):
    engine.wait_parked("python")
    running = in_flight(engine)
    assert inside(running.namespace)
    running.kill()
    running.communicate(timeout=SOON)
    assert engines.within(SOON, lambda: not inside(running.namespace)), inside(running.namespace)
    engine.answers()


def test_a_client_that_says_nothing_or_nonsense_is_no_burden(engine):
    code = """import socket, sys
for words in (b"", b"x", b"\\0" * 8, b"\\xff" * 400, b"A" * 65536):
    client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    client.connect(sys.argv[1])
    try:
        client.send(words)
    except OSError:
        pass
    client.close()
silent = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(20)]
for client in silent:
    client.connect(sys.argv[1])
"""
    as_user = engine.caller == "user" and os.geteuid() == 0
    subprocess.run([*(support.AS_ORDINARY if as_user else []), "python3", "-c", code, engine.socket], check=True,
                   timeout=SOON)
    engine.answers()


def test_many_at_once_are_all_answered(engine):
    line = support.command("run", "--quiet", "--lang", "python", "--code", "print(1)", caller=engine.caller)
    many = [subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=engine.environment())
            for _ in range(40)]
    assert [process.communicate(timeout=support.DEADLINE)[0] for process in many] == [b"1\n"] * 40
    engine.answers()


def test_twelve_runs_that_wait_for_one_another_all_start(engine):
    """Each says that it has started, and none ends before all have: with fewer places they would wait forever."""
    words = support.command("exec", "--quiet", "--", "sh", "-c", "echo on; read line", caller=engine.caller)
    running = []
    try:
        for _ in range(12):
            running.append(subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            env=engine.environment()))
        for process in running:
            assert select.select([process.stdout], [], [], SOON)[0] and process.stdout.readline() == b"on\n"
        assert engine.status()["running"] >= 12
    finally:
        for process in running:
            process.communicate(b"\n", timeout=SOON)
    assert not any(process.returncode for process in running)


def test_one_in_the_background_is_started_and_stopped(place):
    caller = engines.somebody()[0]
    found = engines.Engine(place / "background", caller)
    found.folder.mkdir(mode=0o700)
    if caller == "user" and os.geteuid() == 0:
        os.chown(found.folder, support.ORDINARY_UID, support.ORDINARY_UID)
    none = support.sandbox_run("serve", "--stop", caller=caller, env=found.variables())
    assert (none.returncode, b"no engine is running" in none.stderr) == (1, True)
    done = support.sandbox_run("serve", "--daemon", "--warm", "command", caller=caller, env=found.variables())
    try:
        assert done.returncode == 0 and done.stderr.startswith(b"ready, socket "), done.stderr
        pidfd = os.pidfd_open(found.status()["pid"])
        second = support.sandbox_run("serve", "--daemon", caller=caller, env=found.variables())
        assert second.returncode == 125 and second.stderr.startswith(b"sandbox-run: engine: ")
    finally:
        stopped = support.sandbox_run("serve", "--stop", caller=caller, env=found.variables())
    assert (stopped.returncode, stopped.stderr) == (0, b"")
    assert select.select([pidfd], [], [], 0)[0] and not found.socket.exists()
    os.close(pidfd)


def test_who_has_no_control_groups_is_served_cold(place):
    without = [caller for caller in support.available_callers() if caller not in engines.callers()]
    if not without:
        pytest.skip("everybody has them")
    with engines.Engine(place / "without", without[0]) as found:
        for _ in range(3):
            assert found.answers()["startup"] == "cold"
        assert "no sandbox can be kept ready here, so every run starts cold: " in found.words()
        assert "cgroup" in found.status()["why_cold"]
        shown = support.sandbox_run("serve", "--status", caller=without[0], env=found.variables()).stdout
        assert b"parked   nothing, every run starts cold: " in shown


# Groups that nobody is in


@pytest.fixture(params=engines.somebody())
def small_engine(request, place):
    """It keeps fewer sandboxes ready than groups."""
    with tempfile.TemporaryDirectory(dir=place) as folder:
        os.chmod(folder, 0o755)
        words = ["--park-min", "1", "--park-max", "2"]
        with engines.Engine(pathlib.Path(folder) / "e", request.param, words) as found:
            yield found


def empty_groups(engine):
    """Control groups that wait for their next run."""
    runs = [in_flight(engine) for _ in range(6)]
    for run in runs:
        run.communicate(timeout=SOON)

    def found():
        return {group for group in engines.groups_of(engine.process.pid) if engines.members_of(group) == []}

    assert engines.within(SOON, found), engine.status()
    return found()


def test_whoever_cannot_see_the_engine_leaves_its_groups_alone(small_engine):
    """In another pid namespace its number is nobody's, as that of one that is dead."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    groups = empty_groups(small_engine)
    elsewhere = ["unshare", "--pid", "--fork", "--mount-proc", str(support.SANDBOX_RUN), "doctor"]
    assert subprocess.run(elsewhere, stdout=subprocess.DEVNULL, check=False).returncode == 0
    assert engines.within(SOON, lambda: groups <= engines.groups_of(small_engine.process.pid))  # some are made anew


def test_a_group_that_was_removed_is_made_anew(small_engine):
    def remove(group):
        with contextlib.suppress(OSError):  # taken meanwhile
            os.rmdir(group)
        return not os.path.exists(group)

    assert any([remove(group) for group in empty_groups(small_engine)])
    for memory in ("64m", "65m", "66m"):
        small_engine.parked(lambda memory=memory: small_engine.python("pass", "--memory", memory))
    assert [pool["reason"] for pool in small_engine.status()["pools"] if pool["reason"]] == []
