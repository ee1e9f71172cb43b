# session-python.py: the Python kernel of a session.  It speaks the frames of docs/internals/session.md
# on the descriptor that SANDBOX_RUN_KERNEL_FD names.
#
# The code of a cell runs in this process, in a module __main__ of its own.  It can spoil the driver if
# it wants to, and then its own session ends; it shall not do so by accident.  Hence the channel lies on
# a high number, what the driver calls is bound before the first cell runs, and a forked child loses the
# channel at once.
import ast
import _socket
import builtins
import codeop
import io
import json
import linecache
import os
import re
import select
import signal
import stat
import sys
import traceback
import types
import warnings
from _thread import RLock, get_ident

AWAIT = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
COROUTINE = 0x80 # inspect.CO_COROUTINE
LARGEST = 16 << 20
LARGEST_TEXT = 1 << 20
HIGH = 200
SHORT = 80 # characters of a value in `vars`
METHODS = {
    "text/html": "_repr_html_",
    "text/markdown": "_repr_markdown_",
    "text/latex": "_repr_latex_",
    "image/svg+xml": "_repr_svg_",
    "image/png": "_repr_png_",
    "image/jpeg": "_repr_jpeg_",
    "application/json": "_repr_json_",
}
MAGIC = re.compile(r"^\s*(\w+\s*=\s*)?[!%?]|.*\?\s*$")
MAGICS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "session-magics.py")
CAN = ["check", "complete", "vars", "reload", "checkpoint", "path"]


class Channel:
    """Frames in and out.  An interrupt waits until a frame is whole."""

    def __init__(self, number):
        self.fd = move_high(number)
        self.owner = os.getpid()
        self.lock = RLock()
        self.waiting = b""
        self.sending = False
        self.pending = False
        self.given = [] # descriptors that came with a frame
        self.socket = _socket.socket(fileno=self.fd)
        self._space, self._flags = _socket.CMSG_SPACE(8), _socket.MSG_CMSG_CLOEXEC
        self._receive, self._write, self._poll, self._getpid = self.socket.recvmsg, os.write, select.poll, os.getpid
        self._encode = json.JSONEncoder(allow_nan=False).encode
        self._close = os.close

    def _wait(self, event):
        poll = self._poll()
        poll.register(self.fd, event)
        poll.poll()

    def _fill(self):
        while True:
            try:
                data, extra, _, _ = self._receive(65536, self._space, self._flags)
            except BlockingIOError: # a cell can make any descriptor non-blocking
                self._wait(select.POLLIN)
                continue
            if not data:
                raise EOFError
            for _, _, numbers in extra:
                self.given = list(memoryview(numbers).cast("i"))
            self.waiting += data
            return

    def drop_given(self):
        """What no answer has used: the other end waits until it is closed."""
        while self.given:
            self._close(self.given.pop())

    def receive(self):
        """(word, number, argument, payload) of the next frame."""
        while b"\n" not in self.waiting:
            self._fill()
        header, _, rest = self.waiting.partition(b"\n")
        word, number, argument, length = header.decode("ascii").split(" ")
        length = int(length)
        if not 0 <= length <= LARGEST:
            raise ValueError("a frame is too long")
        self.waiting = rest
        while len(self.waiting) < length:
            self._fill()
        payload, self.waiting = self.waiting[:length], self.waiting[length:]
        return word, int(number), argument, payload

    def send(self, word, number, argument, value):
        payload = self._encode(value).encode("utf-8", "backslashreplace")
        if len(payload) > LARGEST:
            payload = self._encode({"text/plain": "<%d bytes, too many to show>" % len(payload)}).encode()
        data = memoryview(b"%s %d %s %d\n" % (word.encode(), number, argument.encode(), len(payload)) + payload)
        if self._getpid() != self.owner:
            return
        with self.lock:
            self.sending = True
            try:
                while data:
                    try:
                        data = data[self._write(self.fd, data):]
                    except BlockingIOError:
                        self._wait(select.POLLOUT)
            finally:
                self.sending = False
        if self.pending:
            self.pending = False
            raise KeyboardInterrupt


def move_high(number):
    """The descriptor on a number that programs do not use, not given to children."""
    import fcntl
    import resource
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    high = HIGH if soft == resource.RLIM_INFINITY or soft > HIGH + 8 else max(3, soft - 8)
    moved = fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, high)
    if moved != number and number > 2:
        os.close(number)
    return moved


