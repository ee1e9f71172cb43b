"""The inside of a sandbox of the E2B dialect: its processes, its files and its contexts of code.

Lines of JSON on stdin are calls of the gateway, lines of JSON on stdout are its answers:

  in   {"id", "method", "path", "query", "headers", "body"}   body in base64; {"id", "gone": true}: the client left
  out  {"ready": true}
       {"id", "status", "kind", "stream"}                     the head of an answer, once
       {"id", "data"}                                         in base64, as often as wanted
       {"id", "end": true}

A context is a kernel of sandbox-run's sessions (docs/internals/session.md) as a process of its own.
"""
import asyncio
import base64
import collections
import fcntl
import grp
import json
import os
import pty
import pwd
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import termios
import time

HERE = os.path.dirname(os.path.abspath(__file__))
HOME, E2B_HOME = "/work", "/home/user"
PIECE = 65536
LARGEST = 64 << 20
KEEPALIVE_S = 30
KERNELS = {
    "python": [sys.executable, "-B", "-s", f"{HERE}/session-python.py"],
    "javascript": ["node", "--require", f"{HERE}/node-start.cjs", f"{HERE}/session-node.cjs"],
    "bash": ["/bin/bash", f"{HERE}/session-bash.sh"],
}
ALIASES = {"js": "javascript", "py": "python", "sh": "bash", "python3": "python", "node": "javascript"}
MIME = {"text/plain": "text", "text/html": "html", "text/markdown": "markdown", "image/svg+xml": "svg", "image/png": "png",
        "image/jpeg": "jpeg", "application/pdf": "pdf", "text/latex": "latex", "application/json": "json",
        "application/javascript": "javascript"}
STATUS = {"invalid_argument": 400, "unauthenticated": 401, "permission_denied": 403, "not_found": 404, "already_exists": 409,
          "failed_precondition": 400, "unimplemented": 501, "internal": 500}


class Refused(Exception):
    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def errors(error):
    """An error of the system in the words of Connect."""
    if isinstance(error, Refused):
        return error.code, str(error)
    code = {FileNotFoundError: "not_found", FileExistsError: "already_exists", PermissionError: "permission_denied",
            NotADirectoryError: "invalid_argument", IsADirectoryError: "invalid_argument"}.get(type(error), "internal")
    return code, f"{type(error).__name__}: {error}"


def real(path):
    """Where a path of a call is inside: relative ones and /home/user are /work."""
    path = os.path.expanduser(path) if path.startswith("~") else path
    if path == E2B_HOME or path.startswith(E2B_HOME + "/"):
        path = HOME + path[len(E2B_HOME):]
    return os.path.normpath(os.path.join(HOME, path))


class Call:
    """One request of a client, and its answer."""
    def __init__(self, message):
        self.id = message["id"]
        self.method, self.path = message.get("method"), message.get("path", "")
        self.query, self.headers = message.get("query") or {}, message.get("headers") or {}
        self.body = base64.b64decode(message.get("body") or "")
        self.gone = asyncio.Event()

    def head(self, status, kind, stream=False):
        emit({"id": self.id, "status": status, "kind": kind, "stream": stream})

    def data(self, data):
        for at in range(0, len(data), PIECE):
            emit({"id": self.id, "data": base64.b64encode(data[at:at + PIECE]).decode()})

    def end(self):
        emit({"id": self.id, "end": True})

    def reply(self, status, value):
        self.head(status, "json")
        self.data(json.dumps(value).encode())
        self.end()

    def frame(self, value, flags=0):
        text = json.dumps(value).encode()
        self.data(struct.pack(">BI", flags, len(text)) + text)

    def message(self):
        """The JSON of a body, also of a Connect stream with one message."""
        body = self.body
        if self.headers.get("content-type", "").startswith("application/connect+"):
            if len(body) < 5 or body[0] & 1:
                raise Refused("invalid_argument", "the message is not whole, or is compressed")
            body = body[5:5 + struct.unpack(">I", body[1:5])[0]]
        try:
            value = json.loads(body or b"{}")
        except ValueError as error:
            raise Refused("invalid_argument", "the body is no JSON") from error
        if not isinstance(value, dict):
            raise Refused("invalid_argument", "the body is no JSON object")
        return value


def emit(value):
    data = json.dumps(value).encode() + b"\n"
    while data:
        data = data[os.write(OUT, data):]


