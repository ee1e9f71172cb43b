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
# A package for its tests needs the project's own, and would bring a published copy.
NEEDED = {
    "pyproject.toml": "[build-system]\nrequires = ['setuptools']\nbuild-backend = 'setuptools.build_meta'\n[project]\nname = 'six'\n"
                      "version = '1.99'\n[dependency-groups]\ntest = ['pytest', 'python-dateutil==2.9.0']\n",
    "src/six/__init__.py": "own = True\n",
    "tests/test_six.py": "import importlib.metadata\n\nimport six\n\n\ndef test_own():\n    assert six.own and importlib.metadata.version('six') == '1.99'\n",
}
WORKSPACES = {
    "package.json": '{"private": true, "workspaces": ["packages/*"], "scripts": {"test": "node --test"}, "dependencies": {"side": "file:./side"}}',
    "side/package.json": '{"name": "side", "version": "1.0.0"}',
    "side/index.js": "module.exports = 'side';\n",
    "packages/a/package.json": '{"name": "a", "version": "1.0.0", "dependencies": {"b": "workspace:*", "is-number": "6.0.0"}}',
    "packages/b/package.json": '{"name": "b", "version": "1.0.0", "dependencies": {"is-number": "7.0.0"}}',
    "packages/b/index.js": "module.exports = require('is-number/package.json').version;\n",
    "packages/a/a.test.js": """const test = require('node:test'), assert = require('node:assert');
test('each has its own', () => {
    assert.equal(require('b'), '7.0.0');
    assert.equal(require('is-number/package.json').version, '6.0.0');
});
test('the files are the project’s', () => {
    assert.equal(require('side'), 'side');
    assert.ok(require.resolve('b').startsWith('/work/packages/b/'));
});
""",
}
# A case for each thing that the sandbox has not, and the option that its denial names.
REFUSED = {
    "test_a.py": """import os
import socket
import unittest


class Case(unittest.TestCase):
    def test_network(self):
        socket.create_connection(('192.0.2.1', 80), 5)

    def test_terminal(self):
        os.close(os.open('/dev/tty', os.O_RDWR))

    def test_server(self):
        socket.create_connection(('127.0.0.1', 1), 5)

    def test_wrong(self):
        self.assertEqual(1, 2)
""",
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


def test_a_package_that_its_tests_need_as_well_is_the_projects_own(root, folder):
    found, cases = run_tests(project(folder, NEEDED), root)
    assert cases == {"test_own": "passed"}, found


def test_workspaces_have_their_packages_and_each_other(root, folder):
    place = project(folder, WORKSPACES)
    found, cases = run_tests(place, root)
    assert sorted(cases.values()) == ["passed", "passed"], found
    (place / "packages/b/index.js").write_text(WORKSPACES["packages/b/index.js"] + "// changed\n")
    again, cases = run_tests(place, root)
    assert stages(again) == ["run"] and sorted(cases.values()) == ["passed", "passed"]


def test_a_case_that_fails_for_the_sandbox_names_the_option_that_it_wants(root, folder):
    place = project(folder, REFUSED)
    found, _ = run_tests(place, root)
    denials = {one["name"].split(" ")[0].rsplit(".", 1)[-1]: one["denial"] for one in found["cases"]}
    wanted = {"test_network": "--allow-host", "test_terminal": "--tty", "test_server": "localhost:PORT"}
    assert denials.pop("test_wrong") is None
    assert denials.keys() == wanted.keys() and all(wanted[name] in (denials[name] or "") for name in wanted), found["cases"]
    text = sandbox_run("test", str(place), caller=root).stdout.decode()
    assert text.count("the sandbox: ") == 3


def test_cypress_is_refused_in_a_sentence(root, folder):
    place = project(folder, {"package.json": '{"devDependencies": {"cypress": "13.0.0"}}'})
    for words in ((), ("--runner", "cypress")):
        done = sandbox_run("test", *words, str(place), caller=root)
        assert done.returncode == 125 and b"a browser build of its own" in done.stderr


def test_packages_that_cannot_be_had_need_not_stop_the_tests(root, folder):
    place = project(folder, {"package.json": '{"devDependencies": {"no-such-package-of-this-name": "1.0.0"}}',
                             "a.test.js": "require('node:test')('good', () => {});\n"
                                          "require('node:test')('bad', () => { require('no-such-package-of-this-name'); });\n"})
    found, cases = run_tests(place, root)
    assert cases == {"good": "passed", "bad": "failed"}
    denial = next(one["denial"] for one in found["cases"] if one["outcome"] == "failed")
    assert "could not be installed" in denial
