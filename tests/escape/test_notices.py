"""Refusals are told and never decided by being told: errors stay what the policy says, whatever is asked, how often,
by how many, and whether anybody listens."""
import contextlib
import os
import resource
import signal
import time

import pytest

import support
from harness import assert_each, callers, root_only, run_attack, run_attacks, running, wait_until
from test_filter_table import calls_on_stdin

CLONE_NEWUSER, TIOCSTI, PR_SET_MM, S_IFBLK = 0x10000000, 0x5412, 35, 0o60000
MOUNTS = "default.yaml: namespaces, roots and mounts"

# Call, arguments, error, what the denial names, and the group that refuses.
REFUSALS = [
    ("mount", (), "EPERM", "mount", MOUNTS),
    ("unshare", (CLONE_NEWUSER,), "EPERM", "unshare(CLONE_NEWUSER)", MOUNTS),
    ("clone", (CLONE_NEWUSER | 17,), "EPERM", "clone(CLONE_NEWUSER)", MOUNTS),
    ("ptrace", (), "EPERM", "ptrace", "default.yaml: looking into other processes"),
    ("bpf", (), "EPERM", "bpf(0)", "default.yaml: kernel programs and events"),
    ("keyctl", (), "EPERM", "keyctl", "default.yaml: keys"),
    ("reboot", (), "EPERM", "reboot", "default.yaml: running the machine"),
    ("setgroups", (), "EPERM", "setgroups", "default.yaml: group membership"),
    ("socket", (17, 3, 0), "EAFNOSUPPORT", "socket(AF_PACKET)", "default.yaml: kinds of sockets"),
    ("socket", (2, 3, 1), "EAFNOSUPPORT", "socket(AF_INET, SOCK_RAW, 1)",
     "default.yaml: kinds of sockets"),
    ("ioctl", (0, TIOCSTI), "EPERM", "ioctl(TIOCSTI)",
     "default.yaml: terminals of others, line disciplines and file flags"),
    ("prctl", (PR_SET_MM,), "EPERM", "prctl(PR_SET_MM)",
     "default.yaml: the look and the privileges of a process"),
    ("personality", (0x40000,), "EPERM", "personality(0x40000)", "default.yaml: personalities"),
    ("mknodat", (0, 1, S_IFBLK), "EPERM", "mknodat(S_IFBLK)", "default.yaml: devices"),
]
# Errors that programs expect when they look for something better are between them and the kernel.
QUIET = [("clone3", (), "ENOSYS"), ("io_uring_setup", (), "ENOSYS"), ("setxattr", (), "EOPNOTSUPP")]


def ask(scene, calls, *options, caller):
    """The answers to calls, one after the other, and the denials of the run."""
    result = support.result_of("exec", "--volume", f"{scene.tools}:/attacks", *options, "--",
                               "/attacks/probe", "calls", caller=caller, stdin=calls_on_stdin(calls))
    assert result["outcome"] == "exited" and result["exit_code"] == 0, result
    return result["stdout"].split(), result["denials"]


@callers
def test_a_refusal_is_named_with_its_rule(scene, caller):
    answers, denials = ask(scene, [refusal[:2] for refusal in REFUSALS], caller=caller)
    assert answers == [error for _, _, error, _, _ in REFUSALS]
    assert denials == [{"kind": "syscall", "target": target, "rule": rule, "remedy": None, "count": 1}
                       for _, _, _, target, rule in REFUSALS]


@callers
def test_a_fallback_is_nobodys_business(scene, caller):
    assert ask(scene, [quiet[:2] for quiet in QUIET], caller=caller) == ([error for _, _, error in QUIET], [])


@callers
def test_what_only_the_strict_policy_refuses_names_the_other(scene, caller):
    answers, denials = ask(scene, [("flock", ()), ("mount", ())], "--policy", "strict", caller=caller)
    assert answers[0] == "EPERM"
    assert denials[0] == {"kind": "syscall", "target": "flock", "rule": "strict.yaml: locks",
                          "remedy": "--policy default", "count": 1}
    assert [(d["rule"], d["remedy"]) for d in denials[1:]] == [(MOUNTS, None)]


@callers
def test_sending_descriptors_stays_refused_in_the_strict_policy(scene, caller):
    """Init sends its listener that way before the gate is closed."""
    assert ask(scene, [("sendmsg", ())], "--policy", "strict", caller=caller)[0] == ["EPERM"]


