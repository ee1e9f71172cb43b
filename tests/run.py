"""The one test runner: every suite, one list of failures, one line of counts.

Usage: run.py [--suite NAME]... [--build DIR] [--test-build DIR] [-k EXPR]

A skip is listed with its reason; with SBR_MUST_WORK=1 it is a failure.  So is a suite that stays
silent for too long, and a run in which nothing ran.

The file is a pytest plugin as well (`-p run`): inside pytest it reports each test, as one line of
JSON, to the descriptor that the runner named in SBR_REPORT_FD.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
PYTHON = "/usr/bin/python3"
MESON = "/usr/bin/meson"
SUITES = ("lint", "unit", "golden", "blackbox", "escape", "warm", "fuzz", "hosts")
HOSTS = ("v2-root", "v2-user-delegated")  # all of them: make check-hosts
SILENCE_S = 300
# What the suite `warm` runs once more, with an engine behind every caller: at the same time, then its own tests.
WARM = {
    "blackbox": ("language_programs verdicts metrics signals output run denials", "not dependency"),
    "escape": ("", "fails_inside or do_not_meet"),
}

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"

if "SBR_REPORT_FD" in os.environ:
    import pytest

# ---- inside pytest -------------------------------------------------------------------------------


def _report(**fields):
    data = json.dumps(fields).encode() + b"\n"
    while data:  # a port of an emulated host takes a long line in pieces
        data = data[os.write(int(os.environ["SBR_REPORT_FD"]), data) :]


def _skip_reason(report):
    if hasattr(report, "wasxfail"):
        return f"expected to fail: {report.wasxfail}"
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return reason.removeprefix("Skipped: ")


def _failure_text(report):
    parts = [report.longreprtext]
    parts += [f"--- {title} ---\n{text}" for title, text in report.sections if text.strip()]
    return "\n".join(parts)


def pytest_configure(config):
    config.addinivalue_line("markers", "core: belongs to the choice that every host runs")
    os.set_inheritable(int(os.environ["SBR_REPORT_FD"]), False)


def pytest_collection_modifyitems(items):
    """On an emulated host.  What has no premise there is not run: the host's file names it, with the
    reason.  Where time is short there is only one caller."""
    caller = os.environ.get("SBR_CALLER")
    if caller:
        items[:] = [item for item in items
                    if getattr(item, "callspec", None) is None
                    or item.callspec.params.get("caller", caller) == caller]
    for absent in json.loads(os.environ.get("SBR_ABSENT", "[]")):
        for item in items:
            if re.search(absent["tests"], item.nodeid):
                item.add_marker(pytest.mark.skip(reason=absent["why"]))


def pytest_runtest_logstart(nodeid, location):
    del location
    _report(name=nodeid, status="started")


def pytest_runtest_logreport(report):
    if report.failed:
        _report(name=report.nodeid, status=FAILED, detail=_failure_text(report))
    elif report.skipped:
        _report(name=report.nodeid, status=SKIPPED, detail=_skip_reason(report))
    elif report.when == "call":
        _report(name=report.nodeid, status=PASSED)


def pytest_collectreport(report):
    if report.failed:
        _report(name=report.nodeid or "collection", status=FAILED, detail=_failure_text(report))
    elif report.skipped:
        _report(name=report.nodeid, status=SKIPPED, detail=_skip_reason(report))


def pytest_sessionfinish(session, exitstatus):
    del session, exitstatus
    _report(name="", status="finished")


# ---- what happened -------------------------------------------------------------------------------


class Results:
    """Outcome of each test, in order; a later worse report of the same test wins."""

    RANK = {PASSED: 0, SKIPPED: 1, FAILED: 2}

    def __init__(self, must_work, tell=False):
        self.must_work = must_work
        self.tell = tell  # of each failure at once, for whoever will not see the end
        self.tests = {}

    def add(self, suite, name, status, detail=""):
        if status == SKIPPED and self.must_work:
            status, detail = FAILED, f"skipped, but SBR_MUST_WORK=1: {detail}"
        key = (suite, name)
        known = self.tests.get(key)
        if self.tell and status == FAILED and (known is None or known[0] != FAILED):
            print(f"failed    {suite}: {name}", flush=True)
        if known is None or self.RANK[status] > self.RANK[known[0]]:
            self.tests[key] = (status, detail.strip())
        elif status == FAILED:
            self.tests[key] = (status, f"{known[1]}\n{detail}".strip())

    def count(self, status, suite=None):
        return sum(
            1 for (of, _), (is_, _) in list(self.tests.items()) if is_ == status and suite in (None, of)
        )

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
        self.start = 0.0

    def begin(self, suite):
        self.suite, self.start = suite, time.monotonic()
        self.show("")

    def show(self, doing):
        if self.live:
            text = f"{self.suite:<9} {self.results.line(self.suite)}  {doing}"
            width = os.get_terminal_size(sys.stdout.fileno()).columns or 80
            print(f"\r\033[K{text[: width - 1]}", end="", flush=True)

    def end(self):
        seconds = time.monotonic() - self.start
        lead = "\r\033[K" if self.live else ""
        text = f"{self.suite:<9} {self.results.line(self.suite)}"
        print(f"{lead}{text} ({seconds:.1f} s)", flush=True)


# ---- suites --------------------------------------------------------------------------------------


class Runner:
    def __init__(self, options):
        self.build = Path(options.build).resolve()
        self.test_build = Path(options.test_build).resolve()
        self.select = options.k
        self.results = Results(os.environ.get("SBR_MUST_WORK") == "1", tell=not sys.stdout.isatty())
        self.progress = Progress(self.results, sys.stdout.isatty())
        self.live = set()  # pytest, in groups of their own
        self.env = {
            **os.environ,
            "SBR_BUILD": str(self.build),
            "SBR_TEST_BUILD": str(self.test_build),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def selected(self, name):
        """For what is not pytest, EXPR is a part of the name."""
        return not self.select or self.select.lower() in name.lower()

    def run(self, suite):
        self.progress.begin(suite)
        if suite == "lint":
            self.run_lint(self.progress)
        elif suite == "hosts":
            self.run_hosts()
        elif suite == "warm":
            self.run_warm()
        else:
            if suite == "unit":
                self.run_meson(suite)
            if any((TESTS / suite).rglob("test_*.py")):
                self.run_pytest(suite)
        if not self.select and not any(of == suite for of, _ in list(self.results.tests)):
            self.results.add(suite, suite, SKIPPED, "the suite has no tests")
        self.progress.end()

    def start_lint(self):
        """Beside the other suites: it takes minutes of whatever processor time they leave.  Returns what waits for
        its end and says how it went."""
        progress = Progress(self.results, live=False)

        def run():
            os.setpriority(os.PRIO_PROCESS, 0, 19)  # of this thread, and of what it starts
            try:
                self.run_lint(progress)
            except Exception:  # pylint: disable=broad-exception-caught
                self.results.add("lint", "lint", FAILED, traceback.format_exc())

        thread = threading.Thread(target=run, daemon=True)
        progress.begin("lint")
        thread.start()

        def finish():
            thread.join()
            progress.end()

        return finish

    def run_lint(self, progress):
        sys.path.insert(0, str(TESTS / "lint"))
        import run_lint  # pylint: disable=import-outside-toplevel,import-error

        for name, check in run_lint.CHECKS.items():
            if not self.selected(name):
                continue
            progress.show(name)
            try:
                problems = check(self.build)
            except run_lint.Skip as reason:
                self.results.add("lint", name, SKIPPED, str(reason))
                continue
            self.results.add("lint", name, FAILED if problems else PASSED, "\n".join(problems))

    def run_hosts(self):
        """The core tests on emulated machines; they have only cgroup v2, which this one may not."""
        if os.geteuid() != 0:
            self.results.add("hosts", "hosts", SKIPPED, "only root can share directories with a guest")
            return
        sys.path.insert(0, str(TESTS / "hosts"))
        import check  # pylint: disable=import-outside-toplevel,import-error

        words = ["--build", str(self.build), "--test-build", str(self.test_build), "--quick"]
        options = check.arguments([*words, *(["-k", self.select] if self.select else []), *HOSTS])

        def say(outcome, _):
            self.progress.show(f"{outcome.host.name}: {outcome.doing}")

        for outcome in check.Matrix(options, say).run(HOSTS):
            for (host, name), (status, detail) in outcome.results.tests.items():
                self.results.add("hosts", f"{host}: {name}", status, detail)

    def run_meson(self, suite):
        """Runs the cmocka programs; each of their tests counts, by its line of TAP."""
        self.progress.show("meson test")
        log = self.build / f"meson-logs/sbr-{suite}.json"
        log.unlink(missing_ok=True)
        done = subprocess.run(
            [MESON, "test", "-C", self.build, "--suite", suite, "--logbase", f"sbr-{suite}"],
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
        programs = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        for program in map(json.loads, programs):
            self.add_program(suite, program)
        if done.returncode and not programs:  # the build is broken, say
            self.results.add(suite, "meson test", FAILED, done.stdout)

    def add_program(self, suite, program):
        name = program["name"].split(" / ")[-1]
        output = re.sub(r"^1\.\.\d+\n", "", program.get("stdout", ""), flags=re.M)
        everything = f"{output}\n{program.get('stderr', '')}".strip()
        failed, any_skip, end = False, False, 0
        found = list(re.finditer(r"^(not )?ok\b[ \d]*(?:- )?([^#\n]*)(?:# *(.*))?$", output, re.M))
        for match in found:
            directive = match[3] or ""
            skipped = directive.upper().startswith("SKIP")
            any_skip |= skipped
            # cmocka has the name where TAP has the reason; what the test printed is the reason.
            test = f"{name}: {match[2].strip() or directive[4:].strip()}"
            said = re.sub(r"^#.*$", "", output[end : match.start()], flags=re.M)
            end = match.end()
            if not self.selected(test):
                continue
            if skipped:
                reason = directive[4:].strip() if match[2].strip() else said
                self.results.add(suite, test, SKIPPED, reason.strip() or "no reason given")
            elif match[1]:
                failed = True
                self.results.add(suite, test, FAILED, everything)
            else:
                self.results.add(suite, test, PASSED)
        if failed or not self.selected(name):
            return
        # It also writes "not ok" before the skip, which meson takes for a failure.
        if program["result"] == "FAIL" and program["returncode"] == 0 and any_skip:
            return
        if program["result"] == "SKIP" and not found:
            self.results.add(suite, name, SKIPPED, everything or "no reason given")
        elif program["result"] not in ("OK", "EXPECTEDFAIL", "SKIP"):
            about = f"{program['result']}, exit status {program['returncode']}"
            self.results.add(suite, name, FAILED, f"{about}\n{everything}")
        elif not found:
            self.results.add(suite, name, PASSED)

    def run_warm(self):
        """Tests of other suites, their runs through an engine; then those of engines."""
        sys.path.insert(0, str(TESTS))
        os.environ.update({name: self.env[name] for name in ("SBR_BUILD", "SBR_TEST_BUILD", "SBR_TEST_CACHE")})
        import engine  # pylint: disable=import-outside-toplevel,import-error

        with tempfile.NamedTemporaryFile("r", encoding="ascii") as starts:
            os.chmod(starts.name, 0o666)
            try:
                with engine.behind_every_caller() as variables:
                    callers = engine.callers()
                    only = {"SBR_CALLER": callers[0]} if len(callers) == 1 else {}
                    self.run_warm_parts({**variables, **only, "SBR_STARTS": starts.name})
                self.results.add("warm", "the engines live on, and leave nothing", PASSED)
            except AssertionError as problem:
                self.results.add("warm", "the engines live on, and leave nothing", FAILED, str(problem))
            count = collections.Counter(starts.read())
        self.run_pytest("warm")
        said = f"{count['p']} runs were parked, {count['f']} forked, {count['c']} cold"
        print(f"          {said}")
        if not self.select:
            self.results.add("warm", "most runs were warm", PASSED if count["p"] > count["c"] else FAILED, said)

    def run_warm_parts(self, variables):
        """At the same time: they wait more than they work."""
        calls = [("warm", [TESTS / part / f"test_{name}.py" for name in files.split()] or [TESTS / part], select_them, variables)
                 for part, (files, select_them) in WARM.items()]
        with concurrent.futures.ThreadPoolExecutor(len(calls)) as pool:
            try:
                for done in [pool.submit(self.run_pytest, *words) for words in calls]:
                    done.result()
            except BaseException:
                for process in list(self.live):
                    os.killpg(process.pid, signal.SIGKILL)
                raise

    def run_pytest(self, suite, paths=None, select_them=None, variables=None):
        read_fd, write_fd = os.pipe()
        words = [PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "run"]
        chosen = " and ".join(f"({expression})" for expression in (select_them, self.select) if expression)
        words += ["--rootdir", ROOT, *(["-k", chosen] if chosen else []), *(paths or [TESTS / suite])]
        env = {**self.env, **(variables or {}), "SBR_REPORT_FD": str(write_fd)}
        env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(TESTS), env.get("PYTHONPATH")]))
        with tempfile.TemporaryFile() as output, open(read_fd, "rb", buffering=0) as reports:
            process = subprocess.Popen(  # its own group, so that all of it can be ended
                words,
                cwd=ROOT,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=[write_fd],
                start_new_session=True,
            )
            self.live.add(process)
            os.close(write_fd)
            try:
                doing = self.follow(suite, reports)
                status = process.wait(timeout=SILENCE_S if doing is None else 1)
            except BaseException as error:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                if not isinstance(error, subprocess.TimeoutExpired):
                    raise
                status = None
            finally:
                self.live.discard(process)
            if doing is None and status in (0, 5):  # all passed, none selected
                return
            if doing is None and status in (1, 2) and self.results.count(FAILED, suite):
                return  # the reports have told it
            output.seek(0)
            text = output.read().decode(errors="replace")
            about = f"silent for {SILENCE_S} s" if status is None else f"exit status {status}"
            self.results.add(suite, doing or "pytest", FAILED, f"pytest: {about}\n{text}")

    def follow(self, suite, reports):
        """Takes reports.  None when pytest says that it has finished, otherwise the name of the
        test that hangs or that took pytest down with it."""
        pending, doing = b"", "pytest"
        while select.select([reports], [], [], SILENCE_S)[0]:
            data = reports.read(65536)
            if not data:
                break
            *lines, pending = (pending + data).split(b"\n")
            for report in map(json.loads, lines):
                name = report["name"].removeprefix(f"tests/{suite}/")
                if report["status"] == "finished":
                    return None
                if report["status"] == "started":
                    doing = name
                else:
                    self.results.add(suite, name, report["status"], report.get("detail", ""))
            self.progress.show(doing)
        return doing


def print_end(results):
    for suite, name, detail in results.having(FAILED):
        print(f"\nFAILED {suite}: {name}")
        print("\n".join(f"    {line}".rstrip() for line in detail.splitlines()))
    skipped = results.having(SKIPPED)
    if skipped:
        print()
    for suite, name, detail in skipped:
        print(f"skipped {suite}: {name}: {' '.join(detail.split())}")
    if not results.tests:
        print("\nno test was run")
    print(f"\n{results.line()}")


def main():
    parser = argparse.ArgumentParser(description="Runs the test suites and counts.")
    parser.add_argument("--suite", action="append", choices=SUITES, help="may be repeated")
    parser.add_argument("--build", default=ROOT / "build", metavar="DIR")
    parser.add_argument("--test-build", default=ROOT / "build-test", metavar="DIR")
    parser.add_argument("-k", metavar="EXPR", help="only tests whose names match, as for pytest")
    options = parser.parse_args()

    sys.dont_write_bytecode = True
    runner = Runner(options)
    try:
        with tempfile.TemporaryDirectory(prefix="sbr-cache-") as caches:
            os.chmod(caches, 0o711)
            runner.env["SBR_TEST_CACHE"] = caches
            suites = [suite for suite in SUITES if not options.suite or suite in options.suite]
            finish = None
            if len(suites) > 1 and suites[0] == "lint":
                finish = runner.start_lint()
                suites.pop(0)
            for suite in suites:
                runner.run(suite)
            if finish:
                finish()
    except KeyboardInterrupt:
        print("\ninterrupted")
        return 130
    print_end(runner.results)
    return int(bool(runner.results.count(FAILED)) or not runner.results.tests)


if __name__ == "__main__":
    sys.exit(main())
