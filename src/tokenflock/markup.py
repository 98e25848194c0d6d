"""HTML that is escaped by construction: what is put into a page is text unless it is Markup, and text is escaped.

    markup("<p>{}: {}</p>", name, markup("<b>{:.1f}</b>", seconds))

The template is written in the source and trusted; a test sees to it that it is one. What fills it is not.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from html import escape
from string import Formatter
from typing import Any


class Markup(str):
    """HTML that was made here; every other str is text."""

    __slots__ = ()


class _Filled(Formatter):
    """str.format whose fields are escaped after they were formatted."""

    def format_field(self, value: Any, format_spec: str) -> str:
        return as_markup(value if isinstance(value, Markup) else format(value, format_spec))


def markup(template: str, /, *values: Any, **named: Any) -> Markup:
    """The template with its fields filled, as by str.format; all but Markup is escaped."""
    return Markup(_Filled().vformat(template, values, named))


def as_markup(text: str) -> Markup:
    """Markup as it is, text escaped; for an element and for an attribute in quotes."""
    return text if isinstance(text, Markup) else Markup(escape(text))


def joined(parts: Iterable[str], between: str = "") -> Markup:
    """One after the other; text among them is escaped."""
    return Markup(as_markup(between).join(map(as_markup, parts)))


def data(value: Any) -> Markup:
    """JSON for the inside of a script element of type application/json.

    There a browser looks for <!--, <script and </script and for nothing else, so that no "<" may stay; json.dumps
    writes U+2028 and U+2029, which end a line of JavaScript, as escapes already.
    """
    return Markup(json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c"))


def script(source: str) -> Markup:
    """Our own JavaScript for the inside of a script element: its strings may hold what ends or begins one."""
    return Markup(source.replace("</script", "<\\/script").replace("<!--", "<\\!--"))
