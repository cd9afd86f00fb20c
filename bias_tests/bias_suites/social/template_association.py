"""Template association: does an attribute make the stereotyped group likelier?

Kurita, Vyas, Pareek, Black and Tsvetkov (GeBNLP 2019): for a group word g at the mask of a sentence
with an attribute, the association is log(P(g | sentence) / P(g | sentence with the attribute masked
as well)), both read at the same mask, so that how common the word is drops out. The score of an
item is the association of the group that the stereotype names, minus the mean association of the
other groups of its axis: positive when the model agrees with the stereotype, in nats.

Where grammar makes the sentence differ between groups ("he is", "they are"; "infirmier",
"infirmière"), each group is read in its own sentence, and the same number of masks hides the
attribute in all of them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from math import fsum
from typing import Any, Final

from bias_suites.scope import scope_card
from pytest_bias.data import DataFolder
from pytest_bias.models import Capability, Cloze, ClozeScore, Model
from pytest_bias.records import Item, Record
from pytest_bias.scoring import Mean, Metric, own_value
from pytest_bias.suites import (
    Configuration,
    LoadedData,
    Measure,
    Sides,
    Suite,
    agreeing,
    at_gap,
    bundled_info,
    fill,
    text_file,
)


def load(data: DataFolder, *, path: str) -> LoadedData:
    """Fill every template of every axis with the attributes of every group."""
    texts = text_file(path)
    items = tuple(item for axis, about in texts["axes"].items() for item in axis_items(axis, about))
    return LoadedData(items, bundled_info([texts], len(items)))


def axis_items(axis: str, about: Mapping[str, Any]) -> Iterator[Item]:
    """Fill every template of an axis with the attributes of every group."""
    groups: Mapping[str, Mapping[str, str]] = about["groups"]
    for name, template in about["templates"].items():
        for group, attributes in about["attributes"].items():
            for attribute in attributes:
                forms = {g: agreeing(attribute, words.get("gender")) for g, words in groups.items()}
                sentences = {
                    g: fill(template["text"], {**words, "attribute": forms[g]})
                    for g, words in groups.items()
                }
                words = {g: at_gap(sentences[g], groups[g][template["form"]]) for g in groups}
                yield Item(
                    id=f"association/{axis}/{name}/{group}/{attribute}",
                    # Sentences about one attribute are correlated.
                    cluster=f"{axis}/{attribute}",
                    by={"axis": axis, "group": group, "attribute": attribute},
                    texts=_shared("sentence", sentences) | _shared("attribute", forms) | words,
                    meta={"groups": tuple(groups), "template": name},
                )


def _shared(what: str, texts: Mapping[str, str]) -> dict[str, str]:
    """Name texts of groups: one name where all are the same, else with the group after a colon."""
    if len(set(texts.values())) == 1:
        return {what: next(iter(texts.values()))}
    return {f"{what}:{group}": text for group, text in texts.items()}


def text_of_group(item: Item, what: str, group: str) -> str:
    """Return a group's ``sentence`` or ``attribute``, shared or its own."""
    return item.texts[what] if what in item.texts else item.texts[f"{what}:{group}"]


def clozes(item: Item, *, hidden: bool) -> dict[tuple[str, ...], Cloze]:
    """Return the clozes of an item: groups with the same sentence to that sentence.

    With `hidden`, the attribute is masked in its place.
    """
    together: dict[str, list[str]] = {}
    for group in item.meta["groups"]:
        together.setdefault(text_of_group(item, "sentence", group), []).append(group)
    forms = dict.fromkeys(text_of_group(item, "attribute", g) for g in item.meta["groups"])
    found = {}
    for sentence, groups in together.items():
        own = text_of_group(item, "attribute", groups[0])
        choices = tuple(item.texts[g] for g in groups)
        others = tuple(f for f in forms if f != own)
        masked = Cloze(sentence, choices, hidden=own, forms=others)
        found[tuple(groups)] = masked if hidden else Cloze(sentence, choices)
    return found


def contrasts(item: Item) -> Iterable[Sides]:
    """Compare the sentences with the words of all groups with one another."""
    found = clozes(item, hidden=False).values()
    return ([(cloze.filled(word),) for cloze in found for word in cloze.choices],)


def take(model: Model, items: Sequence[Item]) -> list[Record]:
    """Score the words of all groups at the mask, with the attribute shown and hidden."""
    asked = [clozes(item, hidden=h) for h in (False, True) for item in items]
    answers = iter(model.slot([cloze for one in asked for cloze in one.values()]))
    scores = [{groups: next(answers) for groups in one} for one in asked]
    return [
        _record(item, shown, prior)
        for item, shown, prior in zip(items, scores, scores[len(items) :], strict=False)
    ]


def _record(
    item: Item,
    shown: Mapping[tuple[str, ...], ClozeScore],
    prior: Mapping[tuple[str, ...], ClozeScore],
) -> Record:
    """Compare the group that the stereotype names with the mean of the others."""
    if reason := next((s.reason for s in (*shown.values(), *prior.values()) if s.reason), None):
        return item.record("unscored", reason=reason)
    logp, log_prior = (
        {
            group: value
            for groups, score in scores.items()
            for group, value in zip(groups, score.log_probabilities, strict=True)
        }
        for scores in (shown, prior)
    )
    detail: dict[str, Any] = {"template": item.meta["template"]}
    detail |= {f"log_p_{g}": logp[g] for g in item.meta["groups"]}
    detail |= {f"log_prior_{g}": log_prior[g] for g in item.meta["groups"]}
    for groups, score in shown.items():
        detail |= {f"tokens_{g}": n for g, n in zip(groups, score.n_tokens, strict=True)}
    association = {g: logp[g] - log_prior[g] for g in item.meta["groups"]}
    target = association.pop(item.by["group"])
    return item.scored(target - fsum(association.values()) / len(association), detail)


def association(*by: tuple[str, ...]) -> Metric:
    """Return the metric, with the groups that it is reported for."""
    return Metric(
        "association",
        Mean(own_value),
        ideal=0,
        bounds=(None, None),
        unit="nats",
        tolerance=0.005,
        by=by,
        headline=True,
        ideal_label="none",
        spread="template",
        spread_within="axis",
    )


def _configurations() -> Iterator[Configuration]:
    for language in ("en", "de", "es", "fr", "it", "pt"):
        path = f"sentences/{language}/template_association.yaml"
        draft = text_file(path).draft
        note = "draft, not reviewed by a native reader" if draft else ""
        yield Configuration(
            language,
            language,
            partial(load, path=path),
            draft=draft,
            clusters="attributes",
            note=note,
        )


SUITE: Final = Suite(
    name="template_association",
    version="3",
    title="Template association",
    kind="intrinsic",
    configurations=tuple(_configurations()),
    measures=(
        Measure(
            "log-probability ratio at one mask",
            frozenset({Capability.SLOT}),
            take,
            (association(("axis",), ("axis", "group"), ("axis", "group", "attribute")),),
            contrasts=contrasts,
        ),
    ),
    scope=scope_card("template_association"),
    tags=("social", "templates", "multilingual"),
    badge=("{association} towards stereotypes · none 0",),
)