CONNECTIONS = [
    (("tcp", "93.184.216.34", 443), "93.184.216.34:443",
     "--network allow --allow-host 93.184.216.34:443"),
    (("tcp", "127.0.0.1", 80), "127.0.0.1:80", "--network allow --allow-host localhost:80"),
    (("tcp6", "::1", 80), "[::1]:80", "--network allow --allow-host localhost:80"),
    (("tcp6", "2001:4860:4860::8888", 443), "[2001:4860:4860::8888]:443",
     "--network allow --allow-host [2001:4860:4860::8888]:443"),
    (("tcp6", "::ffff:93.184.216.34", 80), "93.184.216.34:80",
     "--network allow --allow-host 93.184.216.34:80"),
    (("udp", "93.184.216.34", 99, "hello"), "93.184.216.34:99",
     "--network allow --allow-host 93.184.216.34:99"),
]


@callers
def test_a_connection_says_where_to(scene, caller):
    attacks = [words for words, _, _ in CONNECTIONS]
    answers = run_attacks(scene, attacks, caller=caller)
    assert_each(attacks, answers, lambda answer: answer.error == "ENETUNREACH")
    assert answers[0].result["denials"] == [
        {"kind": "connect", "target": target, "rule": "network: none", "remedy": remedy, "count": 1}
        for _, target, remedy in CONNECTIONS]


