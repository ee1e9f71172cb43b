"""Names: what the resolver inside answers, and names that are none, as rules and as questions."""
import json
import struct
import time

import pytest

import support
from network_cases import PORTS, listed, reached

A, NS, CNAME, PTR, MX, TXT, AAAA, SRV, OPT, AXFR, ANY = 1, 2, 5, 12, 15, 16, 28, 33, 41, 252, 255
LISTED = listed("web.example.org", "v6.example.org", "gone.example.org", "broken.example.org")


def test_listed_names_are_answered_and_others_refused(lab, caller):
    table = {
        ("dns", "web.example.org", A): "NOERROR 1",
        ("dns", "web.example.org", AAAA): "NOERROR 1",
        ("dns", "WEB.example.ORG", A): "NOERROR 1",
        ("dns_tcp", "web.example.org", A): "NOERROR 1",
        ("dns", "gone.example.org", A): "NXDOMAIN 0",
        ("dns", "other.example.org", A): "REFUSED 0",
        ("dns", "other.example.org", AAAA): "REFUSED 0",
        ("dns", "x.web.example.org", A): "REFUSED 0",
        ("dns", "example.org", A): "REFUSED 0",
        ("dns", "", NS): "REFUSED 0",
        ("dns", "org", NS): "REFUSED 0",
        ("dns", "34.216.184.93.in-addr.arpa", PTR): "REFUSED 0",
        ("dns_tcp", "other.example.org", TXT): "REFUSED 0",
    }
    outcomes, result = lab.probe([list(key) for key in table], *LISTED, caller=caller)
    assert dict(zip(table, outcomes)) == table
    asked = {entry[2] for entry in lab.log("dns")}
    assert asked <= {"web.example.org", "gone.example.org"}
    denials = {denial["target"]: denial for denial in result["denials"]}
    assert {denial["kind"] for denial in denials.values()} == {"name"}
    assert denials["other.example.org"]["remedy"] == "--allow-host other.example.org"
    assert denials["other.example.org"]["count"] == 3


def test_other_records_of_listed_names_need_allow_dns(lab, caller):
    outcomes, _ = lab.probe([["dns", "web.example.org", TXT], ["dns", "web.example.org", ANY],
                             ["dns", "web.example.org", AXFR]], *LISTED, caller=caller)
    assert not [one for one in outcomes if not one.endswith(" 0")], outcomes
    assert not [entry for entry in lab.log("dns") if entry[3] not in (A, AAAA)]


@pytest.mark.parametrize("options", [("--allow-dns", *LISTED), ("--network", "full")])
def test_other_records_with_allow_dns_and_in_full(lab, options, caller):
    outcomes, _ = lab.probe(
        [["dns_text", "web.example.org"], ["dns_text", "web.example.net"],
         ["dns", "gone.example.org", TXT], ["dns", "other.example.org", A],
         ["dns", "broken.example.org", TXT]], *options, caller=caller)
    assert outcomes == ["NOERROR 1 v=lab1", "NOERROR 1 v=lab2", "NXDOMAIN 0", "NOERROR 1",
                        "SERVFAIL 0"]


def test_allow_dns_opens_no_connections(lab, caller):
    outcomes, _ = lab.probe([["talk", "other.example.org", 7], ["talk", "93.184.216.34", 7],
                             ["udp", "8.8.4.4", 7], ["dns", "web.example.org", A, "8.8.4.4"]],
                            "--allow-dns", *LISTED, caller=caller)
    assert all(outcome.startswith("NOT ") for outcome in outcomes), outcomes
    assert not reached(lab)


def test_how_a_lookup_fails_is_passed_on(lab):
    outcomes, result = lab.probe([["resolve", "gone.example.org"], ["dns", "broken.example.org", A]],
                                 *LISTED)
    assert outcomes == ["NOT EAI_NONAME", "SERVFAIL 0"]
    host = "allowed, but this host's resolver "
    assert {one["target"]: one["rule"] for one in result["denials"]} == {
        "gone.example.org": host + "knows no such name", "broken.example.org": host + "failed"}


