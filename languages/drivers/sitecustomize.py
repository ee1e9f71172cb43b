# The interpreter imports this module before it reads the program.  It makes stdout line-buffered
# (docs/buffering.md), or it is the start of a zygote (python-zygote.py).  Nothing of it stays visible.
# It is short, because it is compiled at every start.
import os
import sys
from time import monotonic

HERE = os.path.dirname(__file__)
BURST = 200 # lines that are written one by one in any case
RATE = 1000.0 # and so many per second after them


def make_live(stream):
    """Every line is written at once, unless there are so many that python-bulk.py takes over."""
    raw = stream.buffer.raw
    write, read_file = raw.write, open
    room, last, bulk = BURST, monotonic(), None

    def write_counted(data):
        nonlocal room, last, bulk
        now = monotonic()
        room = min(BURST, room + (now - last) * RATE) - 1
        last = now
        if room < 0:
            if not bulk:
                names = {}
                with read_file(HERE + "/python-bulk.py") as file:
                    exec(file.read(), names)
                bulk = names["Bulk"](stream)
            bulk.start()
            room = BURST
        if bulk:
            bulk.written += len(data)
        return write(data)

    stream.reconfigure(line_buffering=True)
    raw.write = write_counted


# A zygote's program has the path of python-warm.py.
if "SANDBOX_RUN_ZYGOTE" in os.environ and sys.argv[0].startswith("sandbox-run-program-"):
    make_live(sys.stdout)
    with open(HERE + "/python-zygote.py") as file:
        code = compile(file.read(), HERE + "/python-zygote.py", "exec")
    exec(code)
    # As if the module did not exist: site.py accepts this, and nothing of the module stays.
    raise ImportError(name=__name__)
sys.path.remove(HERE)
sys.path_importer_cache.pop(HERE, None)
rest = os.environ.pop("PYTHONPATH").partition(":")[2]
if rest:
    os.environ["PYTHONPATH"] = rest
del sys.modules[__name__]
# Not when it is a terminal or PYTHONUNBUFFERED was given.
if sys.stdout and not sys.stdout.line_buffering and not sys.stdout.write_through:
    make_live(sys.stdout)
import sitecustomize # noqa: E402: the one that would have been found without this one, if any
