"""The sandbox-run of this machine: one process per call, no service."""
from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import subprocess
import tempfile
from typing import Any, Dict, Iterator, List, Mapping, Optional

from . import errors
from .calls import Call

BINARY_ENV = "SANDBOX_RUN_BINARY"


def find_binary(binary: Optional[str] = None) -> str:
    name = binary or os.environ.get(BINARY_ENV) or "sandbox-run"
    path = shutil.which(name)
    if not path:
        raise errors.BinaryNotFound(f"there is no '{name}' on this machine; install sandbox-run, name its file by "
                                    f"{BINARY_ENV}, or give base_url of a service", code="not_found")
    return path


COMMANDS = {"tests": "test", "builds": "build", "golden": "golden"}


def work_words(kind: str, request: Mapping[str, Any]) -> List[str]:
    """The command line for a project; fields that are options of the command have their names."""
    if not request.get("project"):
        raise errors.InvalidRequest("give `project`, a directory of this machine; files are for a service")
    words = [COMMANDS[kind]]
    for name, value in request.items():
        if name in ("project", "args", "stdin") or value is False:
            continue
        if name == "limits":
            words += [word for limit, text in value.items() for word in (f"--{limit}", str(text))]
        elif name == "deps":
            words += [word for dep in value for word in ("--dep", dep)]
        else:
            words += [f"--{name.replace('_', '-')}"] + ([] if value is True else [str(value)])
    return [*words, str(request["project"]), *(["--", *request["args"]] if request.get("args") else [])]


def how_words(how: Mapping[str, Any]) -> List[str]:
    """Options of a measurement."""
    return [word for name, value in how.items() if value is not False
            for word in (f"--{name.replace('_', '-')}", *([] if value is True else [str(value)]))]


REPEATED = {"deps": "--dep", "calls": "--call", "skip": "--skip"}


def verify_words(request: Mapping[str, Any]) -> List[str]:
    """The command line for code, which it reads from stdin, or for a project and `paths` in it."""
    if request.get("files"):
        raise errors.InvalidRequest("give `code`, or `project`, a directory of this machine; files are for a service")
    words = ["verify"]
    for name, value in request.items():
        if name in REPEATED:
            words += [word for item in value for word in (REPEATED[name], str(item))]
        elif name == "limits":
            words += [word for limit, text in value.items() for word in (f"--{limit}", str(text))]
        elif name == "language":
            words += ["--lang", str(value)]
        elif name not in ("code", "paths") and value is not False:
            words += [f"--{name.replace('_', '-')}"] + ([] if value is True else [str(value)])
    return words + [os.path.join(str(request.get("project", "")), path) for path in request.get("paths", ())]


def write(path: str, data: bytes) -> str:
    with open(path, "wb") as file:
        file.write(data)
    return path


