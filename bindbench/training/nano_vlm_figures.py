"""What nano:vlm can do, measured on scenes that training never saw: answers by kind, and captions.

Run as a module it measures shipped or rebuilt models on the test split, which it renders first,
and prints the table of the model cards.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bindbench.analysis.resampling import proportion
from bindbench.training.nano_clip_data import NanoPlan
from bindbench.training.nano_clip_images import Scenes
from bindbench.training.nano_vlm_images import Boxes, plain_views, sights_of
from bindbench.training.nano_vlm_model import IMAGE_TOKENS, features_of, image_tokens, packed_logits
from bindbench.training.nano_vlm_packing import IGNORED, Packer
from bindbench.training.nano_vlm_questions import Asker, Sight, Text, content_words
from bindbench.training.nano_vlm_rows import RowPlan
from bindbench.training.nano_vlm_text import nouns_of
from bindbench.training.validator_data import CALIBRATION, embedded_lexicon, load_drawn, prepare

TEST = CALIBRATION  # the third split of a plan
BATCH = 25
ROUNDS = 3  # of random questions about each scene
UNSEEN = "unseen: "  # of pairs of object and color that are held out
CLAIMS = (  # d' of these, by the kinds of their true and their false claims
    ("claims, wrong ones with another object's color", "claim yes", "claim swapped"),
    ("claims, wrong ones with an absent color", "claim yes", "claim other"),
    ("claims about one of several like objects", "order claim yes", "order claim no"),
    ("presence", "presence yes", "presence no"),
    ("relation claims", "relation claim yes", "relation claim no"),
)
FEW_NOUNS = 20  # color questions are also counted over the first nouns alone


@dataclass(frozen=True)
class Answered:
    """One answer of a model."""

    text: Text
    sight: Sight
    scene: int
    right: bool


def answers(
    model: Any, packer: Packer, asker: Asker, scenes: Scenes, plan: NanoPlan, rounds: int, seed: int
) -> list[Answered]:
    """Ask a model random questions about scenes as they are.

    Yes and no are compared with each other alone; of other answers every word must be the most
    likely one. Captions are left out. Which split the model's modules are in is left as it is.
    """
    seen = plain_views(scenes)
    sights = sights_of(scenes, Boxes.of(scenes), seen, plan)
    rng, found, training = np.random.default_rng([seed, 0xDE7]), [], model.training
    model.eval()
    for start in range(0, len(scenes), BATCH):
        part = sights[start : start + BATCH]
        asked = [_questions(asker, sight, rounds, rng) if sight else [] for sight in part]
        right = _right(model, packer, seen.images[start : start + BATCH], asked)
        for k, (sight, texts) in enumerate(zip(part, asked, strict=True)):
            if sight:
                pairs = zip(texts, right[k], strict=True)
                found += [Answered(text, sight, start + k, hit) for text, hit in pairs]
    model.train(training)
    return found


def _questions(asker: Asker, sight: Sight, rounds: int, rng: np.random.Generator) -> list[Text]:
    texts = [text for _ in range(rounds) for text in asker.ask(sight, rng) if not text.caption]
    return list({text.prompt: replace(text, hint=None) for text in texts}.values())


def _right(
    model: Any, packer: Packer, images: Tensor, asked: Sequence[Sequence[Text]]
) -> list[list[bool]]:
    packed = packer.pack(asked)
    with torch.no_grad():
        tokens = image_tokens(model, features_of(model, images))
        logits = packed_logits(model, tokens, packed).float()
    pair = torch.tensor(packer.ids_of(("yes", "no")))
    chosen = torch.where(
        torch.isin(packed.labels, pair), pair[logits[..., pair].argmax(-1)], logits.argmax(-1)
    )
    wrong = (chosen != packed.labels) & (packed.labels != IGNORED)
    return [
        [not bool(wrong[b][packed.texts[b] == number].any()) for number in range(1, len(own) + 1)]
        for b, own in enumerate(asked)
    ]


@dataclass(frozen=True)
class Row:
    """A row of the table: a share with its 95% interval, or d' with its standard error."""

    name: str
    n: int
    value: str


def rows_of(found: Iterable[Answered], plan: NanoPlan) -> list[Row]:
    """Return the shares of right answers by kind, then d' of claims and of presence."""
    groups: dict[str, list[Answered]] = defaultdict(list)
    few = set(plan.nouns[:FEW_NOUNS])
    for one in found:
        for name in _names(one, few):
            groups[name].append(one)
    rows = [_share(name, groups[name]) for name in sorted(groups)]
    for name, yes, no in CLAIMS:
        pairs = [(prefix, groups[prefix + yes], groups[prefix + no]) for prefix in ("", UNSEEN)]
        rows += [_d_prime(prefix + name, *both) for prefix, *both in pairs if all(both)]
    return rows


