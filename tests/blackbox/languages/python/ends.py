"""Ends in the way that its argument names."""
import sys


def inner(values):
    return values["missing"]


def outer():
    return inner({"present": 1})


how = sys.argv[1]
if how == "exit":
    print("leaving")
    print("complaint", file=sys.stderr)
    sys.exit(7)
elif how == "error":
    print("before", flush=True)
    outer()
elif how == "loop":
    print("started", flush=True)
    while True:
        pass
elif how == "memory":
    print("started", flush=True)
    kept = []
    while True:
        kept.append(b"x" * (4 << 20))
elif how == "flood":
    while True:
        print("x" * 99)
