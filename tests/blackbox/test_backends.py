"""A backend's container around the sandbox: the same results, the runtime's own failures, nothing left."""
import contextlib
import fcntl
import json
import os
import pathlib
import re
import signal
import socket
import threading
import time

import pytest

import support
from fake_engine import FakeEngine
from support import result_of, sandbox_run
from waiting import SOON, read_line, started, wait_until

CANCELLED_S = 3  # about one, and the machine's other work
RUNTIMES = [name for name in ("crun", "runc") if support.have(name)]
MEMORY = "x = bytearray(200 << 20)"


def test_the_runtimes_of_debian_are_here():
    assert RUNTIMES == ["crun", "runc"], "tools/packages.sh check"


@pytest.fixture(params=RUNTIMES)
def backend(request):
    return f"oci:{request.param}"


# options, command, outcome, exit code, signal
VERDICTS = [
    ([], ["sh", "-c", "exit 125"], "exited", 125, None),
    ([], ["sh", "-c", "kill -SEGV $$"], "signaled", None, "SIGSEGV"),
    (["--timeout", "300ms"], ["sleep", "60"], "timeout", None, "SIGTERM"),
    (["--memory", "64m"], ["/usr/bin/python3", "-c", MEMORY], "memory_limit", None, "SIGKILL"),
    (["--disk", "4m"], ["sh", "-c", "cat /dev/zero >/tmp/x"], "disk_limit", 153, None),
    (["--cpu-time", "200ms"], ["sh", "-c", "while :; do :; done"], "cpu_limit", None, "SIGKILL"),
    (["--max-output", "1k"], ["sh", "-c", "yes"], "output_limit", None, "SIGKILL"),
]


def test_every_verdict_is_that_of_a_native_run(backend, caller):
    for options, command, *expected in VERDICTS:
        result = result_of("exec", "--backend", backend, *options, "--", *command, caller=caller)
        assert [result["outcome"], result["exit_code"], result["signal"]] == expected, (command, result)
        assert result["metrics"]["startup_ms"] > 0 and result["metrics"]["wall_ms"] > 0


LOOK = ("id; pwd; ls -A / /dev /work /root /sandbox-run; cat /etc/passwd /proc/mounts | cut -d' ' -f2-4 | grep -v ^/dev/ | sort;"
        "ls -d /proc/[0-9]*; grep -E 'Cap|Seccomp:|NoNew' /proc/self/status; cat /proc/kcore | wc -c;"
        "unshare -U true; hostname; cat; echo x >/usr/y")


def looked(result):
    own = [word for word in result["isolation"]["mechanisms"] if not word.startswith("container-by-")]
    stdout = re.sub(r"[ug]id=19\d+", "", result["stdout"])  # each run of root has a host id of its own
    return stdout, result["stderr"], own, result["isolation"]["missing"], sorted(result), result["limits"]


def test_the_program_sees_the_sandbox_and_nothing_of_the_container(backend, caller):
    native, inside = (result_of("exec", "--backend", name, "--", "sh", "-c", LOOK, stdin=b"typed", caller=caller)
                      for name in ("native", backend))
    assert looked(inside) == looked(native)
    assert f"container-by-{backend[4:]}" in inside["isolation"]["mechanisms"]


PROGRAMS = {
    "python": "import sys; print(sys.stdin.read().upper())",
    "bash": "tr a-z A-Z; echo",
    "perl": "print uc(<STDIN>), qq(\n);",
    "c": "#include <ctype.h>\n#include <stdio.h>\nint main(void) { int c; "
         "while ((c = getchar()) != EOF) putchar(toupper(c)); puts(\"\"); return 0; }",
}


def test_languages_run_in_it_with_all_their_stages(backend, any_caller):
    for name, code in PROGRAMS.items():
        result = result_of("run", "--backend", backend, "--lang", name, "--code", code, stdin=b"word",
                           caller=any_caller)
        assert (result["outcome"], result["stdout"]) == ("exited", "WORD\n"), (name, result)


