"""--publish: ports of the host's loopback that lead into a sandbox."""
import contextlib
import json
import os
import pathlib
import re
import resource
import socket

import pytest

import support
from support import Callers
from waiting import SOON, read_line, started, wait_until

# Each line that comes is answered in capital letters; the end of a client's stream by the number of its bytes.
# "exit" ends the program; a client of port 81 gets as many bytes as it says, and the end.
SERVER = r"""
import asyncio, sys

async def echo(reader, writer):
    total = 0
    while line := await reader.readline():
        total += len(line)
        if line == b"exit\n":
            writer.write(b"bye\n")
            await writer.drain()
            sys.stdout.flush()
            import os; os._exit(0)
        writer.write(line.upper() if len(line) < 100 else b"")
        await writer.drain()
    writer.write(b"%d\n" % total)
    writer.close()

async def flood(reader, writer):
    left = int(await reader.readline())
    while left:
        n = min(left, 65536)
        writer.write(b"x" * n)
        await writer.drain()
        left -= n
    writer.close()

async def main():
    await asyncio.start_server(echo, "127.0.0.1", 80, backlog=512)
    await asyncio.start_server(flood, "::1", 81)
    print("up", flush=True)
    await asyncio.sleep(60)

asyncio.run(main())
"""


def connect(port, host="127.0.0.1"):
    return socket.create_connection((host, port), timeout=SOON)


def read_all(client):
    data = b""
    while more := client.recv(1 << 16):
        data += more
    return data


def answer(port, line, host="127.0.0.1"):
    with connect(port, host) as client:
        client.sendall(line)
        client.shutdown(socket.SHUT_WR)
        return read_all(client)


@contextlib.contextmanager
def serving(*options, caller=None):
    """A server inside; the ports that lead to it, in the order of the options."""
    with started("run", *options, "--timeout", "60s", "--lang", "python", "--code", SERVER, caller=caller) as process:
        lines = [read_line(process.stderr).decode() for option in options if option == "--publish"]
        assert read_line(process.stdout) == b"up\n"
        yield process, [int(re.search(r"(\d+)$", line)[1]) for line in lines], lines


@pytest.mark.core
def test_a_published_port_leads_in(caller):
    with serving("--publish", "0:80", "--publish", "[::1]:0:81", caller=caller) as (process, (echo, flood), lines):
        assert lines[0] == f"sandbox-run: port 80 inside is reached at 127.0.0.1:{echo} and [::1]:{echo}\n"
        assert lines[1] == f"sandbox-run: port 81 inside is reached at [::1]:{flood}\n"
        # Half-close: the answer still comes; either address.
        assert answer(echo, b"one\ntwo\n") == b"ONE\nTWO\n8\n"
        assert answer(echo, b"three\n", "::1") == b"THREE\n6\n"
        # Only loopback listens, and the second rule only on ::1.
        with pytest.raises(ConnectionRefusedError):
            connect(flood)
        # A server on ::1 alone, and a reader that is slow: all bytes come.
        with connect(flood, "::1") as slow:
            slow.sendall(b"5000000\n")
            many = [connect(echo) for _ in range(300)]  # more than there are sockets inside: the others wait
            try:
                for i, client in enumerate(many[:150]):
                    client.sendall(b"line %d\n" % i)
                for i, client in enumerate(many[:150]):
                    assert client.recv(100) == b"LINE %d\n" % i
            finally:
                for client in many:
                    client.close()
            assert len(read_all(slow)) == 5000000
        assert answer(echo, b"again\n" * 2) == b"AGAIN\nAGAIN\n12\n", "sockets are used again"
        assert answer(echo, b"exit\n") == b"bye\n", "what the program sent before its end arrives"
        assert process.wait(SOON) == 0
        with pytest.raises(ConnectionRefusedError):
            connect(echo)


def test_urgent_bytes_hold_nothing_up(any_caller):
    """The program reads them where they were sent, and what comes behind them."""
    code = ("import socket\ns = socket.create_server(('127.0.0.1', 5000))\n"
            "s.setsockopt(socket.SOL_SOCKET, socket.SO_OOBINLINE, 1)\nprint('up', flush=True)\nc, _ = s.accept()\n"
            "while data := c.recv(99):\n  print(data.decode(), end='')\nc.send(b'?', socket.MSG_OOB); c.sendall(b'end')")
    with started("run", "--publish", "0:5000", "--lang", "python", "--code", code, caller=any_caller) as process:
        port = int(re.search(r"(\d+)$", read_line(process.stderr).decode())[1])
        assert read_line(process.stdout) == b"up\n"
        with connect(port) as client:
            client.sendall(b"before ")
            client.send(b"!", socket.MSG_OOB)
            client.sendall(b" behind")
            client.shutdown(socket.SHUT_WR)
            assert read_all(client) == b"end"
        assert process.stdout.read() == b"before ! behind"


