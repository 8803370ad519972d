"""A list in a JSON document of which the items are made one by one, while they are written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar, overload

Item = TypeVar("Item")


class LazyList(Sequence[Any]):
    """What a function makes of each of some items, whenever it is asked for; equal to a list of the same."""

    def __init__(self, make: Callable[[Item], object], items: Sequence[Item]) -> None:
        self._make: Callable[[Any], object] = make
        self._items: Sequence[Any] = items

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Any]:
        return map(self._make, self._items)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        found = self._items[index]
        return list(map(self._make, found)) if isinstance(index, slice) else self._make(found)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (list, LazyList)) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # as a list
