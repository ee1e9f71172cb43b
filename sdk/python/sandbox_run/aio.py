"""The same calls, to be awaited.  Each waits in a thread; cancelling the task ends what runs."""
from __future__ import annotations

import asyncio
import functools
from concurrent.futures import ThreadPoolExecutor
from typing import Any, AsyncGenerator, Callable, Dict, Generator, List, Mapping, Optional, Sequence, TypeVar, Union

from . import requests
from .calls import Call
from .results import Event, ExecutionResult, Result
from .sandbox import Sandbox, Session

T = TypeVar("T")
# Threads that only wait, one for each call: with few of them a call that ends others would queue behind them.
THREADS = ThreadPoolExecutor(max_workers=4096, thread_name_prefix="sandbox-run")


async def in_thread(ends: Call, function: Callable[..., T], *given: Any, **named: Any) -> T:
    """When this task is cancelled, the call `ends` is, and its thread has ended before we go on."""
    task = asyncio.get_running_loop().run_in_executor(THREADS, functools.partial(function, *given, **named))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        ends.cancel()
        await asyncio.wait([task])
        task.exception()  # it was looked at
        raise


async def awaited(function: Callable[..., T], *given: Any, **named: Any) -> T:
    call = Call()
    return await in_thread(call, function, *given, call=call, **named)


async def waited(function: Callable[..., T], *given: Any) -> T:
    """What is quick, and not ended in the middle."""
    return await in_thread(Call(), function, *given)


async def each(events: Generator[Event, None, None], call: Call) -> AsyncGenerator[Event, None]:
    try:
        while True:
            event = await in_thread(call, next, events, None)
            if event is None:
                return
            yield event
    finally:
        await waited(events.close)


class AsyncSandbox:
    """`Sandbox`, to be awaited; it takes the same arguments."""

    def __init__(self, base_url: Optional[str] = None, token: Optional[str] = None, binary: Optional[str] = None,
                 **how: Any) -> None:
        self.sandbox = Sandbox(base_url, token, binary, **how)

    async def __aenter__(self) -> "AsyncSandbox":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await waited(self.sandbox.close)

    async def run(self, code: Optional[str] = None, language: Optional[str] = "python", **fields: Any) -> Result:
        return await awaited(self.sandbox.run, code, language, **fields)

    def stream(self, code: Optional[str] = None, language: Optional[str] = "python",
               **fields: Any) -> AsyncGenerator[Event, None]:
        call = Call()
        return each(self.sandbox.stream(code, language, call=call, **fields), call)

    async def execute(self, command: str, config: Optional[requests.ExecuteConfig] = None,
                      files: Optional[requests.Files] = None) -> ExecutionResult:
        return await awaited(self.sandbox.execute, command, config, files)

    async def test(self, project: Optional[str] = None, **fields: Any) -> Result:
        return await awaited(self.sandbox.test, project, **fields)

    async def build(self, project: Optional[str] = None, **fields: Any) -> Result:
        return await awaited(self.sandbox.build, project, **fields)

    async def golden(self, project: Optional[str] = None, **fields: Any) -> Result:
        return await awaited(self.sandbox.golden, project, **fields)

    async def verify(self, code: Optional[str] = None, language: Optional[str] = None, **fields: Any) -> Result:
        return await awaited(self.sandbox.verify, code, language, **fields)

    async def batch(self, runs: Sequence[Mapping[str, Any]], *, jobs: Optional[int] = None) -> List[Result]:
        return await awaited(self.sandbox.batch, runs, jobs=jobs)

    async def compare(self, a: Mapping[str, Any], b: Mapping[str, Any], **how: Any) -> Result:
        return await awaited(self.sandbox.compare, a, b, **how)

    async def profile(self, code: Optional[str] = None, language: Optional[str] = "python", **fields: Any) -> Result:
        return await awaited(self.sandbox.profile, code, language, **fields)

    async def health_check(self) -> bool:
        return await waited(self.sandbox.health_check)

    async def languages(self) -> List[Dict[str, Any]]:
        return await waited(self.sandbox.languages)


class AsyncSession:
    def __init__(self, session: Session) -> None:
        self.session = session

    @property
    def id(self) -> Optional[str]:
        return self.session.id

    async def open(self) -> "AsyncSession":
        try:
            await waited(self.session.open)
        except asyncio.CancelledError:
            if self.session._owned:
                await waited(self.session.close)  # nobody would use it
            raise
        return self

    async def run(self, code: str, *, timeout: Optional[Union[str, float]] = None,
                  language: Optional[str] = None, width: Optional[int] = None) -> Result:
        return await awaited(self.session.run, code, timeout=timeout, language=language, width=width)

    def stream(self, code: str, **how: Any) -> AsyncGenerator[Event, None]:
        call = Call()
        return each(self.session.stream(code, call=call, **how), call)

    async def interrupt(self) -> Dict[str, Any]:
        return await waited(self.session.interrupt)

    async def rollback(self, cell: int) -> Dict[str, Any]:
        return await waited(self.session.rollback, cell)

    async def write_file(self, path: str, content: requests.Content) -> None:
        await waited(self.session.write_file, path, content)

    async def read_file(self, path: str) -> bytes:
        return await waited(self.session.read_file, path)

    async def close(self) -> None:
        await waited(self.session.close)
