"""Installs the packages named on the command line, and those of a manifest in the current directory.

python-install.py TARGET [NAME[@VERSION]]...

For tests of a project, which is at $PROJECT then, TARGET becomes an environment of its own.
Speaks only when something fails, and then with pip's own words.

Code of packages runs without a network.  A wheel has none.  A source package has: what it needs is read from the
files that it brings, not asked of its code; everything is fetched, the network is given back, and then it is built.
"""
import compileall
import glob
import os
import py_compile
import re
import runpy
import shutil
import socket
import subprocess
import sys
import sysconfig
import tempfile
from email.parser import HeaderParser

CLOSE_NAME = "close.sandbox-run.internal"
NEEDS_BUILDING = 84  # exit code of a pip that met a source package
# What builders ask for only when they run: by their module, and for an editable installation by their package.
BUILDERS_NEED = {"setuptools": ["wheel"], "mesonpy": ["ninja"], "scikit_build_core": ["cmake", "ninja"]}
EDITABLES_NEED = {"setuptools": ["wheel"], "hatchling": ["editables"], "meson-python": ["ninja"], "scikit-build-core": ["cmake", "ninja"]}
NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*(?:\[[A-Za-z0-9._, -]*\])?"


def requirement(word):
    """NAME@VERSION in pip's spelling.  NAME==1, NAME>=1 and "NAME @ address" are pip's own already."""
    named = re.fullmatch("(%s)(?:@([^@/:]+))?" % NAME, word)
    if named:
        name, version = named.groups()
        if version in (None, "latest"):
            return name
        return name + (version if version[0] in "<>=!~" else "==" + version)
    if re.match(NAME + r"\s*(?:[<>=!~;]|@ )", word):
        return word
    sys.exit("'%s' is no package: write NAME or NAME@VERSION" % word)


def find_pip():
    """The command that starts pip: as a module, or from the wheel that came with the interpreter."""
    python = [sys.executable, "-I", "-B"]
    try:
        import pip  # noqa: F401
        return python + ["-m", "pip"]
    except ImportError:
        pass
    wheels = glob.glob(os.path.join(sysconfig.get_path("stdlib"), "ensurepip", "_bundled", "pip-*.whl"))
    wheels += glob.glob("/usr/share/python-wheels/pip-*.whl")
    if wheels:
        return python + [os.path.join(wheels[-1], "pip")]
    sys.exit("%s has no pip: install the package python3-pip" % sys.executable)


def read_toml(path, pip):
    try:
        import tomllib
    except ImportError:  # before 3.11: pip carries the same reader
        if pip[-1] != "pip":
            sys.path.insert(0, os.path.dirname(pip[-1]))
        try:
            from pip._vendor import tomli as tomllib
        except ImportError:
            sys.exit("%s: needs Python 3.11 or a newer pip; a requirements.txt does not" % path)
    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except tomllib.TOMLDecodeError as error:
        sys.exit("%s: %s" % (path, error))


def manifest_words(pip):
    words = []
    if os.path.exists("requirements.txt"):
        words += ["-r", "requirements.txt"]
    if os.path.exists("pyproject.toml"):
        # Only the project's dependencies: the project itself is run, not installed.
        words += read_toml("pyproject.toml", pip).get("project", {}).get("dependencies", [])
    return words


def patience():
    """A host that is closed to installers is refused at once, and pip would ask it five times, for longer each."""
    places = [os.environ.get("PIP_CONFIG_FILE", ""), "/etc/pip.conf", "/etc/xdg/pip/pip.conf",
              os.path.expanduser("~/.config/pip/pip.conf"), os.path.expanduser("~/.pip/pip.conf"),
              os.path.join(sys.prefix, "pip.conf")]
    for place in filter(os.path.isfile, places):
        with open(place, errors="replace") as file:
            if re.search(r"^\s*retries\s*[=:]", file.read(), re.M):
                return []
    return [] if "PIP_RETRIES" in os.environ else ["--retries=3"]


def compile_all(target):
    """Bytecode that is valid whatever the times of the files are: a layer does not keep them.  Packages'
    own tests, half of the files of some, are left as they are."""
    compileall.compile_dir(target, quiet=2, workers=min(os.cpu_count() or 1, 8),
                           rx=re.compile("/tests?/"),
                           invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)


