import numpy as np
import pytest
from scene_samples import random_concept

from bindbench.errors import UserError
from bindbench.models.base import Generator, ImageRequest
from bindbench.models.mitsuba_generator import MitsubaGenerator
from bindbench.rendering.faults import draw_fault

RATES = {"dropped": 0.3, "leaked": 0.3, "background": 0.2}


def requests_for(lexicon, count):
    return [
        ImageRequest(
            random_concept(lexicon, "color-n2", seed),
            "a caption that is not read",
            "minimal" if seed % 2 else "contextual",
            1000 + seed,
        )
        for seed in range(count)
    ]


def test_images_and_their_truth_follow_the_request_alone(lexicon):
    generator: Generator = MitsubaGenerator(lexicon, resolution=64, samples=2, faults=RATES)
    requests = requests_for(lexicon, 8)
    together = generator.generate(requests)
    alone = [generator.generate([request])[0] for request in reversed(requests)][::-1]
    for request, one, two in zip(requests, together, alone, strict=True):
        assert one.image.shape == (64, 64, 3)
        assert (one.image == two.image).all()
        assert one.truth is not None
        assert one.truth == two.truth
        fault = draw_fault(RATES, request.concept, request.track, request.seed)
        assert one.truth["fault"] == fault
        if fault is None:
            drawn = [(item["noun"], item["color"]) for item in one.truth["items"]]
            assert drawn == list(zip(request.concept.objects, request.concept.labels, strict=True))
    assert len({one.truth["fault"] for one in together if one.truth}) > 1
    assert np.std([one.image.mean() for one in together]) > 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"resolution": 10}, "resolution is 10"),
        ({"samples": 0}, "samples are 0"),
        ({"faults": {"lost": 0.1}}, "'lost'"),
        ({"faults": {"dropped": 2.0}}, "'dropped' is 2.0"),
    ],
)
def test_wrong_settings_are_said(lexicon, change, message):
    settings = {"resolution": 128, "samples": 8, "faults": {}} | change
    with pytest.raises(UserError, match=message):
        MitsubaGenerator(lexicon, **settings)
