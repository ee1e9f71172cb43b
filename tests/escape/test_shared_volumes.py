"""Two runs that share one `rw` volume: what the one does to the names in it, or keeps of the other, while the
supervisor takes out what the other left."""
import os
import pathlib
import stat
import time

import harness
from collection import place  # noqa: F401
from harness import callers
from stages import give

# Each pattern is one more walk past the names that change meanwhile.
WALKS = 24
ROUNDS = 6


def shared(place, name):
    path = place.folder / name
    path.mkdir(mode=0o755)
    return give(path, place.caller)


@callers
def test_no_mode_changes_behind_a_link_that_comes_while_files_are_collected(scene, place):
    """What its owner may not read is opened for a moment.  By then its name may be a link, to a file that the other run
    cannot see: without comparing, that file got the mode of the one that was looked at, 0777."""
    volume, private = shared(place, "volume"), shared(place, "private")
    secret = private / "secret"
    secret.write_text("secret")
    secret.chmod(0o600)
    give(secret, place.caller)
    outputs = [word for i in range(WALKS) for word in ("--output", f"/data/hot/*:{place.out}/{i}")]
    with harness.running(scene, "swap", "/data", "/private/secret", caller=place.caller,
                         options=("--volume", f"{volume}:/data:rw", "--timeout", "60s")) as other:
        assert other.read_line() == "swapping"
        deadline = time.monotonic() + 15
        for _ in range(ROUNDS):
            place.run("bash", "true", "--volume", f"{volume}:/data:rw", "--volume", f"{private}:/private:rw", *outputs)
            assert stat.S_IMODE(secret.stat().st_mode) == 0o600
            if time.monotonic() > deadline:
                break
    # And whatever was opened for a moment is locked again.
    for path in [*volume.glob("hot/*"), *volume.glob("cold/*")]:
        assert path.is_symlink() or stat.S_IMODE(path.stat().st_mode) == 0o377
    assert b"secret" not in place.content()
