"""The root file systems of guests: this machine's own, or one made with mmdebstrap.

roots/NAME.yaml says of the latter: packages, variant (mmdebstrap's; `extract` unpacks only), files
(contents by path; @GUEST@ is tests/hosts/guest), after (lines for a shell: in the new root, or beside
it where its programs cannot run here).

Usage: rootfs.py NAME ARCH     makes it, and prints where it is
"""
import os
import re
import sys
from pathlib import Path

import yaml

from packages import DEBIAN, Failed, made, run
from paths import HERE, WORK

SUITE = "bookworm"


def _sources():
    """The machine's own files of package sources, as far as they are Debian's."""
    etc = Path("/etc/apt")
    files = [etc / "sources.list", *sorted((etc / "sources.list.d").glob("*"))]
    found = [path for path in files if path.exists()
             and re.search(rf"/debian\b[^#]*\b{SUITE}\b", path.read_text(encoding="utf-8"), re.S)]
    return found or ["http://deb.debian.org/debian"]


def _files(target, files):
    for name, text in files.items():
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("@GUEST@", str(HERE / "guest")), encoding="utf-8")


def _make(recipe, arch, target):
    target.rmdir()  # mmdebstrap wants to make it
    foreign = recipe["variant"] == "extract"
    words = ["mmdebstrap", f"--arch={DEBIAN[arch]}", f"--variant={recipe['variant']}",
             "--skip=cleanup/apt", "--aptopt=APT::Sandbox::User \"root\"",
             f"--include={','.join(recipe['packages'])}"]
    if foreign:
        words.append("--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr")
    run([*words, SUITE, target, *_sources()], env={**os.environ, "LC_ALL": "C"})
    os.chmod(target, 0o755)
    _files(target, recipe.get("files", {}))
    for line in recipe.get("after", ()):
        run(["sh", "-c", line], cwd=target) if foreign else run(["chroot", target, "sh", "-c", line])


def directory(name, arch):
    """What is shared with the guest as its root."""
    if name == "this-machine":
        return Path("/")
    if os.path.isabs(name):
        return Path(name)
    path = HERE / f"roots/{name}.yaml"
    if not path.exists():
        raise Failed(f"there is no root '{name}' in tests/hosts/roots")
    text = path.read_text(encoding="utf-8")
    recipe = yaml.safe_load(text)
    return made(WORK / "roots" / f"{name}-{arch}", (text, str(HERE), 2),
                lambda target: _make(recipe, arch, target))


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    try:
        print(directory(*sys.argv[1:]))
    except Failed as problem:
        sys.exit(f"rootfs.py: {problem}")
