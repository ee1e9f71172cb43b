"""What can be run, and how it is given: code, files, directories, stdin, scripts, requests."""
import hashlib
import os
import shutil
import subprocess

import pytest

import machine_gives
import support
from support import result_of, sandbox_run

SHOW = "import sys; print(sys.argv[1:], sys.stdin.read())"


def write(path, text, mode=0o644):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


@pytest.mark.core
def test_code_from_the_command_line_is_run(caller):
    done = sandbox_run("run", "--lang", "python", "--code", "print(6 * 7)", caller=caller)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"42\n", b"")


def test_the_word_run_may_be_left_out(root):
    assert sandbox_run("--lang", "sh", "--code", "echo here").stdout == b"here\n"
    assert sandbox_run("-lsh", "-c", "echo here").stdout == b"here\n"
    assert sandbox_run("--lang=sh", "--code=echo here").stdout == b"here\n"


@pytest.mark.parametrize("name, text, said", [
    ("hello.py", "print('python')", b"python\n"),
    ("hello.sh", "echo sh", b"sh\n"),
    ("hello.bash", "a=(ba sh); echo ${a[0]}${a[1]}", b"bash\n"),
    ("no-extension", "#!/usr/bin/env python3\nprint('by its first line')", b"by its first line\n"),
    ("no-extension-either", "#!/bin/bash\na=(x y); echo ${a[1]}", b"y\n"),
    ("bash-in-a.sh", "#!/bin/bash\na=(x y); echo ${a[1]}", b"y\n"),
    ("odd name; $(id) ü.py", "print(__file__)", "/work/odd name; $(id) ü.py\n".encode()),
])
def test_a_file_is_run_in_the_language_of_its_name_or_first_line(any_caller, folder, name, text, said):
    path = write(folder / name, text)
    done = sandbox_run("run", path, caller=any_caller)
    assert (done.returncode, done.stdout, done.stderr) == (0, said, b"")


def test_an_explicit_language_counts_before_name_and_first_line(any_caller, folder):
    path = write(folder / "misnamed.py", "#!/usr/bin/python3\necho shell")
    assert sandbox_run("run", "--lang", "sh", path, caller=any_caller).stdout == b"shell\n"


def test_the_first_of_several_files_is_the_program_and_sees_the_others(any_caller, folder):
    main = write(folder / "main.py", "import other; print(other.x, open('data.txt').read())")
    other = write(folder / "other.py", "x = 7")
    data = write(folder / "data.txt", "data")
    done = sandbox_run("run", "--file", main, "--file", other, "-f", data, caller=any_caller)
    assert (done.returncode, done.stdout) == (0, b"7 data\n")


def test_files_accompany_code_and_a_positional_program(any_caller, folder):
    data = write(folder / "data.txt", "data")
    program = write(folder / "p.py", "print(open('data.txt').read())")
    for words in (["--lang", "python", "--code", program.read_text()], [program]):
        done = sandbox_run("run", "--file", data, *words, caller=any_caller)
        assert (done.returncode, done.stdout) == (0, b"data\n"), words


@pytest.mark.parametrize("main, text", [
    ("main.py", "import pkg.part; print('ran', pkg.part.x)"),
    ("__main__.py", "import pkg.part; print('ran', pkg.part.x)"),
    ("main.sh", "echo ran $(sed 's/x = //' pkg/part.py)"),
    ("main.bash", "a=(ran $(sed 's/x = //' pkg/part.py)); echo ${a[@]}"),
])
def test_a_directory_is_run_by_its_main_file(any_caller, folder, main, text):
    write(folder / "project" / main, text)
    write(folder / "project" / "pkg" / "part.py", "x = 5")
    done = sandbox_run("run", folder / "project", caller=any_caller)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"ran 5\n", b"")


def test_a_directory_keeps_the_executable_bit_of_its_files(any_caller, folder):
    write(folder / "project" / "main.sh", "./tool; test ! -x plain && echo plain is plain")
    write(folder / "project" / "tool", "#!/bin/sh\necho tool ran\n", 0o755)
    write(folder / "project" / "plain", "")
    done = sandbox_run("run", folder / "project", caller=any_caller)
    assert done.stdout == b"tool ran\nplain is plain\n"


