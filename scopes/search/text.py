r"""The texts of messages: what the index has of them, phrases and regular expressions in them, and excerpts of them.

Regular expressions have the syntax of RE2, which takes time linear in the text whatever the pattern is. Classes know
all scripts: \w, \d and \s, and \W, \D and \S outside of brackets. \b knows ASCII letters only, and there is neither
lookaround nor a back-reference.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple, Protocol, TypeAlias

from scopes.errors import Invalid
from scopes.history.messages import header_of, is_root, read_stored_body
from scopes.ids import Oid
from scopes.index.full_text import FIRST_SINGLE, SINGLE, IndexDocument, fold, is_single
from scopes.model.message import RETRACTED_TEXT, Message, decode, file_operations
from scopes.store.objects import Commit, read_commit
from scopes.store.repository import Repository

Matcher: TypeAlias = Callable[[str], tuple[int, int] | None]
"""Returns the span of the first match in a text, or None."""

SpanFinder: TypeAlias = Callable[[str], Sequence[tuple[int, int]]]
"""Returns the spans of the matches in a text, in order."""

# The column and the field of a part; `<field>_text` holds invalid JSON.
_PLACES = {"text": (0, "text"), "reasoning": (1, "text"), "tool_call": (2, "input"), "tool_result": (3, "output")}
_CALL_DISTANCE = 16  # messages between a tool call and its result: results of parallel calls come one by one
_CACHED_MESSAGES = 64


class Progress(Protocol):
    """Is called with 1 for each message that is read."""

    def __call__(self, count: int, /) -> None:
        """Add finished messages."""

    def expect(self, count: Callable[[], int], /) -> None:
        """Take a function that counts the messages that are not finished."""


class Documents:
    """Makes index documents of commits.

    A result belongs to a call in one of the messages just before. The calls of the last messages are cached, because
    parents are indexed before their children.
    """

    def __init__(self, repository: Repository, progress: Progress | None = None) -> None:
        self._repository = repository
        self._progress = progress
        self._calls: dict[Oid, tuple[Sequence[Oid], dict[str | None, str]]] = {}  # first parent, tool by call id

    def __call__(self, commit: Commit) -> IndexDocument | None:
        """Return the document of a commit, None if it is not a message."""
        if is_root(commit):
            return None
        if self._progress is not None:
            self._progress(1)
        head = header_of(commit)
        message = decode(read_stored_body(self._repository, head))
        tools = {message.tool, *self._add_calls(commit, message).values()}
        tools |= {self._find_tool(commit, part.call_id) for part in message.parts if part.type == "tool_result"}
        touched = {("tool", name) for name in tools if name} | _outcomes(message)
        touched |= {("file", path) for path, _ in file_operations(message) if path}
        return IndexDocument(
            head.id, message.author.name, message.author.kind, message.kind, message.model, head.time or None,
            tuple(sorted(touched)), texts_of(message),
        )  # fmt: skip

    def expect(self, count: Callable[[], int]) -> None:
        """Tell the progress bar how many messages are still to be added."""
        if self._progress is not None:
            self._progress.expect(count)

    def _add_calls(self, commit: Commit, message: Message) -> dict[str | None, str]:
        """Cache the calls of a message, and return the name of the tool of each."""
        if len(self._calls) >= _CACHED_MESSAGES:
            del self._calls[next(iter(self._calls))]
        calls = [part for part in message.parts if part.type == "tool_call"]
        tools = {part.call_id: str(part.fields.get("name", "")) for part in calls}
        self._calls[commit.oid] = commit.parents[:1], tools
        return tools

    def _find_tool(self, commit: Commit, call: str | None) -> str | None:
        """Return the name of the tool of a call shortly before a commit."""
        parents: Sequence[Oid] = commit.parents[:1]
        for _ in range(0 if call is None else _CALL_DISTANCE):
            if not parents:
                return None
            if parents[0] not in self._calls:
                parent = read_commit(self._repository, parents[0])
                if is_root(parent):
                    return None
                self._add_calls(parent, decode(read_stored_body(self._repository, header_of(parent))))
            parents, tools = self._calls[parents[0]]
            if tools.get(call):
                return tools[call]
        return None


def texts_of(message: Message) -> tuple[str, str, str, str]:
    """Return the texts of a message in the order of the index's columns.

    Tool inputs and results contribute all strings in their JSON, a typed message those of its payload as well.
    """
    columns: tuple[list[str], ...] = ([], [], [], [])
    for part in message.parts:
        if part.type in _PLACES:
            column, name = _PLACES[part.type]
            for field in (name, f"{name}_text"):
                columns[column].extend(_strings(part.fields.get(field)))
    columns[0].extend(_strings(message.payload))
    if message.retracts is not None and message.text.startswith(RETRACTED_TEXT):
        columns[0][:] = [RETRACTED_TEXT.strip(": ")]  # the retracted text is indexed with its own message
    text, reasoning, tool_input, tool_result = map("\n".join, columns)
    return text, reasoning, tool_input, tool_result


def _outcomes(message: Message) -> set[tuple[str, str]]:
    """Return the exit codes of the tool results of a message, and whether one failed or the message is an error."""
    results = [part.fields for part in message.parts if part.type == "tool_result"]
    if not results:
        return {("is", "failed")} if message.status == "error" else set()
    codes = {fields["exit_code"] for fields in results if type(fields.get("exit_code")) is int}
    failed = message.status == "error" or codes - {0} or any(fields.get("is_error") is True for fields in results)
    return {("exit", str(code)) for code in codes} | ({("is", "failed")} if failed else set())


def _strings(value: object) -> Iterator[str]:
    """Yield the strings in a JSON value, in order; iterative, because a message may be nested 200 levels deep."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, list | tuple):
            stack.extend(reversed(item))
        elif hasattr(item, "values"):
            stack.extend(reversed(list(item.values())))


