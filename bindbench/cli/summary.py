"""What ``bindbench run`` prints at its end: survival, leaderboard, and where to look."""

from rich.console import Console

from bindbench.pipeline import (
    captions,
    concept_set,
    instabind_results,
    leaderboard,
    top_up,
    validated,
)
from bindbench.pipeline.base import UNPARTITIONED, Context
from bindbench.pipeline.conme_conversations import conversation_rows
from bindbench.pipeline.survival import survival_rows
from bindbench.reporting.conme_stages import conversation_grid
from bindbench.reporting.instabind import instabind_grid
from bindbench.reporting.tables import leaderboard_lines, survival_grid, to_table
from bindbench.storage.files import file_size
from bindbench.tasks import TRACKS


def print_summary(context: Context, console: Console) -> None:
    """Print the tables of a suite and the path of its report."""
    rows = []
    for key in context.suite.benchmarks:
        names = (concept_set.NAME, captions.NAME, validated.NAME)
        parts = {f"{name}/{key}": context.store.current(name, key) for name in names}
        if all(parts.values()):
            rows += survival_rows({name: part for name, part in parts.items() if part}, key)
    console.print(to_table(survival_grid(rows)))
    if context.suite.match_prior:
        print_matching(context, console)
    board = context.store.current(leaderboard.NAME, UNPARTITIONED)
    if board:
        scores = board.read().to_pylist()
        for track in TRACKS:
            console.print(to_table(leaderboard_lines(scores, track)))
    answered = context.store.current(instabind_results.NAME, UNPARTITIONED)
    if context.suite.instabind and answered:
        console.print(to_table(instabind_grid(answered.read().to_pylist())))
    if context.suite.conme:
        console.print(to_table(conversation_grid(conversation_rows(context))))
    page = context.store.path / "html" / "index.html"
    if file_size(page) is not None:
        console.print(f"Report: {page}", soft_wrap=True, highlight=False)
    console.print("Dagster's UI: make ui, then http://127.0.0.1:3000", highlight=False)


def print_matching(context: Context, console: Console) -> None:
    """Print how far words are from the prior before and after, and what that took."""
    from bindbench.tables.inputs import Inputs
    from bindbench.tables.layout import grids, remarks
    from bindbench.tables.match_prior import table_match_prior

    found = {
        f"{top_up.NAME}/{key}": part
        for key in context.suite.benchmarks
        if (part := context.store.current(top_up.NAME, key))
    }
    numbers = list(table_match_prior(Inputs(context.suite, found)))
    for grid in grids(numbers):
        console.print(to_table(grid))
    for remark in remarks(numbers):
        console.print(remark, highlight=False, markup=False, soft_wrap=True)
