"""Which tests a host runs.

A guest is slow at collecting tests that it does not run, and at starting pytest.  So the tests are
collected here first, which compiles them too; a guest gets the files that have some of the core, in one call.
"""
import json
import os
import re
import subprocess

import yaml

from packages import Failed
from paths import HERE, REPO, TESTS, WORK

SUITES = {
    "host": ["hosts/suite/test_host.py"],
    "limits": ["hosts/suite/test_limits.py"],
    "network": ["hosts/suite/test_network.py"],
    "workspaces": ["hosts/suite/test_workspaces.py"],
    "blackbox": ["blackbox", f"--ignore-glob={TESTS}/blackbox/test_process_tier*"],
    "escape": ["escape", f"--ignore-glob={TESTS}/escape/test_process_tier*"],
    "warm": ["warm"],
    # The tier without namespaces has its own: most of the others have no premise there.
    "process": ["blackbox/test_process_tier*.py"],
    "process-escape": ["escape/test_process_tier*.py"],
    "systemd": ["hosts/suite/test_systemd.py"],
    "remedies": ["hosts/suite/test_remedies.py"],  # last: it changes the host
}
COMPILED = WORK / "pycache"
# Files of different folders have the same name: importlib does not mind.
FOLDERS = [TESTS, *(TESTS / name for name in ("blackbox", "escape", "warm", "hosts/suite"))]
PYTEST = ["/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "run",
          "--import-mode=importlib", "--rootdir", str(REPO)]
ENVIRONMENT = {"PYTHONPATH": ":".join(map(str, FOLDERS)), "PYTHONPYCACHEPREFIX": str(COMPILED),
               "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
EXAMPLE = json.dumps({"tier": "container", "missing": [], "network": ["tproxy"], "ipv6": True})


def check_names(names):
    unknown = set(names) - set(SUITES)
    if unknown:
        raise Failed(f"there is no suite {', '.join(sorted(unknown))}; there is {', '.join(SUITES)}")


def _paths(suite):
    """The words of a suite for pytest."""
    for word in SUITES[suite]:
        if word.startswith("-"):
            yield word
        else:
            yield from map(str, sorted(TESTS.glob(word)))


def _collected(words):
    """Files of the tests that pytest collects here."""
    env = {**os.environ, **ENVIRONMENT, "SBR_REPORT_FD": "1", "SBR_PROGRAMS": "/nonexistent", "SBR_EXPECT": EXAMPLE}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run([*PYTEST, "--collect-only", *words], env=env, check=False, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    files = dict.fromkeys(re.findall(r"^(tests/[^:\n]+\.py)::", done.stdout, re.M))
    if not files:
        raise Failed(f"pytest collects nothing of {' '.join(words)}:\n{done.stdout}")
    return [str(REPO / file) for file in files]


class Choice:
    """The words for pytest, by suite."""

    def __init__(self, suites, everything=False, quick=False):
        self.core = [] if everything else ["-m", "core"]
        self.quick = None
        if quick:
            chosen = yaml.safe_load((HERE / "quick.yaml").read_text(encoding="utf-8"))
            self.quick = [str(TESTS / name) for name in chosen]
            _collected([*self.core, *self.quick])
        else:
            self.files = {suite: _collected([*self.core, *_paths(suite)]) for suite in sorted(set(suites))}

    def calls(self, suites):
        """Words of each call of pytest.  What changes the host has one of its own, and is the last."""
        if self.quick is not None:
            yield [*self.core, *self.quick]
            return
        files = [file for suite in suites if suite != "remedies" for file in self.files[suite]]
        if files:
            yield [*self.core, *files]
        if "remedies" in suites:
            yield [*self.core, *self.files["remedies"]]
