"""What a message tells one to type is taken from the message itself, typed, and then succeeds."""
import http.server
import os
import re
import shlex
import subprocess
import threading

import pytest

import support
from registries import serving, wheel_of
from support import sandbox_run
from waiting import on_terminal

FETCH = "import sys, urllib.request\nprint(urllib.request.urlopen(sys.argv[1], timeout=5).status)\n"
CRASH = "#include <stddef.h>\nstatic int first(int *p)\n{\n    return *p;\n}\nint main(void)\n{\n    return first(NULL);\n}\n"
UNIX = "import socket\nsocket.socket(socket.AF_UNIX).close()\nprint('found')"
OPTION = re.compile(r"--[a-z][a-z-]*[ =][^ ;,]+(?: --[a-z][a-z-]*[ =][^ ;,]+)*")


@pytest.fixture(scope="module", name="server")
def fixture_server():
    """The URL of a server on this machine's loopback."""
    class Quiet(http.server.BaseHTTPRequestHandler):
        def do_GET(self):  # pylint: disable=invalid-name
            self.send_response(200)
            self.end_headers()

        def log_message(self, format, *args):  # pylint: disable=redefined-builtin
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.fixture(name="folder")
def fixture_folder(tmp_path, monkeypatch):
    """An open directory that commands run in, with files to be had."""
    for name, text in {"fetch.py": FETCH, "crash.c": CRASH, "app/main.py": "import util\nprint(util.WORD)\n",
                       "app/util.py": "WORD = 'found'\n", "js/main.js": "console.log(require('./util').word)\n",
                       "js/util.js": "exports.word = 'found'\n", "two/a.py": "print('found')\n",
                       "two/b.py": "print('found')\n", "data/old": "old\n"}.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def remedy_in(run):
    """The options of the message's last remedy, as words."""
    lines = [line for line in run.stderr.decode().splitlines()
             if line.startswith(("sandbox-run: ", "hint ")) and OPTION.search(line)]
    assert lines, run.stderr
    return shlex.split(OPTION.search(lines[0]).group())


def without(words, option):
    """The words without an option that the remedy gives once more."""
    kept = list(words)
    while option in kept:
        at = kept.index(option)
        del kept[at:at + 2]
    return kept


# Options, then what follows them; what shows that it succeeded.
CASES = {
    "a server of this machine": (["--text"], ["fetch.py", "--", "{server}"], b"200"),
    "the same, with a loopback of its own": (["--text", "--network", "localhost"], ["fetch.py", "--", "{server}"], b"200"),
    "the same, by its words": (["exec", "--network", "full"], ["--", "curl", "-sSo", "/dev/null", "{server}"], b""),
    "a module beside the program": (["--text"], ["app/main.py"], b"found"),
    "the same in JavaScript": (["--text"], ["js/main.js"], b"found"),
    "a directory without a main file": ([], ["two"], b"found"),
    "a call that a strict policy refuses": (["--text", "--policy", "strict"], ["--lang", "python", "--code", UNIX], b"found"),
    "a command that was not allowed": (["exec", "--allow-command", "ls"], ["--", "sh", "-c", "sort /etc/hosts && echo found"],
                                       b"found"),
    "a volume to write to": (["exec", "--volume", "data:/data"], ["--", "sh", "-c", "echo found >/data/new"], b""),
}


def typed(case, more, server):
    """The options with a remedy, which takes the place of what it repeats."""
    options, rest, _ = case
    for word in more:
        if word.startswith("--"):
            options = without(options, word)
    return sandbox_run(*options, *more, *[word.format(server=server) for word in rest])


@pytest.mark.parametrize("name", CASES)
def test_a_remedy_that_is_typed_succeeds(name, folder, server):
    if name == "the same, by its words" and not support.have("curl"):
        pytest.skip("no curl")
    case = CASES[name]
    failed = typed(case, [], server)
    assert failed.returncode != 0
    done = typed(case, remedy_in(failed), server)
    assert done.returncode == 0, (remedy_in(failed), done.stderr)
    assert case[2] in done.stdout
    assert name != "a volume to write to" or (folder / "data/new").read_text() == "found\n"


