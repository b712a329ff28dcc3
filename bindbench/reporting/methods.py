"""The definitions of ``docs/numbers.md`` as a part of a page."""

from functools import lru_cache

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from bindbench.reporting import NUMBERS


@lru_cache(maxsize=1)
def numbers_html() -> Markup:
    """Return the page without its title, its headings one level lower and its tables scrollable."""
    parser = MarkdownIt("commonmark").enable("table")
    tokens = parser.parse(NUMBERS.read_text(encoding="utf-8"))
    title = next(i for i, token in enumerate(tokens) if token.type == "heading_close")
    body = [_fitted(token) for token in tokens[title + 1 :]]
    return Markup(parser.renderer.render(body, parser.options, {}))


def _fitted(token: Token) -> Token:
    """Return a token as the page needs it."""
    if token.type in ("heading_open", "heading_close"):
        token.tag = f"h{int(token.tag[1]) + 1}"
    elif token.type == "th_open":
        token.attrSet("scope", "col")
    elif token.type == "table_open":
        token.type, token.content = (
            "html_block",
            ('<div class="scroll" tabindex="0" role="region" aria-label="Table"><table>\n'),
        )
    elif token.type == "table_close":
        token.type, token.content = "html_block", "</table></div>\n"
    return token
