"""The families ``hf``: models of transformers as writers, judges and scorers."""

from pathlib import Path
from typing import Any

from bindbench.errors import UserError
from bindbench.models.availability import Weights, in_hub_cache, local
from bindbench.models.family import Family, ModelName
from bindbench.models.hf_options import HfJudgeOptions, HfOptions, HfWriterOptions
from bindbench.vocabulary import Lexicon


def _hf_writer(name: ModelName, options: HfWriterOptions, lexicon: Lexicon) -> Any:
    from bindbench.models.hf_writer import load_writer

    return load_writer(_hf_writer_source(name, options), options, lexicon)


def _hf_writer_source(name: ModelName, options: HfWriterOptions) -> Any:
    from bindbench.models.hf_text_names import find_text_source

    return find_text_source(name.name, name.revision, options)


def _hf_writer_identity(name: ModelName, options: HfWriterOptions) -> dict[str, str]:
    from bindbench.captions.prompts import prompts_digest
    from bindbench.models.hf_text_names import text_identity

    source = _hf_writer_source(name, options)
    return {**text_identity(source), "prompts": prompts_digest()}


def _hf_writer_weights(name: ModelName, options: HfWriterOptions) -> Weights:
    from bindbench.models.hf_text_names import text_weights

    return text_weights(name.name, name.revision)


def _hf_judge(name: ModelName, options: HfJudgeOptions, lexicon: Lexicon) -> Any:
    from bindbench.models.hf_judge import load_judge

    return load_judge(_hf_judge_source(name, options), options)


def _hf_judge_source(name: ModelName, options: HfJudgeOptions) -> Any:
    from bindbench.models.hf_names import find_source

    given = HfOptions(**options.model_dump(exclude={"question"}))
    source = find_source(name.name, name.revision, given)
    if source.kind != "generative":
        raise UserError(
            f"{source.name}: a model of type {source.model_type} can't answer questions: give a "
            "judge that is generative."
        )
    return source


def _hf_judge_identity(name: ModelName, options: HfJudgeOptions) -> dict[str, str]:
    from bindbench.models.hf_names import identity_of

    return identity_of(_hf_judge_source(name, options))


def _hf(name: ModelName, options: HfOptions, lexicon: Lexicon) -> Any:
    from bindbench.models.hf_names import find_source

    source = find_source(name.name, name.revision, options)
    if source.kind == "contrastive":
        from bindbench.models.hf_contrastive import load_contrastive

        return load_contrastive(source, options)
    from bindbench.models.hf_generative import load_generative

    return load_generative(source, options)


def _check_hf(name: ModelName, options: HfOptions) -> None:
    from bindbench.models.hf_names import find_source

    find_source(name.name, name.revision, options)


def _hf_identity(name: ModelName, options: HfOptions) -> dict[str, str]:
    from bindbench.models.hf_names import find_source, identity_of

    return identity_of(find_source(name.name, name.revision, options))


def hf_weights(name: ModelName, options: object) -> Weights:
    """Return where a checkpoint is."""
    folder = Path(name.name).expanduser()
    return local(folder) if folder.exists() else in_hub_cache(name.name, name.revision)


HF = (
    Family(
        "writer",
        "hf",
        (),
        HfWriterOptions,
        _hf_writer,
        _hf_writer_identity,
        _hf_writer_source,
        weights=_hf_writer_weights,
        summary="any chat model of transformers; one without a chat template is given examples "
        "to continue",
        needs="its weights, downloaded unless they are a folder, a file or in the cache",
        library="transformers",
        named="org/name of the Hugging Face hub, a folder, a GGUF file, or gemma3-270m (of the "
        "extra gemma)",
    ),
    Family(
        "judge",
        "hf",
        (),
        HfJudgeOptions,
        _hf_judge,
        _hf_judge_identity,
        _hf_judge_source,
        weights=hf_weights,
        summary="the likeliest option by a vision-language model of transformers",
        needs="its weights, downloaded unless they are a folder or in the cache",
        library="transformers",
        named="org/name of the Hugging Face hub, or a folder",
    ),
    Family(
        "scorer",
        "hf",
        (),
        HfOptions,
        _hf,
        _hf_identity,
        _check_hf,
        weights=hf_weights,
        summary="models of transformers: vision-language models, and CLIP, SigLIP, SigLIP 2",
        scored="log-likelihood of the caption given the image; similarity (CLIP, SigLIP)",
        needs="its weights, downloaded unless they are a folder or in the cache",
        library="transformers",
        named="org/name of the Hugging Face hub, or a folder",
    ),
)
