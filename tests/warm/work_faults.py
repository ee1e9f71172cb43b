"""Commands that leave something (files, changes, workspaces, sessions, results) are ended before each of their effects.

Whenever that is, what they write is there whole or not at all, the next command of the same kind does all of it, and
nothing else is left.

Usage: work_faults.py [--stride N] [--only PATTERN] [--term] [NAME...]
"""
import argparse
import json
import pathlib
import re
import signal
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "blackbox")]

import registries  # noqa: E402
import strikes  # noqa: E402
import support  # noqa: E402

LONG = "".join(f"{number}\n" for number in range(20000))  # more than one write
WRITE_LONG = "seq 0 19999"


class Work:
    """One command; what has to be true whenever it was ended."""
    env, own_cache, said = {}, False, 0

    def prepare(self, place):
        """What is there before."""

    def words(self, place):
        """Of the command."""
        raise NotImplementedError

    def wrong(self, place):
        """Sentences about what is half done."""
        return []

    def settle(self, place):
        """Does it again and removes what is kept, as a user would."""


class Outputs(Work):
    """Files of a run that are copied out."""
    makes = ("a", "b")

    def words(self, place):
        return ["run", "--output", f"out/*:{place.folder}/got", "--lang", "bash", "--code",
                f"mkdir out; {WRITE_LONG} > out/a; {WRITE_LONG} > out/b"]

    def wrong(self, place):
        found = strikes.tree_of(place.folder / "got")
        return [f"half of {name}, {len(text or '')}" for name, text in found.items()
                if name in self.makes and text not in (None, LONG.encode())]

    def settle(self, place):
        place.well(*self.words(place))
        found = strikes.tree_of(place.folder / "got")
        assert {name: text for name, text in found.items() if text} == dict.fromkeys(self.makes, LONG.encode()), sorted(found)


def drop_changes(place):
    """What a killed command has kept is listed; the half that it made real is taken back first."""
    for one in json.loads(place.well("changes", "list", "--json"))["changes"]:
        place.run("undo", one["id"], "--yes")
        place.well("changes", "drop", one["id"])


class Artifacts(Outputs):
    """Of a build."""
    makes = ("out/a", "out/b")

    def settle(self, place):
        super().settle(place)
        drop_changes(place)

    def prepare(self, place):
        place.file("project/Makefile", f"all:\n\tmkdir -p out\n\t{WRITE_LONG} > out/a\n\t{WRITE_LONG} > out/b\n")

    def words(self, place):
        return ["build", "--artifacts", str(place.folder / "got"), str(place.folder / "project")]

    def wrong(self, place):
        there = strikes.tree_of(place.folder / "project")
        return super().wrong(place) + ([f"the project has {sorted(there)}"] if sorted(there) != ["Makefile"] else [])


class Kept(Work):
    """Changes of a project under an id."""

    def prepare(self, place):
        place.file("project/old", "old")

    def words(self, place):
        return ["run", "--project", str(place.folder / "project"), "--keep", "--lang", "bash", "--code",
                f"{WRITE_LONG} > new; echo more >> old"]

    def ids(self, place):
        return [one["id"] for one in json.loads(place.well("changes", "list", "--json"))["changes"]]

    def wrong(self, place):
        if strikes.tree_of(place.folder / "project") != {"old": b"old"}:
            return ["the project has changed"]
        for one in self.ids(place):
            place.well("apply", one, "--yes")
            there = strikes.tree_of(place.folder / "project")
            if there.get("new") != LONG.encode() or there.get("old") != b"oldmore\n":
                return [f"kept in part: {sorted(there)}"]
        return []

    def settle(self, place):
        place.well(*Kept.words(self, place))
        for one in self.ids(place):
            place.well("changes", "drop", one)


class Applied(Kept):
    """They become real, or as they were."""
    again = "apply"

    def prepare(self, place):
        super().prepare(place)
        place.well(*super().words(place))
        self.id = self.ids(place)[0]

    def words(self, place):
        return ["apply", self.id, "--yes"]

    def wrong(self, place):
        found = strikes.tree_of(place.folder / "project")
        wrong = [f"half of {name}" for name, text in found.items()
                 if text not in {"new": (LONG.encode(),), "old": (b"old", b"oldmore\n")}.get(name, (text,))]
        self.again = "undo" if self.again == "apply" else "apply"
        done = place.run(self.again, self.id, "--yes")
        if done.returncode and not (self.again == "undo" and b"there is nothing to undo" in done.stderr):
            return [*wrong, f"{self.again} says {done.stderr}"]
        wanted = {"old": b"oldmore\n", "new": LONG.encode()} if self.again == "apply" else {"old": b"old"}
        there = strikes.tree_of(place.folder / "project")
        return wrong + ([f"after {self.again}: {sorted(there)}"] if there != wanted else [])


