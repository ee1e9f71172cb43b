"""`sandbox-run languages`: what there is, where, of which version, and whether it works."""
import json
import os
import pathlib
import re

import pytest

import support
from support import sandbox_run
from waiting import on_terminal
import yaml_text

FILES = {path.stem: yaml_text.load(path.read_text())
         for path in pathlib.Path(support.REPO, "languages").glob("*.yaml")}
NAMES = sorted(language["name"] for language in FILES.values())
BY_NAME = {language["name"]: language for language in FILES.values()}
SLOW = 300  # seconds: every toolchain of this machine is asked for its version


@pytest.fixture
def cache(caller, folder):
    """A store of the caller's own, with nothing in it."""
    path = folder / "cache"
    path.mkdir(mode=0o700)
    if caller == support.Callers.USER and os.geteuid() == 0:
        os.chown(path, support.ORDINARY_UID, support.ORDINARY_UID)
    return path


@pytest.fixture
def languages(caller, cache):
    """Calls the command with that store; its JSON when --json is among the words."""
    def call(*words, status=0, **kwargs):
        done = sandbox_run("languages", *words, caller=caller, timeout=SLOW,
                           env={"SANDBOX_RUN_CACHE": str(cache), "HOME": str(cache)}, **kwargs)
        assert done.returncode == status, (done.stdout, done.stderr)
        if "--json" not in words:
            return done.stdout.decode(), done.stderr.decode()
        found = json.loads(done.stdout)
        return found["languages"] if status == 0 else found
    return call


def test_every_language_is_listed(languages):
    text, said = languages("--no-selftest")
    lines = text.splitlines()
    assert re.match(r"LANGUAGE +ALIASES +VERSION +WHERE +SELFTEST$", lines[0])
    assert [line.split()[0] for line in lines[1:] if not line.startswith(" ")] == NAMES
    assert said == "" and "\x1b" not in text
    assert all(line == line.rstrip() for line in lines)


def test_the_json_form_says_what_the_files_say(languages):
    found = languages("--no-selftest", "--json")
    assert [language["name"] for language in found] == NAMES
    for language in found:
        file = BY_NAME[language["name"]]
        assert set(language) == {"name", "about", "aliases", "extensions", "installed", "package",
                                 "versions", "selftest", "file", "release", "sessions"}
        assert language["release"] == file.get("release")
        assert language["about"] == file["about"] and language["package"] == file["package"]
        assert language["aliases"] == file.get("aliases", [])
        assert language["extensions"] == file.get("extensions", [])
        assert language["selftest"] == {"status": "not_run", "message": None}
        assert language["installed"] == bool(language["versions"])
        assert language["file"] == "builtin"
        for toolchain in language["versions"]:
            assert os.access(toolchain["path"], os.X_OK)
            assert re.fullmatch(r"\d+(\.\d+)*", toolchain["version"] or "0")


def test_a_language_that_is_not_installed_shows_its_package(languages, folder):
    path = folder / "absent.yaml"
    path.write_text("name: absent\nabout: not here\nmains: [m]\nbinaries: [/usr/bin/no-such-tool]\n"
                    "package: absent-tools\nsource: m\nrun: [\"${binary}\"]\n"
                    "selftest: {code: x, stdout: x, exit: 0}\n")
    found = [language for language in languages("--language-file", path, "--no-selftest", "--json")
             if language["name"] == "absent"]
    assert [(language["installed"], language["package"]) for language in found] == [(False, "absent-tools")]
    text, _ = languages("--language-file", path, "absent")
    assert "not installed: apt-get install absent-tools\n" in text


def test_one_language_is_found_by_its_name_and_its_alias(languages):
    assert languages("python", "--no-selftest") == languages("py", "--no-selftest")
    text, _ = languages("python", "--no-selftest")
    assert "/usr/bin/python3" in text and "not run" in text and "bash" not in text


def test_the_version_is_the_one_that_the_tool_prints(languages):
    python, = languages("python", "--json", "--no-selftest")
    versions = {toolchain["path"]: toolchain["version"] for toolchain in python["versions"]}
    done = sandbox_run("run", "--allow-degraded", "--lang", "python", "--code",
                       "import platform; print(platform.python_version())")
    assert versions["/usr/bin/python3"] == done.stdout.decode().strip()


def test_a_selftest_runs_and_its_result_is_remembered(languages, cache):
    def notes():
        return {path: path.stat().st_ino for path in cache.rglob("*")
                if path.is_file() and b"passes" in path.read_bytes()}

    assert languages("sh", "--json")[0]["selftest"]["status"] == "not_run"
    assert languages("sh", "--json", "--selftest")[0]["selftest"] == {"status": "passes", "message": None}
    before = notes()
    assert len(before) == 1
    assert languages("sh", "--json", "--no-selftest")[0]["selftest"]["status"] == "passes"
    assert languages("sh", "--json", "--selftest")[0]["selftest"]["status"] == "passes"
    assert notes() == before
    assert languages("sh", "--json", "--fresh")[0]["selftest"]["status"] == "passes"
    after = notes()
    assert after.keys() == before.keys() and after != before


