"""Programs of each language in a sandbox that had waited: several files, an end with words and a code, and a limit.

What a cold run does with all programs is in tests/blackbox/test_language_programs.py; that cold and warm are the
same, field for field, in test_same_results.py and in the tests of each language that has a driver."""
import pytest

from language_tables import DEADLINE, TABLES, check, for_caller, need, words_of

SERVE = ["--park-min", "1"]  # each kind of run is used once or twice
CHOICE = ("directory", "exit-code", "memory-limit")
CASES = [pytest.param(table, name, id=f"{table.language}-{name}") for table in TABLES.values()
         for name in CHOICE if name in table.cases]


@pytest.mark.parametrize("table, name", CASES)
def test_a_program_does_what_its_table_says(engine, table, name):
    need(table, engine.caller)
    case = for_caller(table.cases[name], engine.caller)
    words, stdin = words_of(table, case, {})
    result = engine.parked(lambda: engine.result_of("run", "--timeout", "30s", *words, stdin=stdin, timeout=DEADLINE))
    check(table, case, result)
