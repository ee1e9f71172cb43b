"""Sessions: one sandbox, one cell of code after the other."""
import json
import os
import re
import select
import shutil
import signal
import subprocess

import pytest

import sessions
import support
from sessions import Session
from support import sandbox_run
from waiting import started, wait_until


@pytest.fixture(name="state")
def own_state(folder, any_caller):
    return sessions.own_state(folder, any_caller)


@pytest.fixture(name="session")
def one_session(state, any_caller):
    session = Session(state, caller=any_caller)
    yield session
    session.close()


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return file.read().split()


def test_variables_stay_and_every_cell_has_its_own_result(session):
    assert session.made["state"] == "ready" and session.made["lang"] == "python"
    first = session.cell("x = 41\nprint('hello')\nimport sys; print('bad', file=sys.stderr)")
    assert (first["cell"], first["stdout"], first["stderr"], first["display"]) == (1, "hello\n", "bad\n", [])
    assert first["success"] and first["session"] == "kept" and first["isolation"]["tier"]
    assert first["language"]["name"] == "python" and re.match(r"3\.\d+\.", first["language"]["version"])
    second = session.cell("x + 1")
    assert (second["cell"], second["stdout"], second["display"][0]["text/plain"]) == (2, "", "42")
    failed = session.cell("def f():\n    return 1 / 0\nf()")
    assert (failed["outcome"], failed["exit_code"], failed["success"]) == ("exited", 1, False)
    assert failed["diagnosis"]["type"] == "ZeroDivisionError" and failed["diagnosis"]["line"] == 2
    assert session.value("x") == "41"


def test_a_cell_over_its_time_is_interrupted_and_its_state_is_kept(session):
    session.cell("x = 5")
    late = session.cell("import time\nwhile True: time.sleep(0.01)", "--timeout", "300ms")
    assert (late["outcome"], late["session"], late["exit_code"]) == ("timeout", "kept", None)
    assert "time" in late["explanation"] and late["limits"]["wall_ms"] == 300
    assert session.value("x") == "5"


def test_list_shows_it_until_it_is_closed(session):
    one, = session.json("list")["sessions"]
    assert (one["id"], one["lang"], one["state"], one["cells"]) == (session.id, "python", "ready", 0)
    assert session.close().returncode == 0
    assert session.json("list")["sessions"] == []
    gone = session.run("exec", session.id, "--code", "1")
    assert gone.returncode == 127 and session.id.encode() in gone.stderr


def test_what_has_no_session_is_refused(state, any_caller):
    env = {"SANDBOX_RUN_STATE": str(state)}
    for options, words in ((["--lang", "c"], b"c has no sessions"), (["c"], b"c has no sessions"), (["python", "x"], b"too many words"), ([], b"say which language")):
        done = sandbox_run("session", "create", *options, env=env, caller=any_caller)
        assert done.returncode == 125 and words in done.stderr


def test_figures_denials_and_output_are_the_cells_own(session):
    first = session.cell("x = bytearray(50 << 20)\nsum(range(3_000_000))")
    second = session.cell("import subprocess\n_ = subprocess.run(['sh', '-c', 'echo child; echo bad >&2'])")
    assert first["memory_is"] in ("peak", "change") and first["metrics"]["peak_memory_bytes"] > 45 << 20
    assert first["metrics"]["cpu_user_ms"] > second["metrics"]["cpu_user_ms"]
    assert (second["stdout"], second["stderr"]) == ("child\n", "bad\n")
    refused = "import socket\ntry: socket.create_connection(('192.0.2.1', 80), 1)\nexcept OSError: pass"
    for _ in range(2):
        assert [one["kind"] for one in session.cell(refused)["denials"]] == ["connect"]
    assert session.cell("1")["denials"] == []


def test_output_between_cells_is_the_sessions(session):
    session.cell("import threading, os, time\nstart = threading.Event()\n"
                 "def later():\n    start.wait()\n    os.write(1, b'late')\n    done.set()\n"
                 "done = threading.Event()\nthreading.Thread(target=later).start()")
    assert session.cell("threading.Timer(0.05, start.set).start()")["stdout"] == ""
    wait_until(lambda: session.json("metrics", session.id)["background_stdout"] == "late")
    assert session.cell("print('mine')")["stdout"] == "mine\n"


