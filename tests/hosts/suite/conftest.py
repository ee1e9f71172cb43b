"""What the tests of a host share: what its file expects, and the tool."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
