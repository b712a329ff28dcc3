"""The words of the report: names that people read, and what each number means."""

import re

from bindbench.tasks import BENCHMARKS

TASK_TITLES = {
    "color": "Color",
    "shape_color": "Shape and color",
    "position": "Position",
    "relative_size": "Relative size",
}
TASK_QUESTIONS = {
    "color": "Does the model know which object has which color?",
    "shape_color": "Does the model know which geometric shape has which color?",
    "position": "Does the model know which object is left of, right of, above or below which?",
    "relative_size": "Does the model know which object is larger?",
}
TRACKS = {
    "minimal": "Minimal",
    "contextual": "Contextual",
    "difference": "Effect of context",
}
SETS = {
    "all": "all items",
    "paired": "paired concepts",
}
CHECKS = {
    "captions": "Captions",
    "presence": "Presence",
    "background": "Background",
    "label": "Label",
    "accepted": "Accepted",
}
CHECK_QUESTIONS = {
    "captions": "Does the contextual caption still say the concept?",
    "presence": "Is every object there, exactly once?",
    "background": "Is the background of a minimal image white?",
    "label": "Is every color right, and does every relation hold?",
    "accepted": "All checks passed",
}
FAMILIES = {
    "winoground_text": "Winoground text",
    "winoground_image": "Winoground image",
    "winoground_group": "Winoground group",
    "swap": "Swap",
    "confusion": "Confusion",
    "confusion_no_count": "Confusion, same counts",
    "vary_color": "Other color",
    "vary_object": "Other object",
}
MEASURES = {
    "label_tv": "Labels: total variation",
    "object_tv": "Objects: total variation",
    "pair_tv": "Pairs: total variation",
    "labels_within": "Labels within 0.5–1.5× of target",
    "labels_below": "Labels below 0.25× of target",
    "objects_within": "Objects within 0.5–1.5× of target",
    "objects_below": "Objects below 0.25× of target",
}
VERDICTS = {
    "captions: fail": "Caption not preserved",
    "presence: missing": "Object missing",
    "presence: count": "Wrong count",
    "presence: extra": "Something extra",
    "background: background": "Background not white",
    "label: label": "Wrong label",
    "label: unsure": "Label unsure",
}
FAULTS = {
    "dropped": "Object dropped",
    "doubled": "Object doubled",
    "doubled_clutter": "Object doubled in the clutter",
    "replaced": "Object replaced",
    "lookalike": "Object replaced by a look-alike",
    "wrong_shape": "Wrong shape",
    "leaked": "Color leaked",
    "half_leaked": "Color half leaked",
    "exchanged": "Labels exchanged",
    "relation": "Wrong relation",
    "size": "Wrong size order",
    "borderline": "Borderline geometry",
    "background": "Background not white",
}
AXES = {
    "horizontal": "horizontal position",
    "vertical": "vertical position",
    "size": "size in the picture",
}
ERRORS = {
    "swap": "Swap",
    "object_kept": "Object kept, other label",
    "label_kept": "Label kept, other object",
    "repeated_pair": "Repeated pair",
    "other": "Other mix of the words",
    "vary_color": "Other color",
    "vary_object": "Other object",
}
# What each family says of a red cup, a blue chair (and, with three objects, a green lamp).
ERROR_EXAMPLES = {
    "swap": "a blue cup and a red chair",
    "object_kept": "a red cup and a red chair",
    "label_kept": "a red cup and a blue cup",
    "repeated_pair": "a red cup and a red cup",
    "other": "a red cup, a blue cup and a red lamp",
}
KINDS = {
    "contrastive": "Contrastive",
    "generative": "Generative",
    "other": "Other",
}
ORDERS = {
    "concordant": "Concordant",
    "discordant": "Discordant",
}
SLICES = {
    "look_alikes": "Pairs that look alike",
    "others": "No such pair",
}
READOUTS = {
    "score": (
        "Score",
        "The model's own number: a similarity, or the sum of the log-probabilities of the "
        "caption's tokens. It is what all other tables show.",
    ),
    "mean": (
        "Mean",
        "The sum divided by the number of tokens, so that long captions are at no disadvantage.",
    ),
    "subtracted": (
        "Image's part",
        "The sum less the sum of the same tokens without the image: what seeing the picture adds. "
        "It takes away what the language model finds likely anyway.",
    ),
    "blind": (
        "Blind",
        "The sum without the image alone. Above chance it says that the captions can be told apart "
        "by what is usual, such as yellow bananas.",
    ),
    "blind_choice": (
        "Blind, of 50",
        "The blind score among the right caption and 49 others, drawn for each item, with their "
        "own chance: to be compared with blind models that are asked to choose from a list.",
    ),
}
CUES = {
    "edge_space": "White space at the ends",
    "odd_space": "Double spaces, tabs, line breaks",
    "final_punctuation": "Punctuation at the end",
    "punctuation": "Punctuation marks",
    "first_capital": "Capital at the start",
    "capitals": "Capital letters",
    "characters": "Characters",
    "words": "Words",
    "article_errors": "Wrong articles",
    "repeated_words": "Repeated words",
    "object_order": "Objects in alphabetical order",
    "label_order": "Labels in alphabetical order",
}
CONTROLS = {
    "check:constant": "Gives every caption the same score. It must come out at 0% with 100% ties.",
    "check:random": "Gives random scores. It must come out at chance.",
    "check:oracle": "Knows the concept. It must come out at 100% strict: it shows the ceiling.",
}

