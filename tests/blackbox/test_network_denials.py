"""Every refusal of the network is told with its rule and its remedy, and the remedy is one."""
import shlex

import pytest

import support
from network_cases import HOST4, HOST6, WEB4, WEB6, action, is_served, listed
from network_lab import METADATA

NONE = ()
LOCALHOST = ("--network", "localhost")
ALLOW = ("--network", "allow")
FULL = ("--network", "full")

# What is tried, with which options, and the first denial: kind and target.
REFUSALS = [
    (f"tcp {WEB4} 7", NONE, "connect", f"{WEB4}:7"),
    (f"tcp {WEB6} 7", NONE, "connect", f"[{WEB6}]:7"),
    (f"udp {WEB4} 7", NONE, "connect", f"{WEB4}:7"),
    (f"tcp {WEB4} 7", LOCALHOST, "connect", f"{WEB4}:7"),
    (f"tcp {WEB4} 7", ALLOW, "connect", f"{WEB4}:7"),
    (f"udp {WEB4} 7", ALLOW, "connect", f"{WEB4}:7"),
    (f"tcp {WEB6} 7", ALLOW, "connect", f"[{WEB6}]:7"),
    (f"udp {WEB6} 7", ALLOW, "connect", f"[{WEB6}]:7"),
    ("tcp web.example.org 7", ALLOW, "name", "web.example.org"),
    ("http://v6.example.org/", ALLOW, "name", "v6.example.org"),
    ("tcp web.example.org 7", listed("web.example.org:80"), "connect", "web.example.org:7"),
    ("udp web.example.org 7", listed("web.example.org:80"), "connect", "web.example.org:7"),
    (f"tcp {WEB4} 7", listed("web.example.org"), "connect", f"{WEB4}:7"),
    ("tcp example.org 7", listed("*.example.org"), "name", "example.org"),
    ("tcp 10.7.0.5 7", listed("192.168.77.5"), "connect", "10.7.0.5:7"),
    ("tcp priv.example.org 7", listed("priv.example.org"), "connect", "priv.example.org:7"),
    ("tcp priv.example.org 7", ALLOW, "name", "priv.example.org"),
    ("udp ula.example.org 7", listed("ula.example.org"), "connect", "ula.example.org:7"),
    ("tcp meta.example.org 7", FULL, "connect", "meta.example.org:7"),
    (f"http://{METADATA}/", FULL, "connect", f"{METADATA}:80"),
    ("tcp 10.7.0.5 7", FULL, "connect", "10.7.0.5:7"),
    ("udp 10.7.0.5 7", FULL, "connect", "10.7.0.5:7"),
    ("tcp fd00:7::5 7", FULL, "connect", "[fd00:7::5]:7"),
    ("tcp 64:ff9b::a07:5 7", FULL, "connect", "[64:ff9b::a07:5]:7"),
    (f"tcp {HOST4} 8080", FULL, "connect", f"{HOST4}:8080"),
    (f"tcp {HOST6} 8080", FULL, "connect", f"[{HOST6}]:8080"),
    ("tcp own.example.org 8080", FULL, "connect", "own.example.org:8080"),
]


@pytest.mark.parametrize("attempt, options, kind, target", REFUSALS)
def test_a_refusal_is_told_and_its_remedy_works(lab, attempt, options, kind, target):
    """The remedy is typed as it stands.  A name that leads to a special address needs two."""
    options, rounds, caller = list(options), 0, support.available_callers()[-1]
    outcomes, result = lab.probe([action(attempt)], *options, caller=caller)
    first = result["denials"][0]
    assert (first["kind"], first["target"]) == (kind, target), result["denials"]
    assert first["rule"].startswith("network: ")
    assert first["count"] >= 1
    while not is_served(outcomes[0]):
        assert outcomes[0].startswith("NOT ") and rounds < 3, (outcomes, options, result["denials"])
        remedies = [denial["remedy"] for denial in result["denials"]]
        assert remedies and all(remedy.startswith("--") for remedy in remedies), result["denials"]
        words = shlex.split(remedies[0])
        if "--network" in words and "--network" in options:  # the mode is changed, not added
            del options[options.index("--network"):options.index("--network") + 2]
        options += words
        outcomes, result = lab.probe([action(attempt)], *options, caller=caller)
        rounds += 1
    assert rounds, "it was not refused"
    assert not result.get("denials")


def test_denials_are_bounded_and_counted(lab, caller):
    names = [["dns", f"n{number}.example.net", 1] for number in range(200)]
    again = [["talk", "10.7.0.5", 7]] * 5
    _, result = lab.probe(again + names, *ALLOW, caller=caller)
    assert len(result["denials"]) == 64
    assert result["denials_dropped"] == 200 + 1 - 64
    assert (result["denials"][0]["target"], result["denials"][0]["count"]) == ("10.7.0.5:7", 5)


@pytest.mark.parametrize("attempt", ["udp 224.0.0.1 7", "udp ff02::1 7", "udp 255.255.255.255 7"])
def test_what_nothing_allows_has_no_remedy(lab, attempt, caller):
    outcomes, result = lab.probe([action(attempt)], *FULL, caller=caller)
    assert outcomes[0].startswith("NOT "), outcomes
    assert not any(denial["remedy"] for denial in result.get("denials", [])), result["denials"]


def test_a_run_without_refusals_has_none(lab, caller):
    _, result = lab.probe([action(f"tcp {WEB4} 7"), action("http://web.example.org/")],
                          *listed(WEB4, "web.example.org"), caller=caller)
    assert not result.get("denials")


def test_a_refusal_is_shown_on_the_terminal(lab, caller):
    process = lab.start("run", *ALLOW, "--lang", "python", "--code",
                        "import socket\nsocket.create_connection(('web.example.org', 80))",
                        caller=caller)
    _, err = process.communicate(timeout=60)
    assert b"--allow-host web.example.org" in err, err
