"""Webdatasets that CLIP_benchmark's task ``image_caption_selection`` reads.

One for each benchmark, track and family: ``<benchmark>/<track>/<family>/test/<n>.tar`` with a
picture and a text file for each item: the right caption on the first line, which is where that task
looks for it, then the false ones. All items of a webdataset must have equally many captions there,
so the last false caption is repeated; that changes no maximum.
"""

import io
import tarfile
from collections.abc import Iterator
from pathlib import Path

from bindbench.candidates import candidate_space
from bindbench.errors import UserError
from bindbench.evaluation import BuiltBenchmark
from bindbench.exporting.items import Exported, Item, families_of, in_family, new_folder, shards
from bindbench.tasks import TRACKS, get_benchmark

SPLIT = "test"  # the only one that CLIP_benchmark looks for by itself


def export(suite: Exported, out: Path) -> dict[str, int]:
    """Write the webdatasets; return how many items each holds, by its path in the folder.

    Raises:
        UserError: the folder is not empty.
    """
    with new_folder(out) as folder:
        found: dict[str, int] = {}
        for benchmark in suite.benchmarks:
            for name, count in _write_benchmark(benchmark, folder):
                found[name] = found.get(name, 0) + count
        return found


def _write_benchmark(benchmark: BuiltBenchmark, folder: Path) -> Iterator[tuple[str, int]]:
    written: dict[str, int] = {}  # tars of each webdataset
    for part in shards(benchmark):
        for track in TRACKS:
            for family in families_of(benchmark.key):
                members = list(_members(benchmark, part[track], family))
                name = f"{benchmark.key}/{track}/{family}"
                if members:
                    _write_tar(folder / name / SPLIT / f"{written.get(name, 0)}.tar", members)
                    written[name] = written.get(name, 0) + 1
                    yield name, len(members)
    for name, count in written.items():
        home = folder / name
        (home / SPLIT / "nshards.txt").write_text(f"{count}\n")
        # A list of captions for each image: what CLIP_benchmark calls retrieval.
        (home / "dataset_type.txt").write_text("retrieval\n")


def _members(
    benchmark: BuiltBenchmark, items: list[Item], family: str
) -> Iterator[tuple[str, bytes, str]]:
    """Yield the name, picture and lines of each item that has a false caption."""
    most = _most(benchmark, family)
    for item in items:
        texts = [item.texts[0], *(item.texts[i] for i in item.wrong(family))]
        if len(texts) > 1:
            texts += texts[-1:] * (1 + most - len(texts))
            broken = next((text for text in texts if len(text.splitlines()) != 1), None)
            if broken is not None:
                raise UserError(
                    f"{benchmark.key}, item {item.key}: the caption {broken!r} is not one line, "
                    "as CLIP_benchmark needs it."
                )
            yield f"{item.row['index']:08d}", item.image, "\n".join(texts)


def _most(benchmark: BuiltBenchmark, family: str) -> int:
    """Return how many wrong captions of a family an item can have."""
    spec = get_benchmark(benchmark.key)
    if spec.n > 1:
        names = candidate_space(spec.task.axis, spec.n).families
        return sum(in_family(name, family) for name in names)
    lexicon = benchmark.lexicon
    words = lexicon.labels if family == "vary_color" else lexicon.nouns
    return len(words(spec.task).names) - 1


def _write_tar(path: Path, members: list[tuple[str, bytes, str]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
        for name, image, lines in members:
            for suffix, data in (("png", image), ("txt", lines.encode())):
                facts = tarfile.TarInfo(f"{name}.{suffix}")  # no time, no owner: same bytes
                facts.size = len(data)
                tar.addfile(facts, io.BytesIO(data))
