"""Splits of datasets on the Hugging Face Hub, read with the library `datasets`.

The rows of a split are stored as canonical JSON lines, named by their SHA-256, so that they have
one digest per commit and the next run needs neither the network nor `datasets`. The library's own
cache is not used, since offline it returns the rows of any commit.
"""

import contextlib
import json
import math
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pytest_bias.data.downloads import unwritable
from pytest_bias.data.hub_files import HUB, HubFile, in_plain_words, refusal_of
from pytest_bias.errors import DataError, UnknownName
from pytest_bias.http.hub import hushed
from pytest_bias.records.report import canonical_json, sha256

if TYPE_CHECKING:
    from datasets import DatasetBuilder

Row = dict[str, Any]

DEFAULT: Final = "default"
FORMATS: Final = ("arrow", "csv", "json", "parquet", "text")
"""Formats of `datasets` for tables of texts; others hold media or run code."""

_DIGEST: Final = "[0-9a-f]" * 64
_MOST_COLUMNS: Final = 10_000


@dataclass(frozen=True, slots=True)
class HubSplit:
    """One split of a dataset of the Hugging Face Hub, at one commit.

    Loading scripts are never run.

    Parameters
    ----------
    repository : str
        ``org/name`` of the dataset.
    revision : str
        Full hash of the commit, 40 hexadecimal digits.
    split : str
        Name of the split.
    name : str
        Name of the configuration; empty for the dataset's default.
    """

    repository: str
    revision: str
    split: str
    name: str = ""

    def __post_init__(self) -> None:
        # The same rule for the commit as for files.
        HubFile(self.repository, self.revision, self.path)

    @property
    def path(self) -> str:
        """Path of its rows in the repository's folder of a data folder."""
        return f"{self.name or DEFAULT}/{self.split}.jsonl"

    @property
    def address(self) -> str:
        """Address of the dataset's page."""
        return f"{HUB}/datasets/{self.repository}/tree/{self.revision}"


def cached(split: HubSplit, folder: Path) -> Path | None:
    """Return the cached file of rows, or None; no network is used."""
    return next(iter(sorted(_place(split, folder).glob(_DIGEST))), None)


def _place(split: HubSplit, folder: Path) -> Path:
    about = (split.repository, split.revision, split.name, split.split)
    return folder / sha256(canonical_json(about))[:16]