def test_a_directory_without_a_main_file_is_refused(any_caller, folder):
    write(folder / "project" / "readme.txt", "nothing to run")
    done = sandbox_run("run", folder / "project", caller=any_caller)
    assert (done.returncode, done.stdout) == (125, b"")
    assert b"has no file in a language" in done.stderr


def test_a_link_in_a_directory_does_not_bring_in_a_host_file(caller, folder):
    write(folder / "project" / "main.py", "print(open('link').read())")
    (folder / "project" / "link").symlink_to("/etc/hostname")
    done = sandbox_run("run", folder / "project", caller=caller)
    assert (done.returncode, done.stdout) == (125, b"")
    assert b"link" in done.stderr


def test_a_program_on_stdin_takes_arguments_and_has_empty_input(any_caller):
    done = sandbox_run("run", "--lang", "python", "-", "--", "one", stdin=SHOW.encode(),
                       caller=any_caller)
    assert (done.returncode, done.stdout) == (0, b"['one'] \n")


def test_without_another_program_the_first_word_behind_two_dashes_is_one(any_caller):
    """Which is how a #! line calls us: stdin is not taken for the program."""
    done = sandbox_run("run", "--lang", "python", "--", "one", stdin=SHOW.encode(), caller=any_caller)
    assert (done.returncode, done.stdout) == (127, b"") and b"one" in done.stderr


def test_a_program_on_stdin_needs_no_word_at_all(any_caller):
    done = sandbox_run("run", "--lang", "python", stdin=SHOW.encode(), caller=any_caller)
    assert (done.returncode, done.stdout) == (0, b"[] \n")


def test_a_program_on_stdin_tells_its_language_by_its_first_line(any_caller):
    done = sandbox_run("run", stdin=b"#!/usr/bin/python3\nprint('py')", caller=any_caller)
    assert (done.returncode, done.stdout) == (0, b"py\n")
    done = sandbox_run("run", stdin=b"print('py')", caller=any_caller)
    assert done.returncode == 125 and b"--lang" in done.stderr


def test_stdin_cannot_be_both_the_program_and_its_input(any_caller):
    done = sandbox_run("run", "--lang", "sh", "--stdin", "-", "-", stdin=b"cat", caller=any_caller)
    assert (done.returncode, done.stdout) == (125, b"")


def test_a_script_with_our_first_line_runs_itself(caller, folder):
    machine_gives.skip_if(support.lacks(caller))
    degraded = "--allow-degraded " if caller == support.Callers.USER else ""
    script = write(folder / "script", f"#!/usr/bin/env -S sandbox-run {degraded}--lang python --\n"
                   "import sys\nprint(sys.argv[1:], sys.stdin.read())\nsys.exit(9)\n", 0o755)
    prefix = support.AS_ORDINARY if caller == support.Callers.USER and os.geteuid() == 0 else []
    done = subprocess.run([*prefix, script, "a b", "--json", "--", "-x"], input=b"typed",
                          capture_output=True, timeout=support.DEADLINE,
                          env={"PATH": f"{support.BUILD}:/usr/bin:/bin"})
    assert (done.returncode, done.stderr) == (9, b"")
    assert done.stdout == b"['a b', '--json', '--', '-x'] typed\n"


def test_what_follows_two_dashes_reaches_the_program_unchanged(any_caller, folder):
    args = ["-x", "--json", "", "a b", "ü", "--", "*", "$HOME", "\n"]
    path = write(folder / "p.py", "import sys; print(ascii(sys.argv[1:]))")
    for words in ([path], ["--lang", "python", "--code", path.read_text()]):
        done = sandbox_run("run", *words, "--", *args, caller=any_caller)
        assert done.stdout.decode() == ascii(args) + "\n"


