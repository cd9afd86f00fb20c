"""The process that has imported what runs need, and forks a child for everything that is asked."""

import array
import atexit
import gc
import importlib
import json
import os
import runpy
import selectors
import signal
import socket
import sys
import threading
from contextlib import suppress
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, NamedTuple

from client import FORWARDED

TESTS = Path(__file__).parent.parent
LIBRARIES = (
    *("numpy", "scipy.stats", "scipy.special", "scipy.optimize", "pyarrow.parquet", "torch"),
    *("transformers", "transformers.models.bert.modeling_bert", "huggingface_hub.hf_api"),
    *("transformers.models.gpt2.modeling_gpt2", "safetensors.torch", "requests", "jinja2", "yaml"),
    *("rich.console", "rich.progress", "typer"),
    *("pytest", "xdist", "_pytest.pytester", "anybadge", "fsspec", "filelock"),
)
OURS = ("pytest_bias", "bias_suites", "bias_templates")
OWN_MODULES = (
    "pytest_bias.cli",
    "pytest_bias.runs.finishing",
    "pytest_bias.models.loading",
    "bias_suites",
)


class Child(NamedTuple):
    """A fork, with the connection of the one who asked for it."""

    pid: int
    watch: int
    asking: socket.socket


def serve(address: str, owner: int) -> dict[str, Any] | None:
    """Fork a child for everything that is asked, until the owner ends; a child returns."""
    with socket.socket(socket.AF_UNIX) as door, selectors.DefaultSelector() as events:
        door.bind(f"\0{address}")
        door.listen()
        events.register(door, selectors.EVENT_READ)
        os.write(1, b"ready\n")
        while Path(f"/proc/{owner}").exists():
            # One event at a time: what is done about one may end another.
            for key, _ in events.select(timeout=5)[:1]:
                if key.fileobj is door:
                    asking, _ = door.accept()
                    events.register(asking, selectors.EVENT_READ)
                elif isinstance(key.data, Child):
                    end(key.data, events, killed=key.fileobj is key.data.asking)
                else:
                    asking = key.fileobj  # type: ignore[assignment]
                    events.unregister(asking)
                    asked = received(asking)
                    if asked and not begin(asked, asking, events):
                        return asked
    return None


def begin(asked: dict[str, Any], asking: socket.socket, events: selectors.BaseSelector) -> bool:
    """Fork a child and watch over it; false in the child."""
    pid = os.fork()
    if pid == 0:
        return False
    for stream in asked["streams"]:
        os.close(stream)
    asking.sendall(f"{pid}\n".encode())
    child = Child(pid, os.pidfd_open(pid), asking)
    for watched in (child.watch, asking):
        events.register(watched, selectors.EVENT_READ, child)
    return True


def end(child: Child, events: selectors.BaseSelector, *, killed: bool) -> None:
    """Tell how a child ended; where the one who asked was `killed` it ends likewise."""
    if killed:
        os.kill(child.pid, signal.SIGKILL)
    _, status = os.waitpid(child.pid, 0)
    for watched in (child.watch, child.asking):
        events.unregister(watched)
    os.close(child.watch)
    with child.asking, suppress(OSError):
        child.asking.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())


def received(asking: socket.socket) -> dict[str, Any] | None:
    """Read what is asked; None where the one who connected wants a Python of its own."""
    streams = array.array("i")
    room = socket.CMSG_LEN(3 * streams.itemsize)
    head, passed, *_ = asking.recvmsg(1, room)
    for _, _, content in passed:
        streams.frombytes(content)
    while head and not head.endswith(b"\n"):
        head += asking.recv(1)
    if not head:
        return None
    content = b""
    while len(content) < int(head):
        content += asking.recv(int(head) - len(content))
    return {**json.loads(content), "streams": list(streams)}


def become(asked: dict[str, Any], program: str) -> None:
    """Be the Python that was asked for."""
    # What it does to its group is not for the process that forks.
    os.setsid()
    for number, stream in enumerate(asked["streams"]):
        os.dup2(stream, number)
        os.close(stream)
    for number in FORWARDED:
        usual = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
        signal.signal(number, signal.SIG_IGN if number in asked["ignored"] else usual)
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environ"])
    sys.executable = program
    reopen()
    importlib.import_module("draws").follow()
    # It reads the environment once.
    importlib.reload(sys.modules["huggingface_hub.constants"])
    hub = sys.modules["huggingface_hub.hf_api"]
    hub.api.endpoint = hub.constants.ENDPOINT
    run(*asked["words"])


def reopen() -> None:
    """Read and write as the environment asks for, as Python does at its start."""
    encoding, _, errors = os.environ.get("PYTHONIOENCODING", "utf-8").partition(":")
    how = {"encoding": encoding, "errors": errors or "strict", "closefd": False}
    sys.stdin = os.fdopen(0, "r", **how)
    sys.stdout = os.fdopen(1, "w", **how)
    sys.stderr = os.fdopen(2, "w", **{**how, "errors": "backslashreplace"})
    through = bool(os.environ.get("PYTHONUNBUFFERED"))
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(write_through=through, line_buffering=stream.isatty())


def finish(asked: dict[str, Any], program: str) -> None:
    """Be the Python that was asked for to its end, without taking all of memory apart."""
    code: object = 0
    try:
        become(asked, program)
    except SystemExit as end:
        code = end.code
        if not isinstance(code, int | None):
            sys.stderr.write(f"{code}\n")
            code = 1
    except BaseException as error:
        sys.excepthook(*sys.exc_info())
        if isinstance(error, KeyboardInterrupt):
            sys.stderr.flush()
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGINT)
        code = 1
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code or 0)


def run(first: str, *words: str) -> None:
    """Run ``-c CODE``, ``-m MODULE`` or ``FILE`` with its words."""
    here = {"-c": "", "-m": str(Path.cwd())}.get(first, str(Path(first).resolve().parent))
    added = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    own = [] if os.environ.get("PYTHONSAFEPATH") else [here]
    sys.path[:1] = [*own, *(folder for folder in added if folder not in ("", *sys.path))]
    if first == "-c":
        code, *words = words
        sys.argv = ["-c", *words]
        if "sys.stdin.readline" in code:
            # A worker of xdist, which execnet starts so.
            forget_plugins()
        exec(compile(code, "<string>", "exec"), main_module())
    elif first == "-m":
        name, *words = words
        sys.argv = ["-m", *words]
        if name == "pytest":
            forget_plugins()
        runpy.run_module(name, run_name="__main__", alter_sys=True)
    else:
        sys.argv = [first, *words]
        runpy.run_path(first, run_name="__main__")


def forget_plugins() -> None:
    """Let pytest import its plugins anew: it rewrites assertions as they are imported."""
    plugins = {p.value.partition(".")[0] for p in entry_points(group="pytest11")}
    for module in [m for m in sys.modules if m.partition(".")[0] in {*plugins, *OURS, "draws"}]:
        del sys.modules[module]
    os.environ["PYTEST_PLUGINS"] = "draws"


def main_module() -> dict[str, Any]:
    """Return the names of a new main module."""
    module = type(sys)("__main__")
    sys.modules["__main__"] = module
    return module.__dict__


if __name__ == "__main__":
    _, address, program, owner = sys.argv
    sys.path[0] = ""
    sys.path.append(str(TESTS))
    for name in (*LIBRARIES, *OWN_MODULES):
        importlib.import_module(name)
    importlib.import_module("draws")
    gc.freeze()
    if asked := serve(address, int(owner)):
        finish(asked, program)