def drain(fd, take):
    """All that is in a pipe now; False: it has ended."""
    while True:
        try:
            piece = os.read(fd, PIECE)
        except BlockingIOError:
            return True
        except OSError: # a terminal whose last process is gone
            return False
        if not piece:
            return False
        take(piece)


# ---- Contexts ------------------------------------------------------------------------------------


class Kernel:
    def __init__(self, language, cwd):
        self.id = os.urandom(16).hex()
        self.language, self.cwd = language, cwd
        self.lock = asyncio.Lock()
        self.process, self.number, self.count, self.call = None, 0, 0, None
        self.frames, self.held, self.result, self.done = b"", "", None, None

    def describe(self):
        return {"id": self.id, "language": self.language, "cwd": self.cwd}

    def start(self):
        ours, theirs = socket.socketpair()
        self.process = subprocess.Popen(  # pylint: disable=consider-using-with,subprocess-popen-preexec-fn
            KERNELS[self.language], cwd=real(self.cwd), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env={**os.environ, "SANDBOX_RUN_KERNEL_FD": "3"}, start_new_session=True,
            pass_fds=(3,), preexec_fn=lambda: os.dup2(theirs.fileno(), 3))
        theirs.close()
        ours.setblocking(False)
        self.socket, self.frames = ours, b""
        loop = asyncio.get_running_loop()
        loop.add_reader(ours, self.read_frames)
        for stream, name in ((self.process.stdout, "stdout"), (self.process.stderr, "stderr")):
            os.set_blocking(stream.fileno(), False)
            loop.add_reader(stream.fileno(), self.read_output, stream.fileno(), name)

    def stop(self):
        if not self.process:
            return
        loop = asyncio.get_running_loop()
        for fd in (self.socket.fileno(), self.process.stdout.fileno(), self.process.stderr.fileno()):
            loop.remove_reader(fd)
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.socket.close()
        self.process.stdout.close()
        self.process.stderr.close()
        self.process = None

    def interrupt(self):
        if self.process and self.call:
            os.killpg(self.process.pid, signal.SIGINT)

    def say(self, **event):
        if self.call:
            self.call.data(json.dumps(event).encode() + b"\n")

    def print_(self, name, text):
        if text:
            self.say(type=name, text=text, timestamp=time.time_ns())

    def read_output(self, fd, name):
        def take(piece):
            self.print_("stderr", self.held)
            self.held = ""
            if name == "stderr": # a traceback is told apart at the end
                self.held = piece.decode("utf-8", "replace")
            else:
                self.print_(name, piece.decode("utf-8", "replace"))
        if not drain(fd, take):
            asyncio.get_running_loop().remove_reader(fd)

    def read_frames(self):
        def take(piece):
            self.frames += piece
        alive = drain(self.socket.fileno(), take)
        while b"\n" in self.frames:
            head, rest = self.frames.split(b"\n", 1)
            word, number, argument, length = head.decode().split(" ")
            if len(rest) < int(length):
                break
            payload, self.frames = json.loads(rest[:int(length)] or b"{}"), rest[int(length):]
            self.take_frame(word, int(number), argument, payload)
        if not alive:
            self.end("exit", {})

    def take_frame(self, word, number, argument, payload):
        if number != self.number:
            return
        if word == "display":
            self.put_result(False)
            self.result = payload
        elif word == "done":
            self.end(argument, payload)

    def put_result(self, main):
        if self.result is not None:
            self.say(type="result", is_main_result=main, **{MIME[kind]: value for kind, value in self.result.items() if kind in MIME})
        self.result = None

    def end(self, status, details):
        if self.done and not self.done.done():
            self.done.set_result((status, details))

    async def cell(self, code):
        """(status, details) of one cell."""
        if not self.process:
            self.start()
        self.number += 1
        self.done = asyncio.get_running_loop().create_future()
        data = code.encode("utf-8", "replace")
        await asyncio.get_running_loop().sock_sendall(self.socket, b"execute %d - %d\n" % (self.number, len(data)) + data)
        status, details = await self.done
        for stream, name in ((self.process.stdout, "stdout"), (self.process.stderr, "stderr")):
            self.read_output(stream.fileno(), name)
        return status, details

    async def execute(self, call, code, variables):
        async with self.lock:
            if variables and self.language == "python":
                await self.cell(f"import os as _os; _os.environ.update({variables!r})")
            self.call = call
            leaving = asyncio.get_running_loop().create_task(self.leave(call))
            try:
                self.count += 1
                self.say(type="number_of_executions", execution_count=self.count)
                status, details = await self.cell(code)
                self.finish(status, details)
            finally:
                leaving.cancel()
                self.call, self.held, self.result = None, "", None
            if status == "exit":
                self.stop()
            elif variables and self.language == "python":
                await self.cell(f"for _os_name in {list(variables)!r}: _os.environ.pop(_os_name, None)")

    async def leave(self, call):
        await call.gone.wait()
        self.interrupt()

    def finish(self, status, details):
        if status == "ok":
            self.print_("stderr", self.held)
            self.put_result(True)
        else:
            at = self.held.rfind("Traceback (most recent call last):")
            self.print_("stderr", self.held[:max(at, 0)])
            self.put_result(False)
            name = {"interrupted": "KeyboardInterrupt", "exit": "SystemExit"}.get(status, details.get("type") or "Error")
            self.say(type="error", name=name, value=str(details.get("message", details.get("code", ""))),
                     traceback=self.held[max(at, 0):])
        self.say(type="end_of_execution")


