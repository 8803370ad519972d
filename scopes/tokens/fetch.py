"""`tokens fetch`: bring the rank file of an encoding into our cache, once it was asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256

from scopes.errors import Corrupt, Inaccessible, Invalid
from scopes.result import Result
from scopes.tokens.atomic_write import write_file
from scopes.tokens.encodings import ENCODINGS
from scopes.tokens.rank_files import RankFilePaths


@dataclass(frozen=True, slots=True, kw_only=True)
class RanksFetched(Result):
    """The rank file of an encoding as it now lies in the cache."""

    encoding: str
    path: str
    size: int


def fetch_ranks(places: RankFilePaths, name: str, download: Callable[[str], bytes]) -> RanksFetched:
    """Download the ranks of an encoding, check them and keep them; an older file is replaced in one step.

    Raises:
        Invalid: there is no such encoding.
        Corrupt: what came has the wrong hash; nothing was kept.
        Inaccessible: the cache cannot be written; or as `download` says.
    """
    encoding = ENCODINGS.get(name)
    if encoding is None:
        raise Invalid(f"{name!a} is no encoding", hint="encodings: " + ", ".join(ENCODINGS))
    data = download(encoding.url)
    if sha256(data).hexdigest() != encoding.sha256:
        raise Corrupt(
            f"what {encoding.url} sent is not {name}: the hash is wrong", hint="try again, or another network"
        )
    path = places.own_file(encoding)
    try:
        write_file(path, data)
    except OSError as error:
        raise Inaccessible(f"cannot write {path}: {error.strerror}", hint="check its directory") from error
    return RanksFetched(encoding=name, path=path, size=len(data))
