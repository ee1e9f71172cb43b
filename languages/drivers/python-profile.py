"""Runs a program and samples, by its CPU time, which functions it is in.

Words: the program, its arguments.  The samples become a file: a line is a stack, outermost function first, and its
microseconds: FRAME;FRAME;FRAME 1234.
"""
import atexit
import functools
import os
import signal
import sys
import threading
import time
import types

FILE = os.path.join(os.path.dirname(os.path.dirname(__file__)), "work/.sandbox-run-profile")
EVERY_S = 0.001
DEEPEST = 128  # frames of a stack, the inner ones
MOST_STACKS = 20_000


class Sampler:
    def __init__(self):
        self.pid = os.getpid()
        self.spent = {}  # of each stack: a tuple of code objects, innermost first
        self.last = time.process_time_ns()

    def start(self):
        signal.signal(signal.SIGPROF, self.take)
        signal.setitimer(signal.ITIMER_PROF, EVERY_S, EVERY_S)
        atexit.register(self.write)
        for name in ("execv", "execve"):  # the other functions of `os` that exec call these
            setattr(os, name, self.ends_before(getattr(os, name)))

    def ends_before(self, replace):
        """The timer would outlive an exec and its signal end the new program, which handles it no more."""
        @functools.wraps(replace)
        def written(*words, **named):
            self.write()
            try:
                return replace(*words, **named)
            finally:  # it failed, or it would not return
                if os.getpid() == self.pid:
                    signal.setitimer(signal.ITIMER_PROF, EVERY_S, EVERY_S)
        return written

    def take(self, _, frame):
        """A signal may come late, after a long call into C: what counts is the time since the one before."""
        now = time.process_time_ns()
        frames = [stack for stack in map(stack_of, running(frame)) if stack]
        for stack in frames:
            if stack in self.spent or len(self.spent) < MOST_STACKS:
                self.spent[stack] = self.spent.get(stack, 0) + (now - self.last) // len(frames)
        self.last = now

    def write(self):
        signal.setitimer(signal.ITIMER_PROF, 0)
        if os.getpid() != self.pid:  # a child
            return
        with open(FILE, "w", encoding="utf-8", errors="replace") as file:
            for stack, spent in self.spent.items():
                file.write(f"{';'.join(map(name_of, reversed(stack)))} {spent // 1000}\n")


def running(frame):
    """The innermost frames of the threads that do not wait; `frame` is the main thread's."""
    if threading.active_count() == 1:
        return [frame]
    others = sys._current_frames()  # pylint: disable=protected-access
    others[threading.main_thread().ident] = frame
    busy = [one for one in others.values() if one and one.f_code.co_filename != threading.__file__]
    return busy or [frame]


def stack_of(frame):
    codes = []
    while frame and len(codes) < DEEPEST:
        if frame.f_code.co_filename != __file__:
            codes.append(frame.f_code)
        frame = frame.f_back
    return tuple(codes)


def name_of(code):
    name = getattr(code, "co_qualname", code.co_name)
    return f"{name} ({code.co_filename}:{code.co_firstlineno})".translate(CLEAN)


CLEAN = {ord(";"): ",", ord("\n"): " ", ord("\r"): " "}


def execute(path):
    """As the interpreter does with a file; its own frame is in no traceback."""
    main = types.ModuleType("__main__")
    main.__file__ = path
    main.__builtins__ = __builtins__
    sys.modules["__main__"] = main
    sys.path[0] = os.path.dirname(path)
    with open(path, "rb") as file:
        text = file.read()
    try:
        exec(compile(text, path, "exec"), main.__dict__)  # pylint: disable=exec-used
    except SystemExit:
        raise
    except BaseException:  # pylint: disable=broad-except
        kind, error, trace = sys.exc_info()
        sys.excepthook(kind, error, trace.tb_next)
        sys.exit(1)


del sys.argv[0]
Sampler().start()
execute(sys.argv[0])
