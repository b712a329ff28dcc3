"""One training: steps, validations, early stopping, and a state that a killed run goes on from."""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from bindbench.errors import UserError
from bindbench.training.finetuning.batches import Dealer, Inputs, TokenMemory
from bindbench.training.finetuning.checking import Checked, Validation, check
from bindbench.training.finetuning.parts import SCENES
from bindbench.training.finetuning.recipe import BETAS, Negatives, Recipe
from bindbench.training.finetuning.samples import Sample
from bindbench.training.finetuning.towers import Towers
from bindbench.training.steps import Pace, Report

MODEL, RECORD = "model", "training.json"  # of a training's folder
_STATE, _BEST = "state.pt", "best.safetensors"


@dataclass(frozen=True)
class Prepared:
    """What all trainings of a recipe share, computed once."""

    towers: Towers
    pretrained: dict[str, Tensor]  # its weights before any training
    samples: Sequence[Sample]
    pixels: Inputs
    memory: TokenMemory
    validation: Validation
    before: Checked  # the pretrained model on the validation part
    asked: int  # positives of a batch

    @property
    def batch(self) -> int:
        """The positives of a batch, of which there can't be more than samples."""
        return min(self.asked, len(self.samples))


@dataclass(frozen=True)
class Training:
    """One training of a recipe."""

    kind: Negatives
    seed: int
    folder: Path  # what it writes into
    fingerprint: str  # of all that determines its result
    scenes: Sequence[str]  # canonical ids of all that the checkpoint will have been trained on

    @property
    def label(self) -> str:
        """Its name in what is printed."""
        return f"{self.kind}, seed {self.seed}"


def finished(training: Training, report: Report) -> dict[str, Any] | None:
    """Return the record of a training that is finished, None of one that is not.

    Raises:
        UserError: the folder holds a training of other settings or data.
    """
    record = training.folder / RECORD
    if not record.is_file():
        return None
    found = json.loads(record.read_text(encoding="utf-8"))
    _check_same(found["fingerprint"], training)
    report(f"{training.label}: is finished")
    return found


def train(prepared: Prepared, recipe: Recipe, training: Training, report: Report) -> dict[str, Any]:
    """Train a model, or go on where a killed run was, and return the record of it.

    The folder then holds the weights of the best validation as a checkpoint, and the record.

    Raises:
        UserError: the folder holds a training of other settings or data.
    """
    training.folder.mkdir(parents=True, exist_ok=True)
    run = _Run(prepared, recipe, training)
    run.resume()
    run.go_on(report)
    return run.finish(training.folder / RECORD)


def _check_same(fingerprint: str, training: Training) -> None:
    if fingerprint != training.fingerprint:
        raise UserError(
            f"{training.folder} holds a training with other settings or data: give another folder "
            "for --out, or remove it."
        )


