"""sandbox-run-publish, which reads what hostile programs send: what it is, and what it cannot do for one that took it over."""
import contextlib
import os
import pathlib
import re
import select
import socket

import pytest

from harness import DEADLINE, callers, running, status_of, wait_until

PUBLISH = "sandbox-run-publish"
NO_CAPABILITY = "0" * 16


def find(run):
    def has():
        try:
            return run.find(PUBLISH)
        except AssertionError:
            return None

    wait_until(has, "it runs")
    return run.find(PUBLISH)


def port_of(run):
    line = b""
    while not line.endswith(b"\n"):
        line += run.process.stderr.read(1)
    return int(re.search(rb"127\.0\.0\.1:(\d+)", line)[1])


@callers
@pytest.mark.core
def test_it_is_confined_and_ends_with_the_run(scene, caller):
    with running(scene, "hold", "file", "/tmp/x", options=("--publish", "0:80"), caller=caller) as run:
        run.read_line()
        pid = find(run)
        wait_until(lambda: status_of(pid)["Seccomp"] == "2", "the filter holds")
        status = status_of(pid)
        assert (status["NoNewPrivs"], status["CapEff"], status["Threads"]) == ("1", NO_CAPABILITY, "1")
        assert "0" not in status["Uid"].split()
        if os.geteuid() == 0:  # nobody else sees the descriptors of a process that cannot be dumped
            kinds = {str(path.readlink()).partition(":")[0] for path in pathlib.Path(f"/proc/{pid}/fd").iterdir()}
            assert kinds <= {"socket", "anon_inode", "pipe"}
        run.process.kill()
        run.process.wait(timeout=DEADLINE)
        wait_until(lambda: not pathlib.Path(f"/proc/{pid}").exists(), "it is gone")


def taken_over(scene, without):
    """What a service of the host gets, and what the client of the published port gets."""
    with socket.create_server(("127.0.0.1", 0)) as service:
        service.settimeout(DEADLINE)
        port = service.getsockname()[1]
        with running(scene, "hold", "file", "/tmp/x", options=("--publish", f"127.0.0.1:0:{port}"),
                     without=("publish-honest", *without)) as run:
            published = port_of(run)
            assert run.read_line() == "READY file"
            if without:
                return greeting_of(service, published), b""
            with socket.create_connection(("127.0.0.1", published), timeout=DEADLINE) as client:
                report = client.makefile("rb").readline()
        service.setblocking(False)
        with pytest.raises(BlockingIOError):
            service.accept()
    return b"", report


def greeting_of(service, published):
    """The client's own connection is reset when it is turned to the service, perhaps before it is used."""
    with contextlib.suppress(ConnectionResetError):
        socket.create_connection(("127.0.0.1", published), timeout=DEADLINE).close()
    with contextlib.ExitStack() as stack:  # the listener that was turned comes too, and may say nothing until the run ends
        sockets = [service]
        while ready := select.select(sockets, [], [], DEADLINE)[0]:
            for one in ready:
                if one is service:
                    sockets.append(stack.enter_context(service.accept()[0]))
                elif greeting := one.recv(100):
                    return greeting
                else:
                    sockets.remove(one)
    return b""


@pytest.mark.core
def test_taken_over_it_reaches_nothing_of_the_host(scene):
    assert taken_over(scene, ()) == (b"", b"socket 0, file 0, listener 0, replaced 0\n")


def test_without_its_confinement_it_does(scene):
    assert taken_over(scene, ("publish-confine",)) == (b"taken over\n", b"")


def test_the_program_cannot_be_led_to_the_host_by_it(scene):
    """Nothing listens inside: a client of the port gets an end, not the host's service that has the same number."""
    with socket.create_server(("127.0.0.1", 0)) as service:
        port = service.getsockname()[1]
        service.setblocking(False)
        with running(scene, "hold", "file", "/tmp/x", options=("--publish", f"127.0.0.1:0:{port}")) as run:
            published = port_of(run)
            assert run.read_line() == "READY file"
            with pytest.raises(ConnectionResetError), \
                    socket.create_connection(("127.0.0.1", published), timeout=DEADLINE) as client:
                client.recv(1)
            with pytest.raises(BlockingIOError):
                service.accept()
