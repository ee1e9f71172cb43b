"""What a run inherits: threats 2 and 21.  Nothing: no descriptor, directory, variable, signal."""
import os
import signal
import socket

import pytest

import support
from harness import SECRET, callers, run_attack, run_outside, running

TOKEN = "sandbox-run-escape-token"
HIGH = 900  # a number that a loop over the first few would miss


@pytest.fixture
def leaked(scene):
    """Descriptors as a careless parent leaves them open: directories of the host, low and high."""
    low = os.open(scene.room, os.O_RDONLY | os.O_DIRECTORY)
    os.dup2(low, HIGH)
    for fd in (low, HIGH):
        os.set_inheritable(fd, True)
    yield (low, HIGH)
    os.close(low)
    os.close(HIGH)


@callers
@pytest.mark.core
def test_no_inherited_descriptor_reaches_the_program(scene, leaked, caller):
    answer = run_attack(scene, "descriptors", caller=caller, pass_fds=leaked)
    assert answer.error == "EBADF", answer


@callers
def test_no_inherited_directory_leads_out(scene, leaked, caller):
    answer = run_attack(scene, "through-descriptors", "secret", caller=caller, pass_fds=leaked)
    assert answer.error == "ENOENT", answer


def test_an_inherited_directory_leads_to_the_secret_outside(scene, leaked):
    answer = run_outside(scene, "through-descriptors", "secret", pass_fds=leaked)
    assert answer.line == f"GOT {SECRET}"


@callers
def test_no_inherited_descriptor_stays_in_init(scene, leaked, caller):
    with running(scene, "hold", "file", "/tmp/x", caller=caller, pass_fds=leaked) as run:
        run.read_line()
        init = run.find("sandbox-run-init")
        links = [os.readlink(f"/proc/{init}/fd/{fd}") for fd in os.listdir(f"/proc/{init}/fd")]
    assert not [link for link in links if str(scene.room) in link], links


@callers
def test_an_inherited_socket_reaches_nobody(scene, caller):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.set_inheritable(True)
        answer = run_attack(scene, "forge", 16, caller=caller, pass_fds=(theirs.fileno(),))
        assert answer.error == "EBADF", answer
        ours.setblocking(False)
        with pytest.raises(BlockingIOError):
            ours.recv(1)


@callers
@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)])
def test_closed_standard_descriptors_are_no_way_in(scene, closed, caller):
    """What the tool opens first would be the program's stdin, stdout or stderr."""
    closing = "".join(f" {fd}>&-" for fd in closed)
    check = "'test -p /dev/fd/0 -a -p /dev/fd/1 -a -p /dev/fd/2; exit $((7 + $?))'"
    tool = " ".join(support.command("exec", "--", "sh", "-c", check, caller=caller))
    done = support.subprocess.run(["bash", "-c", f"{tool}{closing}"], cwd=scene.data, check=False,
                                  timeout=support.DEADLINE, stdin=support.subprocess.DEVNULL,
                                  stdout=support.subprocess.PIPE, stderr=support.subprocess.PIPE)
    assert done.returncode == 7, done


@callers
@pytest.mark.parametrize("path", [*[f"/proc/{who}/fd/{fd}" for who in ("self", 1) for fd in range(3, 12)],
                                  "/dev/fd/3", "/dev/fd/7"])
def test_a_working_directory_by_descriptor_stays_inside(scene, leaked, path, caller):
    """CVE-2024-21626: a descriptor that set-up has open is not a directory to start in.  /dev/fd is only a link."""
    answer = run_attack(scene, "climb", "{secret}", caller=caller, pass_fds=leaked,
                        options=("--workdir", path))
    assert not answer.got, answer
    if not answer.line:
        assert answer.result["error"]["stage"] in ("program", "exec"), answer


@callers
@pytest.mark.parametrize("path", ["/proc/self/cwd", "/proc/self/root", "/proc/1/cwd",
                                  "/proc/1/root", "/proc/thread-self/root", "/proc/self/exe"])
def test_a_working_directory_by_a_link_of_proc_stays_inside(scene, path, caller):
    answer = run_attack(scene, "climb", "{secret}", caller=caller, options=("--workdir", path))
    assert not answer.got, answer


@callers
@pytest.mark.parametrize("path", ["relative", "/work/../..", "/..", "", "/work/./x", "//"])
def test_a_working_directory_that_is_no_plain_path_is_refused(path, caller):
    result = support.result_of("exec", "--workdir", path, "--", "pwd", caller=caller)
    assert result["error"]["code"] == "invalid", result


@callers
def test_the_callers_directory_is_not_the_programs(scene, caller):
    result = support.result_of("exec", "--", "pwd", caller=caller, cwd=scene.room)
    assert result["stdout"] == "/work\n"


@callers
def test_the_callers_environment_does_not_reach_the_program(caller):
    result = support.result_of("exec", "--", "env", caller=caller, env={TOKEN: "x", "LD_DEBUG": ""})
    names = {line.partition("=")[0] for line in result["stdout"].splitlines()}
    assert names == {"PATH", "HOME", "LANG", "USER"}


@callers
def test_a_given_variable_reaches_the_program(caller):
    result = support.result_of("exec", "--env", f"{TOKEN}=x", "--", "env", caller=caller)
    assert f"{TOKEN}=x" in result["stdout"].splitlines()


@callers
@pytest.mark.core
def test_the_callers_environment_is_nowhere_inside(caller):
    """Neither in any environ that can be read, nor above the stack of the program."""
    code = ("import os\n"
            "for pid in filter(str.isdigit, os.listdir('/proc')):\n"
            "    for name in 'environ', 'cmdline':\n"
            "        try: print(pid, name, open(f'/proc/{pid}/{name}', 'rb').read())\n"
            "        except OSError: pass\n")
    result = support.python(code, caller=caller, env={TOKEN: TOKEN})
    assert TOKEN not in result["stdout"]
    assert "environ" in result["stdout"]


@callers
def test_the_environment_of_init_is_empty(scene, caller):
    with running(scene, "hold", "file", "/tmp/x", caller=caller, env={TOKEN: TOKEN}) as run:
        run.read_line()
        init = run.find("sandbox-run-init")
        with open(f"/proc/{init}/environ", "rb") as environ:
            assert environ.read() == b""
        with open(f"/proc/{run.process.pid}/environ", "rb") as environ:
            assert TOKEN.encode() in environ.read(), "the token was not where it could leak from"


@callers
def test_ignored_and_blocked_signals_are_not_inherited(caller):
    def ignore_and_block():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2, signal.SIGHUP})

    result = support.result_of("exec", "--", "/bin/grep", "-E", "SigBlk|SigIgn",
                               "/proc/self/status", caller=caller, preexec_fn=ignore_and_block)
    assert result["stdout"].split() == ["SigBlk:", "0" * 16, "SigIgn:", "0" * 16], result


@callers
def test_the_umask_is_not_inherited(caller):
    result = support.shell("umask", caller=caller, preexec_fn=lambda: os.umask(0o777))
    assert result["stdout"] == "0022\n"