def test_files_go_in_and_out_and_changes_are_reported(backend, any_caller, folder):
    (folder / "in").mkdir()
    (folder / "in/a").write_text("1\n")
    result = result_of("exec", "--backend", backend, "--project", folder / "in", "--diff", "--", "sh", "-c",
                       "cat a; echo 2 >b; rm a", caller=any_caller)
    assert result["stdout"] == "1\n"
    assert sorted((change["op"], change["path"]) for change in result["changes"]) == [
        ("created", "b"), ("deleted", "a")], result["changes"]
    assert (folder / "in/a").exists()


def runtime(folder, text):
    path = folder / "runtime"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return f"oci:{path}"


@pytest.mark.parametrize("text, words", [
    ("echo 'no such luck' >&2; exit 1", "runtime could not make the container: no such luck"),
    ("exit 0", "it ended with status 0 and gave no reason"),
    ("exit 3", "it ended with status 3 and gave no reason"),
    ("kill -9 $$", "it ended by signal 9 and gave no reason"),
    ("head -c 100000 /dev/urandom; exit 1", "runtime could not make the container: ..."),
    ("exec yes 2>/dev/null", "y y y"),  # without an end: it is stopped
    ("echo one; echo two >&2; kill -9 $$", "one two"),
])
def test_a_failure_of_the_runtime_is_an_error_with_its_words(folder, text, words):
    done = sandbox_run("exec", "--backend", runtime(folder, text), "--", "true")
    assert done.returncode == 125 and words in done.stderr.decode(), done.stderr
    assert done.stderr.count(b"\n") == 1 and all(32 <= byte or byte == 10 for byte in done.stderr), done.stderr


def test_a_path_that_is_no_program_is_refused_with_the_reason(folder):
    """Each is told apart from a program of that exit status."""
    (folder / "text").write_text("text")
    (folder / "nothing").write_text("#!/nonesuch\n")
    (folder / "format").write_text("text")
    (folder / "dangling").symlink_to("/nonesuch")
    for name in ("nothing", "format"):
        (folder / name).chmod(0o755)
    for name, words in {"text": "is not executable for this user", "nothing": "cannot execute it: No such file", ".": "is no file",
                        "format": "cannot execute it: Exec format error", "dangling": "there is no container runtime",
                        "none": "there is no container runtime"}.items():
        done = sandbox_run("exec", "--json", "--backend", f"oci:{folder}/{name}", "--", "true")
        error = json.loads(done.stdout)["error"]
        assert done.returncode == 125 and error["stage"] == "backend" and words in error["message"], done
    result = result_of("exec", "--backend", "oci:runc", "--", "sh", "-c", "exit 125")
    assert (result["outcome"], result["exit_code"]) == ("exited", 125)


def test_a_runtime_that_hangs_is_ended_and_named(folder):
    before = support.pids()
    done = sandbox_run("exec", "--backend", runtime(folder, f"echo $$ > {folder}/pid; exec sleep 600"), "--", "true", hooks=True,
                       env={"SANDBOX_RUN_TEST_START": "1", "SANDBOX_RUN_CONTAINERS": str(folder / "places")})
    assert done.returncode == 125 and b"runtime did not start the container within 1 seconds" in done.stderr, done.stderr
    assert int((folder / "pid").read_text()) not in set(support.pids()) - set(before)
    assert list((folder / "places").iterdir()) == []


@pytest.mark.parametrize("name, words", [
    ("oci:runsc", "Debian has no package of it, https://gvisor.dev/"),
    ("oci:nonesuch", "there is no container runtime 'nonesuch' here, in no directory of PATH; install it"),
    ("oci:", "there is no backend 'oci:'"),
    ("oci:a/b", "there is no backend"),
    ("nativ", "there is no backend 'nativ'"),
])
def test_a_name_that_is_none_is_refused_with_those_that_are(name, words):
    done = sandbox_run("exec", "--backend", name, "--", "true")
    assert done.returncode == 125 and words in done.stderr.decode(), done.stderr


def test_the_doctor_says_of_each_backend_what_is_missing():
    findings = {one["name"]: one["found"] for one in json.loads(sandbox_run("doctor", "--json").stdout)["checks"]}
    assert "there is no container runtime 'runsc' here" in findings["oci:runsc"] or support.have("runsc"), findings
    for name in ("docker", "podman"):
        assert "no container engine can be reached at '/" in findings[name] or "isolation" in findings[name], findings


