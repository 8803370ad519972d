"""Rewrite the operation log: entries are kept, so that undo works, with the ids of the rewritten commits.

Changes of purged conversations are removed from operations. Command lines and summaries that quote purged content are
replaced. Another conversation that had the same name before or afterwards keeps its entries.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from scopes.ids import Oid
from scopes.importers.purged_texts import walk_texts
from scopes.model.message import PURGED_TEXT
from scopes.model.operation import SAME_COMMAND, Operation, RefChange, encode_operation
from scopes.purge.purged_names import NamesInLog
from scopes.purge.rewrite_history import HistoryRewriter
from scopes.purge.rewrite_records import RecordRewriter
from scopes.store import refs
from scopes.store.objects import BLOB, COMMIT, TREE, Commit, Objects, TreeEntry, edit_commit, format_tree
from scopes.store.operations import OPERATION_PREFIX_LENGTH
from scopes.store.repository import OPERATION_FILE, read_operation

_AFTER: Final = re.compile(rb"(?<= after )[0-9a-f]{16}(?![0-9a-f])")


class OperationRewriter:
    """Rewrites the commits of the operation log, given parents first, after everything else was rewritten.

    Attributes:
        rewritten: How many operations were rewritten.
        names: When which names were those of purged conversations; `note_names` finds them.
        summaries: New reflog messages, by the old ones, of operations whose summaries were replaced.
    """

    def __init__(self, objects: Objects, histories: HistoryRewriter, records: RecordRewriter) -> None:
        self._objects = objects
        self._histories = histories
        self._records = records
        self._commits = histories.commits
        self.names = NamesInLog(lambda oid: self._commits.get(Oid(oid), "") is None)
        self._prefixes: dict[bytes, bytes] = {}
        self.summaries: dict[str, str] = {}
        self.rewritten = 0

    def note_names(self, log: Iterable[Commit], records: Sequence[Commit], values: Mapping[str, str]) -> None:
        """Find out when which names were those of purged conversations; call it before `rewrite`.

        log: all commits of the log, parents first
        records: the other commits that are not part of a history, parents first
        values: the values of all refs
        """
        for commit in log:
            self.names.note(commit.oid, read_operation(self._objects, commit).changes)
        self.names.note_refs(values)
        self.names.note_records(records)

    def rewrite(self, commit: Commit, data: bytes) -> None:
        """Rewrite one commit, if something in it changes."""
        operation = read_operation(self._objects, commit)
        new = self._rewrite(operation, commit.oid)
        kept = [parent for parent in commit.parents if self._commits.get(parent, parent) is not None]
        parents = [*dict.fromkeys(self._commits.get(parent) or parent for parent in kept)]
        encoded = self.with_new_prefixes(self._records.substitute(encode_operation(new)))
        if encoded == encode_operation(operation) and tuple(parents) == commit.parents:
            return
        blob = self._objects.write(BLOB, encoded)
        tree = self._objects.write(TREE, format_tree([TreeEntry(OPERATION_FILE, blob, is_tree=False)]))
        subject = None
        if new.summary != operation.summary:
            subject = f"{new.kind}: {new.summary}"
            self.summaries[f"{operation.kind}: {operation.summary}"] = subject
        written = self._objects.write(COMMIT, edit_commit(data, tree, parents, subject=subject))
        self._commits[commit.oid] = written
        self.rewritten += 1
        length = OPERATION_PREFIX_LENGTH
        self._prefixes[commit.oid[:length].encode()] = written[:length].encode()

    def with_new_prefixes(self, data: bytes) -> bytes:
        """Return lines of a reflog with the new prefixes of ids that appends are ordered by."""
        return _AFTER.sub(lambda match: self._prefixes.get(match[0], match[0]), data)

    def _rewrite(self, operation: Operation, commit: Oid) -> Operation:
        changes = tuple(each for each in operation.changes if not self._is_gone(each, commit))
        made = {each.new for each in operation.changes}
        quotes = self._histories.quotes
        texts = " ".join((operation.summary, operation.command))
        is_named = len(changes) < len(operation.changes) or self.names.are_in(texts, commit)
        is_quoted = is_named or bool(made & self._histories.purged_commits)
        if is_quoted or quotes.are_in(texts):
            operation = replace(operation, summary=PURGED_TEXT, command=PURGED_TEXT)
        return replace(operation, changes=changes, details=self._without_quotes(operation.details, is_named=is_named))

    def _is_gone(self, change: RefChange, commit: Oid) -> bool:
        """Return True for the change of a ref of a purged conversation, which had this name at that operation."""
        if any(value is not None and self._commits.get(Oid(value), "") is None for value in (change.old, change.new)):
            return True
        name = refs.conversation_of(change.ref)
        return name is not None and not change.ref.startswith(refs.HEADS) and self.names.is_gone(name, commit)

    def _without_quotes(self, details: Mapping[str, Any], *, is_named: bool) -> Mapping[str, Any]:
        """Return the details, or only those that undo needs if others quote purged content."""
        if not is_named and not any(self._histories.quotes.are_in(text) for text in walk_texts(details)):
            return details
        return {name: value for name, value in details.items() if name == SAME_COMMAND}
