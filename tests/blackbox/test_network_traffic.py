"""What goes through: whole, both ways, to the last byte; counted, and stopped at the limits."""
import concurrent.futures
import contextlib
import hashlib
import json
import os
import signal
import subprocess
import time

import pytest

import support
from network_cases import PORTS, WEB4, WEB6, listed
from network_world import stream_bytes
from waiting import read_line, wait_until

MIB = 1 << 20
OPEN = listed(WEB4, WEB6, "web.example.org")


def digest(seed, count):
    total = hashlib.sha256()
    for block in stream_bytes(seed, count):
        total.update(block)
    return f"{count} {total.hexdigest()}"


def metrics(result):
    return [result["metrics"][name] for name in
            ("network_connections", "network_bytes_in", "network_bytes_out")]


@pytest.mark.parametrize("host", [WEB4, WEB6, "web.example.org"])
def test_large_transfers_arrive_whole(lab, host, caller):
    size = 8 * MIB + 4711
    outcomes, result = lab.probe([["upload", host, PORTS["SINK"], size, 5],
                                  ["download", host, PORTS["SOURCE"], size, 6]],
                                 *OPEN, "--timeout", "30s", caller=caller)
    assert outcomes == [digest(5, size), digest(6, size)]
    said, asked = len(digest(5, size)) + 1, len(f"{size} 6\n")
    assert metrics(result) == [2, size + said, size + asked]


def test_nothing_is_counted_where_nothing_went(lab, caller):
    _, result = lab.probe([["talk", "10.7.0.5", 7], ["resolve", "web.example.org"],
                           ["resolve", "other.example.org"], ["server_and_client", "127.0.0.1"]],
                          *OPEN, caller=caller)
    assert metrics(result) == [0, 0, 0]


def test_kinds_of_ends(lab, caller):
    """Each half ends by itself; what the other side does reaches the program as it is."""
    table = [
        (["talk", WEB4, PORTS["GREETER"]], "welcome\nhello\n"),
        (["short", WEB4, PORTS["SHORT"], 100000], "no more of me\n"),
        (["talk", WEB4, PORTS["RESET"]], "NOT ECONNRESET"),
        (["talk", WEB4, PORTS["SLOW"]], "slowly\n"),
        (["talk", WEB6, PORTS["ECHO"], ""], ""),
    ]
    outcomes, _ = lab.probe([action for action, _ in table], *OPEN, caller=caller)
    assert outcomes == [expected for _, expected in table]
    assert lab.log("short") == [["short", 100000]]


def test_urgent_bytes_hold_nothing_up(lab, caller):
    """What comes behind one arrives, and the end, too: the same as without a sandbox."""
    parts = [("before ", "behind"), ("before", ""), ("", "behind"), ("", "x" * MIB)]
    actions = [["urgent", host, PORTS["ECHO"], *both] for host in (WEB4, WEB6) for both in parts]
    outcomes, _ = lab.probe(actions, *OPEN, caller=caller)
    assert outcomes == lab.outside(actions) == ["".join(both) for both in parts] * 2


@pytest.mark.parametrize("host", [WEB4, WEB6])
def test_a_port_that_nobody_serves(lab, host, caller):
    outcomes, result = lab.probe([["talk", host, 4], ["udp", host, 4]], *OPEN, caller=caller)
    assert outcomes[0] in ("NOT ECONNREFUSED", "NOT ECONNRESET", "NOT EPIPE", "NOT ENOTCONN")
    assert outcomes[1] == "NOT ECONNREFUSED"
    assert not result.get("denials")


def test_many_connections_at_once(lab, caller):
    outcomes, result = lab.probe([["parallel", WEB4, 7, 200], ["together", "web.example.org", 7, 50]],
                                 *OPEN, "--pids", "100", "--timeout", "2m", caller=caller)
    assert outcomes == ["all", "all"]
    assert result["metrics"]["network_connections"] == 250


def test_more_at_once_than_are_held_open_wait_for_their_turn(lab, caller):
    """Whoever comes later is served once others have ended."""
    outcomes, _ = lab.probe([["serial", WEB4, 7, 600]], *OPEN, "--timeout", "30s", caller=caller)
    assert outcomes == [[600, ""]]


