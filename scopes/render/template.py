r"""Format rows with a template of the user: `--format '{id}\t{title}'`."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from scopes.errors import Invalid
from scopes.render.view import Cell, Column, PlainView, Write, plain_text
from scopes.render.view_options import DEFAULT_OPTIONS, ViewOptions
from scopes.sanitize import clean

_TOKEN = re.compile(r"(?P<text>[^{}\\]+)|(?P<brace>\{\{|\}\})|\{(?P<field>[^{}]*)\}|\\(?P<escape>.)|.", re.DOTALL)
_ESCAPES = {"t": "\t", "n": "\n", "0": "\0", "\\": "\\"}


class TemplateView(PlainView):
    """Formats each row with a template, on a terminal as well; everything else is plain text."""

    def __init__(
        self,
        write: Write,
        *,
        template: str,
        end: str = "\n",
        unchanged: bool = False,
        write_note: Write | None = None,
        options: ViewOptions = DEFAULT_OPTIONS,
    ) -> None:
        super().__init__(write, end=end, hints=False, unchanged=unchanged, write_note=write_note, options=options)
        self._template = template

    def rows(
        self,
        columns: Sequence[Column],
        rows: Iterable[Sequence[Cell]],
        *,
        title: str | None = None,  # noqa: ARG002  a template has no title
        boxed: bool = False,  # noqa: ARG002  as the title
    ) -> None:
        """Write each row through the template, whose fields are the columns.

        Raises:
            Invalid: the template names an unknown field or is malformed.
        """
        fields = [column.field for column in columns]
        fill = compile_template(self._template, fields)
        for row in rows:
            self._write(fill(dict(zip(fields, map(plain_text, row), strict=True))) + self._end)


def template_fields(text: str) -> list[str]:
    """Return the names of the fields of a template, each once."""
    names = (token["field"] for token in _TOKEN.finditer(text))
    return list(dict.fromkeys(name for name in names if name is not None))


def compile_template(text: str, fields: Sequence[str]) -> Callable[[Mapping[str, str]], str]:
    r"""Return a function that fills a template: `{name}` is a field, `{{` and `}}` are braces, `\t \n \0 \\` escapes.

    Raises:
        Invalid: an unknown field or escape, or a single brace.
    """
    parts: list[tuple[str, str]] = []  # a literal text and the field after it
    literal = ""
    for token in _TOKEN.finditer(text):
        if token["field"] is None:
            literal += _literal(token, text)
        else:
            parts.append((literal, known_field(token["field"], fields)))
            literal = ""

    def fill(values: Mapping[str, str]) -> str:
        return "".join(before + values[field] for before, field in parts) + literal

    return fill


def _literal(token: re.Match[str], template: str) -> str:
    if token["text"] is not None:
        return clean(token["text"])
    if token["brace"] is not None:
        return token["brace"][0]
    if token["escape"] in _ESCAPES:
        return _ESCAPES[token["escape"]]
    hint = r"write {{ and }} for braces, \t \n \0 \\ for a tab, a newline, a NUL and a backslash"
    raise Invalid(f"the template {template!a} has a stray {token[0]!a} at position {token.start() + 1}", hint=hint)


def known_field(name: str, fields: Sequence[str], *, braces: bool = True) -> str:
    """Return the name of a field if it is known.

    Raises:
        Invalid: it is not; the hint lists the known ones. With `braces` it was named by a template.
    """
    if name in fields:
        return name
    near = difflib.get_close_matches(name, fields, n=1)
    meant = f"did you mean {f'{{{near[0]}}}' if braces else near[0]}? " if near else ""
    where = " for a template" if braces else ""
    raise Invalid(f"there is no field {name!a}{where}", hint=f"{meant}fields: {', '.join(fields)}")
