"""How a plan is saved: as lines that a reviewer can read, and for most machines as a difference.

A difference names the field, the line behind which something changes, and the lines that go (-) and come (+).
With the plan that it differs from it says every byte, and no change of another field moves it.
"""
import difflib
import json

WIDTH = 110


def lines_of(value, indent=""):
    """JSON; what fits on a line is on one."""
    whole = json.dumps(value)
    if len(indent) + len(whole) <= WIDTH or not isinstance(value, (dict, list)) or not value:
        return [whole]
    inner = indent + "  "
    if isinstance(value, dict):
        ends, parts = "{}", [(f"{json.dumps(key)}: ", part) for key, part in value.items()]
    else:
        ends, parts = "[]", [("", part) for part in value]
    lines = [ends[0]]
    for number, (lead, part) in enumerate(parts):
        first, *rest = lines_of(part, inner)
        lines += [f"{inner}{lead}{first}", *rest]
        lines[-1] += "," if number + 1 < len(parts) else ""
    return [*lines, f"{indent}{ends[1]}"]


def text_of(plan):
    return "\n".join(lines_of(plan)) + "\n"


def difference(base, plan):
    """Text; empty when they are equal."""
    found = []
    for field in dict.fromkeys([*base, *plan]):
        old, new = ([json.dumps(field) + ": " + line if not number else line
                     for number, line in enumerate(lines_of(of[field]))] if field in of else [] for of in (base, plan))
        for kind, begin, end, new_begin, new_end in difflib.SequenceMatcher(None, old, new, False).get_opcodes():
            if kind != "equal":
                found.append(f"@ {field}, behind line {begin}")
                found += [f"-{line}" for line in old[begin:end]] + [f"+{line}" for line in new[new_begin:new_end]]
    return "".join(f"{line}\n" for line in found)


def form_of(base, plan):
    """(ending of the file, text): a refusal has no field of a plan, so it is shown as it is."""
    return ("diff", difference(base, plan)) if base.keys() & plan.keys() else ("json", text_of(plan))


def unlike(saved, found):
    """The change that a failed comparison shows."""
    return "\n".join(difflib.unified_diff(saved.splitlines(), found.splitlines(), "saved", "planned", lineterm=""))
