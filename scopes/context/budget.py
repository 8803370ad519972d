"""`budget`: divide a context window into parts, in whole tokens that add up to it (S1-13, S1-14)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from scopes.errors import Invalid
from scopes.result import Result, named
from scopes.store.config import Config
from scopes.tokens.count import Model


class Shares(NamedTuple):
    """Shares in percent: of the window, and of its content part; each mapping adds up to 100."""

    window: Mapping[str, int]
    content: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget(Result):
    """Tokens by part: `parts` adds up to `window`, `content_parts` to `parts["content"]`."""

    window: int
    model: str | None = None
    preset: str
    parts: Mapping[str, int]
    content_parts: Mapping[str, int] = field(metadata=named("content"))


DEFAULT_SHARES = Shares({"content": 60, "response": 20, "overhead": 20}, {"files": 50, "history": 30, "metadata": 20})
_ZEN_SMALL = Shares({"content": 60, "response": 40}, {"files": 30, "history": 50, "metadata": 20})
_ZEN_LARGE = Shares({"content": 80, "response": 20}, {"files": 40, "history": 40, "metadata": 20})
_ZEN_LARGE_FROM = 300_000
PRESETS = ("default", "zen")
DEFAULT_BUDGET, DEFAULT_TASK_BUDGET = 8_000, 4_000
MAX_WINDOW = 10**12


def plan_budget(
    window: int, preset: str = "default", *, model: str | None = None, default: Shares = DEFAULT_SHARES
) -> Budget:
    """Divide a window by the shares of a preset; `default` is the preset named default.

    Raises:
        Invalid: the window is negative or too large, or there is no such preset.
    """
    if not 0 <= window <= MAX_WINDOW:
        raise Invalid(f"a window of {window} tokens cannot be divided", hint="for example: --budget 200k")
    shares = _shares_of(window, preset, default)
    parts = divide(window, shares.window)
    return Budget(
        window=window, preset=preset, model=model, parts=parts, content_parts=divide(parts["content"], shares.content)
    )


def divide(tokens: int, percent: Mapping[str, int]) -> dict[str, int]:
    """Divide a number by shares, rounding down; the remainder goes to the first parts, one token each."""
    parts = {name: tokens * share // 100 for name, share in percent.items()}
    for name in list(parts)[: tokens - sum(parts.values())]:
        parts[name] += 1
    return parts


def default_budget(config: Config, model: Model | None, *, has_task: bool) -> int:
    """Return the budget if none is given: the content part of the model's window, 4000 for a task, otherwise 8000."""
    if model is not None:
        return plan_configured(config, model.window).parts["content"]
    return DEFAULT_TASK_BUDGET if has_task else DEFAULT_BUDGET


def plan_configured(config: Config, window: int, *, model: str | None = None) -> Budget:
    """Divide a window by the shares of the settings, or by the preset that they name; raises as `parse_shares` too."""
    division = config.find("scopes.budgetWindow")
    preset = "zen" if division == "zen" else "default"
    shares = parse_shares(None if division == preset else division, config.find("scopes.budgetContent"))
    return plan_budget(window, preset, model=model, default=shares)


def parse_shares(window: str | None, content: str | None) -> Shares:
    """Parse the settings for shares, such as 60/20/20; None leaves the default (S1-14).

    Raises:
        Invalid: a setting is malformed or does not add up to 100.
    """
    return Shares(
        _parse("scopes.budgetWindow", window, DEFAULT_SHARES.window),
        _parse("scopes.budgetContent", content, DEFAULT_SHARES.content),
    )


def _parse(key: str, text: str | None, default: Mapping[str, int]) -> Mapping[str, int]:
    if text is None:
        return default
    numbers = [int(number) if number.isdecimal() else -1 for number in text.split("/")]
    if len(numbers) != len(default) or min(numbers) < 0 or sum(numbers) != 100:
        raise Invalid(
            f"invalid {key} {text!a}: must be {len(default)} percentages that add up to 100",
            hint=f"{'/'.join(default)} in percent, for example: {'/'.join(map(str, default.values()))}",
        )
    return dict(zip(default, numbers, strict=True))


def _shares_of(window: int, preset: str, default: Shares) -> Shares:
    if preset == "zen":
        return _ZEN_SMALL if window < _ZEN_LARGE_FROM else _ZEN_LARGE
    if preset == "default":
        return default
    raise Invalid(f"{preset!a} is not a valid preset", hint="presets: " + ", ".join(PRESETS))
