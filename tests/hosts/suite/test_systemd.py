"""In a guest with systemd, in the login session of an ordinary user: the group of a run is a scope that
the user's manager gives; a service of ours has one; and without a manager it is said how to get one."""
import contextlib
import json
import os
import pathlib
import select
import subprocess
import time

import pytest

import support

pytestmark = pytest.mark.core

DEADLINE = 120
UID = os.geteuid()
RUNTIME = pathlib.Path(f"/run/user/{UID}")
GROUPS = pathlib.Path("/sys/fs/cgroup")
MANAGER = GROUPS / f"user.slice/user-{UID}.slice/user@{UID}.service"
UNIT = support.REPO / "data/systemd/sandbox-run@.service.in"
UNITS = pathlib.Path.home() / ".config/systemd/user"
HELLO = ("run", "--lang", "sh", "--code", "echo hello")
SESSION = {"XDG_RUNTIME_DIR": str(RUNTIME),
           "DBUS_SESSION_BUS_ADDRESS": f"unix:path={RUNTIME}/bus"}


def run(*words, code=0):
    done = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=DEADLINE, check=False, env={**os.environ, **SESSION})
    assert code is None or done.returncode == code, (words, done)
    return done.stdout.decode()


def result_of(*words):
    return support.result_of(*words, env=SESSION)


def is_full(result):
    isolation = result["isolation"]
    return (isolation["tier"], isolation["missing"]) == ("container", [])


def of_runs():
    """Scopes and groups that are made for a run, and processes of ours."""
    found = {path for path, _, _ in os.walk(GROUPS) if "/sandbox-run" in path}
    found |= set(run("systemctl", "--user", "list-units", "--all", "--plain", "--no-legend",
                     "sandbox-run*").splitlines())
    return found | support.leftovers()


@contextlib.contextmanager
def watched(folder):
    """A function that waits until a line of the group's cgroup.events is there, or the group is gone.
    The kernel tells of changes: nobody sleeps."""
    with open(folder / "cgroup.events", encoding="ascii") as events, \
            contextlib.closing(select.epoll()) as poll:
        poll.register(events, select.EPOLLPRI | select.EPOLLERR)

        def wait_for(line):
            end = time.monotonic() + DEADLINE
            while True:
                try:
                    events.seek(0)
                    if f"{line}\n" in events.read():
                        return
                except OSError:  # ENODEV: removed
                    return
                assert poll.poll(max(0, end - time.monotonic())), f"{folder}: no {line}"

        yield wait_for


def settled():
    """systemd has dealt with everything that it was told before: one more call is answered last."""
    run("systemctl", "--user", "daemon-reload")


@contextlib.contextmanager
def moved_away(*paths):
    """These sockets are not there."""
    aside = [(path, path.with_name(f"{path.name}.away")) for path in paths]
    with contextlib.ExitStack() as stack:
        for path, other in aside:
            path.rename(other)
            stack.callback(other.rename, path)
        yield


@pytest.fixture(autouse=True)
def nothing_is_left():
    before = of_runs()
    yield
    settled()
    assert of_runs() <= before


# ---- a login session


def test_the_session_itself_belongs_to_root():
    """Otherwise the rest of this file shows nothing."""
    own = pathlib.Path("/proc/self/cgroup").read_text(encoding="ascii").strip()
    assert own.startswith(f"0::/user.slice/user-{UID}.slice/session-"), own
    assert not os.access(GROUPS / own[4:] / "cgroup.procs", os.W_OK)


def test_a_login_session_gets_a_scope():
    result = result_of(*HELLO)
    assert is_full(result), result
    assert result["stdout"] == "hello\n"


def test_the_scope_is_one_of_the_users_manager():
    words = support.command("run", "--quiet", "--lang", "sh", "--code", "echo up; exec cat")
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          env=support.environment(SESSION)) as process:
        assert process.stdout.readline() == b"up\n"
        own = pathlib.Path(f"/proc/{process.pid}/cgroup").read_text(encoding="ascii").strip()
        scope = MANAGER / f"app.slice/sandbox-run-{process.pid}.scope"
        assert (GROUPS / own[4:]).parent == scope, own
        assert "Delegate=yes" in run("systemctl", "--user", "show", scope.name)
        process.stdin.close()
        assert process.wait(DEADLINE) == 0


def test_memory_ends_at_the_limit_of_the_group():
    result = result_of("run", "--memory", "32m", "--lang", "sh", "--code",
                       "x=aaaaaaaaaaaaaaaa; while :; do x=$x$x; done")
    assert result["outcome"] == "memory_limit" and is_full(result), result
    assert result["memory_used"] <= 32 << 20


def test_processes_end_at_the_limit_of_the_group():
    result = result_of("run", "--pids", "5", "--lang", "sh", "--code",
                       "for i in 1 2 3 4 5 6 7 8; do sleep 1000 & done; wait")
    assert result["outcome"] == "process_limit" and is_full(result), result