CONTEXTS = {}


def language_of(name):
    language = (name or "python").lower()
    language = ALIASES.get(language, language)
    if language not in KERNELS:
        raise Refused("invalid_argument", f"there is no context of the language {name!r}; take python, javascript or bash")
    return language


def context_of(body):
    if body.get("context_id"):
        if body.get("language"):
            raise Refused("invalid_argument", "Only one of context_id or language can be provided")
        if body["context_id"] not in CONTEXTS:
            raise Refused("not_found", f"Context {body['context_id']} not found")
        return CONTEXTS[body["context_id"]]
    language = language_of(body.get("language"))
    if language not in CONTEXTS: # the default one of each language
        CONTEXTS[language] = Kernel(language, E2B_HOME)
        CONTEXTS[language].id = language
    return CONTEXTS[language]


async def execute(call):
    body = call.message()
    kernel = context_of(body)
    call.head(200, "lines", True)
    await kernel.execute(call, str(body.get("code", "")), body.get("env_vars") or {})
    call.end()


async def contexts(call):
    parts = call.path.strip("/").split("/")
    if call.method == "GET":
        return call.reply(200, [kernel.describe() for kernel in CONTEXTS.values()])
    if len(parts) == 1:
        body = call.message()
        cwd = body.get("cwd") or E2B_HOME
        if not os.path.isdir(real(cwd)):
            raise Refused("invalid_argument", f"there is no directory {cwd}")
        kernel = Kernel(language_of(body.get("language")), cwd)
        CONTEXTS[kernel.id] = kernel
        return call.reply(200, kernel.describe())
    if parts[1] not in CONTEXTS:
        raise Refused("not_found", f"Context {parts[1]} not found")
    CONTEXTS[parts[1]].end("exit", {})
    CONTEXTS[parts[1]].stop()
    if call.method == "DELETE":
        CONTEXTS.pop(parts[1])
    return call.reply(200, {})


# ---- Files ---------------------------------------------------------------------------------------


def parts_of_form(call):
    """(file name, bytes) of each part of a form."""
    marker = call.headers.get("content-type", "").partition("boundary=")[2].split(";")[0].strip('" ')
    for part in call.body.split(b"--" + marker.encode())[1:-1] if marker else []:
        head, _, data = part.partition(b"\r\n\r\n")
        name = head.partition(b'filename="')[2].partition(b'"')[0]
        yield name.decode("utf-8", "replace"), data[:-2]


async def files(call):
    path = call.query.get("path") or ""
    if call.method == "GET":
        if os.path.isdir(real(path)):
            raise Refused("invalid_argument", f"path '{path}' is a directory")
        with open(real(path), "rb") as file:
            data = file.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise Refused("invalid_argument", "the file is larger than 64 MiB")
        call.head(200, "bytes")
        call.data(data)
        return call.end()
    if call.headers.get("content-type", "").startswith("multipart/"):
        given = list(parts_of_form(call))
    else:
        given = [("", call.body)]
    written = []
    for name, data in given:
        target = path or name
        os.makedirs(os.path.dirname(real(target)), exist_ok=True)
        with open(real(target), "wb") as file:
            file.write(data)
        shown = target if target.startswith("/") else f"{E2B_HOME}/{target}"
        written.append({"name": os.path.basename(target), "path": shown, "type": "file"})
    return call.reply(200, written)


