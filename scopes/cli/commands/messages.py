"""`scopes append`, `amend` and `retract`: messages by hand."""

from __future__ import annotations

import re
from shlex import quote
from typing import Annotated

from scopes.cli.append_input import (
    LineReader,
    compose_message,
    parse_document,
    read_part,
    read_text,
    refuse_blank,
    walk_documents,
)
from scopes.cli.input import STANDARD_INPUT, has_piped_input
from scopes.cli.invocation import Invocation
from scopes.cli.options import (
    LATEST,
    Data,
    OnBranch,
    Reason,
    Text,
    TextOption,
    Texts,
    argument,
    author_of,
    choose_text,
    option,
    read_data,
)
from scopes.cli.words import find_messages, is_whole_conversation, read_where
from scopes.conversation.append import MessageAppended, append_to
from scopes.conversation.append import amend as run_amend
from scopes.conversation.append import retract as run_retract
from scopes.errors import Invalid, Refused
from scopes.history.handles import StoreHandle
from scopes.history.names import complete_message_id
from scopes.ids import BranchName
from scopes.model.message import EXAMPLES, Message
from scopes.render.view import ViewOptions
from scopes.store.maintenance import pack_when_needed
from scopes.store.repository import Repository

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scopes.proposals.review import ProposalReviewed

_CONVERSATION_ID = re.compile(r"conv-[0-9]+(/.*)?")
_FEEDBACK = "feedback"  # of --kind: how an applied proposal worked out
_HEAD = "HEAD"  # of --from: the branch begins at the tip of the active one


def append(
    invocation: Invocation,
    first: Annotated[Text, argument("[WHERE]", "The conversation or branch (default: @)")] = None,
    second: Annotated[Text, argument("[TEXT]", "The text; - is standard input")] = None,
    text_option: TextOption = None,
    branch: OnBranch = None,
    data: Data = None,
    start: Annotated[Text, option("--from MESSAGE", "Create the branch of -b here (HEAD: at the tip)")] = None,
    kind: Annotated[str, option("--kind KIND", "decision, method, priority, analysis, prompt, ...")] = "plain",
    topic: Annotated[Text, option("--topic TOPIC", "What the decision, method, ... is about")] = None,
    to: Annotated[Texts, option("--to AGENT", "Who it is for")] = None,
    reply_to: Annotated[Text, option("--reply-to MESSAGE", "The message that it answers")] = None,
    time: Annotated[Text, option("--time TIME", "Its time (default: now)")] = None,
    lines: Annotated[Text, option("--jsonl FILE", "A message for each line; - is standard input")] = None,
    strict: Annotated[bool, option("--strict", "With --jsonl: refuse a key that no message has")] = False,
    binary: Annotated[Text, option("--binary TYPE", "Standard input is a file of this media type")] = None,
) -> int:
    """Add a message, or many as JSON lines.

    A single argument is the text, for @, unless it is the whole id of a conversation. Without a text, standard input
    is read unless it is a terminal. A file of lines is stored whole or not at all, standard input line by line. When
    the command returns, the message is on disk.

    Examples:
      scopes append 'Start with the login form'
      scopes append @ --kind decision --topic cookies 'Secure, HttpOnly'
      scopes append -b try --from main~3 'What if SQLite?'
      scopes append conv-001 --jsonl messages.jsonl
    """
    if lines is not None and any(each is not None for each in (text_option, data, topic, binary, invocation.actor)):
        problem = "--jsonl cannot be combined with TEXT, --as, --data, --topic or --binary"
        raise Invalid(problem, hint="set author and text in each line")
    if lines is not None and start is not None:
        raise Invalid("--from and --jsonl exclude each other", hint="create the branch first: scopes branch --from")
    if strict and lines is None:
        raise Invalid("--strict needs --jsonl", hint="leave it out")
    repository = invocation.repository()
    where, given = _split_words(repository, first, second, is_place=lines is not None or text_option is not None)
    text = choose_text(given, text_option)
    if start is not None and branch is None and "/" not in where:
        raise Invalid("--from needs a branch: -b NAME", hint="for example: -b try --from main~2")
    if binary is not None and text not in {None, STANDARD_INPUT}:
        raise Invalid("--binary stores standard input", hint="for example: scopes append --binary image/png < FILE")
    handle = StoreHandle(repository)
    if lines is not None:
        reader = LineReader(handle.branch(where, branch), strict=strict)
        add = reader.append if lines == STANDARD_INPUT else reader.append_all
        code = invocation.stream(add(walk_documents(invocation, lines)), options=ViewOptions(lines=True))
        for note in reader.notes():
            invocation.output().note(note)
        invocation.output().hint("undo them together with: scopes undo")
        return code
    if kind == _FEEDBACK:
        return invocation.show(_give_feedback(invocation, where, reply_to, text))
    target = None if start is not None else handle.branch(where, branch)
    conversation = handle.conversation(where.partition("/")[0])
    answered = complete_message_id(repository, conversation.id, reply_to)
    document = None if data is None else read_data(invocation, data)
    parts = [] if binary is None else [read_part(invocation, binary)]
    text = None if parts else _read_text(invocation, text, has_data=data is not None)
    message = compose_message(
        author_of(invocation), text, kind, topic=topic, data=document, parts=parts, to=to, reply_to=answered, time=time
    )
    if target is None:
        result = _append_to_new(conversation.id, repository, message, start or "", branch or where.partition("/")[2])
    else:
        result = append_to(target, message)
    code = invocation.show(result)
    pack_when_needed(repository)
    return code


