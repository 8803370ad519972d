"""A prompt that only agrees to a proposal points back to it; an instruction of its own does not."""

from __future__ import annotations

import pytest

from scopes.code_links.approvals import MAX_APPROVAL, is_approval


@pytest.mark.parametrize(
    "prompt",
    [
        "yes", "Yes.", "YES!", "yep", "y", "ok", "OK, do it", "sure, thanks", "yes please do", "Go ahead.", "go for it",
        "do it", "please do", "let's do this", "Let\N{RIGHT SINGLE QUOTATION MARK}s go", "continue", "proceed", "LGTM", "sounds good to me", "keep going",
        "perfect", "yep let's refactor. do we have tests to move too?", "ok, let's go with the second one", "good",
        "great!", "ja, gerne", "mach das", "oui", "vas-y", "d'accord", "sí", "да", "はい", "好的",
    ],
)  # fmt: skip
def test_consent_and_permission_to_go_on_are_approvals(prompt):
    assert is_approval(prompt)


@pytest.mark.parametrize(
    "prompt",
    [
        "1",
        "C)",
        "#2",
        "option 3",
        "2 and 3",
        "1+2",
        "do 1,2 and 5",
        "all four",
        "both",
        "the second one",
        "all of them",
    ],
)
def test_a_choice_among_proposals_is_an_approval(prompt):
    assert is_approval(prompt)


@pytest.mark.parametrize(
    "prompt",
    [
        "", "?", "no", "no, write the plan", "fix the tests", "run the tests", "/simplify", "commit it", "lint fails",
        "Commit the changes", "add a mean function that raises on an empty list, do not commit", "why?", "more comments",
        "good morning, what is left to do?", "go through the list of issues", "all tests fail", "2026", "all of the tests fail",
        "let's see", "right now it prints nothing",
    ],
)  # fmt: skip
def test_an_instruction_of_its_own_is_none(prompt):
    assert not is_approval(prompt)


def test_a_long_instruction_is_none_also_if_it_begins_like_an_approval():
    begin = "yes, and then write a command that lists the branches"
    assert is_approval(begin.ljust(MAX_APPROVAL, "."))
    assert not is_approval(begin.ljust(MAX_APPROVAL + 1, "."))
