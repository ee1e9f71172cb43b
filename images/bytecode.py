"""Compiles the modules of an image's Python, as the scripts of Debian's packages would.

Runs in a sandbox of the image and writes below /out, as if that were the root.  The same files make the same bytes:
one process takes them in the order of their names, and PYTHONHASHSEED is set.  Bytecode bears the
time and the size of its source, as Debian's own does, so a program that changes a module is not
misled.  Tests of modules are imported by nobody who runs a program."""
import importlib.util
import os
import py_compile
import sys

OUT = "/out"
TOP = "/usr/lib"
SKIPPED = {"__pycache__", "idlelib", "lib2to3", "test", "tests"}


def compile_one(path):
    made = OUT + importlib.util.cache_from_source(path)
    try:
        py_compile.compile(path, made, doraise=True, invalidation_mode=py_compile.PycInvalidationMode.TIMESTAMP)
    except (py_compile.PyCompileError, OSError, ValueError, RecursionError):
        return  # it is no module of this Python; an import would say so
    # No time of this build stays.
    source = os.stat(path)
    os.utime(made, ns=(source.st_mtime_ns, source.st_mtime_ns))


def main():
    for name in sorted(os.listdir(TOP)):
        if not name.startswith("python3"):
            continue
        for folder, folders, files in os.walk(os.path.join(TOP, name)):
            folders[:] = sorted(set(folders) - SKIPPED)
            for file in sorted(files):
                if file.endswith(".py"):
                    compile_one(os.path.join(folder, file))


sys.exit(main())