def name_of(find, number):
    try:
        return find(number)[0]
    except KeyError:
        return str(number)


def entry(path):
    """A file as envd describes it, by the path that the client used."""
    shown = path if path.startswith("/") else os.path.join(E2B_HOME, path)
    about = os.lstat(real(path))
    kinds = {stat.S_IFDIR: "DIRECTORY", stat.S_IFREG: "FILE", stat.S_IFLNK: "SYMLINK"}
    kind = kinds.get(stat.S_IFMT(about.st_mode), "UNSPECIFIED")
    value = {"name": os.path.basename(shown.rstrip("/")), "type": f"FILE_TYPE_{kind}", "path": os.path.normpath(shown),
             "size": str(about.st_size), "mode": stat.S_IMODE(about.st_mode), "permissions": stat.filemode(about.st_mode),
             "owner": name_of(pwd.getpwuid, about.st_uid), "group": name_of(grp.getgrgid, about.st_gid),
             "modifiedTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(about.st_mtime))}
    if kind == "SYMLINK":
        value["symlinkTarget"] = os.readlink(real(path))
    return value


def list_dir(path, depth):
    if not os.path.isdir(real(path)):
        raise Refused("not_found" if not os.path.lexists(real(path)) else "invalid_argument", f"{path} is no directory")
    for name in sorted(os.listdir(real(path))):
        if real(path) == HOME and name == os.path.basename(HERE):
            continue
        below = os.path.join(path, name)
        yield entry(below)
        if depth > 1 and os.path.isdir(real(below)) and not os.path.islink(real(below)):
            yield from list_dir(below, depth - 1)


# Events of inotify, in the words of envd.
CHANGES = ((0x180, "CREATE"), (0x2, "WRITE"), (0x200, "REMOVE"), (0x40, "RENAME"), (0x4, "CHMOD"))
IS_DIR, IGNORED, ONLY_DIR, NO_FOLLOW = 0x40000000, 0x8000, 0x1000000, 0x2000000
EVENTS_MOST = 10000  # of a watcher that its client does not ask
WATCHERS_MOST = 256


class Inotify:
    """One queue of the kernel for all watchers."""

    def __init__(self):
        import ctypes  # pylint: disable=import-outside-toplevel
        self.ctypes = ctypes
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.fd = self.check(self.libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC), "inotify")
        self.places = {}  # by the kernel's number: {(watcher, path below its directory)}
        asyncio.get_running_loop().add_reader(self.fd, self.read)

    def check(self, number, what):
        if number < 0:
            error = self.ctypes.get_errno()
            raise OSError(error, os.strerror(error), what)
        return number

    def add(self, watcher, below):
        path = os.path.join(watcher.top, below)
        mask = sum(bits for bits, _ in CHANGES) | ONLY_DIR | (NO_FOLLOW if below else 0)
        number = self.check(self.libc.inotify_add_watch(self.fd, os.fsencode(path), mask), path)
        self.places.setdefault(number, set()).add((watcher, below))

    def remove(self, watcher):
        for number, places in list(self.places.items()):
            places -= {place for place in places if place[0] is watcher}
            if not places:
                del self.places[number]
                self.libc.inotify_rm_watch(self.fd, number)

    def read(self):
        def take(piece):
            while piece:
                number, mask, _, length = struct.unpack("iIII", piece[:16])
                name, piece = os.fsdecode(piece[16:16 + length].rstrip(b"\0")), piece[16 + length:]
                for watcher, below in list(self.places.get(number, ())):
                    watcher.change(mask, os.path.join(below, name) if name else "")
                if mask & IGNORED:  # the directory is gone
                    self.places.pop(number, None)
        drain(self.fd, take)


