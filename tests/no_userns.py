"""A machine on which user namespaces are forbidden, for one command or for many.

Usage: no_userns.py [--root | --hold] COMMAND [WORD...]

The command runs in a user namespace whose own limit of user namespaces is 0, in which every user is
who it is outside: to a program this is what `sysctl user.max_user_namespaces=0` makes of a whole
machine.  Root becomes an ordinary user on the way, unless --root keeps it.  With --hold there is no
command: the namespace is kept until stdin ends, so that several processes can be in the same one.
Where no user namespace can be made, the machine already is what this makes of it.
"""
import contextlib
import ctypes
import json
import os
import pathlib
import select
import subprocess
import sys

import support
from support import DEADLINE, ORDINARY_UID, Callers

CLONE_NEWUSER = 0x10000000
LANDLOCK_CREATE_RULESET, LANDLOCK_VERSION = 444, 1
LANDLOCK_ABI = ctypes.CDLL(None).syscall(LANDLOCK_CREATE_RULESET, None, 0, LANDLOCK_VERSION)
LIMIT = pathlib.Path("/proc/sys/user/max_user_namespaces")


def _write_maps(pid, line):
    for name in ("uid_map", "gid_map"):
        pathlib.Path(f"/proc/{pid}/{name}").write_text(line)


def _map_everybody():
    """From a child that stayed outside: only there may all ids be mapped."""
    pid, (ready, tell) = os.getpid(), os.pipe()
    child = os.fork()
    if child == 0:
        os.close(tell)
        status = 1
        with contextlib.suppress(OSError):
            if os.read(ready, 1):
                _write_maps(pid, "0 0 4294967295\n")
                status = 0
        os._exit(status)
    os.close(ready)
    made = ctypes.CDLL(None).unshare(CLONE_NEWUSER) == 0
    if made:
        os.write(tell, b"!")
    os.close(tell)
    _, status = os.waitpid(child, 0)
    assert not made or status == 0, "cannot map the ids"
    return made


def _map_oneself():
    uid, gid = os.geteuid(), os.getegid()
    if ctypes.CDLL(None).unshare(CLONE_NEWUSER) != 0:
        return False
    pathlib.Path("/proc/self/setgroups").write_text("deny")
    pathlib.Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1\n")
    pathlib.Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1\n")
    return True


def enter():
    """False when the machine forbids it already."""
    if not (_map_everybody() if os.geteuid() == 0 else _map_oneself()):
        return False
    LIMIT.write_text("0")
    return True


def become_ordinary():
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(ORDINARY_UID, ORDINARY_UID, ORDINARY_UID)
        os.setresuid(ORDINARY_UID, ORDINARY_UID, ORDINARY_UID)


class Machine:
    """The namespace, held, and the tool in it.  Runs keep their directories below `places`, so that
    those of others at the same time are not taken for ours."""

    def __init__(self, places):
        self.places = pathlib.Path(places)
        self.holder = subprocess.Popen([sys.executable, __file__, "--hold"], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE)
        ready, _, _ = select.select([self.holder.stdout], [], [], DEADLINE)
        self.made = bool(ready) and self.holder.stdout.readline() == b"made\n"

    def close(self):
        self.holder.stdin.close()
        try:
            self.holder.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            self.holder.kill()
            self.holder.wait()
        self.holder.stdout.close()

    def prefix(self, caller):
        """Words that bring a command onto the machine, each by executing the next."""
        if not self.made:
            return support.AS_ORDINARY if caller == Callers.USER and os.geteuid() == 0 else []
        words = ["nsenter", f"--user=/proc/{self.holder.pid}/ns/user"]
        if os.geteuid() != 0:
            return [*words, "--preserve-credentials"]
        uid = str(ORDINARY_UID if caller == Callers.USER else 0)
        return [*words, "--setuid", uid, "--setgid", uid]

    def environment(self, env=None):
        return support.environment({"TMPDIR": str(self.places), **(env or {})})

    def command(self, *args, caller=Callers.USER, hooks=False, degraded=True):
        """The command line of a run on the machine; options go behind the subcommand."""
        words = [str(word) for word in args]
        if degraded and words[0] in ("run", "exec", "plan"):
            words.insert(1, "--allow-degraded")
        program = support.SANDBOX_RUN_HOOKS if hooks else support.SANDBOX_RUN
        return [*self.prefix(caller), str(program), *words]

    def run(self, *args, env=None, stdin=b"", **kwargs):
        """To its end; the CompletedProcess with bytes."""
        return subprocess.run(self.command(*args, **kwargs), input=stdin, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=DEADLINE, check=False,
                              env=self.environment(env))

    def result_of(self, subcommand, *args, **kwargs):
        done = self.run(subcommand, "--json", *args, **kwargs)
        try:
            result = json.loads(done.stdout)
        except ValueError as problem:
            raise AssertionError(f"no JSON: {done.stdout[:500]!r} {done.stderr[:500]!r}") from problem
        return {**result, "_status": done.returncode, "_stderr": done.stderr}

    def left(self):
        """Directories of runs that are there now."""
        return sorted(path.name for path in self.places.iterdir())


@contextlib.contextmanager
def machine(folder):
    """A Machine whose runs live below `folder`."""
    places = pathlib.Path(folder) / "places"
    places.mkdir()
    places.chmod(0o1777)
    made = Machine(places)
    try:
        yield made
    finally:
        made.close()


def main(words):
    if words == ["--hold"]:
        print("made" if enter() else "there", flush=True)
        sys.stdin.read()
        return 0
    as_root = words[:1] == ["--root"]
    command = words[1:] if as_root else words
    if not command:
        sys.exit(__doc__)
    enter()
    if not as_root:
        become_ordinary()
    os.execvp(command[0], command)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
