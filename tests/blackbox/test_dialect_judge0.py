"""The dialect of Judge0: the examples of its documentation, statuses, batches, callbacks, and what is refused."""
import base64
import http.server
import json
import queue
import threading

import pytest

import gateway
import support

PYTHON, C, BASH = 71, 50, 46
# The example of "Create a Submission" in Judge0's documentation.
HELLO = {"source_code": '#include <stdio.h>\n\nint main(void) {\n  char name[10];\n  scanf("%s", name);\n'
                        '  printf("hello, %s\\n", name);\n  return 0;\n}', "language_id": C, "stdin": "world"}


class Receiver(http.server.BaseHTTPRequestHandler):
    """Keeps what is PUT to it."""

    def do_PUT(self):  # pylint: disable=invalid-name
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.came.put((self.path, json.loads(body)))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass


@pytest.fixture(scope="module", name="receiver")
def _receiver():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as server:
        server.came = queue.Queue()
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module", name="judge")
def _judge(tmp_path_factory, receiver):
    options = ["--dialect", "judge0", "--allow-callback", f"127.0.0.1:{receiver.server_port}"]
    with gateway.Gateway(tmp_path_factory.mktemp("judge0") / "g", options) as running:
        yield running


def submit(judge, body, query="", **rest):
    return judge.ask("POST", f"/submissions?wait=true{query}", {"language_id": PYTHON, **body}, **rest)


def result(judge, body, query="", **rest):
    reply = submit(judge, body, query, **rest)
    assert reply.status == 201, reply.body
    return reply.json()


def test_the_documented_examples(judge):
    made = judge.ask("POST", "/submissions/?base64_encoded=false&wait=false".replace("/?", "?"), HELLO)
    assert made.status == 201 and set(made.json()) == {"token"}
    token = made.json()["token"]
    while (seen := judge.ask("GET", f"/submissions/{token}").json())["status"]["id"] <= 2:
        pass
    assert set(seen) == {"token", "time", "memory", "stdout", "stderr", "compile_output", "message", "status"}
    assert (seen["stdout"], seen["stderr"], seen["message"]) == ("hello, world\n", None, None)
    assert seen["status"] == {"id": 3, "description": "Accepted"} and float(seen["time"]) >= 0 and seen["memory"] > 0
    fields = "stdout,time,memory,stderr,token,compile_output,message,status,language_id,language,exit_code"
    some = judge.ask("GET", f"/submissions/{token}?base64_encoded=true&fields={fields}").json()
    assert base64.b64decode(some["stdout"]) == b"hello, world\n" and set(some) == set(fields.split(","))
    assert some["language"]["id"] == C and some["language"]["name"].startswith("C (GCC ") and some["exit_code"] == 0
    every = judge.ask("GET", f"/submissions/{token}?fields=*").json()
    assert every["source_code"] == HELLO["source_code"] and every["finished_at"] and every["number_of_runs"] == 1
    assert judge.ask("GET", f"/submissions/{token}?fields=no").json() == {"error": "invalid fields: [no]"}
    listed = judge.ask("GET", "/submissions?page=1&per_page=5").json()
    assert token in [row["token"] for row in listed["submissions"]] and listed["meta"]["current_page"] == 1
    assert judge.ask("DELETE", f"/submissions/{token}").status == 200
    assert judge.ask("GET", f"/submissions/{token}").status == 404


@pytest.mark.parametrize("body, status, field, value", [
    ({"source_code": "print(input())", "stdin": "a", "expected_output": "a   \n\n"}, 3, "stdout", "a\n"),
    ({"source_code": "print(1)", "expected_output": "2"}, 4, "stdout", "1\n"),
    ({"source_code": "while True: pass", "cpu_time_limit": 0.3}, 5, "message", "Time limit exceeded"),
    ({"source_code": "int main(void){", "language_id": C}, 6, "stdout", None),
    ({"source_code": "import os\nos.kill(os.getpid(), 11)"}, 7, "message", "Caught fatal signal 11"),
    ({"source_code": "import os\nos.abort()"}, 10, "stdout", None),
    ({"source_code": "import sys\nsys.exit(3)"}, 11, "message", "Exited with error status 3"),
    ({"source_code": "print('x' * 99999)", "max_file_size": 1}, 8, "stderr", None),
    ({"source_code": "import sys\nprint(sys.argv[1:])", "command_line_arguments": "a 'b c' d\\ e"}, 3, "stdout",
     "['a', 'b c', 'd e']\n"),
    ({"source_code": '#include <stdio.h>\nint main(void){puts(WORD);}', "language_id": C,
      "compiler_options": "-DWORD='\"hi\"' -O1"}, 3, "stdout", "hi\n"),
    ({"source_code": "echo a; echo b >&2; echo c", "language_id": BASH, "redirect_stderr_to_stdout": True}, 3, "stderr", None),
])
def test_statuses(judge, body, status, field, value):
    seen = result(judge, body)
    assert seen["status"]["id"] == status and seen[field] == value, seen
    if status == 6:
        assert "error" in seen["compile_output"]


def test_bytes_need_base64(judge):
    body = {"source_code": "import sys\nsys.stdout.buffer.write(sys.stdin.buffer.read())"}
    coded = {key: base64.b64encode(text).decode() for key, text in
             {"source_code": body["source_code"].encode(), "stdin": b"\xff\0\xfe", "expected_output": b"\xff\0\xfe"}.items()}
    seen = result(judge, coded, "&base64_encoded=true")
    assert base64.b64decode(seen["stdout"]) == b"\xff\0\xfe" and seen["status"]["id"] == 3
    plain = judge.ask("GET", f"/submissions/{seen['token']}")
    assert plain.status == 400 and "base64_encoded=true" in plain.json()["error"]
    wrong = submit(judge, {**coded, "source_code": "!"}, "&base64_encoded=true").json()
    assert wrong == {"source_code": ["is not base64"]}


