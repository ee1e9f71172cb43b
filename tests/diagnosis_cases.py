"""The mistakes of blackbox/diagnosis, each with the diagnosis that it must get, and what was recorded of them.

A table, NAME.yaml, holds programs; recorded/NAME.yaml what the real tools said of each, written by record_diagnosis.py.
The tests of the suite `golden` give those words to the diagnosis; cases marked `live` go through the tools every time.
"""
import functools
import pathlib

import support
from support import result_of
import yaml_text

CASES = pathlib.Path(__file__).resolve().parent / "blackbox" / "diagnosis"
RECORDED = CASES / "recorded"
LIVE_CASES = 2  # of each table, at least
COMPILE_SLOWLY = 600  # seconds: the first run of a language prepares its toolchain
PATIENCE = ("--timeout", "5m")  # Go takes half a minute of a busy machine to show an endless recursion
SOURCES = {language["name"]: language["source"] for language in
           (yaml_text.load(path.read_text()) for path in pathlib.Path(support.REPO, "languages").glob("*.yaml"))}


@functools.cache
def tables():
    """By the name of the file: the language and its cases."""
    return {path.stem: yaml_text.load(path.read_text()) for path in sorted(CASES.glob("*.yaml"))}


@functools.cache
def recorded(table):
    """By the name of the case: what was said, where, and how it ended."""
    path = RECORDED / f"{table}.yaml"
    return yaml_text.load(path.read_text()) if path.exists() else {}


def main_of(language, case):
    return next(iter(case["files"])) if "files" in case else SOURCES[language]


def run(language, case, folder):
    """The result of the program, which the folder has room for."""
    options = ["--lang", language, *PATIENCE, *case.get("options", [])]
    if "files" not in case:
        return result_of("run", *options, "--code", case["code"], timeout=COMPILE_SLOWLY)
    for path, text in case["files"].items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return result_of("run", *options, folder, timeout=COMPILE_SLOWLY)


# ---- what must come out --------------------------------------------------------------------------


def check_place(case, found, main):
    assert found["file"] == case.get("file", main), found
    for part in ("line", "column"):
        if part in case:
            assert found[part] == case[part], (part, found)
    if found["file"] and found["line"]:
        marked = [line for line in found["context"].split("\n") if line.startswith(">")]
        assert [int(line[1:5]) for line in marked] == [found["line"]], found
    for frame in found["frames"]:
        assert not frame["file"].startswith(("/work/", "/driver/")), frame


def check_words(case, found):
    if "message" in case:
        assert case["message"] in found["message"], found
    if "suggestion" in case:
        assert any(part in (found["suggestion"] or "") for part in case["suggestion"].split("|")), found
    if "context" in case:
        assert found["context"] == case["context"], found
    if "frames" in case:
        frames = [[frame["file"], frame["line"], frame["function"]] for frame in found["frames"]]
        assert frames[:len(case["frames"])] == case["frames"], found
    assert found["link"].startswith("https://"), found


def check(language, case, found):
    assert found["type"] in case["type"].split("|"), found
    check_place(case, found, main_of(language, case))
    check_words(case, found)
