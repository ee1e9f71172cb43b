"""build: a project's own build, with its messages and what it made."""
import json
import os
import re
import shutil

import jsonschema
import pytest

import support
from support import sandbox_run

RESULT = ("outcome", "exit_code", "changes_id", "stdout", "stderr", "metrics")


def project(folder, files):
    for name, text in files.items():
        path = folder / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(folder / "project")


def build(root, *words):
    done = sandbox_run("build", "--json", *words, caller=root, timeout=120)
    found = json.loads(done.stdout)
    schema = json.loads((support.REPO / "data/schemas/build.json").read_text())
    del schema["$id"]
    jsonschema.validate(found, schema)
    assert all(name in found for name in RESULT) and all(name in schema["properties"] for name in list(found)[:6])
    return done.returncode, found


MAKE = """all: out/tool note.txt
out/tool: main.c
\tmkdir -p out && echo '$<:3:7: warning: odd [-Wodd]' >&2 && echo x > out/tool.o
\tprintf '#!/bin/sh\\necho made\\n' > $@ && chmod +x $@
note.txt:
\tdate +%s > $@
"""


def test_what_was_made_is_kept_and_can_be_applied(root, folder):
    path = project(folder, {"Makefile": MAKE, "main.c": "int x;\n"})
    before = sorted(str(one) for one in (folder / "project").rglob("*"))
    status, found = build(root, path)
    assert (status, found["tool"], found["outcome"], found["success"]) == (0, "make", "exited", True)
    assert found["messages"] == [{"severity": "warning", "file": "main.c", "line": 3, "column": 7, "message": "odd",
                                  "code": "-Wodd"}]
    made = {one["path"]: one for one in found["artifacts"]}
    assert set(made) == {"note.txt", "out/tool"} and made["out/tool"]["executable"]
    assert found["reproducible"] is None and re.fullmatch("[0-9a-f]{64}", made["note.txt"]["sha256"])
    assert sorted(str(one) for one in (folder / "project").rglob("*")) == before
    assert sandbox_run("apply", "--yes", found["changes_id"], "out/tool", caller=root).returncode == 0
    assert (folder / "project/out/tool").read_text().endswith("echo made\n")
    assert not (folder / "project/note.txt").exists()


def test_a_second_build_shows_what_is_not_the_same(root, folder):
    path = project(folder, {"Makefile": MAKE, "main.c": "int x;\n"})
    out = folder / "copied"
    status, found = build(root, "--twice", "--artifacts", str(out), path)
    assert (status, found["reproducible"], found["first_difference"]) == (1, False, "note.txt")
    assert (out / "out/tool").stat().st_mode & 0o111 and (out / "note.txt").exists() and not (out / "out/tool.o").exists()
    assert found["changes_id"] is None
    status, found = build(root, "--twice", path, "--", "out/tool")
    assert (status, found["reproducible"], found["first_difference"]) == (0, True, None)
    assert [one["path"] for one in found["artifacts"]] == ["out/tool"]


def test_a_failed_build_says_where_and_keeps_nothing(root, folder):
    path = project(folder, {"Makefile": "all:\n\t@printf '/work/a.c:1:2: error: \\033]0;t\\007no\\n' >&2; touch x; exit 3\n"})
    done = sandbox_run("build", path, caller=root)
    assert done.returncode == 1
    assert done.stdout.decode().splitlines()[0] == r"a.c:1:2: error: \x1b]0;t\x07no"
    assert b"make: 1 error, 0 warnings, 1 artifact, " in done.stdout and b"apply" not in done.stderr
    status, found = build(root, path)
    assert (status, found["exit_code"], found["changes_id"]) == (1, 2, None)
    silent = project(folder, {"Makefile": "all:\n\t@echo nothing is known; exit 3\n"})
    assert b"nothing is known" in sandbox_run("build", silent, caller=root).stdout


def test_artifacts_leave_the_directory_by_no_link(root, folder):
    """A link in the place of a directory of the copies is not followed."""
    path = project(folder, {"Makefile": "all:\n\t@mkdir -p out && echo new > out/victim\n"})
    (folder / "copied").mkdir()
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere/victim").write_text("old")
    (folder / "copied/out").symlink_to(folder / "elsewhere")
    done = sandbox_run("build", "--artifacts", str(folder / "copied"), path, caller=root)
    assert done.returncode == 125 and b"cannot copy 'out/victim'" in done.stderr
    assert (folder / "elsewhere/victim").read_text() == "old"


