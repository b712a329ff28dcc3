"""Evaluating a model on a built benchmark in a training loop: no orchestrator, no files written."""

import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from PIL import Image as PILImage
from upath import UPath

from bindbench.analysis.accuracy import Accuracy, Mode, tolerance
from bindbench.analysis.accuracy import evaluate as measure
from bindbench.analysis.readouts import Readout
from bindbench.errors import UserError
from bindbench.models.base import Scorer, ScoreRequest, Scores
from bindbench.pipeline import images as image_stage
from bindbench.pipeline import negatives, vocabularies
from bindbench.pipeline.base import UNPARTITIONED
from bindbench.pipeline.model_scores import NUMBERS, at, columns_of, decoded, request
from bindbench.pipeline.scored import assemble, readouts_of
from bindbench.scoring.checked import checked_scores
from bindbench.storage.store import Artifact, Store
from bindbench.tasks import TRACKS, Track, get_benchmark
from bindbench.vocabulary import ENTRY_TYPES, Lexicon, Vocabulary

MODES: tuple[Mode, ...] = ("strict", "paper")
_NO_IMAGE = np.empty((0, 0, 3), np.uint8)  # stands in a request until its image is decoded

# Takes an image and the candidate captions, and returns a score for each; higher is better.
ScoreFunction = Callable[[Any, list[str]], Any]


@dataclass(frozen=True)
class BuiltItem:
    """One accepted image with its candidates."""

    row: dict[str, Any]  # of the asset ``negatives``
    data: bytes  # the encoded image
    question: ScoreRequest  # without its image


class BuiltBenchmark:
    """A benchmark in a store. Shards are read when their items are first asked for, and kept.

    Items stand in the order of their index, which is a random one of the concepts and the same
    for benchmarks of any size: the first 16 of each track are a part of the first 64.
    """

    def __init__(self, key: str, lexicon: Lexicon, candidates: Artifact, pictures: Artifact):
        self.key = key
        self.lexicon = lexicon
        self._candidates, self._pictures = candidates, pictures
        self._read = 0  # shards
        self._kept: dict[str, list[BuiltItem]] = {track: [] for track in TRACKS}

    def first(self, track: Track, count: int) -> list[BuiltItem]:
        """Return the first items of a track, all of them if there are fewer."""
        while len(self._kept[track]) < count and self._read < len(self._candidates.shards):
            for item in self._shard(self._read):
                self._kept[item.row["track"]].append(item)
            self._read += 1
        return self._kept[track][:count]

    def every(self, track: Track) -> Iterator[BuiltItem]:
        """Yield all items of a track; those that no subset asked for are not kept."""
        yield from self._kept[track]
        for i in range(self._read, len(self._candidates.shards)):
            yield from (item for item in self._shard(i) if item.row["track"] == track)

    def shards(self) -> Iterator[list[BuiltItem]]:
        """Yield the items of each shard, of both tracks; none are kept."""
        for i in range(len(self._candidates.shards)):
            yield list(self._shard(i))

    def _shard(self, i: int) -> Iterator[BuiltItem]:
        pixels = self._pictures.read_shard(i, ["index", "track", "image"]).to_pylist()
        data = {at(row): row["image"]["bytes"] for row in pixels}
        for row in self._candidates.read_shard(i).to_pylist():
            yield BuiltItem(row, data[at(row)], request(self.key, row, _NO_IMAGE, self.lexicon))


def open_benchmark(suite: str | os.PathLike[str], key: str) -> BuiltBenchmark:
    """Open a benchmark that was built with ``bindbench run``.

    Args:
        suite: the suite's folder in the store, such as ``store/embedded``, or its fsspec address.
        key: the benchmark, such as ``color-n2``.

    Raises:
        UserError: there is no such benchmark, it has not been built, or not from these words.
    """
    benchmark = get_benchmark(key)
    folder = UPath(suite)
    store = Store(str(folder.parent), folder.name)
    candidates = _current(store, negatives.NAME, key)
    pictures = _current(store, image_stage.NAME, key)
    if len(candidates.shards) != len(pictures.shards):
        raise UserError(
            f"{store.path}: images and negatives of {key} have {len(pictures.shards)} and "
            f"{len(candidates.shards)} shards: build them again."
        )
    lexicon = _lexicon(_current(store, vocabularies.NAME, UNPARTITIONED))
    words = {"nouns": lexicon.nouns(benchmark.task), "labels": lexicon.labels(benchmark.task)}
    for name, vocabulary in words.items():
        if candidates.settings[name] != vocabulary.digest:
            raise UserError(
                f"{store.path}: the vocabulary {vocabulary.name} is not the one that {key} was "
                "built from: build the benchmark again."
            )
    return BuiltBenchmark(key, lexicon, candidates, pictures)


