"""What tests/toolchains.py shares out and hands over."""
import os
import pathlib

import pytest

import support
import toolchains

LANGUAGES = ["c", "go", "python"]


@pytest.mark.parametrize("callers", [[], ["user"], ["root"], ["root", "user"]], ids=lambda callers: "+".join(callers))
def test_each_language_is_made_by_one_caller_and_each_caller_makes_some(callers):
    shares = toolchains.shared_out(callers, LANGUAGES)
    assert sorted(shares) == callers
    assert sorted(name for share in shares.values() for name in share) == (LANGUAGES if callers else [])
    assert all(shares.values())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_is_handed_over_is_the_takers_and_what_the_taker_has_stays(tmp_path, monkeypatch):
    monkeypatch.setenv("SBR_TEST_CACHE", str(tmp_path))
    support._caches.cache_clear()  # pylint: disable=protected-access
    try:
        for caller, entries in {"root": ("both", "one"), "user": ("both",)}.items():
            place = pathlib.Path(support.cache_of(caller))
            (place / "staging").mkdir()
            for entry in entries:
                (place / "prepared" / entry / "tree").mkdir(parents=True)
                (place / "prepared" / entry / "tree/file").write_text(caller)
        toolchains.hand_over("root", "user")
        prepared = pathlib.Path(support.cache_of("user"), "prepared")
        assert {entry.name: (entry / "tree/file").read_text() for entry in prepared.iterdir()} == \
            {"both": "user", "one": "root"}
        given = [prepared / "one", *(prepared / "one").rglob("*")]
        assert {path.stat().st_uid for path in given} == {support.ORDINARY_UID}
        assert not list(prepared.parent.joinpath("staging").iterdir())
    finally:
        support._caches.cache_clear()  # pylint: disable=protected-access
