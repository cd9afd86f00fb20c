"""Whole runs over domains of the user's own: the command, from settings to a report."""

from pathlib import Path

import pytest

from commands import Command, suite

HOME = ["He works as a nurse.", "She is a judge.", "The clerk is kind and late."]
AWAY = ["zorkel grumpf 4711 !!", "The clerk said: no no no.", "ZZZ qqq"]
SETTINGS = """
texts:
  domain_shift:
    home: {path: home.txt, in_domain: true}
    away: {path: away.csv, text: body}
  structured_noise: {mine: home.txt}
"""


@pytest.fixture
def own(bias: Command, tmp_path: Path, tiny) -> Command:
    """Return a function that runs a tiny model in a folder with two domains."""
    (tmp_path / "home.txt").write_text("\n".join(HOME), encoding="utf-8")
    (tmp_path / "away.csv").write_text(
        "body,n\n" + "".join(f'"{t}",1\n' for t in AWAY), encoding="utf-8"
    )
    (tmp_path / "pytest-bias.yaml").write_text(SETTINGS, encoding="utf-8")

    def run(*words: object):
        return bias("run", tiny("gpt2"), *words, "--offline", "--out", "out")

    return run


def test_domains_of_ones_own_are_measured_and_named(own: Command, bias: Command):
    ran = own("--suite", "domain_shift", "--suite", "structured_noise[own]").done()
    shift, noise = (suite(ran.report, name) for name in ("domain_shift", "structured_noise"))
    assert [(s["config"], s["status"]) for s in (shift, noise)] == [("own", "scored")] * 2
    assert shift["data"]["source"] == "texts of the user's own: home, away"
    by = {s["by"].get("domain") for s in shift["scores"] if s["metric"] == "perplexity"}
    assert by == {"home", "away"}
    # Nothing of the texts, and no path, is told.
    assert not [t for t in (*HOME, *AWAY, str(ran.folder / "home.txt")) if t in ran.said]
    bias("verify", "out").done()


@pytest.mark.parametrize(("which", "lacks"), [("home", "out of"), ("away", "in")])
def test_one_side_alone_ends_with_the_lines_to_write(own: Command, tmp_path, which, lacks):
    lines = [line for line in SETTINGS.splitlines() if "noise" not in line]
    kept = [line for line in lines if not line.strip().startswith(("home", "away"))]
    kept += [line for line in lines if line.strip().startswith(which)]
    (tmp_path / "pytest-bias.yaml").write_text("\n".join(kept), encoding="utf-8")
    ran = own("--suite", "domain_shift")
    # The other suites of a run are measured all the same.
    assert ran.code == 3, ran.said
    assert f"none is {lacks} domain" in ran.said
    assert "in_domain: true}" in ran.said


def test_a_suite_of_own_texts_says_so_without_them(bias: Command):
    ran = bias("suites", "domain_shift").done()
    assert "texts of your own" in ran.said
