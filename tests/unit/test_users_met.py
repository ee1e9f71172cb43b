"""Each line that users met has its tests, and they are there."""
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import users_met  # noqa: E402


def test_every_line_has_tests_that_are_there():
    for number, _, tests in users_met.MET:
        for node in users_met.nodes(tests):
            path, _, name = node.partition("::")
            assert Path(path).is_file(), (number, path)
            assert not name or re.search(rf"^def {name}\(", Path(path).read_text(encoding="utf-8"), re.M), (number, node)


def test_numbers_are_used_once_and_a_line_in_words_is_no_list_of_tests():
    numbers = [number for number, _, _ in users_met.MET]
    assert len(set(numbers)) == len(numbers)
    assert [number for number, _, tests in users_met.MET if not users_met.nodes(tests)] == ["M1"]
