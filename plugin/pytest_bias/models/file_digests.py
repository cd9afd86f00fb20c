"""Digests of the single files that a measurement of a checkpoint reads."""

from pytest_bias.models.description import Described
from pytest_bias.models.loading import Description


def files_of(model: Described) -> dict[str, dict[str, dict[str, str]]]:
    """Return the SHA-256 of the files of a model and of its adapter, once its weights are there.

    By source (``model``, ``adapter``), part and path, as in `Snapshot.measured_files`; empty for a
    model that is asked.
    """
    if not isinstance(model, Description):
        return {}
    sources = {"model": model.snapshot}
    if model.adapter:
        sources["adapter"] = model.adapter.snapshot
    # An adapter's own tokenizer is the one that is used.
    own = next((s for s in reversed(sources.values()) if s.tokenizer_sha256), None)
    return {
        name: s.measured_files(allow_pickle=model.trust.allow_pickle, with_tokenizer=s is own)
        for name, s in sources.items()
    }
