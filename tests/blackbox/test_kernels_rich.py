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


def widest(text):
    return max(map(len, text.splitlines()))


def test_tables_and_arrays_fit_the_width_that_the_client_gives(python):
    table = "pd.DataFrame({'column%d' % i: ['x' * 12, 'y'] for i in range(12)})"
    assert widest(python.run(f"import numpy as np, pandas as pd\n{table}").value) > 60
    for width in (40, 60, 120):
        assert width - 20 < widest(python.run(table, width).value) <= width
        assert width - 20 < widest(python.run(f"print({table})", width).out) <= width
        assert width - 10 < widest(python.run("np.arange(90)", width).value) <= width
        assert widest(python.run("[['x' * 9] * 4] * 3", width).value) <= width
        assert python.run("import shutil; shutil.get_terminal_size().columns", width).value == str(width)
    python.run("pd.set_option('display.width', 77)")
    assert python.run("pd.get_option('display.width')", 50).value == "77", "what a cell has set stays"


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
