"""Modules of a project are found in every language, by a program in its root, in a directory of it, or laid over it."""
import os

import pytest

import support
from support import result_of, sandbox_run

# The project's files, and a program that uses its module; {up} is the way from the program to the root.
# The name of the program is that of a file in the root, of one in a directory, and of one from elsewhere.
LANGUAGES = {
    "bash": ({"mymodule.bash": "answer() { echo answer 42; }\n"}, "prog.bash",
             ". ./mymodule.bash\nanswer\n"),
    "c": ({"mymodule.h": "int answer(void);\n",
           "mymodule.c": '#include "mymodule.h"\nint answer(void) { return 42; }\n',
           "another.c": "int main(void) { return 1; }\n", "broken.c": "int broken( {\n"}, "prog.c",
          '#include <stdio.h>\n#include "mymodule.h"\nint main(void) { printf("answer %d\\n", answer()); }\n'),
    "c++": ({"mymodule.hpp": "int answer();\n",
             "mymodule.cc": '#include "mymodule.hpp"\nint answer() { return 42; }\n',
             "another.cpp": "int main() { return 1; }\n"}, "prog.cpp",
            '#include <iostream>\n#include "mymodule.hpp"\nint main() { std::cout << "answer " << answer() << "\\n"; }\n'),
    "go": ({"go.mod": "module example.org/app\n",
            "mymodule/mymodule.go": "package mymodule\n\nfunc Answer() int { return 42 }\n"}, "prog.go",
           'package main\n\nimport (\n\t"fmt"\n\n\t"example.org/app/mymodule"\n)\n\n'
           'func main() { fmt.Println("answer", mymodule.Answer()) }\n'),
    "java": ({"Mymodule.java": "public class Mymodule { public static int answer() { return 42; } }\n",
              "Broken.java": "class Broken {\n"}, "Prog.java",
             "public class Prog {\n    public static void main(String[] args) {\n"
             '        System.out.println("answer " + Mymodule.answer());\n    }\n}\n'),
    "javascript": ({"mymodule.js": "exports.answer = () => 42;\n"}, "prog.js",
                   "const { answer } = require('mymodule');\nconsole.log('answer', answer());\n"),
    "lua": ({"mymodule.lua": "return { answer = function() return 42 end }\n"}, "prog.lua",
            'print("answer " .. require("mymodule").answer())\n'),
    "perl": ({"Mymodule.pm": "package Mymodule; sub answer { 42 } 1;\n"}, "prog.pl",
             'use Mymodule;\nprint "answer ", Mymodule::answer(), "\\n";\n'),
    "php": ({"mymodule.php": "<?php function answer() { return 42; }\n"}, "prog.php",
            "<?php require 'mymodule.php';\necho 'answer ', answer(), \"\\n\";\n"),
    "postgres": ({"mymodule.sql": "CREATE TABLE answer AS SELECT 42 AS value;\n"}, "prog.sql",
                 "\\i mymodule.sql\n\\pset tuples_only on\n\\pset format unaligned\n"
                 "SELECT 'answer ' || value FROM answer;\n"),
    "python": ({"mymodule.py": "def answer():\n    return 42\n"}, "prog.py",
               'import mymodule\nprint("answer", mymodule.answer())\n'),
    "r": ({"mymodule.R": "answer <- function() 42\n"}, "prog.R",
          'source("mymodule.R")\ncat("answer", answer(), fill = TRUE)\n'),
    "ruby": ({"mymodule.rb": "def answer = 42\n"}, "prog.rb", 'require "mymodule"\nputs "answer #{answer}"\n'),
    "rust": ({"mymodule.rs": "pub fn answer() -> i32 {\n    42\n}\n"}, "prog.rs",
             '#[path = "{up}mymodule.rs"]\nmod mymodule;\n\nfn main() {\n    println!("answer {}", mymodule::answer());\n}\n'),
    "zsh": ({"mymodule.zsh": "answer() { echo answer 42; }\n"}, "prog.zsh", ". ./mymodule.zsh\nanswer\n"),
    "sh": ({"mymodule.sh": "answer() { echo answer 42; }\n"}, "prog.sh", ". ./mymodule.sh\nanswer\n"),
    "sql": ({"mymodule.sql": "CREATE TABLE answer AS SELECT 42 AS value;\n"}, "prog.sql",
            ".read mymodule.sql\nSELECT 'answer ' || value FROM answer;\n"),
    "typescript": ({"mymodule.ts": "export function answer(): number {\n    return 42;\n}\n"}, "prog.ts",
                   "import { answer } from '{up}mymodule';\nconsole.log('answer', answer());\n"),
}
LONG_AGO = 1_600_000_000
FORMS = ["root", "directory", "laid over", "code"]