def _current(store: Store, asset: str, partition: str) -> Artifact:
    artifact = store.current(asset, partition)
    if artifact is None:
        raise UserError(
            f"{asset} of {partition} is not in {store.path}: build it with 'bindbench run', or "
            "give the suite's folder in the store, such as store/embedded."
        )
    return artifact


def _lexicon(words: Artifact) -> Lexicon:
    """Return the vocabularies that a suite was built from."""
    entries: dict[str, list[Any]] = {kind: [] for kind in ENTRY_TYPES}
    names = dict.fromkeys(ENTRY_TYPES, "")
    for row in words.read().to_pylist():
        kind = row["kind"]
        names[kind] = row["vocabulary"]
        entries[kind].append(ENTRY_TYPES[kind].model_validate_json(row["entry"]))
    return Lexicon(**{kind: Vocabulary(kind, names[kind], tuple(entries[kind])) for kind in names})


class FunctionScorer:
    """A function of an image and texts as a scorer."""

    method = "function"

    def __init__(self, function: ScoreFunction, dtype: str, as_array: bool) -> None:
        self.dtype = dtype
        self.name = f"the function {getattr(function, '__name__', type(function).__name__)}"
        self._function, self._as_array = function, as_array

    def score(self, requests: Sequence[ScoreRequest]) -> list[Scores]:
        """Return what the function says about each request."""
        return [Scores(self._values(request)) for request in requests]

    def _values(self, request: ScoreRequest) -> np.ndarray:
        image = request.image if self._as_array else PILImage.fromarray(request.image)
        found = self._function(image, list(request.texts))
        # A tensor may be on a device, and in a dtype that numpy does not know.
        values = found.tolist() if hasattr(found, "tolist") else found
        try:
            if not isinstance(values, list | tuple):
                raise TypeError("no sequence")
            _check_numbers(values)
            return np.array(values, np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise UserError(
                f"{self.name} returned {_shown(found)} for item {request.key}: return a list, an "
                f"array or a tensor of {len(request.texts)} numbers, one for each text."
            ) from error


def _check_numbers(values: Any) -> None:
    """Raise a TypeError if a leaf of nested lists is no number."""
    for value in values:
        if isinstance(value, list | tuple):
            _check_numbers(value)
        elif isinstance(value, bool | str | bytes) or not hasattr(value, "__float__"):
            raise TypeError("no number")


def _shown(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else f"{text[:77]}..."


@dataclass(frozen=True)
class Evaluation:
    """What a model achieves on a benchmark: an accuracy for each track, family, mode and readout.

    The families are ``swap``, ``confusion`` and ``confusion_no_count``, or ``vary_color`` and
    ``vary_object`` for a single object.
    """

    benchmark: str
    cells: Mapping[tuple[str, str, Mode, Readout], Accuracy]

    def accuracy(
        self,
        track: Track = "minimal",
        family: str = "swap",
        mode: Mode = "strict",
        readout: Readout = "score",
    ) -> Accuracy:
        """Return one accuracy, with its interval, chance, ties and number of items.

        Raises:
            UserError: it was not measured.
        """
        key = (track, family, mode, readout)
        if key not in self.cells:
            known = ", ".join("/".join(cell) for cell in self.cells)
            raise UserError(
                f"{self.benchmark} has no {'/'.join(key)} in this evaluation: there are {known}."
            )
        return self.cells[key]

    def metrics(self) -> dict[str, float]:
        """Return the accuracies by a name such as ``color-n2/minimal/swap/strict``, to be logged.

        A readout other than the model's own score is named at the end. What was not measured on
        any item is left out.
        """
        return {
            "/".join((self.benchmark, *key[:3], *(key[3:] if key[3] != "score" else ()))): (
                cell.accuracy
            )
            for key, cell in self.cells.items()
            if cell.n_items
        }

    def __str__(self) -> str:
        lines = [
            f"{' '.join(key):<45} {cell.accuracy:6.1%} ({cell.low:.1%} to {cell.high:.1%}), "
            f"chance {cell.chance:.1%}, {cell.n_items} items"
            for key, cell in self.cells.items()
        ]
        return "\n".join([self.benchmark, *lines])


def evaluate(
    scorer: Scorer | ScoreFunction,
    benchmark: BuiltBenchmark,
    *,
    subset: int | None = None,
    tracks: Sequence[Track] = TRACKS,
    batch_size: int = 16,
    dtype: str = "float32",
    images: Literal["pil", "array"] = "pil",
) -> Evaluation:
    """Return how well a model chooses the right captions.

    Args:
        scorer: a function that takes an image and a list of texts and returns a score for each,
            higher is better; or a scorer (``bindbench.models.base.Scorer``).
        benchmark: from ``open_benchmark``; open it once and pass it every time.
        subset: how many items of each track: the first ones, which are always the same, are kept
            in memory, and hold every smaller subset. None: all items, read anew.
        tracks: ``minimal``, ``contextual`` or both.
        batch_size: items that a scorer gets at a time.
        dtype: of a function's arithmetic: float64, float32, float16 or bfloat16; scores closer
            than its rounding are ties, and ties are losses. A scorer has its own.
        images: what a function gets: a PIL image, or an RGB array (height, width, 3), uint8.

    Raises:
        UserError: an argument is wrong, or a score is missing, NaN or infinite.
    """
    if not isinstance(benchmark, BuiltBenchmark):
        raise UserError(
            f"benchmark={_shown(benchmark)} is no benchmark: give what bindbench.open_benchmark "
            "returns."
        )
    if subset is not None and (not isinstance(subset, int) or subset < 1):
        raise UserError(f"subset={subset} is no number of items: give 1 or more, or None for all.")
    if isinstance(tracks, str) or not tracks or any(track not in TRACKS for track in tracks):
        raise UserError(f"tracks={tracks!r} is wrong: give a tuple of {' and '.join(TRACKS)}.")
    if images not in ("pil", "array"):
        raise UserError(f"images={images!r} is wrong: give 'pil' or 'array'.")
    model = _as_scorer(scorer, dtype, images == "array")
    cells: dict[tuple[str, str, Mode, Readout], Accuracy] = {}
    for track in tracks:
        items = benchmark.every(track) if subset is None else benchmark.first(track, subset)
        rows, found = score_items(model, benchmark.key, items, batch_size)
        for readout in readouts_of(benchmark.key, _given(found)):
            scored = assemble(benchmark.key, rows, found, benchmark.lexicon, readout)
            for family, mask in scored.subsets.items():
                for mode in MODES:
                    cells[track, family, mode, readout] = measure(scored.of(family), mode, mask)
    return Evaluation(benchmark.key, cells)


def _as_scorer(scorer: Scorer | ScoreFunction, dtype: str, as_array: bool) -> Scorer:
    """Return a scorer that remembers nothing of the weights of the last evaluation."""
    if isinstance(getattr(scorer, "dtype", None), str) and hasattr(scorer, "score"):
        fresh: Any = getattr(scorer, "fresh", lambda: scorer)
        return fresh()
    if not callable(scorer):
        raise UserError(
            f"{type(scorer).__name__} is no scorer: give a function of an image and a list of "
            "texts that returns a score for each."
        )
    tolerance(dtype)  # a wrong name is said before anything is computed
    return FunctionScorer(scorer, dtype, as_array)


def score_items(
    scorer: Scorer, key: str, items: Iterable[BuiltItem], batch_size: int
) -> tuple[list[dict[str, Any]], dict[int, dict[str, Any]]]:
    """Return the items' candidates, and by index their scores as ``model_scores`` has them."""
    rows, found = [], {}
    for batch in batched(items, batch_size):
        asked = [replace(i.question, image=decoded(key, i.row, i.data)) for i in batch]
        name = getattr(scorer, "name", type(scorer).__name__)
        answers = checked_scores(scorer, asked, name, key)
        for item, scores in zip(batch, answers, strict=True):
            rows.append(item.row)
            found[item.row["index"]] = columns_of(scores, scorer)
    return rows, found


def _given(found: Mapping[int, Mapping[str, Any]]) -> list[str]:
    """Return the columns of numbers that the scorer gave for all items."""
    return [n for n in NUMBERS if found and all(row[n] is not None for row in found.values())]


def batched(items: Iterable[BuiltItem], size: int) -> Iterator[list[BuiltItem]]:
    """Yield the items in lists of a size."""
    waiting = iter(items)
    while batch := list(itertools.islice(waiting, size)):
        yield batch
