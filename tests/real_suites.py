#!/usr/bin/python3
"""Projects of the registries with their own tests, and small ones with real runners: each case is one of `test`.
Small projects with real checkers and build tools: `verify` fails for what each finds, `build` has what each makes.

Usage: real_suites.py [NAME]...     needs the registries; the names are those of PROJECTS, SUITES, RUNNERS, CHECKS and BUILDS; without one, all
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile

import support
from suites import bare, sources
from suites.bare import junit_cases
from suites.sources import PATIENCE, command
from suites.table import PROJECTS

POM = """<project><modelVersion>4.0.0</modelVersion><groupId>commons-cli</groupId><artifactId>commons-cli</artifactId>
<version>1.5.0</version>
<properties><maven.compiler.source>8</maven.compiler.source><maven.compiler.target>8</maven.compiler.target>
<project.build.sourceEncoding>UTF-8</project.build.sourceEncoding></properties>
<dependencies><dependency><groupId>junit</groupId><artifactId>junit</artifactId><version>4.13.2</version>
<scope>test</scope></dependency></dependencies>
<build><plugins><plugin><artifactId>maven-surefire-plugin</artifactId><version>3.2.5</version></plugin></plugins></build>
</project>
"""


def java(name, version):
    """The archives of sources have no pom.xml; that of the project asks for plugins that check its licences."""
    def make(folder):
        place = sources.maven(f"{name}:{name}", version, folder)
        (place / "pom.xml").write_text(POM.replace("commons-cli", name).replace("1.5.0", version))
        return place, bare.copied(bare.maven)(place, folder)
    return make


LAUNCHER = "org.junit.platform:junit-platform-console-standalone:1.10.2"


def junit(folder):
    """The same package without Maven: its classes, its tests, and a jar of JUnit 4 in a directory."""
    place, client = folder / "project", ["mvn", "-q", "-B", f"-Dmaven.repo.local={folder}/repository"]
    copy = [*client, "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"]
    for archive in ("sources", "test-sources"):
        command([*copy, "-DoutputDirectory=.", f"-Dartifact=commons-cli:commons-cli:1.5.0:jar:{archive}"], folder)
        with zipfile.ZipFile(folder / f"commons-cli-1.5.0-{archive}.jar") as file:
            file.extractall(place)
    for jar in ("junit:junit:4.13.2", "org.hamcrest:hamcrest-core:1.3"):
        command([*copy, f"-DoutputDirectory={place}/lib", f"-Dartifact={jar}"], folder)
    command([*copy, "-DoutputDirectory=.", f"-Dartifact={LAUNCHER}"], folder)
    launcher, path = next(folder.glob("junit-platform-*.jar")), f"bare:{place}/lib/junit-4.13.2.jar:{place}/lib/hamcrest-core-1.3.jar"
    command(["javac", "-encoding", "UTF-8", "-nowarn", "-d", "bare", "-cp", path, *place.rglob("*.java")], folder)
    command(["java", "-jar", launcher, "execute", "--class-path", path, "--scan-class-path", "bare", "--reports-dir", "reports"],
            folder, check=False)
    return place, {name: end for report in folder.glob("reports/TEST-*.xml")
                   for name, end in junit_cases(report.read_text()).items()}


def of_runner(version, test, wanted):
    """A small project of our own with the real runner of this version."""
    def make(folder):
        name = version.split("@")[0]
        (folder / "package.json").write_text(json.dumps({"devDependencies": {name: version.split("@")[1]}}))
        (folder / "a.test.js").write_text(test)
        if name == "mocha":
            (folder / ".mocharc.json").write_text('{"spec": "*.test.js"}')
        return folder, wanted
    return make


IN_GROUP = "describe('group', () => { it('good', () => {}); it('bad', () => { throw new Error('no'); }); it.skip('late', () => {}); });\n"
SUITES = {
    "java": java("commons-cli", "1.5.0"), "codec": java("commons-codec", "1.11"), "junit": junit,
    "mocha": of_runner("mocha@10.8.2", IN_GROUP,
                       {"group::good": "passed", "group::bad": "failed", "group::late": "skipped"}),
    "jest": of_runner("jest@29.7.0", IN_GROUP,
                      {"group good": "passed", "group bad": "failed", "group late": "skipped"}),
    "vitest": of_runner("vitest@1.6.0", "import { describe, it } from 'vitest';\n" + IN_GROUP,
                        {f"a.test.js::group > {one}": end for one, end in
                         (("good", "passed"), ("bad", "failed"), ("late", "skipped"))}),
}
ENDS = {"good": "passed", "bad": "failed"}
THREE = {**ENDS, "late": "skipped"}
PYTHON = "def test_good():\n    pass\n\n\ndef test_bad():\n    assert 1 == 2\n"
OF_PYTHON = {f"checks.test_a::test_{name}": end for name, end in ENDS.items()}
# Small projects of our own with real runners: their files, what of `test` is given, and the cases.
RUNNERS = {
    "ava": ({"package.json": '{"devDependencies": {"ava": "6.1.3"}}',
             "test.mjs": "import test from 'ava';\ntest('good', t => t.pass());\ntest('bad', t => t.is(1, 2));\ntest.skip('late', t => t.pass());\n"},
            (), THREE),
    "jasmine": ({"package.json": '{"devDependencies": {"jasmine": "5.2.0"}}', "spec/support/jasmine.json": '{"spec_dir": "spec", "spec_files": ["*.spec.js"]}',
                 "spec/a.spec.js": "describe('group', () => { it('good', () => {}); it('bad', () => { throw new Error('no'); }); xit('late', () => {}); });\n"},
                (), {f"group {name}": end for name, end in THREE.items()}),
    "tap": ({"package.json": '{"devDependencies": {"tap": "16.3.10"}}',
             "test/a.js": "const t = require('tap');\nt.test('good', (t) => { t.ok(true); t.end(); });\nt.test('bad', (t) => { t.equal(1, 2); t.end(); });\n"
                          "t.test('late', { skip: true }, (t) => { t.end(); });\n"},
            (), {f"test/a.js: {name}": end for name, end in THREE.items()}),
    "karma": ({"package.json": '{"devDependencies": {"karma": "6.4.4", "karma-jasmine": "5.1.0", "karma-chrome-launcher": "3.2.0", "jasmine-core": "4.6.1"}}',
               "karma.conf.js": "module.exports = (config) => config.set({ frameworks: ['jasmine'], files: ['a.spec.js'] });\n",
               "a.spec.js": "describe('group', () => { it('good', () => {}); it('bad', () => { fail('no'); }); xit('late', () => {}); });\n"},
              (), {f"group {name}": end for name, end in THREE.items()}),
    "tox": ({"tox.ini": "[testenv]\nskip_install = true\ndeps = pytest\ncommands = pytest {posargs} checks\n", "checks/test_a.py": PYTHON},
            ("--runner", "tox"), OF_PYTHON),
    "nox": ({"noxfile.py": "import nox\n\n\n@nox.session\ndef tests(session):\n    session.install('pytest')\n    session.run('pytest', 'checks')\n",
             "checks/test_a.py": PYTHON}, ("--runner", "nox"), OF_PYTHON),
    "hatch": ({"pyproject.toml": "[tool.hatch.envs.default]\ndependencies = ['pytest']\n[tool.hatch.envs.default.scripts]\ntest = 'pytest {args:checks}'\n",
               "checks/test_a.py": PYTHON}, ("--runner", "hatch"), OF_PYTHON),
    "doctest": ({"a.py": '"""\n>>> 1 + 1\n2\n"""\n\n\ndef f():\n    """\n    >>> f()\n    1\n    """\n    return 2\n'}, ("--runner", "doctest"),
                {"a::a": "passed", "a::a.f": "failed"}),
    "nextest": ({"Cargo.toml": '[package]\nname = "a"\nversion = "0.1.0"\nedition = "2021"\n', ".config/nextest.toml": "",
                 "src/lib.rs": "#[test]\nfn good() {}\n#[test]\nfn bad() { assert_eq!(1, 2); }\n#[test]\n#[ignore]\nfn late() {}\n"}, ("--runner", "nextest"), THREE),
    "testthat": ({"DESCRIPTION": "Package: ab\nVersion: 1.0\nTitle: A\nSuggests: testthat\n", "NAMESPACE": "export(f)\n", "R/a.R": "f <- function() 1\n",
                  "tests/testthat/test-a.R": "test_that('good', expect_equal(f(), 1))\ntest_that('bad', expect_equal(f(), 2))\ntest_that('late', skip('no'))\n"},
                 (), {f"test-a.R: {name}": end for name, end in THREE.items()}),
    "rspec": ({"spec/a_spec.rb": "describe 'group' do\n  it('good') { expect(1).to eq 1 }\n  it('bad') { expect(1).to eq 2 }\n  xit('late') { }\nend\n"},
              (), {f"group {name}": end for name, end in THREE.items()}),
    "busted": ({"spec/a_spec.lua": "describe('group', function()\n  it('good', function() assert.equal(1, 1) end)\n  it('bad', function() assert.equal(1, 2) end)\n"
                                   "  pending('late')\nend)\n"}, (), {f"group {name}": end for name, end in THREE.items()}),
}
OURS = {"error": "failed"}

# What `verify` has to find: files, then the tool and a word of its output.
CHECKS = {
    "mypy": ({"mypy.ini": "[mypy]\n", "a.py": "x: int = 'text'\n"}, "Incompatible types"),
    "ruff": ({"ruff.toml": "", "a.py": "import os\n"}, "F401"),
    "flake8": ({".flake8": "[flake8]\n", "a.py": "import os\n"}, "F401"),
    "tsc": ({"tsconfig.json": '{"include": ["*.ts"]}', "a.ts": "const x: number = 'text';\n",
             "package.json": '{"devDependencies": {"typescript": "5.4.5"}}'}, "TS2322"),
    "eslint": ({"eslint.config.js": "module.exports = [{ rules: { 'no-debugger': 'error' } }];\n", "a.js": "debugger;\n",
                "package.json": '{"devDependencies": {"eslint": "9.9.1"}}'}, "no-debugger"),
}
# What `build` has to make.
BUILDS = {
    "build-tsc": ("tsc", {"tsconfig.json": '{"compilerOptions": {"outDir": "out"}, "include": ["*.ts"]}',
                          "a.ts": "export const x: number = 1;\n"}, "out/a.js"),
    "build-maven": ("maven", {"pom.xml": POM, "src/main/java/A.java": "public class A {}\n"}, "target/commons-cli-1.5.0.jar"),
}


def project(folder, files):
    for name, text in files.items():
        path = folder / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    folder.chmod(0o755)
    return folder / "project"


def check(name):
    files, word = CHECKS[name]
    with tempfile.TemporaryDirectory(prefix="sbr-suite-", dir=os.environ.get("TMPDIR")) as folder:
        place = project(pathlib.Path(folder), files)
        done = support.sandbox_run("verify", "--json", "--project", place, timeout=PATIENCE)
        steps = [step for step in json.loads(done.stdout).get("checks", []) if step["tool"] == name]
    found = len(steps) == 1 and steps[0]["outcome"] == "failed" and word in (steps[0]["output"] or "")
    print(f"{name}: {'found what is wrong' if found else done.stdout[-1500:].decode(errors='replace')}", flush=True)
    return found


def build(name):
    tool, files, artifact = BUILDS[name]
    with tempfile.TemporaryDirectory(prefix="sbr-suite-", dir=os.environ.get("TMPDIR")) as folder:
        place = project(pathlib.Path(folder), files)
        done = support.sandbox_run("build", "--json", place, timeout=PATIENCE)
        made = json.loads(done.stdout)
    paths = [one["path"] for one in made.get("artifacts", [])]
    good = (made.get("tool"), paths) == (tool, [artifact])
    print(f"{name}: {paths if good else done.stdout[-1500:].decode(errors='replace')}", flush=True)
    if made.get("changes_id"):
        support.sandbox_run("changes", "drop", made["changes_id"])
    return good


def runner(name):
    files, options, wanted = RUNNERS[name]
    with tempfile.TemporaryDirectory(prefix="sbr-suite-", dir=os.environ.get("TMPDIR")) as folder:
        place = project(pathlib.Path(folder), files)
        done = support.sandbox_run("test", "--json", *options, place, timeout=PATIENCE)
        found = json.loads(done.stdout)
    cases = {one["name"]: OURS.get(one["outcome"], one["outcome"]) for one in found.get("cases", [])}
    good = (found.get("runner"), cases) == (name, wanted)
    print(f"{name}: {'its cases are reported' if good else json.dumps(found)[-3000:]}", flush=True)
    return good


def fetch(name, folder):
    """The project's folder, and the cases of the bare runner."""
    if name in SUITES:
        return SUITES[name](folder)
    row = PROJECTS[name]
    place = row.source(row.name, row.version, folder)
    return place, bare.copied(row.bare)(place, folder)


