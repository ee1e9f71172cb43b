# The zygote of Python: see python-warm.py.  The interpreter's own start-up runs it as a part of
# sitecustomize.py, in a process that never runs code of a user.  Each worker leaves it as if there
# were no such module.
import os
import sys

# Modules that programs often use and that have no effect when they are imported: they start no
# threads, and they are not parts of packages that `import package` alone would not load.
MODULES = """
    abc argparse array ast base64 binascii bisect calendar cmath collections contextlib copy csv ctypes dataclasses
    datetime decimal enum errno fractions functools gc glob hashlib heapq inspect io itertools json keyword linecache
    locale math numbers operator pathlib pickle platform pprint queue random re reprlib select selectors shutil signal
    socket stat statistics string struct subprocess tempfile textwrap threading time timeit token tokenize traceback
    types typing unicodedata uuid warnings weakref zlib
""".split()

# Uses what most programs use: the compiler, functions, exceptions, printing.
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

# Types whose objects can be freed without a visible effect, besides the most common ones.
SAFE_TYPES = """
    FunctionType BuiltinFunctionType MethodType MethodWrapperType WrapperDescriptorType MethodDescriptorType
    ClassMethodDescriptorType GetSetDescriptorType MemberDescriptorType ModuleType CellType CodeType MappingProxyType
    SimpleNamespace GenericAlias UnionType TracebackType
"""
HEAD = 16 # bytes that every object begins with: its references and its type
DEALLOC = 48 # offset of the function that frees a type's objects: after three words of its head and three more

GO = 3
LIBRARY = "/proc/self/fd/5"
DESCRIPTORS_OF_START = (4, 5) # the plan and the library
WARM = 6
WIDE = "utf-32-le" if sys.byteorder == "little" else "utf-32-be"
WIDTH = 4 # bytes of a wide character
# Variables that the interpreter, the loader and the C library read once, when they start.
EARLY = (b"PYTHON", b"LD_", b"LC_", b"LANG", b"GLIBC_TUNABLES", b"MALLOC_")


def command_line():
    if hasattr(sys, "orig_argv"):
        return list(sys.orig_argv)
    return [sys.executable, "-B", "-s", sys.argv[0]]


def is_known():
    """Whether the interpreter's objects look as the end of a worker expects.  Any other one ends as it always does."""
    return (sys.implementation.name == "cpython" and (3, 8) <= sys.version_info[:2] <= (3, 13)
            and object.__basicsize__ == HEAD)


def joined(*fields):
    return b"".join(field + b"\0" for field in fields)


def early_ones(environment):
    return sorted(item for item in environment if item.startswith(EARLY))


