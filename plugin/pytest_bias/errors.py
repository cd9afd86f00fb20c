"""Exceptions, and how a wrong name is answered.

::

    BiasError                     printed without a traceback; knows its exit code
     |-- UsageError        (2)    the command, an option or a file of settings is wrong
     |    |-- UnknownName         a name that is not known, with the nearest one that is
     |    `-- OutputError         the output folder cannot be used
     `-- MeasurementError  (3)    the question was right, the measurement cannot be made
          |-- ModelError          a model cannot be found, read or trusted
          |    |-- HubNotReached  the Hub, which has it, does not answer
          |    `-- ServerStopped  the server that has it answers no longer
          |-- DataError           data are missing, changed or malformed
          |    |-- DataMissing
          |    |    |-- NoAnswer  the host that has them cannot be reached
          |    |    `-- OwnCopyNeeded
          |    `-- LicenceNotAccepted
          |-- ReportError         a report cannot be read, or is not what it says
          |-- PublishError        something was not published, or it is not known whether it was
          `-- ProviderError       a CI service refused something, or did not answer
               `-- GitHubError    GitHub
"""

import difflib
from collections.abc import Iterable
from typing import ClassVar


class BiasError(Exception):
    """Base of every error that a user can do something about.

    Parameters
    ----------
    message : str
        What was given and what is wrong with it.
    hint : str, optional
        What helps, as a command or a line to paste; printed on a line of its own.
    """

    exit_code: ClassVar[int] = 3

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}\n  {self.hint}"

    def __reduce__(self) -> tuple[type["BiasError"], tuple[str, str | None]]:
        return type(self), (self.message, self.hint)


class UsageError(BiasError):
    """The command, an option or a file of settings is wrong."""

    exit_code = 2


class UnknownName(UsageError):
    """A name that is not known."""

    @classmethod
    def among(
        cls, what: str, given: str, allowed: Iterable[str], hint: str | None = None
    ) -> "UnknownName":
        """Name the wrong word, the nearest right one and all that are allowed."""
        allowed = list(allowed)
        near = difflib.get_close_matches(given, allowed, n=1, cutoff=0.6)
        guess = f" Did you mean {near[0]!r}?" if near else ""
        return cls(f"{what} {given!r} is not known.{guess} Known: {', '.join(allowed)}.", hint)


class OutputError(UsageError):
    """The output folder cannot be used."""


class MeasurementError(BiasError):
    """The question was right, the measurement cannot be made."""


class ModelError(MeasurementError):
    """A model cannot be found, read or trusted."""


class HubNotReached(ModelError):
    """The Hub, which has the model, does not answer."""


class ServerStopped(ModelError):
    """The server of a model answers no longer; what it has answered is kept."""


class DataError(MeasurementError):
    """Data are changed or malformed."""


class DataMissing(DataError):
    """Data are not there."""


class NoAnswer(DataMissing):
    """The host that has the data cannot be reached: it need not be asked for other files."""


class OwnCopyNeeded(DataMissing):
    """Data that are never fetched, and the user has given no copy of them."""


class LicenceNotAccepted(DataError):
    """The data's licence needs the user's consent, and the settings do not give it."""


class ReportError(MeasurementError):
    """A report cannot be read, or is not what it says."""


class PublishError(MeasurementError):
    """Something was not published, or it is not known whether it was; the message says which."""


class ProviderError(MeasurementError):
    """A CI service refused something, or did not answer.

    `status` is that of its answer, null where there was none; `limited` says that it was asked too
    often. Both are set by who asked.
    """

    status: int | None = None
    limited: bool = False

    @property
    def unsure(self) -> bool:
        """Whether what was asked for may have been done all the same."""
        return self.status is None or self.status >= 500

    @property
    def forbidden(self) -> bool:
        """Whether the token may not do it, or not see it, and no waiting helps."""
        return self.status in (403, 404) and not self.limited


class GitHubError(ProviderError):
    """GitHub refused something, or did not answer."""
