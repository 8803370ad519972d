"""From what people type to what is meant: conversations, branches and messages by unique prefix, place and time.

User text is never given to libgit2 as a revision: its parser has had memory errors, and our names are not git's.

    conv-001                 a conversation; its active branch; the message at that branch's tip
    conv-001/main            a branch; the message at its tip
    conv-001/main~3          three messages before it
    conv-001@{2 hours ago}   where the branch stood then
    k3x9                     a message by the start of its id (or of its commit's id)
    v1                       a tag
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from scopes.clock import format_seconds, now_nanoseconds
from scopes.errors import Ambiguous, Invalid, NotFound
from scopes.history.dates import parse_moment
from scopes.history.messages import head_of, is_root
from scopes.history.metadata import read_metadata
from scopes.ids import MAX_NAME_BYTES, BranchName, ConversationId, Oid, is_message_id, is_name
from scopes.store import refs as names
from scopes.store.graph import walk_oldest_first
from scopes.store.reflog import find_value_at
from scopes.store.repository import Repository, read_commit

MAIN = BranchName("main")
_STEP = re.compile(r"[~^]([0-9]*)")
_MOMENT = re.compile(r"(?P<name>.*)@\{(?P<moment>[^{}]*)\}", re.DOTALL)
_SHORTEST_PREFIX = 4
_MOST_STEPS = 10**9


class Revision(NamedTuple):
    """A point in a conversation: a commit, and the branch it was named by, if it was."""

    conversation: ConversationId
    branch: BranchName | None
    oid: Oid


def conversation_ids(repository: Repository) -> list[ConversationId]:
    """Return the ids of all conversations, sorted."""
    found = (names.split_branch_ref(ref) for ref in repository.list_refs(names.HEADS))
    return sorted({place[0] for place in found if place is not None})


def list_branch_tips(repository: Repository, conversation: ConversationId) -> dict[BranchName, Oid]:
    """Return every branch of a conversation with its tip, by name."""
    prefix = f"{names.HEADS}{conversation}/"
    return {BranchName(ref[len(prefix) :]): Oid(oid) for ref, oid in repository.list_refs(prefix).items()}


def find_conversation(repository: Repository, text: str) -> ConversationId:
    """Resolve a conversation by its id or a unique prefix.

    Raises:
        NotFound: with the nearest names.
        Ambiguous: with the candidates.
    """
    if not text:
        raise Invalid("the conversation's id is empty", hint="list them: scopes conv list")
    if is_name(text) and "/" not in text and repository.find_ref(f"{names.HEADS}{text}/{MAIN}") is not None:
        return ConversationId(text)  # nearly always, and without reading every ref
    hint = "list them: scopes conv list"
    return ConversationId(_match(text, conversation_ids(repository), "conversation", hint))


def find_active_branch(repository: Repository, conversation: ConversationId) -> BranchName:
    """Return the active branch; main, or else the first one, where none is set or the set one is gone.

    Raises:
        NotFound: the conversation is gone, which somebody else may have done since it was looked up.
    """
    target = (repository.find_ref(names.active_ref(conversation)) or "").removeprefix(names.SYMBOLIC)
    place = names.split_branch_ref(target)
    if place is not None and repository.find_ref(target) is not None:
        return place[1]
    tips = list_branch_tips(repository, conversation)
    if not tips:
        raise NotFound(f"there is no conversation {conversation} any more", hint="bring it back: scopes undo")
    return choose_active_branch(conversation, tips, None)


def choose_active_branch(
    conversation: ConversationId, tips: Mapping[BranchName, Oid], active: str | None
) -> BranchName:
    """Choose among the branches of a conversation, of which there is one at least; `active` is its ref's value."""
    place = names.split_branch_ref((active or "").removeprefix(names.SYMBOLIC))
    if place is not None and place[0] == conversation and place[1] in tips:
        return place[1]
    return MAIN if MAIN in tips else next(iter(tips))


