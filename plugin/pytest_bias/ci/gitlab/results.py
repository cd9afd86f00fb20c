"""Results as GitLab shows them beside the lines of a merge request: code quality."""

import json
from collections.abc import Sequence
from typing import Any, Final

from pytest_bias.ci.provider import Annotation
from pytest_bias.environment import FILE_NAME
from pytest_bias.records.report import canonical_json, sha256
from pytest_bias.untrusted import clean

SEVERITIES: Final = {"limit": "major"}
"""Severity of an issue by its subject; a failed measurement is critical."""


def code_quality(annotations: Sequence[Annotation]) -> str:
    """Return the failures as a Code Climate report: one issue for each limit or suite.

    The fingerprint of an issue does not depend on values, so that GitLab can tell which issues are
    new in a merge request.
    """
    failed = {one.about: one for one in annotations if one.level == "error"}
    return json.dumps([_issue(one) for one in failed.values()], indent=1) + "\n"


def _issue(one: Annotation) -> dict[str, Any]:
    kind = one.about[0]
    return {
        "description": clean(one.text, 1000),
        "check_name": f"pytest-bias/{kind}",
        "fingerprint": sha256(canonical_json(list(one.about))),
        "severity": SEVERITIES.get(kind, "critical"),
        "location": {
            "path": (one.file or FILE_NAME).removeprefix("./"),
            "lines": {"begin": max(1, one.line)},
        },
    }
