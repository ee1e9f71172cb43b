"""golden: commands against what they are expected to print and to write."""
import json
import subprocess
import xml.etree.ElementTree as tree

import jsonschema
import pytest

import support
from support import sandbox_run

GENERATOR = """mkdir -p out/deep; name=$(cat); printf 'class %s\\n  end\\n' "$name" > out/deep/model.txt
echo "made $name at $(date +%H:%M:%S) in $PWD"; echo note >&2; exit ${1:-0}
"""


def put(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def cases(folder):
    put(folder / "project", {"generate.sh": GENERATOR, "out/old.txt": "untouched"})
    put(folder / "project/cases", {
        "command": "sh generate.sh\n", "normalize": "times\n", "good/stdin": "A", "good/stdout": "made A at <time> in /work\n",
        "good/tree/out/deep/model.txt": "class A\n  end\n", "bad/stdin": "B", "bad/stderr": "note\n", "bad/status": "3\n",
        "bad/command": "sh generate.sh 4", "bad/tree/out/deep/model.txt": "class B\n  begin\n", "bad/tree/gone.txt": "x",
        "new/stdin": "C"})
    return folder / "project/cases"


def golden(root, cases, *words, status=1):
    done = sandbox_run("golden", "--project", str(cases.parent), *words, str(cases), caller=root, timeout=120)
    assert done.returncode == status, done
    return done


@pytest.mark.container
def test_each_difference_is_shown_and_can_be_taken_over(root, cases):
    before = {str(one): one.read_bytes() for one in cases.rglob("*") if one.is_file()}
    report = json.loads(golden(root, cases, "--json").stdout)
    schema = json.loads((support.REPO / "data/schemas/golden.json").read_text())
    del schema["$id"]
    jsonschema.validate(report, schema)
    found = {one["name"]: one for one in report["cases"]}
    assert {name: one["outcome"] for name, one in found.items()} == {"bad": "failed", "good": "passed", "new": "failed"}
    assert found["bad"]["message"].splitlines()[:2] == [
        "status 4, expected 3", "tree/gone.txt is expected, and the command did not write it"]
    assert "nothing says what is expected" in found["new"]["message"] and report["changes_id"] is None
    kept = golden(root, cases, "--update")  # there is no terminal: kept, not written
    assert b"sandbox-run apply" in kept.stderr
    assert {str(one): one.read_bytes() for one in cases.rglob("*") if one.is_file()} == before
    done = golden(root, cases, "--update", "--yes", status=0)
    assert b"undo" in done.stderr
    assert (cases / "new/stdout").read_text() == "made C at <time> in /work\n" and (cases / "bad/status").read_text() == "4\n"
    assert not (cases / "bad/tree/gone.txt").exists() and not (cases / "new/status").exists()
    assert (cases / "new/tree/out/deep/model.txt").read_text() == "class C\n  end\n"
    suite = tree.fromstring(golden(root, cases, "--format", "junit", status=0).stdout)
    assert (suite.get("tests"), suite.get("failures")) == ("3", "0")


@pytest.mark.container
def test_expected_files_that_others_execute_are_named_first(root, folder):
    """`git status` among the expected files would run what the command has chosen."""
    canary = folder / "canary"
    make = ("mkdir -p .git/objects .git/refs; echo ref: refs/heads/a > .git/HEAD; echo made > plain; "
            f"printf '[core]\\nfsmonitor = touch {canary}\\n' > .git/config; touch .git/objects/x .git/refs/x")
    put(folder / "project", {"cases/one/command": make})
    cases = folder / "project/cases"
    done = golden(root, cases, "--update", "--yes")
    assert (cases / "one/tree/plain").read_text() == "made\n" and not (cases / "one/tree/.git/config").exists()
    assert b"executed" in done.stderr and b"--also PATH" in done.stderr, done.stderr
    subprocess.run(["git", "status"], cwd=cases / "one/tree", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    assert not canary.exists()
    change = done.stderr.decode().split("sandbox-run apply ")[1].split()[0]
    done = sandbox_run("apply", change, "--yes", "--also", "one/tree/.git/config", caller=root)
    assert (cases / "one/tree/.git/config").exists(), done.stderr


@pytest.mark.container
def test_the_first_difference_has_its_lines_around_it(root, folder):
    cases = folder / "cases"
    lines = [str(number) for number in range(1, 30)]
    put(cases, {"long/command": "seq 1 29 | sed 's/^7$/seven/; s/^20$/twenty/'", "long/stdout": "\n".join(lines) + "\n",
                "odd 'name/command": "printf \"it's\"", "odd 'name/stdout": "", "killed/command": "kill -9 $$", "killed/stdout": ""})
    text = golden(root, cases).stdout.decode()
    assert "        -7\n        +seven\n         8\n" in text and "twenty" not in text
    assert "error   killed\n        signaled" in text
    golden(root, cases, "--update", "--yes")
    assert (cases / "odd 'name/stdout").read_text() == "it's" and (cases / "killed/stdout").read_text() == ""


@pytest.mark.parametrize("files, words, message", [
    ({"notes.txt": ""}, (), "has no case: make a directory with a file `command`"),
    ({"a/command": "true", "a/normalize": "dates"}, (), "there is no normaliser 'dates'"),
    ({"a/command": "true", "a/status": "many"}, (), "the `status` of case 'a' is no number"),
    ({"a/command": "true"}, ("--yes",), "--yes answers --update"),
])
def test_what_cannot_be_done_is_refused(root, folder, files, words, message):
    put(folder / "cases", files)
    done = sandbox_run("golden", *words, str(folder / "cases"), caller=root)
    assert done.returncode in (125, 127) and message in done.stderr.decode()
