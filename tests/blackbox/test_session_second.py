"""A second kernel in the sandbox of a session, and the ends of a session that a prompt made."""
import io
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import threading
import zipfile

import pytest

import gateway
import machine_gives
import sessions
import support
from registries import serving, tar_of
from sessions import Session
from support import sandbox_run
from waiting import wait_until


# Every socket of the shell: its channel.
CHANNEL = "for n in $(ls /proc/$$/fd); do case $(readlink /proc/$$/fd/$n) in socket:*) eval \"{}\";; esac; done; sleep 9"


@pytest.fixture(name="session")
def one_session(folder, any_caller):
    session = Session(sessions.own_state(folder, any_caller), caller=any_caller)
    yield session
    session.close()


def test_another_language_has_its_own_kernel_and_the_same_files(session):
    session.cell("x = 41\nwith open('seen', 'w') as file: file.write('by python')")
    first = session.cell("read text < seen; echo $text; cd /tmp; y=7", "--lang", "bash")
    assert first["stdout"] == "by python\n" and first["cell"] == 2 and first["session"] == "kept"
    assert first["language"]["name"] == "bash" and first["language"]["version"].startswith("5")
    assert session.cell("echo $y $PWD > /work/told", "--lang", "bash")["success"]
    assert session.value("x + 1, open('told').read()") == "(42, '7 /tmp\\n')"
    failed = session.cell("echo so >&2; no-such-command", "--lang", "bash")
    assert failed["exit_code"] == 1 and "no-such-command" in failed["stderr"]
    late = session.cell("while :; do sleep 0.05; done", "--lang", "bash", "--timeout", "300ms")
    assert (late["outcome"], late["session"]) == ("timeout", "kept")
    assert session.cell("echo $y", "--lang", "bash")["stdout"] == "7\n"
    assert session.json("info", session.id)["kernels"] == ["bash"]


def test_the_end_of_a_second_kernel_is_not_that_of_the_session(session):
    session.cell("x = 1")
    done = session.cell("exit 3", "--lang", "bash")
    assert (done["exit_code"], done["session"]) == (3, "kept") and "begins anew" in done["explanation"]
    for way in ("kill -9 $$", CHANNEL.format("echo nonsense >&$n"), CHANNEL.format("exec $n>&-")):
        done = session.cell(way, "--lang", "bash")
        assert not done["success"] and done["session"] == "kept" and "bash" in done["explanation"], (way, done)
        assert session.cell("echo ${z:-none}; z=1", "--lang", "bash")["stdout"] == "none\n"
    stuck = session.cell("trap '' INT; while :; do :; done", "--lang", "bash", "--timeout", "200ms", "--grace", "200ms")
    assert (stuck["outcome"], stuck["session"]) == ("timeout", "kept")
    assert session.value("x") == "1"


def test_what_cannot_join_is_refused_in_one_sentence(session):
    for name, words in (("c", b"c has no sessions"), ("nothing", b"nothing"),
                        ("typescript", b"a living sandbox cannot be given; make a session with --lang typescript")):
        done = session.run("exec", session.id, "--lang", name, "--code", "1")
        assert done.returncode in (125, 127) and words in done.stderr and done.stderr.count(b"\n") == 1, done.stderr
    for name in ("bash", "sh", "sql", "perl"):
        done = session.run("exec", session.id, "--lang", name, "--code", "select 1" if name == "sql" else "1")
    assert b"kernels of 3 other languages already" in done.stderr
    assert session.value("6 * 7") == "42"


def test_cells_of_another_language_are_recorded_as_such(session, folder):
    session.cell("x = 1")
    session.cell("echo two > /work/two", "--lang", "bash")
    copy = session.json("fork", session.id)
    assert (copy["replayed"], copy["different"]) == (2, 0)
    assert session.json("exec", copy["id"], "--code", "x, open('two').read()")["display"][0]["text/plain"] \
        == "(1, 'two\\n')"
    session.run("close", copy["id"])
    assert session.run("export", session.id, "--format", "py").stdout == b"x = 1\n"
    assert b"```bash\necho two" in session.run("export", session.id, "--format", "md").stdout
    book = json.loads(session.run("export", session.id).stdout)
    assert "".join(book["cells"][1]["source"]).startswith("%%bash\n")


