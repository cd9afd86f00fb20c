"""Files that `init` writes: new or unchanged ones; others are replaced only with ``--force``."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.text import Text

from pytest_bias.errors import OutputError, UsageError
from pytest_bias.untrusted import visible

_STYLES: Final = {"+": "green", "-": "red", "@": "cyan"}


@dataclass(frozen=True, slots=True)
class File:
    """A file to write, with its present content."""

    path: Path
    shown: str
    after: str
    before: str | None

    @classmethod
    def at(cls, folder: Path, name: str, content: str) -> "File":
        """Read the present content of a path below a folder.

        Raises
        ------
        OutputError
            If there is something other than a readable text file.
        """
        path = folder / name
        try:
            before = path.read_text(encoding="utf-8") if path.exists() else None
        except (OSError, UnicodeDecodeError) as error:
            raise OutputError(f"{name} cannot be read: {error}") from None
        return cls(path, name, content, before)

    @property
    def state(self) -> str:
        """``new``, ``same`` or ``changed``."""
        if self.before is None:
            return "new"
        return "same" if self.before == self.after else "changed"

    def stage(self) -> Path:
        """Write the content to a temporary file beside the target; returns its path."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        part = self.path.with_name(f".{self.path.name}.part")
        part.write_text(self.after, encoding="utf-8", newline="\n")
        return part


def show_diff(file: File, console: Console) -> None:
    """Print what would change in a file."""
    before, after = ((text or "").splitlines() for text in (file.before, file.after))
    name = "/dev/null" if file.before is None else file.shown
    for line in difflib.unified_diff(before, after, name, file.shown, lineterm="", n=2):
        console.print(Text(visible(line), style=_STYLES.get(line[:1], "")), soft_wrap=True)


def write(files: Sequence[File], console: Console, *, force: bool, dry_run: bool) -> None:
    """Write files, all or none of them.

    Raises
    ------
    UsageError
        If one exists with other content, after showing the difference; nothing is written.
    OutputError
        If one cannot be written.
    """
    changed = [f for f in files if f.state == "changed"]
    if dry_run or (changed and not force):
        for file in files if dry_run else changed:
            show_diff(file, console)
    if changed and not force and not dry_run:
        names = " and ".join(f.shown for f in changed)
        raise UsageError(
            f"{names} {'is' if len(changed) == 1 else 'are'} there already, with another content: "
            "nothing was written.",
            "--force replaces it; or copy what you want from the difference above.",
        )
    if not dry_run:
        _write([f for f in files if f.state != "same"])
    words = {"new": "Written ", "same": "As it was", "changed": "Replaced"}
    for file in files:
        told = f"{'Would be ' if dry_run else ''}{words[file.state]:<10}{file.shown}"
        console.print(Text(told), soft_wrap=True)


def _write(files: Sequence[File]) -> None:
    staged: list[tuple[Path, File]] = []
    try:
        for file in files:
            staged.append((file.stage(), file))
        for part, file in staged:
            part.replace(file.path)
    except OSError as error:
        for part, _ in staged:
            part.unlink(missing_ok=True)
        names = " and ".join(f.shown for f in files)
        raise OutputError(f"{names} cannot be written: {error}") from None
