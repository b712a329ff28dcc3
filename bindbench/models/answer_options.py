"""Options of models that answer in words."""

from typing import Annotated, Literal

from pydantic import Field

from bindbench.models.api_options import Detail, ServerOptions
from bindbench.suite import Strict


class AnsweringOptions(Strict):
    """Options of all answerers."""

    wording: Annotated[
        Literal["plain", "nano"],
        Field(description="of the questions: nano keeps to the words of nano:vlm"),
    ] = "plain"
    max_tokens: Annotated[int, Field(ge=1, description="of a short answer")] = 32
    list_tokens: Annotated[
        int, Field(ge=1, description="of an answer that lists all instances first")
    ] = 256


class Decoding(Strict):
    """How a local model chooses the tokens that it writes; by default greedily."""

    beams: Annotated[int, Field(ge=1, description="texts that are searched side by side")] = 1
    temperature: Annotated[
        float,
        Field(ge=0, le=2, description="0: the likeliest; above: drawn, seeded by what is asked"),
    ] = 0.0
    top_p: Annotated[
        float, Field(gt=0, le=1, description="probability of the tokens that are drawn from")
    ] = 1.0
    repetition_penalty: Annotated[
        float, Field(gt=0, description="divides the scores of tokens that stand there already")
    ] = 1.0
    length_penalty: Annotated[
        float, Field(description="exponent of the length that divides the score of a beam")
    ] = 1.0
    max_tokens: Annotated[
        int | None, Field(ge=1, description="in place of the most that is asked for; null: that")
    ] = None

    @property
    def greedy(self) -> bool:
        """Whether the likeliest token is written, again and again."""
        return self.beams == 1 and not self.temperature and self.repetition_penalty == 1


class HfAnsweringOptions(AnsweringOptions):
    """Options of generative models; they mean what they mean for scorers and judges."""

    dtype: Literal["float32", "float16", "bfloat16"] = "float32"
    device: str = "cpu"
    trust_remote_code: bool = False
    quantisation: Literal["", "8bit", "4bit"] = ""
    attention: Literal["auto", "sdpa", "eager"] = "auto"
    question: Annotated[
        str, Field(description="of a choice; {question} and {options} stand for each question's")
    ] = "{question} Answer with one of these: {options}."
    decoding: Annotated[Decoding, Field(description="of descriptions and answers")] = Decoding()
    choosing: Annotated[
        Decoding, Field(description="of replies that choose between lettered options")
    ] = Decoding()


class NanoAnsweringOptions(AnsweringOptions):
    """Options of the project's own vision-language models."""

    wording: Literal["plain", "nano"] = "nano"
    dtype: Literal["float32", "float16", "bfloat16"] = "float32"
    device: str = "cpu"


class ApiAnsweringOptions(AnsweringOptions, ServerOptions):
    """Options of models behind a server; those from ``asks`` on are of choices alone."""

    temperature: Annotated[
        float | None, Field(ge=0, le=2, description="null: leave it to the server")
    ] = 0.0
    detail: Detail = ""
    structured: Annotated[
        Literal["", "json_schema", "json_object"],
        Field(description='how the server keeps to a schema where JSON is asked for; "": not'),
    ] = ""
    asks: Annotated[
        int, Field(ge=1, le=10, description="times to put a choice until its answer is readable")
    ] = 2
    orders: Annotated[
        int, Field(ge=1, le=26, description="of the options, in which a choice is asked")
    ] = 1
    token_probabilities: Annotated[
        bool, Field(description="ask for the log-probabilities of a choice's first token")
    ] = True
