"""What the tasks of this folder need: BindBench's strict accuracy from losses.

lmms-eval's models return the mean loss of a caption's tokens, so the lowest wins; that is
BindBench's readout "mean". A tie is a loss.
"""

TOLERANCE = 8 * 2.0**-23  # losses whose relative difference is smaller are equal (float32)


def picture(doc):
    """Return the image of an item."""
    return [doc["image"].convert("RGB")]


def is_wrong(semantics, name, family):
    """Whether a candidate is a false caption of a family; every swap is in Confusion too."""
    own = name == family or (family == "confusion" and name == "swap")
    return semantics == "false" and own


def captions(doc, family):
    """Return the right caption, then the false ones of a family."""
    rows = zip(doc["candidates"], doc["semantics"], doc["families"], strict=True)
    return doc["candidates"][:1] + [text for text, s, name in rows if is_wrong(s, name, family)]


def askable(dataset, family):
    """Return the items that have a false caption of a family."""

    def keep(semantics, families):
        return any(is_wrong(s, name, family) for s, name in zip(semantics, families, strict=True))

    return dataset.filter(keep, input_columns=["semantics", "families"])


def swap(doc):
    """Return the captions to choose from."""
    return captions(doc, "swap")


def confusion(doc):
    """Return the captions to choose from."""
    return captions(doc, "confusion")


def vary_color(doc):
    """Return the captions to choose from."""
    return captions(doc, "vary_color")


def vary_object(doc):
    """Return the captions to choose from."""
    return captions(doc, "vary_object")


def with_swap(dataset):
    """Return the items that can be asked."""
    return askable(dataset, "swap")


def with_confusion(dataset):
    """Return the items that can be asked."""
    return askable(dataset, "confusion")


def with_vary_color(dataset):
    """Return the items that can be asked."""
    return askable(dataset, "vary_color")


def with_vary_object(dataset):
    """Return the items that can be asked."""
    return askable(dataset, "vary_object")


def strict(doc, results):
    """Return whether the right caption has the lowest loss, whether it ties, and chance."""
    right, *wrong = (float(result[0]) for result in results)
    near = [abs(loss - right) <= TOLERANCE * max(abs(loss), abs(right)) for loss in wrong]
    beaten = any(loss < right and not equal for loss, equal in zip(wrong, near, strict=True))
    return {
        "accuracy": float(not beaten and not any(near)),
        "tie_rate": float(not beaten and any(near)),
        "chance": 1 / (1 + len(wrong)),
    }
