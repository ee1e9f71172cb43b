"""Writes, appends, reads, renames, lists and removes in the work directory."""
import pathlib
import tempfile

notes = pathlib.Path("notes")
notes.mkdir()
one = notes / "one.txt"
one.write_text("alpha\nbeta\n")
with one.open("a") as stream:
    stream.write("gamma\n")
lines = one.read_text().splitlines()
print(len(lines), ",".join(lines))

raw = pathlib.Path("raw.bin")
raw.write_bytes(bytes(range(256)))
print(raw.stat().st_size, sum(raw.read_bytes()))

one.rename(notes / "two.txt")
print(*sorted(path.name for path in notes.iterdir()))
(notes / "two.txt").unlink()
print(len(list(notes.iterdir())))

with tempfile.NamedTemporaryFile("w+") as scratch:
    scratch.write("scratch")
    scratch.seek(0)
    print(scratch.read())
