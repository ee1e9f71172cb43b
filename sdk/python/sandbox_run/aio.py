"""The same calls, to be awaited.  Each waits in a thread; cancelling the task ends what runs."""
from __future__ import annotations

import asyncio
from typing import Any, AsyncIterator, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, TypeVar, Union

from . import requests
from .calls import Call
from .results import Event, ExecutionResult, Result
from .sandbox import Sandbox, Session

T = TypeVar("T")


async def in_thread(function: Callable[..., T], *given: Any, call: Optional[Call] = None, **named: Any) -> T:
    """Waits for it; when this task is cancelled, the call is, and its thread has ended before we go on."""
    if call is not None:
        named["call"] = call
    task = asyncio.ensure_future(asyncio.to_thread(function, *given, **named))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if call is not None:
            call.cancel()
        await asyncio.gather(task, return_exceptions=True)
        raise


async def each(events: Iterator[Event], call: Call) -> AsyncIterator[Event]:
    try:
        while True:
            event = await in_thread(next_of, events, call=None)
            if event is None:
                return
            yield event
    finally:
        call.cancel()
        await asyncio.to_thread(events.close)  # type: ignore[attr-defined]


def next_of(events: Iterator[Event]) -> Optional[Event]:
    return next(events, None)


class AsyncSandbox:
    def __init__(self, base_url: Optional[str] = None, token: Optional[str] = None,
                 binary: Optional[str] = None) -> None:
        self.sandbox = Sandbox(base_url, token, binary)

    async def __aenter__(self) -> "AsyncSandbox":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await in_thread(self.sandbox.close)

    async def run(self, code: Optional[str] = None, language: Optional[str] = "python", **fields: Any) -> Result:
        return await in_thread(self.sandbox.run, code, language, call=Call(), **fields)

    def stream(self, code: Optional[str] = None, language: Optional[str] = "python",
               **fields: Any) -> AsyncIterator[Event]:
        call = Call()
        return each(self.sandbox.stream(code, language, call=call, **fields), call)

    async def execute(self, command: str, config: Optional[Mapping[str, Any]] = None,
                      files: Optional[requests.Files] = None) -> ExecutionResult:
        return await in_thread(self.sandbox.execute, command, config, files, call=Call())

    async def test(self, project: Optional[str] = None, **fields: Any) -> Result:
        return await in_thread(self.sandbox.test, project, call=Call(), **fields)

    async def build(self, project: Optional[str] = None, **fields: Any) -> Result:
        return await in_thread(self.sandbox.build, project, call=Call(), **fields)

    async def golden(self, project: Optional[str] = None, **fields: Any) -> Result:
        return await in_thread(self.sandbox.golden, project, call=Call(), **fields)

    async def verify(self, code: Optional[str] = None, language: Optional[str] = None, **fields: Any) -> Result:
        return await in_thread(self.sandbox.verify, code, language, call=Call(), **fields)

    async def batch(self, runs: Sequence[Mapping[str, Any]], *, jobs: Optional[int] = None) -> List[Result]:
        return await in_thread(self.sandbox.batch, runs, jobs=jobs, call=Call())

    async def compare(self, a: Mapping[str, Any], b: Mapping[str, Any], **how: Any) -> Result:
        return await in_thread(self.sandbox.compare, a, b, call=Call(), **how)

    async def profile(self, code: Optional[str] = None, language: Optional[str] = "python", **fields: Any) -> Result:
        return await in_thread(self.sandbox.profile, code, language, call=Call(), **fields)

    async def health_check(self) -> bool:
        return await in_thread(self.sandbox.health_check)

    async def languages(self) -> List[Dict[str, Any]]:
        return await in_thread(self.sandbox.languages)


class AsyncSession:
    def __init__(self, session: Session) -> None:
        self.session = session

    @property
    def id(self) -> Optional[str]:
        return self.session.id

    async def open(self) -> "AsyncSession":
        await in_thread(self.session.open)
        return self

    async def run(self, code: str, *, timeout: Optional[Union[str, float]] = None,
                  language: Optional[str] = None, width: Optional[int] = None) -> Result:
        return await in_thread(self.session.run, code, call=Call(), timeout=timeout, language=language, width=width)

    def stream(self, code: str, **how: Any) -> AsyncIterator[Event]:
        call = Call()
        return each(self.session.stream(code, call=call, **how), call)

    async def interrupt(self) -> Dict[str, Any]:
        return await in_thread(self.session.interrupt)

    async def rollback(self, cell: int) -> Dict[str, Any]:
        return await in_thread(self.session.rollback, cell)

    async def write_file(self, path: str, content: requests.Content) -> None:
        await in_thread(self.session.write_file, path, content)

    async def read_file(self, path: str) -> bytes:
        return await in_thread(self.session.read_file, path)

    async def close(self) -> None:
        await in_thread(self.session.close)
