"""Every table of Auto-Comp: its number, what it shows, and the function that makes its numbers."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bindbench.errors import UserError
from bindbench.tables.accuracy import table_5, table_12, table_13, table_14
from bindbench.tables.blind import table_19
from bindbench.tables.context import table_6
from bindbench.tables.diversity import table_17
from bindbench.tables.errors import table_10
from bindbench.tables.faithfulness import table_18
from bindbench.tables.finetuning import table_8
from bindbench.tables.generators import table_9
from bindbench.tables.inputs import Inputs
from bindbench.tables.judges import table_21
from bindbench.tables.label_noise import table_label_noise
from bindbench.tables.margins import table_margins
from bindbench.tables.match_prior import table_match_prior
from bindbench.tables.number import Number
from bindbench.tables.people import table_11, table_20
from bindbench.tables.published import beside, published
from bindbench.tables.relations import table_15
from bindbench.tables.reweighted import table_reweighted
from bindbench.tables.samples import table_2, table_3
from bindbench.tables.shift import table_4, table_16
from bindbench.tables.trained import table_7


@dataclass(frozen=True)
class TableOf:
    """A table, of the paper's or beyond them."""

    number: str  # in the paper; a word, if it is not the paper's
    title: str
    about: str  # what stands in it, and how it differs from the paper's
    numbers: Callable[[Inputs], Iterator[Number]]
    stored: bool = True  # False: it is of the machine, and computed when it is shown

    @property
    def heading(self) -> str:
        """The line above it: those beyond the paper's have no number."""
        return f"Table {self.number}. {self.title}" if self.number.isdecimal() else self.title

    @property
    def lost(self) -> bool:
        """Whether it is the paper's, and the paper's text lacks its values."""
        return self.number.isdecimal() and published(self.number) is None


def _costs(inputs: Inputs) -> Iterator[Number]:
    # Costs are of all stages, of which the asset of these tables is one.
    from bindbench.tables.costs import table_22

    return table_22(inputs)