def test_files_go_in_and_out_without_a_link_on_the_way(session, folder):
    (folder / "data.bin").write_bytes(bytes(range(256)))
    assert session.run("put", session.id, folder / "data.bin").returncode == 0
    assert session.value("open('data.bin', 'rb').read() == bytes(range(256))") == "True"
    session.cell("import os\nos.mkdir('d'); open('d/out', 'w').write('out')\n"
                 "os.symlink('/etc', 'link'); os.symlink('/etc/passwd', 'd/file'); os.mkfifo('pipe')")
    assert session.run("get", session.id, "d/out").stdout == b"out"
    assert {one["path"] for one in session.json("files", session.id)["files"]} == \
        {"data.bin", "d/out", "d/file", "link", "pipe"}
    for path in ("link/passwd", "d/file", "pipe", "../etc/passwd", "/etc/passwd", "none"):
        assert session.run("get", session.id, path).returncode != 0, path
    for path in ("link/new", "link/new/x", "d/file", "pipe", "../new"):
        assert session.run("put", session.id, folder / "data.bin", path).returncode != 0, path
    assert session.run("put", session.id, folder / "data.bin", "new/deep/data").returncode == 0
    assert session.value("os.path.getsize('new/deep/data')") == "256"
    assert session.run("put", session.id, "-", "typed", stdin=b"by hand").returncode == 0
    assert session.run("get", session.id, "typed").stdout == b"by hand"
    assert b"session put ID - PATH" in session.run("put", session.id, "-", stdin=b"by hand").stderr


def test_a_session_is_made_by_a_request(session):
    request = json.dumps({"language": "bash", "env": {"WORD": "given"}, "limits": {"memory": "64m"}})
    made = session.json("create", "--request", "-", stdin=request.encode())
    assert made["lang"] == "bash"
    result = session.json("exec", made["id"], "--code", "echo $WORD")
    assert (result["stdout"], result["limits"]["memory_bytes"]) == ("given\n", 64 << 20)
    assert session.run("close", made["id"]).returncode == 0
    assert b"say which language" in session.run("create", "--request", "-", stdin=b"{}").stderr


def test_a_session_is_exported_replayed_and_restarted(session, folder):
    for code in ("x = 20", "print('said')", "x * 2 + 2", "1 / 0"):
        session.cell(code)
    assert session.run("export", session.id, folder / "work.ipynb").returncode == 0
    book = json.loads((folder / "work.ipynb").read_text())
    assert (book["nbformat"], [cell["source"] for cell in book["cells"]][2]) == (4, "x * 2 + 2")
    assert book["cells"][2]["outputs"][0]["data"] == {"text/plain": "42"}
    assert book["cells"][3]["outputs"][0]["ename"] == "ZeroDivisionError"
    assert session.run("export", session.id, "--format", "py").stdout == b"x = 20\nprint('said')\nx * 2 + 2\n1 / 0\n"
    assert session.run("export", session.id, "--format", "rs").returncode == 125
    assert session.json("restart", session.id)["state"] == "ready"
    assert session.cell("x")["diagnosis"]["type"] == "NameError"
    assert session.json("replay", session.id, folder / "work.ipynb") == {"cells": 4, "lost": False, "different": []}
    book["cells"][2]["outputs"][0]["data"]["text/plain"] = "43"
    (folder / "work.ipynb").write_text(json.dumps(book))
    done = session.run("replay", session.id, folder / "work.ipynb")
    assert done.returncode == 1 and b"43" in done.stdout


