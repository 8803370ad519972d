"""Read one run of Aider: the lines of a prompt, an answer or a notice become one message each."""

from __future__ import annotations

from hashlib import sha256

from scopes.clock import parse_time
from scopes.importers.formats.aider.notices import find_model, find_touches, is_interrupt, read_usage
from scopes.importers.formats.events import Draft, Ending, Event, Session, SessionRecord, Unparsed
from scopes.importers.formats.run_builder import ANSWER, HUMAN, INJECTED, PROMPT
from scopes.importers.formats.text_lines import INVALID_TEXT, Block, Line
from scopes.model.message import Author, FileTouch, Part

NAME = "aider"
CUT_OFF = "truncated (incomplete last line)"
_AGENT = Author(NAME, "agent")
_HARNESS = Author(NAME, "system")
_BANNER, _NOTICE = "run", "notice"
_USER_MARK, _NOTICE_MARK = b"#### ", b"> "
_MARK_STARTS = (b"#", b">")
_BY_AIDER = "# Fix any errors below, if possible."  # a prompt that Aider writes after its own checks
_INFERRED = {"fidelity": "inferred"}
_NAME_DIGITS = 16


class RunReader:
    """Turns the lines of one run into events. An answer is held back until the notices after it are read."""

    def __init__(self, started: str | None) -> None:
        self.is_announced = False
        self._started = started
        self._digest = sha256()
        self._block: Block | None = None
        self._after_blank = False
        self._answer: Draft | None = None
        self._last: str | None = None
        self._model: str | None = None
        self._added: list[FileTouch] = []  # files that were added to the chat before the first message
        self._ready: list[Event] = []

    def session(self) -> Session:
        """Return the Session, which is named by what comes before its first message and the first line of that."""
        self.is_announced = True
        beginning = self._started.removesuffix("Z") if self._started is not None else "beginning"
        name = f"{beginning}-{self._digest.hexdigest()[:_NAME_DIGITS]}"
        created = self._started if parse_time(self._started or "") is not None else None
        return Session(format=NAME, native_id=name, created=created, details=_INFERRED)

    def read(self, line: Line) -> bool:
        """Read the next line; return True if the run has a message."""
        kind = self._kind_of(line)
        block = self._block
        new = block is None or block.kind != kind or self._begins_prompt(line, kind) or block.is_full
        if line.is_cut and line.starts and (new or line.data.startswith(_MARK_STARTS)):
            self._ready.append(Unparsed(spans=(line.span,), reason=CUT_OFF))
        elif new or block is None:
            self._close_block()
            self._block = Block(kind, line)
            if kind != _BANNER and self._is_first:
                self._digest.update(line.data)
        else:
            block.add(line)
        self._after_blank = line.starts and line.is_blank
        return self._block is not None and self._block.kind != _BANNER

    def take_ready(self) -> list[Event]:
        """Return and remove the finished events."""
        ready, self._ready = self._ready, []
        return ready

    def finish(self, *, last: bool) -> Ending:
        """Close the last message and return the Ending; only the `last` run of a file may still grow."""
        opened = self._block
        held = None if self._answer is None else self._answer.key
        self._close_block()
        self._release_answer()
        key = held if held is not None and opened is not None and opened.kind == _NOTICE else self._last
        return Ending(active=self._last, open=key if last else None)

    @property
    def _is_first(self) -> bool:
        """True if no message is finished yet."""
        return self._last is None and self._answer is None

    def _kind_of(self, line: Line) -> str:
        current = _BANNER if self._block is None else self._block.kind
        if not line.starts or line.is_blank:
            return current
        if line.data.startswith(_USER_MARK):
            return PROMPT
        if line.data.startswith(_NOTICE_MARK):
            return _BANNER if current == _BANNER else _NOTICE
        unmarked = current in {_BANNER, _NOTICE} and self._block is not None and not self._after_blank
        if unmarked or (current == _BANNER and (self._block is None or self._started is None)):
            return current  # a notice of several lines, the header, or text before the first run
        return ANSWER

    def _begins_prompt(self, line: Line, kind: str) -> bool:
        """Return True if a line of the user is not the next one of the same prompt."""
        return kind == PROMPT and self._after_blank and not line.is_blank and line.starts

    def _close_block(self) -> None:
        block, self._block = self._block, None
        if block is None:
            return
        if not block.is_valid:
            self._ready.append(Unparsed(spans=(block.span._replace(length=0),), reason=INVALID_TEXT))
        text = block.text
        if block.kind == _BANNER:
            self._digest.update(block.data)
            self._model = find_model(_without_marks(text, "> ")) or self._model
            self._added += [each for each in find_touches(_without_marks(text, "> ")) if each.op == "mention"]
            self._ready.append(SessionRecord(key=_BANNER, spans=(block.span,)))
        elif block.kind == _NOTICE:
            self._add_notice(block, _without_marks(text, "> "))
        elif block.kind == PROMPT:
            prompt = _without_marks(text, "#### ")
            author = INJECTED if prompt.startswith(_BY_AIDER) else HUMAN
            self._add(self._draft(block, author, PROMPT, prompt))
        else:
            self._release_answer()
            self._answer = self._draft(block, _AGENT, ANSWER, text.strip())._replace(model=self._model)

    def _add_notice(self, block: Block, text: str) -> None:
        """Add a notice; what it says about the answer before it goes to the answer.

        If the model answered nothing, the notice itself has the tokens that were sent.
        """
        self._model = find_model(text) or self._model
        touches = dict.fromkeys(find_touches(text))
        answer = self._answer
        usage = read_usage(text)
        if answer is not None:
            edited = tuple(each for each in touches if each.op == "edit")
            status = "interrupted" if usage is None and is_interrupt(text) else None
            self._answer = answer._replace(files=edited, usage=usage, status=status)
            self._release_answer()
        others = tuple(each for each in touches if each.op != "edit" or answer is None)
        notice = self._draft(block, _HARNESS, _NOTICE, text)._replace(files=others)
        unanswered = usage if answer is None else None
        self._add(notice if unanswered is None else notice._replace(usage=unanswered, model=self._model))

    def _release_answer(self) -> None:
        answer, self._answer = self._answer, None
        if answer is not None:
            self._add(answer)

    def _add(self, draft: Draft) -> None:
        self._release_answer()
        if self._added:
            draft = draft._replace(files=tuple(dict.fromkeys([*self._added, *draft.files])))
            self._added = []
        self._ready.append(draft._replace(parent=self._last))
        self._last = draft.key

    def _draft(self, block: Block, author: Author, kind: str, text: str) -> Draft:
        return Draft(
            key=str(block.offset),
            parent=None,
            author=author,
            kind=kind,
            parts=(Part("text", {"text": text}),),
            spans=(block.span,),
            precision="none",
            extra=_INFERRED,
        )


def _without_marks(text: str, mark: str) -> str:
    """Return lines without the mark before each and the two blanks after it."""
    return "\n".join(line.removeprefix(mark).rstrip() for line in text.splitlines()).strip()
