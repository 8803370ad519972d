"""`tokens fetch`: download the rank file of an encoding into the cache directory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256

from scopes.errors import Corrupt, Inaccessible, Invalid
from scopes.result import Result
from scopes.tokens.cache_files import write_file
from scopes.tokens.encodings import ENCODINGS
from scopes.tokens.rank_files import RankFilePaths


@dataclass(frozen=True, slots=True, kw_only=True)
class RanksFetched(Result):
    """A rank file that was written to the cache; `size` is in bytes."""

    encoding: str
    path: str
    size: int


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
        raise Corrupt(
            f"the data from {encoding.url} is not {name}: its hash is wrong",
            hint="try again, or from another network",
        )
    path = paths.own_file(encoding)
    try:
        write_file(path, data)
    except OSError as error:
        raise Inaccessible(f"cannot write {path}: {error.strerror}", hint="check its directory") from error
    return RanksFetched(encoding=name, path=path, size=len(data))