def test_a_prompt_speaks_another_language(folder):
    done = support.sandbox_run("repl", stdin=b"x = 1\n:lang bash\ny=2\necho $((y + 1))\n:lang\nx + 5\n",
                               env={"SANDBOX_RUN_STATE": str(folder / "state")})
    assert (done.stdout, done.stderr) == (b"3\n6\n", b"")


@pytest.mark.container
def test_a_prompt_that_dies_before_it_holds_its_session_leaves_none(folder):
    state = folder / "state"
    env = support.surroundings(None, {"SANDBOX_RUN_STATE": str(state)})
    prompt = subprocess.Popen(support.command("repl"), env=env, stdin=subprocess.PIPE,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        assert wait_until(lambda: list(state.glob("sessions/*/socket")))
    finally:
        prompt.send_signal(signal.SIGKILL)
        prompt.wait()
        prompt.stdin.close()
    assert wait_until(lambda: not list(state.glob("sessions/*/lock")))


def test_get_writes_to_a_descriptor_where_it_stands(session, folder):
    session.cell("_ = open('a.txt', 'w').write('inside\\n')")
    path = folder / "out"
    with open(path, "wb") as out:
        os.write(out.fileno(), b"before\n")
        done = subprocess.run(support.command("session", "get", session.id, "a.txt", "/dev/stdout",
                                              caller=session.caller), stdout=out, check=False,
                              env=support.surroundings(session.caller, session.env))
    assert done.returncode == 0 and path.read_bytes() == b"before\ninside\n"


def own_address():
    """An address of this machine that is not loopback: a session needs a rule for exactly that."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            machine_gives.skip_if("an address besides loopback")
        return probe.getsockname()[0]


def serve_hello(listener):
    while True:
        try:
            listener.accept()[0].sendall(b"hello")
        except OSError:
            return


@pytest.fixture(name="server")
def hello_server():
    with socket.create_server((own_address(), 0)) as listener:
        threading.Thread(target=serve_hello, args=[listener], daemon=True).start()
        yield listener.getsockname()
        listener.shutdown(socket.SHUT_RDWR)


def test_a_living_session_learns_a_host(folder, server):
    address, port = server
    session = Session(folder / "state", "--network", "allow", "--allow-host", "192.0.2.1:9")
    try:
        ask = f"import socket\nsocket.create_connection(('{address}', {port}), 5).recv(9)"
        assert not session.cell(ask)["success"]
        assert session.json("allow", session.id, f"{address}:{port}") == {"allowed": f"{address}:{port}"}
        done = session.cell(ask)
        assert done["success"] and "hello" in done["display"][0]["text/plain"], done["stderr"]
        assert done["network"]["allow_hosts"] == ["192.0.2.1:9", f"{address}:{port}"]
        assert not session.cell(ask.replace(f" {port})", f" {port + 1})"))["success"]
        session.json("restart", session.id)
        assert session.cell(ask)["success"], "the rule is kept"
        bad = session.run("allow", session.id, "localhost:1")
        assert b"cannot be given localhost:1 while it runs; start it with" in bad.stderr and bad.returncode == 125
        worse = session.run("allow", session.id, "not a host")
        assert worse.returncode == 125 and worse.stderr.count(b"\n") == 1
    finally:
        session.close()


def test_a_sandbox_without_a_way_out_says_how_to_get_one(session):
    done = session.run("allow", session.id, "example.org:443")
    assert b"has no way out" in done.stderr and b"start it with --allow-host example.org:443" in done.stderr


def wheel_of(name, text):
    packed, about = io.BytesIO(), f"{name}-1.0.dist-info"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(f"{name}.py", text)
        archive.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{about}/RECORD", "")
    return packed.getvalue()


def test_a_session_whose_package_is_missing_says_what_the_installer_said(folder):
    words = "No matching distribution found for nothing-of-that-name"
    with serving() as server:
        env = {"PIP_INDEX_URL": server.url, "SANDBOX_RUN_CACHE": str(folder / "cache"), "SANDBOX_RUN_STATE": str(folder / "state")}
        made = sandbox_run("session", "create", "python", "--dep", "nothing-of-that-name", env=env)
        assert made.returncode == 125 and words in made.stderr.decode(), made.stderr
        with gateway.Gateway(folder / "g", env=env) as http:
            reply = http.ask("POST", "/v1/sessions", {"language": "python", "deps": ["nothing-of-that-name"]})
            assert reply.status >= 400 and words in reply.json()["detail"], reply.body


def test_a_living_session_gets_a_package(folder):
    file = "given-1.0-py3-none-any.whl"
    with serving() as server:
        server.pages = {"/simple/given/": f'<a href="/{file}">{file}</a>'.encode(),
                        f"/{file}": wheel_of("given", "answer = 42\n")}
        session = Session(folder / "state",
                          env={"PIP_INDEX_URL": server.url, "SANDBOX_RUN_CACHE": str(folder / "cache")})
        try:
            session.cell("x = 1")
            assert not session.cell("import given")["success"]
            assert session.json("dep", session.id, "given")["dep"] == "given"
            assert session.value("import given\nx, given.answer, given.__file__[:5]") == "(1, 42, '/tmp/')"
            missing = session.run("dep", session.id, "nothing-of-that-name")
            assert missing.returncode == 125 and b"'nothing-of-that-name' cannot be installed" in missing.stderr
            refused = session.run("dep", session.id, "nothing-of-that-name", "--json")
            assert json.loads(refused.stdout)["error"]["code"] == "invalid"  # as of a session that is made with it
            remedy = shlex.split(re.search(r"`sandbox-run (.*)` shows all that the installer says", missing.stderr.decode())[1])
            assert b"No matching distribution found for nothing-of-that-name" in sandbox_run(*remedy, env=session.env).stderr
            session.json("restart", session.id)
            assert session.value("import given\ngiven.__file__") == "'/deps/given.py'"
        finally:
            session.close()


def test_a_large_package_takes_no_memory_of_the_supervisor(folder):
    """A registry chooses how large: 150 kB packed."""
    file = "given-1.0-py3-none-any.whl"
    packed = io.BytesIO(wheel_of("given", "answer = 42\n"))
    with zipfile.ZipFile(packed, "a", zipfile.ZIP_DEFLATED, compresslevel=1) as wheel:
        wheel.writestr("large/data.bin", bytes(120 << 20))
    with serving() as server:
        server.pages = {"/simple/given/": f'<a href="/{file}">{file}</a>'.encode(), f"/{file}": packed.getvalue()}
        session = Session(folder / "state", env={"PIP_INDEX_URL": server.url, "SANDBOX_RUN_CACHE": str(folder / "cache")})
        try:
            assert session.json("dep", session.id, "given")["dep"] == "given"
            assert session.value("import os, given\nos.path.getsize(os.path.dirname(given.__file__) + '/large/data.bin')") == str(120 << 20)
            assert sessions.peak_mib(session.supervisor()) < 64
        finally:
            session.close()


@pytest.mark.skipif(not support.have("npm"), reason="there is no npm here")
def test_a_living_session_of_javascript_gets_a_package(folder):
    """By `require` and by `import`, in cells and in files; also one that a cell has looked for in vain."""
    with serving() as server:
        place = f"http://localhost:{server.port}"
        index = {"name": "given", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": {
            "name": "given", "version": "1.0.0", "dist": {"tarball": f"{place}/given/-/given-1.0.0.tgz"}}}}
        server.pages = {"/given": json.dumps(index).encode(), "/given/-/given-1.0.0.tgz": tar_of({
            "package/package.json": '{"name": "given", "version": "1.0.0"}',
            "package/index.js": "exports.answer = 42"})}
        session = Session(folder / "state", lang="javascript",
                          env={"NPM_CONFIG_REGISTRY": place, "SANDBOX_RUN_CACHE": str(folder / "cache")})
        try:
            assert not session.cell("let x = 1; require('given')")["success"]
            assert not session.cell("import { answer } from 'given'")["success"]
            assert session.json("dep", session.id, "given")["dep"] == "given"
            assert session.value("require('given').answer + x") == "43"
            assert session.value("import { answer } from 'given'; answer") == "42"
            session.cell("require('fs').writeFileSync('mine.mjs', \"export { answer as own } from 'given'\")")
            assert session.value("(await import('./mine.mjs')).own") == "42"
            assert not session.cell("import 'not-given'")["success"]
            session.json("restart", session.id)
            assert session.value("import { answer } from 'given'; require.resolve('given')") \
                == "'/deps/node_modules/given/index.js'"
        finally:
            session.close()
