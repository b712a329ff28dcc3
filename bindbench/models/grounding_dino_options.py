"""Options of the open-vocabulary detector."""

from typing import Annotated, Literal

from pydantic import Field

from bindbench.suite import Share, Strict


class GroundingDinoOptions(Strict):
    """Options of detectors of transformers with masks by SAM 2; the thresholds are published."""

    segmenter: Annotated[
        str,
        Field(description="SAM 2: org/name@revision of the hub, a checkpoint file, or its folder"),
    ] = "facebook/sam2.1-hiera-large"
    segmenter_config: Annotated[
        str, Field(description="YAML file of a checkpoint that is none of the published ones")
    ] = ""
    box_threshold: Annotated[Share, Field(description="least score of a box")] = 0.4
    text_threshold: Annotated[
        Share, Field(description="least score of a word that a box answers to")
    ] = 0.3
    same_noun_overlap: Annotated[
        Share, Field(description="boxes of one noun that overlap more show one instance; 1: never")
    ] = 0.5
    other_noun_overlap: Annotated[
        Share, Field(description="boxes of two nouns that overlap more show one thing; 1: never")
    ] = 0.8
    dtype: Annotated[
        Literal["float32", "float16", "bfloat16"], Field(description="of the arithmetic")
    ] = "float32"
    device: str = "cpu"
