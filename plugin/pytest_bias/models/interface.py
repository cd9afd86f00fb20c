"""What a suite may ask of a model: text in, numbers out.

No tokenizer object crosses this line, in either direction. The implementations are in
`pytest_bias.models`; suites are written against this module alone.
"""

from abc import ABC
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
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
    Outputs,
    PairScore,
    Passage,
    Prediction,
    Question,
    SequenceScore,
    Text,
)
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
    "Model",
    "ModelKind",
    "Outputs",
    "PairScore",
    "Passage",
    "Prediction",
    "Question",
    "SequenceScore",
    "Text",
]


class ModelKind(StrEnum):
    """What a checkpoint was made for."""

    MASKED = "masked"
    CAUSAL = "causal"
    SEQ2SEQ = "seq2seq"
    CLASSIFIER = "classifier"
    QUESTION_ANSWERING = "question-answering"
    ENCODER = "encoder"

    @property
    def words(self) -> str:
        """The kind in words, such as ``a masked language model``."""
        return _KINDS[self]


class Capability(StrEnum):
    """One thing that a suite can need and a model can have."""

    PSEUDO_LOG_LIKELIHOOD = "pseudo_log_likelihood"
    LOG_LIKELIHOOD = "log_likelihood"
    SLOT = "slot"
    FILL = "fill"
    NEXT = "next"
    EMBED = "embed"
    GENERATE = "generate"
    BRANCH = "branch"
    CLASSIFY = "classify"
    ANSWER = "answer"
    NEXT_SENTENCE = "next_sentence"
    OPEN_VOCABULARY = "open_vocabulary"

    @property
    def words(self) -> str:
        """What the capability is, for people."""
        return _WORDS[self]


_KINDS: Final[Mapping[ModelKind, str]] = {
    ModelKind.MASKED: "a masked language model",
    ModelKind.CAUSAL: "a causal language model",
    ModelKind.SEQ2SEQ: "a sequence-to-sequence model",
    ModelKind.CLASSIFIER: "a text classifier",
    ModelKind.QUESTION_ANSWERING: "a question-answering model",
    ModelKind.ENCODER: "a sentence encoder",
}

_WORDS: Final[Mapping[Capability, str]] = {
    Capability.PSEUDO_LOG_LIKELIHOOD: "pseudo-log-likelihoods",
    Capability.LOG_LIKELIHOOD: "log-likelihoods of texts",
    Capability.SLOT: "probabilities of words at a mask",
    Capability.FILL: "mask filling",
    Capability.NEXT: "next-word prediction",
    Capability.EMBED: "text embeddings",
    Capability.GENERATE: "text generation",
    Capability.BRANCH: "generation from each of the likeliest first tokens",
    Capability.CLASSIFY: "text classification",
    Capability.ANSWER: "extractive question answering",
    Capability.NEXT_SENTENCE: "next-sentence prediction",
    Capability.OPEN_VOCABULARY: "an open vocabulary",
}


MASKING: Final = frozenset({Capability.PSEUDO_LOG_LIKELIHOOD, Capability.SLOT, Capability.FILL})
"""What a masked model has if its tokenizer has a mask token."""
_WRITING: Final = frozenset(
    {Capability.LOG_LIKELIHOOD, Capability.GENERATE, Capability.BRANCH, Capability.EMBED}
)

