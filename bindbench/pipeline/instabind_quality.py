"""What must hold of InstaBind's sets before models are asked about them."""

from bindbench.pipeline import instabind_annotations, instabind_questions
from bindbench.pipeline.base import Context
from bindbench.pipeline.quality import Outcome


def groups_left(context: Context, key: str) -> Outcome:
    """At least one image of the set is left, with the groups that are asked about."""
    count = context.current(instabind_annotations.NAME, key).rows
    why = () if count else (f"no image of {key} was accepted: draw more groups",)
    return Outcome(not why, why, {"images": count})


def every_level_asked(context: Context, key: str) -> Outcome:
    """The set has questions of every level, each with an id of its own."""
    rows = context.current(instabind_questions.NAME, key).read(["question_id", "level"])
    ids, levels = rows["question_id"].to_pylist(), set(rows["level"].to_pylist())
    failed = [f"{key} has no questions of {level}" for level in ("L1", "L4") if level not in levels]
    if len(ids) != len(set(ids)):
        failed.append(f"{len(ids) - len(set(ids))} questions of {key} have the id of another")
    return Outcome(not failed, tuple(failed), {"questions": len(ids), "levels": sorted(levels)})
