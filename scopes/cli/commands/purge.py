"""`scopes purge`."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote
from typing import Annotated, Final, TypeAlias

import typer

from scopes.cli.invocation import Invocation
from scopes.cli.places import places_of
from scopes.errors import Invalid
from scopes.purge.accept import OfferChoice, accept_purges, count_unpublished, plan_accept
from scopes.purge.decline import decline_purges
from scopes.purge.purge import PurgeDone, PurgePlanned, continue_purge, note_alike, plan_purge
from scopes.purge.purge import purge as run_purge
from scopes.purge.purge_offers import list_purge_offers
from scopes.purge.selection import PurgeRequest, pin
from scopes.render.progress import progress
from scopes.result import plural

_SHOWN: Final = 5
_SHORT: Final = 8  # characters of an id


Conversation: TypeAlias = Annotated[
    str | None,
    typer.Argument(metavar="[CONV]", help="The conversation; if no messages are named, all of it (see --whole)"),
]
OfFile: TypeAlias = Annotated[
    str | None,
    typer.Option("--file", metavar="PATH", help="The content of this file in all messages; its path or the end of it"),
]
Hits: TypeAlias = Annotated[
    str | None, typer.Option("--search", metavar="QUERY", help="All messages that a search finds")
]
Transcript: TypeAlias = Annotated[
    str | None,
    typer.Option("--source", metavar="FILE", help="All messages that were imported from this transcript"),
]
Records: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--record", metavar="HASH", help="A record of a stored transcript that is no message"),
]
Offers: TypeAlias = Annotated[bool, typer.Option("--offers", help="List what was purged elsewhere, and change nothing")]
Accept: TypeAlias = Annotated[
    bool, typer.Option("--accept", help="Also purge here what was purged elsewhere: all, in CONV, or of --from")
]
OfferedBy: TypeAlias = Annotated[
    str | None, typer.Option("--from", metavar="NAME", help="Only offers of this remote or machine")
]
GoOn: TypeAlias = Annotated[
    bool,
    typer.Option("--continue", help="Finish a purge that was interrupted, or that ended with exit code 7"),
]


def purge(
    context: typer.Context,
    conversation: Conversation = None,
    messages: Annotated[list[str] | None, typer.Argument(metavar="[MESSAGE...]", help="Messages in it")] = None,
    whole: Annotated[bool, typer.Option("--whole", help="All of CONV; required in scripts, with --yes")] = False,
    file: OfFile = None,
    query: Hits = None,
    transcript: Transcript = None,
    records: Records = None,
    offers: Offers = False,
    accept: Accept = False,
    decline: Annotated[bool, typer.Option("--decline", help="Keep what was purged elsewhere, and push it")] = False,
    source: OfferedBy = None,
    go_on: GoOn = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would go, and change nothing")] = False,
) -> int:
    """Remove messages, files or a conversation for good.

    This cannot be undone. If the content is a key or a password, revoke it first. The content is removed from every
    branch, the trash, the operation log, the memory, facts, titles, the imported transcripts in the store, reflogs,
    packs, the search index and all caches. Then every object and every file is searched for it. A purged message keeps
    its place, author and time, and its text is [purged]. Messages that were made from it are purged, too: amendments,
    summaries, compactions, accepted decisions, resolutions. The result is the same on every machine that purges it, so
    histories stay equal. scopes undo still reaches earlier states, without the content. Messages that quote the text
    are listed, and stay until you purge them.

    --file removes the content of a file from messages: the file itself, tool calls that name it, and their results. It
    also removes records of stored transcripts that are not messages, such as attached files, if they have its path.
    Give its path or the end of it; calls may write it with .., ~, $HOME or $PWD, or relative to their directory. A name
    without a dot, such as main, counts only where a path is expected: in a command, but of git only after --.
    --source removes all messages that were imported from an agent's transcript, given by its path or the end of it, and
    their records in the store's copy. The agent's file itself is not changed; its path is printed.
    --record removes a record of a stored transcript that is no message, such as an event. A purge that finds its text
    in such a record of another session leaves it, as it leaves other messages with the text, and prints its hash.

    What was purged is remembered as hashes and does not come back with an import of the same transcript or a fetch.
    Other people's stores are offered the same purge. Copies elsewhere are not reached: remotes until you push, their
    backups and caches, other stores until they accept, exports, and the agents' own transcripts. purge prints what to
    do about each of them.

    What others have purged is only offered and removes nothing by itself: --offers lists the offers, --accept purges
    what they name, --decline keeps it. See OFFERS OF OTHERS in the manual page. In a terminal purge asks for
    confirmation; scripts need --yes. To purge a whole conversation they also need --whole, so that an empty list of
    messages does not remove all of it. The exit code is 7 if some content could not be removed: do what is printed
    about it, then run --continue, which removes it and searches again.

    In a pipe purge prints, separated by tabs, the number of messages and of conversations purged and the number of
    places where content is left, and then a line for each of these places. --dry-run prints a row for each message or
    conversation: conversation, message, parts, subject. A note lists messages that only share lines with it that are
    common to many messages; after a purge, only with --verbose.

    Examples:
      scopes purge conv-001 3f2a91c0 --dry-run
      scopes purge conv-001 --whole
      scopes purge conv-001 --file .env
      scopes purge --source rollout-2026-05-06.jsonl
      scopes purge --search '"BEGIN PRIVATE KEY"'
      scopes purge --offers
      scopes purge --accept --dry-run
      scopes purge --decline --from 3f2a91c07b1d
      scopes purge --continue
    """
    invocation: Invocation = context.obj
    request = _read_request(conversation, messages or [], file, query, transcript)
    if records:
        request = _read_records(request, records)
    if offers or accept or decline or source is not None:
        about_more = go_on or whole or request._replace(conversations=()) != PurgeRequest()
        _check_one_decision([offers, accept, decline].count(True), about_more=about_more)
        what = "offers" if offers else "accept" if accept else "decline"
        return _decide(invocation, what, OfferChoice(source, conversation), dry_run=dry_run)
    _check_one_thing(request, go_on=go_on, whole=whole, dry_run=dry_run)
    if go_on:
        return _purge(invocation, None)
    request = pin(invocation.repository(), request)
    plan = plan_purge(invocation.repository(), request, places_of(invocation))
    return _show_plan(invocation, plan) if dry_run else _confirm_and_purge(invocation, request, plan, whole=whole)


def _confirm_and_purge(invocation: Invocation, request: PurgeRequest, plan: PurgePlanned, *, whole: bool) -> int:
    """Ask about what the plan names, and purge only that: the store may change until the answer comes."""
    if request.conversations and not whole:
        _check_wanted_whole(invocation, plan.conversations)
    _say_what_else(invocation, plan)
    invocation.confirm(question_of(plan))
    if not request.conversations:
        request = request._replace(only=frozenset(each.message for each in plan.messages))
    return _purge(invocation, request)


def _purge(invocation: Invocation, request: PurgeRequest | None) -> int:
    """Purge what the user has confirmed, or without a request finish the purge that was interrupted."""
    repository, places = invocation.repository(), places_of(invocation)
    with progress(invocation.output(), "purging") as meter:
        if request is None:
            return _show_done(invocation, continue_purge(repository, places, on_progress=lambda _: meter(1)))
        return _show_done(invocation, run_purge(repository, request, places, on_progress=lambda _: meter(1)))


def _check_wanted_whole(invocation: Invocation, conversations: Sequence[str]) -> None:
    """Refuse to purge a whole conversation without a question: the caller may have passed an empty list of messages."""
    if invocation.yes or not invocation.interactive:
        name = ", ".join(conversations)
        words = " ".join(map(quote, conversations))
        hint = f"all of it: scopes purge {words} --whole --yes; messages of it: scopes purge {words} MESSAGE... --yes"
        raise Invalid(f"no message of {name} is named", hint=hint)


def _read_records(request: PurgeRequest, records: Sequence[str]) -> PurgeRequest:
    if request != PurgeRequest():
        raise Invalid("--record is not combined with messages, a conversation or other choices", hint="leave them out")
    return PurgeRequest(records=tuple(records))


def _check_one_decision(count: int, *, about_more: bool) -> None:
    if about_more or count != 1:
        hint = "for example: scopes purge --accept CONV, or scopes purge --decline --from NAME"
        raise Invalid("--offers, --accept and --decline are used one at a time, without other choices", hint=hint)


def _check_one_thing(request: PurgeRequest, *, go_on: bool, whole: bool, dry_run: bool) -> None:
    if go_on + (request != PurgeRequest()) != 1:
        hint = "name a conversation, or use --file, --search, --source, --record, --accept or --continue"
        raise Invalid("name exactly one thing to purge", hint=hint)
    if go_on and dry_run:
        raise Invalid("--continue cannot be combined with --dry-run", hint="leave out one of them")
    if whole and not request.conversations:
        raise Invalid(
            "--whole needs a conversation and no messages", hint="leave it out, or name only the conversation"
        )


def _decide(invocation: Invocation, what: str, choice: OfferChoice, *, dry_run: bool) -> int:
    """List what is offered, or accept or decline it."""
    repository = invocation.repository()
    if what == "offers":
        if dry_run or choice != OfferChoice():
            raise Invalid("--offers lists all offers and takes no other options", hint="leave them out")
        return invocation.show(list_purge_offers(repository, invocation.cwd))
    if what == "decline":
        if dry_run:
            raise Invalid("--decline removes nothing, and has no --dry-run", hint="see: scopes purge --offers")
        return invocation.show(decline_purges(repository, choice))
    plan = plan_accept(repository, choice)
    if dry_run:
        return _show_plan(invocation, plan)
    _say_what_else(invocation, plan)
    invocation.confirm(question_of(plan, count_unpublished(repository, plan.conversations)))
    with progress(invocation.output(), "purging") as meter:
        done = accept_purges(repository, places_of(invocation), choice, on_progress=lambda _: meter(1))
        return _show_done(invocation, done)


def _show_plan(invocation: Invocation, plan: PurgePlanned) -> int:
    invocation.add_notes(note_alike(plan.alike))
    return invocation.show(plan)


def _show_done(invocation: Invocation, done: PurgeDone) -> int:
    if invocation.verbose:
        invocation.add_notes(note_alike(done.alike))
    return invocation.show(done)


def _say_what_else(invocation: Invocation, plan: PurgePlanned) -> None:
    """Print the notes of a plan (what else is removed, and where) before the user is asked to confirm it."""
    if invocation.interactive and not invocation.yes:
        for note in plan.notes:
            invocation.output().note(note)


def question_of(plan: PurgePlanned, unpublished: int = 0) -> str:
    """Return the question to confirm; `unpublished` messages are on no remote."""
    messages = {each.message: each for each in plan.messages}
    holders = {each.conversation for each in plan.messages}
    counts = (
        (len(messages), "message"), (len(plan.conversations), "conversation"), (plan.records, "other record"),
    )  # fmt: skip
    only = plan.messages[0] if len(messages) == 1 and not plan.conversations else None
    named = " and ".join(f"{count} {plural(count, noun)}" for count, noun in counts if count) or "what is listed"
    if plan.conversations:
        named += f" ({', '.join(plan.conversations[:_SHOWN])}{', ...' if len(plan.conversations) > _SHOWN else ''})"
    if only is not None:
        where = only.conversation if len(holders) == 1 else f"{len(holders)} conversations"
        named += f" ({only.message[:_SHORT]} of {where}: {only.subject})"
    own = f", with {unpublished} {plural(unpublished, 'message')} that no remote has," if unpublished else ""
    return f"remove {named}{own} for good? This cannot be undone."


def _read_request(
    conversation: str | None, messages: list[str], file: str | None, query: str | None, source: str | None
) -> PurgeRequest:
    if len([each for each in (messages, file, query, source) if each]) > 1:
        raise Invalid("messages, --file, --search and --source cannot be combined", hint="purge one after the other")
    if source is not None:
        if conversation is not None:
            raise Invalid("--source cannot be combined with a conversation", hint="leave out the conversation")
        return PurgeRequest(source=source)
    if messages or file is not None or query is not None:
        return PurgeRequest(conversation=conversation, messages=tuple(messages), file=file, query=query)
    return PurgeRequest(conversations=() if conversation is None else (conversation,))