LOOKUPS = {
    "both families": "socket.getaddrinfo('Example.org', 80)",
    "one family": "socket.gethostbyname('example.org')",
    "a packet of one's own": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(bytes.fromhex("
                             "'aaaa01000001000000000000') + b'\\7example\\3org\\0\\0\\1\\0\\1',"
                             " ('8.8.8.8', 53))",
}


@callers
@pytest.mark.parametrize("code", LOOKUPS.values(), ids=LOOKUPS)
def test_a_name_that_is_looked_up_is_named(code, caller):
    result = support.python(f"import socket, time\nbefore = time.monotonic()\ntry: {code}\n"
                            "except OSError: print(time.monotonic() - before)\n", caller=caller)
    assert float(result["stdout"]) < 1
    assert result["denials"] == [{"kind": "name", "target": "example.org", "rule": "network: none",
                                  "remedy": "--network allow --allow-host example.org",
                                  "count": 1}]


@callers
def test_a_hostile_name_is_no_option(caller):
    code = ("import socket\nname = bytes([8]) + b'a;rm -rf' + bytes([4]) + b'\\x1b[2J' + b'\\0'\n"
            "packet = bytes.fromhex('aaaa01000001000000000000') + name + b'\\0\\1\\0\\1'\n"
            "try: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(packet, ('8.8.8.8', 53))\n"
            "except OSError: pass\n")
    denial, = support.python(code, caller=caller)["denials"]
    assert denial["kind"] == "name" and denial["remedy"] is None
    assert "\x1b" not in denial["target"]


@callers
def test_local_sockets_go_on(caller):
    result = support.python(
        "import os, socket\nserver = socket.socket(socket.AF_UNIX)\nserver.bind('/tmp/s')\n"
        "server.listen()\nclient = socket.socket(socket.AF_UNIX)\nclient.connect('/tmp/s')\n"
        "client.send(b'hello', socket.MSG_NOSIGNAL)\nprint(server.accept()[0].recv(9))\n"
        "one = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)\none.bind('/tmp/d')\n"
        "socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'hi', '/tmp/d')\n"
        "print(one.recv(9))\n", caller=caller)
    assert result["stdout"] == "b'hello'\nb'hi'\n" and result["denials"] == []


@callers
def test_loopback_goes_on_where_it_is_up(scene, caller):
    attacks = [("tcp", "127.0.0.1", 80), ("tcp", "93.184.216.34", 80)]
    here, there = run_attacks(scene, attacks, caller=caller, options=("--network", "localhost"))
    assert here.error == "ECONNREFUSED" and there.error == "ENETUNREACH", (here, there)
    assert [(d["target"], d["rule"]) for d in there.result["denials"]] == [
        ("93.184.216.34:80", "network: localhost")]


@callers
def test_a_flood_is_counted_and_ends(scene, caller):
    answer = run_attack(scene, "refused-flood", 20000, caller=caller,
                        options=("--timeout", "120s"), timeout=150)
    assert answer.line == "NOT EPERM 20000", answer
    assert [(d["target"], d["count"]) for d in answer.result["denials"]] == [("mount", 20000)]


@callers
def test_a_flood_of_kinds_finds_no_more_room(scene, caller):
    answer = run_attack(scene, "refused-kinds", 5000, caller=caller)
    assert answer.line == "NOT EPERM 5000", answer
    denials = answer.result["denials"]
    assert len(denials) == 64
    assert sum(d["count"] for d in denials) + answer.result["denials_dropped"] == 5000


@callers
def test_a_flood_does_not_outlive_its_time(scene, caller):
    before = time.monotonic()
    answer = run_attack(scene, "ask-forever", caller=caller, options=("--timeout", "1s"))
    assert answer.outcome == "timeout" and time.monotonic() - before < 15
    assert [d["target"] for d in answer.result["denials"]] == ["mount"]


@callers
def test_a_flood_costs_the_supervisor_little(scene, caller):
    """Its time counts in no limit of the program's: after some thousands it answers more slowly.  Without that it is busy
    for more than half of the time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    answer = run_attack(scene, "ask-forever", caller=caller, options=("--timeout", "2s"))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime - answer.result["cpu_time"]
    assert answer.result["denials"][0]["count"] > 4096, answer
    assert used < 0.2 * 2, used


@callers
def test_output_goes_on_during_a_flood(caller):
    result = support.python("import ctypes, threading\nlibc = ctypes.CDLL(None)\n"
                            "def ask():\n    for _ in range(3000): libc.mount(0, 0, 0, 0, 0)\n"
                            "threads = [threading.Thread(target=ask) for _ in range(4)]\n"
                            "for thread in threads: thread.start()\n"
                            "print('x' * 1000000)\n"
                            "for thread in threads: thread.join()\n", caller=caller)
    assert len(result["stdout"]) == 1000001
    assert [d["count"] for d in result["denials"]] == [12000]


@callers
def test_a_crowd_that_asks_and_dies(scene, caller):
    answer = run_attack(scene, "refused-crowd", 60, caller=caller)
    assert answer.line == "NOT EPERM 60", answer


@callers
def test_an_address_that_changes_leads_nowhere(scene, caller):
    answer = run_attack(scene, "address-race", scene.port, 20000, caller=caller,
                        options=("--timeout", "60s"))
    assert answer.error == "ENETUNREACH", answer
    assert {d["target"] for d in answer.result["denials"]} <= {f"127.0.0.1:{scene.port}"}


@callers
def test_nobody_inside_gets_the_listener(scene, caller):
    assert run_attack(scene, "take-listener", caller=caller).error == "EPERM"


@callers
def test_one_who_waits_for_an_answer_can_be_killed(scene, caller):
    """The supervisor does not answer, because it is stopped."""
    with running(scene, "ask-forever", caller=caller) as run:
        assert run.read_line() == "asking"
        asker = run.find("/attacks/attack")
        os.kill(run.process.pid, signal.SIGSTOP)
        try:
            wait_until(lambda: "S" in state_of(asker), "waiting", lambda: state_of(asker))
            os.kill(asker, signal.SIGKILL)
            wait_until(lambda: state_of(asker) in ("Z", ""), "dead", lambda: state_of(asker))
        finally:
            os.kill(run.process.pid, signal.SIGCONT)


def state_of(pid):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        return stat.read().rpartition(")")[2].split()[0]
    return ""


@callers
def test_without_a_supervisor_nothing_is_let_through(scene, caller):
    with running(scene, "ask-forever", caller=caller) as run:
        assert run.read_line() == "asking"
        asker = run.find("/attacks/attack")
        os.kill(run.process.pid, signal.SIGKILL)
        wait_until(lambda: state_of(asker) in ("Z", ""), "dead", lambda: state_of(asker))


@callers
def test_where_another_listens_already_the_run_goes_on_untold(scene, caller):
    """The kernel has room for one listener only: then nobody is asked, and errors are the same."""
    prefix = [str(scene.tools / "attack"), "under-listener"]
    tools = ("exec", "--volume", f"{scene.tools}:/attacks:ro", "--", "/attacks/attack")
    # Of streams Landlock is the first to say something, of datagrams the empty namespace.
    for words, lines in ((("refused-flood", 3), {"NOT EPERM 3"}),
                         (("tcp", "127.0.0.1", scene.port),
                          {"NOT EACCES connect", "NOT ENETUNREACH connect"}),
                         (("udp", "127.0.0.1", 99, "hello"), {"NOT ENETUNREACH sendto"})):
        result = support.result_of(*tools, *words, caller=caller, prefix=prefix)
        assert result["stdout"].strip() in lines, result
        assert result["denials"] == []


@root_only
def test_the_notice_refuses_even_without_the_namespace(scene):
    """Nobody relies on it: but what the supervisor answers is an error either way."""
    answer = run_attack(scene, "tcp", "127.0.0.1", scene.port,
                        without=("network-namespace", "landlock"))
    assert answer.error == "ENETUNREACH"
    assert [d["target"] for d in answer.result["denials"]] == [f"127.0.0.1:{scene.port}"]


@root_only
def test_the_connection_would_be_made_without_the_layers(scene):
    assert run_attack(scene, "tcp", "127.0.0.1", scene.port,
                      without=("seccomp", "network-namespace", "landlock")).got


def test_a_quiet_program_is_told_nothing_of():
    """What compilers and interpreters do on an ordinary day is refused nowhere."""
    result = support.result_of("exec", "--", "/bin/sh", "-c", "ls / >/dev/null; id; uname -a")
    assert result["exit_code"] == 0 and result["denials"] == []
