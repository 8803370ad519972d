"""Why a branch exists that an import made, or why a branch was not continued."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from scopes.history.messages import author_kind_of, message_id_of
from scopes.history.sources import TRACKING, find_source_record
from scopes.ids import BranchName, MessageId, Oid
from scopes.model.path_encoding import encode_component
from scopes.store.objects import Commit
from scopes.store.repository import Repository

SYNTHETIC, INTERRUPTED = "synthetic", "interrupted"
EDITED, REWOUND, ANSWERED_AGAIN, OTHER_SESSION = "edited", "rewound", "answered-again", "other-session"
FORK_PREFIX = "fork/"
SHORT_ID_LENGTH = 8
_PROMPT = "prompt"
_WITHOUT_CONTENT = frozenset({"meta", "notice", "interrupt", "system", "error"})  # kinds of message


def reason_of(name: BranchName, own: Sequence[Commit]) -> str | None:
    """Return why a branch exists, given its own messages, oldest first; None if that is unknown.

    An import names a fork within a session after its first message. That is how branches are told apart which the user
    of scopes created.
    """
    kinds = {_kind_of(commit) for commit in own}
    if own and kinds <= _WITHOUT_CONTENT:
        return SYNTHETIC
    if "interrupt" in kinds and kinds <= {*_WITHOUT_CONTENT, "answer", "tool-results"}:
        return INTERRUPTED
    if not own or name != fork_name(message_id_of(own[0])):
        return None
    first = next(kind for kind in map(_kind_of, own) if kind not in _WITHOUT_CONTENT)
    if first != _PROMPT:
        return ANSWERED_AGAIN
    return EDITED if kinds <= {*_WITHOUT_CONTENT, _PROMPT} else REWOUND


def _kind_of(commit: Commit) -> str | None:
    """Return the kind of a message; what a person wrote is a prompt."""
    kind = commit.kind
    is_prompt = kind not in _WITHOUT_CONTENT and author_kind_of(commit.author.email) == "human"
    return _PROMPT if is_prompt else kind


def fork_name(first: MessageId) -> BranchName:
    """Return the name that an import gives to a fork within a session; `first` is its first own message."""
    return BranchName(f"{FORK_PREFIX}{first[:SHORT_ID_LENGTH]}")


def find_sessions(repository: Repository, names: Iterable[BranchName], root: Oid) -> Mapping[BranchName, str]:
    """Return the native ids of the sessions that branches follow which an import named after a session."""
    encoded = {encode_component(name): name for name in names if name.startswith(FORK_PREFIX)}
    found: dict[BranchName, str] = {}
    for ref in repository.list_refs(TRACKING) if encoded else ():
        key, _, component = ref.removeprefix(TRACKING).partition("/")
        name = encoded.get(component)
        record = None if name is None else find_source_record(repository, key)
        if name is not None and record is not None and root in {record.root, *record.more_roots}:
            found[name] = record.native_id
    return found
