"""The images that `image build` knows by name: built from Debian and the registries, the same for every caller, and used.

They take minutes and gigabytes, so `make check-images` runs these tests."""
import json
import os
import re

import pytest

import support
from support import result_of, sandbox_run

GO = 'package main\n\nimport (\n\t"fmt"\n\n\t"github.com/stretchr/testify/assert"\n)\n\n'
DERIVED = "#[derive(serde::Serialize)]\nstruct Point { x: i32 }\nfn main() { println!(\"{}\", Point { x: 42 }.x); }\n"
# Name: language, a program that uses a package, a mistake and its type, lines of a session and the last one's answer.
READY = {
    "go": ("go", GO + "func main() {\n\tfmt.Println(assert.ObjectsAreEqual(1, 1))\n}\n", "true\n",
           "package main\n\nfunc main() {\n\tx := 1\n}\n", "UnusedVariable", 'import "fmt"\nx := 6\nfmt.Println(x * 7)\n'),
    "java": ("java", "import com.google.gson.Gson;\npublic class Main { public static void main(String[] args) throws Exception {\n"
             'Class.forName("org.junit.jupiter.api.Test"); System.out.println(new Gson().toJson(new int[] {1, 2})); } }\n', "[1,2]\n",
             'public class Main { int x = "a"; }\n', "IncompatibleTypes", "int x = 6;\nx * 7\n"),
    "python": ("python", "import numpy, pandas, matplotlib, requests, pytest\nprint(numpy.arange(3).sum(), pandas.DataFrame({'a': [1, 2]}).a.sum())\n", "3 3\n",
               "x = (\n", "SyntaxError", "x = 6\nprint(x * 7)\n"),
    "rust": ("rust", "#[derive(serde::Serialize)]\nstruct Point { x: i32 }\n"
             'fn main() { println!("{}", serde_json::to_string(&Point { x: 42 }).unwrap()); }\n', '{"x":42}\n', 'fn main() { let x: i32 = "a"; }\n', "E0308",
             'let x = 6;\nprintln!("{}", x * 7);\n'),
    "typescript": ("typescript", 'import ts from "typescript";\nconsole.log(typeof ts.version);\n', "string\n",
                   'const x: number = "a"; console.log(x);\n', "TS2322", "const x: number = 6\nx * 7\n"),
}
PLOT = "import matplotlib\nmatplotlib.use('Agg')\nimport matplotlib.pyplot as p\np.plot([1, 2])\np.savefig('p.png')\nprint(open('p.png', 'rb').read(4)[1:])\n"
ASKED = "import requests\ntry:\n    requests.get('http://127.0.0.1:1')\nexcept requests.ConnectionError:\n    print('asked')\n"
ADDS = "import { expect, test } from 'vitest'\ntest('adds', () => expect(1 + 1).toBe(2))\n"
JUNIT = "import org.junit.jupiter.api.*;\nclass SumTest { @Test void adds() { Assertions.assertEquals(2, 1 + 1); } }\n"
TESTIFY = ('package main\n\nimport (\n\t"testing"\n\n\t"github.com/stretchr/testify/require"\n)\n\n'
           "func TestSum(t *testing.T) {\n\trequire.Equal(t, 2, 1+1)\n}\n")
