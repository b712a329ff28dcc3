"""A report's data in realistic shapes and sizes, from a seed: pictures of simple shapes."""

import io
import json

import numpy as np
from PIL import Image, ImageDraw

from bindbench.reporting.data import MEASURES, ReportData, Table
from bindbench.reporting.samples import (
    CHECKS,
    Box,
    Choice,
    Disagreement,
    GalleryItem,
    HardNegative,
    Negative,
)
from bindbench.reporting.thumbnails import picture
from bindbench.tasks import BENCHMARKS, TRACKS

MODELS = (
    *("check:constant", "check:random", "check:oracle", "nano:clip", "nano:negclip"),
    "hf:org/vlm",
)
GENERATIVE = MODELS[-1]
KINDS = {"nano:clip": "contrastive", "nano:negclip": "contrastive", GENERATIVE: "generative"}
JUDGES = ("pixels:validator", "hf:org/vlm")
SKILL = {"check:constant": -1.0, "check:random": 0.0, "check:oracle": 1.0}
CHANCES = {
    ("swap", 2): 1 / 2,
    ("swap", 3): 1 / 6,
    ("confusion", 2): 1 / 16,
    ("confusion", 3): 1 / 729,
    ("confusion_no_count", 2): 1 / 4,
    ("confusion_no_count", 3): 1 / 36,
    ("vary_color", 1): 1 / 20,
    ("vary_object", 1): 1 / 60,
}
NOUNS = ("cup", "chair", "ball", "lamp", "book", "clock")
COLORS = {
    "red": (200, 40, 40), "blue": (40, 80, 200), "green": (40, 150, 70),
    "yellow": (230, 200, 40), "purple": (130, 50, 160), "orange": (240, 130, 30),
}  # fmt: skip
FAULTS = ("dropped", "doubled", "replaced", "leaked", "exchanged", "borderline")


def scene(rng: np.random.Generator, n: int, colors: list[str], plain: bool, size: int = 128):
    """Return a noisy picture of n shapes (uint8) and their boxes."""
    wide = 4 * size
    image = Image.new("RGB", (wide, wide), (244, 244, 243) if plain else (205, 196, 180))
    draw = ImageDraw.Draw(image)
    if not plain:
        draw.rectangle((0, int(0.62 * wide), wide, wide), fill=(130, 105, 80))
        draw.rectangle((int(0.7 * wide), 30, wide - 40, int(0.4 * wide)), fill=(170, 200, 225))
    boxes = []
    for i in range(n):
        side = wide * rng.uniform(0.2, 0.28)
        left = wide * (0.06 + i * 0.9 / n + rng.uniform(0, 0.05))
        top = wide * rng.uniform(0.42, 0.58)
        box = (left, top, left + side, top + side)
        draw.ellipse((left, top + 0.85 * side, left + 1.15 * side, top + 1.1 * side), (185,) * 3)
        shape = (draw.ellipse, draw.rectangle, draw.rounded_rectangle)[int(rng.integers(3))]
        shape(box, fill=COLORS[colors[i]])
        boxes.append([value / 4 for value in box])
    pixels = np.asarray(image.resize((size, size), Image.Resampling.LANCZOS), dtype=np.float64)
    noisy = np.clip(pixels + rng.normal(0, 3, pixels.shape), 0, 255)
    return noisy.astype(np.uint8), boxes


def png(pixels: np.ndarray) -> bytes:
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "PNG")
    return out.getvalue()


def families(n: int) -> tuple[str, ...]:
    return ("vary_color", "vary_object") if n == 1 else ("swap", "confusion", "confusion_no_count")


def score_rows(rng: np.random.Generator) -> list[dict]:
    rows = []
    for model in MODELS:
        for key, benchmark in BENCHMARKS.items():
            for family in families(benchmark.n):
                for semantics in ("strict", "paper"):
                    rows += _tracks(rng, model, key, benchmark.n, family, semantics)
    return rows + readout_rows(rng, rows)


