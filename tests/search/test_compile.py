"""From a query to SQL: full-text expressions, fields with invalid values, and what is tested on messages instead."""

from __future__ import annotations

import pytest

from scopes.errors import Invalid
from scopes.ids import ConversationId
from scopes.search.query import Names, compile_query, match_expression, parse, unknown_fields, with_any_phrase


class NoNames(Names):
    """An empty store."""

    def tagged(self, tag):
        return iter(())

    def in_project(self, name):
        return iter(())


NAMES = NoNames(None, None)


def plan(text, conversation=None):
    return compile_query(text, parse(text), conversation, NAMES)


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("stack", '"stack"'),
        ("Stack*", '"stack" *'),
        ('"stack overflow"', '"stack overflow"'),
        ('"stack over"*', '"stack over" *'),
        ("a b", '("a") AND ("b")'),
        ("a OR b", '("a") OR ("b")'),
        ("a (b OR c)", '("a") AND (("b") OR ("c"))'),
        ("NEAR", '"near"'),
        ('a"b"', '("a") AND ("b")'),
        ("body:x", '"body x"'),
        ("a -b", None),
        ("NOT a", None),
        ("author:carol", None),
        ("a (b OR kind:plan*)", None),
    ],
)
def test_phrases_with_and_and_or_are_one_full_text_expression(text, expression):
    assert match_expression(parse(text), ()) == expression


def test_columns_limit_each_phrase_of_an_expression():
    assert match_expression(parse("a b"), ("text", "reasoning")) == (
        '({text reasoning} : "a") AND ({text reasoning} : "b")'
    )


@pytest.mark.parametrize(
    ("text", "match", "condition", "parameters"),
    [
        ("a b", '("a") AND ("b")', "TRUE", ()),
        ("a -b", '("a")', "(NOT (message.number IN (SELECT rowid FROM full_text WHERE full_text MATCH ?)))", ('"b"',)),
        ("a in:text", '({text} : "a")', "TRUE", ()),
        ("a in:text,reasoning", '({text reasoning} : "a")', "TRUE", ()),
        ("a in:text in:reasoning", '({text reasoning} : "a")', "TRUE", ()),
    ],
)
def test_words_rank_and_negated_words_only_filter(text, match, condition, parameters):
    found = plan(text)
    assert (found.match, found.condition, found.parameters) == (match, condition, parameters)


@pytest.mark.parametrize(
    ("text", "parameters"),
    [
        ("author:Carol", ("author", "carol")),
        ("agent:plan*", ("author", "plan*", "author_kind", "agent")),
        ("model:gpt[4]", ("model", "gpt[[]4]")),
        ("kind:prompt", ("kind", "prompt")),
        ("tool:Bash", ("tool", "bash")),
        ("exit:1", ("exit", "1")),
        ("is:FAILED", ("is", "failed")),
        ("branch:Fix/*", ("Fix/*", "Fix/*", "[]")),
        ("file:./src/", ("file", "src", "file", "src/*", "file", "*/src", "file", "*/src/*")),
        ("before:2026-01-01", (1767225600,)),
        ("tag:v1", ("[]",)),
        ("project:/p", ("[]",)),
    ],
)
def test_the_values_of_fields_are_parameters_and_never_part_of_the_sql(text, parameters):
    found = plan(text)
    assert (found.match, found.parameters) == (None, parameters)
    assert found.condition.count("?") == len(parameters)


@pytest.mark.parametrize("value", ["x' OR 1=1 --", "'; DROP TABLE message; --", "%_", "a\x00b", "*", "\ud800"])
@pytest.mark.parametrize("field", ["author", "model", "tool", "file", "branch", "tag", "project"])
def test_a_hostile_value_changes_no_sql(field, value):
    assert plan(f'{field}:"{value}"').condition == plan(f"{field}:x").condition


def test_a_conversation_is_one_more_condition():
    everywhere, inside = plan("a"), plan("a", ConversationId("conv-001"))
    assert (everywhere.condition, inside.match) == ("TRUE", '("a")')
    assert inside.parameters == ("conv-001",)