CAPABILITIES: Final[Mapping[ModelKind, frozenset[Capability]]] = {
    ModelKind.SEQ2SEQ: _WRITING,
    ModelKind.MASKED: MASKING | {Capability.EMBED},
    ModelKind.CAUSAL: _WRITING | {Capability.NEXT},
    ModelKind.CLASSIFIER: frozenset({Capability.EMBED, Capability.CLASSIFY}),
    ModelKind.QUESTION_ANSWERING: frozenset({Capability.EMBED, Capability.ANSWER}),
    ModelKind.ENCODER: frozenset({Capability.EMBED}),
}
"""What the models of a kind can do; an open vocabulary and a second head come on top."""


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
    seed : int
        Seed of the run, for suites that let the model draw samples.
    scorers : mapping of str to Model
        Classifiers that the user named for what this model writes, by role; `readings` asks them.
    label_names : mapping of str to mapping
        Of a classifier: role to concept to the label that stands for it.
    repeat_tolerance : float
        Nats a token by which two answers to one question may differ without a defect: none where
        the forwards are our own.
    """

    identity: ModelIdentity
    capabilities: frozenset[Capability]
    meter: Meter = field(default_factory=Meter, init=False)
    chat: bool = field(default=False, init=False)
    notices: tuple[str, ...] = field(default=(), init=False)
    seed: int = field(default=0, init=False)
    scorers: Mapping[str, "Model"] = field(default_factory=dict, init=False)
    label_names: Mapping[str, Mapping[str, str]] = field(default_factory=dict, init=False)
    repeat_tolerance: float = field(default=0.0, init=False)

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

    def score_long(
        self, passages: Sequence[str | Passage], *, stride: int | None = None
    ) -> list[SequenceScore]:
        """Score texts of any length by the log-likelihood that this kind of model has, in nats.

        A text that the model can take has the score that `log_likelihood`, or
        `pseudo_log_likelihood`, gives. A longer one is read in windows of as many tokens as the
        model takes, the next of which begins `stride` tokens later; every token is scored once.

        A causal model scores in each window what is new there, conditioned on the tokens of the
        window before it, as in transformers' "Perplexity of fixed-length models". What conditions
        the first token of the text (`log_likelihood`) stands in front of the text once, not in
        front of every window. The figure of that page weighs the mean of each window but the first
        by one token less than it is a mean of; ours is the plain sum over all tokens.

        A masked model reads in each window the tokenizer's special tokens around a part of the
        text, the last part reaching back so that it is as long as the others. A token is scored in
        the window that has most text on its shorter side, that is, whose nearer cut is farthest;
        the ends of the text are no cuts. Of two equal windows it is the earlier one.

        A decoder that has read an empty text has no beginning in the middle of one, so a seq2seq
        model scores no text that is longer than it takes.

        Parameters
        ----------
        passages : sequence of str or Passage
            The texts, whole or in parts.
        stride : int, optional
            From 1 to one less than the tokens of a window; by default half of them.

        Raises
        ------
        ValueError
            If the stride leaves no overlap, or a part is not within its text.
        """
        self._lacks(Capability.LOG_LIKELIHOOD)

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
        """Sum log P(token | the whole text, unmasked); a token: AUL (Kaneko, Bollegala 2022)."""
        self._lacks(Capability.PSEUDO_LOG_LIKELIHOOD)

    def slot(self, clozes: Sequence[Cloze]) -> list[ClozeScore]:
        """Log-probability of every choice at the gap of every sentence."""
        self._lacks(Capability.SLOT)

    def fill(self, texts: Sequence[str], k: int = 5) -> list[list[tuple[str, float]]]:
        """Return the `k` likeliest single tokens at the gap, with their log-probabilities.

        Raises
        ------
        ValueError
            If a text has not exactly one gap, or cannot be read.
        """
        self._lacks(Capability.FILL)

    def predict(self, texts: Sequence[str], k: int) -> list[Prediction]:
        """Return the `k` likeliest single tokens at the gap, as `fill`, or why there are none."""
        self._lacks(Capability.FILL)

    def predict_next(self, prompts: Sequence[str], k: int) -> list[Prediction]:
        """Return the `k` likeliest next tokens behind every prompt, or why there are none.

        They are the first tokens of the branches that `generate` makes, from one forward. Prompts
        are texts, never turns of a chat.
        """
        self._lacks(Capability.NEXT)

    def n_tokens(self, words: Sequence[str]) -> list[int]:
        """Return how many tokens each word is behind another word and a space."""
        raise NotImplementedError

    def next_sentence(self, pairs: Sequence[tuple[str, str]]) -> list[Following]:
        """Return the log-odds that the second text of every pair follows the first."""
        self._lacks(Capability.NEXT_SENTENCE)

    def embed(self, texts: Sequence[str]) -> Embeddings:
        """Return one vector a text; how tokens are pooled is in `identity.pooling`."""
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
        """Continue every prompt `n` times: greedily, by samples, or from the likeliest beginnings.

        A continuation depends on its prompt alone: a sample is decided by `seed`, the prompt's text
        and its number; what a checkpoint brings along for sampling is not used.

        Branches are what a causal model has in place of the likeliest tokens at a mask: the first
        tokens are the `n` likeliest ones, each different, likeliest first (of equal ones the lower
        id), and each goes on greedily; so the first branch is the greedy text. No token is left
        out: where one that ends a text is among them, that branch is an empty text, and where
        another special token is, the branch goes on behind it, without its text.

        Parameters
        ----------
        prompts : sequence of str
            The texts to continue.
        max_new_tokens : int
            Largest number of tokens of a continuation.
        sample : bool
            Draw from the model's distribution (temperature 1) instead of taking the likeliest.
        branch : bool
            Begin with the `n` likeliest first tokens, and go on greedily.
        n : int
            Number of continuations a prompt; more than one need `sample` or `branch`.
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

        Raises
        ------
        ValueError
            If the settings contradict one another, or the vocabulary has fewer than `n` tokens.
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

    def as_read(self, texts: Sequence[str]) -> list[str]:
        """Return what stands for each text as the model reads it: equal where its tokens are.

        Of a model whose tokenizer is not known to us it is the text itself.
        """
        return list(texts)

    def round_trip(self, texts: Sequence[str]) -> list[str]:
        """Return the texts as the tokenizer gives them back, special tokens removed."""
        raise NotImplementedError
