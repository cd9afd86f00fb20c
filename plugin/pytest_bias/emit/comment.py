"""Temporary."""
from typing import Any
def render(report: Any, decision: Any, *, problem: str = "", links: Any = ()) -> str:
    return f"{decision.get('status')} {problem}"
def limit_in_words(outcome: Any) -> str:
    return f"{outcome['limit']}: {outcome['verdict']}"