def test_the_program_may_be_given_only_once(any_caller, folder):
    path = write(folder / "p.py", "print(1)")
    done = sandbox_run("run", "--lang", "python", "--code", "print(2)", path, caller=any_caller)
    assert (done.returncode, done.stdout) == (125, b"")


def test_code_without_a_language_is_refused(any_caller):
    done = sandbox_run("run", "--code", "print(1)", caller=any_caller)
    assert done.returncode == 125 and b"--lang" in done.stderr


@pytest.mark.core
def test_nothing_of_our_environment_leaks_in(caller):
    seen = sandbox_run("exec", "--env", "GIVEN=a=b c", "--env", "EMPTY=", "--", "env",
                       env={"SECRET": "s3cret", "LD_LIBRARY_PATH": "/x", "PYTHONPATH": "/x"},
                       caller=caller).stdout.decode().splitlines()
    names = {line.split("=")[0] for line in seen}
    assert "GIVEN=a=b c" in seen and "EMPTY=" in seen
    assert names == {"GIVEN", "EMPTY", "PATH", "HOME", "LANG", "USER"}


def test_a_given_variable_replaces_ours(any_caller):
    done = sandbox_run("exec", "--env", "HOME=/tmp", "-e", "X=1", "-e", "X=2", "--", "sh", "-c",
                       "echo $HOME $X; env | grep -c ^X=", caller=any_caller)
    assert done.stdout == b"/tmp 2\n1\n"


def test_a_variable_that_is_not_name_and_value_is_refused():
    said = {pair: sandbox_run("exec", "--env", pair, "--", "true") for pair in ("=value", "", "A B=1", "A\n=1")}
    assert not {pair: done for pair, done in said.items()
                if (done.returncode, done.stdout) != (125, b"") or len(done.stderr.splitlines()) != 1}


def test_the_program_starts_in_its_work_directory(caller):
    assert sandbox_run("exec", "--", "pwd", caller=caller).stdout == b"/work\n"
    done = sandbox_run("exec", "--workdir", "/tmp", "--", "pwd", caller=caller)
    assert done.stdout == b"/tmp\n"


def test_a_work_directory_that_cannot_be_used_is_refused(caller):
    said = {workdir: sandbox_run("exec", "--workdir", workdir, "--", "true", caller=caller)
            for workdir in ("relative", "/tmp/../etc", "", "/etc/passwd")}
    assert not {workdir: done for workdir, done in said.items()
                if done.returncode != 125 or workdir.encode() not in done.stderr}


@pytest.mark.core
def test_stdin_is_passed_through_byte_for_byte(caller):
    data = os.urandom(3_000_000)
    done = sandbox_run("exec", "--", "sha256sum", stdin=data, caller=caller)
    assert done.stdout.split()[0].decode() == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("size", [0, 1, 5_000_000])
def test_stdin_comes_from_a_named_file(caller, folder, size):
    data = os.urandom(size)
    (folder / "input").write_bytes(data)
    done = sandbox_run("exec", "--stdin", folder / "input", "--", "sha256sum",
                       stdin=b"not this", caller=caller)
    assert done.stdout.split()[0].decode() == hashlib.sha256(data).hexdigest()


def test_stdin_of_the_program_ends_where_ours_ends(any_caller):
    done = sandbox_run("exec", "-i", "-", "--", "cat", stdin=b"no final newline", caller=any_caller)
    assert done.stdout == b"no final newline"


def test_a_stdin_file_that_is_missing_is_named(any_caller):
    done = sandbox_run("exec", "--stdin", "/no/such/file", "--", "true", caller=any_caller)
    assert done.returncode == 125 and b"/no/such/file" in done.stderr


@pytest.mark.parametrize("closed", [0, 1, 2])
def test_a_closed_standard_descriptor_does_no_harm(root, closed):
    words = support.command("exec", "--", "sh", "-c",
                            "cat; echo out; echo err >&2; ls /proc/self/fd")
    shell = f"exec {closed}{'<' if closed == 0 else '>'}&-; exec \"$@\""
    done = subprocess.run(["sh", "-c", shell, "sh", *words], input=b"", capture_output=True,
                          timeout=support.DEADLINE)
    assert done.returncode == 0
    assert done.stdout == (b"" if closed == 1 else b"out\n0\n1\n2\n3\n")
    assert done.stderr == (b"" if closed == 2 else b"err\n")


