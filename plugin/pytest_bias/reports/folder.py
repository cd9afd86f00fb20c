"""The output folder: claimed before the model runs, written at the end, read back as a report.

``report.json`` is written last, so a folder that has one is complete.
"""

import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pytest_bias.errors import OutputError, ReportError
from pytest_bias.records.documents import finite_json, write_whole
from pytest_bias.records.report import (
    Item,
    Record,
    Report,
    Value,
    canonical_json,
    records_digest,
    sha256,
)
from pytest_bias.records.validation import checked
from pytest_bias.suites.about import with_about

if TYPE_CHECKING:
    from filelock import FileLock

REPORT: Final = "report.json"
DECISION: Final = "decision.json"
SUMMARY: Final = "summary.md"
PAGE: Final = "report.html"
CARD: Final = "card.md"
MODEL_INDEX: Final = "model-index.yaml"
FILES: Final = (REPORT, DECISION, SUMMARY, PAGE, CARD, MODEL_INDEX)
"""Files of an output folder that are meant to be shared."""
UNFINISHED: Final = "unfinished"
LOCK: Final = ".pytest-bias.lock"
"""File that is locked while a process writes to a folder."""
DEFAULT_PARENT: Final = "bias-report"

MOST_RECORDS: Final = 5_000_000
MOST_BYTES: Final = 2_000_000_000
BATCH: Final = 10_000

_OWN: Final = ("item", "cluster", "status", "value", "reason", "text_sha256")
_BY: Final = "by."
_DETAIL: Final = "detail"
_TEXT: Final = "text."


def default_folder(model: str, key: str) -> Path:
    """Return ``bias-report/<model>-<digest>``, with the digest of what the run depends on."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", model).strip("-.") or "model"
    return Path(DEFAULT_PARENT) / f"{name[:80]}-{key[:7]}"


def run_key(what: Mapping[str, Any]) -> str:
    """Return the digest of what a run depends on: model, suites and settings."""
    return sha256(canonical_json(dict(what)))


@dataclass(frozen=True)
class Held:
    """A folder that is locked against other processes until it is closed.

    The operating system releases the lock if the process is killed. `notice` says why there is no
    lock, where the file system has none.
    """

    lock: "FileLock | None"
    notice: str | None = None

    def close(self) -> None:
        """Release the lock and remove its file."""
        if self.lock and self.lock.is_locked:
            # While the lock is held, so that it is not the file of another process.
            with suppress(OSError):
                Path(self.lock.lock_file).unlink()
            self.lock.release()


def hold(folder: Path, hint: str = "Wait until it has ended, or choose another: --out DIR") -> Held:
    """Lock a folder against other processes until it is closed or this process ends.

    Raises
    ------
    OutputError
        If another process writes to it now.
    """
    from filelock import FileLock, Timeout

    path = folder / LOCK
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
        while not path.exists():
            # It was opened before its previous holder removed it.
            lock.release()
            lock.acquire(timeout=0)
    except Timeout:
        raise OutputError(f"another run is writing to {folder} now.", hint) from None
    except (OSError, NotImplementedError) as error:
        told = f"{folder} cannot be locked here ({error}): let no other run write to it."
        return Held(None, told[:300])
    return Held(lock)


def claim(folder: Path, key: str, *, fresh: bool, withholds: bool = False) -> Held:
    """Check, before a model runs, that the folder can be written and holds nothing else; lock it.

    It is locked until the run has ended, so that a second run on the same folder is refused.

    A run that `withholds` scores replaces the same run with scores, but not the other way round, so
    that withheld scores do not appear because an option was forgotten.

    Raises
    ------
    OutputError
        If it cannot be written, another run writes to it, or it holds the report of another run or
        one without scores.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OutputError(
            f"the output folder {folder} cannot be written: {error.strerror or error}.",
            "Give another one with --out.",
        ) from None
    held = hold(folder)
    try:
        if fresh:
            remove_unfinished(folder)
        else:
            _check_standing(folder, key, withholds=withholds)
    except BaseException:
        held.close()
        raise
    return held


