"""Programs in each language and what they must do: blackbox/languages, read and judged for the suites that run them.

A language is a folder of languages/ with its programs and a table, cases.yaml; what all have in common is
in languages/common.yaml, which also says what a case may hold.  A new language is a new folder."""
import glob
import json
import os
import pathlib
import pwd
import re
import signal

import pytest

import support
import yaml_text

FOLDER = pathlib.Path(__file__).resolve().parent / "blackbox" / "languages"
COMMON = yaml_text.load((FOLDER / "common.yaml").read_text())
SHIPPED = {language["name"]: language for language in
           (yaml_text.load(path.read_text())
            for path in sorted(pathlib.Path(support.REPO, "languages").glob("*.yaml")))}

STAGES = ["prepare", "dependencies", "check", "compile", "run"]
DEADLINE = 240  # a first run may prepare its toolchain
STATUS = {"timeout": 124, "memory_limit": 137, "output_limit": 137}


class Table:
    """The cases of one language, complete."""

    def __init__(self, folder):
        given = yaml_text.load((folder / "cases.yaml").read_text())
        self.folder = folder
        self.language = given.get("language", folder.name)
        self.extension = given["extension"]
        self.main = given.get("main", f"main{self.extension}")  # of the programs of several files
        self.by_name = given.get("by_name", False)  # its extension belongs to another language
        self.compiles = given.get("compiles", False)
        self.without = given.get("without", {})
        self.dependencies = given.get("dependencies", {})
        self.refused = given.get("refused_dependency")
        self.cases = {name: {**COMMON.get(name, {}), **(case or {})}
                      for name, case in given["cases"].items()}

    def text(self, path):
        return (self.folder / path).read_text()


TABLES = {table.language: table for table in
          (Table(path.parent) for path in sorted(FOLDER.glob("*/cases.yaml")))}


# ---- what is there -------------------------------------------------------------------------------


def uid_of(caller):
    return support.ORDINARY_UID if caller == support.Callers.USER and os.geteuid() == 0 else os.geteuid()


def open_to(caller, path):
    """Root's own toolchains are closed to others."""
    if uid_of(caller) == os.geteuid():
        return os.access(path, os.X_OK)
    path = pathlib.Path(path).resolve()
    return all(place.stat().st_mode & 0o001 for place in [path, *path.parents])


def need(table, caller):
    """Skips when the language is not installed for this caller."""
    shipped = SHIPPED[table.language]
    home = pwd.getpwuid(uid_of(caller)).pw_dir
    found = [path for pattern in shipped["binaries"]
             for path in glob.glob(re.sub(r"^~", home, pattern)) if open_to(caller, path)]
    if not found:
        pytest.skip(f"{table.language} is not installed for {caller}: apt-get install {shipped['package']}")


def clients_own_settings():
    """Variables in which the clients of registries look for their configuration."""
    wanted = {name for language in SHIPPED.values() for stage in ("prepare", "install")
              for name in language.get(stage, {}).get("config_env", [])}
    return {name: os.environ[name] for name in wanted if name in os.environ}


def surroundings_of(caller):
    """Options of result_of and sandbox_run that say who calls, and where things are kept."""
    home = pwd.getpwuid(uid_of(caller)).pw_dir
    env = {"HOME": home, **clients_own_settings()}
    return {"caller": caller, "env": env, "timeout": DEADLINE}


# ---- calling -------------------------------------------------------------------------------------


def filled(text, host):
    for mark, value in host.items():
        text = text.replace(mark, value)
    return text


def main_first(table, folder):
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return sorted(paths, key=lambda path: path.name != table.main)


def given(table, case):
    """The words that hand over the program, and what is read from stdin for it."""
    by_name = ["--lang", table.language]
    if "request" in case:
        folder = table.folder / case["request"]
        files = [{"path": str(path.relative_to(folder)), "content": path.read_text()}
                 for path in main_first(table, folder)]
        request = {"language": table.language, "files": files}
        return ["--request", "-"], json.dumps(request).encode()
    if "code" in case:
        return [*by_name, "--code", case["code"]], None
    if "files" in case:
        files = main_first(table, table.folder / case["files"])
        return [*(by_name if table.by_name else []), *(w for path in files for w in ("--file", path))], None
    path = case.get("directory") or case["program"] + table.extension
    return [*(by_name if table.by_name else []), table.folder / path], None