_MAX_PATTERN_CHARACTERS: Final = 10_000
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_ESCAPE_OR_BRACKET: Final = re.compile(r"\\(?P<escaped>.)|(?P<begin>\[\^?\]?)|(?P<end>\])", re.DOTALL)
_WORD: Final = r"\p{L}\p{N}_"
_SPACE: Final = r"\s\x0b\x1c-\x1f\x{85}\p{Z}"
_IN_BRACKETS: Final = {"w": _WORD, "d": r"\p{Nd}", "D": r"\P{Nd}", "s": _SPACE}
_OUTSIDE: Final = {
    "w": f"[{_WORD}]", "W": f"[^{_WORD}]", "d": r"\p{Nd}", "D": r"\P{Nd}", "s": f"[{_SPACE}]", "S": f"[^{_SPACE}]",
    "Z": r"\z",
}  # fmt: skip
_SYNTAX: Final = "the syntax is that of RE2: without lookaround, without back-references"


def compile_regex(pattern: str) -> Matcher:
    """Compile a regular expression; ^ and $ match at line ends, and case matters unless it starts with `(?i)`.

    Raises:
        Invalid: the pattern is not valid, or too long.
    """
    import re2  # type: ignore[import-untyped]

    if len(pattern) > _MAX_PATTERN_CHARACTERS:
        raise Invalid(f"a regular expression has at most {_MAX_PATTERN_CHARACTERS:,} characters")
    options = re2.Options()
    options.log_errors = False
    try:
        compiled = re2.compile(f"(?m:{_with_all_scripts(pattern)})", options)
    except (re2.error, UnicodeEncodeError) as error:
        raise Invalid(f"{pattern!a} is not a valid regular expression: {_reason(error)}", hint=_SYNTAX) from error

    def find(text: str) -> tuple[int, int] | None:
        match = compiled.search(text if text.isascii() else _SURROGATE.sub("\ufffd", text))
        return None if match is None else (int(match.start()), int(match.end()))

    return find


def _reason(error: Exception) -> str:
    reason = error.args[0] if error.args else ""
    text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
    return text.partition(": (?m:")[0]  # which is not part of what was given


def _with_all_scripts(pattern: str) -> str:
    r"""Write classes such as \w by their Unicode categories: RE2's own know ASCII only."""
    pieces: list[str] = []
    done = 0
    in_brackets = False
    for token in _ESCAPE_OR_BRACKET.finditer(pattern):
        replaced = (_IN_BRACKETS if in_brackets else _OUTSIDE).get(token["escaped"] or "")
        if replaced is not None:
            pieces += (pattern[done : token.start()], replaced)
            done = token.end()
        elif token["begin"]:
            in_brackets = True
        elif token["end"]:
            in_brackets = False
    return "".join([*pieces, pattern[done:]])


class Phrase(NamedTuple):
    """Consecutive words, at least one; with `prefix` the last one matches every word that starts with it."""

    words: tuple[str, ...]
    prefix: bool
    at: int


