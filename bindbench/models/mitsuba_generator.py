"""The embedded generator: the Mitsuba ray tracer, with mistakes at given rates."""

from collections.abc import Mapping, Sequence

from bindbench.errors import UserError, unknown_name
from bindbench.models.base import GeneratedImage, ImageRequest
from bindbench.rendering.faults import check_hard, check_rates, draw_fault, raised
from bindbench.rendering.render import render_scene
from bindbench.rendering.rows import compose_row, draw_row_fault
from bindbench.rendering.scenes import compose
from bindbench.vocabulary import Lexicon

VOCABULARIES = ("objects", "shapes", "colors", "positions", "sizes")


class MitsubaGenerator:
    """Draws each request's concept, or the concept with one fault, and tells the truth of it.

    The caption is not read. An image depends on its request and on these settings alone.
    """

    def __init__(
        self,
        lexicon: Lexicon,
        resolution: int,
        samples: int,
        faults: dict[str, float],
        hard: Mapping[str, float] | None = None,
    ) -> None:
        """Set the generator up.

        Args:
            lexicon: the vocabularies of the concepts.
            resolution: side of the images, in pixels.
            samples: rays for each pixel.
            faults: the rate of each kind of fault, see ``bindbench.rendering.faults.FAULTS``.
            hard: the share of faulty images of some objects and labels, see
                ``bindbench.rendering.faults.raised``.

        Raises:
            UserError: a resolution, number of samples, rate or word that makes no sense.
        """
        if not 64 <= resolution <= 2048:
            raise UserError(
                f"The ray tracer's resolution is {resolution}, but must lie between 64 and 2048."
            )
        if not 1 <= samples <= 4096:
            raise UserError(f"The ray tracer's samples are {samples}, but must be from 1 to 4096.")
        check_rates(faults)
        self._hard = dict(hard or {})
        check_hard(self._hard, faults)
        known = {name for role in VOCABULARIES for name in getattr(lexicon, role).names}
        if unknown := sorted(self._hard.keys() - known):
            raise unknown_name("word", unknown[0], known, "the generator's hard words")
        self._lexicon = lexicon
        self._resolution = resolution
        self._samples = samples
        self._faults = dict(faults)

    def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        """Return one image for each request, with the record of what it truly shows."""
        return [self._one(request) for request in requests]

    def _one(self, request: ImageRequest) -> GeneratedImage:
        concept, track, seed = request.concept, request.track, request.seed
        rates = raised(self._faults, self._hard, concept, track)
        if request.row:
            fault = draw_row_fault(rates, concept, track, seed)
            scene = compose_row(concept, track, seed, self._lexicon, request.row, fault)
        else:
            fault = draw_fault(rates, concept, track, seed)
            scene = compose(concept, track, seed, self._lexicon, fault)
        rendering = render_scene(scene, self._lexicon, self._resolution, self._samples)
        return GeneratedImage(rendering.image, scene.truth())