def _check_standing(folder: Path, key: str, *, withholds: bool) -> None:
    if not (folder / REPORT).exists():
        strange = [n for n in FILES if n != REPORT and (folder / n).exists()]
        if strange:
            raise OutputError(
                f"{folder} holds a {strange[0]} that is not of a run.",
                "--fresh replaces it; --out keeps both.",
            )
        return
    there = existing_report(folder)
    if there is None or there.run.get("key") != key:
        raise OutputError(
            f"{folder} holds a report of something else (another model, suites or settings).",
            "--fresh replaces it; --out keeps both.",
        )
    if there.withheld and not withholds:
        raise OutputError(
            f"{folder} holds a report whose scores are withheld; this run would write them there.",
            "--withhold-scores withholds them again; --fresh replaces it; --out keeps both.",
        )


def existing_report(folder: Path) -> Report | None:
    """Return the report in a folder; None if there is none that can be read."""
    try:
        return read_plain_report(folder / REPORT, check=False)
    except ReportError:
        return None


def release(folder: Path) -> None:
    """Give up a claimed folder: remove it, and the default one above it, if they are empty."""
    for empty in (folder, folder.parent):
        if empty == folder or empty.name == DEFAULT_PARENT:
            with suppress(OSError):
                empty.rmdir()


def remove(names: Iterable[str], folder: Path) -> None:
    """Remove files that an earlier run wrote below a folder, and nothing else."""
    for name in names:
        if (folder / name).is_file():
            (folder / name).unlink()


def remove_unfinished(folder: Path) -> None:
    """Remove the answers that a run keeps until it has ended."""
    shutil.rmtree(folder / UNFINISHED, ignore_errors=True)


@dataclass(frozen=True)
class Written:
    """The files of a report, rendered but not written yet: path below the folder to content.

    `records` are tables of pyarrow.
    """

    records: Mapping[str, Any]
    files: Mapping[str, str]
    report: str

    def write(self, folder: Path) -> None:
        """Write records, rendered files and, last, the report.

        Raises
        ------
        OutputError
            If the folder cannot be written.
        """
        try:
            _write_tables(self.records, folder)
            for name, content in {**self.files, REPORT: self.report}.items():
                path = folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                write_whole(path, content)
        except OSError as error:
            raise OutputError(f"{folder} cannot be written: {error.strerror or error}.") from None


def written(
    report: Report,
    files: Mapping[str, str],
    texts: Mapping[str, Mapping[str, Item]] | None = None,
) -> Written:
    """Return the files of a report; content that no file can hold raises here.

    Parameters
    ----------
    files : mapping
        Path below the folder to its text.
    texts : mapping, optional
        Entry to items by id; their texts are stored in the records.
    """
    for content in files.values():
        content.encode()
    return Written(_tables(report, texts), files, report.to_json())


def write_report(
    report: Report,
    files: Mapping[str, str],
    folder: Path,
    texts: Mapping[str, Mapping[str, Item]] | None = None,
) -> None:
    """Write records, rendered files and, last, the report."""
    written(report, files, texts).write(folder)


def write_records(report: Report, folder: Path) -> None:
    """Write the records of every suite."""
    _write_tables(_tables(report), folder)


def _tables(
    report: Report, texts: Mapping[str, Mapping[str, Item]] | None = None
) -> dict[str, Any]:
    """Return the records of every suite as tables, with the texts of the given items."""
    return {
        suite.records_path: _table(suite.records, (texts or {}).get(suite.entry, {}))
        for suite in report.suites
        if suite.records
    }


def _write_tables(tables: Mapping[str, Any], folder: Path) -> None:
    import pyarrow.parquet as pq

    for name, table in tables.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, path)


def differing(folder: Path, texts: Mapping[str, str]) -> list[str]:
    """Return the files below a folder that differ from the given texts, are missing, or are extra.

    Line ends may be those of Windows; a file much larger than its text is not read.
    """
    there = {p.relative_to(folder).as_posix(): p for p in folder.rglob("*") if p.is_file()}
    return sorted(
        name
        for name in there.keys() | texts.keys()
        if name not in there or name not in texts or not _says(there[name], texts[name])
    )


