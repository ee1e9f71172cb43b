"""Documents say what the code says: tables are compared, paths exist, lines are short.

  - A line of Markdown has at most 100 columns.  Rows of tables are exempt, because they cannot be broken, but a cell
    is a phrase: at most MAX_CELL columns.  So are lines that `sandbox-run` itself prints in an example.
  - Files and folders of the tree that a document names exist, and so do the targets of its links and of `make`.
  - ARCHITECTURE.md: folders, steps, states of the monitor, messages; CONTRIBUTING.md: suites;
    docs/: limits, outcomes, keys of JSON, calls of policies; docs/environment.md: variables that the code reads, and the words of
    SANDBOX_RUN_TEST_WITHOUT.
  - Each folder of src/ has its page in docs/internals/, and the functions that it names; each picture there is drawn from its source as it is now.

Every comparison is a function of texts, so that selftest.py can show that it bites.

Usage: documents.py [ROOT]
"""

import hashlib
import re
import sys
from pathlib import Path

import layers
import tree

MAX_COLUMNS = 100
MAX_CELL = 200
EXEMPT = ("|", "sandbox-run: ", "── ")

# Written by programs, which decide how long a row is: tests/hosts and tests/bench.
GENERATED = ("docs/hosts.md", "docs/performance.md")

# Documents that speak of our own sources; in others `main.c` is a user's file.
ABOUT_SOURCES = ("ARCHITECTURE.md", "SECURITY.md", "CONTRIBUTING.md", "docs/internals/",
                 "docs/decisions/")

_LINK = re.compile(r"\]\((?P<target>[^)#\s]+)(?:#[^)]*)?\)")
_CODE = re.compile(r"`(?P<text>[^`\n]+)`")
_PATH = re.compile(r"(?:[\w.-]+/)+[\w.*-]*|[\w*-]+\.[ch]|test_[\w*]+\.py")
_SOURCE = re.compile(r"(?P<name>[\w*.-]+)\.[ch]|test_[\w*]+\.py")
_TARGET = re.compile(r"`make (?P<name>[a-z][a-z-]*)")

# ---- Markdown ------------------------------------------------------------------------------------