def test_killing_us_leaves_no_scope():
    words = support.command("run", "--quiet", "--lang", "sh", "--code", "echo up; exec cat")
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          env=support.environment(SESSION)) as process:
        assert process.stdout.readline() == b"up\n"
        scope = MANAGER / f"app.slice/sandbox-run-{process.pid}.scope"
        leaves = [path for path in scope.iterdir() if path.name.startswith("sandbox-run.")]
        assert len(leaves) == 1 and (leaves[0] / "cgroup.procs").read_text(encoding="ascii")
        with watched(scope) as wait_for:
            process.kill()
            assert process.stdout.read() == b""
            wait_for("populated 0")
    settled()
    assert not scope.exists()


# ---- where the manager is


def test_the_bus_alone_is_enough():
    with moved_away(RUNTIME / "systemd/private"):
        result = result_of(*HELLO)
    assert is_full(result), result


def test_without_a_manager_it_is_reduced_and_doctor_knows_the_line():
    with moved_away(RUNTIME / "systemd/private", RUNTIME / "bus"):
        assert result_of(*HELLO)["_status"] == 125
        isolation = result_of("run", "--allow-degraded", *HELLO[1:])["isolation"]
        said = json.loads(support.sandbox_run("doctor", "--json", env=SESSION).stdout)
    assert isolation["tier"] == "reduced"
    assert "memory limit of the whole tree by cgroup" in isolation["missing"]
    checks = {check["name"]: check for check in said["checks"]}
    assert checks["memory limit"]["state"] == "missing"
    assert any("loginctl enable-linger" in line for line in checks["memory limit"]["fix"])


def test_lingering_is_what_a_job_without_a_session_needs():
    """As the line says: with it the manager is there, though nobody has logged in."""
    line = "loginctl enable-linger \"$(id -un)\""
    run("sudo", "sh", "-c", f"user={os.environ['USER']}; {line.replace('$(id -un)', '$user')}")
    try:
        words = ["sudo", "systemd-run", "--quiet", "--wait", "--pipe", f"--uid={UID}",
                 support.SANDBOX_RUN, HELLO[0], "--json", *HELLO[1:]]
        result = json.loads(run(*words))
    finally:
        run("sudo", "loginctl", "disable-linger", os.environ["USER"])
    assert is_full(result), result


# ---- services


@pytest.fixture
def service():
    """Our unit, installed for this user."""
    UNITS.mkdir(parents=True, exist_ok=True)
    unit = UNITS / "sandbox-run@.service"
    text = UNIT.read_text(encoding="utf-8")
    assert "@BINDIR@" in text
    unit.write_text(text.replace("@BINDIR@", str(support.BUILD)), encoding="utf-8")
    settled()
    yield
    unit.unlink()
    settled()


def started(request, code):
    """Starts the service for a request that no other test has; its results in the journal."""
    name = run("systemd-escape", "--path", "--template=sandbox-run@.service", request).strip()
    run("systemctl", "--user", "start", name, code=code)
    run("sudo", "journalctl", "--sync")
    lines = run("sudo", "journalctl", "--no-pager", "--output=cat", f"_SYSTEMD_USER_UNIT={name}").splitlines()
    run("systemctl", "--user", "reset-failed", name, code=None)
    results = [json.loads(line) for line in lines if line.startswith("{")]
    assert len(results) == 1, lines
    return results[0]


@pytest.mark.parametrize("end", [0, 3])
def test_our_service_has_a_group(service, tmp_path, end):
    """The result is in the journal, and the unit fails when the program does."""
    request = tmp_path / "job.json"
    request.write_text(json.dumps({"language": "sh", "code": f"echo from the service; exit {end}"}))
    result = started(request, min(end, 1))
    assert (result["stdout"], result["exit_code"]) == ("from the service\n", end)
    assert is_full(result), result


def test_our_service_says_what_is_wrong_with_its_request(service, tmp_path):
    result = started(tmp_path / "nowhere.json", 1)
    assert result["outcome"] == "not_found"
    assert "nowhere.json" in result["error"]["message"], result


@pytest.mark.parametrize("who", ["root", "user"])
def test_any_delegated_service_has_a_group(who):
    uid = [] if who == "root" else [f"--uid={UID}"]
    words = ["sudo", "systemd-run", "--quiet", "--wait", "--pipe", "-p", "Delegate=yes", *uid,
             support.SANDBOX_RUN, "run", "--json", "--memory", "32m", "--lang", "sh", "--code",
             "echo in; x=aaaaaaaaaaaaaaaa; while :; do x=$x$x; done"]
    result = json.loads(run(*words, code=137))
    assert is_full(result), result
    assert (result["outcome"], result["stdout"]) == ("memory_limit", "in\n")
