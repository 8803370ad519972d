"""Turn the messages of a protocol session into messages of a conversation: prompts, answers and tool calls.

Updates name no prompt. They belong to the oldest prompt that is not answered; when several are open, their messages are
marked `concurrent`. Nothing depends on the answer of a prompt alone: updates may come before the first prompt, after
the answer and between turns.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from scopes.clock import format_time, new_id
from scopes.code_links.reflog import OpenTurn
from scopes.model.conversation import ACP
from scopes.model.message import Author, FileTouch, Message, Part
from scopes.server.acp.content import (
    Clean,
    call_files,
    call_parts,
    exact_field,
    merge_call,
    part_of,
    parts_of,
    result_part,
    usage_of,
)
from scopes.server.acp.envelope import error_message, key_of, params_of, result_of
from scopes.server.acp.options import unchanged

INTERRUPTED: Final = "interrupted"
_ENDED = frozenset({"completed", "failed"})
_MAX_OTHER = 50  # updates of unknown kinds that are kept with one message
_TEXTS = {"agent_message_chunk": "text", "agent_thought_chunk": "reasoning"}
_KEPT_UPDATES = {  # kind of update -> (our name, field); the last value is kept with the next message (S3-25)
    "current_mode_update": ("mode", "currentModeId"),
    "config_option_update": ("config_options", "configOptions"),
    "session_info_update": ("title", "title"),
    "plan": ("plan", "entries"),
}
_TOP_LEVEL = ("usage", "git")  # notes that are not part of `acp`, because other recorders have them too
_SYSTEM: Final = Author("scopes", "system")


class TurnSettings(NamedTuple):
    """Who the authors are and what is recorded.

    clean: what is done to every text before it is stored.
    """

    user: Author
    agent: Author
    run: str
    clean: Clean = unchanged


@dataclass(slots=True)
class _Turn:
    """A prompt that is not answered yet."""

    key: str
    prompt: str
    git: OpenTurn | None
    concurrent: bool = False
    has_answer: bool = False
    has_call: bool = False


@dataclass(slots=True)
class _Answer:
    """A message of the agent that has not ended."""

    native_id: str | None
    turn: _Turn | None
    model: str | None  # that of the session when the message began
    pieces: list[tuple[str, list[str]]] = field(default_factory=list)  # (part type, texts)
    parts: list[Part] = field(default_factory=list)


class SessionTurns:
    """The messages of one session; every method returns the messages that have become complete."""

    def __init__(self, session: str, settings: TurnSettings, model: str | None = None) -> None:
        self._session = session
        self._settings = settings
        self._turns: list[_Turn] = []
        self._answer: _Answer | None = None
        self._calls: dict[str, dict[str, Any]] = {}
        self._ended_calls: set[str] = set()
        self._permissions: dict[str, list[dict[str, str]]] = {}  # by call
        self._notes: dict[str, Any] = {}  # for the next message
        self._files: list[FileTouch] = []
        self.model = model
        self.title: str | None = None

    @property
    def is_idle(self) -> bool:
        """Whether no prompt is open."""
        return not self._turns

    def note(self, **notes: Any) -> None:
        """Keep something with the next message."""
        self._notes.update(notes)

    def prompt(
        self, request_id: Any, params: Mapping[str, Any], time: int, git: OpenTurn | None = None
    ) -> list[Message]:
        """Record a prompt: the user's own content, without what was put before it (S3-15).

        `git` is where HEAD of the project was then; the last message of the turn gets how it moved.
        """
        complete = [] if self._turns else self._finish_answer(time)
        meta = params.get("_meta")
        if meta:
            self.note(**exact_field("meta", self._settings.clean(meta)))
        parts = parts_of(params.get("prompt"), self._settings.clean)
        message = self._message("prompt", self._settings.user, parts, time)
        self._turns.append(_Turn(key_of(request_id), message.id, git))
        if len(self._turns) > 1:
            for turn in self._turns:
                turn.concurrent = True
        return [*complete, message]

    def update(self, update: Mapping[str, Any], time: int) -> list[Message]:
        """Record an update of the session; one that is not known is kept as it is."""
        kind = _text(update.get("sessionUpdate"))
        if kind in _TEXTS:
            return self._add_chunk(_TEXTS[kind], update, time)
        if kind in {"tool_call", "tool_call_update"} and isinstance(update.get("toolCallId"), str):
            return self._update_call(update, time)
        if kind in _KEPT_UPDATES:
            name, where = _KEPT_UPDATES[kind]
            if where in update:
                self.note(**exact_field(name, self._settings.clean(update[where])))
            if name == "title" and isinstance(update.get("title"), str):
                self.title = self._settings.clean(update["title"])
            self._take_model(model_of(update))
        elif kind == "usage_update":
            window = {name: update[name] for name in ("used", "size", "cost") if name in update}
            self.note(**exact_field("context_window", window))
        elif kind not in {"available_commands_update", "user_message_chunk"}:
            other = self._notes.setdefault("other", [])
            if len(other) < _MAX_OTHER:
                other.append(exact_field("json", self._settings.clean(dict(update))))
        return []

    def changed(self, method: str, params: Mapping[str, Any], result: Mapping[str, Any]) -> None:
        """Record that the agent has taken another mode, model or option that the editor has chosen (S3-25)."""
        if method == "session/set_mode" and isinstance(params.get("modeId"), str):
            self.note(mode=self._settings.clean(params["modeId"]))
        elif method == "session/set_model" and isinstance(params.get("modelId"), str):
            self._take_model(params["modelId"])
        elif method == "session/set_config_option":
            if "configOptions" in result:
                self.note(**exact_field("config_options", self._settings.clean(result["configOptions"])))
            self._take_model(model_of(result))

    def _take_model(self, model: str | None) -> None:
        """Later messages are those of another model; None: it is the same one."""
        if model is not None and model != self.model:
            self.model = self._settings.clean(model)
            self.note(model=self.model)

    def answered(self, message: Mapping[str, Any], time: int, git: OpenTurn | None = None) -> list[Message]:
        """Record the end of a turn: the last message of the agent gets the stop reason and the token counts.

        `git` is the turn of the prompt with where the reflog ended at its answer.
        """
        key = key_of(message.get("id"))
        turn = next((turn for turn in self._turns if turn.key == key), None)
        if turn is None:
            return []
        turn.git = git or turn.git
        result = result_of(message)
        if result is None:
            complete = self._end_turn(turn, "failed", time)
            text = error_message(message) or "the agent answered with an error"
            parts = [Part("text", {"text": self._settings.clean(text)})]
            return [*complete, self._message("error", _SYSTEM, parts, time, reply_to=turn.prompt, status="failed")]
        meta = result.get("_meta")
        if meta:
            self.note(**exact_field("result_meta", self._settings.clean(meta)))
        reason = result.get("stopReason")
        stop = reason if isinstance(reason, str) else None
        return self._end_turn(turn, None, time, stop_reason=stop, usage=usage_of(result.get("usage")))

    def end(self, time: int) -> list[Message]:
        """Record what is there of turns that never ended (S3-24)."""
        complete: list[Message] = []
        while self._turns:
            complete += self._end_turn(self._turns[0], INTERRUPTED, time)
        return [*complete, *self.flush(time)]

    def flush(self, time: int) -> list[Message]:
        """Record a message of the agent that came out of a turn."""
        return self._finish_answer(time)

    def permission(self, asked: Mapping[str, Any], answer: Mapping[str, Any] | None) -> None:
        """Keep a permission request, and its answer, with its tool call."""
        self._note_call()
        given = asked.get("toolCall")
        call = given if isinstance(given, dict) else {}
        known = self._calls.setdefault(str(call.get("toolCallId", "")), {})
        merge_call(known, call)
        outcome = (answer or {}).get("outcome")
        chosen = outcome if isinstance(outcome, dict) else {}
        options = asked.get("options") if isinstance(asked.get("options"), list) else []
        found = [each for each in options or [] if isinstance(each, dict)]
        option = next((each for each in found if each.get("optionId") == chosen.get("optionId")), {})
        entry = {"outcome": chosen.get("outcome"), "option": option.get("name"), "kind": option.get("kind")}
        asked_before = self._permissions.setdefault(str(call.get("toolCallId", "")), [])
        asked_before.append(
            self._settings.clean({name: value for name, value in entry.items() if isinstance(value, str)})
        )

    def editor_call(self, method: str, params: Mapping[str, Any]) -> None:
        """Keep that the agent used a file or a terminal of the editor: its path, the size and the hash of the text."""
        self._note_call()
        entry: dict[str, Any] = {"method": method}
        path, content = params.get("path"), params.get("content")
        if isinstance(path, str):
            entry["path"] = self._settings.clean(path)
        if isinstance(content, str):
            data = content.encode("utf-8", "surrogatepass")
            entry |= {"bytes": len(data), "content_hash": f"sha256:{hashlib.sha256(data).hexdigest()}"}
        if method == "fs/write_text_file" and isinstance(path, str):
            self._files.append(FileTouch(path, "edit", entry.get("content_hash")))
        calls = self._notes.setdefault("client_calls", [])
        if len(calls) < _MAX_OTHER:
            calls.append(entry)

    def _note_call(self) -> None:
        """Note that the agent has used a tool, in each open turn: an update does not say in which one."""
        for turn in self._turns:
            turn.has_call = True

    def _add_chunk(self, part_type: str, update: Mapping[str, Any], time: int) -> list[Message]:
        if part_type == "reasoning":  # thoughts are not recorded
            return []
        native = update.get("messageId")
        native_id = native if isinstance(native, str) else None
        answer, complete = self._answer, []
        if answer is not None and (native_id != answer.native_id or self._changes_type(answer, part_type, native_id)):
            complete = self._finish_answer(time)
            answer = None
        if answer is None:
            answer = self._answer = _Answer(native_id, self._turns[0] if self._turns else None, self.model)
        self._add_content(answer, part_type, update.get("content"))
        return complete

    @staticmethod
    def _changes_type(answer: _Answer, part_type: str, native_id: str | None) -> bool:
        """Without an id, a message ends where text follows thoughts, or thoughts follow text."""
        return native_id is None and bool(answer.pieces) and answer.pieces[-1][0] not in {part_type, ""}

    def _add_content(self, answer: _Answer, part_type: str, content: Any) -> None:
        match content:
            case {"type": "text", "text": str(text)}:
                if answer.pieces and answer.pieces[-1][0] == part_type:
                    answer.pieces[-1][1].append(text)
                else:
                    answer.pieces.append((part_type, [text]))
                    answer.parts.append(Part(part_type, {}))
            case _:
                answer.pieces.append(("", []))
                answer.parts.append(part_of(content, self._settings.clean))

    def _finish_answer(self, time: int, **ends: Any) -> list[Message]:
        """Return the message of the agent that is under way, if there is one."""
        answer, self._answer = self._answer, None
        if answer is None:
            return []
        clean = self._settings.clean
        parts = [
            Part(kind, {"text": clean("".join(texts))}) if kind else part
            for (kind, texts), part in zip(answer.pieces, answer.parts, strict=True)
        ]
        if answer.native_id is not None:
            self.note(message_id=answer.native_id)
        return [self._answer_message(parts, answer.turn, time, model=answer.model, **ends)]

    def _answer_message(self, parts: Sequence[Part], turn: _Turn | None, time: int, **ends: Any) -> Message:
        if turn is not None:
            turn.has_answer = True
            if turn.concurrent:
                self.note(concurrent=True)
        reply_to = None if turn is None else turn.prompt
        fields = {"model": self.model, **ends}
        return self._message("answer", self._settings.agent, parts, time, reply_to=reply_to, **fields)

    def _update_call(self, update: Mapping[str, Any], time: int) -> list[Message]:
        call_id = update["toolCallId"]
        self._note_call()
        if call_id in self._ended_calls and call_id not in self._calls:
            return self._late_result(update, time)
        complete = self._finish_answer(time) if call_id not in self._calls else []
        call = self._calls.setdefault(call_id, {})
        merge_call(call, update)
        if _text(call.get("status")) in _ENDED:
            complete.append(self._finish_call(call_id, time))
        return complete

    def _finish_call(self, call_id: str, time: int, status: str | None = None) -> Message:
        call = self._calls.pop(call_id)
        self._ended_calls.add(call_id)
        if call_id in self._permissions:
            self.note(permissions=self._permissions.pop(call_id))
        for name in ("kind", "status"):
            if isinstance(call.get(name), str):
                self.note(**{f"tool_{name}": call[name]})
        message = self._answer_message(
            call_parts({**call, "toolCallId": call_id}, self._settings.clean),
            self._turns[0] if self._turns else None,
            time,
            status=status,
        )
        return replace(message, files=(*message.files, *call_files(call)))

    def _late_result(self, update: Mapping[str, Any], time: int) -> list[Message]:
        """Record the result of a call that had not ended when its turn did."""
        if _text(update.get("status")) not in _ENDED:
            return []
        parts = [result_part(update, self._settings.clean)]
        return [*self._finish_answer(time), self._message("tool-results", self._settings.agent, parts, time)]

    def _end_turn(
        self,
        turn: _Turn,
        status: str | None,
        time: int,
        *,
        stop_reason: str | None = None,
        usage: dict[str, Any] | None = None,
    ) -> list[Message]:
        """Close a turn: its unfinished calls, its last message, or an empty one that says how it ended."""
        is_oldest = turn is self._turns[0]
        calls = [self._finish_call(call_id, time, status) for call_id in list(self._calls)] if is_oldest else []
        ends = {"stop_reason": stop_reason, "status": status}
        if usage is not None:
            self.note(usage=usage)
        git = None if turn.git is None else turn.git.end()
        if git is not None:
            moves = git["moves"] if turn.has_call else []  # without a call the agent made no commit: a person did
            self.note(git=self._settings.clean({**git, "moves": moves}))
        last = self._finish_answer(time, **ends) if self._answer is not None and self._answer.turn is turn else []
        if not last and not (turn.concurrent and turn.has_answer):
            last = [] if status == "failed" else [self._ending_message(turn, time, ends)]
        self._turns.remove(turn)
        return [*calls, *last]

    def _ending_message(self, turn: _Turn, time: int, ends: Mapping[str, Any]) -> Message:
        """Return the message of a turn that ended without text: interrupted, cancelled, refused, or after a call."""
        if ends["status"] == INTERRUPTED:
            text = [Part("text", {"text": "The agent ended before it had answered."})]
            return self._message("interrupt", _SYSTEM, text, time, reply_to=turn.prompt, **ends)
        return self._answer_message([], turn, time, **ends)

    def _message(self, kind: str, author: Author, parts: Sequence[Part], time: int, **fields: Any) -> Message:
        notes, self._notes = self._notes, {}
        top_level = {name: notes.pop(name, None) for name in _TOP_LEVEL}
        files, self._files = tuple(self._files), []
        extra: dict[str, Any] = {ACP: {"session": self._session, "run": self._settings.run, **notes}}
        extra |= {name: value for name, value in top_level.items() if value is not None}
        known = {name: value for name, value in fields.items() if value is not None}
        return Message(
            id=new_id(),
            author=author,
            parts=tuple(parts),
            kind=kind,
            time=format_time(time),
            files=files,
            extra=extra,
            **known,
        )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def model_of(result: Mapping[str, Any]) -> str | None:
    """Return the model that an answer or an update names: in `models`, or in an option of the category `model`."""
    models = result.get("models")
    model = models.get("currentModelId") if isinstance(models, dict) else None
    options = result.get("configOptions")
    for option in options if isinstance(options, list) else ():
        match option:
            case {"category": "model", "currentValue": str(value)}:
                model = value
    return model if isinstance(model, str) else None


def update_of(message: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the update in a notification; some agents send notifications without one."""
    update = params_of(message).get("update")
    return update if isinstance(update, dict) else None