def outside_fences(text):
    """Yields (line number, line) of everything but fenced blocks."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, line


def cells(line):
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]


def tables(text, first):
    """The rows of each table whose head begins with this cell, or with the cell and a comma."""
    found, head, wanted = [], True, False
    for _, line in outside_fences(text):
        if not line.startswith("|"):
            head = True
        elif head:
            head, wanted = False, bool(re.match(re.escape(first) + r"(,|$)", cells(line)[0]))
            found += [[]] if wanted else []
        elif wanted and set(line) - set("|-: "):
            found[-1].append(cells(line))
    return found


def rows(text, first):
    """Of the first such table."""
    return (tables(text, first) or [[]])[0]


def words(cell):
    """What stands in `backticks`."""
    return [match["text"] for match in _CODE.finditer(cell)]


def word(cell):
    """The first of them, or the cell itself."""
    return (words(cell) or [cell])[0]


def line_problems(shown, text):
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > MAX_COLUMNS and not line.startswith(EXEMPT):
            yield f"{shown}:{number}: {len(line)} columns, at most {MAX_COLUMNS}"
    for number, line in outside_fences(text):
        if line.startswith("|") and shown not in GENERATED:
            longest = max(map(len, cells(line)), default=0)
            if longest > MAX_CELL:
                yield f"{shown}:{number}: a cell of {longest} columns, at most {MAX_CELL}: put the text below the table"


# Words that say less than the subject's name, and old names: CONTRIBUTING.md, "Prose in six lines".
_WORDS = re.compile(r"\b(?:nobody|somebody|anybody|everybody|whoever|strangers?|nurser(?:y|ies)|midwi(?:fe|ves)|processors?"
                    r"|control groups?)\b", re.IGNORECASE)


def word_problems(shown, text):
    for number, line in outside_fences(text):
        if shown in GENERATED and line.startswith("|"):
            continue
        for match in _WORDS.finditer(_CODE.sub("``", line)):
            yield f"{shown}:{number}: '{match.group()}': name the subject, or take the glossary's word"


# ---- paths ---------------------------------------------------------------------------------------


def named_paths(text):
    """Yields (line number, path) of what looks like one of our files or folders."""
    for number, line in outside_fences(text):
        for name in words(line):
            if _PATH.fullmatch(name):
                yield number, name


def path_exists(root, name):
    """From the root, from src/ or from tests/; a bare name of a source anywhere in them."""
    if "/" in name.rstrip("/"):
        return any(any(Path(root, base).glob(name.rstrip("/"))) for base in (".", "src", "tests"))
    if name.endswith("/"):
        return any(Path(root, base, name).is_dir() for base in (".", "src", "tests"))
    return any(any(Path(root, base).rglob(name)) for base in ("src", "tests", "include"))


def is_ours(root, shown, name):
    """Whether a document means a file of this tree."""
    if re.search("[A-Z]{4}", name) and not name.endswith(".md"):
        return False  # a placeholder
    if name.removeprefix("src/").rstrip("/") in layers.ORDER:
        return False  # the map is compared; a layer may be empty
    about_sources = shown.startswith(ABOUT_SOURCES)
    if "/" not in name:
        return about_sources
    first = name.split("/")[0]
    if any(Path(root, base, first).is_dir() for base in (".", "src", "tests")) and first != "build":
        return True
    return about_sources and bool(_SOURCE.fullmatch(name.split("/")[-1]))


def path_problems(root, shown, text):
    for number, name in named_paths(text):
        if is_ours(root, shown, name) and not path_exists(root, name):
            yield f"{shown}:{number}: there is no '{name}'"
    for number, line in outside_fences(text):
        for match in _LINK.finditer(line):
            target = match["target"]
            if "://" not in target and not Path(root, shown).parent.joinpath(target).exists():
                yield f"{shown}:{number}: the link '{target}' leads nowhere"


def target_problems(shown, text, makefile):
    targets = set(re.findall(r"^([a-z][a-z-]*):", makefile, re.MULTILINE))
    for number, line in outside_fences(text):
        for match in _TARGET.finditer(line):
            if match["name"] not in targets:
                yield f"{shown}:{number}: the Makefile has no target '{match['name']}'"


# ---- comparisons ---------------------------------------------------------------------------------


def differences(place, documented, coded):
    """One sentence for each difference between two lists, or one for their order."""
    problems = [f"{place}: {item} is not in the code" for item in documented if item not in coded]
    problems += [f"{place}: {item} is missing" for item in coded if item not in documented]
    if not problems and documented != coded:
        at = next((i for i, pair in enumerate(zip(documented, coded)) if pair[0] != pair[1]),
                  len(coded))
        problems.append(f"{place}: row {at + 1} is out of order, or there twice")
    return problems


def folder_of(row):
    return word(row[0]).removeprefix("src/").rstrip("/")


def compare_folders(document, order, may_include, may_include_only):
    """The map against the order of the layers, and against what programs beside it may include."""
    ranked, beside = (tables(document, "folder") + [[], []])[:2]
    problems = differences("ARCHITECTURE.md: Map", [folder_of(row) for row in ranked], list(order))
    coded = sorted((name, *sorted(may_include[name] | set(may_include_only.get(name, ()))))
                   for name in may_include if name not in order)
    said = sorted((folder_of(row), *sorted(part.strip(" `") for part in row[-1].split(",")))
                  for row in beside)
    return problems + differences("ARCHITECTURE.md: Map, programs", said, coded)


def coded_steps(confine, sources):
    """[name, roles, file] of each row of the step table.  `sources`: file name to text."""
    roles = {name: role.lower()
             for name, role in re.findall(r"#define (\w+) \(1u << ROLE_(\w+)\)", confine)}
    where = {}
    for file, text in sources.items():
        for symbol, name in re.findall(r'const struct confiner (\w+) = \{ "([\w-]+)"', text):
            where[symbol] = name, file
    found = []
    for symbol, row_roles in re.findall(r"\{ &(\w+),\s*([\w |]+?)\s*\}", confine):
        name, file = where.get(symbol, (symbol, "?"))
        found.append((name, ", ".join(roles.get(role, role) for role in row_roles.split(" | ")),
                      file))
    return found


def compare_steps(document, confine, sources):
    said = [(word(row[0]), row[1], word(row[2])) for row in rows(document, "step")]
    return differences("ARCHITECTURE.md: The steps inside", said, coded_steps(confine, sources))


def coded_states(monitor):
    """The events, then [state, action, ...] of each row."""
    code = tree.blank(monitor)
    events = [name.removeprefix("EV_") for name in enumerators(code, "monitor_event")
              if name.startswith("EV_")]
    table = re.findall(r"\[(\w+)\]\s*=\s*\{([^{}]*)\}", code.split("transitions[N_STATES]")[-1])
    split = [(state, *(cell.strip() for cell in row.split(","))) for state, row in table]
    return [("state", *events)] + [row for row in split if len(row) == len(events) + 1]


def compare_states(document, monitor):
    head = next((line for _, line in outside_fences(document) if line.startswith("| state |")),
                "| |")
    said = [tuple(cells(head))] + [tuple("stay" if cell == "–" else cell for cell in row)
                                   for row in rows(document, "state")]
    return differences("ARCHITECTURE.md: The monitor", said, coded_states(monitor))


def enumerators(header, name):
    body = re.search(r"enum " + name + r" \{(.*?)\}", tree.blank(header), re.DOTALL)
    return re.findall(r"\b([A-Z][A-Z0-9_]+)\b", body[1]) if body else []


# The first cell of a table's head, the column of the names, the header, its enums.
MESSAGES = (
    ("fd", 1, "src/wire/control.h", ("init_fd",)),
    ("order", 0, "src/wire/control.h", ("init_order",)),
    ("news", 0, "src/wire/control.h", ("init_news_kind",)),
    ("report", 0, "src/wire/control.h", ("report_state",)),
    ("message", 0, "src/wire/engine.h", ("engine_ask", "engine_answer")),
)


def compare_messages(document, first, column, header, enums):
    said = [name for row in rows(document, first) for name in words(row[column])]
    coded = [item for name in enums for item in enumerators(header, name)
             if not item.startswith("N_")]
    return differences(f"ARCHITECTURE.md: table of '{first}'", said, coded)


def compare_suites(document, runner):
    check = re.search(r"^CHECK = \((.*?)\)", runner, re.MULTILINE)
    suites = re.search(r"^SUITES = \(\*CHECK, (.*?)\)", runner, re.MULTILINE)
    coded = re.findall(r'"(\w+)"', (check[1] if check else "") + (suites[1] if suites else ""))
    return differences("CONTRIBUTING.md: Tests", [word(row[0]) for row in rows(document, "suite")],
                       coded)


def compare_limits(readme, request, limits):
    """Options of limits in the guide, and their exact names in docs/request.md."""
    coded = re.findall(r'\[SBR_\w+\]\s*= \{ "(\w+)",\s*"([\w-]+)",\s*"(\w+)"', limits)
    options = [name for row in rows(readme, "option") for name in words(row[0])]
    problems = differences("docs/SANDBOX_RUN.md: Limits", options,
                           [f"--{option} {meta}" for _, option, meta in coded])
    names = [(word(row[0]), word(row[1])) for row in rows(request, "exact")]
    return problems + differences("docs/request.md: Limits", names,
                                  [(name, option) for name, option, _ in coded])


def compare_outcomes(document, result):
    coded = re.findall(r'\[SBR_\w+\] = "(\w+)"', result)
    said = [word(row[0]) for row in rows(document, "outcome")]
    return differences("docs/result.md: outcome", sorted(said), sorted(coded))


def compare_keys(place, document, code, both_ways):
    """Keys of JSON that the code writes, or reads, stand in the document; and the other way round."""
    coded = set(re.findall(r'"([a-z]+(?:_[a-z]+)+)"', code))
    said = {name for _, line in outside_fences(document) for name in words(line)
            if re.fullmatch(r"[a-z]+(?:_[a-z]+)+", name)}
    problems = [f"{place}: the key '{name}' is not explained" for name in sorted(coded - said)]
    return problems + [f"{place}: the code has no key '{name}'" for name in sorted(said - coded)
                       if both_ways]


def compare_executed(document, code):
    """What `apply` leaves out: SECURITY.md's rows and the table of model/executes.c."""
    table = re.search(r"executed\[\] = \{(.*?)\n\};", code, re.DOTALL)
    coded = re.findall(r'\{ "([^"]+)", "([^"]+)" \}', table[1] if table else "")
    said = [(pattern, row[0]) for row in rows(document, "marked as") for pattern in words(row[1])]
    return differences("SECURITY.md: marked as", [f"{what} {pattern}" for pattern, what in said],
                       [f"{what} {pattern}" for pattern, what in coded])


