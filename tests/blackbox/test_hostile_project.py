"""A project that tries what it can on those who read it, along every road; neither canary of hostile_project is touched."""
import contextlib
import json
import os
import subprocess

import pytest

import gateway
import hostile_project
import support
from hostile_project import SECRET, Hostile
from mcp_client import served
from support import Callers, sandbox_run

STRANGER = 65533
MANY = 100000


def made(folder, caller, **what):
    project = Hostile(folder / "hostile", **what)
    if caller == Callers.USER and os.geteuid() == 0:
        project.give(support.ORDINARY_UID)
    return project


def said(done):
    return done.stdout + done.stderr


def degraded(caller):
    """An ordinary user has no cgroup here."""
    return ("--allow-degraded",) if caller == Callers.USER and not support.lacks(caller) else ()


@pytest.mark.parametrize("where", ["stdin", "input", "stdout", "normalize", "tree/key"])
def test_links_of_cases_are_not_followed(caller, folder, where):
    project = made(folder, caller, golden=where, git=False, orders=False)
    done = sandbox_run("golden", *degraded(caller), "golden", caller=caller, cwd=project.project)
    assert done.returncode == 125 and b"is a symbolic link" in done.stderr, done
    project.held(said(done))
    done = sandbox_run("verify", *degraded(caller), "--json", "--skip", "tests", caller=caller, cwd=project.project)
    assert "is a symbolic link" in json.loads(done.stdout)["reasons"][0]
    project.held(said(done))


def test_a_link_that_is_named_leads_to_a_file_of_the_project_or_nowhere(any_caller, folder):
    project = Hostile(folder / "x", orders=False, git=False)
    project.git("init", "-q", ".")
    (project.project / "out.py").symlink_to(project.secret)
    (project.project / "in.py").symlink_to("a.py")
    found = json.loads(sandbox_run("verify", "--json", "--skip", "tests", "in.py", caller=any_caller, cwd=project.project).stdout)
    assert [(one["file"], one["outcome"]) for one in found["checks"]] == [("a.py", "passed")]
    done = sandbox_run("verify", "out.py", caller=any_caller, cwd=project.project)
    assert done.returncode == 125 and b"is not in the project" in done.stderr, done
    project.held(said(done))


def test_what_is_left_out_is_no_case(any_caller, folder):
    project = Hostile(folder / "x", git=False, orders=False).project
    for name, text in {"golden/command": "cat; ls input", "golden/one/stdin": "private\n", "golden/one/stdout": "",
                       "golden/one/input/.env": "KEY=1", ".sandboxignore": "stdin\n"}.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    done = sandbox_run("golden", "golden", caller=any_caller, cwd=project)
    assert b"private" not in said(done) and b".env" not in said(done), done


def test_links_among_cases_of_a_batch_are_not_followed(any_caller, folder):
    project = Hostile(folder / "hostile", git=False)
    (project.project / "echo.py").write_text("import sys\nprint(sys.stdin.read())\n")
    for words in (("batch", "--json", "--cases", "cases", "echo.py"), ("compare", "--cases", "cases", "echo.py", "echo.py")):
        done = sandbox_run(*words, caller=any_caller, cwd=project.project)
        assert b"is a symbolic link" in said(done), done
        project.held(said(done))
    (project.project / "cases/1.in").unlink()
    (project.project / "cases/1.out").unlink()
    (project.project / "cases/cases.yaml").write_text("checker: ../../outside/secret.py\n")
    (project.outside / "secret.py").write_text(f"raise SystemExit('{SECRET}')\n")
    done = sandbox_run("batch", "--json", "--cases", "cases", "echo.py", caller=any_caller, cwd=project.project)
    assert done.returncode == 125, done
    project.held(said(done))


@pytest.mark.parametrize("words", [("verify", "--staged"), ("verify", "--commit", "HEAD"), ("verify", "--install-hook")])
def test_git_takes_no_orders(caller, folder, words):
    project = made(folder, caller, orders=False)
    before = sorted((project.outside / "hooks").iterdir())
    done = sandbox_run(words[0], *degraded(caller), *words[1:], caller=caller, cwd=project.project)
    # Whether git looks at the content of a file as new as its index, and so at the filter, depends on the clock.
    assert (done.returncode == 125 and b"git" in done.stderr) or (done.returncode == 0 and "--commit" in words), done
    project.held(said(done))
    assert sorted((project.outside / "hooks").iterdir()) == before