def test_batches(judge):
    rows = [{"language_id": BASH, "source_code": "echo 1"}, {"language_id": 43, "source_code": "x"}, {"source_code": "x"}]
    made = judge.ask("POST", "/submissions/batch", {"submissions": rows})
    assert made.status == 201
    first, second, third = made.json()
    assert second == {"language_id": ["language with id 43 doesn't exist"]} and third == {"language_id": ["can't be blank"]}
    query = f"/submissions/batch?tokens={first['token']},none&fields=stdout,status"
    while (seen := judge.ask("GET", query).json()["submissions"])[0]["status"]["id"] <= 2:
        pass
    assert seen == [{"stdout": "1\n", "status": {"id": 3, "description": "Accepted"}}, None]
    assert judge.ask("POST", "/submissions/batch", {"submissions": rows[1:]}).status == 422
    assert "less than" in judge.ask("POST", "/submissions/batch", {"submissions": rows * 7}).json()["error"]
    assert "at least one" in judge.ask("GET", "/submissions/batch").json()["error"]


def test_what_surrounds_them(judge):
    assert [row["id"] for row in judge.ask("GET", "/statuses").json()] == list(range(1, 15))
    languages = {row["id"]: row["name"] for row in judge.ask("GET", "/languages").json()}
    assert languages[PYTHON].startswith("Python (3.") and 89 not in languages
    assert judge.ask("GET", "/languages/71").json()["source_file"] == "main.py"
    assert judge.ask("GET", "/languages/9999").status == 404
    assert judge.ask("GET", "/about").json()["version"] == "1.13.1"
    assert judge.ask("GET", "/judge0/version").body == b"1.13.1"
    assert judge.ask("GET", "/version").json()["name"] == "sandbox-run"
    assert judge.ask("GET", "/config_info").json()["enable_callbacks"] is True
    assert judge.ask("GET", "/workers").json()[0]["queue"] == "default"
    assert judge.ask("GET", "/statistics").status == 501


@pytest.mark.parametrize("body, errors", [
    ({}, {"source_code": ["can't be blank"]}),
    ({"source_code": "1", "language_id": None}, {"language_id": ["can't be blank"]}),
    ({"source_code": "1", "number_of_runs": 3}, {"number_of_runs": ["must be equal to 1"]}),
    ({"source_code": "1", "additional_files": "UEs="}, {"additional_files": ["setting additional files is not allowed"]}),
    ({"source_code": "1", "memory_limit": 5}, {"memory_limit": ["must be greater than or equal to 2048"]}),
    ({"source_code": "1", "enable_per_process_and_thread_time_limit": True},
     {"enable_per_process_and_thread_time_limit": ["this option cannot be enabled"]}),
    ({"source_code": "1", "compiler_options": "x" * 513}, {"compiler_options": ["is too long (maximum is 512 characters)"]}),
])
def test_errors_by_field(judge, body, errors):
    reply = submit(judge, body)
    assert (reply.status, reply.json()) == (422, errors)


def test_callbacks_go_only_to_allowed_hosts(judge, receiver):
    url = f"http://127.0.0.1:{receiver.server_port}/done?x=1"
    token = result(judge, {"source_code": "print(5)", "callback_url": url})["token"]
    path, body = receiver.came.get(timeout=support.DEADLINE)
    assert path == "/done?x=1" and body["token"] == token and base64.b64decode(body["stdout"]) == b"5\n"
    for wrong in ("http://127.0.0.1:1/", "http://localhost/", "file:///etc/passwd", url.replace("://", "://u:p@"),
                  f"http://127.0.0.1:{receiver.server_port}\\@example.org/", 7):
        if isinstance(wrong, str):
            assert "callback_url" in submit(judge, {"source_code": "1", "callback_url": wrong}).json(), wrong
    assert receiver.came.empty()


def test_tokens_bound_and_separate(judge):
    one = {"tcp": True, "X_Auth_Token": judge.token("one", "--limit", "memory=64m", "--limit", "timeout=4s", "--network", "none")}
    two = {"tcp": True, "X_Auth_Token": judge.token("two")}
    seen = result(judge, {"source_code": "print('mine')"}, **one)
    assert seen["stdout"] == "mine\n"
    for path in (f"/submissions/{seen['token']}", f"/judge0/submissions/{seen['token']}"):
        assert judge.ask("GET", path, **one).status == 200
        assert judge.ask("GET", path, **two).status == 404 and judge.ask("DELETE", path, **two).status == 404
    assert judge.ask("GET", f"/submissions/batch?tokens={seen['token']}", **two).json() == {"submissions": [None]}
    assert judge.ask("GET", "/submissions", **two).json()["submissions"] == []
    over = submit(judge, {"source_code": "1", "memory_limit": 512000, "wall_time_limit": 20}, **one)
    assert over.status == 422 and over.json() == {"memory_limit": ["must be less than or equal to 65536"],
                                                  "wall_time_limit": ["must be less than or equal to 4"]}
    network = submit(judge, {"source_code": "1", "enable_network": True}, **one)
    assert network.status == 403 and "network" in network.json()["error"]
    assert judge.ask("GET", "/languages", tcp=True, X_Auth_Token="sbr_x_y").status == 401


@pytest.mark.parametrize("body, status", [(b"{", 400), (b"[]", 400), (b"[" * 100, 400), (b"\xff", 400)])
def test_malformed_bodies(judge, body, status):
    reply = judge.ask("POST", "/submissions", body, Content_Type="application/json")
    assert reply.status == status and "error" in reply.json()
