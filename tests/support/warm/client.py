"""What stands in the place of Python: hands everything to the process that forks, and waits."""

import array
import contextlib
import fcntl
import json
import os
import signal
import socket
import sys
from collections import namedtuple

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT)
VARIABLES = {"-u": "PYTHONUNBUFFERED", "-P": "PYTHONSAFEPATH"}
THREADS = "1"
"""What the process that forks was started with, as short runs are."""

Shared = namedtuple("Shared", "here program python owner environ")
"""Where these files are, this program, the real Python, the process of the tests and its variables.
"""


def main(shared: Shared) -> None:
    """Do what Python does with the words of this process, and end as that ends."""
    words = sys.argv[1:]
    while words[:1] in (["-u"], ["-P"]):
        os.environ[VARIABLES[words.pop(0)]] = "1"
    if words and words[0].startswith("-m") and len(words[0]) > 2:
        words[:1] = ["-m", words[0][2:]]
    if not _can_be_forked(words):
        os.execv(shared.python, [shared.python, *sys.argv[1:]])
    with _connected(shared) as server:
        # Who ignores an interrupt, as jobs in the background do, has children that do.
        ignored = [n for n in FORWARDED if signal.getsignal(n) == signal.SIG_IGN]
        # Without pathlib, which takes longer to import than all that is here.
        folder = os.getcwd()  # noqa: PTH109
        _ask(server, {"words": words, "folder": folder, "environ": dict(os.environ)}, ignored)
        pid = int(_line(server))
        for number in set(FORWARDED) - set(ignored):
            signal.signal(number, lambda n, _: _send(pid, n))
        status = int(_line(server))
    if status < 0:
        if -status != signal.SIGKILL:
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


def _can_be_forked(words: list[str]) -> bool:
    """Whether nothing changes how a Python starts, or what importing libraries has done."""
    known = {"OMP_NUM_THREADS": THREADS}
    known |= dict.fromkeys(("PYTHONHOME", "PYTHONSTARTUP", "PYTHONWARNINGS"))
    is_plain = bool(words) and (words[0] in ("-c", "-m") or not words[0].startswith("-"))
    path = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return (
        is_plain
        and all(os.environ.get(name) == value for name, value in known.items())
        and not any(os.path.exists(f"{folder}/sitecustomize.py") for folder in path)  # noqa: PTH110
    )


def _connected(shared: Shared) -> socket.socket:
    """Connect to the process that forks; the first who asks starts it."""
    # A path may be too long for a socket; a name of Linux's own is not.
    address = f"\0pytest-bias-{shared.owner}"
    server = socket.socket(socket.AF_UNIX)
    with open(shared.program) as lock:  # noqa: PTH123
        if _connects(server, address):
            return server
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _connects(server, address):
            _start(shared, address)
            server.connect(address)
    return server


def _connects(server: socket.socket, address: str) -> bool:
    try:
        server.connect(address)
    except ConnectionRefusedError:
        return False
    return True


def _start(shared: Shared, address: str) -> None:
    import subprocess

    words = [shared.python, f"{shared.here}/server.py", address[1:], shared.program]
    log = open(f"{shared.program}.log", "wb")  # noqa: PTH123, SIM115
    server = subprocess.Popen(
        [*words, str(shared.owner)],
        stdin=subprocess.DEVNULL,
        stderr=log,
        stdout=subprocess.PIPE,
        env=shared.environ,
        cwd="/",
        start_new_session=True,
    )
    if server.stdout.readline() != b"ready\n":
        sys.exit(f"the process that forks did not start: see {shared.program}.log")


def _ask(server: socket.socket, what: dict, ignored: list[int]) -> None:
    """Send what is to be done, with the streams of this process."""
    streams = []
    for number in (0, 1, 2):
        try:
            streams.append(os.dup(number))
        except OSError:
            streams.append(os.open(os.devnull, os.O_RDWR))
    content = json.dumps({**what, "ignored": ignored}).encode()
    passed = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", streams))]
    server.sendmsg([f"{len(content)}\n".encode()], passed)
    server.sendall(content)
    for stream in streams:
        os.close(stream)


def _line(server: socket.socket) -> bytes:
    found = b""
    while not found.endswith(b"\n"):
        part = server.recv(1)
        if not part:
            sys.exit("the process that forks is gone")
        found += part
    return found


def _send(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