class Watcher:
    """A directory whose changes a client wants to know."""
    inotify = None
    all = {}

    def __init__(self, body, tell):
        self.path, self.tell = str(body.get("path", "")), tell
        self.top, self.id = real(self.path), os.urandom(16).hex()
        self.recursive, self.with_entry = bool(body.get("recursive")), bool(body.get("includeEntry"))
        self.found = set()  # told already, since they were there before the kernel watched
        if not os.path.isdir(self.top):
            raise Refused("not_found" if not os.path.lexists(self.top) else "invalid_argument", f"{self.path} is no directory")
        if len(Watcher.all) >= WATCHERS_MOST:
            raise Refused("failed_precondition", f"{WATCHERS_MOST} directories are watched already")
        Watcher.inotify = Watcher.inotify or Inotify()
        Watcher.all[self.id] = self
        try:
            self.watch("", False)
        except OSError:
            self.close()
            raise

    def close(self):
        Watcher.all.pop(self.id, None)
        Watcher.inotify.remove(self)

    def watch(self, below, is_new):
        """With all directories in it; what a new one has already is news."""
        Watcher.inotify.add(self, below)
        for row in os.scandir(os.path.join(self.top, below)) if self.recursive else ():
            name = os.path.join(below, row.name)
            if is_new:
                self.found.add(name)
                self.say("CREATE", name)
            if row.is_dir(follow_symlinks=False) and row.path != HERE:
                self.watch(name, is_new)

    def change(self, mask, name):
        for bits, word in CHANGES:
            if not mask & bits or not name or os.path.join(self.top, name) == HERE:
                continue
            if word == "CREATE" and name in self.found:
                self.found.discard(name)
                continue
            if word in ("REMOVE", "RENAME"):
                self.found.discard(name)
            self.say(word, name)
            if word == "CREATE" and mask & IS_DIR and self.recursive:
                try:
                    self.watch(name, True)
                except OSError:  # it is gone again, or there is no room for more
                    pass

    def say(self, word, name):
        event = {"name": name, "type": f"EVENT_TYPE_{word}"}
        if self.with_entry and word not in ("REMOVE", "RENAME"):
            try:
                event["entry"] = entry(os.path.join(self.path, name))
            except OSError:
                pass
        self.tell(event)


async def watch_dir(call, body):
    """Changes as they come, until the client leaves."""
    watcher = Watcher(body, lambda event: call.frame({"filesystem": event}))
    try:
        call.head(200, "connect", True)
        call.frame({"start": {}})
        in_time = await patience(call, call.gone, lambda: call.frame({"keepalive": {}}))
    finally:
        watcher.close()
    call.frame({} if in_time else {"error": {"code": "deadline_exceeded", "message": "the time of the watch is over"}}, 2)
    call.end()


def watchers(call, body, method):
    """For clients that ask for changes."""
    if method == "CreateWatcher":
        events = collections.deque(maxlen=EVENTS_MOST)
        watcher = Watcher(body, events.append)
        watcher.events = events
        return call.reply(200, {"watcherId": watcher.id})
    watcher = Watcher.all.get(body.get("watcherId"))
    if not hasattr(watcher, "events"):
        raise Refused("not_found", f"watcher {body.get('watcherId')} not found")
    if method == "RemoveWatcher":
        watcher.close()
        return call.reply(200, {})
    events = list(watcher.events)
    watcher.events.clear()
    return call.reply(200, {"events": events})


async def filesystem(call):
    body, method = call.message(), call.path.rpartition("/")[2]
    path = str(body.get("path", ""))
    if method == "WatchDir":
        return await watch_dir(call, body)
    if method in ("CreateWatcher", "GetWatcherEvents", "RemoveWatcher"):
        return watchers(call, body, method)
    if method == "Stat":
        return call.reply(200, {"entry": entry(path)})
    if method == "ListDir":
        return call.reply(200, {"entries": list(list_dir(path, int(body.get("depth") or 1)))})
    if method == "MakeDir":
        if os.path.isdir(real(path)):
            raise Refused("already_exists", f"directory already exists: {path}")
        os.makedirs(real(path))
        return call.reply(200, {"entry": entry(path)})
    if method == "Move":
        target = str(body.get("destination", ""))
        os.makedirs(os.path.dirname(real(target)), exist_ok=True)
        os.rename(real(str(body.get("source", ""))), real(target))
        return call.reply(200, {"entry": entry(target)})
    if method == "Remove":
        if os.path.isdir(real(path)) and not os.path.islink(real(path)):
            shutil.rmtree(real(path))
        elif os.path.lexists(real(path)):
            os.unlink(real(path))
        return call.reply(200, {})
    raise Refused("unimplemented", f"{method} is not available here")


# ---- Processes -----------------------------------------------------------------------------------


