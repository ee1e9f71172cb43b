"""The filter as a table: every number asked from inside, next to what policies/*.yaml say.

Numbers whose answer depends on nothing but the number are asked twice, with all arguments ones (an
invalid descriptor, pointer, flag) and all zeros.  "Reached" is told from "refused" as bubblewrap's
try-syscall does: an invalid call that is let through fails with another error than the filter's.
Rules that look at arguments have cases of their own.
"""
import functools
import platform
import re
import subprocess

import pytest

import support
from harness import assert_none, callers, root_only
import yaml_text

LAST = 600
POLICIES = ("default", "strict")
X86_64 = platform.machine() == "x86_64"
X32 = 0x40000000
# Newer than the headers of Debian 12; one number on every architecture since Linux 5.1.
LATE = {"cachestat": 451, "fchmodat2": 452, "map_shadow_stack": 453, "futex_wake": 454,
        "futex_wait": 455, "futex_requeue": 456, "statmount": 457, "listmount": 458,
        "lsm_get_self_attr": 459, "lsm_set_self_attr": 460, "lsm_list_modules": 461, "mseal": 462,
        "setxattrat": 463, "getxattrat": 464, "listxattrat": 465, "removexattrat": 466,
        "open_tree_attr": 467, "file_getattr": 468, "file_setattr": 469}
# The kernel never shows these to a filter: they come from its own trampolines, and from nowhere
# else they end the caller (uretprobe) or fail (uprobe).
NOT_FILTERED = {335, 336} if X86_64 else set()
SIDE_EFFECTS = ("blocked", "gone", "crashed", "ok")


@functools.cache
def numbers():
    """Names to numbers, from the headers of this machine."""
    text = subprocess.run(["gcc", "-dM", "-E", "-include", "asm/unistd.h", "-x", "c", "/dev/null"],
                          check=True, stdout=subprocess.PIPE, text=True).stdout
    defined = dict(re.findall(r"^#define (__NR\w+) (\w+)$", text, re.MULTILINE))
    found = {}
    for name, value in defined.items():
        value = defined.get(value, value)  # some names stand for another one of the same number
        if name.startswith("__NR_") and value.isdigit():
            found[name.removeprefix("__NR_")] = int(value)
    return {**LATE, **found}


@functools.cache
def policy(name):
    """What a policy file says of each call: "allow", "arguments" or the name of an error.  What the
    supervisor is asked about goes on to the kernel when its pointers are invalid: "allow" as well."""
    text = (support.REPO / f"policies/{name}.yaml").read_text(encoding="utf-8")
    document = yaml_text.load(text)
    calls = document["syscalls"]
    says = dict(policy(document["extends"])[0]) if "extends" in document else {}
    for group in calls.get("allow", []) + calls.get("notice", []):
        says.update(dict.fromkeys(group["calls"], "allow"))
    for group in calls.get("refuse", []):
        answer = "ok" if group["errno"] == "DONE" else group["errno"]
        says.update(dict.fromkeys(group["calls"], answer))
    for rule in calls.get("arguments", []):
        answers = {rule["otherwise"], *(case["then"] for case in rule["rules"])}
        says[rule["call"]] = "arguments" if answers - {"ALLOW", "NOTICE"} else "allow"
    unknown = calls.get("unknown") or policy(document["extends"])[1]
    return says, unknown


def expectations(name):
    """Number to what the policy says of it."""
    says, unknown = policy(name)
    named = {numbers()[call]: what for call, what in says.items() if call in numbers()}
    return {number: named.get(number, unknown) for number in range(LAST + 1)}


def probe(scene, *words, options=(), without=(), caller=support.Callers.ROOT, stdin=b""):
    env = {"SANDBOX_RUN_TEST_WITHOUT": ",".join(without)} if without else {}
    result = support.result_of("exec", "--volume", f"{scene.tools}:/attacks", "--max-output", "1m",
                               *options, "--", "/attacks/probe", *words, caller=caller,
                               hooks=bool(without), env=env, stdin=stdin)
    assert result["outcome"] == "exited" and result["exit_code"] == 0, result
    return result["stdout"]