def find_branch(repository: Repository, conversation: ConversationId, text: str | None) -> BranchName:
    """Resolve a branch by name or unique prefix; None means the active one."""
    if text is None:
        return find_active_branch(repository, conversation)
    if not text:
        raise Invalid("the branch's name is empty", hint=f"list them: scopes conv branch {conversation}")
    could_be_ref = len(text) <= MAX_NAME_BYTES and is_name(text)  # libgit2 takes a longer one for a damaged ref
    if could_be_ref and repository.find_ref(names.branch_ref(conversation, BranchName(text))) is not None:
        return BranchName(text)
    tips = list_branch_tips(repository, conversation)
    few = len(tips) <= 8
    hint = f"branches of {conversation}: {', '.join(tips)}" if few else f"list them: scopes conv branch {conversation}"
    return BranchName(_match(text, tips, "branch", hint))


def resolve_branch(repository: Repository, conversation: str, branch: str | None) -> tuple[ConversationId, BranchName]:
    """Resolve a conversation, or `CONV/BRANCH`, and a branch in it (the active one when none is named)."""
    head, slash, rest = conversation.partition("/")
    chosen = find_conversation(repository, head if slash else conversation)
    return chosen, find_branch(repository, chosen, branch if branch is not None else rest or None)


def resolve_revision(repository: Repository, text: str, conversation: ConversationId | None = None) -> Revision:
    """Resolve a point: inside `conversation` when it is given, otherwise anywhere in the store.

    Raises:
        NotFound, Ambiguous, Invalid: as for conversations and branches; there is no such message, step or moment.
    """
    if not text:
        raise Invalid("the message is not named", hint="for example: conv-001, conv-001/main~2, or an id from the log")
    name, steps = _split_steps(text)
    moment = _MOMENT.fullmatch(name)
    place = _find_named(repository, moment["name"] if moment else name, conversation)
    if moment is not None:
        place = _at_moment(repository, place, moment["moment"])
    return Revision(place.conversation, place.branch, _step_back(repository, place, steps)) if steps else place


def resolve_revision_anywhere(repository: Repository, text: str, conversation: ConversationId) -> Revision:
    """Resolve a point inside a conversation or, where it has none of that name, anywhere in the store; raises as above.

    Where there is none at all, what is said is about the conversation.
    """
    try:
        return resolve_revision(repository, text, conversation)
    except NotFound as error:
        try:
            return resolve_revision(repository, text)
        except NotFound:
            raise error from None


def _split_steps(text: str) -> tuple[str, int]:
    """Split `main~2^` into the name and the number of steps back, without a regular expression's backtracking."""
    tail = text[len(text.rstrip("~^0123456789")) :]
    first = _STEP.search(tail)
    if first is None:
        return text, 0
    steps = tail[first.start() :]
    counts = _STEP.findall(steps)
    return text.removesuffix(steps), sum(int(n or 1) if len(n) < 10 else _MOST_STEPS for n in counts)


def _find_named(repository: Repository, name: str, conversation: ConversationId | None) -> Revision:
    head, slash, rest = name.partition("/")
    if conversation is not None:
        in_full = (
            slash and head and conversation.startswith(head) and not _begins_inside(repository, name, conversation)
        )
        return _find_inside(repository, rest if in_full else name, conversation)
    if not slash and _could_be_id(name) and not any(c.startswith(name) for c in conversation_ids(repository)):
        try:
            return _find_by_id(repository, name, conversation_ids(repository))
        except NotFound:
            hint = "see: scopes conv list, scopes conv log; or begin a conversation: scopes conv new"
            _match(name, conversation_ids(repository), "conversation or message", hint)  # which it is not
            raise
    conversation = find_conversation(repository, head)
    return _find_inside(repository, rest, conversation)


