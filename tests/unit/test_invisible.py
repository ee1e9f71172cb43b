"""Characters that are shown in a visible form are those that Unicode calls unseen."""
import pathlib
import re
import shutil
import subprocess
import unicodedata

import pytest

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent / "src/base/text.c"
LATER = {*range(0x13439, 0x13440)}  # format characters that Unicode 15 added
IGNORABLE = r"""binmode STDOUT; for my $c (0 .. 0xd7ff, 0xe000 .. 0x10ffff) { print "$c\n" if chr($c) =~ /\p{DI}/ }"""


def table():
    text = SOURCE.read_text().partition("} unseen[] = {")[2].partition("};")[0]
    return [(int(first, 16), int(last, 16)) for first, last in re.findall(r"{ (0x[0-9a-f]+), (0x[0-9a-f]+) }", text)]


def test_the_table_is_in_order():
    flat = [point for row in table() for point in row]
    assert flat == sorted(flat) and len(table()) > 20


@pytest.mark.skipif(not shutil.which("perl"), reason="Perl knows what is ignorable by default")
def test_the_table_is_what_unicode_says():
    shown = {point for first, last in table() for point in range(first, last + 1)}
    known = {point for point in range(0x110000) if unicodedata.category(chr(point)) in ("Cc", "Cf", "Zl", "Zp")}
    listed = subprocess.run(["perl", "-e", IGNORABLE], stdout=subprocess.PIPE, check=True).stdout
    known |= set(map(int, listed.split()))
    assert not known - shown, sorted(map(hex, known - shown))
    assert not shown - known - LATER, sorted(map(hex, shown - known - LATER))
