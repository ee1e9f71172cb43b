"""A project that tries at once what a project can try on whoever reads it outside of a sandbox.

`Hostile(top)` makes top/project.  Two canaries tell what happened: SECRET lies in a file outside of the project, and no
answer, no program and no model may have it; `command` is a script outside, named wherever git or a tool would run a
command, and touches a file in top/touched, which stays empty."""
import os
import pathlib
import subprocess

SECRET = "canary-8d1f-of-a-file-outside"
GIT = ("git", "-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "commit.gpgsign=false")

# Where a link to the secret, or to its directory, stands in a case; each alone, because the first that is refused ends
# the look at the cases.
CASES = {"stdin": "file", "stdout": "file", "stderr": "file", "status": "file", "command": "file", "normalize": "file",
         "input": "dir", "tree": "dir", "input/key": "file", "tree/key": "file", "input/deep/er": "dir"}

CONFIG = """[core]
    repositoryformatversion = 1
    bare = false
    fsmonitor = {command} fsmonitor
    sshCommand = {command} ssh
    pager = {command} pager
    editor = {command} editor
    askPass = {command} askpass
    gitProxy = {command} proxy
    alternateRefsCommand = {command} alternates
    hooksPath = {hooks}
    attributesFile = {secret}
    excludesFile = {secret}
[include]
    path = more.config
    path = {secret}
[includeIf "gitdir:**"]
    path = more.config
[extensions]
    partialClone = origin
[protocol]
    allow = always
[protocol "ext"]
    allow = always
[remote "origin"]
    url = "ext::{command} remote"
    fetch = +refs/heads/*:refs/remotes/origin/*
    promisor = true
    partialclonefilter = blob:none
    uploadpack = {command} uploadpack
    receivepack = {command} receivepack
    vcs = ext
[diff]
    external = {command} diff
    submodule = log
[diff "hostile"]
    textconv = {command} textconv
    command = {command} driver
[filter "hostile"]
    clean = {command} clean
    smudge = {command} smudge
    process = {command} process
    required = true
[merge "hostile"]
    driver = {command} merge
[credential]
    helper = "!{command} credential"
[gpg]
    program = {command} gpg
[alias]
    diff = "!{command} alias"
    diff-files = "!{command} alias"
    diff-index = "!{command} alias"
    ls-files = "!{command} alias"
    cat-file = "!{command} alias"
    rev-parse = "!{command} alias"
[uploadpack]
    packObjectsHook = {command} pack
[trace2]
    eventTarget = {touched}/trace
    normalTarget = {touched}/trace
"""

# Files that tools of the host would take orders from, if one of them ran there.
ORDERS = {
    ".npmrc": "node-options=--require={command}\nscript-shell={command}\n",
    "pip.conf": "[global]\nindex-url = file://{secret}\n",
    ".envrc": "{command} envrc\n",
    ".vscode/tasks.json": '{{"tasks": [{{"command": "{command}"}}]}}',
    ".sandbox-run.yaml": "volumes: ['{outside}:/outside:rw']\nnetwork: full\npolicy: {secret}\n",
    ".sandboxignore": "!{secret}\n!**\n",
    "conftest.py": "import os\nos.system('{command} conftest')\n",
    "Makefile": "all:\n\t-{command} make\n\t-cat {secret} made/*\n.PHONY: all\n",
    "package.json": '{{"name": "x", "version": "1.0.0", "main": "../outside/secret", "scripts": {{"test": "{command} npm; cat {secret}"}}}}',
}


class Hostile:
    """`golden`: one of CASES, or None for no golden cases."""

    def __init__(self, top, golden=None, git=True, orders=True):
        self.top = pathlib.Path(top)
        self.project, self.outside, self.touched = (self.top / name for name in ("project", "outside", "touched"))
        for place in (self.project, self.outside, self.touched, self.outside / "dir/sub"):
            place.mkdir(parents=True, exist_ok=True)
        self.touched.chmod(0o777)
        self.secret = self.outside / "secret"
        for path in (self.secret, self.outside / "dir/key", self.outside / "dir/sub/key", self.outside / "dir/a.in"):
            path.write_text(SECRET + "\n")
        self.command = self.outside / "command"
        self.command.write_text(f'#!/bin/sh\n: > {self.touched}/"$1"-$$\ncat\n')
        self.command.chmod(0o755)
        (self.project / "a.py").write_text("print(1)\n")
        (self.project / "test_a.py").write_text("import unittest\n\nclass A(unittest.TestCase):\n    def test_a(self):\n        pass\n")
        if golden:
            self.plant_case(golden)
        if orders:
            self.plant_orders()
        if git:
            self.plant_git()

    @property
    def names(self):
        return {"command": self.command, "secret": self.secret, "outside": self.outside, "touched": self.touched,
                "hooks": self.outside / "hooks"}

    def lead(self, path, kind="file"):
        """A link at a path of the project to the secret, or to the directory with it."""
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_symlink() or path.is_file():
            path.unlink()
        path.symlink_to(self.secret if kind == "file" else self.outside / "dir")

    def plant_case(self, where, folder="golden"):
        case = self.project / folder / "one"
        case.mkdir(parents=True, exist_ok=True)
        (case.parent / "command").write_text("cat; find . -type f -exec cat {} +\n")
        (case / "stdout").write_text("nothing\n")
        self.lead(case / where, CASES[where])

    def plant_orders(self):
        for name, text in ORDERS.items():
            (self.project / name).parent.mkdir(exist_ok=True)
            (self.project / name).write_text(text.format(**self.names))
        for name in ("pyproject.toml", "setup.cfg", "Cargo.toml", "go.mod", "pom.xml", "requirements.txt", "tsconfig.json",
                     "package-lock.json", "Gemfile", "src/main.rs", "cases/1.in", "cases/1.out"):
            self.lead(self.project / name)
        (self.project / "cases/2.in").write_text("two\n")
        self.lead(self.project / "cases/more", "dir")
        for name in ("tests/pipe.py", "mypy.ini", "tox.ini"):
            (self.project / name).parent.mkdir(exist_ok=True)
            os.mkfifo(self.project / name)
        os.mkdir(os.fsencode(self.project) + b"/not\xff\xfeutf8")
        (self.project / "-rf").write_text("x\n")
        with open(self.project / "ruff.toml", "wb") as huge:
            huge.truncate(1 << 40)
        deep = self.project / "/".join(["deep"] * 60)
        deep.mkdir(parents=True)
        self.lead(deep / "test_b.py")

    def fill(self, count):
        """Many small files."""
        many = self.project / "many"
        many.mkdir()
        handle = os.open(many, os.O_RDONLY)
        for number in range(count):
            os.close(os.open(str(number), os.O_CREAT | os.O_WRONLY, 0o644, dir_fd=handle))
        os.close(handle)

    def git(self, *words):
        return subprocess.run([*GIT, *words], cwd=self.project, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60,
                              env={"PATH": os.environ["PATH"], "HOME": str(self.top)}, check=True).stdout.decode().strip()

    def plant_git(self):
        """A repository with a commit, an index that is racily clean, a missing object, and a configuration of orders."""
        self.git("init", "-q", ".")
        (self.project / "b.py").write_text("x = 1\n")
        self.git("add", "a.py", "b.py", "test_a.py")
        self.git("commit", "-q", "-m", "one")
        (self.project / "b.py").write_text("x = 2\n")
        self.git("add", "b.py")
        blob = self.git("rev-parse", ":b.py")
        (self.project / ".git/objects" / blob[:2] / blob[2:]).unlink()
        (self.project / "b.py").write_text("x = 3333\n")  # the working file is another: the missing object is wanted
        (self.project / ".gitattributes").write_text("* filter=hostile diff=hostile merge=hostile\n")
        hooks = self.outside / "hooks"
        hooks.mkdir(exist_ok=True)
        for name in ("post-index-change", "fsmonitor-watchman", "pre-push", "reference-transaction"):
            (hooks / name).write_text(f"#!/bin/sh\nexec {self.command} hook\n")
            (hooks / name).chmod(0o755)
        config = CONFIG.format(**self.names)
        (self.project / ".git/config").write_text(config)
        (self.project / ".git/more.config").write_text(config.replace("path = more.config\n", "\n"))
        now = (self.project / ".git/index").stat().st_mtime_ns
        os.utime(self.project / "a.py", ns=(now, now))  # as new as the index: git looks at the content, by the filter

    def give(self, uid):
        for path in (self.top, *self.top.rglob("*")):
            os.chown(path, uid, uid, follow_symlinks=False)

    def held(self, *said):
        """Neither canary is touched: no command ran, and the secret is in nothing of what was said."""
        ran = sorted(path.name for path in self.touched.iterdir())
        assert not ran, f"a command of the project ran outside: {ran}"
        for text in said:
            text = text if isinstance(text, bytes) else str(text).encode()
            assert SECRET.encode() not in text, f"the file outside was read: {text[:2000]!r}"
