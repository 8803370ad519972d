"""Which edit wrote a line of a commit: it has the line and, around it, the lines that the commit added with it.

A line of code alone proves little, because equal lines are written again and again. So its neighbours count: the lines
up to six above and below it that the same commit added to the file and that have a hash.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, NamedTuple, TypeAlias

from scopes.code_links.commit_links import LIKELY_SHARE, main_link
from scopes.code_links.edit_index import IndexedEdit
from scopes.code_links.edit_times import AFTER_SECONDS, NOT_RECORDED, EditSource, EditTimes, times_of
from scopes.code_links.edits import base_name_of
from scopes.code_links.line_hash import hash_line, hash_short, is_blank
from scopes.code_links.link import CodeLink
from scopes.code_links.project_commits import ProjectCommit
from scopes.ids import ConversationId

WhyLevel: TypeAlias = Literal["certain", "likely", "other-session", "near", "commit-only", "unsure", "none"]
WHY_LEVELS: Final = ("certain", "likely", "other-session", "near", "commit-only", "unsure", "none")  # surest first
ANSWERED: Final = frozenset({"certain", "likely", "other-session"})
NEIGHBOUR_LINES: Final = 6
FEW_EDITS: Final = 4  # a line that at most so many edits have is evidence without its neighbours
RECENT_SECONDS: Final = 6 * 3600.0  # before a commit that no conversation made; most older edits are not its source
OTHER_SECONDS: Final = 48 * 3600.0  # before a commit that another conversation made
MAX_CANDIDATES: Final = 20
NO_NAMES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType({})
NO_MOVED: Final[Mapping[str, frozenset[str]]] = MappingProxyType({})


class LineHashes(NamedTuple):
    """What a line is looked up by: its hash, None if it is too short, and those of its neighbours.

    nearest: of a line that is too short: the neighbours next to it, above and below; an edit that has them has the line
    short: the hash of such a line with a letter or digit; the edit needs it too, since a person may have changed it
    """

    line: int | None
    neighbours: frozenset[int]
    nearest: frozenset[int] = frozenset()
    short: int | None = None


class EditMatch(NamedTuple):
    """An edit, whether it has the line, and how many of the neighbours it has.

    has_short: it has the line, which is too short to tell by itself who wrote it
    together: how many of them all edits of its conversation have, if that was counted
    """

    edit: IndexedEdit
    has_line: bool
    shared: int
    neighbours: int
    together: int = 0
    has_short: bool = False

    @property
    def has_half(self) -> bool:
        """Whether it has at least half of the neighbours; True if there are none."""
        return 2 * self.shared >= self.neighbours


@dataclass(frozen=True, slots=True)
class LineMatch:
    """What was found for a line: the level, and the edits in question, the best first."""

    level: WhyLevel
    matches: tuple[EditMatch, ...] = ()


def hash_neighbours(added: Mapping[int, str], number: int) -> LineHashes:
    """Return the hashes of a line; `added` are the lines that a commit added to the file, by number."""
    line = hash_line(added.get(number, ""))
    places = {
        place: value
        for place in range(number - NEIGHBOUR_LINES, number + NEIGHBOUR_LINES + 1)
        if place != number and (value := hash_line(added.get(place, ""))) is not None and value != line
    }
    if line is not None:
        return LineHashes(line, frozenset(places.values()))
    above = [value for place, value in places.items() if place < number][-1:]
    below = [value for place, value in places.items() if place > number][:1]
    return LineHashes(None, frozenset(places.values()), frozenset(above + below), hash_short(added.get(number, "")))


class CommitContext(NamedTuple):
    """What is known about the commit of a line.

    linked: the conversation that it belongs to, None if that is not known
    contributors: the conversations with a share of its lines that is not accidental
    since: of lines that are not committed: the time of the last commit, before which no edit counts
    rewritten: when the commit was rewritten, if it was: an amended commit keeps its first author time
    writers: of a commit that no conversation made, such as a squash by a person: all that surely wrote lines of it
    likely_writers: of such a commit: those that likely wrote lines of it
    is_made: a call of the conversation that it belongs to made the commit
    recorded: when each conversation was last seen making or amending it (`EditTimes`)
    makers: all that surely or likely made it, by a record or a call: who amended a commit is linked to it, too
    renamed: the base names of its files by their paths, if it renamed them: also those that they had before
    moved: the base names under which other edits wrote the lines of a new file (`moved_files`)
    top: the working tree of the project, if that is known
    joined: when the newest of the commits was made that git joined into it; 0 if none is known
    """

    author_time: float
    linked: ConversationId | None = None
    contributors: frozenset[ConversationId] = frozenset()
    since: float | None = None
    rewritten: float | None = None
    writers: frozenset[ConversationId] = frozenset()
    likely_writers: frozenset[ConversationId] = frozenset()
    is_made: bool = False
    recorded: Mapping[ConversationId, float] = NOT_RECORDED
    makers: frozenset[ConversationId] = frozenset()
    renamed: Mapping[str, tuple[str, ...]] = NO_NAMES
    moved: Mapping[str, frozenset[str]] = NO_MOVED
    top: str | None = None
    joined: float = 0.0

    def names_of(self, path: str) -> tuple[str, ...]:
        """Return the base names under which edits of a file count."""
        return self.renamed.get(path) or (base_name_of(path),)

    @property
    def times(self) -> EditTimes:
        """Until when edits count."""
        return EditTimes(self.author_time, self.recorded)

    def is_of(self, path: str, match: EditMatch) -> bool:
        """Return True if an edit may be one of this file of the project, and not of another one of the same name.

        The agent may have been in another clone, or in a directory of the project.
        """
        edited = match.edit.path.replace("\\", "/")
        if self.top is not None and edited.startswith(f"{self.top}/"):
            return edited == f"{self.top}/{path}"
        return f"/{edited}".endswith(f"/{path}") or f"/{path}".endswith(f"/{edited}")

    def agrees(self, match: EditMatch) -> bool:
        """Return True if nothing contradicts an edit: it is of a linked conversation; if there is none, recent."""
        if self.linked is not None:
            return match.edit.conversation in {self.linked, *self.writers, *self.makers}
        since = self.author_time - RECENT_SECONDS if self.since is None else self.since
        return match.edit.time >= since

    def likely_agrees(self, match: EditMatch) -> bool:
        """Return True if an edit agrees, or is of one of those that likely wrote lines of a person's commit."""
        return self.agrees(match) or match.edit.conversation in self.likely_writers

    def has_contributor(self, match: EditMatch) -> bool:
        """Return True if another conversation than the linked one wrote a part of the commit not long before it."""
        return self.linked is not None and self.is_recent(match) and match.edit.conversation in self.contributors

    def is_recent(self, match: EditMatch) -> bool:
        """Return True if an edit was made not long before the commit."""
        return max(self.author_time, self.joined) - match.edit.time <= OTHER_SECONDS


