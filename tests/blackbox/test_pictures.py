"""The pictures of the guide show what the tool shows."""
import pytest

import pictures
import support


@pytest.mark.parametrize("name", pictures.SCENES)
def test_a_picture_has_the_words_of_a_real_screen(root, name):
    picture = (pictures.PLACE / f"{name}.svg").read_text(encoding="utf-8")
    with pictures.scene(name, root) as screen:
        assert pictures.words_of(pictures.rows_in(picture)) == pictures.words_of(screen.screen.display), "make pictures"


def test_every_picture_is_in_the_guide_and_has_a_scene():
    guide = (support.REPO / "docs/SANDBOX_RUN.md").read_text(encoding="utf-8")
    for path in pictures.PLACE.iterdir():
        assert path.stem in pictures.SCENES and f"](pictures/{path.name})" in guide
    assert len(list(pictures.PLACE.iterdir())) == len(pictures.SCENES)
