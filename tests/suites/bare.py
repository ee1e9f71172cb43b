"""Runners of tests without a sandbox: each gives the cases of a project by name.

A case has the same name as in the report of `test`, and ends `passed`, `failed` or `skipped`.  Each function gets the folder of a
copy of the project, and a folder beside it.
"""
import functools
import json
import os
import re
import shlex
import shutil
import xml.etree.ElementTree as tree

from suites.sources import command

ENDS = {"failure": "failed", "error": "failed", "skipped": "skipped"}


def named(pairs):
    """Cases by name; those of one name are numbered, and what is made up at each run is left out."""
    found = {}
    for name, end in pairs:
        name = re.sub(r"/tmp/sbr-suite-\w+/bare\b|/work\b", "…", name)
        name = re.sub(r"/tmp/[A-Za-z0-9_]+", "/tmp/…", name)
        key, n = name, 2
        while key in found:
            key, n = f"{name} [{n}]", n + 1
        found[key] = end
    return found


def junit_cases(text):
    pairs = []
    text = re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f]|&#x?[0-9a-fA-F]+;", "", text)  # which Meson and Node write, against the rules of XML
    for case in tree.fromstring(text.encode()).iter("testcase"):
        ends = [ENDS[end.tag] for end in case if end.tag in ENDS]
        pairs.append(("::".join(filter(None, (case.get("classname"), case.get("name")))), (ends or ["passed"])[0]))
    return named(pairs)


def lines(text):
    return (text.decode(errors="replace") if isinstance(text, bytes) else text).splitlines()


def tap_pairs(text):
    for line in lines(text):
        part = re.match(r"(not )?ok\b *(\d*) *(?:- )?(.*)", line)
        if not part:
            continue
        name, _, directive = re.sub(r"(?<!\\)#", "\0", part.group(3), count=1).partition("\0")
        late = directive.strip().lower()
        skipped = late.startswith("skip") or (part.group(1) and late.startswith("todo"))
        if skipped and not name.strip():
            name = directive.strip()[4:]
        yield name.strip().removeprefix("- "), "skipped" if skipped else "failed" if part.group(1) else "passed"


def tap_cases(text):
    return named(tap_pairs(text))


def python(*needed, run="-m pytest -q -o junit_family=xunit1 --junitxml={report}"):
    """In a `venv` with the project installed, editable, and what its tests need."""
    def cases(place, folder):
        report = folder / "bare.xml"
        command(["/usr/bin/python3", "-m", "venv", "--without-pip", "environment"], folder)
        tool = folder / "environment/bin/python3"
        command(["/usr/bin/python3", "-m", "pip", "--python", tool, "install", "-q", "-e", place, "pytest", *needed], folder)
        path = f"{tool.parent}:{os.environ['PATH']}"
        done = command([tool, *shlex.split(run.format(report=report))], place, check=False, PATH=path)
        return junit_cases(report.read_text()) if report.exists() else unittest_cases(done.stderr)
    return cases


def unittest_cases(text):
    ends = {"ok": "passed", "FAIL": "failed", "ERROR": "failed", "expected failure": "passed"}
    found = re.findall(r"^\w+ \(([\w.]+)\)(?:\n[^\n]*?)? \.\.\. (ok|FAIL|ERROR|skipped|expected failure)", text.decode(), re.M)
    return named((name, ends.get(end, "skipped")) for name, end in found)


def node(run, read):
    """With what package.json names, and its tools on the path."""
    def cases(place, folder):
        command(["npm", "install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts"], place)
        path = f"{place}/node_modules/.bin:{os.environ['PATH']}"
        done = command(["sh", "-c", run.format(report=folder / "bare.report")], place, check=False, PATH=path)
        report = folder / "bare.report"
        return read(report.read_text() if report.exists() else done.stdout)
    return cases


def node_cases(text):
    return {name.removeprefix("test::"): end for name, end in junit_cases(text).items()}


def jest_cases(text):
    ends = {"pending": "skipped", "todo": "skipped", "disabled": "skipped"}
    return {one["fullName"]: ends.get(one["status"], one["status"]) for file in json.loads(text)["testResults"]
            for one in file["assertionResults"]}


