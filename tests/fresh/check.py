#!/usr/bin/python3
"""The two commands of README.md on a bare Debian 12, in several places: one line for each, and the log of what failed.

Usage: check.py [PLACE]...     PLACES below has their names

The image is made once, by mmdebstrap (minbase, make, git), and the packages of `make check` once more as a layer
over it; both are kept in build-hosts/fresh.  What a place writes is a layer of its own, and gone afterwards.
`make hello` runs everywhere.  `make check` runs in full in the chroot, where most tests are skipped.  In full it takes
too long elsewhere: a container and an ordinary user have the saved plans and the tests of the tier `process`; the
guest, which is slow, has the saved plans and one file of tests that need the tier `container`.
"""
import argparse
import contextlib
import dataclasses
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPO = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "hosts"))
sys.dont_write_bytecode = True

import rootfs  # noqa: E402
from packages import Failed, made, run  # noqa: E402
from paths import WORK  # noqa: E402

FRESH = WORK / "fresh"
LOGS = WORK / "logs"
PACKAGES = REPO / "tools/packages.sh"
UNSHARE = ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--mount-proc"]
DEADLINE_S = 5400
USER = 1000
HELLO = "Hello from inside the sandbox\n"
# One package of the build is taken away, for sudo to bring back.
SUDO = "apt-get -q update && apt-get -q -y install --no-install-recommends sudo && " \
    "dpkg --purge --force-depends libnftnl-dev && " \
    "echo '#1000 ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/fresh"
SOME = "--suite golden --suite blackbox -k 'golden or process_tier'"
# A guest has one processor, emulated: two workers that collect the large suite say nothing for five minutes.
FEW = "--workers 1 --suite golden --suite escape -k 'golden or test_identity'"


@dataclasses.dataclass(frozen=True)
class Place:
    """Where, as whom, from which checkout; the tier that `make hello` names, and what `make check` is given."""
    kind: str
    tier: str = "process"
    user: int = 0
    directory: str = "/root/sandbox-run"
    umask: str = "022"
    layers: tuple = ("ready/upper", "bare")
    before: str = ""  # a line of root's
    check: str = None  # CHECK_ARGS; None: the command is not tried
    says: str = ""  # instead of a hello: the sentence that it ends with
    after: str = ""  # a place whose checkout is taken over as it is built, when that place was tried before


PLACES = {
    "nothing": Place("chroot", layers=("bare",)),
    "without-proc": Place("chroot-without-proc", layers=("bare",),
                          says="/proc is not mounted; as root: mount -t proc proc /proc"),
    "chroot": Place("chroot", directory="/srv/a checkout", umask="077", check=""),
    "container": Place("container", check=SOME, after="chroot"),
    "bubblewrap": Place("bubblewrap", after="chroot"),
    "guest": Place("guest", tier="container", check=FEW, after="chroot"),
    "user": Place("machine", tier="reduced", user=USER, directory="/tmp/a checkout", before=SUDO, check=SOME),
}


def _make_bare(target):
    target.rmdir()  # mmdebstrap wants to make it
    sources = rootfs._sources()  # pylint: disable=protected-access
    run(["mmdebstrap", "--variant=minbase", "--include=make,git", "--skip=cleanup/apt", "--dpkgopt=force-unsafe-io",
         '--aptopt=APT::Sandbox::User "root"', rootfs.SUITE, target, *sources],
        env={**os.environ, "LC_ALL": "C"})
    os.chmod(target, 0o755)


def _make_ready(target):
    """Every package of `make check`, by the script that installs them there."""
    checkout = target / "checkout"
    for name in ("upper", "work", "root", "checkout/tools"):
        (target / name).mkdir(parents=True)
    shutil.copy(PACKAGES, checkout / "tools")
    place = Place("chroot", layers=("bare",), directory="/var/tmp/sandbox-run")
    status, said = enter(place, target, "tools/packages.sh check")
    if status:
        raise Failed(said)
    shutil.rmtree(target / "upper/var/tmp/sandbox-run")
    shutil.rmtree(target / "upper/var/cache/apt/archives", ignore_errors=True)


def make_layers():
    made(FRESH / "bare", ("bare", 1), _make_bare)
    made(FRESH / "ready", ("ready", PACKAGES.read_text(encoding="utf-8"), 1), _make_ready)


