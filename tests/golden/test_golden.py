"""Plans against saved plans.

Machines are files (hosts/), since the planner makes no system call: plan_for prints what a request
(requests/) gets on each of them, and every byte of it counts.  The plans of the machine that lacks nothing
are saved whole (plans/REQUEST.json), those of the others as differences from them (plans/HOST/REQUEST.diff) or refusals (plans/HOST/REQUEST.json).
The program's own plan for the machine that runs the tests is compared as well, without what depends on the
machine.

UPDATE_GOLDEN=1 writes the files anew; read the difference before you commit it.
"""

import json
import os
import pathlib
import platform
import re
import subprocess

import pytest

import machine_gives
import saved

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("SBR_BUILD", HERE.parents[1] / "build")).resolve()
UPDATE = os.environ.get("UPDATE_GOLDEN") == "1"

# The machine that lacks nothing gets every request; on the others it is what they lack that counts.
COMPLETE = "v2-root"
REQUESTS = sorted(path.stem for path in (HERE / "requests").glob("*.json"))
HOSTS = sorted(path.stem for path in (HERE / "hosts").glob("*.json") if path.stem != COMPLETE)
CASES = [(host, request) for host in HOSTS for request in ("degraded", "demanding")]
CASES += [("small", "python-default")]  # presets are lowered, wishes refused
# Ways of copy-on-write, and who opens the trees; without namespaces there is none of it.
CASES += [(host, "project") for host in ("tmpfs-without-xattrs", "no-overlayfs", "v2-user", "no-userns")]
CASES += [("tmpfs-without-xattrs", "workspace")]

# Numbers of system calls differ, and so do the filters made of them.
SAVED_ON = "x86_64"


@pytest.fixture(scope="session", name="plans")
def make_plans():
    """Of all machines and requests, by one call.  Nobody but these tests needs the program, so it is made here."""
    target = "tests/golden/plan_for"
    subprocess.run(["/usr/bin/ninja", "--quiet", "-C", BUILD, target], check=True, timeout=280)
    cases = [*((COMPLETE, request) for request in REQUESTS), *CASES]
    words = [HERE / folder / f"{name}.json" for case in cases for folder, name in zip(("hosts", "requests"), case)]
    done = subprocess.run([BUILD / target, *words], capture_output=True, text=True, timeout=60, check=True)
    return dict(zip(cases, documents(done.stdout), strict=True))


def neutral(text):
    """A plan's text without the version of Python whose bytecode this build has."""
    return re.sub(r'(sitecustomize\.)[\w-]+(\.pyc"[^}]*"bytes": ?)\d+', r"\1TAG\g<2>0", text)


def documents(text):
    """Of JSON, one behind the other."""
    decoder, end, text = json.JSONDecoder(), 0, neutral(text)
    while text[end:].strip():
        value, length = decoder.raw_decode(text[end:].lstrip())
        end = len(text) - len(text[end:].lstrip()) + length
        yield value


def whole(request):
    return HERE / f"plans/{request}.json"


def complete_plan(request):
    return json.loads(whole(request).read_text(encoding="utf-8"))


def without_filter(plan):
    return {key: value for key, value in plan.items() if key != "seccomp_instructions"}


def written(path, text):
    """What is saved; with UPDATE_GOLDEN=1, the text that was found."""
    if UPDATE:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("request_name", REQUESTS)
def test_the_complete_machine_gets_the_plan_that_was_saved(plans, request_name):
    found = plans[COMPLETE, request_name]
    if platform.machine() == SAVED_ON:
        text = saved.text_of(found)
        expected = written(whole(request_name), text)
    else:
        text = saved.text_of(without_filter(found))
        expected = saved.text_of(without_filter(complete_plan(request_name)))
    assert text == expected, saved.unlike(expected, text)


@pytest.mark.parametrize("host,request_name", CASES, ids=lambda name: name)
def test_a_machine_gets_the_plan_that_differs_as_saved(plans, host, request_name):
    """The base is the plan of now: where that is wrong, its own test says so."""
    ending, found = saved.form_of(plans[COMPLETE, request_name], plans[host, request_name])
    expected = written(HERE / f"plans/{host}/{request_name}.{ending}", found)
    assert found == expected, saved.unlike(expected, found)


