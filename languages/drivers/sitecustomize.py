# What a zygote of Python does: see python-warm.py.  Imported by the interpreter's own start-up in a process that never
# runs anything of a user's, and left, in each worker, as if there had been no such module.
import os
import sys

# Modules that programs often want and that do nothing when they are imported: they start no threads, and they are no
# part of a package that `import package` alone would not bring.
MODULES = """
    abc argparse array ast base64 binascii bisect calendar cmath collections contextlib copy csv ctypes dataclasses
    datetime decimal enum errno fractions functools gc glob hashlib heapq inspect io itertools json keyword linecache
    locale math numbers operator pathlib pickle platform pprint queue random re reprlib select selectors shutil signal
    socket stat statistics string struct subprocess tempfile textwrap threading time timeit token tokenize traceback
    types typing unicodedata uuid warnings weakref zlib
""".split()

# Goes through what most programs go through: the compiler, functions, exceptions, printing.
SAMPLE = """
import sys
class Sample:
    def __init__(self, value): self.value = value
    def __repr__(self): return f"<{self.value!r:>10}>"
def sample(n):
    return sample(n - 1) + 1 if n else 0
text = ", ".join(str(i) for i in range(20))
table = {i: [i, str(i)] for i in range(50)}
print(text, table, Sample(sample(20)), 1.5, "%s %5.2f" % ("x", 2.0))
try:
    {}["missing"]
except KeyError as error:
    print(error)
"""

GO = 3
LIBRARY = "/proc/self/fd/5"
DESCRIPTORS_OF_START = (4, 5) # the plan and the library
WARM = 6
WIDE = "utf-32-le" if sys.byteorder == "little" else "utf-32-be"
# What the interpreter, the loader and the C library look at once, when they start.
EARLY = (b"PYTHON", b"LD_", b"LC_", b"LANG", b"GLIBC_TUNABLES", b"MALLOC_")


def command_line():
    if hasattr(sys, "orig_argv"):
        return list(sys.orig_argv)
    return [sys.executable, "-B", "-s", sys.argv[0]]


def early_ones(environment):
    return sorted(item for item in environment if item.startswith(EARLY))


def find_places(pattern):
    """Where the interpreter keeps the path of the program: address and whether it was made absolute."""
    import ctypes

    before = (os.getcwd() + "/").encode(WIDE)
    places = []
    with open("/proc/self/maps") as maps:
        ranges = [line.split() for line in maps]
    for fields in ranges:
        start, end = (int(part, 16) for part in fields[0].split("-"))
        if not fields[1].startswith("rw") or (len(fields) > 5 and fields[5] != "[heap]"):
            continue
        data = ctypes.string_at(start, end - start)
        at = data.find(pattern)
        while at >= 0:
            if not id(pattern) <= start + at < id(pattern) + len(pattern):
                absolute = at >= len(before) and data[at - len(before) : at] == before
                places.append((start + at, len(before) if absolute else 0))
            at = data.find(pattern, at + 4)
    return places


