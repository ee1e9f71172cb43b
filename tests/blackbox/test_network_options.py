"""What can be reached, as it is asked for: by option, by request, by library, by policy."""
import json
import subprocess

import pytest

import support
from support import sandbox_run

PROGRAMS = support.REPO / "tests/blackbox/programs"
LIBRARY = support.BUILD / "src" / "libsandboxrun.so"
OUTSIDE = ["allow", "full"]
INSIDE = ["none", "localhost"]

GOOD_RULES = ["example.org", "Example.ORG.", "example.org:443", "*.example.org", "*.example.org:80",
              "192.0.2.7", "192.0.2.7:53", "192.0.2.0/24", "192.0.2.0/24:8080", "2001:db8::1",
              "[2001:db8::1]:443", "2001:db8::/32", "[2001:db8::/32]:443", "127.0.0.1:8080",
              "localhost:8080", "xn--bcher-kva.example"]
# The others are in tests/unit/test_host_rule.c.
BAD_RULES = ["", "*", "*example.org", "example.org:0", "https://example.org", "user@example.org", "exa mple.org",
             "b\u00fccher.example", "a." * 130 + "org", "127.1", "192.0.2.0/33", "[2001:db8::1", "localhost"]


def plan(*options, **kwargs):
    return sandbox_run("plan", "--json", *options, "--lang", "sh", "--code", "true", **kwargs)


def network(*options):
    done = plan(*options)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)["network"]


def request(fields, *options):
    data = json.dumps({"language": "sh", "code": "true", **fields}).encode()
    return sandbox_run("plan", "--json", "--request", "-", *options, stdin=data)


def refused(done, *words):
    """One sentence, as JSON since that was asked for, and nothing else."""
    said = json.loads(done.stdout)["error"]["message"]
    assert (done.returncode, done.stderr) == (125, b""), done
    assert "\n" not in said and all(word in said for word in words), said


def all_refused(cases):
    """Like refused(), for several: a name, then what was said and the words in it.  Names each that was not."""
    wrong = {}
    for name, case in cases.items():
        try:
            refused(*case)
        except (AssertionError, KeyError, ValueError) as problem:
            wrong[name] = repr(problem)
    assert not wrong, wrong


def test_nothing_is_reached_unless_it_is_asked_for():
    assert network() == {"mode": "none", "allow_hosts": [], "allow_dns": False}


@pytest.mark.parametrize("mode", [*INSIDE, *OUTSIDE])
def test_a_mode_is_what_was_asked_for(mode):
    assert network("--network", mode) == {"mode": mode, "allow_hosts": [], "allow_dns": False}
    assert json.loads(request({"network": mode}).stdout)["network"]["mode"] == mode


@pytest.mark.parametrize("mode", OUTSIDE)
def test_rules_keep_their_order_and_their_spelling(mode):
    rules = ["b.example:80", "*.A.example", "192.0.2.0/24"]
    words = [word for rule in rules for word in ("--allow-host", rule)]
    expected = {"mode": mode, "allow_hosts": rules, "allow_dns": True}
    assert network("--network", mode, *words, "--allow-dns") == expected
    assert network(*words, "--allow-dns", "--network", mode) == expected
    done = request({"allow_hosts": rules, "allow_dns": True, "network": mode})
    assert json.loads(done.stdout)["network"] == expected


def test_a_host_alone_means_allow():
    expected = {"mode": "allow", "allow_hosts": ["example.org:443"], "allow_dns": False}
    assert network("--allow-host", "example.org:443") == expected
    assert json.loads(request({"allow_hosts": ["example.org:443"]}).stdout)["network"] == expected


def test_good_rules_are_taken():
    words = [word for rule in GOOD_RULES for word in ("--allow-host", rule)]
    assert network(*words)["allow_hosts"] == GOOD_RULES


def test_a_bad_rule_is_refused_wherever_it_comes_from():
    all_refused({rule: (plan("--allow-host", rule),) for rule in BAD_RULES})
    all_refused({rule: (request({"allow_hosts": ["example.org", rule]}), "allow_hosts[1]") for rule in BAD_RULES})


