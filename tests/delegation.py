"""Control groups (v1) that belong to the ordinary user, for tests on machines that give it none."""
import contextlib
import os
import pathlib

import support

TOP = pathlib.Path("/sys/fs/cgroup")
CONTROLLERS = ("memory", "pids", "cpu", "cpuacct", "freezer")


def is_possible():
    return os.geteuid() == 0 and all(os.access(TOP / name, os.W_OK) for name in CONTROLLERS)


def _own():
    """The group of this process by controller."""
    lines = pathlib.Path("/proc/self/cgroup").read_text().splitlines()
    paths = {name: path for _, names, path in (line.split(":", 2) for line in lines) for name in names.split(",")}
    return {name: TOP / name / paths[name].lstrip("/") for name in CONTROLLERS}


@contextlib.contextmanager
def of_the_user():
    """This process, and so what it starts, lives in such groups meanwhile."""
    own = _own()
    made = {name: path / f"sbr-user-{os.getpid()}" for name, path in own.items()}
    try:
        for path in made.values():
            path.mkdir()
            for part in (path, *path.iterdir()):
                os.chown(part, support.ORDINARY_UID, support.ORDINARY_UID)
            (path / "cgroup.procs").write_text(str(os.getpid()))
        yield
    finally:
        for name, path in made.items():
            (own[name] / "cgroup.procs").write_text(str(os.getpid()))
            path.rmdir()