@pytest.mark.parametrize(
    ("text", "at", "problem"),
    [
        ("a kind:answr", 3, "'answr' is not a message kind"),
        ("kind:root", 1, "'root' is not a message kind"),
        ("a -kind:x", 4, "'x' is not a message kind"),
        ("a (b OR is:good)", 9, "'good' is not a valid value of is:"),
        ("exit:one", 1, "'one' is not an exit code"),
        ("exit:1.5", 1, "'1.5' is not an exit code"),
        ("a tokens:>", 3, "'>' is not a number of tokens"),
        ("tokens:-5", 1, "'-5' is not a number of tokens"),
        ("in:text", 1, "in: limits where words and re: are searched"),
        ("author:x in:text", 10, "in: limits where words and re: are searched"),
        ("a (in:text OR b)", 4, "in: limits where words and re: are searched"),
        ("a in:body", 3, "in: takes text, reasoning, tool_input, tool_result, not 'body'"),
        ("a in:text,", 3, "in: takes text, reasoning, tool_input, tool_result, not ''"),
        ("a in:Text", 3, "in: takes text, reasoning, tool_input, tool_result, not 'Text'"),
        ("before:soon", 1, "soon"),
        ("a OR after:2026-13-01", 6, "2026-13-01"),
    ],
)
def test_an_invalid_value_is_named_with_its_place(text, at, problem):
    with pytest.raises(Invalid) as refusal:
        plan(text)
    assert problem in refusal.value.message
    assert refusal.value.message.endswith(f"character {position_shown(text, at)} of the query")


def position_shown(text, at):
    """Return where the parser says that a term begins: a group's own place is that of the field in it."""
    return text.index("in:") + 1 if text == "a (in:text OR b)" else at


@pytest.mark.parametrize("pattern", ["(", "[a", "*", "(?P<x", "(?<!x)y"])
def test_an_invalid_regular_expression_is_refused(pattern):
    with pytest.raises(Invalid, match="is not a valid regular expression"):
        plan(f're:"{pattern}"')


@pytest.mark.parametrize(
    ("text", "late", "marked", "match"),
    [
        ("re:x", "matches(0, message.number)", 1, None),
        ("a re:x", "matches(0, message.number)", 1, '("a")'),
        ("-re:x", "NOT (matches(0, message.number))", 0, None),
        ("NOT -re:x", "matches(0, message.number)", 1, None),
        ("author:c re:x", "matches(0, message.number)", 1, None),
        ("(re:x OR is:failed)", "({is}) OR (matches(0, message.number))", 1, None),
        ("tokens:5", "token_count(message.number) = 5", 0, None),
        ("(tokens:<=5 OR is:failed)", "({is}) OR (token_count(message.number) <= 5)", 0, None),
        ("(re:x re:y OR a)", "({a}) OR ((matches(0, message.number)) AND (matches(1, message.number)))", 2, None),
    ],
)
def test_what_the_index_cannot_decide_is_tested_on_the_messages_and_last(text, late, marked, match):
    found = plan(text)
    known = {"is": plan("is:failed").condition[1:-1], "a": plan("-a").condition[6:-2]}
    assert (found.late, found.match) == (f"({late.format_map(known)})", match)
    assert len([pattern for pattern in found.patterns if not pattern.negated]) == marked


@pytest.mark.parametrize(
    ("text", "relaxed"),
    [
        ("a b", "a OR b"),
        ("a b c", "a OR b OR c"),
        ("a b author:x", "(a OR b) author:x"),
        ("a b -c", "(a OR b) -c"),
        ("a (b OR c)", "a OR (b OR c)"),
        ("a", "a"),
        ("a author:x", "a author:x"),
        ("a OR b", "a OR b"),
        ("-a -b", "-a -b"),
    ],
)
def test_any_of_the_words_is_enough_while_fields_and_negations_apply(text, relaxed):
    left, right = with_any_phrase(parse(text)), parse(relaxed)
    assert without_places(left) == without_places(right)


def without_places(node):
    """Return a query tree as nested tuples without positions, with the items of a group sorted."""
    if hasattr(node, "words"):
        return node.words
    if hasattr(node, "value"):
        return (node.name, node.value)
    inner = node.items if hasattr(node, "items") else (node.item,)
    return (type(node).__name__, *sorted(map(without_places, inner), key=repr))


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("colour:red", ["colour"]),
        ("a -size:5 (mood:good OR b)", ["size", "mood"]),
        ('colour:"dark red"', ["colour"]),
        ("author:carol Kind:prompt", []),
        ("https://example.org", []),
        ("std::vector", []),
        ("TODO:", []),
        ("12:30", []),
    ],
)
def test_words_before_a_colon_that_are_no_fields_are_listed(text, unknown):
    assert list(unknown_fields(text)) == unknown
