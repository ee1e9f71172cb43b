"""What runs of tenants reach: no address of this machine or of its networks, by whatever door, name or form, unless a rule
of the operator's own opens it.  In the lab, where each of them would answer."""
import concurrent.futures
import contextlib
import ctypes
import json
import os
import pathlib
import re

import pytest

import gateway
import network_lab
import support
from network_lab import HOST4, HOST6, METADATA, NEIGHBOUR4, PORTS, PRIVATE, WEB4
from test_http_grants import BOX, configured
from test_http_mcp import Agent

HOST, ECHO = PORTS["HOST_PORT"], PORTS["ECHO"]
CLONE_NEWNET = 0x40000000
libc = ctypes.CDLL(None, use_errno=True)
SPECIAL = [
    *[["talk", address, HOST] for address in (HOST4, HOST6, "127.0.0.1", "127.3.2.1", "::1", "0.0.0.0", "::", "::ffff:127.0.0.1",
                                              f"::ffff:{HOST4}", "localhost", "loop.example.org", "zero.example.org", "own.example.org")],
    *[["talk", address, ECHO] for address in (*PRIVATE, METADATA, "169.254.7.5", "fd00:7::5", "fd00:ec2::254", "64:ff9b::a07:5",
                                              "2002:a07:5::1", "::ffff:10.7.0.5", f"::ffff:{METADATA}", NEIGHBOUR4, "priv.example.org",
                                              "home.example.org", "cgnat.example.org", "ula.example.org", "meta.example.org",
                                              "link.example.org", "mapped.example.org", "nat64.example.org", "6to4.example.org",
                                              "next-door.example.org")],
    ["udp", "127.0.0.1", HOST], ["udp", METADATA, ECHO],
]
PUBLIC = ["talk", WEB4, ECHO]
# Each of these would be a way to what it names or leads to; a tenant may write the rules of names and of public ranges.
NAMES = sorted({target for _, target, _ in SPECIAL if target.endswith(".example.org")})
RULES = [*NAMES, "*.example.org", "0.0.0.0/0", "[::/0]", HOST4, "93.184.216.0/31", f"[{HOST6}]", NEIGHBOUR4, "[64:ff9b::a07:5]", "[2002:a07:5::1]", WEB4]
PROBE = network_lab.PROBE.read_text("utf-8").replace("json.load(sys.stdin)", "ACTIONS")


def program(actions):
    """Says what became of each, in a line of its own."""
    return f"ACTIONS = {actions!r}\n" + PROBE.replace("json.dump(", "print('\\n' + 'SAID' + json.dumps(").replace(
        ", sys.stdout)", ") + 'END')")


def said(text):
    found = re.search(r"SAID(.*?)END", text)
    assert found, text[:2000]
    return json.loads(found[1].replace('\\\\"', '"').replace('\\"', '"'))


class Place:
    """A gateway on `host` of the lab, and clients that stand beside it."""

    def __init__(self, lab, folder, env=None, options=()):
        self.lab = lab
        self.http = gateway.Gateway(folder, options, env=env)
        wrapper = pathlib.Path(f"{folder}.sh")
        wrapper.write_text(f"#!/bin/sh\nexec {' '.join(lab.host.enter())} {gateway.PROGRAM} \"$@\"\n")
        wrapper.chmod(0o755)
        self.http.program = wrapper
        self.pool = concurrent.futures.ThreadPoolExecutor(1, initializer=self.enter)

    def enter(self):
        """The thread of the clients has the network of the lab's host from now on."""
        fd = os.open(f"/proc/{self.lab.host.process.pid}/ns/net", os.O_RDONLY)
        try:
            assert libc.setns(fd, CLONE_NEWNET) == 0, os.strerror(ctypes.get_errno())
        finally:
            os.close(fd)

    def there(self, do, *words, **rest):
        return self.pool.submit(do, *words, **rest).result(support.DEADLINE)

    def ask(self, *words, **rest):
        return self.there(self.http.ask, *words, **rest)


@contextlib.contextmanager
def place_in(lab, folder, **rest):
    place = Place(lab, folder, **rest)
    with place.pool, place.http:
        yield place


@pytest.fixture(scope="module", name="place")
def _place(network, tmp_path_factory):
    with place_in(network, tmp_path_factory.mktemp("addresses") / "g", options=["--dialect", "e2b,judge0,piston"]) as made:
        yield made


def by_execution(place, token, code, rules):
    body = {"language": "python", "code": code, "limits": {"timeout": "60s"}, **({"allow_hosts": rules} if rules else {"network": "full"})}
    reply = place.ask("POST", "/v1/executions", body, token=token)
    assert reply.status == 200, reply.body
    return reply.json()["stdout"]


def by_cell(place, token, code, rules):
    body = {"language": "python", "limits": {"memory": "256m"}, **({"allow_hosts": rules} if rules else {"network": "full"})}
    made = place.ask("POST", "/v1/sessions", body, token=token)
    assert made.status == 201, made.body
    where = made.headers["Location"]
    try:
        copy = place.ask("POST", where + "/fork", token=token).headers["Location"]
        place.ask("POST", copy + "/restart", token=token)
        seen = [place.ask("POST", one + "/cells", {"code": code, "timeout_ms": 60000}, token=token).json()["stdout"]
                for one in (where, copy)]
        place.ask("DELETE", copy, token=token)
        assert said(seen[0]) == said(seen[1])
        return seen[1]
    finally:
        place.ask("DELETE", where, token=token)


