"""What a suite may ask of a model: text in, numbers out.

No tokenizer object crosses this line, in either direction. The implementations are in
`pytest_bias.models`; suites are written against this module alone.
"""

from abc import ABC
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final, Literal, NamedTuple, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pytest_bias.identity import ModelIdentity

GAP: Final = "[MASK]"
"""Marks the open place in a sentence, whatever the model's own mask token is."""


class ModelKind(StrEnum):
    """What a checkpoint was made for."""

    MASKED = "masked"
    CAUSAL = "causal"
    SEQ2SEQ = "seq2seq"
    CLASSIFIER = "classifier"
    QUESTION_ANSWERING = "question-answering"
    ENCODER = "encoder"


class Capability(StrEnum):
    """One thing that a suite can need and a model can have."""

    PSEUDO_LOG_LIKELIHOOD = "pseudo_log_likelihood"
    LOG_LIKELIHOOD = "log_likelihood"
    SLOT = "slot"
    FILL = "fill"
    EMBED = "embed"
    GENERATE = "generate"
    CLASSIFY = "classify"
    ANSWER = "answer"
    OPEN_VOCABULARY = "open_vocabulary"

    @property
    def words(self) -> str:
        """What the capability is, for people."""
        return _WORDS[self]


_WORDS: Final[Mapping[Capability, str]] = {
    Capability.PSEUDO_LOG_LIKELIHOOD: "the pseudo-log-likelihood of a masked model",
    Capability.LOG_LIKELIHOOD: "the log-likelihood of a causal or seq2seq model",
    Capability.SLOT: "words scored at a mask",
    Capability.FILL: "words predicted at a mask",
    Capability.EMBED: "vectors of texts",
    Capability.GENERATE: "texts continued",
    Capability.CLASSIFY: "texts classified",
    Capability.ANSWER: "questions answered from a text",
    Capability.OPEN_VOCABULARY: "an open vocabulary",
}


class SequenceScore(NamedTuple):
    """Log-likelihood of one text.

    `total` is a sum of natural-log probabilities in nats over `n_tokens` scored tokens (special
    tokens are not scored). Both are void when `reason` says why the text could not be scored.
    """

    total: float
    n_tokens: int
    reason: str | None = None


class PairScore(NamedTuple):
    """Pseudo-log-likelihood, in nats, of the tokens that two texts share, in each of them."""

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
    """

    text: str
    choices: tuple[str, ...]
    hidden: str | None = None
    forms: tuple[str, ...] = ()

    def filled(self, choice: str) -> str:
        """Return the sentence with `choice` at the gap."""
        return self.text.replace(GAP, choice)


class ClozeScore(NamedTuple):
    """Log-probabilities of the choices of one `Cloze`.

    `log_probabilities` holds natural-log probabilities in nats, one a choice, in the order of the
    choices; `n_tokens` how many tokens each choice is in this context. A choice of several tokens
    is scored from left to right, its own later tokens masked (Kauf and Ivanova 2023), so that its
    numbers form a distribution. Both are empty when `reason` says why.
    """

    log_probabilities: tuple[float, ...]
    n_tokens: tuple[int, ...]
    reason: str | None = None


class Embeddings(NamedTuple):
    """One vector a text.

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


@dataclass(slots=True)
class Meter:
    """What the forwards of a model took so far, and who is told about it.

    `on_progress` is called as ``on_progress(done, total)`` after every batch, `on_notice` with a
    sentence that a user should read. `resumed` counts the sequences that a run before had done.
    """

    seconds: float = 0.0
    tokens: int = 0
    forwards: int = 0
    resumed: int = 0
    on_progress: Callable[[int, int], None] | None = None
    on_notice: Callable[[str], None] | None = None

    def progress(self, done: int, total: int) -> None:
        """Tell whoever listens how much of the present call is done."""
        if self.on_progress:
            self.on_progress(done, total)

    def notice(self, text: str) -> None:
        """Tell whoever listens what a user should know."""
        if self.on_notice:
            self.on_notice(text)


@dataclass(slots=True)
class Work:
    """What forwards would have to do: tokens with their padding, and positions for the head."""

    tokens: int = 0
    positions: int = 0


class Pace(NamedTuple):
    """How long forwards take: seconds a token through the layers, and a position through the head.

    A model without a head has no seconds for positions.
    """

    token_s: float
    position_s: float

    def seconds(self, work: Work) -> float:
        """Return how long this takes."""
        return work.tokens * self.token_s + work.positions * self.position_s


