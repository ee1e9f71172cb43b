"""A kernel of a session outside of a sandbox: its driver, its real interpreter and the frames between us."""
import contextlib
import json
import os
import pathlib
import select
import signal
import socket
import subprocess
import sys
import time

import support
from waiting import SOON, wait_until

DRIVERS = support.REPO / "languages" / "drivers"


class Kernel:
    """One driver that was started.  Use it with `with`: it leaves no process."""

    def __init__(self, words, folder, env=None):
        self.folder, self.cell, self.waiting = folder, 0, b""
        self.ours, theirs = socket.socketpair()
        self.process = subprocess.Popen(
            [word.replace("${driver}", str(DRIVERS)) for word in words], cwd=folder, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=[theirs.fileno()], start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL), # a shell cannot undo SIG_IGN
            env={"PATH": "/usr/bin:/bin", "HOME": str(folder), "TMPDIR": str(folder), "LC_ALL": "C.UTF-8",
                 "SANDBOX_RUN_KERNEL_FD": str(theirs.fileno()), **(env or {})})
        theirs.close()
        for stream in (self.process.stdout, self.process.stderr):
            os.set_blocking(stream.fileno(), False)

    def __enter__(self):
        word, number, _, payload = self.receive()
        assert (word, number) == ("ready", 0), payload
        self.about = payload
        return self

    def __exit__(self, *_):
        self.ours.close()
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()

    def send(self, word, number, argument, payload=b""):
        payload = payload.encode() if isinstance(payload, str) else payload
        self.ours.sendall(b"%s %d %s %d\n" % (word.encode(), number, str(argument).encode(), len(payload)) + payload)

    def _fill(self, deadline):
        left = max(0, deadline - time.monotonic())
        assert select.select([self.ours], [], [], left)[0], f"no frame in time; stderr: {self.text(self.process.stderr)}"
        data = self.ours.recv(65536)
        if not data:
            raise EOFError
        self.waiting += data

    def receive(self):
        deadline = time.monotonic() + SOON
        while b"\n" not in self.waiting:
            self._fill(deadline)
        header, _, self.waiting = self.waiting.partition(b"\n")
        assert len(header) <= 128
        word, number, argument, length = header.decode().split(" ")
        while len(self.waiting) < int(length):
            self._fill(deadline)
        payload, self.waiting = self.waiting[:int(length)], self.waiting[int(length):]
        return word, int(number), argument, json.loads(payload)

    @staticmethod
    def text(stream):
        data = b""
        while True:
            try:
                more = os.read(stream.fileno(), 65536)
            except BlockingIOError:
                break
            if not more:
                break
            data += more
        return data.decode()

    def begin(self, code, width="-"):
        self.cell += 1
        self.send("execute", self.cell, width, code)

    def end(self):
        """What the running cell left: status, details, stdout, stderr, displays."""
        shown = []
        while True:
            word, number, argument, payload = self.receive()
            assert number == self.cell
            if word == "done":
                return Done(argument, payload, self.text(self.process.stdout), self.text(self.process.stderr), shown)
            assert word == "display", word
            shown.append(payload)

    def run(self, code, width="-"):
        self.begin(code, width)
        return self.end()

    def wait_for(self, text):
        """Waits until the running cell has written this to stdout."""
        seen, deadline = "", time.monotonic() + SOON
        while text not in seen:
            left = max(0, deadline - time.monotonic())
            assert select.select([self.process.stdout], [], [], left)[0], seen
            seen += self.text(self.process.stdout)

    def interrupt(self, group=False):
        (os.killpg if group else os.kill)(self.process.pid, signal.SIGINT)

    def _is_asleep(self):
        threads = [path.read_text(encoding="utf-8") for path in pathlib.Path(f"/proc/{self.process.pid}/task").glob("*/status")]
        return all("State:\tS" in text and "ShdPnd:\t" + "0" * 16 in text for text in threads)

    def interrupt_idle(self):
        """Until it has taken the signal: Node has a thread for that, which may come later than the next cell."""
        self.interrupt()
        assert wait_until(self._is_asleep)

    @contextlib.contextmanager
    def slow_threads(self):
        """All but the first get little CPU time, and late: as on a machine on which much else runs."""
        one = min(os.sched_getaffinity(0))
        with subprocess.Popen([sys.executable, "-c", "while True: pass"],
                              preexec_fn=lambda: os.sched_setaffinity(0, {one})) as busy:
            try:
                for thread in map(int, os.listdir(f"/proc/{self.process.pid}/task")):
                    if thread != self.process.pid:
                        os.sched_setaffinity(thread, {one})
                        os.setpriority(os.PRIO_PROCESS, thread, 10)
                yield
            finally:
                busy.kill()

    def stop(self, group=False):
        """Interrupts until the cell has ended: a process that was just forked may miss the first signal."""
        deadline = time.monotonic() + SOON
        while not self.waiting and time.monotonic() < deadline:
            self.interrupt(group)
            if select.select([self.ours], [], [], 0.2)[0]:
                break
        done = self.end()
        wait_until(self._is_asleep, 2)  # the last signal may come behind the end, and is not for the next cell
        return done

    def ask(self, word, payload=b"", argument="-", number=0):
        self.send(word, number, argument, payload)
        kind, got, status, details = self.receive()
        assert (kind, got) == ("answer", number)
        return status, details


class Done:
    def __init__(self, status, details, out, err, shown):
        self.status, self.details, self.out, self.err, self.shown = status, details, out, err, shown

    @property
    def value(self):
        """The text of the last value that was shown."""
        return self.shown[-1]["text/plain"] if self.shown else None

    def __repr__(self):
        return f"{self.status} {self.details} out={self.out!r} err={self.err!r} {self.shown}"
