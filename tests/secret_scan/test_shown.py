"""What reports show is cleared as at the doors, and loses short passwords too."""

from __future__ import annotations

import pytest

from scopes.check.findings import Event, Finding, redacted
from scopes.check.rules.base import event_of_text
from scopes.check.run import Text
from scopes.secret_scan.shown import hide_secrets
from tests.support.planted import FORMS, KINDS, leaked_parts


@pytest.mark.parametrize("form", FORMS)
def test_no_kind_is_shown_in_any_form_that_the_doors_know(form):
    for kind, secret in KINDS:
        assert leaked_parts(kind, secret, hide_secrets(FORMS[form](secret))) == [], kind


@pytest.mark.parametrize("text", ["password=hunter2hunter2", "curl -u admin:s3cret https://h.io", "Cookie: sid=abc"])
def test_short_values_that_log_in_somewhere_are_not_shown(text):
    assert "[redacted " in hide_secrets(text)


def test_what_is_hidden_once_stays_as_it_is():
    text = hide_secrets(" ".join(["curl -u admin:s3cret https://h.io", *(secret for _, secret in KINDS)]))
    assert hide_secrets(text) == text
    assert hide_secrets("go test ./... && git push") == "go test ./... && git push"


@pytest.mark.parametrize("form", ["percent", "utf-16", "colors inside", "unicode escapes", "base64"])
def test_every_text_of_a_finding_is_hidden(form):
    for kind, secret in KINDS[:6]:
        text = FORMS[form](secret)
        found = redacted(
            Finding("a/rule", "error", text, match=text, events=(Event(1, "m", text),), cure=text, file=text)
        )
        assert leaked_parts(kind, secret, "\n".join([found.message, found.match, found.cure, found.file])) == []
        assert leaked_parts(kind, secret, found.events[0].text) == []
        assert leaked_parts(kind, secret, event_of_text(Text(1, "m", "a", "agent", text)).text) == []
