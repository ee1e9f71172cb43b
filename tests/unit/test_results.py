"""What the runner writes of its results: JUnit's XML, and the cost of each suite."""
import re
import sys
import pathlib
import xml.etree.ElementTree

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import results  # noqa: E402
from results import FAILED, PASSED, SKIPPED  # noqa: E402

# Everything that XML cannot hold or that means something in it, as a failing program may print it.
HOSTILE = "".join(map(chr, range(0x20))) + ("\x7f\x9b\ufffe\uffff\udc80\ud800 ]]> <![CDATA[ </failure> & \" ' "
                                            "\U0001f600 \xfc")
NAME = "test_x.py::test_names[\x1b]0;title\x07<&\"'\ud83d]"


@pytest.fixture(name="found")
def some_results():
    found = results.Results(must_work=False)
    found.add("blackbox", "test_a.py::test_one[root]", PASSED)
    found.add("blackbox", "test_a.py::test_two", FAILED, f"first line\n{HOSTILE}\nlast line")
    found.add("blackbox", NAME, FAILED, HOSTILE)
    found.add("blackbox", "test_a.py::test_three", FAILED)
    found.add("escape", "test_b.py::test_four", SKIPPED, f"needs {HOSTILE}")
    found.add("lint", "layers", PASSED)
    found.spent("blackbox", "test_a.py::test_one[root]", 1.25, 3, 0.5)
    found.spent("blackbox", "test_a.py::test_two", 0.5, 1)
    found.spent("blackbox", "test_a.py::test_two", 0.25, 1)  # its end
    found.spent("escape", "test_b.py::test_four", 8, 2, 1.5)
    found.suites.update(blackbox=1.5, escape=9, lint=0.125)
    return found


def parsed(found, folder):
    path = folder / "junit.xml"
    results.write_junit(found, path)
    return xml.etree.ElementTree.parse(path).getroot()


def cases_of(suite):
    return {case.get("name"): case for case in suite}


def test_junit_is_well_formed_and_counts(found, tmp_path):
    root = parsed(found, tmp_path)
    assert (root.tag, root.get("tests"), root.get("failures")) == ("testsuites", "6", "3")
    counts = {suite.get("name"): tuple(suite.get(name) for name in ("tests", "failures", "errors", "skipped", "time"))
              for suite in root}
    assert counts == {"blackbox": ("4", "3", "0", "0", "1.500"), "escape": ("1", "0", "0", "1", "9.000"),
                      "lint": ("1", "0", "0", "0", "0.125")}


def test_junit_names_each_test_and_its_time(found, tmp_path):
    blackbox, escape, lint = map(cases_of, parsed(found, tmp_path))
    one = blackbox["test_one[root]"]
    assert (one.get("classname"), one.get("time"), len(one)) == ("test_a", "1.250", 0)
    assert blackbox["test_two"].get("time") == "0.750"
    assert escape["test_four"].find("skipped") is not None
    assert (lint["layers"].get("classname"), lint["layers"].get("time")) == ("", "0.000")


def test_junit_holds_a_failure_with_any_character(found, tmp_path):
    blackbox = cases_of(parsed(found, tmp_path)[0])
    failure = blackbox["test_two"].find("failure")
    assert failure.get("message") == "last line"
    assert failure.text.startswith("first line\n") and failure.text.endswith("\nlast line")
    for kept in ("]]> <![CDATA[ </failure> & \" '", "\U0001f600 \xfc", "\x7f", "\ufffd"):
        assert kept in failure.text, kept
    assert not re.search("[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", failure.text)
    assert blackbox["test_names[\ufffd]0;title\ufffd<&\"'\ufffd]"].find("failure").text
    assert blackbox["test_three"].find("failure").get("message") == "failed"


def test_durations_are_summed_for_each_suite(found, capsys):
    results.print_durations(found)
    said = capsys.readouterr().out
    head, _, table = said.partition("\nsuite ")
    assert re.findall(r"^ +([\d.]+) s +([\d.]+) CPU s  (.*)$", head, re.M) == [
        ("8.00", "1.50", "escape: test_b.py::test_four"), ("1.25", "0.50", "blackbox: test_a.py::test_one[root]"),
        ("0.75", "0.00", "blackbox: test_a.py::test_two")]
    assert re.findall(r"^ +([\d.]+) s +([\d.]+) CPU s, (\d+) starts  (.*)$", head, re.M) == [
        ("8.00", "1.50", "2", "escape: test_b.py"), ("2.00", "0.50", "5", "blackbox: test_a.py")]
    rows = {row[0]: row[1:] for row in (line.replace(" s ", " ").split() for line in table.splitlines()[1:])}
    assert float(rows["all"].pop(0)) < 60  # since the results were made; suites may run at the same time
    assert rows == {"all": ["10.0", "2.0", "6", "7"], "blackbox": ["1.5", "2.0", "0.5", "4", "5"], "escape": ["9.0", "8.0", "1.5", "1", "2"],
                    "lint": ["0.1", "0.0", "0.0", "1", "0"]}


def test_only_the_slowest_are_listed(capsys):
    found = results.Results(must_work=False)
    for number in range(results.SLOWEST + 5):
        found.add("unit", f"test {number}", PASSED)
        found.spent("unit", f"test {number}", number)
    results.print_durations(found)
    listed = re.findall(r"s  unit: test (\d+)$", capsys.readouterr().out, re.M)
    assert listed == [str(number) for number in range(results.SLOWEST + 4, 4, -1)]


def test_a_worse_report_of_a_test_wins_and_a_skip_may_be_a_failure():
    found = results.Results(must_work=True)
    found.add("unit", "a", FAILED, "first")
    found.add("unit", "a", PASSED)
    found.add("unit", "a", FAILED, "second")
    found.add("unit", "b", SKIPPED, "why")
    assert found.tests == {("unit", "a"): (FAILED, "first\nsecond"),
                           ("unit", "b"): (FAILED, "skipped, but SBR_MUST_WORK=1: why")}


def test_a_test_that_passes_alone_counts_and_is_named(capsys):
    found = results.Results(must_work=True)
    for name, alone in (("steady", PASSED), ("broken", FAILED), ("lost", None)):
        found.add("warm", name, FAILED, f"{name} beside others")
        before = found.take_back("warm", name)
        if alone:
            found.add("warm", name, alone, f"{name} alone")
        found.settle("warm", name, before)
    results.print_end(found)
    said = capsys.readouterr().out
    assert "UNSTEADY (failed beside others, passed alone) warm: steady\n    steady beside others\n" in said
    assert "FAILED warm: broken\n    broken alone\n" in said and "FAILED warm: lost\n    lost beside others\n" in said
    assert said.endswith("\n1 passed, 2 failed, 0 skipped\n")
