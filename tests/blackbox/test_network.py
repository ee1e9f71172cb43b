"""--network and --allow-host: what each mode and each kind of rule opens, and that it opens no more."""
import json

import pytest

import support
from network_cases import HOST4, HOST6, OPEN, PORTS, WEB4, WEB6, Case, check, listed
from network_lab import METADATA, PRIVATE

BYTES = "[2606:2800:220:1::1]"

RULES = [
    Case("a name", listed("web.example.org"),
         ("http://web.example.org/", "http://WEB.example.org./", "tcp web.example.org 7",
          "udp web.example.org 7"),
         ("http://other.example.org/", "http://example.org/", "http://web.example.net/",
          "tcp x.web.example.org 7", "udp other.example.org 7", f"tcp {WEB4} 7", f"udp {WEB4} 7",
          f"tcp {WEB6} 7", f"udp {WEB6} 7", f"tcp {METADATA} 80")),
    Case("a name in capital letters with its dot", listed("WEB.Example.ORG."),
         ("http://web.example.org/",), ("http://example.org/",)),
    Case("a name with a port", listed("web.example.org:7"),
         ("tcp web.example.org 7", "udp web.example.org 7"),
         ("http://web.example.org/", f"tcp {WEB4} 7", "tcp web.example.org 6003")),
    Case("two names", listed("web.example.org:80", "other.example.org:7"),
         ("http://web.example.org/", "tcp other.example.org 7"),
         ("tcp web.example.org 7", "http://other.example.org/")),
    Case("names below", listed("*.example.org"),
         ("http://web.example.org/", "tcp deep.sub.example.org 7", "udp other.example.org 7"),
         ("http://example.org/", "http://notexample.org/", "http://web.example.net/")),
    Case("names below with a port", listed("*.example.org:7"),
         ("tcp web.example.org 7", "tcp deep.sub.example.org 7"),
         ("http://web.example.org/", "tcp example.org 7")),
    Case("an address", listed(WEB4),
         (f"http://{WEB4}/", f"tcp {WEB4} 7", f"udp {WEB4} 7"),
         ("http://web.example.org/", f"tcp {WEB6} 7", "tcp 8.8.4.4 7", "udp 93.184.216.35 7")),
    Case("an address with a port", listed(f"{WEB4}:7"),
         (f"tcp {WEB4} 7", f"udp {WEB4} 7"), (f"http://{WEB4}/", f"tcp {WEB4} 6003")),
    Case("a range", listed("10.7.0.0/16"),
         ("tcp 10.7.0.5 7", "udp 10.7.0.5 7", "http://10.7.0.5/"),
         ("tcp 10.8.0.5 7", "tcp 192.168.77.5 7", f"tcp {WEB4} 7", "tcp ::ffff:192.168.77.5 7"),
         ("10.7.0.5",)),
    Case("a range with a port", listed("10.7.0.0/16:7"),
         ("tcp 10.7.0.5 7",), ("http://10.7.0.5/",), ("10.7.0.5",)),
    Case("a mapped address is its address", listed("10.7.0.5"),
         ("tcp ::ffff:10.7.0.5 7",), ("tcp ::ffff:192.168.77.5 7",), ("10.7.0.5",)),
    Case("an address of version 6", listed(WEB6),
         (f"http://{BYTES}/", f"tcp {WEB6} 7", f"udp {WEB6} 7"),
         (f"tcp {WEB4} 7", "tcp 2606:2800:220:1::3 7", "udp fd00:7::5 7", "http://web.example.org/")),
    Case("an address of version 6 with a port", listed(f"{BYTES}:7"),
         (f"tcp {WEB6} 7", f"udp {WEB6} 7"), (f"http://{BYTES}/",)),
    Case("a range of version 6", listed("fd00:7::/32"),
         ("tcp fd00:7::5 7", "udp fd00:7::5 7"), (f"tcp {WEB6} 7", "tcp fd00:ec2::254 80"),
         ("fd00:7::5",)),
    Case("a range of version 6 with a port", listed("[fd00::/8]:7"),
         ("tcp fd00:7::5 7",), ("http://[fd00:7::5]/",), ("fd00:7::5",)),
    Case("a host that has only version 6", listed("v6.example.org"),
         ("http://v6.example.org/", "tcp v6.example.org 7", "udp v6.example.org 7"),
         (f"tcp {WEB6} 7",), (WEB6,)),
    Case("a host that has only version 4", listed("v4.example.org"),
         ("http://v4.example.org/", "udp v4.example.org 7"), (f"tcp {WEB4} 7",), (WEB4,)),
    Case("a host that has another name", listed("alias.example.org"),
         ("http://alias.example.org/",), ("http://web.example.net/",)),
    Case("a host from the host's own file", listed("hosts-file.example.org"),
         ("http://hosts-file.example.org/",), ("http://web.example.org/",)),
    Case("metadata, listed", listed(METADATA),
         (f"http://{METADATA}/",), ("tcp 169.254.7.5 7",), (METADATA,)),
    Case("the host's own address, listed", listed(f"{HOST4}:8080"),
         (f"tcp {HOST4} 8080",), (f"tcp {HOST4} 8081", f"tcp {HOST6} 8080"), (), 1),
    Case("a port of the host's loopback, listed", listed("localhost:8080"),
         ("tcp localhost 8080", "tcp 127.0.0.1 8080"), ("tcp 127.0.0.1 8081", f"tcp {HOST4} 8080"),
         (), 2),
    Case("a name and its private address", listed("priv.example.org", "10.7.0.5:7"),
         ("tcp priv.example.org 7",), ("http://priv.example.org/",), ("10.7.0.5",)),
    Case("a name that has a public address too", listed("mixed.example.org", "10.7.0.5"),
         ("tcp mixed.example.org 7",), (), ("10.7.0.5", WEB4)),
]


