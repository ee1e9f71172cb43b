# python-warm.py FLAG...: starts the interpreter again as a zygote, with the flags of a run.
#
# The second start stops in sitecustomize.py, in the directory of this file: before the interpreter
# reads anything of the program, but after all else.  There the zygote forks workers.  With its
# order, a worker continues as if it had just been started: the interpreter's own code runs the
# program, not ours.
#
# Called with -I, because PYTHONPATH may name the packages of a program, which must not run here.
import os
import sys

DIRECTORY = os.path.dirname(os.path.abspath(__file__))
# Replaces the path of the program.  The interpreter also stores an absolute path made from it.
PLACEHOLDER = "sandbox-run-program-" + "x" * 480


def use_pipes():
    """Streams know what they write to from the beginning: for a run these are pipes."""
    read_end, write_end = os.pipe()
    for number, end in enumerate((read_end, write_end, write_end)):
        os.dup2(end, number)
    os.close(read_end)
    os.close(write_end)


def main():
    environment = {name: value for name, value in os.environb.items() if not name.startswith(b"PYTHON")}
    # The zygote restores the program's environment from this.
    environment[b"SANDBOX_RUN_ZYGOTE"] = b"\0".join(
        b"%s=%s" % item for item in os.environb.items()
    ).hex().encode()
    environment[b"LD_BIND_NOW"] = b"1" # otherwise every worker would resolve symbols again
    environment[b"PYTHONPATH"] = os.fsencode(DIRECTORY)
    binary = getattr(sys, "orig_argv", [sys.executable])[0]
    use_pipes()
    os.chdir("/")
    os.execve(binary, [binary, *sys.argv[1:], PLACEHOLDER], environment)


main()
