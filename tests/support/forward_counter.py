"""Counts the forwards of all processes that a command starts, of those that are killed too.

Every Python that starts with `environment` writes down each batch as soon as it is done, in a file
of its own; `forwards` adds up the sequences of them all.
"""

import os
from collections.abc import Mapping
from pathlib import Path

WATCH = """
import importlib.abc, sys

class Hook(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "pytest_bias.models.loading":
            sys.meta_path.remove(self)
            import forward_counter
            forward_counter.count()
        return None

sys.meta_path.insert(0, Hook())
"""
"""Waits until models can be loaded: a Python that loads none imports nothing more."""


def environment(folder: Path) -> dict[str, str]:
    """Return what a process and all that it starts need to be counted in a folder."""
    hook = folder / "hook"
    hook.mkdir(parents=True, exist_ok=True)
    watch = hook / "sitecustomize.py"
    # A Python that starts while it is written anew would find nothing in it.
    if not watch.exists():
        watch.write_text(WATCH, encoding="utf-8")
    here = str(Path(__file__).parent)
    there = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    counts = folder / "counts"
    counts.mkdir(exist_ok=True)
    path = os.pathsep.join(filter(None, [str(hook), here, *there]))
    return {"PYTHONPATH": path, "COUNT_FORWARDS": str(counts)}


def forwards(environment: Mapping[str, str]) -> int:
    """Return how many sequences were forwarded so far."""
    files = Path(environment["COUNT_FORWARDS"]).iterdir()
    return sum(int(line) for file in files for line in file.read_text("utf-8").split())


def processes(environment: Mapping[str, str]) -> int:
    """Return how many processes have made forwards so far."""
    return len(list(Path(environment["COUNT_FORWARDS"]).iterdir()))


def count() -> None:
    """Write down every batch of this process from now on."""
    from pytest_bias.models.forwards import Forwards

    inner = Forwards.forward
    path = Path(os.environ["COUNT_FORWARDS"]) / str(os.getpid())

    def counted(self, left, plan, work, page, keep):
        def noted(batch):
            done = work(batch)
            with path.open("a", encoding="utf-8") as file:
                file.write(f"{len(done[0])}\n")
            return done

        return inner(self, left, plan, noted, page, keep)

    Forwards.forward = counted
