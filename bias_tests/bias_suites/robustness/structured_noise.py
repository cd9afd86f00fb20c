"""Structured noise: does a model predict the same words as well in a page of HTML?

Text collected from the web comes with its markup. Half of the articles that Peyrard et al. (2022,
Invariant Language Modeling, section 4.1) train on are HTML pages, a noise of the source that is
not about the language. Here the words of a text are scored once as they are, and once inside a
page, conditioned there on everything around them.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from bias_suites.perplexities import measured, metrics, number, per
from bias_suites.robustness.html_pages import page, style_of, words_of
from bias_suites.scope import scope_card
from bias_suites.wikitext import (
    UNKNOWN,
    WIKITEXT,
    WIKITEXT_SOURCE,
    read_test_set,
    sentences_of,
)
from pytest_bias.data import DataFolder, describe_files
from pytest_bias.models import Capability, Model, Passage
from pytest_bias.records import Item, Record, Value
from pytest_bias.scoring import Metric, Rate
from pytest_bias.suites import (
    Configuration,
    LoadedData,
    Measure,
    Suite,
    bundled_info,
    describe_texts,
    load_texts,
    text_file,
)

TEXTS: Final = "sentences/en/plain_passages.yaml"
CLEAN, HTML = "clean", "html"
LEAST_WORDS: Final = 10
"""Fewest words of a sentence of Wikitext-2 that is used."""


def load(data: DataFolder) -> LoadedData:
    """Return the bundled passages, each clean and as a page, in one style per register."""
    texts = text_file(TEXTS)
    items = tuple(
        item
        for register, passages in texts["registers"].items()
        for n, text in enumerate(passages)
        for item in versions(f"noise/{register}/{n:02d}", text, n)
    )
    return LoadedData(items, bundled_info([texts], len(items)))


def load_wikitext(data: DataFolder) -> LoadedData:
    """Return the sentences of the Wikitext-2 test set, without those with ``<unk>``."""
    found, text = read_test_set(data)
    items: list[Item] = []
    taken = 0
    for n, (line, sentence) in enumerate(sentences_of(text)):
        if len(sentence.split()) < LEAST_WORDS:
            continue
        name, cluster = f"noise/wikitext2/{n:05d}", f"{line:05d}"
        if UNKNOWN in sentence:
            reason = f"holds {UNKNOWN}"
            items.append(Item(name, cluster, {"text": sentence}, status="excluded", reason=reason))
            continue
        items += versions(name, sentence, taken, cluster)
        taken += 1
    return LoadedData(tuple(items), describe_files(WIKITEXT_SOURCE, [found], len(items)))


def load_own(data: DataFolder) -> LoadedData:
    """Return the user's own texts, each clean and as a page."""
    found = load_texts(data)
    items = tuple(
        item
        for texts in found
        for n, row in enumerate(texts.rows)
        for item in versions(
            f"noise/{texts.source.name}/{row.row:06d}", row.text, n, why_empty=texts.why_empty(row)
        )
    )
    return LoadedData(items, describe_texts(found, len(items)))


def versions(
    name: str, text: str, number: int, cluster: str = "", *, why_empty: str = "empty text"
) -> Iterator[Item]:
    """Yield a text as it is and as a page, one cluster; the style follows from its number."""
    style = style_of(number)
    found = page(text, style)
    for domain, version, words in ((CLEAN, text, words_of(text)), (HTML, found.html, found.words)):
        yield Item(
            id=f"{name}/{domain}",
            cluster=cluster or name,
            texts={"text": version},
            by={"domain": domain, "style": style},
            meta={"name": name, "plain": text, "words": words},
            status=None if words else "unscored",
            reason=None if words else why_empty,
        )


def take(model: Model, items: Sequence[Item], *, whole: bool) -> list[Record]:
    """Score the words of every version; a text counts if both of its versions were scored.

    Parameters
    ----------
    model : Model
        Any model with a log-likelihood, of either kind.
    items : sequence of Item
        Both versions of every text.
    whole : bool
        Whether pages are scored with their markup as well, which is free for a causal model.
    """
    asked = [Passage(i.texts["text"], i.meta["words"]) for i in items]
    pages = [i for i in items if whole and i.by["domain"] == HTML]
    scores = model.score_long([*asked, *(i.texts["text"] for i in pages)])
    of_page = dict(zip((i.id for i in pages), scores[len(items) :], strict=True))
    records = []
    for item, score in zip(items, scores[: len(items)], strict=True):
        more: dict[str, Value] = {}
        if page_score := of_page.get(item.id):
            characters = len(item.texts["text"])
            more = {"page_nats": -page_score.total, "page_characters": characters}
        records.append(measured(item, score, item.meta["plain"], **more))
    both = list(zip(items, records, strict=True))
    failed = {i.meta["name"]: r.reason for i, r in both if r.status != "scored"}
    return [
        i.record("unscored", reason=f"its other version: {failed[i.meta['name']]}")
        if r.status == "scored" and i.meta["name"] in failed
        else r
        for i, r in both
    ]


def _text(record: Record) -> str:
    """Return the text of a version; a line of Wikitext-2 has several."""
    return record.item.rpartition("/")[0]


_METRICS: Final = metrics("domain", HTML, CLEAN, ("style",), block=_text)
_PAGE: Final = Metric(
    "page_nats_per_character",
    Rate(per("page_characters", "page_nats"), number("page_characters")),
    ideal=0,
    bounds=(0, None),
    unit="nats",
    tolerance=0.005,
    where=lambda record: record.by.get("domain") == HTML,
)

_OPEN: Final = frozenset({Capability.OPEN_VOCABULARY})

SUITE: Final = Suite(
    name="structured_noise",
    version="1",
    title="Structured noise",
    kind="robustness",
    configurations=(
        Configuration(
            "en", "en", load, needs=_OPEN, clusters="texts", note="bundled plain passages"
        ),
        Configuration(
            "en-wikitext2",
            "en",
            load_wikitext,
            files=(WIKITEXT,),
            needs=_OPEN,
            only_full=True,
            clusters="lines",
            note="sentences of the Wikitext-2 test set",
        ),
        Configuration(
            "own",
            "",
            load_own,
            needs=_OPEN,
            own_texts=True,
            clusters="texts",
            note="texts of your own",
        ),
    ),
    measures=(
        Measure(
            "pseudo-log-likelihood of the words",
            frozenset({Capability.PSEUDO_LOG_LIKELIHOOD}),
            partial(take, whole=False),
            _METRICS,
        ),
        Measure(
            "log-likelihood of the words",
            frozenset({Capability.LOG_LIKELIHOOD}),
            partial(take, whole=True),
            (*_METRICS, _PAGE),
        ),
    ),
    scope=scope_card("structured_noise"),
    tags=("robustness",),
    badge=("perplexity in HTML {perplexity_ratio:bare} of clean · unmoved 1",),
)