def test_a_session_has_the_native_backend():
    done = sandbox_run("session", "create", "--lang", "python", "--backend", "oci:runc")
    assert done.returncode == 125 and b"a session has the native backend" in done.stderr, done.stderr


def test_auto_takes_the_strongest():
    result = result_of("exec", "--backend", "auto", "--", "true")
    assert result["success"] and "container-by-crun" in result["isolation"]["mechanisms"]


def test_the_container_shows_what_the_plan_names_and_no_more(folder):
    seen, shown = folder / "config.json", folder / "shown"
    shown.mkdir()
    text = f'for last; do :; done; cp "${{5:?}}/config.json" {seen}; exec runc "$@"'
    result = result_of("exec", "--backend", runtime(folder, text), "--volume", f"{shown}:/mnt", "--", "ls", "/mnt")
    assert result["success"] and "container-by-oci-runtime" in result["isolation"]["mechanisms"]
    config = json.loads(seen.read_text())
    sources = {mount["source"]: mount["options"] for mount in config["mounts"] if mount["type"] == "bind"}
    share = next(path for path in sources if path.endswith("/share"))
    assert all("ro" in options and "nosuid" in options for options in sources.values())
    assert all(path.startswith(("/usr", "/etc/", "/lib", str(shown))) for path in set(sources) - {share}), sources
    assert config["root"]["readonly"] and config["process"]["noNewPrivileges"]
    assert {part["type"] for part in config["linux"]["namespaces"]} >= {"mount", "pid", "network", "ipc", "uts"}
    allowed = {"CAP_SETFCAP"} if os.geteuid() else set()
    assert {one for part in config["process"]["capabilities"].values() for one in part} <= allowed
    assert "init_module" in config["linux"]["seccomp"]["syscalls"][0]["names"]


def test_nothing_is_left_when_the_supervisor_is_killed(backend, any_caller, folder):
    folder.chmod(0o777)
    places = folder / "places"
    env = {"SANDBOX_RUN_CONTAINERS": str(places)}
    before = support.pids()
    with started("exec", "--backend", backend, "--", "sh", "-c", "echo here; sleep 60", caller=any_caller,
                 env=env) as running:
        assert read_line(running.stdout) == b"here\n"
        running.send_signal(signal.SIGKILL)
        running.wait()
    assert wait_until(lambda: not any(is_of(pid, places) for pid in set(support.pids()) - set(before)))
    assert len(list(places.iterdir())) == 1
    assert result_of("exec", "--backend", backend, "--", "true", caller=any_caller, env=env)["success"]
    assert not list(places.iterdir())


def is_of(pid, places):
    """A process of the runtime, by its words."""
    try:
        return str(places).encode() in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


