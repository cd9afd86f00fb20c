"""Exceptions, and the message for an unknown name.

::

    BiasError                     printed without a traceback; has its exit code
     |-- UsageError        (2)    the command, an option or a file of settings is wrong
     |    |-- UnknownName         an unknown name, with the nearest known one
     |    `-- OutputError         the output folder cannot be used
     `-- MeasurementError  (3)    the request was valid, but the measurement failed
          |-- ModelError          a model cannot be found, loaded or trusted
          |    |-- HubNotReached  the Hub, which hosts it, does not answer
          |    `-- ModelStopped  the server or application that runs it no longer answers
          |-- DataError           data are missing, changed or malformed
          |    |-- DataMissing
          |    |    |-- NoAnswer  the host that serves them cannot be reached
          |    |    `-- OwnCopyNeeded
          |    `-- LicenceNotAccepted
          |-- ReportError         a report cannot be read, or does not match its digests
          |-- PublishError        publishing failed, or its outcome is unknown
          `-- ProviderError       a CI service refused something, or did not answer
               `-- GitHubError    GitHub
"""

import difflib
from collections.abc import Iterable
from typing import ClassVar


class BiasError(Exception):
    """Base class of errors that the user can resolve.

    Parameters
    ----------
    message : str
        What was given and what is wrong with it.
    hint : str, optional
        Suggested fix, as a command or a line to paste; printed on a line of its own.
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
    """An unknown name."""

    @classmethod
    def among(
        cls, what: str, given: str, allowed: Iterable[str], hint: str | None = None
    ) -> "UnknownName":
        """Return the error with the given name, the nearest allowed one and all allowed ones."""
        allowed = list(allowed)
        near = difflib.get_close_matches(given, allowed, n=1, cutoff=0.6)
        guess = f" Did you mean {near[0]!r}?" if near else ""
        return cls(f"{what} {given!r} is not known.{guess} Known: {', '.join(allowed)}.", hint)


class OutputError(UsageError):
    """The output folder cannot be used."""


class MeasurementError(BiasError):
    """The request was valid, but the measurement failed."""


class ModelError(MeasurementError):
    """A model cannot be found, loaded or trusted."""


class HubNotReached(ModelError):
    """The Hub, which hosts the model, does not answer."""


class ModelStopped(ModelError):
    """A server or an application no longer answers; its answers so far are kept."""


class DataError(MeasurementError):
    """Data are changed or malformed."""


class DataMissing(DataError):
    """Data are missing."""


class NoAnswer(DataMissing):
    """The host of the data cannot be reached, so it is not asked for other files."""


class OwnCopyNeeded(DataMissing):
    """Data that are never downloaded, of which the user has provided no copy."""


class LicenceNotAccepted(DataError):
    """The data's licence needs the user's consent, and the settings do not give it."""


class ReportError(MeasurementError):
    """A report cannot be read, or does not match its digests."""


class PublishError(MeasurementError):
    """Publishing failed, or its outcome is unknown; the message says which."""


class ProviderError(MeasurementError):
    """A CI service refused something, or did not answer.

    `status` is the HTTP status of the answer, None if there was none; `limited` means that a rate
    limit was reached. Both are set by the caller.
    """

    status: int | None = None
    limited: bool = False

    @property
    def unsure(self) -> bool:
        """Whether the request may have been carried out despite the error."""
        return self.status is None or self.status >= 500

    @property
    def forbidden(self) -> bool:
        """Whether the token lacks the permission, so that retrying is useless."""
        return self.status in (403, 404) and not self.limited


class GitHubError(ProviderError):
    """GitHub refused something, or did not answer."""
