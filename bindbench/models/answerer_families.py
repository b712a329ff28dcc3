"""The families of models that answer questions in words."""

from typing import Any

from bindbench.errors import UserError
from bindbench.models.answer_options import (
    AnsweringOptions,
    ApiAnsweringOptions,
    HfAnsweringOptions,
    NanoAnsweringOptions,
)
from bindbench.models.api_families import server_key, server_of
from bindbench.models.api_options import parse_address
from bindbench.models.availability import shipped
from bindbench.models.check_answerers import NAMES
from bindbench.models.embedded_families import NANO_VLMS, nano_vlm, nano_weights
from bindbench.models.family import Family, ModelName
from bindbench.models.hf_families import hf_weights
from bindbench.models.hf_options import HfOptions
from bindbench.vocabulary import Lexicon

LOADED = ("dtype", "device", "trust_remote_code", "quantisation", "attention")


def _check(name: ModelName, options: AnsweringOptions, lexicon: Lexicon) -> Any:
    from bindbench.models.check_answerers import CheckAnswerer

    return CheckAnswerer(name.name)


def _nano(name: ModelName, options: NanoAnsweringOptions, lexicon: Lexicon) -> Any:
    from bindbench.models.hf_answerer import load_answerer

    given = HfOptions(dtype=options.dtype, device=options.device)
    return load_answerer(nano_vlm(name), given, "{question}")


def _hf(name: ModelName, options: HfAnsweringOptions, lexicon: Lexicon) -> Any:
    from bindbench.models.hf_answerer import load_answerer

    return load_answerer(
        _hf_source(name, options),
        _hf_options(options),
        options.question,
        options.decoding,
        options.choosing,
    )


def _hf_options(options: HfAnsweringOptions) -> HfOptions:
    return HfOptions(**options.model_dump(include={*LOADED}))


def _hf_source(name: ModelName, options: HfAnsweringOptions) -> Any:
    from bindbench.models.hf_names import find_source

    source = find_source(name.name, name.revision, _hf_options(options))
    if source.kind != "generative":
        raise UserError(
            f"{source.name}: a model of type {source.model_type} can't answer questions: give one "
            "that is generative."
        )
    return source


def _hf_identity(name: ModelName, options: HfAnsweringOptions) -> dict[str, str]:
    from bindbench.models.hf_names import identity_of

    return identity_of(_hf_source(name, options))


def _api(name: ModelName, options: ApiAnsweringOptions, lexicon: Lexicon) -> Any:
    from bindbench.models.api_answerer import ApiAnswerer
    from bindbench.models.api_asker import Asker

    return ApiAnswerer(Asker(name.name, name.revision, options), options)


ANSWERERS = (
    Family(
        "answerer",
        "check",
        NAMES,
        AnsweringOptions,
        _check,
        summary="stand-ins that don't look: the truth, the leftmost instance's or a neighbor's "
        "answer, always yes",
    ),
    Family(
        "answerer",
        "nano",
        NANO_VLMS,
        NanoAnsweringOptions,
        _nano,
        nano_weights,
        nano_weights,
        weights=lambda name, options: shipped(f"nano-{name.name}"),
        summary="the project's small vision-language models",
        library="transformers",
    ),
    Family(
        "answerer",
        "hf",
        (),
        HfAnsweringOptions,
        _hf,
        _hf_identity,
        _hf_source,
        weights=hf_weights,
        summary="any vision-language model of transformers",
        needs="its weights, downloaded unless they are a folder or in the cache",
        library="transformers",
        named="org/name of the Hugging Face hub, or a folder",
    ),
    Family(
        "answerer",
        "api",
        (),
        ApiAnsweringOptions,
        _api,
        check=lambda name, options: parse_address(name.name),
        weights=server_of,
        ready=server_key,
        summary="any vision-language model behind an OpenAI-compatible server",
        needs="its server, and for most a key in an environment variable",
        library="httpx2",
        named="URL#model",
    ),
)