HANGING = """#!/bin/sh
echo $$ > {folder}/runtime
trap '' TERM
while :; do read line < {folder}/never; done
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("kind", ["oci", "docker"])
def test_a_start_that_hangs_is_cancelled_at_once(folder, kind, how):
    """The maker of the container neither goes on nor obeys, and what it was asked for is taken back."""
    places = folder / "containers"
    os.mkfifo(folder / "never")
    maker = folder / "hanging"
    maker.write_text(HANGING.format(folder=folder))
    maker.chmod(0o755)
    backend = f"oci:{maker}" if kind == "oci" else f"docker:{folder}/engine"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "engine"))
        listener.listen(4)
        listener.settimeout(SOON)
        with started("exec", "--backend", backend, "--", "true", env={"SANDBOX_RUN_CONTAINERS": str(places)}) as process:
            if kind == "oci":
                assert wait_until(lambda: (folder / "runtime").exists() and (folder / "runtime").read_text())
            else:
                peer, _ = listener.accept()
                peer.recv(1)
            before = time.monotonic()
            process.send_signal(how)
            assert process.wait(SOON) == 128 + how, process.stderr.read()
            assert time.monotonic() - before < CANCELLED_S
    # The engine may still make what it was asked for: a note of it stays for the next run.
    assert [path.name.partition("-")[0] for path in places.iterdir()] == ([] if kind == "oci" else ["left"])
    if kind == "oci":
        assert not pathlib.Path(f"/proc/{(folder / 'runtime').read_text().strip()}").exists()
    else:
        peer.close()


CONNECT = {"x86_64": "42", "aarch64": "203"}


def connects(process):
    """It is in this system call."""
    return pathlib.Path(f"/proc/{process.pid}/syscall").read_text().split()[0] == CONNECT[os.uname().machine]


def test_an_engine_whose_queue_is_full_is_left_alone_at_once(folder):
    """It hangs, and as many wait for it as the kernel allows."""
    env = {"SANDBOX_RUN_CONTAINERS": str(folder / "containers")}
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket(socket.AF_UNIX))
        listener.bind(str(folder / "engine"))
        listener.listen(0)
        with contextlib.suppress(BlockingIOError):
            while True:
                peer = stack.enter_context(socket.socket(socket.AF_UNIX))
                peer.setblocking(False)
                peer.connect(str(folder / "engine"))
        with started("exec", "--backend", f"docker:{folder}/engine", "--", "true", env=env) as process:
            assert wait_until(lambda: connects(process))
            before = time.monotonic()
            process.send_signal(signal.SIGINT)
            assert process.wait(SOON) == 128 + signal.SIGINT, process.stderr.read()
            assert time.monotonic() - before < CANCELLED_S


def test_an_answer_that_stops_in_the_middle_holds_no_cancelled_run(folder):
    env = {"SANDBOX_RUN_CONTAINERS": str(folder / "containers")}
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "engine"))
        listener.listen(4)
        listener.settimeout(SOON)
        with started("exec", "--backend", f"docker:{folder}/engine", "--", "true", env=env) as process:
            peer, _ = listener.accept()
            with peer:
                peer.recv(65536)
                peer.sendall(REFUSED[:-9])
                before = time.monotonic()
                process.send_signal(signal.SIGINT)
                process.wait(SOON)
                assert time.monotonic() - before < CANCELLED_S


REFUSED = b'HTTP/1.0 500 No\r\n\r\n{"message":"out of luck"}'


def test_only_a_run_that_was_cut_off_costs_the_next_one_a_question(folder):
    """Each run asks for its container and nothing else; what one may have left is asked for until it is gone.

    The container of a run that lives stays, and what is no name of ours."""
    places, living = folder / "containers", "a" * 32
    env = {"SANDBOX_RUN_CONTAINERS": str(places)}
    asked, go_on, ends = threading.Event(), threading.Event(), [b"404 None", b"404 None", b"204 Gone"]

    def answer(method, path, _):
        if method == "DELETE":
            return b"HTTP/1.0 " + ends.pop(0) + b"\r\n\r\n"
        if "/containers/create" in path and not asked.is_set():
            asked.set()
            go_on.wait(SOON)
            return b""
        return REFUSED

    with FakeEngine(folder / "engine", answer) as engine:
        words = ("exec", "--backend", f"docker:{engine.path}", "--", "true")
        with started(*words, env=env) as process:
            assert asked.wait(SOON)
            process.send_signal(signal.SIGINT)
            assert process.wait(SOON) == 128 + signal.SIGINT
        go_on.set()
        left = engine.asked("DELETE", "/containers/")
        create = "/containers/create?name="
        assert [path.partition("sandbox-run-")[0] for _, path in engine.seen] == [create, "/containers/"] and len(left) == 1
        (places / living).mkdir()
        for name in (f"left-{living}", "left-../x".replace("/", "_"), "left-" + "b" * 32):  # the last one is of another engine
            (places / name).write_text(f"{folder}/other" if name.endswith("b") else str(engine.path))
        held = os.open(places / living, os.O_RDONLY)
        fcntl.flock(held, fcntl.LOCK_EX)
        for expected in (left, left, []):  # not there yet, there and removed, forgotten
            engine.seen.clear()
            done = sandbox_run(*words, env=env)
            assert done.returncode == 125 and b"out of luck" in done.stderr, done
            assert engine.asked("DELETE", "/") == expected and len(engine.asked("POST", create)) == 1
            assert len(engine.seen) == len(expected) + 1, engine.seen
    os.close(held)
    assert len(list(places.iterdir())) == 4, "only what was put there"
    assert sandbox_run("exec", "--backend", f"docker:{folder}/none", "--", "true", env=env).returncode == 125
    assert len(list(places.iterdir())) == 3, "an engine that was not reached has made nothing; the directory is free now"
