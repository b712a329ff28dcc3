"""The families ``api``: models behind OpenAI-compatible servers as writers, judges and scorers."""

from typing import Any

from bindbench.models.api_options import (
    ApiJudgeOptions,
    ApiOptions,
    ApiWriterOptions,
    ServerOptions,
    parse_address,
    read_key,
)
from bindbench.models.availability import Weights
from bindbench.models.family import Family, ModelName
from bindbench.vocabulary import Lexicon


def _api_writer(name: ModelName, options: ApiWriterOptions, lexicon: Lexicon) -> Any:
    from bindbench.models.api_asker import Asker
    from bindbench.models.api_writer import ApiWriter

    return ApiWriter(Asker(name.name, name.revision, options), options, lexicon)


def _api_writer_identity(name: ModelName, options: ApiWriterOptions) -> dict[str, str]:
    from bindbench.captions.prompts import prompts_digest

    return {"prompts": prompts_digest()}


def _api_judge(name: ModelName, options: ApiJudgeOptions, lexicon: Lexicon) -> Any:
    from bindbench.models.api_asker import Asker
    from bindbench.models.api_judge import ApiJudge

    return ApiJudge(Asker(name.name, name.revision, options), options)


def _api(name: ModelName, options: ApiOptions, lexicon: Lexicon) -> Any:
    from bindbench.models.api_scorer import load_api

    return load_api(name.name, name.revision, options)


def server_of(name: ModelName, options: ServerOptions) -> Weights:
    """Return where a model is served."""
    return Weights("server", parse_address(name.name).url)


def server_key(name: ModelName, options: ServerOptions) -> str:
    """Return the key of a model's server."""
    return read_key(parse_address(name.name), options.key_variable)


API = (
    Family(
        "writer",
        "api",
        (),
        ApiWriterOptions,
        _api_writer,
        _api_writer_identity,
        lambda name, options: parse_address(name.name),
        weights=server_of,
        ready=server_key,
        summary="any chat model behind an OpenAI-compatible server",
        needs="its server, and for most a key in an environment variable",
        library="httpx2",
        named="URL#model",
    ),
    Family(
        "judge",
        "api",
        (),
        ApiJudgeOptions,
        _api_judge,
        check=lambda name, options: parse_address(name.name),
        weights=server_of,
        ready=server_key,
        summary="a choice among lettered options by any model behind an OpenAI-compatible server",
        needs="its server, and for most a key in an environment variable",
        library="httpx2",
        named="URL#model",
    ),
    Family(
        "scorer",
        "api",
        (),
        ApiOptions,
        _api,
        lambda name, options: {"question": options.resolved_question},
        lambda name, options: parse_address(name.name),
        weights=server_of,
        ready=server_key,
        summary="any model behind an OpenAI-compatible server: OpenAI, vLLM and others",
        scored="answers to questions with options, or to one for each caption; by vLLM also "
        "the log-likelihood of each caption",
        needs="its server, and for most a key in an environment variable",
        library="httpx2",
        named="URL#model",
    ),
)
