"""The dialect of go-judge: the examples of its documentation, pipes, kept files, and what is refused."""
import urllib.parse

import pytest

import gateway
import support

ENV = ["PATH=/usr/bin:/bin"]
FILES = [{"content": ""}, {"name": "stdout", "max": 10240}, {"name": "stderr", "max": 10240}]
LIMITS = {"cpuLimit": 10_000_000_000, "clockLimit": 20_000_000_000, "memoryLimit": 256 << 20, "procLimit": 50}
# "Single (this example require `apt install g++` inside the container)" of go-judge's documentation.
SOURCE = "#include <iostream>\nusing namespace std;\nint main() {\nint a, b;\ncin >> a >> b;\ncout << a + b << endl;\n}"


@pytest.fixture(scope="module", name="judge")
def _judge(tmp_path_factory):
    with gateway.Gateway(tmp_path_factory.mktemp("gojudge") / "g", ["--dialect", "go-judge"]) as running:
        yield running
        left = list((running.folder / "state").rglob("gojudge/*"))
        assert left == [], left


def cmd(*args, files=None, **rest):
    return {"args": list(args), "env": ENV, "files": FILES if files is None else files, **LIMITS, **rest}


def run(judge, *commands, pipes=(), **rest):
    body = {"cmd": list(commands), **({"pipeMapping": list(pipes)} if pipes else {})}
    reply = judge.ask("POST", "/run", body, **rest)
    assert reply.status == 200, reply.body
    return reply.json()


def upload(judge, name, data, **rest):
    form = (f'--xyz\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n').encode() + data
    reply = judge.ask("POST", "/file", form + b"\r\n--xyz--\r\n", Content_Type="multipart/form-data; boundary=xyz", **rest)
    assert reply.status == 200, reply.body
    return reply.json()


@pytest.mark.skipif(not support.have("g++"), reason="there is no g++ here")
def test_the_documented_example(judge):
    made = run(judge, cmd("/usr/bin/g++", "a.cc", "-o", "a", copyIn={"a.cc": {"content": SOURCE}},
                          copyOut=["stdout", "stderr"], copyOutCached=["a"]))[0]
    assert made["status"] == "Accepted" and made["exitStatus"] == 0 and made["files"] == {"stdout": "", "stderr": ""}
    assert made["time"] > 0 and made["runTime"] > 0 and made["memory"] > 0
    binary = made["fileIds"]["a"]
    done = run(judge, cmd("a", files=[{"content": "1 1"}, *FILES[1:]], copyIn={"a": {"fileId": binary}}))[0]
    assert (done["status"], done["files"]["stdout"]) == ("Accepted", "2\n")
    assert judge.ask("GET", "/file").json() == {binary: "a"}
    assert judge.ask("GET", f"/file/{binary}").body.startswith(b"\x7fELF")
    assert judge.ask("DELETE", f"/file/{binary}").status == 200
    assert judge.ask("GET", f"/file/{binary}").status == 404 and judge.ask("GET", "/file").json() == {}


def test_pipes_between_commands(judge):
    """The example "Multiple (interaction problem)", with a program that writes back."""
    one = "read x; echo got $x >&2; echo done"
    seen = run(judge, cmd("/bin/sh", "-c", "echo 5; read y; echo $y >&2", files=[None, None, FILES[2]]),
               cmd("/bin/sh", "-c", one, files=[None, None, FILES[2]]),
               pipes=[{"in": {"index": 0, "fd": 1}, "out": {"index": 1, "fd": 0}},
                      {"in": {"index": 1, "fd": 1}, "out": {"index": 0, "fd": 0}}])
    assert [row["status"] for row in seen] == ["Accepted", "Accepted"]
    assert [row["files"]["stderr"] for row in seen] == ["done\n", "got 5\n"]
    closed = run(judge, cmd("/bin/sh", "-c", "exec 1>&-; echo end >&2", files=[None, None, FILES[2]]), cmd("/bin/cat", files=[None, *FILES[1:]]),
                 pipes=[{"in": {"index": 0, "fd": 1}, "out": {"index": 1, "fd": 0}}])
    assert [row["status"] for row in closed] == ["Accepted", "Accepted"]


@pytest.mark.parametrize("command, status, exit_status", [
    (cmd("/bin/sh", "-c", "exit 3"), "Nonzero Exit Status", 3),
    (cmd("/bin/sh", "-c", "kill -SEGV $$"), "Signalled", 11),
    ({**cmd("/bin/sh", "-c", "while :; do :; done"), "cpuLimit": 200_000_000}, "Time Limit Exceeded", 9),
    (cmd("/bin/sh", "-c", "while :; do echo 12345678901234567890; done"), "Output Limit Exceeded", 9),
    (cmd("/no/such"), "Internal Error", 0),
    (cmd("/bin/true", copyOut=["none"]), "File Error", 0),
    (cmd("/bin/true", copyOut=["none?"]), "Accepted", 0),
    (cmd("/bin/sh", "-c", "echo 12345 > f", copyOut=["f"], copyOutMax=3), "File Error", 0),
])
def test_statuses(judge, command, status, exit_status):
    seen = run(judge, command)[0]
    assert (seen["status"], seen["exitStatus"]) == (status, exit_status), seen


def test_files_that_are_links_do_not_leave(judge):
    seen = run(judge, cmd("/bin/sh", "-c", "ln -s /etc/passwd f; mkfifo g; ln -s .. d", copyOut=["f", "g", "d/etc/passwd"]))[0]
    assert seen["status"] == "File Error" and {row["name"] for row in seen["fileError"]} == {"f", "g", "d/etc/passwd"}
    assert "root:" not in str(seen)