class Local:
    def __init__(self, binary: Optional[str] = None, docker: Optional[str] = None) -> None:
        self.binary = find_binary(binary)
        self.docker = docker  # the socket of the daemon whose images come first

    def close(self) -> None:
        """Nothing is kept between calls."""

    def _start(self, words: List[str], call: Call, stderr: int = subprocess.PIPE) -> "subprocess.Popen[bytes]":
        call.check()
        process = subprocess.Popen([self.binary, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=stderr, start_new_session=True, env=self._environment())
        call.on_cancel(lambda: process.send_signal(signal.SIGTERM))
        return process

    def _environment(self) -> Optional[Dict[str, str]]:
        return {**os.environ, "DOCKER_HOST": f"unix://{self.docker}"} if self.docker else None

    def _bytes(self, words: List[str], given: bytes, call: Call) -> "subprocess.CompletedProcess[bytes]":
        with self._start(words, call) as process:
            try:
                out, err = process.communicate(given)
            finally:
                call.on_cancel(None)
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def ask(self, words: List[str], given: bytes = b"", call: Optional[Call] = None) -> Dict[str, Any]:
        """One JSON object; an error in it is raised by the caller who knows its shape."""
        end = words.index("--") if "--" in words else len(words)  # what follows is not ours
        done = self._bytes([*words[:end], "--json", *words[end:]], given, call or Call())
        try:
            answer = json.loads(done.stdout)
        except ValueError:
            raise errors.InternalError(done.stderr.decode("utf-8", "replace").strip() or
                                       f"{self.binary} ended with status {done.returncode} and no answer") from None
        if not isinstance(answer, dict):
            raise errors.InternalError(f"{self.binary} did not answer with an object")
        return answer

    def checked(self, words: List[str], given: bytes = b"", call: Optional[Call] = None) -> Dict[str, Any]:
        answer = self.ask(words, given, call)
        if answer.get("error"):
            raise errors.of_error(answer["error"])
        return answer

    def _lines(self, words: List[str], given: bytes, call: Call) -> Iterator[Dict[str, Any]]:
        with self._start([*words, "--stream"], call, subprocess.DEVNULL) as process:
            assert process.stdin and process.stdout
            over = False
            try:
                try:
                    process.stdin.write(given)
                    process.stdin.close()
                except BrokenPipeError:
                    pass  # its reason is the only line
                for line in process.stdout:
                    yield json.loads(line)
                over = True
            finally:
                call.on_cancel(None)
                if not over:
                    process.send_signal(signal.SIGTERM)  # the reader left before the end

    # ---- runs ----------------------------------------------------------------------------------

    def run(self, request: Mapping[str, Any], call: Call) -> Dict[str, Any]:
        return self.ask(["--request", "-"], json.dumps(request).encode(), call)

    def stream(self, request: Mapping[str, Any], metrics_every: Optional[str], call: Call) -> Iterator[Dict[str, Any]]:
        words = ["--request", "-"] + (["--metrics-every", metrics_every] if metrics_every else [])
        return self._lines(words, json.dumps(request).encode(), call)

    def work(self, kind: str, request: Mapping[str, Any], call: Call) -> Dict[str, Any]:
        """`kind`: tests, builds or golden; of a directory of this machine."""
        return self.checked(work_words(kind, request), b"", call)

    def verify(self, request: Mapping[str, Any], call: Call) -> Dict[str, Any]:
        return self.checked(verify_words(request), str(request.get("code", "")).encode("utf-8", "surrogatepass"), call)

    def batch(self, requests: List[Dict[str, Any]], jobs: Optional[int], call: Call) -> List[Dict[str, Any]]:
        if not requests:
            return []
        words = ["batch", "--json", *(["--jobs", str(jobs)] if jobs else []), "-"]
        done = self._bytes(words, b"".join(json.dumps(one).encode() + b"\n" for one in requests), call)
        results = [json.loads(line) for line in done.stdout.splitlines() if line.startswith(b'{"item"')]
        if len(results) != len(requests):
            raise errors.InternalError(done.stderr.decode("utf-8", "replace").strip() or
                                       f"{self.binary} ended with status {done.returncode} before the batch did")
        return results

    def compare(self, body: Mapping[str, Any], call: Call) -> Dict[str, Any]:
        """By files, because there are two programs and inputs beside them."""
        how = {name: value for name, value in body.items() if name not in ("a", "b", "inputs")}
        with tempfile.TemporaryDirectory(prefix="sandbox-run-") as folder:
            words = ["compare", *how_words(how)]
            for name in ("a", "b"):
                words += ["--request", write(os.path.join(folder, name), json.dumps(body[name]).encode())]
            for number, one in enumerate(body["inputs"]):
                text = base64.b64decode(one["content"]) if "encoding" in one else one["content"].encode()
                words += ["--input", write(os.path.join(folder, str(number)), text)]
            found = self.checked(words, b"", call)
        if body["inputs"] and found.get("first_different_input"):
            number = int(os.path.basename(found["first_different_input"]))
            found["first_different_input"] = body["inputs"][number]["name"]
        return found

    def profile(self, request: Mapping[str, Any], how: Mapping[str, Any], call: Call) -> Dict[str, Any]:
        return self.checked(["profile", "--request", "-", *how_words(how)], json.dumps(request).encode(), call)

    def languages(self, call: Call) -> List[Dict[str, Any]]:
        return list(self.checked(["languages"], b"", call)["languages"])

    def healthy(self, call: Call) -> bool:
        request = {"args": ["true"], "stdin": "", **({"backend": f"docker:{self.docker}"} if self.docker else {})}
        return self.run(request, call).get("success") is True

    # ---- sessions ------------------------------------------------------------------------------

    def session_create(self, request: Mapping[str, Any], idle: Optional[str], call: Call) -> Dict[str, Any]:
        words = ["session", "create", "--request", "-"] + (["--idle", idle] if idle else [])
        return self.checked(words, json.dumps(request).encode(), call)

    def sessions(self, call: Call) -> List[Dict[str, Any]]:
        return list(self.checked(["session", "list"], b"", call)["sessions"])

    def session_info(self, name: str, call: Call) -> Dict[str, Any]:
        return self.checked(["session", "info", name], b"", call)

    def _cell(self, name: str, cell: Mapping[str, Any]) -> List[str]:
        words = ["session", "exec", name, "-"]
        for key, option in (("language", "--lang"), ("timeout", "--timeout"), ("width", "--width")):
            if cell.get(key) is not None:
                words += [option, str(cell[key])]
        return words

    def cell(self, name: str, cell: Mapping[str, Any], call: Call) -> Dict[str, Any]:
        return self.ask(self._cell(name, cell), str(cell["code"]).encode("utf-8", "surrogatepass"), call)

    def cell_stream(self, name: str, cell: Mapping[str, Any], call: Call) -> Iterator[Dict[str, Any]]:
        return self._lines(self._cell(name, cell), str(cell["code"]).encode("utf-8", "surrogatepass"), call)

    def session_do(self, name: str, action: str, body: Mapping[str, Any], call: Call) -> Dict[str, Any]:
        return self.checked(["session", action, name, *(str(value) for value in body.values())], b"", call)

    def session_close(self, name: str, call: Call) -> None:
        self.checked(["session", "close", name], b"", call)

    def file_put(self, name: str, path: str, data: bytes, call: Call) -> None:
        done = self._bytes(["session", "put", name, "-", path], data, call)
        self._ended(done)

    def file_get(self, name: str, path: str, call: Call) -> bytes:
        done = self._bytes(["session", "get", name, path], b"", call)
        self._ended(done)
        return done.stdout

    def file_list(self, name: str, call: Call) -> List[Dict[str, Any]]:
        return list(self.checked(["session", "files", name], b"", call)["files"])

    def _ended(self, done: "subprocess.CompletedProcess[bytes]") -> None:
        if done.returncode:
            text = done.stderr.decode("utf-8", "replace").strip()
            kind = errors.NotFound if done.returncode == 127 else errors.SandboxError
            raise kind(text or f"{self.binary} ended with status {done.returncode}")
