"""The distribution's packages that need more than /usr work inside, without a word on stderr: what of /etc they read is
shown (src/plan/plan_etc.c)."""
import pytest

import support
from support import sandbox_run

PYTHON = """
import io
import numpy, pandas, lxml.etree
from PIL import Image, ImageDraw
import matplotlib
matplotlib.use("Agg")
from matplotlib import pyplot
pyplot.plot(numpy.arange(4) ** 2)
pyplot.title("text")
picture = io.BytesIO()
pyplot.savefig(picture)
drawn = Image.new("RGB", (40, 20))
ImageDraw.Draw(drawn).text((2, 2), "text", fill="white")
print(picture.getvalue()[:4], any(drawn.tobytes()), pandas.DataFrame({"a": [1, 2]}).a.sum(),
      lxml.etree.fromstring("<a><b/></a>")[0].tag)
"""
R = """
png("plot.png")
plot(1:10, main = "text")
invisible(dev.off())
cat(file.exists("plot.png"), "\\n")
"""


@pytest.mark.container
@pytest.mark.skipif(not support.have("Rscript"), reason="needs R")
def test_r_draws_text_without_a_complaint():
    done = sandbox_run("-l", "r", "-c", R, "--timeout", "60s")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"TRUE \n", b"")


@pytest.mark.container
def test_the_distributions_python_packages_work():
    # /usr/bin/python3: the packages are the distribution's, whichever python3 comes first in PATH.
    done = sandbox_run("exec", "--memory", "1g", "--timeout", "60s", "--", "/usr/bin/python3", "-c", PYTHON)
    assert (done.returncode, done.stderr) == (0, b""), done.stderr
    assert done.stdout == b"b'\\x89PNG' True 3 b\n"


@pytest.mark.container
def test_fonts_are_found_and_the_hosts_names_are_not():
    found = sandbox_run("exec", "--", "sh", "-c", "fc-match sans && ls /etc")
    assert found.returncode == 0 and b": " in found.stdout, found.stderr
    shown = set(found.stdout.decode().splitlines()[1:])
    assert {"fonts", "passwd"} <= shown and not shown & {"hostname", "machine-id", "shadow", "ssh", "localtime"}
