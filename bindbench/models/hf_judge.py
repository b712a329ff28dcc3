"""A generative model as a judge: it answers a closed question with its likeliest option.

Every option is scored as an answer to the question by the scorers' own engine, so that a model
can't answer anything else. It looks at the whole image; the detections are not shown to it.
"""

import functools
from collections.abc import Sequence

import numpy as np

from bindbench.models.base import Answer, Detection, Image, Question
from bindbench.models.hf_generative import GenerativeModel
from bindbench.models.hf_loading import Checkpoint
from bindbench.models.hf_names import HfSource
from bindbench.models.hf_options import HfJudgeOptions, HfOptions

READERS = 512  # questions whose prompt is kept written


def load_judge(source: HfSource, options: HfJudgeOptions) -> "HfJudge":
    """Return a model as a judge.

    Raises:
        UserError: the checkpoint lacks a part or is damaged, or it does not fit.
    """
    given = options.model_dump(exclude={"question"})
    return HfJudge(GenerativeModel(Checkpoint(source, HfOptions(**given))), options.question)


class HfJudge:
    """Answers by the log-likelihood of each option, summed over its tokens.

    Args:
        model: the model.
        question: the prompt; ``{question}`` and ``{options}`` stand for those of each question.
    """

    def __init__(self, model: GenerativeModel, question: str) -> None:
        self._model, self._question = model, question
        self._likelihood, self._test = model.likelihood(), model.self_test()
        self._reader = functools.lru_cache(READERS)(model.reader_of)

    def answer(
        self,
        images: Sequence[Image],
        detections: Sequence[Sequence[Detection]],
        questions: Sequence[Sequence[Question]],
    ) -> list[list[Answer]]:
        """Return the answers to each image's questions; scores are the options' probabilities.

        Raises:
            UserError: the self-test failed.
        """
        return [
            [self._answer(image, question) for question in asked]
            for image, asked in zip(images, questions, strict=True)
        ]

    def _answer(self, image: Image, question: Question) -> Answer:
        sums, _ = self.likelihoods(image, self.prompt(question), question.options)
        shares = np.exp(sums - sums.max())
        shares /= shares.sum()
        best = int(np.argmax(shares))
        return Answer(question.options[best], tuple(float(share) for share in shares))

    def likelihoods(
        self, image: Image, prompt: str, options: Sequence[str]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return each option's log-likelihood after a prompt, and how many tokens it sums over.

        Returns:
            float64 (options,) in nats, and int64 (options,).

        Raises:
            UserError: the self-test failed.
        """
        reader = self._reader(prompt)
        answers = reader.captions(options)
        prefix = self._likelihood.model.read_prefix(reader.with_image(image, answers))
        method = self._likelihood.method(prefix, answers.captions)
        self._test.check(method, image)
        sums = self._likelihood.sums(prefix, answers.captions, method)
        return sums, np.array([len(tokens) for tokens in answers.captions])

    def prompt(self, question: Question) -> str:
        """Return what the model is asked."""
        options = ", ".join(question.options)
        return self._question.replace("{question}", question.text).replace("{options}", options)
