"""Images: what a start from one costs beside the host's files, and beside `podman run` and `docker run` of the same image."""

import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import report
from tables import MS, ratio

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))

import oci_images  # noqa: E402

ROUNDS = {True: 200, False: 20}  # of ours, and of the engines, which take a hundred times as long
MAX_MORE_MS = 1
MAX_OF_ENGINES = 0.05
NAME = "localhost/bench:latest"
INSIDE = ["/bin/true"]
# An engine's own limits may be more than it may set here.
RUN = ["run", "--rm", "--network", "none", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024", NAME, *INSIDE]
SECONDS = 60


def until(condition):
    end = time.monotonic() + SECONDS
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError("not ready in time")
        time.sleep(0.01)


def called(words, env=None):
    """Nanoseconds of one run."""
    start = time.perf_counter_ns()
    subprocess.run([str(word) for word in words], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.PIPE, check=True, timeout=SECONDS)
    return time.perf_counter_ns() - start


def make_image(folder):
    """A system of one program, as a layout and as Docker's archive."""
    members = [*oci_images.busybox_members(), oci_images.link("bin/true", "busybox"), oci_images.directory("tmp"), oci_images.directory("usr")]
    ref = oci_images.Layout(folder / "layout").add([oci_images.archive(members)], Env=["PATH=/bin"])
    subprocess.run(["skopeo", "copy", "--quiet", "--insecure-policy", ref, f"docker-archive:{folder}/image.tar:{NAME}"], check=True)
    return ref


@contextlib.contextmanager
def podman(folder):
    words = ["podman", "--root", folder / "podman", "--runroot", folder / "podman-run", "--runtime", "runc", "--cgroup-manager",
             "cgroupfs", "--events-backend", "none", "--storage-driver", "overlay"]
    called([*words, "load", "-i", folder / "image.tar"])
    try:
        yield [*words, *RUN]
    finally:
        subprocess.run([*map(str, words), "system", "reset", "--force"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


@contextlib.contextmanager
def docker(folder):
    socket = folder / "docker.sock"
    daemon = ["dockerd", "--iptables=false", "--bridge=none", "--data-root", folder / "docker", "--exec-root", folder / "docker-run",
              "--pidfile", folder / "docker.pid", "--host", f"unix://{socket}"]
    words = ["docker", "--host", f"unix://{socket}"]
    with open(folder / "docker.log", "wb") as log, subprocess.Popen(list(map(str, daemon)), stdout=log, stderr=log) as process:
        try:
            until(lambda: subprocess.run([*words, "info"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0)
            called([*words, "load", "-i", folder / "image.tar"])
            yield [*words, *RUN]
        finally:
            process.terminate()


@contextlib.contextmanager
def engine_of_ours(sandbox_run, env):
    with subprocess.Popen([sandbox_run, "serve", "--warm", "command"], env=env, stderr=subprocess.PIPE) as process:
        try:
            process.stderr.readline()
            yield
        finally:
            process.terminate()


def measure(samples, commands, rounds):
    """In turn, forwards and backwards."""
    for number in range(rounds):
        for name, (words, env) in list(commands.items())[::-1 if number % 2 else 1]:
            samples.setdefault(name, []).append(called(words, env))


def images(bench):
    ours = next(peer for peer in bench.peers.usable if peer.name == "sandbox-run").sandbox_run
    samples, missing = {}, []
    with tempfile.TemporaryDirectory(prefix="sandbox-run-images.", ignore_cleanup_errors=True) as name:
        folder = pathlib.Path(name)
        ref = make_image(folder)
        env = {**os.environ, "SANDBOX_RUN_CACHE": str(folder / "cache"), "SANDBOX_RUN_SOCKET": str(folder / "engine.sock")}
        here, there = [ours, "exec", "--", "/usr/bin/true"], [ours, "exec", "--image", ref, "--", *INSIDE]
        called(there, env)
        measure(samples, {"host's files": (here, env), "image": (there, env)}, ROUNDS[True])
        with engine_of_ours(ours, env):
            for words in (here, there):
                called(words, env)
            time.sleep(1)  # pools are filled
            measure(samples, {"host's files, parked": (here, env), "image, parked": (there, env)}, ROUNDS[True])
        for tool in (podman, docker):
            try:
                with tool(folder) as words:
                    called(words)
                    measure(samples, {f"{tool.__name__} run": (words, None)}, ROUNDS[False])
            except (OSError, RuntimeError, subprocess.SubprocessError) as problem:
                missing.append(f"{tool.__name__}: {problem}")
    return table_of(bench, samples, missing)


def table_of(bench, samples, missing):
    middle = {name: report.median(taken) for name, taken in samples.items()}
    rows = [[name, *(report.rounded(report.percentile(taken, share) / MS) for share in (0.5, 0.9)), ratio(middle["image"], middle[name]),
             str(len(taken))] for name, taken in samples.items()]
    bench.save("images.txt", ["# name nanoseconds", *(f"{name}: {ns}" for name, taken in samples.items() for ns in taken)])
    more = (middle["image"] - middle["host's files"]) / MS
    text = f"a start from an image takes at most {MAX_MORE_MS} ms more than one from the host's files"
    goals = [report.goal_at_most(text, more, MAX_MORE_MS, " ms")]
    for name in ("podman run", "docker run"):
        if name in middle:
            share = middle["image"] / middle[name]
            text = f"a start from an image takes at most {MAX_OF_ENGINES} of `{name}` of the same image"
            goals.append(report.goal_at_most(text, share, MAX_OF_ENGINES, " ×"))
    note = "Milliseconds of `true` in an image of one program, without a network; the host's files beside it." + \
        "".join(f" NOT MEASURED: {why}." for why in missing)
    return report.Table("Images", note, ["start", "median ms", "p90 ms", "image is of it", "runs"], rows, goals)
