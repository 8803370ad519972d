"""Hints for fetched content that was purged here: the remote still has it or has it again, or a bundle has it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from shlex import quote
from typing import Final

from scopes.history.purged import Purged
from scopes.ids import Oid
from scopes.purge.on_remotes import read_values
from scopes.purge.purged_values import read_purged_values
from scopes.store.repository import Repository
from scopes.sync.local_conversations import list_roots
from scopes.sync.names import RemoteName
from scopes.sync.remotes import Remote, remote_option

_REPLACE: Final = "replace it there: scopes push --purged"
_SENT_AGAIN: Final = (
    "somebody keeps it and has sent it again: nothing of the conversation is taken until they run "
    "scopes purge --accept CONV, and push; or remove there what is not here: scopes push {} --force"
)
_WHOLE_SENT_AGAIN: Final = (
    "somebody keeps it and has sent it again: they run scopes purge --accept CONV; or delete it there with what they "
    "have added: scopes push --purged --force"
)
_IN_BUNDLE: Final = (
    "the bundle is older, or from somebody who keeps it: delete the file; for what else it may have of the "
    "conversation import it into another store, purge it there, too, and write a new one: scopes bundle create FILE"
)


class PurgeCures:
    """Hints for conversations of one remote, or of a bundle, that have content which was purged here."""

    def __init__(self, repository: Repository, remote: Remote, purged: Purged) -> None:
        self._repository = repository
        self._remote = remote
        self._purged = purged

    @property
    def replace(self) -> str:
        """The hint for content that nobody else can have sent."""
        return _IN_BUNDLE if self._remote.address.of_bundle else _REPLACE + self._option

    def find(self, name: RemoteName, tip: Oid) -> str:
        """Return the hint for a conversation; empty if nothing was purged here.

        A remote may have content again because it was restored from a backup, and not because somebody has sent it.
        """
        if not self._purged:
            return ""
        if self._remote.address.of_bundle:
            return _IN_BUNDLE
        is_whole = self._purged.has_conversation(name.root)
        is_still_there = self._still_there.get(name.ref) == tip or tip in self._replaced.get(name.ref, ())
        if is_still_there or is_whole:
            return (_REPLACE if is_still_there else _WHOLE_SENT_AGAIN) + self._option
        here = list_roots(self._repository, name.root).get(name.root, "CONV")
        return _SENT_AGAIN.format(quote(here)) + self._option

    @cached_property
    def _option(self) -> str:
        return remote_option(self._repository, self._remote.name)

    @cached_property
    def _still_there(self) -> Mapping[str, str]:
        """The values of the refs with content that was purged here and that the remote still has."""
        return read_values(self._repository.path).get(self._remote.name, {})

    @cached_property
    def _replaced(self) -> Mapping[str, frozenset[Oid]]:
        """The values that refs of remotes had before something was purged from them."""
        return read_purged_values(self._repository.path)
