"""Waiting for events with a deadline, and programs that are watched while they run."""
import contextlib
import os
import pty
import select
import signal
import subprocess
import time
import uuid

import machine_gives
import support

SOON = 20  # seconds: never reached unless something is wrong


def wait_until(condition, seconds=SOON):
    """For what has no descriptor to wait for.  True as soon as the condition holds.  Looking takes CPU time, which others
    need: the longer nothing comes, the more seldom."""
    end, pause = time.monotonic() + seconds, 0.002
    while not condition():
        if time.monotonic() > end:
            return False
        select.select([], [], [], pause)
        pause = min(1.4 * pause, 0.05)
    return True


def read_line(stream, seconds=SOON):
    """The next line of an unbuffered pipe; fails when it does not come in time."""
    line, end = b"", time.monotonic() + seconds
    while not line.endswith(b"\n"):
        ready, _, _ = select.select([stream], [], [], max(0, end - time.monotonic()))
        assert ready, f"no line in time, only {line!r}"
        byte = os.read(stream.fileno(), 1)
        assert byte, f"end of file after {line!r}"
        line += byte
    return line


@contextlib.contextmanager
def started(*args, caller=None, env=None, **kwargs):
    """The tool in flight, with pipes; it is ended when the test fails in between."""
    pipes = {name: subprocess.PIPE for name in ("stdin", "stdout", "stderr")}
    process = subprocess.Popen(support.command(*args, caller=caller), bufsize=0,
                               env=support.surroundings(caller, env),
                               **{**pipes, **kwargs})
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(SOON)
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream:
                stream.close()


class Inside:
    """The processes of one run, seen from the host by a mark in their arguments."""

    def __init__(self):
        self.mark = f"mark-{uuid.uuid4().hex}"
        self.pidfds = []

    def find(self, at_least):
        """Takes hold of every process that bears the mark and lives in another pid namespace."""
        ours = os.readlink("/proc/self/ns/pid")

        def look():
            pids = []
            for pid in filter(str.isdigit, os.listdir("/proc")):
                with contextlib.suppress(OSError):
                    with open(f"/proc/{pid}/cmdline", "rb") as line:
                        if (self.mark.encode() in line.read()
                                and os.readlink(f"/proc/{pid}/ns/pid") != ours):
                            pids.append(int(pid))
            self.pids = pids
            return len(pids) >= at_least

        assert wait_until(look), f"{len(self.pids)} processes inside, not {at_least}"
        for pid in self.pids:
            with contextlib.suppress(ProcessLookupError):
                self.pidfds.append(os.pidfd_open(pid))

    def all_end(self, seconds=SOON):
        end = time.monotonic() + seconds
        return all(select.select([fd], [], [], max(0, end - time.monotonic()))[0]
                   for fd in self.pidfds)

    def close(self):
        """Whoever still lives is ended here, so that a failed test leaves nothing behind."""
        for fd in self.pidfds:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(fd, signal.SIGKILL)
            os.close(fd)


def on_terminal(*args, caller=None, env=None, stdin=subprocess.DEVNULL, **kwargs):
    """Everything that the tool writes to its terminal, and its exit status."""
    machine_gives.need_terminal()
    ours, theirs = pty.openpty()
    process = subprocess.Popen(support.command(*args, caller=caller),
                               stdin=theirs if stdin == "terminal" else stdin,
                               stdout=theirs, stderr=theirs,
                               env={"PATH": "/usr/bin:/bin", "TERM": "xterm", **support.engine_of(caller),
                                    **(env or {})},
                               **kwargs)
    os.close(theirs)
    seen, end = b"", time.monotonic() + SOON
    try:
        while select.select([ours], [], [], max(0, end - time.monotonic()))[0]:
            try:
                data = os.read(ours, 65536)
            except OSError:  # EIO: nobody has the terminal any more
                break
            if not data:
                break
            seen += data
        return process.wait(SOON), seen
    finally:
        process.kill()
        process.wait(SOON)
        os.close(ours)
