"""Whatever a program does to a project: seen copy-on-write and then applied, it is what it would have been.

The same changes, drawn from a seed, are made inside and on a plain copy (programs/mutate.py).  More seeds:
SBR_COW_SEEDS=500; a single one again: SBR_COW_SEED=17.
"""
import base64
import json
import os
import pathlib
import shutil
import subprocess

import pytest

import support
import trees

MUTATE = pathlib.Path(__file__).resolve().parent / "programs/mutate.py"
STEPS = 48
SEEDS = 4  # of each caller and backend, which have others: 24 trees in sum
ON_DISK = 1


def seeds(caller, backend):
    if "SBR_COW_SEED" in os.environ:
        return [int(os.environ["SBR_COW_SEED"])]
    count = int(os.environ.get("SBR_COW_SEEDS", SEEDS))
    place = trees.BACKENDS.index(backend) * 2 + (caller == support.Callers.USER)
    return range(place * count, (place + 1) * count)


def mutate_plainly(tree, seed):
    """As somebody whom modes hold: inside, nobody is root either."""
    words = ["/usr/bin/python3", "-B", "-", str(seed), str(STEPS)]
    if os.geteuid() == 0:
        trees.give(tree, support.Callers.USER)
        words = [*support.AS_ORDINARY, *words]
    subprocess.run(words, cwd=tree, input=MUTATE.read_bytes(), check=True, timeout=support.DEADLINE)


def copied(tree, to):
    shutil.copytree(tree, to, symlinks=True)
    return to


def paths_of(changes):
    """Every path that a list of changes speaks of."""
    for change in changes:
        for key in ("path", "from"):
            if f"{key}_base64" in change:
                yield base64.b64decode(change[f"{key}_base64"])
            elif change.get(key) is not None:
                yield change[key].encode()


class Case:
    """One tree, one caller, one backend."""

    def __init__(self, place, caller, backend, seed):
        self.caller = caller
        self.env = {"SANDBOX_RUN_STATE": str(place / "state"), "SANDBOX_RUN_COW": backend}
        self.tree = place / f"tree{seed}"
        trees.grow(self.tree, seed)
        self.plain = copied(self.tree, place / f"plain{seed}")
        trees.give(self.tree, caller)
        self.seed = seed

    def run(self):
        result = support.result_of(
            "exec", "--project", self.tree, "--keep", "--", "/usr/bin/python3", "-B", "-", self.seed, STEPS,
            caller=self.caller, env=self.env, stdin=MUTATE.read_bytes())
        assert result["outcome"] == "exited" and result["exit_code"] == 0, result
        trees.assert_backend(result, self.env["SANDBOX_RUN_COW"])
        return result

    def command(self, *words):
        done = support.sandbox_run(*words, caller=self.caller, env=self.env)
        assert done.returncode == 0, (words, done.stdout, done.stderr)

    def apply(self, kept, wanted, executed):
        """Links that lead out of the tree, and files that become executable, wait until they are named one by one."""
        words = ("apply", kept, "--yes", *(word for path in executed for word in ("--also", os.fsdecode(path))))
        done = support.sandbox_run(*words, "--json", caller=self.caller, env=self.env)
        conflicts = json.loads(done.stdout)["conflicts"]
        assert done.returncode == (126 if conflicts else 0), done
        held = list(paths_of(conflicts))
        assert all(wanted[path][0] == "link" for path in held), conflicts
        assert all("leads out" in conflict["why"] for conflict in conflicts), conflicts
        if held:
            self.command(*words, *(word for path in held for word in ("--force", os.fsdecode(path))))

    def check(self):
        before = trees.look(self.tree, exactly=True)
        looks = trees.look(self.tree)
        result = self.run()
        assert not trees.differing(before, trees.look(self.tree, exactly=True)), "the real tree was touched"
        mutate_plainly(self.plain, self.seed)
        wanted = trees.look(self.plain)
        told = set(paths_of(result["changes"]))
        assert told == set(trees.differing(looks, wanted)), "the list is not what differs"
        if not told:
            return
        self.apply(result["changes_id"], wanted, paths_of(change for change in result["changes"] if "executes" in change))
        assert not trees.differing(wanted, trees.look(self.tree)), "applied, it is something else"
        self.command("undo", result["changes_id"], "--yes")
        assert not trees.differing(looks, trees.look(self.tree)), "not as it was"
        self.command("changes", "drop", result["changes_id"])


@pytest.mark.parametrize("backend", trees.BACKENDS)
def test_applied_changes_make_the_tree_of_a_plain_run(caller, backend):
    """A few on a disk, where `apply` waits for it again and again; the rest in memory, where that costs nothing."""
    for number, seed in enumerate(seeds(caller, backend)):
        with trees.place_of(caller, None if number < ON_DISK else trees.in_memory()) as place:
            try:
                Case(place, caller, backend, seed).check()
            except AssertionError as problem:
                raise AssertionError(f"SBR_COW_SEED={seed}: {problem}") from problem
