"""Measures sandbox-run next to the bare program, bubblewrap, crun and runc.

Prints the tables, writes them to docs/performance.md (between markers; a --quick run, or one of a
part, writes to build/bench/performance.md) and keeps the raw samples in build/bench/.  On a busy
machine the figures are shown, but no verdict is given.

Usage: bench.py [--quick] [--only NAME] [--language NAME] [--rounds N] [--output FILE] [--build DIR]
"""

import argparse
import dataclasses
import pathlib
import subprocess
import sys
import tempfile
import time

import agents
import images
import languages
import machine
import network
import peers
import report
import service
import sessions
import sustained
import tables
import warm
import workspaces

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent

FULL = tables.Effort(
    rounds={"static": 400, "dynamic": 400, "python": 150},
    paused_rounds={"static": 150, "dynamic": 120, "python": 80},
    pause_ms=40,
    memory_runs=5,
    capture_bytes=1 << 30,
    capture_runs=5,
    loop_runs=11,
    rate_slices=3,
    rate_slice_ms=800,
    language_rounds=40,
    network_bytes=1 << 30,
    network_connections=2000,
    network_rounds=7,
    workspace_rounds=60,
    warm_rounds=1000,
)
QUICK = tables.Effort(
    rounds={"static": 60, "dynamic": 60, "python": 20},
    paused_rounds={"static": 25, "dynamic": 20, "python": 10},
    pause_ms=40,
    memory_runs=1,
    capture_bytes=1 << 28,
    capture_runs=2,
    loop_runs=3,
    rate_slices=1,
    rate_slice_ms=500,
    language_rounds=5,
    network_bytes=1 << 28,
    network_connections=300,
    network_rounds=3,
    workspace_rounds=8,
    warm_rounds=60,
)
MEASUREMENTS = {
    m.__name__.replace("_", "-"): m
    for m in (
        *tables.MEASUREMENTS,
        network.network,
        network.network_start,
        workspaces.workspaces,
        images.images,
        sessions.sessions,
        agents.agents,
        service.service,
        warm.warm,
        sustained.sustained,
        languages.languages,
    )
}


def compile_c(source, target, *options):
    subprocess.run(["gcc", "-O2", "-Wall", "-Wextra", *options, "-o", target, source], check=True)


def build_payloads(scratch):
    """The folder that every tool sees as /bench.  Other users must be able to read it."""
    folder = scratch / "payloads"
    folder.mkdir()
    empty_main = scratch / "static-true.c"
    empty_main.write_text("int main(void)\n{\n    return 0;\n}\n", encoding="ascii")
    compile_c(empty_main, folder / "static-true", "-static")
    compile_c(HERE / "workload.c", folder / "workload", "-static")
    return folder


def file_version(path):
    about = path.stat()
    return about.st_ino, about.st_mtime_ns


def measured_or_reason(measurement, bench, name):
    """One that fails must not take the others with it."""
    try:
        return measurement(bench)
    except (OSError, RuntimeError, subprocess.CalledProcessError) as problem:
        note = f"NOT MEASURED: {problem}"
        return report.Table(name, note, ["NOT MEASURED"], [[str(problem)]])


def measure_all(bench, quiet, only):
    found = []
    for name, measurement in MEASUREMENTS.items():
        if only and name not in only:
            continue
        name = name.replace("-", " ")
        quiet.probe(name)
        start = time.monotonic()
        print(f"measuring: {name} ...", end=" ", file=sys.stderr, flush=True)
        found.append(measured_or_reason(measurement, bench, name))
        print(f"{time.monotonic() - start:.0f} s", file=sys.stderr)
    return found


def run(options, effort, scratch):
    quiet = machine.QuietCheck()
    sandbox_run = options.build / "sandbox-run"
    version = file_version(sandbox_run)
    folder = build_payloads(scratch)
    rbench = scratch / "rbench"
    compile_c(HERE / "rbench.c", rbench)
    raw = options.build / "bench"
    raw.mkdir(parents=True, exist_ok=True)
    tools = peers.Peers(folder, scratch, sandbox_run, ROOT / "policies/default.yaml")
    try:
        bench = tables.Bench(tools, effort, rbench, folder / "workload", raw)
        found = measure_all(bench, quiet, options.only)
    finally:
        tools.close()
    busy = quiet.finish()
    if file_version(sandbox_run) != version:
        busy.append("sandbox-run was built anew while it was measured")
    facts = machine.facts(sandbox_run, ROOT)
    facts.append(("effort", "--quick: too few samples for p99" if options.quick else "full"))
    print(report.terminal(found, tools.missing, busy))
    known = dict(facts)
    stamp = f"Measured on {known['date']}, commit {known['commit']}." if options.only else None
    report.write_between_markers(options.output, report.section(found, facts, tools, busy), stamp)
    print(f"written: {options.output}; raw samples: {raw}")


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="about a minute, for a first look")
    parser.add_argument("--only", action="append", choices=MEASUREMENTS, help="may be repeated")
    parser.add_argument(
        "--language", action="append", choices=sorted({*languages.PROGRAMS, *sustained.HELLO}),
        help="of the languages and of sustained; may be repeated"
    )
    parser.add_argument("--rounds", type=int, metavar="N", help="of the languages")
    parser.add_argument("--output", type=pathlib.Path, help="the page to write the tables into")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="where sandbox-run is")
    options = parser.parse_args()
    options.build = options.build.resolve()
    if not options.output:
        part = options.quick or options.only or options.language
        folder = options.build / "bench" if part else ROOT / "docs"
        options.output = folder / "performance.md"
    return options


def effort_of(options):
    effort = QUICK if options.quick else FULL
    rounds = options.rounds or effort.language_rounds
    return dataclasses.replace(effort, language_rounds=rounds, languages=options.language or ())


def main():
    options = parse_options()
    with tempfile.TemporaryDirectory(prefix="sandbox-run-bench.") as scratch:
        scratch = pathlib.Path(scratch)
        scratch.chmod(0o755)
        run(options, effort_of(options), scratch)


if __name__ == "__main__":
    main()