def by_agent(place, token, code, rules):
    agent = Agent.__new__(Agent)
    agent.http, agent.token, agent.path, agent.last, agent.session = place.http, token, "/mcp", 0, None
    more = {"allow_hosts": rules} if rules else {"network": "full"}
    return place.there(agent.data, "run_code", language="python", code=code, timeout_seconds=60, max_chars=100000, **more)["stdout"]


def by_e2b(place, token, code, rules):
    assert not rules
    made = place.ask("POST", "/v2/sandboxes", {**BOX, "allow_internet_access": True}, tcp=True, X_API_Key=token)
    assert made.status == 201, made.body
    box = made.json()["sandboxID"]
    try:
        return place.ask("POST", "/execute", {"code": code}, tcp=True, X_Access_Token=token, E2b_Sandbox_Id=box).body.decode()
    finally:
        place.ask("DELETE", f"/sandboxes/{box}", tcp=True, X_API_Key=token)


def by_judge0(place, token, code, rules):
    assert not rules
    body = {"source_code": code, "language_id": 71, "enable_network": True, "wall_time_limit": 60, "memory_limit": 256 << 10}
    reply = place.ask("POST", "/submissions?wait=true", body, token=token)
    assert reply.status == 201, reply.body
    return reply.json()["stdout"]


ROADS = {"executions": by_execution, "cells": by_cell, "mcp": by_agent, "e2b": by_e2b, "judge0": by_judge0}


def reached(lab, actions, outcomes):
    assert len(actions) == len(outcomes)
    return [(action, outcome) for action, outcome in zip(actions, outcomes) if not outcome.startswith("NOT ")]


def arrived(lab):
    return [entry for entry in lab.log() if entry[0] in ("tcp", "udp") and entry[2] != PORTS["DNS"] and entry[1] != WEB4] + \
        lab.log("secret", lab.host)


@pytest.mark.parametrize("road, rules", [*((road, None) for road in ROADS), *((road, RULES) for road in ("executions", "cells", "mcp"))],
                         ids=lambda value: "rules" if isinstance(value, list) else value or "full")
def test_no_way_to_this_machine_or_its_networks(lab, place, road, rules):
    """B2: with the widest token there is; what is public answers."""
    token = place.http.token(f"wide-{road}-{bool(rules)}".lower(), "--network", "full")
    actions = [*SPECIAL, PUBLIC]
    seen = reached(lab, actions, said(ROADS[road](place, token, program(actions), rules)))
    assert [action for action, _ in seen] == [PUBLIC], seen
    assert not arrived(lab)


@pytest.mark.parametrize("rule", ["127.0.0.1:80", "localhost:80", "10.7.0.5", "10.0.0.0/8", METADATA, "169.254.0.0/16", "[::1]:80", "[fd00:7::5]",
                                  "[fd00::/8]", "[::ffff:10.7.0.5]", f"[::ffff:{METADATA}]", "LOCALHOST:80", "localhost.:80", "192.168.77.5",
                                  "100.64.7.5", "0.0.0.0:80", "[::]:80", "10.7.0.5:7", "127.0.0.0/8:80"])
@pytest.mark.parametrize("road", ("executions", "sessions", "mcp"))
def test_no_rule_of_a_tenant_names_one(place, road, rule):
    token = place.known = getattr(place, "known", None) or place.http.token("names", "--network", "full")
    if road == "mcp":
        agent = Agent.__new__(Agent)
        agent.http, agent.token, agent.path, agent.last, agent.session = place.http, token, "/mcp", 0, None
        assert place.there(agent.refusal, "run_code", language="bash", code=":", allow_hosts=[rule]).startswith("denied: ")
        return
    reply = place.ask("POST", f"/v1/{road}", {"language": "bash", "code": ":", "allow_hosts": [rule]}, token=token)
    assert reply.status in (403, 422), (reply.status, reply.body)


def test_each_of_it_answers_on_the_host(lab):
    """So that what is above shows something."""
    outcomes = lab.outside(SPECIAL)
    assert not [pair for pair in zip(SPECIAL, outcomes) if pair[1].startswith("NOT ")]


def test_the_operators_own_rules_open_what_they_name_and_nothing_else(lab, tmp_path):
    """By the token, by the configuration, and by a policy; each for those only whom it is for."""
    env = configured(tmp_path, "network: {mode: allow, allow_hosts: ['10.7.0.5']}\n")
    actions = [["talk", "10.7.0.5", ECHO], ["talk", "priv.example.org", ECHO], ["talk", "192.168.77.5", ECHO], ["talk", METADATA, ECHO]]
    with place_in(lab, tmp_path / "g", env=env) as place:
        seen = {}
        for name, options, more in (
                ("none", (), {}),  # the configuration gives no more than the token has
                ("wide", ("--network", "full"), {}),  # the operator's rule for all
                ("asks", ("--network", "full"), {"allow_hosts": ["10.7.0.5"]}),  # named by the tenant, covered by the operator
                ("other", ("--allow-host", "192.168.77.5"), {}),
                ("other-asks", ("--allow-host", "192.168.77.5"), {"allow_hosts": ["192.168.77.5"]})):
            token = place.http.token(name, *options)
            reply = place.ask("POST", "/v1/executions", {"language": "python", "code": program(actions), **more}, token=token)
            assert reply.status == 200, (name, reply.body)
            seen[name] = [action[1] for action, _ in reached(lab, actions, said(reply.json()["stdout"]))]
        assert seen == {"none": [], "wide": ["10.7.0.5"], "asks": ["10.7.0.5"], "other": [], "other-asks": ["192.168.77.5"]}, seen
