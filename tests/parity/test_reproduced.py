"""A report comes out again: with another number of threads, and on a GPU, in the same precision."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from pytest_bias.engine import session
from pytest_bias.engine.planning import describe_for, plan
from pytest_bias.evidence.reproduction import Party, Reproduction
from pytest_bias.evidence.reproduction_compare import reproduction
from pytest_bias.records.report import Report
from pytest_bias.settings.settings import Settings

SUITES = ("gendered_pair_entropy", "template_association", "seat")


def measured(model: Path | str, device: str = "cpu", dtype: str = "float32") -> Report:
    settings = Settings(suites=SUITES, languages=("en",), device=device, dtype=dtype, offline=True)
    return session.run(session.Session(plan(describe_for(settings, str(model)), settings)))


def side_by_side(one: Report, two: Report) -> Reproduction:
    return reproduction(one, two, "here", Party())


@pytest.fixture
def _threads():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.slow
@pytest.mark.usefixtures("_threads")
def test_one_thread_and_two_give_one_digest():
    reports = []
    for n in (1, 2):
        torch.set_num_threads(n)
        reports.append(measured("demo"))
    found = side_by_side(*reports)
    assert found.of == found.report
    assert (found.verdict, found.n("agrees")) == ("agrees", 3)


@pytest.mark.slow
def test_another_precision_is_not_compared():
    one = measured("demo")
    two = replace(one, model=replace(one.model, dtype="bfloat16"))
    assert side_by_side(one, two).verdict == "not comparable"


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="this PyTorch sees no GPU")
def test_a_gpu_agrees_with_the_cpu_in_float32(checkpoint):
    for model in ("demo", checkpoint("bert-tiny")):
        found = side_by_side(measured(model), measured(model, "cuda:0"))
        assert found.verdict == "agrees"
        assert all(s.n_same == s.n for s in found.suites)
