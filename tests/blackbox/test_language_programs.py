"""Real programs in each language, by one caller; those that depend on who calls as an ordinary user too.

They are the tables of languages/, see ../language_tables.py."""
import json
import os
import re
import socket
import uuid

import pytest

import support
from language_tables import (COMMON, SHIPPED, TABLES, check, check_stages, for_caller, need, shown, surroundings_of,
                             words_of)
from support import result_of, sandbox_run

# A program in some language shows one or the other; the table says under `without` what cannot be, and why.
REQUIRED = [{name} for name in COMMON if name not in ("syntax-error", "compile-error", "streams-by-name")]
REQUIRED += [{"syntax-error", "compile-error"}, {"dependency"}]
CALLERS = [os.environ["SBR_CALLER"]] if "SBR_CALLER" in os.environ else support.available_callers()
# What depends on who calls: whether the toolchain works at all, how memory is bounded, what of the host is seen.
EVERY_CALLER = ("hello", "memory-limit", "host")
WAITS = {"java": pytest.mark.group("packages of java", weight=100)}  # for its registry: that begins first, beside others
EVERY_CALLERS_STORE = "c"  # one compiled language shows that a caller's own store works


def callers_of(name):
    return CALLERS if name in EVERY_CALLER else CALLERS[:1]


def programs():
    return [pytest.param(caller, table, name, id=f"{caller}-{table.language}-{name}") for table in TABLES.values()
            for name in table.cases for caller in callers_of(name)]


def dependencies():
    """`once` names the caller that is enough for a slow one."""
    return [pytest.param(caller, table, name, id=f"{caller}-{table.language}-{name}",
                         marks=WAITS.get(table.language, ()))
            for table in TABLES.values() for name, case in table.dependencies.items() for caller in CALLERS
            if len(CALLERS) == 1 or case.get("once", caller) == caller]


LANGUAGES = pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
COMPILED = pytest.mark.parametrize("table", [t for t in TABLES.values() if t.compiles],
                                   ids=[t.language for t in TABLES.values() if t.compiles])


@pytest.fixture
def host(folder):
    """What a program must not reach: a file that anybody may read, a port on which somebody listens."""
    secret = folder / "secret.txt"
    secret.write_text("secret of the host\n")
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield {"@SECRET@": str(secret), "@PORT@": str(server.getsockname()[1])}
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()


# ---- the tests -----------------------------------------------------------------------------------


def test_each_shipped_language_has_a_table():
    assert not set(SHIPPED) - set(TABLES), "make a folder in tests/blackbox/languages"


@LANGUAGES
def test_a_table_is_complete(table):
    """What a language cannot show has a reason in its table."""
    there = {*table.cases, *table.without, *table.dependencies}
    assert not [" or ".join(sorted(names)) for names in REQUIRED if not names & there]


@pytest.mark.parametrize("caller, table, name", programs())
def test_program(caller, host, table, name):
    need(table, caller)
    surroundings = surroundings_of(caller)
    case = for_caller(table.cases[name], caller)
    words, stdin = words_of(table, case, host)
    for timeout in case.get("timeouts", ["30s"]):
        result = result_of("run", "--timeout", timeout, *words, stdin=stdin, **surroundings)
        if result.get("outcome") != "timeout" or result["stdout"] == case["stdout"]:
            break
    check(table, case, result)


@LANGUAGES
def test_the_programs_bytes_are_all_there_is(any_caller, table):
    need(table, any_caller)
    for name in ("hello", "exit-code"):
        if name not in table.cases:
            continue
        case = for_caller(table.cases[name], any_caller)
        words, stdin = words_of(table, case, {})
        done = sandbox_run("run", *words, stdin=stdin, **surroundings_of(any_caller))
        said = (done.returncode, done.stdout.decode(), done.stderr.decode())
        assert said == (case.get("exit", 0), case["stdout"], case.get("stderr", ""))


@COMPILED
def test_a_compilers_words_are_on_stderr_when_it_fails(any_caller, table):
    need(table, any_caller)
    case = table.cases["compile-error"]
    words, stdin = words_of(table, case, {})
    done = sandbox_run("run", *words, stdin=stdin, **surroundings_of(any_caller))
    assert (done.returncode, done.stdout) == (case["exit"], b""), done.stderr
    assert re.search(case["says"], done.stderr.decode(), re.M), done.stderr


@pytest.mark.parametrize("caller, table", [
    pytest.param(caller, table, id=f"{caller}-{table.language}") for table in TABLES.values() if table.compiles
    for caller in (CALLERS if table.language == EVERY_CALLERS_STORE else CALLERS[:1])])
def test_a_program_is_compiled_when_it_is_new_and_only_then(caller, table, folder):
    need(table, caller)
    surroundings = surroundings_of(caller)
    name = table.cases["hello"]["program"] + table.extension
    source = folder / name
    word = f"Hello, {uuid.uuid4()}"
    source.write_text(table.text(name).replace("Hello, world", word))
    for cached in (False, True, True):
        result = result_of("run", source, **surroundings)
        assert (result["stdout"], result["stderr"]) == (word + "\n", ""), shown(result)
        assert result["cached"] is cached, shown(result)
        stages = check_stages(result, True)
        assert ("compile" in stages) != cached, shown(result)


def forget_packages(table, surroundings):
    """What another test installed would hide this one's installer."""
    kept = json.loads(sandbox_run("cache", "list", "--json", **surroundings).stdout)
    for entry in kept["entries"]:
        if entry["kind"] == "layer" and entry["about"].partition(":")[0] == table.language:
            assert sandbox_run("cache", "rm", entry["key"], **surroundings).returncode == 0


@pytest.mark.parametrize("caller, table, name", dependencies())
def test_dependency(caller, table, name):
    """From the registry, once; the second run starts no installer."""
    need(table, caller)
    surroundings = surroundings_of(caller)
    case = for_caller(table.dependencies[name], caller)
    forget_packages(table, surroundings)
    words, stdin = words_of(table, case, {})
    result = result_of("run", *words, stdin=stdin, **surroundings)
    check(table, case, result)
    assert "dependencies" in check_stages(result, True), shown(result)
    result = result_of("run", *words, stdin=stdin, **surroundings)
    check(table, case, result)
    assert "dependencies" not in check_stages(result, True), shown(result)


@pytest.mark.parametrize("table", [pytest.param(t, id=t.language, marks=WAITS.get(t.language, ()))
                                   for t in TABLES.values() if t.refused])
def test_a_dependency_that_does_not_exist(any_caller, table):
    need(table, any_caller)
    words, stdin = words_of(table, {**table.cases["hello"], "deps": [table.refused]}, {})
    result = result_of("run", *words, stdin=stdin, **surroundings_of(any_caller))
    assert not result["success"] and "error" not in result, shown(result)
    stages = check_stages(result, False)
    assert result["stdout"] == "" and list(stages)[-1] == "dependencies", shown(result)
    name = max(re.split("[:@]", table.refused), key=len)
    assert name in stages["dependencies"]["stderr"], shown(result)