def make(top, files):
    for name, text in files.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for path in [top, *top.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
        os.utime(path, (LONG_AGO, LONG_AGO))  # tools treat what was written just now differently
    return top


def tree_of(top):
    return {str(path.relative_to(top)): path.read_bytes() if path.is_file() else None
            for path in top.rglob("*")}


def words_for(form, folder, language):
    files, name, text = LANGUAGES[language]
    project = make(folder / "project", files)
    if form == "root":
        make(project, {name: text.replace("{up}", "./")})
        program = [project / name]
    elif form == "directory":
        make(project, {f"deep/er/{name}": text.replace("{up}", "../../")})
        program = [project / "deep" / "er" / name]
    elif form == "laid over":
        program = [make(folder / "elsewhere", {name: text.replace("{up}", "./")}) / name]
    else:
        program = ["--code", text.replace("{up}", "./")]
    return project, ["--project", project, "--lang", language, *program]


def test_every_language_is_here():
    shipped = {path.stem.replace("cpp", "c++") for path in (support.REPO / "languages").glob("*.yaml")}
    assert shipped == set(LANGUAGES)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_a_module_of_the_root_is_found(folder, language, form):
    project, words = words_for(form, folder, language)
    before = tree_of(project)
    result = result_of("run", "--timeout", "30s", *words, timeout=600,
                       caller=support.available_callers()[0])
    assert (result.get("stdout"), result["_status"]) == ("answer 42\n", 0), result
    assert tree_of(project) == before


@pytest.mark.parametrize("language", ["bash", "c", "javascript", "python"])
def test_the_same_for_an_ordinary_user(folder, language):
    _, words = words_for("directory", folder, language)
    result = result_of("run", *words, caller=support.Callers.USER, timeout=600)
    assert (result.get("stdout"), result["_status"]) == ("answer 42\n", 0), result


@pytest.mark.parametrize("language", ["c", "go", "java", "python", "rust", "typescript"])
def test_a_check_sees_the_project(folder, language):
    project, words = words_for("directory", folder, language)
    result = result_of("run", "--check", *words, timeout=600)
    assert result["success"] and result["_status"] == 0, result
    assert tree_of(project) == tree_of(project)


# ---- what is special to one language ----

def run_in(project, *words, **kwargs):
    result = result_of("run", "--project", project, *words, timeout=600, **kwargs)
    assert result["_status"] == 0, result
    return result["stdout"]


def test_es_modules_are_found_by_their_paths(folder):
    project = make(folder / "p", {"package.json": '{"type": "module", "imports": {"#lib": "./lib.js"}}',
                                  "lib.js": "export const answer = 42;\n",
                                  "bin/go.js": "import { answer } from '#lib';\nconsole.log(answer);\n"})
    assert run_in(project, project / "bin" / "go.js") == "42\n"
    assert run_in(project, "-l", "javascript", "-c", "import { answer } from './lib.js'; console.log(answer)") == "42\n"


def test_packages_that_a_project_has_are_not_installed_again(folder):
    project = make(folder / "p", {"package.json": '{"dependencies": {\n"no-such-package-anywhere": "1"}}',
                                  "node_modules/no-such-package-anywhere/index.js": "module.exports = 42;\n",
                                  "main.js": "console.log(require('no-such-package-anywhere'));\n"})
    assert run_in(project) == "42\n"


GO = {"go.mod": "module example.org/app\n", "app.go": "package app\n\nfunc Answer() int { return 42 }\n"}


def test_a_go_program_beside_others(folder):
    files = {"one.go": 'package main\n\nfunc main() { println("one") }\n',
             "two.go": 'package main\n\nimport "fmt"\n\nfunc main() { fmt.Println("two") }\n'}
    project = make(folder / "p", files)
    assert run_in(project, project / "two.go") == "two\n"


def test_a_go_package_of_several_files(folder):
    project = make(folder / "p", {"main.go": 'package main\n\nimport "fmt"\n\nfunc main() { fmt.Println(answer()) }\n',
                                  "util.go": "package main\n\nfunc answer() int { return 42 }\n"})
    assert run_in(project) == "42\n"
    assert run_in(project, project / "main.go") == "42\n"


def test_code_over_a_go_library(folder):
    project = make(folder / "p", GO)
    code = 'package main\nimport ("fmt"; "example.org/app")\nfunc main() { fmt.Println(app.Answer()) }'
    assert run_in(project, "-l", "go", "-c", code) == "42\n"


CARGO = {"Cargo.toml": '[package]\nname = "app"\nversion = "0.1.0"\nedition = "2021"\n',
         "src/lib.rs": "pub fn answer() -> i32 {\n    42\n}\n",
         "src/main.rs": 'fn main() {\n    println!("main {}", app::answer());\n}\n',
         "src/bin/other.rs": 'fn main() {\n    println!("other {}", app::answer());\n}\n'}


@pytest.mark.parametrize("words, expected", [
    ([], "main 42\n"), (["{}/src/bin/other.rs"], "other 42\n"),
    (["-l", "rust", "-c", 'fn main() { println!("code {}", app::answer()); }'], "code 42\n"),
])
def test_programs_of_a_cargo_package(folder, words, expected):
    project = make(folder / "p", CARGO)
    assert run_in(project, *(word.replace("{}", str(project)) if word.startswith("{}") else word
                             for word in words)) == expected


def test_java_packages(folder):
    base = "src/main/java/org/example"
    project = make(folder / "p", {
        f"{base}/App.java": "package org.example;\nimport org.example.util.Answer;\n"
                            "public class App { public static void main(String[] a)"
                            " { System.out.println(Answer.value() + Beside.one()); } }\n",
        f"{base}/Beside.java": "package org.example;\nclass Beside { static int one() { return 1; } }\n",
        f"{base}/util/Answer.java": "package org.example.util;\npublic class Answer"
                                    " { public static int value() { return 41; } }\n"})
    assert run_in(project, project / base / "App.java") == "42\n"
    code = "public class X { public static void main(String[] a) { System.out.println(org.example.util.Answer.value()); } }"
    assert run_in(project, "-l", "java", "-c", code) == "41\n"


def test_python_packages_and_the_programs_own_directory(folder):
    project = make(folder / "p", {"pkg/__init__.py": "", "pkg/part.py": "VALUE = 42\n",
                                  "tools/go.py": "import helper, pkg.part\nprint(helper.NAME, pkg.part.VALUE)\n",
                                  "tools/helper.py": "NAME = 'helper'\n"})
    assert run_in(project, project / "tools" / "go.py") == "helper 42\n"


# ---- which program it is ----

def test_the_main_file_is_found(folder):
    project = make(folder / "p", {"main.py": "print('main', __file__)\n", "aaa.py": "print('no')\n"})
    assert run_in(project) == "main /work/main.py\n"
    assert run_in(project, project) == "main /work/main.py\n"


def test_the_package_names_its_main_file(folder):
    """As `node DIRECTORY` does; a name that leads out, or to nothing, does not count."""
    files = {"lib/start.js": "console.log('named')\n", "index.js": "console.log('usual')\n"}
    for number, (main, expected) in enumerate([("./lib/start.js", "named\n"), ("lib/start", "named\n"), ("dist/x.js", "usual\n"),
                                               ("../out.js", "usual\n")]):
        project = make(folder / f"p{number}", {**files, "package.json": '{"name": "p", "main": "%s"}' % main})
        (folder / "out.js").write_text("console.log('out')")
        assert run_in(project) == expected
        if number < 1:
            assert sandbox_run("run", project).stdout.decode() == expected


def test_the_only_program_is_found_in_a_directory_too(folder):
    project = make(folder / "p", {"sub/only.rb": "puts __FILE__\n", "README": "x"})
    assert run_in(project, project / "sub") == "/work/sub/only.rb\n"


def test_without_a_main_file_the_ways_are_named(folder):
    project = make(folder / "p", {"a.py": "", "b.py": ""})
    done = sandbox_run("run", "--project", project)
    assert (done.returncode, done.stdout) == (125, b"")
    assert b"has no main file such as main.py; name the program: a file, --code TEXT, or - for stdin" in done.stderr


def test_code_does_not_hide_a_file_of_the_project(folder):
    project = make(folder / "p", {"main.py": "answer = 42\n"})
    assert run_in(project, "-l", "python", "-c", "import main; print(main.answer, __file__)") == \
        "42 /work/sandbox_run_main.py\n"


def test_stdin_can_be_the_program(folder):
    project = make(folder / "p", {"mymodule.py": "answer = 42\n"})
    assert run_in(project, "-l", "python", "-", stdin=b"import mymodule; print(mymodule.answer)") == "42\n"


def test_a_file_from_elsewhere_takes_the_place_of_one_of_its_name(folder):
    project = make(folder / "p", {"x.sh": "echo old\n"})
    program = make(folder / "e", {"x.sh": "echo new; cat other\n", "other": "brought\n"}) / "x.sh"
    assert run_in(project, program, "--file", folder / "e" / "other") == "new\nbrought\n"
    assert (project / "x.sh").read_text() == "echo old\n"


def test_files_of_the_project_are_there_already(folder):
    project = make(folder / "p", {"a/x.sh": "cat ./a/data\n", "a/data": "data\n"})
    assert run_in(project, "--file", project / "a" / "x.sh", "--file", project / "a" / "data") == "data\n"


def test_a_link_out_of_the_project_is_named(folder):
    project = make(folder / "p", {"real.sh": "echo real\n"})
    outside = make(folder / "e", {"x.sh": "echo outside\n"})
    os.symlink(outside / "x.sh", project / "out.sh")
    os.symlink(outside, project / "dir")
    os.symlink("real.sh", project / "in.sh")
    for path in ("out.sh", "dir/x.sh"):
        done = sandbox_run("run", "--project", project, project / path)
        assert (done.returncode, done.stdout) == (125, b"")
        assert f"'{project / path}' leads out of the project, to '{outside}/x.sh'".encode() in done.stderr
    assert run_in(project, project / "in.sh") == "real\n"
    assert run_in(project, outside / "x.sh") == "outside\n"


def test_a_command_runs_in_the_project(folder):
    project = make(folder / "p", {"data": "42\n", "sub/x": ""})
    done = sandbox_run("exec", "--project", project, "--", "sh", "-c", "pwd; cat data; echo $HOME; rm -r sub; ls")
    assert (done.stdout, done.returncode) == (b"/work\n42\n/tmp\ndata\n", 0), done.stderr
    assert (project / "sub" / "x").exists()


def test_a_relative_project_is_looked_up_from_here(folder):
    project = make(folder / "p", {"main.sh": "echo here\n"})
    for words, cwd in ((["."], project), (["p"], folder), (["../p"], folder / "p"), (["p/."], folder)):
        done = sandbox_run("run", "--project", *words, cwd=cwd)
        assert (done.stdout, done.returncode) == (b"here\n", 0), done.stderr


def test_machine_code_of_the_project_runs_as_it_is(folder, load):
    project = make(folder / "p", {"x": ""})
    (project / "load").write_bytes(load.read_bytes())
    (project / "load").chmod(0o755)
    done = sandbox_run("run", "--project", project, project / "load", "--", "exit", "7")
    assert b"/work/load" in sandbox_run("plan", "--json", "--project", project, project / "load").stdout
    assert done.returncode not in (125, 126, 127), done.stderr


def test_a_program_that_a_request_names_must_be_there(folder):
    project = make(folder / "p", {"x.py": "print(42)\n"})
    done = sandbox_run("run", "--request", "-", stdin=(
        '{"language": "python", "program": "x.py", "project": "%s"}' % project).encode())
    assert (done.stdout, done.returncode) == (b"42\n", 0), done.stderr
    done = sandbox_run("run", "--request", "-", stdin=(
        '{"language": "python", "program": "y.py", "project": "%s"}' % project).encode())
    assert done.returncode == 127 and b"there is no 'y.py' in the project" in done.stderr
