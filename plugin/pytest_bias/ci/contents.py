"""The files that belong to a report, and limits on their number and size."""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Final

from pytest_bias.emit import badges, page
from pytest_bias.errors import ProviderError, ReportError
from pytest_bias.records.report import Report
from pytest_bias.reports.folder import (
    FILES,
    PAGE,
    REPORT,
    SUMMARY,
    read_report,
    require_finished,
    write_records,
)
from pytest_bias.reports.publication_layout import SIGNATURE
from pytest_bias.untrusted import clean

JOB: Final = "job.json"
"""File that names the job of a workflow which a folder belongs to."""
FOLDER: Final = "bias"
"""Folder of a branch that holds a report."""
MOST_FILES: Final = 2_000
MOST_BYTES: Final = 500_000_000
"""Bytes of all files of a report."""

_NAME: Final = r"[\w\[\],+@=-][\w.\[\],+@=-]*"
_FILES: Final = re.compile(
    "|".join(
        (
            *map(re.escape, FILES),
            re.escape(f"{REPORT}{SIGNATURE}"),
            rf"badges/{_NAME}\.(?:svg|json)",
            rf"records/{_NAME}\.parquet",
        )
    )
)


def job_of(content: bytes | None) -> dict[str, str]:
    """Return the run and job that a folder belongs to; empty if it does not state them."""
    try:
        plain = json.loads(content or b"{}")
    except ValueError:
        return {}
    return {str(k): str(v) for k, v in plain.items()} if isinstance(plain, dict) else {}


def is_report_file(path: str) -> bool:
    """Whether a path below a report's folder is an output that may be shared."""
    return _FILES.fullmatch(path) is not None


def is_safe(path: str) -> bool:
    """Whether a relative path stays below its folder, on every operating system."""
    parts = path.split("/")
    plain = not re.search(r"[\\:\x00-\x1f]", path)
    return plain and all(part not in ("", ".", "..") for part in parts)


def top_folder(paths: Iterable[str], source: str) -> str:
    """Return the path of the folder that holds the report, with a trailing slash.

    A report may have others below it, such as that of the model it was compared with.

    Raises
    ------
    ProviderError
        If there is no report, or there are several side by side.
    """
    folders = sorted(p.parent.parts for x in paths if (p := PurePosixPath(x)).name == REPORT)
    above = [f for f in folders if len(f) == min(map(len, folders))]
    if len(above) != 1:
        found = ", ".join(clean("/".join(f), 60) for f in above[:4]) or "none"
        raise ProviderError(
            f"{source} holds {len(above)} reports side by side, where one is needed: {found}.",
            "Give the artifacts of several models names of their own (`artifact`).",
        )
    return "".join(f"{part}/" for part in above[0])


def within_limits(what: str, files: Mapping[str, int]) -> None:
    """Raise `ProviderError` for more or larger files (path to bytes) than a report can have."""
    size = sum(files.values())
    if len(files) > MOST_FILES or size > MOST_BYTES:
        raise ProviderError(
            f"{what} has {len(files)} files of {size / 1e6:.0f} MB: that is no report, which has "
            f"{MOST_FILES} of {MOST_BYTES / 1e6:.0f} MB at most."
        )


def to_show(folder: Path) -> tuple[Report, dict[str, bytes]]:
    """Return a report and those of its files that may be shared, by path below the folder.

    Those are badges, report, signature, records, page and summary of this report alone. Texts of
    items are left out, and so are private files such as a salt.

    Raises
    ------
    ReportError
        If the folder holds no report or the report of one shard, or if its records are not those
        that the report was made from.
    """
    report = read_report(folder)
    require_finished(report, folder)
    if missing := [s for s in report.suites if s.records_sha256 and not s.records]:
        raise ReportError(f"{folder / missing[0].records_path} is missing.")
    own = {p.relative_to(folder).as_posix(): p for p in folder.glob("*") if p.is_file()}
    wanted = (REPORT, f"{REPORT}{SIGNATURE}", SUMMARY, PAGE, JOB)
    files = {name: own[name].read_bytes() for name in wanted if name in own}
    files |= {name: text.encode() for name, text in badges.render(report).items()}
    if _has_texts([folder / s.records_path for s in report.suites if s.records]):
        files[PAGE] = page.render(report).encode()
    with TemporaryDirectory() as there:
        write_records(report, Path(there))
        for suite in report.suites:
            if suite.records:
                files[suite.records_path] = (Path(there) / suite.records_path).read_bytes()
    return report, files


def _has_texts(records: list[Path]) -> bool:
    import pyarrow.parquet as pq

    return any(f.name.startswith("text.") for path in records for f in pq.read_schema(path))
