"""What Python's libraries show in a session: arrays, tables, figures and pictures, with Debian's own packages."""
import base64
import os

import pytest

import machine_gives
from kernels import Kernel

PYTHON = ["/usr/bin/python3", "-B", "-s", "${driver}/session-python.py"]
LIBRARIES = "/usr/lib/python3/dist-packages"
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(name="python", scope="module")
def python_kernel(tmp_path_factory):
    missing = [name for name in ("numpy", "pandas", "matplotlib", "PIL") if not os.path.isdir(f"{LIBRARIES}/{name}")]
    machine_gives.skip_if(f"{missing} are not installed" if missing else None)
    with Kernel(PYTHON, tmp_path_factory.mktemp("rich")) as kernel:
        yield kernel


def test_arrays_and_tables_are_shown(python):
    assert python.run("import numpy as np\nnp.arange(3)").value == "array([0, 1, 2])"
    shown, = python.run("import pandas as pd\npd.DataFrame({'a': [1, 2], 'b': ['x', '<y>']})").shown
    assert shown["text/plain"] == "   a    b\n0  1    x\n1  2  <y>"
    assert "<table" in shown["text/html"] and "&lt;y&gt;" in shown["text/html"]


def test_figures_and_pictures_are_png(python):
    done = python.run("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nNone")
    assert [base64.b64decode(one["image/png"])[:8] for one in done.shown] == [PNG]
    assert python.run("plt.show()").shown == [], "a figure is shown once"
    shown, = python.run("from PIL import Image\nImage.new('RGB', (2, 2))").shown
    assert base64.b64decode(shown["image/png"])[:8] == PNG


def test_objects_say_how_they_are_shown(python):
    shown, = python.run("class M:\n    def __repr__(self): return 'M'\n    def _repr_markdown_(self): return '# t'\n"
                        "    def _repr_latex_(self): return '$x$'\n    def _repr_jpeg_(self): return b'j'\nM()").shown
    assert shown == {"text/plain": "M", "text/markdown": "# t", "text/latex": "$x$", "image/jpeg": "ag=="}
    shown, = python.run("class B:\n    def _repr_mimebundle_(self, include=None, exclude=None):\n"
                        "        return {'text/plain': 'b', 'application/json': [1]}\nB()").shown
    assert shown == {"text/plain": "b", "application/json": [1]}
