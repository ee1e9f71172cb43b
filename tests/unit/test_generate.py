"""sandbox-run-generate: a wrong file is refused in one sentence that says where and what to do."""

import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SBR_BUILD", ROOT / "build"))
GENERATOR = os.environ.get("SBR_GENERATE", str(BUILD / "src/generate/sandbox-run-generate"))

POLICY = """\
name: default
about: a test
proc: masked
syscalls:
  unknown: ENOSYS
  allow:
    - group: files
      calls: [read, write]
  refuse:
    - group: mounts
      errno: EPERM
      calls: [mount]
  arguments:
    - call: socket
      rules:
        - when: [{arg: 0, bits: 32, is: [AF_UNIX]}]
          then: ALLOW
      otherwise: EAFNOSUPPORT
"""

EXTENSION = """\
name: tight
about: a test
extends: default
proc: pid
syscalls:
  refuse:
    - group: output
      errno: EACCES
      calls: [write]
"""

LANGUAGE = """\
name: python
about: Python 3
aliases: [py]
extensions: [.py]
shebangs: [python3]
mains: [main.py]
binaries: [/usr/bin/python3]
package: python3
source: main.py
run: ["${binary}", "${source}"]
selftest:
  code: "print(1)"
  stdout: "1\\n"
  exit: 0
"""

ALLOW, KILL, EPERM, EACCES, ENOSYS, EAFNOSUPPORT = (
    0x7FFF0000, 0x80000000, 0x50001, 0x5000D, 0x50026, 0x50061)
X86_64, AARCH64 = 0xC000003E, 0xC00000B7


def start(directory, command, texts):
    paths = []
    for index, text in enumerate(texts):
        path = directory / f"file{index}.yaml"
        path.write_text(text, encoding="utf-8")
        paths.append(path.name)
    return subprocess.run(
        [GENERATOR, *command, "out.c", *paths],
        cwd=directory, capture_output=True, text=True, timeout=30, check=False)


def make(directory, command, *texts):
    done = start(directory, command, texts)
    assert (done.returncode, done.stderr) == (0, "")
    return (directory / "out.c").read_text(encoding="utf-8")


def refuse(directory, command, *texts):
    """The sentence; and it is one sentence, and nothing was written."""
    done = start(directory, command, texts)
    assert done.returncode == 1, done.stderr
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("sandbox-run-generate: ")
    assert not (directory / "out.c").exists()
    return done.stderr.removeprefix("sandbox-run-generate: ").rstrip("\n")


def filters(text):
    """policy name -> instructions, from the C that was made."""
    found = {}
    for name, body in re.findall(r"policy_insn insns_(\w+)\[\] = \{\n(.*?)\n\};", text, re.S):
        rows = re.findall(r"\{ (0x\w+), +(\d+), +(\d+), (0x\w+) \}", body)
        found[name] = [(int(c, 16), int(t), int(f), int(k, 16)) for c, t, f, k in rows]
    return found