# Definitions: anchor -> (term, what it is and how to read it). docs/numbers.md in plain words.
DEFINITIONS: dict[str, tuple[str, str]] = {
    "benchmark": (
        "Benchmark, N",
        "A task with N objects in every picture. color-n2 means two objects, each with a color. "
        "The more objects, the more ways to bind them wrongly.",
    ),
    "track": (
        "Minimal and contextual track",
        "Every concept is drawn twice: alone on white (minimal) and in a scene with a longer "
        "caption (contextual). The paired set holds the concepts that were accepted in both, so "
        "that the two tracks can be compared on the same concepts.",
    ),
    "survival": (
        "Survival",
        "The share of images that pass a check: among those that reached it, and among all. An "
        "image stops at the first check that it fails. Rejected images are kept with their "
        "reason, and never scored.",
    ),
    "swap": (
        "Swap",
        "The wrong captions that hold the right words in the wrong binding: “a blue cup and a red "
        "chair” for a red cup and a blue chair.",
    ),
    "confusion": (
        "Confusion",
        "All captions that can be made from the concept's own words when they may repeat: the "
        "swaps, and also “a red cup and a red chair”, “a red cup and a red cup”, and so on. "
        "Harder than Swap: the right caption must beat every one of them.",
    ),
    "confusion_no_count": (
        "Confusion, same counts",
        "Confusion without the captions that mention an object more often than the scene holds "
        "it: those can be rejected by counting alone.",
    ),
    "vary": (
        "Other color, other object",
        "With one object there is nothing to swap. The wrong captions name every other color, or "
        "every other object of the vocabulary.",
    ),
    "semantics": (
        "True, false, undecided",
        "Some candidates say the same as the right caption in other words, and some can't be "
        "judged from text. Each is labelled: true, false, or undecided. The picture settles an "
        "undecided relation where it is clear.",
    ),
    "strict": (
        "Strict accuracy",
        "The share of items where the right caption scores above every caption that is false. "
        "True and undecided captions don't count. A tie is a loss.",
    ),
    "paper": (
        "Paper accuracy",
        "The share of items where the right caption scores above every other candidate, also "
        "those that are true, as published in Auto-Comp. A tie is a loss.",
    ),
    "chance": (
        "Chance",
        "What random guessing reaches: the mean of 1/(1 + number of wrong captions) over the "
        "items, from the actual counts. A model is better than guessing only if its whole "
        "interval lies above.",
    ),
    "ceiling": (
        "Ceiling",
        "The credit of a perfect model to which the order of clauses means nothing. In paper mode "
        "the right caption ties with its own reorderings, which are as true, so the ceiling lies "
        "below 100%. As ties are losses, the accuracy of such a model is lower still.",
    ),
    "interval": (
        "Interval",
        "95% confidence interval. Small runs give wide intervals: where two of them overlap "
        "widely, don't read the difference as real. The wider interval holds beyond these objects "
        "and labels: it resamples them too, because they recur across items.",
    ),
    "credit": (
        "Credit and ties",
        "Credit gives a tie at the top its fair share, 1/(number tied). The tie rate says how "
        "often that happened. A constant scorer has accuracy 0, 100% ties, and credit equal to "
        "chance.",
    ),
    "readout": (
        "Readouts",
        "A model that gives log-probabilities can be read in several ways: by the sum, the mean "
        "of a token, or what the image adds. They are different benchmarks, so that they stand "
        "side by side; all other tables use the model's own score, which is the sum.",
    ),
    "undecided": (
        "Undecided",
        "The share of items whose two best captions are less than 0.5 nats apart, for models that "
        "compute in 16 bits: that much their sums change with the order of the arithmetic alone.",
    ),
    "audit": (
        "Blind audit",
        "Every cue of the captions alone is taken as a model: choose the caption with the most of "
        "it, or the least. Shown is the better of the two, ties shared. Were right captions like "
        "the wrong ones, it would reach chance; p is the chance of so many right captions at the "
        "top, corrected for all cues of the report (Holm). Below 0.05 a cue is called a leak. "
        "Confusion captions repeat words by design and the right one never does, so that counting "
        "repeated words helps there: that is why Swap stands beside Confusion.",
    ),
    "difference": (
        "Effect of context",
        "Accuracy in the contextual track minus accuracy in the minimal one, in percentage "
        "points, on the paired set and over the candidates that are false in both. Above zero: "
        "context helps. p is the chance of such a difference if there were none, corrected for "
        "the number of comparisons (Holm); the smallest detectable difference is what these items "
        "would show in four of five tries.",
    ),
    "gap": (
        "Confusion gap",
        "Strict accuracy on Swap minus strict accuracy on Confusion, on the same pictures. The "
        "Swap captions are among those of Confusion, so that the gap is what the other captions "
        "cost, those that repeat a word. Part of it is chance: there are more captions to beat.",
    ),
    "hardest": (
        "Hardest negatives",
        "The accepted items on which a false caption beats the right one by the largest "
        "difference of scores. Shown is the false caption with the highest score: it is what the "
        "model would have answered. Differences of scores can be compared within a model only.",
    ),
    "error_families": (
        "Error families",
        "An error is an item whose right caption does not beat every false caption of Confusion. "
        "It falls to the family of the highest false caption; families that tie for it share it. "
        "The part in the errors is to be read against the family's part in the false captions, "
        "which is what a model without preference would show.",
    ),
    "concordance": (
        "Concordant and discordant",
        "An item is concordant if the caption mentions the objects in the order in which they "
        "stand in the picture, from left to right (or upwards), and discordant if it mentions "
        "them against it; with three objects two of the three pairs decide. A model that binds "
        "does equally well on both; one that reads off the order does better on one. Items whose "
        "relation asks about the axis are left out.",
    ),
    "kinds": (
        "Contrastive and generative models",
        "A contrastive model embeds the picture and the caption apart; its score is their "
        "similarity. A generative one reads the caption while it looks at the picture; its score "
        "is the caption's log-likelihood, or it answers which caption fits.",
    ),
    "counting": (
        "Lost to counting",
        "An item is lost to counting alone if its right caption beats every false caption that "
        "mentions each object as often as the picture holds it, and does not beat all of "
        "Confusion. The share of such items is what Confusion gains without wrong counts.",
    ),
    "agreement": (
        "Agreement, Cohen's kappa",
        "The share of images that two judges both pass or both fail. Kappa is the agreement "
        "beyond what their pass rates alone would give, (agreement − expected) / (1 − expected): 0 "
        "is luck, 1 is full agreement. p is the chance of so uneven a disagreement if neither "
        "judge were the more lenient (McNemar).",
    ),
    "by_label": (
        "Accuracy by label",
        "Strict accuracy on Swap for the items that mention a color or a relation. An item counts "
        "once for each word that it mentions, so that the rows overlap. Pairs that look alike, "
        "such as gold and yellow, in one picture are a slice of their own.",
    ),
    "shift": (
        "Filter shift",
        "How far the checks bent the mix of labels and objects away from the target. Total "
        "variation is half the sum of absolute differences of the shares: 0 is the same mix, 1 "
        "nothing in common.",
    ),
    "null": (
        "Null band, excess",
        "Small samples differ from the target by luck alone: the band holds 95% of such samples. "
        "Inside it, no shift was found. The excess is what the checks added: the value minus that "
        "of the concepts as they were sampled.",
    ),
    "order": (
        "Mention order",
        "The rank correlation of the order in which the caption mentions the objects with where "
        "they stand in the picture. In the attribute tasks it must be near 0, or Swap could be "
        "solved by reading the picture from left to right.",
    ),
    "calibration": (
        "Calibration of the checks",
        "Images with a known fault are put through the checks. Caught: the share that was "
        "rejected, with its lower bound. Accepted: the share of faultless images that passed.",
    ),
    "accepted_faulty": (
        "Faulty among the accepted",
        "What the calibration implies at this run's fault rate: the share of the accepted images "
        "that are wrong all the same. It is the noise in every accuracy of this report.",
    ),
}