class Streams:
    """What a cell can break and the next one needs: descriptors 0, 1 and 2, and sys.stdout."""

    def __init__(self):
        self.saved = [None, move_high(os.dup(1)), move_high(os.dup(2))]
        self._write, self._fstat, self._dup2, self._open = os.write, os.fstat, os.dup2, open
        for stream in (sys.stdout, sys.stderr):
            stream.reconfigure(line_buffering=True, errors="backslashreplace")

    def repair(self):
        for number, name in ((0, "stdin"), (1, "stdout"), (2, "stderr")):
            try:
                self._fstat(number)
            except OSError:
                self._reopen(number)
            stream = getattr(sys, name, None)
            if stream is None or getattr(stream, "closed", False):
                new = self._open(number, "w" if number else "r", encoding="utf-8", buffering=1, closefd=False,
                                 errors="backslashreplace" if number else "strict")
                setattr(sys, name, new)

    def _reopen(self, number):
        if number:
            self._dup2(self.saved[number], number)
            return
        null = os.open("/dev/null", os.O_RDONLY)
        if null != 0:
            os.dup2(null, 0)
            os.close(null)

    def flush(self):
        for stream in {id(s): s for s in (sys.stdout, sys.__stdout__, sys.stderr, sys.__stderr__)}.values():
            try:
                stream.flush()
            except Exception: # a cell may have put anything there
                pass

    def complain(self, text):
        """Text on stderr, whatever sys.stderr is now."""
        data = memoryview(text.encode("utf-8", "backslashreplace"))
        try:
            while data:
                data = data[self._write(self.saved[2], data):]
        except OSError:
            pass


class Input(io.RawIOBase):
    """stdin of the cells: the session asks a person, when there is one; otherwise it has ended.

    Only the thread of the cells can ask, because it is the one that reads the channel between them."""

    def __init__(self, shell):
        super().__init__()
        self.shell, self.left, self.prompt, self.hidden = shell, b"", "", False
        self._thread, self._getpid, self.thread = get_ident, os.getpid, get_ident()

    def readable(self):
        return True

    def fileno(self):
        return 0

    def ask(self):
        channel = self.shell.channel
        if not self.shell.running or self._getpid() != channel.owner or self._thread() != self.thread:
            return b""
        channel.send("ask", self.shell.cell, "-", {"prompt": self.prompt, "hidden": self.hidden})
        while True:
            word, number, argument, payload = channel.receive()
            if word == "input" and number == self.shell.cell:
                return payload + b"\n" if argument == "ok" else b""

    def readinto(self, buffer):
        self.left = self.left or self.ask()
        part, self.left = self.left[:len(buffer)], self.left[len(buffer):]
        buffer[:len(part)] = part
        return len(part)

    def line(self, prompt):
        """A line that is not shown, for getpass."""
        self.prompt, self.hidden = prompt, True
        try:
            text = sys.stdin.readline()
        finally:
            self.prompt, self.hidden = "", False
        if not text:
            raise EOFError
        return text.rstrip("\n")


class Hidden:
    """Loads getpass: there is no terminal inside whose echo it could turn off."""

    def __init__(self, source):
        self.source = source

    def find_spec(self, name, path=None, target=None):
        if name != "getpass":
            return None
        from importlib.machinery import PathFinder
        spec = PathFinder.find_spec(name)
        if spec:
            self.loader, spec.loader = spec.loader, self
        return spec

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        module.__loader__ = module.__spec__.loader = self.loader
        self.loader.exec_module(module)
        module.getpass = module.unix_getpass = lambda prompt="Password: ", stream=None: self.source.line(prompt)


def give_input(shell):
    source = Input(shell)
    sys.stdin = sys.__stdin__ = io.TextIOWrapper(io.BufferedReader(source), encoding="utf-8", errors="replace")
    sys.meta_path.insert(0, Hidden(source))


class Width:
    """The columns that the client gives.  A setting that a cell has made stays as it is."""

    columns, given = SHORT, False
    # What libraries begin with, or what was set here.  pandas leaves columns out when their number is 0, and is then
    # a little too wide; otherwise it breaks lines.
    ours = {"COLUMNS": {None}, "pandas": {80}, "pandas columns": {0}, "numpy": {75}}

    def give(self, argument):
        if not argument.isdigit():
            return
        self.columns, self.given = int(argument), True
        self.set("COLUMNS", lambda: os.environ.get("COLUMNS"),
                 lambda: os.environ.update(COLUMNS=argument) or argument)
        self.fit()

    def fit(self):
        """Tells the libraries that the cells have imported until now."""
        if not self.given:
            return
        pandas, numpy = sys.modules.get("pandas"), sys.modules.get("numpy")
        try:
            if pandas:
                self.set("pandas", lambda: pandas.get_option("display.width"),
                         lambda: pandas.set_option("display.width", self.columns) or self.columns)
                self.set("pandas columns", lambda: pandas.get_option("display.max_columns"),
                         lambda: pandas.set_option("display.max_columns", 20) or 20)
            if numpy:
                self.set("numpy", lambda: numpy.get_printoptions()["linewidth"],
                         lambda: numpy.set_printoptions(linewidth=self.columns) or self.columns)
        except Exception: # a cell may have put anything there
            pass

    def set(self, what, get, change):
        if get() in self.ours[what]:
            self.ours[what] = {change()}


