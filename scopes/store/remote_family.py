"""The repositories of one remote: `origin`, and once that one is full `origin-2`, `origin-3` and so on.

The address of each is a function of the one before: `talks.git`, `talks-2.git`, `talks-3.git`, beside each other on the
same server. So nothing that a remote sends can lead to another place, and every machine goes on from the spelling of
the address that it has. The repositories are remotes of their own in the file of remotes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from scopes.lazy_patterns import compile_lazily

MAX_REPOSITORIES: Final = 100
_ADDRESS = compile_lazily(r"(?P<stem>.*?[^/:])(?P<ending>(?:\.git)?)/*")
_NUMBERED = compile_lazily(r"(?P<stem>.*[^/:])-(?P<number>[2-9]|[1-9][0-9]|100)")
_NO_NAMES: Final = frozenset({".git", ".", "..", "~"})


class NextRepository(NamedTuple):
    """The repository after another one: its number, and its address."""

    number: int
    address: str


def find_next(address: str) -> NextRepository | None:
    """Return the repository after the one with an address; None if it has no name that can be numbered."""
    found = _ADDRESS.fullmatch(address)
    if found is None or address.rstrip("/").rpartition("/")[2].rpartition(":")[2] in _NO_NAMES:
        return None
    numbered = _NUMBERED.fullmatch(found["stem"])
    stem, number = (found["stem"], 1) if numbered is None else (numbered["stem"], int(numbered["number"]))
    if number >= MAX_REPOSITORIES:
        return None
    return NextRepository(number + 1, f"{stem}-{number + 1}{found['ending']}")


def find_first(addresses: Mapping[str, str], name: str) -> str:
    """Return the name of the first repository of the remote to which one belongs; it may be that one."""
    found = _NUMBERED.fullmatch(name)
    if found is None:
        return name
    first = found["stem"]
    is_one = first in addresses and find_first(addresses, first) == first and name in list_family(addresses, first)
    return first if is_one else name


def list_firsts(addresses: Mapping[str, str]) -> list[str]:
    """Return the names of the remotes without those of their later repositories."""
    return [name for name in addresses if find_first(addresses, name) == name]


def list_family(addresses: Mapping[str, str], name: str) -> list[str]:
    """Return the names of the repositories of a remote, the oldest first; `addresses` are those of all remotes."""
    names = [name]
    following = find_next(addresses[name])
    while following is not None and addresses.get(f"{name}-{following.number}") == following.address:
        names.append(f"{name}-{following.number}")
        following = find_next(following.address)
    return names
