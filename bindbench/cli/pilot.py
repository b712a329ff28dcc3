"""``bindbench run --pilot``: a few concepts are built, and the whole suite is projected."""

from collections.abc import Sequence
from dataclasses import replace

from rich.console import Console

from bindbench.cli.doctor import costs_grid
from bindbench.cli.pipeline import Overrides, changed_suite, run_suite, validate
from bindbench.cli.places import store_of, workers_of
from bindbench.engine.local import LocalEngine
from bindbench.pipeline.base import Context
from bindbench.pipeline.pilot import PAIRED, Harvest, Projection, pilot_concepts, project
from bindbench.pipeline.readiness import accelerators
from bindbench.reporting.numbers import count, interval, percent
from bindbench.reporting.tables import Grid, to_table
from bindbench.reporting.wording import TRACKS
from bindbench.storage.store import Store
from bindbench.storage.timings import timings
from bindbench.suite import Suite


def run_pilot(
    source: str,
    overrides: Overrides,
    store: str | None,
    workers: int | None,
    repair: bool,
    gpu_price: float | None,
    console: Console,
) -> bool:
    """Build the pilot of a suite, print the projection, and return whether all of it passed."""
    whole = changed_suite(source, overrides)
    validate(whole)
    name = f"{whole.name}-pilot"
    few = replace(overrides, concepts=pilot_concepts(whole), name=name, match_prior=False)
    pilot, store = changed_suite(source, few), store_of(store)
    good = run_suite(source, few, store, workers, repair, console)
    print_projection(projection(pilot, whole, store, workers), workers, gpu_price, console)
    return good


def projection(pilot: Suite, whole: Suite, root: str, workers: int | None) -> Projection:
    """Return what a pilot that is built in a store says of the whole suite."""
    context = Context(pilot, Store(root, pilot.name), LocalEngine(1))
    here = len(accelerators().found)
    return project(context, whole, timings(root), workers_of(workers), here)


def print_projection(
    found: Projection, workers: int | None, gpu_price: float | None, console: Console
) -> None:
    """Print what a whole suite will give and take."""

    def say(text: str, style: str = "") -> None:
        console.print(text, style=style, soft_wrap=True, highlight=False, markup=False)

    console.rule(f"The whole suite {found.suite}, by its pilot")
    console.print(to_table(harvest_grid(found.harvest)))
    console.print(to_table(costs_grid(found.costs, workers_of(workers))))
    for line in lines(found, gpu_price):
        say(line)
    for key in found.failed:
        say(f"{key}: the pilot did not finish, so that nothing is known of it.", "red")


def harvest_grid(harvest: Sequence[Harvest]) -> Grid:
    """Return how many images the whole suite will have of each benchmark and track."""
    names = {**TRACKS, PAIRED: "Both"}
    rows = []
    for one in harvest:
        likely, least, most = one.expected
        rows.append(
            (
                one.benchmark,
                names[one.track],
                percent(one.share.value),
                interval(one.share.low, one.share.high),
                str(one.share.n),
                count(one.concepts),
                _about(likely),
                f"{_about(least)}–{_about(most)}",
            )
        )
    headers = (
        *("Benchmark", "Track", "Accepted", "95%", "Pilot"),
        *("Concepts", "Expected", "95%"),
    )
    note = "Accepted: of all concepts of the pilot. The intervals are of the share."
    return Grid("Images of the whole suite", headers, tuple(rows), names=2, note=note)


def _about(number: int) -> str:
    """Return a count to three digits."""
    return count(round(number, min(0, 3 - len(str(number)))))


def lines(found: Projection, gpu_price: float | None) -> list[str]:
    """Return what accelerators and servers take, in sentences."""
    over = "over " if any(cost.unmeasured for cost in found.costs) else ""
    hours = found.gpu_seconds / 3600
    out = [f"GPU-hours: {over}{_number(hours)}" if hours else "GPU-hours: none"]
    if found.servers is not None:
        out.append(f"Answers of servers: {_number(found.servers)}, in the currency of their prices")
    if gpu_price is not None:
        total = _number(found.cost(gpu_price))
        out.append(f"Cost: {over}{total}, at {gpu_price:g} for a GPU-hour")
    return out


def _number(value: float) -> str:
    """Return a number with three digits or all that stand before the point."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