def _split_words(
    repository: Repository, first: str | None, second: str | None, *, is_place: bool
) -> tuple[str, str | None]:
    """Split the words `[WHERE] [TEXT]`; a single one is WHERE with `is_place`, or as the id of a conversation."""
    if first is None or second is not None:
        return read_where(repository, first or LATEST), second
    if is_place or is_whole_conversation(repository, first) or _CONVERSATION_ID.fullmatch(first):
        return read_where(repository, first), None
    return LATEST, first


def _give_feedback(invocation: Invocation, where: str, proposal: str | None, text: str | None) -> ProposalReviewed:
    """Record how the proposal of --reply-to worked out, in any conversation unless one is named.

    Raises:
        Invalid: no proposal is named, or there is no text.
        NotFound, Ambiguous, Refused: as `give_feedback`.
    """
    from scopes.proposals.review import Feedback, give_feedback

    if proposal is None:
        raise Invalid("--kind feedback needs its proposal: --reply-to", hint="list them: scopes proposals list --all")
    feedback = Feedback(_read_text(invocation, text, has_data=False) or "")
    place = None if where == LATEST else where
    return give_feedback(invocation.repository(), place, proposal, feedback, author=author_of(invocation))


def _read_text(invocation: Invocation, text: str | None, *, has_data: bool) -> str | None:
    """Return the text of the message; without one that of standard input, unless it is a terminal or --data is given.

    Raises:
        Invalid, Refused: the text is blank, or is not UTF-8.
    """
    if text is None and not has_data and has_piped_input(invocation):
        text = STANDARD_INPUT
    content = None if text is None else read_text(invocation, text, hint="to store the bytes as a file: --binary TYPE")
    if not has_data:
        refuse_blank(content)
    return content


def _append_to_new(
    conversation: str, repository: Repository, message: Message, start: str, name: str
) -> MessageAppended:
    """Append to a new branch; with `--from HEAD` to the branch of that name if it is there."""
    from scopes.conversation.branch import append_to_new_branch

    handle = StoreHandle(repository).conversation(conversation)
    if start == _HEAD and BranchName(name) in handle.tips:
        return append_to(handle.branch(name), message)
    try:
        return append_to_new_branch(
            repository, conversation, message, start=None if start == _HEAD else start, name=name, switch=False
        )
    except Refused:  # another process may have made it meanwhile
        again = StoreHandle(repository).conversation(conversation)
        if start != _HEAD or BranchName(name) not in again.tips:
            raise
        return append_to(again.branch(name), message)


def amend(
    invocation: Invocation,
    message: Annotated[str, argument("MESSAGE", "The message: an id, a place or a tag")],
    text: Annotated[Text, argument("[TEXT]", "The new text; - is standard input")] = None,
    other: Annotated[Text, argument(hidden=True)] = None,
    text_option: TextOption = None,
    data: Data = None,
) -> int:
    """Replace the text of a message, keeping the old.

    The original stays in the history. What a typed message stated, such as a decision, is replaced by --data; without
    it the message becomes plain text.

    Examples:
      scopes amend fq7x2m 'Start with the session'
      scopes amend main~2 -m 'typo mended'
    """
    repository = invocation.repository()
    words = [word for word in (message, text, other) if word is not None]
    if text_option is None and len(words) < 2:
        raise Invalid("no text given", hint=f"for example: scopes amend {quote(message)} 'the new text'")
    given = words.pop() if text_option is None else text_option
    [(place, target)] = find_messages(repository, words, one=True)
    new_text = read_text(invocation, given)
    refuse_blank(new_text)
    document = None
    if data is not None:
        document = parse_document(read_data(invocation, data), "--data", f"--data '{EXAMPLES['decision']}'")
    author = author_of(invocation)
    return invocation.show(run_amend(repository, place, target, new_text, author=author, data=document))


def retract(
    invocation: Invocation,
    words: Annotated[list[str], argument("MESSAGE", "The messages: ids, places or tags")],
    reason: Reason = "",
) -> int:
    """Mark messages as taken back.

    They stay in the history, with a notice after them. The id of a compaction is taken as well: contexts begin earlier
    again.

    Examples:
      scopes retract fq7x2m --reason 'wrong branch'
      scopes retract main~1
    """
    repository = invocation.repository()
    author = author_of(invocation)
    for place, message in find_messages(repository, words):
        invocation.show(run_retract(repository, place, message, reason, author=author))
    return 0
