"""Data files: pinned, downloaded and parsed into rows."""

from pytest_bias.data.hub_files import HubFile
from pytest_bias.data.sources import (
    DataFile,
    DataFolder,
    FoundFile,
    Source,
    describe_files,
    together,
)
from pytest_bias.data.tables import (
    Row,
    cells,
    csv_rows,
    json_content,
    json_lines,
    lines_of,
    parquet_rows,
    text_of,
    utf8,
)
from pytest_bias.data.user_tables import counted, not_there, same

__all__ = [
    "DataFile",
    "DataFolder",
    "FoundFile",
    "HubFile",
    "Row",
    "Source",
    "cells",
    "counted",
    "csv_rows",
    "describe_files",
    "json_content",
    "json_lines",
    "lines_of",
    "not_there",
    "parquet_rows",
    "same",
    "text_of",
    "together",
    "utf8",
]
