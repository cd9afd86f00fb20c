"""Hidden items: how they are kept secret, in reports and in errors.

The message of an exception may quote an item, and the variables of its frames hold them. So any
exception is replaced by a new one that has its name only, without the original as its context.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from pytest_bias.errors import BiasError, DataError, DataMissing, MeasurementError
from pytest_bias.records.report import DataInfo
from pytest_bias.suites.salts import SALT_BYTES, is_salt, salted

LEAST: Final = 20
"""Fewest items of a group for its score to be reported, unless the suite sets another number."""

NOT_TOLD: Final = "not disclosed for a hidden suite"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Hiding:
    """Settings that hide the items of a configuration.

    Parameters
    ----------
    salt : str
        32 bytes as 64 hexadecimal digits, as secret as the items: without it, a digest could
        confirm a guess at them.
    least : int
        Fewest items of a group for its score to be reported.
    """

    salt: str = field(repr=False)
    least: int = LEAST

    def __post_init__(self) -> None:
        if not is_salt(self.salt):
            raise ValueError(f"a salt is {2 * SALT_BYTES} hexadecimal digits.")
        if self.least < 1:
            raise ValueError("the least number of items of a group is 1 or more.")

    def salted(self, digest: str) -> str:
        """Return the digest that is reported in place of one: of the salt's bytes and its text."""
        return salted(self.salt, digest)

    def described(self, data: DataInfo) -> DataInfo:
        """Return the data info that may be published, before anything is measured."""
        digest = data.sha256 and self.salted(data.sha256)
        return replace(data, sha256=digest, visibility="hidden", least=self.least)


def read_quietly(read: Callable[[], T]) -> T:
    """Read hidden items.

    Raises
    ------
    DataMissing
        As `read` does: its message has paths only.
    DataError
        If anything else goes wrong, without any of the content that was read.
    """
    return _quietly(read, DataError, "its items were read", passes=DataMissing)


def measure_quietly(ask: Callable[[], T]) -> T:
    """Measure hidden items.

    Raises
    ------
    MeasurementError
        If anything goes wrong, without any of the content that was measured.
    """
    return _quietly(ask, MeasurementError, "its items were measured", passes=())


def _quietly(
    ask: Callable[[], T],
    kind: type[BiasError],
    doing: str,
    passes: type[BiasError] | tuple[()],
) -> T:
    """Return what `ask` returns; no frame of `ask`, whose variables hold items, outlives it."""
    try:
        return ask()
    except KeyboardInterrupt:
        new: BaseException = KeyboardInterrupt()
    except SystemExit as error:
        # Any code that is not a number would be printed.
        new = SystemExit(error.code if isinstance(error.code, int) else 1)
    except passes as error:
        new = type(error)(error.message, error.hint)
    except BaseException as error:
        new = kind(f"{type(error).__name__} while {doing}; more is {NOT_TOLD}.")
    # Outside the handlers, so that the new exception has no context.
    raise new
