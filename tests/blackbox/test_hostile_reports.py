"""Reports of test runners that the tests themselves have spoiled: bounded, shown without control characters, and never a way
to a file of this machine."""
import json
import os
import pty
import subprocess

import pytest

import support
from support import sandbox_run
from test_hostile_documents import MOST_KIB, PEAK
from test_test import project

REPORT = "/work/.sandbox-run-report"
# What a test does to the report, and then ends the runner before it writes its own.
SPOILED = {
    "fifo": f"os.mkfifo('{REPORT}')",
    "link": f"os.symlink('/etc/passwd', '{REPORT}')",
    "hard link": f"os.link('/work/secret.xml', '{REPORT}')",
    "directory": f"os.mkdir('{REPORT}')",
    "device": f"os.symlink('/dev/zero', '{REPORT}')",
    "socket": f"__import__('socket').socket(__import__('socket').AF_UNIX).bind('{REPORT}')",
    "empty": f"open('{REPORT}', 'w')",
    "bytes": f"open('{REPORT}', 'wb').write(b'<testsuite><testcase name=\"\\xff\\xfe\"/></testsuite>')",
    "deep": f"open('{REPORT}', 'w').write('<a>' * 100000)",
    "sparse": f"open('{REPORT}', 'w').truncate(1 << 30)",
    "endless name": f"open('{REPORT}', 'w').write('<testsuite><testcase name=\"' + 'x' * (20 << 20) + '\"/></testsuite>')",
    "many": f"open('{REPORT}', 'w').write('<testsuite>' + '<testcase name=\"x\"/>' * 200000 + '</testsuite>')",
}


@pytest.mark.parametrize("way", SPOILED)
def test_a_spoiled_report_costs_one_sentence(root, folder, way):
    text = f"import os, pytest\n\ndef test_x():\n    {SPOILED[way]}\n    os._exit(0)\n"
    path = project(folder, {"test_a.py": text, "secret.xml": "<testsuite><testcase name='secret'/></testsuite>"})
    done = sandbox_run("test", "--json", path, caller=root, timeout=60)
    found = json.loads(done.stdout)
    assert len(done.stdout) < 1 << 20 and b"root:" not in done.stdout
    if "cases" in found:
        assert all(len(one["name"]) <= 4000 for one in found["cases"])
    else:
        assert done.returncode == 125 and found["error"]["message"].count("\n") == 0, found


# In pieces, so that the test takes less memory than the report's reader.
LARGE = {
    "elements": ("f.writelines(f'<e{i}/>' for i in range(1000000))", "takes more than 16 MiB to read"),
    "one tag": ("f.write('<a b=\"'); f.writelines('x' * 65536 for _ in range(400)); f.write('\"/>')",
                "takes more than 16 MiB to read"),
    "names": ("f.writelines('<testcase name=\"' + '\u202e' * 100 + str(i) + '\"/>' for i in range(50000))",
              "the names of the runner's cases have more than 24 MiB"),
}


def test_a_large_report_takes_no_more_than_its_bounds(root, folder):
    """What it says, and what the supervisor takes besides the report's own text."""
    for way, (text, says) in LARGE.items():
        path = project(folder, {"test_a.py": f"import os\n\ndef test_x():\n    f = open('{REPORT}', 'w')\n"
                                             f"    f.write('<testsuite>')\n    {text}\n"
                                             "    f.write('</testsuite>')\n    f.close()\n    os._exit(0)\n"})
        done = sandbox_run("test", "--json", path, caller=root, timeout=60,
                           prefix=("/usr/bin/python3", "-S", "-E", "-c", PEAK, folder / "peak"))
        found = json.loads(done.stdout)
        assert says in found["error"]["message"], (way, found)
        assert int((folder / "peak").read_text()) < MOST_KIB + (30 << 10), way


NAMES = ["\x1b]0;title\x07", "\x1b[2J", "\x9b2J", "\r\nforged: 9 passed", "\u202e"]


def test_names_and_messages_have_no_effect_on_a_terminal(root, folder):
    """At a terminal, where nothing else stands between the report and the screen."""
    tests = "\n".join(f"test({json.dumps(name + str(i))}, () => {{ throw new Error({json.dumps(name)}); }});"
                      for i, name in enumerate(NAMES))
    path = project(folder, {"a.test.js": "const { test } = require('node:test');\n" + tests})
    control, terminal = pty.openpty()
    with subprocess.Popen(support.command("test", "--no-color", path, caller=root), env=support.surroundings(root),
                          stdin=subprocess.DEVNULL, stdout=terminal, stderr=terminal) as run:
        os.close(terminal)
        shown = b""
        while True:
            try:
                part = os.read(control, 65536)
            except OSError:
                break  # it has left the terminal
            if not part:
                break
            shown += part
    os.close(control)
    text = shown.decode()
    assert "\x1b]" not in text and "\x1b[2J" not in text and "\x9b" not in text and "\u202e" not in text, text
    assert not any(line.startswith("forged:") for line in text.splitlines()), text
    assert run.returncode == 1 and "node: 0 passed, 5 failed" in text, text
