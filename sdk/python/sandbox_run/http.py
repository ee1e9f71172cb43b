"""The HTTP service: docs/http.md.  httpx carries the calls when it is installed, http.client otherwise."""
from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Tuple, Union
from urllib.parse import quote, urlsplit

from . import errors
from .calls import Call

NDJSON = "application/x-ndjson"
BATCH_MOST = 256  # requests in one call


class Answer(NamedTuple):
    status: int
    retry_after: Optional[str]
    lines: Iterable[bytes]

    def body(self) -> bytes:
        return b"".join(self.lines)


class Standard:
    """Connections of the standard library, each kept for the next call."""

    def __init__(self, base_url: str, timeout: Optional[float]) -> None:
        self.url = urlsplit(base_url)
        self.timeout = timeout
        self.idle: List[HTTPConnection] = []
        self.lock = threading.Lock()

    def _connect(self) -> HTTPConnection:
        kind = HTTPSConnection if self.url.scheme == "https" else HTTPConnection
        return kind(self.url.hostname or "127.0.0.1", self.url.port, timeout=self.timeout)

    def _take(self) -> Tuple[HTTPConnection, bool]:
        with self.lock:
            return (self.idle.pop(), True) if self.idle else (self._connect(), False)

    @contextmanager
    def call(self, method: str, path: str, body: Optional[bytes], headers: Mapping[str, str],
             call: Call) -> Iterator[Answer]:
        connection, kept = self._take()
        answered = False
        try:
            call.on_cancel(lambda: shut(connection))
            try:
                connection.request(method, self.url.path.rstrip("/") + path, body, dict(headers))
                response = connection.getresponse()
            except (OSError, HTTPException):
                if not kept or call.cancelled:
                    raise
                connection = self._connect()  # the service closed it while it was idle
                call.on_cancel(lambda: shut(connection))
                connection.request(method, self.url.path.rstrip("/") + path, body, dict(headers))
                response = connection.getresponse()
            yield Answer(response.status, response.headers.get("retry-after"), response)
            answered = response.isclosed()
        except (OSError, HTTPException) as error:
            raise errors.ConnectionFailed(f"the service at {self.url.geturl()} did not answer: {error}",
                                          code="system") from error
        finally:
            call.on_cancel(None)
            if answered:
                with self.lock:
                    self.idle.append(connection)
            else:
                connection.close()

    def close(self) -> None:
        with self.lock:
            for connection in self.idle:
                connection.close()
            self.idle.clear()


def shut(connection: HTTPConnection) -> None:
    """Ends a call that another thread waits for."""
    if connection.sock:
        try:
            connection.sock.shutdown(2)
        except OSError:
            pass


