"""Name the turns of a link: all that wrote lines of a commit, not only the one with the last edit.

A line counts for the turn that `why` answers with. That is the edit that has it, or else the command that may have
written its file before the conversation committed it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from scopes.code_links.commit_commands import CommitCommands, call_of
from scopes.code_links.commit_lines import MatchedLine, lines_of, match_commit
from scopes.code_links.commit_links import main_link
from scopes.code_links.edit_index import EditIndex
from scopes.code_links.link import CodeLink, Evidence, LinkedTurn
from scopes.code_links.linked_commits import LinkedCommit, best_links
from scopes.ids import ConversationId
from scopes.result import plural
from scopes.store.repository import Repository

MAX_NAMED = 3  # files that the evidence names


class TurnFinder:
    """Finds the turns of links; commands are looked for once."""

    def __init__(self, repository: Repository, index: EditIndex) -> None:
        self._index = index
        self._commands = CommitCommands(repository, index)

    def links_of(self, linked: LinkedCommit, conversation: ConversationId) -> tuple[CodeLink, ...]:
        """Return the links of a commit with a conversation that are more than candidates, with their turns.

        A link for the files that commands have written is the last one.
        """
        links = tuple(link for link in best_links(linked.links) if link.conversation == conversation)
        if not links or linked.added is None:
            return tuple(map(with_own_turn, links))
        files = dict(match_commit(self._index, linked.added, linked.links))
        wrote = self._turns_of_edits(files.values(), conversation)
        found = [_with_turns(link, wrote) if link.role == "wrote" else with_own_turn(link) for link in links]
        return (*found, *self._by_commands(linked, files, conversation))

    def _turns_of_edits(
        self, files: Iterable[Sequence[MatchedLine]], conversation: ConversationId
    ) -> tuple[LinkedTurn, ...]:
        """Return the turns whose edits wrote lines, each with its last edit, in order."""
        edits = {
            edit.number: edit
            for matched in files
            for each in matched
            if (edit := each.edit) is not None and edit.conversation == conversation
        }
        in_order = sorted(edits.values(), key=lambda edit: (edit.time, edit.number))
        turns = {self._index.turn(edit.turn).number: edit.message for edit in in_order}
        return tuple(LinkedTurn(number, message) for number, message in sorted(turns.items()))

    def _by_commands(
        self, linked: LinkedCommit, files: Mapping[str, Sequence[MatchedLine]], conversation: ConversationId
    ) -> Iterator[CodeLink]:
        """Yield a link for the files with lines that no edit has and that a command may have written."""
        main = main_link(linked.links)
        call = None
        if main is not None and main.conversation == conversation and linked.added is not None:
            call = call_of(self._index, linked.added.author_time, main)
        if main is None or call is None:
            return
        turns: dict[int, LinkedTurn] = {}
        names: list[str] = []
        for path, matched in files.items():
            command = self._commands.find(call, path) if _has_others(matched, conversation) else None
            if command is not None:
                number = self._index.turn(self._commands.turn_of(call, command)).number
                turns[number] = LinkedTurn(number, command.message)
                names.append(path)
        if turns:
            last = turns[max(turns)]
            yield replace(
                main, role="wrote", level="likely", message=last.message, turn=last.number,
                turns=tuple(turns[number] for number in sorted(turns)),
                evidence=(Evidence("command", f"a command may have written lines of {_name(names)}"),),
            )  # fmt: skip


def _has_others(matched: Sequence[MatchedLine], conversation: ConversationId) -> bool:
    """Return True if a file has lines for which only the commit is known."""
    own = {line.number for line in lines_of(matched, conversation)}
    return any(each.match.level == "commit-only" and each.line.number not in own for each in matched)


def _name(paths: Sequence[str]) -> str:
    more = len(paths) - MAX_NAMED
    shown = ", ".join(paths[:MAX_NAMED])
    return f"{shown} and {more:,} more {plural(more, 'file')}" if more > 0 else shown


def with_own_turn(link: CodeLink) -> CodeLink:
    """Return a link with the one turn that it names, if it does not name all of them."""
    if link.turn is None or link.message is None or link.turns:
        return link
    return replace(link, turns=(LinkedTurn(link.turn, link.message),))


def _with_turns(link: CodeLink, turns: tuple[LinkedTurn, ...]) -> CodeLink:
    """Return a link with the turns that wrote lines; if no line is sure, that of its last edit stays."""
    if not turns or link.evidence[0].kind != "content":
        return with_own_turn(link)
    return replace(link, turns=turns, turn=turns[-1].number, message=turns[-1].message)
