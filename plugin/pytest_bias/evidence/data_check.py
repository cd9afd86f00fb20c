"""Check that a suite was run on its own data: on all items or on a proper sample.

The digest of the files must be the pinned one. Where the data are available, the records are
compared with them item by item: texts, groups, clusters, and items decided by the data alone. No
item may be duplicated or left out, and a sample must be a prefix of the order of samples.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from pytest_bias.data.sources import DataFolder, pinned
from pytest_bias.engine.sampling import Block, Cluster, extent, in_order, quick_items
from pytest_bias.errors import BiasError
from pytest_bias.evidence.checks import Check, Outcome
from pytest_bias.records.report import (
    DataInfo,
    Item,
    Json,
    Record,
    Report,
    SuiteResult,
    canonical_json,
    items_digest,
    sha256,
)
from pytest_bias.settings.settings import Settings
from pytest_bias.suites.suite import LoadedData

NAME: Final = "data"


def data_check(suite: SuiteResult, settings: Settings, report: Report, *, published: bool) -> Check:
    """Check that a suite was run on its own data.

    Parameters
    ----------
    suite : SuiteResult
        With its records.
    settings : Settings
        Where to look for data.
    report : Report
        The report of the suite; its settings say which sample was taken.
    published : bool
        Whether the report is published, and so may not rest on changed copies of the data.
    """
    try:
        definition = settings.catalogue.find(suite.name)
        configuration = definition.configuration(suite.config)
    except BiasError as error:
        return Check(NAME, "unknown", error.message)
    if definition.version != suite.version:
        return Check(NAME, "unknown", f"version {suite.version} of the suite is not installed")
    data = suite.data
    if data is None or data.sha256 is None:
        return Check(NAME, "fails", "the report does not say which data were used")
    expected = pinned(configuration.files, data.source) if configuration.files else None
    if expected and data.sha256 != expected:
        told = f"{data.sha256[:12]} was used, {expected[:12]} is pinned"
        # The user's own copies may be changed; published results may not rest on them.
        outcome: Outcome = "unverified" if data.local and not published else "fails"
        return Check(NAME, outcome, f"not the data of {suite.entry}: {told}")
    loaded = _at_hand(suite, settings)
    problems = [*_of_records(suite.records, data)]
    if loaded and not problems:
        problems = [
            *_of_data(data, loaded.info),
            *_of_items(suite, loaded.items, report, _block(suite, settings)),
        ]
    if problems:
        return Check(NAME, "fails", problems[0])
    if loaded is None:
        if expected and not published:
            return Check(NAME, "holds", "the pinned file, not at hand: no item compared")
        what = "the pinned file" if expected else "the data, which are not pinned as one file,"
        fetch = f"--data-dir DIR, or pytest-bias data fetch --suite {suite.name}"
        told = f"{what} not at hand, so no item was compared with it: {fetch}"
        return Check(NAME, "unknown", told)
    if suite.sampled is not None and _is_shard(report):
        return Check(NAME, "unknown", "one shard of a run: pytest-bias merge joins the shards")
    return Check(NAME, "holds", "every item as in the data")


def _at_hand(suite: SuiteResult, settings: Settings) -> LoadedData | None:
    definition = settings.catalogue.find(suite.name)
    configuration = definition.configuration(suite.config)
    # Reading files that the user has fetched already needs no new consent.
    accepted = {suite.name: ", ".join(source.licence for source in configuration.consents)}
    folder = DataFolder(settings.data_dir, offline=True, accepted=accepted, texts=settings.texts)
    try:
        return configuration.load(folder.of(suite.name))
    except BiasError:
        return None


def _of_records(records: Sequence[Record], data: DataInfo) -> Iterator[str]:
    """Yield what is wrong with records, independently of the data."""
    if twice := len(records) - len({r.item for r in records}):
        yield f"{twice} records are of an item that has one already"
    if items_digest(records) != data.items_sha256:
        yield "the records are of other items than the report says"
    counted = sum(r.status != "excluded" for r in records)
    if data.n_items != counted:
        yield f"{data.n_items} items are stated, the records have {counted}"


def _of_data(stated: DataInfo, found: DataInfo) -> Iterator[str]:
    if stated.sha256 != found.sha256:
        yield "other data than those that are here"
    for name in ("source", "licence", "visibility"):
        one, other = (getattr(info, name) for info in (stated, found))
        if one != other:
            yield f"{name} is given as {one}, it is {other}"


def _block(suite: SuiteResult, settings: Settings) -> Block | None:
    return settings.catalogue.find(suite.name).configuration(suite.config).block


def _of_items(
    suite: SuiteResult, items: Sequence[Item], report: Report, block: Block | None
) -> Iterator[str]:
    """Yield how the records differ from the items of the data."""
    known = {i.id: i for i in items}
    if unknown := [r.item for r in suite.records if r.item not in known]:
        yield f"{len(unknown)} items are not in the data: {unknown[0]}"
        return
    pairs = [(r, known[r.item]) for r in suite.records]
    if other := [i.id for r, i in pairs if r.text_sha256 != sha256(canonical_json(dict(i.texts)))]:
        yield f"{len(other)} items have another text: {other[0]}"
    if other := [i.id for r, i in pairs if (r.cluster, dict(r.by)) != (i.cluster, dict(i.by))]:
        yield f"{len(other)} items are in another group or cluster: {other[0]}"
    if other := [
        i.id for r, i in pairs if i.status and (r.status, r.reason) != (i.status, i.reason)
    ]:
        yield f"{len(other)} items count that the data leave out, or the other way: {other[0]}"
    taken = {r.item for r in suite.records}
    if suite.sampled is None and len(taken) < len(items):
        yield f"{len(items) - len(taken)} of {len(items)} items are not in the records"
        return
    sampled, of = extent(items, taken)
    if (sampled, of) != (suite.sampled, suite.n_available):
        said = f"{suite.sampled} of {suite.n_available}"
        yield f"a sample of {said} items is stated, it is {sampled or 'all'} of {of or len(items)}"
    elif suite.sampled is not None and not _is_shard(report):
        yield from _of_sample(taken, items, report.settings, block)


def _of_sample(
    taken: set[str], items: Sequence[Item], stated: Mapping[str, Json], block: Block | None
) -> Iterator[str]:
    """Yield signs that items were hand-picked: every sample is a prefix of one order."""
    seed, is_quick = stated.get("seed"), stated.get("profile") == "quick"
    if not isinstance(seed, int):
        yield "no seed is stated by which they were taken"
        return
    order = in_order(quick_items(items, seed, block) if is_quick else items, seed)
    left = set(taken)
    for cluster in order.quick() if is_quick else order.clusters:
        if not left:
            return
        if not _ids(cluster) <= left:
            break
        left -= _ids(cluster)
    if left:
        what = "--profile quick" if is_quick else "a run under --budget"
        yield f"the items are not those that {what} takes with the seed {seed}"


def _is_shard(report: Report) -> bool:
    shard = report.run.get("shard")
    return isinstance(shard, Mapping) and bool(shard.get("part"))


def _ids(cluster: Cluster) -> set[str]:
    return {item.id for item in cluster}
