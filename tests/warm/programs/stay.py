"""Says that the marks are left, and stays until its stdin ends."""
import sys

print("marks are left", flush=True)
sys.stdin.read()
