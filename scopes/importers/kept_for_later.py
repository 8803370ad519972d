"""Keep in the index what a later import needs of an import, so that it need not read all of it at once.

A new session is compared with the sources of all others (`shared_prefix`). Most of it is made in a process of its own
while the refs move. That process needs no refs: what it keeps has the names of commits that the store has by then. What
it has not done, this process does, and if the import fails, what is kept is of no use and does no harm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from scopes.errors import ScopesError
from scopes.importers.results import Imported
from scopes.importers.run_state import ImportRun
from scopes.importers.shared_prefix import keep_comparisons_of, keep_what_sessions_are_compared_with
from scopes.importers.worker_pool import begin_apart
from scopes.store.repository import Repository

MANY_CONVERSATIONS = 100  # new ones; fewer are read soon enough by the next import


@contextmanager
def begin_to_keep(run: ImportRun, index_directory: str | None) -> Iterator[Callable[[], None]]:
    """Begin with the new conversations and sources of a run whose objects are in the store.

    Yield a function that waits until that is done. Hold no lock of the store: the process would hold it too.
    """
    new = [target for target in run.targets if target.conversation is None]
    if index_directory is None or len(new) < MANY_CONVERSATIONS:
        yield lambda: None
        return
    directory = index_directory

    def work() -> None:
        keep_comparisons_of(run.repository, directory, run.records.list_changes())

    with begin_apart(work) as wait:
        yield wait


def keep_rest(repository: Repository, result: Imported, index_directory: str | None) -> None:
    """Keep what is not kept yet, after the refs have moved; of what is kept already this reads only that."""
    added = sum(1 for each in result.conversations if each.messages == each.new_messages)
    if index_directory is not None and result.operation is not None and added >= MANY_CONVERSATIONS:
        with suppress(ScopesError):  # the next import will report it
            keep_what_sessions_are_compared_with(repository, index_directory)
