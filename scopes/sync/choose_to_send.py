"""Choose the conversations for a push or a bundle."""

from __future__ import annotations

from shlex import quote

from scopes.errors import NotFound
from scopes.history.names import conversation_ids, find_directory, find_root_commit
from scopes.ids import ConversationId
from scopes.result import Note, counted
from scopes.store.objects import read_commit
from scopes.store.projects import names_of
from scopes.store.repository import Repository
from scopes.sync.local_conversations import Selection, choose_local
from scopes.sync.names import month_of
from scopes.sync.nothing_found import none_selected


def choose_to_send(repository: Repository, selection: Selection) -> list[ConversationId]:
    """Return the chosen conversations for a remote, or for a bundle; of a project those that are certainly of it.

    Raises:
        NotFound, Ambiguous, Invalid: a name cannot be resolved; or the store has conversations, and none of the project
            or year.
    """
    chosen = choose_local(repository, selection, certain=True)
    is_narrowed = selection.project is not None or selection.year is not None
    if not chosen and is_narrowed and conversation_ids(repository):
        unsure = find_unsure(repository, selection)
        raise _none(repository, selection) if unsure is None else NotFound(unsure.text, hint=unsure.hint)
    return chosen


def find_unsure(repository: Repository, selection: Selection) -> Note | None:
    """Return a note about what is not sent, because it is of the project by the name of a directory alone."""
    if selection.project is None:
        return None
    certain = {*choose_local(repository, selection, certain=True)}
    others = [each for each in choose_local(repository, selection) if each not in certain]
    if not others:
        return None
    text = (
        f"{counted(len(others), 'conversation')} not sent: of the project by the name of a directory that is not here"
    )
    return Note(text, f"name those that are: scopes list --project {quote(selection.project.text)}")


def _none(repository: Repository, selection: Selection) -> NotFound:
    every = conversation_ids(repository)
    roots = [find_root_commit(repository, each) for each in every]
    years = [month_of(read_commit(repository, root))[:4] for root in roots if root is not None]
    return none_selected("this store", selection, years, names_of(find_directory(repository, each) for each in every))