# One of each kind for every caller: the rules are the same, but an ordinary user's way out is made with fewer rights.
BY_EVERY_CALLER = {"a name", "names below with a port", "a range", "an address of version 6",
                   "a port of the host's loopback, listed"}
CALLERS = support.available_callers()


@pytest.mark.parametrize("caller, case", [
    pytest.param(caller, case, id=f"{caller}-{case}") for case in RULES
    for caller in (CALLERS if case.name in BY_EVERY_CALLER else CALLERS[:1])])
def test_a_rule_opens_what_it_names_and_nothing_else(lab, case, caller):
    check(lab, case, caller)


SPECIAL_NAMES = ("loop", "zero", "meta", "link", "priv", "home", "cgnat", "ula", "mapped", "nat64",
                 "6to4", "own")
SPECIAL = [f"{kind} {name}.example.org {PORTS['HOST_PORT'] if name in ('loop', 'zero', 'own') else 7}"
           for name in SPECIAL_NAMES for kind in ("tcp", "udp")]
SPECIAL_ADDRESSES = [f"{kind} {address} 7" for kind in ("tcp", "udp")
                     for address in (*PRIVATE, METADATA, "169.254.7.5", "198.18.7.5", "203.0.113.5",
                                     "fd00:7::5", "fd00:ec2::254", "2001:db8::5", "64:ff9b::a07:5",
                                     "2002:a07:5::1", "::ffff:10.7.0.5", "240.0.0.1", "0.0.0.0")]
HOST_ADDRESSES = [f"{kind} {address} {PORTS['HOST_PORT']}" for kind in ("tcp", "udp")
                  for address in (HOST4, HOST6, "127.0.0.1", "127.0.0.2", "::1", "0.0.0.0", "::")]

MODES = [
    Case("none", ("--network", "none"), (),
         ("http://web.example.org/", f"tcp {WEB4} 7", f"udp {WEB4} 7", f"tcp {WEB6} 7",
          *HOST_ADDRESSES), ()),
    Case("nothing said", (), (),
         ("http://web.example.org/", f"tcp {WEB4} 7", f"udp {WEB6} 7", *HOST_ADDRESSES), ()),
    Case("localhost", ("--network", "localhost"), (),
         ("http://web.example.org/", f"tcp {WEB4} 7", f"udp {WEB4} 7", f"tcp {WEB6} 7",
          f"tcp {METADATA} 80", *HOST_ADDRESSES), ()),
    Case("allow, and an empty list", ("--network", "allow"), (),
         ("http://web.example.org/", f"tcp {WEB4} 7", f"udp {WEB4} 7", f"tcp {WEB6} 7",
          *SPECIAL_ADDRESSES, *HOST_ADDRESSES), ()),
    Case("allow, and names that lead to special addresses",
         ("--network", "allow", *listed("*.example.org")),
         ("http://web.example.org/",), tuple(SPECIAL)),
    Case("full", ("--network", "full"),
         ("http://web.example.org/", "http://web.example.net/", "http://v6.example.org/",
          f"tcp {WEB4} 7", f"udp {WEB4} 7", f"tcp {WEB6} 7", f"udp {WEB6} 7", "tcp 8.8.4.4 7"),
         (*SPECIAL, *SPECIAL_ADDRESSES, *HOST_ADDRESSES), (*OPEN, "8.8.4.4")),
    Case("full, and a private address", ("--network", "full", *listed("10.7.0.5", METADATA)),
         ("http://web.example.org/", "tcp 10.7.0.5 7", "udp priv.example.org 7",
          f"http://{METADATA}/"),
         ("tcp 192.168.77.5 7", "tcp home.example.org 7", *HOST_ADDRESSES),
         (*OPEN, "10.7.0.5", METADATA)),
    Case("full, and the host's own address", ("--network", "full", *listed(f"[{HOST6}]:8080")),
         (f"tcp {HOST6} 8080",), (f"tcp {HOST4} 8080", f"tcp {HOST6} 8081"), (), 1),
]


@pytest.mark.parametrize("case", MODES, ids=str)
def test_a_mode_opens_what_it_says_and_nothing_else(lab, case, caller):
    check(lab, case, caller)


@pytest.mark.core
@pytest.mark.parametrize("mode, works", [("none", False), ("localhost", True), ("allow", True),
                                         ("full", True)])