width = Width()


def pretty(value):
    """repr(), and containers of Python's own over several lines when one is not enough."""
    text = repr(value)
    columns = width.columns
    if len(text) > columns and type(value) in (dict, list, tuple, set, frozenset) and len(text) < LARGEST_TEXT:
        import pprint
        text = pprint.pformat(value, width=columns, sort_dicts=False)
    if len(text) > LARGEST_TEXT:
        text = "%s... (%d characters)" % (text[:LARGEST_TEXT], len(text))
    return text


def encode_part(kind, part):
    if isinstance(part, tuple) and len(part) == 2 and isinstance(part[1], dict):
        part = part[0] # data and metadata
    if isinstance(part, bytes):
        import base64
        return base64.b64encode(part).decode()
    if kind == "application/json" or isinstance(part, str):
        return part
    return str(part)


def figure_png(figure):
    import io
    file = io.BytesIO()
    figure.savefig(file, format="png", bbox_inches="tight")
    return file.getvalue()


def bundle(value):
    """The MIME bundle of a value.  A part that fails is left out; repr() may raise."""
    width.fit()
    parts = {}
    kind = type(value)
    if not isinstance(value, type):
        whole = getattr(kind, "_repr_mimebundle_", None)
        if whole:
            try:
                given = whole(value)
                given = given[0] if isinstance(given, tuple) else given
                parts.update({str(name): encode_part(name, part) for name, part in given.items()})
            except Exception:
                pass
        for name, method in METHODS.items():
            if name in parts or not hasattr(kind, method):
                continue
            try:
                part = getattr(value, method)()
                if part is not None:
                    parts[name] = encode_part(name, part)
            except Exception:
                pass
        figures = sys.modules.get("matplotlib.figure")
        if figures and isinstance(value, figures.Figure):
            parts["image/png"] = encode_part("image/png", figure_png(value))
    parts.setdefault("text/plain", pretty(value))
    return parts


