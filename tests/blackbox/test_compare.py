"""compare: two programs with the same inputs; outputs first, then times and memory."""
import json
import re

import pytest

from support import sandbox_run


def compared(folder, *words, root, **programs):
    for name, text in programs.items():
        (folder / name.replace("_", ".")).write_text(text)
    paths = [str(folder / name.replace("_", ".")) for name in programs]
    return sandbox_run("compare", "--repeat", "3", *map(str, words), *paths, caller=root)


def verdict_of(ratio):
    """The words that belong to the figures: what the machine made of the times is not for a test to say."""
    median, spread = round(ratio["median"] * 1000), round(ratio["spread"] * 1000)
    faster = median if median >= 1000 else 1000000 // median
    percent = f"± {(spread + 5) // 10} %"
    side = "B" if median >= 1000 else "A"
    if faster <= 1000 + spread or faster < 1005:
        return f"same output, as fast as each other, {percent}"
    if faster < 1100:
        return f"same output, {side} {(faster - 995) // 10} % faster, {percent}"
    return f"same output, {side} {faster // 1000}.{faster % 1000 // 100} × faster, {percent}"


def test_the_figures_and_the_verdict_in_words(root, folder):
    done = compared(folder, "--json", root=root, a_sh="sleep 0.3; echo x", b_sh="echo x")
    found = json.loads(done.stdout)
    assert done.returncode == 0 and found["same_output"] and found["verdict"] == verdict_of(found["ratio"])
    assert found["a"]["wall_ms"]["runs"] == 3 and found["a"]["wall_ms"]["min"] >= 300
    assert found["a"]["language"] == "sh" and found["b"]["peak_memory_bytes"]["median"] > 0


def test_inputs_reach_both_and_the_first_difference_is_shown(root, folder):
    for name, text in [("1", "1 2"), ("2", "-1 3")]:
        (folder / f"{name}.in").write_text(text)
    done = compared(folder, "--cases", folder, root=root, a_py="print(sum(map(int, input().split())))",
                    b_py="print(sum(map(abs, map(int, input().split()))))")
    text = done.stdout.decode()
    assert done.returncode == 1
    assert f"input {folder}/2.in: line 1: A has '2\\x0a', B '4\\x0a'\n" in text and "\ndifferent output, " in text
    assert re.search(r"^memory +\d+\.\d MiB", text, re.MULTILINE)


def test_both_may_have_the_same_language_and_packages(root, folder):
    for name in ("one", "two"):
        (folder / name).write_text("import six; print(six.__version__)\n")
    done = sandbox_run("compare", "--repeat", "2", "--lang", "python", "--dep", "six@1.16.0", folder / "one", folder / "two",
                       caller=root)
    assert done.returncode == 0 and b"same output" in done.stdout, (done.stdout, done.stderr)


def test_another_end_is_a_difference(root, folder):
    done = compared(folder, "--json", "--warm-up", "0", "--repeat", "1", root=root, a_sh="exit 0", b_sh="exit 4")
    assert json.loads(done.stdout)["difference"] == "A ended with status 0, B with status 4"


@pytest.mark.parametrize("words, message", [
    (("--repeat", "0"), "--repeat '0' is no number of runs"),
    (("--checker", "near"), "there is no checker 'near'"),
    (("third",), "name two programs"),
])
def test_what_cannot_be_done_is_refused(root, folder, words, message):
    done = compared(folder, *words, root=root, a_sh="", b_sh="")
    assert done.returncode == 125 and message in done.stderr.decode()


def test_a_program_that_cannot_be_compiled_is_no_comparison(root, folder):
    done = compared(folder, root=root, a_c="int main(void) { return y; }", b_sh="")
    assert done.returncode == 125 and "cannot be compiled" in done.stderr.decode()
    assert "'y' undeclared" in done.stderr.decode().replace("‘", "'").replace("’", "'")


def test_programs_are_also_requests(root, folder):
    """Each with what it needs of its own."""
    for name, text in (("a", "A"), ("b", "B")):
        (folder / name).write_text(json.dumps({"language": "bash", "code": "cat; echo $WORD", "env": {"WORD": text}}))
    (folder / "in").write_text("x\n")
    words = ("--json", "--repeat", "1", "--warm-up", "0", "--input", folder / "in", "--request", folder / "a")
    found = json.loads(sandbox_run("compare", *words, "--request", folder / "b", caller=root).stdout)
    assert (found["same_output"], found["a"]["program"], found["first_different_input"]) == (False, "main.bash", str(folder / "in"))
    done = sandbox_run("compare", *words[1:], folder / "a.sh", caller=root)
    assert done.returncode == 125 and b"name two programs" in done.stderr
