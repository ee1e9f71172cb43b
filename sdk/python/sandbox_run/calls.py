"""One call that another thread may cancel, or that takes too long."""
from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import Callable, Iterator, Optional

from .errors import Cancelled, TimedOut


class Call:
    """What runs registers how it is ended; `cancel` may come before, during or after that."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._end: Optional[Callable[[], None]] = None
        self._stop = threading.Event()
        self._late = False

    @property
    def cancelled(self) -> bool:
        return self._stop.is_set()

    def on_cancel(self, end: Optional[Callable[[], None]]) -> None:
        with self._lock:
            self._end = end
            late = self.cancelled and end
        if late:
            late()

    def cancel(self) -> None:
        with self._lock:
            self._stop.set()
            end = self._end
        if end:
            end()

    def wait(self, seconds: float) -> None:
        """Until then, or until it is cancelled."""
        self._stop.wait(seconds)

    def _time_out(self) -> None:
        self._late = True
        self.cancel()

    @contextmanager
    def within(self, seconds: Optional[float]) -> Iterator["Call"]:
        """What runs inside is ended after `seconds`, and whatever it gives then is no answer."""
        timer = threading.Timer(seconds or 0, self._time_out)
        timer.daemon = True
        if seconds is not None:
            timer.start()
        try:
            self.check(seconds)
            yield self
        except Exception as error:
            try:
                self.check(seconds)
            except (Cancelled, TimedOut) as reason:
                raise reason from error
            raise
        finally:
            timer.cancel()
        self.check(seconds)

    def check(self, seconds: Optional[float] = None) -> None:
        if self._late:
            raise TimedOut(f"there was no answer within {seconds} s; what ran was ended", code="timed_out")
        if self.cancelled:
            raise Cancelled("the call was cancelled; what ran was ended", code="cancelled")
