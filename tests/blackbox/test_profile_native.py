"""profile --functions of compiled programs: what their sampler sees, and what it says it did not see."""
import json

import pytest

from support import sandbox_run

SPIN = """
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile double sink;

static void spin(clockid_t clock, int ms)
{
    struct timespec t;

    do {
        for (int i = 0; i < 10000; i++)
            sink += i;
        clock_gettime(clock, &t);
    } while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < ms);
}
"""

# Threads, a handler and a timer of SIGPROF, a thread that sleeps while others compute, exec of another program.
HABITS = SPIN + """
static volatile int ticks;

static void count(int number)
{
    (void)number;
    ticks++;
}

void *first(void *n)
{
    spin(CLOCK_THREAD_CPUTIME_ID, 100);
    return n;
}

void *second(void *n)
{
    spin(CLOCK_THREAD_CPUTIME_ID, 200);
    return n;
}

int main(int argc, char **argv)
{
    struct itimerval every = { { 0, 10000 }, { 0, 10000 } }, none = { 0 };
    struct timespec rest = { 0, 100000000 };
    pthread_t a, b;

    if (argc > 1)
        return getenv("SANDBOX_RUN_SAMPLES") ? 4 : 0;
    pthread_create(&a, NULL, first, NULL);
    pthread_create(&b, NULL, second, NULL);
    if (nanosleep(&rest, NULL) < 0)
        return 1;
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    signal(SIGPROF, count);
    setitimer(ITIMER_PROF, &every, NULL);
    spin(CLOCK_THREAD_CPUTIME_ID, 100);
    setitimer(ITIMER_PROF, &none, NULL);
    if (ticks < 3 || ticks > 20)
        return 2;
    puts("as it is");
    fflush(stdout);
    execl("/proc/self/exe", argv[0], "again", NULL);
    return 3;
}
"""

# What cannot be sampled: a child, and a thread that blocks every signal.
HIDDEN = SPIN + """
void child(void)
{
    spin(CLOCK_PROCESS_CPUTIME_ID, 150);
}

void quiet(void)
{
    spin(CLOCK_PROCESS_CPUTIME_ID, 150);
}

void loud(void)
{
    spin(CLOCK_PROCESS_CPUTIME_ID, 350);
}

int main(void)
{
    sigset_t all;

    if (fork() == 0) {
        child();
        _exit(0);
    }
    wait(NULL);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    quiet();
    sigprocmask(SIG_UNBLOCK, &all, NULL);
    loud();
    raise(SIGKILL);
}
"""

ENDLESS = SPIN + "int main(void)\n{\n    spin(CLOCK_PROCESS_CPUTIME_ID, 1000000);\n    return 0;\n}\n"

# Writes into the file of its own samples.
FORGED = r"""
#include <glob.h>
#include <stdio.h>

int main(void)
{
    glob_t found;
    FILE *file;

    glob("/tmp/sandbox-run-profile.*/samples", 0, NULL, &found);
    file = found.gl_pathc ? fopen(found.gl_pathv[0], "w") : NULL;
    if (!file)
        return 1;
    fprintf(file, "o 0 /etc/passwd\no 1 /none\n$(touch /work/owned)\no 2 ../../etc\ns 5 0:zz 1:1 2:0 99:ff ? x:y:z\n");
    fprintf(file, "s 999999999999999999999999 0:1\ns -5 1:1\ns 7 ");
    for (int i = 0; i < 5000; i++)
        fprintf(file, "0:%x ", i);
    fprintf(file, "\n\033]0;owned\007 ;; \n");
    fclose(file);
    return 0;
}
"""


def functions_of(root, folder, code, *words):
    (folder / "program.c").write_text(code)
    done = sandbox_run("profile", "--json", "--repeat", "1", "--warm-up", "0", "--functions", *words,
                       str(folder / "program.c"), caller=root)
    found = json.loads(done.stdout)
    return found, {one["function"].split(" (/")[0]: one for one in found["functions"]}


def test_threads_are_sampled_and_a_program_does_as_it_does_without(root, folder):
    found, functions = functions_of(root, folder, HABITS, "--compile-arg=-pthread")
    assert found["succeeded"] == 1
    assert 60 < functions["first"]["total_ms"] < 140 and 140 < functions["second"]["total_ms"] < 260, functions
    assert "program.c:14)" in next(one["function"] for one in found["functions"] if one["function"].startswith("spin"))


def test_what_was_not_sampled_is_said(root, folder):
    _, functions = functions_of(root, folder, HIDDEN)
    assert 250 < functions["(not sampled)"]["self_ms"] < 400 and functions["loud"]["total_ms"] > 120, functions
    assert not {"child", "quiet"} & set(functions)


def test_a_static_program_has_names_too(root, folder):
    _, functions = functions_of(root, folder, SPIN + "int main(void)\n{\n    spin(CLOCK_PROCESS_CPUTIME_ID, 200);\n"
                                "    return 0;\n}\n", "--compile-arg=-static")
    assert functions["main"]["total_ms"] > 120


def test_samples_survive_a_timeout(root, folder):
    _, functions = functions_of(root, folder, ENDLESS, "--timeout", "400ms", "--grace", "20s")
    assert functions["main"]["total_ms"] > 20


def test_forged_samples_are_only_the_programs_own_lie(root, folder):
    (folder / "program.c").write_text(FORGED)
    done = sandbox_run("profile", "--repeat", "1", "--warm-up", "0", "--functions", str(folder / "program.c"), caller=root)
    assert b"\x1b" not in done.stdout and b"\x07" not in done.stdout and len(done.stdout) < 20_000
    assert done.returncode == 1 and b"functions, by samples of" in done.stdout  # 1: without a profiler it finds no file
    assert not (folder / "owned").exists()


CARGO = {"Cargo.toml": '[package]\nname = "busy"\nversion = "0.1.0"\nedition = "2021"\n',
         "src/main.rs": "mod work;\nfn main() {\n    println!(\"{}\", work::spin(40_000_000) > 0);\n}\n",
         "src/work.rs": "#[inline(never)]\npub fn spin(n: u64) -> u64 {\n    let mut x = 1u64;\n    let mut i = 0;\n    while i < n {\n"
                        "        x = x.wrapping_mul(31).wrapping_add(i);\n        i += 1;\n    }\n    x\n}\n"}


@pytest.mark.parametrize("words", [(".",), ("--project", ".", "--lang", "rust")], ids=["directory", "project"])
def test_a_project_of_cargo_has_its_functions(root, folder, words):
    for name, text in CARGO.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    done = sandbox_run("profile", "--json", "--functions", "--repeat", "1", "--warm-up", "0", *words, cwd=folder, caller=root)
    found = json.loads(done.stdout)
    assert (found["language"], found["succeeded"]) == ("rust", 1), found
    assert "work::spin" in found["functions"][0]["function"] or any("work::spin" in one["function"] and one["total_ms"] > 10
                                                                     for one in found["functions"]), found["functions"]
    assert sorted(one.name for one in folder.iterdir()) == ["Cargo.toml", "src"]
