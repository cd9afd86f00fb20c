"""Result of a command, as a file for the calling program.

With ``PYTEST_BIAS_RESULT=FILE`` a command writes to that file what it also prints to the terminal.
If the file is missing or malformed when the command has ended, the command failed.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from pytest_bias.errors import ReportError
from pytest_bias.records.documents import finite_json
from pytest_bias.records.validation import checked
from pytest_bias.untrusted import clean, without_secrets

SCHEMA: Final = "pytest-bias/result/1"
VARIABLE: Final = "PYTEST_BIAS_RESULT"
_ADDRESS: Final = re.compile(r"https?://[!-~]+")


@dataclass(slots=True)
class CommandResult:
    """Outcome of a command.

    Parameters
    ----------
    exit_code : int
        Exit code of the process.
    error, hint : str, optional
        What is wrong, and the suggested fix; None if the command printed no error.
    published : str, optional
        Address of the commit that `publish` made.
    proposed : str, optional
        Address of the pull request in which `publish` proposes the report.
    """

    exit_code: int = 0
    error: str | None = None
    hint: str | None = None
    published: str | None = None
    proposed: str | None = None

    @property
    def problem(self) -> str:
        """Error and hint on one line; empty if there was no error."""
        return " ".join(clean(text, 1000) for text in (self.error, self.hint) if text)

    def write(self, file: Path, environment: Mapping[str, str]) -> None:
        """Write the file, with the environment's secrets removed."""
        plain = {
            name: without_secrets(value, environment) if isinstance(value, str) else value
            for name, value in asdict(self).items()
        }
        text = json.dumps({"schema": SCHEMA, **plain}, ensure_ascii=False)
        file.write_text(f"{text}\n", encoding="utf-8", errors="replace", newline="\n")

    @classmethod
    def read(cls, file: Path) -> "CommandResult":
        """Read the result file of a finished command.

        Raises
        ------
        ReportError
            If the file is missing or not the result of a command.
        """
        try:
            plain = finite_json(file.read_text(encoding="utf-8"))
            if (schema := plain.pop("schema")) != SCHEMA:
                raise ValueError(f"its schema is {schema!r:.80}, not {SCHEMA!r}")
            found = checked(cls(**plain))
            for address in filter(None, (found.published, found.proposed)):
                if not _ADDRESS.fullmatch(address):
                    raise ValueError(f"{address!r:.80} is not an address")
        except (AttributeError, KeyError, OSError, TypeError, ValueError, RecursionError) as error:
            raise ReportError(
                f"the command left no result that can be read: {error!s:.200}"
            ) from None
        return found
