import pytest

from bindbench.suite import VocabularySources
from bindbench.vocabulary import Lexicon
from bindbench.vocabulary_files import load_lexicon


@pytest.fixture(scope="session")
def lexicon() -> Lexicon:
    """The five built-in vocabularies in full."""
    return load_lexicon(VocabularySources().model_dump())
