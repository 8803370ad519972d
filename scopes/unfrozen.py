"""Make instances of frozen dataclasses fast, for those of which long histories have very many.

The constructor of a frozen dataclass with slots takes up to seven times as long as setting its attributes.
"""

from __future__ import annotations

from typing import Any


def unfrozen(frozen: type) -> Any:
    """Return a class like a frozen dataclass with slots, but attributes of its instances can be set.

    An instance is made by `object.__new__`, which sets nothing: set all attributes, then set `__class__` to the
    dataclass.
    """
    members = {"__slots__": (), "__setattr__": object.__setattr__, "__delattr__": object.__delattr__}
    return type(frozen.__name__, (frozen,), members)
