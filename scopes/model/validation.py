"""Validate messages from users and programs: the documents of `append --jsonl`, and options.

The only module that imports pydantic, which takes longer than a whole append; a plain text message needs no check
except of its author's name and does not use this module.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from scopes.clock import parse_time
from scopes.errors import Invalid
from scopes.ids import MessageId, parse_agent_name
from scopes.model.message import KINDS, Author, FileTouch, Message, Part, payload_key

# fields that an export contains and an author must not set
RESERVED = frozenset({"id", "v", "amends", "retracts", "oid", "parents", "parent_oids", "also_at"})
# fields of a row of `log --json` that are not those of the message
_ROW_FIELDS = frozenset({"scopes", "message_kind", "author_kind", "branches", "subject", "recorded_at", "extra"})
Checked = TypeVar("Checked", bound=BaseModel)
NonEmpty = Annotated[str, Field(min_length=1)]
NotBlank = Annotated[str, Field(min_length=1, pattern=r"\S")]
Confidence = Annotated[float, Field(ge=0, le=1)]
_PROBLEMS = {  # pydantic's type of error -> our text; the texts of `value_error` are written in this module
    "missing": "is required",
    "extra_forbidden": "is not a known field",
    "string_type": "must be text",
    "bool_type": "must be true or false",
    "float_type": "must be a number",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "literal_error": "must be {expected}",
    "string_too_short": "must not be empty",
    "string_pattern_mismatch": "must not be blank",
    "too_short": "must not be empty",
    "greater_than_equal": "must be at least {ge:g}",
    "less_than_equal": "must be at most {le:g}",
    "string_unicode": "must be valid UTF-8",
}

_FIRST_TIME = -62_135_596_800_000_000_000  # the years 1 to 9999 in UTC, the range of RFC 3339
_END_TIME = 253_402_300_800_000_000_000


def _readable_time(text: str) -> str:
    nanoseconds = parse_time(text)
    if nanoseconds is None or not _FIRST_TIME <= nanoseconds < _END_TIME:
        raise ValueError("is not an RFC 3339 time, such as 2026-01-31T09:30:00Z")
    return text


def _agent_name(text: str) -> str:
    try:
        return parse_agent_name(text)
    except Invalid as error:
        raise ValueError(error.message) from error


Name = Annotated[str, AfterValidator(_agent_name)]


Category: TypeAlias = Literal[
    "optimization", "breakdown", "reorganization", "cleanup", "enhancement", "bug-fix", "automation"
]
RequestType: TypeAlias = Literal["review", "approve", "apply", "discuss"]
Urgency: TypeAlias = Literal["low", "normal", "high", "critical"]
Risk: TypeAlias = Literal["none", "low", "medium", "high", "critical"]


class InputModel(BaseModel):
    """Base class: frozen, keeps unknown fields."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True)


def _in_one_spelling(value: Any) -> Any:
    """Return a word of the specification in the spelling that is stored: `BUG_FIX` is `bug-fix`."""
    return value.strip().lower().replace("_", "-") if isinstance(value, str) else value


Spelled = BeforeValidator(_in_one_spelling)


class EntityChange(InputModel):
    """The change of one field of an entity; `before` and `after` are null if there is no value."""

    field_path: NonEmpty
    operation: Annotated[Literal["create", "update", "delete", "append"], Spelled] = "update"
    before: Any = None
    after: Any = None


class Impact(InputModel):
    """What a proposal would affect, as its author judges it (S4-24)."""

    estimated_time: NotBlank | None = None
    risk_level: Annotated[Risk | None, Spelled] = None
    affected_entities: list[NonEmpty] | None = None
    reversible: bool | None = None
    dependencies: list[NonEmpty] | None = None
    potential_side_effects: list[NonEmpty] | None = None


class Proposal(InputModel):
    """A proposal of changes, and the request to the reader (S4-24)."""

    entity_type: NonEmpty
    entity_id: NonEmpty
    changes: Annotated[list[EntityChange], Field(min_length=1)]
    rationale: str | None = None
    confidence: Confidence | None = None
    category: Annotated[Category | None, Spelled] = None
    request_type: Annotated[RequestType, Spelled] = "review"
    impact_assessment: Impact | None = None
    context: str | None = None
    alternative_options: list[NonEmpty] | None = None
    required_approvals: list[Name] | None = None
    expires_at: Annotated[str, AfterValidator(_readable_time)] | None = None


class Analysis(InputModel):
    """A finding about one aspect of a subject, with the analyst's confidence (S4-25)."""

    subject: NotBlank
    aspect: NotBlank = "general"
    finding: NotBlank
    confidence: Confidence | None = None
    requests_feedback: bool = False


class CollaborationRequest(InputModel):
    """A request for help (S4-26)."""

    type: Annotated[
        Literal["peer-review", "joint-analysis", "consensus", "knowledge-sharing", "verification", "handoff"],
        Spelled,
    ]
    context: str
    urgency: Annotated[Urgency, Spelled] = "normal"


class Decision(InputModel):
    """A decision about a topic."""

    topic: NotBlank
    decision: NotBlank


class Priority(InputModel):
    """The urgency of a task."""

    task: NotBlank
    urgency: Annotated[Urgency, Spelled]


class Method(InputModel):
    """The approach to a goal."""

    goal: NotBlank
    approach: NotBlank


PAYLOADS: dict[str, type[InputModel]] = {
    "proposal": Proposal,
    "analysis": Analysis,
    "collaboration-request": CollaborationRequest,
    "decision": Decision,
    "priority": Priority,
    "method": Method,
}


