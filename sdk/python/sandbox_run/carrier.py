"""Connections to the service, by the standard library alone: the same whatever else is installed."""
from __future__ import annotations

import select
import socket
import threading
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException, HTTPMessage, HTTPResponse, HTTPSConnection
from typing import Dict, Iterator, List, NamedTuple, Optional
from urllib.parse import urlsplit

from . import errors
from .calls import Call

# A service that has vanished is noticed while a run is waited for: after 15 s, then each 5 s, four times.
KEEPALIVE = {"TCP_KEEPIDLE": 15, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 4}


class Answer(NamedTuple):
    status: int
    headers: HTTPMessage
    lines: HTTPResponse

    def body(self) -> bytes:
        return self.lines.read()


class Carrier:
    """Each connection is kept for the next call."""

    def __init__(self, base_url: str, connect_timeout: float) -> None:
        self.url = urlsplit(base_url)
        if self.url.scheme not in ("http", "https") or not self.url.hostname:
            raise errors.InvalidRequest(f"'{base_url}' is no address of a service; write it as http://127.0.0.1:8710",
                                        code="invalid")
        self.path = self.url.path.rstrip("/")
        self.connect_timeout = connect_timeout
        self.idle: List[HTTPConnection] = []
        self.lock = threading.Lock()

    def _connect(self) -> HTTPConnection:
        kind = HTTPSConnection if self.url.scheme == "https" else HTTPConnection
        connection: HTTPConnection = kind(self.url.hostname or "", self.url.port, timeout=self.connect_timeout)
        connection.connect()
        connection.sock.settimeout(None)  # an answer comes when the program has ended
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in KEEPALIVE.items():
            if hasattr(socket, name):
                connection.sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
        return connection

    def _take(self) -> HTTPConnection:
        """One that the service has closed meanwhile is readable, and is not used again."""
        with self.lock:
            while self.idle:
                connection = self.idle.pop()
                if not is_readable(connection.sock):
                    return connection
                connection.close()
        return self._connect()

    def _failed(self, error: Exception) -> errors.ConnectionFailed:
        return errors.ConnectionFailed(f"the service at {self.url.geturl()} did not answer: {error}", code="system")

    @contextmanager
    def call(self, method: str, path: str, body: Optional[bytes], headers: Dict[str, str],
             call: Call) -> Iterator[Answer]:
        call.check()
        try:
            connection = self._take()
        except (OSError, HTTPException) as error:
            failed = self._failed(error)
            failed.sent = False
            raise failed from error
        answered = False
        try:
            line = connection.sock  # it stays open for the answer when the connection is closed
            call.on_cancel(lambda: shut(line))
            connection.request(method, self.path + path, body, headers)
            response = connection.getresponse()
            yield Answer(response.status, response.headers, response)
            answered = response.isclosed() and connection.sock is not None and not call.cancelled
        except (OSError, HTTPException) as error:
            raise self._failed(error) from error
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


def is_readable(line: socket.socket) -> bool:
    poll = select.poll()
    poll.register(line, select.POLLIN)
    return bool(poll.poll(0))


def shut(line: socket.socket) -> None:
    """Ends a call that another thread waits for; the service sees that its client has left."""
    try:
        line.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # it has ended already
