import pytest

from bindbench.vocabulary import Lexicon
from bindbench.vocabulary_files import load_lexicon


@pytest.fixture(scope="session")
def lexicon() -> Lexicon:
    return load_lexicon(
        {
            "objects": "objects_embedded",
            "shapes": "shapes",
            "colors": "colors20",
            "positions": "positions4",
            "sizes": "sizes3",
        }
    )
