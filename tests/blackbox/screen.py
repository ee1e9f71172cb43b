"""A terminal as a user has it: an emulator shows what the tool and its program draw."""
import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time

import pyte

import machine_gives
import support
from waiting import SOON

ROWS, COLUMNS = 24, 80


class Screen:
    def __init__(self, line, env, rows=ROWS, columns=COLUMNS):
        self.master, self.slave = pty.openpty()
        self.before = termios.tcgetattr(self.slave)
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.bytes = b""
        self._lines = None  # of the screen as it is: it is asked for far more often than it changes
        self._size(rows, columns)
        self.process = subprocess.Popen(line, stdin=self.slave, stdout=self.slave,
                                        stderr=self.slave, env=env, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))

    def _size(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def resize(self, rows, columns):
        self.screen.resize(rows, columns)
        self._lines = None
        self._size(rows, columns)

    def type(self, text):
        os.write(self.master, text.encode())

    def feed(self, seconds=0.0):
        """Shows what has come; False when nothing came in time."""
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        data = os.read(self.master, 65536)
        self.bytes += data
        self._lines = None
        self.stream.feed(data)
        return True

    @property
    def lines(self):
        if self._lines is None:
            self._lines = [line.rstrip() for line in self.screen.display]
        return self._lines

    @property
    def text(self):
        return "\n".join(self.lines).rstrip()

    def wait(self, condition, seconds=SOON):
        """Until the screen fulfils the condition; a text: until it is shown."""
        wanted = condition if callable(condition) else lambda: condition in self.text
        end = time.monotonic() + seconds
        while not wanted():
            left = end - time.monotonic()
            assert left > 0, f"not in time: {condition}\n{self.text}"
            self.feed(min(left, 0.05))

    def is_raw(self):
        return not termios.tcgetattr(self.slave)[3] & termios.ICANON

    def settings_are_as_before(self):
        return termios.tcgetattr(self.slave) == self.before

    def end(self):
        """The exit status, after all output was shown."""
        deadline = time.monotonic() + SOON
        while self.process.poll() is None:
            assert time.monotonic() < deadline, f"does not end:\n{self.text}"
            self.feed(0.02)
        while self.feed(0):
            pass
        return self.process.returncode

    def close(self):
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(SOON)
        os.close(self.master)
        os.close(self.slave)


@contextlib.contextmanager
def screen_of(*line, env=None, **size):
    machine_gives.need_terminal()
    screen = Screen(line, env, **size)
    try:
        yield screen
    finally:
        screen.close()


@contextlib.contextmanager
def shown(*args, caller=None, env=None, **size):
    """The tool at such a terminal."""
    with screen_of(*support.command(*args, caller=caller),
                   env={**support.surroundings(caller, env), "TERM": "xterm-256color"},
                   **size) as screen:
        yield screen
