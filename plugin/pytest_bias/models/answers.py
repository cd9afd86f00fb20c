"""What a model is asked and what it answers: texts, numbers, and the reason why there is none."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

GAP: Final = "[MASK]"
"""Marks the open place in a sentence, whatever the model's own mask token is."""


class SequenceScore(NamedTuple):
    """Log-likelihood of one text.

    `total` is a sum of natural-log probabilities in nats over `n_tokens` scored tokens (special
    tokens are not scored); `n_unscored` counts first tokens that had nothing to be conditioned on,
    which are in neither. All are void when `reason` says why the text could not be scored.
    """

    total: float
    n_tokens: int
    reason: str | None = None
    n_unscored: int = 0


class Passage(NamedTuple):
    """A text of any length, and which of its characters are to be scored.

    `parts` are ranges of characters, first to behind the last, such as the words between the tags
    of a page; a token counts if one of its characters is in a part. Without them all tokens count.
    """

    text: str
    parts: tuple[tuple[int, int], ...] | None = None


class PairScore(NamedTuple):
    """Pseudo-log-likelihood, in nats, of the tokens that two texts share, in each."""

    first: SequenceScore
    second: SequenceScore


@dataclass(frozen=True, slots=True)
class Cloze:
    """A sentence with one open place and the words that may stand there.

    Parameters
    ----------
    text : str
        A sentence with exactly one `GAP`.
    choices : tuple of str
        The words to score at the gap, in the casing in which they are to stand there.
    hidden : str, optional
        A word of the sentence that is masked as well; it must occur exactly once.
    forms : tuple of str
        Other forms of the hidden word, such as those of other grammatical genders. As many masks
        stand for it as the longest of all has tokens in its place, so that their number does not
        tell which of them is hidden.
    later : str
        Whether the tokens of a choice behind the one that is read are ``masked``, or ``absent``, so
        that the sentence does not tell how many there are (Nadeem et al. 2021).
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

    `log_probabilities` holds natural-log probabilities in nats, one a choice, in the order of the
    choices; `n_tokens` how many tokens each choice is in this context; `tokens` the numbers of each
    token. A choice of several tokens is scored from left to right, its own later tokens masked
    (Kauf and Ivanova 2023), so that its numbers form a distribution, or absent, as the cloze has
    it. All are empty when `reason` says why.
    """

    log_probabilities: tuple[float, ...]
    n_tokens: tuple[int, ...]
    reason: str | None = None
    tokens: tuple[tuple[float, ...], ...] = ()


class Prediction(NamedTuple):
    """The likeliest single tokens at one place, likeliest first.

    `words` are the tokens as texts without the spaces around them: words, but also pieces of words,
    punctuation and special tokens. `log_probabilities` are natural, in nats. Both are empty when
    `reason` says why there are none.
    """

    words: tuple[str, ...]
    log_probabilities: tuple[float, ...]
    reason: str | None = None


class Embeddings(NamedTuple):
    """Vectors of texts.

    `vectors` has shape (n_texts, dimension), float32; `reasons` has one entry a text, null where
    the text could be read. The vector of a text with a reason is void.
    """

    vectors: NDArray[np.float32]
    reasons: tuple[str | None, ...]


Text: TypeAlias = str | tuple[str, str]
"""A text, or a pair of texts that are read together, such as premise and hypothesis."""


class Outputs(StrEnum):
    """What the numbers of a classifier are."""

    SINGLE_LABEL = "single_label"
    """Probabilities of labels that exclude one another: softmax, the sum is 1."""

    MULTI_LABEL = "multi_label"
    """Probabilities of labels that do not exclude one another: sigmoid, each for itself."""

    REGRESSION = "regression"
    """Values as the head gives them: no probabilities, no bounds."""


class Classification(NamedTuple):
    """What a classifier says of texts.

    `labels` are the checkpoint's own names, in the order of its outputs: untrusted text.
    `probabilities` has shape (n_texts, n_labels), float64; `outputs` says what they are, and where
    that is a regression they are no probabilities. `reasons` has one entry a text, null where the
    text could be read; the row of a text with a reason is void.
    """

    labels: tuple[str, ...]
    outputs: Outputs
    probabilities: NDArray[np.float64]
    reasons: tuple[str | None, ...]


class Following(NamedTuple):
    """Log-odds, in nats, that one text follows another; void when `reason` says why."""

    log_odds: float
    reason: str | None = None


class Question(NamedTuple):
    """A question and the text that is to hold its answer."""

    question: str
    context: str


class Answer(NamedTuple):
    """The likeliest answer to one `Question`.

    `text` is ``context[start:end]``. `score` is log P(first token) + log P(last token) of the
    answer, in nats; `null_score` the same of the token that stands for "no answer" in heads that
    were trained for it (SQuAD 2), null where the tokenizer has no such token. All are void when
    `reason` says why there is no answer.
    """

    text: str
    start: int
    end: int
    score: float
    null_score: float | None
    reason: str | None = None


class Continuation(NamedTuple):
    """What a model wrote behind one prompt.

    `text` is without the prompt, without the stop string that ended it, and without special tokens;
    where a model ends at once it is empty, which is an outcome of its own. `n_tokens` counts the
    tokens that were generated, without the one that ends a text. `finished` says why it ended:
    ``eos`` (the model ended it), ``stop`` (a stop string came), ``length`` (`max_new_tokens`). All
    are void when `reason` says why the prompt could not be continued.
    """

    text: str
    n_tokens: int
    finished: Literal["eos", "stop", "length"] | None
    reason: str | None = None