# Name: files, a line of shell that uses a tool or a library of the image, and a part of what it says.
TOOLS = {
    "go": [("sum_test.go", TESTIFY, "export GOFLAGS=-mod=mod GOPROXY=off GOSUMDB=off; go mod init x && go get github.com/stretchr/testify@v1.8.4 && go test ./...", "ok ")],
    "java": [("SumTest.java", JUNIT, "javac -d /tmp SumTest.java && java org.junit.platform.console.ConsoleLauncher execute --class-path /tmp --select-class SumTest",
              "1 tests successful"), ("", "", "mvn -v", "Apache Maven")],
    "python": [("plot.py", PLOT, "python3 plot.py", "b'PNG'"), ("ask.py", ASKED, "python3 ask.py", "asked"),
               ("test_sum.py", "def test_sum():\n    assert 1 + 1 == 2\n", "python3 -m pytest -q -p no:cacheprovider", "1 passed")],
    "rust": [("main.rs", 'fn main() { println!("built"); }\n', "rustc main.rs -o /tmp/main && /tmp/main", "built"), ("", "", "cargo --version", "cargo ")],
    "typescript": [("main.ts", "const x: number = 42\nconsole.log(x)\n", "tsx main.ts", "42"), ("sum.test.ts", ADDS, "vitest run", "1 passed"),
                   ("bad.js", "undefinedCall()\n", "eslint --no-config-lookup --rule 'no-undef: error' bad.js", "no-undef"),
                   ("bad.ts", "const x: number = 'a'\n", "tsc --noEmit bad.ts", "TS2322")],
}
WIDE = ("--timeout", "10m", "--memory", "2g", "--pids", "512", "--disk", "1g", "--cpu-time", "10m")
# With -v Python names the source of what it compiles, and the bytecode of what it does not.
IMPORTS = ("python3", "-B", "-v", "-c", "import pandas, matplotlib.pyplot, requests, pytest, json")
COMPILED = re.compile(r"^# code object from '(.*[.]pyc?)'$", re.MULTILINE)


@pytest.mark.parametrize("name", READY)
def test_an_image_is_the_same_for_all_and_programs_use_what_it_brings(name, folder):
    language, program, says, mistake, kind, lines = READY[name]
    ids = {}
    for caller in support.available_callers():
        own = folder / caller
        own.mkdir()
        if caller == support.Callers.USER and os.geteuid() == 0:
            os.chown(own, support.ORDINARY_UID, support.ORDINARY_UID)
        env = {"SANDBOX_RUN_CACHE": str(own / "cache"), "HOME": str(own)}
        done = sandbox_run("image", "build", name, "--json", caller=caller, env=env, timeout=3600)
        assert done.returncode == 0, done.stdout
        ids[caller] = json.loads(done.stdout)["id"]
    assert len(set(ids.values())) == 1, ids  # the last caller goes on
    # pandas and its like take a while to import when others use the machine, too.
    words = ("--image", f"localhost/{name}", "-l", language, "--timeout", "10m")
    result = result_of("run", *words, "-c", program, caller=caller, env=env, timeout=3600)
    assert result["stdout"] == says, result
    result = result_of("run", *words, "--check", "-c", mistake, caller=caller, env=env, timeout=3600)
    assert result["diagnosis"]["type"] == kind, result
    if name == "rust":  # without a version: the image's own, because its compiler is too old for the newest
        result = result_of("run", *words, "--dep", "serde[derive]", "-c", DERIVED, caller=caller, env=env, timeout=3600)
        assert result["stdout"] == "42\n", result
    project = folder / "project"
    project.mkdir()
    for file, content, line, says in TOOLS[name]:
        if file:
            (project / file).write_text(content)
        done = sandbox_run("exec", *words[:2], "--project", project, *WIDE, "--", "sh", "-c", f"({line}) 2>&1", caller=caller, env=env, timeout=3600)
        assert says in done.stdout.decode(), (line, done)
    if name == "python":
        done = sandbox_run("exec", *words[:2], *WIDE, "--", *IMPORTS, caller=caller, env=env, timeout=3600)
        found = COMPILED.findall(done.stderr.decode())
        assert len(found) > 500 and not [path for path in found if path.endswith(".py")], "it was compiled when the image was built"
    degraded = ["--allow-degraded"] if caller == support.Callers.USER else []
    done = sandbox_run("repl", *degraded, "--image", words[1], language, stdin=lines.encode(), caller=caller, env=env, timeout=3600)
    assert done.stdout.strip().endswith(b"42"), (done.stdout, done.stderr)
    done = sandbox_run("image", "outdated", words[1], caller=caller, env=env, timeout=3600)
    # The newest crates need a newer compiler than the image's, and cargo says which.
    assert done.returncode == 0 or (name == "rust" and b"requires rustc" in done.stderr), done