class Zygote:
    def __init__(self):
        self.cold = set(sys.modules) - {__name__}
        self.cold_paths = set(sys.path_importer_cache)
        self.command = command_line()
        self.pattern = self.command.pop().encode(WIDE) + bytes(4)
        self.places = find_places(self.pattern)
        given = bytes.fromhex(os.environ["SANDBOX_RUN_ZYGOTE"])
        # As in a run that brings no variables of its own.
        self.environment = [item for item in given.split(b"\0") if item]
        self.early = early_ones(self.environment)
        self.must_start_anew = not self.places

    def load(self):
        """Only what the machine itself has: packages of a program are not to be run here."""
        import importlib

        wanted = MODULES + os.environ.get("SANDBOX_RUN_PRELOAD", "").replace(",", " ").split()
        for name in wanted:
            try:
                importlib.import_module(name)
            except Exception:
                pass

    def hide_parts(self):
        """Of packages that were not wanted themselves: `import package` alone would not bring them."""
        for name in [name for name in sys.modules if "." in name and name not in self.cold]:
            package = name.partition(".")[0]
            if package not in MODULES and package not in self.cold:
                del sys.modules[name]
                sys.modules.pop(package, None)

    def take_environment(self, environment):
        data = os.environ._data
        for name in list(data):
            os.unsetenv(name)
        data.clear()
        for item in environment:
            name, _, value = item.partition(b"=")
            if name not in data:
                data[name] = value
                os.putenv(name, value)

    def see_packages(self):
        """Of PYTHONPATH, as the interpreter would have done before anything was imported."""
        value = b"".join(item[11:] for item in self.environment if item.startswith(b"PYTHONPATH="))
        directories = [os.path.abspath(part) for part in os.fsdecode(value).split(":") if value]
        known = set(sys.modules) | {"sitecustomize", "usercustomize"}
        if any(hides(directory, known) for directory in directories):
            self.must_start_anew = True
        fresh = [d for d in dict.fromkeys(directories) if d not in sys.path]
        sys.path[:0] = fresh

    def be_like_cold(self):
        driver = os.path.dirname(os.path.abspath(__file__))
        sys.path[:] = [entry for entry in sys.path if entry != driver]
        for path in set(sys.path_importer_cache) - self.cold_paths | {driver}:
            sys.path_importer_cache.pop(path, None)
        self.hide_parts()
        self.take_environment(self.environment)
        self.see_packages()

    def warm_up(self):
        import contextlib
        import io
        import traceback

        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(SAMPLE, "sample", "exec"), {"__name__": "sample"})
        try:
            exec(compile("def f(): raise ValueError(1)\nf()", "sample", "exec"), {})
        except ValueError:
            traceback.print_exc(file=out)
        try:
            compile("a b c (", "sample", "exec")
        except SyntaxError:
            traceback.print_exc(file=out)

    def shorten_end(self):
        """The list of codecs is the first thing to be destroyed when nothing of a program is left to be."""
        import codecs
        from ctypes import c_char_p, c_void_p, cast, py_object, pythonapi

        pythonapi.PyCapsule_New.restype = py_object
        pythonapi.PyCapsule_New.argtypes = [c_void_p, c_char_p, c_void_p]
        destructor = cast(self.library.sbr_worker_finish, c_void_p)
        if self.library.sbr_worker_prepare_finish() == 0:
            codecs.register({"": pythonapi.PyCapsule_New(destructor, None, destructor)}.get)

    def remember_modules(self):
        import atexit
        import ctypes

        names = [name for name in sys.modules if name not in ("sys", "builtins", "__main__", __name__)]
        kept = {name: sys.modules[name] for name in names}
        spare = {}
        addresses = (ctypes.c_void_p * len(names))(*(id(vars(kept[name])) for name in names))
        for thing in (kept, names, spare, spare, addresses, globals(), sys.modules[__name__], self):
            keep(thing)
        keep_copies(kept.values())
        if self.library.sbr_worker_watch(addresses, len(names)) == 0:
            atexit.register(
                leave, sys.modules, kept, names, spare, self.library, ctypes.memmove, ctypes.string_at, type(sys.stdout)
            )

    def prepare(self):
        import ctypes
        import gc

        self.load()
        self.be_like_cold()
        for _ in range(3):
            self.warm_up()
        self.library = ctypes.PyDLL(LIBRARY)
        self.next = self.library.sbr_worker_next
        self.shorten_end()
        self.preloaded = {name.partition(".")[0] for name in sys.modules} - self.cold
        self.remember_modules()
        gc.collect()
        main = sys.modules["__main__"]
        for thing in (main, vars(main)):
            ctypes.pythonapi.PyObject_GC_UnTrack(ctypes.py_object(thing))
        gc.freeze()
        for thing in (main, vars(main)): # these are the program's own, to be collected with the rest of it
            ctypes.pythonapi.PyObject_GC_Track(ctypes.py_object(thing))


def keep(thing):
    """For good: what is never freed is not touched at the end."""
    import ctypes

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


def keep_copies(modules):
    """Of the contents of modules in C, as the interpreter has them in struct PyModuleDef_Base."""
    import ctypes

    definition_of = ctypes.pythonapi.PyModule_GetDef
    definition_of.restype = ctypes.c_void_p
    for module in modules:
        address = definition_of(ctypes.py_object(module)) if type(module) is type(sys) else None
        copy = address and ctypes.c_void_p.from_address(address + object.__basicsize__ + 16).value
        if copy:
            keep(ctypes.cast(copy, ctypes.py_object).value)