def context_of(commit: ProjectCommit, links: Sequence[CodeLink], top: str | None = None) -> CommitContext:
    """Return what the links of a commit say about it; `top` is the working tree of the project."""
    main = main_link(links)
    contributors = frozenset(link.conversation for link in links if (link.evidence[0].share or 0.0) >= LIKELY_SHARE)
    linked = None if main is None else main.conversation
    rewritten = commit.commit_time if commit.commit_time > commit.author_time + AFTER_SECONDS else None
    is_made = any(link.role == "made" and link.level != "candidate" for link in links)
    writers, likely_writers = (
        frozenset(each.conversation for each in links if not is_made and (each.role, each.level) == ("wrote", level))
        for level in ("certain", "likely")
    )
    makers = frozenset(each.conversation for each in links if _is_maker(each))
    return CommitContext(
        commit.author_time, linked, contributors, rewritten=rewritten, writers=writers, likely_writers=likely_writers,
        is_made=is_made, recorded=times_of(commit.author_time, links).recorded, makers=makers,
        renamed={path: commit.names_of(path) for path in commit.renamed}, moved=commit.moved,
        top=top, joined=commit.joined_time,
    )  # fmt: skip


def _is_maker(link: CodeLink) -> bool:
    return link.level != "candidate" and (link.recorded_at is not None or link.role == "made")


def is_changed_line(text: str, match: LineMatch) -> bool:
    """Return True if a line is too short to be looked up, and no edit has it, also none that has lines around it."""
    short = hash_short(text)
    is_open = short is not None and match.level not in ANSWERED
    return is_open and not any(short in each.edit.shorts for each in match.matches)


def follows_others(text: str, match: LineMatch) -> bool:
    """Return True if a line belongs to those around it: it is too short to be looked up, and has no answer of its own.

    The answer of a line without a letter or digit does not count, since every edit has one.
    """
    if is_blank(text):
        return True
    return hash_line(text) is None and match.level not in ANSWERED and not is_changed_line(text, match)


