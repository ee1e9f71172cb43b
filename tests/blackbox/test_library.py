"""The library as its header promises it: the example, threads, loops, cancellation, symbols."""
import json
import os
import re
import subprocess

import pytest

import machine_gives
import support

PROGRAMS = support.REPO / "tests/blackbox/programs"
HEADER = support.REPO / "include" / "sandboxrun.h"
LIBRARY = support.BUILD / "src" / "libsandboxrun.so"
EXAMPLE = support.BUILD / "docs" / "example" / "example"


def run(*words, caller=None, env=None, **kwargs):
    as_user = caller == "user" and "root" in support.available_callers()
    prefix = support.AS_ORDINARY if as_user else []
    return subprocess.run([*prefix, *map(str, words)], capture_output=True, timeout=60, check=False,
                          env={"LD_LIBRARY_PATH": str(LIBRARY.parent), "PATH": "/usr/bin:/bin", **(env or {})},
                          **kwargs)


def test_the_example_of_the_manual_runs(root):
    machine_gives.skip_if(support.lacks(support.available_callers()[0]))
    done = run(EXAMPLE)
    first, second = done.stdout.decode().splitlines()
    assert done.returncode == 0 and done.stderr == b""
    assert re.fullmatch(r"verdict 1, exit code 0, 0\.\d{3} s, 13 bytes: hello, world", first)
    result = json.loads(second)
    assert (result["outcome"], result["stdout"]) == ("exited", "hello, world\n")
    assert (result["limits"]["wall_ms"], result["limits"]["memory_bytes"]) == (5000, 128 << 20)


def test_the_example_says_why_it_cannot_run():
    done = run(EXAMPLE, caller="user")
    if done.returncode == 0:
        pytest.skip("this ordinary user has a cgroup of its own")
    assert (done.returncode, done.stdout) == (1, b"") and b"isolation" in done.stderr


def compiled(source, target):
    subprocess.run(["gcc", "-std=gnu17", "-Wall", "-Wextra", "-Werror", "-g", "-pthread",
                    f"-I{HEADER.parent}", PROGRAMS / source, "-o", target,
                    f"-L{LIBRARY.parent}", "-lsandboxrun"], check=True)
    target.chmod(0o755)
    return target


@pytest.fixture(scope="module")
def program(session_folder):
    return compiled("library.c", session_folder / "library")


def test_trees_and_kept_changes(caller, folder, session_folder):
    machine_gives.skip_if(support.lacks(caller))
    tool = compiled("library_trees.c", session_folder / "library-trees")
    for name in ("project", "state"):
        (folder / name).mkdir(mode=0o700)
        if caller == "user" and "root" in support.available_callers():
            os.chown(folder / name, support.ORDINARY_UID, support.ORDINARY_UID)
    done = run(tool, folder / "project", *(["degraded"] if caller == "user" else []), caller=caller,
               env={"SANDBOX_RUN_STATE": str(folder / "state")})
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert os.listdir(folder / "project") == ["file"]


def test_threads_loops_and_cancellation_do_not_disturb_each_other(caller, program):
    machine_gives.skip_if(support.lacks(caller))
    done = run(program, *(["degraded"] if caller == "user" else []), caller=caller)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.fixture(scope="module")
def streamer(session_folder):
    return compiled("library_stream.c", session_folder / "library-stream")


STREAM_CASES = ("conversation", "stdin", "much", "metrics", "denials", "held", "passed", "terminal",
                "threads", "unfit", "template", "command")


@pytest.mark.parametrize("case", STREAM_CASES)
def test_a_job_streams(caller, streamer, case):
    machine_gives.skip_if(support.lacks(caller))
    done = run(streamer, case, *(["degraded"] if caller == "user" else []), caller=caller)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_refusals_say_why(streamer):
    done = run(streamer, "refusals")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_runtime_checks_itself(root, streamer):
    machine_gives.skip_if(support.lacks(support.available_callers()[0]))
    done = run(streamer, "check")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_kept_output_has_an_id(any_caller, streamer):
    machine_gives.skip_if(support.lacks(any_caller))
    degraded = ["degraded"] if any_caller == "user" else []
    done = run(streamer, "kept", *degraded, caller=any_caller,
               env={"SANDBOX_RUN_STATE": support.state_of(any_caller)})
    name = done.stdout.decode().strip()
    assert (done.returncode, done.stderr, name != "") == (0, b"", True)
    shown = support.sandbox_run("output", name, caller=any_caller)
    assert (shown.returncode, shown.stdout) == (0, b"kept\n")


def documented_program():
    """The example of docs/library.md."""
    page = (support.REPO / "docs/library.md").read_text()
    return re.search(r"^```c\n(/\* chat\.c .*?)^```$", page, re.S | re.M).group(1)


