"""batch: many requests in one call, and one program with many inputs, as judges run it."""
import json
import os
import signal
import subprocess

import pytest

import support
from support import sandbox_run
from waiting import SOON, wait_until


def lines(done):
    return [json.loads(line) for line in done.stdout.splitlines()]


def requests(folder, *codes, **more):
    path = folder / "requests.jsonl"
    path.write_text("".join(json.dumps({"language": "shell", "code": code, **more}) + "\n" for code in codes))
    return path


def test_results_come_in_order_with_their_numbers(caller, folder):
    path = requests(folder, "sleep 0.3; echo a", "echo b", "exit 3")
    path.write_text(path.read_text() + '\n{"language": "shel", "code": ""}\n{"no": 1}\n')
    done = sandbox_run("batch", "--allow-degraded", "--jobs", "3", str(path), caller=caller)
    found = lines(done)
    assert [one["item"] for one in found] == [1, 2, 3, 4, 5]
    assert [one.get("stdout") for one in found] == ["a\n", "b\n", "", None, None]
    assert [one["outcome"] for one in found] == ["exited", "exited", "exited", "not_found", "invalid_request"]
    assert found[2]["exit_code"] == 3 and "did you mean" in found[3]["error"]["message"]
    assert done.returncode == 1
    summary = done.stderr.decode()
    assert summary.startswith("5 items in ") and "2 not run, 2 succeeded, 1 failed" in summary


@pytest.mark.container
def test_options_hold_for_every_request(root, folder):
    done = sandbox_run("batch", "--env", "X=7", "--timeout", "2s", "-",
                       stdin=requests(folder, "echo $X", "sleep 9").read_bytes(), caller=root)
    assert [(one["outcome"], one["stdout"]) for one in lines(done)] == [("exited", "7\n"), ("timeout", "")]


@pytest.mark.container
def test_a_directory_of_programs(root, folder):
    (folder / "b.sh").write_text("echo b")
    (folder / "a.py").write_text("print('a')")
    (folder / "notes.unknown").write_text("x")
    found = lines(sandbox_run("batch", str(folder), caller=root))
    assert [(one["name"], one["stdout"]) for one in found] == [("a.py", "a\n"), ("b.sh", "b\n")]


def test_a_batch_that_was_killed_goes_on(root, folder):
    """Nothing is run twice that has its result, nothing is missing, and half a line is removed."""
    path, out = requests(folder, *[f"echo {i}" for i in range(30)], "sleep 60"), folder / "out.jsonl"
    line = support.command("batch", "--jobs", "4", "--results", str(out), str(path), caller=root)
    first = subprocess.Popen(line, env=support.surroundings(root), stderr=subprocess.DEVNULL)
    try:
        assert wait_until(lambda: out.exists() and out.read_bytes().count(b"\n") >= 10)
    finally:
        first.send_signal(signal.SIGKILL)
        first.wait(SOON)
    before = [json.loads(one) for one in out.read_bytes().splitlines()]
    with open(out, "ab") as more:
        more.write(b'{"item":31,"request":"0123456789abcdef","hal')
    done = sandbox_run("batch", "--timeout", "2s", "--results", str(out), str(path), caller=root)
    after = [json.loads(one) for one in out.read_bytes().splitlines()]
    assert sorted(one["item"] for one in after) == list(range(1, 32))
    assert after[:len(before)] == before and f"{len(before)} had their results" in done.stderr.decode()
    again = sandbox_run("batch", "--results", str(out), str(path), caller=root)
    assert again.returncode == 0 and b"0 items" in again.stderr and b"31 had their results" in again.stderr


@pytest.mark.container
def test_an_interrupted_batch_records_no_run_that_it_ended(root, folder):
    path, out = requests(folder, "echo 1", "sleep 60"), folder / "out.jsonl"
    line = support.command("batch", "--jobs", "1", "--results", str(out), str(path), caller=root)
    with subprocess.Popen(line, env=support.surroundings(root), stderr=subprocess.PIPE) as batch:
        assert wait_until(lambda: out.exists() and out.read_bytes().count(b"\n") == 1)
        batch.send_signal(signal.SIGINT)
        batch.communicate(timeout=SOON)
    assert batch.returncode == 128 + signal.SIGINT
    assert out.read_bytes().count(b"\n") == 1


@pytest.mark.parametrize("prepare, words, message", [
    ("", ("--jobs", "0"), "--jobs '0' is no number of runs"),
    ("{}\n", (), "is no result of a batch"),
    ('{"item":1,"request":"0123456789abcdef"}\n', (), "item 1 is another request"),
])
def test_what_cannot_be_done_is_refused(root, folder, prepare, words, message):
    out = folder / "out.jsonl"
    out.write_text(prepare)
    done = sandbox_run("batch", "--results", str(out), *words, str(requests(folder, "true")), caller=root)
    assert done.returncode == 125 and message in done.stderr.decode()
    assert out.read_text() == prepare


@pytest.fixture(name="cases")
def cases_of_a_sum(folder):
    for name, given, wanted in [("small/01", "1 2", "3\n"), ("small/02", "2 2", "4"), ("large/01", "1 1", "3"),
                                ("large/02", "5 5", "10")]:
        path = folder / "cases" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        (folder / "cases" / f"{name}.in").write_text(given)
        (folder / "cases" / f"{name}.out").write_text(wanted)
    (folder / "cases" / "cases.yaml").write_text(
        "groups:\n"
        "  - {name: small, points: 30, cases: ['small/*']}\n"
        "  - {name: large, points: 70, cases: ['large/*'], each: true, timeout: 5s}\n")
    return folder / "cases"


