"""Attacks in the stages before the program's own: preparing, installing, compiling, checking.

A language is made up for each of them, whose tool is a shell that is told what to do.  So whatever a
compiler, a macro, a build script or the script of a package could be made to do is done here plainly.
"""
import dataclasses
import itertools
import json
import os
import pathlib

import pytest

import harness
import support
from support import ORDINARY_UID, Callers

STAGES = ("prepare", "install", "compile", "check")
NAMES = {"install": "dependencies"}  # where the result has another name than the language's file
LAYERS = {"prepare": "prepared", "install": "layer", "compile": "artifact"}

_numbers = itertools.count()


def give(path, caller):
    """To the one who calls the tool."""
    if caller == Callers.USER and os.geteuid() == 0:
        os.chown(path, ORDINARY_UID, ORDINARY_UID)
    return path


class Store:
    """A store of its own for one caller, with a room beside it for his files."""

    def __init__(self, folder, caller, path=None):
        self.caller = caller
        self.folder = folder
        self.path = path or folder / "cache"
        for directory in (folder, self.path):
            directory.mkdir(mode=0o755, exist_ok=directory == path)
            give(directory, caller)
        self.path.chmod(0o700)

    def environment(self, env=None):
        return {"SANDBOX_RUN_CACHE": str(self.path), **(env or {})}

    def file(self, name, data, mode=0o644):
        path = self.folder / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        path.chmod(mode)
        return give(path, self.caller)

    def entries(self, kind):
        directory = self.path / kind
        return sorted(directory.iterdir()) if directory.exists() else []

    def content(self):
        """All bytes that are kept of programs and their dependencies, and all names."""
        paths = [path for kind in ("artifact", "layer", "staging") for path in (self.path / kind).rglob("*")]
        found = [os.fsencode(path) for path in paths]
        found += [path.read_bytes() for path in paths if not path.is_symlink() and path.is_file()]
        return b"\n".join(found)

    def leavings(self):
        """What makers that are gone have left."""
        return self.entries("staging")


@pytest.fixture
def store(room, caller):
    return Store(room / f"store-{next(_numbers)}", caller)


def language(binary="/usr/bin/bash", limits=(), run="bash $BUILD/program", **scripts):
    """The text of a language's file; `scripts` are commands for the shell, by the names of stages."""
    def stage(name, script):
        network = {"network": True, "config_env": ["CONFIGURED"]} if name == "install" else {}
        return {"run": ["${binary}", "-c", script, "bash"], "env": [f"STAGE={name}"],
                "limits": list(limits), **network}

    return json.dumps({
        "name": "attack", "about": "a tool that does what it is told", "mains": ["main.attack"],
        "extensions": [".attack"], "binaries": [binary], "package": "bash",
        "source": "main.attack",
        "env": ["BUILD=${build}", "DEPS=${deps}", "PREPARED=${prepared}", "WORK=${work}"],
        **{name: stage(name, script) for name, script in scripts.items()},
        "run": ["${binary}", "-c", run, "bash"],
        "selftest": {"code": "x", "stdout": "", "exit": 0}})


def run(store, *options, env=None, without=(), machine=None, **words):
    """A program in the language that `words` make up."""
    path = store.file("attack.yaml", language(**words))
    hooks = {"SANDBOX_RUN_TEST_WITHOUT": ",".join(without)} if without else {}
    tool = machine.result_of if machine else support.result_of
    return tool("run", "--language-file", path, "--lang", "attack", "--code", "x", *options,
                caller=store.caller, hooks=bool(without), env=store.environment({**hooks, **(env or {})}))


def run_in_stage(store, stage, script, *options, **kwargs):
    """The script in that stage, and nothing else to do."""
    words = {"compile": "echo true > $BUILD/program", stage: script}
    if stage == "prepare":  # shows little of what it says, so the program does
        words |= {"prepare": f'said=$( ( {script} ) 2>&1 ); echo "$said" > $PREPARED/said || '
                             '{ echo "- $said" >&2; exit 1; }', "run": "cat $PREPARED/said"}
    options = [*options, *{"install": ["--dep", "something"], "check": ["--check"]}.get(stage, [])]
    return run(store, *options, **words, **kwargs)


