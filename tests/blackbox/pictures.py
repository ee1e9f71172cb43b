"""Pictures of a terminal for the guide, drawn from real screens: `make pictures`.

A screen of the emulator becomes an SVG: one `text` for a row, one `tspan` for each piece of one style.  The words of a
picture can be read back, so that a test compares them with what the tool shows now.
"""
import contextlib
import os
import pathlib
import re
import sys
import tempfile
import xml.etree.ElementTree as ET

if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import support
from screen import screen_of

PLACE = support.REPO / "docs/pictures"
SVG = "{http://www.w3.org/2000/svg}"
COLUMNS, ROWS = 100, 40
WIDTH, HEIGHT, MARGIN = 8.4, 18, 12  # of a cell, around all cells; px
COLORS = {"default": "#d4d4d4", "black": "#555555", "red": "#f47067", "green": "#6cc070", "brown": "#d9b44a",
          "blue": "#6cb6ff", "magenta": "#c594e8", "cyan": "#56c8d8", "white": "#f0f0f0", "brightblack": "#8b949e"}
BACKGROUND = "#1e1e1e"

AVERAGE = '''def average(values):
    return sum(values) / len(values)

print("a week:", average([3, 4, 8]))
print("a holiday:", average([]))
'''
CLEAN = "rm old.html; sed -i s/debug/info/ app.conf"

# Name: what it shows in words, its files, the options and words of the tool, what is typed when the screen has a text.
SCENES = {
    "diagnosis": ("A Python program fails; the faulty line is shown in colours, with a hint",
                  {"average.py": AVERAGE}, ["average.py"], []),
    "dry-run": ("A script changes a project without effect on it; its changes are shown as a coloured diff",
                {"site/old.html": "<p>old</p>\n", "site/app.conf": "level=debug\nport=8080\n"},
                ["--project", "site", "--diff", "--lang", "sh", "--code", CLEAN],
                [("keep or drop? [k]", "drop\r")]),
    "repl-help": ("The prompt of a session, a value, and the list of its commands",
                  {}, ["repl", "python"], [("python>", "{word: len(word) for word in ['tea', 'cake']}\r"),
                                           ("'cake': 4}\npython>", ":help\r")]),
}


def color_of(cell):
    color = cell.bg if cell.reverse else cell.fg
    return COLORS.get(color) or (f"#{color}" if re.fullmatch("[0-9a-f]{6}", color) else COLORS["default"])


def pieces_of(row, columns):
    """[column, text, colour, bold] of each piece of a row that is not blank."""
    pieces = []
    for x in range(columns):
        cell = row[x]
        style = [color_of(cell), cell.bold]
        if pieces and pieces[-1][2:] == style:
            pieces[-1][1] += cell.data
        else:
            pieces.append([x, cell.data, *style])
    return [[x, text.rstrip(), *style] for x, text, *style in pieces if text.strip()]


def svg_of(screen, about):
    """The rows that are used, as text."""
    lines = screen.text.count("\n") + 1
    root = ET.Element("svg", {"xmlns": SVG[1:-1], "role": "img", "width": f"{2 * MARGIN + COLUMNS * WIDTH:.0f}",
                              "height": str(2 * MARGIN + lines * HEIGHT), "data-columns": str(COLUMNS),
                              "font-family": "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace", "font-size": "14"})
    ET.SubElement(root, "title").text = about
    ET.SubElement(root, "rect", {"width": "100%", "height": "100%", "rx": "6", "fill": BACKGROUND})
    for y in range(lines):
        row = ET.SubElement(root, "text", {"y": str(MARGIN + y * HEIGHT + 14)})
        for x, text, color, bold in pieces_of(screen.screen.buffer[y], COLUMNS):
            lead = len(text) - len(text.lstrip())  # blanks at the beginning of a piece are not drawn
            text = text[lead:]
            piece = ET.SubElement(row, "tspan", {"x": f"{MARGIN + (x + lead) * WIDTH:.1f}", "fill": color,
                                                 "textLength": f"{len(text) * WIDTH:.1f}"})
            piece.text = text.replace(" ", "\N{NO-BREAK SPACE}")
            if bold:
                piece.set("font-weight", "bold")
    ET.indent(root, "")
    return ET.tostring(root, encoding="unicode") + "\n"


def rows_in(svg):
    """The rows of a picture, each as wide as the screen."""
    root = ET.fromstring(svg)
    columns = int(root.get("data-columns"))
    for row in root.iter(SVG + "text"):
        cells = [" "] * columns
        for piece in row.iter(SVG + "tspan"):
            at = round((float(piece.get("x")) - MARGIN) / WIDTH)
            cells[at:at + len(piece.text)] = piece.text.replace("\N{NO-BREAK SPACE}", " ")
        yield "".join(cells)


def words_of(rows):
    """What stays the same from run to run: no figures, no breaks of lines, no remark that the machine was slow."""
    text = re.sub(r"\s+", " ", re.sub(r"\d+(\.\d+)*( [KM]iB)?", "#", "".join(rows))).strip()
    return text.replace(" · total # s", "")


@contextlib.contextmanager
def scene(name, caller=None):
    """The screen of a scene, after its last command."""
    about, files, words, typed = SCENES[name]
    del about
    with tempfile.TemporaryDirectory(prefix="sbr-picture-") as place:
        os.chmod(place, 0o755)
        for path, text in files.items():
            target = pathlib.Path(place, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        env = {**support.surroundings(caller), "TERM": "xterm-256color", "HOME": place}
        shown = " ".join(f'"{word}"' if " " in word else word for word in ["sandbox-run", *words])
        start = ["sh", "-c", 'cd "$1"; printf "\\033[1m$ %s\\033[0m\\n" "$2"; shift 2; exec "$@"', "-", place, shown]
        prompt = words[0] == "repl"
        with screen_of(*start, *support.command(*words, caller=caller), env=env, rows=ROWS, columns=COLUMNS) as screen:
            for text, keys in typed:
                screen.wait(text)
                if prompt:
                    screen.wait(screen.is_raw)  # what is typed before is shown twice
                screen.type(keys)
            if prompt:
                screen.wait(lambda: screen.text.count("python>") > len(typed) and screen.text.endswith("python>"))
            else:
                screen.end()
            yield screen
            if prompt:
                screen.type("\x04")
                screen.end()


def main():
    PLACE.mkdir(exist_ok=True)
    for name, (about, *_) in SCENES.items():
        with scene(name) as screen:
            (PLACE / f"{name}.svg").write_text(svg_of(screen, about), encoding="utf-8")


if __name__ == "__main__":
    main()