def test_a_dead_supervisor_leaves_nothing_but_the_record(session):
    session.cell("x = 5")
    pid, inside = session.supervisor(), children_of(session.supervisor())
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not any(os.path.exists(f"/proc/{one}") for one in [pid, *inside]))
    lost = session.listed()[session.id]
    assert (lost["state"], lost["reason"]) == ("lost", "its supervisor was killed")
    gone = session.run("exec", session.id, "--code", "x")
    assert gone.returncode == 127 and b"is lost" in gone.stderr
    restored = session.run("restore", session.id).stdout.decode().strip()
    assert session.json("exec", restored, "--code", "x")["display"] == [{"text/plain": "5"}]
    assert session.run("close", restored).returncode == 0


def test_a_session_is_closed_while_its_supervisor_dies(session):
    """Its socket still takes a client then, whom nothing answers."""
    for _ in range(5):
        made = session.json("create", "python")
        pid = json.loads((session.state / "sessions" / made["id"] / "session.json").read_text())["pid"]
        os.kill(pid, signal.SIGKILL)
        assert session.json("close", made["id"])["closed"] is True
        assert made["id"] not in session.listed()


def test_a_cell_outlives_its_client_and_can_be_interrupted(session):
    with started("session", "exec", session.id, "--code", "import time\nx = 7\nwhile True: time.sleep(0.01)",
                 caller=session.caller, env=session.env) as client:
        wait_until(lambda: session.listed()[session.id]["state"] == "busy")
        client.kill()
    assert session.listed()[session.id]["state"] == "busy"
    assert session.json("interrupt", session.id) == {"interrupted": True}
    assert session.value("x") == "7"


def own_project(folder, caller, **files):
    project = folder / "project"
    project.mkdir()
    for name, text in files.items():
        (project / name).write_text(text)
    if os.geteuid() == 0 and caller == support.Callers.USER:
        for path in (project, *project.iterdir()):
            os.chown(path, support.ORDINARY_UID, support.ORDINARY_UID)
    return project


def test_a_project_is_not_touched_until_its_changes_are_applied(state, folder, any_caller):
    project = own_project(folder, any_caller, a="old")
    session = Session(state, "--project", str(project), "--keep", caller=any_caller)
    session.cell("open('a', 'w').write('new')")
    closed = session.json("close", session.id)
    assert (project / "a").read_text() == "old" and [one["path"] for one in closed["changes"]] == ["a"]
    assert sandbox_run("apply", "--yes", closed["changes_id"], env=session.env, caller=any_caller).returncode == 0
    assert (project / "a").read_text() == "new"


def test_changes_of_a_living_session_are_shown_and_applied_again_and_again(state, folder, any_caller):
    project = own_project(folder, any_caller, a="old\n", b="stays\n", c="goes\n")
    session = Session(state, "--project", str(project), caller=any_caller)

    def changed():
        return {one["path"]: one["op"] for one in session.json("diff", session.id)["changes"]}

    try:
        assert changed() == {}
        session.cell("import os, pathlib\nopen('a', 'w').write('new\\n'); os.remove('c')\n"
                     "os.mkdir('d'); open('d/e', 'w').write('made')")
        assert changed() == {"a": "modified", "c": "deleted", "d": "created", "d/e": "created"}
        assert b"-old\n+new" in session.run("diff", session.id).stdout
        assert sorted(os.listdir(project)) == ["a", "b", "c"]
        assert session.run("apply", session.id, "a", "d", "--yes").returncode == 0
        assert ((project / "a").read_text(), (project / "d/e").read_text()) == ("new\n", "made")
        assert changed() == {"c": "deleted"}, "what is real is no change any more"
        session.cell("open('a', 'a').write('more'); os.remove('d/e')")
        assert changed() == {"a": "modified", "c": "deleted", "d/e": "deleted"}
        done = session.run("apply", session.id, "--yes")
        assert done.returncode == 0, done.stderr
        assert (project / "a").read_text() == "new\nmore" and sorted(os.listdir(project)) == ["a", "b", "d"]
        assert changed() == {} and session.value("sorted(os.listdir())") == "['a', 'b', 'd']"
        session.cell("open('b', 'w').write('mine')")
        (project / "b").write_text("yours")
        assert session.run("apply", session.id, "--yes").returncode == 126
        assert (project / "b").read_text() == "yours"
    finally:
        session.close()


