"""What this machine gives a caller, found once by a run; tests that need more are skipped, with what is missing.

Tests of the tier `process` (no_userns.py) make their own command lines, which ask for nothing here.  An emulated host
(tests/hosts) has a file that says what to expect of it: there nothing is skipped for this reason.
"""
import functools
import json
import os
import subprocess

TIERS = ("", "process", "reduced", "container")  # the first: nothing runs at all
REFUSAL = b"--allow-degraded runs without"  # the end of what is said when a run would have less than `container`
DEADLINE = 150


def _ask(words):
    """What the tool prints as JSON, and its last words should it print none."""
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=DEADLINE, check=False,
                          env={"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "SANDBOX_RUN_COLD": "1"})
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {"error": {"message": done.stderr.decode(errors="replace").strip()}}


@functools.cache
def tier(tool):
    """The strongest for whoever types these words, and why it is not stronger."""
    result = _ask([*tool, "exec", "--json", "--allow-degraded", "--", "true"])
    if "isolation" not in result:
        return "", result["error"]["message"]
    found = result["isolation"]["tier"]
    if found == TIERS[-1]:
        return found, ""
    checks = [check for check in _ask([*tool, "doctor", "--json"]).get("checks", ())
              if check["state"] == "missing" and check["name"] != "trial run"]
    reasons = [f"{check['name']}: {check['found']}" for check in checks]
    return found, reasons[0] if reasons else f"without {', '.join(result['isolation']['missing'])}"


def lack(tool, need):
    """Empty when the machine gives that tier, otherwise a sentence."""
    if "SBR_EXPECT" in os.environ:
        return ""
    found, why = tier(tool)
    if TIERS.index(found) >= TIERS.index(need):
        return ""
    return f"needs isolation '{need}', and this machine gives {repr(found) if found else 'none'} ({why})"


def skip_if(sentence):
    """Here and not above: the runner uses this file as well, and is no test."""
    if sentence:
        import pytest  # pylint: disable=import-outside-toplevel

        pytest.skip(sentence)


def need_terminal():
    """A chroot may have no /dev/pts."""
    try:
        for fd in os.openpty():
            os.close(fd)
    except OSError as problem:
        skip_if(f"no terminal can be made here: {problem}")