_BEFORE = 40  # characters of a snippet's LENGTH that precede the first match
LENGTH = 240
_LETTER = r"[^\W_]"
_LETTER_OF_SPACED_SCRIPT = rf"[^\W_{SINGLE}]"
_BLANK = re.compile(r"\s+")
_GAP = r"[\W_]+"
_MAX_SEARCHED = 1_000_000  # characters of a text; matches beyond them are not marked
_OVERLAP = 10_000  # a phrase is shorter


class Piece(NamedTuple):
    """A piece of text; `found` is True if it is a match."""

    text: str
    found: bool = False


def phrase_finder(phrases: Iterable[Phrase]) -> SpanFinder | None:
    """Return a function that finds the phrases of a query in a text; None if there are no phrases."""
    longest_first = sorted(set(phrases), key=lambda phrase: (-sum(map(len, phrase.words)), phrase))
    return partial(find_phrases, longest_first) if longest_first else None


def find_phrases(phrases: Sequence[Phrase], text: str) -> list[tuple[int, int]]:
    """Return the spans of phrases in a text, from the first one as far as a snippet reaches."""
    text = text[:_MAX_SEARCHED]
    folded = fold(text)
    begin = min((at for at in (folded.find(phrase.words[0]) for phrase in phrases) if at >= 0), default=None)
    if begin is None:
        return []  # a hundred times faster than searching a megabyte for the patterns
    pattern = _pattern(phrases, _LETTER)
    first = pattern.search(folded, begin)
    if first is None and max(folded) >= FIRST_SINGLE:
        # A word also ends where a script without spaces begins.
        pattern = _pattern(phrases, _LETTER_OF_SPACED_SCRIPT)
        first = pattern.search(folded, begin)
    if first is None:
        return []
    spans = [match.span() for match in pattern.finditer(folded, first.start(), first.end() + LENGTH)]
    if len(folded) == len(text):
        return spans
    offsets = _original_offsets(text)
    return [(offsets[start], offsets[stop - 1] + 1) for start, stop in spans if stop <= len(offsets)]


def has_phrase(phrase: Phrase, text: str) -> bool:
    """Return True if a text of any length has a phrase."""
    starts = range(0, max(len(text), 1), _MAX_SEARCHED - _OVERLAP)
    return any(find_phrases([phrase], text[start : start + _MAX_SEARCHED]) for start in starts)


def cut_snippet(text: str, spans: Sequence[tuple[int, int]]) -> tuple[Piece, ...]:
    """Cut an excerpt around the first span and mark the spans inside it; without spans it is the text's beginning.

    It begins and ends between words, unless a word is longer than the excerpt.
    """
    begin = max(0, spans[0][0] - _BEFORE) if spans else 0
    end = min(len(text), begin + LENGTH)
    begin, end = _at_words(text, begin, end, spans[0] if spans else (0, 0))
    pieces = [Piece("…")] if begin else []
    at = begin
    for start, stop in spans:
        if start >= end:
            break
        if start > at:
            pieces.append(Piece(text[at:start]))
        pieces.append(Piece(text[max(at, start) : min(stop, end)], found=True))
        at = max(at, min(stop, end))
    if at < end:
        pieces.append(Piece(text[at:end]))
    return (*pieces, Piece("…")) if end < len(text) else tuple(pieces)


def _at_words(text: str, begin: int, end: int, first: tuple[int, int]) -> tuple[int, int]:
    """Move both ends of an excerpt inwards to blanks, as far as the first match stays in it."""
    if begin:
        blank = _BLANK.search(text, begin - 1, first[0])
        begin = begin if blank is None else blank.end()
    if end < len(text):
        blanks = list(_BLANK.finditer(text, max(begin, min(first[1], end)), end + 1))
        end = blanks[-1].start() if blanks and blanks[-1].start() > begin else end
    return begin, end


def _pattern(phrases: Iterable[Phrase], letter: str) -> re.Pattern[str]:
    return re.compile("|".join([_phrase_pattern(phrase, letter) for phrase in phrases]))


def _phrase_pattern(phrase: Phrase, letter: str) -> str:
    pattern = ""
    for number, word in enumerate(phrase.words):
        if number:
            pattern += r"[\W_]*" if is_single(word) or is_single(phrase.words[number - 1]) else _GAP
        pattern += re.escape(word)
    before = "" if is_single(phrase.words[0]) else f"(?<!{letter})"
    after = "" if phrase.prefix or is_single(phrase.words[-1]) else f"(?!{letter})"
    return before + pattern + after


def _original_offsets(text: str) -> list[int]:
    """Return, for each character of the folded text, the offset of the character it came from (approximately)."""
    return [number for number, character in enumerate(text) for _ in fold(character)]
