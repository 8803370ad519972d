"""Find the command of a session that wrote a file of a commit, and the turn that it belongs to."""

from __future__ import annotations

from scopes.code_links.edit_index import EditIndex, IndexedCall
from scopes.code_links.link import CodeLink
from scopes.code_links.turn_commands import FoundCommand, find_command
from scopes.store.repository import Repository


class CommitCommands:
    """Answers for the calls that made commits; each file of a commit is looked for once."""

    def __init__(self, repository: Repository, index: EditIndex) -> None:
        self._repository = repository
        self._index = index
        self._found: dict[tuple[str, str], FoundCommand | None] = {}

    def find(self, call: IndexedCall, path: str) -> FoundCommand | None:
        """Return the last command before a call that may have written a file of its commit; None if there is none."""
        key = call.oid, path
        if key not in self._found:
            ends = self._index.commit_call_messages(call.conversation)
            self._found[key] = find_command(self._repository, call.oid, path, ends)
        return self._found[key]

    def turn_of(self, call: IndexedCall, command: FoundCommand) -> int:
        """Return the number of the row of a command's turn: that of the prompt before it, else that of the call."""
        number = None if command.prompt is None else self._index.turn_of_prompt(command.prompt)
        return call.turn if number is None else number


def call_of(index: EditIndex, author_time: float, link: CodeLink) -> IndexedCall | None:
    """Return the call that made a commit of this author time; None if its link does not rest on one."""
    wanted = {evidence.call_id for evidence in link.evidence if evidence.kind == "call"}
    return next((call for call in index.find_commit_calls(author_time) if call.call_id in wanted), None)
