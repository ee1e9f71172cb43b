"""Compiles every file named on the command line, and keeps nothing of it."""
import sys
import traceback


def is_right(path):
    try:
        with open(path, "rb") as file:
            compile(file.read(), path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        kind, error, _ = sys.exc_info()
        sys.stderr.writelines(traceback.format_exception_only(kind, error))
        return False
    return True


# Checks all files, so that one run shows every error.
sys.exit(0 if all([is_right(path) for path in sys.argv[1:]]) else 1)
