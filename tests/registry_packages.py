"""Packages of the language registries that tests use: pinned by a lock file, fetched once, kept beside the build."""
import contextlib
import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess

import machine_gives
import support

PLACE = support.TEST_BUILD / "packages"
PATIENCE = 300  # seconds, for a slow registry


@contextlib.contextmanager
def place_for(name, *recipes):
    """A directory for what these files describe, and whether it is still to be filled.  One process fills it."""
    digest = hashlib.sha256(b"\0".join(pathlib.Path(recipe).read_bytes() for recipe in recipes)).hexdigest()[:16]
    place = PLACE / f"{name}-{digest}"
    PLACE.mkdir(parents=True, exist_ok=True)
    with open(PLACE / f"{name}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "complete").exists():
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(mode=0o755)
            yield place, True
            (place / "complete").touch()
        else:
            yield place, False


def fetch(words, **kwargs):
    """A machine may have no way to a registry."""
    done = subprocess.run(words, check=False, timeout=PATIENCE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          **kwargs)
    said = done.stderr.decode(errors="replace").strip().splitlines()
    machine_gives.skip_if(f"the packages of this test cannot be fetched: {said[0] if said else done.returncode}"
                          if done.returncode else None)


def debian(*packages):
    """A directory with these packages of Debian and all that they need, unpacked and not installed."""
    tool = support.REPO / "tools" / "packages.sh"
    with place_for(packages[0], tool) as (place, empty):
        if empty:
            fetch([tool, "unpack", place, *packages])
    return place


def npm(name, folder):
    """The node_modules of folder/package-lock.json."""
    folder = pathlib.Path(folder)
    with place_for(name, folder / "package.json", folder / "package-lock.json") as (place, empty):
        if empty:
            for recipe in ("package.json", "package-lock.json"):
                shutil.copy(folder / recipe, place)
            fetch(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"],
                  cwd=place, env={**os.environ, "npm_config_cache": str(place / "cache")})
            shutil.rmtree(place / "cache", ignore_errors=True)
    return place / "node_modules"


def pip(name, requirements):
    """A directory for PYTHONPATH with what the file names, by exact versions and nothing else.  Not compiled: a client
    imports a part of it, and keeps the bytecode of that part itself."""
    with place_for(name, requirements) as (place, empty):
        if empty:
            fetch(["/usr/bin/python3", "-m", "pip", "install", "--quiet", "--no-deps", "--no-cache-dir", "--no-compile",
                   "--disable-pip-version-check", "--target", place / "site", "-r", requirements])
    return place / "site"
