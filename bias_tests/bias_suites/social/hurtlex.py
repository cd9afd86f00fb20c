"""HurtLex, a lexicon of hurtful words: read at run time, never bundled.

Bassignana, Basile and Patti (CLiC-it 2018). Its licence is non-commercial, so a user accepts it for
each suite that reads it.
"""

import string
import unicodedata
from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Final

from pytest_bias.data import DataFile, FoundFile, Source, csv_rows
from pytest_bias.errors import DataError

HURTLEX: Final = Source(
    "valeriobasile/hurtlex",
    "e8205fa73b533d802d8b7fb6f846abd4be69ea63",
    "CC-BY-NC-SA-4.0",
    consent=True,
)
LEVELS: Final = ("conservative", "inclusive")

_SHA256: Final = {
    "en": "a734820a63c87994781d182692e6dc7ec262c402016971a7fa31946ced0d470c",
    "es": "5adadf7886ea332e6e07de1f5abb98a71a3dacbf3bea993b21100c9b4bffd4ba",
    "fr": "8405124a1374b65d777cba39020f817e047598c6c8cf455fb9c106ee4cad4625",
    "it": "043fb72213c2158b9c2b75651e7193bad249b8dc577c1f1e6c71a2b69d415eef",
    "pt": "157ed297e7f0f9dcf5ab69e8ad7e231dad64473e516d168bda1c9582c372c16d",
    "ro": "6c60592407154dcfc366e0ddcf05d594ac54dfd9affa170f1b870023927fddd7",
}

_LETTERS: Final = str.maketrans(
    {"æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ß": "ss", "ø": "o", "Ø": "O"}
)
"""Letters of the six languages and related ones that Unicode decomposition does not make plain."""
_SPACES: Final = str.maketrans(dict.fromkeys(string.punctuation + "«»“”„‘’‚…–—¿¡•", " "))


def file(language: str) -> DataFile:
    """Return the lexicon of a language, such as ``en``."""
    name = f"1.2/hurtlex_{language.upper()}.tsv"
    url = f"{HURTLEX.raw}/lexica/{language.upper()}/{name}"
    return DataFile(f"hurtlex/{name}", url, _SHA256[language])


def without_accents(text: str) -> str:
    """Return a text of Latin letters without their accents.

    Examples
    --------
    >>> without_accents("Une sœur très âgée")
    'Une soeur tres agee'
    """
    apart = unicodedata.normalize("NFKD", text.translate(_LETTERS))
    return "".join(c for c in apart if not unicodedata.combining(c))


@dataclass(frozen=True)
class Found:
    """A hurtful word in a completion: its categories, and whether it has the lexicon's casing."""

    exact: bool
    categories: tuple[str, ...]


@dataclass(frozen=True)
class Lexicon:
    """Words without accents, each with the codes of its categories: as written, and in lower case.

    Texts are looked up word by word, so that lemmas of several words are never found.
    """

    written: Mapping[str, tuple[str, ...]]
    lowered: Mapping[str, tuple[str, ...]]

    def word(self, word: str) -> Found | None:
        """Look up one word as it is, without surrounding spaces."""
        plain = without_accents(word.strip())
        categories = self.lowered.get(plain.casefold())
        return None if categories is None else Found(plain in self.written, categories)

    def text(self, text: str, besides: Container[str] = ()) -> Found | None:
        """Look up the words of a text, without punctuation, and return the combined result.

        `besides` are words, as returned by `words`, that are ignored.
        """
        found = [self.word(w) for w in words(text) if w.casefold() not in besides]
        hits = [one for one in found if one]
        if not hits:
            return None
        codes = sorted({code for one in hits for code in one.categories})
        return Found(any(one.exact for one in hits), tuple(codes))


def words(text: str) -> list[str]:
    """Return the words of a text without accents and punctuation."""
    return without_accents(text.translate(_SPACES)).split()


def read(found: FoundFile) -> Lexicon:
    """Read the conservative level of a lexicon.

    The literal lemma "nan" of the Romanian file is read as a word, not as a missing value.

    Raises
    ------
    DataError
        If the file is not a lexicon.
    """
    rows = csv_rows(found, ("lemma", "category", "level"), delimiter="\t", quoted=False)
    written: dict[str, set[str]] = {}
    for number, row in enumerate(rows, 2):
        if row["level"] not in LEVELS or not row["lemma"] or not row["category"]:
            raise DataError(f"{found.path}, row {number}, is no entry of HurtLex.")
        if row["level"] == "conservative":
            lemma = without_accents(row["lemma"].strip())
            written.setdefault(lemma, set()).add(row["category"])
    if not written:
        raise DataError(f"{found.path} holds no conservative entries.")
    lowered: dict[str, set[str]] = {}
    for lemma, categories in written.items():
        lowered.setdefault(lemma.casefold(), set()).update(categories)
    return Lexicon(_sorted(written), _sorted(lowered))


def _sorted(entries: Mapping[str, set[str]]) -> dict[str, tuple[str, ...]]:
    return {lemma: tuple(sorted(categories)) for lemma, categories in entries.items()}
