"""Projects seen copy-on-write: what --project adds to a start, what --diff adds to a run, and how long it takes to apply.

The first must not grow with the tree, the second only with what was changed.  The copy that stands in for overlayfs is
measured beside them: it does grow."""

import collections
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

import report
from tables import MS, ratio

SIZES = (10, 1_000, 100_000)
LARGEST = SIZES[-1]
CHANGES = (1, 100, 10_000)
APPLIED = 1_000
PER_FOLDER = 100
SECONDS = 600
MAX_GROWTH = 1.1  # start with the largest tree, of that with the smallest
MAX_DIFF_GROWTH = 1.5  # the same changes in the largest tree, of those in the middle one
MOST_COPIED = 3  # rounds with a copy of the largest tree: seconds each
MEMORY = "/dev/shm"  # so that no disk is measured

# Appends to the first N files of the directory that it runs in.
CHANGE = """import sys
for number in range(int(sys.argv[1])):
    with open("d%d/f%d" % (number // 100, number % 100), "a") as file:
        file.write("more\\n")
"""


class Samples:
    """Nanoseconds by name, in the order in which the names came."""

    def __init__(self):
        self.taken = collections.defaultdict(list)

    def middle(self, name):
        return report.median(self.taken[name])

    def row(self, name, base):
        """Milliseconds; `base` is what it is compared with, or None."""
        taken = self.taken[name]
        shown = [report.rounded(report.percentile(taken, share) / MS) for share in (0.5, 0.9)]
        more = ["", "", ""]
        if base:
            more = [base, report.rounded((self.middle(name) - self.middle(base)) / MS),
                    ratio(self.middle(name), self.middle(base))]
        return [name, *shown, *more, str(len(taken))]


def grow(top, files):
    """Small text files, a hundred in each directory."""
    top.mkdir()
    for number in range(files):
        folder = top / f"d{number // PER_FOLDER}"
        if number % PER_FOLDER == 0:
            folder.mkdir()
        (folder / f"f{number % PER_FOLDER}").write_text(f"file {number}\n" * 10, encoding="ascii")
    return top


class Lab:
    """The trees, the state of the tool, and its command lines."""

    def __init__(self, bench, place):
        self.bench = bench
        self.place = place
        self.state = place / "state"
        self.state.mkdir(mode=0o700)
        self.change = place / "change"
        self.change.mkdir()
        (self.change / "change.py").write_text(CHANGE, encoding="ascii")
        self.trees = {size: grow(place / f"tree{size}", size) for size in SIZES}
        self.samples = Samples()

    def words(self, *options, command=("/usr/bin/true",), backend="overlay"):
        variables = [f"SANDBOX_RUN_STATE={self.state}", f"SANDBOX_RUN_COW={backend}"]
        return [*variables, self.bench.peers.sandbox_run, "exec", *options, "--", *command]

    def measure(self, rounds, cases):
        """Name -> words; in turns."""
        names = list(cases)
        for name in names:
            self.samples.taken[name] = []  # rows in this order, whoever came first
        for i, nanoseconds, status in self.bench.rbench_lines("latency", rounds, 0, list(cases.values())):
            if status:
                raise RuntimeError(f"{names[i]}: wait status {status}")
            self.samples.taken[names[i]].append(nanoseconds)

    def tool(self, *words):
        """(nanoseconds, stdout) of one call that must succeed."""
        begin = time.monotonic_ns()
        done = subprocess.run(
            [str(word) for word in (self.bench.peers.sandbox_run, *words)],
            env={"SANDBOX_RUN_STATE": str(self.state)}, stdin=subprocess.DEVNULL, capture_output=True, check=False,
            timeout=SECONDS)
        taken = time.monotonic_ns() - begin
        if done.returncode:
            raise RuntimeError(f"{words[0]}: {done.stderr.decode().strip()[-200:]}")
        return taken, done.stdout


def started(size, backend="overlay"):
    return f"start: {size:,} files" + ("" if backend == "overlay" else f", {backend}")


BARE = "start: no project"


def starts(lab):
    rounds = lab.bench.effort.workspace_rounds
    cases = {BARE: lab.words()}
    cases |= {started(size): lab.words("--project", tree) for size, tree in lab.trees.items()}
    small = {started(size, "copy"): lab.words("--project", lab.trees[size], backend="copy") for size in SIZES[:-1]}
    lab.measure(rounds, cases | small)
    slow = {started(LARGEST, "copy"): lab.words("--project", lab.trees[LARGEST], backend="copy")}
    lab.measure(min(rounds, MOST_COPIED), slow)


