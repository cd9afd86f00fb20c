"""Kinds of models: which class is which, how it is loaded, what it can do."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from pytest_bias.errors import ModelError
from pytest_bias.interface import Capability, ModelKind
from pytest_bias.models.causal import CausalModel
from pytest_bias.models.encoder import EncoderModel
from pytest_bias.models.masked import MaskedModel


@dataclass(frozen=True)
class KindSupport:
    """What it takes to run one kind of model."""

    auto_class: str
    model: type[EncoderModel]
    capabilities: frozenset[Capability]
    unused: tuple[str, ...] = ()
    """Prefixes of weights that no forward of ours uses, so that they may be missing."""


MASKING: Final = frozenset({Capability.PSEUDO_LOG_LIKELIHOOD, Capability.SLOT, Capability.FILL})

KINDS: Final = {
    ModelKind.MASKED: KindSupport(
        "AutoModelForMaskedLM", MaskedModel, MASKING | {Capability.EMBED}
    ),
    ModelKind.CAUSAL: KindSupport(
        "AutoModelForCausalLM",
        CausalModel,
        frozenset({Capability.LOG_LIKELIHOOD, Capability.GENERATE, Capability.EMBED}),
    ),
    ModelKind.ENCODER: KindSupport(
        "AutoModel", EncoderModel, frozenset({Capability.EMBED}), unused=("pooler.",)
    ),
}


def kind_of(config: Any, name: str, *, gguf: bool = False) -> tuple[ModelKind, str]:
    """Return the kind of a model and its class, from the configuration.

    The class named under ``architectures`` decides; a GGUF file names none, so its type does.
    A class that the checkpoint brings along counts as what its ``auto_map`` says it is.
    Precedence, for classes that stand in several of the library's tables: sequence-to-sequence,
    masked, causal, bare encoder.

    Raises
    ------
    ModelError
        If the model is of a kind that cannot be measured, or a discriminator.
    """
    from transformers.models.auto import modeling_auto as auto

    named = list(getattr(config, "architectures", None) or ())
    if gguf and not named:
        named = [n for n in [auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.get(config.model_type)] if n]
    if not named:
        raise ModelError(
            f"{name} names no class that can be measured"
            + ("." if gguf else ": config.json has nothing under architectures."),
            'For instance: "architectures": ["BertForMaskedLM"]',
        )
    architecture = named[0]
    for kind, support in KINDS.items():
        if support.auto_class in (getattr(config, "auto_map", None) or {}):
            return kind, architecture
    if architecture == "ElectraForPreTraining":
        raise ModelError(
            f"{name} is an ELECTRA discriminator: it tells replaced tokens, it predicts none.",
            "Measure the generator of the same family.",
        )
    tables = {
        ModelKind.MASKED: auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES,
        ModelKind.CAUSAL: auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
        ModelKind.ENCODER: auto.MODEL_MAPPING_NAMES,
    }
    if architecture not in _flat(auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES.values()):
        for kind, table in tables.items():
            if architecture in _flat(table.values()):
                return kind, architecture
    masked = auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES
    if architecture.endswith("ForPreTraining") and config.model_type in masked:
        return ModelKind.MASKED, architecture
    raise ModelError(
        f"{name} is a {architecture}; this version measures "
        f"{', '.join(k.value for k in ModelKind)} models (classes that end in ForMaskedLM, "
        "ForCausalLM or LMHeadModel, and bare encoders)."
    )


def _flat(values: Iterable[Any]) -> set[str]:
    found: set[str] = set()
    for value in values:
        found.update([value] if isinstance(value, str) else value)
    return found
