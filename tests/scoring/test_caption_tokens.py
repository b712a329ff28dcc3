from bindbench.scoring.caption_tokens import caption_tokens

PIECES = ["image.", "image", "Describe the ", " a", " red", " cup", ":a", "ab", ".", " ", ":"]


def tokenize(texts: list[str]) -> list[list[int]]:
    """Greedily take the first piece that fits; other characters are tokens of their own."""
    out = []
    for text in texts:
        row = []
        while text:
            piece = next((p for p in PIECES if text.startswith(p)), text[0])
            row.append(PIECES.index(piece) if piece in PIECES else 1000 + ord(piece))
            text = text[len(piece) :]
        out.append(row)
    return out


def pieces(row: list[int]) -> list[str]:
    return [PIECES[i] if i < 1000 else chr(i - 1000) for i in row]


def test_the_space_before_a_caption_is_part_of_its_first_token():
    found = caption_tokens(tokenize, "Describe the image. ", ["a red cup", "a cup"])
    assert found.cut == 0
    assert [pieces(row) for row in found.captions] == [[" a", " red", " cup"], [" a", " cup"]]


def test_what_merges_with_the_prompt_is_scored_from_the_same_start_for_all():
    # ':a' is one token: it begins in the prompt, so that the ':' is scored with every caption.
    found = caption_tokens(tokenize, "image:", ["a cup", "red"])
    assert pieces(found.prompt) == ["image", ":"]
    assert found.cut == 1
    assert [pieces(row) for row in found.captions] == [[":a", " cup"], [":", "r", "e", "d"]]


def test_a_caption_of_nothing_has_no_tokens():
    assert caption_tokens(tokenize, "image:", [""]).captions == [[]]