def test_a_resolver_that_fails_is_no_reason_to_wait(lab):
    """Both questions of a program, and its repetitions: the C library of egress would ask for 5 s."""
    started = time.monotonic()
    outcomes, result = lab.probe([["resolve", "broken.example.org"]], *LISTED)
    taken = time.monotonic() - started
    assert taken < 4.8, (taken, result["metrics"]["wall_ms"])
    assert outcomes == ["NOT EAI_AGAIN"]
    denial, = result["denials"]
    assert denial["rule"] == "allowed, but this host's resolver failed" and denial["count"] == 1


def test_the_first_answer_of_the_hosts_resolver_is_seen_at_once(lab):
    """Egress asks that one itself after 300 ms.  Only its next tick, a second later, saw what came back.  The fastest of
    three: a busy machine may delay any of them."""
    assert any(lab.probe([["dns_took", "broken.example.org"]], *LISTED)[0][0] < 1000 for _ in range(3))


def test_a_host_with_one_family_has_addresses_that_work(lab, caller):
    """Inside, a name has addresses of both families or of its own: either way each one works."""
    outcomes, _ = lab.probe([["resolve", "v6.example.org", 4], ["resolve", "v6.example.org", 6]],
                            *LISTED, caller=caller)
    for addresses in outcomes:
        assert isinstance(addresses, list) or addresses.startswith("NOT EAI_"), outcomes
    assert any(isinstance(addresses, list) for addresses in outcomes)


# ---- hostile names -------------------------------------------------------------------------------

# Every class of text that is no rule is tried by tests/unit/test_host_rule.c.
HOSTILE_RULES = ["", "*", "web.*.org", "web.example.org\n", "web.ex\u00e4mple.org", "http://example.org",
                 "a" * 64 + ".org", "[[::1]]:80", "example.org:65536", "0x7f000001:80", "10.0.0.0/33", "$(id).org",
                 "127.0.0.1"]


def test_a_rule_that_is_none_is_an_error():
    caller = support.available_callers()[-1]
    results = {rule: support.result_of("exec", "--allow-host", rule, "--", "true", caller=caller)
               for rule in HOSTILE_RULES}
    assert not {rule: result for rule, result in results.items() if "error" not in result or result["_status"] != 125}


def message(*labels, flags=0x0100, counts=(1, 0, 0, 0), kind=A, name=None, tail=b""):
    """A question from labels as they are, or from the bytes of a name."""
    data = b"".join(bytes([len(label)]) + label for label in labels) + b"\0" if name is None else name
    return struct.pack("!HHHHHH", 7, flags, *counts) + data + struct.pack("!HH", kind, 1) + tail


WEB = (b"web", b"example", b"org")
HOSTILE_QUESTIONS = {
    "a NUL in the name": message(b"web.example.org\0", b"evil", b"net"),
    "a NUL before the suffix": message(b"evil\0", *WEB),
    "a name that ends early": message(b"web", b"example", b"org\0.evil.net"),
    "a dot in a label": message(b"web.example.org"),
    "dots in labels": message(b"web.example", b"org"),
    "a control character": message(b"web\n", b"example", b"org"),
    "a space": message(b"web ", b"example", b"org"),
    "an at sign": message(b"evil@web", b"example", b"org"),
    "a slash": message(b"evil/web", b"example", b"org"),
    "a percent sign": message(b"web%2eexample%2eorg"),
    "brackets": message(b"[web]", b"example", b"org"),
    "a star": message(b"*", b"example", b"org"),
    "not ASCII": message("wéb".encode(), b"example", b"org"),
    "bytes that are no text": message(b"\xff\xfe", b"example", b"org"),
    "a number": message(b"2130706433"),
    "hexadecimal": message(b"0x7f000001"),
    "octal": message(b"0177", b"0", b"0", b"1"),
    "an address": message(b"93", b"184", b"216", b"34"),
    "an overlong label": message(name=b"\x40" + b"a" * 64 + b"\3org\0"),
    "an overlong name": message(*[b"a" * 63] * 5),
    "127 labels": message(*[b"a"] * 127),
    "a pointer to itself": message(name=b"\xc0\x0c"),
    "a pointer outside": message(name=b"\xc3\xff"),
    "a pointer to a listed name": message(*WEB, counts=(2, 0, 0, 0),
                                          tail=b"\3evil\xc0\x0c\0\1\0\1"),
    "two questions": message(*WEB, counts=(2, 0, 0, 0), tail=b"\4evil\3net\0\0\1\0\1"),
    "no question": message(name=b"", counts=(0, 0, 0, 0)),
    "no end": struct.pack("!HHHHHH", 7, 0x100, 1, 0, 0, 0) + b"\3web",
    "a header alone": struct.pack("!HHHHHH", 7, 0x100, 1, 0, 0, 0),
    "half a header": b"\0\7\1",
    "another class": message(*WEB)[:-2] + b"\0\3",
    "another operation": message(*WEB, flags=0x2900),
    "many records": message(*WEB, counts=(1, 65535, 65535, 65535)),
}
ASKS = '''
import json, socket, sys
server = next(line.split()[1] for line in open("/etc/resolv.conf") if line.startswith("nameserver"))
outcomes = []
for text in json.load(sys.stdin):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(0.2)
        sock.connect((server, 53))
        sock.send(bytes.fromhex(text))
        try: answer = sock.recv(4096); outcomes.append([answer[3] & 15, answer[7]])
        except TimeoutError: outcomes.append(None)
print(json.dumps(outcomes))
'''


