"""A terminal of the program's own, asked for without one of ours: --tty and a request's `tty`."""
import json

import pytest

from support import result_of, sandbox_run
from waiting import SOON, read_line, started

LOOK = ("for fd in 0 1 2; do test -t $fd && printf '%s ' $fd; done; stty size; tty; echo $TERM; "
        "echo here >/dev/tty; ps -o tty= -p $$")
SEEN = "0 1 2 24 80\r\n/dev/pts/0\r\nxterm-256color\r\nhere\r\npts/0\r\n"


@pytest.mark.core
def test_all_streams_are_a_terminal(caller):
    result = result_of("exec", "--tty", "--", "sh", "-c", LOOK, caller=caller)
    assert (result["stdout"], result["stderr"], result["exit_code"]) == (SEEN, "", 0)
    assert result["tty"] == {"rows": 24, "columns": 80} and result["startup"] == "cold"


def test_the_output_is_passed_on_as_it_comes(any_caller):
    with started("exec", "--tty", "--", "sh", "-c", "echo first; read -r word; echo got $word >&2",
                 caller=any_caller) as process:
        assert read_line(process.stdout) == b"first\r\n"
        process.stdin.write(b"hello\n")
        assert read_line(process.stdout) == b"hello\r\n"  # the echo
        assert read_line(process.stdout) == b"got hello\r\n"
        assert process.wait(SOON) == 0


@pytest.mark.parametrize("given", ["one\ntwo\n", "one\ntwo", ""])
def test_the_end_of_the_input_is_the_end_of_file(any_caller, given):
    request = {"args": ["sh", "-c", "stty -echo; cat | od -c | head -3; echo over"],
               "stdin": given, "tty": {"rows": 3, "columns": 9}, "allow_degraded": True}
    result = result_of("run", "--request", "-", stdin=json.dumps(request).encode(),
                       caller=any_caller)
    assert result["outcome"] == "exited", result
    assert result["stdout"].replace("\r\n", "\n").endswith("over\n")
    assert result["tty"] == {"rows": 3, "columns": 9}
    assert result["stdout"].count("o   n   e") == (1 if given else 0)


def test_the_last_output_is_not_lost(any_caller):
    code = "import os\nos.write(1, b'x' * 3000)\nos.write(1, b'end')\nos.kill(os.getpid(), 9)"
    result = result_of("run", "--tty", "--lang", "python", "--code", code, caller=any_caller)
    assert (result["signal"], result["stdout"]) == ("SIGKILL", "x" * 3000 + "end")


def test_a_program_may_close_its_terminal(any_caller):
    """Nothing hangs up: the terminal is there until the end."""
    result = result_of("exec", "--tty", "--", "sh", "-c",
                       "exec <&- >&- 2>&-; sleep 0.2; echo again >/dev/tty; exit 3",
                       caller=any_caller)
    assert (result["exit_code"], result["stdout"]) == (3, "again\r\n")


def test_words_of_other_programs(any_caller):
    done = sandbox_run("exec", "-it", "--", "tty", caller=any_caller)
    assert done.stdout == b"/dev/pts/0\r\n", done
    done = sandbox_run("exec", "--tty", "--no-tty", "--", "tty", caller=any_caller)
    assert done.returncode == 125 and b"exclude" in done.stderr, done


def test_rows_of_sql_are_a_table_at_a_terminal(any_caller):
    words = ("run", "--lang", "sql", "--code", "select 'Ada' as name, 36 as age")
    table = sandbox_run(*words, "--tty", caller=any_caller).stdout.decode().split("\r\n")
    assert table[1:4] == ["│ name │ age │", "├──────┼─────┤", "│ Ada  │ 36  │"]
    assert sandbox_run(*words, caller=any_caller).stdout == b"Ada|36\n"