def test_datagrams(lab, caller):
    outcomes, result = lab.probe(
        [["udp_many", WEB4, 7, 200, 1200], ["udp_unconnected", WEB4, 7], ["udp_unconnected", WEB6, 7],
         ["udp_unconnected", "web.example.org", 7], ["udp", WEB4, 7, "x" * 9000], ["udp", WEB4, 7, ""]],
        *OPEN, caller=caller)
    assert outcomes == [240000, ["hello", True], ["hello", True], ["hello", True], "x" * 9000, ""]
    assert metrics(result) == [6, 240000 + 15 + 9000, 240000 + 15 + 9000]


def test_a_burst_of_datagrams_goes_out_whole(lab, caller):
    outcomes, result = lab.probe([["udp_burst", WEB4, 7, 900, 100]], *OPEN, caller=caller)
    assert outcomes == ["passed"]
    assert result["metrics"]["network_bytes_out"] >= 900 * 100


def test_kinds_of_datagrams(lab, caller):
    table = [(["udp_parallel", WEB4, 7, 100], 100), (["udp_segments", WEB4, 7, 100, 10], [100] * 10),
             (["udp", WEB4, 7, "x" * 65507], "x" * 65507)]
    outcomes, _ = lab.probe([action for action, _ in table], *OPEN, caller=caller)
    assert outcomes == [expected for _, expected in table]


def test_a_program_that_breaks_off_is_not_taken_for_one_that_has_ended(lab, caller):
    lab.probe([["abort", WEB4, PORTS["SINK"], 1000]], *OPEN, caller=caller)
    assert wait_until(lambda: lab.log("broke")), lab.log()
    assert not lab.log("sunk")


DEAD = ("half-dead", "old-dead", "new-dead", "half-closed")


def test_a_host_of_which_one_address_is_dead_is_reached(lab, caller):
    outcomes, result = lab.probe([["http", f"http://{name}.example.org/"] for name in DEAD],
                                 *listed("*.example.org"), "--max-connections", str(len(DEAD)), caller=caller)
    assert all(outcome.startswith("web ") for outcome in outcomes), outcomes
    # The next address is tried after a quarter of a second, not after the ten that an address has.
    assert result["metrics"]["wall_ms"] < 8000
    assert result["metrics"]["network_connections"] == len(DEAD), "addresses of one host are one connection"


def test_many_runs_at_once(lab):
    def one(number):
        callers = support.available_callers()
        outcomes, _ = lab.probe([["upload", WEB4, PORTS["SINK"], MIB, number],
                                 ["download", WEB4, PORTS["SOURCE"], MIB, number]], *OPEN,
                                caller=callers[number % len(callers)])
        return outcomes == [digest(number, MIB)] * 2

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert all(pool.map(one, range(8)))


@pytest.mark.parametrize("closed", ["<&-", "<&- >&-", "<&- >&- 2>&-"])
def test_it_does_not_matter_which_descriptors_the_caller_has(lab, closed, caller):
    code = f"import socket; socket.create_connection(('{WEB4}', {PORTS['SINK']})).sendall(b'hi')"
    words = support.command("run", *OPEN, "--lang", "python", "--code", code, caller=caller)
    subprocess.run([*lab.host.enter(), "sh", "-c", f'"$@" {closed}', "sh", *words], check=True,
                   timeout=support.DEADLINE, env=support.environment())
    assert wait_until(lambda: lab.log("sunk"))
    assert lab.log("sunk")[0][1] == 2


def test_what_was_sent_before_the_end_arrives(lab, caller):
    code = ("import os, socket\n"
            f"tcp = socket.create_connection(('{WEB4}', {PORTS['SINK']}))\n"
            "tcp.sendall(b'x' * 100000)\n"
            f"udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
            f"udp.sendto(b'last words', ('{WEB4}', {PORTS['SINK']}))\n"
            "os._exit(0)\n")
    result = lab.result("run", *OPEN, "--lang", "python", "--code", code, caller=caller)
    assert result["exit_code"] == 0, result
    assert wait_until(lambda: lab.log("sunk")), lab.log()
    assert lab.log("sunk")[0][1] == 100000
    assert "last words" in [entry[-1] for entry in lab.log("udp")]


# ---- limits --------------------------------------------------------------------------------------


def denial_of(result, rule):
    found = [denial for denial in result["denials"] if denial["rule"] == rule]
    assert len(found) == 1, result["denials"]
    return found[0]


