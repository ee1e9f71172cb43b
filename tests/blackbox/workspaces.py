"""The state directory of one caller, with its named workspaces."""
import json
import os

import support
from support import sandbox_run


class Workspaces:
    """The state directory of one caller."""

    def __init__(self, folder, caller):
        self.path, self.caller, self.folder = folder / "state", caller, folder
        self.path.mkdir(mode=0o700)
        self.owner = os.geteuid()
        if caller == support.Callers.USER and os.geteuid() == 0:
            self.owner = support.ORDINARY_UID
            os.chown(self.path, self.owner, self.owner)
        self.env = {"SANDBOX_RUN_STATE": str(self.path)}

    def run(self, *words, env=None, **kwargs):
        return sandbox_run(*words, caller=self.caller, env={**self.env, **(env or {})}, **kwargs)

    def result(self, name, code, *options, language="bash", **kwargs):
        """The result of a program in a workspace."""
        return support.result_of("run", "--workspace", name, *options, "--lang", language, "--code",
                                 code, caller=self.caller, env=self.env, **kwargs)

    def shell(self, name, code, *options):
        """What a program that succeeds in a workspace says."""
        result = self.result(name, code, *options)
        assert result["success"], result
        return result["stdout"]

    def command(self, *words, **kwargs):
        return self.run("workspace", *words, **kwargs)

    def list(self):
        done = self.command("list", "--json")
        assert (done.returncode, done.stderr) == (0, b""), done
        return {item["name"]: item for item in json.loads(done.stdout)["workspaces"]}

    def tree(self, name):
        return self.path / "workspaces" / name / "tree"

    def entries(self, name):
        """{path: (kind, mode, content)} of all but the programs that the tool put there."""
        found = {}
        top = os.fsencode(self.tree(name))
        for where, dirs, files in os.walk(top):
            for entry in dirs + files:
                path = os.path.join(where, entry)
                status = os.lstat(path)
                if os.path.islink(path):
                    content = os.readlink(path)
                elif os.path.isfile(path):
                    with open(path, "rb") as file:
                        content = file.read()
                else:
                    content = None
                assert status.st_uid == self.owner
                found[os.path.relpath(path, top)] = (oct(status.st_mode), content)
        return {path: what for path, what in found.items() if not path.startswith(b"main.")}


def error_of(done):
    assert done.returncode in (125, 126, 127), done
    return done.stderr.decode()