def fetch(split: HubSplit, what: str, folder: Path) -> bytes:
    """Return the rows of a split as canonical JSON lines, and store them in the cache.

    Parameters
    ----------
    split : HubSplit
        The split.
    what : str
        Subject of messages: the split and the suite that needs it.
    folder : Path
        The cache.

    Raises
    ------
    DataMissing
        If it cannot be downloaded, with the reason and what helps.
    DataError
        If the dataset has no such configuration or split, or is not a table of texts.
    OutputError
        If a cache cannot be written.
    """
    from huggingface_hub import HfApi

    readme = HubFile(split.repository, split.revision, "README.md", kept=False)
    # The library reports a refusal without the Hub's answer.
    with in_plain_words(readme, what):
        HfApi().auth_check(split.repository, repo_type="dataset")
        HfApi().repo_info(split.repository, repo_type="dataset", revision=split.revision)
    place = _place(split, folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        scratch = tempfile.TemporaryDirectory(dir=folder, ignore_cleanup_errors=True)
    except OSError as error:
        raise unwritable(folder, error) from None
    try:
        with scratch as own, _quiet():
            rows = _rows(split, what, Path(own))
            content = "".join(f"{canonical_json(row)}\n" for row in rows).encode()
            begun = Path(own, "rows")
            begun.write_bytes(content)
            place.mkdir(exist_ok=True)
            for damaged in place.glob(_DIGEST):
                damaged.unlink(missing_ok=True)
            begun.replace(place / sha256(content))
    except DataError:
        raise
    except Exception as error:
        raise _in_plain_words(readme, what, error) from None
    return content


def _in_plain_words(readme: HubFile, what: str, error: BaseException) -> BaseException:
    """Return our error for one of the library, by its first informative cause."""
    from huggingface_hub.errors import HfHubHTTPError

    first = error
    inner: BaseException | None = error
    while inner is not None:
        is_answer = isinstance(inner, HfHubHTTPError | ConnectionError)
        is_local = isinstance(inner, OSError) and inner.errno is not None
        is_http = type(inner).__module__.startswith("http")
        if isinstance(inner, Exception) and (is_answer or is_local or is_http):
            return refusal_of(readme, what, inner) or inner
        first, inner = inner, inner.__cause__ or inner.__context__
    said = " ".join(str(first).split())[:250].rstrip(".")
    return DataError(
        f"{what} could not be read from the Hub's dataset {readme.repository} by the library "
        f"datasets ({type(first).__name__}: {said}).",
        "A file of it can be named in place of a split: data: {dataset: …, file: …}",
    )


def _rows(split: HubSplit, what: str, folder: Path) -> list[Row]:
    # A local folder of this name must not be used.
    path = f"hf://datasets/{split.repository}"
    builder = _builder(split, what, path, folder)
    if builder.name not in FORMATS:
        raise DataError(
            f"{what} is no table of texts: {split.repository} is in the format {builder.name}; "
            f"those that are read are {', '.join(FORMATS)}."
        )
    if split.split not in (there := builder.config.data_files):
        whose = f"split of {split.repository}, configuration {builder.config.name},"
        raise _unknown(what, whose, split.split, there)
    stated = (builder.info.splits or {}).get(split.split)
    rows = rows_of(builder, split.split, folder)
    if stated and stated.num_examples not in (None, len(rows)):
        raise DataError(
            f"{what} should have {stated.num_examples} rows by the card of {split.repository}, and "
            f"{len(rows)} came.",
            "A copy in the cache of the Hub's client may be damaged: hf cache rm "
            f"dataset/{split.repository}",
        )
    return rows


def _builder(split: HubSplit, what: str, path: str, folder: Path) -> "DatasetBuilder":
    from datasets import load_dataset_builder

    try:
        return load_dataset_builder(
            path, split.name or None, revision=split.revision, cache_dir=str(folder)
        )
    except ValueError as error:
        raise _unknown_name(split, what, path) or error from None
    except RuntimeError as error:
        if "script" not in str(error):
            raise
        raise DataError(
            f"{what} is made by a loading script of {split.repository}, which is never run.",
            "Its branch refs/convert/parquet may have the rows as files: "
            f"{HUB}/datasets/{split.repository}/tree/refs%2Fconvert%2Fparquet",
        ) from None


def rows_of(builder: "DatasetBuilder", split: str, folder: Path) -> list[Row]:
    """Return the rows of one split, in order: column to text, number, list or table.

    A class label is represented by its name. Cells of CSV and JSON are kept as written, regardless
    of the types that a card states or the library infers, so that ``01``, ``NA`` and ``2024-01-01``
    are unchanged.

    Parameters
    ----------
    builder : DatasetBuilder
        Result of `datasets.load_dataset_builder` for a dataset in one of `FORMATS`.
    split : str
        One of its splits; the others are not downloaded.
    folder : Path
        For temporary files.
    """
    from datasets.data_files import DataFilesDict

    config, stated = builder.config, builder.info.features or {}
    config.data_files = DataFilesDict({split: config.data_files[split]})
    if builder.name == "json":
        rows = _json_rows(builder, split, folder)
    else:
        if builder.name == "csv":
            config.converters, config.na_filter = dict.fromkeys(range(_MOST_COLUMNS), str), False
            config.features = builder.info.features = None
        # Its checks would fail for the splits that are not requested.
        builder.download_and_prepare(str(folder / "read"), verification_mode="no_checks")
        found = builder.as_dataset(split)
        if any(column.startswith("__index_level_") for column in found.features):
            raise ValueError("its rows have more cells than the header")
        stated = stated or found.features
        rows = found.with_format("arrow")[:].to_pylist() if len(found) else []
    return [{c: _cell(stated.get(c), value) for c, value in row.items()} for row in rows]


def _json_rows(builder: "DatasetBuilder", split: str, folder: Path) -> list[Row]:
    """Return the rows of JSON files; the library would convert dates and truncate numbers."""
    from datasets import DownloadConfig, DownloadManager

    config = builder.config
    manager = DownloadManager(download_config=DownloadConfig(cache_dir=str(folder)))
    rows: list[Any] = []
    for path in manager.download_and_extract(list(config.data_files[split])):
        text = Path(path).read_text(encoding=config.encoding).removeprefix("\ufeff")
        if config.field is not None:
            rows += _json(text)[config.field]
        elif text.lstrip().startswith("["):
            rows += _json(text)
        else:
            rows += [_json(line) for line in text.split("\n") if line.strip()]
    if not all(isinstance(row, dict) for row in rows):
        raise ValueError("a row is no JSON object")
    return rows


def _json(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_object)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(found := dict(pairs)) < len(pairs):
        raise ValueError(f"a row names one of its keys twice: {', '.join(found)}")
    return found


def _cell(feature: Any, value: Any) -> Any:
    from datasets import ClassLabel

    if not isinstance(feature, ClassLabel) or value in (None, "", *feature.names):
        return _plain(value)
    return feature.int2str(int(value)) if int(value) >= 0 else None


def _plain(value: Any) -> Any:
    """Return a value that JSON can represent; bytes, such as an image, become their digest."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else None
        case Mapping():
            return {str(key): _plain(inner) for key, inner in value.items()}
        case list() | tuple():
            return [_plain(inner) for inner in value]
        case bytes():
            return {"sha256": sha256(value)}
    return str(value)


def _unknown_name(split: HubSplit, what: str, path: str) -> DataError | None:
    """Return the error for an unknown configuration, with the known ones; None if it exists."""
    from datasets import get_dataset_config_names

    names = get_dataset_config_names(path, revision=split.revision)
    if split.name:
        if split.name in names:
            return None
        return _unknown(what, f"configuration of {split.repository}", split.name, names)
    if len(names) < 2:
        return None
    return DataError(
        f"{what} is of {split.repository}, which has several configurations and no default.",
        f"data: {{name: …}}, one of {', '.join(names)}",
    )


def _unknown(what: str, kind: str, given: str, names: Iterable[str]) -> DataError:
    unknown = UnknownName.among(kind, given, map(str, names))
    return DataError(f"{what} is not there: {unknown.message}")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Hide the library's progress bars and log, and disable its download statistics."""
    from datasets import (
        are_progress_bars_disabled,
        config,
        disable_progress_bars,
        enable_progress_bars,
    )
    from datasets.utils import logging

    hidden, level = are_progress_bars_disabled(), logging.get_verbosity()
    counted = config.HF_UPDATE_DOWNLOAD_COUNTS
    logging.set_verbosity(logging.CRITICAL)
    config.HF_UPDATE_DOWNLOAD_COUNTS = False
    if not hidden:
        disable_progress_bars()
    try:
        with hushed():
            yield
    finally:
        if not hidden:
            enable_progress_bars()
        config.HF_UPDATE_DOWNLOAD_COUNTS = counted
        logging.set_verbosity(level)
