"""Files that leave the sandbox: which are taken, where they go, and how they are told."""
import base64
import os
import stat

import pytest

import support


class Outputs:
    """A directory of the caller's, and runs that put files into it."""

    def __init__(self, folder, caller):
        self.caller, self.folder = caller, folder
        self.target, self.state = folder / "target", folder / "state"
        self.owner = os.geteuid()
        if caller == support.Callers.USER and os.geteuid() == 0:
            self.owner = support.ORDINARY_UID
        for path in (self.target, self.state):
            path.mkdir(mode=0o700)
            os.chown(path, self.owner, self.owner)
        self.env = {"SANDBOX_RUN_STATE": str(self.state)}

    def run(self, code, *options, language="bash", **kwargs):
        return support.result_of("run", *options, "--lang", language, "--code", code,
                                 caller=self.caller, env=self.env, **kwargs)

    def refused(self, *options):
        done = support.sandbox_run("run", *options, "--lang", "bash", "--code", ":", env=self.env,
                                   caller=self.caller)
        assert done.returncode == 125, done
        return done.stderr.decode()

    def write(self, path, text):
        """What was in the target before."""
        path = self.target / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        for made in (path, path.parent):
            os.chown(made, self.owner, self.owner)

    def saved(self):
        """{path: content} of the files in the target."""
        found = {}
        for where, _, names in os.walk(self.target):
            for name in names:
                path = os.path.join(where, name)
                found[os.path.relpath(path, self.target)] = (
                    f"-> {os.readlink(path)}" if os.path.islink(path) else open(path).read())
                assert os.lstat(path).st_uid == self.owner
        return found


@pytest.fixture
def outputs(folder, caller):
    return Outputs(folder, caller)


def paths_of(result):
    return sorted(file["path"] for file in result["files"])


MAKE = ("mkdir -p out/sub; echo 1 > out/a.txt; echo 2 > out/b.png; echo 3 > out/sub/c.txt;"
        "echo 4 > top.txt; echo 5 > out/.hidden.txt;")


# What matches what is in tests/unit/test_outputs.c.
@pytest.mark.parametrize("pattern, expected", [
    ("*.txt", ["/work/top.txt"]),
    ("out/**/*.txt", ["/work/out/.hidden.txt", "/work/out/a.txt", "/work/out/sub/c.txt"]),
    ("out", ["/work/out/.hidden.txt", "/work/out/a.txt", "/work/out/b.png", "/work/out/sub/c.txt"]),
    ("/work/out/[bc]*", ["/work/out/b.png"]),
    ("none*", ["/work/none*"]),  # listed as one that matches nothing
])
def test_patterns_choose_files(outputs, pattern, expected):
    result = outputs.run(MAKE, "--output", pattern)
    assert result["success"] and paths_of(result) == expected
    assert [file["skipped"] for file in result["files"]] == (
        ["matches no file"] if pattern == "none*" else [None] * len(expected))


def test_files_are_told_with_size_and_kind(outputs):
    result = outputs.run(MAKE + "head -c 5000 /dev/zero > data.bin", "--output", "*.bin", "--output", "out/*.png")
    files = {file["path"]: file for file in result["files"]}
    assert files["/work/data.bin"] == {"path": "/work/data.bin", "size": 5000, "saved": None,
                                       "mime": "application/octet-stream", "skipped": None}
    assert files["/work/out/b.png"]["mime"] == "image/png" and files["/work/out/b.png"]["size"] == 2


def test_nobody_asked_nothing_is_told(outputs):
    assert outputs.run(MAKE).get("files", []) == []


def test_files_go_to_a_directory(outputs):
    result = outputs.run(MAKE + "chmod 755 out/sub/c.txt", "--output", f"out/**:{outputs.target}")
    assert outputs.saved() == {"a.txt": "1\n", "b.png": "2\n", ".hidden.txt": "5\n", "sub/c.txt": "3\n"}
    assert {file["saved"] for file in result["files"]} == {
        str(outputs.target / name) for name in ("a.txt", "b.png", ".hidden.txt", "sub/c.txt")}
    assert stat.S_IMODE((outputs.target / "sub/c.txt").stat().st_mode) == 0o755
    assert stat.S_IMODE((outputs.target / "a.txt").stat().st_mode) == 0o644
    assert stat.S_IMODE((outputs.target / "sub").stat().st_mode) == 0o755


def test_a_directory_is_made_and_may_be_relative(outputs):
    outputs.run(MAKE, "--output", "out/*.txt:new/er", "--output", "*.txt:.", cwd=outputs.target)
    assert outputs.saved() == {"new/er/a.txt": "1\n", "new/er/.hidden.txt": "5\n", "top.txt": "4\n"}


def test_a_directory_that_matches_keeps_its_name(outputs):
    outputs.run(MAKE, "--output", f"out/sub:{outputs.target}")
    assert outputs.saved() == {"sub/c.txt": "3\n"}


def test_what_is_there_is_replaced(outputs):
    outputs.write("a.txt", "old and longer")
    outputs.write("other", "stays")
    outputs.run(MAKE, "--output", f"out/a.txt:{outputs.target}")
    assert outputs.saved() == {"a.txt": "1\n", "other": "stays"}