def enable_path_files(target):
    """Python reads *.pth only in its own directories; the few packages that need one get it read here."""
    custom = os.path.join(target, "sitecustomize.py")
    if glob.glob(os.path.join(target, "*.pth")) and not os.path.exists(custom):
        with open(custom, "w") as file:
            file.write("import os, site\nsite.addsitedir(os.path.dirname(__file__))\n")


def close_network():
    try:
        if socket.gethostbyname(CLOSE_NAME) == "127.0.0.1":
            return
    except OSError:
        pass
    sys.exit("the network could not be given back, so no package was built")


def requires_of_egg(path):
    """Lines of requires.txt as those of METADATA: [extra:marker] is a section."""
    found, extra, marker = [], "", ""
    with open(path, errors="replace") as file:
        for line in map(str.strip, file):
            if line.startswith("["):
                extra, _, marker = line.strip("[]").partition(":")
                if extra:
                    found.append("Provides-Extra: " + extra)
            elif line and not line.startswith("#"):
                name, _, own = line.partition(";")
                parts = [part.strip() for part in (own, marker) if part.strip()]
                if extra:
                    parts.append("extra == '%s'" % extra)
                clause = " and ".join("(%s)" % part if len(parts) > 1 else part for part in parts)
                found.append("Requires-Dist: " + name.strip() + (" ; " + clause if clause else ""))
    return found


def metadata_of(source, wanted, tables):
    """METADATA of a source package by its files: PKG-INFO, requires.txt, or pyproject.toml."""
    about = {}
    if os.path.isfile(os.path.join(source, "PKG-INFO")):
        with open(os.path.join(source, "PKG-INFO"), errors="replace") as file:
            about = HeaderParser().parse(file, headersonly=True)
    project = tables.get("project", {})
    name = about.get("Name") or project.get("name") or wanted
    version = about.get("Version") or project.get("version") or "0"
    lines = ["Metadata-Version: 2.1", "Name: %s" % name, "Version: %s" % version]
    python = about.get("Requires-Python") or project.get("requires-python")
    lines += ["Requires-Python: " + python] if python else []
    listed = about.get_all("Requires-Dist") or [] if about else []
    eggs = glob.glob(os.path.join(source, "*.egg-info", "requires.txt")) + \
        glob.glob(os.path.join(source, "*", "*.egg-info", "requires.txt"))
    if listed:
        lines += ["Provides-Extra: " + extra for extra in about.get_all("Provides-Extra") or []]
        lines += ["Requires-Dist: " + " ".join(one.split()) for one in listed]
    elif eggs:
        lines += requires_of_egg(eggs[0])
    else:
        lines += ["Requires-Dist: " + one for one in project.get("dependencies", [])]
        for extra, more in project.get("optional-dependencies", {}).items():
            lines.append("Provides-Extra: " + extra)
            for one in more:
                name_of, _, marker = one.partition(";")
                clause = "(%s) and extra == '%s'" % (marker, extra) if marker else "extra == '%s'" % extra
                lines.append("Requires-Dist: %s ; %s" % (name_of, clause))
    return name, version, "\n".join(lines) + "\n\n"


def run_pip(record, words):
    """pip itself, in this process, which runs no code of a package: with a record it writes there what builders need,
    without one it ends as soon as it meets a source package."""
    try:
        import pip  # noqa: F401
    except ImportError:
        sys.path.insert(0, os.path.dirname(find_pip()[-1]))
    try:
        from pip._internal import wheel_builder
        from pip._internal.distributions.sdist import SourceDistribution
        SourceDistribution.prepare_distribution_metadata
    except (ImportError, AttributeError):
        sys.exit("this pip cannot be kept from running the code of packages with a network: use pip 20 or newer")

    def prepare(self, *_args, **_more):
        if not record:
            sys.stderr.flush()
            os._exit(NEEDS_BUILDING)
        req = self.req
        source = req.unpacked_source_directory
        tables = {}
        if os.path.isfile(os.path.join(source, "pyproject.toml")):
            tables = read_toml(os.path.join(source, "pyproject.toml"), find_pip())
        builder = tables.get("build-system", {})
        needs = list(builder.get("requires", ["setuptools>=40.8.0"]))
        needs += BUILDERS_NEED.get(builder.get("build-backend", "setuptools").split(".")[0].split(":")[0], [])
        with open(record, "a") as file:
            file.write("".join(need.replace("\n", " ") + "\n" for need in needs) + "\n")
        name, version, text = metadata_of(source, req.name or "unnamed", tables)
        place = os.path.join(tempfile.mkdtemp(), re.sub("[^A-Za-z0-9.]+", "_", name) + "-" + version + ".dist-info")
        os.mkdir(place)
        with open(os.path.join(place, "METADATA"), "w") as file:
            file.write(text)
        req.metadata_directory = place

    def build(*_args, **_more):
        os._exit(NEEDS_BUILDING)

    SourceDistribution.prepare_distribution_metadata = prepare
    wheel_builder.build = build
    sys.argv = ["pip"] + words
    runpy.run_module("pip", run_name="__main__", alter_sys=True)