def test_a_missing_module_is_brought_by_the_option_that_the_hint_names(tmp_path):
    """From a registry on loopback; also when its files do not fit on the disk of the cache, which fills in the middle."""
    (tmp_path / "full").mkdir(mode=0o700)
    (tmp_path / "cache").mkdir(mode=0o700)
    (tmp_path / "main.py").write_text("import curious\nprint(curious.WORD)\n")
    with serving() as registry:
        registry.pages = {"/simple/curious/": b'<a href="/curious-1.0-py3-none-any.whl">x</a>',
                          "/curious-1.0-py3-none-any.whl": wheel_of("curious", {
                              "curious.py": "WORD = 'found'\n", "curious.txt": "x" * (12 << 20)})}

        def run(*words, cache="cache"):
            return sandbox_run("--text", *words, str(tmp_path / "main.py"), timeout=120, env={
                "PIP_INDEX_URL": registry.url, "HOME": str(tmp_path), "SANDBOX_RUN_CACHE": str(tmp_path / cache)})

        remedy = remedy_in(run())
        assert remedy == ["--dep", "curious"]
        assert b"found" in run(*remedy).stdout
        if os.geteuid() != 0:
            return
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=10m,mode=700", "tmpfs", tmp_path / "full"], check=True)
        try:
            done = run(*remedy, cache="full")
            left = [*tmp_path.glob("full/layer/*"), *tmp_path.glob("full/staging/*")]
        finally:
            subprocess.run(["umount", tmp_path / "full"], check=True)
    assert b"found" in done.stdout and b"the disk of the cache is full" in done.stderr, done
    assert not left and not os.path.exists("/dev/shm/sandbox-run-memory-0")


def test_memory_is_raised_until_it_suffices():
    """How much is needed is not known, and the message says so: the remedy is typed again."""
    words, memory = ["--text", "--lang", "python", "--code", "print(len(bytearray(90 << 20)))"], ["--memory", "32m"]
    for _ in range(3):
        run = sandbox_run(*memory, *words)
        if run.returncode == 0:
            break
        assert b"how much is not known" in run.stderr or b"MemoryError" in run.stderr
        memory = remedy_in(run)
    assert run.returncode == 0 and memory != ["--memory", "32m"]


@pytest.mark.usefixtures("folder")
def test_processes_are_raised_until_they_suffice():
    """Each refusal names a number that allows more than the last one."""
    words = ["--lang", "sh", "--code", "for i in 1 2 3 4 5 6; do sleep 0.2 & done; wait; echo found"]
    limit = ["--pids", "2"]
    for _ in range(6):
        done = sandbox_run("run", *limit, *words)
        if b"found" in done.stdout and b"refused" not in done.stderr:
            return
        raised = remedy_in(done)
        assert raised[0] == "--pids" and int(raised[1]) > int(limit[1]), done.stderr
        limit = raised
    raise AssertionError(f"{limit} does not suffice")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's own files are closed to the user inside")
def test_a_volume_of_roots_own_is_read_as_cow(folder):
    closed = folder / "closed"
    closed.mkdir(mode=0o700)
    (closed / "text").write_text("found\n")
    (closed / "text").chmod(0o600)
    words = ["--", "cat", "/data/text"]
    done = sandbox_run("exec", "--volume", f"{closed}:/data", *words)
    assert done.returncode != 0
    mode = remedy_in(done)
    assert mode[1].endswith(":/data:cow"), done.stderr
    assert sandbox_run("exec", *mode, *words).stdout == b"found\n"


