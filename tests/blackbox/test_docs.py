"""The examples of README.md and docs/ do what the documents show; tests/doc_examples.py says how they are written.

UPDATE_DOCS=1 writes into the documents what the commands print now, for a person to review."""
import os
import pathlib
import re

import pytest

import doc_examples
import machine_gives
import support
import yaml_text

DOCUMENTS = [support.REPO / "README.md", *sorted((support.REPO / "docs").glob("*.md"))]


def all_sections():
    for path in DOCUMENTS:
        for heading, text in doc_examples.sections(path):
            yield pytest.param(path, text, id=f"{path.name}: {heading}")


@pytest.fixture(scope="module")
def tools(session_folder):
    machine_gives.skip_if(support.lacks(support.available_callers()[0]))
    options = "" if os.geteuid() == 0 else "--allow-degraded"
    return doc_examples.install_tool(session_folder / "tools", support.SANDBOX_RUN, options)


@pytest.mark.parametrize("path, text", all_sections())
def test_an_example_does_what_it_shows(path, text, folder, tools):
    work = folder / "here"
    work.mkdir()
    cache = support.cache_of(support.available_callers()[0])
    env = doc_examples.surroundings(tools, cache, folder / "state")
    if path.name == "configuration.md":
        env = {**env, "XDG_CONFIG_HOME": str(work / ".config")}
    example = doc_examples.Example(text, work, env)
    if os.environ.get("UPDATE_DOCS"):
        path.write_text(path.read_text().replace(text, example.renewed()))
    else:
        different = example.check()
        assert not different, different


def shipped():
    return {language["name"]: language for language in
            (yaml_text.load(path.read_text()) for path in pathlib.Path(support.REPO, "languages").glob("*.yaml"))}


def test_every_language_has_an_example():
    text = (support.REPO / "docs/languages.md").read_text()
    blocks = doc_examples.BLOCK.findall(text)
    sessions = "".join(block for kind, _, block in blocks if kind == "console")
    files = [name for _, name, _ in blocks if name]
    for name, language in shipped().items():
        by_extension = any(f.endswith(tuple(language.get("extensions", ["?"]))) for f in files)
        assert by_extension or f"--lang {name}" in sessions, f"{name} has no example"


def test_every_field_is_explained():
    schema = (support.REPO / "src/plan/language_schema.c").read_text()
    rows = re.findall(r"\b(?:TEXT|WORDS|FLAG|GROUP|PART|RULES)\((?:[^,()]*, )?(\w+), ", schema)
    rows += re.findall(r'CYAML_FIELD_\w+\("(\w+)"', schema)
    text = (support.REPO / "docs/languages.md").read_text()
    missing = {row for row in rows if row not in ("field", "type") and f"`{row}`" not in text}
    assert len(rows) > 30 and not missing, f"docs/languages.md does not say what they are: {sorted(missing)}"
