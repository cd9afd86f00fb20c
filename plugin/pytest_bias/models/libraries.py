"""What libraries say while they read a model: kept quiet, and turned into words of ours."""

import contextlib
import io
from collections.abc import Iterable, Iterator
from pathlib import Path

from pytest_bias.errors import BiasError, ModelError
from pytest_bias.models.damage import first_cause


@contextlib.contextmanager
def reading(what: str, files: Iterable[Path] = ()) -> Iterator[None]:
    """Turn what a library says of a damaged file into an error that names the file.

    Of `files`, which may be what is read, the first that something is seen to be wrong with is
    named before what the library says.
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
            "pip install 'pytest-bias[models]' brings what further kinds of files need."
            if "pip install" in str(error)
            else "The files may be damaged or incomplete: fetch or save them again.",
        ) from error


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep the libraries' own progress bars and advice off the terminal."""
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
