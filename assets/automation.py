"""When the scores, the leaderboard and the report are made without being asked for.

What counts is a changed data version: a benchmark that is built again with the same content
changes nothing. A request ends what led to it only if nothing else changed since, so that no
change is lost between two ticks.
"""

from dagster import AutomationCondition

_changed = AutomationCondition.any_deps_match(AutomationCondition.data_version_changed())
_is_new = (
    AutomationCondition.newly_missing()
    # What was missing when the automation was switched on.
    | (AutomationCondition.initial_evaluation() & AutomationCondition.missing())
)


def _until_requested(cause: AutomationCondition) -> AutomationCondition:
    return cause.since(AutomationCondition.newly_requested() & ~cause)


# A new model on every benchmark that is built, and every model on a benchmark that changed.
when_new_or_changed = (
    _until_requested(_is_new | _changed)
    & ~AutomationCondition.any_deps_missing()
    & ~AutomationCondition.any_deps_in_progress()
    & ~AutomationCondition.in_progress()
    & AutomationCondition.all_deps_blocking_checks_passed()
).with_label("new_or_changed")

# Not held back by what is missing or still runs: a leaderboard shows what is there.
when_changed = (_until_requested(_changed) & ~AutomationCondition.in_progress()).with_label(
    "changed"
)
