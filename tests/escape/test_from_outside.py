"""A run as the host sees it while it goes on: status, maps, mount flags, descriptors, groups."""
import fcntl
import os
import pathlib
import pwd
import re
import subprocess

import pytest

import support
from harness import DEADLINE, Running, callers, root_only, running, status_of, wait_until
from support import Callers

HOLD = ("hold", "file", "/tmp/x")
NO_CAPABILITY = "0" * 16
CAP_SETS = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
FIRST_ID, N_IDS = 1900000000, 65536
F_GET_SEALS = 1034


def both(run):
    return {"program": run.find("attack"), "init": run.find("sandbox-run-init")}


@callers
@pytest.mark.core
def test_program_and_init_have_no_capability_and_cannot_get_one(scene, caller):
    with running(scene, *HOLD, caller=caller) as run:
        run.read_line()
        for name, pid in both(run).items():
            status = status_of(pid)
            found = {key: status[key] for key in CAP_SETS}
            assert found == dict.fromkeys(CAP_SETS, NO_CAPABILITY), name
            assert status["NoNewPrivs"] == "1", name
            assert status["Seccomp"] == "2" and status["Seccomp_filters"] == "1", name


@root_only
def test_capabilities_show_from_outside_without_the_step(scene):
    with running(scene, *HOLD, without=("identity",)) as run:
        run.read_line()
        assert status_of(run.find("attack"))["CapEff"] != NO_CAPABILITY


@root_only
@pytest.mark.parametrize("step, field", [("no-new-privs", "NoNewPrivs"), ("seccomp", "Seccomp")])
def test_a_missing_step_shows_from_outside(scene, step, field):
    without = (step, "landlock", "seccomp", "user-namespace", "identity")
    with running(scene, *HOLD, without=without) as run:
        run.read_line()
        assert status_of(run.find("attack"))[field] == "0"


@callers
@pytest.mark.core
def test_the_run_is_neither_root_nor_its_caller(scene, caller):
    with running(scene, *HOLD, caller=caller) as run:
        run.read_line()
        for pid in both(run).values():
            status = status_of(pid)
            uids, gids = set(status["Uid"].split()), set(status["Gid"].split())
            assert len(uids) == len(gids) == 1 and "0" not in uids | gids
            if caller == Callers.ROOT:
                assert FIRST_ID <= int(uids.pop()) < FIRST_ID + N_IDS
                assert status["Groups"] == ""
            else:
                assert uids == {str(support.ORDINARY_UID)} or os.geteuid() != 0


@callers
@pytest.mark.core
def test_host_root_is_not_in_the_maps(scene, caller):
    with running(scene, *HOLD, caller=caller) as run:
        run.read_line()
        pid = run.find("attack")
        for name in ("uid_map", "gid_map"):
            text = pathlib.Path(f"/proc/{pid}/{name}").read_text()
            (inside, outside, count), = (line.split() for line in text.splitlines())
            assert (inside, count) == ("1000", "1") and outside != "0"


@root_only
def test_two_runs_of_root_have_a_host_user_each(scene):
    with running(scene, *HOLD) as one, running(scene, *HOLD) as two:
        one.read_line()
        two.read_line()
        uids = [status_of(run.find("attack"))["Uid"] for run in (one, two)]
    assert uids[0] != uids[1]


@root_only
def test_the_range_of_host_users_can_be_chosen(scene):
    with running(scene, *HOLD, env={"SANDBOX_RUN_IDS": "1800000000:1"}) as run:
        run.read_line()
        assert status_of(run.find("attack"))["Uid"].split() == ["1800000000"] * 4


@root_only
def test_a_range_that_is_used_up_is_an_error_and_no_sharing(scene):
    env = {"SANDBOX_RUN_IDS": "1800000007:1"}
    with running(scene, *HOLD, env=env) as run:
        run.read_line()
        result = support.result_of("exec", "--", "true", env=env)
    assert result["error"]["stage"] == "ids" and "SANDBOX_RUN_IDS" in result["error"]["message"]
    assert support.result_of("exec", "--", "true", env=env)["success"]


