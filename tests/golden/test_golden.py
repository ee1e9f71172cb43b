"""Plans against saved plans.

Machines are files (hosts/), since the planner makes no system call: plan_for prints what a request
(requests/) gets on each of them, and every byte of it counts.  The program's own plan for the
machine that runs the tests is compared as well, without what depends on the machine.

UPDATE_GOLDEN=1 writes the files anew; read the difference before you commit it.
"""

import difflib
import json
import os
import pathlib
import platform
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("SBR_BUILD", HERE.parents[1] / "build")).resolve()
UPDATE = os.environ.get("UPDATE_GOLDEN") == "1"

# The machine that lacks nothing gets every request; on the others it is what they lack that counts.
COMPLETE = "v2-root"
REQUESTS = sorted(path.stem for path in (HERE / "requests").glob("*.json"))
HOSTS = sorted(path.stem for path in (HERE / "hosts").glob("*.json"))
CASES = [(COMPLETE, request) for request in REQUESTS]
CASES += [(host, request) for host in HOSTS for request in ("degraded", "demanding")
          if host != COMPLETE]
CASES += [("small", "python-default")]  # presets are lowered, wishes refused
# Ways of copy-on-write, and who opens the trees; without namespaces there is none of it.
CASES += [(host, "project") for host in ("tmpfs-without-xattrs", "no-overlayfs", "v2-user", "no-userns")]
CASES += [("tmpfs-without-xattrs", "workspace")]

# Numbers of system calls differ, and so do the filters made of them.
SAVED_ON = "x86_64"


@pytest.fixture(scope="session", name="plan_for")
def build_plan_for():
    """Nobody but these tests needs the program, so it is made here."""
    target = "tests/golden/plan_for"
    subprocess.run(["/usr/bin/ninja", "--quiet", "-C", BUILD, target], check=True, timeout=280)

    def run(host, request):
        words = [BUILD / target, HERE / f"hosts/{host}.json", HERE / f"requests/{request}.json"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
        return json.loads(done.stdout)

    return run


def text_of(plan):
    return json.dumps(plan, indent=2) + "\n"


def difference(expected, found):
    lines = difflib.unified_diff(text_of(expected).splitlines(), text_of(found).splitlines(),
                                 "saved", "planned", lineterm="")
    return "\n".join(lines)


def without_filter(plan):
    return {key: value for key, value in plan.items() if key != "seccomp_instructions"}


@pytest.mark.parametrize("host,request_name", CASES, ids=lambda name: name)
def test_a_machine_gets_the_plan_that_was_saved(plan_for, host, request_name):
    saved = HERE / f"plans/{host}/{request_name}.json"
    found = plan_for(host, request_name)
    if UPDATE:
        saved.parent.mkdir(parents=True, exist_ok=True)
        saved.write_text(text_of(found), encoding="utf-8")
    expected = json.loads(saved.read_text(encoding="utf-8"))
    if platform.machine() != SAVED_ON:
        expected, found = without_filter(expected), without_filter(found)
    assert found == expected, difference(expected, found)


def test_no_saved_plan_is_without_its_case():
    saved = {(path.parent.name, path.stem) for path in (HERE / "plans").rglob("*.json")}
    assert saved == set(CASES)


def test_every_missing_mechanism_is_named_on_the_machine_that_lacks_it(plan_for):
    lacks = {
        "no-landlock": ["landlock"],
        "no-memory-controller": ["memory limit of the whole tree by cgroup"],
        "v2-user": ["--cpus by cgroup"],
    }
    for host, missing in lacks.items():
        assert plan_for(host, "degraded")["isolation"]["missing"] == missing


# What another machine or caller may have otherwise: groups, landlock, links beside /usr, who opens
# the volumes, where interpreters are.
ROOT_NAMES = {"bin", "lib", "lib32", "lib64", "sbin"}


def anywhere(plan):
    """A plan without what depends on the machine."""
    plan = {**without_filter(plan), "argv": [os.path.basename(plan["argv"][0]), *plan["argv"][1:]]}
    for key in ("cgroup", "supervise", "landlock", "isolation", "namespaces"):
        del plan[key]
    plan["mounts"] = [{key: value for key, value in op.items() if key != "passed"}
                      for op in plan["mounts"] if op["to"] not in ROOT_NAMES]
    plan["rlimits"] = {key: value for key, value in plan["rlimits"].items() if key != "data"}
    return plan


# "demanding" is refused on a small machine, and rightly so; layers and tools of the others are elsewhere here.
ONLY_SAVED = ("demanding", "c-default", "go-default", "java-default", "postgres-default")


@pytest.mark.parametrize("request_name", [name for name in REQUESTS if name not in ONLY_SAVED])
def test_the_program_plans_the_same_here(request_name, tmp_path):
    request = json.loads((HERE / f"requests/{request_name}.json").read_text(encoding="utf-8"))
    request["allow_degraded"] = True
    given = tmp_path / "request.json"
    given.write_text(json.dumps(request), encoding="utf-8")
    done = subprocess.run([BUILD / "sandbox-run", "plan", "--json", "--request", given],
                          capture_output=True, text=True, timeout=60, check=False,
                          env={**os.environ, "SANDBOX_RUN_COW": "overlay"})
    if "is not installed" in done.stdout + done.stderr:
        pytest.skip(f"{request['language']} is not installed")
    if "than this machine has" in done.stdout + done.stderr:
        pytest.skip("this machine is smaller than the request")
    assert done.returncode == 0, done.stderr
    saved = HERE / f"plans/{COMPLETE}/{request_name}.json"
    expected = anywhere(json.loads(saved.read_text(encoding="utf-8")))
    found = anywhere(json.loads(done.stdout))
    assert found == expected, difference(expected, found)
