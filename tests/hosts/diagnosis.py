"""Where a guest that went silent stands: what its processors run, and what the threads of QEMU and of the
sharing daemons wait for.  Kernels boot without randomised addresses: `boot.py v2-root -- cat /proc/kallsyms`
names the functions."""
import contextlib
import re
import socket
from pathlib import Path

ANSWER_S = 5
SAMPLES = 5  # of the processors: one that moves is busy, one that does not is stuck
PROMPT = b"(qemu) "
COUNTER = re.compile(r"\b(?:[RE]IP|PC)=([0-9a-f]+)")
EDITING = re.compile(r"\x1b\[[A-Z]")


def _ask(connection, command):
    """What QEMU's monitor answers."""
    connection.sendall(command.encode() + b"\n")
    answer = b""
    while not answer.endswith(PROMPT):
        piece = connection.recv(1 << 16)
        if not piece:
            break
        answer += piece
    text = EDITING.sub("", answer[: -len(PROMPT)].decode(errors="replace")).replace("\r", "")
    return text.partition("\n")[2].strip()  # the first line is the command itself


def _processors(path):
    """Lines about the processors."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(ANSWER_S)
        connection.connect(str(path))
        _ask(connection, "")  # the greeting
        samples = [_ask(connection, "info registers -a") for _ in range(SAMPLES)]
        state = _ask(connection, "info status")
    lines = [" ".join(COUNTER.findall(sample)) for sample in samples]
    return [state, "the processors are at:", *lines, samples[-1]]


def _threads(pid):
    """What the threads of a process and of its children wait for: name, state, kernel function, system call."""
    for task in sorted(Path(f"/proc/{pid}/task").glob("*")):
        with contextlib.suppress(OSError):
            state = re.search(r"^State:\s*(.*)$", (task / "status").read_text(), re.M)[1]
            where = [(task / name).read_text().strip() for name in ("comm", "wchan", "syscall")]
            yield f"{task.name}: {state}: {' | '.join(where)}"
            for child in (task / "children").read_text().split():
                yield from _threads(child)


def stand(monitor, processes):
    """The lines of the whole, the most telling ones first."""
    try:
        lines = _processors(monitor)
    except OSError as problem:
        lines = [f"QEMU's monitor does not answer: {problem}"]
    for process in processes:
        lines += [f"process {process.pid}, ended with {process.poll()}:", *_threads(process.pid)]
    return "\n".join(lines)