@dataclass
class Model(ABC):
    """A loaded model.

    Attributes
    ----------
    identity : ModelIdentity
        What exactly was loaded.
    capabilities : frozenset of Capability
        The methods below that work; each of the others raises `TypeError`.
    meter : Meter
        Running account of the forwards.
    chat : bool
        Whether `generate` puts prompts into the model's chat template.
    notices : tuple of str
        What a user should know about how the model was loaded.
    """

    identity: ModelIdentity
    capabilities: frozenset[Capability]
    meter: Meter = field(default_factory=Meter, init=False)
    chat: bool = field(default=False, init=False)
    notices: tuple[str, ...] = field(default=(), init=False)

    @property
    def devices(self) -> tuple[str, ...]:
        """Devices that the weights lie on, such as ``cuda:0``."""
        return ()

    def _lacks(self, capability: Capability) -> NoReturn:
        raise TypeError(f"a {self.identity.kind} model has no {capability.value}")

    def keep(self, folder: Path | None) -> None:
        """Keep answers below a folder, so that a run that is killed goes on; null: do not."""
        raise NotImplementedError

    def counting(self) -> AbstractContextManager[Work]:
        """Let all that is asked be counted instead of done; answers are void meanwhile."""
        raise NotImplementedError

    def pace(self) -> Pace:
        """Find out how fast the model is by a few small batches; the meter takes no notice."""
        raise NotImplementedError

    def score(self, texts: Sequence[str]) -> list[SequenceScore]:
        """Score sentences by whichever log-likelihood this kind of model has, in nats."""
        if Capability.LOG_LIKELIHOOD in self.capabilities:
            return self.log_likelihood(texts)
        return self.pseudo_log_likelihood(texts)

    def log_likelihood(self, texts: Sequence[str]) -> list[SequenceScore]:
        """Sum over the tokens of log P(token | tokens before it).

        In a causal model the first token is conditioned on the tokenizer's beginning-of-sequence
        token, else its end-of-sequence token; a tokenizer with neither leaves the first token
        unscored. A seq2seq model reads the empty text and is forced through the text: its encoder
        sees what the tokenizer writes for no text, special tokens alone; its decoder begins with
        ``decoder_start_token_id``, then with what the tokenizer puts before a target.
        """
        self._lacks(Capability.LOG_LIKELIHOOD)

    def pseudo_log_likelihood(self, texts: Sequence[str]) -> list[SequenceScore]:
        """Sum over the tokens of log P(token | all other tokens) (Salazar et al. 2020)."""
        self._lacks(Capability.PSEUDO_LOG_LIKELIHOOD)

    def pair_log_likelihood(self, pairs: Sequence[tuple[str, str]]) -> list[PairScore]:
        """Pseudo-log-likelihood of the tokens that the two texts of a pair share.

        Shared tokens are the equal blocks of difflib's SequenceMatcher over the token ids, first
        text against second (Nangia et al. 2020, metric.py), with its popularity heuristic off.
        """
        self._lacks(Capability.PSEUDO_LOG_LIKELIHOOD)

    def unmasked_log_likelihood(self, texts: Sequence[str]) -> list[SequenceScore]:
        """Sum over the tokens of log P(token | the whole text, nothing masked).

        Divided by the number of tokens it is the AUL of Kaneko and Bollegala (2022).
        """
        self._lacks(Capability.PSEUDO_LOG_LIKELIHOOD)

    def slot(self, clozes: Sequence[Cloze]) -> list[ClozeScore]:
        """Log-probability of every choice at the gap of every sentence."""
        self._lacks(Capability.SLOT)

    def fill(self, texts: Sequence[str], k: int = 5) -> list[list[tuple[str, float]]]:
        """Return the `k` likeliest single tokens at the gap, with their log-probabilities."""
        self._lacks(Capability.FILL)

    def embed(self, texts: Sequence[str]) -> Embeddings:
        """Return one vector a text; how tokens are pooled is in `identity.pooling`."""
        self._lacks(Capability.EMBED)

    def generate(
        self,
        prompts: Sequence[str],
        *,
        max_new_tokens: int,
        sample: bool = False,
        n: int = 1,
        seed: int = 0,
        stop: Sequence[str] = (),
        chat: bool | None = None,
    ) -> list[Continuation]:
        """Continue every prompt `n` times, greedily or by samples from the whole distribution.

        What a prompt is continued with depends on the prompt alone, not on the others: a sample is
        decided by `seed`, the prompt's text and the number of the sample, and the settings for
        sampling that a checkpoint brings along are not used.

        Parameters
        ----------
        prompts : sequence of str
            The texts to continue.
        max_new_tokens : int
            Largest number of tokens of a continuation.
        sample : bool
            Draw from the model's distribution (temperature 1) instead of taking the likeliest.
        n : int
            Number of samples a prompt; more than one need `sample`.
        seed : int
            Seed of the samples.
        stop : sequence of str
            Texts in front of which a continuation is cut.
        chat : bool, optional
            Whether every prompt is a user's turn that the model answers by its chat template, or a
            text that it continues; by default as the run has it (``--chat``).

        Returns
        -------
        list of Continuation
            `n` a prompt, those of one prompt next to each other, in the order of the prompts.
        """
        self._lacks(Capability.GENERATE)

    def classify(self, texts: Sequence[Text]) -> Classification:
        """Return what the model's head says of every text or pair of texts.

        A text that is too long for the model has a reason; it is never cut.
        """
        self._lacks(Capability.CLASSIFY)

    def answer(self, questions: Sequence[Question], *, max_answer_tokens: int = 30) -> list[Answer]:
        """Find the likeliest answer of at most `max_answer_tokens` tokens in every context.

        A context too long for the model is read in windows that overlap by 128 tokens, or by half
        of the room beside the question where that is less. P is the softmax over all tokens of all
        windows, so that windows compete by their logits; the null score is that of the window
        least sure that there is no answer (Devlin et al. 2019, run_squad).
        """
        self._lacks(Capability.ANSWER)

    def round_trip(self, texts: Sequence[str]) -> list[str]:
        """Return the texts as the tokenizer gives them back, special tokens removed."""
        raise NotImplementedError
