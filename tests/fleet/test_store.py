"""Where a fleet keeps what it measures: a folder, and a file system that is none."""

from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest

from pytest_bias.errors import OutputError
from pytest_bias.fleet.store import Store


@pytest.fixture(params=["folder", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    if request.param == "folder":
        yield Store(str(tmp_path / "out"))
        return
    files = fsspec.filesystem("memory")
    files.pipe_file("/fleet/other", b"")
    yield Store("memory://fleet/out")
    files.rm("/fleet", recursive=True)


def test_written_is_read(store: Store) -> None:
    assert store.read("a/b.json") is None
    store.write("a/b.json", b"one")
    store.write("a/b.json", b"two")
    assert store.read("a/b.json") == b"two"
    # What is in the way of a name is no file of that name.
    assert store.read("a/b.json/c") is None


def test_folders_go_there_and_back(store: Store, tmp_path: Path) -> None:
    own = tmp_path / "own"
    (own / "records").mkdir(parents=True)
    (own / "report.json").write_text("{}")
    (own / "records" / "crows_pairs[en].parquet").write_bytes(b"\0\1")
    store.put(own, "model-1", last="report.json")
    store.get("model-1", tmp_path / "back")
    back = tmp_path / "back"
    assert sorted(p.relative_to(back).as_posix() for p in back.rglob("*") if p.is_file()) == [
        "records/crows_pairs[en].parquet",
        "report.json",
    ]
    assert (back / "records" / "crows_pairs[en].parquet").read_bytes() == b"\0\1"


def test_the_last_file_is_written_last(store: Store, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    for name in ("a", "report.json", "z"):
        (own / name).write_text(name)
    written: list[str] = []
    inner = store.write

    def noted(name: str, content: bytes) -> None:
        written.append(name)
        inner(name, content)

    store.write = noted  # type: ignore[method-assign]
    store.put(own, "m", last="report.json")
    assert written == ["m/a", "m/z", "m/report.json"]


def test_removing(store: Store) -> None:
    store.write("unfinished/k/1-of-2/a.json.gz", b"x")
    store.remove("unfinished/k")
    store.remove("unfinished/k")
    assert store.read("unfinished/k/1-of-2/a.json.gz") is None


def test_nothing_half_is_left(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    store.write("a", b"x")
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_addresses_in_words(tmp_path: Path) -> None:
    assert Store(str(tmp_path)).path("index.html") == str(tmp_path / "index.html")
    assert Store("memory://fleet/").path("index.html") == "memory://fleet/index.html"


@pytest.mark.parametrize(
    ("url", "words"), [("nowhere://x", "Protocol not known"), ("s3://bucket/x", "s3fs")]
)
def test_wrong_addresses(url: str, words: str) -> None:
    with pytest.raises(OutputError, match=words) as error:
        Store(url)
    assert "s3://bucket/folder" in (error.value.hint or "")


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be written"):
        Store(str(tmp_path / "file")).write("a/b", b"x")
