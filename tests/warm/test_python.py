"""Python in a worker that was forked before its program was known: every byte is that of an interpreter started for it."""
import pathlib
import re

import pytest

import yaml_text

PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs" / "python"
COMPARED = ("outcome", "exit_code", "signal", "stdout", "stderr", "explanation", "diagnosis")


def programs():
    for path in sorted(PROGRAMS.glob("*.yaml")):
        for case in yaml_text.load(path.read_text()):
            yield pytest.param(case, id=f"{path.stem}: {case['name']}")


def words_of(case, folder):
    """The program and its options, as on a command line."""
    words = ["--lang", "python"]
    for variable in case.get("env", []):
        words += ["--env", variable]
    files = case.get("files") or {"main.py": case["code"]}
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="latin-1" if "latin-1" in text else "utf-8")
    return [*words, folder, "--", *case.get("args", [])]


def compared(result):
    """Addresses and numbers of processes differ from run to run in any case."""
    found = {name: result.get(name) for name in COMPARED}
    for name in ("stdout", "stderr"):
        found[name] = re.sub(r"0x[0-9a-f]+", "ADDRESS", found[name])
        found[name] = re.sub(r"(MainThread|T|Thread-\d), started( daemon)? \d+", r"\1, started", found[name])
    return found


@pytest.mark.table
@pytest.mark.parametrize("case", programs())
def test_a_program_does_the_same(engine, folder, case):
    words = words_of(case, folder)
    stdin = (case.get("stdin", "") * case.get("times", 1)).encode()
    cold = engine.result_of("run", "--cold", *words, stdin=stdin)
    warm = engine.parked(lambda: engine.result_of("run", *words, stdin=stdin))
    assert compared(warm) == compared(cold)