def tame_pip(record, *words, quiet=False):
    """pip with a network."""
    return subprocess.run([sys.executable, "-I", "-B", os.path.abspath(__file__), "--pip", record, *words],
                          stdout=subprocess.DEVNULL if quiet else None, stderr=subprocess.DEVNULL if quiet else None).returncode


SILENT = ["--quiet", "--no-input", "--no-color", "--disable-pip-version-check", "--progress-bar=off"]


def fetch_builders(record, place):
    """What the source packages need to be built, and what those need, until nothing is new."""
    done = set()
    while os.path.exists(record):
        with open(record) as file:
            sets = {one.strip() for one in file.read().split("\n\n")} - done - {""}
        if not sets:
            return
        done |= sets
        for one in sorted(sets):
            status = tame_pip(record, "download", *SILENT, "--no-cache-dir", "--prefer-binary", "--dest", place,
                              *patience(), *one.split("\n"))
            if status != 0:
                sys.exit(status)


class Shelf:
    """Packages are fetched first, by a pip that runs nothing of them; what builds them, then; and then there is no
    network."""

    def __init__(self):
        self.scratch = tempfile.mkdtemp()
        self.record, self.fetched, self.builders = (os.path.join(self.scratch, name) for name in ("record", "fetched", "builders"))
        os.mkdir(self.fetched)
        os.mkdir(self.builders)

    def fetch(self, wanted, quiet=False):
        own = ["--find-links=" + os.path.dirname(wheel) for wheel in bundled_setuptools()]  # a registry may lack it
        return tame_pip(self.record, "download", *SILENT, "--no-cache-dir", "--prefer-binary", "--dest", self.fetched, *own,
                        *patience(), *wanted, quiet=quiet)

    def close(self):
        """Returns options for pip, and its environment."""
        fetch_builders(self.record, self.builders)
        close_network()
        env = {name: value for name, value in os.environ.items() if not name.upper().startswith("PIP_")}
        env["PIP_CONFIG_FILE"] = os.devnull
        return ["--no-index", "--find-links", self.fetched, "--find-links", self.builders], env

    def remove(self):
        shutil.rmtree(self.scratch, ignore_errors=True)


def build_offline(target, wanted):
    """Fetches everything, then builds and installs it without a network."""
    shelf = Shelf()
    status = shelf.fetch(wanted)
    if status != 0:
        sys.exit(status)
    offline, env = shelf.close()
    files = sorted(glob.glob(os.path.join(shelf.fetched, "*")))
    status = subprocess.call(
        find_pip() + ["install", *SILENT, "--no-warn-script-location", "--no-cache-dir", "--no-compile", *offline,
                      "--target", target, *files], env=env)
    shelf.remove()
    if status != 0:
        sys.exit(status)


QUIET = ["install", "--quiet", "--no-input", "--no-color", "--disable-pip-version-check", "--no-warn-script-location",
         "--no-cache-dir", "--progress-bar=off", "--no-compile", "--prefer-binary"]


def make_environment(target, pip):
    """As `python -m venv` does; the way to what the project's set-up leaves is a part of it."""
    import venv
    venv.EnvBuilder(symlinks=True, with_pip=False).create(target)
    python = os.path.join(target, "bin", "python3")
    site = glob.glob(os.path.join(target, "lib", "python3*", "site-packages"))[0]
    with open(os.path.join(site, "sandbox-run-project.pth"), "w") as file:
        file.write("import site; site.addsitedir('/build/site')\n")
    if pip[-1] == "pip":
        return pip + ["--python", python], site
    return [python, "-I", "-B", pip[-1]], site