@root_only
@pytest.mark.parametrize("text", ["0:10", "1000:10", "65535:2", "x", "70000", "70000:", "70000:0",
                                  "70000:99999999", "-1:5", "4294967290:10", "70000:5:5",
                                  "99999999999999999999:1", "70000:5 "])
def test_a_range_that_makes_no_sense_is_refused_in_one_sentence(text):
    done = support.sandbox_run("exec", "--", "echo", "ran", env={"SANDBOX_RUN_IDS": text})
    lines = done.stderr.decode().splitlines()
    assert (done.returncode, done.stdout, len(lines)) == (125, b"", 1)
    assert f"SANDBOX_RUN_IDS='{text}'" in lines[0]


@root_only
def test_the_default_range_belongs_to_nobody():
    taken = [user.pw_uid for user in pwd.getpwall() if FIRST_ID <= user.pw_uid < FIRST_ID + N_IDS]
    assert taken == []


@callers
@pytest.mark.core
def test_the_program_has_three_descriptors(scene, caller):
    with running(scene, "1000", program="/usr/bin/sleep", caller=caller) as run:
        wait_until(lambda: "sleep" in names_below(run), "the program runs")
        pid = run.find("sleep")
        # The loader has a library open for a moment.
        wait_until(lambda: sorted(os.listdir(f"/proc/{pid}/fd"), key=int) == ["0", "1", "2"],
                   "nothing but the three streams is open")
        kinds = {os.readlink(f"/proc/{pid}/fd/{fd}").partition(":")[0] for fd in "012"}
        run.process.terminate()
    assert kinds == {"pipe"}


def names_below(run):
    try:
        return {pathlib.Path(f"/proc/{run.find('sleep')}/comm").read_text().strip()}
    except (AssertionError, OSError):
        return set()


def in_own_proc(init, fd):
    """Figures of a process inside, or closed by now: init looks at its processes while they run."""
    try:
        device = os.stat(f"/proc/{init}/fd/{fd}").st_dev
        link = os.readlink(f"/proc/{init}/fd/{fd}")
        return device != os.stat("/proc").st_dev and re.match(r"(/proc)?/\d+/", link) is not None
    except FileNotFoundError:
        return True


@callers
@pytest.mark.core
def test_init_has_its_own_descriptors_and_none_of_the_hosts(scene, caller):
    with running(scene, *HOLD, caller=caller) as run:
        run.read_line()
        init = run.find("sandbox-run-init")
        links = {int(fd): os.readlink(f"/proc/{init}/fd/{fd}") for fd in os.listdir(f"/proc/{init}/fd")
                 if not in_own_proc(init, fd)}
    allowed = re.compile(r"pipe:|socket:|anon_inode:|/$|/proc$|/tmp|/work|/memfd:")
    assert not [link for link in links.values() if not allowed.match(link)], links
    assert len(links) <= 11, links


def mounts_of(pid):
    """Mount point to its flags, propagation and file system type; the last one counts."""
    found = {}
    for line in pathlib.Path(f"/proc/{pid}/mountinfo").read_text().splitlines():
        words = line.split()
        dash = words.index("-")
        found[words[4]] = (set(words[5].split(",")), words[6:dash], words[dash + 1])
    return found


