"""The files of the model that a report was made from, each with its SHA-256.

A report states them below ``run``, which its digest does not cover: the bytes of a configuration
can change while the model does not. They are held against the digests of weights, tokenizer and
code, which it covers.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from pytest_bias.errors import ReportError
from pytest_bias.models.snapshot import Parts, joined
from pytest_bias.records.report import Report

KEY: Final = "files"


def measured_files(report: Report) -> Mapping[str, Parts]:
    """Return the files by source (``model``, ``adapter``), part and path; empty if not stated.

    Raises
    ------
    ReportError
        If they are malformed, or do not give the digests of the model.
    """
    stated: Mapping[str, Parts] | None = report.run.get(KEY)
    if stated is None:
        return {}
    if not _is_whole(stated):
        raise ReportError("the files that the report says were measured are malformed.")
    model, adapter = report.model, report.model.adapter
    digests = {
        ("model", "weights"): model.weights_sha256,
        ("adapter", "weights"): adapter.weights_sha256 if adapter else None,
    }
    for source, parts in stated.items():
        for part in ("weights", "tokenizer", "code"):
            # Either of the two may have the tokenizer and the code.
            digest = digests.get((source, part), getattr(model, f"{part}_sha256"))
            if part in parts and joined(parts[part].items()) != digest:
                raise ReportError(
                    "the files that the report says were measured do not give the digest of "
                    f"the {part} of the {source}."
                )
    return stated


def weights(report: Report) -> dict[str, str]:
    """Return the SHA-256 of each file of weights, an adapter's too; empty if not stated."""
    return {
        path: digest
        for parts in measured_files(report).values()
        for path, digest in parts.get("weights", {}).items()
    }


def _is_whole(stated: Any) -> bool:
    if not isinstance(stated, Mapping) or not {"model"} <= {*stated} <= {"model", "adapter"}:
        return False
    return all(
        isinstance(parts, Mapping)
        and parts.get("weights")
        and all(isinstance(files, Mapping) and _are_digests(files) for files in parts.values())
        for parts in stated.values()
    )


def _are_digests(files: Mapping[Any, Any]) -> bool:
    return bool(files) and all(
        isinstance(digest, str) and re.fullmatch("[0-9a-f]{64}", digest)
        for digest in files.values()
    )
