"""A Python whose libraries are imported already: a command takes tenths of a second, not eight.

Importing torch and transformers is nearly all that a short run costs. `prepare` writes a program
that is used like `sys.executable`. It asks a process that has imported everything, and that all
workers share, to fork; the fork does what was asked, with environment, folder and streams of the
one who asks, and so do the processes that it starts. A Python of its own starts where options or
the environment change what imports find, where there is no fork, and everywhere with ``--cold``.
"""

import os
import sys
from pathlib import Path

REAL = sys.executable
HERE = Path(__file__).parent
PROGRAM = """\
#!{python} -IS
import sys
sys.path.insert(0, {here!r})
import client
client.main(client.Shared({here!r}, {program!r}, {python!r}, {owner}, {environ!r}))
"""


def prepare(folder: Path, owner: int) -> str:
    """Write the program into a folder; the process that forks ends when its owner has ended.

    Returns
    -------
    str
        The program, or `REAL` where nothing can be forked in this way.
    """
    if not hasattr(os, "pidfd_open"):
        return REAL
    program = folder / "python"
    names = {"python": REAL, "here": str(HERE), "program": str(program), "owner": owner}
    text = PROGRAM.format(**names, environ={**os.environ, "OMP_NUM_THREADS": "1"})
    own = folder / f"python.{os.getpid()}"
    own.write_text(text, encoding="utf-8")
    own.chmod(0o755)
    own.replace(program)
    return str(program)