def lines_of(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """By newlines alone: text may hold other characters that count as ends of lines elsewhere."""
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line + b"\n"
    yield rest


class WithHttpx:
    def __init__(self, httpx: Any, base_url: str, timeout: Optional[float]) -> None:
        self.httpx = httpx
        self.base_url = base_url
        self.client = httpx.Client(base_url=base_url, timeout=timeout)

    @contextmanager
    def call(self, method: str, path: str, body: Optional[bytes], headers: Mapping[str, str],
             call: Call) -> Iterator[Answer]:
        try:
            with self.client.stream(method, path, content=body, headers=dict(headers)) as response:
                call.on_cancel(response.close)
                yield Answer(response.status_code, response.headers.get("retry-after"),
                             lines_of(response.iter_bytes()))
        except self.httpx.HTTPError as error:
            raise errors.ConnectionFailed(f"the service at {self.base_url} did not answer: {error}",
                                          code="system") from error
        finally:
            call.on_cancel(None)

    def close(self) -> None:
        self.client.close()


def carrier_of(base_url: str, timeout: Optional[float]) -> Any:
    try:
        import httpx
    except ImportError:
        return Standard(base_url, timeout)
    return WithHttpx(httpx, base_url, timeout)


class Http:
    def __init__(self, base_url: str, token: Optional[str] = None, timeout: Optional[float] = None,
                 carrier: Any = None) -> None:
        self.carrier = carrier or carrier_of(base_url, timeout)
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}

    def close(self) -> None:
        self.carrier.close()

    @contextmanager
    def _call(self, method: str, path: str, value: Any = None, data: Optional[bytes] = None,
              accept: str = "application/json", call: Optional[Call] = None) -> Iterator[Answer]:
        headers = {**self.headers, "Accept": accept}
        if value is not None:
            data, headers["Content-Type"] = json.dumps(value).encode(), "application/json"
        elif data is not None:
            headers["Content-Type"] = "application/octet-stream"
        with self.carrier.call(method, path, data, headers, call or Call()) as answer:
            if answer.status >= 400:
                try:
                    problem = json.loads(answer.body())
                except ValueError:
                    problem = {}
                raise errors.of_problem(answer.status, problem if isinstance(problem, dict) else {},
                                        answer.retry_after)
            yield answer

    def _json(self, method: str, path: str, value: Any = None, call: Optional[Call] = None) -> Any:
        with self._call(method, path, value, call=call) as answer:
            body = answer.body()
        return json.loads(body) if body else {}

    def _lines(self, path: str, value: Any, call: Call) -> Iterator[Dict[str, Any]]:
        with self._call("POST", path, value, accept=NDJSON, call=call) as answer:
            for line in answer.lines:
                if line.strip():
                    yield json.loads(line)

    # ---- runs ----------------------------------------------------------------------------------

    def run(self, request: Mapping[str, Any], call: Call) -> Dict[str, Any]:
        return dict(self._json("POST", "/v1/executions", request, call))

    def stream(self, request: Mapping[str, Any], call: Call, metrics_every: Optional[str]) -> Iterator[Dict[str, Any]]:
        return self._lines("/v1/executions", request, call)  # without samples: the service sends none

    def work(self, kind: str, request: Mapping[str, Any], call: Call) -> Dict[str, Any]:
        """`kind`: tests, builds or golden."""
        return dict(self._json("POST", f"/v1/{kind}", request, call))

    def verify(self, request: Mapping[str, Any], call: Call) -> Dict[str, Any]:
        return dict(self._json("POST", "/v1/verify", request, call))

    def batch(self, requests: List[Dict[str, Any]], jobs: Optional[int], call: Call) -> List[Dict[str, Any]]:
        """In parts: the service takes so many at once, and runs as many at a time as it has room for."""
        results: List[Dict[str, Any]] = []
        for at in range(0, len(requests), BATCH_MOST):
            part = {"requests": requests[at:at + BATCH_MOST]}
            results += self._json("POST", "/v1/batch", part, call)["results"]
        return results

    def compare(self, body: Mapping[str, Any], call: Call) -> Dict[str, Any]:
        return dict(self._json("POST", "/v1/comparisons", body, call))

    def profile(self, request: Mapping[str, Any], how: Mapping[str, Any], call: Call) -> Dict[str, Any]:
        return dict(self._json("POST", "/v1/profiles", {**request, **how}, call))

    def languages(self) -> List[Dict[str, Any]]:
        return list(self._json("GET", "/v1/languages")["languages"])

    def healthy(self) -> bool:
        with self._call("GET", "/readyz") as answer:
            answer.body()
            return answer.status == 200

    # ---- sessions ------------------------------------------------------------------------------

    def session_create(self, request: Mapping[str, Any], idle: Optional[str]) -> Dict[str, Any]:
        return dict(self._json("POST", "/v1/sessions", {**request, **({"idle_ms": milliseconds(idle)} if idle else {})}))

    def sessions(self) -> List[Dict[str, Any]]:
        return list(self._json("GET", "/v1/sessions")["sessions"])

    def session_info(self, name: str) -> Dict[str, Any]:
        return dict(self._json("GET", session_path(name)))

    def _cell(self, cell: Mapping[str, Any]) -> Dict[str, Any]:
        body = {key: value for key, value in cell.items() if value is not None and key != "timeout"}
        if cell.get("timeout") is not None:
            body["timeout_ms"] = milliseconds(cell["timeout"])
        return body

    def cell(self, name: str, cell: Mapping[str, Any], call: Call) -> Dict[str, Any]:
        return dict(self._json("POST", session_path(name, "cells"), self._cell(cell), call))

    def cell_stream(self, name: str, cell: Mapping[str, Any], call: Call) -> Iterator[Dict[str, Any]]:
        return self._lines(session_path(name, "cells"), self._cell(cell), call)

    def session_do(self, name: str, action: str, body: Mapping[str, Any]) -> Dict[str, Any]:
        return dict(self._json("POST", session_path(name, action), dict(body)))

    def session_close(self, name: str) -> None:
        self._json("DELETE", session_path(name))

    def file_put(self, name: str, path: str, data: bytes) -> None:
        with self._call("PUT", session_path(name, "files", path), data=data) as answer:
            answer.body()

    def file_get(self, name: str, path: str) -> bytes:
        with self._call("GET", session_path(name, "files", path), accept="*/*") as answer:
            return answer.body()

    def file_list(self, name: str) -> List[Dict[str, Any]]:
        return list(self._json("GET", session_path(name, "files"))["files"])


def milliseconds(duration: Union[str, float]) -> int:
    """Seconds, or a text with a unit: "500ms", "5s", "2m", "1h"."""
    factors = {"ms": 1, "s": 1000, "m": 60000, "h": 3600000}
    text = str(duration)
    unit = text.lstrip("0123456789.")
    try:
        return round(float(text[:len(text) - len(unit)]) * factors[unit or "s"])
    except (KeyError, ValueError):
        raise errors.InvalidRequest(f"'{text}' is no duration; write it as 1.5, 500ms or 5s",
                                    code="invalid") from None


def session_path(*parts: str) -> str:
    return "/v1/sessions/" + "/".join(quote(part, safe="/") for part in parts)