@pytest.mark.parametrize("limit", [0, 1, 3])
def test_connections_are_counted_and_limited(lab, limit, caller):
    outcomes, result = lab.probe([["serial", WEB4, 7, limit + 2], ["talk", "web.example.org", 7],
                                  ["udp", WEB4, 7]], *OPEN, "--max-connections", limit, caller=caller)
    assert outcomes[0][0] == limit
    assert all(outcome.startswith("NOT ") for outcome in outcomes[1:]), outcomes
    assert result["metrics"]["network_connections"] == limit
    assert result["limits"]["connections"] == limit
    assert len(lab.log("tcp")) == limit
    rule = f"limits: connections {limit}"
    assert {denial["rule"] for denial in result["denials"]} == {rule}
    assert all(denial["kind"] == "connect" and "--max-connections" in denial["remedy"]
               for denial in result["denials"])


BYTES = [("--max-network-in", "network_in_bytes", "network_bytes_in",
          ["download", WEB4, PORTS["SOURCE"], 4 * MIB, 5]),
         ("--max-network-out", "network_out_bytes", "network_bytes_out",
          ["upload", WEB4, PORTS["SINK"], 4 * MIB, 5])]


@pytest.mark.parametrize("option, limit, metric, action", BYTES)
def test_bytes_are_counted_and_limited(lab, option, limit, metric, action, caller):
    outcomes, result = lab.probe([action, ["talk", "web.example.org", 7], ["udp", WEB4, 7]], *OPEN,
                                 option, "1m", caller=caller)
    assert outcomes[0].startswith("NOT ") and "waited" not in outcomes[0], outcomes
    assert all(outcome.startswith("NOT ") for outcome in outcomes[1:]), "nothing goes any more"
    assert result["metrics"][metric] == MIB
    denial = denial_of(result, f"limits: {limit} {MIB}") if len(result["denials"]) == 1 else None
    assert denial is None or (denial["kind"], denial["target"]) == (
        "connect", f"{WEB4}:{action[2]}")
    assert all(option in denial["remedy"] for denial in result["denials"])
    assert result["limits"][limit] == MIB


@pytest.mark.parametrize("option, limit, metric, action", BYTES)
def test_as_many_bytes_as_the_limit_go(lab, option, limit, metric, action, caller):
    del limit
    more = len(f"{4 * MIB} 5\n") + len(digest(5, 4 * MIB)) + 1
    outcomes, result = lab.probe([action], *OPEN, option, 4 * MIB + more, caller=caller)
    assert outcomes == [digest(5, 4 * MIB)]
    assert result["metrics"][metric] == 4 * MIB and not result.get("denials")


# ---- lifetime ------------------------------------------------------------------------------------

HOLDS = ("import socket, sys\n"
         f"s = socket.create_connection(('{WEB4}', {PORTS['GREETER']}))\n"
         "print(s.recv(8).decode(), end='', flush=True)\n"
         "sys.stdin.read()\n")


def processes_below(pid):
    """The children of a process, its children's too, as (pid, command line)."""
    found, todo = [], [pid]
    while todo:
        parent = todo.pop()
        with contextlib.suppress(OSError):  # some end meanwhile
            for task in os.listdir(f"/proc/{parent}/task"):
                with open(f"/proc/{parent}/task/{task}/children", encoding="ascii") as children:
                    todo += [int(word) for word in children.read().split()]
            with open(f"/proc/{parent}/cmdline", "rb") as line:
                found.append((parent, line.read().split(b"\0")[0].decode()))
    return found


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nobody_stays_when_the_tool_is_killed(lab, sent, caller):
    with lab.start("run", *OPEN, "--lang", "python", "--code", HOLDS, caller=caller) as process:
        pidfds = []
        try:
            assert read_line(process.stdout) == b"welcome\n"
            found = processes_below(process.pid)
            assert any("egress" in name for _, name in found), found
            pidfds = [os.pidfd_open(pid) for pid, _ in found]
            process.send_signal(sent)
            process.wait(support.DEADLINE)
            assert wait_until(lambda: not any(alive(fd) for fd in pidfds))
        finally:
            process.kill()
            for fd in pidfds:
                os.close(fd)