def changing(count, size, diff):
    return f"run: {count:,} of {size:,} changed" + (", --diff" if diff else "")


def diffs(lab):
    """With and without --diff: the difference is its price."""
    limits = ["--memory", "2g", "--disk", "1g", "--timeout", f"{SECONDS}s", "--volume", f"{lab.change}:/change"]
    cases = {}
    for count, size in ((APPLIED, SIZES[1]), *((count, LARGEST) for count in (*CHANGES[:2], APPLIED, CHANGES[2]))):
        command = ("/usr/bin/python3", "/change/change.py", count)
        for diff in (False, True):
            options = ["--json", *limits, *(["--diff"] if diff else [])]
            cases[changing(count, size, diff)] = lab.words("--project", lab.trees[size], *options, command=command)
    lab.measure(max(lab.bench.effort.workspace_rounds // 4, 3), cases)


def applies(lab):
    tree = grow(lab.place / "applied", APPLIED)
    limits = ["--volume", f"{lab.change}:/change", "--disk", "1g"]
    for _ in range(max(lab.bench.effort.workspace_rounds // 4, 3)):
        _, said = lab.tool("exec", "--json", "--project", tree, "--keep", *limits, "--", "/usr/bin/python3",
                           "/change/change.py", APPLIED)
        kept = json.loads(said)["changes_id"]
        for verb in ("apply", "undo"):
            lab.samples.taken[f"{verb}: {APPLIED:,} files"].append(lab.tool(verb, kept, "--yes")[0])
        lab.tool("changes", "drop", kept)
        begin = time.monotonic_ns()
        subprocess.run(["cp", "-r", tree, lab.place / "plain"], check=True)
        lab.samples.taken[f"cp -r: {APPLIED:,} files"].append(time.monotonic_ns() - begin)
        shutil.rmtree(lab.place / "plain")


def rows_of(samples):
    def base_of(name):
        if name.startswith("start:"):
            return None if name == BARE else BARE
        if name.startswith("run:"):
            return name.removesuffix(", --diff") if name.endswith(", --diff") else None
        return f"cp -r: {APPLIED:,} files" if not name.startswith("cp") else None

    return [samples.row(name, base_of(name)) for name in samples.taken]


def price(samples, count, size):
    """Of --diff, in nanoseconds."""
    return samples.middle(changing(count, size, True)) - samples.middle(changing(count, size, False))


def goals_of(samples):
    growth = samples.middle(started(LARGEST)) / samples.middle(started(SIZES[0]))
    prices = [price(samples, APPLIED, size) for size in (LARGEST, SIZES[1])]
    return [
        report.goal_at_most(f"start with {LARGEST:,} files at most {MAX_GROWTH} × that with {SIZES[0]}", growth,
                            MAX_GROWTH, " ×"),
        report.goal_at_most(
            f"--diff of {APPLIED:,} changes in {LARGEST:,} files at most {MAX_DIFF_GROWTH} × that in {SIZES[1]:,}",
            prices[0] / prices[1] if prices[1] > 0 else None, MAX_DIFF_GROWTH, " ×"),
    ]


def workspaces(bench):
    with tempfile.TemporaryDirectory(prefix="sandbox-run-bench-trees.", dir=MEMORY) as place:
        os.chmod(place, 0o755)
        lab = Lab(bench, pathlib.Path(place))
        starts(lab)
        diffs(lab)
        applies(lab)
    samples = lab.samples
    bench.save("workspaces.txt", [f"{name}: {taken}" for name, taken in samples.taken.items()])
    note = (
        "Milliseconds from vfork to reaped; the trees are in memory (tmpfs). `start` is `exec -- true` with `--project` on trees of small files, once with"
        " overlayfs and once with the copy that stands in for it; `run` appends a line to so many files of a tree, with"
        " and without `--diff`, whose price is the difference; `apply` and `undo` are of files that were kept."
    )
    header = ["what", "p50", "p90", "compared with", "more", "×", "N"]
    return report.Table("Workspaces", note, header, rows_of(samples), goals_of(samples))