def test_no_saved_plan_is_without_its_case():
    there = sorted((path.parent.name, path.stem) for path in (HERE / "plans").rglob("*.*"))
    assert there == sorted([*CASES, *(("plans", request) for request in REQUESTS)])


@pytest.mark.parametrize("host,request_name", CASES, ids=lambda name: name)
def test_a_difference_says_every_byte(plans, host, request_name):
    """Put into the plan that it differs from, it gives the other."""
    base, other = plans[COMPLETE, request_name], plans[host, request_name]
    assert patched(base, saved.difference(base, other)) == other


def patched(base, text):
    """The plan that a difference makes of the base."""
    fields = {field: [f"{json.dumps(field)}: {line}" if not number else line
                      for number, line in enumerate(saved.lines_of(value))] for field, value in base.items()}
    moved = dict.fromkeys(fields, 0)
    for change in text.split("@ ")[1:]:
        head, *lines = change.splitlines()
        field, _, behind = head.partition(", behind line ")
        begin = int(behind) + moved.setdefault(field, 0)
        gone = [line[1:] for line in lines if line.startswith("-")]
        come = [line[1:] for line in lines if line.startswith("+")]
        assert fields.setdefault(field, [])[begin:begin + len(gone)] == gone
        fields[field][begin:begin + len(gone)] = come
        moved[field] += len(come) - len(gone)
    return json.loads("{" + ",".join("\n".join(lines) for lines in fields.values() if lines) + "}")


def test_every_missing_mechanism_is_named_on_the_machine_that_lacks_it(plans):
    lacks = {
        "no-landlock": ["landlock"],
        "no-memory-controller": ["memory limit of the whole tree by cgroup"],
        "v2-user": ["--cpus by cgroup"],
    }
    for host, missing in lacks.items():
        assert plans[host, "degraded"]["isolation"]["missing"] == missing


# What another machine or caller may have otherwise: groups, landlock, links beside /usr, who opens
# the volumes, where interpreters are.
ROOT_NAMES = {"bin", "lib", "lib32", "lib64", "sbin"}


def foreign(op):
    """Who opens a volume; and whether it is brought in as a view, which it is not where more is mounted below it."""
    below = f" {op.get('from', '')}/"
    mounted = "from" in op and below in pathlib.Path("/proc/self/mounts").read_text(encoding="utf-8")
    return ("passed", "view") if mounted else ("passed",)


def anywhere(plan):
    """A plan without what depends on the machine."""
    plan = {**without_filter(plan), "argv": [os.path.basename(plan["argv"][0]), *plan["argv"][1:]]}
    for key in ("cgroup", "supervise", "landlock", "isolation", "namespaces"):
        del plan[key]
    plan["mounts"] = [{key: value for key, value in op.items() if key not in foreign(op)}
                      for op in plan["mounts"] if op["to"] not in ROOT_NAMES]
    # Without a group that counts processes, the limit of processes is the exact one.
    other = ("data", "nproc") if machine_gives.lack((str(BUILD / "sandbox-run"),), "container") else ("data",)
    plan["rlimits"] = {key: value for key, value in plan["rlimits"].items() if key not in other}
    return plan


# "demanding" is refused on a small machine, and rightly so; layers and tools of the others are elsewhere here.
ONLY_SAVED = ("demanding", "c-default", "go-default", "java-default", "postgres-default")


@pytest.mark.parametrize("request_name", [name for name in REQUESTS if name not in ONLY_SAVED])
def test_the_program_plans_the_same_here(request_name, tmp_path):
    machine_gives.skip_if(machine_gives.lack((str(BUILD / "sandbox-run"),), "reduced"))
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
    expected = anywhere(complete_plan(request_name))
    found = anywhere(json.loads(neutral(done.stdout)))
    assert found == expected, saved.difference(expected, found)