def find_places(placeholder):
    """Where the interpreter keeps the path of the program: address and how many characters make it an absolute one."""
    import ctypes

    pattern = placeholder.encode(WIDE) + bytes(WIDTH)
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
                places += [start + at, len(before) // WIDTH if absolute else 0]
            at = data.find(pattern, at + WIDTH)
    return (ctypes.c_size_t * len(places))(*places)


class Zygote:
    def __init__(self):
        self.cold = set(sys.modules) - {__name__}
        # A cold start has looked for a sitecustomize of the machine in all of them.
        self.cold_paths = set(sys.path_importer_cache) | set(sys.path)
        self.command = command_line()
        self.placeholder = self.command.pop()
        self.command_bytes = [os.fsencode(word) for word in self.command]
        self.places = find_places(self.placeholder)
        with open("/proc/self/stat") as stat: # where the kernel finds the command line, for ps etc.
            self.shown = [int(field) for field in stat.read().rpartition(")")[2].split()[45:47]]
        given = bytes.fromhex(os.environ["SANDBOX_RUN_ZYGOTE"])
        # As in a run without variables of its own, which does not see the list of preloaded modules.
        self.environment = [
            item for item in given.split(b"\0") if item and not item.startswith(b"SANDBOX_RUN_PRELOAD=")
        ]
        self.early = early_ones(self.environment)
        self.here = os.fsencode(os.path.dirname(os.path.abspath(__file__)))
        self.must_start_anew = not len(self.places)
        self.hooks = [] # what modules do in a forked process, such as to reseed random numbers

    def load(self):
        """Only what the machine itself has: packages of a program are not to be run here."""
        import importlib

        wanted = MODULES + os.environ.get("SANDBOX_RUN_PRELOAD", "").replace(",", " ").split()
        register = os.register_at_fork

        def note(**hooks):
            register(**hooks)
            if "after_in_child" in hooks:
                self.hooks.append(hooks["after_in_child"])

        os.register_at_fork = note
        for name in wanted:
            try:
                importlib.import_module(name)
            except Exception:
                pass
        os.register_at_fork = register

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
            if name == b"PYTHONPATH":
                value = self.without_here(value)
            if name not in data and (value or name != b"PYTHONPATH"):
                data[name] = value
                os.putenv(name, value)

    def without_here(self, value):
        return b":".join(part for part in value.split(b":") if part != self.here)

    def see_packages(self):
        """Of PYTHONPATH, as the interpreter would have done before anything was imported."""
        values = [item[11:] for item in self.environment if item.startswith(b"PYTHONPATH=")]
        value = self.without_here(b"".join(values))
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

    def prepare(self):
        import ctypes
        import gc

        self.load()
        self.be_like_cold()
        for _ in range(3):
            self.warm_up()
        self.library = ctypes.PyDLL(LIBRARY)
        self.next = self.library.sbr_worker_next
        self.prefault = self.library.sbr_worker_prefault
        self.can_run = self.library.sbr_worker_can_run
        self.put_script = self.library.sbr_worker_put_script
        self.put_script.argtypes = [ctypes.c_void_p, ctypes.c_int, *[ctypes.c_wchar_p] * 3]
        self.move = ctypes.memmove
        preloaded = {name.partition(".")[0] for name in sys.modules} - self.cold
        self.preloaded = joined(*(os.fsencode(name) for name in preloaded), b"")
        if is_known():
            self.shorten_end()
            End(self.library).register()
        # These belong to the program and are collected with the rest of it.
        program = [ctypes.py_object(thing) for thing in (sys.modules["__main__"], vars(sys.modules["__main__"]))]
        track, untrack = ctypes.pythonapi.PyObject_GC_Track, ctypes.pythonapi.PyObject_GC_UnTrack
        gc.collect()
        for thing in program:
            untrack(thing)
        gc.freeze()
        for thing in program:
            track(thing)


def keep(thing):
    """For good: what is never freed is not touched at the end."""
    import ctypes

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


def keep_code(frame):
    """Of all that is still running: it would be freed when it is done, with all its words and numbers."""
    while frame:
        keep(frame.f_code)
        frame = frame.f_back


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


def has_plain_end(kind, safe, dealloc_of, plain_dealloc):
    """Whether objects of that type just vanish: those of classes written in Python without a destructor do."""
    return not hasattr(kind, "__del__") and all(
        base in safe or dealloc_of(id(base) + DEALLOC) == plain_dealloc for base in kind.__mro__
    )


class End:
    """The last thing that runs before the interpreter takes itself apart."""

    def __init__(self, library):
        import ctypes
        import gc
        import threading
        import types
        import weakref

        class Plain:
            pass

        self.watch = library.sbr_worker_watch
        self.changed = library.sbr_worker_changed
        self.finish = library.sbr_worker_finish
        self.finish_all = library.sbr_worker_finish_all
        self.gc = gc
        self.memmove = ctypes.memmove
        self.string_at = ctypes.string_at
        self.stream_type = type(sys.stdout)
        self.reference = weakref.ref
        self.dealloc_of = lambda address: ctypes.c_void_p.from_address(address).value
        self.plain_dealloc = self.dealloc_of(id(Plain) + DEALLOC)
        self.safe = {object, type, dict, list, tuple, set, frozenset, str, bytes, int, float, complex, bool, range, slice}
        self.safe |= {staticmethod, classmethod, property, super, BaseException, Exception, weakref.ref, map, zip, filter}
        self.safe |= {value for name, value in vars(types).items() if name in SAFE_TYPES.split()}
        self.safe |= {type(iter(value)) for value in ([], (), {}, set(), "", {}.items(), {}.values(), range(1))}
        self.safe |= {type(value) for value in ({}.keys(), {}.items(), {}.values())}
        self.safe |= {type(threading.Lock()), type(threading.RLock())}
        self.safe |= {error for error in vars(__import__("builtins")).values() if isinstance(error, type) and issubclass(error, BaseException)}
        names = [name for name in sys.modules if name not in ("sys", "builtins", "__main__", __name__)]
        self.names = names
        self.kept = {name: sys.modules[name] for name in names}
        self.spare = {}
        self.addresses = (ctypes.c_void_p * len(names))(*(id(vars(self.kept[name])) for name in names))
        for thing in (self, self.spare, globals(), sys.modules[__name__]):
            keep(thing)
        keep_code(sys._getframe())
        keep_copies(self.kept.values())

    def register(self):
        import atexit

        if self.watch(self.addresses, len(self.names)) == 0:
            atexit.register(self.come)

    def flush(self):
        for stream in (sys.stdout, sys.stderr):
            if type(stream) is not self.stream_type:
                raise TypeError
            stream.flush()

    def is_plain(self):
        """Whether nothing of the program's has anything to say at its end."""
        gc = self.gc
        if gc.callbacks or gc.garbage or gc.get_debug() or len(sys._current_frames()) > 1:
            return False
        things = gc.get_objects()
        if len(things) > 50000:
            return False
        kinds = set(map(type, things))
        if self.reference in kinds and any(type(t) is self.reference and t.__callback__ for t in things):
            return False
        return all(
            kind in self.safe or has_plain_end(kind, self.safe, self.dealloc_of, self.plain_dealloc) for kind in kinds
        )

    def come(self):
        try:
            self.flush()
        except BaseException:
            self.finish_all()
            return
        if self.is_plain():
            self.finish(None)
        self.leave_modules(sys.modules)

    def leave_modules(self, modules):
        """What the zygote had loaded shall be left alone: the dictionary's contents change places, so that none of
        those modules is touched.  The program's own are the last ones in it; and those that it has put something into
        are the program's own too."""
        mine = []
        for name in reversed(modules):
            if self.kept.get(name) is modules[name]:
                break
            mine.append(name)
        number = self.changed(0)
        while number >= 0:
            mine.append(self.names[number])
            number = self.changed(number + 1)
        for name in ("sys", "builtins", "__main__", *reversed(mine)):
            if name in modules:
                self.spare[name] = modules.pop(name)
        size = dict.__basicsize__ - object.__basicsize__
        one, other = id(modules) + object.__basicsize__, id(self.spare) + object.__basicsize__
        contents = self.string_at(one, size)
        self.memmove(one, self.string_at(other, size), size)
        self.memmove(other, contents, size)


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


def read_order(zygote, message):
    """The words after the interpreter's own, and the environment."""
    directory, *fields = message.split(b"\0")
    arguments, at = take_list(fields, 0)
    environment, _ = take_list(fields, at)
    os.chdir(directory)
    n = len(zygote.command)
    if arguments[:n] != zygote.command_bytes or len(arguments) == n or early_ones(environment) != zygote.early:
        start_anew(arguments, environment)
    if environment != zygote.environment:
        zygote.take_environment(environment)
        if any(item.startswith(b"TZ=") for item in environment):
            import time

            time.tzset()
    return arguments[n:], environment


def put_words(zygote, words):
    """As if they had been on the command line from the beginning."""
    decoded = [os.fsdecode(word) for word in words]
    script = decoded[0]
    sys.path_importer_cache[script] = None # what the interpreter would find: not an archive
    sys.argv[:] = decoded
    if hasattr(sys, "orig_argv"):
        sys.orig_argv[:] = zygote.command + decoded
    absolute = script if script.startswith("/") else os.getcwd() + "/" + script
    zygote.put_script(zygote.places, len(zygote.places) // 2, zygote.placeholder, script, absolute)
    start, end = zygote.shown
    text = b"\0".join(zygote.command_bytes + words) + b"\0"
    if 0 < start < end and len(text) <= end - start:
        zygote.move(start, text.ljust(end - start, b"\0"), end - start)


def become(zygote, message):
    words, environment = read_order(zygote, message)
    room = len(zygote.placeholder) if words[0].startswith(b"/") else len(zygote.placeholder) - len(os.getcwdb()) - 1
    too_long = len(words[0]) >= room
    if zygote.must_start_anew or too_long or not zygote.can_run(words[0], zygote.preloaded):
        start_anew(zygote.command_bytes + words, environment)
    put_words(zygote, words)


def refresh(zygote):
    """What must differ from worker to worker, and what os.fork() itself would have done."""
    for hook in zygote.hooks:
        hook()
    threading = sys.modules["threading"]
    if hasattr(threading.main_thread(), "_set_native_id"):
        threading.main_thread()._set_native_id()
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()


def prefault(zygote):
    """Lets a copy run a program as a worker will.  True in the copy."""
    script = os.memfd_create("sample")
    os.write(script, b"print(1)\n") # what every program needs; more would be copied in vain
    if zygote.prefault() != 0:
        os.close(script)
        return False
    path = b"/proc/self/fd/%d" % script
    refresh(zygote)
    zygote.can_run(path, zygote.preloaded)
    put_words(zygote, [path])
    return True


def wait_for_program(zygote):
    if zygote.next() < 0:
        os._exit(0)
    refresh(zygote)
    os.write(GO, b"R")
    message = read_all(GO)
    os.close(GO)
    if not message:
        os._exit(1)
    become(zygote, message)


def main():
    zygote = Zygote()
    keep(zygote)
    zygote.prepare()
    if prefault(zygote):
        return
    os.write(WARM, b"w")
    os.close(WARM)
    wait_for_program(zygote)


main()
