"""Makes the project's own package usable for its tests: DIRECTORY/site has its metadata and the way to its
sources, DIRECTORY/bin its commands, DIRECTORY/work what its build put among the sources.

python-setup.py DIRECTORY, in the project, with the interpreter of its packages; there is no network.

A project that cannot be set up may still be tested: DIRECTORY/failed has the last words then.
"""
import configparser
import glob
import importlib
import io
import os
import shutil
import stat
import subprocess
import sys
import zipfile

RESULTS = {"build", "dist", "__pycache__", "node_modules", ".git", ".tox", ".venv"}


def own_files():
    """What is there, by path: size and time."""
    found = {}
    for folder, folders, names in os.walk("."):
        folders[:] = [name for name in folders if name not in RESULTS and not name.endswith(".egg-info")]
        for name in names:
            path = os.path.join(folder, name)
            about = os.lstat(path)
            if stat.S_ISREG(about.st_mode):
                found[path] = (about.st_size, about.st_mtime_ns)
    return found


def build_system():
    if not os.path.exists("pyproject.toml"):
        return {}
    try:
        import tomllib
    except ImportError:
        from pip._vendor import tomli as tomllib
    with open("pyproject.toml", "rb") as file:
        return tomllib.load(file).get("build-system", {})


def find_backend():
    system = build_system()
    name = system.get("build-backend", "setuptools.build_meta:__legacy__")
    sys.path[:0] = [os.path.abspath(path) for path in system.get("backend-path", [])]
    module, _, attribute = name.partition(":")
    backend = importlib.import_module(module)
    for part in filter(None, attribute.split(".")):
        backend = getattr(backend, part)
    return backend


def source_folder():
    return os.path.abspath("src" if glob.glob("src/*/__init__.py") or glob.glob("src/*.py") else ".")


def unpack(wheel, site, editable):
    """Of a wheel that is no editable one, the metadata alone, and the compiled modules beside the sources."""
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            top = name.split("/")[0]
            if editable or top.endswith(".dist-info"):
                archive.extract(name, site)
            elif name.endswith((".so", ".pyd")):
                archive.extract(name, source_folder())
    if not editable:
        with open(os.path.join(site, "sandbox-run-sources.pth"), "w") as file:
            file.write(source_folder() + "\n")


SCRIPT = """#!%s
import sys
from %s import %s
sys.exit(%s())
"""


def write_commands(site, folder):
    for path in glob.glob(os.path.join(site, "*.dist-info", "entry_points.txt")):
        entries = configparser.ConfigParser(delimiters=("=",), strict=False, interpolation=None)
        entries.optionxform = str
        entries.read(path)
        for kind in ("console_scripts", "gui_scripts"):
            for name, value in entries.items(kind) if entries.has_section(kind) else ():
                module, _, function = value.split("[")[0].strip().partition(":")
                os.makedirs(folder, exist_ok=True)
                target = os.path.join(folder, os.path.basename(name))
                with open(target, "w") as file:
                    file.write(SCRIPT % (sys.executable, module, function.split(".")[0], function))
                os.chmod(target, 0o755)


ORIGIN = '''"""Says so when the tests imported another copy of the project's own package."""
import atexit
import os
import sys

NAMES = %r
PROJECT = %r


def look():
    for name in NAMES:
        place = getattr(sys.modules.get(name), "__file__", None)
        if place and not os.path.abspath(place).startswith(PROJECT + os.sep):
            sys.stderr.write("sandbox-run: '%%s' was imported from %%s, not from the project\\\\n" %% (name, place))


if NAMES:
    atexit.register(look)
'''


def write_origin(site):
    folder = source_folder()
    names = [os.path.basename(os.path.dirname(path)) for path in glob.glob(os.path.join(folder, "*", "__init__.py"))]
    names = sorted(set(names) - {"tests", "test", "docs", "doc", "examples"})
    with open(os.path.join(site, "sandbox_run_origin.py"), "w") as file:
        file.write((ORIGIN % (names, os.path.abspath("."))).replace("\\\\n", "\\n"))
    with open(os.path.join(site, "sandbox-run-origin.pth"), "w") as file:
        file.write("import sandbox_run_origin\n")


def keep_made(before, target):
    for path, about in own_files().items():
        if before.get(path) != about:
            place = os.path.join(target, path)
            os.makedirs(os.path.dirname(place), exist_ok=True)
            shutil.copy2(path, place)


def build(site, scratch):
    backend = find_backend()
    editable = hasattr(backend, "build_editable")
    if editable:
        wanted = getattr(backend, "get_requires_for_build_editable", None)
    else:
        wanted = getattr(backend, "get_requires_for_build_wheel", None)
    if wanted:
        wanted()
    wheel = (backend.build_editable if editable else backend.build_wheel)(scratch)
    unpack(os.path.join(scratch, wheel), site, editable)


def work(target):
    site, scratch = os.path.join(target, "site"), os.path.join(target, "scratch")
    before = own_files()
    os.makedirs(site, exist_ok=True)
    os.makedirs(scratch, exist_ok=True)
    if any(os.path.exists(name) for name in ("setup.py", "setup.cfg", "pyproject.toml")):
        build(site, scratch)
        write_commands(site, os.path.join(target, "bin"))
        write_origin(site)
        keep_made(before, os.path.join(target, "work"))


def main():
    target = sys.argv[1]
    if "--build" not in sys.argv:  # what the backend prints, and how it ends, is its own
        done = subprocess.run([sys.executable, "-B", os.path.abspath(__file__), target, "--build"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        shutil.rmtree(os.path.join(target, "scratch"), ignore_errors=True)
        if done.returncode != 0:
            sys.stdout.write(done.stdout.decode(errors="replace"))
            with open(os.path.join(target, "failed"), "w") as file:
                file.write("\n".join(done.stdout.decode(errors="replace").strip().splitlines()[-12:]) + "\n")
            os.makedirs(os.path.join(target, "site"), exist_ok=True)
            with open(os.path.join(target, "site", "sandbox-run-sources.pth"), "w") as file:
                file.write(source_folder() + "\n")
        return
    work(target)


if __name__ == "__main__":
    main()