@pytest.mark.parametrize("command, word", [
    (cmd("/bin/cat", "x", copyIn={"x": {"src": "/etc/passwd"}}), "src"),
    (cmd("/bin/cat", "x", copyIn={"x": {"symlink": "/etc/passwd"}}), "symlink"),
    (cmd("/bin/cat", files=[{"src": "/etc/passwd"}]), "stdin"),
    (cmd("/bin/cat", copyIn={"x": {"fileId": "0" * 32}}), "fileId"),
    (cmd("/bin/true", tty=True), "tty"), (cmd(), "args"), ({**cmd("/bin/true"), "env": ["X"]}, "NAME=VALUE"),
    (cmd("/bin/true", files=[None, None, None, {"name": "x", "max": 1}]), "stdin"),
])
def test_what_we_do_not_do_is_a_string(judge, command, word):
    reply = judge.ask("POST", "/run", {"cmd": [command]})
    assert reply.status == 400 and isinstance(reply.json(), str) and word in reply.json()


def test_paths_of_the_host_and_patterns_are_refused(judge):
    for name in ("../x", "/etc/passwd"):
        seen = run(judge, cmd("/bin/true", copyIn={name: {"content": ""}}))[0]
        assert seen["status"] == "Internal Error" and "path" in seen["error"]
    for name in ("*", "a:/tmp", "/etc/passwd", "../../x"):
        seen = run(judge, cmd("/bin/true", copyOut=[name]))[0]
        assert seen["status"] in ("Internal Error", "File Error") and "files" not in seen or seen["files"].keys() <= {"stdout", "stderr"}


def test_tokens_bound_and_separate(judge):
    one, two = judge.token("one", "--limit", "memory=64m"), judge.token("two")
    kept = upload(judge, "secret.txt", b"mine", token=one)
    assert judge.ask("GET", f"/file/{kept}", token=one).body == b"mine"
    assert judge.ask("GET", f"/file/{kept}", token=two).status == 404
    assert judge.ask("DELETE", f"/file/{kept}", token=two).status == 404
    assert judge.ask("GET", "/file", token=two).json() == {} and judge.ask("GET", "/file", token=one).json() == {kept: "secret.txt"}
    for where in ({"copyIn": {"x": {"fileId": kept}}}, {"files": [{"fileId": kept}]}):
        assert judge.ask("POST", "/run", {"cmd": [cmd("/bin/cat", **where)]}, token=two).status == 400
    small = {"memoryLimit": 32 << 20}
    assert run(judge, {**cmd("/bin/cat", files=[{"fileId": kept}, *FILES[1:]]), **small}, token=one)[0]["files"]["stdout"] == "mine"
    over = run(judge, cmd("/bin/true"), token=one)[0]
    assert over["status"] == "Internal Error" and "token allows" in over["error"]
    assert judge.ask("POST", "/run", {"cmd": [cmd("/bin/true")]}, tcp=True).status == 401


def test_malformed_and_oversized(judge):
    for body in (b"{", b"[]", b"[" * 100, b'{"cmd": 5}', b'{"cmd": []}'):
        reply = judge.ask("POST", "/run", body, Content_Type="application/json")
        assert reply.status == 400 and isinstance(reply.json(), str)
    assert judge.ask("POST", "/run", {"cmd": [cmd("/bin/true")] * 17}).status == 400
    for pipe in ({"in": {"index": 5, "fd": 1}, "out": {"index": 0, "fd": 0}}, {"in": {"index": 0, "fd": 7}, "out": {"index": 0, "fd": 0}}):
        assert judge.ask("POST", "/run", {"cmd": [cmd("/bin/true")], "pipeMapping": [pipe]}).status == 400
    assert judge.ask("POST", "/file", b"x", Content_Type="multipart/form-data; boundary=q").status == 400
    assert judge.ask("GET", f"/file/{urllib.parse.quote('../x', safe='')}").status == 404
    assert judge.ask("GET", "/version").json()["copyOutOptional"] and judge.ask("GET", "/ws").status == 501
    assert gateway.children_are_gone(judge)


def test_a_kept_stream_is_what_the_program_wrote(judge):
    """Behind a NUL, too: its length was right, and what came back behind the NUL was the gateway's memory."""
    done = run(judge, cmd("/bin/sh", "-c", "printf 'a\\0'; head -c 9000 /dev/zero | tr '\\0' b", copyOutCached=["stdout"]))[0]
    kept = judge.ask("GET", f"/file/{done['fileIds']['stdout']}").body
    assert kept == b"a\0" + b"b" * 9000, kept[:100]


def test_large_files_go_in_and_out(judge):
    """Read and written beside the loop: by value, from the store and into it, and as stdin."""
    data = "\x01" * 300_000
    first = run(judge, cmd("/bin/sh", "-c", "cat a a > b", copyIn={"a": {"content": data}}, copyOut=["b"], copyOutCached=["b"]))[0]
    assert first["files"]["b"] == data * 2, str(first)[:300]
    kept = {"fileId": first["fileIds"]["b"]}
    second = run(judge, cmd("/bin/sh", "-c", "wc -c; wc -c < c", copyIn={"c": kept}, files=[kept, *FILES[1:]]))[0]
    assert second["files"]["stdout"].split() == ["600000", "600000"], second
