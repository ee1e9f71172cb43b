"""The three ways in which connections come to the one who decides: tproxy, redirect where the kernel lacks it,
and a listener for each port where it has no nf_tables.  A test build leaves the better ones out.  What is
listed is reached in each of them, and nothing else is."""
import pytest

from harness import callers, root_only
from network_lab import HOST4, METADATA, PORTS, PRIVATE, WEB4, WEB6
from test_network_modes import CHANGES, FORBIDDEN, RTM_SETLINK, TO_ALL, nothing_arrived, refused

WAYS = {"tproxy": (), "redirect": ("tproxy",), "ports": ("tproxy", "redirect")}
MISSING = {
    "tproxy": None,
    "redirect": "UDP to ports that no rule names (the kernel lacks nft_tproxy)",
    "ports": "ports that no rule names (the kernel lacks nft_tproxy and nft_redir)",
}
ways = pytest.mark.parametrize("way", WAYS)
HOST, HOST2, ECHO, SINK, SOURCE = (PORTS[name] for name in (
    "HOST_PORT", "HOST_PORT2", "ECHO", "SINK", "SOURCE"))
LISTENERS = 1  # the port of EGRESS_PORT
HERE4, HERE6, RESOLVER = "198.18.0.1", "fd53:6272::1", "198.18.0.2"


def allow(*rules):
    return [word for rule in rules for word in ("--allow-host", rule)]


def probe(lab, way, actions, *options, without=(), **kwargs):
    """Outcomes by action, and the result, in a run that has this way and no better one."""
    env = {"SANDBOX_RUN_TEST_WITHOUT": ",".join((*WAYS[way], *without)) or "nothing"}
    outcomes, result = lab.probe(actions, *options, hooks=True, env=env, **kwargs)
    return dict(zip([" ".join(map(str, action)) for action in actions], outcomes)), result


@callers
@ways
def test_what_is_listed_is_reached(lab, way, caller):
    rules = allow(f"web.example.org:{ECHO}", f"{WEB4}:{ECHO}", f"[{WEB6}]:{ECHO}", f"v6.example.org:{ECHO}",
                  f"web.example.org:{SOURCE}", f"localhost:{HOST}", f"{PRIVATE[0]}:{ECHO}")
    places = ("web.example.org", "v6.example.org", WEB4, WEB6, PRIVATE[0])
    reached = [[how, place, ECHO] for place in places for how in ("talk", "udp")]
    actions = [*reached, ["udp_unconnected", WEB4, ECHO], ["udp_unconnected", WEB6, ECHO],
               ["talk", "localhost", HOST], ["talk", "127.0.0.1", HOST], ["dns_tcp", "web.example.org"],
               ["serial", "web.example.org", ECHO, 20], ["parallel", WEB4, ECHO, 20],
               ["server_and_client", "127.0.0.1"], ["server_and_client", "::1"],
               ["download", "web.example.org", SOURCE, 1 << 20, 1]]
    said, result = probe(lab, way, actions, *rules, "--timeout", "30s", caller=caller)
    assert {said[f"talk {place} {ECHO}"] for place in places} == {"hello\n"}, said
    assert {said[f"udp {place} {ECHO}"] for place in places} == {"hello"}, said
    assert said[f"udp_unconnected {WEB4} {ECHO}"] == said[f"udp_unconnected {WEB6} {ECHO}"] == ["hello", True]
    assert said[f"talk localhost {HOST}"] == said[f"talk 127.0.0.1 {HOST}"] == "the host's own\nhello\n", said
    assert said["dns_tcp web.example.org"] == "NOERROR 1", said
    assert said[f"serial web.example.org {ECHO} 20"] == [20, ""] and said[f"parallel {WEB4} {ECHO} 20"] == "all"
    assert said["server_and_client 127.0.0.1"] == said["server_and_client ::1"] == "from inside", said
    assert said[f"download web.example.org {SOURCE} {1 << 20} 1"].startswith(f"{1 << 20} "), said
    assert result["metrics"]["network_bytes_in"] > 1 << 20
    assert result["denials"] == []


@callers
@ways
def test_the_way_is_told(lab, way, caller):
    _, result = probe(lab, way, [["interfaces"]], *allow("web.example.org"), caller=caller)
    isolation = result["isolation"]
    told = [name for name in isolation["mechanisms"] if name.startswith("egress-by-")]
    assert told == [f"egress-by-{way}"]
    assert [name for name in isolation["missing"] if "ports" in name] == ([MISSING[way]] if MISSING[way] else [])


@callers
@ways
@pytest.mark.parametrize("options", [
    # The rules name the ports that are tried, so that there are listeners for them.
    pytest.param(allow(f"web.example.org:{ECHO}", f"web.example.org:{HOST}"), id="allow"),
    pytest.param(["--network", "full", *allow(f"203.0.113.6:{ECHO}")], id="full"),
])
def test_what_is_forbidden_is_not_reached(lab, way, options, caller):
    inner = [[how, address, port] for address in ("127.0.0.1", "::1", HERE4, HERE6, RESOLVER, WEB4, HOST4)
             for port in (LISTENERS, HOST2) for how in ("talk", "udp")
             if not (options[0] == "--network" and address == WEB4)]
    actions = [*FORBIDDEN, *inner]
    said, result = probe(lab, way, actions, *options, "--timeout", "60s", caller=caller)
    assert not {action: outcome for action, outcome in said.items() if not refused(outcome)}
    assert nothing_arrived(lab)
    # Where nobody listens the kernel refuses by itself, and nobody is told.
    targets = {denial["target"] for denial in result["denials"]}
    assert targets >= {f"{METADATA}:{ECHO}", f"{PRIVATE[0]}:{ECHO}", f"[fd00:7::5]:{ECHO}"}, targets


@callers
@ways
def test_nobody_hears_what_is_said_to_all(lab, way, caller):
    actions = [[word.format(lo="lo") if isinstance(word, str) else word for word in action] for action in TO_ALL]
    probe(lab, way, actions, *allow(f"web.example.org:{SINK}"), caller=caller)
    assert nothing_arrived(lab)


@callers
@ways
def test_names_are_refused_in_each_way(lab, way, caller):
    actions = [["dns", "web.example.org"], ["dns", "other.example.org"], ["dns_tcp", "other.example.org"],
               ["dns", "other.example.org", 1, "8.8.4.4"], ["dns", "other.example.org", 16],
               ["dns_tcp", "other.example.org", 1, "8.8.4.4"]]
    said, result = probe(lab, way, actions, *allow("web.example.org"), caller=caller)
    first, *others = said.values()
    assert first == "NOERROR 1"
    assert all(outcome == "REFUSED 0" or refused(outcome) for outcome in others), said
    assert not [entry for entry in lab.log("dns") if "other" in str(entry)]
    assert "other.example.org" in {denial["target"] for denial in result["denials"]}


@root_only
@ways
def test_who_rules_the_namespace_still_has_no_way_out_of_it(lab, way):
    """Without the filter and with all rights over its network: there is no interface that leads anywhere."""
    changes = [list(one) for one in CHANGES if one[0] == "option" or one[1] != RTM_SETLINK]
    said, _ = probe(lab, way, [*changes, *FORBIDDEN], *allow(f"web.example.org:{ECHO}"), "--timeout", "60s",
                    without=("seccomp", "identity"))
    assert any(not refused(said[" ".join(map(str, change))]) for change in changes), "it had no rights"
    assert nothing_arrived(lab)
