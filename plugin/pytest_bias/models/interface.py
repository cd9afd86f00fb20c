"""Interface of models for suites: text in, numbers out.

No tokenizer object crosses this interface, in either direction. The implementations are in
`pytest_bias.models`; suites depend on this module only.
"""

from abc import ABC
from collections.abc import Hashable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NoReturn

from pytest_bias.models.answers import (
    GAP,
    Answer,
    Classification,
    Cloze,
    ClozeScore,
    Continuation,
    Embeddings,
    Following,
    LabelScores,
    Outputs,
    PairScore,
    Passage,
    Prediction,
    Presented,
    Question,
    SequenceScore,
    Text,
)
from pytest_bias.models.kind_table import Capability, ModelKind
from pytest_bias.models.meter import Meter, Pace, Work
from pytest_bias.records.identity import ModelIdentity

__all__ = [
    "GAP",
    "Answer",
    "Capability",
    "Classification",
    "Cloze",
    "ClozeScore",
    "Continuation",
    "Embeddings",
    "Following",
    "LabelScores",
    "Model",
    "ModelKind",
    "Outputs",
    "PairScore",
    "Passage",
    "Prediction",
    "Presented",
    "Question",
    "SequenceScore",
    "Text",
]


ANSWER_TOKENS: Final = 64
"""Usual length of an answer to a question with options: a letter, or a sentence."""


