"""Some hundred wrong inputs, made from the tables of commands, options and fields; each answer is judged by one rule: it
is one line, names the word that is wrong, and says what would be right.  Nothing of it runs a program."""
import concurrent.futures
import json
import re

import pytest

import support
from support import sandbox_run

OPTION = re.compile(r"^  (?:-(\w), |    )--([a-z][a-z0-9-]*)(?: ([^ ]+))?", re.MULTILINE)
# What follows names what would be right: an advice behind a semicolon, a command to type, a range, a list.
ADVICE = re.compile(r"; |`|did you mean|one of|name a|give |must be |as in |number")
PASSED_ON = ("docker",)  # has the options of another tool
# Options whose values are any text: names of files and packages, patterns, commands.
TYPED = ("TIME", "SIZE", "N", "TIER", "MODE")
# They say first that a program, or what is to be done, is not named.
NAMES_FIRST = ("batch", "compare", "profile", "image", "session")
WORDS_FIRST = {"agent": ["--", "true"], "exec": ["--", "true"], "run": ["-l", "python", "-c", "1"]}


def commands():
    names = sandbox_run("help", "--names").stdout.decode().split()
    return [name for name in dict.fromkeys(names)  # some are topics, too, and some topics are no commands
            if sandbox_run(name, "--help").stdout.startswith(f"sandbox-run {name} ".encode())]


def options_of(command):
    """(name, metavar) of each."""
    text = sandbox_run(command, "--help").stdout.decode()
    return [(name, value) for _, name, value in OPTION.findall(text[text.index("\nOptions:"):])]


def misspelt(name):
    return name[:-2] + name[-1] + name[-2] if name[-1] != name[-2] else name + "x"


def wrong_options(command):
    options = options_of(command)
    known = {name for name, _ in options}
    for name, value in options:
        wrong = misspelt(name)
        if wrong in known or len(name) < 4:
            continue
        yield [command, f"--{wrong}"], wrong
        if value and value in TYPED and command not in NAMES_FIRST:
            yield [command, f"--{name}", "banana", *WORDS_FIRST.get(command, [])], (name, "banana")
    yield [command, "--no-such-option"], "no-such-option"


def wrong_actions(command):
    usage = sandbox_run(command, "--help").stdout.decode().splitlines()[0]
    if re.search(r"\[list|\[ls|create \|", usage) and command not in PASSED_ON:
        yield [command, "xyzzy"], "xyzzy"


def wrong_fields():
    """Requests as JSON: a key that is misspelt, and a value of another kind."""
    properties = support.schema("request")["properties"]
    base = {"language": "python", "code": "print(1)"}
    for name in properties:
        if len(name) > 3:
            yield {**base, misspelt(name): 1}, misspelt(name)
        if not name.endswith("limits"):  # these are objects themselves
            yield {**base, name: {"a": 1}}, name


def answers(inputs):
    """Each input with what was said about it."""
    def ask(item):
        words, stdin, wrong = item
        done = sandbox_run(*words, stdin=stdin)
        return words, wrong, done

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        return list(pool.map(ask, inputs))


def fault(wrong, done):
    text = done.stderr.decode(errors="replace")
    if done.returncode not in (125, 126, 127):
        return f"the status is {done.returncode}"
    if text.count("\n") != 1 or done.stdout:
        return "it is not one line on stderr"
    if not any(word in text for word in ((wrong,) if isinstance(wrong, str) else wrong)):
        return f"it does not name {wrong!r}"
    return "" if ADVICE.search(text) else "it does not say what is right"


def judge(inputs, least):
    inputs = list(inputs)
    assert len(inputs) >= least, f"the tables gave only {len(inputs)}"
    wrong = [f"{' '.join(words)}: {fault(word, done)}: {done.stderr.decode(errors='replace').strip()}"
             for words, word, done in answers(inputs) if fault(word, done)]
    assert not wrong, "\n".join(wrong)


@pytest.fixture(name="all_commands", scope="module")
def every_command():
    return [name for name in commands() if name not in PASSED_ON]


def test_options_that_there_are_not(all_commands):
    judge(((words, b"", wrong) for name in all_commands for words, wrong in wrong_options(name)), 220)


def test_actions_and_commands_that_there_are_not(all_commands):
    inputs = [item for name in all_commands for item in wrong_actions(name)]
    inputs += [([misspelt(name)], misspelt(name)) for name in all_commands if len(name) > 4]
    inputs += [(["help", "xyzzy"], "xyzzy"), (["xyzzy"], "xyzzy")]
    judge(((words, b"", wrong) for words, wrong in inputs), 25)


def test_fields_that_there_are_not():
    judge(((["run", "--request", "-"], json.dumps(request).encode(), wrong) for request, wrong in wrong_fields()), 50)


@pytest.mark.parametrize("typed, meant", [("tool.pyy", "tool.py"), ("data/jobb.py", "data/job.py"), ("tool", None)])
def test_a_file_that_is_misspelt(folder, typed, meant):
    (folder / "data").mkdir()
    for name in ("tool.py", "data/job.py"):
        (folder / name).write_text("print(1)")
    done = sandbox_run(typed, cwd=folder)
    text = done.stderr.decode()
    assert done.returncode == 127 and typed in text
    assert meant is None or f"did you mean '{meant}'?" in text


@pytest.mark.parametrize("words, meant", [
    (["session", "run"], "exec"), (["changes", "rm"], "drop"), (["pytest"], "test"),
    (["node"], "repl javascript"), (["man"], "help"), (["sesion"], "session"), (["changes", "shwo"], "show")])
def test_words_of_other_tools(words, meant):
    assert f"`{meant}`?" in (text := sandbox_run(*words).stderr.decode()) or f"sandbox-run {meant}`?" in text


@pytest.mark.parametrize("word", ["tui", "xyz", "zop"])
def test_of_a_short_word_nothing_is_guessed(word):
    assert "did you mean" not in sandbox_run(word).stderr.decode()