def stage_of(result, name):
    """One stage of a result."""
    found = [stage for stage in result.get("stages", []) if stage["name"] == NAMES.get(name, name)]
    assert found, f"no stage {name}: {json.dumps(result, default=str)[:600]}"
    return found[0]


def said(result):
    """All that any stage wrote, and what the tool says of it."""
    return json.dumps({key: value for key, value in result.items() if key != "_stderr"})


def assert_failed(result, name, outcome):
    """The outcome names what failed, and the stage says why."""
    expected = "install_failed" if name == "install" else "compile_failed"
    assert result["outcome"] == expected, said(result)[:600]
    stage = stage_of(result, name)
    assert stage["outcome"] == outcome, f"{stage['outcome']}: {stage['explanation']}"
    assert "run" not in [part["name"] for part in result["stages"]]


def have(store, name, env=None):
    """Skips when the language is not there."""
    done = support.sandbox_run("plan", "--lang", name, "--code", "x", caller=store.caller,
                               env=store.environment(env))
    if b"no language" in done.stderr or b"not installed" in done.stderr:
        pytest.skip(f"there is no {name} here")


@dataclasses.dataclass(frozen=True)
class Attack:
    """`script` is a command that ends well when it succeeds.  `layers` stop it; without all of them, it
    does."""
    sentence: str
    script: str
    layers: tuple
    also: tuple = ()
    stages: tuple = STAGES



def names_of(scene):
    return {field.name: str(getattr(scene, field.name)) for field in dataclasses.fields(scene)}


def try_all(scripts, names, run_script):
    """What came of each script, GOT or NOT, and all that was said: `run_script` runs one that makes all the attempts,
    each in a shell of its own, and says what came of them in one line: of a stage that prepares no more is shown."""
    lines = ["all="]
    for number, text in enumerate(scripts):
        for name, value in names.items():
            text = text.replace(f"<{name}>", str(value))
        # The quotes keep apart what the script says from the script itself, wherever that may be shown.
        lines.append(f"if ( {text} ) > /dev/null 2>&1; then all=$all,{number}G''OT; else all=$all,{number}N''OT; fi")
    answer = said(run_script("; ".join([*lines, "echo $all, >&2", "exit 1"])))
    return [next((word for word in ("GOT", "NOT") if f",{number}{word}," in answer), "no answer")
            for number in range(len(scripts))], answer


def proofs(attacks):
    """Attacks fail in every stage, and succeed without the layers that stop them."""
    def try_attacks(scene, store, stage, group, without=()):
        return try_all([attack.script for attack in group], names_of(scene),
                       lambda script: run_in_stage(store, stage, script, without=without))

    @harness.callers
    @pytest.mark.parametrize("stage", [pytest.param(stage, marks=[pytest.mark.core] if stage == "compile" else [])
                                       for stage in STAGES])
    def test_the_attack_fails_in_the_stage(scene, store, stage):
        group = [attack for attack in attacks if stage in attack.stages]
        verdicts, answer = try_attacks(scene, store, stage, group)
        harness.assert_none([f"{attack.sentence}: {verdict} in {answer[:800]}"
                             for attack, verdict in zip(group, verdicts) if verdict != "NOT"])
        assert harness.SECRET not in answer
        assert not store.leavings()

    @harness.root_only
    @pytest.mark.parametrize("caller", [Callers.ROOT])
    @pytest.mark.parametrize("stage", STAGES)
    def test_the_attack_succeeds_without_the_layers(scene, store, stage):
        groups, wrong = {}, []
        for attack in (attack for attack in attacks if stage in attack.stages):
            groups.setdefault((*attack.layers, *attack.also), []).append(attack)
        for without, group in groups.items():
            verdicts, answer = try_attacks(scene, store, stage, group, without)
            wrong += [f"{attack.sentence}: {verdict} proves nothing: {answer[:800]}"
                      for attack, verdict in zip(group, verdicts) if verdict != "GOT"]
        harness.assert_none(wrong)

    return test_the_attack_fails_in_the_stage, test_the_attack_succeeds_without_the_layers


def tree_of(entry):
    return pathlib.Path(entry) / "tree"
