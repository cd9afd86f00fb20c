"""The classes that run each kind of model, and the kind of a checkpoint."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pytest_bias.errors import ModelError
from pytest_bias.models.causal import CausalModel
from pytest_bias.models.classifier import ClassifierModel, check_labels
from pytest_bias.models.encoder import EncoderModel
from pytest_bias.models.kind_table import CHECKPOINTS, MASKING, Capability, ModelKind
from pytest_bias.models.masked import MaskedModel
from pytest_bias.models.qa import QuestionAnsweringModel
from pytest_bias.models.seq2seq import EncoderDecoder, Seq2SeqModel, beginning
from pytest_bias.models.tokens import Tokens
from pytest_bias.models.transformer import Transformer


def _nothing(config: Any, tokens: Tokens, name: str) -> None:
    return None


@dataclass(frozen=True)
class KindSupport:
    """Everything needed to run one kind of model.

    Parameters
    ----------
    model : type
        Class of the models that suites receive.
    unused : tuple of str
        Prefixes of weights that our forwards do not use, so that they may be missing.
    body : type
        Class that runs its forwards.
    beginning : callable
        Returns, from configuration, tokens and name, the context of the first scored token, for
        the report. Raises `ModelError` if they lack what this kind requires.
    """

    model: type[EncoderModel]
    unused: tuple[str, ...] = ()
    body: type[Transformer] = Transformer
    beginning: Callable[[Any, Tokens, str], str | None] = _nothing


def _prefix(config: Any, tokens: Tokens, name: str) -> str:
    before, _ = tokens.frame
    if before:
        return "the tokenizer's own"
    return tokens.prefix[0] if tokens.prefix else "none, first token unscored"


SUPPORT: Final = {
    ModelKind.SEQ2SEQ: KindSupport(Seq2SeqModel, body=EncoderDecoder, beginning=beginning),
    ModelKind.MASKED: KindSupport(MaskedModel),
    ModelKind.CAUSAL: KindSupport(CausalModel, beginning=_prefix),
    ModelKind.CLASSIFIER: KindSupport(ClassifierModel, beginning=check_labels),
    ModelKind.QUESTION_ANSWERING: KindSupport(QuestionAnsweringModel),
    ModelKind.ENCODER: KindSupport(EncoderModel, unused=("pooler.",)),
}


def capabilities_of(kind: ModelKind, tokens: Tokens) -> frozenset[Capability]:
    """Return what models of a kind can do with a tokenizer, besides a second head."""
    found = kind.facts.capabilities
    if tokens.mask_id is None:
        found -= MASKING
    return found if tokens.closed_vocabulary else found | {Capability.OPEN_VOCABULARY}


NOT_MEASURED: Final = frozenset(
    {"layoutlm", "layoutlmv2", "layoutlmv3", "lilt", "lxmert", "markuplm", "modernvbert", "tapas"}
    | {"ultravbert", "prophetnet", "switch_transformers"}
)
"""Types that also read boxes, pictures or tables; one that predicts several tokens at once; one
whose experts have a capacity per batch, so that results depend on the other texts of a batch."""


def kind_of(config: Any, name: str, *, gguf: bool = False) -> tuple[ModelKind, str]:
    """Return the kind and the class of a model, from its configuration.

    The class named in ``architectures`` determines it, or for a GGUF file, which names none, its
    type. The kind of a checkpoint's own class is that of its ``auto_map``. For classes in several
    of the library's tables the precedence is that of `CHECKPOINTS`.

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
    writes = bool(getattr(config, "is_encoder_decoder", False))
    brought = _brought(getattr(config, "auto_map", None) or {}, architecture)
    for kind in brought:
        # ChatGLM and similar models are registered as both.
        if kind is not ModelKind.SEQ2SEQ or writes or len(brought) == 1:
            return kind, architecture
    if architecture == "ElectraForPreTraining":
        raise ModelError(
            f"{name} is an ELECTRA discriminator: it detects replaced tokens, it predicts none.",
            "Measure the generator of the same family.",
        )
    tables = {kind: getattr(auto, facts.table) for kind, facts in CHECKPOINTS.items()}
    found = next((k for k in CHECKPOINTS if architecture in _flat(tables[k].values())), None)
    if architecture.endswith("ForPreTraining") and config.model_type in tables[ModelKind.MASKED]:
        found = ModelKind.MASKED
    # The library lists speech models among those that generate from a text.
    speech = found is ModelKind.SEQ2SEQ and not writes
    if found and not speech and config.model_type not in NOT_MEASURED:
        return found, architecture
    facts = CHECKPOINTS.values()
    endings = [e for known in facts for e in (*known.endings, *known.shared_endings)]
    raise ModelError(
        f"{name} is a {architecture}; this version measures {', '.join(CHECKPOINTS)} models of "
        f"text (classes that end in {', '.join(endings)}; bare encoders)."
    )


def _brought(auto_map: Mapping[str, Any], architecture: str) -> list[ModelKind]:
    """Return the kinds of a checkpoint's own classes: of the named one, else of all."""
    all_of_them = [k for k, facts in CHECKPOINTS.items() if facts.auto_class in auto_map]
    named = [
        k
        for k in all_of_them
        if str(auto_map[CHECKPOINTS[k].auto_class]).rpartition(".")[2] == architecture
    ]
    return named or all_of_them


def _flat(values: Iterable[Any]) -> set[str]:
    found: set[str] = set()
    for value in values:
        found.update([value] if isinstance(value, str) else value)
    return found