@dataclass
class Model(ABC):
    """A loaded model.

    Attributes
    ----------
    identity : ModelIdentity
        Identity of the loaded model.
    capabilities : frozenset of Capability
        The methods that are supported; each of the others raises `TypeError`.
    meter : Meter
        Running count of the forwards.
    chat : bool
        Whether `generate` and `choose` format prompts by the model's chat template.
    system : str, optional
        System text before every chat turn.
    notices : tuple of str
        Notices for the user about how the model was loaded.
    seed : int
        Seed of the run, for suites that draw samples from the model.
    answer_tokens : int
        Maximum number of tokens of a generated answer to a question with options.
    answer_samples : int
        Number of answers that are sampled for each presentation of a question; 1 for a greedy one.
    scorers : mapping of str to Model
        Classifiers that the user named for generated texts, by role; used by `readings`.
    label_names : mapping of str to mapping
        For a classifier: role to concept to its label.
    repeat_tolerance : float
        Nats per token by which repeated answers to one query may differ without a defect; 0 for
        local models.
    """

    identity: ModelIdentity
    capabilities: frozenset[Capability]
    meter: Meter = field(default_factory=Meter, init=False)
    chat: bool = field(default=False, init=False)
    system: str | None = field(default=None, init=False)
    notices: tuple[str, ...] = field(default=(), init=False)
    seed: int = field(default=0, init=False)
    answer_tokens: int = field(default=ANSWER_TOKENS, init=False)
    answer_samples: int = field(default=1, init=False)
    scorers: Mapping[str, "Model"] = field(default_factory=dict, init=False)
    label_names: Mapping[str, Mapping[str, str]] = field(default_factory=dict, init=False)
    repeat_tolerance: float = field(default=0.0, init=False)

    @property
    def devices(self) -> tuple[str, ...]:
        """Devices that hold the weights, such as ``cuda:0``."""
        return ()

    def _lacks(self, capability: Capability) -> NoReturn:
        raise TypeError(f"a {self.identity.kind} model has no {capability.value}")

    def keep(self, folder: Path | None) -> None:
        """Store answers in a folder, so that an interrupted run can be resumed; None to disable."""
        raise NotImplementedError

    def counting(self) -> AbstractContextManager[Work]:
        """Count queries instead of executing them; meanwhile answers are invalid."""
        raise NotImplementedError

    def pace(self) -> Pace:
        """Estimate the model's speed with a few small batches, which the meter ignores."""
        raise NotImplementedError

    def score(self, texts: Sequence[str]) -> list[SequenceScore]:
        """Score sentences by the log-likelihood of this kind of model, in nats."""
        if Capability.LOG_LIKELIHOOD in self.capabilities:
            return self.log_likelihood(texts)
        return self.pseudo_log_likelihood(texts)

    def score_long(
        self, passages: Sequence[str | Passage], *, stride: int | None = None
    ) -> list[SequenceScore]:
        """Score texts of any length by the log-likelihood of this kind of model, in nats.

        A text that fits the model's context has the score of `log_likelihood` or
        `pseudo_log_likelihood`. A longer one is split into windows of the maximum length, each of
        which begins `stride` tokens after the one before; every token is scored once.

        A causal model scores in each window the new tokens, conditioned on the tokens that it
        shares with the window before, as in transformers' "Perplexity of fixed-length models". The
        token that conditions the first one (`log_likelihood`) precedes the text once, not every
        window. That page weights the mean of each window but the first by one token too few; here
        the score is the plain sum over all tokens.

        A masked model is given in each window a part of the text within the tokenizer's special
        tokens; the last part is extended to the left to the length of the others. A token is scored
        in the window that has most text on its shorter side, that is, whose nearer cut is farthest;
        the ends of the text are not cuts. Of two equal windows it is the earlier one.

        A decoder conditioned on an empty text cannot start in the middle of one, so a seq2seq model
        scores no text that exceeds its maximum length.

        Parameters
        ----------
        passages : sequence of str or Passage
            The texts, whole or in parts.
        stride : int, optional
            From 1 to the length of a window minus 1; by default half of the length.

        Raises
        ------
        ValueError
            If the stride leaves no overlap, or a part is not within its text.
        """
        self._lacks(Capability.LOG_LIKELIHOOD)

    def log_likelihood(self, texts: Sequence[str]) -> list[SequenceScore]:
        """Return the sum over the tokens of log P(token | tokens before it).

        In a causal model the first token is conditioned on the tokenizer's beginning-of-sequence
        token, else its end-of-sequence token; with neither the first token is unscored. In a
        seq2seq model the encoder is given the empty text, that is, special tokens only, and the
        decoder is teacher-forced: it starts with ``decoder_start_token_id`` and the special tokens
        that the tokenizer puts before a target.
        """
        self._lacks(Capability.LOG_LIKELIHOOD)

    def pseudo_log_likelihood(self, texts: Sequence[str]) -> list[SequenceScore]:
        """Return the sum over the tokens of log P(token | other tokens) (Salazar et al. 2020)."""
        self._lacks(Capability.PSEUDO_LOG_LIKELIHOOD)

    def pair_log_likelihood(self, pairs: Sequence[tuple[str, str]]) -> list[PairScore]:
        """Return the pseudo-log-likelihoods of the tokens that the two texts of a pair share.

        Shared tokens are the equal blocks of difflib's SequenceMatcher over the token ids, first
        text against second (Nangia et al. 2020, metric.py), with its popularity heuristic off.
        """
        self._lacks(Capability.PSEUDO_LOG_LIKELIHOOD)

    def unmasked_log_likelihood(self, texts: Sequence[str]) -> list[SequenceScore]:
        """Sum log P(token | unmasked text); per token this is AUL (Kaneko, Bollegala 2022)."""
        self._lacks(Capability.PSEUDO_LOG_LIKELIHOOD)

    def slot(self, clozes: Sequence[Cloze]) -> list[ClozeScore]:
        """Return the log-probability of every choice at the gap of every sentence."""
        self._lacks(Capability.SLOT)

    def fill(self, texts: Sequence[str], k: int = 5) -> list[list[tuple[str, float]]]:
        """Return the `k` most likely single tokens at the gap, with their log-probabilities.

        Raises
        ------
        ValueError
            If a text does not have exactly one gap, or cannot be encoded.
        """
        self._lacks(Capability.FILL)

    def predict(self, texts: Sequence[str], k: int) -> list[Prediction]:
        """Return the `k` most likely single tokens at the gap, as `fill`, or a reason."""
        self._lacks(Capability.FILL)

    def predict_next(self, prompts: Sequence[str], k: int) -> list[Prediction]:
        """Return the `k` most likely next tokens of every prompt, or a reason.

        They are the first tokens of the branches of `generate`, from one forward. Prompts are
        plain texts, never chat turns.
        """
        self._lacks(Capability.NEXT)

    def n_tokens(self, words: Sequence[str]) -> list[int]:
        """Return the number of tokens of each word after another word and a space."""
        raise NotImplementedError

    def next_sentence(self, pairs: Sequence[tuple[str, str]]) -> list[Following]:
        """Return the log-odds that the second text of every pair follows the first."""
        self._lacks(Capability.NEXT_SENTENCE)

    def embed(self, texts: Sequence[str]) -> Embeddings:
        """Return one vector per text; `identity.pooling` states the pooling of tokens."""
        self._lacks(Capability.EMBED)

    def generate(
        self,
        prompts: Sequence[str],
        *,
        max_new_tokens: int,
        sample: bool = False,
        branch: bool = False,
        n: int = 1,
        seed: int = 0,
        stop: Sequence[str] = (),
        chat: bool | None = None,
    ) -> list[Continuation]:
        """Generate `n` continuations per prompt: greedy, sampled, or from the most likely starts.

        A continuation depends on its prompt only: a sample is determined by `seed`, the prompt's
        text and the sample's number; a checkpoint's own sampling settings are not used.

        Branches are the counterpart, for causal models, of the most likely tokens at a mask: their
        first tokens are the `n` most likely ones, in descending order (of equal ones the lower id
        first), and each is continued greedily, so the first branch is the greedy text. No token is
        excluded: a branch from an end-of-text token is an empty text, and one from another special
        token continues after it, without its text.

        Parameters
        ----------
        prompts : sequence of str
            The texts to continue.
        max_new_tokens : int
            Maximum number of tokens of a continuation.
        sample : bool
            Sample from the model's distribution (temperature 1) instead of greedy decoding.
        branch : bool
            Start with the `n` most likely first tokens, and continue greedily.
        n : int
            Number of continuations per prompt; more than one requires `sample` or `branch`.
        seed : int
            Seed of the samples.
        stop : sequence of str
            Strings before which a continuation is cut.
        chat : bool, optional
            Whether every prompt is a user's chat turn that the model answers, or a text that it
            continues; by default as set for the run (``--chat``).

        Returns
        -------
        list of Continuation
            `n` per prompt, grouped by prompt, in the order of the prompts.

        Raises
        ------
        ValueError
            If the settings contradict one another, or the vocabulary has fewer than `n` tokens.
        """
        self._lacks(Capability.GENERATE)

    def choose(
        self,
        prompts: Sequence[str],
        labels: Sequence[Sequence[str]],
        questions: Sequence[Hashable] = (),
    ) -> list[LabelScores]:
        """Return the log-probability of every label as the next token of its prompt.

        The probability of a label is the sum over the tokens that read as it, with or without a
        space or a line break before; a label in small letters is read in any case. Prompts are a
        user's chat turns as for `generate`.

        Parameters
        ----------
        prompts : sequence of str
            Questions that ask for a label, such as a letter.
        labels : sequence of sequence of str
            For each prompt, its labels, such as ``("A", "B", "C")`` or ``("yes", "no")``.
        questions : sequence of hashable, optional
            For each prompt, the question that it presents. Prompts of one question begin alike,
            and a model may compute what they have in common once.
        """
        self._lacks(Capability.CHOOSE)

    def presented(
        self, questions: Sequence[tuple[str, tuple[str, ...]]]
    ) -> Sequence[Sequence[Presented]] | None:
        """Return the answers that a log has to questions, each with its own options.

        None for a model that can be asked, in which case it is: `choose`, `generate`.
        """
        return None

    def classify(self, texts: Sequence[Text]) -> Classification:
        """Return the outputs of the model's head for every text or pair of texts.

        A text that is too long for the model has a reason; it is never truncated.
        """
        self._lacks(Capability.CLASSIFY)

    def answer(self, questions: Sequence[Question], *, max_answer_tokens: int = 30) -> list[Answer]:
        """Return the most likely answer of at most `max_answer_tokens` tokens in every context.

        A context too long for the model is split into windows that overlap by 128 tokens, or by
        half of the space beside the question if that is less. P is the softmax over all tokens of
        all windows, so that windows compete by their logits; the null score is the smallest one of
        the windows (Devlin et al. 2019, run_squad).
        """
        self._lacks(Capability.ANSWER)

    def as_read(self, texts: Sequence[str]) -> list[str]:
        """Return a key for each text, equal for texts with equal tokens.

        If the model's tokenizer is unknown, it is the text itself.
        """
        return list(texts)

    def round_trip(self, texts: Sequence[str]) -> list[str]:
        """Return the texts after encoding and decoding, without special tokens."""
        raise NotImplementedError
