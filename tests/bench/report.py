"""Tables and verdicts, for the terminal and for docs/performance.md."""

import dataclasses
import math
import textwrap

BEGIN = "<!-- bench: begin (written by `make bench`; text between the markers is replaced) -->"
END = "<!-- bench: end -->"
BUSY = "BUSY: not a verdict"
HEADING = "# Performance\n\nMeasured by `make bench`; see `tests/bench/`.\n\n"


@dataclasses.dataclass
class Goal:
    """`reached` is None when there was nothing to compare."""

    text: str
    measured: str
    reached: bool | None


@dataclasses.dataclass
class Table:
    title: str
    note: str
    header: list
    rows: list
    goals: list = dataclasses.field(default_factory=list)


def percentile(samples, share):
    """The nearest rank: a value that was really seen."""
    ordered = sorted(samples)
    return ordered[max(math.ceil(share * len(ordered)) - 1, 0)]


def median(samples):
    return percentile(samples, 0.5)


def rounded(value):
    """Three significant digits, without an exponent."""
    if value == 0:
        return "0"
    digits = max(2 - math.floor(math.log10(abs(value))), 0)
    return f"{value:.{digits}f}"


def goal_at_most(text, value, limit, unit=""):
    return compared(text, value, unit, lambda v: v <= limit)


def goal_at_least(text, value, limit, unit=""):
    return compared(text, value, unit, lambda v: v >= limit)


def compared(text, value, unit, is_reached):
    if value is None:
        return Goal(text, "NOT MEASURED", None)
    return Goal(text, f"{rounded(value)}{unit}", is_reached(value))


def verdict(goal, busy):
    if busy:
        return BUSY
    if goal.reached is None:
        return "no verdict"
    return "goal reached" if goal.reached else "goal MISSED"


def plain(table):
    lines = [table.header, *table.rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(table.header))]
    return [
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths))
        ).rstrip()
        for line in lines
    ]


def terminal(tables, missing, busy):
    lines = []
    for table in tables:
        lines += [f"== {table.title}", *plain(table)]
        lines += [f"  {g.text}: {g.measured}: {verdict(g, busy)}" for g in table.goals]
        lines.append("")
    lines += [f"{name}: NOT MEASURED: {why}" for name, why in missing.items()]
    lines += [f"{BUSY}: {reason}" for reason in busy]
    return "\n".join(lines)


def markdown_row(cells):
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"


def markdown_table(header, rows, align="---:"):
    """`align` is for all columns but the first."""
    return [
        markdown_row(header),
        markdown_row(["---"] + [align] * (len(header) - 1)),
        *map(markdown_row, rows),
    ]


def busy_lines(busy):
    if not busy:
        return []
    return [f"**{BUSY}.** The machine was not quiet:", "", *(f"- {why}" for why in busy), ""]


def goal_lines(tables, busy):
    rows = [[goal.text, goal.measured, verdict(goal, busy)] for t in tables for goal in t.goals]
    return ["### Goals", "", *markdown_table(["goal", "measured", "verdict"], rows, "---"), ""]


def tool_lines(peers):
    rows = [[peer.name, peer.note] for peer in peers.usable]
    rows += [[name, f"NOT MEASURED: {why}"] for name, why in peers.missing.items()]
    return ["### Tools", "", *markdown_table(["tool", "how it ran"], rows, "---"), ""]


def wrapped(note):
    """Lines of documents are short: tests/lint/documents.py."""
    return textwrap.wrap(note, 100, break_long_words=False, break_on_hyphens=False)


def section(tables, facts, peers, busy):
    """The part of docs/performance.md between the markers."""
    lines = ["## Results", "", *busy_lines(busy), *goal_lines(tables, busy)]
    for table in tables:
        lines += [f"### {table.title}", "", *wrapped(table.note), ""]
        lines += [*markdown_table(table.header, table.rows), ""]
    lines += tool_lines(peers)
    lines += ["### Conditions", "", *markdown_table(["what", "value"], facts, "---")]
    return "\n".join(lines)


def sections(text):
    """{title: lines below it} of the part between the markers, in its order."""
    found, title = {}, ""
    for line in text.splitlines():
        if line.startswith("### "):
            title = line[4:]
            continue
        found.setdefault(title, []).append(line)
    return found


def goal_rows(lines):
    """{goal: its row}"""
    return {line.split(" | ")[0]: line for line in lines if line.startswith("| ")}


def merged(old, new, stamp):
    """Earlier results with the tables and goals of a run of some parts in their place; `stamp` says of which run."""
    kept, fresh = sections(old), sections(new)
    if "Goals" not in kept:
        return new
    goals = goal_rows(kept["Goals"]) | goal_rows(fresh["Goals"])
    kept["Goals"] = ["", *goals.values(), ""]
    for title, lines in fresh.items():
        if title not in ("", "Goals", "Tools", "Conditions"):
            kept[title] = ["", stamp, *lines]
    last = {title: kept.pop(title) for title in ("Tools", "Conditions") if title in kept}
    return "\n".join("\n".join([f"### {title}"] * bool(title) + lines) for title, lines in (kept | last).items())


def write_between_markers(path, text, stamp=None):
    """Replaces what an earlier run wrote, or with a stamp parts of it; what people wrote around it stays."""
    old = path.read_text(encoding="utf-8") if path.exists() else HEADING
    before, begin, rest = old.partition(BEGIN)
    _, end, after = rest.partition(END)
    if begin and not end:
        raise SystemExit(f"{path}: {BEGIN} without {END}: mend it by hand")
    if stamp and begin:
        text = merged(rest.partition(END)[0].strip("\n"), text, stamp)
    if not begin:
        before = before.rstrip("\n") + "\n\n"
        after = "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")
