"""Sandboxes and sessions, one call after the other."""
from __future__ import annotations

import signal
from contextlib import closing
from typing import TYPE_CHECKING, Any, Callable, Dict, Generator, Iterator, List, Mapping, Optional, Sequence, TypeVar, Union

from . import requests
from .calls import Call
from .errors import ConnectionFailed
from .http import CONNECT_TIMEOUT, RETRIES, Http
from .local import Local
from .results import Event, ExecutionResult, ResourceUsage, Result, checked

if TYPE_CHECKING:
    from .aio import AsyncSession

T = TypeVar("T")
SAMPLE_EVERY = "250ms"  # of the memory that `execute` reports


class Caller:
    """Who makes calls, and how long each may take."""
    transport: Union[Http, Local]
    call_timeout: Optional[float]

    def _ask(self, function: Callable[..., T], *given: Any, call: Optional[Call] = None) -> T:
        call = call or Call()
        with call.within(self.call_timeout):
            return function(*given, call)

    def _each(self, function: Callable[..., Iterator[Mapping[str, Any]]], *given: Any,
              call: Optional[Call] = None) -> Generator[Event, None, None]:
        call = call or Call()
        with call.within(self.call_timeout), closing(events_of(function(*given, call))) as events:
            yield from events


class Sandbox(Caller):
    """Runs programs: by the sandbox-run of this machine, or with `base_url` by a service.

    `call_timeout` is the longest that a call may take, in seconds: what still runs then is ended, and TimedOut raised.
    `connect_timeout` and `retries` are for a service: what it has not begun, and what may be done twice, is tried again.
    `docker_socket` is for this machine: what `execute` runs is in a container of that daemon, and its images come first.
    """

    def __init__(self, base_url: Optional[str] = None, token: Optional[str] = None, binary: Optional[str] = None, *,
                 call_timeout: Optional[float] = None, connect_timeout: float = CONNECT_TIMEOUT,
                 retries: int = RETRIES, docker_socket: Optional[str] = None) -> None:
        self.transport = Http(base_url, token, connect_timeout, retries) if base_url else Local(binary, docker_socket)
        self.call_timeout = call_timeout
        self._container = {"backend": f"docker:{docker_socket}"} if docker_socket else {}

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.transport.close()

    def run(self, code: Optional[str] = None, language: Optional[str] = "python", *, call: Optional[Call] = None,
            **fields: Any) -> Result:
        """Runs a program and gives its result, also when it failed or was killed.

        `timeout`, `memory`, `cpus`, … are limits as on the command line; `files` maps paths to contents; `command`
        is a list of words instead of a program; every other name is a field of the request.
        """
        return checked(self._ask(self.transport.run, self._request(code, language, fields), call=call))

    def stream(self, code: Optional[str] = None, language: Optional[str] = "python", *, call: Optional[Call] = None,
               metrics_every: Optional[str] = None, **fields: Any) -> Generator[Event, None, None]:
        """The same, event by event, each when it happens.  Leaving the loop ends the run."""
        request = self._request(code, language, fields)
        return self._each(self.transport.stream, request, metrics_every, call=call)

    def _request(self, code: Optional[str], language: Optional[str], fields: Mapping[str, Any]) -> Dict[str, Any]:
        command = "command" in fields and not isinstance(fields["command"], bool)
        return requests.request_of(code, language=None if command else language, **fields)

    def execute(self, command: str, config: Optional[requests.ExecuteConfig] = None,
                files: Optional[requests.Files] = None, *, call: Optional[Call] = None) -> ExecutionResult:
        """Runs a line of shell.  `config` has the fields of SandboxConfig."""
        request = {**requests.execute_request(command, config, files), **self._container}
        return execution_of(self._each(self.transport.stream, request, SAMPLE_EVERY, call=call))

    def test(self, project: Optional[str] = None, *, call: Optional[Call] = None, **fields: Any) -> Result:
        """Runs a project's tests; `cases` of the result has each.  `runner`, `repeat`, `coverage` are as in docs/batch.md.

        The project is a directory of this machine; a service takes `files`, a `workspace`, or a root of its own.
        """
        return self._work("tests", project, fields, call)

    def build(self, project: Optional[str] = None, *, call: Optional[Call] = None, **fields: Any) -> Result:
        """Builds a project: `messages` and `artifacts`.  `tool` and `twice` are as in docs/build.md."""
        return self._work("builds", project, fields, call)

    def golden(self, project: Optional[str] = None, *, call: Optional[Call] = None, **fields: Any) -> Result:
        """Runs golden cases: those of a directory of this machine, or of a service those of the list `cases`."""
        return self._work("golden", project, fields, call)

    def verify(self, code: Optional[str] = None, language: Optional[str] = None, *, call: Optional[Call] = None,
               **fields: Any) -> Result:
        """Checks code, or a `project`: `verdict`, `reasons`, `checks`.  `calls` are lines that have to be true.

        `skip` names checks to leave out, `paths` the files to check; a service takes `files`, or a root of its own.
        """
        request = requests.request_of(code, language=language, **fields)
        del request["stdin"]
        return checked(self._ask(self.transport.verify, request, call=call))

    def batch(self, runs: Sequence[Mapping[str, Any]], *, jobs: Optional[int] = None,
              call: Optional[Call] = None) -> List[Result]:
        """Runs many programs: each mapping has the arguments of `run`.  The results are in the same order; of one that could
        not run, `error` says why.  `jobs`, how many run at a time, is for this machine: a service has its own number."""
        made = [self._request(one.get("code"), one.get("language", "python"), without(one, "code", "language"))
                for one in runs]
        return [Result(raw) for raw in self._ask(self.transport.batch, made, jobs, call=call)]

    def compare(self, a: Mapping[str, Any], b: Mapping[str, Any], *, inputs: requests.Inputs = (),
                call: Optional[Call] = None, **how: Any) -> Result:
        """Runs two programs with the same inputs: `verdict`, `same_output`, and the figures of `a` and `b`.

        `a` and `b` have the arguments of `run`; `inputs` are texts for stdin, or a mapping of names to them.  `repeat`,
        `warm_up`, `checker` and `tolerance` are as in docs/batch.md.
        """
        pair = {name: self._request(one.get("code"), one.get("language", "python"), without(one, "code", "language"))
                for name, one in (("a", a), ("b", b))}
        body = {**pair, "inputs": requests.input_list(inputs), **given(how)}
        return checked(self._ask(self.transport.compare, body, call=call))

    def profile(self, code: Optional[str] = None, language: Optional[str] = "python", *, call: Optional[Call] = None,
                repeat: Optional[int] = None, warm_up: Optional[int] = None, functions: Optional[bool] = None,
                **fields: Any) -> Result:
        """Runs one program again and again: `wall_ms`, `cpu_ms`, `peak_memory_bytes`, `over_time`; with `functions=True`
        also which functions use the time.  The other arguments are those of `run`."""
        how = given({"repeat": repeat, "warm_up": warm_up, "functions": functions})
        return checked(self._ask(self.transport.profile, self._request(code, language, fields), how, call=call))

    def _work(self, kind: str, project: Optional[str], fields: Mapping[str, Any], call: Optional[Call]) -> Result:
        request = requests.request_of(None, project=project, **fields)
        del request["stdin"]
        return checked(self._ask(self.transport.work, kind, request, call=call))

    def health_check(self) -> bool:
        """True when a program can be run now."""
        return self._ask(self.transport.healthy)

    def languages(self) -> List[Dict[str, Any]]:
        return self._ask(self.transport.languages)

    def sessions(self) -> List[Dict[str, Any]]:
        return self._ask(self.transport.sessions)

    def session(self, language: str = "python", **fields: Any) -> "Session":
        return Session(language, sandbox=self, **fields)


