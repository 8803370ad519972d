"""`tokens status`: which encodings can be counted exactly here, and from which file."""

from __future__ import annotations

from dataclasses import dataclass

from scopes.result import Result
from scopes.tokens.encodings import ENCODINGS
from scopes.tokens.rank_files import RankFilePaths, walk_rank_files


@dataclass(frozen=True, slots=True, kw_only=True)
class RankFileRow:
    """One rank file that was looked at; `origin` is tiktoken, cache or carrier, `right` whether its hash is."""

    path: str
    origin: str
    right: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodingRow:
    """One encoding, with the files that there are for it; the first right one is used."""

    name: str
    files: tuple[RankFileRow, ...]

    @property
    def exact(self) -> bool:
        """Whether there is a right one."""
        return any(file.right for file in self.files)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenStatus(Result):
    """Every encoding."""

    encodings: tuple[EncodingRow, ...]


def tokens_status(places: RankFilePaths) -> TokenStatus:
    """Look for the rank files of every encoding."""
    rows = []
    for encoding in ENCODINGS.values():
        found = walk_rank_files(places, encoding)
        files = tuple(
            RankFileRow(path=f.candidate.path, origin=f.candidate.origin, right=f.data is not None) for f in found
        )
        rows.append(EncodingRow(name=encoding.name, files=files))
    return TokenStatus(encodings=tuple(rows))
