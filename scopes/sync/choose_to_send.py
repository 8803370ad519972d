"""Choose the conversations for a push or a bundle; those of other machines only match a project by its name."""

from __future__ import annotations

from collections.abc import Sequence

from scopes.errors import NotFound
from scopes.history.names import conversation_ids, find_directory, find_root_commit
from scopes.ids import ConversationId
from scopes.result import plural
from scopes.store.objects import read_commit
from scopes.store.projects import names_of
from scopes.store.repository import Repository
from scopes.sync.local_conversations import Selection, choose_local
from scopes.sync.names import month_of, tracking_ref
from scopes.sync.nothing_found import none_selected


def choose_to_send(repository: Repository, selection: Selection, *remotes: str) -> list[ConversationId]:
    """Return the chosen conversations for the repositories of a remote, or for a bundle.

    If a directory or the address of a repository was given, conversations that began on another machine are chosen only
    if one of the repositories has them already: another project may have a directory of the same name.

    Raises:
        NotFound, Ambiguous, Invalid: a name cannot be resolved; or the store has conversations, and none of the project
            or year.
    """
    chosen, project = choose_local(repository, selection), selection.project
    left_out = 0
    if project is not None and (project.project is not None or project.urls):
        directories = {each: find_directory(repository, each) for each in chosen}
        sure = project.here.find(directories.values())
        named = chosen
        chosen = [each for each in named if directories[each] in sure or _is_on(repository, each, remotes)]
        left_out = len(named) - len(chosen)
    is_narrowed = project is not None or selection.year is not None
    if not chosen and is_narrowed and conversation_ids(repository):
        raise _none_left(selection, left_out) if left_out else _none(repository, selection)
    return chosen


def _is_on(repository: Repository, conversation: ConversationId, remotes: Sequence[str]) -> bool:
    root = find_root_commit(repository, conversation) if remotes else None
    return root is not None and any(repository.find_ref(tracking_ref(each, root)) is not None for each in remotes)


def _none(repository: Repository, selection: Selection) -> NotFound:
    every = conversation_ids(repository)
    roots = [find_root_commit(repository, each) for each in every]
    years = [month_of(read_commit(repository, root))[:4] for root in roots if root is not None]
    return none_selected("this store", selection, years, names_of(find_directory(repository, each) for each in every))


def _none_left(selection: Selection, left_out: int) -> NotFound:
    text = "this store has no conversation that began in this project here"
    number = f"{left_out} {plural(left_out, 'conversation')}"
    name = "" if selection.project is None else min(selection.project.names, default="")
    return NotFound(text, hint=f"{number} of other machines have its name: choose by the name: --project {name}")