def part(document, heading):
    """From this heading to the next of the same rank."""
    return document.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def policy_calls(text):
    """Key of `syscalls` to the names below it, in their order."""
    found, key = {}, ""
    for line in re.sub(r"\s#.*", "", text).split("syscalls:")[-1].splitlines():
        key = next(iter(re.findall(r"^  (\w+):", line)), key)
        found.setdefault(key, []).append(line)
    joined = {key: " ".join(lines) for key, lines in found.items()}
    calls = {key: [name for group in re.findall(r"\bcalls: \[(.*?)\]", part)
                   for name in re.findall(r"\w+", group)]
             for key, part in joined.items()}
    return {**calls, "arguments": re.findall(r"\bcall: (\w+)", joined.get("arguments", ""))}


def compare_policies(document, default, strict):
    default, strict = policy_calls(default), policy_calls(strict)
    listed = re.search(r"^Decided by arguments: (.*?)\n\n", document, re.MULTILINE | re.DOTALL)
    numbers = [(row[0], *(int(number)
                          for number in re.findall(r"\b(\d+) (?:names|more)", " ".join(row[1:3]))))
               for row in rows(document, "") if re.search(r"\d names", row[1])]
    coded = [("calls allowed whatever their arguments", len(default.get("allow", ()))),
             ("refused by name", len(default.get("refuse", ())), len(strict.get("refuse", ()))),
             ("decided by arguments", len(default["arguments"]))]
    problems = differences("docs/policies.md", numbers, coded)
    return problems + differences("docs/policies.md: arguments", words(listed[1]) if listed else [],
                                  default["arguments"])