def test_links_in_the_directory_are_not_followed(outputs):
    outputs.write("victim", "safe")
    (outputs.target / "a.txt").symlink_to("victim")
    os.lchown(outputs.target / "a.txt", outputs.owner, outputs.owner)
    elsewhere = outputs.folder / "elsewhere"
    elsewhere.mkdir()
    elsewhere.chmod(0o777)
    (outputs.target / "sub").symlink_to(elsewhere)
    os.lchown(outputs.target / "sub", outputs.owner, outputs.owner)
    (outputs.target / "b.png").mkdir()
    result = outputs.run(MAKE, "--output", f"out/**:{outputs.target}")
    files = {file["path"]: file for file in result["files"]}
    assert list(elsewhere.iterdir()) == [] and outputs.saved()["victim"] == "safe"
    assert outputs.saved()["a.txt"] == "1\n" and files["/work/out/a.txt"]["saved"]
    assert "link" in files["/work/out/sub/c.txt"]["skipped"]
    assert files["/work/out/sub/c.txt"]["saved"] is None
    assert "directory" in files["/work/out/b.png"]["skipped"]


def test_what_the_program_plants_is_not_followed(outputs):
    result = outputs.run("echo 1 > f; ln -s /etc/passwd l; ln -s /etc d; mkfifo p; ln f h; ln -s /work loop",
                         "--output", f"**:{outputs.target}")
    assert result["success"], result
    skipped = {file["path"]: file["skipped"] for file in result["files"] if file["skipped"]}
    assert set(skipped) == {"/work/l", "/work/d", "/work/p", "/work/loop"}, result["files"]
    assert "link" in skipped["/work/l"] and "pipe" in skipped["/work/p"]
    saved = outputs.saved()
    saved.pop("main.bash", None)
    assert saved == {"f": "1\n", "h": "1\n"}


def test_set_id_bits_stay_inside(outputs):
    outputs.run("cp /bin/true t; chmod 6755 t; exit 0", "--output", f"t:{outputs.target}")
    assert stat.S_IMODE((outputs.target / "t").stat().st_mode) == 0o755


def test_names_that_are_no_text_are_told_in_both_forms(outputs):
    result = outputs.run("open(b'\\xff.txt', 'w').write('1')", "--output", "*.txt", language="python")
    file, = result["files"]
    assert file["path"] == "/work/\ufffd.txt"
    assert base64.b64decode(file["path_base64"]) == b"/work/\xff.txt"


def test_a_hole_is_no_content(outputs):
    result = outputs.run("truncate -s 100m big; echo 1 >> big", "--output", f"big:{outputs.target}")
    file, = result["files"]
    assert file["size"] == (100 << 20) + 2 and file["saved"], file
    status = (outputs.target / "big").stat()
    assert status.st_size == file["size"] and status.st_blocks < 100


def test_a_run_that_fails_or_is_stopped_gives_out_too(outputs):
    result = outputs.run("echo 1 > f; exit 3", "--output", f"f:{outputs.target}")
    assert result["exit_code"] == 3 and outputs.saved() == {"f": "1\n"}
    result = outputs.run("echo 2 > f; sleep 1000", "--timeout", "2s", "--output", f"f:{outputs.target}")
    assert result["outcome"] == "timeout" and outputs.saved() == {"f": "2\n"}


def test_scratch_space_and_volumes_have_outputs(outputs):
    volume = outputs.folder / "volume"
    volume.mkdir()
    (volume / "v.txt").write_text("v")
    result = outputs.run("echo t > /tmp/t.txt", "--volume", f"{volume}:/data:ro", "--output", f"/tmp/*.txt:{outputs.target}",
                         "--output", "/data/*")
    assert paths_of(result) == ["/data/v.txt", "/tmp/t.txt"] and outputs.saved() == {"t.txt": "t\n"}


def test_a_project_and_a_workspace_have_outputs(outputs):
    project = outputs.folder / "project"
    project.mkdir()
    (project / "in.txt").write_text("in")
    result = outputs.run("cat in.txt > made.txt", "--project", project, "--output", f"*.txt:{outputs.target}")
    assert paths_of(result) == ["/work/in.txt", "/work/made.txt"]
    assert outputs.saved() == {"in.txt": "in", "made.txt": "in"}
    assert [path.name for path in project.iterdir()] == ["in.txt"]
    outputs.run("echo 1 > w.txt", "--workspace", "w", "--output", f"w.txt:{outputs.target}")
    assert outputs.saved()["w.txt"] == "1\n"


def test_kept_outputs_lie_with_the_changes(outputs):
    result = outputs.run(MAKE, "--keep", "--output", "out/*.png")
    file, = result["files"]
    assert len(result["changes_id"]) == 32
    assert file["saved"].startswith(str(outputs.state)) and open(file["saved"]).read() == "2\n"


BAD_SPECS = {"": "no pattern", "../x": "'..'", "a/../b:/tmp": "'..'", "x:": "empty directory", "/": "root",
             "/etc/passwd": "/work", "/usr/**": "/work"}


def test_what_cannot_be_an_output_is_told(folder, any_caller):
    outputs = Outputs(folder, any_caller)
    told = {spec: outputs.refused("--output", spec) for spec in BAD_SPECS}
    assert not {spec: said for spec, said in told.items() if BAD_SPECS[spec] not in said}


def test_a_directory_that_cannot_be_written_is_told(outputs):
    outputs.write("file", "x")
    result = outputs.run(MAKE, "--output", f"top.txt:{outputs.target}/file/below")
    assert not result["success"]
    assert "file/below" in result["explanation"] and outputs.saved() == {"file": "x"}


def test_on_a_terminal_or_not_stdout_is_the_programs(outputs):
    done = support.sandbox_run("run", "--output", f"f:{outputs.target}", "--lang", "bash", "--code",
                               "echo said; echo 1 > f", caller=outputs.caller, env=outputs.env)
    assert (done.returncode, done.stdout) == (0, b"said\n") and outputs.saved() == {"f": "1\n"}
