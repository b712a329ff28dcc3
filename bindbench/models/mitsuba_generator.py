"""The embedded generator: the Mitsuba ray tracer, with mistakes at given rates."""

from collections.abc import Sequence

from bindbench.errors import UserError
from bindbench.models.base import GeneratedImage, ImageRequest
from bindbench.rendering.faults import check_rates, draw_fault
from bindbench.rendering.render import render_scene
from bindbench.rendering.rows import compose_row, draw_row_fault
from bindbench.rendering.scenes import compose
from bindbench.vocabulary import Lexicon


class MitsubaGenerator:
    """Draws each request's concept, or the concept with one fault, and tells the truth of it.

    The caption is not read. An image depends on its request and on these settings alone.
    """

    def __init__(
        self, lexicon: Lexicon, resolution: int, samples: int, faults: dict[str, float]
    ) -> None:
        """Set the generator up.

        Args:
            lexicon: the vocabularies of the concepts.
            resolution: side of the images, in pixels.
            samples: rays for each pixel.
            faults: the rate of each kind of fault, see ``bindbench.rendering.faults.FAULTS``.

        Raises:
            UserError: a resolution, number of samples or rate that makes no sense.
        """
        if not 64 <= resolution <= 2048:
            raise UserError(
                f"The ray tracer's resolution is {resolution}, but must lie between 64 and 2048."
            )
        if not 1 <= samples <= 4096:
            raise UserError(f"The ray tracer's samples are {samples}, but must be from 1 to 4096.")
        check_rates(faults)
        self._lexicon = lexicon
        self._resolution = resolution
        self._samples = samples
        self._faults = dict(faults)

    def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        """Return one image for each request, with the record of what it truly shows."""
        return [self._one(request) for request in requests]

    def _one(self, request: ImageRequest) -> GeneratedImage:
        concept, track, seed = request.concept, request.track, request.seed
        if request.row:
            fault = draw_row_fault(self._faults, concept, track, seed)
            scene = compose_row(concept, track, seed, self._lexicon, request.row, fault)
        else:
            fault = draw_fault(self._faults, concept, track, seed)
            scene = compose(concept, track, seed, self._lexicon, fault)
        rendering = render_scene(scene, self._lexicon, self._resolution, self._samples)
        return GeneratedImage(rendering.image, scene.truth())
