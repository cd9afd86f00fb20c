"""Facts about each kind of model, in one table; without torch.

The classes that run a kind are in `pytest_bias.models.kinds`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Capability(StrEnum):
    """A type of query that a suite may need and a model may support."""

    PSEUDO_LOG_LIKELIHOOD = "pseudo_log_likelihood"
    LOG_LIKELIHOOD = "log_likelihood"
    SLOT = "slot"
    FILL = "fill"
    NEXT = "next"
    EMBED = "embed"
    GENERATE = "generate"
    CHOOSE = "choose"
    BRANCH = "branch"
    CLASSIFY = "classify"
    ANSWER = "answer"
    NEXT_SENTENCE = "next_sentence"
    OPEN_VOCABULARY = "open_vocabulary"

    @property
    def words(self) -> str:
        """The capability in words."""
        return _WORDS[self]


_WORDS: Final[Mapping[Capability, str]] = {
    Capability.PSEUDO_LOG_LIKELIHOOD: "pseudo-log-likelihoods",
    Capability.LOG_LIKELIHOOD: "log-likelihoods of texts",
    Capability.SLOT: "probabilities of words at a mask",
    Capability.FILL: "mask filling",
    Capability.NEXT: "next-word prediction",
    Capability.EMBED: "text embeddings",
    Capability.GENERATE: "text generation",
    Capability.CHOOSE: "probabilities of labels as the next token",
    Capability.BRANCH: "generation from each of the likeliest first tokens",
    Capability.CLASSIFY: "text classification",
    Capability.ANSWER: "extractive question answering",
    Capability.NEXT_SENTENCE: "next-sentence prediction",
    Capability.OPEN_VOCABULARY: "an open vocabulary",
}


class ModelKind(StrEnum):
    """Kind of a model: of a checkpoint by its task, an application, or answers of a log."""

    MASKED = "masked"
    CAUSAL = "causal"
    SEQ2SEQ = "seq2seq"
    CLASSIFIER = "classifier"
    QUESTION_ANSWERING = "question-answering"
    ENCODER = "encoder"
    APPLICATION = "application"
    ANSWERS = "answers"

    @property
    def facts(self) -> "KindFacts":
        """Its row of `KINDS`."""
        return KINDS[self]


@dataclass(frozen=True, slots=True)
class KindFacts:
    """Facts about one kind of model.

    Parameters
    ----------
    words : str
        The kind in words, such as ``a masked language model``.
    auto_class : str
        Class of transformers that loads it; empty for what is no checkpoint.
    table : str
        Name, in ``modeling_auto`` of transformers, of the table of its classes.
    capabilities : frozenset of Capability
        What it can do, besides an open vocabulary and a second head.
    hub_task : str
        The Hub's name of its task.
    endings : tuple of str
        Endings of class names that only this kind has.
    shared_endings : tuple of str
        Endings that classes of other kinds have too.
    adapter_tasks : tuple of str
        Values of ``task_type`` of the adapters that apply to it.
    predicts_tokens : bool
        Whether its head gives a logit for every token of the vocabulary.
    """

    words: str
    auto_class: str
    table: str
    capabilities: frozenset[Capability]
    hub_task: str
    endings: tuple[str, ...] = ()
    shared_endings: tuple[str, ...] = ()
    adapter_tasks: tuple[str, ...] = ()
    predicts_tokens: bool = False


MASKING: Final = frozenset({Capability.PSEUDO_LOG_LIKELIHOOD, Capability.SLOT, Capability.FILL})
"""Capabilities of a masked model whose tokenizer has a mask token."""

_WRITING: Final = frozenset(
    {
        Capability.LOG_LIKELIHOOD,
        Capability.GENERATE,
        Capability.CHOOSE,
        Capability.BRANCH,
        Capability.EMBED,
    }
)

KINDS: Final[Mapping[ModelKind, KindFacts]] = {
    ModelKind.SEQ2SEQ: KindFacts(
        "a sequence-to-sequence model",
        "AutoModelForSeq2SeqLM",
        "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES",
        _WRITING,
        hub_task="text2text-generation",
        shared_endings=("ForConditionalGeneration",),
        predicts_tokens=True,
    ),
    ModelKind.MASKED: KindFacts(
        "a masked language model",
        "AutoModelForMaskedLM",
        "MODEL_FOR_MASKED_LM_MAPPING_NAMES",
        MASKING | {Capability.EMBED},
        hub_task="fill-mask",
        endings=("ForMaskedLM",),
        adapter_tasks=("FEATURE_EXTRACTION",),
        predicts_tokens=True,
    ),
    ModelKind.CAUSAL: KindFacts(
        "a causal language model",
        "AutoModelForCausalLM",
        "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES",
        _WRITING | {Capability.NEXT},
        hub_task="text-generation",
        endings=("ForCausalLM",),
        shared_endings=("LMHeadModel",),
        adapter_tasks=("CAUSAL_LM",),
        predicts_tokens=True,
    ),
    ModelKind.CLASSIFIER: KindFacts(
        "a text classifier",
        "AutoModelForSequenceClassification",
        "MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES",
        frozenset({Capability.EMBED, Capability.CLASSIFY}),
        hub_task="text-classification",
        endings=("ForSequenceClassification",),
    ),
    ModelKind.QUESTION_ANSWERING: KindFacts(
        "a question-answering model",
        "AutoModelForQuestionAnswering",
        "MODEL_FOR_QUESTION_ANSWERING_MAPPING_NAMES",
        frozenset({Capability.EMBED, Capability.ANSWER}),
        hub_task="question-answering",
        endings=("ForQuestionAnswering",),
    ),
    ModelKind.ENCODER: KindFacts(
        "a sentence encoder",
        "AutoModel",
        "MODEL_MAPPING_NAMES",
        frozenset({Capability.EMBED}),
        hub_task="feature-extraction",
        adapter_tasks=("FEATURE_EXTRACTION",),
    ),
    ModelKind.APPLICATION: KindFacts(
        "an application",
        "",
        "",
        frozenset({Capability.GENERATE}),
        hub_task="text-generation",
    ),
    ModelKind.ANSWERS: KindFacts("a log of answers", "", "", frozenset(), hub_task="other"),
}
"""In order of precedence, since several classes are in two of the library's tables."""

CHECKPOINTS: Final = {kind: facts for kind, facts in KINDS.items() if facts.auto_class}
"""The kinds that transformers loads."""


def hub_task(kind: str) -> str:
    """Return the Hub's name of the task of a kind, which may be one of another version."""
    return KINDS[ModelKind(kind)].hub_task if kind in set(ModelKind) else "other"


def kind_of_class(name: str) -> ModelKind | None:
    """Return the kind that the name of a class determines; None where others have its ending."""
    return next((k for k, facts in KINDS.items() if name.endswith(facts.endings)), None)
