"""What every escape test has: the attacker, and a host with something to lose."""
import contextlib
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import harness  # noqa: E402
import support  # noqa: E402
from network_lab import lab, network  # noqa: E402,F401


def pytest_configure(config):
    config.addinivalue_line("markers", "attack(sentence): what an escape test tries")


@pytest.fixture(scope="session")
def room():
    """A directory of the host that everybody may enter, outside of /tmp and of /work: Landlock's
    rules of a run without a root of its own would open those."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="sandbox-run-escape.", dir="/var/tmp"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture(scope="session")
def tools(room):
    """The attacker and the prober, compiled once."""
    tools = room / "tools"
    tools.mkdir(mode=0o755)
    alone = [HERE / "attacks/probe.c", HERE / "attacks/kernel_memory.c"]
    sources = sorted(set((HERE / "attacks").glob("*.c")) - set(alone))
    flags = ["-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-pthread"]
    support.compile_c(sources[0], tools / "attack", *map(str, sources[1:]), *flags)
    for source in alone:
        support.compile_c(source, tools / source.stem, *flags)
    return tools


def _serve(listener):
    """Answers every caller until the listener is closed."""
    with contextlib.suppress(OSError):
        while True:
            connection, _ = listener.accept()
            with connection:
                connection.sendall(b"welcome")


@contextlib.contextmanager
def _listening(family, address):
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.bind(address)
        listener.listen()
        thread = threading.Thread(target=_serve, args=(listener,))
        thread.start()
        try:
            yield listener.getsockname()
        finally:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            thread.join(harness.DEADLINE)


@pytest.fixture(scope="session")
def scene(room, tools):
    """The host's side: what attackers try to reach, by the names that their words use."""
    data = room / "data"
    data.mkdir()
    data.chmod(0o777)
    secret = room / "secret"
    secret.write_text(harness.SECRET + "\n")
    secret.chmod(0o644)
    canary = data / "canary"
    canary.write_text("")
    canary.chmod(0o666)
    victim = subprocess.Popen(["sleep", "1000"], stdin=subprocess.DEVNULL, start_new_session=True)
    abstract = f"sandbox-run-escape-{os.getpid()}"
    try:
        with _listening(socket.AF_INET, ("127.0.0.1", 0)) as (_, port), \
                _listening(socket.AF_INET6, ("::1", 0)) as (_, port6, *_), \
                _listening(socket.AF_UNIX, "\0" + abstract), \
                _listening(socket.AF_UNIX, str(data / "socket")):
            (data / "socket").chmod(0o666)
            yield harness.Scene(
                room=room, tools=tools, secret=secret, data=data, canary=canary,
                victim=victim.pid, port=port, port6=port6, abstract=abstract)
    finally:
        victim.kill()
        victim.wait()


@pytest.fixture(scope="session")
def ground():
    """Where to look for what a test leaves behind, whoever else uses the tool at the same time."""
    ground = harness.Ground()
    yield ground
    ground.leave()


@pytest.fixture(autouse=True)
def nothing_stays_behind(request, ground, scene):
    """Every test leaves the host as it found it."""
    del scene  # its processes come before the first look
    before = ground.leftovers()
    yield
    harness.wait_until(lambda: not ground.leftovers() - before,
                       f"nothing left behind by {request.node.name}",
                       lambda: ground.leftovers() - before)
