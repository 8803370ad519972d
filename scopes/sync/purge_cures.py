"""Hints for fetched content that was purged here: the remote still has it or has it again, or a bundle has it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from shlex import quote
from typing import Final

from scopes.errors import ScopesError
from scopes.history.messages import header_of, is_root
from scopes.history.sources import Purged
from scopes.ids import Oid
from scopes.model.operation import GOOD
from scopes.purge.on_remotes import read_values
from scopes.purge.purged_values import read_purged_values
from scopes.sanitize import clean_line
from scopes.store.objects import Objects, read_commit
from scopes.store.repository import Repository
from scopes.sync.local_conversations import list_roots
from scopes.sync.manifest import read_manifest
from scopes.sync.names import RemoteName
from scopes.sync.remotes import Remote, remote_option

_MAX_NAME: Final = 80
_SHORT_ROOT: Final = 12
_REPLACE: Final = "replace it there: scopes push --purged"
_WHOLE_SENT_AGAIN: Final = (
    "{}whoever keeps it can remove it, too: scopes purge --accept; or delete it there with what they have added: "
    "scopes push --purged --force --yes"
)
_IN_BUNDLE: Final = (
    "the bundle is older, or from somebody who keeps it: delete the file; for what else it may have of the "
    "conversation import it into another store, purge it there, too, and write a new one: scopes push FILE.bundle"
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

    def find(self, name: RemoteName, tip: Oid, received: Objects) -> str:
        """Return the hint for a conversation; empty if nothing was purged here.

        It names the author of the newest message there, because a manifest has no author.
        A remote may have content again because it was restored from a backup, and not because somebody has sent it.
        """
        if not self._purged:
            return ""
        if self._remote.address.of_bundle:
            return _IN_BUNDLE
        is_whole = self._purged.has_conversation(name.root)
        is_still_there = self._still_there.get(name.ref) == tip or tip in self._replaced.get(name.ref, ())
        if is_still_there:
            return _REPLACE + self._option
        who = self._describe_newest(tip, received)
        if is_whole:
            return _WHOLE_SENT_AGAIN.format(who) + self._option
        here = list_roots(self._repository, name.root).get(name.root)
        pull = f"scopes pull{self._option} {quote(here or name.root[:_SHORT_ROOT])} --purged"
        cure = f"{who}get the rest without it: {pull}; then: scopes push{self._option} --purged"
        instead = (
            f"; or remove there what is not here: scopes push{self._option} {quote(here)} --force --yes" if here else ""
        )
        return cure + instead

    def _describe_newest(self, tip: Oid, received: Objects) -> str:
        """Return `its newest message is by dave; `, with the signer if git accepts a signature; empty if not known."""
        try:
            tips = [read_commit(received, each.tip) for each in read_manifest(received, tip).manifest.branches.values()]
            newest = max((each for each in tips if not is_root(each)), key=lambda each: each.time, default=None)
            if newest is None:
                return ""
            text = f"its newest message is by {clean_line(header_of(newest).author)[:_MAX_NAME]}"
            from scopes.store.git_program import check_signatures

            verdict = check_signatures(received, [newest.oid], self._repository.path).get(newest.oid)
        except ScopesError:  # it is not acceptable for another reason, too
            return ""
        is_good = verdict is not None and verdict.state == GOOD and verdict.signer
        return f"{text}, signed by {verdict.signer}; " if verdict is not None and is_good else f"{text}; "

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