class KeptOutput(Work):
    """All that a program printed."""

    def words(self, place):
        return ["run", "--keep-output", "--lang", "bash", "--code", WRITE_LONG]

    def wrong(self, place):
        wrong = []
        for one in json.loads(place.well("output", "list", "--json"))["outputs"]:
            done = place.run("output", one["id"])
            none = done.returncode == 127 and b"was killed before any output could be kept" in done.stderr
            if one["state"] == "killed" and (none or LONG.startswith(done.stdout.decode())):
                continue
            if (done.returncode, done.stdout.decode()) != (0, LONG):
                wrong.append(f"kept as {one}: {done}"[:600])
        return wrong

    def settle(self, place):
        place.well("output", "rm", "--all")


class Golden(Work):
    """Expected output, written anew."""

    def prepare(self, place):
        for name in ("one", "two"):
            place.file(f"project/golden/{name}/command", WRITE_LONG)
            place.file(f"project/golden/{name}/stdout", "old\n")

    def words(self, place):
        return ["golden", "--project", str(place.folder / "project"), "--update", "--yes", str(place.folder / "project/golden")]

    def wrong(self, place):
        found = strikes.tree_of(place.folder / "project/golden")
        return [f"half of {name}" for name, text in found.items() if name.endswith("stdout") and text not in
                (b"old\n", LONG.encode())]

    def settle(self, place):
        drop_changes(place)
        place.well(*self.words(place))
        found = strikes.tree_of(place.folder / "project")
        assert sorted(found) == sorted(["golden", *(f"golden/{name}{end}" for name in ("one", "two")
                                                    for end in ("", "/command", "/stdout"))]), sorted(found)
        assert found["golden/one/stdout"] == LONG.encode() == found["golden/two/stdout"]
        for one in json.loads(place.well("changes", "list", "--json"))["changes"]:
            place.well("changes", "drop", one["id"])


class Written(Work):
    """Code that passed its checks."""

    def prepare(self, place):
        place.file("project/f.py", "old = 1\n")
        self.code = "".join(f"x{number} = {number}\n" for number in range(2000))

    def words(self, place):
        return ["verify", "-l", "python", "--skip", "lint", "--skip", "types", "--code", self.code, "--project",
                str(place.folder / "project"), "--write", str(place.folder / "project/f.py"), "--yes"]

    def wrong(self, place):
        text = (place.folder / "project/f.py").read_text()
        return [f"half a file, {len(text)}"] if text not in ("old = 1\n", self.code) else []

    def settle(self, place):
        place.well(*self.words(place))
        assert list(strikes.tree_of(place.folder / "project")) == ["f.py"], strikes.tree_of(place.folder / "project").keys()
        for one in json.loads(place.well("changes", "list", "--json"))["changes"]:
            place.well("changes", "drop", one["id"])


class Workspace(Work):
    """Saved after a run."""

    def prepare(self, place):
        place.well("run", "--workspace", "w", "--lang", "bash", "--code", "echo old > a; echo old > b")

    def words(self, place):
        return ["run", "--workspace", "w", "--lang", "bash", "--code", f"{WRITE_LONG} > a; cp a b"]

    def wrong(self, place):
        told = place.run("run", "--workspace", "w", "--lang", "bash", "--code", "cat a b")
        good = ("old\nold\n", LONG + LONG)
        return [f"half a workspace: {told}"[:600]] if told.returncode or told.stdout.decode() not in good else []

    def settle(self, place):
        place.well(*self.words(place))
        if "w" in place.well("workspace", "list"):
            place.well("workspace", "rm", "w")


class WorkspaceRemoved(Workspace):
    def words(self, place):
        return ["workspace", "rm", "w"]

    def wrong(self, place):
        there = [one for one in json.loads(place.well("workspace", "list", "--json"))["workspaces"] if not one["damaged"]]
        return super().wrong(place) if there else []

    def settle(self, place):
        place.run("workspace", "rm", "w")
        Workspace.prepare(self, place)
        place.well("workspace", "rm", "w")


class WorkspaceImported(Workspace):
    def prepare(self, place):
        super().prepare(place)
        place.well("workspace", "export", "w", str(place.folder / "w.tar"))
        place.well("workspace", "rm", "w")

    def words(self, place):
        return ["workspace", "import", "w", str(place.folder / "w.tar")]

    def wrong(self, place):
        there = json.loads(place.well("workspace", "list", "--json"))["workspaces"]
        return super().wrong(place) if there else []

    def settle(self, place):
        place.run("workspace", "rm", "w")
        place.well(*self.words(place))
        place.well("workspace", "rm", "w")


