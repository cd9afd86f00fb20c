"""Digests of the single files that a measurement of a checkpoint reads."""

from collections.abc import Mapping

from pytest_bias.models.description import Described
from pytest_bias.models.loading import Description
from pytest_bias.models.model_signature import claimed
from pytest_bias.models.snapshot import Parts, Snapshot, of_all_parts


def files_of(model: Described) -> dict[str, Parts]:
    """Return the SHA-256 of the files of a model and of its adapter, once its weights are there.

    By source (``model``, ``adapter``), part and path, as in `Snapshot.measured_files`; empty for a
    model that is asked.
    """
    sources = _sources(model)
    pickle = isinstance(model, Description) and model.trust.allow_pickle
    # An adapter's own tokenizer is the one that is used.
    own = next((s for s in reversed(sources.values()) if s.tokenizer_sha256), None)
    return {
        name: s.measured_files(allow_pickle=pickle, with_tokenizer=s is own)
        for name, s in sources.items()
    }


def signed(model: Described, files: Mapping[str, Parts]) -> dict[str, dict[str, str]]:
    """Return whether the measured files are those in a signature beside them; see `claimed`.

    By source, with the outcome and its detail; sources without a signature are left out.
    """
    found = {}
    for name, source in _sources(model).items():
        if source.signature and name in files:
            found[name] = claimed(source.signature.read_bytes(), of_all_parts(files[name]))
    return found


def _sources(model: Described) -> dict[str, Snapshot]:
    if not isinstance(model, Description):
        return {}
    adapter = {"adapter": model.adapter.snapshot} if model.adapter else {}
    return {"model": model.snapshot, **adapter}