def run(code, number, args=(), arch=X86_64):
    """A classic BPF machine over struct seccomp_data."""
    words = [number & 0xFFFFFFFF, arch, 0, 0]
    for value in (*args, *[0] * (6 - len(args))):
        words += [value & 0xFFFFFFFF, value >> 32]
    tests = {0x15: lambda a, k: a == k, 0x35: lambda a, k: a >= k}
    position, a = 0, 0
    while True:
        op, yes, no, k = code[position]
        position += 1
        if op == 0x06:
            return k
        if op == 0x20:
            a = words[k // 4]
        elif op == 0x54:
            a &= k
        elif op == 0x05:
            position += k
        else:
            position += yes if tests[op](a, k) else no


def test_a_small_policy_becomes_a_filter_that_answers_as_written(tmp_path):
    code = filters(make(tmp_path, ["policies", "x86_64"], POLICY))["default"]
    answers = {0: ALLOW, 1: ALLOW, 2: ENOSYS, 165: EPERM, 1000: ENOSYS, 0x40000000: KILL}
    assert {number: run(code, number) for number in answers} == answers
    assert run(code, 41, [1]) == ALLOW
    assert run(code, 41, [1 | 1 << 32]) == ALLOW
    assert run(code, 41, [2]) == EAFNOSUPPORT
    assert run(code, 0, arch=AARCH64) == KILL


def test_an_extension_replaces_what_it_names_and_keeps_the_rest(tmp_path):
    text = make(tmp_path, ["policies", "x86_64"], EXTENSION, POLICY)
    code = filters(text)
    assert [run(code["default"], n) for n in (0, 1, 165, 2)] == [ALLOW, ALLOW, EPERM, ENOSYS]
    assert [run(code["tight"], n) for n in (0, 1, 165, 2)] == [ALLOW, EACCES, EPERM, ENOSYS]
    assert text.index("&policy_default") < text.index("&policy_tight")
    assert ".proc = POLICY_PROC_PID" in text


def test_a_name_that_the_architecture_lacks_is_skipped(tmp_path):
    policy = POLICY.replace("[read, write]", "[open, openat, arch_prctl]")
    code = filters(make(tmp_path, ["policies", "aarch64"], policy))["default"]
    assert run(code, 56, arch=AARCH64) == ALLOW
    assert sum(run(code, n, arch=AARCH64) == ALLOW for n in range(1024)) == 1


def test_jumps_of_any_length_arrive(tmp_path):
    """More than a jump of eight bits can pass over, between the tree and its leaves and inside."""
    calls = ["read", "open", "stat", "lseek", "ioctl", "pipe", "dup", "pause", "getpid", "wait4"]
    numbers = [0, 2, 4, 8, 16, 22, 32, 34, 39, 61]
    wanted = {number: [1000 * number + 7 * i for i in range(90)] for number in numbers}
    rules = "".join(
        f"    - call: {call}\n      rules:\n        - when: [{{arg: 1, bits: {width}, is: "
        f"{wanted[number]}}}]\n          then: EACCES\n      otherwise: ALLOW\n"
        for call, number, width in zip(calls, numbers, [32, 64] * 5))
    policy = POLICY[:POLICY.index("  allow:")] + "  arguments:\n" + rules
    code = filters(make(tmp_path, ["policies", "x86_64"], policy))["default"]
    assert len(code) > 1500 and any(op == 0x05 for op, *_ in code)
    for number in range(70):
        for value in [*range(0, 700), *wanted.get(number, [])]:
            known = wanted.get(number)
            expected = ENOSYS if known is None else EACCES if value in known else ALLOW
            assert run(code, number, [0, value]) == expected, (number, value)
    assert run(code, 2, [0, wanted[2][3] | 1 << 40]) == ALLOW
    assert run(code, 0, [0, wanted[0][3] | 1 << 40]) == EACCES


def test_a_64_bit_mask_is_compared_in_both_halves(tmp_path):
    policy = POLICY.replace("bits: 32, is: [AF_UNIX]",
                            "bits: 64, mask: [0xff000000ff], is: [0x1000000002, 0x3]")
    code = filters(make(tmp_path, ["policies", "x86_64"], policy))["default"]
    assert run(code, 41, [0x1000000002]) == ALLOW
    assert run(code, 41, [0x1055555502]) == ALLOW
    assert run(code, 41, [0x3]) == ALLOW
    assert run(code, 41, [0x2]) == EAFNOSUPPORT
    assert run(code, 41, [0x1000000003]) == EAFNOSUPPORT


@pytest.mark.parametrize(("old", "new", "place", "words"), [
    ("[read, write]", "[read, wriet]", ":8:", "'wriet'; correct the name"),
    ("[read, write]", "[read, read]", ":8:", "'read' is named twice"),
    ("calls: [mount]", "calls: [read]", ":8:", "'read' is named twice"),
    ("call: socket", "call: sockte", ":14:", "'sockte'"),
    ("AF_UNIX", "AF_UNIXX", ":16:", "'AF_UNIXX'; use a number or a name"),
    ("arg: 0", "arg: 6", ":16:", "Invalid ENUM value: 6"),
    ("bits: 32", "bits: 33", ":16:", "Invalid ENUM value: 33"),
    ("bits: 32, ", "", ":16:", "Missing required mapping field: bits; add the field"),
    ("is: [AF_UNIX]", "mask: [0xf], is: [0x10]", ":14:", "can never see the value 0x10"),
    ("is: [AF_UNIX]", "is: [0x100000000]", ":14:", "can never see the value 0x100000000"),
    ("is: [AF_UNIX]", "is: [-1]", ":14:", "can never see the value"),
    ("errno: EPERM", "errno: EPREM", ":11:", "Invalid ENUM value: EPREM"),
    ("errno: EPERM", "errno: ALLOW", ":11:", "Invalid ENUM value: ALLOW"),
    ("unknown: ENOSYS", "unknown: ALLOW", ":5:", "Invalid ENUM value: ALLOW"),
    ("unknown: ENOSYS", "unknown: PASS", ":5:", "only what is laid over another policy"),
    ("  unknown: ENOSYS\n", "", ":4:", "'unknown' is missing"),
    ("proc: masked", "proc: whole", ":3:", "Invalid ENUM value: whole"),
    ("proc: masked\n", "", ":", "Missing required mapping field: proc; add the field"),
    ("about: a test", "abuot: a test", ":", "Unexpected key: abuot; did you mean 'about'?"),
    ("about: a test", "name: b", ":", "already seen: name; keep one of the two"),
    ("[read, write]", "[read, write", ":", "mend the YAML there"),
    ("[read, write]", "[]", ":8:", "name at least one"),
    ("[read, write]", "read", ":8:", "Expecting SEQUENCE"),
    ("name: default", "name: De fault", ":1:", "lower case"),
    ("name: default", "name: other", "", "no file is policy 'default'"),
    ("proc: masked\n", "proc: masked\nnetwork: {mode: host}\n", ":4:", "Invalid ENUM value: host"),
    ("proc: masked\n", "proc: masked\nnetwork: {allow_dns: true}\n", ":4:",
     "Missing required mapping field: mode"),
    ("proc: masked\n", "proc: masked\nnetwork:\n  mode: none\n  allow_hosts: [a.example]\n", ":6:",
     "make it allow or full"),
    ("proc: masked\n", "proc: masked\nnetwork:\n  mode: localhost\n  allow_dns: true\n", ":6:",
     "change the mode"),
    ("proc: masked\n", "proc: masked\nnetwork:\n  mode: allow\n  allow_hosts: [a.example,\n"
     "    b@example]\n", ":7:", "'b@example'"),
    ("proc: masked\n", "proc: masked\nnetwork: {mode: allow, allow_hosts: []}\n", ":4:",
     "name at least one"),
    ("proc: masked\n", "proc: masked\nnetwork: {mode: allow, hosts: [a.example]}\n", ":",
     "Unexpected key: hosts"),
    ("otherwise: EAFNOSUPPORT\n", "otherwise: EPERM\n---\nname: x\n", ":", "one document per file"),
])
def test_a_wrong_policy_is_refused(tmp_path, old, new, place, words):
    assert POLICY.count(old) == 1
    sentence = refuse(tmp_path, ["policies", "x86_64"], POLICY.replace(old, new))
    assert words in sentence
    assert sentence.startswith("file0.yaml" + place) if place else True


NETWORK_CALLS = "[read, write, connect, sendto, sendmmsg]"


@pytest.mark.parametrize("missing", ["connect", "sendto", "sendmmsg"])
def test_a_policy_with_a_network_lets_the_calls_through_that_lead_there(tmp_path, missing):
    policy = POLICY.replace("proc: masked\n", "proc: masked\nnetwork: {mode: localhost}\n")
    policy = policy.replace("[read, write]", NETWORK_CALLS.replace(missing, "close"))
    sentence = refuse(tmp_path, ["policies", "x86_64"], policy)
    assert sentence.startswith("file0.yaml:4: ") and f"'{missing}'" in sentence


def test_a_policy_may_say_what_can_be_reached(tmp_path):
    block = ("proc: masked\nnetwork:\n  mode: allow\n"
             '  allow_hosts: [example.org:443, "*.example.net"]\n  allow_dns: true\n')
    policy = POLICY.replace("proc: masked\n", block).replace("[read, write]", NETWORK_CALLS)
    text = make(tmp_path, ["policies", "x86_64"], policy, EXTENSION)
    first, second = re.findall(r"policy_\w+ = \{\n(.*?)\n\};", text, re.S)
    assert 'hosts_default[] = {\n    "example.org:443",\n    "*.example.net",\n};' in text
    for line in (".network = NETWORK_ALLOW,", ".allow_hosts = hosts_default,",
                 ".n_allow_hosts = 2,", ".allow_dns = true,"):
        assert line in first and line not in second


@pytest.mark.parametrize("text", ["", "# nothing\n", "[a, b]\n", "text\n"])
def test_a_file_without_a_policy_is_refused(tmp_path, text):
    assert refuse(tmp_path, ["policies", "x86_64"], text).startswith("file0.yaml:")


def test_a_missing_file_is_named(tmp_path):
    done = subprocess.run([GENERATOR, "policies", "x86_64", "out.c", "none.yaml"], cwd=tmp_path,
                          capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 1
    assert "none.yaml: cannot be opened: No such file or directory" in done.stderr


def test_an_unknown_architecture_is_refused(tmp_path):
    assert "'sparc'" in refuse(tmp_path, ["policies", "sparc"], POLICY)


def test_two_policies_of_one_name_are_refused(tmp_path):
    sentence = refuse(tmp_path, ["policies", "x86_64"], POLICY, POLICY)
    assert sentence.startswith("file1.yaml: another file already is policy 'default'")


@pytest.mark.parametrize(("extends", "words"), [
    ("nothing", "'nothing' is in none of the files"),
    ("tight", "'tight' is an extension itself"),
])
def test_an_extension_needs_a_policy_that_stands_alone(tmp_path, extends, words):
    extension = EXTENSION.replace("extends: default", "extends: " + extends)
    sentence = refuse(tmp_path, ["policies", "x86_64"], POLICY, extension)
    assert sentence.startswith("file1.yaml:3: ") and words in sentence


def test_languages_are_sorted_and_their_texts_survive(tmp_path):
    other = (LANGUAGE.replace("name: python", "name: a-lang").replace("[py]", "[al]")
             .replace("[.py]", "[.al]").replace("[python3]", "[al]")
             .replace('"print(1)"', r'"tab\t quote\" back\\ what??/ ü"'))
    text = make(tmp_path, ["languages"], LANGUAGE, other)
    assert text.index('.name = "a-lang"') < text.index('.name = "python"')
    assert r'"tab\011 quote\" back\\ what\077\077/ \303\274"' in text
    assert ".stdin_text = NULL" in text


@pytest.mark.parametrize(("old", "new", "place", "words"), [
    ("aliases: [py]", "aliases: [python]", ":1:", "name 'python' already belongs to file0.yaml:1"),
    ("extensions: [.py]", "extensions: [py]", ":4:", "'py' should be a dot and one suffix"),
    ("extensions: [.py]", "extensions: [.tar.py]", ":4:", "a dot and one suffix"),
    ("shebangs: [python3]", "shebangs: [/usr/bin/python3]", ":5:", "without a path"),
    ("binaries: [/usr/bin/python3]", "binaries: [python3]", ":7:", "an absolute path"),
    ("binaries: [/usr/bin/python3]", "binaries: [/usr/bin/..]", ":7:", "an absolute path"),
    ("binaries: [/usr/bin/python3]", "binaries: [/usr/../bin/python3]", ":7:", "an absolute path"),
    ("source: main.py", "source: a/main.py", ":9:", "without a path"),
    ('run: ["${binary}", "${source}"]', 'run: ["${binary}", "${src}", "${source}"]', ":10:",
     "free of ${...}"),
    ("package: python3\n", "package: python3\nenv: [LANG]\n", ":9:", "NAME=VALUE"),
    ("package: python3\n", "", ":", "Missing required mapping field: package"),
    ("  exit: 0\n", "  exit: none\n", ":14:", "Invalid INT value: 'none'"),
    ("  exit: 0\n", "", ":", "Missing required mapping field: exit"),
    ("name: python", "name: Python", ":1:", "lower case letters"),
])
def test_a_wrong_language_is_refused(tmp_path, old, new, place, words):
    assert LANGUAGE.count(old) == 1
    sentence = refuse(tmp_path, ["languages"], LANGUAGE.replace(old, new))
    assert sentence.startswith("file0.yaml" + place) and words in sentence


@pytest.mark.parametrize(("same", "words"), [
    ("name: python", "name 'python'"),
    ("[py]", "name 'py'"),
    ("[.py]", "extension '.py'"),
    ("[python3]", "interpreter 'python3'"),
])
def test_a_word_belongs_to_one_language(tmp_path, same, words):
    other = LANGUAGE
    for old, new in (("name: python", "name: other"), ("[py]", "[ot]"), ("[.py]", "[.ot]"),
                     ("[python3]", "[other]")):
        if old != same:
            other = other.replace(old, new)
    sentence = refuse(tmp_path, ["languages"], LANGUAGE, other)
    assert sentence.startswith("file1.yaml:")
    assert words + " already belongs to file0.yaml:" in sentence


@pytest.mark.parametrize("arguments", [[], ["policies"], ["policies", "x86_64", "out.c"],
                                       ["languages", "out.c"], ["help"]])
def test_wrong_use_shows_the_usage(arguments):
    done = subprocess.run([GENERATOR, *arguments], capture_output=True, text=True, timeout=30,
                          check=False)
    assert done.returncode == 2 and done.stderr.startswith("usage: sandbox-run-generate policies")


def test_the_files_of_the_project_compile_for_every_architecture(tmp_path):
    for arch in ("x86_64", "aarch64"):
        policies = [p.read_text(encoding="utf-8") for p in sorted(ROOT.glob("policies/*.yaml"))]
        assert set(filters(make(tmp_path, ["policies", arch], *policies))) >= {"default", "strict"}
    (tmp_path / "drivers").symlink_to(ROOT / "languages/drivers")
    languages = [p.read_text(encoding="utf-8") for p in sorted(ROOT.glob("languages/*.yaml"))]
    assert '.name = "python"' in make(tmp_path, ["languages"], *languages)
