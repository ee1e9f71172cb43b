"""A small internet for the tests: two network namespaces joined by a cable.

    host    where sandbox-run is started: 93.184.216.1, 2606:2800:220:1::2 and loopback, each with
            something to lose, and its own /etc/resolv.conf, /etc/hosts and /etc/nsswitch.conf;
            everything is behind a router, except NEIGHBOUR4 and NEIGHBOUR6
    world   everything else: public, private, link-local and metadata addresses, with real servers
            (network_world.py) and a resolver (network_dns.py)

The machine's own network is not touched: the cable is made in `world` and its other end put into
`host`, and both vanish with the two processes that hold them, whatever becomes of the tests.
"""
import ctypes
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

import pytest

import machine_gives
import network_world
import support

HERE = pathlib.Path(__file__).resolve().parent
PROBE = HERE / "network_probe.py"
RESOLVER = "8.8.4.4"
HOST4, HOST6 = "93.184.216.1", "2606:2800:220:1::2"
WEB4, WEB6 = "93.184.216.34", "2606:2800:220:1::1"
ROUTER4, TRANSIT4 = "10.99.7.1", "10.99.7.2"
ROUTER6 = "fe80::7"
NEIGHBOUR4, NEIGHBOUR6 = "93.184.217.5", "2606:2800:220:3::5"
PRIVATE = ("10.7.0.5", "192.168.77.5", "172.20.7.5", "100.64.7.5")
METADATA = "169.254.169.254"

WORLD_ADDRESSES = [
    f"{WEB4}/32", f"{WEB6}/128", f"{ROUTER4}/30", f"{NEIGHBOUR4}/24", f"{NEIGHBOUR6}/64", f"{RESOLVER}/32", *(f"{address}/32" for address in PRIVATE),
    f"{METADATA}/32", "169.254.7.5/32", "198.18.7.5/32", "203.0.113.5/32", "10.0.2.2/32",
    "fd00:7::5/128", "fd00:ec2::254/128", "64:ff9b::a07:5/128", "2002:a07:5::1/128",
    "fe80::7/64", "2001:db8::5/128",
]

CERTIFIED = "DNS:*.example.org,DNS:example.org,DNS:*.example.net,IP:" + f"{WEB4},IP:{WEB6}"

CLONE_NEWNS, CLONE_NEWNET = 0x20000, 0x40000000
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
PR_SET_PDEATHSIG = 1

libc = ctypes.CDLL(None, use_errno=True)


def _call(name, *args):
    if getattr(libc, name)(*args) < 0:
        raise OSError(ctypes.get_errno(), f"{name}{args}")


def _apart(files):
    """In the child that holds a namespace: it dies with the tests, and has a network of its own.
    `files` are put over those of the machine, for it alone."""
    def enter():
        _call("prctl", PR_SET_PDEATHSIG, signal.SIGKILL)
        _call("unshare", CLONE_NEWNET | CLONE_NEWNS)
        _call("mount", None, b"/", None, MS_REC | MS_PRIVATE, None)
        for name, content in files.items():
            _call("mount", os.fsencode(content), os.fsencode(name), None, MS_BIND, None)

    return enter


class Holder:
    """A process with servers, whose network namespace is one side of the cable."""

    def __init__(self, role, directory, files):
        self.process = subprocess.Popen(
            [sys.executable, "-B", str(HERE / "network_world.py"), role, str(directory)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=_apart(files))

    def enter(self):
        """What to write before a command, to run it there."""
        return ["nsenter", "-t", str(self.process.pid), "-n", "-m", "--"]

    def ask(self, command=None):
        if command:
            self.process.stdin.write(command.encode() + b"\n")
            self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, "a server of the lab has ended"
        return json.loads(line)

    def ip(self, *lines):
        subprocess.run([*self.enter(), "ip", "-batch", "-"], input="\n".join(lines).encode(),
                       check=True)

    def end(self):
        self.process.stdin.close()
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def _make_certificates(directory):
    """A certificate authority and a server that it vouches for."""
    new = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
           "-nodes", "-days", "3"]
    for words in (
            [*new, "-subj", "/CN=Lab", "-keyout", "ca.key", "-out", "ca.pem"],
            [*new, "-subj", "/CN=server", "-keyout", "server.key", "-out", "server.pem", "-CA",
             "ca.pem", "-CAkey", "ca.key", "-addext", f"subjectAltName={CERTIFIED}", "-addext",
             "basicConstraints=critical,CA:FALSE"]):
        subprocess.run(words, cwd=directory, check=True, stderr=subprocess.DEVNULL)


