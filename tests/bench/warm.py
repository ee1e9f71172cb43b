"""Runs through a warm engine, asked for by the library, against the bare program.

Each row is one run of tests/bench/load.c, in which ours and bare take turns."""

import base64
import collections
import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import languages
import report
from tables import MS, memory_kib

TESTS = pathlib.Path(__file__).resolve().parents[1]
SECONDS = 3600
SETTLE_SECONDS = 20
AT_ONCE = 100
CALLERS = (1, 2, 8)
SUSTAINED = 4  # times the rate of bare starts
GAPS = "0-30"
MOST_STEP = 5
JAVA_PAUSE = 300  # milliseconds
HELLO = {
    "python": ({"language": "python", "code": "print(1)"}, ["-I", "-S", "-c", "print(1)"]),
    "javascript": ({"language": "javascript", "code": "console.log(1)"}, ["-e", "console.log(1)"]),
}

Goal = collections.namedtuple("Goal", "text limit unit value")  # value: (ours, bare) -> number
Sample = collections.namedtuple("Sample", "line begin end way verdict well")


def of_bare(text, limit, share=0.5):
    """At most so much of bare's median."""
    return Goal(text, limit, " ×", lambda ours, bare: report.percentile(ours, share) / report.median(bare))


def over_bare(text, limit):
    return Goal(text, limit, " ms", lambda ours, bare: (report.median(ours) - report.median(bare)) / MS)


class Lab:
    """The engine, the load generator, and the rows so far."""

    def __init__(self, bench, scratch, engine):
        self.bench = bench
        self.scratch = scratch
        self.engine = engine
        self.load = scratch / "load"
        library = bench.peers.sandbox_run.parent / "src"
        subprocess.run(["gcc", "-std=gnu17", "-O2", "-pthread", f"-I{TESTS.parent}/include", TESTS / "bench/load.c", "-o",
                        self.load, f"-L{library}", f"-Wl,-rpath,{library}", "-lsandboxrun"], check=True)
        self.rows, self.goals = [], []

    def samples(self, name, mode, *words, lines, env=None):
        """What load says of each run; `env` None: with the engine."""
        file = self.scratch / "lines"
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        done = subprocess.run([self.load, mode, *map(str, words), file], env=env or self.engine.environment(), check=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, timeout=SECONDS)
        said = done.stdout.splitlines()
        self.bench.save(f"warm-{re.sub(r'[^a-zA-Z0-9]+', '-', name)}.txt", ["# line begin end way verdict well", *said])
        found = [Sample(int(a), int(b), int(c), d, int(e), f == "1") for a, b, c, d, e, f in map(str.split, said)]
        if not all(sample.well for sample in found):
            raise RuntimeError(f"{name}: {sum(not sample.well for sample in found)} runs failed")
        return found

    def warm_up(self, line):
        """Until its sandboxes wait."""
        for _ in range(10):
            found = self.samples("first", "rounds", 3, 20, lines=[line])
            self.settle()
            if all(sample.way == "parked" for sample in found):
                return
        print(f"never parked: {line[:100]}", file=sys.stderr)

    def settle(self):
        """Until as many wait as shall wait."""
        end = time.monotonic() + SETTLE_SECONDS
        while not (self.engine.is_settled() and self.engine.is_full()) and time.monotonic() < end:
            time.sleep(0.05)

    def compare(self, name, rounds, pause, ours, bare, goals):
        """Rows of ours and of bare, which take turns; the goals are of the two."""
        self.warm_up(ours)
        found = self.samples(name, "rounds", rounds, pause, lines=[ours, *([bare] if bare else [])])
        taken = [[s.end - s.begin for s in found if s.line == line] for line in range(2)]
        ways = collections.Counter(s.way for s in found if s.line == 0)
        self.add_row(name, "sandbox-run", taken[0], taken[1], ", ".join(f"{n} {way}" for way, n in ways.items()))
        if bare:
            self.add_row(name, "bare", taken[1], taken[1], "")
        for goal in goals:
            self.goals.append(report.goal_at_most(f"{name}: {goal.text}", goal.value(*taken), goal.limit, goal.unit))
        return taken

    def add_row(self, name, who, taken, base, ways):
        figures = [report.rounded(report.percentile(taken, share) / MS) for share in (0.5, 0.9, 0.99, 1)]
        share = report.rounded(report.median(taken) / report.median(base)) if base else "-"
        self.rows.append([name, who, *figures, share, str(len(taken)), ways or "-"])

    def add_figure(self, name, who, figure, share="-", count="-", ways="-"):
        self.rows.append([name, who, figure, "-", "-", "-", share, count, ways])