def readout_rows(rng: np.random.Generator, scored: list[dict]) -> list[dict]:
    """Return the other readouts of the generative model, and mark some of its items undecided."""
    rows = []
    for row in scored:
        if row["model"] != GENERATIVE or row["track"] == "difference":
            continue
        row["undecided"] = float(rng.uniform(0.1, 0.4))
        for readout in ("mean", "subtracted", "blind", "blind_choice"):
            if readout == "blind_choice" and not row["benchmark"].endswith("n3"):
                continue
            rows.append(row | {"readout": readout, "accuracy": float(rng.uniform(0.1, 0.9)),
                               "low": 0.05, "high": 0.95, "undecided": None})  # fmt: skip
    return rows


def audit_rows(rng: np.random.Generator) -> list[dict]:
    """Return an audit in which one benchmark leaks by a space, and repeated words are by design."""
    rows = []
    for key, benchmark in BENCHMARKS.items():
        for track in TRACKS:
            for family in families(benchmark.n):
                for cue in ("edge_space", "characters", "repeated_words", "label_order"):
                    if cue == "label_order" and family != "swap":
                        continue
                    chance = CHANCES[family, benchmark.n]
                    leak = cue == "edge_space" and key == "position-n3"
                    differs = 0 if cue == "edge_space" and not leak else 40
                    rows += [
                        {"benchmark": key, "track": track, "family": family, "mode": mode,
                         "cue": cue, "direction": direction, "n_items": 40, "differs": differs,
                         "accuracy": chance / 2, "low": 0.0, "high": chance,
                         "credit": 0.9 if leak and direction == "most" else chance,
                         "credit_low": chance / 2, "credit_high": min(1.0, 2 * chance),
                         "chance": chance,
                         "p_value": 1e-6 if leak and direction == "most" else rng.uniform(0.5, 1),
                         "by_design": cue == "repeated_words" and "confusion" in family,
                         "leak": leak and direction == "most"}
                        for mode in ("strict", "paper") for direction in ("most", "least")
                    ]  # fmt: skip
    return rows


def _tracks(rng, model, key, n, family, semantics) -> list[dict]:
    chance = CHANCES[family, n]
    attribute = BENCHMARKS[key].task.axis == "attribute"
    ceiling = 1 / (2 if n == 2 else 6) if semantics == "paper" and attribute and n > 1 else None
    rows, values = [], []
    for subset in ("all", "paired"):
        for track in TRACKS:
            skill = SKILL.get(model, rng.uniform(0.02, 0.5))
            top = ceiling if ceiling is not None else 1.0
            p = 0.0 if skill < 0 else min(chance + skill * (1 - chance), top)
            items = int(rng.integers(30, 60))
            wins = rng.binomial(items, p) / items
            values.append(wins)
            width = 1.96 * np.sqrt(max(wins * (1 - wins), 0.02) / items)
            rows.append(
                _score(model, key, track, subset, family, semantics) | {
                    "n_items": items, "n_excluded": int(rng.integers(0, 3)), "accuracy": wins,
                    "low": max(0.0, wins - width), "high": min(1.0, wins + width),
                    "credit": chance if skill < 0 else wins, "tie_rate": float(skill < 0),
                    "chance": chance, "ceiling": ceiling,
                }
            )  # fmt: skip
    effect = values[3] - values[2]
    rows.append(
        _score(model, key, "difference", "paired", family, semantics) | {
            "n_items": 31, "n_excluded": 0, "accuracy": effect, "low": effect - 0.12,
            "high": effect + 0.12, "credit": None, "tie_rate": None, "chance": None,
            "ceiling": None,
        }
    )  # fmt: skip
    return rows


def _score(model, key, track, subset, family, semantics) -> dict:
    return {
        "model": model, "benchmark": key, "track": track, "set": subset,
        "readout": "score", "family": family, "semantics": semantics,
    }  # fmt: skip


def survival_rows(rng: np.random.Generator) -> list[dict]:
    rows = []
    for key in BENCHMARKS:
        for track in TRACKS:
            reached = total = 64
            for check in CHECKS:
                if check == "background" and track == "contextual":
                    continue
                passed = int(rng.binomial(reached, 0.85)) if check != "accepted" else reached
                base = total if check == "accepted" else reached
                share = passed / base
                rows.append({
                    "benchmark": key, "track": track, "check": check, "reached": base,
                    "passed": passed, "total": total, "share_of_reached": share,
                    "share_of_all": passed / total, "low": max(0.0, share - 0.09),
                    "high": min(1.0, share + 0.07),
                })  # fmt: skip
                reached = passed
    return rows


