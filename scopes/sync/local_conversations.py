"""Find the conversations of this store by their roots, and choose those that a command is about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from scopes.clock import now_nanoseconds, parse_date
from scopes.errors import Corrupt, Invalid, NotFound
from scopes.history.handles import list_tips_by_time
from scopes.history.metadata import read_metadata_at
from scopes.history.names import MAIN, conversation_ids, find_directory, find_root_commit, resolve_conversation
from scopes.ids import BranchName, ConversationId, Oid
from scopes.importers.conversation_roots import list_known_roots
from scopes.lazy_patterns import compile_lazily
from scopes.store import refs
from scopes.store.objects import read_commit
from scopes.store.repository import Repository
from scopes.sync.names import RemoteName, month_of, name_on_remote

if TYPE_CHECKING:
    from scopes.store.projects import Project

_YEAR = compile_lazily(r"[0-9]{4}")
_NANOSECONDS = 1_000_000_000


class Selection(NamedTuple):
    """Which conversations a command is about: those that are named, or all that meet every condition.

    since: the time of the last message, in seconds since 1970; year: in which they began
    """

    names: tuple[str, ...] = ()
    everything: bool = False
    project: Project | None = None
    since: int | None = None
    year: str | None = None

    @property
    def is_empty(self) -> bool:
        """Return True if nothing was chosen."""
        return not (self.names or self.everything or self.project or self.since is not None or self.year)

    @property
    def is_everything(self) -> bool:
        """Return True if no conversation is left out."""
        return not self.names and not self.has_conditions

    @property
    def has_conditions(self) -> bool:
        """Return True if it has a condition that some conversations may not meet."""
        return self.project is not None or self.since is not None or self.year is not None


def make_selection(
    names: Sequence[str], *, everything: bool, project: Project | None, since: str | None, year: str | None
) -> Selection:
    """Check what the user has chosen.

    Raises:
        Invalid: options exclude each other, or one is not valid.
    """
    if year is not None and not _YEAR.fullmatch(year):
        raise Invalid(f"{year!a} is not a year", hint="for example: --year 2026")
    conditions = everything or project is not None or since is not None or year is not None
    if names and conditions:
        raise Invalid("conversations cannot be named together with --all, --project, --since or --year")
    moment = None if since is None else parse_date(since, now_nanoseconds()) // _NANOSECONDS
    return Selection(tuple(names), everything, project, moment, year)


def list_roots(repository: Repository, prefix: str = "") -> dict[Oid, ConversationId]:
    """Return all conversations by their root commits that begin with a prefix; one with a damaged root is left out."""
    found, unknown = list_known_roots(repository, repository.caller.index_directory, prefix)
    for conversation in unknown:  # it has no metadata about main
        root = find_root_commit(repository, conversation)
        if root is not None and root.startswith(prefix):
            found.setdefault(root, conversation)
    return found


def list_roots_in_trash(repository: Repository) -> Iterator[Oid]:
    """Yield the root commits of the conversations that were deleted here, as their metadata name them."""
    for ref, value in repository.list_refs(refs.TRASH).items():
        if ref.endswith("/meta"):
            with suppress(Corrupt, NotFound):
                main = read_metadata_at(repository, Oid(value)).branches.get(MAIN)
                if main is not None and main.fork is not None:
                    yield main.fork


def list_shared(repository: Repository, *remotes: str) -> list[ConversationId]:
    """Return the conversations of this store that one of some remotes had when it was last seen, sorted."""
    prefixes = [f"{refs.REMOTES}{remote}/" for remote in remotes]
    there = {ref.rpartition("/")[2] for ref in repository.list_ref_names(*prefixes)}
    return sorted(name for root, name in list_roots(repository).items() if root in there)


def read_all_tips(repository: Repository) -> dict[ConversationId, dict[BranchName, Oid]]:
    """Return the tips of the branches of all conversations; the refs of very many are read once."""
    found: dict[ConversationId, dict[BranchName, Oid]] = {}
    for ref, oid in repository.list_refs(refs.HEADS).items():
        pair = refs.split_branch_ref(ref)
        if pair is not None:
            found.setdefault(pair[0], {})[pair[1]] = Oid(oid)
    return found


def choose_local(repository: Repository, selection: Selection, *, certain: bool = False) -> list[ConversationId]:
    """Return the chosen conversations, sorted by id, those that are named in their order.

    certain: of a project only those that are certainly of it, as `Project.find` says

    Raises:
        NotFound, Ambiguous, Invalid: a name cannot be resolved.
    """
    if selection.names:
        return list(dict.fromkeys(resolve_conversation(repository, name) for name in selection.names))
    chosen = [each for each in conversation_ids(repository) if _meets(repository, each, selection)]
    if selection.project is None:
        return chosen
    directories = {each: find_directory(repository, each) for each in chosen}
    found = selection.project.find(directories.values(), certain=certain)
    return [each for each in chosen if directories[each] in found]


def _meets(repository: Repository, conversation: ConversationId, selection: Selection) -> bool:
    """Return True if a conversation meets the conditions about times."""
    if selection.year is not None:
        root = find_root_commit(repository, conversation)
        if root is None or not month_of(read_commit(repository, root)).startswith(selection.year):
            return False
    if selection.since is not None:
        newest = list_tips_by_time(repository, conversation)[-1:]
        if not newest or read_commit(repository, newest[0]).time < selection.since:
            return False
    return True


def name_of_conversation(repository: Repository, conversation: ConversationId) -> RemoteName:
    """Return the name of a conversation of this store on every remote.

    Raises:
        Corrupt: its history does not begin with a root.
    """
    root = find_root_commit(repository, conversation)
    if root is None:
        raise Corrupt(f"the history of {conversation} has no root", hint="see: scopes verify")
    return name_on_remote(repository, read_commit(repository, root))


def newest_time(repository: Repository, tips: Iterable[Oid]) -> int:
    """Return the time of the newest of some commits, in seconds since 1970."""
    return max(read_commit(repository, oid).time for oid in tips)
