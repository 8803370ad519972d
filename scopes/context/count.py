"""`tokens`: count the tokens of a text or a conversation; fetch the data of an encoding, and say what is here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import islice

from scopes.context.calibrate import calibrate
from scopes.context.count_cache import with_cache
from scopes.context.part_text import CATEGORIES, texts_of
from scopes.errors import Corrupt, Inaccessible, Invalid
from scopes.history.messages import read_body, walk_headers_newest_first
from scopes.history.names import resolve_revision
from scopes.regular_file import write_private_file
from scopes.result import Column, Note, Result, Rows, counted, format_size, named, shown
from scopes.store.repository import Repository
from scopes.tokens.count import ENCODINGS, RankFilePaths, RankFileRow, TokenizerChoice, walk_rank_files

_BATCH = 1000  # messages whose texts are in memory at once


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenCount(Result):
    """The tokens of a text; of a conversation also its messages and the tokens by category of part."""

    kind = "tokens"

    what: str
    tokens: int
    characters: int
    method: str
    encoding: str
    messages: int | None = None
    parts: Mapping[str, int] | None = None

    @property
    def sentence(self) -> list[str]:
        """The count and how it was made; `~` marks an estimate."""
        about = "" if self.method == "exact" else "~"
        how = ", ".join(dict.fromkeys((self.encoding, self.method)))
        parts = (self.parts or {}).items()
        return [
            f"{about}{self.tokens:,} tokens  {how}",
            f"Text: {counted(self.characters, 'character')}",
            "" if self.messages is None else f"Messages: {self.messages:,}",
            *(f"{name.replace('_', ' ').capitalize()}: {about}{tokens:,}" for name, tokens in parts),
        ]

    @property
    def answer(self) -> str:
        """The number, an estimate with its mark."""
        return f"{'' if self.method == 'exact' else '~'}{self.tokens}"


def count_text(what: str, data: bytes, choice: TokenizerChoice) -> TokenCount:
    """Count the tokens of UTF-8 text; invalid bytes are replaced, with a note. `what` names the text in the result."""
    text = data.decode("utf-8", "replace")
    notes = choice.notes if text.encode() == data else (*choice.notes, Note(f"{what} is not valid UTF-8"))
    tokens = choice.tokenizer.count(text)
    return TokenCount(
        what=what,
        tokens=tokens,
        characters=len(text),
        method=choice.tokenizer.method,
        encoding=choice.tokenizer.name,
        notes=notes,
    )


def count_conversation(repository: Repository, where: str, choice: TokenizerChoice, cache_directory: str) -> TokenCount:
    """Count the tokens of all messages up to the tip of a branch, or up to a message.

    Raises:
        NotFound, Ambiguous, Invalid: there is no such conversation, branch or message.
    """
    revision = resolve_revision(repository, where)
    parts = dict.fromkeys(CATEGORIES, 0)
    messages = characters = 0
    with with_cache(choice, cache_directory) as counter:
        tokenizer, notes = calibrate(repository, revision, counter)
        heads = walk_headers_newest_first(repository, [revision.oid])
        while batch := list(islice(heads, _BATCH)):
            messages += len(batch)
            texts = [each for head in batch for each in texts_of(read_body(repository, head))]
            for category, text in texts:
                parts[category] += tokenizer.count(text)
                characters += len(text)
    return TokenCount(
        what=f"{revision.conversation}/{revision.branch}" if revision.branch else where,
        tokens=sum(parts.values()),
        characters=characters,
        method=tokenizer.method,
        encoding=tokenizer.name,
        messages=messages,
        parts=parts,
        notes=notes,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RanksFetched(Result):
    """A rank file that was written to the cache; `size` is in bytes."""

    kind = "token-data"

    encoding: str
    path: str
    size: int = field(metadata=named("bytes"))

    @property
    def sentence(self) -> str:
        """What was fetched."""
        return f"Fetched {self.encoding} ({format_size(self.size)}) to {self.path}."

    @property
    def answer(self) -> str:
        """The path."""
        return self.path


def fetch_ranks(paths: RankFilePaths, name: str, download: Callable[[str], bytes]) -> RanksFetched:
    """Download an encoding's rank file, verify it and replace the cached one atomically.

    Raises:
        Invalid: the encoding is unknown.
        Corrupt: the downloaded data has the wrong hash; nothing was written.
        Inaccessible: the cache cannot be written, or `download` failed.
    """
    encoding = ENCODINGS.get(name)
    if encoding is None:
        raise Invalid(f"{name!a} is not a known encoding", hint="encodings: " + ", ".join(ENCODINGS))
    data = download(encoding.url)
    if sha256(data).hexdigest() != encoding.sha256:
        problem = f"the data from {encoding.url} is not {name}: its hash is wrong"
        raise Corrupt(problem, hint="try again, or from another network")
    path = paths.own_file(encoding)
    try:
        write_private_file(path, data)
    except OSError as error:
        raise Inaccessible(f"cannot write {path}: {error.strerror}", hint="check its directory") from error
    return RanksFetched(encoding=name, path=path, size=len(data))


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodingRow:
    """One encoding and its rank files; the first with the right hash is used."""

    name: str
    files: tuple[RankFileRow, ...]

    @property
    @shown
    def method(self) -> str:
        """Whether counts are exact."""
        return "exact" if self.exact else "estimate"

    @property
    def places(self) -> list[tuple[str, str]]:
        """The origins of the files, and their paths."""
        return [(each.origin, each.path if each.right else f"{each.path} (wrong hash)") for each in self.files]

    @property
    def exact(self) -> bool:
        """Return True if one of the files can be used, so that counts are exact."""
        return any(file.right for file in self.files)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenStatus(Result):
    """One row for each known encoding."""

    rows_in = "encodings"
    further = (Rows("rows", (Column("encoding"), Column("counts"), Column("from"), Column("file", form="path"))),)

    encodings: tuple[EncodingRow, ...]

    @property
    def rows(self) -> list[dict[str, str]]:
        """A row for each rank file, and one for an encoding without a file."""
        return [
            {"encoding": each.name, "counts": each.method, "from": origin, "file": path}
            for each in self.encodings
            for origin, path in each.places or [("", "")]
        ]


def tokens_status(paths: RankFilePaths) -> TokenStatus:
    """Look for the rank files of every known encoding."""
    return TokenStatus(
        encodings=tuple(
            EncodingRow(name=each.name, files=tuple(file for file, _ in walk_rank_files(paths, each)))
            for each in ENCODINGS.values()
        )
    )
