"""The file that names the models of a fleet: one a line."""

from pathlib import Path
from typing import Final

from pytest_bias.errors import UsageError
from pytest_bias.models.reference import BUNDLED

MOST_MODELS: Final = 100_000


def listed(path: Path) -> tuple[str, ...]:
    """Read the names of models; a line may be empty, or a comment behind ``#`` and a space.

    Folders are read from where the file lies.

    Raises
    ------
    UsageError
        If there is no such file, it names no model, or one twice.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "Not a text file in UTF-8"
        raise UsageError(
            f"--models {path}: {why}.",
            "It is a file with one model a line: org/name, org/name@revision, a folder, demo, "
            "app:module:function.",
        ) from None
    found: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), 1):
        # A served model has a # in its name.
        name = "" if line.lstrip().startswith("#") else line.partition(" #")[0].strip()
        if not name:
            continue
        if name in found:
            raise UsageError(
                f"--models {path}: {name} stands in line {found[name]} and in line {number}."
            )
        found[name] = number
    if not found:
        raise UsageError(f"--models {path} names no model.", "One a line: org/name")
    if len(found) > MOST_MODELS:
        raise UsageError(f"--models {path} names {len(found)} models, more than {MOST_MODELS}.")
    return tuple(_from(path.parent, name) for name in found)


def _from(folder: Path, name: str) -> str:
    """Return a folder's name as it is read from anywhere."""
    there = folder / Path(name).expanduser()
    is_path = name not in BUNDLED and "://" not in name
    try:
        return str(there.resolve()) if is_path and there.exists() else name
    except OSError:
        return name