class WorkspaceExported(Workspace):
    def words(self, place):
        return ["workspace", "export", "w", str(place.folder / "out/w.tar")]

    def prepare(self, place):
        super().prepare(place)
        place.file("out/w.tar", "old")

    def settle(self, place):
        place.well(*self.words(place))
        assert list(strikes.tree_of(place.folder / "out")) == ["w.tar"], strikes.tree_of(place.folder / "out").keys()
        place.well("workspace", "rm", "w")


class WorkspaceFile(Workspace):
    """A file that is copied into one."""

    def prepare(self, place):
        super().prepare(place)
        place.file("long", LONG)

    def words(self, place):
        return ["workspace", "cp", str(place.folder / "long"), "w:b"]

    def wrong(self, place):
        told = place.run("run", "--workspace", "w", "--lang", "bash", "--code", "ls; cat a b")
        good = [f"a\nb\nmain.bash\nold\n{b}" for b in ("old\n", LONG)]
        return [f"half a workspace: {told}"[:600]] if told.returncode or told.stdout.decode() not in good else []


class Batch(Work):
    """Results, of which each is there once."""

    def prepare(self, place):
        rows = [json.dumps({"language": "bash", "code": f"echo {number}"}) for number in range(4)]
        place.file("requests.jsonl", "\n".join(rows) + "\n")

    def words(self, place):
        return ["batch", "--jobs", "2", "--results", str(place.folder / "results.jsonl"), str(place.folder / "requests.jsonl")]

    def settle(self, place):
        place.well(*self.words(place))
        rows = [json.loads(line) for line in (place.folder / "results.jsonl").read_text().splitlines()]
        assert sorted((one["item"], one["stdout"]) for one in rows) == [(n + 1, f"{n}\n") for n in range(4)], rows
        names = {path.name for path in place.folder.iterdir() if path.is_file()}
        assert names <= {"results.jsonl", "requests.jsonl", "trace"}, names


class Audited(Work):
    """A run on record: the chain is whole."""

    def prepare(self, place):
        path = place.file("config/sandbox-run/config.yaml", "audit: true\n")
        path.chmod(0o600)
        place.env["XDG_CONFIG_HOME"] = str(place.folder / "config")
        place.well("exec", "--", "true")

    def words(self, place):
        return ["exec", "--", "echo", "audited"]

    def wrong(self, place):
        done = place.run("audit", "verify")
        return [] if done.returncode == 0 else [f"the audit: {done}"]

    def settle(self, place):
        place.well(*self.words(place))
        place.well("audit", "verify")


class Installed(Work):
    """A package in a store of its own."""
    own_cache = True

    def prepare(self, place):
        place.env.update({"PIP_INDEX_URL": self.registry.url})

    def words(self, place):
        return ["run", "--dep", "kept", "--lang", "python", "--code", "import kept; print(kept.value)"]

    def settle(self, place):
        assert place.well(*self.words(place)) == "42\n"
        staging = strikes.tree_of(place.folder / "cache/staging")
        assert not staging, sorted(staging)


class Token(Work):
    """Of the gateway."""

    def prepare(self, place):
        place.well("token", "create", "first")

    def words(self, place):
        return ["token", "create", "second"]

    def settle(self, place):
        names = {one["name"] for one in json.loads(place.well("token", "list", "--json"))["tokens"]}
        assert "first" in names and names <= {"first", "second"}, names
        for name in names:
            place.well("token", "revoke", name)


class SessionWork(Work):
    """What a client asks of a session; its variables are as before, or as after."""
    asks, values = ["exec", "--code", "n += 1"], (1, 2)

    def prepare(self, place):
        self.id = json.loads(place.well("session", "create", "python", "--json"))["id"]
        place.well("session", "exec", self.id, "--code", "n = 1")

    def words(self, place):
        return ["session", self.asks[0], self.id, *self.asks[1:]]

    def listed(self, place):
        return {one["id"]: one["state"] for one in json.loads(place.well("session", "list", "--json"))["sessions"]}

    def value(self, place, name="n"):
        done = json.loads(place.run("session", "exec", self.id, "--code", name, "--json").stdout)
        return done["display"][-1]["text/plain"] if done.get("display") else str(done.get("diagnosis") or done)[:300]

    def wrong(self, place):
        value = self.value(place)
        return [f"n is {value}, {self.listed(place)}"] if value not in map(str, self.values) else []

    def settle(self, place):
        for one in self.listed(place):
            place.well("session", "close", one)


