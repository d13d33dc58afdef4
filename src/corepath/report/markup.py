"""Small pieces of HTML for the page: escaped text, text from outside, and links to the list of episodes."""

from __future__ import annotations

from html import escape
from urllib.parse import urlencode

from corepath.values import visible


def text(value: str) -> str:
    """Escape text for HTML, with control characters made visible."""
    return escape(visible(value))


def foreign(value: str) -> str:
    """Escape text from agents or files for HTML, and isolate its writing direction from the surrounding text."""
    return f"<bdi>{text(value)}</bdi>"


def list_link(html: str, **query: str) -> str:
    """Return a link to the overview with this query, e.g. `agent="oracle"`. `html` is what the link shows."""
    shown = urlencode({name: visible(value) for name, value in query.items()})
    return f'<a href="#/?{escape(shown)}">{html}</a>'
