"""The terminal: threat 19.  A run at a terminal cannot type into it, nor stay its owner."""
import fcntl
import os
import pty
import select
import subprocess
import termios

import pytest

import machine_gives
import support
from harness import DEADLINE, callers
from support import Callers

TYPED = "echo escaped\n"


class Terminal:
    """A terminal with a process that has it as its controlling terminal."""

    def __enter__(self):
        machine_gives.need_terminal()
        self.master, self.slave = pty.openpty()
        return self

    def __exit__(self, *_):
        os.close(self.master)
        os.close(self.slave)

    def run(self, line):
        return self.run_bytes(line).decode(errors="replace")

    def run_bytes(self, line):
        def take():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        process = subprocess.Popen(line, stdin=self.slave, stdout=self.slave, stderr=self.slave,
                                   preexec_fn=take)
        output = b""
        while process.poll() is None or select.select([self.master], [], [], 0)[0]:
            if select.select([self.master], [], [], 0.05)[0]:
                output += os.read(self.master, 65536)
        assert process.wait(DEADLINE) is not None
        return output

    def input(self):
        """What waits to be read by whoever reads the terminal next."""
        old = termios.tcgetattr(self.slave)
        os.set_blocking(self.slave, False)
        try:
            return os.read(self.slave, 4096).decode()
        except BlockingIOError:
            return ""
        finally:
            termios.tcsetattr(self.slave, termios.TCSANOW, old)


@callers
def test_nothing_is_typed_into_the_callers_terminal(scene, caller):
    with Terminal() as terminal:
        said = terminal.run(support.command("exec", "--volume", f"{scene.tools}:/attacks", "--",
                                            "/attacks/attack", "type", TYPED, caller=caller))
        assert "NOT " in said, said
        assert terminal.input() == ""


@pytest.mark.skipif(Callers.ROOT not in support.available_callers(),
                    reason="kernels since 6.2 let only root type")
def test_the_same_attack_types_into_a_terminal_that_it_has(scene):
    with Terminal() as terminal:
        said = terminal.run([str(scene.tools / "attack"), "type", TYPED])
        assert "GOT typed" in said, said
        assert "escaped" in terminal.input()


@callers
@pytest.mark.core
def test_a_program_with_pipes_has_no_controlling_terminal(caller):
    with Terminal() as terminal:
        said = terminal.run(support.command(
            "exec", "--no-tty", "--", "sh", "-c", "cut -d' ' -f7 /proc/self/stat; tty; : </dev/tty",
            caller=caller))
    lines = said.split("\r\n")
    assert "0" in lines and "not a tty" in lines, said


OWN = ("ls -l /proc/[0-9]*/fd 2>/dev/null | grep -c ptmx; ls /dev/pts; stat -c %t /dev/tty; "
       "cut -d' ' -f6,7 /proc/$$/stat; echo $$; : </dev/pts/1")


@callers
def test_the_programs_terminal_is_its_own(caller):
    """Of its own devpts, led by its own session; no process inside has the other side."""
    with Terminal() as terminal:
        said = terminal.run(support.command("exec", "-q", "--", "sh", "-c", OWN, caller=caller))
    held, names, device, stat, pid, error = said.split("\r\n")[:6]
    assert (held, names.split(), device) == ("0", ["0", "ptmx"], "5"), said
    assert stat == f"{pid} {0x8800}" and "pts/1" in error, said  # 136:0


@pytest.mark.skipif(Callers.ROOT not in support.available_callers(),
                    reason="kernels since 6.2 let only root type")
def test_without_the_filter_a_program_types_into_its_own_terminal_only(scene):
    """The filter is the second defence here."""
    with Terminal() as terminal:
        said = terminal.run(["env", "SANDBOX_RUN_TEST_WITHOUT=seccomp", *support.command(
            "exec", "-q", "--volume", f"{scene.tools}:/attacks", "--", "/attacks/attack", "type",
            TYPED, hooks=True)])
        assert "GOT typed" in said or "NOT " in said, said
        assert terminal.input() == ""


@callers
def test_the_terminal_keeps_its_settings(scene, caller):
    with Terminal() as terminal:
        before = termios.tcgetattr(terminal.slave)
        terminal.run(support.command("exec", "--", "sh", "-c", "stty raw -echo; stty sane",
                                     caller=caller))
        assert termios.tcgetattr(terminal.slave) == before


SEQUENCES = [
    "\x1b]0;owned\x07", "\x1b]52;c;ZXNjYXBlZA==\x07", "\x1bP+q544e\x1b\\", "\x1b[6n", "\x1b[c",
    "\x1b[21t", "\x1b[5i", "\x1b[3J", "\x1b[?1050h",
    # The same as single characters, which a terminal that reads UTF-8 knows as well.
    "\x9b6n", "\x9d0;owned\x9c", "\x90+q544e\x9c"]


@callers
def test_control_sequences_do_not_reach_the_terminal(scene, caller):
    octal = "".join(f"\\{byte:03o}" for byte in "|".join(SEQUENCES).encode())
    with Terminal() as terminal:
        said = terminal.run(support.command("exec", "--", "printf", f"start{octal}end",
                                            caller=caller))
    shown = said[said.index("start"):]
    assert "end" in shown and not [sequence for sequence in SEQUENCES if sequence in shown], repr(shown)


@callers
def test_the_callers_stop_and_interrupt_keys_stay_with_the_caller(caller):
    """The program is in another session, so the terminal has no group of its to signal."""
    with Terminal() as terminal:
        said = terminal.run(support.command("exec", "--no-tty", "--", "sh", "-c", "ps -o sid=,tty= -p $$ || "
                                            "cut -d' ' -f6,7 /proc/self/stat", caller=caller))
    assert "pts/" not in said, said