def test_an_idle_session_is_frozen_and_ends(state, any_caller):
    session = Session(state, "--freeze", "100ms", "--idle", "3s", caller=any_caller)
    try:
        wait_until(lambda: session.listed()[session.id]["state"] == "frozen")
        assert session.value("6 * 7") == "42"
        wait_until(lambda: not session.listed())
    finally:
        session.close()


def test_a_saved_state_comes_back_with_its_files(session):
    session.cell("import os, pathlib\nx = [1]\npathlib.Path('kept').write_text('old')\n"
                 "os.makedirs('/tmp/d'); pathlib.Path('/tmp/d/gone').write_text('old'); os.symlink('kept', 'link')")
    saved = session.json("checkpoint", session.id)
    assert (saved["cell"], saved["by"]) == (2, "fork") and "files" not in saved["not_covered"]
    for turn in range(2): # a state can be returned to more than once
        session.cell("x.append(2); y = 1\npathlib.Path('kept').write_text('new'); pathlib.Path('more').write_text('1')\n"
                     "os.remove('/tmp/d/gone'); os.rmdir('/tmp/d'); os.remove('link'); os.mkdir('link')")
        back = session.json("rollback", session.id, "2")
        assert (back["cell"], back["files"]["removed"], back["files"]["not_restored"]) == (2, 2, []), turn
        assert session.value("x, open('kept').read(), open('/tmp/d/gone').read(), os.readlink('link'), "
                             "os.path.exists('more')") == "([1], 'old', 'old', 'kept', False)"
        assert session.cell("y")["diagnosis"]["type"] == "NameError"
    late = session.cell("while True: pass", "--timeout", "300ms")
    assert (late["outcome"], late["session"]) == ("timeout", "kept")


def test_a_file_too_large_to_be_saved_is_named(session):
    session.cell("open('large', 'wb').truncate(70 << 20); open('small', 'w').write('1')")
    saved = session.json("checkpoint", session.id)
    assert saved["files"]["left_out"] == 1 and any("64 MiB" in what for what in saved["not_covered"])
    assert session.json("rollback", session.id, "2")["files"]["not_restored"] == [], "it did not change"
    session.cell("open('large', 'a').write('x'); open('small', 'w').write('2')")
    assert session.json("rollback", session.id, "2")["files"]["not_restored"] == ["/work/large"]
    assert session.value("open('small').read()") == "'1'"


def test_a_database_is_copied(state, any_caller):
    session = Session(state, lang="sql", caller=any_caller)
    try:
        session.cell("CREATE TABLE t (a); INSERT INTO t VALUES (1);")
        saved = session.json("checkpoint", session.id)
        assert (saved["by"], saved["cell"]) == ("copy", 2) and "temporary tables" in saved["not_covered"]
        for _ in range(2):
            session.cell("BEGIN; DELETE FROM t; CREATE TABLE u (b);")
            inside = session.run("checkpoint", session.id)
            assert inside.returncode == 125 and b"end the transaction" in inside.stderr
            assert session.json("rollback", session.id, "2")["by"] == "copy"
            assert session.cell("SELECT a FROM t")["display"][0]["application/json"] == [{"a": 1}]
            assert b"no such table" in session.run("exec", session.id, "--code", "SELECT * FROM u").stderr
        session.cell(".open other.db\nCREATE TABLE w (c);")
        assert b"copy the file" in session.run("checkpoint", session.id).stderr
        other = session.json("fork", session.id)
        for _ in range(2):
            found = session.json("exec", other["id"], "--code", "SELECT count(*) AS n FROM w")
            assert found["display"][0]["application/json"] == [{"n": 0}], "its kernel keeps its own files"
        assert session.run("close", other["id"]).returncode == 0
    finally:
        session.close()