def _find_inside(repository: Repository, name: str, conversation: ConversationId) -> Revision:
    """Resolve a name inside a conversation: a branch, the conversation itself, a tag, then the start of an id."""
    tips = list_branch_tips(repository, conversation)
    if name in ("", conversation) and name not in tips:
        name = find_active_branch(repository, conversation)
    if name in tips:
        return Revision(conversation, BranchName(name), tips[BranchName(name)])
    tag = read_metadata(repository, conversation).tags.get(name)
    if tag is not None:
        return Revision(conversation, None, tag)
    branches = [branch for branch in tips if branch.startswith(name)]
    if _could_be_id(name) and not branches:
        return _find_by_id(repository, name, [conversation])
    branch = BranchName(_match(name, tips, "branch or message", f"see: scopes conv log {conversation}"))
    return Revision(conversation, branch, tips[branch])


def _begins_inside(repository: Repository, name: str, conversation: ConversationId) -> bool:
    """Tell whether the text begins a branch or a tag, so that it is no `CONV/BRANCH`."""
    known = [*list_branch_tips(repository, conversation), *read_metadata(repository, conversation).tags]
    return any(inside.startswith(name) for inside in known)


def _could_be_id(text: str) -> bool:
    return len(text) >= _SHORTEST_PREFIX and text.isascii() and text.isalnum() and text == text.lower()


def _find_by_id(repository: Repository, prefix: str, conversations: Iterable[ConversationId]) -> Revision:
    """Look for a message whose id, or for any commit whose own id, begins with the prefix."""
    found: dict[str, Revision] = {}
    tips: dict[ConversationId, list[Oid]] = {}
    for ref, oid in repository.list_refs(names.HEADS).items():
        place = names.split_branch_ref(ref)
        if place is not None:
            tips.setdefault(place[0], []).append(Oid(oid))
    for conversation in conversations:
        for head in map(head_of, walk_oldest_first(repository, tips.get(conversation, []))):
            name = next((name for name in (head.id, head.oid) if name.startswith(prefix)), None)
            if name is not None:
                found.setdefault(name, Revision(conversation, None, head.oid))
        if found and is_message_id(prefix):
            break
    return found[_match(prefix, found, "message", "see: scopes conv log")]


def _at_moment(repository: Repository, place: Revision, text: str) -> Revision:
    if place.branch is None:
        raise Invalid("a moment needs a branch before it", hint="for example: conv-001/main@{2 hours ago}")
    nanoseconds = parse_moment(text, now_nanoseconds())
    ref = names.branch_ref(place.conversation, place.branch)
    oid = find_value_at(repository, ref, nanoseconds // 1_000_000_000)
    if oid is None or not repository.has(oid):
        when = format_seconds(nanoseconds // 1_000_000_000)
        where = f"{place.conversation}/{place.branch}"
        raise NotFound(f"nothing is known of {where} at {when}", hint=f"see: scopes conv log {where}")
    return Revision(place.conversation, place.branch, oid)


def _step_back(repository: Repository, place: Revision, count: int) -> Oid:
    commit = read_commit(repository, place.oid)
    for _ in range(count):
        if is_root(commit) or not commit.parents:
            raise NotFound(
                f"there are not that many messages before {head_of(commit).id[:8]} in {place.conversation}",
                hint=f"see: scopes conv log {place.conversation}",
            )
        commit = read_commit(repository, commit.parents[0])
    return commit.oid


def _match(text: str, candidates: Iterable[str], what: str, hint: str | None) -> str:
    """Choose the one candidate that the text is, or begins."""
    known = list(candidates)
    if text in known:
        return text
    found = [name for name in known if name.startswith(text)]
    if len(found) == 1:
        return found[0]
    if found:
        more = f" and {len(found) - 8} more" if len(found) > 8 else ""
        raise Ambiguous(f"{text!a} fits several: {', '.join(sorted(found)[:8])}{more}", hint="type a few more letters")
    near = difflib.get_close_matches(text, known, n=3)
    raise NotFound(f"there is no {what} {text!a}", hint=f"did you mean {' or '.join(near)}?" if near else hint)
