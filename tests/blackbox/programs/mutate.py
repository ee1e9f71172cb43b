"""Changes the directory that it is started in, as much as its seed says: once inside, once outside, with the same outcome.

Usage: mutate.py SEED COUNT.  What it picks depends on names alone, which are sorted; what fails fails on both sides.
Hard links come last: overlayfs cannot keep them when it copies a directory, so nothing is written to them afterwards.
"""
import os
import random
import shutil
import sys

FILE_MODES = (0o644, 0o600, 0o755, 0o444, 0o640, 0o400)
DIR_MODES = (0o755, 0o700, 0o711, 0o775)
ODD_NAMES = ("line\nbreak", "-rf", " ", "esc\033[2J", "\udcff\udcfe", "n" * 255, "ünïcode", "*?[", "a:b", "...")


def everything():
    """(path, lstat mode) of all, sorted by the bytes of the paths."""
    found = []
    for folder, dirs, files in os.walk("."):
        found += [os.path.join(folder, name)[2:] for name in (*dirs, *files)]
    return sorted(found, key=os.fsencode)


class Mutator:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def pick(self, wanted):
        """One that is there, or None."""
        there = [path for path in everything() if wanted(path)]
        return self.random.choice(there) if there else None

    def file(self):
        return self.pick(lambda path: os.path.isfile(path) and not os.path.islink(path))

    def folder(self):
        return self.pick(lambda path: os.path.isdir(path) and not os.path.islink(path))

    def anything(self):
        return self.pick(os.path.lexists)

    def fresh(self, outside=None):
        """A path where nothing is, not below `outside`."""
        folder = self.pick(lambda path: os.path.isdir(path) and not os.path.islink(path)
                           and not (outside and (path + "/").startswith(outside + "/"))) or "."
        plain = [f"new{number}{ending}" for number in range(6) for ending in (".txt", ".d", "")]
        path = os.path.join(folder if self.random.random() < 0.8 else ".", self.random.choice((*plain, *ODD_NAMES)))
        return None if os.path.lexists(path) else path

    def content(self):
        kind = self.random.randrange(5)
        size = (0, 10, 300, 5000, 300_000)[kind]
        return self.random.randbytes(size) if self.random.random() < 0.5 else (b"line %d\n" % size) * (size // 8)

    def create(self):
        path = self.fresh()
        if path:
            with open(path, "wb") as file:
                file.write(self.content())
            os.chmod(path, self.random.choice(FILE_MODES))

    def overwrite(self):
        with open(self.file(), "wb") as file:
            file.write(self.content())

    def write_the_same(self):
        path = self.file()
        with open(path, "rb") as file:
            old = file.read()
        with open(path, "wb") as file:
            file.write(old)

    def append(self):
        with open(self.file(), "ab") as file:
            file.write(self.content())

    def truncate(self):
        path = self.file()
        os.truncate(path, self.random.choice((0, os.path.getsize(path) // 2, os.path.getsize(path) + 5000)))

    def chmod(self):
        os.chmod(self.file(), self.random.choice(FILE_MODES))

    def chmod_folder(self):
        os.chmod(self.folder(), self.random.choice(DIR_MODES))

    def unlink(self):
        os.unlink(self.pick(lambda path: os.path.islink(path) or not os.path.isdir(path)))

    def remove_folder(self):
        shutil.rmtree(self.folder())

    def remove_and_make_again(self):
        """With some of what was in it, as it was."""
        path = self.folder()
        kept = {}
        for name in sorted(os.listdir(path), key=os.fsencode):
            inner = os.path.join(path, name)
            if os.path.isfile(inner) and not os.path.islink(inner) and self.random.random() < 0.5:
                with open(inner, "rb") as file:
                    kept[inner] = file.read()
        shutil.rmtree(path)
        os.mkdir(path)
        for inner, content in kept.items():
            with open(inner, "wb") as file:
                file.write(content)

    def make_folder(self):
        os.mkdir(self.fresh())

    def rename(self):
        path = self.file()
        os.rename(path, self.fresh())

    def rename_over(self):
        os.rename(self.file(), self.file())

    def move_folder(self):
        path = self.folder()
        shutil.move(path, self.fresh(outside=path))

    def symlink(self):
        os.symlink(self.random.choice(("a", "../b", "/etc/passwd", "nowhere/\n", "d0/f1")), self.fresh())

    def replace_link(self):
        path = self.pick(os.path.islink)
        os.unlink(path)
        os.symlink("elsewhere", path)

    def file_to_folder(self):
        path = self.file()
        os.unlink(path)
        os.mkdir(path)
        with open(os.path.join(path, "inner"), "wb") as file:
            file.write(self.content())

    def folder_to_file(self):
        path = self.folder()
        shutil.rmtree(path)
        with open(path, "wb") as file:
            file.write(self.content())

    def hard_link(self):
        os.link(self.file(), self.fresh())

    STEPS = (create, create, overwrite, write_the_same, append, truncate, chmod, chmod_folder, unlink, remove_folder,
             remove_and_make_again, make_folder, rename, rename_over, move_folder, symlink, replace_link, file_to_folder,
             folder_to_file)

    def run(self, count):
        steps = [self.random.choice(self.STEPS) for _ in range(count)] + [Mutator.hard_link] * (count // 8)
        for step in steps:
            try:
                step(self)
            except (OSError, TypeError, shutil.Error):  # nothing to pick, or it cannot be done
                continue


if __name__ == "__main__":
    os.umask(0o022)
    Mutator(int(sys.argv[1])).run(int(sys.argv[2]))