def test_an_interrupt_waits_until_the_kernel_has_read_the_cell(state, any_caller):
    session = Session(state, "--grace", "6s", caller=any_caller)
    try:
        # A thread holds the interpreter for 3.2 s, so neither an interrupt nor one after half of the grace is heard.
        session.cell("import ctypes, threading, time\nx = 41\n"
                     "threading.Timer(0.05, ctypes.PyDLL(None).usleep, [3200000]).start()")
        with started("session", "exec", session.id, "--json", "--code", "time.sleep(1000)", caller=any_caller,
                     env=session.env, stdout=subprocess.PIPE) as running:
            wait_until(lambda: session.listed()[session.id]["state"] == "busy", 20)
            assert session.json("interrupt", session.id)["interrupted"]
            end = json.loads(running.communicate(timeout=30)[0])
        assert (end["outcome"], end["session"]) == ("cancelled", "kept"), end["explanation"]
        assert session.value("x + 1") == "42"
    finally:
        session.close()


def test_interrupts_at_any_moment_leave_node_alive(state, any_caller):
    session = Session(state, "--grace", "4s", lang="javascript", caller=any_caller)
    try:
        session.cell("let n = 41")
        for turn in range(24):
            code = ("for (;;) ;", "await new Promise(() => {})", "for (;;) console.log(n)")[turn % 3]
            late = session.cell(code, "--timeout", f"{3 + turn}ms")
            assert (late["outcome"], late["session"]) == ("timeout", "kept"), (turn, late["explanation"])
        for code in ("await null; for (;;) ;", "setTimeout(() => { for (;;) ; }); await new Promise(() => {})"):
            late = session.cell(code, "--timeout", "100ms")
            assert (late["outcome"], late["session"]) == ("timeout", "kept"), (code, late["explanation"])
            assert session.value("await n + 1") == "42", "promises and frames go on"
        session.cell("process.on('SIGINT', () => {}); process.on('SIGINT', () => {})")
        late = session.cell("for (;;) ;", "--timeout", "50ms")
        assert (late["outcome"], late["session"]) == ("timeout", "kept"), "a handler of an earlier cell is no shield"
        assert session.value("n + 1") == "42"
    finally:
        session.close()


def test_an_interrupt_that_comes_late_is_not_for_the_next_cell(session):
    inside = [int(child) for child in children_of(session.supervisor())]
    for child in inside: # init cannot send the interrupt before the cell has ended by itself
        os.kill(child, signal.SIGSTOP)
    late = session.cell("import time; time.sleep(0.5)", "--timeout", "200ms")
    assert (late["outcome"], late["session"]) == ("timeout", "kept")
    with started("session", "exec", session.id, "--json", "--code", "time.sleep(0.7); 42", caller=session.caller,
                 env=session.env, stdout=subprocess.PIPE) as running:
        wait_until(lambda: session.listed()[session.id]["state"] == "busy", 20)
        for child in inside:
            os.kill(child, signal.SIGCONT)
        end = json.loads(running.communicate(timeout=30)[0])
    assert (end["outcome"], end["exit_code"], end["display"]) == ("exited", 0, [{"text/plain": "42"}])


def test_what_a_cell_left_running_does_not_cost_the_session(state, any_caller):
    session = Session(state, "--grace", "4s", lang="javascript", caller=any_caller)
    try:
        session.cell("let n = 41; setTimeout(() => { for (;;) ; })")
        late = session.cell("n", "--timeout", "100ms")
        assert (late["outcome"], late["session"]) == ("timeout", "kept"), late["explanation"]
        assert session.value("n + 1") == "42"
    finally:
        session.close()


def test_without_a_saved_state_the_cells_are_executed_again(state, any_caller):
    session = Session(state, lang="bash", caller=any_caller)
    try:
        for code in ("x=1", "echo one > file; echo $x", "x=2; rm file", "cd /tmp"):
            session.cell(code)
        back = session.json("rollback", session.id, "3")
        assert (back["by"], back["cell"], back["replayed"], back["different"]) == ("replay", 3, 2, 0)
        assert session.cell("echo $x $PWD; cat file")["stdout"] == "1 /work\none\n"
        assert session.run("rollback", session.id, "9").returncode == 125
        other = session.json("fork", session.id)
        assert (other["by"], other["replayed"], other["of"]) == ("replay", 3, session.id)
        assert session.run("export", session.id, "--format", "md").stdout.count(b"```bash") == 3
    finally:
        session.close()
    second = sandbox_run("session", "exec", other["id"], "--code", "echo $x; cat file", env=session.env, caller=any_caller)
    assert second.stdout == b"1\none\n", "it outlives the session that it was copied from"
    assert sandbox_run("session", "close", other["id"], env=session.env, caller=any_caller).returncode == 0


