"""The text of a policy file: parse it, and find the line and column of what is written in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

from scopes.errors import Invalid
from scopes.lazy_patterns import compile_lazily

Place: TypeAlias = tuple[str | int, ...]  # keys and numbers, such as ("rule", 0, "id") for `id` of the first [[rule]]

_OPENING = compile_lazily(r"[\[{.]")
_MANY = 50  # brackets of a line on which nesting can be too deep
_LONG_NUMBER = compile_lazily(r"[0-9_]{4300}")
_ERROR_PLACE = compile_lazily(r" ?\(at line (\d+), column (\d+)\)")
_DATE = compile_lazily(r"\b\d{4}-\d{1,2}-\d{1,2}\b")
_UNQUOTED = compile_lazily(r"\s*\[\s*rules\s*\.\s*[\w-]+/")
_TOKEN = compile_lazily(
    r'#[^\n]*|"""(?:\\[\s\S]|[^\\])*?"""(?!")|\'\'\'[\s\S]*?\'\'\'(?!\')|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|[\[\]{}\n]'
)
_HEADER = compile_lazily(r"[ \t]*(\[\[?)")
_KEY = compile_lazily(r"""[ \t]*(?:([A-Za-z0-9_-]+)|"((?:\\.|[^"\\\n])*)"|'([^'\n]*)')[ \t]*(\.?)""")


class _Statement(NamedTuple):
    """A header or a key with its value: where it begins and ends, and where each of its keys is written."""

    start: int
    end: int
    is_list: bool
    is_header: bool
    keys: tuple[tuple[str, int], ...]


class PolicyText:
    """A policy file as text."""

    def __init__(self, text: str, path: str) -> None:
        self._text = text
        self._lines = text.splitlines()
        self.path = path

    def parse(self) -> dict[str, Any]:
        """Return the document.

        Raises:
            Invalid: it is not TOML, is nested too deeply or has too long a number; the message has line and column.
        """
        from tomllib import TOMLDecodeError

        try:
            from tomllib import loads

            return dict(loads(self._text))
        except TOMLDecodeError as error:
            raise self._syntax_mistake(str(error)) from error
        except RecursionError as error:
            nested = (number for number, text in enumerate(self._lines, 1) if len(_OPENING.findall(text)) > _MANY)
            line = next(nested, 1)
            raise Invalid(f"{self.path}:{line}:1: tables or lists are nested too deeply") from error
        except ValueError as error:  # the limit of Python on the digits of an integer
            line = next((number for number, text in enumerate(self._lines, 1) if _LONG_NUMBER.search(text)), 1)
            raise Invalid(f"{self.path}:{line}:1: a number has too many digits") from error

    def _syntax_mistake(self, text: str) -> Invalid:
        """Return the error about a text that is not TOML, with its place in the form of all mistakes."""
        found = _ERROR_PLACE.search(text)
        line, column = (int(found[1]), int(found[2])) if found else (max(len(self._lines), 1), 1)
        written = self._lines[line - 1] if line <= len(self._lines) else ""
        hint = "a policy is a TOML file, see: man scopes-check" if found is not None else None
        if _UNQUOTED.match(written):
            hint = 'put the name of the rule in quotes: [rules."order/tests-passed"]'
        date = _DATE.search(written)
        text = "the file ends in the middle of a value" if found is None else text[: found.start()].rstrip()
        if date is not None and date.start() <= column <= date.end() + 1:
            text, column = f"{date[0]} is not a date", date.start() + 1
        return Invalid(f"{self.path}:{line}:{column}: {text}", hint=hint)

    def mistake(self, place: Place, text: str, hint: str | None = None) -> Invalid:
        """Return the error about what is written at a place."""
        line, column = self.find(place)
        return Invalid(f"{self.path}:{line}:{column}: {text}", hint=hint)

    def line_of(self, place: Place) -> int:
        """Return the line of a place."""
        return self.find(place)[0]

    def find(self, place: Place) -> tuple[int, int]:
        """Return line and column of the key that a place ends with, from 1; of the nearest one around it otherwise.

        In a table or a list that is written in one line, it is the first place in its value that reads like the key.
        """
        for size in range(len(place), 0, -1):
            found = self._places.get(place[:size])
            if found is None:
                continue
            position, end = found
            rest = [key for key in place[size:] if isinstance(key, str)]
            inside = self._text.find(rest[-1], position, end) if rest else -1
            return self._position(position if inside < 0 else inside)
        return 1, 1

    @cached_property
    def _places(self) -> Mapping[Place, tuple[int, int]]:
        """The position of each key, and the end of its value, by place."""
        found: dict[Place, tuple[int, int]] = {}
        counts: dict[Place, int] = {}
        table: Place = ()
        for statement in self._walk():
            place = () if statement.is_header else table
            for number, (key, position) in enumerate(statement.keys):
                place = (*place, key)
                is_last = number == len(statement.keys) - 1
                if is_last and statement.is_list:
                    counts[place] = counts.get(place, -1) + 1
                if statement.is_header and place in counts:
                    place = (*place, counts[place])
                found.setdefault(place, (position, statement.end))
            if statement.is_header:
                table = place
        return found

    def _walk(self) -> Iterator[_Statement]:
        """Yield the statements; the text is valid TOML."""
        start = depth = 0
        for token in _TOKEN.finditer(f"{self._text}\n"):
            if token[0] in "[{":
                depth += 1
            elif token[0] in "]}":
                depth -= 1
            elif token[0] == "\n" and depth <= 0:
                keys = tuple(self._keys(start))
                header = _HEADER.match(self._text, start)
                if keys:
                    is_list = header is not None and header[1] == "[["
                    yield _Statement(start, token.start(), is_list, header is not None, keys)
                start, depth = token.end(), 0

    def _keys(self, position: int) -> Iterator[tuple[str, int]]:
        """Yield the keys of the statement at a position, and where each begins inside its quotes."""
        header = _HEADER.match(self._text, position)
        position = position if header is None else header.end()
        from tomllib import loads

        while found := _KEY.match(self._text, position):
            group = next(number for number in (1, 2, 3) if found[number] is not None)
            text = found[group]
            if group == 2 and "\\" in text:
                text = loads(f'key = "{text}"')["key"]
            yield text, found.start(group)
            if not found[4]:
                return
            position = found.end()

    def _position(self, position: int) -> tuple[int, int]:
        return self._text.count("\n", 0, position) + 1, position - self._text.rfind("\n", 0, position)
