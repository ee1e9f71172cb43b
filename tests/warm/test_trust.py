"""Who may talk to an engine, and what an engine builds for whom.

A program in a sandbox of an ordinary user has that user's id on the host.  So the attacker (programs/lease.c) is of the
engine's own user, finds its socket through a volume, or sits in a user namespace of its own as every sandbox does, and asks
for a sandbox of a template that no planner made: with a directory of the host's to write to, and without confinement."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

import engine as engines
import machine_gives
import support

ATTACKER = pathlib.Path(__file__).resolve().parent / "programs/lease.c"
SOURCES = ("base/buf.c", "base/err.c", "base/fd.c", "base/sha256.c", "plan/plan.c", "plan/plan_codec.c")
PEER, TEMPLATE = "peer-namespace", "blueprint-check"
# Each of the two stops it alone.
LAYERS = ((), (PEER,), (TEMPLATE,))
# Of these only the last two show sockets of the host at all.
MODES = ("ro", "rw", "cow", "ro+sockets", "rw+sockets")
SOON = 60


@pytest.fixture(scope="module", name="attacker")
def build_attacker(place):
    tools = place / "tools"
    tools.mkdir(mode=0o755)
    flags = [f"-I{support.REPO}/src", f"-I{support.REPO}/include", "-D_GNU_SOURCE"]
    return support.compile_c(ATTACKER, tools / "lease", *[support.REPO / "src" / name for name in SOURCES], *flags)


class Ground:
    """An engine of one caller's, below a directory that a volume can show, and what the attacker wants to write to."""

    def __init__(self, place, caller, without):
        self.caller, self.without = caller, without
        self.top = place / f"{caller}-{'-'.join(without) or 'whole'}"
        self.prize = self.top / "prize"
        self.prize.mkdir(mode=0o700, parents=True)
        if caller == support.Callers.USER and os.geteuid() == 0:
            os.chown(self.prize, support.ORDINARY_UID, support.ORDINARY_UID)
        self.env = {"SANDBOX_RUN_TEST_WITHOUT": ",".join(without)} if without else {}
        self.engine = engines.Engine(self.top / "engine", caller, ("--warm", ""), self.env, bool(without))

    def outside(self, *words):
        prefix = support.AS_ORDINARY if self.caller == support.Callers.USER and os.geteuid() == 0 else []
        done = subprocess.run([*prefix, *map(str, words)], capture_output=True, text=True, timeout=SOON, check=True)
        return self.told(done.stdout)

    def inside(self, attacker, mode):
        """With the socket in a volume, while the run itself holds a place at the engine."""
        words = ["exec", "--volume", f"{attacker.parent}:/tools:ro", "--volume", f"{self.top}:/data:{mode}", "--",
                 "/tools/lease", "/data/engine/engine.sock", self.prize]
        result = self.engine.result_of(*words, env=self.env)
        assert result.get("outcome") == "exited", result
        return self.told(result["stdout"])

    def told(self, text):
        """What the attacker says, if it is true."""
        mark = self.prize / "mark"
        assert text.startswith("GOT") == mark.exists(), text
        if mark.exists():
            mark.unlink()
        return text


def on_ground(place, caller, without):
    ground = Ground(place, caller, without)
    return ground, ground.engine


@pytest.mark.core
@pytest.mark.parametrize("without", LAYERS, ids=lambda names: "-".join(names) or "whole")
@pytest.mark.parametrize("caller", support.available_callers())
def test_nobody_inside_leases_a_sandbox_of_its_own_making(place, attacker, caller, without):
    ground, engine = on_ground(place, caller, without)
    with engine:
        told = {mode: ground.inside(attacker, mode) for mode in MODES}
        told["apart"] = ground.outside(attacker, "--apart", engine.socket, ground.prize)
        if TEMPLATE not in without:
            told["neighbour"] = ground.outside(attacker, engine.socket, ground.prize)
    assert all(text.startswith("NOT ") for text in told.values()), told


def test_without_both_it_is_an_escape(place, attacker):
    """Of an ordinary user: what root's engine makes has another user id, which is one defence more."""
    ground, engine = on_ground(place, support.Callers.USER, (PEER, TEMPLATE))
    with engine:
        told = [ground.outside(attacker, "--apart", engine.socket, ground.prize), ground.inside(attacker, "ro+sockets"),
                ground.inside(attacker, "rw+sockets")]
    assert all(text.startswith("GOT ") for text in told), told