def test_a_copy_has_the_files_of_its_session_and_goes_its_own_way(session):
    session.cell("import os, random\nx = random.random(); open('chance', 'w').write(str(x))")
    session.cell("open('/tmp/other', 'w').write('t')")
    made = session.json("fork", session.id)
    wanted = session.value("open('chance').read()")
    assert session.json("exec", made["id"], "--code", "open('chance').read()")["display"][0]["text/plain"] == wanted
    session.json("exec", made["id"], "--code", "x = 'changed'; os.remove('chance')")
    assert session.value("type(x).__name__, os.listdir()") == "('float', ['chance'])"
    assert session.run("close", made["id"]).returncode == 0


@pytest.mark.container
def test_a_prompt_that_is_killed_takes_its_session_with_it(state, any_caller):
    env = {"SANDBOX_RUN_STATE": str(state)}

    def listed():
        return json.loads(sandbox_run("session", "list", "--json", env=env, caller=any_caller).stdout)["sessions"]

    with started("repl", caller=any_caller, env=env) as prompt:
        prompt.stdin.write(b"print(6 * 7)\n")
        prompt.stdin.flush()
        assert prompt.stdout.readline() == b"42\n" and len(listed()) == 1
        prompt.kill()
    wait_until(lambda: listed() == [])


def test_a_prompt_joins_a_session_and_leaves_it(session):
    session.cell("x = 41")
    assert session.run("attach", session.id, stdin=b"x += 1\nx\n").stdout == b"42\n"
    assert session.value("x") == "42"


def test_children_of_a_php_cell_have_no_channel_and_exit_is_named(state, any_caller):
    session = Session(state, lang="php", caller=any_caller)
    try:
        assert session.cell("passthru('ls -l /proc/self/fd | grep -c socket');")["stdout"] == "0\n"
        ended = session.cell("exit(3);")
        assert (ended["outcome"], ended["exit_code"], ended["session"]) == ("exited", 3, "lost")
        assert "the cell ended the kernel with exit code 3" in ended["explanation"]
    finally:
        session.close()


def test_a_session_whose_directory_is_removed_ends(session, state):
    fd = os.pidfd_open(session.supervisor())
    try:
        place = state / "sessions" / session.id
        while place.exists():  # the supervisor writes and removes files there meanwhile
            shutil.rmtree(place, ignore_errors=True)
        assert select.select([fd], [], [], 20)[0], "its supervisor lives on"
    finally:
        os.close(fd)
    assert session.json("list")["sessions"] == []


@pytest.mark.container
def test_a_session_needs_no_inotify_queue(state, any_caller):
    """A user has 128 of them by default, and may have more sessions."""
    script = ("import ctypes, os, subprocess, sys\nlibc, queues = ctypes.CDLL(None), []\n"
              "while not queues or queues[-1] >= 0: queues.append(libc.inotify_init1(0o2000000))\n"
              "subprocess.run(sys.argv[1:], check=True)\n")
    words = support.command("session", "create", "--lang", "bash", caller=any_caller)
    at = words.index(str(support.SANDBOX_RUN))
    place = {"SANDBOX_RUN_STATE": str(state)}
    done = subprocess.run([*words[:at], "/usr/bin/python3", "-c", script, *words[at:]], capture_output=True,
                          env=support.surroundings(any_caller, place), timeout=support.DEADLINE, check=False)
    assert done.returncode == 0, done.stderr
    name = done.stdout.decode().strip()
    found = sandbox_run("session", "exec", name, "--code", "echo here", env=place, caller=any_caller)
    assert found.stdout == b"here\n"
    assert sandbox_run("session", "close", name, env=place, caller=any_caller).returncode == 0