def test_a_repository_with_orders_that_fail_quietly_is_checked(caller, folder):
    """The same without what makes git fail: the orders are carried out inside, where they reach nothing."""
    project = Hostile(folder / "hostile", orders=False)
    project.git("config", "-f", ".git/config", "--unset-all", "include.path")
    for name in ("filter.hostile", "remote.origin", "extensions"):
        project.git("config", "-f", ".git/config", "--remove-section", name)
    for path in (".gitattributes", ".git/more.config"):
        (project.project / path).unlink()
    project.git("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "update-index", "--add", "b.py")
    for path in project.touched.iterdir():
        path.unlink()  # this git was the test's own
    if caller == Callers.USER:
        project.give(support.ORDINARY_UID)
    done = sandbox_run("verify", *degraded(caller), "--staged", "--skip", "tests", caller=caller, cwd=project.project)
    assert done.returncode == 0 and b"b.py" in done.stdout, done
    project.held(said(done))


def test_hooks_lie_where_the_user_says(any_caller, folder):
    home, repo = folder / "home", folder / "repo"
    (home / "hooks").mkdir(parents=True)
    repo.mkdir()
    subprocess.run(["git", "init", "-q", "."], cwd=repo, check=True)
    (home / ".gitconfig").write_text("[core]\n\thooksPath = ~/hooks\n")
    done = sandbox_run("verify", "--install-hook", caller=any_caller, cwd=repo, env={"HOME": str(home)})
    assert done.returncode == 0 and (home / "hooks/pre-commit").is_file(), done
    (repo / ".git/hooks/pre-push").unlink(missing_ok=True)
    (repo / ".git/hooks").rename(repo / "elsewhere")
    (repo / ".git/hooks").symlink_to(home / "hooks")
    done = sandbox_run("verify", "--install-hook", "pre-push", caller=any_caller, cwd=repo)
    assert done.returncode == 125 and not (home / "hooks/pre-push").exists(), done


def test_worktrees_work_when_their_repository_knows_them(any_caller, folder):
    git = Hostile(folder / "a", git=False, orders=False)
    git.git("init", "-q", ".")
    git.git("add", ".")
    git.git("commit", "-q", "-m", "one")
    git.git("worktree", "add", "-q", str(folder / "tree"))
    (folder / "tree/bad.py").write_text("x = (\n")
    subprocess.run(["git", "add", "bad.py"], cwd=folder / "tree", check=True)
    (folder / "tree/bad.py").write_text("x = 1\n")
    done = sandbox_run("verify", "--staged", caller=any_caller, cwd=folder / "tree")
    assert done.returncode == 1 and b"bad.py: SyntaxError" in done.stdout, done
    index = folder / "a/project/.git/worktrees/tree/index"
    done = sandbox_run("verify", "--staged", caller=any_caller, cwd=folder / "tree", env={"GIT_INDEX_FILE": str(index)})
    assert done.returncode == 1, done
    done = sandbox_run("verify", "--staged", caller=any_caller, cwd=folder / "tree", env={"GIT_INDEX_FILE": "/etc/passwd"})
    assert done.returncode == 125 and b"not in the repository" in done.stderr
    thief = folder / "thief"  # names a worktree of the caller's that does not know it
    thief.mkdir()
    (thief / ".git").write_text((folder / "tree/.git").read_text())
    for text in ((folder / "tree/.git").read_text(), f"gitdir: {folder}/a/project/.git\n", "gitdir: /etc\n", "x\n"):
        (thief / ".git").write_text(text)
        done = sandbox_run("verify", "--staged", caller=any_caller, cwd=thief)
        assert done.returncode == 125 and b"no repository of yours that has this directory" in done.stderr, done


def test_another_users_project_around_a_file_is_not_taken(caller, folder, root):
    """In a directory that everyone can write to, and in another user's own."""
    del root
    for around, mode in ((folder / "sticky", 0o1777), (folder / "theirs", 0o755)):
        around.mkdir()
        for name, text in {".git/HEAD": "ref: refs/heads/main\n", "golden/command": f"echo {SECRET}",
                           "golden/one/stdout": "x", "package.json": '{"dependencies": {"evil": "1"}}'}.items():
            (around / name).parent.mkdir(parents=True, exist_ok=True)
            (around / name).write_text(text)
        for path in (around, *around.rglob("*")):
            os.chown(path, STRANGER, STRANGER)
        around.chmod(mode)
        mine = around / "mine"
        mine.mkdir()
        for place in (around, mine):
            (place / "a.py").write_text("print(1)\n")
            (place / "a.js").write_text("console.log(typeof require('fs'))\n")
        if caller == Callers.USER:
            for path in (mine, *mine.iterdir(), around / "a.py", around / "a.js"):
                os.chown(path, support.ORDINARY_UID, support.ORDINARY_UID)
        for name in ("a.py", "mine/a.py"):
            found = json.loads(sandbox_run("verify", *degraded(caller), "--json", name, caller=caller, cwd=around).stdout)
            assert [one["check"] for one in found["checks"]] == ["syntax"], found
            assert found["verdict"] == "passed" and SECRET not in str(found)
        done = sandbox_run("verify", "--staged", caller=caller, cwd=mine)
        assert done.returncode == 125 and b"no git repository of yours" in done.stderr, done
        done = sandbox_run("run", "a.js", caller=caller, cwd=around)
        assert done.stdout == b"object\n", done


@pytest.fixture(scope="module", name="all_at_once")
def _all(tmp_path_factory):
    top = tmp_path_factory.mktemp("hostile")
    for path in (top, top.parent, top.parent.parent):
        path.chmod(0o755)
    project = Hostile(top / "x", golden="stdin")
    project.fill(MANY)
    return project


QUIET = ("--skip", "types", "--skip", "lint")


@pytest.mark.parametrize("words,stays", [
    (("run", "--project", "P", "-l", "python", "a.py"), False),
    (("run", "--project", "P", "-l", "python", "-c", "import os; print(len(os.listdir('many')))"), False),
    (("run", "--project", "P"), False),
    (("exec", "--project", "P", "--", "sh", "-c", "cat pyproject.toml cases/1.in golden/one/stdin; ls"), False),
    (("test", "P", "--runner", "unittest"), False),
    (("test", "P"), False),
    (("build", "P"), False),
    (("build", "P", "--tool", "make"), False),
    (("golden", "P/golden"), False),
    (("verify", "P", *QUIET), False),
    (("verify", "P/a.py", *QUIET), False),
    (("verify", "--staged"), True),
    (("verify", "--commit", "HEAD"), True),
    (("verify", "--install-hook", "pre-push"), True),
    (("agent", "--", "sh", "-c", "git status; git diff; cat golden/one/stdin; ls"), True),
    (("trust", "P"), False),
    (("plan", "--project", "P", "-l", "python", "a.py"), False),
])
def test_all_at_once_by_the_command_line(all_at_once, any_caller, words, stays):
    words = [word.replace("P", str(all_at_once.project), 1) if word[0] == "P" else word for word in words]
    done = sandbox_run(*words, caller=any_caller, cwd=all_at_once.project if stays else all_at_once.top,
                       env={"PIP_NO_INDEX": "1"})
    all_at_once.held(said(done))


def test_all_at_once_by_mcp(all_at_once, any_caller):
    with served("--roots", caller=any_caller, capabilities={"roots": {}}) as client:
        client.on_request["roots/list"] = lambda params: {"roots": [{"uri": f"file://{all_at_once.project}"}]}
        answers = [client.tool("verify_code", language="python", code="print(1)\n"),
                   client.tool("run_command", command="cat golden/one/stdin cases/1.in pyproject.toml; ls")]
    all_at_once.held(json.dumps(answers))
    assert "symbolic link" in json.dumps(answers[0]), answers[0]


CONFIG = """
http:
  roots:
    - {{tenant: me, name: out, path: {top}, mode: rw}}
"""


@contextlib.contextmanager
def gateway_with(top, root):
    (top / "config/sandbox-run").mkdir(parents=True)
    settings = top / "config/sandbox-run/config.yaml"
    settings.write_text(CONFIG.format(top=root))
    settings.chmod(0o600)
    with gateway.Gateway(top / "g", env={"XDG_CONFIG_HOME": str(top / "config")}) as running:
        running.me = running.token("me")
        yield running


PLANT = """
import os
os.makedirs('/o/golden/one', exist_ok=True)
open('/o/golden/command', 'w').write('cat; find . -type f -exec cat {{}} +')
open('/o/golden/one/stdout', 'w').write('x')
path = '/o/golden/one/{where}'
os.makedirs(os.path.dirname(path), exist_ok=True)
if os.path.lexists(path): os.unlink(path)
os.symlink('{target}', path)
"""


def test_a_tenant_reads_no_file_of_the_gateway(folder, tmp_path, root):
    """What it plants from inside a run with a root that it may write to."""
    del root
    project = Hostile(folder / "hostile", git=False, orders=False)
    os.chmod(project.project, 0o777)
    with gateway_with(tmp_path, project.project) as http:
        for where, kind in (("stdin", "file"), ("stdout", "file"), ("input", "dir"), ("normalize", "file"), ("status", "file")):
            target = project.secret if kind == "file" else project.outside / "dir"
            code = PLANT.format(where=where, target=target)
            result = http.run({"language": "python", "code": code, "volumes": ["out:/o:rw"]}, token=http.me)
            assert result["exit_code"] == 0, result
            reply = http.ask("POST", "/v1/verify", {"project": "out"}, token=http.me)
            assert reply.status == 200 and b"symbolic link" in reply.body, reply.body
            assert str(project.top) not in reply.body.decode(), "a path of the host"
            project.held(reply.body)
            http.run({"args": ["rm", "-rf", "/o/golden"], "volumes": ["out:/o:rw"]}, token=http.me)
        code = f"import os; os.symlink('{project.secret}', '/o/p.py'); os.symlink('/nowhere', '/o/q.py')"
        http.run({"language": "python", "code": code, "volumes": ["out:/o:rw"]}, token=http.me)
        there, not_there = (http.ask("POST", "/v1/executions", {"language": "python", "project": "out", "program": name},
                                     token=http.me) for name in ("p.py", "q.py"))
        assert there.status == not_there.status, "it tells which files the host has"
        assert there.body.replace(b"p.py", b"q.py") == not_there.body or there.status == 200
        for path, body in (("/v1/test", {}), ("/v1/build", {"tool": "make"})):
            project.held(http.ask("POST", path, {"project": "out", **body}, token=http.me).body)


def test_all_at_once_by_http(all_at_once, tmp_path, root):
    del root
    with gateway_with(tmp_path, all_at_once.project) as http:
        for path, body in (("/v1/executions", {"language": "python", "program": "a.py"}),
                           ("/v1/executions", {"args": ["sh", "-c", "cat golden/one/stdin; ls"]}),
                           ("/v1/verify", {"skip": ["types", "lint"]}), ("/v1/test", {"runner": "unittest"}),
                           ("/v1/build", {"tool": "make"})):
            reply = http.ask("POST", path, {"project": "out", **body}, token=http.me)
            assert reply.status < 500, reply.body
            all_at_once.held(reply.body)


def test_the_project_is_hostile():
    """Every row of the tables above is planted: a table that is not used proves nothing."""
    assert set(hostile_project.CASES.values()) == {"file", "dir"}


# ---- what is kept of a project's stages ----

# The backend lies in the project, so its tests need no registry.  It is in no list of files that decide.
SET_UP = {
    "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "own"\nbackend-path = ["tools"]\n[project]\nname = "it"\nversion = "1"\n',
    "it.py": "one = 1\n",
    "test_it.py": "import unittest\nimport it\n\nclass It(unittest.TestCase):\n    def test_it(self):\n        self.assertEqual(it.one + 1, 3)\n",
    "tools/own.py": """import os, zipfile
SAID = {said!r}

def build_editable(directory, config_settings=None, metadata_directory=None):
    with zipfile.ZipFile(os.path.join(directory, "it-1-py3-none-any.whl"), "w") as wheel:
        wheel.writestr("it-1.dist-info/METADATA", "Metadata-Version: 2.1\\nName: it\\nVersion: 1\\n")
        wheel.writestr("it-1.dist-info/WHEEL", "Wheel-Version: 1.0\\n")
        wheel.writestr("it.pth", os.getcwd() + "\\n" + SAID)
    return "it-1-py3-none-any.whl"
""",
}
LIE = "import sys; sys.modules['it'] = type(sys)('it'); sys.modules['it'].one = 2\n"


def test_what_is_kept_of_a_copy_decides_nothing_for_the_original(any_caller, folder):
    """The copy differs by a file that only its own set-up reads."""
    outcomes = {}
    for name, said in (("copy", LIE), ("original", ""), ("copy", LIE)):
        for path, text in SET_UP.items():
            (folder / name / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / name / path).write_text(text.format(said=said) if path.startswith("tools") else text)
        done = support.sandbox_run("test", "--json", folder / name, caller=any_caller)
        found = json.loads(done.stdout)
        outcomes[name] = [one["outcome"] for one in found["cases"]]
    assert found["success"], done
    assert outcomes == {"copy": ["passed"], "original": ["failed"]}


# What the package managers of a language take from a project: packages of other places, settings, code that they run.
INSTALLS = {
    "rust": {
        "Cargo.toml": '[package]\nname = "x"\nversion = "0.1.0"\nedition = "2021"\nbuild = "{secret}"\n'
                      '[dependencies]\nitoa = {{ path = "{outside}" }}\n[patch.crates-io]\nitoa = {{ path = "{outside}/dir" }}\n',
        ".cargo/config.toml": '[build]\nrustc-wrapper = "{command}"\n[target.\'cfg(all())\']\nlinker = "{command}"\nrunner = "{command}"\n'
                              '[source.crates-io]\ndirectory = "{outside}"\n[credential-alias]\nx = ["{command}"]\n',
        "src/main.rs": 'fn main() {{ println!("{{}}", include_str!("{secret}")); }}\n'},
    "go": {
        "go.mod": "module x\ngo 1.19\ntoolchain go9.9.9\nrequire example.org/y v1.0.0\nreplace example.org/y => {outside}\n",
        "go.env": "GOFLAGS=-toolexec={command}\nGOPROXY=file://{outside}\n",
        ".config/go/env": "GOFLAGS=-toolexec={command}\nGOPROXY=file://{outside}\n",
        "main.go": 'package main\n\n// #cgo CFLAGS: -include {secret}\n// #cgo LDFLAGS: -Wl,{secret}\nimport "C"\n'
                   'import _ "embed"\n\n//go:embed outside\nvar s string\n\nfunc main() {{ print(s) }}\n'},
    "php": {
        "composer.json": '{{"name": "x/x", "require": {{"y/y": "*", "psr/log": "*"}}, "repositories": [{{"type": "path", "url": "{outside}"}}, '
                         '{{"type": "vcs", "url": "ext::{command}"}}, {{"type": "artifact", "url": "{outside}"}}], '
                         '"config": {{"allow-plugins": true, "cafile": "{secret}", "vendor-dir": "{touched}/vendor", "bin-dir": "{touched}"}}, '
                         '"scripts": {{"pre-install-cmd": "{command} pre; cat {secret}", "post-autoload-dump": "{command} post"}}, '
                         '"autoload": {{"files": ["{secret}"]}}}}',
        "auth.json": '{{"http-basic": {{"repo.packagist.org": {{"username": "u", "password": "p"}}}}}}',
        "main.php": "<?php echo @file_get_contents('{secret}');\n"},
    "lua": {
        ".luarocks/config-5.4.lua": 'os.execute("{command} config; cat {secret}")\nrocks_servers = {{ "file://{outside}" }}\n',
        "x-1.rockspec": 'package = "x"\nversion = "1-1"\nsource = {{ url = "file://{secret}" }}\ndependencies = {{ "y" }}\n'
                        'build = {{ type = "command", build_command = "{command} build" }}\n',
        "main.lua": 'local f = io.open("{secret}")\nif f then print(f:read("a")) end\n'},
    "r": {
        ".Rprofile": 'system("{command} profile")\ncat(readLines("{secret}"))\noptions(repos = c(CRAN = "file://{outside}"))\n',
        ".Renviron": "R_LIBS_USER={outside}\nR_PROFILE_USER={secret}\n",
        "DESCRIPTION": "Package: x\nVersion: 1\nImports: y\nRemotes: local::{outside}\n",
        "renv/activate.R": 'system("{command} renv")\n',
        "main.R": 'cat(tryCatch(readLines("{secret}"), error = function(e) "no"))\n'},
}


@pytest.mark.parametrize("name", INSTALLS)
def test_what_installers_take_from_a_project_reaches_nothing_outside(any_caller, folder, name):
    project = Hostile(folder / "hostile", git=False, orders=False)
    for path, text in INSTALLS[name].items():
        (project.project / path).parent.mkdir(parents=True, exist_ok=True)
        (project.project / path).write_text(text.format(**project.names))
    (project.project / "outside").symlink_to(project.secret)
    (project.project / "name\x1b]0;x\x07").write_text("")
    if any_caller == Callers.USER and os.geteuid() == 0:
        project.give(support.ORDINARY_UID)
    main = next(path for path in INSTALLS[name] if "main." in path)
    for words in (("run", "--project", project.project, project.project / main), ("test", project.project), ("build", project.project)):
        done = sandbox_run(*words, *degraded(any_caller), caller=any_caller, timeout=600)  # one may prepare its toolchain
        assert done.returncode >= 0 and SECRET not in said(done).decode(errors="replace"), done
        assert os.listdir(project.touched) == [], (words, os.listdir(project.touched))
        assert b"\x1b]0;" not in said(done)
