"""Every model family. A new one is one file beside this one, and one entry here."""

from typing import get_args

from bindbench.models.answerer_families import ANSWERERS
from bindbench.models.api_families import API
from bindbench.models.diffusers_family import DIFFUSERS
from bindbench.models.embedded_families import EMBEDDED
from bindbench.models.family import Family, Role
from bindbench.models.folder_family import FOLDER
from bindbench.models.grounding_dino_family import GROUNDING_DINO
from bindbench.models.hf_families import HF
from bindbench.models.open_clip_family import OPEN_CLIP

_ALL = (*EMBEDDED, DIFFUSERS, FOLDER, GROUNDING_DINO, OPEN_CLIP, *HF, *API, *ANSWERERS)
FAMILIES: dict[tuple[Role, str], Family] = {
    (family.role, family.name): family
    for role in get_args(Role)
    for family in _ALL
    if family.role == role
}
