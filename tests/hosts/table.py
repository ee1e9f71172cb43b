"""The table of docs/hosts.md: one row per host, kept between two comments."""
import re

from paths import REPO

DOCUMENT = REPO / "docs/hosts.md"
BEGIN = "<!-- make check-hosts writes from here -->"
END = "<!-- to here -->"
HEAD = ["| host | what it is | tier | missing | tests | not run, because |", "|---|---|---|---|---|---|"]


def row(outcome):
    isolation = outcome.run.get("isolation", {})
    tests = f"{outcome.count('passed')} passed"
    if outcome.count("failed"):
        tests += f", {outcome.count('failed')} failed"
    absent = "; ".join(f"{why} ({count})" for why, count in sorted(outcome.absent.items()))
    cells = [outcome.host.name, outcome.host.about, isolation.get("tier", "–"),
             ", ".join(isolation.get("missing", [])) or "–", tests, absent or "–"]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def lines(outcomes):
    return [*HEAD, *sorted(row(outcome) for outcome in outcomes)]


def write(outcomes, alone=False):
    """Replaces the rows of these hosts; those of hosts that were not run now stay, unless these are all."""
    text = DOCUMENT.read_text(encoding="utf-8") if DOCUMENT.exists() else f"# Hosts\n\n{BEGIN}\n{END}\n"
    found = re.search(f"{re.escape(BEGIN)}\n(.*?){re.escape(END)}", text, re.S)
    if not found:
        return
    rows = {line.split("|")[1].strip(): line for line in found[1].splitlines()[2:] if not alone}
    rows.update({outcome.host.name: row(outcome) for outcome in outcomes})
    body = "\n".join([BEGIN, *HEAD, *(rows[name] for name in sorted(rows)), END])
    DOCUMENT.write_text(text[: found.start()] + body + text[found.end() :], encoding="utf-8")
