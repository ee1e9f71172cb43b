"""The lists of tools/packages.sh."""
import pathlib
import re

REPO = pathlib.Path(__file__).resolve().parents[2]


def test_what_the_readme_shows_is_built_by_hello():
    """What meson leaves out without a package is no part of `make hello`; so its list has each of them."""
    lists = (REPO / "tools" / "packages.sh").read_text()
    build = re.search(r"^build=\((.*?)\)", lists, re.MULTILINE | re.DOTALL)[1].split()
    named = {package for file in (REPO / "src").rglob("meson.build")
             for line in re.findall(r"message\('.* is left out: it needs (.*?)'\)", file.read_text())
             for package in re.findall(r"[\w.-]+-dev", line)}
    assert named and not named - set(build), named - set(build)