def go(place, folder):
    done = command(["go", "test", "-json", "./..."], place, check=False)
    ends = {"pass": "passed", "fail": "failed", "skip": "skipped"}
    events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith(b"{")]
    return {f"{one['Package']}::{one['Test']}": ends[one["Action"]] for one in events if one.get("Test") and one["Action"] in ends}


def cargo(place, folder):
    done = command(["cargo", "test", "--no-fail-fast"], place, check=False)
    found = re.findall(r"^test (.*) \.\.\. (ok|FAILED|ignored)", done.stdout.decode(), re.M)
    return {name: {"ok": "passed", "FAILED": "failed", "ignored": "skipped"}[end] for name, end in found}


def maven(place, folder):
    command(["mvn", "-q", "-B", f"-Dmaven.repo.local={folder}/repository", "-fae", "test"], place, check=False)
    return {name: end for report in place.rglob("surefire-reports/TEST-*.xml") for name, end in junit_cases(report.read_text()).items()}


def shell(text, read):
    """Commands of the project's own build."""
    def cases(place, folder):
        report = folder / "bare.report"
        done = command(["sh", "-c", text.format(report=report, build=folder / "build")], place, check=False)
        return read(report.read_text() if report.exists() else done.stdout)
    return cases


ctest = shell("cmake -S . -B {build} -DBUILD_TESTING=ON && cmake --build {build} -j 2 && ctest --test-dir {build} --output-junit {report}", junit_cases)
meson = shell("meson setup {build} . && meson compile -C {build} && meson test -C {build} --no-rebuild; cp {build}/meson-logs/testlog.junit.xml {report}",
              junit_cases)


def automake_cases(text):
    ends = {"PASS": "passed", "XFAIL": "passed", "SKIP": "skipped"}
    return {name.strip(): ends.get(end, "failed") for end, name in
            re.findall(r"^(PASS|FAIL|SKIP|XFAIL|XPASS|ERROR): (.*)", "\n".join(lines(text)), re.M)}


automake = shell("{{ [ -x configure ] || autoreconf -fi; }} && ./configure && make -k check", automake_cases)


def prove_cases(text):
    pairs, file = [], None
    for line in lines(text):
        start = re.match(r"(\S+\.t) \.+ ?(skipped)?", line)
        if start:
            file = start.group(1)
        if start and start.group(2):
            pairs.append((file, "skipped"))
        numbered = re.match(r"(?:not )?ok (\d+)", line)
        pairs += [(f"{file}: {name or numbered.group(1)}", end) for name, end in tap_pairs(line) if numbered]
    return named(pairs)


prove = shell("{{ [ ! -f Build.PL ] || {{ perl Build.PL && ./Build; }}; [ ! -f Makefile.PL ] || {{ perl Makefile.PL && make; }}; }} > /dev/null 2>&1 < /dev/null; "
              "prove -v -b -l t", prove_cases)


def rspec_cases(text):
    ends = {"pending": "skipped"}
    return {re.sub("[\n#]", " ", one["full_description"]): ends.get(one["status"], one["status"]) for one in json.loads(text)["examples"]}


rspec = shell("rspec -Ilib --format json --out {report}", rspec_cases)


def minitest_cases(text):
    ends = {".": "passed", "S": "skipped"}
    return {name: ends.get(end, "failed") for name, end in re.findall(r"^(.*) = [0-9.]+ s = ([.FES])$", "\n".join(lines(text)), re.M)}


minitest = shell("ruby -Ilib -Itest -e 'Dir[\"test/**/{{test_*,*_test}}.rb\"].each {{ |f| require File.expand_path(f) }}' -- -v", minitest_cases)
phpunit = shell("[ -e vendor/autoload.php ] || composer dump-autoload --dev -q -n; phpunit --bootstrap vendor/autoload.php --log-junit {report}", junit_cases)
busted = shell("busted -o TAP", tap_cases)


def copied(run):
    """The runner in a copy, so that the project stays as it came."""
    @functools.wraps(run)
    def cases(place, folder):
        shutil.copytree(place, folder / "bare", symlinks=True)
        return run(folder / "bare", folder)
    return cases
