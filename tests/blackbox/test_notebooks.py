"""Notebooks: executed, written back, exported and replayed; valid by nbformat's own validator."""
import json
import os

import nbformat
import pytest

import sessions
from sessions import Session
from support import sandbox_run


def code(source, outputs=(), **metadata):
    return {"cell_type": "code", "execution_count": None, "metadata": metadata, "outputs": list(outputs),
            "source": source}


def book(*cells, language="python", minor=2):
    return {"cells": list(cells), "metadata": {"kernelspec": {"display_name": "it", "name": language}, "ratio": 0.1},
            "nbformat": 4, "nbformat_minor": minor}


@pytest.fixture(name="run")
def runner(folder, any_caller):
    state = sessions.own_state(folder, any_caller)
    path = folder / "work.ipynb"

    def run(notebook, *options):
        path.write_text(notebook if isinstance(notebook, str) else json.dumps(notebook))
        if folder.stat().st_uid:
            os.chown(path, folder.stat().st_uid, -1)
        done = sandbox_run(path, *options, env={"SANDBOX_RUN_STATE": str(state)}, caller=any_caller)
        assert not os.path.exists(state / "sessions") or os.listdir(state / "sessions") == []
        return done
    run.path, run.state = path, state
    return run


def read(path):
    """A notebook that Jupyter takes, and whose text is what Jupyter would write."""
    notebook = nbformat.read(path, 4)
    nbformat.validate(notebook)
    assert set(os.listdir(path.parent)) <= {"work.ipynb", "state"}, "a temporary file is left"
    return notebook


def test_a_notebook_is_executed_and_gets_its_outputs(run):
    cells = [{"cell_type": "markdown", "metadata": {}, "source": "# Title"},
             code(["x = 20\n", "print('said')\n", "print('é\\0', flush=True)"]),
             code("import sys\nsys.stdout.buffer.write(b'\\xff\\n')\nNone"), code(""),
             code("1 / 0", tags=["raises-exception"]), code("never", tags=["skip-execution"]),
             code("class T:\n    def __repr__(s): return 'a\\nb'\n    def _repr_html_(s): return '<b>'\n"
                  "    def _repr_json_(s): return {'n': [1]}\ndisplay(T())\nx * 2 + 2")]
    plain = run(book(*cells))
    assert plain.returncode == 0, plain.stderr
    assert plain.stdout == "said\né\0\n".encode() + b"\xff\na\nb\n42\n"
    assert b"ZeroDivisionError" in plain.stderr
    assert run.path.read_text() == json.dumps(book(*cells))
    assert run(book(*cells), "--update", "--quiet").returncode == 0
    text = run.path.read_text()
    done = read(run.path)
    assert [cell.get("execution_count") for cell in done.cells] == [None, 1, 2, None, 3, None, 4]
    assert done.cells[1].outputs[0].text == "said\né\ufffd\n" and done.cells[2].outputs[0].text == "\ufffd\n"
    error, = done.cells[4].outputs
    assert (error.output_type, error.ename, error.traceback[-1]) == (
        "error", "ZeroDivisionError", "ZeroDivisionError: division by zero")
    shown, value = done.cells[6].outputs
    assert (shown.output_type, shown.data) == (
        "display_data", {"text/plain": "a\nb", "text/html": "<b>", "application/json": {"n": [1]}})
    assert (value.output_type, value.execution_count, value.data) == ("execute_result", 4, {"text/plain": "42"})
    assert '"ratio": 0.1\n' in text and text.endswith("}\n") and '     "text": [\n      "said\\n",\n' in text


def test_a_cell_that_fails_is_the_last(run):
    before = {"name": "stdout", "output_type": "stream", "text": "old"}
    done = run(book(code("print('one')"), code("exit = 3\nraise ValueError('no')"), code("print('never')", [before])),
               "--update")
    assert done.returncode == 1 and done.stdout == b"one\n" and b"cell 2 of" in done.stderr
    cells = read(run.path).cells
    assert cells[1].outputs[0].ename == "ValueError" and cells[2].outputs[0].text == "old"
    assert run(book(code("import sys; sys.exit(7)"), code("1"))).returncode == 7
    report = json.loads(run(book(code("6 * 7"), code("import time; time.sleep(1000)")), "--json", "--timeout", "2s").stdout)
    assert (report["cells"], report["failed"], report["lost"]) == (2, 2, False)
    assert [one["outcome"] for one in report["results"]] == ["exited", "timeout"]
    lines = run(book(code("6 * 7")), "--stream").stdout.splitlines()
    assert json.loads(lines[-1])["result"]["display"] == [{"text/plain": "42"}]


