"""A session of a test's own, in a state directory of its own."""
import contextlib
import json
import os

import support
from support import sandbox_run

# In a cell of Python: speaks to the supervisor in place of the kernel.
CHANNEL = """import os, stat
fd = next(int(f) for f in os.listdir('/proc/self/fd')
          if int(f) > 2 and os.path.exists('/proc/self/fd/' + f) and stat.S_ISSOCK(os.fstat(int(f)).st_mode))
os.set_blocking(fd, True)
def send(data):
    at, view = 0, memoryview(data)
    while at < len(data): at += os.write(fd, view[at:])
def display(number, body):
    send(b'display %d - %d\\n' % (number, len(body))); send(body)
"""


class Session:
    """A living session; `close` ends it."""

    def __init__(self, state, *options, lang="python", caller=None, env=None):
        self.env, self.caller, self.state = {"SANDBOX_RUN_STATE": str(state), **(env or {})}, caller, state
        self.made = self.json("create", "--lang", lang, *options)
        assert "id" in self.made, self.made
        self.id = self.made["id"]

    def run(self, *words, **kwargs):
        return sandbox_run("session", *words, env=self.env, caller=self.caller, **kwargs)

    def json(self, *words, **kwargs):
        done = self.run(*words, "--json", **kwargs)
        assert done.stdout, done.stderr.decode()
        return json.loads(done.stdout)

    def cell(self, code, *options):
        return self.json("exec", self.id, "--code", code, *options)

    def value(self, code, *options):
        """The text of the last value."""
        return self.cell(code, *options)["display"][-1]["text/plain"]

    def listed(self):
        return {one["id"]: one for one in self.json("list")["sessions"]}

    def supervisor(self):
        return json.loads((self.state / "sessions" / self.id / "session.json").read_text())["pid"]

    def close(self):
        return self.run("close", self.id)


def own_state(folder, caller):
    if caller == support.Callers.USER and os.geteuid() == 0:
        os.chown(folder, support.ORDINARY_UID, support.ORDINARY_UID)
    return folder / "state"


@contextlib.contextmanager
def maker(state, caller):
    """Makes sessions, which end with the block."""
    made = []

    def make(*options):
        made.append(Session(state, *options, caller=caller))
        return made[-1]

    try:
        yield make
    finally:
        for session in made:
            session.close()


def peak_mib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) >> 10 for line in status if line.startswith("VmHWM:"))
