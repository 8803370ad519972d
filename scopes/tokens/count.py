"""Count tokens: exactly with tiktoken where the data of an encoding is on this machine, otherwise by an estimate.

`choose_tokenizer` picks a tokenizer for a model, `resolve_model` finds the window and the encoding of a model name. The
data of an encoding is a rank file, from our cache, that of tiktoken, or the package bpe-openai.
"""

from __future__ import annotations

import difflib
import os
import re
import sys
from binascii import a2b_base64
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha1, sha256
from shlex import quote
from typing import TYPE_CHECKING, NamedTuple, Protocol

from scopes.errors import Inaccessible, Invalid, Refused
from scopes.regular_file import read_private_file
from scopes.result import Note, named
from scopes.store.config import MODEL_SETTING, Setting
from scopes.store.projects import cache_directory

if TYPE_CHECKING:
    import tiktoken


_CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"


class Encoding(NamedTuple):
    """One encoding; `pattern` is the regular expression that splits a text before byte pair encoding.

    `sha256` is the hash of the rank file.
    """

    name: str
    url: str
    sha256: str
    pattern: str


ENCODINGS = {
    encoding.name: encoding
    for encoding in (
        Encoding(
            "o200k_base",
            "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken",
            "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
            rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_CONTRACTION}"
            rf"|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_CONTRACTION}"
            r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ),
        Encoding(
            "cl100k_base",
            "https://openaipublic.blob.core.windows.net/encodings/cl100k_base.tiktoken",
            "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
            r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]"
            r"|\s+(?!\S)|\s",
        ),
    )
}
DEFAULT_ENCODING = "o200k_base"


_PACKAGE_DATA = os.path.join("bpe_openai", "data")


class RankFilePaths(NamedTuple):
    """Directories to search: our cache, tiktoken's cache, and the directories of installed packages."""

    cache: str
    tiktoken_cache: str | None = None
    packages: tuple[str, ...] = ()

    def own_file(self, encoding: Encoding) -> str:
        """Return the path of an encoding's rank file in our cache."""
        return os.path.join(self.cache, "tokens", f"{encoding.name}.tiktoken")


