"""Link a commit of the project with conversations: by the call that made it, else by its content.

The thresholds were chosen on 742 commits with known sessions. Time alone links nothing: it makes a small share likely,
and it rules out lines that are equal by accident. After the last message of a session nobody saw it make the commit:
its lines may be boilerplate that somebody else wrote again, so such a link is likely at most. Trailers and notes are
claims of others, which content overrules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from scopes.code_links.commit_calls import made_commit
from scopes.code_links.content_match import ContentShare, match_content
from scopes.code_links.edit_index import FEW_LINES, EditIndex, IndexedCall
from scopes.code_links.edit_times import AFTER_SECONDS, times_of
from scopes.code_links.line_hash import hash_line
from scopes.code_links.link import LINK_LEVELS, CodeLink, Evidence, LinkedTurn, LinkLevel, RepositoryId
from scopes.code_links.moved_files import MovedFile, find_moved, names_by_path
from scopes.code_links.other_clock import by_own_clocks
from scopes.code_links.project_commits import ProjectCommit
from scopes.code_links.short_lines import FEW_LINES_SECONDS, find_short_writer
from scopes.ids import ConversationId
from scopes.result import plural

CERTAIN_SHARE: Final = 0.25  # from 0.15 to 0.5 the precision is the same
CERTAIN_SECONDS: Final = 72 * 3600.0  # between the last edit and the commit
LIKELY_SHARE: Final = 0.05
LIKELY_SECONDS: Final = 3600.0  # between the end of a turn and the commit
_BY_CONTENT: Final = (("certain", "content"), ("likely", "content"))
_UNITS: Final = (("day", 86400), ("hour", 3600), ("minute", 60), ("second", 1))


def link_commit(
    index: EditIndex, commit: ProjectCommit, repository: RepositoryId | None, recorded: Sequence[CodeLink] = ()
) -> tuple[CodeLink, ...]:
    """Return the links of a commit, the surest first; candidates come last. What was moved is noted in the commit.

    recorded: links of this commit that were recorded when it was made
    """
    recorded = by_own_clocks(index, commit, recorded)
    times = times_of(commit.author_time, recorded)
    shares = match_content(index, commit, times)
    links = list(recorded)
    for call in index.find_commit_calls(commit.author_time):
        how = made_commit(call.call, commit.id, commit.author_time, commit.subject)
        if how is not None:
            _add_made(links, _made(index, commit, repository, call, how))
    for conversation, share in shares.items():
        at = times.of(conversation)
        link = _wrote(index, replace(commit, author_time=at), repository, conversation, share)
        is_after = link.level == "certain" and not times.is_before(share.last)
        links.append(replace(link, level="likely") if is_after else link)
    moved = find_moved(index, commit)
    commit.moved = names_by_path(moved)
    if main_link(links) is None:
        links = _add_short(index, commit, repository, links)
    links = _add_moved(index, commit, repository, links, moved)
    return tuple(sorted(links, key=_order))


def _add_short(
    index: EditIndex, commit: ProjectCommit, repository: RepositoryId | None, links: Sequence[CodeLink]
) -> list[CodeLink]:
    """Link a commit that nothing else links by its short lines; the link takes the place of a candidate by content."""
    found = find_short_writer(index, commit, times_of(commit.author_time, links))
    if found is None:
        return list(links)
    conversation, share = found
    text = f"{share.lines} short lines, {share.sequence} of them in sequence"
    link = CodeLink(
        commit=commit.id,
        repository=repository,
        conversation=conversation,
        message=share.last.message,
        turn=index.turn(share.last.turn).number,
        role="wrote",
        level="likely",
        evidence=(Evidence("content", text, share.last.call_id, round(share.share, 3)),),
    )
    others = (each for each in links if (each.conversation, each.evidence[0].kind) != (conversation, "content"))
    return [link, *others]


def _add_moved(
    index: EditIndex,
    commit: ProjectCommit,
    repository: RepositoryId | None,
    links: Sequence[CodeLink],
    moved: Sequence[MovedFile],
) -> list[CodeLink]:
    """Link a commit with the conversations that wrote its new files under other names, if nothing else tells that.

    Such a link takes the place of a candidate by content. It is likely at most: the file may have been copied.
    """
    found = list(links)
    total = len({hash_line(line.text) for line in commit.added} - {None})
    for name in dict.fromkeys(each.conversation for each in moved):
        files = [each for each in moved if each.conversation == name]
        own = [link for link in found if link.conversation == name]
        if any((link.level, link.evidence[0].kind) in _BY_CONTENT for link in own):
            continue
        found = [link for link in found if link not in own or link.evidence[0].kind != "content"]
        share = sum(each.lines for each in files) / total
        last = max((edit for each in files for edit in each.edits), key=lambda edit: (edit.time, edit.number))
        lines, names = sum(each.lines for each in files), ", ".join(dict.fromkeys(each.name for each in files))
        is_likely = share >= CERTAIN_SHARE or any(link.level != "candidate" for link in own)
        text = f"{lines:,} {plural(lines, 'line')} of edits of {names}, before the file was moved or copied"
        found.append(
            CodeLink(
                commit=commit.id,
                repository=repository,
                conversation=name,
                message=last.message,
                turn=index.turn(last.turn).number,
                role="wrote",
                level="likely" if is_likely else "candidate",
                evidence=(Evidence("content", text, last.call_id, round(min(1.0, share), 3)),),
            )
        )
    return found


def _add_made(links: list[CodeLink], made: CodeLink) -> None:
    """Add a link by a call, or its evidence to a link of the same conversation that is there; the surer one counts.

    Its message is that with the call: a record without one was given to a turn by time alone.
    """
    for place, link in enumerate(links):
        is_claim = link.evidence[0].kind in {"trailer", "note"}
        if not is_claim and (link.conversation, link.role) == (made.conversation, made.role):
            surer = link if link.level == "certain" else made
            evidence = tuple(dict.fromkeys((*link.evidence, *made.evidence)))
            links[place] = replace(_with_call(surer, made), evidence=evidence)
            return
    links.append(made)


def _with_call(link: CodeLink, made: CodeLink) -> CodeLink:
    """Return a link with the message of a call that made its commit, and with its turn unless a record has a call.

    Those that amended the commit made it, too, in other turns.
    """
    if made.turn is None or made.message is None:
        return link
    others = tuple(each for each in link.turns if each.number != made.turn)
    if link.turn != made.turn:
        is_proven = any(each.kind == "recorded" and each.call_id is not None for each in link.evidence)
        if is_proven or len(link.turns) > 1:
            return link
        others = ()
    turns = tuple(sorted((*others, LinkedTurn(made.turn, made.message))))
    return replace(link, message=made.message, turn=made.turn, turns=turns)


def main_link(links: Sequence[CodeLink]) -> CodeLink | None:
    """Return the link to the conversation that a commit belongs to; None if there are candidates only."""
    return next((link for link in links if link.level != "candidate"), None)


def _order(link: CodeLink) -> tuple[int, int, float]:
    """Sort the surest links first; of equally sure ones those that were recorded, then calls, then by their share."""
    evidence = link.evidence[0]
    kind = {"recorded": 0, "call": 1}.get(evidence.kind, 2)
    return LINK_LEVELS.index(link.level), kind, -(evidence.share or 0.0)


def _made(
    index: EditIndex, commit: ProjectCommit, repository: RepositoryId | None, call: IndexedCall, how: str
) -> CodeLink:
    return CodeLink(
        commit=commit.id,
        repository=repository,
        conversation=call.conversation,
        message=call.message,
        turn=index.turn(call.turn).number,
        role="made",
        level="certain" if call.call.has_result else "likely",
        evidence=(
            Evidence("call", f"a call {how}{'' if call.call.has_result else ' (it has no result)'}", call.call_id),
        ),
    )


def _wrote(
    index: EditIndex,
    commit: ProjectCommit,
    repository: RepositoryId | None,
    conversation: ConversationId,
    share: ContentShare,
) -> CodeLink:
    edits = len(share.calls)
    text = f"{share.lines:,} {plural(share.lines, 'line')} of {edits:,} {plural(edits, 'edit')}"
    quiet = index.quiet_seconds(conversation, commit.author_time, LIKELY_SECONDS)
    is_later = quiet is None or quiet > AFTER_SECONDS
    if quiet is not None and is_later:
        text += f", {in_words(quiet)} after the session was last active"
    return CodeLink(
        commit=commit.id,
        repository=repository,
        conversation=conversation,
        message=share.last.message,
        turn=index.turn(share.last.turn).number,
        role="wrote",
        level=_level(index, commit, conversation, share, is_later=is_later),
        evidence=(Evidence("content", text, share.last.call_id, round(share.share, 3)),),
    )


def _level(
    index: EditIndex, commit: ProjectCommit, conversation: ConversationId, share: ContentShare, *, is_later: bool
) -> LinkLevel:
    """Return how sure a link by content is; `is_later` if the session had ended, or rested, before the commit."""
    age = commit.author_time - share.last.time
    if share.share >= CERTAIN_SHARE and age <= (FEW_LINES_SECONDS if share.lines < FEW_LINES else CERTAIN_SECONDS):
        return "likely" if is_later else "certain"
    active = share.share >= LIKELY_SHARE and index.is_active(conversation, commit.author_time, LIKELY_SECONDS)
    return "likely" if active else "candidate"


def in_words(seconds: float) -> str:
    """Return a duration in its largest unit: `7 hours`."""
    name, size = next((unit for unit in _UNITS if seconds >= unit[1]), _UNITS[-1])
    count = int(seconds // size)
    return f"{count:,} {plural(count, name)}"
