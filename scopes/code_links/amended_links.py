"""Links of commits by those that git rewrote as them: somebody amended what a session wrote.

The lines by which the earlier commit was found may be those that were changed. A conversation is named if it is linked
to the earlier commit, and wrote a part of what both have. It is likely at most, because whoever rewrote a commit also
changed it. Nothing is looked for if the new commit has a link of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from scopes.clock import parse_time
from scopes.code_links.commit_links import CERTAIN_SHARE, link_commit, main_link
from scopes.code_links.edit_index import EditIndex
from scopes.code_links.edit_times import AFTER_SECONDS, times_of
from scopes.code_links.known_links import KnownLinks
from scopes.code_links.link import CodeLink, CommitId
from scopes.code_links.project_commits import ProjectCommit, read_project_commits
from scopes.code_links.project_git import ProjectGit, ProjectGitFailed
from scopes.code_links.short_lines import find_writers, lines_of
from scopes.ids import ConversationId

_SECOND: Final = 1_000_000_000
MAX_EARLIER: Final = 10  # commits that one was rewritten from, the nearest ones


def link_commits(
    index: EditIndex, git: ProjectGit, known: KnownLinks, commits: Sequence[ProjectCommit]
) -> dict[CommitId, tuple[CodeLink, ...]]:
    """Return the links of commits of a project, the surest first. What was joined into them is noted in them."""
    _note_joined(known, commits)
    found = {each.id: link_commit(index, each, None, known.links_of(each.id)) for each in commits}
    unlinked = [each for each in commits if main_link(found[each.id]) is None]
    earlier = {each.id: known.recorded.list_earlier(each.id)[:MAX_EARLIER] for each in unlinked}
    there = _read_commits(index, git, known, [name for names in earlier.values() for name in names])
    for each in unlinked:
        old = (there[name] for name in earlier[each.id] if name in there)
        carried = next((links for commit in old if (links := _carry(index, known, commit, each))), ())
        names = {link.conversation for link in carried}
        found[each.id] = (*carried, *(link for link in found[each.id] if link.conversation not in names))
    return found


def _note_joined(known: KnownLinks, commits: Sequence[ProjectCommit]) -> None:
    """Note in commits when the newest of those was made that git joined into them: a fixup keeps the first time."""
    rewritten = [each for each in commits if each.commit_time > each.author_time]
    earlier = {each.id: known.recorded.list_earlier(each.id)[:MAX_EARLIER] for each in rewritten}
    facts = known.read_facts(name for names in earlier.values() for name in names) if any(earlier.values()) else {}
    for each in rewritten:
        texts = (facts[name].authored for name in earlier[each.id] if name in facts)
        times = (parse_time(text) for text in texts if text is not None)
        newest = max((time / _SECOND for time in times if time is not None), default=0.0)
        each.joined_time = newest if newest > each.author_time else 0.0


def _read_commits(
    index: EditIndex, git: ProjectGit, known: KnownLinks, wanted: Sequence[CommitId]
) -> dict[CommitId, ProjectCommit]:
    """Return those commits that git still has and that are not older than the first message."""
    there = known.read_facts(wanted)
    try:
        read = read_project_commits(git, there) if there else {}
    except ProjectGitFailed:
        return {}
    return {name: each for name, each in read.items() if each.commit_time + AFTER_SECONDS >= index.begin}


def _carry(index: EditIndex, known: KnownLinks, old: ProjectCommit, new: ProjectCommit) -> tuple[CodeLink, ...]:
    """Return the links of the earlier commit that hold for the new one."""
    links = [link for link in link_commit(index, old, None, known.links_of(old.id)) if link.level != "candidate"]
    writers = set(_list_writers(index, old, new, links)) if links else set()
    return tuple(_rewritten(link, old, new) for link in links if link.conversation in writers)


def _rewritten(link: CodeLink, old: ProjectCommit, new: ProjectCommit) -> CodeLink:
    first, *more = link.evidence
    evidence = (first._replace(text=f"{first.text}, rewritten from {old.id[:8]}"), *more)
    return replace(link, commit=new.id, level="likely", evidence=evidence)


def _list_writers(
    index: EditIndex, old: ProjectCommit, new: ProjectCommit, links: Sequence[CodeLink]
) -> Iterator[ConversationId]:
    """Yield the conversations that wrote enough of the new commit, as far as the earlier one has the same lines."""
    lines = set(lines_of(new).values())
    writers = find_writers(index, old, times_of(old.author_time, links))
    for name, each in writers.items():
        if len(each.lines & lines) >= CERTAIN_SHARE * len(lines):
            yield name
