"""Make the gate of a door: with the ids of the store, and what its allow-list lets pass."""

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
    """Return the gate for one door of a store."""
    return gate_maker(repository, mode)()


def gate_maker(repository: Repository, mode: Mode) -> Callable[[], Gate]:
    """Return a function that makes gates as `gate_of` does; what is allowed is read once for all of them."""
    return partial(Gate, mode, identify_with(repository), read_allowed(repository))


@contextmanager
def redacting(repository: Repository, gate: Gate, clear: Callable[[bytes], bytes] | None = None) -> Iterator[None]:
    """Redact every message that is read from the store meanwhile, if the gate redacts; `clear` does it for the gate."""
    before = repository.clear_message
    if gate.mode == "redact":
        repository.clear_message = clear or (lambda data: gate.clear_line(data, "a message"))
    try:
        yield
    finally:
        repository.clear_message = before


def clear_notes(repository: Repository, notes: Iterable[Note], mode: Mode) -> tuple[Note, ...]:
    """Return notes of a door as they may be shown: their secrets are replaced, as those in the texts of errors are.

    A note names directories, branches and files; `allow` leaves it as it is.
    """
    if mode == "allow":
        return tuple(notes)
    gate = gate_of(repository, "redact")
    cleared = ((gate.clear_text(note.text, "a note"), gate.clear_text(note.hint or "", "a note")) for note in notes)
    return tuple(Note(text, hint or None) for text, hint in cleared)


def policy_key(repository: Repository, mode: Mode) -> str:
    """Return a text that differs where the same history may leave in another form: for keys of caches."""
    return sha256(" ".join((mode, *sorted(read_allowed(repository)))).encode()).hexdigest()


def redacted_notes(count: int) -> tuple[Note, ...]:
    """Return a note that says how many secrets were replaced; none if none was."""
    text = f"{count} possible {plural(count, 'secret')} {'was' if count == 1 else 'were'} replaced"
    return (Note(text, "see: scopes secrets list"),) if count else ()
