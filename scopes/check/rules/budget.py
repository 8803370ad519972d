"""Rules about what a run may cost: money, tokens, turns, time. Each applies only if its limit is set."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from scopes.check.findings import Finding
from scopes.check.rules.base import Parameter, Rule, Settings, Unknown
from scopes.check.run import Run


def _cost(run: Run) -> float | None:
    return None if run.end is None else run.end.cost_usd


def _tokens(run: Run) -> float | None:
    if run.tokens is None:
        return None
    return float((run.tokens.input or 0) + (run.tokens.output or 0))


def _turns(run: Run) -> float | None:
    if run.end is not None and run.end.turns is not None and run.end.turns >= 0:
        return float(run.end.turns)
    return float(run.answers) if run.answers else None


def _seconds(run: Run) -> float | None:
    return run.end.seconds if run.end is not None and run.end.seconds is not None else run.seconds


def _number(value: float) -> str:
    """Return a number with at most two decimals and without an exponent."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,.2f}"


def _budget(name: str, limit: str, unit: str, measure: Callable[[Run], float | None], explanation: str) -> Rule:
    def judge(run: Run, settings: Settings) -> Iterable[Finding] | Unknown:
        wanted, used = settings.parameters[limit], measure(run)
        if used is None:
            return Unknown(f"the transcript records no {unit}")
        if used <= wanted:
            return []
        message = f"{_number(used)} {unit}, at most {_number(wanted)} allowed"
        return [Finding(f"budget/{name}", settings.level, message, cure=f"raise `{limit}`")]

    text = f"{explanation} Unknown if the transcript does not record it. Applies only if `{limit}` is set."
    summary = f"A run takes at most `{limit}`"
    return Rule(
        f"budget/{name}", "error", summary, text, judge, (Parameter(limit, None, f"the most {unit}"),), requires=limit
    )


RULES = (
    _budget("cost", "max_usd", "US dollars", _cost, "The cost that the end record of the event stream reports."),
    _budget(
        "tokens",
        "max_tokens",
        "tokens",
        _tokens,
        "Input, cached or not, and output, of all answers of all agents.",
    ),
    _budget("turns", "max_turns", "turns", _turns, "The turns of the end record, else the answers of the agents."),
    _budget(
        "time",
        "max_seconds",
        "seconds",
        _seconds,
        "The duration of the end record, else that of all messages.",
    ),
)
