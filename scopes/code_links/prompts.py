"""What was asked for in a turn: the prompt, the end of the answer that it agreed to, and the last longer prompt.

Every fifth turn that edits files was asked for in a few characters, such as `yes`: the prompt alone says nothing then.
Any other prompt, also a short one such as `fix the tests`, says itself what was asked for, and agrees to no answer.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from scopes.code_links.approvals import is_approval
from scopes.code_links.conversation_edits import SHORT_PROMPT
from scopes.code_links.edit_index import IndexedTurn
from scopes.errors import Corrupt, NotFound
from scopes.history.messages import read_message
from scopes.ids import Oid
from scopes.lazy_patterns import compile_lazily
from scopes.store.repository import Repository

MAX_PROMPT: Final = 4_000  # characters
MAX_END: Final = 300  # of an answer
_BREAKS: Final = (r"\n\s*\n", r"(?<=[.!?:])\s", r"\s")  # of paragraphs, sentences and words
_COMMAND = compile_lazily(r"(?s)<command-(name|message|args)>(.*?)</command-\1>")
_REMINDER = compile_lazily(r"(?s)<system-reminder>.*?</system-reminder>|<ide_\w+>.*?</ide_\w+>")


class Request(NamedTuple):
    """What a person asked for; texts are None if there is none.

    agreed_to: the end of the answer before the prompt, if the prompt approves of it
    longer_prompt: the last prompt before a short one that was not short itself
    """

    prompt: str | None = None
    agreed_to: str | None = None
    longer_prompt: str | None = None


def read_request(repository: Repository, turn: IndexedTurn) -> Request:
    """Return what was asked for in a turn."""
    prompt = _read(repository, turn.prompt)
    if prompt is None:
        return Request()
    answer = _read(repository, turn.agreed_to) if is_approval(prompt) else None
    is_short = len(prompt) < SHORT_PROMPT
    longer = _read(repository, turn.long_prompt) if is_short else None
    return Request(prompt[:MAX_PROMPT], None if answer is None else end_of(answer), longer and longer[:MAX_PROMPT])


def _read(repository: Repository, oid: Oid | None) -> str | None:
    """Return what a person or an agent wrote in a message; None if that is nothing, or the message is damaged."""
    if oid is None:
        return None
    try:
        text = read_message(repository, oid).text
    except (Corrupt, NotFound):
        return None
    return as_typed(text) or None


def as_typed(text: str) -> str:
    """Return a prompt as it was typed: a slash command as a line, without what an editor or an agent added."""
    command = dict(_COMMAND.findall(text))
    if command:
        name = (command.get("name") or command.get("message") or "").strip()
        return f"{name if name.startswith('/') else f'/{name}'} {command.get('args', '').strip()}".strip()
    return _REMINDER.sub("", text).strip()


def end_of(answer: str) -> str:
    """Return the last paragraphs of an answer, up to MAX_END characters: proposals and questions are at the end."""
    text = answer.strip()
    if len(text) <= MAX_END:
        return text
    end = text[-MAX_END:]
    found = next(filter(None, (re.search(pattern, end) for pattern in _BREAKS)), None)
    return f"… {end[found.end() if found else 0 :].strip()}"
