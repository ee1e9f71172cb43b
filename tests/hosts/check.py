#!/usr/bin/python3
"""Runs the tests on hosts, at most two at a time, and writes the table of docs/hosts.md.

Usage: check.py [--all] [--record] [--no-table] [-k EXPR] [HOST]...
"""
import argparse
import collections
import concurrent.futures
import dataclasses
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
import traceback

sys.dont_write_bytecode = True

import boot  # noqa: E402
import machine  # noqa: E402
import table  # noqa: E402
from choice import ENVIRONMENT, PYTEST, SUITES, Choice, check_names  # noqa: E402
from guest import Guest  # noqa: E402
from here import Here  # noqa: E402
from packages import Failed  # noqa: E402
from paths import LOGS, REPO, TESTS  # noqa: E402
from programs import programs  # noqa: E402

sys.path.insert(0, str(TESTS))
import run as runner  # noqa: E402

AT_A_TIME = 2
SILENCE_S = 300
HELLO = ["run", "--json", "--allow-degraded", "--lang", "sh", "--code", "echo hello"]


@dataclasses.dataclass
class Outcome:
    """What became of one host."""
    host: machine.Host
    results: runner.Results
    doctor: dict = dataclasses.field(default_factory=dict)
    run: dict = dataclasses.field(default_factory=dict)
    seconds: float = 0.0
    doing: str = ""
    absent: dict = dataclasses.field(default_factory=collections.Counter)  # tests without a premise there, by reason
    times: dict = dataclasses.field(default_factory=dict)  # seconds by test

    def count(self, status):
        return self.results.count(status)

    def add(self, name, status, detail=""):
        """A skip that the host's file does not expect is a failure."""
        if status == runner.SKIPPED and self.expected(name, detail):
            self.absent[detail] += 1
            return
        if status == runner.SKIPPED:
            status, detail = runner.FAILED, f"skipped, and {self.host.name}.yaml does not say why: {detail}"
        self.results.add(self.host.name, name, status, detail)

    def expected(self, name, reason):
        told = [absent["why"] for absent in self.host.expect.absent]
        return reason in told or any(re.search(skip, f"{name}: {reason}")
                                     for skip in self.host.expect.skips)