def _names(one: Answered, few: set[str]) -> list[str]:
    kind, n = one.text.kind, one.sight.n
    names = [kind]
    if kind in ("color", "place", "object of color", "color by order", "color by ordinal"):
        names.append(f"{kind}, N={n}")
    if one.text.unseen:
        names += [f"{UNSEEN}{name}" for name in list(names)]
    if kind == "color":
        asked = [noun for noun in one.sight.nouns if f"the {noun}?" in one.text.prompt]
        if asked and max(asked, key=len) in few:
            names += [f"{name}, {FEW_NOUNS} nouns" for name in names if "N=" in name]
    return names


def _share(name: str, found: Sequence[Answered]) -> Row:
    hits, scenes = (np.array([getattr(a, field) for a in found]) for field in ("right", "scene"))
    share = proportion(hits, scenes)
    return Row(
        name,
        len(found),
        f"{100 * share.value:.1f} ({100 * share.low:.0f}-{100 * share.high:.0f})",
    )


def _d_prime(name: str, yes: Sequence[Answered], no: Sequence[Answered]) -> Row:
    value, error = d_prime(
        sum(a.right for a in yes), len(yes), sum(not a.right for a in no), len(no)
    )
    return Row(f"d' of {name}", len(yes) + len(no), f"{value:.2f} ± {error:.2f}")


def d_prime(hits: int, true: int, alarms: int, false: int) -> tuple[float, float]:
    """Return d' and its standard error (Gourevitch and Galanter, 1967).

    Half an answer is added to each cell (Hautus, 1995), so that perfect answers give a finite
    value: about 5.2 for 200 and 200.
    """
    normal = NormalDist()
    shares = (hits + 0.5) / (true + 1), (alarms + 0.5) / (false + 1)
    scores = [normal.inv_cdf(share) for share in shares]
    variance = sum(
        share * (1 - share) / (count + 1) / normal.pdf(z) ** 2
        for share, count, z in zip(shares, (true, false), scores, strict=True)
    )
    return scores[0] - scores[1], float(np.sqrt(variance))


def captions_of(folder: Path, plan: NanoPlan, scenes: int, cache: Path) -> list[Row]:
    """Return how often captions beat their negatives, by the scorer that any such model gets."""
    from bindbench.models.hf_generative import load_generative
    from bindbench.models.hf_names import find_source
    from bindbench.models.hf_options import HfOptions
    from bindbench.training.nano_clip_figures import measure

    options = HfOptions(image_free=False)
    scorer = load_generative(find_source(str(folder), "", options), options)
    return [
        Row(
            f"{figure.name} (chance {100 * figure.chance:.1f})",
            figure.items,
            f"{100 * figure.share:.1f} ({100 * figure.low:.0f}-{100 * figure.high:.0f})",
        )
        for figure in measure(scorer, plan, TEST, scenes, cache)
    ]


def table(columns: dict[str, Sequence[Row]]) -> str:
    """Return a Markdown table of the rows of several models on the same scenes."""
    names = list(columns)
    lines = [f"| measured | n | {' | '.join(names)} |", "|---|---|" + "---|" * len(names)]
    for rows in zip(*columns.values(), strict=True):
        cells = " | ".join(row.value for row in rows)
        lines.append(f"| {rows[0].name} | {rows[0].n} | {cells} |")
    return "\n".join(lines)


def load_model(folder: Path) -> tuple[Any, Any]:
    """Return a model in float32 and its tokenizer, as transformers loads them."""
    from transformers import AutoModelForImageTextToText, AutoProcessor

    model = AutoModelForImageTextToText.from_pretrained(folder, dtype=torch.float32)
    return model.eval(), AutoProcessor.from_pretrained(folder).tokenizer


def main() -> None:
    """Measure the models of the given folders and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--cache", type=Path, required=True, help="folder for rendered scenes")
    parser.add_argument("--scenes", type=int, default=720)
    parser.add_argument("--rows", type=int, default=400)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    torch.set_num_threads(1)
    lexicon = embedded_lexicon()
    plan, row_plan = NanoPlan(lexicon, 0), RowPlan(lexicon, 0)
    prepare(plan, TEST, given.scenes, given.cache, given.workers, print)
    prepare(row_plan, TEST, given.rows, given.cache, given.workers, print)
    drawn = load_drawn(plan, TEST, given.scenes, given.cache)
    drawn += load_drawn(row_plan, TEST, given.rows, given.cache)
    specs = [plan.spec(TEST, i) for i in range(given.scenes)]
    specs += [row_plan.spec(TEST, i) for i in range(given.rows)]
    scenes = Scenes.of(plan, drawn, specs)
    columns = {}
    for folder in given.folders:
        model, tokenizer = load_model(folder)
        packer = Packer(tokenizer, content_words(lexicon), IMAGE_TOKENS)
        asker = Asker(lexicon, nouns_of(lexicon), held_out=True)
        found = answers(model, packer, asker, scenes, plan, ROUNDS, seed=1)
        rows = rows_of(found, plan)
        columns[folder.name] = rows + captions_of(folder, plan, given.scenes, given.cache)
    print(table(columns))


if __name__ == "__main__":
    main()
