#!/usr/bin/python3
"""Projects of the registries with their own tests, and small ones with real runners: each case is one of `test`.
Small projects with real checkers and build tools: `verify` fails for what each finds, `build` has what each makes.

Usage: real_suites.py [NAME]...     needs the registries; the names are those of SUITES, CHECKS and BUILDS; without one, all
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.parse
import xml.etree.ElementTree as tree
import zipfile

import support

PATIENCE = 900  # seconds, for a slow registry or machine


def command(words, folder, check=True, **env):
    return subprocess.run([str(word) for word in words], cwd=folder, check=check, timeout=PATIENCE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **env})


def unpack(archive, folder):
    with tarfile.open(archive) as file:
        file.extractall(folder)  # of a pinned version
    return next(path for path in folder.iterdir() if path.is_dir())


def junit_cases(text):
    found = {}
    for case in tree.fromstring(text).iter("testcase"):
        ends = {end.tag for end in case} & {"failure", "error", "skipped"}
        found["::".join(filter(None, (case.get("classname"), case.get("name"))))] = (ends or {"passed"}).pop()
    return found


def python(folder):
    command(["/usr/bin/python3", "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", "--no-build-isolation",
             "toolz==0.12.1"], folder)
    place = unpack(next(folder.glob("*.tar.gz")), folder)
    command(["/usr/bin/python3", "-m", "pytest", "-q", "-o", "junit_family=xunit1", "--junitxml=../bare.xml"], place,
            check=False)
    return place, junit_cases((folder / "bare.xml").read_text())


def npm(folder):
    """With the package's own package.json: what it needs for its development is installed as a layer."""
    command(["npm", "pack", "--silent", "@fastify/error@4.1.0"], folder)
    place = folder / "package"
    unpack(next(folder.glob("*.tgz")), folder)
    command(["node", "--test", "--test-reporter=junit", "--test-reporter-destination=../bare.xml"], place, check=False)
    return place, {name.removeprefix("test::"): end for name, end in junit_cases((folder / "bare.xml").read_text()).items()}


def go_cases(text):
    events = [json.loads(line) for line in text.splitlines() if line.startswith(b"{")]
    ends = {"pass": "passed", "fail": "failure", "skip": "skipped"}
    return {f"{one['Package']}::{one['Test']}": ends[one["Action"]] for one in events
            if one.get("Test") and one["Action"] in ends}


def go(folder):
    module = json.loads(command(["go", "mod", "download", "-json", "github.com/hashicorp/go-multierror@v1.1.1"], folder,
                                GOMODCACHE=str(folder / "modules")).stdout)
    command(["cp", "-r", "--no-preserve=mode", module["Dir"], "project"], folder)
    command(["chmod", "-R", "u+w", "modules"], folder)
    place = folder / "project"
    if not (place / "go.mod").exists():
        command(["go", "mod", "init", "github.com/hashicorp/go-multierror"], place)
    return place, go_cases(command(["go", "test", "-json", "./..."], place, check=False).stdout)


def rust(folder):
    (folder / "Cargo.toml").write_text('[package]\nname = "x"\nversion = "0.1.0"\n[dependencies]\nsemver = "=1.0.20"\n')
    (folder / "src").mkdir()
    (folder / "src/lib.rs").touch()
    command(["cargo", "vendor", "-q"], folder)
    place = folder / "vendor/semver"
    (place / "Cargo.toml").write_text((place / "Cargo.toml").read_text() + "\n[workspace]\n")
    text = command(["cargo", "test", "--no-fail-fast"], place, check=False).stdout.decode()
    ends = {"ok": "passed", "FAILED": "failure", "ignored": "skipped"}
    lines = [line[5:].rsplit(" ... ", 1) for line in text.splitlines() if line.startswith("test ") and " ... " in line]
    command(["cargo", "clean"], place)
    return place, {name: ends[end] for name, end in lines}


POM = """<project><modelVersion>4.0.0</modelVersion><groupId>commons-cli</groupId><artifactId>commons-cli</artifactId>
<version>1.5.0</version>
<properties><maven.compiler.source>8</maven.compiler.source><maven.compiler.target>8</maven.compiler.target>
<project.build.sourceEncoding>UTF-8</project.build.sourceEncoding></properties>
<dependencies><dependency><groupId>junit</groupId><artifactId>junit</artifactId><version>4.13.2</version>
<scope>test</scope></dependency></dependencies>
<build><plugins><plugin><artifactId>maven-surefire-plugin</artifactId><version>3.2.5</version></plugin></plugins></build>
</project>
"""


def java(folder):
    """The archives of sources have no pom.xml; that of the project asks for plugins that check its licences."""
    place, client = folder / "project", ["mvn", "-q", "-B", f"-Dmaven.repo.local={folder}/repository"]
    for archive, target in (("sources", "main"), ("test-sources", "test")):
        command([*client, "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy", "-DoutputDirectory=.",
                 f"-Dartifact=commons-cli:commons-cli:1.5.0:jar:{archive}"], folder)
        with zipfile.ZipFile(folder / f"commons-cli-1.5.0-{archive}.jar") as file:
            file.extractall(place / "src" / target / "java")
    (place / "pom.xml").write_text(POM)
    command([*client, "test"], place, check=False)
    bare = {name: end for report in place.glob("target/surefire-reports/TEST-*.xml")
            for name, end in junit_cases(report.read_text()).items()}
    shutil.rmtree(place / "target")
    return place, bare


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


