"""The tier without namespaces: whatever a run started and made is gone after every kind of end."""
import contextlib
import os
import pathlib
import re
import resource
import signal
import subprocess
import tempfile
import time

import pytest

import harness
import machine_gives
import no_userns
import process_tier
import support
import test_faults
from harness import wait_until
from process_tier import RULES
from support import DEADLINE, Callers

pytestmark = process_tier.needs_landlock

SHORT = ("--timeout", "300ms", "--grace", "50ms")
A_CROWD = 3400  # fills several pages of /proc/PID/task/TID/children


@pytest.fixture(scope="module")
def machine(room):
    with tempfile.TemporaryDirectory(dir=room) as folder:
        os.chmod(folder, 0o755)
        with no_userns.machine(folder) as made:
            yield made


@pytest.fixture
def neighbourhood(machine, scene, room):
    with tempfile.TemporaryDirectory(dir=room) as folder:
        os.chmod(folder, 0o755)
        yield from process_tier.make_neighbourhood(machine, scene, folder)


def survivors(neighbourhood):
    """Processes that are, or were started by, an attacker of these tests."""
    mark, found = str(neighbourhood.scene.tools).encode(), []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if mark in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(int(pid))
    return found


def assert_all_gone(neighbourhood):
    assert survivors(neighbourhood) == []
    assert neighbourhood.machine.left() == []


def python(neighbourhood, code, *options, caller=Callers.USER):
    return neighbourhood.machine.result_of("run", *options, "--lang", "python", "--code", code,
                                           caller=caller)


@pytest.mark.core
@harness.callers
@pytest.mark.parametrize("words", [("daemon", "plain"), ("daemon", "stopped"), ("hop",)],
                         ids=" ".join)
def test_nobody_outlives_a_program_that_ends(neighbourhood, caller, words):
    answer = neighbourhood.attack(*words, caller=caller)
    assert answer.got and answer.outcome == "exited"
    assert_all_gone(neighbourhood)


STAYS = "import os, signal, time\n[signal.signal(s, signal.SIG_IGN) for s in (1, 2, 15)]\n"
BOMB = STAYS + ("while True:\n try:\n  if os.fork() == 0: os.setsid()\n except OSError: pass")


@pytest.mark.core
@harness.callers
@pytest.mark.parametrize("code", [STAYS + "time.sleep(1000)",
                                  STAYS + "if os.fork() == 0: os.setsid()\ntime.sleep(1000)", BOMB],
                         ids=["ignores signals", "left the session", "fork bomb"])
def test_who_does_not_end_is_ended(neighbourhood, caller, code):
    began = time.monotonic()
    result = python(neighbourhood, code, *SHORT, "--pids", "40", caller=caller)
    assert result["outcome"] in ("timeout", "process_limit"), result
    assert time.monotonic() - began < 20
    assert_all_gone(neighbourhood)


def test_more_children_than_one_look_holds_are_ended_in_time(neighbourhood):
    limit, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    if limit != resource.RLIM_INFINITY and limit < 2 * A_CROWD:
        pytest.skip("the user may not have so many processes")
    began = time.monotonic()
    answer = neighbourhood.attack("crowd", A_CROWD, options=("--pids", "4000"))
    assert answer.got and answer.outcome == "exited", answer
    assert time.monotonic() - began < 20
    assert_all_gone(neighbourhood)


def kill_supervisor(run):
    run.process.kill()
    run.process.wait(DEADLINE)


@pytest.mark.core
@harness.callers
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_outlives_the_supervisor(neighbourhood, caller, number):
    with neighbourhood.running("hold", "file", "mine", caller=caller) as run:
        assert run.read_line().startswith("READY")
        assert len(neighbourhood.machine.left()) == 1 and survivors(neighbourhood)
        run.process.send_signal(number)
        run.process.wait(DEADLINE)
        wait_until(lambda: not survivors(neighbourhood) and not neighbourhood.machine.left(),
                   "everything gone after the supervisor")


