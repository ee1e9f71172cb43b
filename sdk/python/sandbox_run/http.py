"""The HTTP service: docs/http.md."""
from __future__ import annotations

import json
import random
import uuid
from contextlib import ExitStack, contextmanager
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, TypeVar, Union
from urllib.parse import quote

from . import errors
from .calls import Call
from .carrier import Answer, Carrier

T = TypeVar("T")
EVENTS = "text/event-stream"  # which the service keeps alive while nothing happens
DATA = b"data:"
BATCH_MOST = 256  # requests in one call
CONNECT_TIMEOUT = 10.0
RETRIES = 2
WAIT_MOST = 30  # seconds; a service that asks for more is busy, and the caller decides
SAFE = ("GET", "PUT")  # the answer is the same once and twice
RUNS = "/v1/executions"


class Http:
    def __init__(self, base_url: str, token: Optional[str] = None, connect_timeout: float = CONNECT_TIMEOUT,
                 retries: int = RETRIES) -> None:
        self.carrier = Carrier(base_url, connect_timeout)
        self.retries = retries
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}

    def close(self) -> None:
        self.carrier.close()

    # ---- one request, and when it is made again ---------------------------------------------------

    @contextmanager
    def _once(self, method: str, path: str, value: Any = None, data: Optional[bytes] = None,
              accept: str = "application/json", key: Optional[str] = None, after: Optional[int] = None,
              call: Optional[Call] = None) -> Iterator[Answer]:
        headers = {**self.headers, "Accept": accept, **({"Idempotency-Key": key} if key else {}),
                   **({"Last-Event-ID": str(after)} if after is not None else {})}
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
                                        answer.headers.get("retry-after"))
            yield answer

    def _again(self, attempt: Callable[[], T], safe: bool, call: Optional[Call]) -> T:
        """What nobody has begun, or what may be done twice, is tried again."""
        for number in range(self.retries + 1):
            try:
                return attempt()
            except errors.SandboxError as error:
                wait = wait_before_retry(error, safe, number)
                if wait is None or number == self.retries or (call and call.cancelled):
                    raise
                (call or Call()).wait(wait)
        raise AssertionError("unreachable")

    def _bytes(self, method: str, path: str, call: Optional[Call] = None, **how: Any) -> bytes:
        def attempt() -> bytes:
            with self._once(method, path, call=call, **how) as answer:
                return answer.body()
        return self._again(attempt, method in SAFE or "key" in how, call)

    def _json(self, method: str, path: str, value: Any = None, call: Optional[Call] = None, **how: Any) -> Any:
        body = self._bytes(method, path, call, value=value, **how)
        return json.loads(body) if body else {}

    def _lines(self, path: str, value: Any, call: Call) -> Iterator[Dict[str, Any]]:
        """Its events; after a lost connection those that are left.  A reader that leaves before the end ends the run."""
        how: Dict[str, Any] = {"value": value, "accept": EVENTS, "call": call, **({"key": new_key()} if path == RUNS else {})}
        ask, location, tries, over = ("POST", path), None, 0, False
        try:
            while not over:
                try:
                    with ExitStack() as stack:
                        answer = self._again(lambda: stack.enter_context(self._once(*ask, **how)), path == RUNS, call)
                        location = location or answer.headers.get("location")
                        for line in filter(is_data, answer.lines):
                            event = json.loads(line[len(DATA):])
                            over, tries = event["type"] == "end", 0
                            how["after"] = event.get("seq")
                            yield event
                except errors.ConnectionFailed:
                    if not location:
                        raise
                if not over and (call.cancelled or not location or tries >= self.retries):
                    raise errors.ConnectionFailed("the connection was lost before the run had ended", code="system")
                ask, tries, how["value"] = ("GET", f"{location}/events"), tries + 1, None
        finally:
            if location and not over:
                self._end(location)

    def _end(self, location: str) -> None:
        """Ends a run whose reader has left; the service would wait for another reader."""
        try:
            with self._once("DELETE", location) as answer:
                answer.body()
        except errors.SandboxError:
            pass  # it has ended, or the service ends it when nobody reads

    # ---- runs ----------------------------------------------------------------------------------

    def run(self, request: Mapping[str, Any], call: Call) -> Dict[str, Any]:
        """By its events, which a lost connection and a proxy that waits for a minute only do not end."""
        last: Dict[str, Any] = {}
        for last in self._lines(RUNS, request, call):
            pass
        return dict(last["result"])

    def stream(self, request: Mapping[str, Any], metrics_every: Optional[str], call: Call) -> Iterator[Dict[str, Any]]:
        return self._lines(RUNS, request, call)  # without samples: the service sends none

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

    def languages(self, call: Call) -> List[Dict[str, Any]]:
        return list(self._json("GET", "/v1/languages", call=call)["languages"])

    def healthy(self, call: Call) -> bool:
        try:
            with self._once("GET", "/readyz", call=call) as answer:
                answer.body()
        except (errors.Busy, errors.ConnectionFailed):
            return False
        return True

    # ---- sessions ------------------------------------------------------------------------------

    def session_create(self, request: Mapping[str, Any], idle: Optional[str], call: Call) -> Dict[str, Any]:
        return dict(self._json("POST", "/v1/sessions", {**request, **({"idle_ms": milliseconds(idle)} if idle else {})}, call))

    def sessions(self, call: Call) -> List[Dict[str, Any]]:
        return list(self._json("GET", "/v1/sessions", call=call)["sessions"])

    def session_info(self, name: str, call: Call) -> Dict[str, Any]:
        return dict(self._json("GET", session_path(name), call=call))

    def _cell(self, cell: Mapping[str, Any]) -> Dict[str, Any]:
        body = {key: value for key, value in cell.items() if value is not None and key != "timeout"}
        if cell.get("timeout") is not None:
            body["timeout_ms"] = milliseconds(cell["timeout"])
        return body

    def cell(self, name: str, cell: Mapping[str, Any], call: Call) -> Dict[str, Any]:
        return dict(self._json("POST", session_path(name, "cells"), self._cell(cell), call))

    def cell_stream(self, name: str, cell: Mapping[str, Any], call: Call) -> Iterator[Dict[str, Any]]:
        return self._lines(session_path(name, "cells"), self._cell(cell), call)

    def session_do(self, name: str, action: str, body: Mapping[str, Any], call: Call) -> Dict[str, Any]:
        return dict(self._json("POST", session_path(name, action), dict(body), call))

    def session_close(self, name: str, call: Call) -> None:
        self._json("DELETE", session_path(name), call=call)

    def file_put(self, name: str, path: str, data: bytes, call: Call) -> None:
        self._bytes("PUT", session_path(name, "files", path), call, data=data)

    def file_get(self, name: str, path: str, call: Call) -> bytes:
        return self._bytes("GET", session_path(name, "files", path), call, accept="*/*")

    def file_list(self, name: str, call: Call) -> List[Dict[str, Any]]:
        return list(self._json("GET", session_path(name, "files"), call=call)["files"])


def is_data(line: bytes) -> bool:
    return line.startswith(DATA)


def new_key() -> str:
    return uuid.uuid4().hex


def wait_before_retry(error: errors.SandboxError, safe: bool, number: int) -> Optional[float]:
    """Seconds; None when it must not be made again.  A 429 or 503 that says when to ask again has begun nothing."""
    if error.status in (429, 503) or error.status == 409 and safe:
        if error.retry_after is not None:
            return float(error.retry_after) if error.retry_after <= WAIT_MOST else None
    unsent = isinstance(error, errors.ConnectionFailed) and not error.sent
    lost = isinstance(error, errors.ConnectionFailed) or error.status in (502, 503, 504)
    if unsent or lost and safe:
        return 0.2 * (1 << number) * (1 + random.random())
    return None


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