@pytest.mark.skipif(not support.have("npm"), reason="there is no npm here")
def test_artifacts_that_others_execute_are_not_copied(root, folder):
    """`git status` among the copies would run the build's command."""
    script = "mkdir -p dist/.git && echo new > dist/plain && echo x > dist/.envrc && echo '[core]' > dist/.git/config && ln -s plain dist/to"
    path, out = project(folder, {"package.json": json.dumps({"name": "x", "version": "1.0.0", "scripts": {"build": script}})}), folder / "copied"
    done = sandbox_run("build", "--artifacts", str(out), path, caller=root)
    assert done.returncode == 126 and b"is what others execute or trust, so it was not copied; all else was" in done.stderr, done
    assert (out / "dist/plain").read_text() == "new\n"
    assert sorted(file.name for file in out.rglob("*") if not file.is_dir()) == ["plain", "to"]


def test_links_among_artifacts_stay_among_them(root, folder):
    """A link that the build chose leads whoever uses the copies, as the caller."""
    recipe = ("all:\n\t@mkdir -p out/deep && echo 1 > out/lib.so.1 && echo 2 > out/zz && ln -s lib.so.1 out/lib.so\n"
              "\t@ln -s ../lib.so.1 out/deep/up && ln -s {} out/link\n")
    for target in ("/etc/passwd", "../../../etc", "deep/../../../etc"):
        path, out = project(folder, {"Makefile": recipe.format(target)}), folder / "copied"
        (out / "out").mkdir(parents=True)
        (out / "out/.sandbox-run-artifact").write_text("of another call")
        done = sandbox_run("build", "--artifacts", str(out), path, caller=root)
        assert done.returncode == 126 and b"'out/link' is a link that leads out of" in done.stderr, done
        assert not os.path.lexists(out / "out/link") and (out / "out/zz").read_text() == "2\n"
        assert os.readlink(out / "out/deep/up") == "../lib.so.1" and (out / "out/lib.so").read_text() == "1\n"
        assert sorted(os.listdir(out / "out")) == [".sandbox-run-artifact", "deep", "lib.so", "lib.so.1", "zz"]
        shutil.rmtree(out)
        shutil.rmtree(path)


@pytest.mark.parametrize("files, words, message", [
    ({"notes.txt": ""}, (), "there is no sign of a build here"),
    ({"notes.txt": ""}, ("--tool", "bazel"), "there is no build tool 'bazel'; give one of cargo, go,"),
    ({"notes.txt": ""}, ("one", "two"), "name one directory"),
])
def test_what_cannot_be_done_is_refused(root, folder, files, words, message):
    done = sandbox_run("build", *words, project(folder, files), caller=root)
    assert done.returncode in (125, 127) and message in done.stderr.decode()


def test_the_output_of_builds_and_golden_cases_fits(root, folder):
    """The error comes before what is left out, and all of it is kept."""
    (folder / "Makefile").write_text("all:\n\t@for i in $$(seq 400); do echo \"a.c:$$i:1: warning: odd $$i\" >&2; done\n"
                                     "\t@echo 'b.c:7:1: error: no' >&2; exit 1\n")
    (folder / "golden/one").mkdir(parents=True)
    (folder / "golden/command").write_text("seq 2000")
    (folder / "golden/one/stdout").write_text("".join(f"{i * 2}\n" for i in range(2000)))
    for words, first in ((("build", folder), "b.c:7:1: error: no"), (("golden", "--project", folder, folder / "golden"), "failed  one")):
        done = sandbox_run(*words, "--max-chars", "300", caller=root, cwd=folder)
        shown = (done.stdout + done.stderr).decode()
        assert done.returncode == 1 and len(shown) <= 300 and shown.startswith(first), shown
    number = sandbox_run("build", folder, "--max-chars", "300", caller=root).stdout.decode().split("`sandbox-run output ")[1].split("`")[0]
    assert b"a.c:200:1: warning: odd 200" in sandbox_run("output", number, caller=root).stdout
