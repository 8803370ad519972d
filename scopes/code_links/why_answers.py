"""Turn the edits that were found for lines into answers: the turn, what was asked for, and the evidence in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from scopes.code_links.commit_commands import CommitCommands, call_of
from scopes.code_links.commit_links import main_link
from scopes.code_links.edit_index import EditIndex, IndexedTurn
from scopes.code_links.edit_times import AFTER_SECONDS, times_of
from scopes.code_links.line_match import ANSWERED, EditMatch
from scopes.code_links.link import CodeLink
from scopes.code_links.prompts import Request, read_request
from scopes.code_links.turns import branches_of_messages
from scopes.code_links.why_result import FoundLines, WhyAnswer, WhyLines
from scopes.errors import Corrupt, NotFound
from scopes.ids import BranchName, ConversationId, MessageId
from scopes.result import plural
from scopes.store.repository import Repository

UNSURE_ANSWERS: Final = 3  # candidates that an unsure answer names


class AnswerWriter:
    """Writes answers; each turn is read once. `candidates` is the number of further turns that each answer names."""

    def __init__(self, repository: Repository, index: EditIndex, candidates: int) -> None:
        self._repository = repository
        self._index = index
        self._candidates = candidates
        self._requests: dict[int, Request] = {}
        self._commands = CommitCommands(repository, index)

    def write(self, file: str, found: FoundLines) -> WhyLines:
        """Return the result for adjacent lines."""
        level = found.match.level
        main = main_link(found.links)
        if level == "commit-only" and main is not None:
            answers: list[WhyAnswer] = [self._of_commit(found, main)]
            also: tuple[int, ...] = ()
            rest = list(self._of_edits(found, found.match.matches))
        else:
            every = list(self._of_edits(found, found.match.matches))
            count = max(UNSURE_ANSWERS, self._candidates) if level == "unsure" else 1
            answers, rest = every[:count], every[count:]
            also = _other_turns(answers[0], rest) if level in ANSWERED and answers else ()
        rest += [self._of_link(link) for link in found.links if link.role == "wrote"]
        known = {(each.conversation, each.turn) for each in answers}
        candidates = [each for each in rest if (each.conversation, each.turn) not in known]
        return WhyLines(
            file=file,
            line=found.line,
            last_line=found.last_line,
            commit=found.commit,
            level=level,
            answers=tuple(answers),
            also=also,
            candidates=tuple(_once(candidates))[: self._candidates],
        )

    def with_branches(self, items: Sequence[WhyLines]) -> Iterator[WhyLines]:
        """Yield results whose answers name the branches of their messages; each conversation is read once."""
        wanted: dict[ConversationId, dict[MessageId, None]] = {}
        for each in (answer for lines in items for answer in (*lines.answers, *lines.candidates)):
            if each.message is not None:
                wanted.setdefault(each.conversation, {})[each.message] = None
        found: dict[ConversationId, dict[MessageId, BranchName]] = {}
        for name, messages in wanted.items():
            with suppress(Corrupt, NotFound):
                found[name] = branches_of_messages(self._repository, name, messages)

        def with_branch(answer: WhyAnswer) -> WhyAnswer:
            branch = answer.message and found.get(answer.conversation, {}).get(answer.message)
            return answer._replace(branch=branch or None)

        for lines in items:
            answers, candidates = (tuple(map(with_branch, each)) for each in (lines.answers, lines.candidates))
            yield replace(lines, answers=answers, candidates=candidates)

    def _of_edits(self, found: FoundLines, matches: Sequence[EditMatch]) -> Iterator[WhyAnswer]:
        """Yield an answer for each turn that one of the edits belongs to."""
        made = {link.conversation for link in found.links if link.role == "made" and link.level != "candidate"}
        times = times_of(found.author_time, found.links)
        is_likely = found.match.level == "likely"
        seen: set[int] = set()
        for match in matches:
            edit = match.edit
            if edit.turn in seen:
                continue
            seen.add(edit.turn)
            turn = self._index.turn(edit.turn)
            request = self._request(edit.turn, turn)
            yield WhyAnswer(
                conversation=edit.conversation,
                message=edit.message,
                turn=turn.number,
                prompt=request.prompt,
                agreed_to=request.agreed_to,
                longer_prompt=request.longer_prompt,
                how=f"{_lines_in_words(match)}, {edit.tool}{_committed_by(made, match) if is_likely else ''}",
                share=round(match.shared / match.neighbours, 3) if match.neighbours else 1.0,
                call_id=edit.call_id,
                seconds_before=_seconds_before(times.of(edit.conversation), edit.time),
                made=edit.conversation in made,
            )

    def _of_commit(self, found: FoundLines, link: CodeLink) -> WhyAnswer:
        """Return the answer for a line that no edit has: a command, else the last edit of the commit, else its call."""
        call = call_of(self._index, found.author_time, link)
        command = None if call is None or found.commit is None else self._commands.find(call, found.commit.path)
        wrote = next((each for each in found.links if _wrote_too(each, link)), link)
        if call is None or command is None:
            number = _turn_of(self._index, found, wrote)
        else:
            number = self._commands.turn_of(call, command)
        turn = None if number is None else self._index.turn(number)
        request = Request() if turn is None or number is None else self._request(number, turn)
        return WhyAnswer(
            conversation=link.conversation,
            message=wrote.message if command is None else command.message,
            turn=(wrote.turn or 0) if turn is None else turn.number,
            prompt=request.prompt,
            agreed_to=request.agreed_to,
            longer_prompt=request.longer_prompt,
            how=_without_edit(wrote) if command is None else "by a command in this turn",
            share=wrote.evidence[0].share,
            call_id=wrote.evidence[0].call_id if command is None else command.call_id,
            command=None if command is None else command.command,
            made=link.role == "made",
        )

    def _of_link(self, link: CodeLink) -> WhyAnswer:
        """Return the candidate that a link of the commit is."""
        evidence = link.evidence[0]
        return WhyAnswer(
            conversation=link.conversation,
            message=link.message,
            turn=link.turn or 0,
            prompt=None,
            agreed_to=None,
            longer_prompt=None,
            how=f"about the commit: {evidence.text}",
            share=evidence.share,
            call_id=evidence.call_id,
        )

    def _request(self, number: int, turn: IndexedTurn) -> Request:
        if number not in self._requests:
            self._requests[number] = read_request(self._repository, turn)
        return self._requests[number]


def _seconds_before(commit_time: float, edit_time: float) -> float | None:
    """Return how long before the commit an edit was made; None if the commit was amended with it later."""
    return max(0.0, round(commit_time - edit_time, 1)) if edit_time < commit_time + AFTER_SECONDS else None


def _without_edit(link: CodeLink) -> str:
    """Return what is known of a line of a commit that no edit has."""
    is_open = link.message is None and link.role == "made"
    return "its session goes on, and has to be imported: scopes import" if is_open else "no edit has the line"


def _wrote_too(link: CodeLink, main: CodeLink) -> bool:
    return link.role == "wrote" and link.conversation == main.conversation


def _turn_of(index: EditIndex, found: FoundLines, link: CodeLink) -> int | None:
    """Return the number of the row of the turn of a link: that of its call, else by the number that it names."""
    call = call_of(index, found.author_time, link)
    number = index.turn_of_call(link.conversation, link.evidence[0].call_id) if call is None else call.turn
    if number is None and link.turn:
        number = index.turn_at(
            link.conversation, link.turn, times_of(found.author_time, found.links).of(link.conversation)
        )
    return number


def _lines_in_words(match: EditMatch) -> str:
    """Return what an edit has: `line + 6/6 neighbours`."""
    neighbours = f"{match.shared}/{match.neighbours} {plural(match.neighbours, 'neighbour')}"
    if match.together > match.shared:
        neighbours += f" ({match.together}/{match.neighbours} with other edits of the conversation)"
    if not match.has_line:
        return neighbours
    return f"line + {neighbours}" if match.neighbours else "line"


def _committed_by(made: set[ConversationId], match: EditMatch) -> str:
    """Return who made the commit with an edit, if that was another conversation."""
    return "" if not made or match.edit.conversation in made else f"; {', '.join(sorted(made))} made the commit"


def _other_turns(answer: WhyAnswer, rest: Sequence[WhyAnswer]) -> tuple[int, ...]:
    """Return the other turns of the conversation that wrote the same lines."""
    same = {each.turn for each in rest if each.conversation == answer.conversation and each.how.startswith("line")}
    return tuple(sorted(same - {answer.turn}))


def _once(answers: Sequence[WhyAnswer]) -> list[WhyAnswer]:
    """Return answers without those whose turn was named before."""
    found: dict[tuple[ConversationId, int], WhyAnswer] = {}
    for each in answers:
        found.setdefault((each.conversation, each.turn), each)
    return list(found.values())