class Matrix:
    """All hosts of a call."""

    def __init__(self, options, say):
        self.options = options
        self.say = say  # called with an outcome and the report that it took
        self.live = set()
        self.lock = threading.Lock()
        self.fields = fields_here(options.build)

    def run(self, names):
        """Outcomes as they come."""
        options = self.options
        suites = {suite for name in names for suite in options.suite or suites_of(machine.load(name))}
        self.choice = Choice(suites | {"host", "limits"}, options.all, options.quick)
        with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
            hosts = [pool.submit(self.one, name) for name in longest_first(names)]
            try:
                for host in concurrent.futures.as_completed(hosts):
                    yield host.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                with self.lock:
                    for guest in self.live:
                        guest.qemu.kill()  # its thread sees it, and clears up
                raise

    def one(self, name):
        host = machine.load(name)
        if self.options.quick:
            host = dataclasses.replace(host, processors=1)
        outcome = Outcome(host, runner.Results(False))
        begin = time.monotonic()
        try:
            self.follow(outcome)
            if outcome.host.expect.reboot:
                self.follow_again(outcome)
            if not outcome.count(runner.PASSED) and not self.options.k:
                raise Failed(f"no test ran\n{end_of(LOGS / f'{name}.out')}")
        except Failed as problem:
            outcome.add(outcome.doing or "start", runner.FAILED, str(problem))
        except Exception:  # pylint: disable=broad-exception-caught # the other hosts go on
            outcome.add(outcome.doing or "start", runner.FAILED, traceback.format_exc())
        outcome.seconds = time.monotonic() - begin
        return outcome

    def follow(self, outcome):
        host = outcome.host
        place = Here if host.machine == "here" else Guest
        with place(host, self.script(host), host.name) as guest, \
                open(LOGS / f"{host.name}.out", "wb", buffering=0) as output:
            with self.lock:
                self.live.add(guest)
            try:
                for kind, what in guest.events(SILENCE_S):
                    if kind == "output":
                        output.write(what)
                    else:
                        take(outcome, what)
                        self.say(outcome, what)
            finally:
                with self.lock:
                    self.live.discard(guest)

    def follow_again(self, outcome):
        """A second boot, with the kernel arguments that doctor named in the first."""
        outcome.doing = "another boot"
        second = Outcome(machine.rebooted(outcome.host, outcome.doctor), runner.Results(False))
        self.follow(second)
        for (_, name), (status, detail) in second.results.tests.items():
            outcome.add(f"another boot: {name}", status, detail)

    def script(self, host):
        """The lines that run in the guest, as the host's user."""
        expect = {**dataclasses.asdict(host.expect), "fields": self.fields, "arch": host.arch}
        build = self.options.build if host.arch == "x86_64" else None
        test_build = self.options.test_build if host.arch == "x86_64" else None
        variables = {
            **ENVIRONMENT, "SBR_REPORT_FD": "9",
            "SBR_PROGRAMS": str(programs(host.arch)),
            "SBR_EXPECT": json.dumps(expect), "SBR_ABSENT": json.dumps(host.expect.absent),
        }
        if self.options.quick:  # an ordinary user has a host of his own
            variables["SBR_CALLER"] = "root" if host.user == "root" else "user"
        words = ["-k", self.options.k] if self.options.k else []
        lines = [f"export {key}={shlex.quote(value)}" for key, value in variables.items()]
        if not self.options.quick:  # for the table
            lines += ["""say() { local text; text=$(tr -d '\\n'); printf '{"%s": %s}\\n' "$1" "${text:-{\\}}" >&9; }""",
                      "sandbox-run doctor --json | say doctor",
                      f"sandbox-run {shlex.join(HELLO)} | say run"]
        for choice in self.choice.calls(self.options.suite or suites_of(host)):
            line = shlex.join([*PYTEST, *words, *choice])
            lines.append(f"{line}; echo '{{\"pytest\": '$?'}}' >&9")
        return boot.script(host, build, test_build, "\n".join(lines))


def end_of(path, lines=20):
    return "\n".join(path.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])


def longest_first(names):
    """So that the two at a time end together: the slower architecture, then by the number of suites."""
    hosts = map(machine.load, names)
    order = sorted(hosts, key=lambda host: (host.arch == "x86_64", "escape" not in host.tests, -len(host.tests)))
    return [host.name for host in order]


def suites_of(host):
    """Those that its file names; doctor's fixes are tried only where they lead somewhere."""
    return [name for name in host.tests if name != "remedies" or host.expect.remedies]


def fields_here(build):
    """Names of the fields of a result on this machine: every host must have the same."""
    program = build or REPO / "build"
    done = subprocess.run([f"{program}/sandbox-run", *HELLO], stdout=subprocess.PIPE, check=False)
    try:
        return sorted(names_of(json.loads(done.stdout)))
    except ValueError as problem:
        raise Failed(f"{program}/sandbox-run does not run on this machine") from problem