# ---- environment ---------------------------------------------------------------------------------

_NAME = r"[\"'](?P<name>[A-Z][A-Z0-9_]+)[\"']"
_GETENV = (
    re.compile(r"\bgetenv\(" + _NAME),
    re.compile(r"\bSystem\.getenv\(\)\.getOrDefault\(" + _NAME),
    re.compile(r"\bprocess\.env\.(?P<name>[A-Z][A-Z0-9_]+)"),
    re.compile(r"\benviron(?:\.get\(|\[|\.setdefault\()" + _NAME),
    re.compile(_NAME + r" (?:not )?in os\.environ\b"),
)
# `kind->variable`, `kind->xdg`: rows of a table that name variables.
_ROWS = re.compile(r"\.(?:variable|xdg) = " + _NAME + r"|\[PLACE_\w+\] = \{ " + _NAME.replace("<name>", "<row>"))
_LISTS = re.compile(r"common_env\[\] = \{(?P<list>.*?)\}|config_env: \[(?P<yaml>.*?)\]", re.DOTALL)
_WITHOUT = re.compile(r"(?:plan_leaves_out\([^;]*?|plan_list_has\((?:in->test_without|getenv\(\"SANDBOX_RUN_TEST_WITHOUT\"\)|left_out\(\)),"
                      r"|strstr\(config->test_without,)\s*\"(?P<word>[a-z-]+)\"")


def variables(texts):
    """Names that these texts read from the environment."""
    macros, found = {}, set()
    for text in texts:
        macros.update(re.findall(r'#define (\w+) "([A-Z][A-Z0-9_]+)"', text))
    for text in texts:
        for pattern in _GETENV:
            found |= {match["name"] for match in pattern.finditer(text)}
        found |= {macros[name] for name in re.findall(r"\bgetenv\((\w+)\)", text) if name in macros}
        found |= {match["name"] or match["row"] for match in _ROWS.finditer(text)}
        for match in _LISTS.finditer(text):
            found |= set(re.findall(r"\w+", match["list"] or match["yaml"]))
    return found


def test_words(texts):
    return {match["word"] for text in texts for match in _WITHOUT.finditer(text)}


def documented_variables(document):
    return sorted(name for table in tables(document, "variable") for row in table
                  for name in words(row[0]))


def compare_environment(document, texts):
    return differences("docs/environment.md", documented_variables(document),
                       sorted(variables(texts)))


def reader_problems(document, texts):
    """A folder that is said to read a variable names it.  `texts`: path to text."""
    for table in tables(document, "variable"):
        for row in table:
            for place in words(row[-1]):
                read_there = "".join(text for path, text in texts.items() if path.startswith(place))
                yield from (f"docs/environment.md: {place} does not read {name}"
                            for name in words(row[0])
                            if place.startswith(("src/", "languages/")) and name not in read_there)


def compare_test_words(document, confine, sources, texts):
    """Every word that the code knows is explained; steps need no row."""
    said = sorted(name for row in rows(document, "word") for name in words(row[0]))
    steps = {name for name, _, _ in coded_steps(confine, sources)}
    return differences("docs/environment.md: SANDBOX_RUN_TEST_WITHOUT", said,
                       sorted(test_words(texts) - steps))


# ---- pages and pictures --------------------------------------------------------------------------


def compare_pages(pages, folders):
    return [f"docs/internals/{name}.md is missing: src/{name}/ has no page" for name in folders
            if name not in pages]