def alive(pidfd):
    try:
        signal.pidfd_send_signal(pidfd, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/self/fdinfo/{pidfd}", encoding="ascii") as info:
        pid = next(line.split()[1] for line in info if line.startswith("Pid:"))
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        return stat.read().rsplit(") ", 1)[1][0] not in "ZX"


def test_a_program_that_is_over_takes_its_connections_along(lab, caller):
    """A connection that nobody reads any more does not keep the run from ending."""
    code = ("import os, socket\n"
            f"s = socket.create_connection(('{WEB4}', {PORTS['SOURCE']}))\n"
            "s.sendall(b'1000000000 1\\n')\n"
            "s.recv(10)\n"
            "os._exit(3)\n")
    result = lab.result("run", *OPEN, "--timeout", "20s", "--lang", "python", "--code", code,
                        caller=caller)
    assert (result["outcome"], result["exit_code"]) == ("exited", 3), result
    assert result["metrics"]["wall_ms"] < 10000


STALLS = {
    "a host that does not answer": ("s.setblocking(False)\ns.connect_ex(('8.8.5.1', 80))\n"),
    "a host that does not read": (f"s.connect(('{WEB4}', {PORTS['STALL']}))\ns.setblocking(False)\n"),
}


@pytest.mark.parametrize("stall", STALLS)
def test_a_run_ends_with_its_program_though(lab, stall, caller):
    """What was sent and cannot be handed over is given up after a while."""
    code = (f"import os, socket\ns = socket.socket()\n{STALLS[stall]}"
            "try:\n    while True: s.send(b'x' * 65536)\nexcept OSError: os._exit(3)\n")
    began = time.monotonic()
    result = lab.result("run", *OPEN, *listed("8.8.5.0/24"), "--lang", "python", "--code", code,
                        caller=caller)
    assert (result["outcome"], result["exit_code"]) == ("exited", 3), result
    assert time.monotonic() - began < 15


@pytest.mark.parametrize("at_the_end", [False, True], ids=["", "and the program with it"])
def test_a_way_out_that_ends_ends_the_run(lab, caller, at_the_end):
    """Nothing goes another way instead, and what may not have arrived is no success."""
    with lab.start("run", "--json", *OPEN, "--lang", "python", "--code", HOLDS,
                   caller=caller) as process:
        try:
            assert wait_until(lambda: lab.log("tcp"))
            os.kill(next(pid for pid, name in processes_below(process.pid) if name.endswith("egress")),
                    signal.SIGKILL)
            if at_the_end:  # of stdin, the program ends as well, and perhaps first
                process.stdin.close()
            out = process.stdout.read()
            process.wait(support.DEADLINE)
        finally:
            process.kill()
    assert json.loads(out)["error"]["stage"] == "egress"
    assert process.returncode == 125


def test_a_time_limit_ends_a_run_that_waits_for_the_network(lab, caller):
    code = HOLDS.replace("sys.stdin.read()", "s.recv(1)")
    result = lab.result("run", *OPEN, "--timeout", "1s", "--lang", "python", "--code", code,
                        caller=caller)
    assert result["outcome"] == "timeout", result


# Refused or not, the way out looks at each of them.
FLOOD = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True:
    try:
        s.sendto(b'x' * 64, ('10.7.0.5', 9999))
    except OSError:
        pass
"""


def test_what_the_way_out_takes_counts_in_the_cpu_time(lab, caller):
    """It is none of the program's processes, and works as much as the program lets it."""
    result = lab.result("run", *OPEN, "--cpu-time", "600ms", "--timeout", "60s", "--lang", "python", "--code", FLOOD,
                        caller=caller)
    inside, outside = result["cpu_time"] * 1000, result["metrics"]["network_cpu_ms"]
    assert result["outcome"] == "cpu_limit", result
    assert outside > 50
    if result["isolation"]["tier"] == "container":
        assert inside < 560 and inside + outside > 590
    else:
        assert inside > 500 or outside > 590  # nobody sees both while they run


def test_the_way_out_has_no_more_of_the_cpus_than_the_program(lab, caller):
    """The least of three tries counts: what a hypervisor takes from a machine adds to a process's CPU time."""
    used = []
    while not used or (min(used) > 300 and len(used) < 3):
        result = lab.result("run", *OPEN, "--cpus", "0.1", "--timeout", "2s", "--lang", "python", "--code", FLOOD,
                            caller=caller)
        assert result["outcome"] == "timeout", result
        used.append(result["metrics"]["network_cpu_ms"])
    # 200 ms are its share of two seconds; after the program's end a burst of 10 ms and the share of 200 ms follow.
    assert 20 < min(used) < 300, used