@harness.callers
def test_nothing_outlives_a_supervisor_that_is_killed_during_set_up(neighbourhood, caller):
    """The directory is the first thing to be seen from outside: what comes after it goes on then."""
    for _ in range(10):
        with neighbourhood.running("hold", "file", "mine", caller=caller) as run:
            wait_until(lambda: neighbourhood.machine.left(), "the directory")
            kill_supervisor(run)
        wait_until(lambda: not survivors(neighbourhood) and not neighbourhood.machine.left(),
                   "everything gone after the supervisor")


@pytest.mark.core
@harness.callers
@pytest.mark.parametrize("step", test_faults.STEPS)
def test_a_failed_step_leaves_nothing(neighbourhood, caller, step):
    result = neighbourhood.machine.result_of(
        "run", "--lang", "python", "--code", "print('it ran')", caller=caller, hooks=True,
        env={"SANDBOX_RUN_TEST_FAIL": step})
    assert (result["_status"], result["outcome"]) == (125, "internal_error")
    assert harness.json_error(result)["stage"] == step
    assert_all_gone(neighbourhood)


TREES = {
    "5000 levels": "import os\nfor i in range(5000):\n os.mkdir('d'); os.chdir('d')",
    "5000 levels and files": "import os\nfor i in range(5000):\n os.mkdir('d'); os.chdir('d')\n"
                             " open('f', 'w').close()",
    "locked directories": "import os\nfor i in range(20):\n os.mkdir(f'd{i}', 0o300)\n"
                          " os.mkdir(f'd{i}/e'); os.mkdir(f'd{i}/f', 0)\n"
                          " open(f'd{i}/g', 'w').close()",
    "everything masked": "import os\nos.umask(0o777)\nos.mkdir('d'); open('e', 'w').close()",
    "long names": "import os\nfor i in range(300):\n os.mkdir('x' * 255); os.chdir('x' * 255)",
    "many files": "for i in range(3000): open(f'f{i}', 'w').close()",
}


@pytest.mark.core
@harness.callers
@pytest.mark.parametrize("tree", TREES)
def test_whatever_was_built_is_removed(neighbourhood, caller, tree):
    result = python(neighbourhood, TREES[tree], caller=caller)
    assert result["outcome"] in ("exited", "disk_limit"), result
    assert result["outcome"] == "disk_limit" or result["exit_code"] == 0, result["stderr"]
    assert_all_gone(neighbourhood)


@harness.callers
def test_removal_follows_no_link(neighbourhood, caller):
    before = neighbourhood.house.state()
    code = (f"import os\nos.mkdir('d')\n"
            f"for name in ('a', 'd/b'): os.symlink({str(neighbourhood.house.path)!r}, name)\n"
            f"os.symlink({str(neighbourhood.house.secret)!r}, 'd/c')")
    assert python(neighbourhood, code, caller=caller)["success"]
    assert neighbourhood.house.state() == before
    assert_all_gone(neighbourhood)


@contextlib.contextmanager
def other_run(neighbourhood, caller=Callers.USER):
    """Another run of the same caller's, and the file that it holds in its directory."""
    with neighbourhood.running("hold", "file", "mine", caller=caller) as run:
        assert run.read_line().startswith("READY")
        name, = neighbourhood.machine.left()
        file = neighbourhood.machine.places / name / "work/mine"
        file.write_text(harness.SECRET)
        yield run, file


ON_OTHER_RUN = (("read", "{file}"), ("write", "{file}", "x"), ("list", "{work}"),
                ("change-file", "create", "{file}"), ("change-file", "rename", "{file}"),
                ("change-file", "replace", "{file}"), ("change-file", "unlink", "{file}"))


def copies_of(file, count):
    """One for each attack, as the program itself would have made them."""
    owner = file.stat()
    for path in (file.with_name(f"mine-{number}") for number in range(count)):
        path.write_bytes(file.read_bytes())
        path.chmod(0o666)
        os.chown(path, owner.st_uid, owner.st_gid)
        yield path