def names_of(value, path=""):
    """Paths of the fields of an object, with those of objects in it; lists are taken as one."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield f"{path}.{key}"
            yield from names_of(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for inner in value:
            yield from names_of(inner, f"{path}[]")


def take(outcome, report):
    """One report of a guest."""
    if "doctor" in report:
        outcome.doctor = report["doctor"]
    elif "run" in report:
        outcome.run = report["run"]
    elif report.get("host") == "failed":
        outcome.add("set-up", runner.FAILED, report["detail"])
    elif "pytest" in report:
        if report["pytest"] not in (0, 1, 5):  # passed, some failed (told already), none selected
            about = f"pytest ended with {report['pytest']}; see build-hosts/logs/{outcome.host.name}.out"
            outcome.add(outcome.doing or "pytest", runner.FAILED, about)
        outcome.doing = ""
    elif "name" in report:
        name = re.sub(r"^tests/(hosts/suite/)?", "", report["name"])
        if report["status"] == "started":
            outcome.doing = name
        elif report["status"] == "ended":
            outcome.times[name] = report["seconds"]
        elif report["status"] != "finished":
            outcome.add(name, report["status"], report.get("detail", ""))


def print_durations(outcomes, count):
    """The slowest tests, to choose what belongs to the core."""
    rows = [(seconds, outcome.host.name, name)
            for outcome in outcomes for name, seconds in outcome.times.items()]
    for seconds, host, name in sorted(rows, reverse=True)[:count]:
        print(f"{seconds:6.1f} s  {host}: {name}")


def record(outcome):
    """Saves what the probe found, for the golden tests of the planner."""
    features = outcome.doctor.get("features")
    if not features:
        raise Failed(f"{outcome.host.name}: doctor --json tells no features")
    path = TESTS / f"golden/hosts/{outcome.host.name}.json"
    text = json.dumps({"about": outcome.host.about, **features}, indent=2)
    path.write_text(text + "\n", encoding="utf-8")


def speak(outcome, report):
    """Progress, for whoever waits: the tests of all hosts on one line, or a line per host."""
    if sys.stdout.isatty():
        print(f"\r\033[K{outcome.host.name}: {outcome.results.line()}  {outcome.doing[:60]}", end="",
              flush=True)
    elif report.get("host") == "up":
        print(f"{outcome.host.name} is up", flush=True)


def arguments(words=None):
    parser = argparse.ArgumentParser(description="Runs the tests on emulated hosts.")
    parser.add_argument("host", nargs="*", help="all of tests/hosts/machines unless named")
    parser.add_argument("--all", action="store_true", help="every test, not only the core")
    parser.add_argument("--suite", action="append", choices=SUITES, help="may be repeated")
    parser.add_argument("--record", action="store_true", help="save features for the golden tests")
    parser.add_argument("--no-table", action="store_true", help="leave docs/hosts.md alone")
    parser.add_argument("--build", metavar="DIR", help="programs for x86_64 instead of build/")
    parser.add_argument("--test-build", metavar="DIR")
    parser.add_argument("--quick", action="store_true", help="what `make check` has time for")
    parser.add_argument("--durations", type=int, default=0, metavar="N", help="list the slowest tests")
    parser.add_argument("-k", metavar="EXPR", help="as for pytest")
    options = parser.parse_args(words)
    options.partial = bool(options.no_table or options.k or options.suite or options.quick)
    return options


def main():
    options = arguments()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a caller in the background may ignore SIGINT
    outcomes = []
    begin = time.monotonic()
    try:
        if os.geteuid() != 0:
            raise Failed("only root can share directories with a guest")
        names = options.host or machine.names()
        for name in names:
            check_names(machine.load(name).tests)  # a mistake in a file shows before the first boot
        for outcome in Matrix(options, speak).run(names):
            outcomes.append(outcome)
            lead = "\r\033[K" if sys.stdout.isatty() else ""
            print(f"{lead}{outcome.host.name:<24} {outcome.results.line()} ({outcome.seconds:.0f} s)",
                  flush=True)
            for _, test, detail in outcome.results.having(runner.FAILED):
                print(f"    {test}: {(detail.splitlines() or [''])[-1][:160]}", flush=True)
            if options.record:
                record(outcome)
            if options.host and not options.partial:  # of all hosts: in the end
                table.write([outcome])
    except KeyboardInterrupt:
        print("\ninterrupted")
        return 130
    except Failed as problem:
        print(f"check.py: {problem}", file=sys.stderr)
        return 1
    if not options.host and not options.partial:
        table.write(outcomes, alone=True)
    whole = runner.Results(False)
    for outcome in outcomes:
        whole.tests.update(outcome.results.tests)
    print_durations(outcomes, options.durations)
    runner.print_end(whole)
    print()
    print("\n".join(table.lines(outcomes)))
    print(f"\n{len(outcomes)} hosts in {time.monotonic() - begin:.0f} s")
    return int(bool(whole.count(runner.FAILED)) or not whole.tests)


if __name__ == "__main__":
    sys.exit(main())
