"""A container engine's socket in the hands of a test: each request is seen, held, and answered or passed on."""
import contextlib
import re
import socket
import threading

from waiting import SOON

REQUEST = re.compile(rb"(\w+) (\S+) HTTP/1\.[01]\r\n(.*?)\r\n\r\n", re.DOTALL)


def read_request(peer):
    """Method, path and all bytes of one request."""
    data = b""
    while not (head := REQUEST.match(data)):
        piece = peer.recv(65536)
        if not piece:
            raise OSError("closed before the request was whole")
        data += piece
    length = int(re.search(rb"(?i)content-length: *(\d+)", head[3])[1])
    while len(data) < head.end() + length:
        data += peer.recv(65536)
    return head[1].decode(), head[2].decode(), data


class FakeEngine:
    """Answers by `answer(method, path, bytes)`, each request in a thread of its own."""

    def __init__(self, path, answer):
        self.path, self.answer, self.seen = path, answer, []
        self.listener = socket.socket(socket.AF_UNIX)
        self.threads = []

    def __enter__(self):
        self.listener.bind(str(self.path))
        self.listener.listen(16)
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for thread in self.threads:
            thread.join(SOON)

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                peer, _ = self.listener.accept()
                thread = threading.Thread(target=self._serve, args=(peer,), daemon=True)
                self.threads.append(thread)
                thread.start()

    def _serve(self, peer):
        with peer, contextlib.suppress(OSError):
            method, path, data = read_request(peer)
            self.seen.append((method, path))
            reply = self.answer(method, path, data)
            if reply:
                peer.sendall(reply)

    def asked(self, method, part):
        """The paths of the requests of this method that hold `part`."""
        return [path for one, path in self.seen if one == method and part in path]


def pass_on(path, data):
    """All that the real engine says to one request."""
    with socket.socket(socket.AF_UNIX) as real:
        real.connect(str(path))
        real.sendall(data)
        return b"".join(iter(lambda: real.recv(65536), b""))
