"""Create gates for a store: with its ids of secrets and its allow-list."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from hashlib import sha256

from scopes.result import Note, plural
from scopes.secret_scan.clearance import Gate, Mode
from scopes.secrets.allowed import read_allowed
from scopes.secrets.identity import identify_with
from scopes.store.repository import Repository


def gate_of(repository: Repository, mode: Mode) -> Gate:
    """Return a gate for one output of a store, such as an export."""
    return gate_maker(repository, mode)()


def gate_maker(repository: Repository, mode: Mode) -> Callable[[], Gate]:
    """Return a function that makes gates as `gate_of` does; the allow-list is read once for all of them."""
    return partial(Gate, mode, identify_with(repository), read_allowed(repository))


@contextmanager
def redacting(repository: Repository, gate: Gate) -> Iterator[None]:
    """Redact every message that is read from the store in the block, if the gate redacts."""
    if gate.mode == "redact":
        with repository.as_caller(clear_message=lambda data: gate.clear_line(data, "a message")):
            yield
    else:
        yield


def clear_notes(repository: Repository, notes: Iterable[Note], mode: Mode) -> tuple[Note, ...]:
    """Return notes with their secrets replaced, as is done for the texts of errors; with the mode `allow`, unchanged.

    Notes name directories, branches and files, which may have secrets.
    """
    if mode == "allow":
        return tuple(notes)
    gate = gate_of(repository, "redact")
    cleared = ((gate.clear_text(note.text, "a note"), gate.clear_text(note.hint or "", "a note")) for note in notes)
    return tuple(Note(text, hint or None) for text, hint in cleared)


def policy_key(repository: Repository, mode: Mode) -> str:
    """Return a key for caches of cleared texts: it differs if the mode or the allow-list may give another result."""
    return sha256(" ".join((mode, *sorted(read_allowed(repository)))).encode()).hexdigest()


def redacted_notes(count: int) -> tuple[Note, ...]:
    """Return a note that says how many secrets were replaced; none if none was."""
    text = f"{count} possible {plural(count, 'secret')} {'was' if count == 1 else 'were'} replaced"
    return (Note(text, "see: scopes secrets list"),) if count else ()