class _Run:
    """The state of a training between two steps."""

    def __init__(self, prepared: Prepared, recipe: Recipe, training: Training) -> None:
        self._prepared, self._recipe, self._training = prepared, recipe, training
        self._towers, self._model = prepared.towers, prepared.towers.model
        self._dealer = Dealer(
            prepared.samples, recipe, training.kind, prepared.batch, training.seed
        )
        self._model.load_state_dict(prepared.pretrained)
        self._optimizer = optimizer_of(self._model, recipe)
        self._step = 0
        self._losses: list[float] = []
        self._checks: list[dict[str, Any]] = []  # of the validation, in order

    def resume(self) -> None:
        """Load the state of a killed run, if there is one."""
        file = self._training.folder / _STATE
        if not file.is_file():
            return
        state = torch.load(file, map_location=self._towers.scale.device, weights_only=True)
        _check_same(state["fingerprint"], self._training)
        self._model.load_state_dict(state["model"])
        self._optimizer.load_state_dict(state["optimizer"])
        self._step, self._checks = state["step"], json.loads(state["checks"])

    def go_on(self, report: Report) -> None:
        """Train until the last step, or until the validation has long not become better."""
        steps, pace = self._recipe.steps, Pace(self._recipe.steps - self._step)
        first = self._step
        while self._step < steps and not self._stalled:
            self._losses.append(self._take_step())
            if self._step % self._recipe.check_every == 0 or self._step == steps:
                self._validate()
                last = self._checks[-1]
                report(
                    f"{self._training.label}: {pace.line(self._step - first)}; loss "
                    f"{last['training_loss']:.4f}, validation Confusion {last['accuracy']:.3f}, "
                    f"loss {last['loss']:.4f}"
                )

    def finish(self, record: Path) -> dict[str, Any]:
        """Write the best weights as a checkpoint, then the record; the state is not needed now."""
        self._model.load_state_dict(load_file(self._training.folder / _BEST))
        name = self._towers.save(self._training.folder.resolve() / MODEL)
        scenes = (json.dumps(list(self._training.scenes), indent=0) + "\n").encode()
        _write(self._training.folder / MODEL / SCENES, scenes)
        best = self._checks[self._best]
        found = {
            "fingerprint": self._training.fingerprint,
            "negatives": self._training.kind,
            "seed": self._training.seed,
            "family": name.split(":")[0],
            "samples": len(self._prepared.samples),
            "samples_that_repeat_negatives": self._dealer.repeating,
            "batch": self._prepared.batch,
            "batch_asked": self._prepared.asked,
            "steps": self._step,
            "best_step": best["step"],
            "pretrained_validation_accuracy": self._prepared.before.accuracy,
            "validation_accuracy": best["accuracy"],
            "checks": self._checks,
        }
        _write(record, (json.dumps(found, indent=1) + "\n").encode())
        for file in (_STATE, _BEST):
            (self._training.folder / file).unlink(missing_ok=True)
        return found

    @property
    def _best(self) -> int:
        """The best validation so far; the first of equal ones."""
        best = 0
        for place in range(1, len(self._checks)):
            if self._checked(place).beats(self._checked(best)):
                best = place
        return best

    def _checked(self, place: int) -> Checked:
        return Checked(self._checks[place]["accuracy"], self._checks[place]["loss"])

    @property
    def _stalled(self) -> bool:
        return len(self._checks) - 1 - self._best >= self._recipe.patience

    def _take_step(self) -> float:
        for group in self._optimizer.param_groups:
            group["lr"] = rate_at(self._step, self._recipe)
        batch = self._dealer.deal(self._step)
        rows = torch.from_numpy(batch.rows)
        pixels = {name: values[rows] for name, values in self._prepared.pixels.items()}
        tokens = self._prepared.memory.get(batch.texts)
        self._optimizer.zero_grad()
        loss = self._towers.backward(pixels, tokens, batch.order, batch.excluded)
        if not math.isfinite(loss):
            raise UserError(
                f"The training with {self._training.label} diverged at step {self._step + 1} (its "
                f"loss is {loss}): set a lower rate than {self._recipe.rate}."
            )
        self._optimizer.step()
        self._towers.bound_scale()
        self._step += 1
        return loss

    def _validate(self) -> None:
        """Check the model; keep its weights if they are the best, then all that a resume needs."""
        checked = check(self._towers, self._prepared.validation)
        self._checks.append(
            {
                "step": self._step,
                "accuracy": checked.accuracy,
                "loss": checked.loss,
                "training_loss": sum(self._losses) / len(self._losses),
            }
        )
        self._losses = []
        weights = {k: v.detach().contiguous() for k, v in self._model.state_dict().items()}
        if self._best == len(self._checks) - 1:
            _replace(
                self._training.folder / _BEST,
                lambda part: save_file({k: v.cpu().clone() for k, v in weights.items()}, part),
            )
        state = {
            "fingerprint": self._training.fingerprint,
            "step": self._step,
            "checks": json.dumps(self._checks),
            "model": weights,
            "optimizer": self._optimizer.state_dict(),
        }
        _replace(self._training.folder / _STATE, lambda part: torch.save(state, part))


def optimizer_of(model: torch.nn.Module, recipe: Recipe) -> torch.optim.AdamW:
    """Return AdamW on all parameters; vectors and scalars do not decay."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in parameters if p.ndim > 1], "weight_decay": recipe.weight_decay},
        {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=recipe.rate, betas=BETAS)


def rate_at(step: int, recipe: Recipe) -> float:
    """Return the learning rate of a step, from 0: a linear warm-up, then half a cosine to 0."""
    if step < recipe.warm_up:
        return recipe.rate * (step + 1) / recipe.warm_up
    done = (step - recipe.warm_up) / max(recipe.steps - recipe.warm_up, 1)
    return recipe.rate * 0.5 * (1 + math.cos(math.pi * done))


def _write(file: Path, data: bytes) -> None:
    _replace(file, lambda part: part.write_bytes(data))


def _replace(file: Path, write: Callable[[Path], object]) -> None:
    """Let a file appear whole or not at all."""
    part = file.with_name(file.name + ".part")
    write(part)
    part.replace(file)
