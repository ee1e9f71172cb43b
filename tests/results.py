"""What became of each test: outcome, seconds, how often the tool was started; and how it is told.

A report is a line of text, a list of the slowest tests, or JUnit's XML.
"""
import collections
import dataclasses
import os
import re
import sys
import threading
import time
from xml.sax.saxutils import escape, quoteattr

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
SLOWEST = 40


@dataclasses.dataclass
class Cost:
    """Of a test: its set-up, its call and its end."""
    seconds: float = 0.0
    starts: int = 0  # of the tool
    cpu: float = 0.0  # seconds, as far as the worker waited for the processes


class Results:
    """Outcome of each test, in order; a later worse report of the same test wins."""

    RANK = {PASSED: 0, SKIPPED: 1, FAILED: 2}

    def __init__(self, must_work, tell=False):
        self.must_work = must_work
        self.tell = tell  # of each failure at once, for whoever will not see the end
        self.tests = {}
        self.unsteady = []  # (suite, name, detail) of those that failed beside others and passed alone
        self.costs = collections.defaultdict(Cost)
        self.suites = {}  # seconds of each, as whoever waited saw them
        self.began = time.monotonic()
        self.lock = threading.Lock()  # workers report at the same time

    def add(self, suite, name, status, detail=""):
        if status == SKIPPED and self.must_work:
            status, detail = FAILED, f"skipped, but SBR_MUST_WORK=1: {detail}"
        key = (suite, name)
        with self.lock:
            known = self.tests.get(key)
            if self.tell and status == FAILED and (known is None or known[0] != FAILED):
                print(f"failed    {suite}: {name}", flush=True)
            if known is None or self.RANK[status] > self.RANK[known[0]]:
                self.tests[key] = (status, detail.strip())
            elif status == FAILED:
                self.tests[key] = (status, f"{known[1]}\n{detail}".strip())

    def take_back(self, suite, name):
        """Forgets the outcome of a test that is run again."""
        with self.lock:
            return self.tests.pop((suite, name))

    def settle(self, suite, name, before):
        """The second outcome counts; without one the first does."""
        with self.lock:
            status, _ = self.tests.setdefault((suite, name), before)
            if status == PASSED:
                self.unsteady.append((suite, name, before[1]))

    def spent(self, suite, name, seconds, starts=0, cpu=0.0):  # pylint: disable=too-many-arguments
        with self.lock:
            cost = self.costs[(suite, name)]
            cost.seconds += seconds
            cost.starts += starts
            cost.cpu += cpu

    def count(self, status, suite=None):
        return sum(1 for (of, _), (is_, _) in list(self.tests.items()) if is_ == status and suite in (None, of))

    def having(self, status):
        return [(*key, detail) for key, (is_, detail) in self.tests.items() if is_ == status]

    def line(self, suite=None):
        return ", ".join(f"{self.count(s, suite)} {s}" for s in (PASSED, FAILED, SKIPPED))


class Progress:
    """One line that is written over on a terminal; one line per suite elsewhere."""

    def __init__(self, results, live):
        self.results = results
        self.live = live
        self.suite = ""
        self.starts = {}  # of suites that run; several may at the same time
        self.lasts = {}  # when a worker left them last

    def begin(self, suite):
        self.suite = suite
        self.starts.setdefault(suite, time.monotonic())
        self.show("")

    def show(self, doing, suite=None):
        if self.live:
            suite = suite or self.suite
            text = f"{suite:<9} {self.results.line(suite)}  {doing}"
            width = os.get_terminal_size(sys.stdout.fileno()).columns or 80
            print(f"\r\033[K{text[: width - 1]}", end="", flush=True)

    def leave(self, suite):
        self.lasts[suite] = time.monotonic()

    def end(self, suite):
        seconds = self.lasts.pop(suite, time.monotonic()) - self.starts.pop(suite)
        self.results.suites[suite] = seconds
        lead = "\r\033[K" if self.live else ""
        text = f"{suite:<9} {self.results.line(suite)}"
        print(f"{lead}{text} ({seconds:.1f} s)", flush=True)