@pytest.mark.parametrize("options", [listed("*.example.org", "example.org"),
                                     ("--network", "full"), ("--allow-dns", *LISTED)],
                         ids=["allow", "full", "allow-dns"])
def test_a_hostile_question_is_answered_with_nothing(lab, options, caller):
    questions = [*HOSTILE_QUESTIONS.values(), message(*WEB)]
    result = lab.result("run", *options, "--timeout", "30s", "--lang", "python", "--code", ASKS,
                        stdin=json.dumps([data.hex() for data in questions]).encode(), caller=caller)
    *hostile, last = json.loads(result["stdout"])
    answered = {name: outcome for name, outcome in zip(HOSTILE_QUESTIONS, hostile)
                if outcome and outcome[1] and name not in ("many records",)}
    assert not answered
    assert last == [0, 1], "it answers no more"
    names = {entry[2] for entry in lab.log("dns")}
    assert not [name for name in names if not name.isascii() or not name.isprintable()
                or set(name) & set("@/[]*% ")], names
    json.dumps(result["denials"]).encode("ascii")
    assert all(denial["target"].isprintable() for denial in result["denials"])


def test_nobody_else_answers_questions(lab, caller):
    """Another resolver is a host like any other."""
    outcomes, _ = lab.probe([["dns", "web.example.org", A, "8.8.4.4"],
                             ["dns_tcp", "web.example.org", A, "8.8.4.4"],
                             ["dns", "web.example.org", A, "93.184.216.1"]],
                            *listed("*.example.org"), caller=caller)
    assert all(outcome.startswith("NOT ") for outcome in outcomes), outcomes
    assert not lab.log("dns")
    outcomes, _ = lab.probe([["dns", "web.example.net", A, "8.8.4.4"],
                             ["dns_tcp", "web.example.net", A, "8.8.4.4"]],
                            *listed(f"8.8.4.4:{PORTS['DNS']}"), caller=caller)
    assert outcomes == ["NOERROR 1"] * 2


def test_names_that_do_not_exist_take_no_place(lab):
    """A program may look up as many as it likes."""
    outcomes, _ = lab.probe([["dns", f"n{number}.example.org", A] for number in range(4500)]
                            + [["http", "http://web.example.org/"]], *listed("*.example.org"))
    assert set(outcomes[:-1]) == {"NXDOMAIN 0"}
    assert outcomes[-1].startswith("web ")


def test_a_question_that_nobody_answers_does_not_hold_up_others(lab, caller):
    code = ("import socket, threading\n"
            "threading.Thread(target=socket.getaddrinfo, args=('silent.example.org', 80),"
            " daemon=True).start()\n"
            "print(socket.getaddrinfo('web.example.org', 80)[0][0].name, flush=True)\n"
            "import os; os._exit(0)\n")
    result = lab.result("run", *listed("*.example.org"), "--lang", "python", "--code", code,
                        caller=caller)
    assert result["stdout"].startswith("AF_INET"), result
