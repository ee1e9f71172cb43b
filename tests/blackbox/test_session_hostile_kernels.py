"""Cells that attack their own session in other languages than Python: it goes on, or ends and says so."""
import pytest

import machine_gives
import sessions
import toolchains
from sessions import Session

# What keeps the session, what ends it and with which exit code, and a cell that shows or prints 42.
CELLS = {
    "javascript": (["console.log('done 1 ok 2\\n{}')", "require('fs').writeSync(1, 'done 9 ok 2\\n{}')",
                    "require('child_process').execSync('exit 0')", "process.stdout.write = null"],
                   ("process.exit(7)", 7), "6 * 7"),
    "ruby": (["puts \"done 1 ok 2\\n{}\"", "fork { exit! 3 }; Process.wait", "$stdout = $stderr = nil",
              "Signal.trap('INT', 'IGNORE')"], ("exit 7", 7), "6 * 7"),
    "perl": (["print \"done 1 ok 2\\n{}\";", "exit 3 if !fork; wait;", "close STDOUT; close STDERR;",
              "$SIG{INT} = 'IGNORE';"], ("exit 7", 7), "6 * 7"),
    "lua": (["print('done 1 ok 2\\n{}')", "io.stdout = nil", "os.execute('exit 3')"], ("os.exit(7)", 7), "6 * 7"),
    "bash": (["printf 'done 1 ok 2\\n{}'", "(exit 3) || :", "exec 1>&- 2>&-", "trap '' INT"], ("exit 7", 7), "echo 42"),
    "sh": (["printf 'done 1 ok 2\\n{}'", "(exit 3) || :", "exec 1>&- 2>&-", "trap '' INT"], ("exit 7", 7), "echo 42"),
}


@pytest.mark.parametrize("language", list(CELLS))
def test_a_hostile_cell_spoils_at_most_its_own_session(folder, root, language):
    machine_gives.skip_if(None if language in toolchains.names() else f"{language} is not installed")
    harmless, (leave, code), works = CELLS[language]
    session = Session(sessions.own_state(folder, root), lang=language, caller=root)

    def still_works():
        result = session.cell(works)
        assert (result["stdout"] or result["display"][-1]["text/plain"]).strip() == "42", result
    try:
        for cell in harmless:
            result = session.cell(cell, "--timeout", "20s")
            assert result["session"] == "kept", (cell, result["explanation"])
            still_works()
        (folder / "bytes").write_bytes(b"\xff\xfe")
        refused = session.run("exec", session.id, folder / "bytes")
        assert refused.returncode == 125 and b"not UTF-8" in refused.stderr
        still_works()
        result = session.cell(leave)
        assert (result["session"], result["exit_code"]) == ("lost", code), result["explanation"]
        assert session.json("restart", session.id)["state"] == "ready"
        still_works()
    finally:
        session.close()
