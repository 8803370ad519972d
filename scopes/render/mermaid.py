"""Write the branches of a conversation as a mermaid gitGraph (S4-54).

mermaid executes the text as commands: `commit` adds to the branch checked out last, `branch` starts at its head, and
`merge` is an error if there is nothing to merge. So every commit is assigned to one branch, then all are written in
order. A merge that mermaid would refuse is written as a commit with a tag that names the merged side. By default
(`maxTextSize`) mermaid draws texts of up to 50,000 characters only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from scopes.conversation.show import ConversationView, Drawing
from scopes.history.messages import header_of, is_root
from scopes.ids import BranchName, Oid, free_name
from scopes.render.calls import summary_text
from scopes.render.phrases import author
from scopes.result import Note, Result
from scopes.sanitize import clean_line

LABEL_LENGTH = 60
SHORT_ID_LENGTH = 7
_KEYWORDS = (
    "accDescr|accTitle|branch|BT|checkout|cherry-pick|commit|gitGraph|HIGHLIGHT|LR|merge|NORMAL|REVERSE|switch|TB|title"
)
_BARE_NAME = re.compile(rf"(?!{_KEYWORDS})[A-Za-z]\w*(?:[-./]\w+)*", re.ASCII)
_FULL_WIDTH = 0xFEE0  # from an ASCII character to its full-width form
_IN_NAME = {ord(character): ord(character) + _FULL_WIDTH for character in '"\\<>%#='}
_IN_TITLE = {ord(character): ord(character) + _FULL_WIDTH for character in "<>"}
_IN_TEXT = str.maketrans({'"': "#quot;", "\\": "#92;", "#": "#35;", "<": "#lt;", ">": "#gt;", "=": "#61;"})


@dataclass(frozen=True, slots=True)
class DiagramCommit:
    """A commit with its label; `highlight` makes it stand out."""

    oid: Oid
    parents: tuple[Oid, ...]
    label: str
    highlight: bool = False
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DiagramBranch:
    """A branch; its parent may have been deleted, and it may have no commits."""

    name: BranchName
    tip: Oid | None
    parent: BranchName | None = None
    active: bool = False


def mermaid(oldest_first: Iterable[DiagramCommit], branches: Sequence[DiagramBranch], *, title: str) -> str:
    """Return the text of a gitGraph; parents must come before their children.

    The main branch is the oldest ancestor of the first branch. A commit on several branches is drawn on the one from
    which the others were forked, a commit on no branch on one named `deleted/` and an id.
    """
    commits = {commit.oid: commit for commit in oldest_first}
    lanes = _Lanes(commits)
    for branch in _parents_first(branches):
        lanes.assign(branch.name, branch.tip)
    for oid in reversed(commits):
        if oid not in lanes.of:
            lanes.assign(f"deleted/{oid[:SHORT_ID_LENGTH]}", oid)
    highlighted = {branch.tip for branch in branches if branch.active}
    trunk = lanes.names[0] if lanes.names else "main"
    shown_title = _one_line(title).translate(_IN_TITLE)
    settings = f"title: {_yaml(shown_title)}\nconfig:\n  gitGraph:\n    mainBranchName: {_yaml(trunk)}"
    commands = _Replay(commits, lanes, highlighted).commands()
    return f"---\n{settings}\n---\ngitGraph\n" + "".join(f"    {command}\n" for command in commands)


class _Lanes:
    """The branches to draw: their names, the branch of each commit, and the commit after which each branch begins."""

    def __init__(self, commits: dict[Oid, DiagramCommit]) -> None:
        self.names: list[str] = []
        self.of: dict[Oid, int] = {}
        self.begin_after: dict[Oid | None, list[int]] = {}  # None: before every commit
        self._commits = commits
        self._taken: set[str] = set()

    def assign(self, name: str, tip: Oid | None) -> None:
        """Assign the first parents from a tip down to a branch, up to a commit that another branch already has."""
        oid = tip
        while oid in self._commits and oid not in self.of:
            self.of[oid] = len(self.names)
            oid = next(iter(self._commits[oid].parents), None)
        self.begin_after.setdefault(oid if oid in self._commits else None, []).append(len(self.names))
        self.names.append(self._unique(_one_line(name).translate(_IN_NAME) or "unnamed"))

    def _unique(self, name: str) -> str:
        unique = free_name(name, self._taken)
        self._taken.add(unique)
        return unique


def _parents_first(branches: Sequence[DiagramBranch]) -> Iterable[DiagramBranch]:
    """Return branches after their parents, otherwise in the given order; cycles are broken anywhere."""
    known = {branch.name: branch for branch in branches}
    ordered: dict[BranchName, DiagramBranch] = {}
    for branch in branches:
        line: dict[BranchName, DiagramBranch] = {}
        ancestor: DiagramBranch | None = branch
        while ancestor is not None and ancestor.name not in ordered and ancestor.name not in line:
            line[ancestor.name] = ancestor
            ancestor = known.get(ancestor.parent) if ancestor.parent is not None else None
        for name in reversed(line):
            ordered[name] = line[name]
    return ordered.values()


class _Replay:
    """The state of mermaid while it executes the commands."""

    def __init__(self, commits: dict[Oid, DiagramCommit], lanes: _Lanes, highlighted: set[Oid | None]) -> None:
        self._commits = commits
        self._lanes = lanes
        self._highlighted = highlighted
        self._current = 0
        self._heads: dict[int, Oid | None] = {0: None}
        self._ids: set[str] = set()

    def commands(self) -> Iterator[str]:
        """Yield the command for each commit, and the `branch` and `checkout` commands between them."""
        yield from self._begin_branches(after=None)
        for oid, commit in self._commits.items():
            lane = self._lanes.of[oid]
            if lane != self._current:
                yield f"checkout {self._reference(lane)}"
            yield self._commit_command(commit, lane)
            self._heads[lane], self._current = oid, lane
            yield from self._begin_branches(after=oid)

    def _begin_branches(self, *, after: Oid | None) -> Iterator[str]:
        for lane in self._lanes.begin_after.get(after, ()):
            if lane not in self._heads:
                yield f"branch {self._reference(lane)}"
                self._heads[lane], self._current = after, lane

    def _commit_command(self, commit: DiagramCommit, lane: int) -> str:
        """Return the command for a commit: a merge if mermaid allows it, with a tag for every other merged side."""
        sides = tuple(dict.fromkeys(commit.parents))[1:]
        merged = next((side for side in sides if self._can_merge(lane, side)), None)
        verb = "commit" if merged is None else f"merge {self._reference(self._lanes.of[merged])}"
        own_id = f"{commit.oid[:SHORT_ID_LENGTH]} {_label(commit.label)}".rstrip()
        own_id = f"{commit.oid} {_label(commit.label)}" if own_id in self._ids else own_id
        self._ids.add(own_id)
        marked = " type: HIGHLIGHT" if commit.highlight or commit.oid in self._highlighted else ""
        tags = (*commit.tags, *(self._merge_tag(side) for side in sides if side != merged))
        return f"{verb} id: {_quoted(own_id)}{marked}" + "".join(f" tag: {_quoted(_label(tag))}" for tag in tags)

    def _can_merge(self, lane: int, side: Oid) -> bool:
        """Return True if mermaid accepts a merge: the side is the head of another branch than that of our own head."""
        head, other = self._heads[lane], self._lanes.of.get(side)
        if head is None or other is None or self._heads.get(other) != side:
            return False
        return other not in (lane, self._lanes.of[head])

    def _merge_tag(self, side: Oid) -> str:
        lane = self._lanes.of.get(side)
        return f"merges {side[:SHORT_ID_LENGTH]}" + ("" if lane is None else f" of {self._lanes.names[lane]}")

    def _reference(self, lane: int) -> str:
        name = self._lanes.names[lane]
        return name if _BARE_NAME.fullmatch(name) else f'"{name}"'


def _one_line(text: str) -> str:
    return " ".join(clean_line(text).split())


def _label(text: str) -> str:
    """Return a text as one line of at most 60 characters."""
    line = _one_line(text)
    return line if len(line) <= LABEL_LENGTH else line[: LABEL_LENGTH - 1].rstrip() + "…"


def _quoted(text: str) -> str:
    """Quote a text with the entities of mermaid, which every version of its parser understands.

    `%%` would start a comment or a directive. In a line with `style` and later `:#`, mermaid drops the last semicolon.
    """
    escaped = text.translate(_IN_TEXT).replace("%%", "#37;#37;")
    return '"' + re.sub(r":(?=\S*#)", "#58;", escaped) + '"'


def _yaml(text: str) -> str:
    """Quote a text for YAML front matter, which forbids two characters that are valid in JSON."""
    return json.dumps(text, ensure_ascii=False).replace("\ufffe", r"\ufffe").replace("\uffff", r"\uffff")


_MAX_DRAWN_CHARACTERS = 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagram(Result):
    """The text of a diagram."""

    format: str = "mermaid"
    text: str

    @property
    def answer(self) -> str:
        """The text unchanged: it is safe already, and wrapping would break it."""
        return self.text


def as_mermaid(view: ConversationView, drawing: Drawing) -> Diagram:
    """Return the branches of a conversation as a gitGraph, with the tip of the active branch highlighted."""
    commits = []
    for commit in drawing.commits:
        head = header_of(commit)
        body = drawing.bodies.get(commit.oid)
        summary = head.subject if body is None else summary_text(head, body)
        label = summary if is_root(commit) else f"{author(head.author, head.author_kind).text}: {summary}"
        commits.append(DiagramCommit(commit.oid, commit.parents, label))
    branches = [DiagramBranch(branch.name, branch.tip, branch.parent, branch.active) for branch in view.branches]
    title = view.id if view.title is None else f"{view.id}: {view.title}"
    text = mermaid(commits, branches, title=title)
    large = Note("mermaid draws this only where maxTextSize is raised", hint="it is 50,000 characters by default")
    return Diagram(text=text, notes=(large,) if len(text) > _MAX_DRAWN_CHARACTERS else ())
