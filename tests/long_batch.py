#!/usr/bin/python3
"""A batch of one-line Python programs that is killed again and again: its rate, and that each has one result.

Usage: long_batch.py [RUNS]     10,000 of them.  The library's own rate is measured in between.
"""
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import engine
import support

RUNS = 10000
JOBS = os.cpu_count() or 1
KILLS = 4
SLICE_MS = 5000
LOOK_S = 0.1  # between two looks at the results
PATIENCE = 1800  # seconds for one part, on a slow machine
REACH = 0.9  # of the library's rate


def compiled_load(folder):
    load, library = folder / "load", support.BUILD / "src"
    subprocess.run(["gcc", "-std=gnu17", "-O2", "-pthread", f"-I{support.REPO}/include", support.REPO / "tests/bench/load.c",
                    "-o", load, f"-L{library}", f"-Wl,-rpath,{library}", "-lsandboxrun"], check=True)
    return load


def library_rate(load, folder, env):
    """Runs per second of such programs by sbr_run, from as many threads as the batch has jobs."""
    line = folder / "line"
    line.write_text("run exited echo " + json.dumps({"language": "python", "code": "print(@N@)"}) + "\n")
    done = subprocess.run([load, "rate", str(JOBS), str(SLICE_MS), line], env=env, stdout=subprocess.PIPE, check=True,
                          timeout=PATIENCE)
    times = [(int(one[1]), int(one[2])) for one in map(bytes.split, done.stdout.splitlines())]
    return len(times) / ((max(end for _, end in times) - min(begin for begin, _ in times)) / 1e9)


def lines_of(path):
    return path.read_bytes().splitlines() if path.exists() else []


def part(words, env, out, enough):
    """Runs per second until so many results are there; then it is killed."""
    before, began = len(lines_of(out)), time.monotonic()
    with subprocess.Popen(words, env=env, stderr=subprocess.DEVNULL) as batch, open(out, "rb") as results:
        seen = [0]

        def are_there():
            seen[0] += results.read().count(b"\n")  # what is new: the file has megabytes
            return seen[0] >= enough

        assert engine.within(PATIENCE, are_there, LOOK_S)
        took = time.monotonic() - began
        batch.send_signal(signal.SIGKILL)
        batch.wait()
    return (seen[0] - before) / took


def check(out, runs, kept, said):
    """`kept`: the lines that were there after each kill."""
    after = lines_of(out)
    items = [json.loads(one) for one in after]
    assert sorted(one["item"] for one in items) == list(range(1, runs + 1)), "an item is missing, or has two results"
    for lines in kept:
        assert after[:len(lines)] == lines, "a result that was there has changed"
    wrong = [one["item"] for one in items if one["stdout"] != f"{one['item']}\n" or not one["success"]]
    assert not wrong, f"wrong results: {wrong[:10]}"
    had = re.search(r"(\d+) had their results", said)
    assert had and int(had[1]) == len(kept[-1]), f"{len(kept[-1])} results were there, but it said: {said[-300:]}"


def measure(folder, runs):
    """Pairs of rates, of the batch and of the library beside it: other work on the machine meets both."""
    requests, out = folder / "requests.jsonl", folder / "results.jsonl"
    requests.write_text("".join(json.dumps({"language": "python", "code": f"print({i})"}) + "\n" for i in range(1, runs + 1)))
    load, pairs, kept = compiled_load(folder), [], []
    out.touch()
    with engine.Engine(folder / "engine") as running:
        env = running.environment()
        if running.caller == support.Callers.USER and os.geteuid() == 0:
            os.chown(out, support.ORDINARY_UID, support.ORDINARY_UID)
        words = support.command("batch", "--jobs", str(JOBS), "--results", str(out), str(requests), caller=running.caller)
        library = [library_rate(load, folder, env)]
        for number in range(1, KILLS + 1):
            batch = part(words, env, out, runs * number // (KILLS + 1))
            kept.append([one for one in lines_of(out) if one.endswith(b"}")])
            library.append(library_rate(load, folder, env))
            pairs.append((batch, (library[-2] + library[-1]) / 2))
        done = subprocess.run(words, env=env, stderr=subprocess.PIPE, check=True, timeout=PATIENCE)
    check(out, runs, kept, done.stderr.decode())
    return pairs


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    with tempfile.TemporaryDirectory(prefix="sbr-long-batch-") as place:
        folder = pathlib.Path(place)
        folder.chmod(0o755)
        pairs = measure(folder, runs)
    share = statistics.median(batch / library for batch, library in pairs)
    figures = ", ".join(f"{batch:.0f} of {library:.0f}" for batch, library in pairs)
    print(f"batch of {runs}, killed {KILLS} times: {share:.2f} of the library's rate (runs/s: {figures})", flush=True)
    if share < REACH:
        sys.exit(f"less than {REACH} of the library's rate")


if __name__ == "__main__":
    main()