class Lab:
    """Runs sandbox-run on `host`, and tells what reached the servers of both sides."""

    def __init__(self, directory):
        self.directory = directory
        self.ca = directory / "ca.pem"
        self.holders = []
        self.world = self.host = None

    def begin(self):
        directory = self.directory
        _make_certificates(directory)
        (directory / "files").mkdir()
        etc = {
            "/etc/resolv.conf": f"nameserver {RESOLVER}\n",
            "/etc/hosts": f"127.0.0.1 localhost\n::1 localhost\n{WEB4} hosts-file.example.org\n",
            "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
        }
        for name, text in etc.items():
            (directory / pathlib.Path(name).name).write_text(text)
        self.world = self._hold("world", {})
        self.host = self._hold("host", {name: directory / pathlib.Path(name).name for name in etc})
        self._join()
        for holder in self.holders:
            assert holder.ask() == "ready"

    def _hold(self, role, files):
        self.holders.append(Holder(role, self.directory, files))
        return self.holders[-1]

    def _join(self):
        self.world.ip(
            "link set lo up",
            f"link add cable type veth peer name cable netns {self.host.process.pid}",
            *(f"address add {address} dev cable{' nodad' if ':' in address else ''}"
              for address in WORLD_ADDRESSES),
            "link set cable up", f"route add {HOST4}/32 dev cable", f"route add {HOST6}/128 dev cable")
        self.host.ip(
            "link set lo up", f"address add {HOST4}/32 dev cable",
            f"address add {TRANSIT4}/30 dev cable", "address add 93.184.217.1/24 dev cable",
            f"address add {HOST6}/128 dev cable nodad",
            "address add 2606:2800:220:3::1/64 dev cable nodad", "link set cable up",
            f"route add default via {ROUTER4} src {HOST4}",
            f"route add ::/0 via {ROUTER6} dev cable src {HOST6}",
            "route add unreachable 8.8.6.0/24")

    def end(self):
        for holder in self.holders:
            holder.end()

    def serve(self, path, content):
        """Puts a file where the servers of HTTP find it."""
        file = self.directory / "files" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)

    def clear(self):
        for holder in self.holders:
            holder.ask("clear")

    def log(self, kind=None, holder=None):
        """What came in since clear(), in order."""
        entries = (holder or self.world).ask("log")
        return [entry for entry in entries if kind in (None, entry[0])]

    def result(self, *words, **kwargs):
        """Result of sandbox-run on `host`."""
        return support.result_of(*words, prefix=self.host.enter(), **kwargs)

    def probe(self, actions, *options, **kwargs):
        """Runs the actions inside, all in one program: their outcomes, and the result.  See
        network_probe.py for what an action is."""
        result = self.result("run", *options, "--lang", "python", PROBE,
                             stdin=json.dumps(actions).encode(), **kwargs)
        try:
            outcomes = json.loads(result["stdout"])
        except (KeyError, ValueError) as problem:
            raise AssertionError(f"the probe did not end well: {result}") from problem
        return outcomes, result

    def outside(self, actions):
        """The same actions on `host` itself: shows what there is to reach."""
        done = subprocess.run([*self.host.enter(), "/usr/bin/python3", "-B", str(PROBE)], check=True,
                              input=json.dumps(actions).encode(), stdout=subprocess.PIPE)
        return json.loads(done.stdout)

    def start(self, *words, caller=None, **kwargs):
        """sandbox-run on `host`, in flight and with pipes."""
        pipes = {name: subprocess.PIPE for name in ("stdin", "stdout", "stderr")}
        env = support.environment({"SANDBOX_RUN_CACHE": support.cache_of(caller)})
        return subprocess.Popen([*self.host.enter(), *support.command(*words, caller=caller)],
                                bufsize=0, env=env, **{**pipes, **kwargs})


@pytest.fixture(scope="session")
def network():
    """The lab, made once for all tests."""
    if os.geteuid() != 0:
        pytest.skip("only root can make networks to test with")
    machine_gives.skip_if(support.lacks(support.Callers.ROOT))
    directory = pathlib.Path(tempfile.mkdtemp(prefix="sbr-network-"))
    directory.chmod(0o755)
    made = Lab(directory)
    try:
        made.begin()
        yield made
    finally:
        made.end()
        shutil.rmtree(directory)


@pytest.fixture
def lab(network):
    """The lab with empty logs."""
    network.clear()
    return network


PORTS = {name: getattr(network_world, name) for name in (
    "HTTP", "HTTPS", "DNS", "ECHO", "SINK", "SOURCE", "RESET", "SLOW", "GREETER", "SHORT", "STALL",
    "HOST_PORT", "HOST_PORT2")}