def test_a_mode_that_there_is_not_is_refused_with_those_there_are():
    words = ["none", "localhost", "allow", "full"]
    all_refused({mode: (plan("--network", mode), *words) for mode in ("", "None", "allow ", "full,allow")})
    refused(request({"network": "bridge"}), *words)


def test_what_opens_the_outside_does_not_go_with_a_mode_that_has_none(mode="none"):
    for words in (["--network", mode, "--allow-host", "a.example"],
                  ["--allow-host", "a.example", "--network", mode]):
        refused(plan(*words), "--allow-host", f"--network {mode}")
    refused(plan("--network", mode, "--allow-dns", "--allow-host", "a.example"), "--allow-host", f"--network {mode}")
    refused(request({"network": mode, "allow_hosts": ["a.example"]}), "--allow-host")
    assert request({"allow_dns": False, "allow_hosts": [], "network": mode}).returncode == 0


def test_hosts_can_be_reached_beside_a_loopback_of_the_programs_own():
    expected = {"mode": "allow", "allow_hosts": ["a.example"], "allow_dns": True}
    for words in (["--network", "localhost", "--allow-dns", "--allow-host", "a.example"],
                  ["--allow-host", "a.example", "--network", "localhost", "--allow-dns"],
                  ["--allow-dns", "--allow-host", "a.example", "--network", "localhost"]):
        assert network(*words) == expected
    done = request({"network": "localhost", "allow_hosts": ["a.example"], "allow_dns": True})
    assert json.loads(done.stdout)["network"] == expected


def test_the_port_of_the_way_out_itself_is_not_led_to_localhost():
    for host in ("localhost:1", "127.0.0.1:1"):
        done = sandbox_run("plan", "--allow-host", host, "--lang", "python", "--code", "1")
        assert done.returncode == 125 and b"port 1 of localhost cannot be opened" in done.stderr, (host, done.stderr)
    assert sandbox_run("plan", "--allow-host", "192.0.2.1:1", "--lang", "python", "--code", "1").returncode == 0


def test_names_can_be_looked_up_without_a_host_to_reach():
    """Alone, or beside the program's own loopback: the mode `allow` without a rule opens no connection."""
    expected = {"mode": "allow", "allow_hosts": [], "allow_dns": True}
    assert network("--allow-dns") == expected
    for words in (["--network", "localhost", "--allow-dns"], ["--allow-dns", "--network", "localhost"]):
        assert network(*words) == expected
    assert network("--allow-dns", "--network", "full")["mode"] == "full"
    refused(plan("--network", "none", "--allow-dns"), "--allow-dns", "--network none")
    refused(request({"allow_dns": True, "network": "none"}), "--allow-dns")


@pytest.mark.parametrize("command", [["run", "--lang", "sh", "--code", "echo ran"],
                                     ["exec", "--", "echo", "ran"]])
def test_runs_check_the_same_before_anything_is_made(command):
    done = sandbox_run(command[0], "--network", "none", "--allow-host", "a.example", *command[1:])
    assert (done.returncode, done.stdout) == (125, b"") and b"--allow-host" in done.stderr


def test_a_wrong_field_is_named():
    """The others are in tests/unit/test_request_json.c."""
    all_refused({str(fields)[:40]: (request(fields), *words) for fields, words in [
        ({"network": 1}, ["'network'", "string"]),
        ({"allow_hosts": "a.example"}, ["'allow_hosts'", "array"]),
        ({"allow_hosts": ["a.example\0.b"]}, ["allow_hosts[0]"]),
        ({"allow_hosts": [f"a{i}.example" for i in range(257)]}, ["allow_hosts[256]", "256"]),
        ({"allow_dns": "yes"}, ["'allow_dns'", "true or false"]),
        ({"limits": {"max-connections": 1000001}}, ["max-connections"]),
    ]})


