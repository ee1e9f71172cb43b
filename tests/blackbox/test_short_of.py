"""Out of file descriptors, processes or room on a disk: one true sentence that says what is lacking, and no harm after."""
import http.client as http_client
import os
import resource
import subprocess
import tempfile

import pytest

import gateway
import support

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
