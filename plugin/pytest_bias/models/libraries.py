"""What libraries say while they read a model: kept quiet, and turned into words of ours."""

import contextlib
import io
from collections.abc import Iterator

from pytest_bias.errors import BiasError, ModelError


@contextlib.contextmanager
def reading(what: str) -> Iterator[None]:
    """Turn what a library says of a damaged file into an error that names the file."""
    try:
        yield
    except BiasError:
        raise
    except Exception as error:
        first = (str(error).strip().splitlines() or [""])[0][:300]
        raise ModelError(
            f"{what} cannot be read: {type(error).__name__}: {first}",
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
