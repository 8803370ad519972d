"""Clocks of metadata that are more than a day in the future: they were written by a machine whose clock was wrong.

A store that receives such a value does not accept its clock. The machine that wrote it corrects it with its next push,
once its own time is right: the value gets the current time. No other machine can tell which of two clocks is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from scopes.clock import format_seconds, now_milliseconds
from scopes.history.metadata import BRANCHES, CLOCKS, Clock, encode_clock, write_metadata
from scopes.history.transaction import RefTransaction
from scopes.ids import ConversationId, Oid
from scopes.model.canonical_json import decode_component
from scopes.result import Note, plural
from scopes.store.config import find_machine_id
from scopes.store.refs import meta_ref
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write
from scopes.sync.registers import State, find_ahead

_KINDS: Final = {"tags": "tag", "branches": "branch", "merge-requests": "merge request"}
_FEW: Final = 5


def find_own_ahead(repository: Repository, state: State) -> tuple[str, ...]:
    """Return the registers that this machine has changed with a time in the future.

    An empty tuple if another machine has such a clock, too: then the clock of this machine may be behind.
    """
    ahead = find_ahead(state, now_milliseconds())
    if not ahead:
        return ()
    own = find_machine_id(repository.config)
    return tuple(ahead) if {state[each].clock.machine for each in ahead} == {own} else ()


def correct_clocks(repository: Repository, ahead: Mapping[ConversationId, Iterable[str]]) -> Note:
    """Set the clocks of these registers to the current time, and return a note about it."""
    now = now_milliseconds()
    with exclusive_write(repository):
        machine = find_machine_id(repository.config) or ""
        tx = RefTransaction(repository)
        for conversation, registers in ahead.items():
            ref = meta_ref(conversation)
            before = repository.find_ref(ref)
            if before is not None:
                clocks = {f"{CLOCKS}/{each}": encode_clock(Clock(now, machine)) for each in registers}
                tx.move_ref(ref, before, write_metadata(repository, Oid(before), clocks, "correct the time of changes"))
        tx.commit("push", "correct the time of changes")
    text = "; ".join(f"{name}: {_describe(registers)}" for name, registers in [*ahead.items()][:_FEW])
    return Note(
        f"changes of this machine had a time in the future, and now have the current time: {text}",
        f"the clock of this machine was wrong, or still is: it says {format_seconds(now // 1000)}",
    )


def note_ahead(ahead: Mapping[ConversationId, Iterable[str]]) -> Iterator[Note]:
    """Yield a note for each conversation that received a value with a time in the future."""
    for conversation, registers in ahead.items():
        now = format_seconds(now_milliseconds() // 1000)
        what = "changed with a time more than a day in the future, so every other change wins"
        cure = f"the clock there is wrong: correct it, and push from there; or that of this machine, which says {now}"
        yield Note(f"{conversation}: {_describe(registers)}: {what}", cure)


def _describe(registers: Iterable[str]) -> str:
    names = [_name(each) for each in registers]
    more = len(names) - _FEW
    return ", ".join(names[:_FEW]) + (f" and {more} more {plural(more, 'value')}" if more > 0 else "")


def _name(register: str) -> str:
    folder, slash, rest = register.partition("/")
    kind = _KINDS.get(folder, folder)
    if register.startswith(BRANCHES):
        return kind  # whose register is its id
    return f"{kind} {decode_component(rest)}" if slash else kind
