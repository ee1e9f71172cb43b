"""Out of file descriptors, processes or room on a disk: one true sentence that says what is lacking, and no harm after."""
import contextlib
import http.client as http_client
import os
import pathlib
import resource
import socket
import subprocess
import tempfile

import pytest

import gateway
import sessions
import support
from waiting import wait_until

FULL = range(4, 48)  # descriptors; the last are enough for a run
KINDS = {
    "command": (["exec", "--", "echo", "hi"], FULL),
    "network": (["exec", "--network", "full", "--", "echo", "hi"], range(12, 60, 2)),
    "compiled": (["run", "--lang", "c", "--code", '#include <stdio.h>\nint main(void) { puts("hi"); return 0; }'],
                 range(8, 60, 3)),
    "engine": (["serve", "--daemon", "--warm", ""], range(4, 20, 2)),
}


def limited(number, words, kind=resource.RLIMIT_NOFILE, env=None, caller=None):
    return subprocess.run(support.command(*words, caller=caller), env=support.surroundings(caller, env), stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=support.DEADLINE,
                          preexec_fn=lambda: resource.setrlimit(kind, (number, number)))


@pytest.mark.container
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "engine"])
def test_without_descriptors_a_run_says_what_to_raise(root, kind):
    words, numbers = KINDS[kind]
    for number in numbers:
        done = limited(number, words)
        said = done.stderr.decode()
        if done.returncode == 0:
            assert (done.stdout, said) == (b"hi\n", ""), number
            continue
        assert done.returncode == 125 and done.stdout == b"" and said.count("\n") == 1, (number, said)
        assert said.endswith("raise `ulimit -n`\n") and "doctor" not in said, (number, said)
    assert done.returncode == 0, said


@pytest.mark.container
def test_without_descriptors_an_engine_says_so_and_leaves_no_socket(root, tmp_path):
    words, numbers = KINDS["engine"]
    env = {"SANDBOX_RUN_SOCKET": str(tmp_path / "e.sock"), "SANDBOX_RUN_COLD": None}
    for number in numbers:
        done = limited(number, words, env=env)
        if done.returncode == 0:
            assert support.sandbox_run("serve", "--stop", env=env).returncode == 0
            break
        assert done.returncode == 125 and done.stderr.count(b"\n") == 1, (number, done.stderr)
        assert not os.path.exists(env["SANDBOX_RUN_SOCKET"]), number


@pytest.mark.container
def test_a_gateway_that_had_no_descriptor_runs_again_when_it_has(root):
    """What a process opens once for all its runs is opened again after a failure."""
    with tempfile.TemporaryDirectory() as folder, gateway.Gateway(os.path.join(folder, "g")) as http:
        pid, refused = http.process.pid, 0
        before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        for more in range(1, 40):  # with none at all the connection waits for one
            used = len(os.listdir(f"/proc/{pid}/fd"))
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (used + more, before[1]))
            try:
                reply = http.ask("POST", "/v1/executions", {"args": ["echo", "hi"]})
                assert reply.status == 200 or "raise `ulimit -n`" in reply.json()["detail"], reply.body
                refused += reply.status != 200
            except (ConnectionError, http_client.HTTPException):
                continue  # it has none for the connection itself
            finally:
                resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
        assert refused > 5
        assert http.run({"args": ["echo", "hi"]})["stdout"] == "hi\n"


@pytest.mark.container
def test_a_session_without_descriptors_rests_until_it_has_some(root, tmp_path):
    """A client that waits is no reason to look without a pause; it is served as soon as one is free."""
    one = sessions.Session(tmp_path / "state", lang="sh")
    pid = one.supervisor()
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    try:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, before[1]))  # what it holds stays
        with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as peer:
            peer.connect(str(tmp_path / "state" / "sessions" / one.id / "socket"))
            slept = switches(pid)
            assert wait_until(lambda: switches(pid) > slept + 5)
            resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
            peer.settimeout(support.DEADLINE)
            peer.sendall(b'{"op":"info"}\n')
            assert b'"ready"' in peer.recv(65536)
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
        one.close()


def switches(pid):
    """How often it has waited."""
    text = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(text.split("\nvoluntary_ctxt_switches:")[1].split()[0])


@pytest.fixture(name="few")
def _few():
    """A cgroup that lets only so many processes be: gives the function that sets the number and returns where to enter."""
    top = next((place for place in ("/sys/fs/cgroup/pids", "/sys/fs/cgroup") if os.path.exists(f"{place}/cgroup.procs")), None)
    group = f"{top}/sbr-test-few-{os.getpid()}"
    try:
        os.mkdir(group)
        assert os.path.exists(f"{group}/pids.max")
    except (OSError, AssertionError):
        pytest.skip("needs a pids cgroup below the top")

    def most(number):
        pathlib.Path(group, "pids.max").write_text(str(number), encoding="ascii")
        return f"{group}/cgroup.procs"

    yield most
    assert wait_until(lambda: not pathlib.Path(group, "cgroup.procs").read_text(encoding="ascii"))
    for below, _, _ in os.walk(group, topdown=False):
        os.rmdir(below)


@pytest.mark.container
@pytest.mark.parametrize("words", [["exec", "--", "echo", "hi"], ["exec", "--network", "full", "--", "echo", "hi"]])
def test_without_processes_a_run_says_so(root, few, words):
    for number in range(1, 12):
        line = ["sh", "-c", f'echo $$ > {few(number)}; exec "$@"', "sh", *support.command(*words)]
        done = subprocess.run(line, env=support.surroundings(None), stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=support.DEADLINE, check=False)
        said = done.stderr.decode()
        if done.returncode == 0:
            assert (done.stdout, said) == (b"hi\n", ""), number
        else:
            assert done.returncode == 125 and said.count("\n") == 1 and "raise `ulimit -u`" in said, (number, said)
    assert done.returncode == 0, said
