"""Keep in the index what later commands need of an import, so that they need not read all of it at once.

A merge needs digests of long conversations (`merge/kept_digests`), a new session is compared with the sources of all
others (`shared_prefix`). Most of it is made in a process of its own while the refs move. That process needs no refs:
what it keeps has the names of commits that the store has by then. What it has not done, this process does, and if the
import fails, what is kept is of no use and does no harm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain

from scopes.errors import ScopesError
from scopes.history.revisions import list_branch_tips
from scopes.ids import Oid
from scopes.importers.results import Imported
from scopes.importers.run_state import ImportRun
from scopes.importers.shared_prefix import keep_comparisons_of, keep_what_sessions_are_compared_with
from scopes.importers.targets import ImportTarget
from scopes.importers.worker_pool import begin_apart
from scopes.loading import load
from scopes.store.repository import Repository

MANY_CONVERSATIONS = 100  # new ones; fewer are read soon enough by the next import
LONG_MESSAGES = 1000  # new ones of a conversation; fewer are read soon enough when a merge needs them


@contextmanager
def begin_to_keep(run: ImportRun, index_directory: str | None) -> Iterator[Callable[[], None]]:
    """Begin with the new conversations and sources of a run whose objects are in the store.

    Yield a function that waits until that is done. Hold no lock of the store: the process would hold it too.
    """
    new = [target for target in run.targets if target.conversation is None]
    long = [target for target in new if target.new_messages >= LONG_MESSAGES]
    directory = index_directory if len(new) >= MANY_CONVERSATIONS else None
    if not long and directory is None:
        yield lambda: None
        return

    def work() -> None:
        for target in long:
            _keep_digests_of(run.repository, target)
        if directory is not None:
            keep_comparisons_of(run.repository, directory, run.records.list_changes())

    with begin_apart(work) as wait:
        yield wait


def keep_rest(repository: Repository, result: Imported, index_directory: str | None) -> None:
    """Keep what is not kept yet, after the refs have moved; of what is kept already this reads only that."""
    for each in result.conversations:
        if each.new_messages >= LONG_MESSAGES:
            tips = list_branch_tips(repository, each.id).values()
            load("scopes.merge.kept_digests:keep_digests")(repository, each.id, tips, each.new_messages)
    added = sum(1 for each in result.conversations if each.messages == each.new_messages)
    if index_directory is not None and result.operation is not None and added >= MANY_CONVERSATIONS:
        with suppress(ScopesError):  # the next import will report it
            keep_what_sessions_are_compared_with(repository, index_directory)


def _keep_digests_of(repository: Repository, target: ImportTarget) -> None:
    """Keep the digests of a new conversation, whose branches are those of its sessions."""
    branches = chain.from_iterable(session.tips for session in target.sessions)
    tips = {branch.name: branch.tip for branch in branches}
    forks = {branch.entry.fork for session in target.sessions for branch in session.tips} - {None}
    ordered: list[Oid] = [tip for _, tip in sorted(tips.items())]
    load("scopes.merge.kept_digests:keep_digests_between")(repository, ordered, forks, target.new_messages)
