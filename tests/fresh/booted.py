"""One command in a booted guest whose root is a directory of this machine, read-only, under a layer of memory.

Usage: booted.py ROOT COMMAND WORD...     The exit status is the command's; 125 when the guest did not come up.
"""
import os
import shlex
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "hosts"))

import boot  # noqa: E402
import machine  # noqa: E402
from guest import Guest  # noqa: E402
from packages import Failed  # noqa: E402

DEADLINE_S = 3600
MEMORY_MIB = 4096


def main(root, *words):
    host = machine.Host(name="fresh", about="a bare Debian", root=os.path.abspath(root), memory=MEMORY_MIB,
                        deadline=DEADLINE_S)
    try:
        with Guest(host, f"{shlex.join(words)}\n", "fresh-guest") as guest:
            return boot.follow(guest, DEADLINE_S)
    except Failed as problem:
        print(f"booted.py: {problem}", file=sys.stderr)
        return 125


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
