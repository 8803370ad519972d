"""What git reads out of configuration files: it is asked once for each content of them.

Every push, fetch and list of a directory asks git twice, and nearly always about the same bytes. To start git for that is
half of all processes of the tests of push and fetch, and the answer follows from the bytes. Errors are not remembered,
nor answers that other files may have a part in.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from scopes.sync.git_process import Finished
from scopes.sync.git_transport import GitTransport

_ANSWERS: dict[tuple[object, ...], Finished] = {}


@pytest.fixture(autouse=True)
def remembered_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let git read each content of a configuration file once in this process."""
    run = GitTransport._run

    def run_or_remember(transport: GitTransport, words: Sequence[str], stdin: bytes = b"") -> Finished:
        key = _key_of(transport, words)
        if key is None:
            return run(transport, words, stdin)
        if key not in _ANSWERS:
            done = run(transport, words, stdin)
            if done.errors:
                return done
            _ANSWERS[key] = done
        return _ANSWERS[key]

    monkeypatch.setattr(GitTransport, "_run", run_or_remember)


def _key_of(transport: GitTransport, words: Sequence[str]) -> tuple[object, ...] | None:
    """Return all that the answer to a question follows from; None if it is another command, or it may be anything."""
    if words[0] != "config":
        return None
    how: tuple[object, ...] = (transport._program, *transport._options)
    if words[1].startswith("--file=") and "--no-includes" in words:
        return (*how, *words[2:], Path(words[1].partition("=")[2]).read_bytes())
    own = Path(transport._quarantine.path, "config").read_bytes()
    is_alone = b"include" not in own and not _has_others(transport._environment)
    return (*how, *words[1:], own) if is_alone else None


def _has_others(environment: Mapping[str, str]) -> bool:
    """Return True if git may read another configuration than that of the repository, and that of the system."""
    home = environment.get("HOME", "")
    files = (os.path.join(home, ".gitconfig"), os.path.join(home, ".config", "git", "config"))
    names = {"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "XDG_CONFIG_HOME"}
    return bool(names & environment.keys()) or any(map(os.path.exists, files))
