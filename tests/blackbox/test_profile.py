"""profile: a program that is run again and again, and what it used over time."""
import glob
import json
import re
import signal
import subprocess
import xml.etree.ElementTree as tree

import pytest

from support import sandbox_run
from waiting import SOON, started, wait_until

BUSY = "import time\nend = time.monotonic() + 0.3\ndata = bytearray(40 << 20)\nwhile time.monotonic() < end: pass\n"


def test_figures_and_use_over_time(root, folder):
    (folder / "busy.py").write_text(BUSY)
    done = sandbox_run("profile", "--json", "--repeat", "2", "--warm-up", "0", "--svg", str(folder / "use.svg"),
                       str(folder / "busy.py"), caller=root)
    found = json.loads(done.stdout)
    assert done.returncode == 0 and (found["runs"], found["succeeded"]) == (2, 2)
    assert found["wall_ms"]["min"] >= 300 and found["wall_ms"]["runs"] == 2
    assert found["peak_memory_bytes"]["median"] >= 40 << 20
    points = found["over_time"]
    assert len(points) > 3 and [one["time_ms"] for one in points] == sorted(one["time_ms"] for one in points)
    assert max(one["memory_bytes"] for one in points) >= 40 << 20 and max(one["cpu"] for one in points) > 0.1
    picture = tree.parse(folder / "use.svg").getroot()
    assert len(picture.findall("{http://www.w3.org/2000/svg}polyline")) == 4


def test_the_program_may_be_a_text_and_need_packages(root):
    done = sandbox_run("profile", "--repeat", "2", "--json", "--lang", "python", "--dep", "six@1.16.0",
                       "--code", "import six; print(six.__version__)", caller=root)
    assert done.returncode == 0 and json.loads(done.stdout)["runs"] == 2, (done.stdout, done.stderr)
    done = sandbox_run("profile", "--lang", "python", "--code", "1", "more.py", caller=root)
    assert done.returncode == 125 and b"name one program" in done.stderr


def test_the_text_has_a_row_for_each_figure(root, folder):
    (folder / "busy.py").write_text(BUSY + "raise SystemExit(3)\n")
    done = sandbox_run("profile", "--repeat", "1", "--warm-up", "0", str(folder / "busy.py"), caller=root)
    text = done.stdout.decode()
    assert done.returncode == 1 and text.startswith("python busy.py: 1 runs, 0 succeeded\n")
    assert [line.split()[0] for line in text.splitlines() if line][2:5] == ["wall", "CPU", "memory"]
    assert "█" in text and "processes" in text


NATIVE = ("#include <time.h>\n\ndouble hot(double sum)\n{\n    for (int i = 0; i < 100000; i++)\n        sum += i % 7;\n"
          "    return sum;\n}\n\nint main(void)\n{\n    double sum = 0;\n    while (clock() < CLOCKS_PER_SEC / 5)\n"
          "        sum = hot(sum);\n    return sum < 0;\n}\n")
HOT = {
    "py": "import sys\n\n\ndef hot(n):\n    return sum(i * i for i in range(n))\n\n\ndef main():\n    for _ in range(40):\n"
          "        hot(50_000)\n\n\nmain()\nraise SystemExit(3)\n",
    "js": "const unused = 1;\nfunction hot(n) {\n  let sum = 0;\n  for (let i = 0; i < n; i++) sum += Math.sqrt(i % 7);\n"
          "  return sum;\n}\nfunction main() {\n  for (let i = 0; i < 40; i++) hot(2e6);\n}\nmain();\n",
    "ts": "interface Unused {\n  a: number;\n}\nfunction hot(n: number): number {\n  let sum = 0;\n"
          "  for (let i = 0; i < n; i++) sum += Math.sqrt(i % 7);\n  return sum;\n}\n"
          "function main(): void {\n  for (let i = 0; i < 40; i++) hot(2e6);\n}\nmain();\n",
    "c": NATIVE,
    "cpp": NATIVE,
    "rs": "use std::time::Instant;\n\n#[inline(never)]\nfn hot(mut sum: f64) -> f64 {\n    for i in 0..100_000u64 {\n"
          "        sum += (i % 7) as f64;\n    }\n    sum\n}\n\nfn main() {\n    let begun = Instant::now();\n"
          "    let mut sum = 0.0;\n    while begun.elapsed().as_millis() < 300 {\n        sum = hot(sum);\n    }\n"
          "    std::process::exit((sum < 0.0) as i32);\n}\n",
    "go": "package main\n\nimport (\n\t\"os\"\n\t\"time\"\n)\n\n//go:noinline\nfunc hot(sum float64) float64 {\n"
          "\tfor i := 0; i < 100000; i++ {\n\t\tsum += float64(i % 7)\n\t}\n\treturn sum\n}\n\nfunc main() {\n"
          "\tsum := 0.0\n\tfor begun := time.Now(); time.Since(begun) < 300*time.Millisecond; {\n\t\tsum = hot(sum)\n\t}\n"
          "\tif sum < 0 {\n\t\treturn\n\t}\n\tos.Exit(0)\n}\n",
}
HOT_LINE = {"py": 4, "js": 2, "ts": 4, "c": 3, "cpp": 3, "rs": 4, "go": 9}


