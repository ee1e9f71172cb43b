"""Source archives of projects, of pinned versions, from the registries and from Debian, each in a folder of its own."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import urllib.parse
import zipfile

import support

PATIENCE = 900  # seconds, for a slow registry or machine


def command(words, folder, check=True, **env):
    return subprocess.run([str(word) for word in words], cwd=folder, check=check, timeout=PATIENCE, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **env})


def unpack(archive, folder):
    with tarfile.open(archive) as file:
        file.extractall(folder)  # of a pinned version
    return next(path for path in sorted(folder.iterdir()) if path.is_dir())


def pypi(name, version, folder):
    index = f"https://pypi.org/simple/{name}/"
    page = command(["curl", "-fsSL", index], folder).stdout.decode()
    link = next(one for one in re.findall(r'href="([^"#]+)', page) if re.search(rf"[-/]{re.escape(version)}\.tar\.gz$|-{re.escape(version)}\.tar\.gz$", one))
    command(["curl", "-fsSL", "-o", "archive.tar.gz", urllib.parse.urljoin(index, link)], folder)
    return unpack(folder / "archive.tar.gz", folder)


def npm(name, version, folder):
    command(["npm", "pack", "--silent", f"{name}@{version}"], folder)
    return unpack(next(folder.glob("*.tgz")), folder)


def crate(name, version, folder):
    command(["curl", "-fsSL", "-o", "archive.tar.gz", f"https://static.crates.io/crates/{name}/{name}-{version}.crate"], folder)
    return unpack(folder / "archive.tar.gz", folder)


def go(name, version, folder):
    module = json.loads(command(["go", "mod", "download", "-json", f"{name}@{version}"], folder,
                                GOMODCACHE=str(folder / "modules"), GOFLAGS="-modcacherw").stdout)
    shutil.copytree(module["Dir"], folder / "project")
    command(["chmod", "-R", "u+w", "project"], folder)
    if not (folder / "project/go.mod").exists():
        command(["go", "mod", "init", name], folder / "project")
    return folder / "project"


def maven(name, version, folder):
    """Main and test sources; a pom.xml is not among them."""
    client = ["mvn", "-q", "-B", f"-Dmaven.repo.local={folder}/repository"]
    for archive, target in (("sources", "main"), ("test-sources", "test")):
        command([*client, "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy", "-DoutputDirectory=.",
                 f"-Dartifact={name}:{version}:jar:{archive}"], folder)
        with zipfile.ZipFile(folder / f"{name.split(':')[1]}-{version}-{archive}.jar") as file:
            file.extractall(folder / "project/src" / target / "java")
    return folder / "project"


def source_lists():
    """The machine's own entries for Debian, as `deb-src`."""
    out = []
    for path in (pathlib.Path("/etc/apt/sources.list.d/debian.sources"), pathlib.Path("/etc/apt/sources.list")):
        if not path.exists():
            continue
        if path.suffix == ".sources":
            stanza = path.read_text().split("\n\n")[0]
            field = {key: value for key, value in re.findall(r"^([A-Za-z-]+):[ \t]*(.*)$", stanza, re.M)}
            out += [f"deb-src [signed-by={field['Signed-By']}] {field['URIs']} {suite} main" for suite in field["Suites"].split()]
        out += re.sub(r"^deb ", "deb-src ", path.read_text(), flags=re.M).splitlines() if path.suffix == ".list" else []
    return "\n".join(out) + "\n"


class Debian:
    """Source packages; their lists are fetched once for each build directory."""

    def __init__(self):
        self.place = None

    def __call__(self, name, version, folder):
        if not self.place:
            self.place = support.BUILD / "suite-sources"
            (self.place / "lists/partial").mkdir(parents=True, exist_ok=True)
            (self.place / "sources.list").write_text(source_lists())
            if not list(self.place.glob("lists/*Sources*")):
                self.apt("update")
        self.apt("source", f"{name}={version}", folder=folder)
        return next(path for path in sorted(folder.iterdir()) if path.is_dir())

    def apt(self, *words, folder="/"):
        options = {"Dir::Etc::SourceList": self.place / "sources.list", "Dir::Etc::SourceParts": "/dev/null",
                   "Dir::State::Lists": self.place / "lists", "Dir::Cache": self.place, "APT::Sandbox::User": "root"}
        command(["apt-get", "-q", *(f"-o{key}={value}" for key, value in options.items()), *words], folder)


debian = Debian()
