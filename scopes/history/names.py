"""Resolve names of conversations, branches and messages: unique prefixes, steps back, times; and check new names.

User text is never passed to the revision parser of libgit2: that has had memory errors, and our names are not git's.

    conv-001                 a conversation; its active branch; the message at that branch's tip
    7c1e9f                   a conversation by a prefix of its UUID, or of the id of the imported session
    @  @-  @{2}              the latest conversation of the project, the one before, and so on
    conv-001/main            a branch; the message at its tip
    conv-001/main~3          three messages before it
    conv-001@{2 hours ago}   the tip of the branch at that time
    conv-001/main@{1}        the tip before the branch was last moved, as in git
    k3x9                     a message by a prefix of its id (or of its commit's id)
    v1                       a tag
    conv-001/origin/main     the branch main of the remote origin, as it was last seen
    conv-001/refs/heads/x    the branch x, whatever else is called so; also refs/tags/, refs/remotes/

A whole id always means its message or commit: others choose the names of the branches that a fetch brings. Then an
exact name comes before a prefix: a branch, a tag, a branch of a remote. A prefix has to be that of one thing alone.
Of very many conversations the index has their origins and the ids of their messages.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha1
from itertools import chain, islice
from shlex import quote
from typing import Final, NamedTuple, TypeAlias

from scopes.clock import format_seconds, now_nanoseconds, parse_date
from scopes.errors import Ambiguous, Corrupt, Invalid, NotFound
from scopes.history.messages import RecordedTimes, header_of, is_root, read_root_of
from scopes.history.metadata import find_remote_branch, list_remote_names, read_directory_and_fork, read_metadata
from scopes.ids import (
    MAX_NAME_BYTES,
    BranchName,
    ConversationId,
    Oid,
    is_message_id,
    is_name,
    is_oid,
    parse_branch_name,
    parse_conversation_id,
    parse_tag_name,
)
from scopes.model.conversation import CONFLICT_RESOLUTION, Root
from scopes.result import plural
from scopes.store import refs
from scopes.store.graph import walk_newest_first, walk_oldest_first
from scopes.store.objects import read_commit
from scopes.store.operations import find_value_at, walk_moves
from scopes.store.repository import Repository

LONG_FORMS: Final = "refs/"
HEADS_FORM: Final = "refs/heads/"
TAGS_FORM: Final = "refs/tags/"
REMOTES_FORM: Final = "refs/remotes/"


def is_whole_id(text: str) -> bool:
    """Return True for the form of a whole message id or commit id."""
    return is_message_id(text) or is_oid(text)


LATEST = "@"
MIN_PREFIX_LENGTH = 4
_STEP = re.compile(r"[~^]([0-9]*)")
_LATEST = re.compile(r"@(?:(?P<one>-)|\{(?P<count>[0-9]{1,9})\})?")
_TIME_SUFFIX = re.compile(r"(?P<name>.*)@\{(?P<time>[^{}]*)\}", re.DOTALL)
_MAX_STEPS = 10**9


def parse_latest(text: str) -> int | None:
    """Return the position that `@`, `@-` or `@{2}` names: 0 is the latest; None for another text."""
    found = _LATEST.fullmatch(text)
    if found is None:
        return None
    return 1 if found["one"] else int(found["count"] or 0)


def split_time(text: str) -> tuple[str, str | None]:
    """Split `main@{2 hours ago}` into the name and the time or position; `@{2}` alone names a conversation."""
    found = None if parse_latest(text) is not None else _TIME_SUFFIX.fullmatch(text)
    return (text, None) if found is None else (found["name"], found["time"])


def split_steps(text: str) -> tuple[str, int]:
    """Split `main~2^` into the name and the number of steps back, without a regular expression that backtracks."""
    tail = text[len(text.rstrip("~^0123456789")) :]
    first = _STEP.search(tail)
    if first is None:
        return text, 0
    steps = tail[first.start() :]
    counts = _STEP.findall(steps)
    return text.removesuffix(steps), sum(int(n or 1) if len(n) < 10 else _MAX_STEPS for n in counts)


def _hint_too_short(text: str, hint: str) -> str:
    """Return a hint, which also says so if a text would be the prefix of an id if it were longer."""
    is_short = len(text) < MIN_PREFIX_LENGTH and text.isascii() and text.isalnum() and text == text.lower()
    return f"the prefix of a message id has at least {MIN_PREFIX_LENGTH} characters; {hint}" if is_short else hint


def could_be_id(text: str) -> bool:
    """Return True if a text may be the prefix of the id of a message or commit."""
    return len(text) >= MIN_PREFIX_LENGTH and text.isascii() and text.isalnum() and text == text.lower()


def match_prefix(text: str, candidates: Iterable[str], what: str, hint: str | None, *, whole: bool = False) -> str:
    """Return the candidate that equals the text, or the only one that it is a prefix of, unless it has to be `whole`.

    Raises:
        Ambiguous: several match; with the first of them.
        NotFound: none does; `what` names it in the message, and the hint has the nearest names, or else `hint`.
    """
    known = list(candidates)
    if text in known:
        return text
    found = [name for name in known if name.startswith(text)]
    if len(found) == 1 and not whole:
        return found[0]
    if len(found) == 1:
        article = "an" if what[0] in "aeio" else "a"
        hint = f"did you mean {found[0]}? A command that changes something needs the whole name of {article} {what}"
        raise NotFound(f"there is no {what} {text!a}", hint=hint)
    if found:
        more = f" and {len(found) - 8} more" if len(found) > 8 else ""
        raise Ambiguous(
            f"{text!a} matches several: {', '.join(sorted(found)[:8])}{more}", hint="type a few more letters"
        )
    near = find_nearest(text, known)
    raise NotFound(f"there is no {what} {text!a}", hint=f"did you mean {' or '.join(near)}?" if near else hint)


def find_nearest(text: str, known: list[str]) -> list[str]:
    """Return up to three names similar to a text, best first; `conv-39` means conv-039, and no other number."""
    from difflib import get_close_matches

    similar = get_close_matches(text, known, cutoff=_SIMILAR)
    stem, _, number = text.rpartition("-")
    if not number.isdecimal():
        return similar
    same_number = [name for name in known if name.removeprefix(f"{stem}-").lstrip("0") == number.lstrip("0")]
    return same_number or [name for name in similar if name.rpartition("-")[0] != stem]


_SIMILAR: Final = 0.65  # `ann` is similar to `anm`, with one letter of three another one
_FEW: Final = 20  # conversations are read sooner than the index is opened


class Origin(NamedTuple):
    """Where a conversation began; each field is None if it is not recorded.

    native_id: the id of the imported session
    """

    directory: str | None
    uuid: str | None = None
    native_id: str | None = None


def walk_origins(
    repository: Repository, conversations: Sequence[ConversationId]
) -> Iterator[tuple[ConversationId, Origin]]:
    """Yield conversations with their origins; the index is opened only for the ones after the first."""
    metadata = {ref[len(refs.META) :]: Oid(oid) for ref, oid in repository.list_refs(refs.META).items()}
    known: Mapping[Oid, bytes] | None = None
    for number, conversation in enumerate(conversations):
        if number == _FEW:
            from scopes.index.caches import find_or_compute

            known = find_or_compute(
                repository.caller.index_directory,
                repository.path,
                "origin",
                metadata.values(),
                lambda oid: _encode_origin(repository, oid),
            )
        oid = metadata.get(conversation)
        data = b"" if oid is None else _encode_origin(repository, oid) if known is None else known[oid]
        yield conversation, Origin(*json.loads(data)) if data else _find_origin(repository, conversation)


def _encode_origin(repository: Repository, metadata: Oid) -> bytes:
    """Return the origin of a conversation as JSON; empty if it is not in these metadata and the root that they name."""
    try:
        directory, fork = read_directory_and_fork(repository, metadata)
        commit = None if fork is None or not repository.has(fork) else read_commit(repository, fork)
        if commit is None or not is_root(commit):
            return b""
        root = read_root_of(repository, commit, commit.oid)
    except (Corrupt, NotFound):
        return b""
    return json.dumps(Origin(directory or root.cwd, root.uuid, root.native_id)).encode()


def _find_origin(repository: Repository, conversation: ConversationId) -> Origin:
    """Return the origin of a conversation; an empty one if it is damaged, deleted or renamed meanwhile."""
    directory = read_metadata(repository, conversation).directory
    try:
        root = find_root(repository, conversation)
    except (Corrupt, NotFound):
        root = None
    return Origin(directory) if root is None else Origin(directory or root.cwd, root.uuid, root.native_id)


def names_by_uuid(repository: Repository) -> dict[str, ConversationId]:
    """Return the present ids of all conversations by their uuids."""
    origins = walk_origins(repository, conversation_ids(repository))
    return {origin.uuid: conversation for conversation, origin in origins if origin.uuid is not None}


def find_directory(repository: Repository, conversation: ConversationId) -> str | None:
    """Return the directory in which a conversation began; None if it is not recorded."""
    return _find_origin(repository, conversation).directory


def list_latest(repository: Repository, among: Container[ConversationId] | None = None) -> list[ConversationId]:
    """Return conversations by the time at which their last message was written, newest first; by default all."""
    recorded = RecordedTimes(repository)
    times: dict[ConversationId, int] = {}
    for conversation, tips in _tips_by_conversation(repository).items():
        if among is None or conversation in among:
            commits = [read_commit(repository, tip) for tip in tips]
            times[conversation] = max(recorded.find_newest(commits), *(commit.time for commit in commits))
    return sorted(times, key=lambda conversation: (times[conversation], conversation), reverse=True)


def _list_candidates(repository: Repository, prefix: str, tips: _Tips) -> list[ConversationId]:
    """Return the conversations that may have a message or commit whose id has the prefix, the latest one first.

    Of a few it is not known. One that cannot be read is among them: reading it says what is wrong with it.
    """
    found = sorted(tips)
    if len(found) > _FEW:
        from scopes.index.caches import find_or_compute

        texts = ((each, " ".join(sorted(tips[each])).encode("ascii")) for each in found)
        keys = {each: Oid(sha1(text, usedforsecurity=False).hexdigest()) for each, text in texts}
        tips_of = {key: tips[each] for each, key in keys.items()}
        known = find_or_compute(
            repository.caller.index_directory,
            repository.path,
            "ids",
            tips_of,
            lambda key: _encode_ids(repository, tips_of[key]),
        )
        begin = b"\n" + prefix.encode()
        found = [each for each in found if begin in known[keys[each]] or not known[keys[each]]]
    latest = _find_latest(repository) if len(found) > 1 else None
    return sorted(found, key=lambda conversation: (conversation != latest, conversation))


def _encode_ids(repository: Repository, tips: Sequence[Oid]) -> bytes:
    """Return the ids of all messages and commits, a line each; empty if some cannot be read."""
    try:
        heads = list(map(header_of, walk_oldest_first(repository, tips)))
    except (Corrupt, NotFound):
        return b""
    return "".join(f"\n{head.id}\n{head.oid}" for head in heads).encode()


_POSITION = re.compile(r"[0-9]{1,9}")


def find_tip_at(
    repository: Repository, conversation: ConversationId, branch: BranchName | None, tip: Oid, text: str
) -> Oid:
    """Return where a branch was: `text` is a date, or a number of moves before its tip; each append is one move.

    Raises:
        Invalid: there is no branch, or the date cannot be read.
        NotFound: the reflog does not go back so far.
    """
    if branch is None:
        raise Invalid("a time needs a branch before it", hint="for example: conv-001/main@{2 hours ago}")
    ref, where = refs.branch_ref(conversation, branch), f"{conversation}/{branch}"
    oid: str | None
    if _POSITION.fullmatch(text):
        position = int(text)
        values = chain([tip], (move.old for move in walk_moves(repository, ref)))
        oid = next(islice(values, position, None), None)
        problem = f"the reflog of {where} does not go back {position} {plural(position, 'move')}"
    else:
        seconds = parse_date(text, now_nanoseconds()) // 1_000_000_000
        oid = find_value_at(repository, ref, seconds)
        problem = f"no reflog entry for {where} at {format_seconds(seconds)}"
    if oid is None or not repository.has(oid):
        raise NotFound(problem, hint=f"see: scopes log {quote(where)}")
    return Oid(oid)


def step_back(repository: Repository, conversation: ConversationId, oid: Oid, count: int) -> Oid:
    """Return the commit so many messages before another one.

    Raises:
        NotFound: there are not so many.
    """
    commit = read_commit(repository, oid)
    for _ in range(count):
        if is_root(commit) or not commit.parents:
            raise NotFound(
                f"there are not that many messages before {header_of(commit).id[:8]} in {conversation}",
                hint=f"see: scopes log {quote(conversation)}",
            )
        commit = read_commit(repository, commit.parents[0])
    return commit.oid


MAIN = BranchName("main")
_Tips: TypeAlias = Mapping[ConversationId, list[Oid]]
_LISTED_BRANCHES = 8
_RESOLUTIONS = f"{CONFLICT_RESOLUTION}/"  # branches that scopes creates; nobody types their names


class Revision(NamedTuple):
    """A commit of a conversation, and the branch that it was named by, if any."""

    conversation: ConversationId
    branch: BranchName | None
    oid: Oid


def conversation_ids(repository: Repository) -> list[ConversationId]:
    """Return the ids of all conversations, sorted."""
    return sorted(refs.conversations_in(repository.list_refs(refs.HEADS)))


def list_branch_tips(repository: Repository, conversation: ConversationId) -> dict[BranchName, Oid]:
    """Return the tip of each branch of a conversation, sorted by name."""
    prefix = f"{refs.HEADS}{conversation}/"
    return {BranchName(ref[len(prefix) :]): Oid(oid) for ref, oid in repository.list_refs(prefix).items()}


def resolve_conversation(
    repository: Repository, text: str, what: str = "conversation", hint: str = "list them: scopes list"
) -> ConversationId:
    """Resolve a conversation: by its id, `@`, or a unique prefix of its id, its UUID or its session's id.

    what, hint: of the error if there is none

    Raises:
        Invalid: the text is empty.
        NotFound: with the nearest names.
        Ambiguous: with the candidates.
    """
    if not text:
        raise Invalid("the conversation's id is empty", hint="list them: scopes list")
    if (position := parse_latest(text)) is not None:
        return resolve_latest(repository, position)
    if is_name(text) and "/" not in text and repository.find_ref(f"{refs.HEADS}{text}/{MAIN}") is not None:
        return ConversationId(text)  # the common case, without listing all refs
    known = conversation_ids(repository)
    if not any(conversation.startswith(text) for conversation in known):
        found = _find_by_root(repository, text, known)
        if found is None:
            _check_not_deleted(repository, text)
        else:
            return found
    return ConversationId(match_prefix(text, known, what, hint))


def _check_not_deleted(repository: Repository, text: str) -> None:
    """Raise NotFound with the command that restores it if a text is the id of a conversation in the trash."""
    ends = [ref.removeprefix(f"{refs.TRASH}{text}/") for ref in repository.list_refs(refs.TRASH)]
    operations = [end.removesuffix("/meta") for end in ends if end.count("/") == 1 and end.endswith("/meta")]
    if operations:
        restore = f"scopes undo {quote(operations[0])}" if len(operations) == 1 else "scopes undo OPERATION"
        hint = f"restore it: {restore}\nlist what was deleted: scopes list --deleted"
        raise NotFound(f"conversation {text} is in the trash", hint=hint)


def resolve_latest(repository: Repository, position: int = 0, *, anywhere: bool = True) -> ConversationId:
    """Resolve `@{position}` among the conversations of the project that the caller is in.

    anywhere: outside of a repository, in a directory where no conversation began, it is one of all conversations

    Raises:
        NotFound: there are not so many; one of another project is never taken.
    """
    every = latest = list_latest(repository)
    if not every:
        hint = "start one: scopes new, or import: scopes import"
        raise NotFound("there is no conversation in this store", hint=hint)
    project = repository.caller.find_project()
    if project is not None:
        origins = dict(walk_origins(repository, every))
        found = project.find(origin.directory for origin in origins.values())
        latest = [each for each in every if origins[each].directory in found]
        if not latest and project.git_directory is None and anywhere:
            latest = every
        if not latest:
            from scopes.secret_scan.shown import without_secrets

            text = f"no conversation of this project ({without_secrets(project.name)}); the newest of all is {every[0]}"
            raise NotFound(text, hint="list them: scopes list --project all")
    if position < len(latest):
        return latest[position]
    name = "@-" if position == 1 else f"@{{{position}}}"
    known = "there is only one: @" if len(latest) == 1 else f"there are {len(latest)}; the latest is @"
    raise NotFound(f"there is no conversation {name}", hint=known)


def _find_latest(repository: Repository) -> ConversationId | None:
    """Return the conversation that `@` names, or None."""
    try:
        return resolve_latest(repository)
    except NotFound:
        return None


def _find_by_root(
    repository: Repository, prefix: str, conversations: Sequence[ConversationId]
) -> ConversationId | None:
    """Find a conversation by a prefix of its UUID or of its session's id; unlike numbers, they are the same everywhere.

    Raises:
        Ambiguous: several match.
    """
    if len(prefix) < MIN_PREFIX_LENGTH:
        return None
    found: dict[str, ConversationId] = {}
    for conversation, origin in walk_origins(repository, conversations):
        found |= {name: conversation for name in (origin.uuid, origin.native_id) if name and name.startswith(prefix)}
    return found[match_prefix(prefix, found, "conversation", None)] if found else None


def find_root_commit(repository: Repository, conversation: ConversationId) -> Oid | None:
    """Return the root commit of a conversation; None if it is damaged or deleted."""
    main = read_metadata(repository, conversation).branches.get(MAIN)
    if main is not None and main.fork is not None and repository.has(main.fork):
        commit = read_commit(repository, main.fork)
        if is_root(commit):
            return commit.oid
    tips = list_branch_tips(repository, conversation)
    commits = walk_newest_first(repository, list(tips.values())[:1])
    return next((commit.oid for commit in commits if is_root(commit)), None)


def find_root(repository: Repository, conversation: ConversationId) -> Root | None:
    """Return the root of a conversation; None if it is damaged or deleted."""
    oid = find_root_commit(repository, conversation)
    return None if oid is None else read_root_of(repository, read_commit(repository, oid), oid)


def read_active_branch(repository: Repository, conversation: ConversationId) -> BranchName:
    """Return the active branch; if it is not set or was deleted, return main or else the first branch.

    Raises:
        NotFound: the conversation was deleted; another process may have deleted it since it was resolved.
    """
    value, tip = repository.find_symbolic(refs.active_ref(conversation))
    pair = refs.split_branch_ref((value or "").removeprefix(refs.SYMBOLIC))
    if pair is not None and pair[0] == conversation and tip is not None:
        return pair[1]
    tips = list_branch_tips(repository, conversation)
    if not tips:
        raise NotFound(f"conversation {conversation} no longer exists", hint="restore it: scopes undo")
    return choose_active_branch(conversation, tips, None)


def choose_active_branch(
    conversation: ConversationId, tips: Mapping[BranchName, Oid], active: str | None
) -> BranchName:
    """Return the active branch, given at least one branch tip and the value of the active ref."""
    pair = refs.split_branch_ref((active or "").removeprefix(refs.SYMBOLIC))
    if pair is not None and pair[0] == conversation and pair[1] in tips:
        return pair[1]
    return MAIN if MAIN in tips else next(iter(tips))


def resolve_branch_name(repository: Repository, conversation: ConversationId, text: str | None) -> BranchName:
    """Resolve a branch by name or, for a command that only reads, by unique prefix; None means the active one.

    Raises as `resolve_conversation` does.
    """
    if text is None:
        return read_active_branch(repository, conversation)
    if not (text := text.removeprefix(HEADS_FORM)):
        raise Invalid("the branch's name is empty", hint=f"list them: scopes branch {quote(conversation)}")
    could_be_ref = len(text) <= MAX_NAME_BYTES and is_name(text)  # libgit2 reports a longer name as a damaged ref
    if could_be_ref and repository.find_ref(refs.branch_ref(conversation, BranchName(text))) is not None:
        return BranchName(text)
    tips = list_branch_tips(repository, conversation)
    hint, whole = _describe_branches(conversation, tips), repository.caller.full_branch_names
    return BranchName(match_prefix(text, tips, "branch", hint, whole=whole))


def resolve_branch(repository: Repository, conversation: str, branch: str | None) -> tuple[ConversationId, BranchName]:
    """Resolve a conversation, or `CONV/BRANCH`, and a branch in it (the active one when none is named).

    Raises Invalid also for two different branches, and else as `resolve_conversation` does.
    """
    head, slash, rest = conversation.partition("/")
    if branch is not None and rest and branch != rest:
        hint = f"give {head} and one branch"
        raise Invalid(f"the branch is given twice: {rest!a} and {branch!a}", hint=hint)
    conversation_id = resolve_conversation(repository, head if slash else conversation)
    return conversation_id, resolve_branch_name(
        repository, conversation_id, branch if branch is not None else rest or None
    )


def resolve_revision(repository: Repository, text: str, conversation: ConversationId | None = None) -> Revision:
    """Resolve a revision: in `conversation` if given, otherwise anywhere in the store.

    Raises:
        NotFound, Ambiguous, Invalid: as for conversations and branches; there is no such message, step or time.
    """
    if not text:
        raise Invalid("the message is not named", hint="for example: conv-001, conv-001/main~2, or an id from the log")
    name, steps = split_steps(text)
    before, time = split_time(name)
    if time is not None and not before and conversation is None:
        raise NotFound(
            f"there is no conversation {name!a}", hint="the latest is @, the ones before are @{1}, @{2}, ..."
        )
    revision = _resolve_named(repository, before, conversation)
    if time is not None:
        tip = find_tip_at(repository, revision.conversation, revision.branch, revision.oid, time)
        revision = revision._replace(oid=tip)
    oid = step_back(repository, revision.conversation, revision.oid, steps) if steps else revision.oid
    return revision._replace(oid=oid)


def resolve_revision_anywhere(repository: Repository, text: str, conversation: ConversationId) -> Revision:
    """Resolve a revision in a conversation or, if it has none of that name, anywhere in the store.

    Raises as `resolve_revision` does; the error is the one of the conversation.
    """
    try:
        return resolve_revision(repository, text, conversation)
    except NotFound as error:
        try:
            return resolve_revision(repository, text)
        except NotFound:
            raise error from None


def resolve_with_latest(repository: Repository, text: str) -> Revision:
    """Resolve a revision that need not name its conversation: `main~2` for `@/main~2`.

    An exact branch of the latest conversation comes first, then any name in the store, then other names in the latest
    conversation. Raises as `resolve_revision` does; the error is the one of the whole store.
    """
    latest = find_latest_with_branch(repository, text)
    try:
        return resolve_revision(repository, text, latest)
    except NotFound as error:
        try:
            return resolve_revision(repository, text, latest or resolve_latest(repository))
        except NotFound:
            raise error from None


def find_copies(repository: Repository, text: str) -> list[Revision]:
    """Return the message of an id in every conversation that has it, the latest conversation first.

    A cherry-pick between conversations makes such copies. Nothing is returned if the text is not the id of a message; a
    complete id is looked up until it is found once.

    Raises:
        Ambiguous: it is a prefix of several ids.
    """
    tips = _tips_by_conversation(repository)
    is_named = not is_whole_id(text) and any(each.startswith(text) for each in tips)
    if could_be_id(text) and not is_named and find_latest_with_branch(repository, text) is None:
        with suppress(NotFound):
            return _resolve_ids(repository, text, tips)
    return []


def find_latest_with_branch(repository: Repository, text: str) -> ConversationId | None:
    """Return the latest conversation if `text` is exactly a branch of it, with or without `~2`, and no conversation."""
    name, _ = split_steps(text)
    head = name.partition("/")[0]
    if name.startswith(LATEST) or len(name) > MAX_NAME_BYTES or not (is_name(name) and is_name(head)):
        return None
    if is_whole_id(name) or repository.find_ref(f"{refs.HEADS}{head}/{MAIN}") is not None:
        return None
    if not any(ref.endswith(f"/{name}") for ref in repository.list_refs(refs.HEADS)):
        return None  # which conversation is the latest one may depend on where each of them began
    latest = _find_latest(repository)
    is_branch = latest is not None and repository.find_ref(refs.branch_ref(latest, BranchName(name))) is not None
    return latest if is_branch else None


def _resolve_named(repository: Repository, name: str, conversation: ConversationId | None) -> Revision:
    head, slash, rest = name.partition("/")
    if conversation is not None:
        is_full = slash and head and conversation.startswith(head) and not name.startswith(LONG_FORMS)
        return _resolve_inside(
            repository, rest if is_full and not _is_exact(repository, name, conversation) else name, conversation
        )
    if not slash and could_be_id(name):
        tips = _tips_by_conversation(repository)
        if is_whole_id(name) or not any(each.startswith(name) for each in tips):
            with suppress(NotFound):
                named = _resolve_ids(repository, name, tips)[0]
                names_all = is_root(read_commit(repository, named.oid))  # remotes name conversations by their roots
                return _resolve_inside(repository, "", named.conversation) if names_all else named
            hint = "see: scopes list, scopes log; or create a conversation: scopes new"
            found = resolve_conversation(repository, name, "conversation or message", hint)
            return _resolve_inside(repository, "", found)
    try:
        conversation = resolve_conversation(repository, head)
    except NotFound as error:
        error.hint = error.hint if slash else _hint_too_short(name, error.hint or "")
        raise
    return _resolve_inside(repository, rest, conversation)


def _is_exact(repository: Repository, name: str, conversation: ConversationId) -> bool:
    """Return True if `conv-001/fix` is the name of a branch or tag of conv-001, and not `fix` in it."""
    if is_whole_id(name.partition("/")[2]):
        return False
    return name in list_branch_tips(repository, conversation) or name in read_metadata(repository, conversation).tags


def _resolve_inside(repository: Repository, name: str, conversation: ConversationId) -> Revision:
    """Resolve a name in a conversation: see above."""
    tips = list_branch_tips(repository, conversation)
    if name in ("", conversation) and name not in tips:
        active = read_active_branch(repository, conversation)
        return Revision(conversation, active, tips[active])
    exact = _find_exact(repository, conversation, name, tips)
    if exact is not None and not is_whole_id(name):
        return exact
    longer = [branch for branch in tips if branch.startswith(name) and not is_whole_id(name)]
    if could_be_id(name):
        try:
            found = _resolve_ids(repository, name, {conversation: list(tips.values())})[0]
        except NotFound:
            pass
        except Ambiguous:
            if not longer:
                raise
        else:
            if not longer:
                return found
            which = f"a message and {', '.join(longer[:_LISTED_BRANCHES])}"
            raise Ambiguous(f"{name!a} matches several: {which}", hint="type a few more letters")
    if exact is not None:
        return exact
    hint = _hint_too_short(name, _describe_branches(conversation, tips))
    whole = repository.caller.full_branch_names
    branch = BranchName(match_prefix(name, tips, "branch or message", hint, whole=whole))
    return Revision(conversation, branch, tips[branch])


def _find_exact(
    repository: Repository, conversation: ConversationId, name: str, tips: Mapping[BranchName, Oid]
) -> Revision | None:
    """Return what has exactly this name: a branch, a tag, a branch of a remote; only that kind in a long form."""
    form = next((form for form in (HEADS_FORM, TAGS_FORM, REMOTES_FORM) if name.startswith(form)), "")
    name = name.removeprefix(form)
    if form in ("", HEADS_FORM) and name in tips:
        return Revision(conversation, BranchName(name), tips[BranchName(name)])
    found = None
    if form in ("", TAGS_FORM):
        found = read_metadata(repository, conversation).tags.get(name)
    if form in ("", REMOTES_FORM) and found is None and "/" in name:
        found = find_remote_branch(repository, find_root_commit(repository, conversation), name)
    return None if found is None else Revision(conversation, None, found)


def _describe_branches(conversation: ConversationId, tips: Iterable[BranchName]) -> str:
    """Return the branches of a conversation as a hint, or the command that lists them if they are many."""
    named = [branch for branch in tips if not branch.startswith(_RESOLUTIONS)]
    if 0 < len(named) <= _LISTED_BRANCHES:
        return f"branches of {conversation}: {', '.join(named)}"
    return f"list them: scopes branch {quote(conversation)}"


def _resolve_ids(repository: Repository, prefix: str, tips: _Tips) -> list[Revision]:
    """Resolve the message whose id, or the commit whose object id, has the prefix, in each conversation that has it."""
    found: dict[str, list[Revision]] = {}
    for conversation in _list_candidates(repository, prefix, tips):
        for head in map(header_of, walk_oldest_first(repository, tips[conversation])):
            name = next((name for name in (head.id, head.oid) if name.startswith(prefix)), None)
            if name is not None:
                copies = found.setdefault(name, [])
                if not copies or copies[-1].conversation != conversation:
                    copies.append(Revision(conversation, None, head.oid))
        if found and is_message_id(prefix):
            break
    return found[match_prefix(prefix, found, "message", "see: scopes log")]


def _tips_by_conversation(repository: Repository) -> dict[ConversationId, list[Oid]]:
    tips: dict[ConversationId, list[Oid]] = {}
    for ref, oid in repository.list_refs(refs.HEADS).items():
        pair = refs.split_branch_ref(ref)
        if pair is not None:
            tips.setdefault(pair[0], []).append(Oid(oid))
    return tips


def parse_new_branch_name(repository: Repository, text: str) -> BranchName:
    """Check the name of a new branch; raises Invalid as `parse_branch_name`, or if it would mean something else."""
    name = parse_branch_name(text)
    _check_meaning(name, "branch name", list_remote_names(repository))
    return name


def parse_new_tag_name(repository: Repository, text: str, conversation: ConversationId) -> str:
    """Check the name of a new tag; raises Invalid as `parse_tag_name`, or if it would mean something else."""
    name = parse_tag_name(text)
    _check_meaning(name, "tag name", list_remote_names(repository))
    if could_be_id(name) and _begins_an_id(repository, name, conversation):
        hint = f"name the tag, too: scopes tag {quote(conversation)} NAME {quote(name)}"
        raise Invalid(f"{name!a} is not a valid tag name: a message has this id", hint=hint)
    return name


def _begins_an_id(repository: Repository, text: str, conversation: ConversationId) -> bool:
    tips = {conversation: list(list_branch_tips(repository, conversation).values())}
    try:
        return bool(_resolve_ids(repository, text, tips))
    except NotFound:
        return False
    except Ambiguous:
        return True


def parse_new_conversation_id(text: str) -> ConversationId:
    """Check the id of a new conversation; raises Invalid as `parse_conversation_id`, or for the form of an id."""
    name = parse_conversation_id(text)
    _check_meaning(name, "conversation id")
    return name


def _check_meaning(name: str, what: str, remotes: Container[str] = ()) -> None:
    first, slash, rest = name.partition("/")
    if is_whole_id(name):
        problem, hint = "it has the form of the id of a message", "choose a name that does not look like an id"
    elif name.startswith(LONG_FORMS):
        problem, hint = f"it begins with {LONG_FORMS}", f"leave {LONG_FORMS} out"
    elif slash and first in remotes:
        problem, hint = f"{first}/... are the branches of the remote {first}", f"for example: {first}-{rest}"
    else:
        return
    raise Invalid(f"{name!a} is not a valid {what}: {problem}", hint=hint)


def complete_message_id(repository: Repository, conversation: ConversationId | None, text: str | None) -> str | None:
    """Return the full id for a prefix or revision; a full id is returned as it is, even if no such message exists.

    Raises:
        NotFound, Ambiguous, Invalid: as `resolve_revision`.
    """
    if text is None or is_message_id(text):
        return text
    return str(header_of(read_commit(repository, resolve_revision(repository, text, conversation).oid)).id)
