"""Loading the parts of a checkpoint of transformers; what goes wrong becomes one sentence."""

import contextlib
import io
from typing import Any

import torch
import transformers

from bindbench.accelerators import is_here
from bindbench.errors import UserError
from bindbench.models.hf_names import HfSource, first_line, hub_error
from bindbench.models.hf_options import HfOptions
from bindbench.scoring.likelihood import is_out_of_memory

TOO_LARGE = "set dtype to bfloat16, quantisation to 8bit or 4bit, or device to auto"


class Checkpoint:
    """The parts of a checkpoint.

    Args:
        source: where it is.
        options: how it is loaded.
        too_large: what to do if it does not fit into memory.

    Raises:
        UserError: the device is not here; and each part, where it is lacking, damaged, of another
            architecture or too large.
    """

    def __init__(self, source: HfSource, options: HfOptions, too_large: str = TOO_LARGE) -> None:
        if options.device != "auto" and not is_here(options.device):
            raise UserError(
                f"{source.name}: device {options.device!r} can't be used here: give cpu, or a "
                "device that torch finds."
            )
        self.source, self.options, self._too_large = source, options, too_large
        # A library's reports and progress bars don't belong into a run's output.
        transformers.utils.logging.set_verbosity_error()
        transformers.utils.logging.disable_progress_bar()

    def config(self) -> Any:
        """Return the configuration."""
        return self._part("configuration", transformers.AutoConfig)

    def tokenizer(self) -> Any:
        """Return the tokenizer alone, with the chat template if there is one."""
        return self._part("tokenizer", transformers.AutoTokenizer)

    def processor(self) -> Any:
        """Return the processor, which has a tokenizer and an image processor."""
        processor = self._part("processor", transformers.AutoProcessor)
        # A checkpoint without a processor of its own gives its tokenizer alone, or less.
        for part in ("tokenizer", "image_processor"):
            if getattr(processor, part, None) is None:
                raise UserError(
                    f"{self.source.name}: {self.source.place} has no {part.replace('_', ' ')}: "
                    "put the processor's files beside the weights."
                )
        return processor

    def model(self, auto: Any, dtype: torch.dtype, **how: Any) -> Any:
        """Return the model.

        Args:
            auto: the class of transformers that loads it.
            dtype: of the weights.
            how: further arguments of ``from_pretrained``.
        """
        model, report = self._part("model", auto, dtype=dtype, output_loading_info=True, **how)
        # Of these transformers only warns, and draws random numbers in their place.
        lacking = sorted(report["missing_keys"])
        if lacking:
            raise UserError(
                f"{self.source.name}: the checkpoint {self.source.place} lacks {len(lacking)} "
                f"weights, {lacking[0]} first: it is incomplete, or of another architecture than "
                "its configuration says."
            )
        return model.eval()

    def _part(self, part: str, auto: Any, **how: Any) -> Any:
        source = self.source
        how["trust_remote_code"] = self.options.trust_remote_code
        quiet = contextlib.nullcontext()
        if source.gguf:
            how["gguf_file"] = source.gguf
            quiet = contextlib.redirect_stderr(io.StringIO())  # a bar that nothing switches off
        try:
            with quiet:
                return auto.from_pretrained(source.place, revision=source.commit, **how)
        except Exception as error:  # each part, format and library has errors of its own
            raise self._not_loaded(part, error) from error

    @staticmethod
    def placement(dtype: str, device: str, quantisation: str) -> dict[str, Any]:
        """Return the arguments of ``from_pretrained`` that bring a model to its device."""
        how: dict[str, Any] = {"device_map": "auto" if device == "auto" else {"": device}}
        if quantisation:
            how["quantization_config"] = transformers.BitsAndBytesConfig(
                load_in_8bit=quantisation == "8bit",
                load_in_4bit=quantisation == "4bit",
                bnb_4bit_compute_dtype=getattr(torch, dtype),
            )
        return how

    def _not_loaded(self, part: str, error: Exception) -> UserError:
        source, options = self.source, self.options
        if is_out_of_memory(error):
            return UserError(
                f"{source.name}: the model does not fit into the memory of {options.device} in "
                f"{options.dtype}: {self._too_large}."
            )
        return hub_error(source.name, error) or UserError(
            f"{source.name}: the {part} in {source.place} can't be loaded "
            f"({first_line(error)}): complete the checkpoint, or install what it asks for."
        )
