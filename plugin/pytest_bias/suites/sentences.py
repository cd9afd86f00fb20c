"""Bundled texts: YAML files of templates and words, and the sentences made from them.

A file states its language, its author, its reviewer and whether it is a draft. A template has one
`GAP` and fields in braces; ``{a occupation}`` adds the English article of the word.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

import yaml

from pytest_bias.errors import DataError
from pytest_bias.models.interface import GAP
from pytest_bias.records.report import DataInfo, sha256

REQUIRED: Final = ("language", "made_by", "reviewed_by", "status")
STATUSES: Final = ("draft", "reviewed")

GENDERS: Final = ("masculine", "feminine")

FIELD: Final = re.compile(r"\{(a )?(\w+)\}")
"""A field of a template: its name is the second group."""
_VOWEL = re.compile(
    r"(?!(?:us[eu]|uni(?:[cfqtv]|on)|ukr|ur[aeo]|one|eu))(?:[aeiou]|hour|hono|hones|heir)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class TextFile:
    """One bundled YAML file."""

    path: str
    content: Mapping[str, Any]
    sha256: str

    @property
    def draft(self) -> bool:
        """Whether the texts are not reviewed yet."""
        return bool(self.content["status"] == "draft")

    def __getitem__(self, key: str) -> Any:
        return self.content[key]


@cache
def text_file(path: str) -> TextFile:
    """Read a bundled file, such as ``words/en/occupations.yaml``, and check its statements.

    Raises
    ------
    DataError
        If a statement that every file has to make is missing or invalid.
    """
    text = files("bias_templates").joinpath(path).read_text(encoding="utf-8")
    content = yaml.safe_load(text)
    missing = [key for key in REQUIRED if key not in content]
    if missing:
        raise DataError(f"{path} does not state {', '.join(missing)}.")
    if content["status"] not in STATUSES:
        raise DataError(f"{path}: status is {content['status']!r}, not one of {STATUSES}.")
    if content["status"] == "reviewed" and not content["reviewed_by"]:
        raise DataError(f"{path} is marked reviewed but names no reviewer.")
    return TextFile(path, content, sha256(text.replace("\r\n", "\n")))


def bundled_info(used: Sequence[TextFile], n_items: int) -> DataInfo:
    """Describe bundled texts for the report; the digest is that of the files used."""
    digest = sha256("".join(sorted(f"{f.sha256}  {f.path}\n" for f in used)))
    return DataInfo(
        source="bundled with pytest-bias", licence="Apache-2.0", sha256=digest, n_items=n_items
    )


def fill(template: str, words: Mapping[str, str]) -> str:
    """Put words into the fields of a template.

    Examples
    --------
    >>> fill("[MASK] is {a job}.", {"job": "engineer"})
    '[MASK] is an engineer.'
    """

    def put(match: re.Match[str]) -> str:
        word = words[match[2]]
        return f"{article(word)} {word}" if match[1] else word

    return FIELD.sub(put, template)


def article(word: str) -> str:
    """Return the English indefinite article of a word."""
    return "an" if _VOWEL.match(word) else "a"


def at_gap(text: str, word: str) -> str:
    """Return a word in the casing that the gap requires: capitalised at the start of the text.

    Examples
    --------
    >>> at_gap("[MASK] is tall.", "he"), at_gap("The [MASK] is tall.", "man")
    ('He', 'man')
    """
    return word[:1].upper() + word[1:] if text.startswith(GAP) else word


def agreeing(words: str, gender: str | None) -> str:
    """Return the form of a word that agrees with a grammatical gender.

    The forms of a word are separated by a slash, the masculine one first; a word without a slash,
    or for a group without `gender`, stays as it is.

    Examples
    --------
    >>> agreeing("infirmier/infirmière", "feminine"), agreeing("pilote", "feminine")
    ('infirmière', 'pilote')
    """
    if gender is None or "/" not in words:
        return words
    return dict(zip(GENDERS, pair(words), strict=True))[gender]


def pair(words: str) -> tuple[str, str]:
    """Split ``he/she`` into its two words, the male one first."""
    male, _, female = words.partition("/")
    return male, female
