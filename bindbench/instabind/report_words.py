"""The words of InstaBind's report."""

from bindbench.instabind.conditions import FULL, INSTANCE_FIRST
from bindbench.instabind.outcomes import INVALID, OUT_OF_SET, RECOGNITION

RATES = {
    "accuracy": "Accuracy",
    "mbr": "MBR",
    "err_mbr": "Err-MBR",
    "a_mbr": "A-MBR",
    "out_of_set_rate": "Out of set",
    "invalid_rate": "Invalid",
}
ERROR_NAMES = {
    "adjacent": "adjacent misbinding",
    "nonadjacent": "farther misbinding",
    OUT_OF_SET: "out of set",
    RECOGNITION: "not recognised",
    INVALID: "invalid",
}
SETTINGS = {
    FULL: "Full image",
    "crop_oracle": "Crop",
    "context_crop": "Context crop",
    "box_guided": "Box drawn",
    "dim_non_target": "Others dimmed",
    INSTANCE_FIRST: "Instance first",
}
SLICES = {
    "class": "Class",
    "size": "Group size",
    "place": "Target's place",
    "source": "Image source",
}
# Measures of ``bindbench.instabind.space``: what they are, and their bins.
MEASURES = {
    "distance": (
        "Distance of the centres, of the image's diagonal",
        ("below 10%", "10% to 20%", "20% to 30%", "30% to 40%", "40% to 50%", "50% and more"),
    ),
    "overlap": (
        "Overlap of the boxes, intersection over union",
        ("none", "below 5%", "5% to 10%", "10% to 20%", "20% to 40%", "40% and more"),
    ),
    "size": (
        "Area of the source against the target's, in doublings",
        (
            *("below a quarter", "a quarter to half", "half to equal"),
            *("equal to double", "double to fourfold", "fourfold and more"),
        ),
    ),
}
TERMS = {
    "Accuracy": "The share of questions with the right answer. A question without an answer is "
    "invalid, and wrong.",
    "MBR": "Misbinding rate: the share of all questions that are answered with the value or the "
    "place of another instance of the group. A yes to a false claim is one, if another instance "
    "has the claimed value.",
    "Err-MBR": "Misbindings as a share of the wrong answers.",
    "A-MBR": "Adjacent misbinding rate: the part of the misbindings that comes from a neighbor of "
    "the target in the order from left to right.",
    "Null of A-MBR": "What A-MBR would be if these misbindings came from any other instance of "
    "their groups alike, given the target's place and the size of the group. On L4 a false claim "
    "is a neighbor's by construction, so that A-MBR and its null are 100% there.",
    "Out of set": "Answers that are no instance's value.",
    "Not recognised": "Yes-or-no questions only: a wrong no, or a wrong yes to a value that no "
    "other instance has.",
    "Intervals": "95%, from 1,000 resamples of the images with all their questions. For paired "
    "differences, p comes from a permutation test by image.",
    "Neighbors against chance": "An exact permutation test: what each target was mistaken for is "
    "assigned anew among the other instances, all its misbindings together.",
    "By pixels": "How near the source is in the picture, how much its box overlaps the target's, "
    "and how large it is, against what any other instance of the group alike would give; L1 to L3.",
    "d′ and criterion": "How well true claims are told from false ones (0: not at all), and the "
    "lean to yes (below 0) or no.",
    "Total variation": "Half the sum of differences between the shares of letters chosen and "
    "letters that are right: 0 is no preference, 1 complete.",
    "Choice": "The answer is the likeliest of the group's values, not free text. Such answers are "
    "compared with choices on the full image.",
}