def calls_on_stdin(calls):
    """Calls and their arguments as the prober reads them."""
    lines = [[numbers()[call], *(value & (1 << 64) - 1 for value in arguments)] for call, arguments in calls]
    return "".join(" ".join(map(str, line)) + "\n" for line in lines).encode()


def table(text):
    answers = {}
    for line in text.splitlines():
        number, pattern, answer = line.split()
        answers.setdefault(int(number), {})[pattern] = answer
    return answers


@pytest.fixture(scope="module")
def unfiltered(scene):
    """What this kernel answers when nobody filters, from the same place."""
    if support.Callers.ROOT not in support.available_callers():
        pytest.skip("only root can leave the filter out")
    return table(probe(scene, "all", 0, LAST, without=("seccomp",)))


@pytest.fixture(scope="module")
def answers(scene):
    return {(name, caller): table(probe(scene, "all", 0, LAST, options=("--policy", name),
                                        caller=caller))
            for name in POLICIES for caller in support.available_callers()}


def test_every_name_of_the_policies_has_a_number():
    says, _ = policy("strict")
    # Calls that other architectures have and this one lacks.
    foreign = {"nfsservctl", "lookup_dcookie", "fadvise64", "sync_file_range"}
    if not X86_64:
        foreign |= {name for name in says if name not in numbers()}
    assert {name for name in says if name not in numbers()} <= foreign


@callers
@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.core
def test_a_refused_or_unknown_number_gets_its_error(answers, name, caller):
    wrong = []
    for number, expected in expectations(name).items():
        if expected in ("allow", "arguments") or number in NOT_FILTERED:
            continue
        for pattern, answer in answers[name, caller][number].items():
            if answer != expected:
                wrong.append((number, pattern, answer, expected))
    assert wrong == []


@callers
@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.core
def test_an_allowed_number_reaches_the_kernel(answers, unfiltered, name, caller):
    """Its answer is the kernel's own: the same as without a filter, for one of the patterns at
    least one that no filter of ours would give."""
    wrong = []
    for number, expected in expectations(name).items():
        if expected != "allow":
            continue
        filtered = answers[name, caller][number]
        if any(answer not in ("ENOSYS", "EPERM", "EAFNOSUPPORT", "EOPNOTSUPP", "killed")
               for answer in filtered.values()):
            continue
        if filtered != unfiltered[number]:
            wrong.append((number, filtered, unfiltered[number]))
    assert wrong == []


@callers
@pytest.mark.parametrize("name", POLICIES)
def test_most_of_the_allowed_numbers_are_told_apart_for_sure(answers, name, caller):
    """So that the test above does not pass by comparing nothing with nothing."""
    allowed = [number for number, what in expectations(name).items() if what == "allow"]
    sure = [number for number in allowed
            if set(answers[name, caller][number].values()) - {"ENOSYS", "EPERM"}]
    assert len(allowed) > 150 and len(sure) >= len(allowed) - 3, set(allowed) - set(sure)


@root_only
def test_the_refused_numbers_would_be_answered_otherwise_without_the_filter(unfiltered):
    """Of those that this kernel has: the table is not the kernel's own behaviour."""
    refused = [number for number, what in expectations("default").items()
               if what not in ("allow", "arguments", "ENOSYS")]
    differ = [number for number in refused
              if any(answer not in ("EPERM", "ENOSYS") for answer in unfiltered[number].values())]
    assert len(differ) > len(refused) // 2


@callers
def test_numbers_beyond_the_table_are_unknown(scene, caller):
    beyond = (601, 700, 999, 1023, 4095, 65535, 1 << 20, X32 - 1)
    lines = "".join(f"{number} {' '.join([str((1 << 64) - 1)] * 6)}\n" for number in beyond)
    answers = probe(scene, "calls", caller=caller, stdin=lines.encode()).split()
    assert dict(zip(beyond, answers, strict=True)) == dict.fromkeys(beyond, "ENOSYS")