# The other way round: who listens where the engine should be

IMPOSTOR = """
import ctypes, os, socket, sys
path, apart = sys.argv[1:]
if apart == "apart":
    assert ctypes.CDLL(None, use_errno=True).unshare(0x10000000) == 0
listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
listener.bind(path)
listener.listen(8)
print("listens", flush=True)
client, _ = listener.accept()
print("heard", len(client.recv(4096)), flush=True)
client.close()
sys.stdin.read()
"""


@pytest.mark.parametrize("apart, without, heard", [
    ("apart", "", False), ("apart", PEER, True), ("here", "", True)], ids=["apart", "without-the-check", "here"])
@pytest.mark.parametrize("caller", support.available_callers())
def test_nobody_inside_passes_for_the_engine(place, caller, apart, without, heard):
    """A client does not say a word to whoever lives elsewhere, and runs its program all the same."""
    machine_gives.skip_if(support.lacks(caller))
    folder = place / f"impostor-{caller}-{apart}-{bool(without)}"
    folder.mkdir()
    as_user = caller == support.Callers.USER and os.geteuid() == 0
    if as_user:
        os.chown(folder, support.ORDINARY_UID, support.ORDINARY_UID)
    line = [*(support.AS_ORDINARY if as_user else []), sys.executable, "-c", IMPOSTOR, str(folder / "e.sock"), apart]
    env = {"SANDBOX_RUN_SOCKET": str(folder / "e.sock"), "SANDBOX_RUN_COLD": None,
           "SANDBOX_RUN_TEST_WITHOUT": without or None}
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as impostor:
        try:
            assert impostor.stdout.readline() == "listens\n"
            result = support.result_of("exec", "--", "echo", "1", caller=caller, hooks=bool(without), env=env)
            told = int(impostor.stdout.readline().split()[1])
            serve = support.sandbox_run("serve", caller=caller, env={**env, "SANDBOX_RUN_TEST_WITHOUT": None})
        finally:
            impostor.kill()
    assert (result["stdout"], result["startup"]) == ("1\n", "cold"), result
    assert (told > 0) == heard, told
    assert serve.returncode != 0 and ("sandbox" if apart == "apart" else "running") in serve.stderr.decode(), serve


# Where the engine lives in a container, so do its clients

CONTAINER = ("unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--mount-proc")


def test_an_engine_in_a_container_serves_who_lives_there_and_nobody_below(place):
    """In a user namespace of its own: a client beside it is heard, one that nests deeper is not."""
    machine_gives.skip_if(support.lacks(support.available_callers()[0]))
    if not support.have("unshare"):
        pytest.skip("needs unshare")
    folder = place / "container"
    folder.mkdir()
    script = """
import json, os, subprocess, sys
tool, folder = sys.argv[1:]
env = {"PATH": os.environ["PATH"], "SANDBOX_RUN_SOCKET": folder + "/e.sock", "SANDBOX_RUN_CACHE": folder + "/cache"}
engine = subprocess.Popen([tool, "serve", "--warm", ""], stderr=subprocess.PIPE, env=env, text=True)
ready = engine.stderr.readline()
status = [tool, "serve", "--status", "--json"]
beside = subprocess.run(status, capture_output=True, env=env)
below = subprocess.run(["unshare", "--user", "--map-root-user", *status], capture_output=True, env=env)
after = subprocess.run(status, capture_output=True, env=env)
engine.terminate()
print(json.dumps([ready, beside.returncode, below.returncode, json.loads(after.stdout or "{}").get("strangers_total"),
                  engine.wait(), below.stderr.decode(), beside.stderr.decode()]))
"""
    done = subprocess.run([*CONTAINER, sys.executable, "-c", script, str(support.SANDBOX_RUN), str(folder)],
                          capture_output=True, text=True, timeout=SOON, check=False)
    assert done.returncode == 0, done.stderr
    ready, beside, below, strangers, status, *said = json.loads(done.stdout)
    assert ready.startswith("ready") and (beside, status) == (0, 0), (ready, said)
    assert below == 1 and strangers >= 1, said