def test_a_server_and_its_client_in_the_same_run(mode, works, caller):
    code = ("import socket\n"
            "for family, host in ((socket.AF_INET, '127.0.0.1'), (socket.AF_INET6, '::1')):\n"
            "    try:\n"
            "        with socket.create_server((host, 0), family=family) as server:\n"
            "            client = socket.create_connection(server.getsockname()[:2], 5)\n"
            "            server.accept()[0].sendall(b'hi')\n"
            "            print(client.recv(2).decode())\n"
            "    except OSError: print('no')\n")
    result = support.python(code, "--network", mode, caller=caller)
    assert result["stdout"] == ("hi\nhi\n" if works else "no\nno\n"), result


@pytest.mark.parametrize("mode", ["localhost", "allow", "full"])
def test_localhost_is_a_name_inside(mode, caller):
    result = support.python("import socket\nserver = socket.create_server(('localhost', 0))\n"
                            "socket.create_connection(('localhost', server.getsockname()[1]), 5)\n",
                            "--network", mode, caller=caller)
    assert (result["exit_code"], result["stderr"]) == (0, ""), result


@pytest.mark.parametrize("mode, found", [("localhost", []), ("allow", []), ("full", [])])
def test_there_is_no_interface_but_loopback(lab, mode, found, caller):
    outcomes, _ = lab.probe([["interfaces"]], "--network", mode, caller=caller)
    assert [name for name in outcomes[0] if name != "lo"] == found


def test_redirects_pass_the_rules_again(lab, caller):
    outcomes, result = lab.probe(
        [["http", "http://web.example.org/redirect?http://web.example.org/"],
         ["http", "http://web.example.org/redirect?http://web.example.net/"],
         ["http", "http://web.example.org/redirect?http://10.7.0.5/"],
         ["http", f"http://web.example.org/redirect?http://{METADATA}/latest/meta-data/"]],
        *listed("web.example.org"), caller=caller)
    assert outcomes[0].startswith("web ")
    assert all(outcome.startswith("NOT ") for outcome in outcomes[1:]), outcomes
    targets = {denial["target"] for denial in result["denials"]}
    assert targets == {"web.example.net", "10.7.0.5:80", f"{METADATA}:80"}


REBINDING = ["http", "http://rebind.example.org/"]


@pytest.mark.parametrize("mode", ["allow", "full"])
def test_a_name_that_changes_its_address_gains_nothing(lab, mode, caller):
    outcomes, _ = lab.probe([REBINDING, ["http", "http://rebind-late.example.org/"]] * 4
                            + [["resolve", "rebind.example.org"]] * 4 + [REBINDING] * 4,
                            "--network", mode, *listed("rebind.example.org",
                                                       "rebind-late.example.org"), caller=caller)
    assert reached(lab) <= {WEB4}
    assert any(isinstance(one, str) and one.startswith(f"web {WEB4}") for one in outcomes), outcomes


def reached(lab):
    return {entry[1] for entry in lab.log() if entry[0] == "http"}


def test_a_request_opens_the_same(lab, caller):
    code = ("import urllib.request\n"
            "for host in ('web.example.org', '10.7.0.5', 'web.example.net'):\n"
            "    try: print(urllib.request.urlopen(f'http://{host}/', timeout=6).read().decode()[:3])\n"
            "    except OSError: print('no')\n")
    fields = {"language": "python", "code": code, "network": "allow", "allow_dns": False,
              "allow_hosts": ["web.example.org:80"], "limits": {"connections": 7},
              "allow_degraded": caller == support.Callers.USER}
    result = lab.result("run", "--request", "-", stdin=json.dumps(fields).encode(), caller=caller)
    assert result["stdout"] == "web\nno\nno\n", result
    assert {denial["target"] for denial in result["denials"]} == {"10.7.0.5:80", "web.example.net"}
    assert result["limits"]["connections"] == 7


def test_two_runs_at_once_have_two_lists(lab, caller):
    """What one run looked up is nothing to another."""
    with lab.start("run", "--json", *listed("web.example.org"), "--lang", "python", "--code",
                   "import socket, sys\nprint(socket.gethostbyname('web.example.org'), flush=True)\n"
                   "sys.stdin.read()", caller=caller) as first:
        try:
            outcomes, _ = lab.probe([["talk", "198.18.4.0", 7], ["talk", "198.18.4.1", 7],
                                     ["http", "http://web.example.org/"]],
                                    *listed("web.example.net"), caller=caller)
            assert all(outcome.startswith("NOT ") for outcome in outcomes), outcomes
        finally:
            out, _ = first.communicate(timeout=support.DEADLINE)
    assert json.loads(out)["stdout"].startswith("198.1")


@pytest.mark.parametrize("options, named", [
    (("--network", "none", "--allow-host", "a.example"), "--allow-host"),
    (("--network", "some"), "some"),
    (("--network", ""), "network"),
])
def test_what_contradicts_itself_is_an_error(options, named, any_caller):
    result = support.result_of("exec", *options, "--", "true", caller=any_caller)
    assert named in result["error"]["message"], result
    assert result["_status"] == 125
