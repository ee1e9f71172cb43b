"""Says what it was given: arguments, one variable, stdin line by line."""
import os
import sys

print("args:", "".join(f"[{word}]" for word in sys.argv[1:]))
print("GREETING:", os.environ.get("GREETING", "unset"))
for number, line in enumerate(sys.stdin, 1):
    print(f"{number}: {line.rstrip()}")