def without(given: Mapping[str, Any], *names: str) -> Dict[str, Any]:
    return {name: value for name, value in given.items() if name not in names}


def given(values: Mapping[str, Any]) -> Dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def events_of(lines: Iterator[Mapping[str, Any]]) -> Generator[Event, None, None]:
    try:
        for line in lines:
            event = Event(str(line["type"]), line)
            if event.type == "end":
                checked(event.raw["result"])
            yield event
    finally:
        lines.close()  # type: ignore[attr-defined]


def execution_of(events: Iterator[Event]) -> ExecutionResult:
    """What `execute` gives, from the events of its run."""
    last_memory: Optional[float] = None
    out: Dict[str, List[bytes]] = {"stdout": [], "stderr": []}
    raw: Optional[Mapping[str, Any]] = None
    for event in events:
        if event.type in out:
            out[event.type].append(event.data)
        elif event.type == "metrics":
            last_memory = event.raw["metrics"].get("memory_bytes") or last_memory
        elif event.type == "end":
            raw = event.raw["result"]
    if raw is None:
        raise ConnectionFailed("the stream ended before the run did")
    metrics = raw["metrics"]
    peak = metrics.get("peak_memory_bytes") or last_memory or 0
    usage = ResourceUsage(metrics.get("cpu_percent") or 0.0, (last_memory or peak) / 2**20, peak / 2**20)
    texts = {name: b"".join(parts).decode("utf-8", "replace") for name, parts in out.items()}
    return ExecutionResult(status_of(raw), texts["stdout"], texts["stderr"], metrics["wall_ms"], usage)


