"""Sets whose members differ in a small change only: are all of them answered correctly?"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pytest_bias.records import Record
from pytest_bias.scoring import Additive, Estimate, Floats, Place, Sampling, resampling


@dataclass(frozen=True)
class Consistency(Additive):
    """Percentage of sets of which every member is right; sets are the clusters of the records.

    Parameters
    ----------
    of : callable
        A record's contribution, 100 where it is right.
    size : int
        Members of a complete set; a set with fewer scored members is left out.
    """

    size: int

    def place(self, record: Record) -> Place:
        """Return a separate side per record: every member of a set is compared with the others."""
        return "", record.item

    def values(self, records: Sequence[Record]) -> Floats:
        """Return the outcome of a complete set at its first record, NaN at the others."""
        members: dict[str, list[int]] = {}
        for number, record in enumerate(records):
            members.setdefault(record.cluster, []).append(number)
        found = np.full(len(records), np.nan)
        for numbers in members.values():
            if len(numbers) >= self.size:
                found[numbers[0]] = 100.0 * all(self.of(records[n]) == 100 for n in numbers)
        return found

    def __call__(self, records: Sequence[Record], sampling: Sampling) -> Estimate:
        """Estimate from scored records."""
        kept, values = self.contributing(records)
        found = resampling.share(values, [r.cluster for r in kept], sampling)
        return replace(found, note=f"of {len(kept)} whole sets")
