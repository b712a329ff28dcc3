"""The asset ``conme_second_round``: the targets choose, and what all get right is dropped.

ConMe, stage 7.
"""

from bindbench.pipeline import conme_harder_questions, conme_rounds
from bindbench.pipeline.base import Context
from bindbench.storage.store import Artifact

NAME = "conme_second_round"
CODE_VERSION = conme_rounds.CODE_VERSION


def build(context: Context, where: str) -> Artifact:
    """Build the choices of the second round."""
    return conme_rounds.build_round(context, where, NAME, conme_harder_questions.NAME, 2)
