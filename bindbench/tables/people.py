"""Tables 11 and 20: what people say of the images, and how well they do on the benchmarks."""

from collections.abc import Iterator, Sequence

from bindbench.analysis.resampling import Estimate
from bindbench.people.answers import KINDS, Answered, agreement_of, of_kind, share_right
from bindbench.tables.inputs import Inputs
from bindbench.tables.number import Number, missing
from bindbench.tasks import TRACKS


def table_11(inputs: Inputs) -> Iterator[Number]:
    """Yield why there is no concordance yet."""
    yield missing("11", _why(inputs))


def table_20(inputs: Inputs) -> Iterator[Number]:
    """Yield why there are no raw scores yet."""
    yield missing("20", _why(inputs))


def _why(inputs: Inputs) -> str:
    return (
        f"Nobody has been asked about the images of suite {inputs.suite.name}: give its samples to "
        f"people with 'bindbench audit export --suite {inputs.suite.name}'."
    )


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
                yield _share("11", track, key, kind, found)
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
                        yield _share("20", track, key, f"{kind} V{number}", found)


def _share(table: str, track: str, key: str, column: str, found: Estimate) -> Number:
    return Number(
        *(table, track, key, column, found.value, "share"),
        low=found.low,
        high=found.high,
        n_items=found.n,
    )
