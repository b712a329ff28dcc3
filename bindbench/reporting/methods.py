"""The definitions of ``docs/numbers.md`` as a part of a page."""

from functools import lru_cache

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape

from bindbench.reporting import NUMBERS


@lru_cache(maxsize=1)
def numbers_html() -> Markup:
    """Return the page without its title, its headings one level lower and its tables scrollable."""
    parser = MarkdownIt("commonmark").enable("table")
    tokens = parser.parse(NUMBERS.read_text(encoding="utf-8"))
    title = next(i for i, token in enumerate(tokens) if token.type == "heading_close")
    body, heading, tables = tokens[title + 1 :], "", 0
    for number, token in enumerate(body):
        if token.type == "heading_open":
            heading = body[number + 1].content
        tables += token.type == "table_open"
        _fit(token, f"Table {tables}: {heading}")
    return Markup(parser.renderer.render(body, parser.options, {}))


def _fit(token: Token, label: str) -> None:
    """Change a token to what the page needs; ``label`` names a table."""
    if token.type in ("heading_open", "heading_close"):
        token.tag = f"h{int(token.tag[1]) + 1}"
    elif token.type == "th_open":
        token.attrSet("scope", "col")
    elif token.type == "table_open":
        head = (
            f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(label)}"><table>'
        )
        token.type, token.content = "html_block", f"{head}\n"
    elif token.type == "table_close":
        token.type, token.content = "html_block", "</table></div>\n"