def status_of(raw: Mapping[str, Any]) -> int:
    """As a shell has it: 124 after a time limit, 128 + n after signal n."""
    if raw["outcome"] in ("timeout", "cpu_limit"):
        return 124
    if raw.get("exit_code") is not None:
        return int(raw["exit_code"])
    name = str(raw.get("signal") or "SIGKILL")
    return 128 + (int(signal.Signals[name]) if name in signal.Signals.__members__ else signal_number(name))


def signal_number(name: str) -> int:
    """Of a signal without a name of its own: "signal 34"."""
    digits = name.rpartition(" ")[2]
    return int(digits) if digits.isdigit() else 9


class Session(Caller):
    """One sandbox that stays alive: names and files stay from one cell to the next.

    `with Session("python") as s` gives calls that wait, `async with Session("python") as s` those to be awaited.
    """

    def __init__(self, language: str = "python", *, sandbox: Optional[Sandbox] = None, id: Optional[str] = None,
                 base_url: Optional[str] = None, token: Optional[str] = None, binary: Optional[str] = None,
                 idle: Optional[str] = None, call_timeout: Optional[float] = None, **fields: Any) -> None:
        by = sandbox or Sandbox(base_url, token, binary, call_timeout=call_timeout)
        self.transport = by.transport
        self.call_timeout = by.call_timeout
        self.language = language
        self.id = id
        self.info: Dict[str, Any] = {}
        self._idle = idle
        self._fields = fields
        self._owned = id is None

    def open(self) -> "Session":
        """Makes the sandbox, unless `id` named one that is there."""
        if self.id is None:
            request = requests.request_of(language=self.language, **self._fields)
            del request["stdin"]
            self.info = self._ask(self.transport.session_create, request, self._idle)
            self.id = str(self.info["id"])
        return self

    @property
    def _id(self) -> str:
        return self.open().id or ""

    def __enter__(self) -> "Session":
        return self.open()

    def __exit__(self, *_: object) -> None:
        if self._owned:
            self.close()

    async def __aenter__(self) -> "AsyncSession":
        from .aio import AsyncSession
        self._awaited = AsyncSession(self)
        return await self._awaited.open()

    async def __aexit__(self, *_: object) -> None:
        if self._owned:
            await self._awaited.close()

    def run(self, code: str, *, timeout: Optional[Union[str, float]] = None, language: Optional[str] = None,
            width: Optional[int] = None, call: Optional[Call] = None) -> Result:
        """Runs one cell; tables and long values fit into `width` columns."""
        return checked(self._ask(self.transport.cell, self._id, cell_of(code, timeout, language, width), call=call))

    def stream(self, code: str, *, timeout: Optional[Union[str, float]] = None, language: Optional[str] = None,
               width: Optional[int] = None, call: Optional[Call] = None) -> Generator[Event, None, None]:
        return self._each(self.transport.cell_stream, self._id, cell_of(code, timeout, language, width), call=call)

    def interrupt(self) -> Dict[str, Any]:
        return self._ask(self.transport.session_do, self._id, "interrupt", {})

    def restart(self) -> Dict[str, Any]:
        return self._ask(self.transport.session_do, self._id, "restart", {})

    def checkpoint(self) -> Dict[str, Any]:
        return self._ask(self.transport.session_do, self._id, "checkpoint", {})

    def rollback(self, cell: int) -> Dict[str, Any]:
        """Back to the state before this cell."""
        return self._ask(self.transport.session_do, self._id, "rollback", {"cell": cell})

    def status(self) -> Dict[str, Any]:
        return self._ask(self.transport.session_info, self._id)

    def write_file(self, path: str, content: requests.Content) -> None:
        data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
        self._ask(self.transport.file_put, self._id, path, data)

    def read_file(self, path: str) -> bytes:
        return self._ask(self.transport.file_get, self._id, path)

    def files(self) -> List[Dict[str, Any]]:
        return self._ask(self.transport.file_list, self._id)

    def close(self) -> None:
        if self.id is not None:
            self._ask(self.transport.session_close, self.id)
            self.id = None
            self._owned = False


def cell_of(code: str, timeout: Optional[Union[str, float]], language: Optional[str],
            width: Optional[int]) -> Dict[str, Any]:
    return {"code": code, "timeout": timeout, "language": language, "width": width}