@pytest.mark.parametrize("notebook, options, words", [
    ("{", (), b"is not valid JSON"),
    ("[1]", (), b"no \"cells\""),
    ({**book(), "nbformat": 3}, (), b"nbconvert"),
    (book(code("1"), language="klingon"), (), b"'klingon', which is no language here"),
    ({"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, (), b"name it with --lang"),
    (book(code("1")), ("--", "word"), b"takes no arguments"),
])
def test_what_is_no_notebook_is_refused(run, notebook, options, words):
    done = run(notebook, *options)
    assert done.returncode == 125 and words in done.stderr and not done.stdout


def test_other_files_have_no_outputs_to_write(run):
    done = sandbox_run("--lang", "python", "--code", "1", "--update")
    assert done.returncode == 125 and b"--update needs a notebook" in done.stderr


def test_a_file_that_was_edited_meanwhile_is_left_alone(run):
    work = run.path.parent / "work"
    work.mkdir()
    os.chmod(work, 0o777)
    cell = code("import os\nopen('/data/work.ipynb', 'a').write(' ')")
    (work / "work.ipynb").write_text(json.dumps(book(cell)))
    os.chmod(work / "work.ipynb", 0o666)
    done = sandbox_run(work / "work.ipynb", "--update", "--volume", f"{work}:/data:rw",
                       env={"SANDBOX_RUN_STATE": str(run.state)})
    assert done.returncode == 125 and b"was changed while its cells ran" in done.stderr
    assert (work / "work.ipynb").read_text() == json.dumps(book(cell)) + " "


@pytest.mark.parametrize("language, cells, value, extension", [
    ("javascript", ["const x = 20", "x * 2 + 2"], "42", "js"),
    ("sql", ["CREATE TABLE t (a);", "SELECT 42 AS a;"], "a\n--\n42\n", "sql"),
])
def test_a_session_of_any_language_becomes_a_notebook_and_runs_again(folder, any_caller, language, cells, value,
                                                                      extension):
    session = Session(sessions.own_state(folder, any_caller), lang=language, caller=any_caller)
    try:
        for cell in cells:
            session.cell(cell)
        exported = session.run("export", session.id).stdout.decode()
        assert session.run("export", session.id, "--format", extension).stdout.decode() == "".join(
            cell + "\n" for cell in cells)
        markdown = session.run("export", session.id, "--format", "md").stdout.decode()
        assert markdown.startswith(f"```{language}\n{cells[0]}\n```\n") and "```text\n" + value.rstrip() in markdown
    finally:
        session.close()
    notebook = nbformat.reads(exported, 4)
    nbformat.validate(notebook)
    assert notebook.cells[1].outputs[0].data["text/plain"].rstrip() == value.rstrip()
    path = folder / "saved.ipynb"
    path.write_text(exported)
    same = session.run("replay", path)
    assert (same.returncode, same.stdout) == (0, b""), same.stderr
    notebook.cells[1].outputs[0].data["text/plain"] += "3"
    path.write_text(nbformat.writes(notebook))
    other = session.run("replay", path)
    assert other.returncode == 1 and other.stdout.startswith(b"cell 2 differs: - as recorded, + now\n@@ ")
    assert b"\n+42\n" in other.stdout or b"\n-3\n" in other.stdout
    assert os.listdir(session.state / "sessions") == []


def test_a_replay_sees_that_a_cell_fails_now(folder, root):
    path = folder / "saved.ipynb"
    path.write_text(json.dumps(book(code("open('/work/part').read()"), code("[] + 1"))))
    done = sandbox_run("session", "replay", path, "--json", env={"SANDBOX_RUN_STATE": str(folder / "state")},
                       caller=root)
    report = json.loads(done.stdout)
    assert [(one["cell"], one["expected"]["error"], one["found"]["error"]) for one in report["different"]] == [
        (1, None, "FileNotFoundError"), (2, None, "TypeError")]


def test_output_with_zeros_is_shown_at_a_prompt(folder, root):
    done = sandbox_run("repl", stdin=b"print('a\\0b')\n6 * 7\n", env={"SANDBOX_RUN_STATE": str(folder / "state")},
                       caller=root)
    assert (done.stdout, done.returncode) == (b"a\0b\n42\n", 0)
