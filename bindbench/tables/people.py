"""Tables 11 and 20: what people say of the images, and how well they do on the benchmarks."""

from collections.abc import Callable, Iterator, Sequence

from bindbench.analysis.resampling import Estimate
from bindbench.people.answers import KINDS, Answered, agreement_of, of_kind, share_right
from bindbench.pipeline import audit
from bindbench.pipeline.base import UNPARTITIONED
from bindbench.tables.inputs import Inputs
from bindbench.tables.number import Number, Source, missing
from bindbench.tasks import TRACKS


def table_11(inputs: Inputs) -> Iterator[Number]:
    """Yield what people say of the images and how well they do, if anybody was asked."""
    return _of_people("11", inputs, concordance)


def table_20(inputs: Inputs) -> Iterator[Number]:
    """Yield how well each person does, if anybody was asked."""
    return _of_people("20", inputs, raw_scores)


def _of_people(
    table: str, inputs: Inputs, numbers: Callable[[Sequence[Answered]], Iterator[Number]]
) -> Iterator[Number]:
    artifact = inputs.get(audit.NAME)
    if artifact is None:
        name = inputs.suite.name
        yield missing(
            table,
            f"Nobody has answered questions about suite {name}: make them with 'bindbench audit "
            f"export FOLDER --suite {name}', and read the answers with 'bindbench audit import'.",
        )
        return
    yield from numbers(audit.answers_of(artifact))


def concordance(answers: Sequence[Answered]) -> Iterator[Number]:
    """Yield Table 11 of people's answers: their shares of right ones, and how far they agree.

    The column ``concordance`` is the share of answers that are the pipeline's verdict, ``swap`` and
    ``confusion`` the accuracy of people, each with Krippendorff's alpha beside it.
    """
    for track in TRACKS:
        for key in dict.fromkeys(one.benchmark for one in answers):
            for kind in KINDS:
                own = of_kind(answers, kind, key, track)
                found = share_right(own)
                if found is None:
                    continue
                yield _share(("11", track, key, kind), found, kind=kind)
                value = agreement_of(own)
                note = "" if value is not None else "No two people differ, or none met an item."
                yield Number("11", track, key, f"{kind} alpha", value, "number", note=note)


def raw_scores(answers: Sequence[Answered]) -> Iterator[Number]:
    """Yield Table 20 of people's answers: each person's accuracy, in the order of first answers.

    People are V1, V2 ... as in the paper: whoever reads a table need not know their names.
    """
    people = dict.fromkeys(one.validator for one in answers)
    for track in TRACKS:
        for key in dict.fromkeys(one.benchmark for one in answers):
            for kind in ("swap", "confusion"):
                asked = of_kind(answers, kind, key, track)
                for number, name in enumerate(people, start=1):
                    found = share_right([one for one in asked if one.validator == name])
                    if found is not None:
                        place = ("20", track, key, f"{kind} V{number}")
                        yield _share(place, found, kind=kind, validator=name)


def _share(place: tuple[str, str, str, str], found: Estimate, **where: str) -> Number:
    _, track, key, _ = place
    return Number(
        *(*place, found.value, "share"),
        low=found.low,
        high=found.high,
        n_items=found.n,
        source=Source(audit.NAME, UNPARTITIONED, {"track": track, "benchmark": key, **where}),
    )
