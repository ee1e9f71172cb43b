"""A walk through the standard library; every line of its output is known."""
import asyncio
import base64
import collections
import contextlib
import csv
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import hashlib
import heapq
import io
import itertools
import json
import multiprocessing
import operator
import queue
import random
import re
import sqlite3
import statistics
import struct
import subprocess
import sys
import textwrap
import threading
import typing
import uuid
import zlib


class Colour(enum.Enum):
    RED = 1
    GREEN = 2


@dataclasses.dataclass(order=True)
class Item:
    price: decimal.Decimal
    name: str = dataclasses.field(compare=False)


@functools.lru_cache(maxsize=None)
def fibonacci(n: int) -> int:
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


@contextlib.contextmanager
def told(name):
    print("enter", name)
    yield name.upper()
    print("leave", name)


async def slow_square(n):
    await asyncio.sleep(0.001 * (5 - n))
    return n * n


def cube(n):
    return n ** 3


def main() -> typing.Optional[int]:
    words = "the quick brown fox jumps over the lazy dog the end".split()
    print(collections.Counter(words).most_common(2))
    grouped = collections.defaultdict(list)
    for word in words:
        grouped[len(word)].append(word)
    print(sorted(grouped.items())[0], collections.deque(range(9), maxlen=3))
    print(list(itertools.accumulate([1, 2, 3, 4], operator.mul)), fibonacci(90))
    print(heapq.nsmallest(2, [Item(decimal.Decimal("2.50"), "b"), Item(decimal.Decimal("0.10"), "a")]))
    print(decimal.Decimal("0.1") + decimal.Decimal("0.2"), fractions.Fraction(3, 9), 2 ** 100)
    moment = datetime.datetime(2024, 2, 28, 23, 0, tzinfo=datetime.timezone.utc)
    print((moment + datetime.timedelta(hours=25)).isoformat(), moment.strftime("%A %j"))
    text = json.dumps({"b": [1, 2.5, None, True], "a": "ü"}, sort_keys=True)
    print(text, json.loads(text)["b"][1])
    print(re.sub(r"(\w+)@(\w+)", r"\2 at \1", "user@host"), re.findall(r"\d+", "a1b22c333"))
    print(hashlib.sha256(b"abc").hexdigest()[:16], zlib.crc32(b"abc"), base64.b64encode(b"abc").decode())
    print(struct.unpack("<IH", struct.pack("<IH", 7, 9)), Colour(2).name, uuid.UUID(int=5))
    print(statistics.mean([1, 2, 3, 4]), random.Random(1).randint(1, 100) in range(1, 101))
    print(textwrap.shorten("a long line of many words", 16), list(csv.reader(io.StringIO('a,"b,c"'))))
    with told("context") as name:
        print(name)
    box = queue.Queue()
    threads = [threading.Thread(target=lambda n=n: box.put(n * 10)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(sorted(box.get() for _ in threads))

    async def squares():
        return await asyncio.gather(*(slow_square(n) for n in range(5)))
    print(asyncio.run(squares()))
    with multiprocessing.Pool(2) as pool:
        print(pool.map(cube, range(5)))
    base = sqlite3.connect(":memory:")
    base.execute("create table t (n)")
    base.executemany("insert into t values (?)", [(n,) for n in range(10)])
    print(base.execute("select sum(n), avg(n) from t").fetchone())
    child = subprocess.run([sys.executable, "-c", "print(6 * 7)"], stdout=subprocess.PIPE, check=True)
    print(child.stdout.decode().strip())
    try:
        raise ValueError("caught") from KeyError("cause")
    except ValueError as error:
        print(repr(error), repr(error.__cause__))


if __name__ == "__main__":
    main()