class Shell:
    """Our own small shell.  `ipython_shell` puts IPython's in the place of `run`."""

    def __init__(self, channel, streams):
        self.channel, self.streams = channel, streams
        self.cell = 0
        self.running = False
        self.flags = 0
        self.loop = None
        self.magics = self.to_python = None # not needed yet
        self.seen = {} # module -> time of its file
        self.module = types.ModuleType("__main__")
        self.module.__builtins__ = builtins
        self.names = self.module.__dict__
        self.hidden = set(self.names)
        sys.modules["__main__"] = self.module
        builtins.display = self.display

    def display(self, *values):
        for value in values:
            self.publish(bundle(value))

    def publish(self, parts):
        try:
            self.channel.send("display", self.cell, "-", parts)
        except (TypeError, ValueError): # a part that is not JSON
            self.channel.send("display", self.cell, "-", {"text/plain": str(parts.get("text/plain"))})

    def is_python(self, code):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compile(code, "cell", "exec", self.flags | AWAIT | ast.PyCF_ONLY_AST, dont_inherit=True)
        except (SyntaxError, ValueError, OverflowError):
            return False
        return True

    def translate(self, code):
        """The cell, or Python in place of its lines of IPython's kind."""
        if not any(MAGIC.match(line) for line in code.split("\n")) or self.is_python(code):
            return code
        if not self.magics:
            names = {"__name__": "magics"}
            with open(MAGICS, "rb") as file:
                exec(compile(file.read(), MAGICS, "exec"), names)
            self.magics, self.to_python = names["Magics"](self), names["translate"]
        python = self.to_python(code)
        return python if self.is_python(python) or code.lstrip()[:1] in "!%" else code

    def compile(self, code, name):
        """The compiled statements and, when the cell ends in an expression to show, that one."""
        flags = self.flags | AWAIT
        tree = compile(code, name, "exec", flags | ast.PyCF_ONLY_AST, dont_inherit=True)
        last = None
        if tree.body and isinstance(tree.body[-1], ast.Expr) and not code.rstrip().endswith(";"):
            last = compile(ast.Expression(tree.body.pop().value), name, "eval", flags, dont_inherit=True)
        body = compile(tree, name, "exec", flags, dont_inherit=True)
        import __future__
        for feature in __future__.all_feature_names:
            self.flags |= body.co_flags & getattr(__future__, feature).compiler_flag
        return body, last

    def evaluate(self, code):
        value = eval(code, self.names)
        if not code.co_flags & COROUTINE:
            return value
        import asyncio
        if self.loop is None or self.loop.is_closed():
            self.loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self.loop)
        task = self.loop.create_task(value)
        try:
            return self.loop.run_until_complete(task)
        except BaseException:
            if not task.done():
                task.cancel()
                try:
                    self.loop.run_until_complete(task)
                except BaseException:
                    pass
            raise

    def run(self, code, name):
        linecache.cache[name] = (len(code), None, code.splitlines(True), name)
        body, last = self.compile(self.translate(code), name)
        self.evaluate(body)
        if last is not None:
            value = self.evaluate(last)
            if value is not None:
                builtins._ = value
                self.publish(bundle(value))

    def show_figures(self):
        pyplot = sys.modules.get("matplotlib.pyplot")
        if not pyplot:
            return
        for number in pyplot.get_fignums():
            self.publish(bundle(pyplot.figure(number)))
        pyplot.close("all")

    def give_width(self, argument):
        width.give(argument)

    def execute(self, number, code):
        """(status, details) of one cell."""
        self.cell = number
        name = "cell-%d" % number
        self.streams.repair()
        watch_interrupts(self)
        try:
            try:
                self.running = True
                if b"\0" in code:
                    raise SyntaxError("a cell must not have a NUL byte")
                self.run(code.decode("utf-8"), name)
                self.show_figures()
            finally:
                self.running = False
            return "ok", {}
        except KeyboardInterrupt:
            self.complain(*sys.exc_info())
            return "interrupted", {}
        except SystemExit as end:
            return "exit", {"code": self.exit_code(end.code)}
        except BaseException:
            return "error", self.complain(*sys.exc_info())

    def exit_code(self, code):
        if code is None:
            return 0
        if isinstance(code, int):
            return code & 255
        self.streams.complain("%s\n" % (code,))
        return 1

    def complain(self, kind, value, trace):
        """Writes a traceback without the driver's own frames, and gives it as data."""
        while trace and not trace.tb_frame.f_code.co_filename.startswith("cell-"):
            trace = trace.tb_next
        try:
            text = "".join(traceback.format_exception(kind, value, trace))
            message = str(value)
        except BaseException: # the exception is the cell's own and can do anything
            text = message = "%s, which cannot be shown" % kind.__name__
        self.streams.flush()
        self.streams.complain(text)
        frames = [{"file": f.filename, "line": f.lineno or 0, "function": f.name}
                  for f in traceback.extract_tb(trace, 50)]
        if isinstance(value, SyntaxError) and value.filename and not frames:
            frames = [{"file": str(value.filename), "line": value.lineno or 0, "function": "<module>"}]
        return {"type": kind.__name__, "message": message[:LARGEST_TEXT], "frames": frames}

    def check(self, code):
        compiler = codeop.CommandCompiler()
        compiler.compiler.flags |= AWAIT | self.flags
        if code.lstrip()[:2] == "%%":
            done = "\n" in code and not code.rpartition("\n")[2].strip()
            return ("complete", {}) if done else ("incomplete", {"indent": ""})
        code = self.translate(code)
        lines = code.split("\n")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                done = compiler(code, "cell", "exec")
                whole = done and ast.parse(code).body
        except (SyntaxError, ValueError, OverflowError):
            return "invalid", {}
        blank = not lines[-1].strip()
        # A block over several lines ends with a blank one, so that `else` can follow.
        if done and (blank or len(lines) == 1 or not whole or not hasattr(whole[-1], "body")):
            return "complete", {}
        last = next((line for line in reversed(lines) if line.strip()), "")
        indent = last[:len(last) - len(last.lstrip())]
        return "incomplete", {"indent": indent + "    " * last.rstrip().endswith(":")}

    def complete(self, code, cursor):
        text = code.encode()[:cursor].decode("utf-8", "ignore")
        line = text.rpartition("\n")[2]
        start = len(line)
        while start and (line[start - 1].isalnum() or line[start - 1] in "_."):
            start -= 1
        word = line[start:]
        if line[:start].strip() in ("import", "from"):
            matches = module_names(word)
        elif not word:
            matches = []
        else:
            import rlcompleter
            complete, matches = rlcompleter.Completer(self.names), []
            while len(matches) < 500:
                match = complete.complete(word, len(matches))
                if match is None:
                    break
                matches.append(match)
        return {"matches": sorted(set(matches)), "start": cursor - len(word.encode())}

    def variables(self):
        found = []
        for name, value in list(self.names.items()):
            if name in self.hidden or name.startswith("_") or isinstance(value, types.ModuleType):
                continue
            try:
                text = repr(value)
                size = getattr(value, "nbytes", None)
                size = size if isinstance(size, int) else sys.getsizeof(value)
            except Exception:
                text, size = "(cannot be shown)", 0
            text = " ".join(text[:4 * SHORT].split())
            found.append({"name": name, "type": type(value).__name__, "size": size,
                          "value": text if len(text) <= SHORT else text[:SHORT - 3] + "..."})
        return {"vars": found}

    def project_modules(self):
        try:
            folder = os.getcwd() + "/"
        except OSError: # a cell has removed it
            return
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None)
            if isinstance(file, str) and file.startswith(folder) and name != "__main__":
                try:
                    yield name, module, os.stat(file).st_mtime_ns
                except OSError:
                    pass

    def note_modules(self):
        for name, _, time in self.project_modules():
            self.seen.setdefault(name, time)

    def reload(self):
        """Imports again what changed on disk since it was imported."""
        import importlib
        importlib.invalidate_caches()
        again = []
        for name, module, time in self.project_modules():
            if self.seen.get(name, time) != time:
                importlib.reload(module)
                self.seen[name] = time
                again.append(name)
        return {"modules": again}


