"""Limits of each process: threats 17 and the core files of section 1.2."""
import resource

import pytest

import support
from harness import Attack, callers, proofs, root_only, run_attack

# What we are started with may be lower already; -1 is no limit.
MEMLOCK = min(8 << 20, resource.getrlimit(resource.RLIMIT_MEMLOCK)[1] % (1 << 64))

SIGPENDING = min(4096, resource.getrlimit(resource.RLIMIT_SIGPENDING)[1] % (1 << 64))

ATTACKS = [
    Attack("opening more files than allowed", ("open-many", 200), ("rlimits",),
           options=("--open-files", "64"), errors=("EMFILE",)),
    Attack("asking for core files by prlimit64", ("raise-core", "prlimit64"),
           ("seccomp", "rlimits")),
    Attack("asking for core files by setrlimit", ("raise-core", "setrlimit"),
           ("seccomp", "rlimits")),
]

(test_the_attack_fails_inside, test_one_layer_alone_stops_the_attack,
 test_the_attack_succeeds_without_the_layers) = proofs(ATTACKS)


@callers
def test_the_core_limit_is_one_and_stays_one(scene, caller):
    """0 would be ignored by a core_pattern that is a pipe, and its program runs on the host."""
    code = "import resource; print(resource.getrlimit(resource.RLIMIT_CORE))"
    assert support.python(code, caller=caller)["stdout"] == "(1, 1)\n"
    assert run_attack(scene, "zero-core", caller=caller).error == "UNCHANGED"


@callers
@pytest.mark.parametrize("policy", ["default", "strict"])
def test_lowering_the_core_limit_is_answered_as_done(policy, caller):
    """Test suites and sanitizers begin with it, and end when it fails."""
    code = ("import resource\n"
            "resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n"
            "print(resource.getrlimit(resource.RLIMIT_CORE))\n")
    result = support.python(code, "--policy", policy, caller=caller)
    assert result["stdout"] == "(1, 1)\n" and not result.get("denials"), result


@root_only
def test_the_core_limit_can_be_zeroed_without_the_filter(scene):
    assert run_attack(scene, "zero-core", without=("seccomp",)).got


@callers
@pytest.mark.parametrize("option, value, name, expected", [
    ("--open-files", "77", "RLIMIT_NOFILE", 77),
    ("--disk", "3m", "RLIMIT_FSIZE", 3 << 20),
    ("--cpu-time", "3s", "RLIMIT_CPU", 4),
    ("--timeout", "3s", "RLIMIT_MEMLOCK", MEMLOCK),
    ("--timeout", "3s", "RLIMIT_SIGPENDING", SIGPENDING),
])
def test_a_limit_is_set_soft_and_hard(option, value, name, expected, caller):
    code = f"import resource; print(resource.getrlimit(resource.{name}))"
    result = support.python(code, option, value, caller=caller)
    assert result["stdout"] == f"({expected}, {expected})\n", result


@callers
def test_the_limit_of_processes_is_close_above_that_of_the_group(caller):
    """The group counts what it refuses, so it must be the first to refuse; 16 is the slack."""
    code = "import resource; print(*resource.getrlimit(resource.RLIMIT_NPROC))"
    soft, hard = map(int, support.python(code, "--pids", "17", caller=caller)["stdout"].split())
    assert soft == hard and 17 < soft <= 17 + 16


@callers
def test_no_limit_can_be_raised_again(caller):
    code = ("import resource\n"
            "for name in 'NOFILE', 'FSIZE', 'NPROC', 'CORE', 'MEMLOCK':\n"
            "    which = getattr(resource, 'RLIMIT_' + name)\n"
            "    soft, hard = resource.getrlimit(which)\n"
            "    try: resource.setrlimit(which, (hard + 1, hard + 1))\n"
            "    except (OSError, ValueError): pass\n"
            "    if resource.getrlimit(which) != (soft, hard): print(name)\n"
            "print('end')\n")
    assert support.python(code, caller=caller)["stdout"] == "end\n"


@callers
def test_a_limit_that_is_lower_already_stays(caller):
    low = 123

    def lower():
        resource.setrlimit(resource.RLIMIT_NOFILE, (low, low))

    result = support.python("import resource; print(resource.getrlimit(resource.RLIMIT_NOFILE))",
                            caller=caller, preexec_fn=lower)
    assert result["stdout"] == f"({low}, {low})\n"
