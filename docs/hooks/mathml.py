"""Turns the mathematics of the pages into MathML while the site is built.

Every current browser lays MathML out by itself, so the pages need no script, no font and no network to be read.
"""

import logging
import re
from html import unescape
from typing import Any

from latex2mathml.converter import convert

log = logging.getLogger("mkdocs.hooks.mathml")

# The punctuation after a formula stays on its line.
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>([.,;:)]*)', flags=re.DOTALL)


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Replace what the Markdown extension marked as a formula."""

    def formula(match: re.Match[str]) -> str:
        tag, bracket, source = match[1], match[2], unescape(match[3]).strip()
        made = convert(source, display="block" if bracket == "[" else "inline")
        if "<merror" in made or "\\" in unescape(made):
            # A warning ends a strict build.
            log.warning("%s: the formula %r cannot be written as MathML", page.file.src_uri, source)
        return f'<{tag} class="formula">{made}{match[4]}</{tag}>'

    return FORMULA.sub(formula, html)
