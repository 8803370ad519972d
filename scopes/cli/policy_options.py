"""Check the options that choose the policy of `scopes check` and of its hook."""

from __future__ import annotations

from scopes.check.policy import FAIL_ON, PRESETS
from scopes.errors import Invalid


def check_policy_options(
    path: str | None, revision: str | None, preset: str | None, fail_on: str | None = None
) -> None:
    """Check the values of --rules, --rules-from, --preset and --fail-on.

    Raises:
        Invalid: one is empty or not one of the words that it can be.
    """
    for option, value in (("--rules", path), ("--rules-from", revision)):
        if value == "":  # would be taken for an option that is not given, and the policy for another one
            raise Invalid(f"{option} is empty", hint="leave it out, or set the variable that it comes from")
    for option, value, choices in (("--fail-on", fail_on, FAIL_ON), ("--preset", preset, PRESETS)):
        if value is not None and value not in choices:
            raise Invalid(f"{option} {value!a} is not possible: use one of {', '.join(choices)}")