def request(check="-", **fields):
    return f"run exited {check} {json.dumps(fields)}"


def executable(path, **fields):
    content = base64.b64encode(path.read_bytes()).decode()
    return request(files=[{"path": "program", "content": content, "encoding": "base64", "executable": True}],
                   args=["/work/program"], **fields)


def tool_of(bench, name):
    """The real binary, the one that sandbox-run takes."""
    done = subprocess.run([bench.peers.sandbox_run, "languages", "--json", "--no-selftest", name], capture_output=True,
                          check=True)
    return json.loads(done.stdout)["languages"][0]["versions"][0]["path"]


# The rows


def interpreters(lab, rounds):
    python, node = (tool_of(lab.bench, name) for name in HELLO)
    ours, words = HELLO["python"]
    lines = request(**ours), " ".join(["bare", str(python), *words])
    lab.compare("Python print(1)", rounds, 0, *lines, [
        of_bare("p50 at most 0.20 × bare", 0.20), of_bare("p99 at most 0.6 × bare's p50", 0.6, 0.99)])
    lab.compare("Python print(1), 40 ms pause", rounds, 40, *lines, [of_bare("p50 at most 0.30 × bare", 0.30)])
    ours, words = HELLO["javascript"]
    lab.compare("JavaScript console.log(1)", rounds // 2, 0, request(**ours), " ".join(["bare", str(node), *words]),
                [of_bare("p50 at most 0.20 × bare", 0.20)])


def gaps(lab, rounds):
    taken, _ = lab.compare(f"Python, gaps of {GAPS} ms", rounds, GAPS, request(**HELLO["python"][0]), None, [])
    step = max(taken) / report.median(taken)
    lab.goals.append(report.goal_at_most(f"gaps of {GAPS} ms: the longest at most {MOST_STEP} × p50", step, MOST_STEP, " ×"))


def binaries(lab, rounds):
    source = lab.scratch / "true.c"
    source.write_text("int main(void) { return 0; }\n", encoding="ascii")
    for name, compiler, goals in (
            ("static binary", "musl-gcc", [of_bare("p50 at most 3 × bare", 3)]), ("static binary, glibc", "gcc", [])):
        program = lab.scratch / f"true-{compiler}"
        subprocess.run([compiler, "-O2", "-static", "-s", "-o", program, source], check=True)
        size = f"{name}, {program.stat().st_size // 1024} KiB"
        lab.compare(size, rounds, 0, executable(program), f"bare {program}", goals)
    lab.compare("exec /usr/bin/true", rounds, 0, request(args=["/usr/bin/true"]), "bare /usr/bin/true", [])


