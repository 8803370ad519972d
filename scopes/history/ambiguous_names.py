"""Names that mean several things: of a branch or tag that is named like a message, or like a branch of a remote.

Other people choose the names of the branches and tags that a fetch brings. So a whole id means its message or commit
and nothing else, as in git. With any other name of several meanings a command that only reads takes the first one and
says so in a note; every other command refuses it. These forms have one meaning each:

    refs/heads/BRANCH   refs/tags/TAG   refs/remotes/REMOTE/BRANCH   the whole id of a message
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from scopes.errors import Ambiguous
from scopes.history.metadata import read_metadata
from scopes.ids import BranchName, ConversationId, Oid, is_message_id, is_oid
from scopes.loading import load
from scopes.result import Note
from scopes.store.repository import Repository

LONG_FORMS: Final = "refs/"
HEADS_FORM: Final = "refs/heads/"
_SHORTEST_COMMIT: Final = 7
_TAGS_FORM: Final = "refs/tags/"
_REMOTES_FORM: Final = "refs/remotes/"


class Meaning(NamedTuple):
    """What a name may mean, the form that means only this, the commit, and the branch if it is one."""

    what: str
    long_form: str
    oid: Oid
    branch: BranchName | None = None


class Names(NamedTuple):
    """A conversation in which a name is looked up: its branches, and how its root and a message are found."""

    repository: Repository
    conversation: ConversationId
    tips: Mapping[BranchName, Oid]
    find_root: Callable[[], Oid | None]
    find_message: Callable[[str], Meaning | None]

    def find(self, name: str) -> Meaning | None:
        """Return what a name means; None if nothing has it, or if only branches begin with it.

        Raises:
            Ambiguous: it means several things, and the caller reads no notes; or it is a prefix of several ids.
        """
        found = self._find_long_form(name) if name.startswith(LONG_FORMS) else None
        if found is not None:
            return found
        message = self.find_message(name) if is_whole_id(name) else None
        if message is not None:
            return message
        exact = [*self._walk_branches(name), *self._walk_tags(name), *self._walk_remote_branches(name)]
        if exact and is_whole_id(name):
            return self._refuse_id(name, exact[0])
        return self._choose(name, exact)

    def _choose(self, name: str, exact: list[Meaning]) -> Meaning | None:
        longer = [branch for branch in self.tips if branch.startswith(name)]
        meanings = exact or [meaning for branch in longer for meaning in self._walk_branches(branch)]
        try:
            message = None if is_whole_id(name) else self.find_message(name)
        except Ambiguous:
            if not meanings:
                raise
            message = Meaning("the beginning of several ids", "the whole id of a message", Oid(""))
        if meanings and message is not None and _is_commit_by_chance(name, message):
            message = None
        if message is not None and (exact or len(longer) <= 1):
            return choose_meaning(self.repository, name, [*meanings, message])
        return choose_meaning(self.repository, name, exact) if exact else None

    def _find_long_form(self, name: str) -> Meaning | None:
        if name.startswith(HEADS_FORM):
            return next(self._walk_branches(name.removeprefix(HEADS_FORM)), None)
        if name.startswith(_TAGS_FORM):
            return next(self._walk_tags(name.removeprefix(_TAGS_FORM)), None)
        if name.startswith(_REMOTES_FORM):
            return next(self._walk_remote_branches(name.removeprefix(_REMOTES_FORM)), None)
        return None

    def _walk_branches(self, name: str) -> Iterator[Meaning]:
        branch = BranchName(name)
        if branch in self.tips:
            yield Meaning(f"the branch {name}", self._long(HEADS_FORM, name), self.tips[branch], branch)

    def _walk_tags(self, name: str) -> Iterator[Meaning]:
        tag = read_metadata(self.repository, self.conversation).tags.get(name)
        if tag is not None:
            yield Meaning(f"the tag {name}", self._long(_TAGS_FORM, name), tag)

    def _walk_remote_branches(self, name: str) -> Iterator[Meaning]:
        if "/" in name:
            find = load("scopes.history.remote_branches:find_remote_branch")
            there: Oid | None = find(self.repository, self.find_root(), name)
            if there is not None:
                remote, _, branch = name.partition("/")
                what = f"the branch {branch} of the remote {remote}"
                yield Meaning(what, self._long(_REMOTES_FORM, name), there)

    def _long(self, form: str, name: str) -> str:
        return f"{self.conversation}/{form}{name}"

    def _refuse_id(self, name: str, found: Meaning) -> Meaning:
        """Refuse a name of the form of an id, which no message has here, if the caller reads no notes."""
        if self.repository.caller.note is None:
            text = f"{name!a} is {found.what}, and has the form of an id that no message has here"
            raise Ambiguous(text, hint=_cure([found]))
        return found


def is_whole_id(text: str) -> bool:
    """Return True for the form of a whole message id or commit id."""
    return is_message_id(text) or is_oid(text)


def is_misleading(name: str) -> bool:
    """Return True for a name that no branch should have: of the form of a whole id, or of one of the long forms."""
    return is_whole_id(name) or name.startswith(LONG_FORMS)


def is_inside(repository: Repository, name: str, conversation: ConversationId, tips: Mapping[BranchName, Oid]) -> bool:
    """Return True if a text such as `conv-001/fix` is the name of a branch or tag of a conversation, or begins one.

    After the conversation's own id a beginning is one of the rest, and a whole id is always that of the message.
    """
    if name.startswith(LONG_FORMS):
        return True
    head, _, rest = name.partition("/")
    known = [*tips, *read_metadata(repository, conversation).tags]
    if head == conversation:
        return name in known and not is_whole_id(rest)
    return any(inside.startswith(name) for inside in known)


def choose_meaning(repository: Repository, name: str, meanings: Sequence[Meaning]) -> Meaning:
    """Return the first of at least one meaning; if they differ, note it, or refuse a caller that reads no notes.

    Raises:
        Ambiguous: with all meanings, and how to say each.
    """
    first, others = meanings[0], [each for each in meanings if each.oid != meanings[0].oid]
    if not others:
        return first
    if repository.caller.note is None:
        text = f"{name!a} is ambiguous: it is {_join([first, *others])}"
        raise Ambiguous(text, hint=_cure([first, *others]))
    text = f"{name!a} is ambiguous: {first.what} is meant, but it is also {_join(others)}"
    repository.caller.note(Note(text, _cure([first, *others])))
    return first


def _is_commit_by_chance(name: str, message: Meaning) -> bool:
    """Return True for a word such as `feed` that begins only a commit's id: the hints and the log print longer ones."""
    return len(name) < _SHORTEST_COMMIT and message.oid.startswith(name) and not message.long_form.startswith(name)


def _join(meanings: Iterable[Meaning]) -> str:
    return " and ".join(each.what for each in meanings)


def _cure(meanings: Iterable[Meaning]) -> str:
    return f"say what you mean: {' or '.join(each.long_form for each in meanings)}"