def costs_of_files(costs):
    """What the tests of each file cost in sum, the dearest first by CPU time: that is what two cores have too little of."""
    files = collections.defaultdict(Cost)
    for (suite, name), cost in costs:
        file, _, test = name.partition("::")
        if test:
            of_file = files[(suite, file)]
            of_file.seconds += cost.seconds
            of_file.starts += cost.starts
            of_file.cpu += cost.cpu
    return sorted(files.items(), key=lambda item: -item[1].cpu)


def print_durations(results):
    """The slowest tests, the dearest files, and for each suite what its tests cost in sum."""
    costs = sorted(results.costs.items(), key=lambda item: -item[1].seconds)
    print(f"\nthe slowest {min(SLOWEST, len(costs))} of {len(costs)} tests:")
    for (suite, name), cost in costs[:SLOWEST]:
        print(f"{cost.seconds:8.2f} s {cost.cpu:8.2f} CPU s  {suite}: {name}")
    files = costs_of_files(costs)
    print(f"\nthe dearest {min(SLOWEST, len(files))} of {len(files)} files:")
    for (suite, name), cost in files[:SLOWEST]:
        print(f"{cost.seconds:8.2f} s {cost.cpu:8.2f} CPU s, {cost.starts} starts  {suite}: {name}")
    print("\nsuite      waited for   sum of tests     CPU time   tests   tool started")
    rows = {**results.suites, "all": time.monotonic() - results.began}  # some suites run at the same time
    for suite, seconds in rows.items():
        of_it = {suite} if suite in results.suites else {*results.suites}
        tests = sum(1 for of, _ in results.tests if of in of_it)
        own = [cost for (of, _), cost in costs if of in of_it]
        print(f"{suite:<9} {seconds:9.1f} s {sum(cost.seconds for cost in own):12.1f} s "
              f"{sum(cost.cpu for cost in own):10.1f} s {tests:7d} "
              f"{sum(cost.starts for cost in own):14d}")


def _writable(text):
    """XML has no way to write most control characters."""
    return re.sub(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)


def _case(name, status, detail, cost):
    place, _, test = name.partition("::")
    classname = place.removesuffix(".py").replace("/", ".") if test else ""
    head = f"<testcase classname={quoteattr(_writable(classname))} name={quoteattr(_writable(test or name))} " \
           f'time="{cost.seconds:.3f}"'
    if status == PASSED:
        return f"    {head}/>"
    first = quoteattr(_writable(detail.splitlines()[-1] if detail else status))
    kind = {FAILED: "failure", SKIPPED: "skipped"}[status]
    return f"    {head}><{kind} message={first}>{escape(_writable(detail))}</{kind}></testcase>"


def write_junit(results, path):
    """A testsuite for each suite, a testcase for each test."""
    by_suite = collections.defaultdict(list)
    for (suite, name), (status, detail) in results.tests.items():
        by_suite[suite].append((name, status, detail, results.costs[(suite, name)]))
    lines = ['<?xml version="1.0" encoding="UTF-8"?>',
             f'<testsuites tests="{len(results.tests)}" failures="{results.count(FAILED)}">']
    for suite, cases in by_suite.items():
        lines.append(f'  <testsuite name="{suite}" tests="{len(cases)}" failures="{results.count(FAILED, suite)}" '
                     f'errors="0" skipped="{results.count(SKIPPED, suite)}" time="{results.suites.get(suite, 0):.3f}">')
        lines += [_case(*case) for case in cases]
        lines.append("  </testsuite>")
    lines.append("</testsuites>")
    with open(path, "w", encoding="utf-8", errors="replace") as file:
        file.write("\n".join(lines) + "\n")


def _print_failure(word, suite, name, detail):
    print(f"\n{word} {suite}: {name}")
    print("\n".join(f"    {line}".rstrip() for line in detail.splitlines()))


def print_end(results):
    for failure in results.unsteady:
        _print_failure("UNSTEADY (failed beside others, passed alone)", *failure)
    for failure in results.having(FAILED):
        _print_failure("FAILED", *failure)
    skipped = results.having(SKIPPED)
    if skipped:
        print()
    for suite, name, detail in skipped:
        print(f"skipped {suite}: {name}: {' '.join(detail.split())}")
    if not results.tests:
        print("\nno test was run")
    print(f"\n{results.line()}")
