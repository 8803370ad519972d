"""`why`: how often commits and lines are linked with the right conversation, and how long one line takes.

`SCOPES_TEST_CODE_LINKS` names a folder with the sessions of agents, and git directories of the projects in which they
worked, separated by colons. The projects are recorded by Entire (`checkpoints`), so that the sessions of hundreds of
commits are known.
"""

from __future__ import annotations

import os
import random
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final

from scopes.code_links.commit_links import link_commit, main_link
from scopes.code_links.edit_index import EditIndex, open_edit_index
from scopes.code_links.line_match import WHY_LEVELS, context_of, hash_neighbours, match_line
from scopes.code_links.link import CodeLink
from scopes.code_links.project_commits import AddedLine, ProjectCommit, all_commits, walk_project_commits
from scopes.code_links.project_git import find_project_repository, open_project_git
from scopes.history.messages import is_root
from scopes.history.names import conversation_ids, list_branch_tips
from scopes.history.sources import SOURCES, read_source_record
from scopes.ids import Oid
from scopes.store.graph import walk_oldest_first
from scopes.store.repository import Repository
from tests.benchmarks.checkpoints import SESSION, read_truth
from tests.benchmarks.timing import Row, Samples, cpu, process_cpu, run
from tests.benchmarks.workspace import Workspace
from tests.support.store import FULL, open_store

PLACES: Final = [place for place in os.environ.get("SCOPES_TEST_CODE_LINKS", "").split(":") if place]
SAMPLE_LINES: Final = 4000
TIMED_LINES: Final = 12
SECONDS: Final = 0.5  # that one line may take
PRECISION, RECALL, CERTAIN = 0.99, 0.8, 0.99


@dataclass(frozen=True)
class Known:
    """A commit, the conversations that it is from, and its links."""

    commit: ProjectCommit
    conversations: frozenset[str]
    links: tuple[CodeLink, ...]


def measure(work: Workspace) -> Iterator[Row]:
    """Import the sessions and yield the rows; nothing if no sessions are named."""
    if len(PLACES) < 2:
        work.notes.append("why: no sessions and repositories (SCOPES_TEST_CODE_LINKS=SESSIONS:GITDIR...)")
        return
    sessions, *projects = PLACES
    store = work.new_path("explained-store")
    command = [sys.executable, "-m", "scopes", f"--store={store}"]
    imported = process_cpu([*command, "conv", "import", "--project", "all", sessions], work.environment)
    repository = open_store(store, FULL)
    directory = work.new_path("explained-index")

    def opened() -> AbstractContextManager[EditIndex]:
        return open_edit_index(directory, repository)

    def fill() -> None:
        with opened():
            pass

    yield _row("index of edits, the first time", cpu(fill), imported, "import of the sessions", None, unit="ms")
    with opened() as index:
        names = _list_sessions(sessions)
        known = [each for project in projects for each in _link(index, repository, project, names)]
        yield from _rate_commits(known)
        yield from _rate_lines(work, index, known)
    yield from _time_lines(work, command, projects)


def _list_sessions(folder: str) -> set[str]:
    """Return the ids of the sessions in a folder, as their files are named."""
    names = (name for _, _, files in os.walk(folder) for name in files if name.endswith(".jsonl"))
    return {found[-1] for name in names if (found := SESSION.findall(name))}


def _link(index: EditIndex, repository: Repository, project: str, sessions: set[str]) -> Iterator[Known]:
    """Yield the commits of a project whose session is known, with their links."""
    conversations = _conversations_by_session(repository)
    truth = read_truth(project, sessions)
    with open_project_git(find_project_repository(project)) as git:
        for commit in walk_project_commits(git, all_commits()):
            if commit.id in truth:
                names = frozenset(name for session in truth[commit.id] for name in conversations.get(session, ()))
                yield Known(commit, names, link_commit(index, commit, None))


