"""One call that another thread may cancel."""
from __future__ import annotations

import threading
from typing import Callable, Optional


class Call:
    """What runs registers how it is ended; `cancel` may come before, during or after that."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._end: Optional[Callable[[], None]] = None
        self.cancelled = False

    def __enter__(self) -> "Call":
        return self

    def __exit__(self, *_: object) -> None:
        self.on_cancel(None)

    def on_cancel(self, end: Optional[Callable[[], None]]) -> None:
        with self._lock:
            self._end = end
            late = self.cancelled and end
        if late:
            late()

    def cancel(self) -> None:
        with self._lock:
            self.cancelled = True
            end = self._end
        if end:
            end()