def attack_other_run(neighbourhood, **kwargs):
    """The answers to all attacks, and whether the file of each is what it was."""
    with other_run(neighbourhood, kwargs.get("caller", Callers.USER)) as (_, file):
        files = list(copies_of(file, len(ON_OTHER_RUN)))
        before = [(path.stat().st_ino, path.read_text()) for path in files]
        answers = neighbourhood.attacks(
            [[word.format(file=path, work=file.parent) for word in words]
             for words, path in zip(ON_OTHER_RUN, files)], **kwargs)
        return answers, [path.exists() and (path.stat().st_ino, path.read_text()) == was
                         for path, was in zip(files, before)]


@pytest.mark.core
@harness.callers
def test_another_run_of_the_same_caller_is_out_of_reach(neighbourhood, caller):
    answers, same = attack_other_run(neighbourhood, caller=caller)
    harness.assert_each(ON_OTHER_RUN, answers, lambda answer: answer.error)
    harness.assert_none([words for words, is_same in zip(ON_OTHER_RUN, same) if not is_same])


def test_another_run_is_reached_without_landlock(neighbourhood):
    answers, _ = attack_other_run(neighbourhood, without=RULES)
    harness.assert_each(ON_OTHER_RUN, answers, lambda answer: answer.got)


@harness.callers
def test_the_program_of_another_run_cannot_be_signalled(neighbourhood, caller):
    with other_run(neighbourhood, caller) as (run, file):
        for name in ("attack", "sandbox-run-init"):
            pid = run.find(str(neighbourhood.scene.tools / "attack") if name == "attack" else name)
            neighbourhood.attack("signal-by", "kill", pid, caller=caller)
        assert run.process.poll() is None and file.exists()


def limit_of(pid, name):
    """Its soft and hard limit, as everybody may read them."""
    return re.search(rf"^{name} +(\S+) +(\S+)", pathlib.Path(f"/proc/{pid}/limits").read_text(), re.M).groups()


@pytest.mark.core
@harness.callers
def test_init_is_not_under_the_programs_own_limits(neighbourhood, caller):
    """A limit that ended init would free everybody else."""
    with neighbourhood.running("hold", "file", "mine", caller=caller,
                               options=("--cpu-time", "1s", "--open-files", "16")) as run:
        assert run.read_line().startswith("READY")
        tools = str(neighbourhood.scene.tools / "attack")
        init, program = (limit_of(run.find(name), "Max cpu time") for name in ("sandbox-run-init", tools))
        assert program != ("unlimited", "unlimited")
        assert init == limit_of("self", "Max cpu time")
        files, _ = limit_of(run.find("sandbox-run-init"), "Max open files")
        assert int(files) > 64


@harness.callers
def test_who_runs_is_the_caller_or_an_id_of_its_own(neighbourhood, caller):
    with neighbourhood.running("hold", "file", "mine", caller=caller) as run:
        assert run.read_line().startswith("READY")
        status = harness.status_of(run.find("sandbox-run-init"))
        uids = set(status["Uid"].split())
        assert status["NoNewPrivs"] == "1" and int(status["CapEff"], 16) == 0
        if caller == Callers.USER:
            assert uids == {str(process_tier.USER)}
        else:
            assert len(uids) == 1 and int(uids.pop()) >= 65536 and not status["Groups"]


def test_two_at_a_time_do_not_share_a_directory(neighbourhood):
    with neighbourhood.running("hold", "file", "mine") as one, \
            neighbourhood.running("hold", "file", "mine") as two:
        assert one.read_line().startswith("READY") and two.read_line().startswith("READY")
        assert len(neighbourhood.machine.left()) == 2


def test_the_helper_leaves_the_machine_as_it_was():
    machine_gives.skip_if(support.lacks(support.available_callers()[0], "reduced"))
    limit = no_userns.LIMIT.read_text()
    done = subprocess.run([no_userns.sys.executable, no_userns.__file__, "cat", no_userns.LIMIT],
                          stdout=subprocess.PIPE, timeout=DEADLINE, check=True)
    assert done.stdout == b"0\n"
    assert no_userns.LIMIT.read_text() == limit