SUM = "a, b = map(int, input().split())\nprint(a + b)\n"


def judged(*words, root, program, folder, **kwargs):
    (folder / "sum.py").write_text(program)
    done = sandbox_run("batch", "--json", *map(str, words), str(folder / "sum.py"), caller=root, **kwargs)
    found = lines(done)
    return found[:-1], found[-1]["summary"], done


@pytest.mark.container
def test_cases_have_verdicts_and_groups_points(root, folder, cases):
    found, summary, done = judged("--cases", cases, root=root, program=SUM, folder=folder)
    assert [(one["name"], one["verdict"]) for one in found] == [
        ("large/01", "wrong_answer"), ("large/02", "accepted"), ("small/01", "accepted"), ("small/02", "accepted")]
    assert found[0]["note"] == "line 1: expected '3', got '2'" and found[0]["limits"]["wall_ms"] == 5000
    assert summary == {"cases": 4, "accepted": 3, "points": 65, "of": 100, "groups": [
        {"name": "small", "cases": 2, "accepted": 2, "points": 30, "of": 30},
        {"name": "large", "cases": 2, "accepted": 1, "points": 35, "of": 70}]}
    assert done.returncode == 1
    text = sandbox_run("batch", "--cases", str(cases), str(folder / "sum.py"), caller=root).stdout.decode()
    assert "small/02              accepted" in text
    assert text.endswith("3 of 4 accepted, 65 of 100 points: small 30 of 30, large 35 of 70\n")


@pytest.mark.container
def test_every_end_has_its_verdict(root, folder, cases):
    program = ("import os, sys, time\nn = sum(map(int, input().split()))\n"
               "if n == 2: time.sleep(60)\nif n == 10: bytearray(1 << 30)\n"
               "if n == 3: sys.exit(1)\nprint(n)\n")
    found, _, _ = judged("--cases", cases, "--memory", "128m", root=root, program=program, folder=folder)
    assert [one["verdict"] for one in found] == ["time_limit", "memory_limit", "runtime_error", "accepted"]


def test_stop_begins_no_further_case(root, folder, cases):
    found, summary, _ = judged("--cases", cases, "--stop", "--jobs", "1", root=root, program=SUM, folder=folder)
    assert [one["name"] for one in found] == ["large/01"] and summary["accepted"] == 0


@pytest.mark.container
def test_a_program_that_cannot_be_compiled_is_told_once(root, folder, cases):
    (folder / "sum.c").write_text("int main(void) { return x; }")
    done = sandbox_run("batch", "--json", "--cases", str(cases), str(folder / "sum.c"), caller=root)
    assert [one["verdict"] for one in lines(done)[:-1]] == ["compile_error"]


CHECKER = """import sys
given, wanted, got = (open(path).read() for path in sys.argv[1:])
if got.strip() == 'crash':
    raise SystemExit(9)
if sorted(wanted.split()) != sorted(got.split()):
    print('not the same words', file=sys.stderr)
    raise SystemExit(1)
"""


@pytest.mark.container
def test_a_checker_of_the_users_own(root, folder):
    cases = folder / "cases"
    cases.mkdir()
    for name, given, wanted in [("1", "b a", "a b"), ("2", "x", "y"), ("3", "crash", "")]:
        (cases / f"{name}.in").write_text(given)
        (cases / f"{name}.ans").write_text(wanted)
    (folder / "check.py").write_text(CHECKER)
    found, _, _ = judged("--cases", cases, "--checker", folder / "check.py", root=root, program="print(input())",
                         folder=folder)
    assert [one["verdict"] for one in found] == ["accepted", "wrong_answer", "checker_failed"]
    assert found[1]["note"] == "not the same words"


@pytest.mark.container
def test_hostile_output_is_shown_without_control_characters(root, folder):
    cases = folder / "cases"
    cases.mkdir()
    (cases / "1.in").write_text("")
    (cases / "1.out").write_text("1")
    (folder / "p.py").write_text(r"print('\x1b]0;title\x07')")
    done = sandbox_run("batch", "--cases", str(cases), str(folder / "p.py"), caller=root)
    assert b"\x1b" not in done.stdout and rb"\x1b]0;title\x07" in done.stdout


def test_the_checker_and_its_tolerance_are_checked(root, folder, cases):
    (folder / "p.py").write_text("")
    for words, message in [(("--checker", "fuzzy"), "is neither tokens, exact or floats"),
                           (("--checker", "floats", "--tolerance", "few"), "is no number"),
                           (("--results", "x"), "--results goes with requests")]:
        done = sandbox_run("batch", "--cases", str(cases), *words, str(folder / "p.py"), caller=root)
        assert done.returncode == 125 and message in done.stderr.decode()
    assert not os.path.exists("x")


def test_a_directory_of_cases_without_its_option_is_explained(root, folder, cases):
    (folder / "p.py").write_text("")
    done = sandbox_run("batch", str(folder / "p.py"), str(cases), caller=root)
    assert done.returncode == 125 and b"write `sandbox-run batch --cases DIR PROGRAM`" in done.stderr
