"""What a model is given on a cluster, computed by hand."""

import pytest

from pytest_bias.fleet.needs import AROUND, GIB, GPU_ROOM, Hosts, Needs, n_parts, needs

CPUS = Hosts(cpus=8, memory=64 * GIB)
H200 = Hosts(cpus=16, memory=100 * GIB, gpus=8, gpu_memory=140 * GIB)


@pytest.mark.parametrize(
    ("parameters", "cores"),
    [(4_400_000, 1), (499_999_999, 1), (500_000_000, 2), (1_500_000_000, 4), (70_000_000_000, 8)],
)
def test_larger_models_have_more_cores(parameters: int, cores: int) -> None:
    assert needs(parameters, 4, CPUS).cpus == cores


def test_memory_on_a_cpu() -> None:
    # float32 twice below a billion parameters, once above; a fifth more; two GiB around. Rounded
    # up to a quarter power of two: 960 MB to 2**30, 9.6 GB to 2**33.25.
    assert needs(100_000_000, 2, CPUS) == Needs(1, 0, 1_073_741_824 + AROUND)
    assert needs(2_000_000_000, 2, CPUS) == Needs(5, 0, 10_215_211_335 + AROUND)


def test_models_of_about_a_size_are_given_the_same() -> None:
    assert needs(80_000, 4, CPUS) == needs(22_000_000, 4, CPUS) == Needs(1, 0, GIB // 4 + AROUND)
    assert needs(109_000_000, 4, CPUS) == needs(110_000_000, 4, CPUS)
    assert needs(124_000_000, 2, H200) == needs(109_000_000, 2, H200)
    assert needs(110_000_000, 4, CPUS) != needs(135_000_000, 4, CPUS)


def test_nothing_is_asked_that_no_machine_has() -> None:
    assert needs(70_000_000_000, 2, CPUS) == Needs(8, 0, 64 * GIB)
    few = Hosts(cpus=2, memory=100 * GIB, gpus=2, gpu_memory=24 * GIB)
    assert needs(400_000_000_000, 2, few) == Needs(2, 2, 100 * GIB, spread=True)


def test_a_small_model_shares_a_gpu() -> None:
    found = needs(110_000_000, 2, H200)
    wanted = (1.2 * 2 * 110_000_000 + GPU_ROOM) / (140 * GIB)
    assert wanted <= found.gpus < wanted + 0.01
    assert int(1 / wanted) == int(1 / found.gpus) == 11
    assert found.gpus == 0.0909
    assert not found.spread


def test_a_large_model_has_several_gpus() -> None:
    # 1.2 times 140 GB of weights and 12 GiB beside them: 180.9e9 of 150.3e9 bytes.
    assert needs(70_000_000_000, 2, H200) == Needs(2, 2, 100 * GIB, spread=True)


def test_gpus_that_could_not_be_asked_are_given_whole() -> None:
    unknown = Hosts(cpus=4, memory=16 * GIB, gpus=1)
    assert needs(110_000_000, 4, unknown) == Needs(1, 1, AROUND + 451_452_826)


def test_a_model_that_does_not_tell_counts_as_a_billion() -> None:
    assert needs(None, 4, CPUS) == needs(1_000_000_000, 4, CPUS)


def test_the_user_says_how_many_cores() -> None:
    assert needs(4_400_000, 4, CPUS, 3).cpus == 3
    assert needs(4_400_000, 4, CPUS, 30).cpus == 8


@pytest.mark.parametrize(
    ("seconds", "clusters", "parts"),
    [
        (0.0, 5, 1),
        (599.0, 100, 1),
        (601.0, 100, 2),
        (6000.0, 100, 10),
        (6000.0, 3, 3),
        (6e9, 10**6, 1000),
    ],
)
def test_parts(seconds: float, clusters: int, parts: int) -> None:
    assert n_parts(seconds, clusters) == parts
