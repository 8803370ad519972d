"""Texts that repeat the beginnings of secrets take no longer than ten times what an ordinary text of their size takes."""

from __future__ import annotations

import time

import pytest

from scopes import secret_patterns
from scopes.secret_patterns import redact
from scopes.secret_scan import cut_ends
from scopes.secret_scan.cut_ends import find_cut_ends
from scopes.secret_scan.cut_patterns import cut_pattern, cut_rules, longest
from scopes.secret_scan.scan import scan_text
from tests.support.planted import KINDS
from tests.test_architecture import ROOT

ANCHORS = secret_patterns._ANCHORS
SIZE = 200_000
SEARCHES = (scan_text, find_cut_ends, redact)


def repeated(anchor, between, size, line=0):
    """Return a text of a size that repeats an anchor, in lines of a length; in one line without it."""
    text = f"{anchor}{between}" * (size // len(anchor + between))
    return "\n".join(text[at : at + line] for at in range(0, len(text), line)) if line else text


def seconds(search, text):
    began = time.process_time()
    search(text)
    return time.process_time() - began


def ordinary(size):
    sources = (path.read_text(encoding="utf-8") for path in sorted((ROOT / "scopes" / "store").glob("*.py")))
    text = "".join(sources)
    return (text * (size // len(text) + 1))[:size]


@pytest.mark.sweep
@pytest.mark.parametrize("anchor", ANCHORS)
def test_no_beginning_takes_ten_times_as_long_as_an_ordinary_text(anchor):
    usual = max(seconds(search, ordinary(SIZE)) for search in SEARCHES)
    for between in ("", "-", "a1B2" * 3):
        for line in (0, 250, 2_500, 7_000):
            text = repeated(anchor, between, SIZE, line)
            for search in SEARCHES:
                assert seconds(search, text) < 10 * usual, (between, line, search.__name__)


@pytest.fixture
def tries(monkeypatch):
    """Where the beginnings of secrets were looked for."""
    places = []
    match_at = cut_ends.match_at
    monkeypatch.setattr(cut_ends, "match_at", lambda rule, text, at: places.append(at) or match_at(rule, text, at))
    return places


@pytest.mark.parametrize("anchor", [each for each in ANCHORS if each[0] not in '"-/:' and each[-1] in "-_"])
def test_only_beginnings_near_a_cut_are_tried(tries, anchor):
    """Each of the others would be tried up to the greatest length of its rule: 46 seconds for a megabyte of `eyJ-`."""
    most = 2 * max(each.longest for each in cut_rules() if any(start in anchor for start in each.rule.anchors))
    for size in (20_000, 40_000):
        tries.clear()
        find_cut_ends(repeated(anchor, "", size))
        assert all(at > size - most for at in tries)
        assert len(tries) <= most


@pytest.mark.parametrize("anchor", ["eyJ", "xoxb-", "glpat-", "sk-", "ya29."])
def test_a_word_that_is_not_cut_has_no_beginnings(tries, anchor):
    assert find_cut_ends(f"{anchor}a1B2c3D4 and more of it") == []
    assert tries == []
    find_cut_ends(f"{anchor}a1B2c3D4")
    assert tries


def test_no_secret_is_longer_than_its_rule_says():
    """Otherwise what is left of one would be taken for too far from its end."""
    for kind, secret in KINDS:
        assert len(secret) <= max(each.longest for each in cut_rules() if each.rule.kind == kind), kind
    assert all(each.longest >= max(map(len, each.rule.anchors)) + 6 for each in cut_rules() if each.longest)


@pytest.mark.parametrize(
    ("pattern", "length"),
    [("ab_[0-9]{4}", 7), (r"a\.(?:live|test|x)-y", 8), (r"[a-z]{2,9}(?:-\d)?", 11), ("a|bcd|ef", 3), ("x(y|zz){3}", 7)],
)
def test_the_greatest_length_of_a_pattern_is_counted(pattern, length):
    assert longest(pattern) == length


@pytest.mark.parametrize("dots", ["...", "…", "\n", "\r\n", "\\", "%2", ""])
def test_what_is_left_is_found_at_every_kind_of_cut(dots):
    for kind, secret in KINDS:
        for size in (len(secret) - 3, len(secret) - 8):
            found = find_cut_ends(f"see {secret[:size]}{dots}")
            assert [each.rule for each in found] == [kind], (kind, size)


def test_a_run_that_may_be_cut_is_read_once_and_given_back_nothing():
    """A pattern that gives characters back one by one would try the place of the cut at each."""
    assert "[A-Za-z0-9-]{20,200}+" in cut_pattern(r"xoxb-[A-Za-z0-9-]{20,200}")
    assert "}+" not in cut_pattern(r"hvs\.[A-Za-z0-9_.-]{24,200}")  # three dots are a cut


@pytest.mark.parametrize("rule", [rule for rule in secret_patterns.RULES if rule.lead], ids=lambda rule: rule.kind)
def test_a_beginning_without_what_precedes_it_is_tried_once(rule, monkeypatch):
    """Each place before the anchor was tried: 15 tries for each of `.atlasv1.`, which took 2.7 seconds a megabyte."""
    looked, compiled = [], secret_patterns._compiled
    monkeypatch.setattr(secret_patterns, "_compiled", lambda pattern: looked.append(pattern) or compiled(pattern))
    text = repeated(rule.anchors[0], "-", 5_000)
    assert secret_patterns.find_secrets(text) == []
    assert rule.pattern not in looked
    assert looked.count(f"(?<={rule.lead})") == text.count(rule.anchors[0])


@pytest.mark.parametrize("kind", ["terraform-token", "telegram-token"])
def test_what_precedes_a_beginning_is_found_behind_other_beginnings(kind):
    (rule,) = (rule for rule in secret_patterns.RULES if rule.kind == kind)
    secret = dict(KINDS)[kind]
    (found,) = secret_patterns.find_secrets(f"{rule.anchors[0] * 20} {secret} {rule.anchors[0] * 20}")
    assert found.kind == kind
    assert len(rule.anchors[0] * 20) + 1 == found.start