def bundled_setuptools():
    """The one that an environment of this Python begins with; from 3.12 on there is none."""
    places = [os.path.join(sysconfig.get_path("stdlib"), "ensurepip", "_bundled"), "/usr/share/python-wheels"]
    wheels = [wheel for place in places for wheel in glob.glob(os.path.join(place, "setuptools-*.whl"))]
    return wheels[:1] if sys.version_info < (3, 12) else []


def install_for_project(target, words):
    """In turns: what the project needs has to be there; a group for tests that cannot be had is named."""
    import importlib.util
    about = importlib.util.spec_from_file_location("project", os.path.join(os.path.dirname(os.path.abspath(__file__)), "python-project.py"))
    module = importlib.util.module_from_spec(about)
    about.loader.exec_module(module)
    pip = find_pip()
    wanted = module.Wanted(os.environ["PROJECT"], lambda path: read_toml(path, pip)).read()
    groups = wanted.for_tests()
    client, site = make_environment(target, pip)
    build = wanted.build
    if not build and any(wanted.has(name) for name in ("setup.py", "setup.cfg", "pyproject.toml")):
        build = ["setuptools", "wheel"]
    named = {re.split(r"[^a-z0-9-]", word.lower().replace("_", "-"))[0] for word in build}
    build = build + [need for name in sorted(named) for need in EDITABLES_NEED.get(name, ())]
    limits = []
    if wanted.pins:
        with open(os.path.join(os.environ.get("TMPDIR", "/tmp"), "pins.txt"), "w") as file:
            file.write("\n".join(wanted.pins) + "\n")
        limits = ["-c", file.name]

    shelf, env, offline = Shelf(), None, []

    def install(what, quiet=False):
        return subprocess.run(client + QUIET + offline + what, env=env, stderr=subprocess.PIPE if quiet else None,
                              stdout=subprocess.PIPE if quiet else None).returncode

    def in_turns(one, needed, everything):
        """`one` fetches or installs; the words that cannot be had."""
        if not everything or one(limits + everything, True) == 0:
            return []
        if needed and (not limits or one(limits + needed, True) != 0) and one(needed) != 0:
            sys.exit(1)
        missing = []
        for name, group in groups.items():
            if one(group, True) != 0:
                missing += [(name, word) for word in group if one([word], True) != 0]
        return missing

    needed = list(dict.fromkeys(build + wanted.needed + [requirement(word) for word in words]))
    everything = list(dict.fromkeys(needed + [word for group in groups.values() for word in group]))
    missing = in_turns(shelf.fetch, needed, everything)
    offline, env = shelf.close()
    if bundled_setuptools():
        install(["--no-deps", *bundled_setuptools()], True)
    groups = {name: [word for word in group if (name, word) not in missing] for name, group in groups.items()}
    everything = list(dict.fromkeys(needed + [word for group in groups.values() for word in group]))
    missing += in_turns(install, needed, everything)
    for name, word in missing:
        wanted.notes.append("the project's list '%s' names %s, which could not be installed" % (name, word))
    shelf.remove()
    if wanted.own:  # a package for its tests may need it, too, and would bring a published copy
        subprocess.run(client + ["uninstall", "--quiet", "--yes", wanted.own], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if wanted.notes:
        with open(os.path.join(target, "sandbox-run-notes"), "w") as file:
            file.write("\n".join(wanted.notes) + "\n")
    compile_all(site)


def main():
    if sys.argv[1] == "--pip":
        run_pip(sys.argv[2], sys.argv[3:])
        return
    target, words = sys.argv[1], sys.argv[2:]
    if os.environ.get("PROJECT"):
        install_for_project(target, words)
        return
    wanted = manifest_words(find_pip()) + [requirement(word) for word in words]
    if not wanted:
        return
    status = tame_pip("", "install", *SILENT, "--no-warn-script-location", "--no-cache-dir", "--no-compile",
                      "--prefer-binary", "--upgrade", "--target", target, *patience(), *wanted)
    if status == NEEDS_BUILDING:
        build_offline(target, wanted)
    elif status != 0:
        sys.exit(status)
    enable_path_files(target)
    compile_all(target)


if __name__ == "__main__":
    main()