class SessionMade(SessionWork):
    def prepare(self, place):
        pass

    def words(self, place):
        return ["session", "create", "python"]

    def wrong(self, place):
        wrong = []
        for self.id, state in self.listed(place).items():
            if state == "ready" and self.value(place, "6 * 7") != "42":
                wrong.append("a session that is ready answers nothing")
            if state not in ("ready", "starting", "lost"):
                wrong.append(state)
        return wrong


class SessionForked(SessionWork):
    asks, values = ["fork"], (1,)

    def wrong(self, place):
        wrong, first = super().wrong(place), self.id
        for self.id in set(self.listed(place)) - {first}:
            if self.listed(place).get(self.id) == "ready":
                wrong += super().wrong(place)
        return wrong


class SessionRolledBack(SessionWork):
    asks, values = ["rollback", "2"], (1, 2)

    def prepare(self, place):
        super().prepare(place)
        place.well("session", "checkpoint", self.id)
        place.well("session", "exec", self.id, "--code", "n = 2")


class SessionCheckpointed(SessionWork):
    asks, values = ["checkpoint"], (1,)


class SessionRestarted(SessionWork):
    asks, values = ["restart"], (1,)

    def wrong(self, place):
        value = self.value(place)
        return [f"n is {value}"] if value != "1" and "NameError" not in value and "not defined" not in value else []


class SessionClosed(SessionWork):
    asks = ["close"]

    def wrong(self, place):
        return super().wrong(place) if "ready" in self.listed(place).values() else []


class SessionGiven(SessionWork):
    """A package for a living session."""
    asks, values, own_cache = ["dep", "kept"], (1,), True

    def prepare(self, place):
        place.env.update({"PIP_INDEX_URL": self.registry.url})
        super().prepare(place)


WORKS = {one.__name__.lower(): one for one in (
    Outputs, Artifacts, Kept, Applied, KeptOutput, Golden, Written, Workspace, WorkspaceRemoved, WorkspaceImported,
    WorkspaceExported, WorkspaceFile, Batch, Audited, Installed, Token, SessionWork, SessionMade, SessionForked,
    SessionRolledBack, SessionCheckpointed, SessionRestarted, SessionClosed, SessionGiven)}


def one_call(work, place, call, number):
    """What is wrong after the command was ended before a call."""
    place.renew()
    work.prepare(place)
    end = strikes.strike(support.command(*work.words(place)), place.env, call, number)
    wrong = [str(end)] if end.hangs or (not end.killed and end.status not in (0, 128 + number, 125, 130)) else []
    try:
        wrong += work.wrong(place)
        work.settle(place)
        wrong += place.left([end.pid])
    except (AssertionError, ValueError, KeyError) as problem:
        wrong.append(f"{type(problem).__name__} {problem} {end}"[:1200])
    return wrong


def each_call(folder, name, stride=1, only="", number=signal.SIGKILL):
    """Sentences about what is wrong, and how often it was ended.  `only`: before calls that look so."""
    with registries.serving() as registry:
        registry.pages = {"/simple/kept/": b'<a href="/kept-1.0-py3-none-any.whl">kept-1.0-py3-none-any.whl</a>',
                          "/kept-1.0-py3-none-any.whl": registries.wheel_of("kept", {"kept.py": "value = 42\n"})}
        work = WORKS[name]()
        work.registry = registry
        place = strikes.Place(pathlib.Path(folder) / "place", own_cache=work.own_cache)
        work.prepare(place)
        done, calls = strikes.calls_of(support.command(*work.words(place)), place.env, pathlib.Path(folder) / "trace")
        assert done.returncode == 0, done
        assert not work.wrong(place), work.wrong(place)
        work.settle(place)
        wrong = [f"undisturbed: {one}" for one in place.left()]
        shape = strikes.shape_of(place.state)
        calls = [call for call in calls if re.search(only, call[2])][::stride]
        for call in calls:
            found = one_call(work, place, call, number)
            more = sorted(set(strikes.shape_of(place.state)) - set(shape))
            found += [f"left in the state: {more}"] if more else []
            wrong += [f"{name} before {call[2][:100]}: {one}" for one in found]
            place.well("exec", "--", "true")
        return wrong, len(calls)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--stride", type=int, default=1)
    parser.add_argument("--only", default="", metavar="PATTERN")
    parser.add_argument("--term", action="store_true")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    failed = False
    for name in options.names or WORKS:
        begin = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="sbr-work-") as folder:
            wrong, ended = each_call(folder, name, options.stride, options.only,
                                     signal.SIGTERM if options.term else signal.SIGKILL)
        failed |= bool(wrong)
        print(f"{name}: ended {ended} times in {time.monotonic() - begin:.0f} s;", "as it should be" if not wrong else "", flush=True)
        print(*(f"  {one}" for one in wrong), sep="\n", end="\n" if wrong else "", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