def sdist(name, version, *needed):
    """A source archive of Python's registry, tested bare in a `venv` with the project installed and what its tests need."""
    def make(folder):
        page = command(["curl", "-fsSL", f"https://pypi.org/simple/{name}/"], folder).stdout.decode()
        link = next(one for one in re.findall(r'href="([^"#]+)', page) if one.endswith(f"-{version}.tar.gz"))
        archive = folder / link.rsplit("/", 1)[1]
        command(["curl", "-fsSL", "-o", archive, urllib.parse.urljoin(f"https://pypi.org/simple/{name}/", link)], folder)
        place = unpack(archive, folder)
        shutil.copytree(place, folder / "bare")
        command(["/usr/bin/python3", "-m", "venv", "--without-pip", "environment"], folder)
        tool = folder / "environment/bin/python3"
        command(["/usr/bin/python3", "-m", "pip", "--python", tool, "install", "-q", "-e", "./bare", "pytest", *needed], folder)
        command([tool, "-m", "pytest", "-q", "-o", "junit_family=xunit1", "--junitxml=../bare.xml"], folder / "bare", check=False)
        return place, junit_cases((folder / "bare.xml").read_text())
    return make


def crate(name, version):
    """A crate as it was published, tested where it was unpacked."""
    def make(folder):
        command(["curl", "-fsSL", "-o", "archive.tar.gz", f"https://static.crates.io/crates/{name}/{name}-{version}.crate"], folder)
        place = unpack(folder / "archive.tar.gz", folder)
        shutil.copytree(place, folder / "bare")
        text = command(["cargo", "test", "--no-fail-fast"], folder / "bare", check=False).stdout.decode()
        ends = {"ok": "passed", "FAILED": "failure", "ignored": "skipped"}
        lines = [line[5:].rsplit(" ... ", 1) for line in text.splitlines() if line.startswith("test ") and " ... " in line]
        return place, {case: ends[end] for case, end in lines if end in ends}
    return make


IN_GROUP = "describe('group', () => { it('good', () => {}); it('bad', () => { throw new Error('no'); }); it.skip('late', () => {}); });\n"
SUITES = {
    # src layout, dependency groups, flit; a compiled module; a manifest that names files; fixtures in the tree
    "itsdangerous": sdist("itsdangerous", "2.2.0", "freezegun"), "markupsafe": sdist("markupsafe", "2.1.5"),
    "semver": crate("semver", "1.0.20"), "itoa": crate("itoa", "1.0.11"), "walkdir": crate("walkdir", "2.5.0"),
    "python": python, "npm": npm, "go": go, "rust": rust, "java": java, "junit": junit,
    "mocha": of_runner("mocha@10.8.2", IN_GROUP,
                       {"group::good": "passed", "group::bad": "failure", "group::late": "skipped"}),
    "jest": of_runner("jest@29.7.0", IN_GROUP,
                      {"group good": "passed", "group bad": "failure", "group late": "skipped"}),
    "vitest": of_runner("vitest@1.6.0", "import { describe, it } from 'vitest';\n" + IN_GROUP,
                        {f"a.test.js::group > {one}": end for one, end in
                         (("good", "passed"), ("bad", "failure"), ("late", "skipped"))}),
}
OURS = {"failed": "failure"}

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


def compare(name):
    with tempfile.TemporaryDirectory(prefix="sbr-suite-", dir=os.environ.get("TMPDIR")) as folder:
        place, bare = SUITES[name](pathlib.Path(folder))
        os.chmod(folder, 0o755)
        done = support.sandbox_run("test", "--json", place, timeout=PATIENCE)
        found = json.loads(done.stdout)
    ours = {one["name"]: OURS.get(one["outcome"], one["outcome"]) for one in found.get("cases", [])}
    different = sorted(key for key in bare.keys() | ours.keys() if bare.get(key) != ours.get(key))
    print(f"{name}: {found.get('runner')} bare {len(bare)} cases, ours {len(ours)}, different {len(different)}", flush=True)
    for key in different[:10]:
        print(f"  {key}: bare {bare.get(key)}, ours {ours.get(key)}")
    if not ours:
        print(done.stdout[-2000:].decode(errors="replace"), done.stderr[-500:].decode(errors="replace"))
    return bare and not different


def main():
    ways = {**dict.fromkeys(SUITES, compare), **dict.fromkeys(CHECKS, check), **dict.fromkeys(BUILDS, build)}
    if not all([ways[name](name) for name in sys.argv[1:] or ways]):
        sys.exit(1)


if __name__ == "__main__":
    main()
