"""The request for a context: made once, and read by every step of building it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from scopes.context.budget import default_budget, parse_shares
from scopes.context.relevance import words_of
from scopes.errors import Invalid, check_not_negative
from scopes.fence import check_mark
from scopes.history.handles import NO_LIMITS, Limits, read_limits
from scopes.secret_scan.clearance import Mode
from scopes.store.config import Config
from scopes.tokens.count import Model

MODES = ("history", "relevance", "files")
TIGHT_BELOW = 500
CACHE_SECONDS = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a context is built from, how large it may be, and the settings that apply.

    where: a conversation, branch or message; None if `work_item` alone selects the conversations.
    at: a message of that conversation; the context is built as of that message.
    work_item: also take every other conversation with messages for it, and leave out messages for other work items.
    mode: one of MODES; None means relevance if there is a task, otherwise history.
    include_all: also take messages older than the last compaction.
    explain: also report for every turn, message and file why it was kept or dropped.
    project: directory whose files may be embedded; empty: no file is read.
    include_ignored: embed files that git ignores in the project, too.
    file_share: share of files in percent of the budget for files and turns; None: the default of the mode.
    candidates: the maximum number of turns that are considered for a task; None: all (S4-37).
    limits: the context warns when the conversation is full or idle (S1-24).
    cache_seconds: how long the context may be taken from the cache; 0: never.
    mark: the mark of the fence; None: a random one, drawn for every rendering.
    secrets: what becomes of possible secrets: they are replaced, let pass, or the context is refused.
    tight_below: with a smaller budget only the newest conversation is used, and no files (S1-16).
    """

    max_tokens: int
    where: str | None = None
    at: str | None = None
    work_item: str | None = None
    mode: str | None = None
    task: str | None = None
    include_all: bool = False
    explain: bool = False
    project: str = ""
    include_ignored: bool = False
    file_share: int | None = None
    candidates: int | None = None
    limits: Limits = NO_LIMITS
    cache_seconds: int = CACHE_SECONDS
    tight_below: int = TIGHT_BELOW
    mark: str | None = None
    secrets: Mode = "redact"

    @property
    def is_tight(self) -> bool:
        """Return True if the budget has room for the newest conversation only."""
        return self.max_tokens < self.tight_below

    def as_of(self, where: str, at: str) -> Request:
        """Return the request for another conversation, as of one of its messages."""
        return replace(self, where=where, at=at)

    @property
    def options(self) -> dict[str, object]:
        """Return the options that are part of a context's id and metadata."""
        return {
            "mode": self.mode, "task": self.task, "work_item": self.work_item, "all": self.include_all, "at": self.at,
        }  # fmt: skip


def check_request(request: Request) -> Request:
    """Return the request with its mode filled in, and without a task if the mode does not use it.

    Raises:
        Invalid: a negative budget, an unknown mode, relevance without a task, a task without words, no candidates,
            an invalid mark.
    """
    check_not_negative(request.max_tokens, "budget", "for example: --max-tokens 8000")
    if request.candidates is not None and request.candidates < 1:
        raise Invalid(f"candidates must be at least 1, not {request.candidates}", hint="try: --candidates 32")
    mode = request.mode or ("history" if request.task is None else "relevance")
    if mode not in MODES:
        raise Invalid(f"{mode!a} is not a valid mode", hint="modes: " + ", ".join(MODES))
    if mode == "relevance" and request.task is None:
        raise Invalid("the mode relevance needs a task", hint="for example: --task 'login fails on Safari'")
    if request.task is not None:
        words_of(request.task)
    check_mark(request.mark)
    return replace(request, mode=mode, task=None if mode == "history" else request.task)


def new_request(
    config: Config,
    model: Model | None,
    *,
    max_tokens: int | None = None,
    where: str | None = None,
    at: str | None = None,
    work_item: str | None = None,
    mode: str | None = None,
    task: str | None = None,
    include_all: bool = False,
    explain: bool = False,
    project: str = "",
    candidates: int | None = None,
    mark: str | None = None,
    include_ignored: bool = False,
    secrets: Mode = "redact",
) -> Request:
    """Return a request with the default budget of the model and the limits of the settings; the rest is as in Request.

    Raises:
        Invalid: a setting is not valid.
    """
    shares = parse_shares(None, config.find("scopes.budgetContent"))
    return Request(
        max_tokens=default_budget(config, model, has_task=task is not None) if max_tokens is None else max_tokens,
        where=where,
        at=at,
        work_item=work_item,
        mode=mode,
        task=task,
        include_all=include_all,
        explain=explain,
        project=project,
        candidates=candidates,
        mark=mark,
        include_ignored=include_ignored,
        secrets=secrets,
        file_share=shares.content["files"] if config.find("scopes.budgetContent") else None,
        limits=read_limits(config),
        tight_below=config.find_integer("scopes.tightBudget", TIGHT_BELOW),
        cache_seconds=config.find_integer("scopes.contextSeconds", CACHE_SECONDS),
    )
