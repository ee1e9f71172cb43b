"""Finds the memory that it shares with other processes and could write to: "shared RANGE LAST-BYTES" for each mapping.

    scribble.py mark MARK   leaves the mark at the end of each
    scribble.py harm        fills each with addresses where nothing is
    scribble.py own         has made one itself, for whoever wants to see that it is found"""
import ctypes
import mmap
import sys

ROOM = 32  # bytes at the end of a mapping


def shared():
    """The kernel says `sh` of a shared mapping that may be written to, or may be made so."""
    span = None
    with open("/proc/self/smaps") as maps:
        for line in maps:
            first = line.split()[0]
            if line.startswith("VmFlags:"):
                if "sh" in line.split():
                    yield span
            elif not first.endswith(":"):
                span = [int(word, 16) for word in first.split("-")]


what, *words = sys.argv[1:]
kept = mmap.mmap(-1, mmap.PAGESIZE) if what == "own" else None
for begin, end in list(shared()):
    print(f"shared {begin:x}-{end:x}", ctypes.string_at(end - ROOM, ROOM).rstrip(b"\0").decode(errors="replace"))
    ctypes.CDLL(None).mprotect(ctypes.c_void_p(begin), ctypes.c_size_t(end - begin), 3)
    if what == "mark":
        ctypes.memmove(end - ROOM, words[0].encode().ljust(ROOM, b"\0"), ROOM)
    elif what == "harm":
        ctypes.memset(begin, 0x41, end - begin)
