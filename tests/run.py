"""The one test runner: every suite, one list of failures, one line of counts.

Usage: run.py [--suite NAME]... [--also NAME]... [--build DIR] [--test-build DIR] [-k EXPR]
              [--workers N] [--durations] [--junit FILE]

A skip is listed with its reason; with SBR_MUST_WORK=1 it is a failure.  So is a suite that stays
silent for too long, and a run in which nothing ran.  The suites of pytest are run by several workers (shares.py).

The file is a pytest plugin as well (`-p run`): inside pytest it reports each test, as one line of
JSON, to the descriptor that the runner named in SBR_REPORT_FD.
"""

import argparse
import collections
import concurrent.futures
import contextlib
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
from pathlib import Path

from results import FAILED, PASSED, SKIPPED, Progress, Results, print_durations, print_end, write_junit

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
PYTHON = "/usr/bin/python3"
MESON = "/usr/bin/meson"
CHECK = ("lint", "unit", "golden", "fuzz", "blackbox", "escape", "warm")  # what `make check` runs
SUITES = (*CHECK, "hosts")
HOSTS = ("v2-root", "v2-user-delegated")  # all of them: make check-hosts
PLACES = ("SBR_BUILD", "SBR_TEST_BUILD", "SBR_TEST_CACHE")  # by which tests find what they test
SILENCE_S = int(os.environ.get("SBR_SILENCE", "300"))
WORKERS = 2
# A worker that finds nothing left of one of these goes on with the next.  Most of their tests wait: for a registry, for
# a limit of time, for an engine; so there are more workers than CPUs.  Some begin with the last, where Java takes long.
TOGETHER = ("blackbox", "escape", "warm")
MORE_WORKERS = 8
FEW_WORKERS = 3  # for chosen tests: each worker collects all of them first
FROM_THE_END = 2
AGAIN = 5  # so many failures may come from a busy machine; more of them do not
LONGEST_PART = 80  # of a test's name
SMALL = ("unit", "golden", "fuzz")  # pytest takes longer to start than their tests
# What the suite `warm` runs once more, with an engine behind every caller, beside its own tests.
WARM = {
    # The client writes JSON, whoever started the program.
    "blackbox": ("verdicts metrics signals output run denials endings", "not costly_to_write and not unchanged_in_json"),
    "escape": ("", "fails_inside or do_not_meet"),
}

if "SBR_REPORT_FD" in os.environ:
    import pytest

    if "SBR_TEST_CACHE" in os.environ:  # tests as pytest rewrites them: one worker's work is enough, until they change
        sys.pycache_prefix, sys.dont_write_bytecode = os.path.join(os.environ["SBR_TEST_BUILD"], "bytecode"), False

# ---- inside pytest -------------------------------------------------------------------------------


_costs = {"seconds": 0.0, "starts": 0, "cpu": 0.0}  # of the test that runs; of starts and CPU time, what was before it


def _cpu():
    """Seconds of CPU that this worker and the processes it waited for have had."""
    return sum(os.times()[:4])


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
    config.addinivalue_line("markers", "container: needs that tier, and starts runs by another way than support.py")
    os.set_inheritable(int(os.environ["SBR_REPORT_FD"]), False)


def pytest_runtest_setup(item):
    """Here and not above: the runner itself needs no build."""
    if item.get_closest_marker("container"):
        import support  # pylint: disable=import-outside-toplevel

        support.machine_gives.skip_if(support.lacks(support.available_callers()[0]))


def pytest_make_parametrize_id(config, val, argname):
    """A test that failed beside others is run again by its name, which must fit a command line and a report."""
    del config, argname
    return repr(val[:LONGEST_PART]) if isinstance(val, (str, bytes)) and len(val) > LONGEST_PART else None


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
    _costs["seconds"] += report.duration
    if report.failed:
        _report(name=report.nodeid, status=FAILED, detail=_failure_text(report))
    elif report.skipped:
        _report(name=report.nodeid, status=SKIPPED, detail=_skip_reason(report))
    elif report.when == "call":
        _report(name=report.nodeid, status=PASSED)
    if report.when == "teardown":
        starts = getattr(sys.modules.get("support"), "starts", 0)
        cpu = _cpu()
        _report(name=report.nodeid, status="ended", seconds=_costs["seconds"], starts=starts - _costs["starts"],
                cpu=cpu - _costs["cpu"])
        _costs.update(seconds=0.0, starts=starts, cpu=cpu)


