"""Languages of the user's own: a file in the configuration directory, or one that is named."""
import pathlib
import subprocess

import pytest
import yaml

import machine_gives
import support
from support import result_of, sandbox_run

MINE = {
    "name": "calc", "about": "sums", "extensions": [".calc"], "mains": ["main.calc"],
    "binaries": ["/usr/bin/awk", "/usr/bin/mawk"], "package": "mawk", "source": "main.calc",
    "run": ["${binary}", "-f", "${source}"],
    "selftest": {"code": "BEGIN { print 6 * 7 }", "stdout": "42\n", "exit": 0},
}


def write(path, **changes):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump({**MINE, **changes}))
    return path


@pytest.fixture
def config(folder):
    return {"XDG_CONFIG_HOME": str(folder)}


def languages(folder):
    return folder / "sandbox-run/languages"


def test_a_file_of_the_configuration_adds_a_language(caller, folder, config):
    write(languages(folder) / "calc.yaml")
    program = folder / "sum.calc"
    program.write_text("BEGIN { print 1 + 1 }\n")
    assert result_of("run", program, caller=caller, env=config)["stdout"] == "2\n"
    assert sandbox_run("run", program, caller=caller).returncode == 125  # without it nobody knows


def test_a_file_that_is_named_does_the_same(caller, folder):
    path = write(folder / "mine.yaml")
    result = result_of("run", "--language-file", path, "--lang", "calc", "--code", "BEGIN { print 3 }", caller=caller)
    assert (result["stdout"], result["exit_code"]) == ("3\n", 0)


def test_it_hides_a_language_of_the_same_name(caller, folder):
    path = write(folder / "sh.yaml", name="sh", extensions=[".sh"], source="main.sh")
    result = result_of("run", "--language-file", path, "--lang", "sh", "--code", "BEGIN { print 4 }", caller=caller)
    assert result["stdout"] == "4\n"


def test_the_one_that_is_named_counts_before_the_configuration(caller, folder, config):
    write(languages(folder) / "calc.yaml", env=["FROM=configuration"])
    path = write(folder / "calc.yaml", env=["FROM=option"])
    result = result_of("run", "--language-file", path, "--lang", "calc",
                       "--code", 'BEGIN { print ENVIRON["FROM"] }', caller=caller, env=config)
    assert result["stdout"] == "option\n"


def test_a_driver_stands_beside_its_file(caller, folder):
    path = write(folder / "calc.yaml", drivers=["twice.sh"],
                 run=["sh", "${driver}/twice.sh", "${binary}", "${source}"])
    driver = folder / "drivers/twice.sh"
    driver.parent.mkdir()
    driver.write_text('"$1" -f "$2" && "$1" -f "$2"\n')
    result = result_of("run", "--language-file", path, "--lang", "calc", "--code", "BEGIN { print 5 }", caller=caller)
    assert result["stdout"] == "5\n5\n"


@pytest.mark.parametrize("changes, words", [
    ({"run": ["${binary}", "${sauce}"]}, "free of ${...}"),
    ({"binaries": ["awk"]}, "an absolute path"),
    ({"colour": "red"}, "Unexpected key"),
    ({"drivers": ["gone.sh"]}, "cannot read the driver"),
    ({"check": {"run": ["true"], "drivers": ["other.sh"]}}, "which the list 'drivers' of the language lacks"),
    ({"compile": {"run": ["true"], "limits": ["weight=3"]}}, "OPTION=VALUE"),
    ({"diagnosis": {"errors": [{"match": "(", "type": "X"}]}}, "diagnosis"),
    ({"literal": "klingon"}, "literal"),
])
def test_a_file_with_a_mistake_is_refused_with_its_place(folder, changes, words):
    path = write(folder / "wrong.yaml", **changes)
    done = sandbox_run("run", "--language-file", path, "--lang", "sh", "--code", "true")
    assert done.returncode == 125 and done.stdout == b""
    assert done.stderr.count(b"\n") == 1
    assert str(path).encode() in done.stderr and words.encode() in done.stderr


def test_a_file_that_is_not_there_is_named():
    done = sandbox_run("run", "--language-file", "/nonexistent.yaml", "--lang", "sh", "--code", "true")
    assert done.returncode == 125 and b"/nonexistent.yaml" in done.stderr


def test_the_library_takes_one_too(root, folder, session_folder):
    machine_gives.skip_if(support.lacks(support.available_callers()[0]))
    del root
    path = write(folder / "calc.yaml")
    source = folder / "own.c"
    source.write_text(r'''
#include <sandboxrun.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    sbr_runtime *rt;
    sbr_request *req;
    sbr_result *result;
    sbr_error err;

    if (argc < 2 || sbr_language_add_file(argv[1], &err) < 0 || sbr_runtime_open(NULL, &rt, &err) < 0 ||
        sbr_request_new("calc", NULL, &req, &err) < 0)
        return fprintf(stderr, "%s\n", err.message), 1;
    sbr_request_add_file(req, "main.calc", "BEGIN { print 6 }\n", 18);
    if (sbr_run(rt, req, &result, &err) < 0)
        return fprintf(stderr, "%s\n", err.message), 1;
    fwrite(sbr_result_report(result)->out, 1, sbr_result_report(result)->out_len, stdout);
    return 0;
}
''')
    library = support.BUILD / "src"
    program = session_folder / "own-language"
    subprocess.run(["gcc", f"-I{pathlib.Path(support.REPO, 'include')}", source, f"-L{library}", "-lsandboxrun",
                    f"-Wl,-rpath,{library}", "-o", program], check=True)
    done = subprocess.run([program, path], capture_output=True, timeout=support.DEADLINE, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"6\n", b"")
