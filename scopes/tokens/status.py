"""`tokens status`: list the encodings that can be counted exactly, with the rank files that were found for each."""

from __future__ import annotations

from dataclasses import dataclass

from scopes.result import Result
from scopes.tokens.encodings import ENCODINGS
from scopes.tokens.rank_files import RankFilePaths, walk_rank_files


@dataclass(frozen=True, slots=True, kw_only=True)
class RankFileRow:
    """One rank file; `origin` is tiktoken, cache or carrier (a package); `right` is True if its hash is right."""

    path: str
    origin: str
    right: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodingRow:
    """One encoding and its rank files; the first with the right hash is used."""

    name: str
    files: tuple[RankFileRow, ...]

    @property
    def exact(self) -> bool:
        """Return True if one of the files can be used, so that counts are exact."""
        return any(file.right for file in self.files)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenStatus(Result):
    """One row for each known encoding."""

    encodings: tuple[EncodingRow, ...]


def tokens_status(paths: RankFilePaths) -> TokenStatus:
    """Look for the rank files of every known encoding."""
    rows = []
    for encoding in ENCODINGS.values():
        files = tuple(
            RankFileRow(path=file.path, origin=file.origin, right=file.data is not None)
            for file in walk_rank_files(paths, encoding)
        )
        rows.append(EncodingRow(name=encoding.name, files=files))
    return TokenStatus(encodings=tuple(rows))
