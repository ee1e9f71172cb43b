# python-warm.py FLAG...: starts the interpreter again as a zygote, with the flags of an ordinary run.
#
# The second start stops in sitecustomize.py, which stands beside this file: before anything of the program is looked
# at, but with all else in place.  There workers are forked off.  Told what to run, a worker goes on as if it had just
# been started: it is the interpreter's own code that runs the program, not ours.
#
# Called with -I, because PYTHONPATH may name the packages that a program wants, and nothing of theirs may run here.
import os
import sys

DIRECTORY = os.path.dirname(os.path.abspath(__file__))
# Stands for the path of the program; the relative one also becomes an absolute one, which is kept beside it.
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
    # What the program will have, less what we change, is found again in this.
    environment[b"SANDBOX_RUN_ZYGOTE"] = b"\0".join(
        b"%s=%s" % item for item in os.environb.items()
    ).hex().encode()
    environment[b"LD_BIND_NOW"] = b"1" # what is looked up later is looked up in every worker
    environment[b"PYTHONPATH"] = os.fsencode(DIRECTORY)
    binary = getattr(sys, "orig_argv", [sys.executable])[0]
    use_pipes()
    os.chdir("/")
    os.execve(binary, [binary, *sys.argv[1:], PLACEHOLDER], environment)


main()
