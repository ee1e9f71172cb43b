"""A client of `sandbox-run mcp`, line by line, so that a test can also send what no client would."""
import contextlib
import json
import select
import subprocess

import support

SOON = 60
STATELESS = "2026-07-28"
META = "io.modelcontextprotocol/"


class Client:
    """A server of the test's own, and what it says."""

    def __init__(self, *options, caller=None, env=None, capabilities=None, initialize=True, cwd=None):
        self.process = subprocess.Popen(support.command("mcp", *options, caller=caller), cwd=cwd,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env=support.surroundings(caller, env))
        self.last, self.notes, self.answers, self.rest = 0, [], {}, b""
        self.on_request = {}
        if initialize:
            self.hello = self.call("initialize", {"protocolVersion": "2025-11-25", "capabilities": capabilities or {},
                                                  "clientInfo": {"name": "test", "version": "1"}})
            self.notify("notifications/initialized")

    def write(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message):
        self.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def notify(self, method, params=None):
        self.send({"method": method, "params": params or {}})

    def ask(self, method, params=None, number=None):
        """Sends a request; its id."""
        self.last += 1
        number = self.last if number is None else number
        self.send({"id": number, "method": method, "params": params or {}})
        return number

    def read(self):
        """The next message."""
        while b"\n" not in self.rest:
            ready, _, _ = select.select([self.process.stdout], [], [], SOON)
            assert ready, "no message in time"
            data = self.process.stdout.read1(1 << 20)
            assert data, "the server has ended: " + self.process.stderr.read().decode()
            self.rest += data
        line, self.rest = self.rest.split(b"\n", 1)
        return json.loads(line)

    def wait(self, number):
        """The answer with this id; what comes before is kept, requests are answered."""
        while number not in self.answers:
            message = self.read()
            if "method" not in message:
                self.answers[message["id"]] = message
            elif "id" in message:
                self.send({"id": message["id"], "result": self.on_request[message["method"]](message["params"])})
            else:
                self.notes.append(message)
        return self.answers.pop(number)

    def call(self, method, params=None):
        answer = self.wait(self.ask(method, params))
        return answer["result"] if "result" in answer else answer["error"]

    def tool(self, tool, meta=None, **arguments):
        return self.call("tools/call", tool_call(tool, arguments, meta))

    def data(self, tool, **arguments):
        """The structured content of a call that succeeds."""
        result = self.tool(tool, **arguments)
        assert not result["isError"], result
        return result["structuredContent"]

    def refusal(self, tool, **arguments):
        """The text of a call that fails."""
        result = self.tool(tool, **arguments)
        assert result["isError"] is True, result
        return result["content"][0]["text"]

    def modern(self, method, params=None, capabilities=None, version=STATELESS, **meta):
        """A request of the era without `initialize`."""
        own = {META + "protocolVersion": version, META + "clientCapabilities": capabilities or {}, **meta}
        return self.call(method, {**(params or {}), "_meta": own})

    def close(self):
        """Ends stdin; the exit status."""
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        return self.process.wait(SOON)


def tool_call(tool, arguments, meta=None):
    return {"name": tool, "arguments": arguments, **({"_meta": meta} if meta else {})}


@contextlib.contextmanager
def served(*options, **kwargs):
    client = Client(*options, **kwargs)
    try:
        yield client
    finally:
        client.close()
        client.process.stdout.close()
        client.process.stderr.close()