@pytest.mark.core
def test_a_volume_is_readable_and_not_writable(caller, folder):
    write(folder / "tree" / "deep" / "file", "content")
    os.chmod(folder / "tree", 0o777)
    script = """
        cat /data/deep/file; echo
        for try in 'echo x >/data/new' 'echo x >>/data/deep/file' 'rm -f /data/deep/file' \\
                   'mkdir /data/d' 'mv /data/deep /data/e' 'chmod 777 /data/deep/file' \\
                   'ln /data/deep/file /data/l'; do
            sh -c "$try" 2>/dev/null && echo "allowed: $try"
        done
        exit 0"""
    for suffix in (":ro", ""):
        done = sandbox_run("run", "--volume", f"{folder}/tree:/data{suffix}", "--lang", "sh",
                           "--code", script, caller=caller)
        assert (done.returncode, done.stdout) == (0, b"content\n"), done.stderr
    assert os.listdir(folder / "tree") == ["deep"]
    assert (folder / "tree" / "deep" / "file").read_text() == "content"


def test_a_single_file_can_be_a_volume_and_several_can_be_given(caller, folder):
    write(folder / "a", "A")
    write(folder / "b", "B")
    done = sandbox_run("exec", "-v", f"{folder}/a:/in/a", "-v", f"{folder}/b:/in/b:ro", "--", "cat",
                       "/in/a", "/in/b", caller=caller)
    assert (done.returncode, done.stdout) == (0, b"AB")


def test_a_volume_whose_source_is_missing_is_refused(caller):
    done = sandbox_run("exec", "-v", "/no/such/source:/data", "--", "echo", "ran", caller=caller)
    assert (done.returncode, done.stdout) == (125, b"")
    assert b"/no/such/source" in done.stderr


def test_a_volume_does_not_widen_what_its_caller_may_read(folder):
    """The ordinary user must not read by a volume what the host denies."""
    secret = write(folder / "secret", "s3cret", 0o600)
    done = sandbox_run("exec", "-v", f"{secret}:/data", "--", "cat", "/data",
                       caller=support.Callers.USER)
    assert done.returncode != 0 and b"s3cret" not in done.stdout


@pytest.mark.core
def test_machine_code_is_run_as_it_is(caller, load):
    result = result_of("run", load, "--", "burn", "1", "1", "self", caller=caller)
    assert result["success"], result


def test_machine_code_that_is_linked_dynamically_runs_too(caller, folder):
    shutil.copy("/bin/echo", folder / "echo")
    done = sandbox_run("run", folder / "echo", "--", "hello", caller=caller)
    assert (done.returncode, done.stdout) == (0, b"hello\n")


@pytest.mark.core
def test_exec_runs_any_command(caller):
    done = sandbox_run("exec", "--", "sh", "-c", "echo $0 $1; exit 5", "zero", "one", caller=caller)
    assert (done.returncode, done.stdout) == (5, b"zero one\n")
    done = sandbox_run("exec", "echo", "-n", "--json", caller=caller)  # options end at the command
    assert done.stdout == b"--json"


def test_exec_without_a_command_is_refused(any_caller):
    for words in (["exec"], ["exec", "--"]):
        done = sandbox_run(*words, caller=any_caller)
        assert done.returncode == 125 and b"exec" in done.stderr


@pytest.mark.core
def test_the_program_is_alone_and_nobody(caller):
    done = sandbox_run("exec", "--", "sh", "-c", "id -u; id -g; ls /work /home /root /run /var",
                       caller=caller)
    assert done.stdout.decode().splitlines()[:2] == ["1000", "1000"]
    done = sandbox_run("exec", "--", "sh", "-c", "ls -d /proc/[0-9]* | wc -l", caller=caller)
    assert int(done.stdout) <= 4  # init, the shell, ls, wc
