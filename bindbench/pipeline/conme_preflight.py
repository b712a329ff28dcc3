"""Checks a suite's section ``conme`` before anything is loaded or built."""

from collections.abc import Iterable
from pathlib import Path

from bindbench.conme.settings import AGENT, WORDING, ConmeSet, ConmeSettings, Panel
from bindbench.conme.taxonomy import BUILT_IN, load_taxonomy
from bindbench.errors import UserError
from bindbench.external.sugarcrepe import PARTITIONS
from bindbench.models import registry
from bindbench.suite import RoleSettings, Suite

# What each source needs of a set's fields.
NEEDED = {
    "validated": ("benchmark",),
    "folder": ("images",),
    "dataset": ("path",),
    "sugarcrepe": ("annotations", "partition", "images"),
}


def check_conme(suite: Suite) -> None:
    """Raise a UserError for a set without its files, or a model that can't take part."""
    if suite.conme is None:
        return
    for name, one in suite.conme.sets.items():
        _check_set(suite, f"Suite {suite.name}: conme.sets.{name}", one)
    for name, panel in suite.conme.panels.items():
        _check_panel(suite, f"Suite {suite.name}: conme.panels.{name}", panel)
    _check_models(suite.conme.models, f"Suite {suite.name}: conme.models")
    check_labels(suite.conme, f"Suite {suite.name}: conme")


def check_labels(section: ConmeSettings, where: str) -> None:
    """Raise a UserError for a taxonomy that can't be read, or that nobody can apply."""
    names = [load_taxonomy(source).name for source in section.taxonomies]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise UserError(f"{where}.taxonomies: two are named {twice}: give each a name of its own.")
    if section.labeller is None:
        return
    if section.labeller.model != WORDING:
        _check_models([section.labeller], f"{where}.labeller")
        return
    own = [name for name in names if name not in BUILT_IN]
    if own:
        raise UserError(
            f"{where}.labeller: {WORDING} knows {' and '.join(BUILT_IN)} alone, and not the "
            f"taxonomy {own[0]}: name a model that answers in words."
        )


def _check_set(suite: Suite, where: str, one: ConmeSet) -> None:
    missing = [field for field in NEEDED[one.source] if not getattr(one, field)]
    if missing:
        raise UserError(f"{where} is of source {one.source} and needs {', '.join(missing)}.")
    if one.source == "validated" and one.benchmark not in suite.benchmarks:
        raise UserError(
            f"{where}: benchmark {one.benchmark!r} is none of the suite's: name one of "
            f"{', '.join(suite.benchmarks)}."
        )
    if one.source == "sugarcrepe" and one.partition not in PARTITIONS:
        raise UserError(
            f"{where}: partition {one.partition!r} is none of SugarCrepe's: name one of "
            f"{', '.join(PARTITIONS)}."
        )
    for path in (one.images, one.annotations):
        if path and not Path(path).is_dir():
            raise UserError(f"{where} needs the folder {path}, but it is not there.")


def _check_panel(suite: Suite, where: str, panel: Panel) -> None:
    _check_models(panel.targets, f"{where}.targets")
    if panel.strong.model != AGENT:
        _check_models([panel.strong], f"{where}.strong")
        return
    strangers = (
        [n for n, one in suite.conme.sets.items() if one.source != "validated"]
        if suite.conme
        else []
    )
    if strangers:
        raise UserError(
            f"{where}: {AGENT} sees our own renders alone, and the set {strangers[0]} holds other "
            "images: name a strong model that answers in words."
        )


def _check_models(models: Iterable[RoleSettings], where: str) -> None:
    slugs: dict[str, str] = {}
    for settings in models:
        name, family, options = registry.resolve("answerer", settings)
        if name.family == "check":
            raise UserError(f"{where}: {name} answers InstaBind's questions alone: leave it out.")
        family.ready(name, options)
        if name.slug in slugs:
            raise UserError(
                f"{where}: {slugs[name.slug]} and {name} would share the partition {name.slug}: "
                "keep one of them."
            )
        slugs[name.slug] = str(name)
