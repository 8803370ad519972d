"""Texts that had no secret are not searched again; whatever is new among them is."""

from __future__ import annotations

import pytest

from scopes.secret_scan import clean_texts, prefilter
from scopes.secret_scan.clean_texts import CleanTexts
from tests.support.planted import KINDS

NAMES = [b"carol <carol@agents.scopes>", b'{"kind":"agent"}', b"participants"]


@pytest.fixture
def searched(monkeypatch):
    """The bytes that were searched, one after the other."""
    found = []
    search = prefilter.may_hold_secret
    monkeypatch.setattr(prefilter, "may_hold_secret", lambda data: found.append(data) or search(data))
    return found


@pytest.mark.parametrize(("kind", "secret"), KINDS)
def test_a_secret_is_found_among_texts_that_are_known(kind, secret):
    texts = CleanTexts()
    assert not texts.may_hold(NAMES)
    assert texts.may_hold([*NAMES, secret.encode()]), kind


def test_the_beginning_of_a_secret_is_found():
    assert CleanTexts().may_hold([*NAMES, dict(KINDS)["github-token"][:20].encode()])


def test_a_text_is_searched_once(searched):
    texts = CleanTexts()
    for _ in range(3):
        assert not texts.may_hold([*NAMES, *NAMES])
    assert not texts.may_hold([*NAMES, b"one more"])
    assert searched == [b"\n".join(NAMES), b"one more"]


def test_what_was_searched_with_something_suspicious_is_searched_again(searched):
    texts, secret = CleanTexts(), KINDS[1][1].encode()
    for _ in range(2):
        assert texts.may_hold([*NAMES, secret])
    assert len(searched) == 2


def test_long_texts_and_too_many_are_not_kept(searched, monkeypatch):
    monkeypatch.setattr(clean_texts, "_MAX_TEXTS", 2)
    texts = CleanTexts()
    for _ in range(2):
        texts.may_hold([b"long " * 50])
        texts.may_hold([b"a", b"b"])
        texts.may_hold([b"c"])
    assert [len(each) for each in searched] == [250, 3, 1] * 2