FAMILY_DEFINITIONS = {
    "swap": "swap",
    "confusion": "confusion",
    "confusion_no_count": "confusion_no_count",
    "vary_color": "vary",
    "vary_object": "vary",
}


def title_of(benchmark: str) -> str:
    """Return a benchmark's name for people: ``Color, N=2``."""
    if benchmark not in BENCHMARKS:
        return "All benchmarks" if benchmark == "all" else benchmark
    known = BENCHMARKS[benchmark]
    return f"{TASK_TITLES[known.task.name]}, N={known.n}"


def task_title(benchmark: str) -> str:
    """Return the name of a benchmark's task."""
    return TASK_TITLES[BENCHMARKS[benchmark].task.name] if benchmark in BENCHMARKS else benchmark


def question_of(benchmark: str) -> str:
    """Return what a benchmark asks, or ``""``."""
    if benchmark not in BENCHMARKS:
        return ""
    return TASK_QUESTIONS[BENCHMARKS[benchmark].task.name]


def verdict_title(failed: str) -> str:
    """Return a failed check (``presence: count``) in words."""
    return VERDICTS.get(failed, failed)


def reason_text(reason: str) -> str:
    """Return a reason in words: an identifier (``other_object``) without its underscores."""
    return reason.replace("_", " ") if re.fullmatch(r"[a-z_]+", reason) else reason
