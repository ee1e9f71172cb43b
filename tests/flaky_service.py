"""A service that loses connections and is busy, by a script: what a client does then is what it asks again."""
import collections
import http.server
import json
import threading

DROP = object()  # the connection ends without an answer


def busy(status, **headers):
    return status, {"Content-Type": "application/problem+json", **headers}, json.dumps({"code": "busy", "detail": "later"})


def done(value):
    return 200, {"Content-Type": "application/json"}, json.dumps(value)


def events(*lines, lost=False):
    """Of the run `r`; `lost`: the connection ends before the stream does."""
    text = "".join(f"id: {line['seq']}\ndata: {json.dumps(line)}\n\n" for line in lines)
    return 200, {"Content-Type": "text/event-stream", "Location": "/v1/executions/r", "lost": lost}, text


class FlakyService(http.server.ThreadingHTTPServer):
    """`script`: the answers to each "METHOD PATH" in their order.  `seen` has what was asked, with key and last event."""

    daemon_threads = True

    def __init__(self, script):
        super().__init__(("127.0.0.1", 0), Handler)
        self.script = {name: collections.deque(answers) for name, answers in script.items()}
        self.seen = []
        self.address = f"http://127.0.0.1:{self.server_port}"

    def __enter__(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()

    def asked(self, name):
        return [more for asked, more in self.seen if asked == name]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        name = f"{self.command} {self.path}"
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.seen.append((name, {key: self.headers.get(key) for key in ("Idempotency-Key", "Last-Event-ID")}))
        answers = self.server.script.get(name)
        answer = answers.popleft() if answers else (404, {}, "{}")
        if answer is DROP:
            self.close_connection = True
            return
        status, headers, text = answer
        lost = headers.get("lost")
        self.send_response(status)
        for key, value in headers.items():
            if key != "lost":
                self.send_header(key.replace("_", "-"), str(value))
        self.send_header("Content-Length", str(len(text) + (10 if lost else 0)))
        self.end_headers()
        self.wfile.write(text.encode())
        self.close_connection = bool(lost)

    do_GET = do_POST = do_PUT = do_DELETE = answer  # noqa: N815 - the library calls them so

    def log_message(self, *_):
        pass


RESULT = {"outcome": "exited", "exit_code": 0, "success": True, "stdout": "out", "stderr": "",
          "metrics": {"wall_ms": 1, "peak_memory_bytes": 1}}
START, OUT, END = ({"type": "start", "seq": 0, "time_ms": 0}, {"type": "stdout", "seq": 1, "time_ms": 1, "data": "out"},
                   {"type": "end", "seq": 2, "time_ms": 2, "result": RESULT})
RUNS, LATER = "POST /v1/executions", "GET /v1/executions/r/events"


def script():
    """A run that is begun once, whatever is lost; what may not be repeated; what has not begun; what is only read."""
    return {RUNS: [DROP, busy(409, Retry_After=0), events(START, OUT, lost=True)], LATER: [DROP, events(END)],
            "POST /v1/tests": [DROP], "POST /v1/verify": [busy(429, Retry_After=0), done({"verdict": "passed"})],
            "POST /v1/builds": [busy(503)], "POST /v1/profiles": [busy(429, Retry_After=3600)],
            "GET /v1/languages": [DROP, busy(503), done({"languages": []})]}


def judge(service, said):
    """`said`: what run, test, verify, build, profile and languages came to."""
    assert said == ["out", "lost", "passed", "busy", "busy", 0], said
    keys = {one["Idempotency-Key"] for one in service.asked(RUNS)}
    assert len(service.asked(RUNS)) == 3 and len(keys) == 1 and None not in keys
    assert [one["Last-Event-ID"] for one in service.asked(LATER)] == ["1", "1"]
    counts = collections.Counter(name for name, _ in service.seen)
    assert [counts[f"POST /v1/{name}"] for name in ("tests", "verify", "builds", "profiles")] == [1, 2, 1, 1], counts
    assert counts["GET /v1/languages"] == 3 and not counts["DELETE /v1/executions/r"], counts