class Process:
    def __init__(self, config, size, tag, stdin):
        self.config, self.tag, self.calls, self.ended = config, tag, [], asyncio.Event()
        self.terminal, command = None, [config.get("cmd") or "/bin/bash", *config.get("args", [])]
        options = {"cwd": real(config.get("cwd") or E2B_HOME), "env": {**os.environ, **config.get("envs", {})},
                   "start_new_session": True}
        if not os.path.isdir(options["cwd"]):
            raise Refused("invalid_argument", f"cwd '{config.get('cwd')}' does not exist")
        try:
            if size:
                self.start_on_terminal(command, size, options)
            else:
                self.process = subprocess.Popen(  # pylint: disable=consider-using-with
                    command, stdin=subprocess.PIPE if stdin else subprocess.DEVNULL, stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE, **options)
        except FileNotFoundError as error:
            raise Refused("not_found", str(error)) from error
        streams = [(self.terminal, "pty")] if size else [(self.process.stdout.fileno(), "stdout"),
                                                          (self.process.stderr.fileno(), "stderr")]
        self.open = {fd: name for fd, name in streams}
        for fd, name in streams:
            os.set_blocking(fd, False)
            asyncio.get_running_loop().add_reader(fd, self.read, fd, name)
        asyncio.get_running_loop().create_task(self.reap())

    def start_on_terminal(self, command, size, options):
        self.terminal, slave = pty.openpty()
        self.resize(size)
        options["env"].setdefault("TERM", "xterm-256color")
        self.process = subprocess.Popen(  # pylint: disable=consider-using-with,subprocess-popen-preexec-fn
            command, stdin=slave, stdout=slave, stderr=slave,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0), **options)
        os.close(slave)

    def resize(self, size):
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ,
                    struct.pack("HHHH", int(size.get("rows", 24)), int(size.get("cols", 80)), 0, 0))

    def event(self, **event):
        for call in self.calls:
            call.frame({"event": event})

    def read(self, fd, name):
        def take(piece):
            self.event(data={name: base64.b64encode(piece).decode()})
        if not drain(fd, take):
            asyncio.get_running_loop().remove_reader(fd)
            self.open.pop(fd, None)

    async def reap(self):
        while self.process.poll() is None:
            await CHILD.wait()
        for fd, name in list(self.open.items()):
            self.read(fd, name)
            asyncio.get_running_loop().remove_reader(fd)
        code = self.process.returncode
        if code >= 0:
            end = {"exitCode": code, "exited": True, "status": f"exit status {code}"}
        else:
            word = f"signal: {signal.strsignal(-code).lower()}"
            end = {"exitCode": -1, "exited": False, "status": word, "error": word}
        self.event(end=end)
        PROCESSES.pop(self.process.pid, None)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream:
                stream.close()
        if self.terminal is not None:
            os.close(self.terminal)
        self.ended.set()

    async def write(self, given):
        data = base64.b64decode(given.get("pty") or given.get("stdin") or "")
        fd = self.terminal if self.terminal is not None else self.process.stdin and self.process.stdin.fileno()
        if fd is None:
            raise Refused("failed_precondition", "stdin of the process is not open")
        os.set_blocking(fd, False)
        while data and not self.ended.is_set():
            try:
                data = data[os.write(fd, data):]
            except BlockingIOError:
                await asyncio.sleep(0.01)


PROCESSES = {}


def select(body):
    wanted = body.get("process") or {}
    for pid, process in PROCESSES.items():
        if wanted.get("pid") == pid or (wanted.get("tag") and wanted["tag"] == process.tag):
            return process
    raise Refused("not_found", f"process with pid {wanted.get('pid')} not found")


async def patience(call, event, keep_alive):
    """Waits for the event while the client is there; False: the time that the client gave is over."""
    seconds = int(call.headers.get("connect-timeout-ms") or 0) / 1000
    deadline = time.monotonic() + seconds if seconds else None
    while not event.is_set():
        left = min(KEEPALIVE_S, max(deadline - time.monotonic(), 0)) if deadline else KEEPALIVE_S
        try:
            await asyncio.wait_for(event.wait(), left)
        except asyncio.TimeoutError:
            if call.gone.is_set():
                break
            if deadline and time.monotonic() >= deadline:
                return False
            keep_alive()
    return True