def module_names(word):
    import pkgutil
    head, dot, tail = word.rpartition(".")
    if not dot:
        names = {module.name for module in pkgutil.iter_modules()} | set(sys.builtin_module_names)
        return [name for name in names if name.startswith(word)]
    package = sys.modules.get(head)
    path = getattr(package, "__path__", [])
    return [head + "." + module.name for module in pkgutil.iter_modules(path) if module.name.startswith(tail)]


def watch_interrupts(shell):
    """An interrupt is for the cell: it ends the cell that runs and is nothing otherwise."""
    channel = shell.channel

    def interrupt(_signal, _frame):
        if channel.sending:
            channel.pending = shell.running
        elif shell.running:
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])


class Memory:
    """What writes the memory of a process; it is C, and the other half of it becomes the copy."""

    PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "session-copy.so")
    RSEQ_SIZE = 32

    def __init__(self):
        import ctypes
        library, own, api = ctypes.PyDLL(self.PATH), ctypes.CDLL(None), ctypes.pythonapi
        calls = [api.PyOS_BeforeFork, api.PyOS_AfterFork_Parent, api.PyOS_AfterFork_Child, own.fork]
        heap_end = ctypes.c_size_t.in_dll(own, "__curbrk")
        self._calls = (ctypes.c_void_p * 5)(*(ctypes.cast(call, ctypes.c_void_p).value for call in calls),
                                            ctypes.addressof(heap_end))
        self._fork = library.session_copy_fork
        self._fork.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_ulong]
        self._fork.restype = ctypes.c_long
        try:
            self.rseq = ctypes.c_ssize_t.in_dll(own, "__rseq_offset").value
            self.rseq_size = self.RSEQ_SIZE if ctypes.c_uint.in_dll(own, "__rseq_size").value else 0
        except ValueError: # an older C library
            self.rseq = self.rseq_size = 0

    def fork(self, first, second):
        """As os.fork; the child writes its memory into the pipes and ends, and 0 is the answer in the copy."""
        pid = self._fork(self._calls, first, second, self.rseq, self.rseq_size)
        if pid < 0:
            raise OSError(-pid, "this memory cannot be copied")
        return pid


def is_regular(path):
    """Whether there is such a file that can be opened again."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode) or path in ("/dev/null", "/dev/urandom")


def open_files(leave):
    """(number, path or None, flags, offset) of what is open."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        number = int(name)
        if number in leave:
            continue
        try:
            path = os.readlink("/proc/self/fd/" + name)
            facts = os.open("/proc/self/fdinfo/" + name, os.O_RDONLY | os.O_CLOEXEC)
            try:
                words = os.read(facts, 4096).split() # pos: OFFSET flags: FLAGS, and more
            finally:
                os.close(facts)
            flags, offset = int(words[3], 8), int(words[1])
        except (OSError, IndexError, ValueError):
            continue # the one of the listing
        regular = is_regular(path)
        if number >= 3 or regular:
            found.append((number, path if regular else None, flags, offset))
    return found


def place():
    """(directory or None, umask) of this process."""
    try:
        folder = os.getcwd()
    except OSError: # it was removed
        folder = None
    mask = os.umask(0o77)
    os.umask(mask)
    return folder, mask


