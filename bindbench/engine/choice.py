"""Which engine a run uses, as the command line and the environment name it."""

import os
from collections.abc import Mapping
from typing import get_args

from bindbench.engine.base import Engine
from bindbench.engine.local import LocalEngine
from bindbench.errors import UserError
from bindbench.models.family import Role

LOCAL, RAY = "local", "ray"
ROLES: tuple[str, ...] = get_args(Role)


def open_engine(workers: int, name: str | None = None) -> Engine:
    """Return the engine that is named, else that of BINDBENCH_ENGINE, else ``local``.

    Args:
        workers: worker processes, or Ray actors that need no GPU.
        name: ``local``; ``ray``, a Ray cluster of this machine; ``ray:ADDRESS``, a running one.

    Raises:
        UserError: there is no such engine, the package ray is missing, or BINDBENCH_GPUS can't
            be read.
    """
    name = name or os.environ.get("BINDBENCH_ENGINE") or LOCAL
    kind, _, address = name.partition(":")
    if name == LOCAL:
        return LocalEngine(workers)
    if kind != RAY or name == f"{RAY}:":
        raise UserError(
            f"BINDBENCH_ENGINE (or --engine) is {name!r}: give local, ray or ray:HOST:PORT."
        )
    if "://" in address:
        raise UserError(
            f"BINDBENCH_ENGINE (or --engine) is {name!r}, but runs are no clients of a cluster: "
            "make this machine a node of it by 'ray start --address=HOST:PORT', and give "
            "ray:HOST:PORT."
        )
    gpus = gpus_of(os.environ.get("BINDBENCH_GPUS", ""))
    try:
        from bindbench.engine.ray_engine import RayEngine
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        raise UserError(
            f"Engine {name} needs the package ray: pip install 'bindbench[ray]'."
        ) from None
    return RayEngine(workers, address or None, gpus)


def gpus_of(text: str) -> Mapping[str, float]:
    """Return the GPUs of an actor by role, from text such as ``generator=2,scorer=0.5``.

    Raises:
        UserError: a role does not exist, or a number is not above 0.
    """
    gpus: dict[str, float] = {}
    for part in filter(None, text.split(",")):
        role, _, number = part.strip().partition("=")
        try:
            gpus[role] = float(number)
        except ValueError:
            gpus[role] = 0.0
        if role not in ROLES or not 0 < gpus[role] < float("inf"):
            raise UserError(
                f"BINDBENCH_GPUS has {part.strip()!r}: write role=number with a number above 0, "
                f"such as scorer=0.5; roles are {', '.join(ROLES)}."
            )
    return gpus
