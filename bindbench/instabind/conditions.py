"""The settings that questions are asked in: what is shown, what is said, and how it is answered.

InstaBind-Lite, section VIII. A setting's name ends in ``_choice`` where the answer is the likeliest
of the group's values instead of free text.
"""

from dataclasses import dataclass
from typing import Literal

from bindbench.errors import unknown_name

# Settings that show one instance only make sense where one instance's attribute is asked for.
LOCALIZED = ("crop_oracle", "context_crop", "box_guided", "dim_non_target")
LOCALIZED_LEVELS: tuple[Literal["L1", "L3"], ...] = ("L1", "L3")
FULL, INSTANCE_FIRST = "full_image", "instance_first"
CHOICE = "_choice"
SETTINGS = (FULL, *LOCALIZED, INSTANCE_FIRST)


@dataclass(frozen=True)
class Condition:
    """A setting, taken apart."""

    name: str
    base: str  # one of SETTINGS
    choice: bool  # the answer is one of the group's values

    @property
    def localized(self) -> bool:
        """Whether one instance is shown, and only it is asked about."""
        return self.base in LOCALIZED

    @property
    def reference(self) -> str:
        """The setting that this one is compared with: the full image, answered alike."""
        return FULL + (CHOICE if self.choice else "")


def is_localized(setting: str) -> bool:
    """Whether a setting, also one that is not asked here, shows one instance only."""
    return setting.removesuffix(CHOICE) in LOCALIZED


def condition(setting: str) -> Condition:
    """Return what a setting's name says.

    Raises:
        UserError: there is no such setting; the nearest are named.
    """
    base = setting.removesuffix(CHOICE)
    if base not in SETTINGS or setting == INSTANCE_FIRST + CHOICE:  # a choice writes no list
        choices = [name + CHOICE for name in SETTINGS if name != INSTANCE_FIRST]
        raise unknown_name("setting", setting, [*SETTINGS, *choices])
    return Condition(setting, base, setting != base)
