"""The terminal's answers: a program cannot make the user's terminal type.

A real terminal (tmux) gets what the filter left of every control sequence: each final byte with each prefix and each
intermediate byte, and the strings that are known to be questions.  It must answer none of them; bare, it answers many.
"""
import json
import os
import shlex
import subprocess
import sys

import pytest

import support
from test_terminal import Terminal
from waiting import SOON

# Inside the terminal: writes a file to it and collects what it answers, until it answers our own question.
ASKER = r"""
import json, os, select, sys, tty
said = open(sys.argv[1], "rb").read() + b"\x18\x1b\\\x1b[?6l\x1b[r\x1b[7;9H\x1b[6n"
fd, got = os.open("/dev/tty", os.O_RDWR), b""
tty.setraw(fd)
while b"\x1b[7;9R" not in got:
    readable, writable, _ = select.select([fd], [fd] if said else [], [])
    if writable:
        said = said[os.write(fd, said[:512]):]
    if readable:
        got += os.read(fd, 65536)
json.dump(got.partition(b"\x1b[7;9R")[0].decode("latin-1"), open(sys.argv[2], "w"))
"""

QUESTIONS = [b"\x1b[c", b"\x1b[>c", b"\x1b[=c", b"\x1b[5n", b"\x1b[?6n", b"\x1b[>q", b"\x1b[18t", b"\x1b[?2026$p",
             b"\x1bP$qm\x1b\\", b"\x1bP+q544e\x1b\\", b"\x1b]4;1;?\x07", b"\x1b]10;?\x1b\\", b"\x1b]52;c;?\x07", b"\x1bZ", b"\x05",
             b"\xc2\x9bc", b"\x9bc", b"\xc2\x90$qm\xc2\x9c", b"\x1b_Gi=1,a=q;AAAA\x1b\\", b"\x1b[?u", b"\x1b[?1;1;0S"]


def sequences():
    for prefix in ("", "<", "=", ">", "?", "1?"):
        for numbers in ("", "1", "6", "1;1"):
            for between in ("", *map(chr, range(0x20, 0x30))):
                for final in range(0x40, 0x7f):
                    yield f"\x1b[{prefix}{numbers}{between}{chr(final)}".encode()
    yield from QUESTIONS


def answers(room, data):
    """What tmux types when these bytes are written to it."""
    (room / "asker.py").write_text(ASKER)
    (room / "data").write_bytes(data)
    line = shlex.join([sys.executable, str(room / "asker.py"), str(room / "data"), str(room / "said")])
    tmux = ["tmux", "-S", str(room / "socket"), "-f", "/dev/null"]
    env = {**os.environ, "TERM": "xterm", "LANG": "C.UTF-8"}
    # The server ends with its only session, and with it this client, which lives as long as its stdin is open.
    with subprocess.Popen([*tmux, "-C", "new-session", "-x", "80", "-y", "24", line], env=env, stdin=subprocess.PIPE,
                          stdout=subprocess.DEVNULL) as client:
        try:
            client.wait(SOON)
        finally:
            subprocess.run([*tmux, "kill-server"], stderr=subprocess.DEVNULL, check=False)
    return json.loads((room / "said").read_text())


def test_the_same_questions_are_answered_without_the_filter(tmp_path):
    said = answers(tmp_path, b"".join(QUESTIONS))
    assert "\x1b[?1" in said and "\x1bP" in said, repr(said)


@pytest.mark.parametrize("drawing", [False, True])
def test_no_sequence_makes_the_terminal_answer(tmp_path, drawing):
    tmp_path.chmod(0o755)
    (tmp_path / "all").write_bytes(b"\n".join(sequences()) + b"\nlast\n")
    with Terminal() as terminal:
        left = terminal.run_bytes(support.command(
            "exec", "-q", *([] if drawing else ["--no-tty"]), "--max-output", "16m", "--volume", f"{tmp_path}:/data:ro", "--",
            "cat", "/data/all"))
    assert b"last" in left and b"\x1b[1m" in left and (b"\x1b[1L" in left) == drawing
    assert answers(tmp_path, left) == ""
