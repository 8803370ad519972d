"""`verify`: read the whole store and report every defect; read-only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scopes.errors import NotFound, ScopesError
from scopes.history.messages import MESSAGE_FILE, head_of, is_root
from scopes.ids import Oid
from scopes.model.codec import decode
from scopes.model.conversation import decode_root
from scopes.result import Result
from scopes.store import refs
from scopes.store.fsck import Finding, walk_leftover_defects, walk_object_defects, walk_pack_defects, walk_ref_defects
from scopes.store.graph import walk_newest_first
from scopes.store.objects import Commit
from scopes.store.repository import Repository
from scopes.store.trees import find_blob


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification(Result):
    """The number of conversations, branches and messages that were read, and the defects found."""

    path: str
    conversations: int
    branches: int
    messages: int
    findings: tuple[Finding, ...]

    @property
    def sound(self) -> bool:
        """True if nothing worse than a warning was found."""
        return not any(finding.severity == "error" for finding in self.findings)

    @property
    def exit_code(self) -> int:
        """7 if data is damaged, as for any other command that reads damaged data; otherwise 0."""
        return 0 if self.sound else 7


def verify(repository: Repository) -> Verification:
    """Check packs, objects, messages, refs and leftover files of the whole store.

    If a pack index is damaged, nothing else is read: libgit2 trusts its offsets, and the process might crash.
    """
    findings = list(walk_pack_defects(repository))
    if any(finding.where.endswith(".idx") for finding in findings):
        return Verification(path=repository.path, conversations=0, branches=0, messages=0, findings=tuple(findings))
    try:
        values = repository.list_refs()
    except ScopesError as error:
        findings.append(Finding("error", "refs", error.message, error.hint))
        values = {}
    tips = {ref: Oid(value) for ref, value in values.items() if not value.startswith(refs.SYMBOLIC)}
    findings += walk_object_defects(repository, tips)
    findings += walk_ref_defects(repository, values)
    findings += walk_leftover_defects(repository)
    branches = {ref: tip for ref, tip in tips.items() if ref.startswith(refs.HEADS)}
    seen: set[Oid] = set()
    for ref, tip in branches.items():
        findings += _message_defects(repository, ref.removeprefix(refs.HEADS), tip, seen)
    return Verification(
        path=repository.path,
        conversations=len({refs.split_branch_ref(ref) and ref.split("/")[2] for ref in branches}),
        branches=len(branches),
        messages=len(seen),
        findings=tuple(dict.fromkeys(findings)),
    )


def _message_defects(repository: Repository, branch: str, tip: Oid, seen: set[Oid]) -> Iterator[Finding]:
    """Decode every message of a branch that is not in `seen`, and add it."""
    ended_at_root = tip in seen
    try:
        for commit in walk_newest_first(repository, [tip], hidden=seen.copy()):
            if is_root(commit):
                ended_at_root = True
            else:
                seen.add(commit.oid)
            yield from _defects_of(repository, branch, commit)
            ended_at_root = ended_at_root or any(parent in seen for parent in commit.parents)
    except ScopesError as error:
        yield Finding("error", branch, f"its history breaks off: {error.message}", error.hint)
        return
    if not ended_at_root:
        yield Finding("error", branch, "its history does not begin with the root of a conversation")


def _defects_of(repository: Repository, branch: str, commit: Commit) -> Iterator[Finding]:
    where = f"{branch}: message {head_of(commit).id}"
    try:
        data = find_blob(repository, commit.tree, MESSAGE_FILE)
        if data is None:
            raise NotFound("the commit holds no message")
        if is_root(commit):
            decode_root(data)
        elif decode(data).id != head_of(commit).id:
            yield Finding("error", where, "commit and message disagree about its id")
    except ScopesError as error:
        yield Finding("error", where, error.message, error.hint)
