"""A checkout that only root can read (below /root, or made with umask 077), for tests that an ordinary user runs too.

They run in a copy that everybody may read.  The programs of the unit tests stay where meson made them: SBR_UNIT_BUILD.
"""
import contextlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

ORDINARY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--"]


def is_readable(root):
    """By an ordinary user, from the tests to the programs; for whoever is one, it is."""
    asked = [Path(root, name) for name in ("tests/run.py", "build/sandbox-run") if Path(root, name).exists()]
    line = 'for path; do test -r "$path" || exit 1; done'
    return os.geteuid() != 0 or subprocess.run(
        [*ORDINARY, "sh", "-c", line, "sh", *map(str, asked)], stderr=subprocess.DEVNULL, check=False).returncode == 0


def _let_read(path):
    for folder, _, names in os.walk(path):
        os.chmod(folder, os.stat(folder).st_mode | 0o055)
        for file in (os.path.join(folder, name) for name in names):
            mode = os.lstat(file).st_mode
            if not os.path.islink(file):
                os.chmod(file, mode | 0o044 | (mode & 0o100 and 0o011))


@contextlib.contextmanager
def copy_of(root):
    """Everything but what the emulated hosts keep."""
    with tempfile.TemporaryDirectory(prefix="sbr-checkout-", dir="/var/tmp") as place:
        copy = Path(place, "checkout")
        shutil.copytree(root, copy, symlinks=True, ignore=shutil.ignore_patterns("build-hosts", "__pycache__"))
        _let_read(place)
        yield copy


def run_in_copy(root, words):
    """Runs tests/run.py of the copy with the same words; its exit status."""
    with copy_of(root) as copy:
        env = {**os.environ, "SBR_UNIT_BUILD": str(Path(root, "build"))}
        return subprocess.run(["/usr/bin/python3", str(copy / "tests/run.py"), *words], env=env, check=False).returncode