class AuthorInput(InputModel):
    """Name and kind of an author."""

    name: Name
    kind: Literal["human", "agent", "tool", "system", "injected"] = "agent"


class FileInput(InputModel):
    """A file that the message read or changed."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
    path: NonEmpty
    op: Literal["read", "create", "edit", "delete", "rename", "mention"]
    content_hash: str | None = None
    from_: str | None = Field(default=None, alias="from")


class PartInput(InputModel):
    """A part; its fields depend on its type and are not checked, but the id and the exit code of a call are plain."""

    type: NonEmpty

    @model_validator(mode="after")
    def _has_plain_fields(self) -> PartInput:
        fields = self.model_extra or {}
        wrong = next((name for name in ("call_id", "exit_code") if isinstance(fields.get(name), (dict, list))), None)
        if wrong is not None:
            raise ValueError(f"{wrong} of a part is neither a text nor a number")
        return self


class MessageInput(InputModel):
    """One message; author is required, and text or parts."""

    author: AuthorInput
    kind: NonEmpty = "plain"
    text: str | None = None
    parts: list[PartInput] | None = None
    to: list[Name] = []
    reply_to: NonEmpty | None = None
    time: Annotated[str, AfterValidator(_readable_time)] | None = None
    work_item: NonEmpty | None = None
    task: NonEmpty | None = None
    activity: Literal["agent_action", "file_edit", "decision", "blocker_resolved"] | None = None
    tool: NonEmpty | None = None
    model: NonEmpty | None = None
    status: NonEmpty | None = None
    stop_reason: NonEmpty | None = None
    files: list[FileInput] = []

    @field_validator("author", mode="before")
    @classmethod
    def _author_may_be_a_name(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value

    @field_validator("to", mode="before")
    @classmethod
    def _recipient_may_be_a_name(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value

    @model_validator(mode="after")
    def _has_content_and_payload(self) -> MessageInput:
        if self.kind == "root" or self.kind not in KINDS:
            raise ValueError(f"kind {self.kind!a} is not one of: {', '.join(KINDS[1:])}")
        if self.text is None and self.parts is None:
            raise ValueError("text or parts is required")
        if self.kind in PAYLOADS and not isinstance((self.model_extra or {}).get(payload_key(self.kind)), dict):
            raise ValueError(f"a message of kind {self.kind} needs the field {payload_key(self.kind)!a}")
        return self


def check_message(document: Any, *, message_id: MessageId, now: str) -> Message:
    """Validate a document and return it as a message; `now` is used if it has no time.

    The document is one of `append --jsonl`, a line of `export --format jsonl`, or a row of `log --json`.

    Raises:
        Invalid: a field is wrong; the message names the first one.
    """
    is_row = isinstance(document, dict) and {"scopes", "message_kind"} <= document.keys()
    validated = _validate(MessageInput, _stored_fields(document) if is_row else document, "message")
    kind = validated.kind
    extra = {name: value for name, value in (validated.model_extra or {}).items() if name not in RESERVED}
    payload = check_payload(kind, extra.pop(payload_key(kind))) if kind in PAYLOADS else None
    parts = [Part("text", {"text": validated.text})] if validated.text is not None else []
    parts += [Part(part.type, dict(part.model_extra or {})) for part in validated.parts or []]
    names = ("reply_to", "work_item", "task", "activity", "tool", "model", "status", "stop_reason")
    return Message(
        id=message_id,
        author=Author(validated.author.name, validated.author.kind),
        parts=tuple(parts),
        kind=kind,
        time=validated.time or now,
        to=tuple(dict.fromkeys(validated.to)),
        files=tuple(FileTouch(f.path, f.op, f.content_hash, f.from_) for f in validated.files),
        payload=payload,
        extra=extra,
        **{name: getattr(validated, name) for name in names},
    )


def _stored_fields(row: dict[str, Any]) -> dict[str, Any]:
    """Return what a row of `log --json` has from the message itself, with its author and further fields as stored."""
    document = {key: value for key, value in row.items() if key not in _ROW_FIELDS}
    if isinstance(row.get("author"), str) and "author_kind" in row:
        document["author"] = {"name": row["author"], "kind": row["author_kind"]}
    if row.get("parts"):
        document.pop("text", None)  # that of these parts
    extra = row.get("extra")
    return {**extra, **document} if isinstance(extra, dict) else document


def check_payload(kind: str, document: Any) -> dict[str, Any]:
    """Validate the document of a typed kind and fill in defaults; unknown fields are kept (S4-23).

    Raises:
        Invalid: a field is wrong; the message names the first one.
    """
    validated = _validate(PAYLOADS[kind], document, kind)
    payload = validated.model_dump(exclude_none=True)
    if isinstance(validated, Proposal):
        for change, stored in zip(validated.changes, payload["changes"], strict=True):
            given = {"before", "after"} & change.model_fields_set
            stored |= {name: None for name in given if getattr(change, name) is None}
    return payload


def _validate(model: type[Checked], document: Any, what: str) -> Checked:
    try:
        return model.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(step) for step in first["loc"])
        sentence = _PROBLEMS.get(first["type"])
        problem = sentence.format(**first.get("ctx", {})) if sentence else first["msg"].removeprefix("Value error, ")
        raise Invalid(
            f"the {what} is not valid: {where + ': ' if where else ''}{problem}",
            hint="see: scopes help append",
        ) from error
