"""test: projects as they come: layouts, groups, compiled modules, manifests that name files, a loopback."""
import json

from support import sandbox_run

PYTHON = {
    "pyproject.toml": """[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"
[project]
name = "spam"
version = "1.2.3"
[project.scripts]
spam-says = "spam:main"
[dependency-groups]
tests = [{include-group = "base"}, "pytest"]
base = ["six==1.16.0"]
""",
    "setup.py": "from setuptools import Extension, setup\nsetup(ext_modules=[Extension('spam._fast', ['src/spam/_fast.c'])])\n",
    "src/spam/__init__.py": "def main():\n    print('eggs')\n",
    "src/spam/_fast.c": """#include <Python.h>
static PyObject *answer(PyObject *self, PyObject *args) { return PyLong_FromLong(42); }
static PyMethodDef methods[] = {{"answer", answer, METH_NOARGS, ""}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_fast", NULL, -1, methods};
PyMODINIT_FUNC PyInit__fast(void) { return PyModule_Create(&module); }
""",
    "tests/test_spam.py": """import importlib.metadata
import socket
import subprocess
import sys

import six
import spam
from spam import _fast


def test_the_project_is_what_is_tested():
    assert spam.__file__.startswith('/work/src') and _fast.__file__.startswith('/work/src') and _fast.answer() == 42
    assert importlib.metadata.version('spam') == '1.2.3' and six.__version__ == '1.16.0'
    assert subprocess.check_output(['spam-says']) == b'eggs\\n'


def test_what_the_host_has_is_not_seen():
    assert not [path for path in sys.path if 'dist-packages' in path]


def test_a_server_of_its_own_can_be_reached():
    server = socket.create_server(('127.0.0.1', 0))
    with socket.create_connection(server.getsockname()):
        server.accept()
""",
}
RUST = {
    "Cargo.toml": "[package]\nname = \"t\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dev-dependencies]\nitoa = \"=1.0.9\"\n"
                  "[[bench]]\nname = \"parse\"\nharness = false\n",
    "src/lib.rs": "pub fn one() -> u32 { 1 }\n",
    "benches/parse.rs": "fn main() {}\n",
    "tests/it.rs": "#[test]\nfn good() { assert_eq!(itoa::Buffer::new().format(t::one()), \"1\"); }\n",
}


def project(folder, files):
    for name, text in files.items():
        path = folder / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / "project"


def run_tests(place, root):
    done = sandbox_run("test", "--json", str(place), caller=root)
    found = json.loads(done.stdout)
    return found, {one["name"].rsplit("::", 1)[-1]: one["outcome"] for one in found.get("cases", [])}


def stages(found):
    return [one["name"] for one in found["stages"]]


def test_a_python_project_is_set_up_and_tested_as_it_is(root, folder):
    place = project(folder, PYTHON)
    found, cases = run_tests(place, root)
    assert set(cases.values()) == {"passed"} and len(cases) == 3, found["stderr"]
    (place / "src/spam/more.py").write_text("x = 1\n")  # no list, and nothing that is compiled
    again, cases = run_tests(place, root)
    assert stages(again) == ["run"] and len(cases) == 3
    (place / "src/spam/_fast.c").write_text(PYTHON["src/spam/_fast.c"].replace("42", "43"))
    built, cases = run_tests(place, root)
    assert stages(built) == ["compile", "run"] and cases["test_the_project_is_what_is_tested"] == "failed"


def test_a_crate_whose_manifest_names_files(root, folder):
    place = project(folder, RUST)
    found, cases = run_tests(place, root)
    assert cases == {"good": "passed"}, found["stderr"]
    again, _ = run_tests(place, root)
    assert stages(again) == ["run"]


def test_the_installers_own_words_are_shown(root, folder):
    place = project(folder, {**RUST, "Cargo.toml": RUST["Cargo.toml"].replace("itoa", "no-such-crate-of-this-name")})
    done = sandbox_run("test", str(place), caller=root)
    assert done.returncode == 1 and b"no-such-crate-of-this-name" in done.stderr
