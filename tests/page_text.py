"""What a reader sees of a page that was written as one file."""

from __future__ import annotations

import re
from html import unescape


def tips(svg):
    """What a figure says of its marks."""
    return [unescape(words) for words in re.findall(r'data-tip="([^"]*)"', svg)]


def visible(page):
    """The text of a page, without styles and scripts."""
    page = re.sub(r"<(style|script)>.*?</\1>", "", page, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())