def open_again(number, path, flags, offset):
    """What cannot be opened again keeps its number, so that no other file gets it."""
    kept = flags & ~(os.O_CREAT | os.O_EXCL | os.O_TRUNC | os.O_NOCTTY)
    try:
        opened = os.open(path or "/dev/null", kept if path else os.O_RDWR)
    except OSError:
        opened = os.open("/dev/null", os.O_RDWR)
    else:
        if path and offset:
            try:
                os.lseek(opened, offset, os.SEEK_SET)
            except OSError:
                pass
    if opened != number:
        os.dup2(opened, number, not flags & os.O_CLOEXEC)
        os.close(opened)


class Checkpoints:
    """Saved states: forked copies of this process that wait.

    A copy does not share threads, and sockets and files that are open are shared with the original."""

    LARGEST_NUMBER = 8
    PATIENCE_MS = 5000 # for a woken state to say that it lives

    def __init__(self, shell):
        self.shell = shell
        self.waiting = {} # cell -> (pid, descriptor that wakes it, descriptor on which it says so)
        self.forking = False
        self.memory, self.writing = None, [] # of copies; pids that write themselves into a pipe
        self._poll, self._fork = select.poll, os.fork

    def save(self, cell, channel):
        """True in a copy that was woken: it is the kernel now."""
        self.drop(lambda other: other >= cell)
        if len(self.waiting) >= self.LARGEST_NUMBER:
            self.drop(lambda other: other == min(self.waiting))
        sleep, wake = os.pipe()
        hear, say = os.pipe()
        self.forking = True
        pid = self._fork()
        self.forking = False
        if pid:
            os.close(sleep)
            os.close(say)
            self.waiting[cell] = (pid, move_high(wake), move_high(hear))
            return False
        os.close(wake)
        os.close(hear)
        channel.owner = os.getpid()
        channel.waiting = b"" # what the original has read is not for the copy
        if os.read(sleep, 1) != b"g":
            os._exit(0)
        os.write(say, b"a")
        os.close(sleep)
        os.close(say)
        self.save(cell, channel) # so that one can come back again; the states before it are still there
        return True

    def copy(self):
        """Writes the memory of this process into the pipes that were given.  True in the copy."""
        channel = self.shell.channel
        pipes, channel.given = channel.given, []
        try:
            if len(pipes) != 2: # a cell may have left no room for descriptors
                raise RuntimeError("no pipes came with the question")
            self.memory = self.memory or Memory()
            files, (folder, mask) = open_files(self.own_descriptors() | set(pipes)), place()
            self.forking = True
            pid = self.memory.fork(*pipes)
        except BaseException:
            for pipe in pipes:
                os.close(pipe)
            raise
        finally:
            self.forking = False
        if pid:
            for pipe in pipes:
                os.close(pipe)
            self.writing.append(pid)
            return False
        try:
            self.take_over(files)
            os.umask(mask)
            if folder and folder != os.getcwd():
                os.chdir(folder)
        except BaseException: # nobody would see it
            os._exit(1)
        return True

    def own_descriptors(self):
        streams = self.shell.streams
        return ({self.shell.channel.fd, streams.saved[1], streams.saved[2]}
                | {end for _, *ends in self.waiting.values() for end in ends})

    def take_over(self, files):
        """In the copy: it has its streams and, at 3, its channel; whatever else was open is opened again."""
        channel, streams = self.shell.channel, self.shell.streams
        came = move_high(3)
        for now, was in ((came, channel.fd), (1, streams.saved[1]), (2, streams.saved[2])):
            if now != was:
                os.dup2(now, was, False)
        if came not in self.own_descriptors():
            os.close(came)
        for file in files:
            open_again(*file)
        self.waiting, self.writing = {}, []
        self.shell.loop = None # its descriptors are gone
        channel.owner, channel.waiting = os.getpid(), b""
        if "ssl" in sys.modules: # it would find the numbers of the original otherwise
            sys.modules["ssl"].RAND_add(os.urandom(32), 32.0)

    def reap(self):
        for pid in list(self.writing):
            try:
                if os.waitpid(pid, os.WNOHANG)[0]:
                    self.writing.remove(pid)
            except ChildProcessError: # a cell has done it
                self.writing.remove(pid)

    def drop(self, which):
        for cell in [cell for cell in self.waiting if which(cell)]:
            self.end(*self.waiting.pop(cell))

    def end(self, pid, wake, hear):
        os.close(wake)
        os.close(hear)
        try:
            os.kill(pid, signal.SIGKILL) # later states have its descriptor as well
            os.waitpid(pid, 0)
        except (ChildProcessError, ProcessLookupError): # a child of the kernel before this one
            pass

    def wakes(self, wake, hear):
        """False for a state that a cell has killed or stopped: a wait for it would have no end."""
        try:
            os.write(wake, b"g")
        except BrokenPipeError:
            return False
        poll = self._poll()
        poll.register(hear, select.POLLIN)
        return bool(poll.poll(self.PATIENCE_MS)) and os.read(hear, 1) == b"a"

    def back(self, cell):
        """Wakes a saved state.  This process gives its memory back and stands for the new kernel."""
        pid, wake, hear = self.waiting.pop(cell)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT]) # until the stand-in can pass it on
        if not self.wakes(wake, hear):
            self.end(pid, wake, hear)
            raise RuntimeError("the saved state is gone; a cell has ended or stopped it")
        self.drop(lambda other: other > cell)
        os.execv(sys.executable, [sys.executable, "-I", "-S", "-c", STAND_IN, str(pid)])