def shift_rows(rng: np.random.Generator) -> list[dict]:
    rows = []
    for key in BENCHMARKS:
        for track in TRACKS:
            for measure in MEASURES:
                low = rng.uniform(0.08, 0.3)
                value = low + rng.uniform(-0.02, 0.15)
                rows.append({
                    "benchmark": key, "track": track, "measure": measure, "value": value,
                    "null_low": low, "null_high": low + 0.1, "sampled": low + 0.04,
                    "excess": max(0.0, value - low - 0.1),
                })  # fmt: skip
    return rows


def sample(rng: np.random.Generator, key: str, index: int) -> list[GalleryItem]:
    """Return one concept in both tracks, with what the models chose."""
    n = BENCHMARKS[key].n
    nouns = [str(x) for x in rng.choice(NOUNS, n, replace=False)]
    colors = [str(x) for x in rng.choice(list(COLORS), n, replace=False)]
    text = " and ".join(f"a {c} {o}" for c, o in zip(colors, nouns, strict=True))
    swapped = " and ".join(f"a {c} {o}" for c, o in zip(colors[::-1], nouns, strict=True))
    same = " and ".join(f"a {colors[0]} {o}" for o in nouns)
    found = []
    for track in TRACKS:
        plain = track == "minimal"
        pixels, boxes = scene(rng, n, colors, plain)
        verdicts = {"captions": "pass", "presence": "pass", "label": "pass"}
        verdicts["background"] = "pass" if plain else "not_run"
        reason, fate = "", rng.random()
        if fate < 0.12:
            verdicts |= {"presence": "missing", "label": "not_run"}
            reason = f"No {nouns[0]} was found."
        elif fate < 0.25:
            verdicts |= {"label": "label"}
            reason = f"{nouns[-1]}: brown, not {colors[-1]}"
        where = "" if plain else ", next to a window in a quiet room"
        caption = f"{text.capitalize()}{where}."
        wrong = Negative(swapped.capitalize() + where + ".", "swap")
        found.append(
            GalleryItem(
                benchmark=key, index=index, track=track, concept=text, caption=caption,
                accepted=not reason, concept_id=f"{rng.integers(1 << 30):08x}",
                scored="" if reason else caption, image=picture(pixels), width=128, height=128,
                boxes=[
                    Box(noun, *(side / 128 for side in box))
                    for noun, box in zip(nouns, boxes, strict=True)
                ],
                verdicts=verdicts, reason=reason,
                negatives=(wrong, Negative(same.capitalize() + where + ".", "confusion"))
                if n > 1 and not reason else (),
                choices=() if reason else choices(rng, n, caption, wrong.text),
            )
        )  # fmt: skip
    return found


def choices(rng: np.random.Generator, n: int, right: str, wrong: str) -> list[Choice]:
    """Return a choice of every model; of one object Swap and Confusion there are none."""
    found = []
    for model in MODELS:
        won = {family: bool(rng.random() < 0.6) for family in families(n)}
        every = all(won.values())
        found.append(Choice(model, right if every else wrong, every, won))
    return found


def gallery(rng: np.random.Generator, concepts: int) -> list[GalleryItem]:
    """Return some concepts of every benchmark."""
    return [item for key in BENCHMARKS for i in range(concepts) for item in sample(rng, key, i)]


def label_rows(rng: np.random.Generator) -> list[dict]:
    """Return the labels of two benchmarks; the first is outside its band."""
    return [
        {"benchmark": key, "track": track, "label": label, "mentions": 10,
         "share": 0.4 if i == 0 else float(rng.uniform(0.1, 0.2)), "target": 1 / 6,
         "null_low": 0.08, "null_high": 0.25}
        for key in ("color-n2", "color-n3") for track in TRACKS for i, label in enumerate(COLORS)
    ]  # fmt: skip


