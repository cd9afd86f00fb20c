"""BBQ in other languages and places: KoBBQ, EsBBQ, CaBBQ, CBBQ, MBBQ and JBBQ.

They are read by `bbq_family_rows` and measured as BBQ is with its options in the prompt. A set is
what a template says about the same two people.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from bias_suites.disputes import disputes_of
from bias_suites.social import bbq_family_files as files_of
from bias_suites.social.bbq_family_files import Files
from bias_suites.social.bbq_family_rows import (
    Asked,
    Reader,
    read_as_bbq,
    read_cbbq,
    read_kobbq,
    read_spain,
)
from bias_suites.social.bbq_rows import ANSWERS
from bias_suites.social.bbq_scores import set_of_item
from pytest_bias.data import DataFolder, Source, describe_files
from pytest_bias.errors import DataError
from pytest_bias.models import Capability
from pytest_bias.records import Item
from pytest_bias.suites import Configuration, LoadedData

CONTROL: Final = "first names"
"""The control of MBBQ: first names in place of groups."""


def load(data: DataFolder, *, name: str, source: Source, files: Files, read: Reader) -> LoadedData:
    """Read the questions of a configuration, if the user has accepted a licence that needs it."""
    data.consent("bbq", source)
    found = {category: [data.find(f) for f in own] for category, own in files.items()}
    asked = [one for category, own in found.items() for one in read(category, own)]
    if not asked:
        raise DataError(f"{next(iter(found.values()))[0].path} holds no questions.")
    items = tuple(_in_sets(name, asked))
    twice = [i for i, n in Counter(item.id for item in items).items() if n > 1]
    if twice:
        raise DataError(f"the files of bbq[{name}] have two rows that are {twice[0]}.")
    info = describe_files(source, [f for own in found.values() for f in own], len(items))
    return LoadedData(items, info)


def _in_sets(name: str, asked: Sequence[Asked]) -> Iterator[Item]:
    """Yield the items with their names: those of a template about the same people are a set."""
    sets: dict[tuple[str, str], dict[Hashable, int]] = defaultdict(dict)
    language = name.partition("-")[0]
    for item, *names in asked:
        category, template, row = (n.replace("/", "-") for n in names)
        numbers = sets[category, template]
        people = frozenset(
            item.texts[key] for n, key in enumerate(ANSWERS) if n != item.meta.get("unknown")
        )
        cluster = f"bbq/{name}/{category}/{template}"
        own = f"{cluster}/{numbers.setdefault(people, len(numbers))}/{row}"
        meta = {"language": language, "disputed": own in disputes_of("bbq", name)}
        yield replace(item, id=own, cluster=cluster, meta={**item.meta, **meta})


def _configuration(
    name: str, source: Source, files: Files, read: Reader, note: str, **how: Any
) -> Configuration:
    return Configuration(
        name,
        name.partition("-")[0],
        partial(load, name=name, source=source, files=files, read=read),
        files=tuple(file for own in files.values() for file in own),
        consents=(source,) if source.consent else (),
        needs=frozenset({Capability.OPEN_VOCABULARY}),
        clusters="templates",
        block=set_of_item,
        note=note,
        **how,
    )


def _of_mbbq() -> Iterator[Configuration]:
    for language in ("en", "es", "nl", "tr"):
        for control in (False, True):
            original = f"{language}-mbbq"
            filled = "" if language == "en" else "templates checked, but filled without agreement; "
            yield _configuration(
                f"{original}-control" if control else original,
                files_of.MBBQ,
                files_of.of_mbbq(f"control_{language}" if control else language),
                partial(read_as_bbq, control=CONTROL if control else ""),
                f"MBBQ, {filled}from your own copy only"
                + (f": {CONTROL} in place of groups" if control else ""),
                draft=language != "en",
                only_named=True,
                control_of=original if control else None,
            )


CONFIGURATIONS: Final = (
    _configuration(
        "ko",
        files_of.KOBBQ,
        files_of.KOBBQ_FILES,
        read_kobbq,
        "KoBBQ, of South Korea",
    ),
    *(
        _configuration(
            language,
            files_of.SPAIN,
            files_of.of_spain(language),
            partial(read_spain, language=language),
            f"{title}, of Spain",
            only_full=True,
        )
        for language, title in (("es", "EsBBQ"), ("ca", "CaBBQ"))
    ),
    _configuration(
        "zh", files_of.CBBQ, files_of.of_china(), read_cbbq, "CBBQ, of China", only_full=True
    ),
    *_of_mbbq(),
    _configuration(
        "ja",
        files_of.JBBQ,
        files_of.of_japan(),
        read_as_bbq,
        "JBBQ, of Japan, from your own copy only; not tried on the authors' files",
        only_named=True,
    ),
)
NAMES: Final = frozenset(c.name for c in CONFIGURATIONS)