def leave(modules, kept, names, spare, library, memmove, string_at, stream_type):
    """The last thing before the interpreter takes itself apart.  What the zygote had loaded shall be left alone: the
    dictionary's contents change places, so that none of those modules is touched.  The program's own are the last ones
    in it; and those that it has put something into are the program's own too."""
    try:
        for stream in (sys.stdout, sys.stderr):
            if type(stream) is not stream_type:
                raise TypeError
            stream.flush()
    except BaseException:
        library.sbr_worker_finish_all()
        return
    mine = []
    for name in reversed(modules):
        module = modules[name]
        if kept.get(name) is module:
            break
        mine.append(name)
    number = library.sbr_worker_changed(0)
    while number >= 0:
        mine.append(names[number])
        number = library.sbr_worker_changed(number + 1)
    for name in ("sys", "builtins", "__main__", *reversed(mine)):
        if name in modules:
            spare[name] = modules.pop(name)
    size = dict.__basicsize__ - object.__basicsize__
    one, other = id(modules) + object.__basicsize__, id(spare) + object.__basicsize__
    contents = string_at(one, size)
    memmove(one, string_at(other, size), size)
    memmove(other, contents, size)


def hides(directory, known):
    """Whether a file there would be found instead of a module that is loaded already."""
    try:
        return any(name.partition(".")[0] in known for name in os.listdir(directory))
    except OSError:
        return False


def read_all(descriptor):
    parts = []
    while part := os.read(descriptor, 1 << 16):
        parts.append(part)
    return b"".join(parts)


def take_list(fields, at):
    count = int(fields[at])
    return fields[at + 1 : at + 1 + count], at + 1 + count


def start_anew(arguments, environment):
    """The slow way, which is always right."""
    import signal

    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execve(arguments[0], arguments, dict(item.split(b"=", 1) for item in reversed(environment)))
    finally:
        os._exit(127)


def fits(zygote, command, script, environment):
    """Whether all that is special about this run can still be brought about."""
    if zygote.must_start_anew or command != [os.fsencode(word) for word in zygote.command]:
        return False
    if early_ones(environment) != zygote.early or len(script) * 4 >= len(zygote.pattern):
        return False
    try:
        mode = os.lstat(script).st_mode
    except OSError:
        return False
    directory = os.path.dirname(script)
    return mode & 0o170000 == 0o100000 and not hides(directory or ".", zygote.preloaded)


def put_path(zygote, script):
    import ctypes

    absolute = script if script.startswith("/") else os.getcwd() + "/" + script
    for address, lead in zygote.places:
        if ctypes.string_at(address, len(zygote.pattern)) != zygote.pattern:
            continue
        text = (absolute if lead else script).encode(WIDE, "surrogatepass") + bytes(4)
        ctypes.memmove(address - lead, text, len(text))


def become(zygote, message):
    fields = message.split(b"\0")
    arguments, at = take_list(fields, 1)
    environment, _ = take_list(fields, at)
    os.chdir(fields[0])
    n = len(zygote.command)
    script = os.fsdecode(arguments[n]) if len(arguments) > n else ""
    if not fits(zygote, arguments[:n], script, environment):
        start_anew(arguments, environment)
    if environment != zygote.environment:
        zygote.take_environment(environment)
        if any(item.startswith(b"TZ=") for item in environment):
            import time

            time.tzset()
    words = [os.fsdecode(word) for word in arguments]
    sys.argv[:] = words[n:]
    if hasattr(sys, "orig_argv"):
        sys.orig_argv[:] = words
    put_path(zygote, script)


def refresh():
    """What must differ from worker to worker and does not by itself."""
    threading = sys.modules["threading"]
    if hasattr(threading.main_thread(), "_set_native_id"):
        threading.main_thread()._set_native_id()
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()


def rehearse(zygote):
    """Lets a copy run a program as a worker will.  True in the copy."""
    script = os.memfd_create("sample")
    os.write(script, SAMPLE.encode())
    if zygote.library.sbr_worker_rehearse() != 0:
        os.close(script)
        return False
    path = f"/proc/self/fd/{script}"
    refresh()
    sys.argv[:] = [path]
    put_path(zygote, path)
    return True


def wait_for_program(zygote):
    if zygote.next() < 0:
        os._exit(0)
    refresh()
    os.write(GO, b"R")
    message = read_all(GO)
    os.close(GO)
    if not message:
        os._exit(1)
    become(zygote, message)


def main():
    zygote = Zygote()
    zygote.prepare()
    if rehearse(zygote):
        return
    os.write(WARM, b"w")
    os.close(WARM)
    wait_for_program(zygote)


main()
# As if there had been none: site.py takes this for the answer, and nothing of it stays.
raise ImportError(name="sitecustomize")