def cell(row: str, column: str, value: float | None, **fields) -> dict:
    """Return a number of a table as the asset ``tables`` stores it."""
    blank = dict.fromkeys(("low", "high", "n_items", "p_value", "published"))
    empty = dict.fromkeys(("note", "asset", "partition"), "") | {"where": "{}"}
    names = {"table": "5", "block": "minimal", "semantics": "strict", "row": row, "column": column}
    return names | {"value": value, "unit": "share"} | blank | empty | fields


def fake_tables() -> list[Table]:
    """Return two tables, of which one lacks everything."""
    where = json.dumps({"track": "minimal", "family": "swap", "semantics": "strict"})
    source = {"asset": "model_scores", "partition": "color-n2--nano-clip", "where": where}
    rows = [
        cell("nano:clip", "color-n2 swap", 0.75, low=0.6, high=0.9, published=0.706, **source),
        cell("nano:clip", "color-n2 confusion", None, note="Not scored: run it."),
        cell("nano:negclip", "color-n2 swap", 0.5, asset="leaderboard", partition="all"),
    ]
    gone = cell("", "", None, table="8", block="", semantics="", note="Nothing was fine-tuned.")
    return [
        Table("5", "Main results", "Accuracy of every model.", rows),
        Table("8", "Fine-tuning", "", [gone]),
    ]


def _slice(rng: np.random.Generator, chance: float = 0.5) -> dict:
    """Return an accuracy of a few items; one in twenty was not measured."""
    if rng.random() < 0.05:
        return {"n_items": 0, "accuracy": None, "low": None, "high": None, "chance": None}
    items, value = int(rng.integers(3, 40)), rng.uniform(0.2, 1)
    low, high = max(0.0, value - 0.2), min(1.0, value + 0.15)
    return {"n_items": items, "accuracy": value, "low": low, "high": high, "chance": chance}


def family_rows(rng: np.random.Generator) -> list[dict]:
    rows = []
    for model in MODELS:
        for key, benchmark in BENCHMARKS.items():
            names = ["swap", "object_kept", "label_kept", "repeated_pair", "other"][
                : 2 + benchmark.n
            ]
            if benchmark.n == 1 or benchmark.task.axis == "relation":
                continue
            for track in TRACKS:
                shares = rng.dirichlet(np.ones(len(names))).tolist()
                rows += [
                    {"model": model, "benchmark": key, "track": track, "family": name,
                     "errors": 20 * share, "share": None if model == "check:oracle" else share,
                     "chance_share": 1 / len(names)} | _slice(rng, 0.3)
                    for name, share in zip(names, shares, strict=True)
                ]  # fmt: skip
    return rows


def slice_rows(rng: np.random.Generator) -> tuple[list[dict], list[dict]]:
    order, labels = [], []
    for model in MODELS:
        for key, benchmark in BENCHMARKS.items():
            if benchmark.n == 1:
                continue
            attribute = benchmark.task.axis == "attribute"
            words = [("label", w) for w in (COLORS if attribute else ("above", "under"))]
            words += [("close", w) for w in ("look_alikes", "others") if attribute]
            for track in TRACKS:
                cell = {"model": model, "benchmark": key, "track": track}
                order += [
                    cell | {"axis": axis, "order": name} | _slice(rng)
                    for axis in ("horizontal", "vertical")
                    for name in ("concordant", "discordant")
                ]
                labels += [cell | {"slice": s, "word": word} | _slice(rng) for s, word in words]
    return order, labels


def hard_negatives(rng: np.random.Generator) -> list[HardNegative]:
    found = []
    for model in MODELS[3:5]:
        for key in list(BENCHMARKS)[1:]:  # nothing beats the positive with one object
            for track in TRACKS:
                for i in range(3):
                    image = png(scene(rng, 2, ["red", "blue"], track == "minimal")[0])
                    right = (("A ", False), ("red", True), (" cup and a ", False), ("blue", True),
                             (" chair on a white background.", False))  # fmt: skip
                    chosen = (("A ", False), ("blue", True), (" cup and a ", False), ("red", True),
                              (" chair on a white background.", False))  # fmt: skip
                    found.append(
                        HardNegative(model, key, track, image, right, chosen, "swap", 0.25,
                                     0.33 - 0.02 * i, f"{i:08x}")
                    )  # fmt: skip
    return found


