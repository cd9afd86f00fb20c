"""Datasets that the Hub has registered as benchmarks, and what their ``eval.yaml`` defines.

Source: https://huggingface.co/docs/hub/leaderboard-data-guide
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml

from pytest_bias.errors import PublishError
from pytest_bias.hub.refusals import Subject
from pytest_bias.hub.repository import asked

if TYPE_CHECKING:
    from huggingface_hub import HfApi

DEFINITION: Final = "eval.yaml"
_LISTED: Final = "datasets?benchmark=benchmark:official"


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A registered dataset.

    Parameters
    ----------
    framework : str
        The one evaluation framework whose results it takes; empty if it does not say so.
    tasks : tuple of str
        Ids of its tasks, each with a leaderboard of its own.
    """

    framework: str = ""
    tasks: tuple[str, ...] = ()


def registered(datasets: Collection[str], *, offline: bool = False) -> dict[str, Benchmark]:
    """Return those of some datasets that are registered as benchmarks, as the Hub says now.

    Raises
    ------
    PublishError
        If the Hub does not say so: what is registered is never guessed.
    """
    subject = Subject(
        "nothing was published: the Hub does not say which datasets are benchmarks",
        _LISTED,
        PublishError,
    )
    with asked(subject, offline=offline) as api:
        known = {dataset.id for dataset in api.list_datasets(filter="benchmark:official")}
        return {name: _defined(api, name) for name in sorted(known.intersection(datasets))}


def _defined(api: "HfApi", name: str) -> Benchmark:
    from huggingface_hub.errors import RemoteEntryNotFoundError

    try:
        path = Path(api.hf_hub_download(name, DEFINITION, repo_type="dataset"))
    except RemoteEntryNotFoundError:
        return Benchmark()
    return read(path.read_bytes())


def read(content: bytes) -> Benchmark:
    """Read an ``eval.yaml``; what is not of the documented form is left out."""
    try:
        plain: Any = yaml.safe_load(content)
    except (yaml.YAMLError, ValueError, RecursionError):
        return Benchmark()
    if not isinstance(plain, Mapping):
        return Benchmark()
    framework, tasks = plain.get("evaluation_framework"), plain.get("tasks")
    ids = [t.get("id") for t in tasks if isinstance(t, Mapping)] if isinstance(tasks, list) else []
    return Benchmark(
        framework if isinstance(framework, str) else "",
        tuple(one for one in ids if isinstance(one, str)),
    )