def run(place, name):
    """The cases, the whole report, and how long it took."""
    began = time.monotonic()
    done = support.sandbox_run("test", "--json", *(PROJECTS[name].options if name in PROJECTS else ()), place, timeout=PATIENCE)
    found = json.loads(done.stdout)
    cases = bare.named((one["name"], OURS.get(one["outcome"], one["outcome"])) for one in found.get("cases", []))
    return cases, found, time.monotonic() - began


def explained(name, case):
    known = PROJECTS[name].different if name in PROJECTS else {}
    return next((why for pattern, why in known.items() if re.search(pattern, case)), None)


def compare(name):
    with tempfile.TemporaryDirectory(prefix="sbr-suite-", dir=os.environ.get("TMPDIR")) as folder:
        place, outside = fetch(name, pathlib.Path(folder))
        os.chmod(folder, 0o755)
        ours, found, _ = run(place, name)
        if name in PROJECTS:
            again, repeated, seconds = run(place, name)
            stages = [stage["name"] for stage in repeated.get("stages", [])]
        else:
            again, stages, seconds = ours, ["run"], 0
    different = sorted(key for key in outside.keys() | ours.keys() if outside.get(key) != ours.get(key))
    unexplained = [key for key in different if not explained(name, key)]
    print(f"{name}: {found.get('runner')} bare {len(outside)} cases, ours {len(ours)}, different {len(different)}, "
          f"unexplained {len(unexplained)}; again {','.join(stages)} {seconds:.1f} s", flush=True)
    for key in different[:10]:
        print(f"  {key}: bare {outside.get(key)}, ours {ours.get(key)}: {explained(name, key) or 'why?'}")
    if not ours:
        print(json.dumps(found)[-2000:])
    return outside and not unexplained and again == ours and stages[-1:] == ["run"] and "dependencies" not in stages


def attempt(way, name):
    """One that cannot even be fetched fails, and the others go on."""
    try:
        return way(name)
    except (subprocess.SubprocessError, OSError, StopIteration, json.JSONDecodeError) as error:
        said = (getattr(error, "stderr", None) or b"").decode(errors="replace")[-1500:]
        print(f"{name}: {error!r} {said}", flush=True)
        return False


def main():
    ways = {**dict.fromkeys([*PROJECTS, *SUITES], compare), **dict.fromkeys(RUNNERS, runner), **dict.fromkeys(CHECKS, check), **dict.fromkeys(BUILDS, build)}
    bad = [name for name in sys.argv[1:] or ways if not attempt(ways[name], name)]
    print(f"{len(sys.argv[1:] or ways) - len(bad)} passed, {len(bad)} failed" + "".join(f" {name}" for name in bad), flush=True)
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