def function_problems(shown, document, text):
    """Functions that a page names as entry points stand in the sources of its folder."""
    for row in rows(document, "function"):
        for name in words(row[0]):
            if re.fullmatch(r"[a-z]\w*_\w+", name) and not re.search(rf"\b{name}\b", text):
                yield f"{shown}: there is no {name}() in the folder"


def picture_problems(shown, source, picture):
    digest = hashlib.sha256(source.encode()).hexdigest()
    return [] if digest in picture else [f"{shown}: the picture is not drawn from it as it is now: make diagrams"]


# ---- all of it -----------------------------------------------------------------------------------


def read(root, name):
    path = Path(root, name)
    return tree.read(path) if path.is_file() else ""


def code_texts(root):
    """What may read the environment: the product, the drivers of languages, the tests and their tools."""
    paths = tree.c_files(root, "src") + tree.files(Path(root, "languages"), "")
    paths += [path for path in tree.files(Path(root, "tests"), ".py")
              if not {"lint", "languages", "programs",
                      "attacks"} & set(path.relative_to(root).parts)]
    return {path.relative_to(root).as_posix(): tree.read(path) for path in paths}


def table_problems(root):
    architecture, environment = read(root, "ARCHITECTURE.md"), read(root, "docs/environment.md")
    confine = read(root, "src/confine/confine.c")
    sources = {path.name: tree.read(path) for path in tree.files(Path(root, "src/confine"), ".c")}
    texts = code_texts(root)
    product = [text for name, text in texts.items() if name.startswith(("src/", "languages/"))]
    tests = [ours for name, text in texts.items() if name.startswith("tests/")
             for ours in re.findall(r".*\b(?:SBR_|UPDATE_GOLDEN).*", text)]
    problems = compare_folders(architecture, layers.ORDER, layers.MAY_INCLUDE,
                               layers.MAY_INCLUDE_ONLY)
    problems += compare_steps(architecture, confine, sources)
    problems += compare_states(architecture, read(root, "src/monitor/monitor_states.h") +
                               read(root, "src/monitor/monitor_states.c"))
    for first, column, header, enums in MESSAGES:
        problems += compare_messages(architecture, first, column, read(root, header), enums)
    problems += compare_suites(read(root, "CONTRIBUTING.md"), read(root, "tests/run.py"))
    result = read(root, "docs/result.md")
    problems += compare_limits(read(root, "docs/SANDBOX_RUN.md"), read(root, "docs/request.md"),
                               read(root, "src/model/limits.c"))
    problems += compare_executed(read(root, "SECURITY.md"), read(root, "src/model/executes.c"))
    problems += compare_outcomes(result, read(root, "src/model/result.c"))
    problems += compare_keys("docs/result.md", result, read(root, "src/model/result_json.c"), False)
    problems += compare_keys("docs/engine.md: Status", part(read(root, "docs/engine.md"), "Status"),
                             read(root, "src/engine/engine_status.c"), True)
    problems += compare_policies(read(root, "docs/policies.md"),
                                 read(root, "policies/default.yaml"),
                                 read(root, "policies/strict.yaml"))
    problems += compare_environment(environment, product + tests)
    problems += reader_problems(environment, texts)
    problems += compare_test_words(environment, confine, sources, product)
    return problems


def check(root):
    """Returns one sentence per problem."""
    root = Path(root)
    makefile, problems = read(root, "Makefile"), []
    for path in tree.files(root, ".md"):
        shown, text = path.relative_to(root).as_posix(), tree.read(path)
        problems += line_problems(shown, text)
        problems += word_problems(shown, text)
        problems += path_problems(root, shown, text)
        problems += target_problems(shown, text, makefile)
    internals = root / "docs/internals"
    folders = sorted({path.parent.name for path in tree.c_files(root, "src")})
    problems += compare_pages({path.stem for path in internals.glob("*.md")}, folders)
    for name in folders:
        text = "".join(tree.read(path) for path in tree.c_files(root, f"src/{name}"))
        problems += function_problems(f"docs/internals/{name}.md",
                                      read(root, f"docs/internals/{name}.md"), text)
    for source in sorted(internals.glob("*.dot")):
        shown = source.relative_to(root).as_posix()
        problems += picture_problems(shown, tree.read(source),
                                     read(root, shown.removesuffix(".dot") + ".svg"))
    return problems + table_problems(root)


if __name__ == "__main__":
    found = check(sys.argv[1] if len(sys.argv) > 1 else tree.ROOT)
    print("\n".join(found), end="\n" if found else "")
    sys.exit(bool(found))
