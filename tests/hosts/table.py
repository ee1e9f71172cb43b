"""The table of docs/hosts.md: one row per host, kept between two comments."""
import re

from paths import REPO

DOCUMENT = REPO / "docs/hosts.md"
BEGIN = "<!-- make check-hosts writes from here -->"
END = "<!-- to here -->"
HEAD = ["| host | what it is | tier | missing | tests |", "|---|---|---|---|---|"]


def row(outcome):
    isolation = outcome.run.get("isolation", {})
    tests = f"{outcome.count('passed')} passed"
    if outcome.count("failed"):
        tests += f", {outcome.count('failed')} failed"
    if outcome.absent:
        tests += f", {outcome.absent} without a premise"
    cells = [outcome.host.name, outcome.host.about, isolation.get("tier", "–"),
             ", ".join(isolation.get("missing", [])) or "–", tests]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def lines(outcomes):
    return [*HEAD, *sorted(row(outcome) for outcome in outcomes)]


def write(outcomes):
    """Replaces the rows of these hosts; those of hosts that were not run now stay."""
    text = DOCUMENT.read_text(encoding="utf-8") if DOCUMENT.exists() else f"# Hosts\n\n{BEGIN}\n{END}\n"
    found = re.search(f"{re.escape(BEGIN)}\n(.*?){re.escape(END)}", text, re.S)
    if not found:
        return
    rows = {line.split("|")[1].strip(): line for line in found[1].splitlines()
            if line.startswith("| ") and line not in HEAD}
    rows.update({outcome.host.name: row(outcome) for outcome in outcomes})
    body = "\n".join([BEGIN, *HEAD, *(rows[name] for name in sorted(rows)), END])
    DOCUMENT.write_text(text[: found.start()] + body + text[found.end() :], encoding="utf-8")
