# Output in blocks, for a program that prints many lines: see sitecustomize.py.  A thread writes what
# is in the buffer every few milliseconds.  It ends when the program has become slow, and before the
# program forks or ends.  What waits is also written before the program kills itself.
import _thread
import atexit
import os

PERIOD = 0.02 # seconds that a line may wait
QUIET = 10 # periods with few bytes each, after which every line is written at once again
FEW = 256
ENDS = ("_exit", "abort", "execv", "execve", "kill", "killpg")


class Bulk:
    def __init__(self, stream):
        self.stream = stream
        self.written = 0 # bytes since the thread last looked
        self.broken = False
        self.running = _thread.allocate_lock()
        self.stopping = _thread.allocate_lock()
        atexit.register(self.stop)
        os.register_at_fork(before=self.stop)
        for name in ENDS:
            setattr(os, name, self.after_lines(getattr(os, name)))

    def after_lines(self, function):
        """A function that others notice, or that ends the program without its own flush."""
        def wrapper(*words, **named):
            if self.running.locked():
                try:
                    self.stream.flush()
                except Exception: # the stream is closed, or its reader is gone
                    pass
            return function(*words, **named)
        for name in ("__doc__", "__name__", "__qualname__", "__module__"):
            setattr(wrapper, name, getattr(function, name))
        return wrapper

    def start(self):
        if self.broken or not self.running.acquire(False):
            return
        self.stopping.acquire(False)
        try:
            _thread.start_new_thread(self.flush_often, ())
        except RuntimeError: # no thread to be had: the lines go one by one
            self.broken = True
            self.running.release()

    def stop(self):
        """Also waits for the thread, which may be in the middle of a write."""
        if self.running.locked():
            try:
                self.stopping.release()
            except RuntimeError: # released already
                pass
            self.running.acquire()
            self.running.release()

    def flush_often(self):
        try:
            self.stream.reconfigure(line_buffering=False)
            quiet = 0
            while quiet < QUIET and not self.stopping.acquire(timeout=PERIOD):
                self.stream.flush()
                quiet = quiet + 1 if self.written < FEW else 0
                self.written = 0
            self.stream.reconfigure(line_buffering=True)
        except Exception: # the stream is closed, or its reader is gone: the program will notice
            self.broken = True
        finally:
            self.running.release()