SLOW_LANGUAGE = """
name: slow
about: takes its time
extensions: [.slow]
mains: [main.slow]
source: main.slow
binaries: [/usr/bin/sh]
package: dash
prepare: {run: [sh, -c, "echo made > ${prepared}/made; sleep 1.2"]}
run: [sh, "${source}", "${prepared}"]
selftest: {code: "echo fine", stdout: "fine\\n", exit: 0}
"""


def test_languages_are_made_ready_ahead_and_the_seconds_are_shown(caller, cache, folder):
    (folder / "slow.yaml").write_text(SLOW_LANGUAGE)
    env = {"SANDBOX_RUN_CACHE": str(cache), "HOME": str(cache)}
    words = ["languages", "slow", "--language-file", str(folder / "slow.yaml"), "--prepare"]
    status, seen = on_terminal(*words, caller=caller, env=env)
    assert status == 0 and b"slow: making the language ready, once ... 1 s" in seen, seen
    status, seen = on_terminal("run", *words[2:4], "-l", "slow", "-c", "echo fine", caller=caller, env=env)
    assert status == 0 and b"making the language ready" not in seen, seen


def test_a_first_run_shows_language_stage_and_seconds_and_a_pipe_gets_one_line(caller, cache, folder):
    (folder / "slow.yaml").write_text(SLOW_LANGUAGE)
    env = {"SANDBOX_RUN_CACHE": str(cache), "HOME": str(cache)}
    words = ["run", "--language-file", str(folder / "slow.yaml"), "-l", "slow", "-c", "echo fine"]
    status, seen = on_terminal(*words, caller=caller, env=env)
    assert status == 0 and b"slow: making the language ready, once ... 1 s" in seen, seen
    assert seen.rpartition(b"\x1b[K")[2].startswith(b"fine")
    done = sandbox_run(*words, caller=caller, env={**env, "SANDBOX_RUN_CACHE": str(cache / "other")})
    assert (done.stdout, done.stderr) == (b"fine\n", b"sandbox-run: slow: making the language ready, once\n")
    done = sandbox_run(*words, "--quiet", caller=caller, env={**env, "SANDBOX_RUN_CACHE": str(cache / "third")})
    assert (done.stdout, done.stderr) == (b"fine\n", b"")


def test_a_version_can_be_asked_for(languages):
    python, = languages("python", "--json", "--no-selftest")
    version = python["versions"][0]["version"]
    for wanted in (version, version.rsplit(".", 1)[0]):
        one, = languages(f"python@{wanted}", "--json", "--selftest")
        assert one["versions"][0]["version"] == version and len(one["versions"]) == 1
        assert one["selftest"]["status"] == "passes"


def test_a_version_that_is_not_there_is_answered_with_those_that_are(languages):
    _, said = languages("python@99.1", status=127)
    assert "there is no python 99.1 here; found 3." in said and "(/usr/bin/python3)" in said
    assert len(said.splitlines()) == 1
    error = languages("python@99.1", "--json", status=127)
    assert "there is no python 99.1 here" in json.dumps(error)
    _, said = languages("python@three", status=125)
    assert "'three' is not a version of python" in said


@pytest.mark.parametrize("words, status, part", [
    (["pyton"], 127, "there is no language 'pyton'; did you mean 'python'? `sandbox-run languages` lists them"),
    (["klingon"], 127, "there is no language 'klingon'"),
    (["python", "bash"], 125, "one language"),
    (["--fesh"], 125, "did you mean --fresh?"),
    (["--no-selftest", "--fresh"], 125, "--no-selftest does not go together with"),
])
def test_mistakes_are_answered_with_advice(languages, words, status, part):
    text, said = languages(*words, status=status)
    assert part in said and text == ""


def test_a_terminal_gets_colours_and_progress(caller, cache):
    env = {"SANDBOX_RUN_CACHE": str(cache), "HOME": str(cache)}
    status, seen = on_terminal("languages", "sh", "--selftest", caller=caller, env=env)
    assert status == 0 and b"sh: running its selftest ..." in seen and b"\x1b[32mpasses\x1b[0m" in seen
    status, seen = on_terminal("languages", "sh", "--no-color", caller=caller, env=env)
    assert status == 0 and b"passes" in seen and b"\x1b[32m" not in seen


def test_the_version_of_typescript_is_not_that_of_node():
    """The language's file names the one that its driver fetches."""
    release = BY_NAME["typescript"]["release"]
    fetched = (support.REPO / "languages" / "drivers/typescript-prepare.cjs").read_text()
    assert re.search(r"tsc: \[.*'(.*)'\]", fetched)[1] == release
    shown = sandbox_run("languages", "typescript", "--no-selftest").stdout.decode()
    if "not installed" in shown:
        pytest.skip("no Node here")
    assert re.search(rf"typescript +ts +{release} \(node [\d.]+\) +/", shown), shown