def test_the_streaming_example_of_the_manual_runs(root, session_folder):
    machine_gives.skip_if(support.lacks(root))
    source, target = session_folder / "chat.c", session_folder / "chat"
    source.write_text(documented_program())
    subprocess.run(["gcc", "-std=gnu17", "-Wall", "-Wextra", "-Werror", f"-I{HEADER.parent}", source, "-o", target,
                    f"-L{LIBRARY.parent}", "-lsandboxrun"], check=True)
    env = {**os.environ, "LD_LIBRARY_PATH": str(LIBRARY.parent)}
    with subprocess.Popen([target], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=env) as chat:
        assert chat.stdout.readline() == b"name?\n", chat.stderr.read()
        chat.stdin.write(b"Ada\n")
        chat.stdin.flush()
        assert chat.stdout.readline() == b"hello Ada\n"  # stdin is still open
        chat.stdin.close()
        assert (chat.stdout.read(), chat.stderr.read()) == (b"bye\n", b"run: exited, exit code 0\n")
        assert chat.wait(60) == 0


@pytest.mark.parametrize("compiler, flags", [
    ("gcc", ["-std=c99", "-x", "c"]), ("gcc", ["-std=c17", "-x", "c"]),
    ("g++", ["-std=c++98", "-x", "c++"]), ("g++", ["-std=c++20", "-x", "c++"]),
    ("clang", ["-std=c99", "-x", "c"]),
])
def test_the_header_is_clean_in_c_and_cxx(compiler, flags):
    if not support.have(compiler):
        pytest.skip(f"{compiler} is not installed")
    done = run(compiler, *flags, "-pedantic-errors", "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
               *(["-Wno-long-long"] if "c++98" in flags[0] else []), "-I", HEADER.parent, "-",
               input=b"#include <sandboxrun.h>\n#include <sandboxrun.h>\nint x = SBR_OK;\n")
    assert done.returncode == 0, done.stderr.decode()


def declared():
    text = re.sub(r"/\*.*?\*/|typedef (?:void|int) [^;]*;", "", HEADER.read_text(), flags=re.S)
    return set(re.findall(r"\b(sbr_\w+)\(", text))


def test_the_library_exports_what_the_header_declares_and_nothing_else():
    done = run("nm", "-D", "--defined-only", LIBRARY)
    names = {line.split()[-1].split("@")[0] for line in done.stdout.decode().splitlines()
             if line.split()[-2] in "TDBRWViu"}
    assert names == declared() and len(names) >= 15


def test_the_static_library_works_too(root, session_folder):
    machine_gives.skip_if(support.lacks(support.available_callers()[0]))
    target = session_folder / "static-example"
    subprocess.run(["gcc", f"-I{HEADER.parent}", support.REPO / "docs/example/example.c",
                    LIBRARY.with_suffix(".a"), "-ljansson", "-lcyaml", "-lyaml",
                    "-pthread", "-o", target], check=True)
    done = run(target)
    assert (done.returncode, done.stderr) == (0, b"") and b"hello, world" in done.stdout


def test_the_configuration_is_read_only_when_it_is_asked_for(any_caller, folder, session_folder):
    machine_gives.skip_if(support.lacks(any_caller))
    tool = compiled("library_config.c", session_folder / "library-config")
    (folder / "sandbox-run").mkdir()
    (folder / "sandbox-run/config.yaml").write_text("limits: {timeout: 9s}\naudit: true\n")
    (folder / ".sandbox-run.yaml").write_text("limits: {timeout: 3s}\n")
    if os.geteuid() == 0 and any_caller == "user":
        subprocess.run(["chown", "-R", str(support.ORDINARY_UID), folder], check=True)
    env = {"XDG_CONFIG_HOME": str(folder), "SANDBOX_RUN_STATE": str(folder / "state"), "SANDBOX_RUN_COLD": "1"}

    def wall(*words):
        first, second = run(tool, *words, caller=any_caller, env=env).stdout.decode().splitlines()
        return first, json.loads(second)["limits"]["wall_ms"]

    assert wall() == ("0 ", 30000)
    assert not (folder / "state/audit.jsonl").exists()
    said, timeout = wall(folder)
    assert said.startswith("1 ") and "is not trusted and is ignored" in said and timeout == 9000
    assert (folder / "state/audit.jsonl").read_text().count("\n") == 1
    (folder / "sandbox-run/config.yaml").write_text("limitz: 1\n")
    done = run(tool, folder, caller=any_caller, env=env)
    assert done.returncode == 1 and b"did you mean 'limits'?" in done.stdout
