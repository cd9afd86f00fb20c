"""Encoding of texts by the tokenizer's own properties, never by its name.

Differences between tokenizers are detected by calling them: the tokens that they add around a text,
lowercasing, offsets, mask and padding tokens. Masks are inserted as ids; a special token that is
spelled out in a text is treated as plain text (`Tokens.encoding`).
"""

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cached_property
from typing import Any, Final, NamedTuple

from pytest_bias.models.interface import GAP, Cloze

_UNLIMITED: Final = 1_000_000
PLAIN_WORD: Final = "the"
"""A word that is one token in most vocabularies, to probe a tokenizer's treatment of words."""


class Unreadable(ValueError):
    """Raised for a text that this model cannot score; the message is the record's reason."""


class Encoded(NamedTuple):
    """Token ids of a text with special tokens around it; `core` is the range of the text."""

    ids: list[int]
    core: range


class Gap(NamedTuple):
    """A choice in its sentence: ids, with the choice's tokens at `place`."""

    ids: list[int]
    place: range


@dataclass
class Tokens:
    """Encodes texts for one model.

    Parameters
    ----------
    tokenizer : transformers tokenizer
        The tokenizer; its name is never used.
    max_length : int
        Maximum number of tokens of the model, including special ones.
    closed_vocabulary : bool
        Whether a word unknown to the tokenizer makes a text unreadable.
    target : bool
        Whether to encode texts as targets of a decoder, which a few tokenizers treat differently.
    rows : int, optional
        Number of ids in the model's embedding and head; set when weights are loaded.
    """

    tokenizer: Any
    max_length: int = _UNLIMITED
    closed_vocabulary: bool = False
    target: bool = False
    rows: int | None = None
    _plain: dict[str, Encoded] = field(default_factory=dict, repr=False)
    _offsets: dict[str, list[tuple[int, int]]] = field(default_factory=dict, repr=False)
    _refused: dict[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        own = getattr(self.tokenizer, "model_max_length", None) or _UNLIMITED
        self.max_length = min(self.max_length, own, _UNLIMITED)

    @cached_property
    def is_fast(self) -> bool:
        """Whether the tokenizer provides offsets of its tokens."""
        return bool(getattr(self.tokenizer, "is_fast", False))

    @cached_property
    def frame(self) -> tuple[int, int]:
        """Number of special tokens that the tokenizer adds before and after a text."""
        core = self._ids(PLAIN_WORD, special=False)
        whole = self._ids(PLAIN_WORD)
        for before in range(len(whole) - len(core) + 1):
            if whole[before : before + len(core)] == core:
                return before, len(whole) - before - len(core)
        raise Unreadable("the tokenizer changes a text when it adds special tokens")

    @property
    def mask_id(self) -> int | None:
        """Id of the mask token, if there is one."""
        token: int | None = self.tokenizer.mask_token_id
        return token

    @property
    def eos_id(self) -> int | None:
        """Id of the end-of-text token, if there is one."""
        token: int | None = self.tokenizer.eos_token_id
        return token

    @property
    def pad_id(self) -> int:
        """Id for padding; it is not attended to, so any id of the model can be used."""
        for token in (self.tokenizer.pad_token_id, self.tokenizer.eos_token_id):
            if token is not None and self.knows(int(token)):
                return int(token)
        return 0

    def knows(self, token: int) -> bool:
        """Whether the model has a row for an id; true for all ids before it is loaded."""
        return self.rows is None or 0 <= token < self.rows

    @cached_property
    def prefix(self) -> tuple[str, int] | None:
        """Name and id of the token on which a causal model conditions the first token."""
        for name in ("bos", "eos"):
            token = getattr(self.tokenizer, f"{name}_token_id")
            if token is not None:
                return name, int(token)
        return None

    @cached_property
    def lowercases(self) -> bool:
        """Whether the tokenizer lowercases its input, detected by a call."""
        return bool(self._ids(PLAIN_WORD) == self._ids(PLAIN_WORD.upper()))

    def _ids(self, text: Any, *, special: bool = True) -> Any:
        return self._encoding(text, add_special_tokens=special)["input_ids"]

    def _encoding(self, text: Any, *pair: str, **how: bool) -> Any:
        # The tokenizer's warning about long texts is irrelevant: they are never forwarded.
        given = {"text_target" if self.target else "text": text}
        given |= {"text_pair": pair[0]} if pair else {}
        return self.tokenizer(**given, **how, verbose=False)

    @cached_property
    def special(self) -> dict[str, int]:
        """Special tokens as text, such as ``[MASK]``, to their ids."""
        added = getattr(self.tokenizer, "added_tokens_decoder", {})
        found = {str(token): int(i) for i, token in added.items() if token.special}
        own = zip(self.tokenizer.all_special_tokens, self.tokenizer.all_special_ids, strict=True)
        found |= {str(token): int(i) for token, i in own if i is not None}
        # A full stop or a word may be an end-of-text token; in a text it is itself.
        return {t: i for t, i in found.items() if len(t.strip()) > 1 and not t.isalpha()}

    def names_special(self, text: str) -> str | None:
        """Return a special token that is spelled out in a text, or None."""
        if not any(letter in text for letter in self._begin):
            return None
        return next((token for token in self.special if token in text), None)

    @cached_property
    def _begin(self) -> frozenset[str]:
        """First characters of special tokens: few, even with hundreds of special tokens."""
        return frozenset(token[0] for token in self.special)

    def encoding(self, *texts: str, **how: bool) -> Any:
        """Return the encoding of a text or a pair, with spelled-out special tokens as plain text.

        Raises
        ------
        Unreadable
            If the tokenizer can encode one only as the special token.
        """
        found = self._encoding(*texts, **how)
        named = next(filter(None, map(self.names_special, texts)), None)
        if named is None or not self._reads_special(found["input_ids"], len(texts)):
            return found
        refusal = Unreadable(
            f"the tokenizer reads {named}, written in the text, as a special token"
        )
        try:
            split = self._encoding(*texts, **how, split_special_tokens=True)
        except (ValueError, TypeError, NotImplementedError):
            raise refusal from None
        same = list(split["input_ids"]) == list(found["input_ids"])
        if same or self._reads_special(split["input_ids"], len(texts), unknown=False):
            raise refusal
        return split

    def _reads_special(self, ids: Sequence[int], n_texts: int, *, unknown: bool = True) -> bool:
        """Whether ids have more special tokens than are added to plain texts."""
        counted = {*self.special.values()} - (set() if unknown else {self.tokenizer.unk_token_id})
        around = self._encoding(*[PLAIN_WORD] * n_texts)["input_ids"]
        return sum(i in counted for i in ids) > sum(i in counted for i in around)

    @cached_property
    def empty(self) -> list[int]:
        """Ids of the empty text: special tokens only, or none."""
        return list(self._ids(""))

    def encode(self, text: str) -> Encoded:
        """Return the ids of a text, or raise `Unreadable`."""
        if text not in self._plain:
            self.prepare([text])
        return self._checked(text)

    def encode_all(self, texts: Sequence[str]) -> list[Encoded]:
        """Return the ids of many texts, or raise `Unreadable` for the first without ids."""
        self.prepare(texts)
        return [self._checked(t) for t in texts]

    def encode_long(self, text: str) -> Encoded:
        """Return the ids of a text of any length, or raise `Unreadable`."""
        self.prepare([text])
        encoded = self._there(text)
        self._check_words(encoded.ids)
        return encoded

    def prepare(self, texts: Sequence[str]) -> None:
        """Encode many texts at once, in advance of `encode`."""
        for text, encoding in self._new(texts, self._plain):
            self._keep(text, encoding["input_ids"])
        for text in texts:
            self._plain.setdefault(text, Encoded([], range(0)))

    def _keep(self, text: str, ids: list[int]) -> None:
        before, behind = self.frame
        self._plain.setdefault(text, Encoded(ids, range(before, len(ids) - behind)))

    def _new(
        self, texts: Sequence[str], known: Container[str], **how: bool
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """Encode unknown texts, most of them at once; reasons for missing ids are stored."""
        new = [t for t in dict.fromkeys(texts) if t not in known and t.strip()]
        apart = {t for t in new if self.names_special(t)}
        if plain := [t for t in new if t not in apart]:
            found = self._encoding(plain, **how)
            wanted = ("input_ids", *(["offset_mapping"] if how else []))
            yield from ((t, {k: found[k][n] for k in wanted}) for n, t in enumerate(plain))
        for text in (t for t in new if t in apart):
            try:
                yield text, self.encoding(text, **how)
            except Unreadable as reason:
                self._refused[text] = str(reason)

    def prepare_places(self, clozes: Sequence[Cloze]) -> None:
        """Encode the sentences of many clozes at once, in advance of `gap`, `hidden` and `masks`.

        A tokenizer is much slower for single texts than for many at once.
        """
        texts = [text for cloze in clozes for text in self._filled(cloze)]
        (self._prepare_offsets if self.is_fast else self.prepare)(texts)

    def _prepare_offsets(self, texts: Sequence[str]) -> None:
        for text, encoding in self._new(texts, self._offsets, return_offsets_mapping=True):
            self._offsets[text] = encoding["offset_mapping"]
            self._keep(text, encoding["input_ids"])

    def _filled(self, cloze: Cloze) -> Iterator[str]:
        """Yield the sentences of a cloze that are encoded, if it is readable."""
        for choice in cloze.choices if cloze.text.count(GAP) == 1 else ():
            yield cloze.filled(choice)
            if cloze.hidden and cloze.text.count(cloze.hidden) == 1:
                for form in (cloze.hidden, *cloze.forms):
                    yield _with_form(cloze, choice, form)[0]

    def as_read(self, texts: Sequence[str]) -> list[str]:
        """Return a key for each text, equal for texts with equal ids."""
        self.prepare(texts)
        found = [" ".join(map(str, self._plain[t].ids)) or t for t in texts]
        self.forget()
        return found

    def forget(self) -> None:
        """Drop the texts stored by `prepare` and `prepare_places`."""
        self._plain.clear()
        self._offsets.clear()
        self._refused.clear()

    def _checked(self, text: str) -> Encoded:
        encoded = self._there(text)
        self.check(encoded.ids)
        return encoded

    def _there(self, text: str) -> Encoded:
        if text in self._refused:
            raise Unreadable(self._refused[text])
        if len(self._plain[text].core) == 0:
            raise Unreadable("empty text")
        return self._plain[text]

    def check(self, ids: Sequence[int]) -> None:
        """Raise `Unreadable` if there are too many ids, or ids without a row in the model."""
        if len(ids) > self.max_length:
            raise Unreadable(f"{len(ids)} tokens, the model takes {self.max_length}")
        self._check_words(ids)

    def _check_words(self, ids: Sequence[int]) -> None:
        if self.rows is not None and max(ids, default=0) >= self.rows:
            outside = next(i for i in ids if not self.knows(i))
            word = self.tokenizer.convert_ids_to_tokens(outside)
            raise Unreadable(f"token {word!r:.40} has id {outside}, the model has {self.rows} ids")
        if self.closed_vocabulary and self.tokenizer.unk_token_id in ids:
            raise Unreadable("a word is not in the model's closed vocabulary")

    def inside(self, text: str, parts: Sequence[tuple[int, int]]) -> list[int]:
        """Return the positions of the tokens that have a character in one of the parts of a text.

        Raises
        ------
        Unreadable
            If the tokenizer provides no offsets, or there is no token in the parts.
        ValueError
            If a part is not within the text.
        """
        if not self.is_fast:
            raise Unreadable("the tokenizer gives no offsets: it does not tell where a word is")
        wanted = bytearray(len(text))
        for start, end in parts:
            if not 0 <= start < end <= len(text):
                raise ValueError(f"characters {start} to {end} of a text of {len(text)}")
            wanted[start:end] = b"1" * (end - start)
        encoding = self._encoding(text, return_offsets_mapping=True)
        before, behind = self.frame
        core = range(before, len(encoding["input_ids"]) - behind)
        offsets = encoding["offset_mapping"]
        found = [p for p in core if any(wanted[slice(*offsets[p])])]
        if not found:
            raise Unreadable("no token is in the parts of the text that are scored")
        return found

    def shared(self, first: Encoded, second: Encoded) -> tuple[list[int], list[int]]:
        """Return the positions, in each of two texts, of their shared tokens, without special ones.

        The blocks are those of the published CrowS-Pairs script, without the popularity heuristic
        that drops frequent tokens of long texts.
        """
        matcher = SequenceMatcher(None, first.ids, second.ids, autojunk=False)
        pairs = [
            (block.a + k, block.b + k)
            for block in matcher.get_matching_blocks()
            for k in range(block.size)
        ]
        kept = [(i, j) for i, j in pairs if i in first.core and j in second.core]
        return [i for i, _ in kept], [j for _, j in kept]

    def gap(self, cloze: Cloze, choice: str) -> Gap:
        """Return the sentence with a choice at its gap, and the positions of its tokens."""
        if cloze.text.count(GAP) != 1:
            raise Unreadable(f"{cloze.text.count(GAP)} gaps in a sentence instead of one")
        start = cloze.text.index(GAP)
        text = cloze.filled(choice)
        return Gap(self.encode(text).ids, self._place(text, start, start + len(choice)))

    def hidden(self, cloze: Cloze, choice: str) -> range:
        """Return the position of the hidden word in the sentence filled with a choice."""
        return self._form(cloze, choice, cloze.hidden or "")

    def masks(self, cloze: Cloze, choice: str) -> int:
        """Return the number of masks for the hidden word: the tokens of its longest form."""
        return max(
            len(self._form(cloze, choice, form)) for form in (cloze.hidden or "", *cloze.forms)
        )

    def _form(self, cloze: Cloze, choice: str, form: str) -> range:
        """Return the position of a form of the hidden word, inserted in its place."""
        word = cloze.hidden or ""
        if cloze.text.count(word) != 1:
            raise Unreadable("the hidden word must occur once in its sentence")
        text, start = _with_form(cloze, choice, form)
        return self._place(text, start, start + len(form))

    def _place(self, text: str, start: int, end: int) -> range:
        """Return the positions of the tokens of ``text[start:end]``."""
        if self.is_fast:
            return self._place_by_offsets(text, start, end)
        return self._place_by_alignment(text, start, end)

    def _place_by_offsets(self, text: str, start: int, end: int) -> range:
        if text not in self._offsets:
            self._prepare_offsets([text])
        if text in self._refused:
            raise Unreadable(self._refused[text])
        offsets = self._offsets[text]
        before, behind = self.frame
        found = []
        for position, (a, b) in enumerate(offsets):
            if not before <= position < len(offsets) - behind:
                continue
            if a < end and b > start:
                if text[a:start].strip() or text[end:b].strip():
                    raise Unreadable("a word shares a token with its neighbour")
                found.append(position)
        if not found or found != list(range(found[0], found[-1] + 1)):
            raise Unreadable("a word has no tokens of its own")
        first = found[0]
        if first > before:
            # A token for the space before a word belongs to that word.
            a, b = offsets[first - 1]
            first -= not text[a:b].strip()
        return range(first, found[-1] + 1)

    def _place_by_alignment(self, text: str, start: int, end: int) -> range:
        """Find the tokens of a word without offsets, by comparison with a masked copy."""
        if self.mask_id is None:
            raise Unreadable("neither offsets nor a mask token tell where a word is")
        whole = self.encode(text).ids
        masked = text[:start] + self.tokenizer.mask_token + text[end:]
        copy = self._ids(masked)
        at = copy.index(self.mask_id)
        behind = len(copy) - at - 1
        place = range(at, len(whole) - behind)
        if not place or whole[:at] != copy[:at] or whole[place.stop :] != copy[at + 1 :]:
            raise Unreadable("a word has no tokens of its own")
        return place

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of token ids, without special tokens."""
        return str(self.tokenizer.decode(ids, skip_special_tokens=True))

    def word(self, token: int) -> str:
        """Return the text of one token."""
        return str(self.tokenizer.decode([token])).strip()


def _with_form(cloze: Cloze, choice: str, form: str) -> tuple[str, int]:
    """Return the sentence with a choice and a form of the hidden word, and that form's start."""
    word = cloze.hidden or ""
    start = cloze.text.index(word)
    behind_gap = cloze.text.index(GAP) < start
    text = cloze.text.replace(word, form).replace(GAP, choice)
    return text, start + (len(choice) - len(GAP)) * behind_gap