@pytest.mark.usefixtures("folder")
def test_a_crash_in_c_gets_its_line_by_the_sanitizer_that_the_hint_names():
    failed = sandbox_run("--text", "crash.c")
    assert b"SIGSEGV" in failed.stderr
    traced = sandbox_run("--text", *remedy_in(failed), "crash.c")
    assert b"at crash.c:4" in traced.stderr, traced.stderr
    assert b"AddressSanitizer" in traced.stderr


@pytest.mark.usefixtures("folder")
def test_a_program_of_the_project_is_found_by_its_name_in_it():
    assert sandbox_run("--project", "app", "main.py").stdout == b"found\n"


# What is misspelt, and the word that the message has to offer.
MISSPELT = {
    "language": (["--lang", "py3", "--code", ""], "'py'"),
    "option": (["--hlep"], "--help"),
    "topic": (["help", "exce"], "`sandbox-run help exec`"),
    "policy": (["exec", "--policy", "strcit", "--", "true"], "'strict'"),
    "policy without a file": (["exec", "--policy", "fetch", "--", "true"], "./fetch.yaml"),
    "policy that is no file": (["exec", "--policy", "./fetch.yaml", "--", "true"], "policy: ./fetch.yaml: cannot be opened"),
    "manual": (["man"], "`sandbox-run help`"),
    "id": (["changes", "38b8"], "`sandbox-run changes show 38b8`"),
    "action": (["cache", "foo"], "say one of: list, prune,"),
    "unit": (["--timeout", "5sec", "--lang", "sh", "--code", ""], "(ms, s, m, h)"),
}


@pytest.mark.parametrize("name", MISSPELT)
def test_a_misspelt_word_is_answered_with_the_right_one(name):
    words, right = MISSPELT[name]
    run = sandbox_run(*words)
    assert run.returncode != 0 and right.encode() in run.stderr, run.stderr


@pytest.mark.parametrize("request_text, right", [
    ('{"langauge": "python"}', "did you mean 'language'?"),
    ('{"args": ["true"], "limits": {"memroy": "1g"}}', "did you mean 'memory'?"),
    ('{"timeout": 5}', '"limits": {"timeout": ...}'),
    ('{"args": ["true"], "limits": {"memory": "1q"}}', "memory '1q' has an unknown unit"),
    ("{}", "`args`, or a program by `language` and `code`, `files` or `program`"),
])
def test_a_wrong_request_is_answered_in_words_of_requests(request_text, right):
    run = sandbox_run("--request", "-", stdin=request_text.encode())
    assert right.encode() in run.stderr and b"--" not in run.stderr, run.stderr


def test_a_request_has_a_template_with_values():
    run = support.result_of("--json", "--request", "-", stdin=(
        b'{"language": "python", "code": "def add(a, b):\\n    return a + b\\n", "template": "call",'
        b' "set": {"function": "add", "inputs": "2, 3", "expected": "5"}}'))
    assert run["outcome"] == "exited" and run["exit_code"] == 0, run
    wrong = sandbox_run("--request", "-", stdin=b'{"language": "python", "code": "", "set": {"a": "b"}}')
    assert wrong.returncode != 0 and b"template" in wrong.stderr


def test_a_request_brings_a_language_of_its_own(tmp_path):
    (tmp_path / "shout.yaml").write_text(
        "name: shout\nabout: louder\nextensions: [.shout]\nbinaries: [/usr/bin/tr]\npackage: coreutils\n"
        "source: main.shout\nmains: [main.shout]\nrun: [sh, -c, 'tr a-z A-Z <main.shout']\n"
        "selftest: {code: a, stdin: '', stdout: A, exit: 0}\n")
    run = sandbox_run("--request", "-", stdin=(
        f'{{"language_file": "{tmp_path}/shout.yaml", "language": "shout", "code": "found"}}').encode())
    assert run.stdout == b"FOUND", run.stderr


