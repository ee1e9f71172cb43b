"""Container engines around the sandbox: Docker's daemon and Podman's service, started here, with nothing of the host's.

Both are of the packages that `tools/packages.sh hosts` brings; `make check-engines` runs these tests."""
import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import threading

import pytest

import machine_gives
import oci_images
import support
from fake_engine import FakeEngine, pass_on
from support import result_of, sandbox_run
from waiting import SOON, started, wait_until


class Engine(http.client.HTTPConnection):
    """Its API over its socket."""

    def __init__(self, path):
        super().__init__("engine", timeout=SOON)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(self.path))

    def ask(self, path):
        self.request("GET", path)
        return self.getresponse().read()


def answers(path):
    with contextlib.suppress(OSError, http.client.HTTPException):
        return Engine(path).ask("/_ping") == b"OK"
    return False


@contextlib.contextmanager
def running(path, words):
    machine_gives.skip_if("" if os.geteuid() == 0 else "a container engine of its own needs root")
    machine_gives.skip_if("" if support.have(words[0]) else f"{words[0]} is not installed")
    with open(f"{path}.log", "wb") as log, subprocess.Popen(words, stdout=log, stderr=log) as process:
        try:
            assert wait_until(lambda: answers(path) or process.poll() is not None), f"see {path}.log"
            yield path
        finally:
            process.terminate()


@pytest.fixture(scope="module", params=["docker", "podman"])
def engine(request, session_folder):
    top = session_folder / request.param
    top.mkdir()
    path = top / "socket"
    words = {
        "docker": ["dockerd", "--iptables=false", "--bridge=none", "--data-root", top / "data", "--exec-root",
                   top / "exec", "--pidfile", top / "pid", "--host", f"unix://{path}"],
        "podman": ["podman", "--root", top / "data", "--runroot", top / "run", "--runtime", "runc",
                   "--cgroup-manager", "cgroupfs", "--events-backend", "none", "--storage-driver", "vfs",
                   "system", "service", "--time=0", f"unix://{path}"],
    }[request.param]
    with running(path, [str(word) for word in words]):
        yield request.param, path


VERDICTS = [
    ([], "cat; echo aside >&2; exit 3", ["exited", 3, None, "typed"]),
    (["--timeout", "300ms"], "sleep 60", ["timeout", None, "SIGTERM", ""]),
    (["--memory", "64m"], "exec /usr/bin/python3 -c 'bytearray(200 << 20)'", ["memory_limit", None, "SIGKILL", ""]),
]


def test_a_run_in_an_engines_container_is_a_run(engine):
    name, path = engine
    for options, code, expected in VERDICTS:
        result = result_of("exec", "--backend", f"{name}:{path}", *options, "--", "sh", "-c", code, stdin=b"typed")
        assert [result["outcome"], result["exit_code"], result["signal"], result["stdout"]] == expected, result
        assert f"container-by-{name}" in result["isolation"]["mechanisms"] and not result["isolation"]["missing"]
    assert wait_until(lambda: json.loads(Engine(path).ask("/containers/json?all=1")) == [])


def test_a_container_that_the_engine_makes_after_a_cancel_goes_with_the_next_run(engine, folder):
    """Between the two, the engine gets the DELETE first; without the run's directory Docker would refuse to make it."""
    name, path = engine
    asked, go_on, made, wanted = threading.Event(), threading.Event(), [], []

    def answer(method, asked_path, data):
        if "/containers/create" in asked_path:
            wanted.append(data)
            asked.set()
            go_on.wait(SOON)
            return b""
        reply = pass_on(path, data)
        if method == "DELETE":
            made.append(pass_on(path, wanted[0]).split()[1])
            go_on.set()
        return reply

    with FakeEngine(folder / "between", answer) as between:
        with started("exec", "--backend", f"{name}:{between.path}", "--", "true") as process:
            assert asked.wait(SOON)
            process.send_signal(signal.SIGINT)
            assert process.wait(SOON) == 128 + signal.SIGINT
        assert wait_until(lambda: made) and made == [b"201"]
    assert len(json.loads(Engine(path).ask("/containers/json?all=1"))) == 1
    between.path.unlink()
    between.path.symlink_to(path)
    assert result_of("exec", "--backend", f"{name}:{between.path}", "--", "true")["success"]
    assert wait_until(lambda: json.loads(Engine(path).ask("/containers/json?all=1")) == [])


def test_an_image_of_the_engine_is_taken_over_its_socket(engine, folder):
    """Of Docker by its short name; Podman calls it localhost/NAME."""
    name, path = engine
    layout = oci_images.Layout(folder / "layout")
    ref = layout.add([oci_images.archive(oci_images.busybox_members())], Env=["PATH=/bin"], Cmd=["cat", "/app/data"])
    subprocess.run(["skopeo", "copy", "--quiet", "--insecure-policy", ref, f"docker-archive:{folder}/app.tar:localhost/own:1"],
                   check=True)
    loading = Engine(path)
    loading.request("POST", "/images/load", (folder / "app.tar").read_bytes(), {"Content-Type": "application/x-tar"})
    assert loading.getresponse().status == 200
    env = {"SANDBOX_RUN_CACHE": str(folder / "cache"), "DOCKER_HOST": f"unix://{path}"}
    done = sandbox_run("exec", "--image", "docker-daemon:localhost/own:1", env=env)
    assert (done.returncode, done.stdout) == (0, b"first\n"), (name, done.stderr)
    done = sandbox_run("image", "pull", "docker-daemon:localhost/nonesuch", env=env)
    assert done.returncode == 127 and b"the daemon does not give the image" in done.stderr, done.stderr


def test_an_engine_that_is_not_there_is_an_error_with_its_socket(folder):
    done = sandbox_run("exec", "--backend", f"docker:{folder}/none", "--", "true")
    assert done.returncode == 125 and f"no container engine can be reached at '{folder}/none'" in done.stderr.decode()


@pytest.mark.parametrize("reply, words, calls", [(b'HTTP/1.0 500 No\r\n\r\n{"message":"out of luck"}', "out of luck", 1), (b"nonsense", "gave no answer", 2)])
def test_what_an_engine_refuses_is_an_error_with_its_words(folder, reply, words, calls):
    """After an answer that is none, the container is removed as well."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "engine"))
        listener.listen(4)
        with subprocess.Popen(support.command("exec", "--backend", f"docker:{folder}/engine", "--", "true"),
                              stderr=subprocess.PIPE, env=support.surroundings(None, {"SANDBOX_RUN_CONTAINERS": str(folder / "own")})) as running_one:
            listener.settimeout(SOON)
            for _ in range(calls):
                peer, _ = listener.accept()
                with peer, peer.makefile("rb") as words_of_it:
                    head = b"".join(iter(words_of_it.readline, b"\r\n")).decode()
                    words_of_it.read(int(head.partition("Content-Length:")[2].split()[0]))
                    peer.sendall(reply)
            said = running_one.stderr.read().decode()
            assert running_one.wait(SOON) == 125 and words in said, said
