"""Redaction of the user's folders in texts that are published.

Messages contain full paths, which help at the terminal but would disclose names of people,
employers and projects to other readers.
"""

import re
from pathlib import Path
from typing import Final

_ABSOLUTE: Final = re.compile(
    r"(?<![\w/\\:.~$-])(?:[A-Za-z]:)?[/\\](?:[^\s/\\'\"]+[/\\])+(?P<name>[^\s/\\'\"]*)"
)


def without_own_paths(text: str, data_dir: Path | None = None) -> str:
    """Return a text with ``--data-dir`` and ``~`` in place of the user's folders.

    Of any other absolute path only the last part is kept.

    Parameters
    ----------
    text : str
        A reason or a notice.
    data_dir : Path, optional
        The user's own copies of data, as given.

    Examples
    --------
    >>> without_own_paths("no file at /srv/alice/models/bert/config.json.")
    'no file at …/config.json.'
    """
    if data_dir is not None:
        for place in {data_dir, data_dir.absolute(), data_dir.resolve()}:
            text = _named(text, str(place), "--data-dir", goes_on=not place.is_absolute())
    home = str(Path.home())
    if len(home) > 1:
        text = _named(text, home, "~")
    return _ABSOLUTE.sub(r"…/\g<name>", text)


def _named(text: str, folder: str, name: str, *, goes_on: bool = False) -> str:
    """Replace a folder in a text by a name; a relative one only at the start of a longer path."""
    behind = r"(?=/)" if goes_on else r"(?![\w-])"
    return re.sub(rf"(?<![\w/.~-]){re.escape(folder)}{behind}", lambda _: name, text)