def relay_of(pid):
    """The process that relays for a run."""
    return next(int(task) for task in os.listdir("/proc") if task.isdigit() and
                parent_and_ticks(task)[0] == pid and
                pathlib.Path(f"/proc/{task}/cmdline").read_bytes().startswith(b"sandbox-run-publish"))


def parent_and_ticks(pid):
    """The parent of a process, and the CPU time that it has used."""
    try:
        words = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0, 0
    return int(words[1]), int(words[11]) + int(words[12])


DEAF = """
import socket, time
server, kept = socket.create_server(("127.0.0.1", 80), backlog=512), []
print("up", flush=True)
while True:
    kept.append(server.accept())
"""
FILES = 540  # the relay has 511 for its sockets, and must have room for some more


def test_without_descriptors_clients_wait_and_so_does_the_relay(root):
    """What the program does not read takes the relay's last descriptors; it does not try again without a pause."""
    few = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))}
    with started("run", "--publish", "127.0.0.1:0:80", "--lang", "python", "--code", DEAF, caller=root, **few) as process:
        port = int(re.search(r"(\d+)$", read_line(process.stderr).decode())[1])
        assert read_line(process.stdout) == b"up\n"
        relay = relay_of(process.pid)
        with contextlib.ExitStack() as clients:
            for _ in range(150):
                client = clients.enter_context(connect(port))
                client.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    while client.send(bytes(1 << 16)):
                        pass
                if len(os.listdir(f"/proc/{relay}/fd")) == FILES:
                    break
            clients.enter_context(connect(port))
            start = parent_and_ticks(relay)[1]
            assert len(os.listdir(f"/proc/{relay}/fd")) == FILES
            assert not wait_until(lambda: parent_and_ticks(relay)[1] > start + 20, 2)


def test_the_result_and_the_events_have_the_ports(any_caller):
    code = "import socket; s = socket.create_server(('127.0.0.1', 5000)); c, _ = s.accept(); print(c.recv(9).decode())"
    with started("run", "--stream", "--publish", "0:5000", "--lang", "python", "--code", code, caller=any_caller) as process:
        events = []
        while not events or events[-1]["type"] != "port":
            events.append(json.loads(read_line(process.stdout)))
        port = events[-1]["port"]
        assert (events[-1]["inside"], events[-1]["address"]) == (5000, f"127.0.0.1:{port} and [::1]:{port}")

        def reached():
            """The program may not listen yet: then the connection is reset."""
            with contextlib.suppress(ConnectionError), connect(port) as client:
                client.sendall(b"ping")
                return client.recv(1) == b"" and process.poll() is None
            return False

        assert wait_until(reached)
        while events[-1]["type"] != "end":
            events.append(json.loads(read_line(process.stdout)))
    rule, = events[-1]["result"]["ports"]
    assert (rule["addresses"], rule["port"], rule["inside"]) == (["127.0.0.1", "::1"], port, 5000)
    assert (rule["connections"] >= 1, rule["bytes_in"], rule["bytes_out"]) == (True, 4, 0)
    assert events[-1]["result"]["network"]["mode"] == "localhost"


def test_what_cannot_be_published_is_one_sentence(any_caller):
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
        cases = {
            (f"{port}:80",): f"another program listens on port {port}",
            ("0.0.0.0:8080:80",): "loopback only",
            ("53:53/udp",): "only TCP",
            ("0:80", "--policy", "strict"): "policy 'strict' leaves the program no network",
            ("0:80", "--allow-host", "localhost:80"): "cannot both be published",
        }
        for words, sentence in cases.items():
            done = support.sandbox_run("exec", "--publish", *words, "--", "true", caller=any_caller)
            text = done.stderr.decode()
            assert done.returncode and sentence in text and text.count("\n") <= 2, (words, text)


def test_a_user_gets_no_port_of_root():
    least = pathlib.Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").read_text()
    if int(least) <= 80:
        pytest.skip("every user may listen on every port here")
    done = support.sandbox_run("exec", "--publish", "80", "--", "true", caller=Callers.USER)
    assert b"port 80 of this machine is for root only; publish one from 1024 on" in done.stderr


def test_a_session_publishes_and_keeps_its_port(any_caller):
    made = json.loads(support.sandbox_run("session", "create", "--json", "--lang", "python", "--publish", "0:80",
                                          caller=any_caller).stdout)
    port = made["ports"][0]["port"]
    code = ("import socket, threading\ns = socket.create_server(('127.0.0.1', 80))\n"
            "def run():\n  while True:\n    c, _ = s.accept(); c.sendall(b'hello'); c.close()\n"
            "threading.Thread(target=run, daemon=True).start()")
    try:
        support.sandbox_run("session", "exec", made["id"], "--code", code, caller=any_caller)
        assert answer(port, b"") == b"hello"
        support.sandbox_run("session", "restart", made["id"], caller=any_caller)
        support.sandbox_run("session", "exec", made["id"], "--code", code, caller=any_caller)
        assert answer(port, b"") == b"hello"
    finally:
        support.sandbox_run("session", "close", made["id"], caller=any_caller)
    with pytest.raises(ConnectionRefusedError):
        connect(port)