def match_line(index: EditSource, path: str, hashes: LineHashes, commit: CommitContext) -> LineMatch:
    """Find the edits of a line of a file that a commit added; one that was made before the commit wins over later ones.

    Those a moment later are likely where no earlier one is an answer, since an edit may be recorded after its commit.
    """
    matches = find_matches(index, commit.names_of(path), hashes, commit.times)
    earlier = [match for match in matches if commit.times.is_before(match.edit)]
    pools = [earlier] if len(earlier) == len(matches) else [earlier, matches]
    for pool in pools:
        level = judge(pool, commit)
        if level in ANSWERED:
            level = "likely" if level == "certain" and pool is not earlier else level
            return LineMatch(level, _choose(level, pool, commit, path)[:MAX_CANDIDATES])
    if commit.rewritten is not None and commit.linked is not None:
        amended = _find_amended(index, path, hashes, commit)
        if amended:
            return LineMatch("likely", amended[:MAX_CANDIDATES])
    joined = _find_joined(index, path, hashes, commit)
    if joined:
        return LineMatch("likely", joined[:MAX_CANDIDATES])
    found = next((each for pool in pools if (each := _find_around(pool, hashes, commit)) is not None), None)
    found = found or _find_moved(index, path, hashes, commit)
    if found is not None:
        return found
    level = judge(matches, commit)
    return LineMatch(level, _choose(level, matches, commit, path)[:MAX_CANDIDATES])


def _find_moved(index: EditSource, path: str, hashes: LineHashes, commit: CommitContext) -> LineMatch | None:
    """Return what edits of a file with another name say about a line, if that file was moved before the commit."""
    names = commit.moved.get(path, ())
    matches = find_matches(index, names, hashes, commit.times) if names else ()
    earlier = [match for match in matches if commit.times.is_before(match.edit)]
    level = judge(earlier, commit)
    return LineMatch("likely", _choose(level, earlier, commit, path)[:MAX_CANDIDATES]) if level in ANSWERED else None


def _find_around(matches: Sequence[EditMatch], hashes: LineHashes, commit: CommitContext) -> LineMatch | None:
    """Return what is known of a line by the edits around it, if no edit is an answer by itself."""
    level = judge(matches, commit)
    if level == "near":
        likely = _find_earlier(matches, commit) or _find_parted(matches, hashes, commit)
        return LineMatch("likely", likely[:MAX_CANDIDATES]) if likely else None
    return _find_others(matches, hashes, commit) if level == "commit-only" else None


def _find_amended(index: EditSource, path: str, hashes: LineHashes, commit: CommitContext) -> tuple[EditMatch, ...]:
    """Return the edits of the linked conversation that have a line, and were made before its commit was rewritten."""
    times = EditTimes(commit.rewritten or commit.author_time, commit.recorded)
    matches = find_matches(index, commit.names_of(path), hashes, times)
    return tuple(match for match in matches if match.has_line and commit.agrees(match))


def _find_joined(index: EditSource, path: str, hashes: LineHashes, commit: CommitContext) -> tuple[EditMatch, ...]:
    """Return the few edits of any conversation that have a line, and were made before a commit that was joined."""
    if not commit.joined:
        return ()
    times = EditTimes(commit.joined, commit.recorded)
    matches = find_matches(index, commit.names_of(path), hashes, times)
    having = [match for match in matches if match.has_line and times.is_before(match.edit)]
    return tuple(match for match in having if commit.is_recent(match)) if len(having) <= FEW_EDITS else ()


def _find_earlier(matches: Sequence[EditMatch], commit: CommitContext) -> tuple[EditMatch, ...]:
    """Return the edits of other conversations that have a line, if few have it: one of them was committed by the other.

    The conversation that made the commit has no edit with the line, but perhaps the lines around it.
    """
    having = [match for match in matches if match.has_line]
    recent = [match for match in having if commit.times.is_before(match.edit) and commit.is_recent(match)]
    return tuple(recent) if len(having) <= FEW_EDITS else ()


def _find_parted(matches: Sequence[EditMatch], hashes: LineHashes, commit: CommitContext) -> tuple[EditMatch, ...]:
    """Return the edits with a short line and half of the lines around it, if later ones put lines next to it.

    An edit that writes lines above `return item` does not add that line, and the edit that did has not those lines.
    """
    if not hashes.nearest:
        return ()
    near = (match for match in _select("near", matches, commit) if hashes.short in match.edit.shorts)
    parted = (
        _with_together(match, matches, hashes)._replace(has_line=True)
        for match in near
        if hashes.nearest <= _hashes_of(match.edit.conversation, matches)
    )
    return tuple(parted)