async def follow(call, process):
    """Until the process or its client's patience ends."""
    in_time = await patience(call, process.ended, lambda: call.frame({"event": {"keepalive": {}}}))
    if call in process.calls:
        process.calls.remove(call)
    if not in_time:
        os.killpg(process.process.pid, signal.SIGKILL)
        call.frame({"error": {"code": "deadline_exceeded", "message": "the time of the command is over"}}, 2)
    else:
        call.frame({}, 2)
    return call.end()


async def processes(call):
    body, method = call.message(), call.path.rpartition("/")[2]
    if method in ("Start", "Connect"):
        if method == "Start":
            process = Process(body.get("process") or {}, (body.get("pty") or {}).get("size"), body.get("tag"),
                              body.get("stdin", True))
            PROCESSES[process.process.pid] = process
        else:
            process = select(body)
        call.head(200, "connect", True)
        call.frame({"event": {"start": {"pid": process.process.pid}}})
        process.calls.append(call)
        return await follow(call, process)
    if method == "List":
        rows = [{"config": process.config, "pid": pid, **({"tag": process.tag} if process.tag else {})}
                for pid, process in PROCESSES.items()]
        return call.reply(200, {"processes": rows})
    if method == "SendInput":
        await select(body).write(body.get("input") or {})
    elif method == "CloseStdin":
        select(body).process.stdin.close()
        select(body).process.stdin = None
    elif method == "Update":
        select(body).resize((body.get("pty") or {}).get("size") or {})
    elif method == "SendSignal":
        number = {"SIGNAL_SIGKILL": signal.SIGKILL, "SIGNAL_SIGTERM": signal.SIGTERM}.get(body.get("signal"))
        if not number:
            raise Refused("invalid_argument", "the signal is SIGNAL_SIGKILL or SIGNAL_SIGTERM")
        os.killpg(select(body).process.pid, number)
    else:
        raise Refused("unimplemented", f"{method} is not available here")
    return call.reply(200, {})


# ---- Calls ---------------------------------------------------------------------------------------

ROUTES = (("/execute", execute), ("/contexts", contexts), ("/files", files), ("/process.Process/", processes),
          ("/filesystem.Filesystem/", filesystem))
CALLS = {}


async def serve(call):
    try:
        for start, handle in ROUTES:
            if call.path.startswith(start) if start.endswith("/") else call.path.split("/")[1] == start[1:]:
                await handle(call)
                return
        raise Refused("unimplemented", "this is not available here")
    except Exception as error: # pylint: disable=broad-exception-caught
        code, message = errors(error)
        rpc = "/" in call.path[1:] and "." in call.path
        if call.headers.get("content-type", "").startswith("application/connect+"):
            call.head(200, "connect", True)
            call.frame({"error": {"code": code, "message": message}}, 2)
            call.end()
        else:
            status = STATUS.get(code, 500)
            call.reply(status, {"code": code if rpc else status, "message": message})
    finally:
        CALLS.pop(call.id, None)


class Input:
    """Lines of stdin."""
    def __init__(self):
        self.data = b""

    def come(self):
        pieces = []
        alive = drain(0, pieces.append)
        lines = (self.data + b"".join(pieces)).split(b"\n")
        self.data = lines.pop()
        for line in lines:
            message = json.loads(line)
            if message.get("gone"):
                if message["id"] in CALLS:
                    CALLS[message["id"]].gone.set()
                continue
            call = CALLS[message["id"]] = Call(message)
            asyncio.get_running_loop().create_task(serve(call))
        if not alive:
            os._exit(0)


class Child:
    """Wakes those that wait for the end of a child."""
    def __init__(self):
        self.event = asyncio.Event()

    def came(self):
        self.event.set()
        self.event = asyncio.Event()

    async def wait(self):
        await self.event.wait()


async def main():
    global CHILD  # pylint: disable=global-statement
    CHILD = Child()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGCHLD, CHILD.came)
    os.set_blocking(0, False)
    loop.add_reader(0, Input().come)
    emit({"ready": True})
    await asyncio.Event().wait()


# Descriptor 3 is a kernel's channel, so nothing else may have it; what is printed here is no answer.
os.dup2(os.open("/dev/null", os.O_RDWR), 3)
OUT = os.dup(1)
os.dup2(3, 1)
CHILD = None
os.environ["HOME"] = HOME
asyncio.run(main())