READS = {
    "s.py": 'print(open("data.csv").read())\n',
    "s.js": 'console.log(require("fs").readFileSync("data.csv", "utf8"))\n',
    "s.sh": "cat data.csv\n",
    "s.bash": "read line < data.csv && echo \"$line\"\n",
    "s.rb": 'puts File.read("data.csv")\n',
}


@pytest.mark.parametrize("name", READS)
def test_a_file_beside_the_program_is_offered(name, tmp_path):
    """The words of the hint, typed, bring it in."""
    if name.endswith("rb") and not support.have("ruby"):
        pytest.skip("needs ruby")
    (tmp_path / name).write_text(READS[name])
    missing = support.result_of(str(tmp_path / name))["diagnosis"]["suggestion"]
    assert missing.startswith("The sandbox has no ")
    (tmp_path / "data.csv").write_text("1,2\n")
    hint = support.result_of(str(tmp_path / name))["diagnosis"]["suggestion"]
    assert hint == f"{tmp_path}/data.csv lies beside the program; --project {tmp_path} brings in its directory."
    typed = re.search(r"(--project) (\S+)", hint).groups()
    assert sandbox_run(*typed, str(tmp_path / name)).stdout.strip() == b"1,2"


def test_warnings_of_a_compiler_come_before_the_program(tmp_path):
    """Once, on a terminal; in a pipe only with --verbose."""
    source = tmp_path / "warn.c"
    source.write_text(f'#include <stdio.h>\nint main(void)\n{{\n    int x = "{tmp_path}";\n    puts("ran");\n'
                      '    return x == 0;\n}\n')
    status, seen = on_terminal("--project", str(tmp_path), str(source), env=support.surroundings(None))
    assert status == 0 and seen.count(b"warning: ") == 1
    # A slow compiler has a line of progress, which is wiped right before the program's first line.
    assert seen.index(b"warning: ") < seen.index(b"ran\r")
    source.write_text(source.read_text() + "/* again */\n")
    quiet = sandbox_run(str(source))
    assert (quiet.stdout, quiet.stderr) == (b"ran\n", b"")


def test_warnings_of_a_cached_program_are_those_of_its_compiler(tmp_path):
    """The first run compiles, the others take the program from the cache; all show the same warnings."""
    (tmp_path / "warn.c").write_text(f'#include <stdio.h>\nint main(void)\n{{\n    int x = "{tmp_path}";\n'
                                     '    puts("ran");\n    return x == 0;\n}\n')
    seen = [sandbox_run("--text", str(tmp_path / "warn.c")).stderr.decode().partition("── exited")[0] for _ in range(2)]
    assert "warning: " in seen[0] and seen[0] == seen[1]
    results = [support.result_of(*more, str(tmp_path / "warn.c")) for more in ([], ["--compile-arg=-w"])]
    assert results[0]["cached"] and results[0]["compile_output"] in seen[0]
    assert "compile_output" not in results[1]
    status, shown = on_terminal(str(tmp_path / "warn.c"), env=support.surroundings(None))
    assert status == 0 and shown.index(b"warning: ") < shown.index(b"ran\r")


def test_an_explanation_begins_with_the_end_and_what_was_refused():
    result = sandbox_run("exec", "--json", "--", "sh", "-c", "cat /no/such; exit 3").stdout
    lines = sandbox_run("explain", "-", stdin=result).stdout.decode().splitlines()
    assert lines[:2] == ["How it ended", "  exited 3"]
    assert lines.index("What was refused") < lines.index("What the program could use")


def test_a_wrong_key_of_a_language_is_named_with_its_line(tmp_path):
    (tmp_path / "bad.yaml").write_text("name: bad\nabout: bad\n\nbinaries: [/usr/bin/awk]\nrunn: [awk]\n")
    run = sandbox_run("--language-file", str(tmp_path / "bad.yaml"), "--lang", "bad", "--code", "")
    assert run.stderr.startswith(f"sandbox-run: language: {tmp_path}/bad.yaml:5: ".encode()), run.stderr
