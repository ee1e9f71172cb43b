"""In a guest: the host is what its file says, and the tool says of it what is true."""
import json
import os
import subprocess

import pytest

import support

pytestmark = pytest.mark.core

EXPECT = json.loads(os.environ["SBR_EXPECT"])
FULL = EXPECT["tier"] == "container"
HELLO = ("--lang", "sh", "--code", "echo hello")


def names_of(value, path=""):
    """Paths of the fields of an object; the elements of a list are taken as one."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield f"{path}.{key}"
            yield from names_of(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for inner in value:
            yield from names_of(inner, f"{path}[]")


def doctor():
    done = support.sandbox_run("doctor", "--json")
    return done.returncode, json.loads(done.stdout)


def test_the_tests_run_as_the_user_of_the_host():
    assert str(os.geteuid()) == {"root": "0"}.get(EXPECT["user"], EXPECT["user"])


def test_the_machine_is_the_hosts():
    assert os.uname().machine == EXPECT["arch"]


def test_the_tier_and_what_is_missing_are_the_expected_ones():
    result = support.result_of("run", "--allow-degraded", *HELLO)
    assert result["outcome"] == "exited", result
    assert result["stdout"] == "hello\n"
    assert result["isolation"]["tier"] == EXPECT["tier"], result["isolation"]
    assert sorted(result["isolation"]["missing"]) == sorted(EXPECT["missing"])


if FULL:

    def test_a_plain_run_works():
        done = support.sandbox_run("run", *HELLO)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"hello\n", b"")

else:

    def test_a_plain_run_is_refused_in_one_sentence():
        """One line that says what is wrong; lines that mend it may follow, indented."""
        done = support.sandbox_run("run", *HELLO)
        assert done.returncode == 125
        assert done.stdout == b""
        first, *rest = done.stderr.decode().splitlines()
        assert first.startswith("sandbox-run: "), first
        assert all(line.startswith("  ") for line in rest), rest

    def test_a_refusal_is_an_object_when_json_is_wanted():
        refusal = support.result_of("run", *HELLO)
        assert (refusal["_status"], refusal["outcome"]) == (125, "unsupported")
        assert refusal["error"]["message"]


def test_the_result_has_the_fields_that_it_has_elsewhere():
    result = support.sandbox_run("run", "--json", "--allow-degraded", *HELLO)
    assert sorted(set(names_of(json.loads(result.stdout)))) == sorted(set(EXPECT["fields"]))


def test_a_plan_is_made_and_names_the_tier():
    done = support.sandbox_run("plan", "--json", "--allow-degraded", *HELLO)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["isolation"]["tier"] == EXPECT["tier"]


def test_doctor_is_content_exactly_when_a_plain_run_works():
    status, said = doctor()
    assert said["works"] is FULL
    assert (status == 0) is FULL


def test_whatever_doctor_misses_has_a_fix_or_a_reason():
    for check in doctor()[1]["checks"]:
        assert check["found"], check
        if check["state"] == "missing" and check["name"] != "trial run" and EXPECT["remedies"]:
            assert check["fix"], f"{check['name']} is missing and nobody says how to get it"


def test_ending_the_supervisor_ends_its_run():
    """By the kernel alone: nothing of a run outlives a SIGKILL of who started it."""
    words = support.command("run", "--allow-degraded", "--lang", "sh", "--code",
                            "echo up; exec cat")
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          env=support.environment()) as process:
        assert process.stdout.readline() == b"up\n"
        process.kill()
        assert process.stdout.read() == b""  # end of file: nobody holds it any more