def _find_others(matches: Sequence[EditMatch], hashes: LineHashes, commit: CommitContext) -> LineMatch | None:
    """Return what other conversations wrote of a line, if the one that the commit is of has no edit with it.

    A line that was put between those of an earlier turn has few neighbours in its own edit, and most of them in all
    edits of its conversation. If not, it is named before a conversation that a person's commit is of for other lines.
    """
    having = [_with_together(match, matches, hashes) for match in matches if match.has_line]
    if not having or len(having) > FEW_EDITS:
        return None
    recent = tuple(match for match in having if commit.is_recent(match))
    likely = tuple(match for match in recent if match.together and 2 * match.together >= match.neighbours)
    likely = likely or tuple(match for match in recent if _is_among_others(match, matches, hashes, commit))
    if likely:
        return LineMatch("likely", likely)
    is_elsewhere = not any(match.edit.conversation == commit.linked for match in matches)
    return LineMatch("near", recent) if recent and is_elsewhere and not commit.is_made else None


def _is_among_others(match: EditMatch, matches: Sequence[EditMatch], hashes: LineHashes, commit: CommitContext) -> bool:
    """Return True if a conversation wrote a part of a commit, and others wrote those neighbours that its edit lacks.

    Two agents work in one directory, and one of them commits the edits of both.
    """
    lacking = hashes.neighbours - match.edit.hashes
    others = (each.edit.hashes for each in matches if each.edit.conversation != match.edit.conversation)
    unknown = len(lacking.difference(*others))
    return commit.has_contributor(match) and match.shared > unknown


def _with_together(match: EditMatch, matches: Sequence[EditMatch], hashes: LineHashes) -> EditMatch:
    return match._replace(together=len(hashes.neighbours & _hashes_of(match.edit.conversation, matches)))


def _hashes_of(conversation: ConversationId, matches: Sequence[EditMatch]) -> frozenset[int]:
    """Return the hashes of the lines that the edits of a conversation have."""
    return frozenset[int]().union(*(each.edit.hashes for each in matches if each.edit.conversation == conversation))


def find_matches(index: EditSource, names: Iterable[str], hashes: LineHashes, times: EditTimes) -> list[EditMatch]:
    """Return the edits of files with these base names that have the line or one of its neighbours, the last first."""
    own = (value for value in (hashes.line, hashes.short) if value is not None)
    wanted = hashes.neighbours.union(own)
    found = times.find_edits(index, wanted, *names)
    edits = {edit.number: edit for each in found.values() for edit in each}
    matches = [_compare(edit, hashes) for edit in edits.values()]
    return sorted(matches, key=lambda match: (-match.edit.time, match.edit.number))


def _compare(edit: IndexedEdit, hashes: LineHashes) -> EditMatch:
    if hashes.line is None:
        has_line = bool(hashes.nearest) and hashes.nearest <= edit.hashes
        if hashes.short is not None:  # an edit of a constant alone has nothing else
            has_line = (has_line or not edit.hashes) and hashes.short in edit.shorts
    else:
        has_line = hashes.line in edit.hashes
    has_short = hashes.short is not None and hashes.short in edit.shorts
    return EditMatch(edit, has_line, len(hashes.neighbours & edit.hashes), len(hashes.neighbours), has_short=has_short)


def judge(matches: Sequence[EditMatch], commit: CommitContext) -> WhyLevel:
    """Return how sure the answer is that the matches give."""
    for level in WHY_LEVELS[:4]:
        if _select(level, matches, commit):
            return level
    if commit.linked is not None:
        return "commit-only"
    return "unsure" if matches else "none"


def _select(level: WhyLevel, matches: Sequence[EditMatch], commit: CommitContext) -> list[EditMatch]:
    """Return the matches that prove one of the first four levels."""
    having = [match for match in matches if match.has_line]
    if level == "certain":
        return [] if commit.linked is None else [each for each in having if each.has_half and commit.agrees(each)]
    if level == "likely":
        is_few = len(having) <= FEW_EDITS
        return [each for each in having if (each.has_half or is_few) and commit.likely_agrees(each)]
    if level == "other-session":
        return [each for each in having if each.has_half and commit.has_contributor(each)]
    return [each for each in matches if each.has_half and each.shared and commit.agrees(each)]


def _choose(level: WhyLevel, matches: Sequence[EditMatch], commit: CommitContext, path: str) -> tuple[EditMatch, ...]:
    """Return the matches that the level is about, the best first, or else the last edit before the commit first.

    Of equally good ones those of the file itself are first, since many files have the same name.
    """
    if level in {"unsure", "commit-only"}:
        return tuple(
            sorted(matches, key=lambda match: (not match.has_line, not commit.is_of(path, match), -match.shared))
        )
    selected = _select(level, matches, commit)
    return tuple(sorted(selected, key=lambda match: (not match.has_half, not commit.is_of(path, match))))