@pytest.mark.skipif(not X86_64, reason="x32 is an ABI of x86_64")
@callers
@pytest.mark.parametrize("name", POLICIES)
def test_every_x32_number_ends_its_process(scene, name, caller):
    text = probe(scene, "ones", X32, X32 + LAST, options=("--policy", name), caller=caller)
    assert {line.split()[2] for line in text.splitlines()} == {"killed"}
    assert len(text.splitlines()) == LAST + 1


CLONE_NEW = {"NEWTIME": 0x80, "NEWNS": 0x20000, "NEWCGROUP": 0x2000000, "NEWUTS": 0x4000000,
             "NEWIPC": 0x8000000, "NEWUSER": 0x10000000, "NEWPID": 0x20000000,
             "NEWNET": 0x40000000}
JUNK = 0x5a5a5a5a << 32
S_IFCHR, S_IFBLK, S_IFDIR, S_IFIFO, S_IFREG, S_IFSOCK = (
    0o20000, 0o60000, 0o40000, 0o10000, 0o100000, 0o140000)
RLIMIT_CORE, RLIMIT_NOFILE = 4, 7
REACHED = "reached"

# Call, arguments, and the filter's answer; REACHED is any other.  Pointers are null: nothing is
# done by a call that is let through.
PACE = ("sched_setaffinity", "sched_setparam", "sched_setscheduler", "sched_setattr")
CASES = [
    *[("clone", (flag | 17,), "EPERM") for flag in CLONE_NEW.values()],
    *[("clone", (JUNK | flag | 17,), "EPERM") for flag in CLONE_NEW.values()],
    ("clone", (17,), REACHED),
    ("clone", (JUNK | 17,), REACHED),
    ("socket", (1, 1, 0), REACHED),
    ("socket", (1, 2 | 0o2000000 | 0o4000, 0), REACHED),
    ("socket", (1, 5, 0), REACHED),
    ("socket", (JUNK | 1, 1, 0), REACHED),
    ("socket", (1, 3, 0), "EAFNOSUPPORT"),
    *[("socket", (family, kind, protocol), REACHED) for family in (2, 10, JUNK | 2)
      for kind, protocol in ((1, 0), (1, 6), (2, 0), (2, 17), (2 | 0o2000000, 17))],
    *[("socket", (family, kind, protocol), "EAFNOSUPPORT") for family in (2, 10, JUNK | 2)
      for kind, protocol in ((3, 1), (3, 255), (1, 132), (1, 262), (2, 1), (2, 136), (5, 132))],
    ("socket", (16, 3, 0), REACHED),
    ("socket", (16, 2, 0), REACHED),
    ("socket", (16, 3, 9), "EAFNOSUPPORT"),
    ("socket", (16, 3, JUNK | 9), "EAFNOSUPPORT"),
    ("socket", (17, 3, 0), "EAFNOSUPPORT"),
    ("socket", (38, 5, 0), "EAFNOSUPPORT"),
    ("socket", (40, 1, 0), "EAFNOSUPPORT"),
    ("socketpair", (1, 1, 0, 0), REACHED),
    ("socketpair", (2, 1, 0, 0), "EAFNOSUPPORT"),
    ("ioctl", (-1, 0x5401), REACHED),
    ("ioctl", (-1, 0x5413), REACHED),
    *[("ioctl", (-1, command), "EPERM")
      for command in (0x5412, 0x541c, 0x5423, 0x40086602, 0x40046602, 0x401c5820)],
    *[("ioctl", (-1, JUNK | command), "EPERM") for command in (0x5412, 0x541c, 0x40086602)],
    ("prctl", (35, 8, 0, 0, 0), "EPERM"),
    ("prctl", (JUNK | 35, 8, 0, 0, 0), "EPERM"),
    ("prctl", (0x59616d61, 0, 0, 0, 0), "EPERM"),
    ("prctl", (28, 0, 0, 0, 0), "EPERM"),
    ("prctl", (47, 2, 1, 0, 0), "EPERM"),
    ("prctl", (47, 1, 1, 0, 0), REACHED),
    ("prctl", (53, 0, 2, 0, 0), "EPERM"),
    ("prctl", (3, 0, 0, 0, 0), REACHED),
    ("seccomp", (1, 8, 0), "EPERM"),
    ("seccomp", (1, 8 | 1, 0), "EPERM"),
    ("seccomp", (1, JUNK | 8, 0), "EPERM"),
    ("seccomp", (1, 0, 0), REACHED),
    ("personality", (0,), REACHED),
    ("personality", (0xffffffff,), REACHED),
    ("personality", (JUNK | 0xffffffff,), REACHED),
    *[("personality", (value,), "EPERM")
      for value in (0x40000, 0x400000, 8, 0x20000, 0x8000000, JUNK | 0x40000)],
    ("prlimit64", (0, RLIMIT_NOFILE, 0, 0), REACHED),
    ("prlimit64", (0, RLIMIT_CORE, 0, 0), REACHED),
    ("prlimit64", (0, RLIMIT_CORE, 1, 0), "ok"),
    ("prlimit64", (0, RLIMIT_CORE, 1 << 32, 0), "ok"),
    ("prlimit64", (0, RLIMIT_CORE, 1, 1), "EPERM"),
    ("prlimit64", (1, RLIMIT_CORE, 0, 0), "EPERM"),
    ("prlimit64", (1, RLIMIT_NOFILE, 0, 0), "EPERM"),
    ("prlimit64", (JUNK | 1, RLIMIT_NOFILE, 0, 0), "EPERM"),
    ("prlimit64", (0, JUNK | RLIMIT_CORE, 1, 0), "ok"),
    *([("setrlimit", (RLIMIT_CORE, 1), "ok"),
       ("setrlimit", (JUNK | RLIMIT_CORE, 1), "ok"),
       ("setrlimit", (RLIMIT_NOFILE, 1), REACHED)]),
    *[("mknodat", (-1, 1, mode | 0o644, 0), answer) for mode, answer in (
        (S_IFCHR, "EPERM"), (S_IFBLK, "EPERM"), (S_IFDIR, "EPERM"), (JUNK | S_IFBLK, "EPERM"),
        (S_IFIFO, REACHED), (S_IFREG, REACHED), (S_IFSOCK, REACHED), (0, REACHED))],
    *[("mknod", (1, mode | 0o644, 0), answer) for mode, answer in (
        (S_IFCHR, "EPERM"), (S_IFBLK, "EPERM"), (S_IFIFO, REACHED), (0, REACHED))],
    ("fcntl", (-1, 6), REACHED),
    *[("fcntl", (-1, command), "EINVAL") for command in (1024, 1026, JUNK | 1024)],
    ("prctl", (67, 1, 0, 0, 0), "EINVAL"),
    *[("mmap", (0, 4096, 3, flags, -1, 0), "ENOMEM") for flags in (0x40022, JUNK | 0x40022)],
    ("mmap", (0, 0, 3, 0x22, -1, 0), REACHED),
    *[("memfd_create", (0, flags), "ENOMEM") for flags in (4, 4 | 1, 4 | 21 << 26)],
    ("memfd_create", (0, 1), REACHED),
    ("shmget", (0, 4096, 0o4600), "ENOMEM"),
    ("shmget", (0, 0, 0o600), REACHED),
    *[("madvise", (0, 0, advice), "EINVAL") for advice in (12, JUNK | 12)],
    ("madvise", (0, 0, 4), REACHED),
    *[(call, (task, 0, 0), "EPERM") for call in PACE for task in (1, JUNK | 1)],
    *[(call, (0, 0, 0), REACHED) for call in PACE],
    *[("setpriority", words, "EPERM") for words in ((2, 0, 0), (0, 1, 0), (1, JUNK | 1, 0), (JUNK | 2, 0, 0))],
    ("setpriority", (3, 0, 0), REACHED),
    *[("setsockopt", (-1, 1, option, 1, 4), "ok") for option in (7, 8, JUNK | 8)],
    *[("setsockopt", (-1, 1, option, 1, 16), "EPERM") for option in (26, 51, JUNK | 26)],
    *[("setsockopt", (-1, level, option, 1, 16), "ENOPROTOOPT") for level, option in (
        (6, 14), (6, 31), (6, 32), (6, 38), (41, 6), (41, 32), (41, 57), (282, 1), (132, 1))],
    *[("setsockopt", (-1, level, option, 1, 16), "ENODEV") for level, option in (
        (0, 35), (0, 39), (0, 42), (0, 46), (41, 20), (41, 42), (41, 46))],
    *[("setsockopt", (-1, level, option, 1, 4), REACHED) for level, option in (
        (1, 2), (1, 9), (6, 1), (41, 26), (17, 103), (270, 1), (0, 1))],
]
F_LOCKS = (5, 6, 7, 36, 37, 38, 1024, 1026)
ANOTHER_ANSWER = ("socket", "fcntl", "seccomp", "shmget")  # in the strict policy
STRICT_CASES = [
    *[("fcntl", (-1, command), "EPERM") for command in F_LOCKS],
    *[("fcntl", (-1, JUNK | command), "EPERM") for command in F_LOCKS],
    ("fcntl", (-1, 1), REACHED),
    ("fcntl", (-1, 1030), REACHED),
    ("socket", (1, 1, 0), "EAFNOSUPPORT"),
    ("socketpair", (1, 1, 0, 0), REACHED),
    ("seccomp", (1, 0, 0), "EINVAL"),
    ("prctl", (22, 2, 0, 0, 0), "EINVAL"),
]


