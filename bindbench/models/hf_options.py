"""Options of the models of transformers."""

from typing import Annotated, Literal

from pydantic import Field

from bindbench.scoring.prompts import DEFAULT_PROMPT
from bindbench.suite import Strict


class HfOptions(Strict):
    """Options of models of transformers; those after ``device`` are of generative models alone."""

    dtype: Literal["float32", "float16", "bfloat16"] = "float32"
    device: Annotated[
        str, Field(description="cpu, cuda, cuda:1, ...; auto spreads the model over what there is")
    ] = "cpu"
    trust_remote_code: Annotated[
        bool, Field(description="run the code that comes with the checkpoint")
    ] = False
    prompt: Annotated[str, Field(description="what the model is asked before the caption")] = (
        DEFAULT_PROMPT
    )
    quantisation: Annotated[Literal["", "8bit", "4bit"], Field(description="by bitsandbytes")] = ""
    attention: Annotated[
        Literal["auto", "sdpa", "eager"], Field(description="how transformers computes attention")
    ] = "auto"
    image_free: Annotated[bool, Field(description="also score each caption without the image")] = (
        True
    )


class HfJudgeOptions(Strict):
    """Options of generative models that judge; they mean what they mean for scorers."""

    dtype: Literal["float32", "float16", "bfloat16"] = "float32"
    device: str = "cpu"
    trust_remote_code: bool = False
    quantisation: Literal["", "8bit", "4bit"] = ""
    attention: Literal["auto", "sdpa", "eager"] = "auto"
    question: Annotated[
        str, Field(description="what is asked; {question} and {options} stand for each question's")
    ] = "{question} Answer with one of these: {options}."


class HfWriterOptions(Strict):
    """Options of models that write captions; the sampling is that of Auto-Comp, A.6."""

    dtype: Literal["float32", "float16", "bfloat16"] = "float32"
    device: str = "cpu"
    trust_remote_code: bool = False
    quantisation: Literal["", "8bit", "4bit"] = ""
    temperature: Annotated[
        float, Field(gt=0, le=2, description="above 0: greedy retries would repeat a failure")
    ] = 0.7
    top_p: Annotated[
        float, Field(gt=0, le=1, description="probability of the tokens that are drawn from")
    ] = 0.9
    max_new_tokens: Annotated[int, Field(ge=1, description="of a caption")] = 150
    system_role: Annotated[
        bool, Field(description="the role as a message of its own; false: in the user's")
    ] = True
