"""profile: a program that is run again and again, and what it used over time."""
import json
import xml.etree.ElementTree as tree

import pytest

from support import sandbox_run

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


def test_the_text_has_a_row_for_each_figure(root, folder):
    (folder / "busy.py").write_text(BUSY + "raise SystemExit(3)\n")
    done = sandbox_run("profile", "--repeat", "1", "--warm-up", "0", str(folder / "busy.py"), caller=root)
    text = done.stdout.decode()
    assert done.returncode == 1 and text.startswith("python busy.py: 1 runs, 0 succeeded\n")
    assert [line.split()[0] for line in text.splitlines() if line][2:5] == ["wall", "CPU", "memory"]
    assert "█" in text and "processes" in text


@pytest.mark.parametrize("words, message", [
    (("--repeat", "0"), "--repeat '0' is no number of runs"),
    (("--svg", "/none/x.svg"), "/none/x.svg"),
    (("second",), "name one program"),
])
def test_what_cannot_be_done_is_refused(root, folder, words, message):
    (folder / "a.sh").write_text("true")
    done = sandbox_run("profile", *words, str(folder / "a.sh"), caller=root)
    assert done.returncode == 125 and message in done.stderr.decode()
