"""Find the breaches of own rules: each form of a rule states which events must be there, and in which order."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from scopes.check.findings import Event
from scopes.check.own_rule_events import EventFinder, Found, Place
from scopes.check.own_rules import Expectation, Outcome, Pattern
from scopes.check.rules.base import Settings, Unknown
from scopes.check.run import Run


class Breach(NamedTuple):
    """One breach of an own rule: what is wrong, and the events that show it.

    attempted: the call of the first event was refused or failed
    directory: where the command of the first event ran, relative to the workspace; None if it is no command
    """

    text: str
    events: tuple[Event, ...] = ()
    attempted: bool = False
    directory: str | None = None


def find_breaches(wanted: Expectation, run: Run, settings: Settings) -> tuple[list[Breach] | Unknown, int]:
    """Return the breaches of an own rule, and how many events its patterns matched.

    Events of which it is unknown whether they passed count as both; they make the rule unknown if it would be kept
    without them and broken with them, or the other way round.
    """
    with_unknown, count = _find_breaches(wanted, EventFinder(run, settings, matches_unknown=True))
    judged = [each for each in (*wanted.first, *wanted.second) if each.outcome in {"ok", "failed"}]
    if not judged:
        return with_unknown, count
    without_unknown, _ = _find_breaches(wanted, EventFinder(run, settings, matches_unknown=False))
    if bool(with_unknown) != bool(without_unknown):
        what = "a test run" if any(each.kind == "test" for each in judged) else "a command"
        return Unknown(f"it is not known whether {what} passed"), count
    return min(with_unknown, without_unknown, key=len), count


def _find_breaches(wanted: Expectation, finder: EventFinder) -> tuple[list[Breach], int]:
    events = _Events(finder, wanted, finder.find(wanted.first), finder.find(wanted.second))
    return list(_FORMS[wanted.form](events)), len(events.first) + len(events.second)


class _Events(NamedTuple):
    """The events that the patterns of a rule match, in the order of the run."""

    finder: EventFinder
    wanted: Expectation
    first: list[Found]
    second: list[Found]

    def each_once(self) -> Iterator[Found]:
        """Yield the events of A; equal commands of one call are one."""
        seen = set()
        for found in self.first:
            key = found.place.number, found.event.text, found.directory
            if key not in seen:
                seen.add(key)
                yield found

    def is_preceded(self, found: Found) -> bool:
        """Return True if an event of B comes before an event of A, or is what decides whether that one happens."""
        if not self.second:
            return self._is_guarded(found, "ok")
        if self.second[0].place.number < found.place.number:
            return True
        return any(each.place.precedes(found.place) for each in self._second_in(found.place)) or self._is_guarded(
            found, "ok"
        )

    def is_behind(self, found: Found) -> bool:
        """Return True if an event of A comes after one of B, and does not happen only if B passed when B failed."""
        if self.second and self.second[0].place.number < found.place.number:
            return True
        is_behind = any(each.place.precedes(found.place) for each in self._second_in(found.place))
        return is_behind and not self._is_guarded(found, "failed")

    def is_followed(self, found: Found) -> bool:
        """Return True if an event of B comes after an event of A."""
        if self.second and self.second[-1].place.number > found.place.number:
            return True
        return any(found.place.precedes(each.place) for each in self._second_in(found.place))

    def _second_in(self, place: Place) -> Sequence[Found]:
        """Return the events of B that are in the call of a place."""
        start, end = (bisect_left(self.second, place.number + n, key=lambda each: each.place.number) for n in (0, 1))
        return self.second[start:end]

    def _is_guarded(self, found: Found, outcome: Outcome) -> bool:
        patterns: list[Pattern] = [each for each in self.wanted.second if each.outcome == outcome]
        return bool(patterns) and self.finder.runs_only_if_ok(found, patterns)


def _breach(text: str, *found: Found) -> Breach:
    first = found[0] if found else None
    events = tuple(each.event for each in found)
    return Breach(text, events) if first is None else Breach(text, events, first.attempted, first.directory)


def _never(events: _Events) -> Iterator[Breach]:
    yield from (_breach("this must not happen", found) for found in events.each_once())


def _never_until(events: _Events) -> Iterator[Breach]:
    for found in events.each_once():
        if not events.is_preceded(found):
            yield _breach("this must not happen before the other event", found, *events.second[:1])


def _never_after(events: _Events) -> Iterator[Breach]:
    for found in events.each_once():
        if events.is_behind(found):
            yield _breach("this must not happen after the other event", found, events.second[0])


def _some(events: _Events) -> Iterator[Breach]:
    if not events.first:
        yield _breach("this must happen, and did not")


def _needs_before(events: _Events) -> Iterator[Breach]:
    for found in events.each_once():
        if not events.is_preceded(found):
            yield _breach("the event that must come before it is missing", found)


def _needs_after(events: _Events) -> Iterator[Breach]:
    for found in events.each_once():
        if not events.is_followed(found):
            yield _breach("the event that must come after it is missing", found)


def _last_after_last(events: _Events) -> Iterator[Breach]:
    first, second = events.first[-1:], events.second[-1:]
    if second and (not first or first[0].place.precedes(second[0].place)):
        yield _breach("the last one must come after the last other event", *second, *first)


def _at_most(events: _Events) -> Iterator[Breach]:
    limit, happened = events.wanted.limit, [each for each in events.first if not each.attempted]
    if len(happened) > limit:
        yield _breach(f"this happened {len(happened)} times, at most {limit} allowed", happened[limit])


_Form: TypeAlias = Callable[[_Events], Iterator[Breach]]
_FORMS: dict[str, _Form] = {
    "never": _never,
    "never until": _never_until,
    "never after": _never_after,
    "some": _some,
    "needs before": _needs_before,
    "needs after": _needs_after,
    "last after last": _last_after_last,
    "at most": _at_most,
}
