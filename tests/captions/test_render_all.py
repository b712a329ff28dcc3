"""All captions of a concept at once are those that are made one by one."""

import numpy as np
import pytest

from bindbench.candidates import candidate_texts, candidate_words
from bindbench.captions.contextual import write_contextual
from bindbench.captions.minimal import write_minimal
from bindbench.captions.slots import Renderer
from bindbench.concepts import sample_concepts
from bindbench.models.grammar_writer import GrammarWriter
from bindbench.suite import VocabularySources
from bindbench.tasks import BENCHMARKS
from bindbench.vocabulary_files import load_lexicon


@pytest.mark.parametrize("key", [k for k in BENCHMARKS if not k.endswith("n1")])
def test_all_at_once_is_one_by_one(key):
    lexicon = load_lexicon(VocabularySources().model_dump())
    count = 6 if key.endswith("n3") else 15
    concepts = [s.concept for s in sample_concepts(BENCHMARKS[key], lexicon, count, seed=4)]
    written = write_contextual(GrammarWriter(lexicon), concepts, lexicon, 0, 1)
    for concept, contextual in zip(concepts, written, strict=True):
        for template in (write_minimal(concept, lexicon), contextual.template):
            if template is None:
                continue
            render = Renderer(template, concept, lexicon).render
            apart = [render(*words) for words in candidate_words(concept, lexicon)]
            texts = candidate_texts(template, concept, lexicon)
            assert texts == apart
            assert texts[0] == template.text
            assert len(np.unique(texts)) == len(texts)