def test_as_many_rules_as_there_may_be():
    rules = [f"a{i}.example" for i in range(256)]
    assert json.loads(request({"allow_hosts": rules}).stdout)["network"]["allow_hosts"] == rules
    refused(request({"allow_hosts": rules}, "--allow-host", "one.more"), "256")


@pytest.mark.parametrize("fields, options, expected", [
    ({"network": "full"}, ["--network", "none"], ("none", [], False)),
    ({"allow_hosts": ["a.example"], "allow_dns": True}, ["--network", "none"], ("none", [], False)),
    ({"allow_hosts": ["a.example"]}, ["--allow-host", "b.example"],
     ("allow", ["a.example", "b.example"], False)),
    ({"allow_hosts": ["a.example"]}, ["--network", "full", "--allow-dns"],
     ("full", ["a.example"], True)),
    ({"network": "full"}, ["--allow-host", "192.0.2.7"], ("full", ["192.0.2.7"], False)),
    ({}, ["--allow-host", "a.example"], ("allow", ["a.example"], False)),
    ({"network": "none"}, ["--network", "allow", "--allow-host", "a.example"],
     ("allow", ["a.example"], False)),
])
def test_options_win_over_the_request(fields, options, expected):
    mode, hosts, names = expected
    done = request(fields, *options)
    assert done.returncode == 0, done.stdout.decode()
    assert json.loads(done.stdout)["network"] == {
        "mode": mode, "allow_hosts": hosts, "allow_dns": names}


def test_a_host_does_not_open_what_the_request_has_closed():
    refused(request({"network": "none"}, "--allow-host", "a.example"), "--network none")


@pytest.mark.parametrize("option, field", [("max-connections", "connections"),
                                           ("max-network-in", "network_in_bytes"),
                                           ("max-network-out", "network_out_bytes")])
def test_limits_of_the_network_can_be_nothing_at_all(option, field):
    limits = json.loads(plan(f"--{option}", "0").stdout)["limits"]
    assert limits[field] == 0
    limits = json.loads(request({"limits": {field: 77}}).stdout)["limits"]
    assert limits[field] == 77


@pytest.mark.parametrize("mode", ["localhost", *OUTSIDE])
def test_a_policy_without_sockets_has_no_network(mode):
    refused(plan("--policy", "strict", "--network", mode), "strict")
    assert network("--policy", "strict", "--network", "none")["mode"] == "none"


def test_the_plan_says_it_to_people_too():
    text = sandbox_run("plan", "--network", "full", "--allow-host", "192.0.2.7:53", "--allow-dns",
                       "--lang", "sh", "--code", "true").stdout.decode()
    assert "\nnetwork    full, every name is looked up\nhost       192.0.2.7:53\n" in text


def test_completion_knows_the_modes():
    words = "none localhost allow full"
    for shell, line in (("bash", f'--network) COMPREPLY=($(compgen -W "{words}"'),
                        ("zsh", f":MODE:({words})'"), ("fish", f" -f -a '{words}'")):
        assert line in sandbox_run("completion", shell).stdout.decode()
    manual = sandbox_run("completion", "man").stdout.decode()
    assert manual.count(".B \\-\\-allow\\-host HOST\n") >= 4  # run, exec, plan, explain and others


def test_the_library_takes_and_refuses_the_same(caller, session_folder):
    target = session_folder / "library-network"
    subprocess.run(["gcc", "-std=gnu17", "-Wall", "-Wextra", "-Werror",
                    f"-I{support.REPO / 'include'}", PROGRAMS / "library_network.c", "-o", target,
                    f"-L{LIBRARY.parent}", "-lsandboxrun"], check=True)
    target.chmod(0o755)
    as_user = caller == support.Callers.USER and "root" in support.available_callers()
    done = subprocess.run([*(support.AS_ORDINARY if as_user else []), str(target)],
                          capture_output=True, timeout=60, check=False,
                          env={"LD_LIBRARY_PATH": str(LIBRARY.parent), "PATH": "/usr/bin:/bin"})
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
