"""Records anew what the real tools say of the mistakes of blackbox/diagnosis, and shows what is different.

Usage: record_diagnosis.py [TABLE]...     (all of them, unless named: python, c, ...)

Every mistake goes through a sandbox.  The exit status is 1 when one gets another diagnosis than its table says; the
records of such a table are left as they were.  Read the differences of the others before you commit them.
"""
import difflib
import os
import pathlib
import re
import sys
import tempfile

import yaml

import diagnosis_cases
import support

# What is of this run or of this machine, and nothing that a rule of a language looks at.
NEUTRAL = (
    (re.escape(str(pathlib.Path.home())) + "(?=/)", "~"),
    (r"0x[0-9a-f]{6,}", "0x1000"),  # addresses
    (r"/tmp/cc\w{6}\.", "/tmp/cc."),  # the compiler's own files
    (r"\bm=\d+ mp=", "m=0 mp="),  # a thread of Go's
    (r"\(0x[0-9a-f]+\?\)", "(0x0?)"),  # what Go finds where arguments were
    (r"goroutine (?!1 )\d+ gp=", "goroutine 2 gp="),
    (r"\d+ frames elided", "44739053 frames elided"),
    (r"C stack usage  \d+", "C stack usage  7970000"),
)
HEADER = "# Written by tests/record_diagnosis.py: what the real tools said of each case of ../{name}.yaml.\n"


class Dumper(yaml.SafeDumper):
    """Writes a text of several lines as such, so that a reviewer can read it; also when it has tabs."""

    def analyze_scalar(self, scalar):
        analysis = super().analyze_scalar(scalar)
        analysis.allow_block = analysis.multiline
        return analysis

    def represent_text(self, text):
        plain = re.fullmatch(r"[^\0-\x08\x0b-\x1f\x7f-\x9f\ufeff\u2028\u2029]*\n", text)
        return self.represent_scalar("tag:yaml.org,2002:str", text, style="|" if plain else None)


Dumper.add_representer(str, Dumper.represent_text)


def neutral(text):
    for pattern, instead in NEUTRAL:
        text = re.sub(pattern, instead, text)
    return text


def record_of(result):
    """What the diagnosis read: the words of the program, or those of the stage that came last."""
    stage = result["stages"][-1]
    said = result if stage["name"] == "run" else stage
    record = {"stage": stage["name"], "stderr": neutral(said["stderr"])}
    if said is stage and said["stdout"]:
        record["stdout"] = neutral(said["stdout"])
    if stage["outcome"] == "signaled":
        record["ending"] = stage["signal"]
    elif stage["outcome"] != "exited":
        record["ending"] = stage["outcome"]
    return record


def record_table(name, table):
    """The records, and what is wrong with the diagnosis of some."""
    records, wrong = {}, []
    for case in table["cases"]:
        with tempfile.TemporaryDirectory(prefix="sbr-test-") as folder:
            os.chmod(folder, 0o755)
            result = diagnosis_cases.run(table["language"], case, pathlib.Path(folder))
        records[case["name"]] = record_of(result)
        try:
            assert result["diagnosis"], f"no diagnosis: {records[case['name']]}"
            diagnosis_cases.check(table["language"], case, result["diagnosis"])
        except AssertionError as problem:
            wrong.append(f"{name}: {case['name']}: {problem}")
    return records, wrong


def save(name, records):
    """Shows how the file changes."""
    path = diagnosis_cases.RECORDED / f"{name}.yaml"
    before = path.read_text() if path.exists() else ""
    text = yaml.dump(records, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=1000)
    after = HEADER.format(name=name) + text
    assert yaml.safe_load(after) == records, name
    shown = path.relative_to(support.REPO)
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), f"a/{shown}", f"b/{shown}", lineterm="")
    print("\n".join(lines), end="\n" if before != after else "")
    path.parent.mkdir(exist_ok=True)
    path.write_text(after)


def main(names):
    wrong, tables = [], diagnosis_cases.tables()
    for name in names or tables:
        records, problems = record_table(name, tables[name])
        wrong += problems
        if not problems:
            save(name, records)
    print("\n\n".join(wrong), file=sys.stderr, end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