def counting_rows(rng: np.random.Generator) -> list[dict]:
    return [
        {"model": model, "benchmark": key, "track": track, "n_items": 40, "share": share,
         "low": max(0.0, share - 0.1), "high": share + 0.1, "chance": 0.2}
        for model in MODELS for key, b in BENCHMARKS.items() if b.n > 1
        for track in TRACKS for share in [float(rng.uniform(0, 0.6))]
    ]  # fmt: skip


def agreement_rows(rng: np.random.Generator) -> list[dict]:
    """Return an agreement in which both judges decide everything alike on the first benchmark."""
    rows = []
    for key in (*BENCHMARKS, "all"):
        first, second = (0.0, 0.0) if key == "color-n1" else rng.uniform(0.01, 0.1, 2).tolist()
        agreement = 1 - first - second
        rows.append({
            "benchmark": key, "images": 50, "agreement": agreement, "low": agreement - 0.05,
            "high": min(1.0, agreement + 0.03), "kappa": None if agreement == 1 else 0.8,
            "disagree": first + second, "p": 0.25, "only_first": first, "first_low": first / 2,
            "first_high": first + 0.1, "only_second": second, "second_low": second / 2,
            "second_high": second + 0.1,
        })  # fmt: skip
    return rows


def disagreements(rng: np.random.Generator) -> list[Disagreement]:
    return [
        Disagreement(key, track, png(scene(rng, 2, ["red", "blue"], track == "minimal")[0]),
                     "A red cup and a blue chair.", passes, "label", "cup: brown, not red")
        for key in list(BENCHMARKS)[1:] for track in TRACKS for passes in (True, False)
    ]  # fmt: skip


def fake_report(seed: int = 0, samples: int = 6) -> ReportData:
    """Return a report of nine benchmarks and six models."""
    rng = np.random.default_rng(seed)
    cells = [(key, track) for key in BENCHMARKS for track in TRACKS]
    concordance, by_label = slice_rows(np.random.default_rng([seed, 1]))
    names = [(key, family) for key, b in BENCHMARKS.items() for family in families(b.n)]
    return ReportData(
        title="embedded",
        settings={"seed": seed, "concepts": 64, "generator": {"model": "mitsuba:icons"}},
        survival=survival_rows(rng),
        shift=shift_rows(rng),
        leaderboard=score_rows(rng),
        semantics_shares=[
            {"benchmark": k, "family": f, "true": 0.04, "false": 0.9, "undecided": 0.06}
            for k, f in names
        ],
        blind_audit=audit_rows(np.random.default_rng([seed, 4])),
        order=[
            {"benchmark": k, "track": t, "axis": axis, "correlation": rng.uniform(-0.2, 0.2),
             "low": -0.25, "high": 0.22, "n": 52}
            for k, t in cells for axis in ("horizontal", "vertical")
        ],
        calibration=[
            {"benchmark": k, "track": t, "fault": fault, "n": 200, "caught": 190, "share": 0.95,
             "low": 0.91}
            for k, t in cells for fault in FAULTS
        ],
        fault_free=[
            {"benchmark": k, "track": t, "n": 200, "accepted": 193, "share": 0.965, "low": 0.93}
            for k, t in cells
        ],
        accepted_faulty=[
            {"benchmark": k, "track": t, "share": 0.021, "low": None, "high": 0.04}
            for k, t in cells
        ],
        label_shares=label_rows(np.random.default_rng([seed, 8])),
        tables=fake_tables(),
        gallery=gallery(rng, samples),
        judges=JUDGES,
        agreement=agreement_rows(np.random.default_rng([seed, 5])),
        disagreements=disagreements(np.random.default_rng([seed, 6])),
        kinds=KINDS,
        counting=counting_rows(np.random.default_rng([seed, 7])),
        error_families=family_rows(np.random.default_rng([seed, 2])),
        concordance=concordance,
        by_label=by_label,
        hardest=hard_negatives(np.random.default_rng([seed, 3])),
    )  # fmt: skip
