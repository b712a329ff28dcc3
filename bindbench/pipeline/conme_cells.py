"""A suite's section ``conme``: which set converses with which panel, and who is evaluated there."""

from bindbench.conme.settings import AGENT, WORDING, ConmeSet, ConmeSettings, Panel
from bindbench.errors import UserError, unknown_name
from bindbench.models.family import ModelName
from bindbench.suite import RoleSettings, Suite


def settings_of(suite: Suite) -> ConmeSettings:
    """Return a suite's settings of ConMe.

    Raises:
        UserError: it has none.
    """
    if suite.conme is None:
        raise UserError(
            f"The suite {suite.name} has no section conme: add one with its sets and panels."
        )
    return suite.conme


def set_of(suite: Suite, name: str) -> ConmeSet:
    """Return an image set of a suite, or raise a UserError with the nearest names."""
    sets = settings_of(suite).sets
    if name not in sets:
        raise unknown_name("image set", name, sets, f"conme of suite {suite.name}")
    return sets[name]


def panel_of(suite: Suite, name: str) -> Panel:
    """Return a panel of a suite, or raise a UserError with the nearest names."""
    panels = settings_of(suite).panels
    if name not in panels:
        raise unknown_name("panel", name, panels, f"conme of suite {suite.name}")
    return panels[name]


def cell(name: str, panel: str) -> str:
    """Return the partition of an image set and a panel."""
    return f"{name}--{panel}"


def split(where: str) -> tuple[str, str]:
    """Return the image set and the panel of a partition."""
    name, _, panel = where.partition("--")
    return name, panel


def cells_of(suite: Suite) -> list[str]:
    """Return the image sets and panels of a suite, in its order; none without the section."""
    section = suite.conme
    return [cell(n, p) for n in section.sets for p in section.panels] if section else []


def slug(settings: RoleSettings) -> str:
    """Return a model's name as a partition key."""
    return ModelName.parse(settings.model).slug


def targets_of(suite: Suite, where: str) -> dict[str, RoleSettings]:
    """Return the targets of a partition's panel by slug, in their order."""
    return {slug(one): one for one in panel_of(suite, split(where)[1]).targets}


def models_of(suite: Suite, where: str) -> dict[str, RoleSettings]:
    """Return all that are evaluated on a partition: targets, strong model, further models.

    The agent of renders answers no questions.
    """
    strong = panel_of(suite, split(where)[1]).strong
    asked = () if strong.model == AGENT else (strong,)
    targets = targets_of(suite, where)
    others = {slug(one): one for one in (*asked, *settings_of(suite).models)}
    return targets | {name: one for name, one in others.items() if name not in targets}


def answerers_of(suite: Suite) -> list[RoleSettings]:
    """Return every model that a suite's section asks, each once."""
    section = suite.conme
    if section is None:
        return []
    panels = section.panels.values()
    asked = [one for panel in panels for one in (panel.strong, *panel.targets)]
    asked += [*section.models, *([section.labeller] if section.labeller else [])]
    found = {(one.model, str(one.options)): one for one in asked}
    return [one for one in found.values() if one.model not in (AGENT, WORDING)]
