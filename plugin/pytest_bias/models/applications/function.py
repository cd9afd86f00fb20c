"""The function of an application: imported, checked, and identified by its source."""

import contextlib
import difflib
import importlib
import importlib.metadata
import inspect
import pkgutil
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, reduce
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from pytest_bias.errors import ModelError, UsageError
from pytest_bias.models.applications.name import FORM
from pytest_bias.records.report import canonical_json, sha256
from pytest_bias.untrusted import clean

KEYWORDS: Final = ("system", "seed")
"""Keywords that are passed to a function that accepts them."""

SIGNATURE: Final = "def answer(prompt: str, *, system: str | None = None, seed: int | None = None)"
_HINT: Final = f"It is called as: {SIGNATURE} -> str"


@dataclass(frozen=True)
class Function:
    """A function that answers prompts.

    Parameters
    ----------
    module, name : str
        Where it was imported from.
    call : callable
        The function itself.
    accepts : frozenset of str
        Which of `KEYWORDS` it takes.
    code_sha256 : str or None
        Digest of the file with its source; None where there is no such file.
    distribution : str or None
        Name and version of the installed distribution that the module belongs to.
    """

    module: str
    name: str
    call: Callable[..., Any]
    accepts: frozenset[str]
    code_sha256: str | None
    distribution: str | None

    @property
    def fingerprint(self) -> str:
        """Digest of what is known about the function."""
        known = [self.module, self.name, self.code_sha256, self.distribution, sorted(self.accepts)]
        return sha256(canonical_json(known))


def find(module: str, name: str, shown: str) -> Function:
    """Import a function from the user's environment, with the current folder on the path.

    Raises
    ------
    UsageError
        If there is no such module or function, or it cannot be called with a prompt.
    ModelError
        If the import of the module raises.
    """
    there = _imported(module, shown)
    try:
        call = reduce(getattr, name.split("."), there)
    except AttributeError:
        near = _near(name, (n for n, value in vars(there).items() if callable(value)))
        raise UsageError(
            f"{shown}: the module {module} has no {name!r}.{near}", f"An application is {FORM}."
        ) from None
    except Exception as error:
        raise ModelError(f"{shown}: {name} cannot be read: {words_of(error)}") from None
    if inspect.isclass(call) or not callable(call):
        what = "a class" if inspect.isclass(call) else f"a {type(call).__name__}"
        raise UsageError(f"{shown} is {what}, not a function.", _HINT)
    accepts = _accepted(call, shown)
    return Function(module, name, call, accepts, _code(call, there), _distribution(module))


def words_of(error: BaseException) -> str:
    """Return the type of an exception and the first line of its message."""
    told = next(iter(str(error).strip().splitlines()), "")
    return clean(f"{type(error).__name__}: {told}" if told else type(error).__name__, 300)


def _imported(module: str, shown: str) -> ModuleType:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    importlib.invalidate_caches()
    try:
        with contextlib.redirect_stdout(sys.stderr):
            return importlib.import_module(module)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if module != missing and not module.startswith(f"{missing}."):
            raise ModelError(
                f"{shown}: {module} imports {missing or 'a module'}, which is not installed here.",
                f"Install it in the environment of pytest-bias: {sys.executable}",
            ) from None
        near = _near(module, _modules(module))
        raise UsageError(
            f"{shown}: there is no module {missing!r}.{near}",
            "It is looked for in the current folder, and in the environment of pytest-bias.",
        ) from None
    except (Exception, SystemExit) as error:
        at = _place(error)
        raise ModelError(f"{shown}: the import of {module} raises {words_of(error)}{at}") from None


def _place(error: BaseException) -> str:
    """Return file and line of the user's code at which an exception was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if "importlib" not in f.filename and f.filename != __file__]
    return f" ({Path(own[-1].filename).name}, line {own[-1].lineno})" if own else ""


def _modules(module: str) -> list[str]:
    """Return names of modules beside the one that was looked for."""
    parent, _, _ = module.rpartition(".")
    package = sys.modules.get(parent)
    paths = getattr(package, "__path__", None) if parent else [str(Path.cwd())]
    before = f"{parent}." if package else ""
    return [f"{before}{found.name}" for found in pkgutil.iter_modules(paths)] if paths else []


def _near(name: str, known: Iterable[str]) -> str:
    found = difflib.get_close_matches(name, [*known], n=1)
    return f" Did you mean {found[0]!r}?" if found else ""


def _accepted(call: Callable[..., Any], shown: str) -> frozenset[str]:
    """Return the keywords that a function takes, or raise `UsageError` if it takes no prompt."""
    try:
        signature = inspect.signature(call)
    except (TypeError, ValueError):
        # A function in C may not state its parameters.
        return frozenset()
    parameters = signature.parameters.values()
    every = any(p.kind is p.VAR_KEYWORD for p in parameters)
    named = {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    accepts = frozenset(k for k in KEYWORDS if every or k in named)
    try:
        signature.bind("", **dict.fromkeys(accepts))
    except TypeError as error:
        told = f"{shown}{signature} cannot be called with a prompt: {error}."
        raise UsageError(told, _HINT) from None
    return accepts


def _code(call: Any, module: ModuleType) -> str | None:
    """Return the digest of the file that defines a function, else of the module's file."""
    for one in (inspect.unwrap(call), type(call), module):
        with contextlib.suppress(TypeError, OSError):
            if path := inspect.getsourcefile(one):
                return sha256(Path(path).read_bytes())
    return None


@cache
def _distributions() -> Mapping[str, list[str]]:
    """Return the distributions of every package; it takes a while to read them all."""
    return importlib.metadata.packages_distributions()


def _distribution(module: str) -> str | None:
    for name in _distributions().get(module.partition(".")[0], ()):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            return f"{name} {importlib.metadata.version(name)}"
    return None