def rank_file_paths(environ: Mapping[str, str]) -> RankFilePaths:
    """Return the directories that are searched for rank files."""
    return RankFilePaths(
        cache_directory(environ), environ.get("TIKTOKEN_CACHE_DIR") or None, tuple(filter(None, sys.path))
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RankFileRow:
    """One rank file; `origin` is tiktoken, cache or carrier (a package); `right` is True if its hash is right."""

    path: str
    origin: str
    right: bool = field(metadata=named("valid"))


def find_ranks(paths: RankFilePaths, encoding: Encoding) -> tuple[bytes | None, tuple[Note, ...]]:
    """Return the content of an encoding's rank file, or None, and a note for each file with a wrong hash."""
    notes: list[Note] = []
    for file, data in walk_rank_files(paths, encoding):
        if data is not None:
            return data, tuple(notes)
        notes.append(Note(f"{file.path} is not {encoding.name} and was not used", "replace it: scopes tokens --fetch"))
    return None, tuple(notes)


def walk_rank_files(paths: RankFilePaths, encoding: Encoding) -> Iterator[tuple[RankFileRow, bytes | None]]:
    """Yield the existing rank files, preferred first, with their content; None if it is not right or not readable."""
    candidates = [(paths.own_file(encoding), "cache")]
    if paths.tiktoken_cache:
        name = sha1(encoding.url.encode(), usedforsecurity=False).hexdigest()
        candidates.insert(0, (os.path.join(paths.tiktoken_cache, name), "tiktoken"))
    file = os.path.join(_PACKAGE_DATA, f"{encoding.name}.tiktoken.gz")
    candidates += [(os.path.join(directory, file), "carrier") for directory in paths.packages]
    for path, origin in candidates:
        if os.path.lexists(path):
            data = read_private_file(path)
            right = data is not None and sha256(data).hexdigest() == encoding.sha256
            yield RankFileRow(path=path, origin=origin, right=right), data if right else None


_MAX_BLANK = 500_000  # characters; tiktoken panics on longer runs of white space
_LONG_RUN = re.compile(rf"(\s{{{_MAX_BLANK}}})")
_SURROGATE = re.compile("[\ud800-\udfff]")
_built: dict[str, tiktoken.Encoding] = {}  # by the hash of the rank file: a process builds each encoding once


class ExactTokenizer:
    """Counts with the content of an encoding's rank file; special tokens in a text are counted as plain text."""

    method = "exact"

    def __init__(self, encoding: Encoding, ranks: bytes) -> None:
        self.name = encoding.name
        self._encoding = encoding
        self._ranks = ranks

    def count(self, text: str) -> int:
        """Count the tokens of a text; an unpaired surrogate is counted as the replacement character."""
        if not text:
            return 0
        encoding = _built.get(self._encoding.sha256) or self._build()
        text = _SURROGATE.sub("\ufffd", text)
        pieces = [text] if len(text) <= _MAX_BLANK else _LONG_RUN.split(text)
        return sum(len(encoding.encode_ordinary(piece)) for piece in pieces)

    def _build(self) -> tiktoken.Encoding:
        try:
            import tiktoken
        except (ImportError, OSError) as error:
            raise Inaccessible(
                f"tiktoken cannot be loaded: {error}", hint="reinstall it, or remove its rank files to get estimates"
            ) from error
        tokens = map(a2b_base64, self._ranks.split()[::2])  # the lines are in the order of the ranks
        built = tiktoken.Encoding(
            self.name,
            pat_str=self._encoding.pattern,
            mergeable_ranks={token: rank for rank, token in enumerate(tokens)},
            special_tokens={},
        )
        _built[self._encoding.sha256] = built
        return built


_PIECE = re.compile(
    r"((?=[A-Za-z0-9+]{20}|[A-Za-z0-9+/]{80})(?=[A-Za-z+]*[0-9]|[A-Za-z0-9+/]{80})[A-Za-z0-9+/]+=*)"  # hashes, base64
    r"|((?:[^\r\n\w]|_)?(?:[A-Z]*[a-z]+|[A-Z]+)(?:'(?:s|t|re|ve|m|ll|d))?)"  # words, split at capitals
    r"|((?:[^\r\n\w]|_)?[^\W\d_a-zA-Z]+)"  # words of other alphabets
    r"|( ?(?:[^\s\w]|_)+[\r\n/]*)"  # punctuation
    r"|\d{1,3}|\s*[\r\n]+|\s+(?!\S)|\s+|."
)
_RANDOM, _WORD, _FOREIGN, _PUNCTUATION = 1, 2, 3, 4
_IDEOGRAPHIC = "\u2e80"  # scripts from here on cost more tokens a character
_LONG_BLANK = 80  # characters
_LONG_WORD = 30  # characters
_MARGIN = 104  # hundredths


class EstimatingTokenizer:
    """Adds up the typical cost of the pieces of a text."""

    method = "estimate"
    name = "estimate"

    def count(self, text: str) -> int:
        """Estimate the tokens of a text; the result is more often too high than too low."""
        hundredths = 0
        for match in _PIECE.finditer(text):
            length = match.end() - match.start()
            kind = match.lastindex
            if kind == _WORD:
                hundredths += 100 + 6 * (length - 3) if length > 3 else 100
            elif kind is None and length <= _LONG_BLANK:
                hundredths += 100
            else:
                hundredths += _piece_cost(kind, match[0], length)
        return -(-hundredths * _MARGIN // 10_000)


def _piece_cost(kind: int | None, text: str, length: int) -> int:
    """Return the cost of a piece that is no word, in hundredths of a token."""
    if kind is None:  # a long run of white space; one of the same character costs far less
        return 100 + length * (1 if text == text[0] * length else 55)
    if kind == _RANDOM:
        return 66 * length
    if kind == _FOREIGN:
        each = 35 if max(text) < _IDEOGRAPHIC else 85
        return max(100, length * each, (length - _LONG_WORD) * 100 if each == 35 else 0)
    foreign = 0 if text.isascii() else sum(100 if c > "\uffff" else 15 for c in text if c > "\x7f")
    return 100 + 14 * max(0, length - 2) + foreign


_NUMBER_HINT = "for example: 200000 or 1.2"


class Model(NamedTuple):
    """A family of models.

    `factor` is the number of the model's tokens for 100 tokens of `encoding`. Counts are exact only if it is 100: other
    providers do not publish their encodings. A factor that is not `fixed` (set by the user) is replaced by the one that
    is measured from a conversation, if any.
    """

    name: str
    window: int
    encoding: str = DEFAULT_ENCODING
    factor: int = 100
    fixed: bool = False


MODELS = (
    Model("gpt-5", 400_000),
    Model("gpt-4.1", 1_047_576),
    Model("gpt-4o", 128_000),
    Model("gpt-4-turbo", 128_000, "cl100k_base"),
    Model("gpt-4-32k", 32_768, "cl100k_base"),
    Model("gpt-4", 8_192, "cl100k_base"),
    Model("gpt-3.5-turbo", 16_385, "cl100k_base"),
    Model("o1", 200_000),
    Model("o3", 200_000),
    Model("o4-mini", 200_000),
    Model("claude", 200_000, factor=130),
    Model("gemini", 1_048_576, factor=110),
)


def resolve_model(name: str, settings: Iterable[Setting] = ()) -> Model:
    """Return the row for a model name; a provider prefix, as in `openai/gpt-4o`, is ignored.

    Raises:
        Invalid: no row matches, or a setting has an invalid value.
    """
    table = {model.name: model for model in MODELS}
    for setting in settings:
        match = MODEL_SETTING.fullmatch(setting.key)
        if match is not None:
            family = match["name"].lower()
            table[family] = _with_setting(table.get(family) or Model(family, 0), match["field"].lower(), setting)
    model = name.rpartition("/")[2].lower()
    matching = [family for family in table if model.startswith(family) and table[family].window]
    if model and matching:
        return table[max(matching, key=len)]
    similar = difflib.get_close_matches(model, table, n=3) or sorted(table)
    hint = f"known: {', '.join(similar)}; add it: scopes config scopes.model.{quote(model or 'NAME')}.window 200000"
    raise Invalid(f"{name!a} is not a model with a known window", hint=hint)


def _with_setting(row: Model, field: str, setting: Setting) -> Model:
    if field == "encoding":
        if setting.value not in ENCODINGS:
            known = f"known: {', '.join(ENCODINGS)}"
            raise Invalid(f"{setting.value!a} is not a known encoding ({setting.key})", hint=known)
        return row._replace(encoding=setting.value)
    try:
        number = round(float(setting.value) * 100) if field == "factor" else int(setting.value)
    except (ValueError, OverflowError) as error:
        raise Invalid(f"{setting.value!a} is not a number ({setting.key})", hint=_NUMBER_HINT) from error
    if not 0 < number < 10**12:
        raise Invalid(f"{setting.value!a} is out of range ({setting.key})", hint=_NUMBER_HINT)
    return row._replace(factor=number, fixed=True) if field == "factor" else row._replace(window=number)


FETCH_HINT = "for exact counts: scopes tokens --fetch, or pip install 'scopes-ai[tokens]'"


class Tokenizer(Protocol):
    """Counts tokens; `method` is exact or estimate, `name` identifies the counts (`o200k_base`, `o200k_base*130`)."""

    method: str
    name: str

    def count(self, text: str) -> int:
        """Count the tokens of a text."""


class ScaledTokenizer:
    """Counts for a model whose encoding is not public: the counts of another tokenizer times a factor."""

    method = "estimate"

    def __init__(self, counter: Tokenizer, factor: int, family: str, *, fixed: bool = False) -> None:
        """Scale by a factor in hundredths for a family of models; `fixed` means that the user set the factor."""
        self.name = f"{counter.name}*{factor}"
        self.family = family
        self.fixed = fixed
        self.counter = counter
        self._factor = factor

    def over(self, counter: Tokenizer, factor: int | None = None) -> ScaledTokenizer:
        """Return a copy that scales another tokenizer, optionally with another factor."""
        return ScaledTokenizer(counter, factor or self._factor, self.family, fixed=self.fixed)

    def count(self, text: str) -> int:
        """Estimate the tokens of a text, rounded up."""
        return -(-self.counter.count(text) * self._factor // 100)


class TokenizerChoice(NamedTuple):
    """A tokenizer, and notes for the user on how it counts."""

    tokenizer: Tokenizer
    notes: tuple[Note, ...]


def choose_tokenizer(paths: RankFilePaths, model: Model | None = None, *, strict: bool = False) -> TokenizerChoice:
    """Return the tokenizer for a model, or for o200k if there is no model.

    Raises:
        Refused: `strict` is set and counts can only be estimated.
    """
    encoding = ENCODINGS[DEFAULT_ENCODING if model is None else model.encoding]
    ranks, notes = find_ranks(paths, encoding)
    factor = 100 if model is None else model.factor
    exact = None if ranks is None else ExactTokenizer(encoding, ranks)
    if strict and (exact is None or factor != 100):
        reason = f"there is no data of {encoding.name}" if factor == 100 else "its tokens can only be estimated"
        raise Refused(f"exact token counts are not possible here: {reason}", hint=FETCH_HINT if factor == 100 else None)
    if exact is None:
        notes += (Note(f"tokens are estimated: there is no data of {encoding.name} here", FETCH_HINT),)
    tokenizer = exact or EstimatingTokenizer()
    if model is None or factor == 100:
        return TokenizerChoice(tokenizer, notes)
    note = Note(f"tokens are estimated: {factor / 100:g} {model.name} tokens for each {tokenizer.name} token")
    return TokenizerChoice(ScaledTokenizer(tokenizer, factor, model.name, fixed=model.fixed), (*notes, note))