WRITABLE = {"/tmp", "/work", "/dev/shm", "/dev/pts"}
DEVICES = {f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom")}


@pytest.fixture(params=support.available_callers())
def mounts(scene, request):
    with running(scene, *HOLD, caller=request.param) as run:
        run.read_line()
        yield mounts_of(run.find("attack"))


def test_every_mount_ignores_setuid_bits(mounts):
    assert [point for point, (flags, _, _) in mounts.items() if "nosuid" not in flags] == []


def test_every_mount_but_the_devices_ignores_device_nodes(mounts):
    assert [point for point, (flags, _, _) in mounts.items()
            if "nodev" not in flags and point not in DEVICES | {"/dev/pts"}] == []


@pytest.mark.core
def test_every_mount_is_read_only_but_the_scratch_directories(mounts):
    assert [point for point, (flags, _, _) in mounts.items()
            if "ro" not in flags and point not in WRITABLE] == []


def test_proc_is_fresh_and_holds_no_programs(mounts):
    flags, _, kind = mounts["/proc"]
    assert kind == "proc" and {"ro", "nosuid", "nodev", "noexec"} <= flags


@pytest.mark.core
def test_the_root_is_a_tmpfs_of_its_own(mounts):
    assert mounts["/"][2] == "tmpfs"
    assert all(point in mounts for point in ("/usr", "/proc", *WRITABLE, *DEVICES))


@root_only
def test_a_mount_that_the_host_makes_later_cannot_appear_inside(scene):
    """The tool runs where every mount is shared, as systemd has it; inside, none may listen."""
    process = subprocess.Popen(
        ["unshare", "--mount", "--propagation", "shared", "--",
         *support.command("exec", "--volume", f"{scene.tools}:/attacks", "--volume",
                          f"{scene.data}:/data", "--", "/attacks/attack", *HOLD)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        run = Running(process)
        assert run.read_line().startswith("READY")
        mounts = mounts_of(run.find("attack"))
        outside = mounts_of(process.pid)
    finally:
        process.stdin.close()
        process.wait(DEADLINE)
        process.stdout.close()
    assert any("shared" in field for _, fields, _ in outside.values() for field in fields)
    assert {point: fields for point, (_, fields, _) in mounts.items() if fields} == {}


@callers
def test_init_is_a_sealed_copy_in_memory(scene, caller):
    with running(scene, *HOLD, caller=caller) as run:
        run.read_line()
        init = run.find("sandbox-run-init")
        link = os.readlink(f"/proc/{init}/exe")
        fd = os.open(f"/proc/{init}/exe", os.O_RDONLY)
        try:
            seals = fcntl.fcntl(fd, F_GET_SEALS)
        finally:
            os.close(fd)
    assert link.startswith("/memfd:"), link
    assert seals & 0xf == 0xf, "sealed against writing, growing, shrinking and unsealing"


@callers
def test_init_cannot_be_dumped(scene, caller):
    """What cannot be dumped belongs to root in /proc, also for its own user."""
    with running(scene, *HOLD, caller=caller) as run:
        run.read_line()
        pids = both(run)
        owners = {name: os.stat(f"/proc/{pid}/environ").st_uid for name, pid in pids.items()}
        uid = int(status_of(pids["program"])["Uid"].split()[0])
    # In a user namespace without root, "root" is the host's.
    assert owners["init"] == 0 and owners["program"] == uid


@callers
def test_the_program_can_be_killed_for_memory(scene, caller):
    with running(scene, *HOLD, caller=caller) as run:
        run.read_line()
        pid = run.find("attack")
        assert int(pathlib.Path(f"/proc/{pid}/oom_score_adj").read_text()) >= 0


@callers
def test_the_program_cannot_be_scheduled_before_others(caller):
    code = ("import os\n"
            "for attempt in (lambda: os.nice(-1), lambda: os.sched_setscheduler(\n"
            "        0, os.SCHED_FIFO, os.sched_param(1))):\n"
            "    try: attempt(); print('raised')\n"
            "    except OSError: print('refused')\n")
    assert support.python(code, caller=caller)["stdout"] == "refused\nrefused\n"


@root_only
@pytest.mark.core
def test_the_limits_are_in_the_control_group_of_the_run(scene):
    """Looked up from outside, in the group that the program is in."""
    with running(scene, *HOLD, options=("--memory", "64m", "--pids", "9")) as run:
        run.read_line()
        pid = run.find("attack")
        for line in pathlib.Path(f"/proc/{pid}/cgroup").read_text().splitlines():
            _, names, path = line.split(":", 2)
            files = {"memory": ("memory.limit_in_bytes", 64 << 20), "pids": ("pids.max", 10),
                     "": ("memory.max", 64 << 20)}
            if names in files and "sandbox-run." in path:
                name, expected = files[names]
                group = pathlib.Path(f"/sys/fs/cgroup/{names}{path}")
                assert int((group / name).read_text()) == expected
                assert str(pid) in (group / "cgroup.procs").read_text().split()
                break
        else:
            raise AssertionError("the program is in no group of its own")