@pytest.mark.parametrize("extension", HOT)
def test_functions_are_found_with_their_places(root, folder, extension):
    program, stacks = folder / f"hot.{extension}", folder / "stacks"
    program.write_text(HOT[extension])
    done = sandbox_run("profile", "--json", "--repeat", "1", "--warm-up", "0", "--functions", "--stacks", str(stacks),
                       str(program), caller=root)
    found = json.loads(done.stdout)["functions"]
    hot = next(one for one in found if f"hot.{extension}:{HOT_LINE[extension]})" in one["function"])
    main = next(one for one in found if re.match(r"(main(\.|::))?main \(", one["function"]))
    assert re.match(r"(main(\.|::))?hot(\(double\))? \(", hot["function"]) and hot["total_ms"] > 0.5 * main["total_ms"] > 0
    assert main["self_ms"] < hot["total_ms"], found
    assert any(re.search(r"main \(.*;\S*hot(\(double\))? \(", line) for line in stacks.read_text().splitlines())



EXEC = """
import os, time
def hot():
    while time.process_time() < 0.2:
        pass
hot()
try:
    os.execvp("/nowhere/at/all", ["all"])
except FileNotFoundError:
    os.execlp("sh", "sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done; echo counted")
"""


def test_a_program_that_another_takes_the_place_of_is_not_ended_by_our_timer(root, folder):
    (folder / "exec.py").write_text(EXEC)
    done = sandbox_run("profile", "--json", "--repeat", "1", "--warm-up", "0", "--functions", str(folder / "exec.py"), caller=root)
    found = json.loads(done.stdout)
    assert (found["runs"], found["succeeded"]) == (1, 1), found
    assert any(re.match(r"hot \(.*exec\.py:3\)", one["function"]) and one["total_ms"] > 50 for one in found["functions"])


FORGED = r"""
import atexit, os, pathlib
place = pathlib.Path("/work/.sandbox-run-profile")
def forge():
    place.write_text("\x1b]0;owned\x07 5\n" + "x" * 100_000 + " 7\nbad\n;;;; 3\n")
    os._exit(0)
atexit.register(forge)
"""


def test_samples_of_a_program_that_forges_them_are_shown_without_effect(root, folder):
    (folder / "forge.py").write_text(FORGED)
    done = sandbox_run("profile", "--repeat", "1", "--warm-up", "0", "--functions", str(folder / "forge.py"), caller=root)
    assert done.returncode == 0 and b"\\x1b]0" in done.stdout and b"\x1b" not in done.stdout and b"\x07" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) < 300


def test_a_program_without_samples_has_a_sentence_and_no_empty_table(root, folder):
    (folder / "short.py").write_text(re.sub(r"write_text\(.*\)", 'write_text("")', FORGED))
    done = sandbox_run("profile", "--repeat", "1", "--warm-up", "0", "--functions", str(folder / "short.py"), caller=root)
    assert done.returncode == 0 and b"functions: no sample was taken" in done.stdout and b"self" not in done.stdout


@pytest.mark.container
def test_ctrl_c_while_functions_are_sampled_leaves_nothing(root, folder):
    def places():
        return glob.glob("/tmp/sandbox-run-profile-*")

    # The measured run ends well, or nothing is sampled; the run that samples does not end.
    (folder / "long.py").write_text("import pathlib, time\nseen = pathlib.Path('/seen/once')\n"
                                    "while seen.exists(): time.sleep(0.01)\nseen.touch()\n")
    (folder / "seen").mkdir()
    before = set(places())
    with started("profile", "--repeat", "1", "--warm-up", "0", "--volume", f"{folder}/seen:/seen:rw", "--functions",
                 str(folder / "long.py"), caller=root, stdin=subprocess.DEVNULL) as process:
        assert wait_until(lambda: set(places()) - before, SOON)  # the run that samples
        process.send_signal(signal.SIGINT)
        assert process.wait(SOON) == -signal.SIGINT
    assert not set(places()) - before


@pytest.mark.parametrize("words, message", [
    (("--stacks", "x"), "--stacks needs --functions"),
    (("--functions",), "sh has no profiler of functions"),
    (("--repeat", "0"), "--repeat '0' is no number of runs"),
    (("--svg", "/none/x.svg"), "/none/x.svg"),
    (("second",), "name one program"),
])
def test_what_cannot_be_done_is_refused(root, folder, words, message):
    (folder / "a.sh").write_text("true")
    done = sandbox_run("profile", *words, str(folder / "a.sh"), caller=root)
    assert done.returncode == 125 and message in done.stderr.decode()
