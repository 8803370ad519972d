"""The words with which another program starts this one, from whatever directory and with whatever environment."""

from __future__ import annotations

import os
import sys

_MAIN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "__main__.py")


def program_words() -> list[str]:
    """Return the words that start this program, for a host that runs it in a directory of somebody else.

    All paths are absolute. `-P` keeps the current directory off the path of modules, and `-E` ignores variables such as
    PYTHONPATH, which some agents take from a file of the project: neither may bring code with it.
    """
    return [sys.executable, "-E", "-P", "-X", "utf8", _MAIN]


def is_program(words: list[str], rest: list[str]) -> bool:
    """Return True if words start this program, here or in another place, with `rest` as its first words."""
    for position, word in enumerate(words):
        name = os.path.basename(word)
        is_ours = name == "scopes" or word.endswith(f"scopes{os.sep}__main__.py")
        if is_ours and words[position + 1 : position + 1 + len(rest)] == rest:
            return True
    return False