def _says(path: Path, text: str) -> bool:
    if path.stat().st_size > len(text.encode()) + text.count("\n"):
        return False
    return path.read_text(encoding="utf-8", errors="replace") == text


def read_report(path: Path, *, check: bool = True) -> Report:
    """Read a report with its records from a folder, or from its report.json.

    Raises
    ------
    ReportError
        If there is none, or it cannot be read, or, with `check`, its records are not those that it
        was made from. Records that are absent are left empty.
    """
    file = path / REPORT if path.is_dir() else path
    report = read_plain_report(file, check=check)
    suites = []
    for suite in report.suites:
        records = read_records(file.parent / suite.records_path) if suite.records_sha256 else ()
        if check and records and records_digest(records) != suite.records_sha256:
            raise ReportError(
                f"{file.parent / suite.records_path} does not hold the records that the report "
                "was made from.",
                f"pytest-bias verify {path} shows what still holds.",
            )
        suites.append(replace(suite, records=records))
    return with_about(replace(report, suites=tuple(suites)))


def require_finished(report: Report, source: Path) -> None:
    """Raise `ReportError` if a report is incomplete: of a shard, or of an interrupted run."""
    if report.run.get("interrupted"):
        raise ReportError(
            f"{source} is of a run that was interrupted.", "The same command goes on with it."
        )
    if (report.run.get("shard") or {}).get("part"):
        raise ReportError(f"{source} is one shard of a run.", "pytest-bias merge joins the shards.")


def read_plain_report(file: Path, *, check: bool = True) -> Report:
    """Read a report.json without its records."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ReportError(
            f"no report at {file}: {error}", "Give the folder that a run wrote, or its report.json."
        ) from None
    return with_about(Report.from_json(text, check=check))


def read_records(path: Path) -> tuple[Record, ...]:
    """Read the records of one suite; empty if the file is not there.

    Raises
    ------
    ReportError
        If it holds none, or more than any suite has: a small file can expand to fill the memory.
    """
    from pyarrow import ArrowException

    if not path.is_file():
        return ()
    try:
        return tuple(map(_record, _rows(path)))
    except (ArrowException, OSError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise ReportError(f"{path} holds no records: {error!r:.200}") from None


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    # Texts stay dictionary-encoded until their decoded length is known.
    texts = [f.name for f in pq.read_schema(path) if pa.types.is_string(f.type)]
    with pq.ParquetFile(path, read_dictionary=texts) as file:
        about = file.metadata
        size = sum(about.row_group(i).total_byte_size for i in range(about.num_row_groups))
        if about.num_rows > MOST_RECORDS or size > MOST_BYTES:
            raise ReportError(
                f"{path} is larger than the records of any suite: {about.num_rows} rows."
            )
        size = 0
        for batch in file.iter_batches(BATCH):
            for column in batch.columns:
                if pa.types.is_dictionary(column.type):
                    lengths = pc.binary_length(column.dictionary)
                    size += pc.sum(lengths.take(column.indices)).as_py() or 0
            if size > MOST_BYTES:
                raise ReportError(f"{path} is larger than the records of any suite.")
            yield from batch.to_pylist()


def _table(records: Sequence[Record], items: Mapping[str, Item]) -> Any:
    import pyarrow as pa

    rows = []
    for record in sorted(records, key=lambda r: r.item):
        row: dict[str, Value] = {name: getattr(record, name) for name in _OWN}
        row |= {f"{_BY}{k}": v for k, v in record.by.items()}
        # As JSON: numbers, even of one suite, need not be of one type.
        row[_DETAIL] = canonical_json(dict(record.detail))
        if record.item in items:
            row |= {f"{_TEXT}{k}": v for k, v in items[record.item].texts.items()}
        rows.append(row)
    names = [*_OWN, *sorted({k for row in rows for k in row} - set(_OWN))]
    return pa.table({name: [row.get(name) for row in rows] for name in names})


def _record(row: Mapping[str, Any]) -> Record:
    by = {k[len(_BY) :]: v for k, v in row.items() if k.startswith(_BY) and v is not None}
    detail = finite_json(row[_DETAIL])
    canonical_json(detail).encode()
    return checked(Record(**{n: row[n] for n in _OWN}, by=by, detail=detail))