def _conversations_by_session(repository: Repository) -> Mapping[str, set[str]]:
    """Return the conversations of each session, which are several if it is a fork that joined another one."""
    roots = {}
    for name in conversation_ids(repository):
        tips = list_branch_tips(repository, name).values()
        roots.update({commit.oid: name for commit in walk_oldest_first(repository, tips) if is_root(commit)})
    records = [read_source_record(repository, Oid(oid)) for oid in repository.list_refs(SOURCES).values()]
    return {each.native_id: {roots[root] for root in (each.root, *each.more_roots)} for each in records}


def _rate_commits(known: list[Known]) -> Iterator[Row]:
    linked = [(main_link(each.links), each.conversations) for each in known]
    right = sum(link is not None and link.conversation in names for link, names in linked)
    found = sum(link is not None for link, _ in linked)
    yield _row(f"commits linked: precision, {found} of {len(known)}", right / max(found, 1), PRECISION, "wanted", 1.0)
    yield _row("commits linked: recall", right / max(len(known), 1), RECALL, "wanted", 1.0)


def _rate_lines(work: Workspace, index: EditIndex, known: list[Known]) -> Iterator[Row]:
    """Draw lines that the commits added, and compare their conversations."""
    lines = [(each, line) for each in known for line in each.commit.added]
    drawn = random.Random(1).sample(lines, min(work.amount(SAMPLE_LINES), len(lines)))
    all_of, right = Counter[str](), Counter[str]()
    for each, line in drawn:
        level, conversation = _explain(index, each, line)
        all_of[level] += 1
        right[level] += conversation in each.conversations
    work.notes.append(
        f"why: {len(drawn)} lines: " + ", ".join(f"{level} {right[level]}/{all_of[level]}" for level in WHY_LEVELS)
    )
    rate = right["certain"] / max(all_of["certain"], 1)
    yield _row(f"lines called certain: right, {all_of['certain']} of {len(drawn)}", rate, CERTAIN, "wanted", 1.0)


def _explain(index: EditIndex, known: Known, line: AddedLine) -> tuple[str, str | None]:
    """Return the level of a line, and the conversation that is the answer."""
    added = {each.number: each.text for each in known.commit.added if each.path == line.path}
    context = context_of(known.commit, known.links)
    found = match_line(index, line.path, hash_neighbours(added, line.number), context)
    if found.level == "commit-only":
        return found.level, context.linked
    return found.level, found.matches[0].edit.conversation if found.matches else None


def _time_lines(work: Workspace, command: list[str], projects: list[str]) -> Iterator[Row]:
    """Ask for single lines of the first project as a user does: each in a process of its own, in processor time."""
    project = projects[0]
    names = run(["git", "-C", project, "ls-tree", "-r", "--name-only", "HEAD"], work.environment).decode().splitlines()
    files = [name for name in names if name.endswith((".go", ".py", ".js", ".rs", ".md"))]
    drawn = random.Random(2).sample(files, min(TIMED_LINES, len(files)))
    ask = ["sh", "-c", 'code=0; "$@" || code=$?; test $code -le 1', "sh", *command, "-C", project, "why"]
    process_cpu([*ask, f"{drawn[0]}:1"], work.environment)  # fills the index
    ours = [process_cpu([*ask, f"{name}:1"], work.environment) for name in drawn]
    blame = ["git", "-C", project, "blame", "-w", "-M", "-C", "-L", "1,1", "HEAD", "--"]
    git = [process_cpu([*blame, name], work.environment) for name in drawn]
    mean = sum(ours) / len(ours), sum(git) / len(git)
    yield _row("one line, indexed: mean", mean[0], mean[1], "git blame -w -M -C of the line", None, unit="ms")
    yield _row("one line, indexed: slowest", max(ours), SECONDS, "wanted", 1.0, unit="ms", more_is_better=False)


def _row(
    operation: str,
    ours: float,
    reference: float,
    against: str,
    budget: float | None,
    *,
    unit: str = "%",
    more_is_better: bool = True,
) -> Row:
    scale = 100 if unit == "%" else 1
    return Row(
        operation=operation, ours=Samples((ours * scale,)), reference=Samples((reference * scale,)), against=against,
        budget=budget, unit=unit, more_is_better=more_is_better,
    )  # fmt: skip
