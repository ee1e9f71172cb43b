#!/usr/bin/python3
"""Boots one host and runs a shell command in it, as the host's user.

Usage: boot.py NAME [--root] [-- COMMAND WORD...]     e.g.  boot.py v2-root -- id
A single word is a line for the shell:                      boot.py v2-root -- 'cat /proc/self/cgroup; ls'

The exit status is the command's; 125 when the host did not come up or died.
"""
import argparse
import dataclasses
import os
import shlex
import signal
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True

import machine  # noqa: E402
from guest import Guest  # noqa: E402
from packages import Failed  # noqa: E402
from paths import HERE, LOGS, REPO  # noqa: E402


def script(host, build, test_build, line):
    """What runs in the guest; programs are found under the names that the tests use."""
    for folder in (build, test_build):
        if folder and host.root != "this-machine" and REPO not in Path(folder).resolve().parents:
            raise Failed(f"{host.name} sees no programs outside of {REPO}")
    return (f"export SBR_BUILD={shlex.quote(str(build or host.build))}\n"
            f"export SBR_TEST_BUILD={shlex.quote(str(test_build or host.test_build))}\n"
            f"export SBR_HOST={host.name} PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1\n"
            f"export PATH=\"$SBR_BUILD:{HERE}/guest/bin:$PATH\"\n"
            f"cd {REPO}\n{line}\n")


def follow(guest, silence_s):
    """Prints the output as it comes; returns the command's exit status."""
    for kind, what in guest.events(silence_s):
        if kind == "output":
            sys.stdout.buffer.write(what)
            sys.stdout.buffer.flush()
        elif what.get("host") == "failed":
            raise Failed(what["detail"])
        elif what.get("host") == "end":
            status = what["status"]
    return status


def main():
    parser = argparse.ArgumentParser(description="Boots one host and runs a shell command in it.")
    parser.add_argument("name")
    parser.add_argument("--root", action="store_true", help="as root, in the root cgroup")
    parser.add_argument("--build", metavar="DIR", help="programs to use: SBR_BUILD in the guest")
    parser.add_argument("--test-build", metavar="DIR")
    parser.add_argument("--deadline", type=int, metavar="S")
    parser.add_argument("--kernel", action="append", metavar="ARG", help="one more kernel argument")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        host = machine.load(options.name)
        changes = {"kernel": (*host.kernel, *(options.kernel or ()))}
        if options.root:
            changes |= {"user": "root", "cgroup": ""}
        if options.deadline:
            changes["deadline"] = options.deadline
        host = dataclasses.replace(host, **changes)
        words = options.command
        line = words[0] if len(words) == 1 else shlex.join(words)
        begin = time.monotonic()
        log = f"boot-{host.name}-{os.getpid()}"
        with Guest(host, script(host, options.build, options.test_build, line), log) as guest:
            status = follow(guest, host.deadline)
        for path in LOGS.glob(f"{log}.*"):
            path.unlink()  # kept only when the host failed
        if os.isatty(2):
            print(f"{host.name}: {time.monotonic() - begin:.1f} s", file=sys.stderr)
        return status
    except Failed as problem:
        print(f"boot.py: {problem}", file=sys.stderr)
        return 125
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
