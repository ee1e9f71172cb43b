"""Installs the packages named on the command line, and those of a manifest in the current directory.

python-install.py TARGET [NAME[@VERSION]]...

Speaks only when something fails, and then with pip's own words.
"""
import compileall
import glob
import os
import py_compile
import re
import subprocess
import sys
import sysconfig

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


def main():
    target, words = sys.argv[1], sys.argv[2:]
    pip = find_pip()
    wanted = manifest_words(pip) + [requirement(word) for word in words]
    if not wanted:
        return
    command = pip + [
        "install", "--quiet", "--no-input", "--no-color", "--disable-pip-version-check",
        "--no-warn-script-location", "--no-cache-dir", "--progress-bar=off",
        "--no-compile", "--prefer-binary", "--upgrade", "--target", target]
    status = subprocess.call(command + patience() + wanted)
    if status != 0:
        sys.exit(status)
    enable_path_files(target)
    compile_all(target)


if __name__ == "__main__":
    main()