# The process that the sandbox watches waits for the one that took its place and ends as that one does.
STAND_IN = """
import os, signal, sys
pid = int(sys.argv[1])
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda number, frame: os.kill(pid, number))
signal.pthread_sigmask(signal.SIG_SETMASK, [])
ended, status = 0, 0
while ended != pid:
    ended, status = os.wait()
code = os.waitstatus_to_exitcode(status)
if code < 0:
    signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
os._exit(code)
"""


def answer(shell, checkpoints, word, number, argument, payload):
    """(status, details) of a question."""
    if word == "check":
        return shell.check(payload.decode("utf-8", "replace"))
    if word == "complete":
        return "ok", shell.complete(payload.decode("utf-8", "replace"), int(argument))
    if word == "vars":
        return "ok", shell.variables()
    if word == "reload":
        return "ok", shell.reload()
    if word == "path":
        import importlib
        import site
        before = list(sys.path)
        site.addsitedir(payload.decode())
        new = [path for path in sys.path if path not in before]
        sys.path[:] = before[:1] + new + before[1:] # before the host's own packages
        importlib.invalidate_caches()
        return "ok", {}
    if word == "checkpoint":
        import threading
        if threading.active_count() > 1:
            return "invalid", {"message": "a state with threads cannot be saved"}
        woken = checkpoints.save(number, shell.channel)
        return "ok", {"woken": True} if woken else {}
    if word == "copy":
        import threading
        if threading.active_count() > 1:
            return "invalid", {"message": "a state with threads cannot be copied"}
        return "ok", {"copied": True} if checkpoints.copy() else {}
    if word == "rollback":
        if number not in checkpoints.waiting:
            return "invalid", {"message": "no state was saved before cell %d" % number}
        checkpoints.back(number)
    return "invalid", {"message": "this kernel does not know '%s'" % word}


def ask(shell, checkpoints, frame):
    """Questions run the cells' code as well (repr, properties), so they can be interrupted and can fail."""
    word, number = frame[:2]
    watch_interrupts(shell)
    try:
        try:
            shell.running = word in ("complete", "vars", "reload")
            status, details = answer(shell, checkpoints, *frame)
        finally:
            shell.running = False
            shell.channel.drop_given()
    except (Exception, KeyboardInterrupt) as error:
        status, details = "invalid", {"message": "%s: %s" % (type(error).__name__, error)}
    if details.pop("woken", None): # the answer to `checkpoint` went out long ago; this is the one to `rollback`
        word = "rollback"
    shell.streams.flush()
    if details.pop("copied", None): # nobody asked it in this sandbox
        say_ready(shell.channel)
        return
    shell.channel.send("answer", number, status, details)


def after_fork(shell, checkpoints):
    """A child that a cell forks has no channel and no part in the session's states."""
    def lose():
        if checkpoints.forking:
            return
        for end in [shell.channel.fd] + [end for _, *ends in checkpoints.waiting.values() for end in ends]:
            try:
                os.close(end)
            except OSError:
                pass
        checkpoints.waiting = {}
        shell.channel.owner = 0
        signal.signal(signal.SIGINT, signal.default_int_handler)
    os.register_at_fork(after_in_child=lose)


def say_ready(channel):
    can = CAN + ["copy"] if os.path.exists(Memory.PATH) and os.uname().machine == "x86_64" else CAN
    channel.send("ready", 0, "-", {"version": sys.version.partition(" ")[0], "can": can, "pid": os.getpid()})


def serve(shell):
    channel, checkpoints = shell.channel, Checkpoints(shell)
    after_fork(shell, checkpoints)
    watch_interrupts(shell)
    say_ready(channel)
    while True:
        try:
            frame = channel.receive()
        except EOFError:
            return 0
        if checkpoints.writing:
            checkpoints.reap()
        if frame[0] == "become": # a kernel that has executed nothing: a copy of another session takes its place
            os.dup2(channel.fd, 3)
            os.execv(Memory.PATH, [Memory.PATH])
        if frame[0] == "input": # the cell that asked was interrupted meanwhile
            continue
        if frame[0] != "execute":
            ask(shell, checkpoints, frame)
            continue
        try:
            shell.give_width(frame[2])
            status, details = shell.execute(frame[1], frame[3])
        except KeyboardInterrupt: # between the cell and its end
            status, details = "interrupted", {}
        if os.getpid() != channel.owner: # a child that the cell forked and that did not end
            shell.streams.flush()
            os._exit(0)
        shell.note_modules()
        shell.streams.flush()
        channel.send("done", frame[1], status, details)
        if status == "exit":
            return details["code"]


