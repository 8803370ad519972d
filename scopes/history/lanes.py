"""Find the stretches of merged branches in a walk over commits, and what each side of a merge added.

A walk keeps each side of a merge together: the commits of the first parent, those that only the second parent has, then
the merge. Such a stretch is a lane. Lanes nest, and never overlap in another way, because the walk is depth-first. A
commit is in the lane of the merge that reaches it first, so criss-cross merges show every commit once.
The order depends on the merges and not on the state: after criss-cross merges two branches with the same state tree
show their commits in different orders. The order of one tip is the same on every machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import heappop, heappush
from typing import NamedTuple, TypeVar

from scopes.ids import Oid
from scopes.store.objects import Commit

_ONE, _TWO, _BOTH = 1, 2, 3
_LaneT = TypeVar("_LaneT")


class Lane(NamedTuple):
    """The commits from position `start` to before `end` of a walk, which a merge took from one of its parents.

    Attributes:
        merge: The position of the merge commit.
        target: The position of its first parent; None if the walk does not have it.
        outer: The index of the lane that this one is in; None if it is in the main line.
    """

    start: int
    end: int
    merge: int
    target: int | None
    outer: int | None

    @property
    def tip(self) -> int:
        """The position of the commit that was merged."""
        return self.end - 1


class Sides(NamedTuple):
    """The positions that only one parent of a merge reaches, in order, and the newest position that both reach."""

    target: tuple[int, ...]
    source: tuple[int, ...]
    fork: int | None


def lane_changes(before: Sequence[_LaneT], after: Sequence[_LaneT]) -> tuple[list[_LaneT], list[_LaneT]]:
    """Return the lanes that end between two messages, innermost first, and those that begin, outermost first.

    before, after: the lanes that each of the messages is in, the outermost first.
    """
    return [lane for lane in reversed(before) if lane not in after], [lane for lane in after if lane not in before]


class LaneMap:
    """The lanes of a walk.

    `commits` are those of `walk_oldest_first` of one or more tips, given in the same order.
    """

    def __init__(self, commits: Sequence[Commit], tips: Sequence[Oid] = ()) -> None:
        self.lanes: Sequence[Lane] = ()
        self._positions: Mapping[Oid, int] = {}
        if all(len(commit.parents) < 2 for commit in commits):
            return
        known = self._positions = {commit.oid: position for position, commit in enumerate(commits)}
        self._parents = [tuple(known[parent] for parent in each.parents if parent in known) for each in commits]
        self._has_first_parent = [bool(each.parents) and each.parents[0] in known for each in commits]
        self.lanes = self._find(tips)

    def find_position(self, oid: Oid) -> int | None:
        """Return the position of a commit; None if it is not in the walk, or the walk has no merges."""
        return self._positions.get(oid)

    def lanes_of(self) -> list[tuple[int, ...]]:
        """Return for each position the indexes of the lanes that it is in, the outermost first.

        Empty if there are no lanes.
        """
        found: list[tuple[int, ...]] = []
        stack: tuple[int, ...] = ()
        coming = 0
        for position in range(len(self._positions)):
            while stack and self.lanes[stack[-1]].end <= position:
                stack = stack[:-1]
            while coming < len(self.lanes) and self.lanes[coming].start == position:
                stack = (*stack, coming)
                coming += 1
            found.append(stack)
        return found

    def sides_of(self, lane: Lane) -> Sides:
        """Return what each side of the merge of a lane added since the histories of both parted.

        Only positions above the newest common commits are visited: a position is above those of all its ancestors.
        """
        if lane.target is None:
            return Sides((), tuple(range(lane.start, lane.end)), None)
        colors = {lane.target: _ONE}
        colors[lane.tip] = colors.get(lane.tip, 0) | _TWO
        heap = [-position for position in colors]
        heap.sort()
        different = sum(color != _BOTH for color in colors.values())
        added: dict[int, list[int]] = {_ONE: [], _TWO: []}
        common: list[int] = []
        while heap and different:
            position = -heappop(heap)
            color = colors[position]
            if color == _BOTH:
                common.append(position)
            else:
                different -= 1
                added[color].append(position)
            for parent in self._parents[position]:
                before = colors.get(parent)
                after = colors[parent] = color | (before or 0)
                if before is None:
                    heappush(heap, -parent)
                    different += after != _BOTH
                elif before != _BOTH and after == _BOTH:
                    different -= 1
        common += [-position for position in heap]
        return Sides(tuple(reversed(added[_ONE])), tuple(reversed(added[_TWO])), max(common, default=None))

    def _find(self, tips: Sequence[Oid]) -> list[Lane]:
        """Follow the walk from its end to find out where each parent of a merge began.

        `begins` is the number of commits that the walk had yielded when it came to a position for the first time.
        """
        begins = self._begin_tips(tips)
        found: list[tuple[int, int, int, int | None]] = []
        for position in reversed(range(len(self._parents))):
            cursor = begins[position]
            parents = self._parents[position]
            has_first = self._has_first_parent[position]
            for number, parent in enumerate(parents):
                if parent >= cursor:
                    begins[parent] = cursor
                    if number or not has_first:
                        found.append((cursor, parent + 1, position, parents[0] if has_first else None))
                    cursor = parent + 1
        found.sort(key=lambda lane: (lane[0], -lane[1]))
        lanes: list[Lane] = []
        stack: list[int] = []
        for index, (start, end, merge, target) in enumerate(found):
            while stack and lanes[stack[-1]].end <= start:
                stack.pop()
            lanes.append(Lane(start, end, merge, target, stack[-1] if stack else None))
            stack.append(index)
        return lanes

    def _begin_tips(self, tips: Sequence[Oid]) -> dict[int, int]:
        last = len(self._parents) - 1
        begins: dict[int, int] = {}
        cursor = 0
        for position in [self._positions[tip] for tip in tips if tip in self._positions] or [last]:
            if position >= cursor:
                begins[position] = cursor
                cursor = position + 1
        return begins
