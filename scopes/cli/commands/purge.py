"""`scopes purge`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from shlex import quote
from typing import Annotated, Final

from scopes.cli.commands.secrets import find_elsewhere, finders_of
from scopes.cli.invocation import Invocation
from scopes.cli.options import Continue, Text, Texts, argument, option
from scopes.clock import now_nanoseconds, parse_date
from scopes.errors import Invalid, NotFound, Refused
from scopes.purge.accept import OfferChoice, accept_purges, count_unpublished, plan_accept
from scopes.purge.decline import decline_purges
from scopes.purge.purge import Places, PurgeDone, PurgePlanned, continue_purge, note_alike, plan_purge, purge_chosen
from scopes.purge.purge_offers import list_purge_offers
from scopes.purge.retention import list_older
from scopes.purge.selection import PurgeRequest, pin
from scopes.render.output import progress
from scopes.result import Note, plural

_SHOWN: Final = 5
_SHORT: Final = 8  # characters of an id
_NANOSECONDS: Final = 1_000_000_000


def purge(
    invocation: Invocation,
    words: Annotated[Texts, argument("[CONV] [MESSAGE...]", "The messages; without any the whole conversation")] = None,
    go_on: Continue = False,
    whole: Annotated[bool, option("--whole", "All of CONV, where nobody can be asked")] = False,
    file: Annotated[Text, option("--file PATH", "The content of this file, in all messages")] = None,
    query: Annotated[Text, option("--search QUERY", "All messages that a search finds")] = None,
    secret: Annotated[Text, option("--secret ID", "All that has this secret")] = None,
    older_than: Annotated[Text, option("--older-than WHEN", "All conversations without a newer message")] = None,
    records: Annotated[Texts, option("--record", hidden=True)] = None,
    offers: Annotated[bool, option("--offers", hidden=True)] = False,
    accept: Annotated[bool, option("--accept", hidden=True)] = False,
    decline: Annotated[bool, option("--decline", hidden=True)] = False,
    source: Annotated[Text, option("--from", hidden=True)] = None,
) -> int:
    """Remove messages, files or secrets for good.

    This cannot be undone. The content is removed from every branch, the trash, the operation log, memory, transcripts
    in the store, the index and all caches; then every file is searched for it. What was made from a purged message goes
    with it. Copies elsewhere are named. Revoke a key or a password first. You are asked before; scripts need --yes, and
    for a whole conversation --whole.

    Examples:
      scopes purge --secret 3fa9
      scopes purge conv-001 fq7x2m
      scopes purge --older-than '2 years' --dry-run
    """
    conversation, messages = (words[0], words[1:]) if words else (None, [])
    things = {
        "messages": bool(words) and not (file or query), "--file": file is not None, "--search": query is not None,
        "--secret": secret is not None, "--older-than": older_than is not None, "--record": bool(records),
        "--continue": go_on, "--offers, --accept and --decline": offers or accept or decline,
    }  # fmt: skip
    given = [name for name, is_given in things.items() if is_given]
    if given == ["messages", "--offers, --accept and --decline"] and not messages:
        given.pop(0)
    if len(given) != 1 or (messages and (file or query)):
        hint = "a conversation, messages of it, or --file, --search, --secret, --older-than or --continue"
        raise Invalid("name exactly one thing to purge", hint=hint)
    if whole and (given != ["messages"] or messages):
        hint = "leave it out, or name only the conversation"
        raise Invalid("--whole needs a conversation and no messages", hint=hint)
    if go_on and invocation.dry_run:
        raise Invalid("--continue cannot be combined with --dry-run", hint="leave out one of them")
    if offers or accept or decline:
        return _decide(invocation, OfferChoice(source, conversation), offers=offers, accept=accept)
    if go_on:
        run = partial(continue_purge, invocation.repository(), places_of(invocation))
        return _purge(invocation, run)
    repository = invocation.repository()
    if older_than is not None:
        return _purge_older(invocation, parse_date(_as_time(older_than), now_nanoseconds()) // _NANOSECONDS)
    if secret is not None:
        request = PurgeRequest(messages=_messages_of(invocation, secret))
    elif records:
        request = PurgeRequest(records=tuple(records))
    elif messages or file is not None or query is not None:
        request = pin(repository, PurgeRequest((), conversation, tuple(messages), file, query))
    else:
        request = PurgeRequest((conversation or "",))
    plan = plan_purge(repository, request, places_of(invocation))
    if invocation.dry_run:
        return _show_plan(invocation, plan)
    if request.conversations and not whole and (invocation.yes or not invocation.interactive):
        place = quote(plan.conversations[0])  # the caller may have passed an empty list of messages
        hint = f"all of it: scopes purge {place} --whole --yes; messages of it: scopes purge {place} MESSAGE... --yes"
        raise Invalid(f"no message of {plan.conversations[0]} is named", hint=hint)
    if not request.conversations:  # the store may change until the answer comes
        request = request._replace(only=frozenset(each.message for each in plan.messages))
    return _confirm_and_purge(invocation, plan, lambda: request)


def places_of(invocation: Invocation) -> Places:
    """Return where copies of what is in the store are outside of it: index, contexts and logs."""
    contexts = os.path.join(invocation.cache_directory, "contexts")
    return Places(invocation.index_directory, (contexts,), invocation.state_directory)


def _as_time(text: str) -> str:
    """Return `2 years` as `2 years ago`, which is what it means here; dates stay as they are."""
    return f"{text} ago" if text[:1].isdecimal() and "-" not in text and not text.endswith("ago") else text


def _purge_older(invocation: Invocation, cutoff: int) -> int:
    """Purge all conversations without a message after a time."""
    repository = invocation.repository()

    def make_request() -> PurgeRequest:
        names, notes = list_older(repository, cutoff)
        if not names:
            raise NotFound("no conversation is older than that", hint=notes[0].text if notes else None)
        return PurgeRequest(tuple(names))

    names, notes = list_older(repository, cutoff)
    if not names:  # as a script finds it, each day
        nothing = PurgePlanned(messages=(), conversations=(), commits=0, operations=0, remotes=())
        return invocation.show(replace(nothing, notes=(Note("no conversation is older than that"), *notes)))
    plan = plan_purge(repository, make_request(), places_of(invocation))
    if invocation.dry_run:
        invocation.add_notes(notes)
        return _show_plan(invocation, plan)
    return _confirm_and_purge(invocation, plan, make_request)


def _messages_of(invocation: Invocation, secret: str) -> tuple[str, ...]:
    """Return the messages that have a secret; a note has the commands for other places, such as a title.

    Raises:
        Invalid: it is a rule.
        Refused: no message has it.
    """
    from scopes.secrets.list import SecretRules, explain

    with finders_of(invocation) as finders:
        found = explain(invocation.repository(), secret, **finders, find_elsewhere=find_elsewhere)
    if isinstance(found, SecretRules):
        raise Invalid(f"{secret!a} is a rule, and no secret", hint="list the secrets: scopes secrets list")
    messages = tuple(dict.fromkeys(row.message for row in found.places if row.message is not None))
    others = [cure for cure in found.cures if not cure.startswith("scopes redact")]
    if not messages:
        raise Refused("no message has this secret", hint="; ".join(others) or "see: scopes secrets list -a")
    if others:
        invocation.add_notes([Note("it is in a name or a title, too", "; ".join(others))])
    return messages


def _confirm_and_purge(invocation: Invocation, plan: PurgePlanned, make_request: Callable[[], PurgeRequest]) -> int:
    """Ask about what the plan names, and purge it."""
    _say_what_else(invocation, plan)
    invocation.confirm(question_of(plan))
    return _purge(invocation, partial(purge_chosen, invocation.repository(), make_request, places_of(invocation)))


def _purge(invocation: Invocation, run: Callable[..., PurgeDone]) -> int:
    with progress(invocation.output(), "purging") as meter:
        done = run(on_progress=lambda _: meter(1))
    if invocation.verbose:
        invocation.add_notes(note_alike(done.alike))
    return invocation.show(done)


def _decide(invocation: Invocation, choice: OfferChoice, *, offers: bool, accept: bool) -> int:
    """List what others have purged, or accept or decline it."""
    repository, dry_run = invocation.repository(), invocation.dry_run
    if offers:
        return invocation.show(list_purge_offers(repository, invocation.cwd))
    if not accept:
        return invocation.show(decline_purges(repository, choice))
    plan = plan_accept(repository, choice)
    if dry_run:
        return _show_plan(invocation, plan)
    _say_what_else(invocation, plan)
    invocation.confirm(question_of(plan, count_unpublished(repository, plan.conversations)))
    return _purge(invocation, partial(accept_purges, repository, places_of(invocation), choice))


def _show_plan(invocation: Invocation, plan: PurgePlanned) -> int:
    invocation.add_notes(note_alike(plan.alike))
    return invocation.show(plan)


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
        named += f" ({_first(plan.conversations)})"
    if only is not None:
        where = only.conversation if len(holders) == 1 else f"{len(holders)} conversations"
        named += f" ({only.message[:_SHORT]} of {where}: {only.subject})"
    own = f", with {unpublished} {plural(unpublished, 'message')} that no remote has," if unpublished else ""
    return f"remove {named}{own} for good? This cannot be undone."


def _first(names: Sequence[str]) -> str:
    return f"{', '.join(names[:_SHOWN])}{', ...' if len(names) > _SHOWN else ''}"
