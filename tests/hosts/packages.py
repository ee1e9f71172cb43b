"""Debian packages for guests: kernels, busybox, whole file systems.

They come through apt with state directories of their own and the machine's own sources, so that
the machine stays as it was; what is there already is not fetched again.
"""
import contextlib
import fcntl
import hashlib
import os
import platform
import shutil
import subprocess

from paths import WORK

DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}


class Failed(Exception):
    """A guest cannot be made; the text says why."""


def run(words, **kwargs):
    """Runs a program of the machine; its output is the reason when it fails."""
    done = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **kwargs)
    text = done.stdout.decode(errors="replace")
    if done.returncode:
        raise Failed(f"{' '.join(map(str, words))}\n{text}")
    return text


@contextlib.contextmanager
def _alone(name):
    """Two runs of the tool do not make the same thing at the same time."""
    WORK.mkdir(exist_ok=True)
    with open(WORK / f".lock-{name}", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def made(target, recipe, make):
    """Makes the directory `target` unless it is there, whole, and made by the same recipe."""
    key = hashlib.sha256(repr(recipe).encode()).hexdigest()
    stamp = target.with_name(f".{target.name}.made")
    with _alone(f"{target.parent.name}-{target.name}"):
        if target.exists() and stamp.exists() and stamp.read_text(encoding="utf-8") == key:
            return target
        stamp.unlink(missing_ok=True)
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        make(target)
        stamp.write_text(key, encoding="utf-8")
    return target


def apt_environment(arch):
    """An environment in which apt knows another architecture and no installed package."""
    debian = DEBIAN[arch]
    home = WORK / "apt" / debian
    for path in ("state/lists/partial", "cache/archives/partial"):
        (home / path).mkdir(parents=True, exist_ok=True)
    (home / "state/status").touch()
    conf = home / "apt.conf"
    conf.write_text(
        f'Dir::State "{home}/state";\nDir::State::status "{home}/state/status";\n'
        f'Dir::Cache "{home}/cache";\nDir::Log "{home}";\n'
        f'APT::Architecture "{debian}";\n#clear APT::Architectures;\n'
        f'APT::Architectures {{ "{debian}"; }};\nAPT::Sandbox::User "root";\n', encoding="utf-8")
    return {**os.environ, "APT_CONFIG": str(conf), "LC_ALL": "C"}


def _latest(env, package):
    """What a package that only names the latest version of another one depends on."""
    for line in run(["apt-cache", "depends", package], env=env).splitlines():
        if line.strip().startswith("Depends:"):
            return line.split(":")[1].strip()
    raise Failed(f"{package} depends on nothing")


def _fetch(arch, target):
    """The kernel and busybox of an architecture, unpacked; modules.dep is made for the modules."""
    env = apt_environment(arch)
    run(["apt-get", "-q", "update"], env=env)
    image = _latest(env, f"linux-image-cloud-{DEBIAN[arch]}")
    debs = target / "debs"
    debs.mkdir()
    run(["apt-get", "-q", "download", image, "busybox-static"], env=env, cwd=debs)
    for deb in debs.glob("*.deb"):
        run(["dpkg-deb", "-x", deb, target])
    shutil.rmtree(debs)
    version = next((target / "lib/modules").iterdir()).name
    ours = target if arch == platform.machine() else kernel(platform.machine())
    run([ours / "bin/busybox", "depmod", "-b", target, version])


def kernel(arch):
    """The directory with boot/vmlinuz-*, lib/modules/ and bin/busybox for an architecture."""
    return made(WORK / "kernels" / arch, ("kernel", 1), lambda target: _fetch(arch, target))
