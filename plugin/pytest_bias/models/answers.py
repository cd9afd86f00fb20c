"""Types of queries to models and of their answers, with a reason where there is no answer."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

GAP: Final = "[MASK]"
"""Placeholder for the gap in a sentence, independent of the model's mask token."""


class SequenceScore(NamedTuple):
    """Log-likelihood of one text.

    `total` is a sum of natural-log probabilities in nats over `n_tokens` scored tokens (special
    tokens are not scored); `n_unscored` counts first tokens without a context to condition on,
    which are in neither. All are invalid if `reason` is set.
    """

    total: float
    n_tokens: int
    reason: str | None = None
    n_unscored: int = 0


class Passage(NamedTuple):
    """A text of any length, and the ranges of its characters that are scored.

    `parts` are half-open ranges of characters, such as the words between the tags of a page; a
    token counts if one of its characters is in a part. Without parts all tokens count.
    """

    text: str
    parts: tuple[tuple[int, int], ...] | None = None


class PairScore(NamedTuple):
    """Pseudo-log-likelihoods, in nats, of the shared tokens of two texts, in each text."""

    first: SequenceScore
    second: SequenceScore


@dataclass(frozen=True, slots=True)
class Cloze:
    """A sentence with one gap, and the candidate words for it.

    Parameters
    ----------
    text : str
        A sentence with exactly one `GAP`.
    choices : tuple of str
        The words to score at the gap, in the casing required there.
    hidden : str, optional
        A word of the sentence that is masked as well; it must occur exactly once.
    forms : tuple of str
        Other forms of the hidden word, such as those of other grammatical genders. The number of
        masks is the number of tokens of the longest form, so that it does not reveal which form is
        hidden.
    later : str
        Whether the tokens of a choice after the one that is scored are ``masked``, or ``absent``,
        so that the sentence does not reveal their number (Nadeem et al. 2021).
    """

    text: str
    choices: tuple[str, ...]
    hidden: str | None = None
    forms: tuple[str, ...] = ()
    later: Literal["masked", "absent"] = "masked"

    def filled(self, choice: str) -> str:
        """Return the sentence with `choice` at the gap."""
        return self.text.replace(GAP, choice)


class ClozeScore(NamedTuple):
    """Log-probabilities of the choices of one `Cloze`.

    `log_probabilities` holds natural-log probabilities in nats, one per choice, in the order of the
    choices; `n_tokens` the number of tokens of each choice in this context; `tokens` the values of
    each token. A choice of several tokens is scored from left to right, its later tokens masked
    (Kauf and Ivanova 2023), so that the values form a distribution, or absent, as set by the cloze.
    All are empty if `reason` is set.
    """

    log_probabilities: tuple[float, ...]
    n_tokens: tuple[int, ...]
    reason: str | None = None
    tokens: tuple[tuple[float, ...], ...] = ()


class Prediction(NamedTuple):
    """The most likely single tokens at one position, most likely first.

    `words` are the tokens as texts without surrounding spaces: words, but also subwords,
    punctuation and special tokens. `log_probabilities` are natural, in nats. Both are empty if
    `reason` is set.
    """

    words: tuple[str, ...]
    log_probabilities: tuple[float, ...]
    reason: str | None = None


class Embeddings(NamedTuple):
    """Embedding vectors of texts.

    `vectors` has shape (n_texts, dimension), float32; `reasons` has one entry per text, None if
    the text could be encoded. The vector of a text with a reason is invalid.
    """

    vectors: NDArray[np.float32]
    reasons: tuple[str | None, ...]


Text: TypeAlias = str | tuple[str, str]
"""A text, or a pair of texts that are encoded together, such as premise and hypothesis."""


class Outputs(StrEnum):
    """Type of a classifier's outputs."""

    SINGLE_LABEL = "single_label"
    """Probabilities of mutually exclusive labels: softmax, the sum is 1."""

    MULTI_LABEL = "multi_label"
    """Probabilities of independent labels: sigmoid of each output."""

    LABELS = "labels"
    """The label that was given has 1 and the others 0: probabilities are not known."""

    REGRESSION = "regression"
    """Raw outputs of the head: unbounded, not probabilities."""


class Classification(NamedTuple):
    """Predictions of a classifier for texts.

    `labels` are the checkpoint's own names, in the order of its outputs: untrusted text.
    `probabilities` has shape (n_texts, n_labels), float64; `outputs` is their type, and for a
    regression they are not probabilities. `reasons` has one entry per text, None if the text could
    be encoded; the row of a text with a reason is invalid.
    """

    labels: tuple[str, ...]
    outputs: Outputs
    probabilities: NDArray[np.float64]
    reasons: tuple[str | None, ...]


class Following(NamedTuple):
    """Log-odds, in nats, that one text follows another; invalid if `reason` is set."""

    log_odds: float
    reason: str | None = None


class Question(NamedTuple):
    """A question and the context that contains its answer."""

    question: str
    context: str


class Answer(NamedTuple):
    """The most likely answer to one `Question`.

    `text` is ``context[start:end]``. `score` is log P(first token) + log P(last token) of the
    answer, in nats; `null_score` the same for the token that represents "no answer" in heads that
    were trained for it (SQuAD 2), None if the tokenizer has no such token. All are invalid if
    `reason` is set.
    """

    text: str
    start: int
    end: int
    score: float
    null_score: float | None
    reason: str | None = None


class LabelScores(NamedTuple):
    """Log-probabilities of labels, such as A, B and C, as the next token of one prompt.

    `log_probabilities` has one natural-log probability in nats per label: that of all tokens that
    read as the label, such as ``A`` and `` A``, together. The rest of the distribution is on other
    tokens. Empty if `reason` is set.
    """

    log_probabilities: tuple[float, ...]
    reason: str | None = None


class Presented(NamedTuple):
    """One answer to a question with options, as somebody else has asked it.

    `shown` are the options as worded there, in their order, and `stands_for` has the number of the
    question's own option for each, None for one that it does not have; both are empty where the
    order is unknown. The answer is a `text`, or `nats`: the natural log-probability of each of the
    question's own options, None for one without; of its letter if `letters`, else of its text.
    `finished` is why the text ended, where that is known. All are invalid if `reason` is set.
    """

    shown: tuple[str, ...] = ()
    stands_for: tuple[int | None, ...] = ()
    text: str | None = None
    finished: str | None = None
    nats: tuple[float | None, ...] = ()
    letters: bool = False
    reason: str | None = None

    @property
    def order(self) -> tuple[int, ...]:
        """Numbers of the question's own options as shown; empty if not each was shown once."""
        own = tuple(n for n in self.stands_for if n is not None)
        one_each = len(own) == len(self.shown) and sorted(own) == list(range(len(own)))
        return own if one_each else ()


class Continuation(NamedTuple):
    """Text that a model generated for one prompt.

    `text` excludes the prompt, the stop string that ended it, and special tokens; if the model ends
    at once it is empty, which is a valid outcome. `n_tokens` counts the generated tokens, without
    the end-of-text token. `finished` is the reason why it ended: ``eos`` (end-of-text token),
    ``stop`` (a stop string), ``length`` (`max_new_tokens`). All are invalid if `reason`, which
    states why the prompt could not be continued, is set.
    """

    text: str
    n_tokens: int
    finished: Literal["eos", "stop", "length"] | None
    reason: str | None = None