def pytest_collectreport(report):
    if report.failed:
        _report(name=report.nodeid or "collection", status=FAILED, detail=_failure_text(report))
    elif report.skipped:
        _report(name=report.nodeid, status=SKIPPED, detail=_skip_reason(report))


def pytest_sessionfinish(session, exitstatus):
    del session, exitstatus
    _report(name="", status="finished")


# ---- suites --------------------------------------------------------------------------------------


class Runner:
    def __init__(self, options):
        self.build = Path(options.build).resolve()
        self.test_build = Path(options.test_build).resolve()
        self.select = options.k
        self.workers = options.workers
        self.results = Results(os.environ.get("SBR_MUST_WORK") == "1", tell=not sys.stdout.isatty())
        self.progress = Progress(self.results, sys.stdout.isatty())
        self.live = set()  # pytest, in groups of their own
        self.toolchains = None  # once they are being made ready
        self.waits = threading.Lock()
        self.env = {
            **os.environ,
            "SBR_BUILD": str(self.build),
            "SBR_TEST_BUILD": str(self.test_build),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def selected(self, name):
        """For what is not pytest, EXPR is a part of the name."""
        return not self.select or self.select.lower() in name.lower()

    def run_chosen(self, chosen):
        """Those that run together are at the place of the first of them; lint takes one processor, beside the others."""
        together = [suite for suite in TOGETHER if suite in chosen]
        with concurrent.futures.ThreadPoolExecutor(1) as beside:
            lint = [beside.submit(self.run, "lint")] if "lint" in chosen else []
            for suite in filter(chosen.__contains__, SUITES):
                if suite in together[:1]:
                    self.run_together(together)
                elif suite not in ("lint", *together):
                    self.run(suite)
            for done in lint:
                done.result()

    def run_together(self, suites):
        """Tests that look at the whole machine come last, when the engines of the others are gone."""
        with contextlib.ExitStack() as stack:
            own = [(suite, None, None, self.shares(stack)) for suite in suites]
            with self.engines() if "warm" in suites else contextlib.nullcontext() as variables:
                calls = own[:-1] + (self.warm_parts(stack, variables) if variables else []) + own[-1:]
                self.in_chains(self.chains([(*call[:3], {**call[3], "SBR_LATER": "1"}) for call in calls]))
            for call in own:
                if os.path.exists(os.path.join(call[3]["SBR_SHARES"], "later")):
                    self.run_pytest(*call)
        self.run_again()
        for suite in suites:
            self.end(suite)

    def run_again(self):
        """A few tests that failed beside others run once more with nothing beside them.  The end names those that
        pass then: they depend on the machine's load, which is a fault of the test or of the product."""
        failed = [(suite, name) for suite, name, _ in self.results.having(FAILED) if suite in TOGETHER]
        if len(failed) > AGAIN or not all("::" in name for _, name in failed):
            return
        for suite, name in failed:
            behind = name.startswith("tests/")  # of another suite, with an engine
            with self.engines(judge=False) if behind else contextlib.nullcontext({}) as variables:
                before = self.results.take_back(suite, name)
                self.run_pytest(suite, [ROOT / name if behind else TESTS / suite / name], None, variables)
                self.results.settle(suite, name, before)

    def chains(self, calls):
        workers = self.workers or (FEW_WORKERS if self.select else MORE_WORKERS)
        backwards = min(FROM_THE_END, workers // 2)
        return [calls] * (workers - backwards) + [calls[::-1]] * backwards

    def run(self, suite):
        self.progress.begin(suite)
        special = {
            "lint": self.run_lint,
            "unit": self.run_unit,
            "hosts": self.run_hosts,
        }
        special.get(suite, lambda: self.run_pytests(suite))()
        self.end(suite)

    def end(self, suite):
        if not self.select and not any(of == suite for of, _ in list(self.results.tests)):
            self.results.add(suite, suite, SKIPPED, "the suite has no tests")
        self.progress.end(suite)

    def run_unit(self):
        self.run_meson("unit")
        self.run_pytests("unit")

    def wait_for_toolchains(self):
        begin = time.monotonic()
        with self.waits:
            if self.toolchains:
                self.progress.show("making the toolchains ready", "blackbox")
                self.toolchains.wait()
                self.results.spent("blackbox", "waiting for toolchains", time.monotonic() - begin)

    def prepare_languages(self):
        sys.path.insert(0, str(TESTS))
        os.environ.update({name: self.env[name] for name in PLACES})
        import toolchains  # pylint: disable=import-outside-toplevel,import-error

        self.toolchains = toolchains.Toolchains()
        self.toolchains.start()

    def stop_preparing(self):
        if self.toolchains:
            self.toolchains.stop()

    def run_lint(self):
        sys.path.insert(0, str(TESTS / "lint"))
        import run_lint  # pylint: disable=import-outside-toplevel,import-error

        for name, check in run_lint.QUICK.items():
            if not self.selected(name):
                continue
            self.progress.show(name, "lint")
            begin = time.monotonic()
            try:
                problems = check(self.build)
            except run_lint.Skip as reason:
                self.results.add("lint", name, SKIPPED, str(reason))
                continue
            self.results.add("lint", name, FAILED if problems else PASSED, "\n".join(problems))
            self.results.spent("lint", name, time.monotonic() - begin)

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
            for name, seconds in outcome.times.items():
                self.results.spent("hosts", f"{outcome.host.name}: {name}", seconds)

    def run_meson(self, suite):
        """Runs the cmocka programs; each of their tests counts, by its line of TAP."""
        self.progress.show("meson test", suite)
        build = Path(os.environ.get("SBR_UNIT_BUILD", self.build))
        log = build / f"meson-logs/sbr-{suite}.json"
        log.unlink(missing_ok=True)
        done = subprocess.run(
            [MESON, "test", "-C", build, "--suite", suite, "--logbase", f"sbr-{suite}"],
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
        elif not programs:
            self.results.add(suite, "meson test", SKIPPED, "the build has no such programs: it was configured without cmocka")

    def add_program(self, suite, program):
        name = program["name"].split(" / ")[-1]
        self.results.spent(suite, name, program.get("duration", 0))
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

    @contextlib.contextmanager
    def engines(self, judge=True):
        """One behind every caller; gives the variables by which tests find them, if there can be engines."""
        sys.path.insert(0, str(TESTS))
        os.environ.update({name: self.env[name] for name in PLACES})
        import engine  # pylint: disable=import-outside-toplevel,import-error

        if not engine.callers():
            self.results.add("warm", "other suites behind an engine", SKIPPED, engine.support.lacks(None, "container"))
            yield None
            return
        with tempfile.NamedTemporaryFile("r", encoding="ascii") as starts:
            os.chmod(starts.name, 0o666)
            try:
                with engine.behind_every_caller() as variables:
                    callers = engine.callers()
                    only = {"SBR_CALLER": callers[0]} if len(callers) == 1 else {}
                    yield {**variables, **only, "SBR_STARTS": starts.name}
                self.results.add("warm", "the engines live on, and leave nothing", PASSED)
            except AssertionError as problem:
                self.results.add("warm", "the engines live on, and leave nothing", FAILED, str(problem))
            count = collections.Counter(starts.read())
        said = f"{count['p']} runs were parked, {count['f']} forked, {count['c']} cold"
        print(f"          {said}")
        if judge and not self.select:
            self.results.add("warm", "most runs were warm", PASSED if count["p"] > count["c"] else FAILED, said)

    def warm_parts(self, stack, variables):
        """Tests of other suites, their runs through an engine."""
        parts = []
        for part, (files, select_them) in WARM.items():
            paths = [TESTS / part / f"test_{name}.py" for name in files.split()] or [TESTS / part]
            parts.append(("warm", paths, select_them, {**variables, **self.shares(stack)}))
        return parts

    def run_pytests(self, suite):
        """The tests of a folder, by several workers: each takes what none has taken."""
        if not any((TESTS / suite).rglob("test_*.py")):
            return
        workers = self.workers or WORKERS
        if workers == 1 or suite in SMALL:
            self.run_pytest(suite)
            return
        with contextlib.ExitStack() as stack:
            self.in_chains([[(suite, None, None, self.shares(stack))]] * workers)

    @staticmethod
    def shares(stack):
        """A new place where workers note what they took."""
        return {"SBR_SHARES": stack.enter_context(tempfile.TemporaryDirectory(prefix="sbr-shares-"))}

    def in_chains(self, chains):
        """Each worker makes its calls one after the other, and waits for no other worker in between."""
        stopped = threading.Event()

        def one_by_one(calls):
            for call in calls:
                if call[0] == "blackbox":
                    self.wait_for_toolchains()
                if not stopped.is_set() and not os.path.exists(os.path.join(call[3]["SBR_SHARES"], "taken")):
                    self.run_pytest(*call)

        with concurrent.futures.ThreadPoolExecutor(len(chains)) as pool:
            workers = [pool.submit(one_by_one, calls) for calls in chains]
            try:
                for worker in workers:
                    worker.result()
            except BaseException:
                stopped.set()
                while concurrent.futures.wait(workers, 0.1).not_done:  # one may have begun meanwhile
                    for process in list(self.live):
                        with contextlib.suppress(ProcessLookupError):
                            os.killpg(process.pid, signal.SIGKILL)
                raise

    def run_pytest(self, suite, paths=None, select_them=None, variables=None):
        self.progress.begin(suite)
        read_fd, write_fd = os.pipe()
        words = [PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "run", "-p", "shares"]
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
                self.progress.leave(suite)
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
                elif report["status"] == "ended":
                    self.results.spent(suite, name, report["seconds"], report["starts"], report["cpu"])
                else:
                    self.results.add(suite, name, report["status"], report.get("detail", ""))
            self.progress.show(doing, suite)
        return doing


def arguments():
    parser = argparse.ArgumentParser(description="Runs the test suites and counts.")
    parser.add_argument("--suite", action="append", choices=SUITES, help=f"may be repeated; else {', '.join(CHECK)}")
    parser.add_argument("--also", action="append", choices=SUITES, default=[], help="one more, beside those")
    parser.add_argument("--build", default=ROOT / "build", metavar="DIR")
    parser.add_argument("--test-build", default=ROOT / "build-test", metavar="DIR")
    parser.add_argument("-k", metavar="EXPR", help="only tests whose names match, as for pytest")
    parser.add_argument("--workers", type=int, metavar="N", help=f"tests at the same time ({WORKERS}, in most suites {MORE_WORKERS})")
    parser.add_argument("--durations", action="store_true", help="list the slowest tests, and the sum for each suite")
    parser.add_argument("--junit", metavar="FILE", help="write the outcome of each test as JUnit's XML too")
    return parser.parse_args()


def main():
    options = arguments()
    for number in (signal.SIGTERM, signal.SIGINT):  # a script's child beside it ignores the latter, and so would the tests
        signal.signal(number, signal.default_int_handler)
    sys.dont_write_bytecode = True
    os.umask(0o022)  # an ordinary user has to read what tests make
    import readable  # pylint: disable=import-outside-toplevel

    if not readable.is_readable(ROOT):
        return readable.run_in_copy(ROOT, sys.argv[1:])
    runner = Runner(options)
    chosen = {*(options.suite or CHECK), *options.also}
    try:
        with tempfile.TemporaryDirectory(prefix="sbr-cache-") as caches:
            os.chmod(caches, 0o711)
            runner.env["SBR_TEST_CACHE"] = caches
            runner.env["SBR_COMPILED"] = os.path.join(caches, "compiled")
            runner.env["SBR_ALONE"] = os.path.join(caches, "alone")
            os.mkdir(runner.env["SBR_COMPILED"])
            os.mkdir(runner.env["SBR_ALONE"])
            try:
                if "blackbox" in chosen and not options.k:
                    runner.prepare_languages()
                runner.run_chosen(chosen)
            finally:
                runner.stop_preparing()
    except KeyboardInterrupt:
        print_end(runner.results)
        print("interrupted: not all tests ran")
        return 130
    if options.durations:
        print_durations(runner.results)
    if options.junit:
        write_junit(runner.results, options.junit)
    print_end(runner.results)
    return int(bool(runner.results.count(FAILED)) or not runner.results.tests)


if __name__ == "__main__":
    sys.exit(main())