def enter(place, where, line, user=None):
    """A line in a place; its status and what it said."""
    env = {**os.environ, "LOWER": ":".join(place.layers), "RUN": os.path.relpath(where, FRESH),
           "UMASK": place.umask, "OWNER": str(place.user)}
    words = [*UNSHARE, HERE / "enter", place.kind, place.user if user is None else user, place.directory, line]
    done = subprocess.run(list(map(str, words)), cwd=FRESH, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=DEADLINE_S, check=False)
    return done.returncode, done.stdout.decode(errors="replace")


def clone(target, umask):
    """The checkout as it is, with what is not committed yet; made with that umask."""
    script = 'umask "$1"; git clone -q --depth 1 "file://$2" "$3" && cd "$2" && ' \
        'git ls-files -mo --exclude-standard -z | tar c --null -T - | tar x --no-same-permissions -C "$3"'
    run(["bash", "-c", script, "bash", umask, REPO, target])


def hello(place, where):
    """What is wrong with `make hello` there."""
    status, said = enter(place, where, "make hello")
    if place.says:
        fine = status and place.says in said
    elif place.tier == "container":
        fine = not status and HELLO in said and said.endswith("isolation container\n")
    else:
        lines = said.splitlines()[-2:]
        fine = (not status and HELLO in said and f"isolation {place.tier}\n" in said
                and lines[0].startswith(f"This machine gives isolation '{place.tier}', not 'container'; missing: ")
                and lines[1].startswith("What mends it: "))
    return "" if fine else f"make hello: status {status}\n{said}"


def check(place, where):
    status, said = enter(place, where, f"make check CHECK_ARGS=\"{place.check}\"")
    last = said.rstrip().rsplit("\n", 1)[-1]
    found = re.fullmatch(r"(\d+) passed, 0 failed, (\d+) skipped", last)
    return last, "" if not status and found and int(found[1]) else f"make check: status {status}\n{said}"


def prepare(name, stack, tried):
    """The place with its layers, and the folder of the one that it writes to."""
    place = PLACES[name]
    where = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="run-", dir=FRESH)))
    where.chmod(0o755)
    for part in ("upper", "work", "root"):
        (where / part).mkdir(mode=0o755)
    if place.after in tried:
        other, layer = PLACES[place.after], tried[place.after] / "upper"
        return dataclasses.replace(place, directory=other.directory, umask=other.umask,
                                   layers=(os.path.relpath(layer, FRESH), *other.layers)), where
    clone(where / "checkout", place.umask)
    if place.kind == "guest":  # where a compiler takes ten times as long
        status, said = enter(dataclasses.replace(place, kind="chroot"), where, "make all test-build")
        if status:
            raise Failed(said)
    return place, where


def try_place(name, stack, tried):
    """One line for the reader, and what is wrong."""
    place, where = prepare(name, stack, tried)
    begin, about = time.monotonic(), []
    status, problem = enter(place, where, place.before, user=0) if place.before else (0, "")
    problem = problem if status else hello(place, where)
    about.append(f"make hello {time.monotonic() - begin:.0f} s")
    if not problem and place.check is not None:
        begin = time.monotonic()
        last, problem = check(place, where)
        about.append(f"make check {time.monotonic() - begin:.0f} s ({last})")
    tried[name] = where
    return f"{name:<20} {'failed' if problem else 'passed'}  {', '.join(about)}", problem


def main():
    parser = argparse.ArgumentParser(description="Tries the two commands of README.md on a bare Debian 12.")
    parser.add_argument("place", nargs="*", metavar="PLACE", help=f"{', '.join(PLACES)}; all, unless named")
    names = parser.parse_args().place or list(PLACES)
    unknown = set(names) - set(PLACES)
    if unknown:
        sys.exit(f"check.py: there is no {', '.join(sorted(unknown))}; there is {', '.join(PLACES)}")
    if os.geteuid() != 0:
        sys.exit("check.py: only root can make such places")
    failed, tried, stack = False, {}, contextlib.ExitStack()
    try:
        FRESH.mkdir(parents=True, exist_ok=True)
        LOGS.mkdir(exist_ok=True)
        make_layers()
        for name in names:
            line, problem = try_place(name, stack, tried)
            print(line, flush=True)
            (LOGS / f"fresh-{name}.log").write_text(problem, encoding="utf-8")
            if problem:
                failed = True
                print("\n".join(f"    {said}" for said in problem.splitlines()[-40:]), flush=True)
    except Failed as problem:
        sys.exit(f"check.py: {problem}")
    finally:
        stack.close()
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
