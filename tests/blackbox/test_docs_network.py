"""The recipes of docs/network.md are commands that can be given."""
import pathlib
import re
import shlex

import pytest

import support

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/network.md"


def recipes():
    block = re.search(r"```sh\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)[1]
    return [line for line in block.splitlines() if line.startswith("sandbox-run ")]


def test_there_are_recipes():
    assert len(recipes()) >= 8


@pytest.mark.parametrize("line", recipes())
def test_a_recipe_can_be_planned(line, tmp_path):
    _, *options, program = shlex.split(line)
    (tmp_path / program).write_text("pass\n", encoding="ascii")
    plan = support.result_of("plan", *options, tmp_path / program)
    modes = [options[i + 1] for i, word in enumerate(options) if word == "--network"]
    hosts = [options[i + 1] for i, word in enumerate(options) if word == "--allow-host"]
    assert plan["network"]["mode"] == (modes or ["allow"])[0]
    assert plan["network"]["allow_hosts"] == hosts
    assert plan["network"]["allow_dns"] == ("--allow-dns" in options)
