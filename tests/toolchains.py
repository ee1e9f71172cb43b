"""Toolchains and tests are made ready once, for all suites, beside those that need none.

Workers that need the same toolchain would wait for each other.  Each toolchain is made ready by one caller, whose entry
of the store the other caller gets as a copy: the keys are the same, and Go alone takes 70 seconds of CPU time.  Each
caller makes some of them, so that neither way is untried.

Workers that begin at the same time would each compile all tests as pytest rewrites them: 5 seconds of CPU time.
"""
import functools
import json
import os
import subprocess
import threading

import support

LONGEST = "go"  # takes as long as all others in sum
COLLECTED = ("blackbox", "escape", "warm")  # suites that several workers collect
TESTS = os.path.dirname(os.path.abspath(__file__))


@functools.cache
def names():
    """Of the languages that this build has."""
    caller = support.available_callers()[0]
    listed = subprocess.run(support.command("languages", "--json", "--no-selftest", caller=caller),
                            env=support.surroundings(caller), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, check=False)
    return [language["name"] for language in json.loads(listed.stdout)["languages"]] if listed.stdout else []


def shared_out(callers, languages):
    """The languages that each caller makes ready; an ordinary user, the one that takes longest."""
    if len(callers) < 2:
        return {caller: list(languages) for caller in callers}
    return {caller: [name for name in languages if (name == LONGEST) == (caller == support.Callers.USER)]
            for caller in callers}


def hand_over(giver, taker):
    """Copies what `giver` made ready and `taker` lacks."""
    owner = support.ORDINARY_UID if taker == support.Callers.USER else os.geteuid()
    made, kept = (os.path.join(support.cache_of(caller), "prepared") for caller in (giver, taker))
    if not os.path.isdir(made) or not os.path.isdir(kept):
        return
    for entry in sorted({*os.listdir(made)} - {*os.listdir(kept)}):
        copy = os.path.join(support.cache_of(taker), "staging", entry)
        subprocess.run(["cp", "-a", os.path.join(made, entry), copy], check=True)
        subprocess.run(["chown", "-Rh", f"{owner}:{owner}", copy], check=True)
        os.rename(copy, os.path.join(kept, entry))


class Toolchains:
    """In the background, from start() on."""

    def __init__(self):
        self.live = []
        self.lock = threading.Lock()
        self.stopped = False
        self.threads = []
        self.callers = []

    def start(self):
        self.callers = [caller for caller in support.available_callers() if not support.lacks(caller)]
        for caller, languages in shared_out(self.callers, names()).items():
            self.threads.append(threading.Thread(target=self._make, args=(caller, languages), daemon=True))
            self.threads[-1].start()
        self.threads.append(threading.Thread(target=self._compile_tests, daemon=True))
        self.threads[-1].start()

    def wait(self):
        """A toolchain that cannot be had is for its tests to tell."""
        for thread in self.threads:
            thread.join()
        if self.threads and len(self.callers) > 1 and not self.stopped:
            hand_over(*self.callers)
            hand_over(*reversed(self.callers))
        self.threads = []

    def stop(self):
        with self.lock:
            self.stopped = True
            for process in self.live:
                process.terminate()
        for thread in self.threads:
            thread.join()
        self.threads = []

    def _make(self, caller, languages):
        for name in languages:
            self._run(support.command("languages", name, "--json", "--prepare", "--selftest", caller=caller),
                      support.surroundings(caller))

    def _compile_tests(self):
        env = {**os.environ, "PYTHONPATH": TESTS, "PYTHONPYCACHEPREFIX": os.path.join(os.environ["SBR_TEST_BUILD"], "bytecode")}
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        for suite in COLLECTED:
            self._run(["/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--collect-only", "--rootdir",
                       os.path.dirname(TESTS), os.path.join(TESTS, suite)], env)

    def _run(self, words, env):
        with self.lock:
            if self.stopped:
                return
            process = subprocess.Popen(words, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            self.live.append(process)
        process.wait()
        with self.lock:
            self.live.remove(process)
