"""Masked language models, which predict a masked token from the rest of the sentence."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import fsum

from pytest_bias.models.encoder import EncoderModel
from pytest_bias.models.interface import (
    GAP,
    Cloze,
    ClozeScore,
    Following,
    PairScore,
    Passage,
    Prediction,
    SequenceScore,
)
from pytest_bias.models.next_sentence import NextSentence
from pytest_bias.models.reads import Reads
from pytest_bias.models.tokens import PLAIN_WORD, Encoded, Gap, Unreadable
from pytest_bias.models.windows import around, checked_stride, passage_scores


@dataclass
class MaskedModel(EncoderModel):
    """A model with a masked language modelling head.

    `following` is its next-sentence head, if the checkpoint has one.
    """

    following: NextSentence | None = None

    def check(self) -> None:
        """Determine which class of the next-sentence head means that the second text follows."""
        if self.following:
            self.following.probe()

    def next_sentence(self, pairs: Sequence[tuple[str, str]]) -> list[Following]:
        """Query the next-sentence head."""
        if self.following is None:
            return super().next_sentence(pairs)
        return self.following.log_odds(pairs)

    def pseudo_log_likelihood(self, texts: Sequence[str]) -> list[SequenceScore]:
        """Mask every token of a text in turn and sum their log-probabilities."""
        return self.body.sentence_scores(list(texts), _each_token(mask=True))

    def score_long(
        self, passages: Sequence[str | Passage], *, stride: int | None = None
    ) -> list[SequenceScore]:
        """Mask tokens in turn and sum their log-probabilities, using windows for long texts."""
        tokens = self.body.tokens
        room = tokens.max_length - sum(tokens.frame)
        plan = partial(_in_windows, room=room, stride=checked_stride(stride, room))
        return passage_scores(self.body, passages, plan, tokens, tokens.encode_long)

    def unmasked_log_likelihood(self, texts: Sequence[str]) -> list[SequenceScore]:
        """Sum the log-probabilities of all tokens from one forward of the whole text."""
        return self.body.sentence_scores(list(texts), _each_token(mask=False))

    def pair_log_likelihood(self, pairs: Sequence[tuple[str, str]]) -> list[PairScore]:
        """Mask in turn every token that the two texts share, in each of them."""
        tokens = self.body.tokens
        reads = Reads(tokens.mask_id)
        planned: list[tuple[list[int], list[int]] | str] = []
        tokens.prepare([text for pair in pairs for text in pair])
        for pair in pairs:
            try:
                first, second = (tokens.encode(text) for text in pair)
                ours, theirs = tokens.shared(first, second)
                if not ours:
                    raise Unreadable("the two texts share no token")
                planned.append((_masked(reads, first, ours), _masked(reads, second, theirs)))
            except Unreadable as reason:
                planned.append(str(reason))
        tokens.forget()
        logp = self.body.log_probabilities(reads)

        def scored(which: list[int]) -> SequenceScore:
            return SequenceScore(float(logp[which].sum()), len(which))

        void = SequenceScore(0.0, 0)
        return [
            PairScore(void._replace(reason=which), void._replace(reason=which))
            if isinstance(which, str)
            else PairScore(scored(which[0]), scored(which[1]))
            for which in planned
        ]

    def slot(self, clozes: Sequence[Cloze]) -> list[ClozeScore]:
        """Score every choice at its gap, tokenised in its context."""
        reads = Reads(self.body.tokens.mask_id)
        planned: list[list[list[int]] | str] = []
        self.body.tokens.prepare_places(clozes)
        for cloze in clozes:
            try:
                planned.append(self._plan(cloze, reads))
            except Unreadable as reason:
                planned.append(str(reason))
        self.body.tokens.forget()
        logp = self.body.log_probabilities(reads)
        return [
            ClozeScore((), (), which)
            if isinstance(which, str)
            else ClozeScore(
                tuple(fsum(logp[choice]) for choice in which),
                tuple(len(c) for c in which),
                tokens=tuple(tuple(map(float, logp[choice])) for choice in which),
            )
            for which in planned
        ]

    def _plan(self, cloze: Cloze, reads: Reads) -> list[list[int]]:
        tokens = self.body.tokens
        gaps = [tokens.gap(cloze, choice) for choice in cloze.choices]
        contexts = {(*g.ids[: g.place.start], None, *g.ids[g.place.stop :]) for g in gaps}
        if len(contexts) > 1:
            raise Unreadable("the choices change the tokens around them")
        found = []
        for filled, choice in zip(gaps, cloze.choices, strict=True):
            gap = filled
            if cloze.hidden is not None:
                masks = [reads.mask_id or 0] * tokens.masks(cloze, choice)
                gap = _replaced(gap, tokens.hidden(cloze, choice), masks)
                tokens.check(gap.ids)
            found.append(_left_to_right(reads, gap, absent=cloze.later == "absent"))
        return found

    def fill(self, texts: Sequence[str], k: int = 5) -> list[list[tuple[str, float]]]:
        """Return the most likely single tokens at the gap, with their log-probabilities.

        Raises
        ------
        ValueError
            If a text does not have exactly one gap, or cannot be encoded.
        """
        found = self.predict(texts, k)
        if reason := next((one.reason for one in found if one.reason), None):
            raise ValueError(reason)
        return [list(zip(one.words, one.log_probabilities, strict=True)) for one in found]

    def predict(self, texts: Sequence[str], k: int) -> list[Prediction]:
        """Return the most likely single tokens at the gap."""
        return self.body.predictions(texts, k, self._gap)

    def _gap(self, text: str) -> tuple[list[int], int, bool]:
        # The mask's neighbours are tokenised as if a plain word stood between them.
        word = PLAIN_WORD.title() if text.startswith(GAP) else PLAIN_WORD
        ids, place = self.body.tokens.gap(Cloze(text, (word,)), word)
        return [*ids[: place.start + 1], *ids[place.stop :]], place.start, True


def _each_token(*, mask: bool) -> Callable[[Encoded, Reads], list[int]]:
    def plan(encoded: Encoded, reads: Reads) -> list[int]:
        return [reads.add(encoded.ids, p, encoded.ids[p], mask=mask) for p in encoded.core]

    return plan


def _in_windows(
    encoded: Encoded, wanted: Sequence[int], reads: Reads, *, room: int, stride: int
) -> list[int]:
    """Score masked tokens at some positions, each in the window with most context on both sides."""
    ids, core = encoded
    places = set(wanted)
    found: list[int] = []
    for window in around(len(core), room, stride):
        part = core[window.begin : window.end]
        base = reads.base([*ids[: core.start], *(ids[p] for p in part), *ids[core.stop :]])
        found += [
            reads.add_to(base, p - window.begin, ids[p], mask=True)
            for p in core[window.scored.start : window.scored.stop]
            if p in places
        ]
    return found


def _masked(reads: Reads, encoded: Encoded, positions: Sequence[int]) -> list[int]:
    return [reads.add(encoded.ids, p, encoded.ids[p], mask=True) for p in positions]


def _replaced(gap: Gap, old: range, new: Sequence[int]) -> Gap:
    """Replace some tokens outside the gap."""
    ids = [*gap.ids[: old.start], *new, *gap.ids[old.stop :]]
    moved = (len(new) - len(old)) * (old.start < gap.place.start)
    return Gap(ids, range(gap.place.start + moved, gap.place.stop + moved))


def _left_to_right(reads: Reads, gap: Gap, *, absent: bool) -> list[int]:
    """Score a word's tokens in order, each masked and its later tokens masked or absent."""
    found = []
    for position in gap.place:
        n_later = 0 if absent else gap.place.stop - position - 1
        ids = [
            *gap.ids[: position + 1],
            *[reads.mask_id or 0] * n_later,
            *gap.ids[gap.place.stop :],
        ]
        found.append(reads.add(ids, position, gap.ids[position], mask=True))
    return found