def words_of(table, case, host):
    """The words behind `run`, and stdin."""
    program, stdin = given(table, case)
    words = [*case.get("options", []), *(w for dep in case.get("deps", []) for w in ("--dep", dep))]
    for name, value in case.get("env", {}).items():
        words += ["--env", f"{name}={filled(value, host)}"]
    words += program
    if "args" in case:
        words += ["--", *(filled(word, host) for word in case["args"])]
    return words, case.get("stdin", "").encode() if stdin is None else stdin


def for_caller(case, caller):
    return {**case, **case.get("user", {})} if caller == support.Callers.USER else case


# ---- judging -------------------------------------------------------------------------------------


def shown(result):
    """The part of a result that tells what went wrong."""
    kept = ("outcome", "exit_code", "signal", "explanation", "stdout", "stderr", "diagnosis", "error", "_stderr")
    stages = [{name: stage.get(name) for name in ("name", "outcome", "exit_code", "stdout", "stderr")}
              for stage in result.get("stages", [])]
    return json.dumps({**{name: result.get(name) for name in kept}, "stages": stages},
                      indent=1, ensure_ascii=False, default=repr)


def check_stages(result, ran):
    names = [stage["name"] for stage in result["stages"]]
    assert names == sorted(set(names), key=STAGES.index), shown(result)
    assert ("run" in names) == ran, shown(result)
    for stage in result["stages"]:
        assert stage["outcome"] and "exit_code" in stage, stage
        assert stage["metrics"]["wall_ms"] >= 0 and stage["limits"]["memory_bytes"], stage
        if stage["name"] != "run":
            assert {"stdout", "stderr"} <= stage.keys(), stage
    return {stage["name"]: stage for stage in result["stages"]}


def check_output(table, case, result):
    expected = table.text(case["stdout_file"]) if "stdout_file" in case else case.get("stdout")
    if expected is not None:
        assert result["stdout"] == expected, shown(result)
    if "stdout_match" in case:
        assert re.search(case["stdout_match"], result["stdout"], re.M), shown(result)
    expected = case.get("stderr", "")
    if "stderr_match" in case:
        assert re.search(case["stderr_match"], result["stderr"], re.M), shown(result)
    elif expected is not None:
        assert result["stderr"] == expected, shown(result)


def check_stage_words(case, result, stages):
    name = case["stage"] if case["stage"] in stages else "compile"
    assert name in stages, shown(result)
    said = stages[name]["stdout"] + stages[name]["stderr"]
    assert re.search(case["says"], said, re.M), shown(result)


def check_diagnosis(case, result):
    found = result.get("diagnosis")
    if "diagnosis" not in case:
        return
    assert found, shown(result)
    for name, value in case["diagnosis"].items():
        if name.endswith("_match"):
            assert re.search(value, found[name.removesuffix("_match")] or ""), shown(result)
        else:
            assert found[name] == value, shown(result)
    if found.get("file") and found.get("line"):
        assert found["context"] and not found["file"].startswith("/"), shown(result)


def check(table, case, result):
    assert "error" not in result, shown(result)
    outcome = case.get("outcome", "exited")
    assert result["outcome"] == outcome, shown(result)
    if case.get("exit", 0) is not None:
        assert result["exit_code"] == case.get("exit", 0), shown(result)
    if outcome == "signaled":
        assert result["signal"] == case["signal"], shown(result)
        assert result["_status"] == 128 + signal.Signals[case["signal"]], shown(result)
    else:
        assert result["_status"] == STATUS.get(outcome, case.get("exit", 0)), shown(result)
    assert result["success"] == (outcome == "exited" and result["exit_code"] == 0), shown(result)
    stages = check_stages(result, outcome != "compile_failed" and "--check" not in case.get("options", []))
    check_output(table, case, result)
    if "says" in case:
        check_stage_words(case, result, stages)
    check_diagnosis(case, result)
    if outcome == "output_limit":
        assert result["stdout_truncated"] and len(result["stdout"]) == result["limits"]["output_bytes"]
    if outcome == "memory_limit":  # without control groups it is noticed a little late
        asked = case["options"][case["options"].index("--memory") + 1]
        assert result["memory_used"] < 4 * int(asked.removesuffix("m")) << 20, shown(result)