def ipython_shell(channel, streams):
    """IPython's shell when it is there: magics, its tracebacks, its completion."""
    import importlib.util
    if not importlib.util.find_spec("IPython") or not importlib.util.find_spec("traitlets"):
        return None
    os.environ.setdefault("IPYTHONDIR", "/tmp/.ipython")
    from IPython.core.compilerop import CachingCompiler
    from IPython.core.displayhook import DisplayHook
    from IPython.core.displaypub import DisplayPublisher
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets import Type
    from traitlets.config import Config

    class Compiler(CachingCompiler):
        def get_code_name(self, raw_code, transformed_code, number):
            return "cell-%d" % shell.cell

    class Hook(DisplayHook):
        def write_output_prompt(self):
            pass

        def write_format_data(self, format_dict, md_dict=None):
            shell.publish({name: encode_part(name, part) for name, part in format_dict.items()})

    class Publisher(DisplayPublisher):
        def publish(self, data, metadata=None, **_options):
            shell.publish({name: encode_part(name, part) for name, part in data.items()})

    class Interactive(InteractiveShell):
        compiler_class = Type(Compiler)
        displayhook_class = Type(Hook)
        display_pub_class = Type(Publisher)

        def _showtraceback(self, etype, evalue, stb):
            if etype is SystemExit:
                return
            streams.flush()
            streams.complain(self.InteractiveTB.stb2text(stb) + "\n")

        def enable_gui(self, gui=None):
            pass

    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "NoColor"
    config.InteractiveShell.banner1 = ""

    class IPythonShell(Shell):
        def start(self):
            self.interactive = Interactive.instance(config=config, user_module=self.module, user_ns=self.names)
            self.interactive.system = self.interactive.system_raw
            self.hidden = set(self.names)

        def give_width(self, argument):
            super().give_width(argument)
            if width.given:
                self.interactive.display_formatter.formatters["text/plain"].max_width = width.columns

        def run(self, code, name):
            done = self.interactive.run_cell(code, store_history=True)
            error = done.error_before_exec or done.error_in_exec
            if isinstance(error, SystemExit) or self.interactive.exit_now:
                raise SystemExit(getattr(error, "code", 0))
            if error:
                raise Reported(error)

        def complain(self, kind, value, trace):
            if not isinstance(value, Reported):
                return super().complain(kind, value, trace)
            error = value.error
            trace = error.__traceback__
            while trace and not trace.tb_frame.f_code.co_filename.startswith("cell-"):
                trace = trace.tb_next
            return {"type": type(error).__name__, "message": str(error),
                    "frames": [{"file": f.filename, "line": f.lineno or 0, "function": f.name}
                               for f in traceback.extract_tb(trace, 50)]}

        def execute(self, number, code):
            status, details = super().execute(number, code)
            if status == "error" and details["type"] == "KeyboardInterrupt":
                return "interrupted", {}
            return status, details

        def check(self, code):
            status, indent = self.interactive.input_transformer_manager.check_complete(code)
            return status, {"indent": " " * (indent or 0)}

        def complete(self, code, cursor):
            text = code.encode()[:cursor].decode("utf-8", "ignore")
            line = text.rpartition("\n")[2]
            word, matches = self.interactive.complete(None, line, len(line))
            return {"matches": sorted(matches), "start": cursor - len(word.encode())}

    shell = IPythonShell(channel, streams)
    shell.start()
    return shell


class Reported(Exception):
    """An error whose traceback IPython has written."""

    def __init__(self, error):
        super().__init__(str(error))
        self.error = error


def main():
    channel = Channel(int(os.environ.pop("SANDBOX_RUN_KERNEL_FD")))
    os.environ.setdefault("MPLBACKEND", "Agg")
    streams = Streams()
    sys.path[0] = ""
    sys.argv = [""]
    try:
        shell = ipython_shell(channel, streams)
    except Exception as error:
        streams.complain("IPython cannot be used (%s: %s); a plain Python is used.\n"
                         % (type(error).__name__, error))
        shell = None
    shell = shell or Shell(channel, streams)
    give_input(shell)
    return serve(shell)


sys.exit(main())
