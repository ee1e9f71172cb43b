"""Looks for words in all of its own memory.  Each word comes in two halves, so that the question is no answer."""
import os
import sys

halves = [argument.split(",") for argument in sys.argv[1:]]
if os.environ.get("KEEP"):  # the control: it is there to be found
    kept = ["".join(pair) * 3 for pair in halves]


def regions():
    with open("/proc/self/maps") as maps:
        for line in maps:
            span, rights = line.split()[:2]
            begin, end = (int(word, 16) for word in span.split("-"))
            if rights.startswith("r") and "[v" not in line:
                yield begin, end


with open("/proc/self/mem", "rb", buffering=0) as memory:
    for begin, end in list(regions()):
        try:
            memory.seek(begin)
            data = memory.read(end - begin)
        except (OSError, ValueError, OverflowError):
            continue
        for first, second in halves:
            at = data.find(first.encode())
            while at >= 0:
                if data[at + len(first) : at + len(first) + len(second)] == second.encode():
                    print("found", first)
                    break
                at = data.find(first.encode(), at + 1)
        del data