def case_id(case):
    call, arguments, answer = case
    return f"{call}({', '.join(hex(value) for value in arguments)}) {answer}"


def answers_to(scene, cases, **kwargs):
    """Pairs of case and answer, of those whose call this machine has."""
    cases = [case for case in cases if case[0] in numbers()]
    said = probe(scene, "calls", stdin=calls_on_stdin([case[:2] for case in cases]), **kwargs).split()
    return list(zip(cases, said, strict=True))


def assert_decided(pairs):
    """By the filter, where a case says so, and otherwise not by it."""
    of_the_filter = ("EPERM", "EAFNOSUPPORT", "ENOSYS", "killed")
    assert_none([f"{case_id(case)}: {answer}" for case, answer in pairs
                 if (answer in of_the_filter if case[2] == REACHED else answer != case[2])])


@callers
def test_the_arguments_decide(scene, caller):
    assert_decided(answers_to(scene, CASES, options=("--policy", "default"), caller=caller))


@callers
def test_the_arguments_decide_in_the_strict_policy_too(scene, caller):
    cases = [case for case in CASES if case[0] not in ANOTHER_ANSWER] + STRICT_CASES
    assert_decided(answers_to(scene, cases, options=("--policy", "strict"), caller=caller))


def test_every_call_with_argument_rules_has_cases_of_both_kinds():
    for name, cases in (("default", CASES), ("strict", CASES + STRICT_CASES)):
        says, _ = policy(name)
        for call in (call for call, what in says.items() if what == "arguments"):
            found = {answer == REACHED for of, _, answer in cases if of == call}
            assert found == {True, False}, f"{call} in {name}"


@root_only
def test_the_kernel_would_have_answered_otherwise(scene):
    cases = [case for case in CASES if case[2] == "EAFNOSUPPORT" or case[0] in ("personality", "ioctl")
             if case[1][0] != 38]  # not every kernel has crypto sockets to refuse
    pairs = answers_to(scene, cases, without=("seccomp", "identity", "user-namespace"))
    assert_none([f"{case_id(case)}: {answer}" for case, answer in pairs
                 if (answer in ("EPERM", "killed") if case[2] == REACHED else answer == case[2])])
