"""Each line arrives when it is printed, in sandboxes that were ready before their program was known."""
import subprocess

import pytest

import language_tables
import live_programs
import support
from live_programs import read_until

LANGUAGES = ["bash", "c", "java", "javascript", "lua", "perl", "python", "ruby"]
SERVE = ["--park-min", "2"]  # a JVM takes seconds to make
BURST = "for i in range(1000): print(i)\nwhile True: pass"


def start(engine, *words):
    return subprocess.Popen(support.command("run", *words, caller=engine.caller), bufsize=0, env=engine.environment(),
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


@pytest.mark.parametrize("language", LANGUAGES)
def test_lines_and_prompts_arrive_when_they_are_printed(engine, language):
    language_tables.need(language_tables.TABLES[language], engine.caller)
    engine.wait_parked(language)
    engine.wait_full()
    with start(engine, "--lang", language, "--code", live_programs.CONVERSATIONS[language]) as process:
        live_programs.talk(process, language)


def test_a_burst_arrives_although_the_program_then_only_computes(engine):
    engine.wait_parked("python")
    with start(engine, "--lang", "python", "--code", BURST) as process:
        assert read_until(process.stdout, b"\n999\n").count(b"\n") == 1000
        process.terminate()


@pytest.mark.parametrize("options, shown", [((), "True\n"), (("--buffered",), "False\n")])
def test_buffered_is_a_choice_of_each_run(engine, options, shown):
    engine.wait_parked("python")
    engine.wait_full()
    result = engine.python("import sys; print(sys.stdout.line_buffering)", *options)
    assert (result["stdout"], result["startup"]) == (shown, "parked")