TABLES = (
    TableOf(
        "2",
        "Validated samples",
        "Images that passed every check; paired: concepts whose images passed in both tracks.",
        table_2,
    ),
    TableOf(
        "3",
        "Survival",
        "Share of the images (captions: of the concepts) that reached a check and passed it; "
        "accepted: share of all concepts.",
        table_3,
    ),
    TableOf(
        "4",
        "Filter shift, in short",
        "Mean of both tracks with three objects. TV: total variation from the target distribution; "
        "sampled: that of the concepts before any check, excess: what the checks added, chance: "
        "the band of 95% that sampling alone gives.",
        table_4,
    ),
    TableOf(
        "5",
        "Main results",
        "Accuracy of every model. The paper shows ten of its models here, and all contrastive ones "
        "in Tables 12 and 13; its values of SigLIP and CLIP are the same there, but for Confusion "
        "of CLIP H/14-378 on shape_color-n3 (6.8 and 5.3 here, 3.8 and 3.3 there).",
        table_5,
    ),
    TableOf(
        "6",
        "What context changes",
        "Accuracies on the paired set, and contextual minus minimal in points: there only captions "
        "count that are wrong in both tracks. p: corrected over all differences; detectable: the "
        "smallest difference that these numbers find with 80% power.",
        table_6,
    ),
    TableOf(
        "7",
        "Models trained on hard negatives",
        "Each beside what it was before; change in points, p corrected over this table. The paper "
        "shows three objects only.",
        table_7,
    ),
    TableOf(
        "8",
        "Fine-tuning on hard negatives",
        "Change of accuracy on scenes that no training has seen, in points, with intervals over "
        "seeds and concepts: by training on swap negatives, on Confusion negatives, and what the "
        "second adds to the first, which is what the paper prints.",
        table_8,
    ),
    TableOf(
        "9",
        "Other generators, and real images",
        "Suites side by side on the concepts whose images all of them accepted; real images on "
        "their own concepts. The paper does not say of which track it is.",
        table_9,
    ),
    TableOf(
        "10",
        "Families of errors",
        "Share of the errors on Confusion whose highest wrong caption is of each family, beside "
        "the family's share of the captions that could have won there. Items: the errors.",
        table_10,
    ),
    TableOf(
        "11",
        "People and the pipeline",
        "Share of images that people judge as the pipeline does, people's accuracy on Swap and "
        "Confusion, and Krippendorff's alpha of their answers.",
        table_11,
    ),
    TableOf(
        "12",
        "Contrastive models on Color and Position",
        "Accuracy of each model that embeds images and texts apart.",
        table_12,
    ),
    TableOf(
        "13",
        "Contrastive models on Shape-Color and Relative Size",
        "Accuracy of each model that embeds images and texts apart.",
        table_13,
    ),
    TableOf(
        "14",
        "One object",
        "Accuracy against captions of other colors, and of other objects of the vocabulary.",
        table_14,
    ),
    TableOf(
        "15",
        "Accuracy by relation",
        "Swap of two objects in Position. The paper does not say of which track it is.",
        table_15,
    ),
    TableOf(
        "16",
        "Filter shift in full",
        "As in Table 4, for each benchmark and track. The paper shows three objects.",
        table_16,
    ),
    TableOf(
        "17",
        "Diversity of captions",
        "Distinct-n: different n-grams over all, at equal numbers of captions. Semantic "
        "diversity: 1 - the mean cosine of two captions for the suite's encoder, so that the "
        "paper's values, of an encoder that it does not name, are no yardstick.",
        table_17,
    ),
    TableOf(
        "18",
        "Faithfulness of the generator",
        "Of all images, accepted or not. CLIPScore: 100 or 2.5 times the cosine of image and "
        "caption, at least 0; the paper's values are of the first kind. Question answering: the "
        "share of questions generated from the concepts that the suite's answerer answers "
        "rightly; the paper's is TIFA.",
        table_18,
    ),
    TableOf(
        "19",
        "Without the image",
        "Accuracy by the caption's log-likelihood alone, Confusion of three objects among the "
        "right and 49 wrong captions. The paper's text says 51.2% on Swap.",
        table_19,
    ),
    TableOf(
        "20",
        "People's raw scores",
        "Accuracy of each person on Swap and Confusion.",
        table_20,
    ),
    TableOf(
        "21",
        "Two judges",
        "How often the suite's judge and the second one decide alike about an image. Only first: "
        "the first passes it and the second does not.",
        table_21,
    ),
    TableOf(
        "22",
        "Cost",
        "Of a benchmark, by the builds of this store on their machines: hours of one worker, "
        "hours of accelerators, and money by the profile's prices. A concept has two images here, "
        "and one in the paper. Checks are the paper's last two stages.",
        _costs,
        stored=False,
    ),
    TableOf(
        "margins",
        "Margins and ranks",
        "Beyond the paper. Median of the right caption's score minus that of its best rival (a "
        "similarity, or nats); mean reciprocal rank, and mean share of rivals below it (chance "
        "0.5); ties at their mean rank.",
        table_margins,
    ),
    TableOf(
        "reweighted",
        "Accuracy on the target prior",
        "Beyond the paper. Items weighted so that labels and objects have the shares of the target "
        "distribution; as filtered: every item counted once; effective items: Kish's sample size; "
        "TV left: what bounded weights and absent words leave.",
        table_reweighted,
    ),
    TableOf(
        "match prior",
        "Matching the prior",
        "Beyond the paper. Distances of labels and objects from the target distribution before and "
        "after concepts were added, beside the highest that sampling alone gives in 97.5% of "
        "draws; and what that took.",
        table_match_prior,
    ),
    TableOf(
        "label noise",
        "Label noise",
        "Beyond the paper. Faulty images among the accepted ones, by who tells; and how much of a "
        "model's error they may be. At most, and a true error of at least: if the model is never "
        "right on them; at most: always right; by chance: as often as chance.",
        table_label_noise,
    ),
)


def table_of(number: str) -> TableOf:
    """Return a table by its number.

    Raises:
        UserError: there is none.
    """
    for table in TABLES:
        if table.number == number:
            return table
    known = ", ".join(table.number for table in TABLES)
    raise UserError(f"There is no table {number!r}: give one of {known}.")


def numbers_of(table: TableOf, inputs: Inputs) -> list[Number]:
    """Return the numbers of a table, the paper's values of the same cells beside them."""
    return [beside(number) for number in table.numbers(inputs)]