def lanes(lab, cache, rounds):
    """Compiled languages: the bare commands are those of the table of languages.  An idle engine is asked: a virtual
    machine takes a while to be made, so there are pauses, for bare as well."""
    wanted = {
        "java": [("new source", languages.COLD, rounds // 10, JAVA_PAUSE, of_bare("p50 at most 0.10 × bare", 0.10)),
                 ("cached source", languages.UNCHANGED, rounds // 5, JAVA_PAUSE, of_bare("p50 at most 0.25 × bare", 0.25))],
        "go": [("unchanged source", languages.UNCHANGED, rounds // 2, 0, over_bare("at most 5 ms over bare", 5))],
        "rust": [("unchanged source", languages.UNCHANGED, rounds // 2, 0, over_bare("at most 5 ms over bare", 5))],
    }
    for name, cases in wanted.items():
        try:
            lane = languages.Lane(name, lab.bench.peers.sandbox_run, cache)
        except languages.Unusable as why:
            lab.add_figure(name, f"NOT MEASURED: {why}", "-")
            continue
        for what, case, count, pause, goal in cases:
            bare = [str(word) for word in lane.commands[case][1] if not str(word).startswith("edit=")]
            code = lane.program.code.replace(languages.NUMBER, "@N@") if case == languages.COLD else lane.program.code
            title = f"{name}, {what}" + (f", {pause} ms pause" if pause else "")
            lab.compare(title, max(count, 5), pause, request(language=name, code=code), " ".join(["bare", *bare]),
                        [goal])


def rate_lines(lab, language):
    ours, words = HELLO[language]
    cold = [lab.bench.peers.sandbox_run, "run", "--cold", "--lang", language, "--code", ours["code"]]
    return {"sandbox-run": request(**ours), "cold": " ".join(["bare", *map(str, cold)]),
            "bare": " ".join(["bare", str(tool_of(lab.bench, language)), *words])}


def rates_of(lab, name, lines, callers, milliseconds, slices):
    """Runs per second of each, in turns."""
    taken = collections.defaultdict(list)
    for number in range(slices):
        for who in (lines if number % 2 else reversed(lines)):
            found = lab.samples(f"rate {name} {who} {callers}", "rate", callers, milliseconds, lines=[lines[who]])
            seconds = (max(s.end for s in found) - min(s.begin for s in found)) / 1e9
            taken[who].append((len(found) / seconds, found))
    middle = {who: report.median([figure for figure, _ in figures]) for who, figures in taken.items()}
    for who, figures in taken.items():
        ways = collections.Counter(s.way for _, found in figures for s in found)
        lab.add_figure(f"{name}, {callers} callers, runs/s", who, report.rounded(middle[who]),
                       report.rounded(middle[who] / middle["bare"]), str(slices),
                       ", ".join(f"{n} {way}" for way, n in ways.items()))
    return middle


def rates(lab, milliseconds, slices):
    for name in HELLO:
        lines = rate_lines(lab, name)
        found = [rates_of(lab, name, lines, callers, milliseconds, slices) for callers in CALLERS]
        best = [max(rate[who] for rate in found) for who in ("sandbox-run", "bare")]
        lab.goals.append(report.goal_at_least(f"sustained {name} runs per second at least {SUSTAINED} × bare",
                                              best[0] / best[1], SUSTAINED, " ×"))
        lab.goals.append(report.goal_at_least(f"sustained {name} with the engine never slower than without it",
                                              min(rate["sandbox-run"] / rate["cold"] for rate in found), 1, " ×"))


def burst(lab, times):
    lines = {"sandbox-run": request(**HELLO["python"][0]),
             "bare": " ".join(["bare", str(tool_of(lab.bench, "python")), *HELLO["python"][1]])}
    taken = collections.defaultdict(list)
    for _ in range(times):
        for who, line in lines.items():
            lab.settle()
            found = lab.samples(f"burst {who}", "burst", AT_ONCE, lines=[line])
            taken[who].append(max(s.end for s in found) - min(s.begin for s in found))
    for who in lines:
        lab.add_row(f"{AT_ONCE} at once, until all are answered", who, taken[who], taken["bare"], "")
    share = report.median(taken["sandbox-run"]) / report.median(taken["bare"])
    lab.goals.append(report.goal_at_most(f"{AT_ONCE} at once at most 0.20 × bare", share, 0.20, " ×"))


def memory(lab, descendants):
    """Private memory of what waits."""
    lab.warm_up(request(**HELLO["python"][0]))
    lab.warm_up(request(args=["/usr/bin/true"]))
    pids = descendants(lab.engine.process.pid)
    found = collections.defaultdict(list)
    for pid in pids:
        with contextlib.suppress(OSError):
            role = role_of(pid, lab.engine.process.pid)
            found[role].append(memory_kib(pid)[0])
    for role, sizes in sorted(found.items()):
        lab.add_figure(f"private KiB: {role}", "sandbox-run", str(report.median(sizes)), count=str(len(sizes)))
    for role, limit in (("parked Python worker", 3 * 1024), ("idle shell", 0.3 * 1024)):
        value = report.median(found[role]) if found[role] else None
        lab.goals.append(report.goal_at_most(f"private memory of a {role} at most {limit:.0f} KiB", value, limit, " KiB"))


def stat_of(pid):
    """(program, parent) of a process."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return os.path.basename(os.readlink(f"/proc/{pid}/exe")), int(re.search(r"^PPid:\s*(\d+)", status, re.MULTILINE)[1])


def role_of(pid, engine):
    """By program and by place in the tree: the engine starts factories, and a factory its shells and its zygote."""
    program, parent = stat_of(pid)
    if parent == engine:
        return "crash cleanup" if "init" not in program else "factory"
    is_of_factory = stat_of(parent)[1] == engine
    if program.startswith("python"):
        return "Python zygote" if is_of_factory else "parked Python worker"
    if "init" in program:
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
        return "shell of a worker" if children else "idle shell"
    return f"{program}, parked"


def rivals(lab, rounds):
    """Other tools, cold, beside it: the command line, from vfork to reaped."""
    peers = lab.bench.peers.usable
    program = [str(tool_of(lab.bench, "python")), *HELLO["python"][1]]
    lines = lab.bench.rbench_lines("latency", rounds, 0, [peer.command(program) for peer in peers])
    taken = {peer.name: [ns for i, ns, status in lines if peers[i] is peer and not status] for peer in peers}
    for name, times in taken.items():
        if times:
            lab.add_row("Python print(1), cold, command line", name, times, taken["bare"], "")


NOTE = (
    "Milliseconds from the call of the library (`sbr_run`) to its result with metrics, the engine idle but for this; bare is"
    " vfork, exec and wait of the same thing with an empty environment. Both take turns in one run, in an order drawn anew for"
    " each round. The way says how the sandboxes came about. Rates are runs per second, memory is KiB, in the column p50."
)


def warm(bench):
    effort = bench.effort
    sys.path.insert(0, str(TESTS))
    os.environ["SBR_BUILD"] = str(bench.peers.sandbox_run.parent)
    import engine as engines  # pylint: disable=import-outside-toplevel,import-error

    with tempfile.TemporaryDirectory(prefix="sandbox-run-bench.", ignore_cleanup_errors=True) as folder:
        scratch = pathlib.Path(folder)
        scratch.chmod(0o755)
        store = {"SANDBOX_RUN_CACHE": str(scratch / "lanes/cache")}
        (scratch / "lanes").mkdir()
        with engines.Engine(scratch / "engine", env=store) as engine:
            lab = Lab(bench, scratch, engine)
            for part in (lambda: interpreters(lab, effort.warm_rounds), lambda: gaps(lab, effort.warm_rounds),
                         lambda: binaries(lab, effort.warm_rounds), lambda: memory(lab, engines.descendants),
                         lambda: rates(lab, 4 * effort.rate_slice_ms, effort.rate_slices),
                         lambda: burst(lab, effort.memory_runs),
                         lambda: lanes(lab, scratch / "lanes", effort.warm_rounds),
                         lambda: rivals(lab, max(effort.warm_rounds // 10, 5))):
                try:
                    part()
                except (RuntimeError, subprocess.SubprocessError, ZeroDivisionError) as problem:
                    lab.add_figure(f"NOT MEASURED: {problem}"[:200], "-", "-")
    header = ["path", "who", "p50", "p90", "p99", "max", "× bare", "N", "ways"]
    return report.Table("Warm runs", NOTE, header, lab.rows, lab.goals)
