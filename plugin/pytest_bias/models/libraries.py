"""Output of libraries while they load a model: suppressed, or turned into our errors."""

import contextlib
import io
from collections.abc import Iterable, Iterator
from pathlib import Path

from pytest_bias.errors import BiasError, ModelError
from pytest_bias.models.damage import first_cause


@contextlib.contextmanager
def reading(what: str, files: Iterable[Path] = ()) -> Iterator[None]:
    """Turn a library's error about a damaged file into one that names the file.

    The message starts with the first of `files`, those that may be read, that is visibly damaged.
    """
    try:
        yield
    except BiasError:
        raise
    except Exception as error:
        first = (str(error).strip().splitlines() or [""])[0][:300]
        seen = first_cause(files)
        told = f"{seen} ({type(error).__name__})" if seen else f"{type(error).__name__}: {first}"
        raise ModelError(
            f"{what} cannot be read: {told}",
            "pip install 'pytest-bias[models]' adds support for more file formats."
            if "pip install" in str(error)
            else "The files may be damaged or incomplete: fetch or save them again.",
        ) from error


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Hide the libraries' progress bars and advice."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
