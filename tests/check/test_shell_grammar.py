"""The grammar of tree-sitter, the texts that it cannot read and that are mended, and its limit of time."""

from __future__ import annotations

import pytest
import tree_sitter_bash
from tree_sitter import Language, Parser

from scopes.check import shell_grammar
from scopes.check.shell import parse_commands
from scopes.check.shell_grammar import MAX_HEREDOCS, Grammar
from tests.check.shell_lines import run_lines


def errors(text):
    """Return whether a text has an error before and after it is mended."""
    _, mended = Grammar().parse(text.encode())
    return Parser(Language(tree_sitter_bash.language())).parse(text.encode()).root_node.has_error, mended.has_error


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a <<E b c\nx\nE", ["a b c"]),
        ("a - <<'E' b \"$h\" > r 2>&1\nx\nE\nc", ["a - b ?", "c"]),
        ("a <<E; b\nx\nE\nc", ["a", "b", "c"]),
        ("a <<-E; b\n\tx\n\tE\nc", ["a", "b", "c"]),
        ('a <<"E"; b | c\nx; y\nE', ["a", "b", "c"]),
        ("a <<E; b <<F\nx\nE\ny\nF\nc", ["a", "b", "c"]),
    ],
)
def test_what_follows_a_heredoc_on_its_first_line_is_read(text, lines):
    assert run_lines(text) == lines


def test_only_the_whole_delimiter_ends_a_heredoc_that_is_mended():
    """Trying its beginnings too took the square of the text's length."""
    assert shell_grammar._STATEMENTS.search(b"cat <<EOF; b\nx\nEO\n") is None
    assert shell_grammar._STATEMENTS.search(b"cat <<EOF; b\nx\nEOF\n") is not None


@pytest.mark.parametrize("text", ["cat <<E; b\nx\nE\nc", "x - <<'A' \"$h\" >r 2>&1\nb\nA"])
def test_words_behind_a_heredoc_are_an_error_only_before_the_text_is_mended(text):
    """A test of the mending itself: it goes if a later version of the grammar reads these texts."""
    assert errors(text) == (True, False)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a 2>&1 | b\nc", ["a", "b", "c"]),
        ("a 2>&1 | b -8\nc d 2>&1 | e", ["a", "b -8", "c d", "e"]),
        ("a 2>&1 | b | c -1\nd\n\ne f 2>&1 | g -2\nh", ["a", "b", "c -1", "d", "e f", "g -2", "h"]),
        ("a 2>&1 | b \\\n -8\nc", ["a", "b -8", "c"]),
        (
            "if x; then\n  if y; then\n    a -r | c | e -30\n\n  else\n    f -e\n    a 2>/dev/null | e -20 || f i\n  fi\nelse\n  j 2>&1 | k\nfi",
            ["x", "y", "a -r", "c", "e -30", "f -e", "a", "e -20", "f i", "j", "k"],
        ),
    ],
)
def test_lines_after_a_pipeline_with_a_copied_descriptor_are_commands_of_their_own(text, lines):
    assert run_lines(text) == lines


@pytest.mark.parametrize(
    "text",
    ["", "\n", "# a", "a", "a\n", "a | b", "a <<E\nx\nE", "for x in a; do b; done", "a $'b\\tc'"],
)
def test_a_text_without_mistakes_stays_as_it_is(text):
    source, tree = Grammar().parse(text.encode())
    assert (source, tree.has_error, tree.end_byte) == (text.encode(), False, len(text))


def test_a_backslash_before_the_end_of_a_quote_does_not_hide_what_follows():
    source, _ = Grammar().parse(rb"echo $'a\\' $'b\'c'; rm x #'")
    assert source == rb"echo $'a\x5c' $'b\'c'; rm x #'"


@pytest.mark.parametrize("text", ["a (", "a $(b", "a 'b", "if a; then b", "for x in; do", "a | | b", "a ||", "${"])
def test_a_text_with_a_mistake_has_an_error_and_is_opaque(text):
    commands = parse_commands(text, "/w")
    assert commands[-1].opaque == "it has a syntax error"
    assert commands[-1].text == text


def test_a_text_with_very_many_heredocs_is_not_mended():
    """Mending costs time for each of them."""
    text = "a <<E; b\nx\nE\n"
    assert errors(text * MAX_HEREDOCS) == (True, False)
    assert errors(text * (MAX_HEREDOCS + 1)) == (True, True)


def test_a_text_that_takes_too_long_has_no_tree_and_is_opaque(monkeypatch):
    monkeypatch.setattr(shell_grammar, "MAX_SECONDS", -1.0)
    text = "a " * 100_000
    assert Grammar().parse(text.encode())[1] is None
    (command,) = parse_commands(text, "/w")
    assert (command.opaque, command.argv) == ("it takes too long to read", ())


def test_the_parser_reads_the_next_text_after_one_that_took_too_long(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(shell_grammar, "MAX_SECONDS", -1.0)
        parse_commands("a " * 100_000, "/w")
    assert run_lines("b c") == ["b c"]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a <<E\n$\nE\nb\n", ["a", "b"]),
        ("case x in x) a <<E\n$\nE\nb\n;; esac", ["a", "b"]),
        ("x=$\na -b", ["a -b"]),
        ("a <<E # c; d\nx\nE\nb", ["a", "b"]),
        ("a b\\\n#; c", ["a b#", "c"]),
        ("a \\\n# b\nc", ["a", "c"]),
        ("a <<<b c\nd\n", ["a c", "d"]),
        ("a 'b\rc' \"d\x0be\"", ["a b\rc d\x0be"]),
        ("a\r\nb\r\n", ["a", "b"]),
    ],
)
def test_a_dollar_or_a_backslash_before_a_blank_hides_no_command(text, lines):
    assert run_lines(text) == lines


@pytest.mark.parametrize(
    "text",
    [
        *("a\r# ; b", "a\x0b# ; b", "a\x0c# ; b", "\ufeff# ; b", "a \\\r\nb", "a=(\r# x)\nb\n)"),
        *(
            "> \\ \na -b",
            "a <<< \\ \nb -c",
            "x=\\ \na -b",
            "a <<E;\nE\nb <<'$x'",
            "(a <<E;\nE\ncase x in x)${x}b\n;;esac)",
            "a <<`b`\nb\n`b`\nc",
        ),
    ],
)
def test_what_the_grammar_may_read_in_another_way_than_a_shell_is_opaque(text):
    assert [each.opaque for each in parse_commands(text, "/w") if each.opaque is not None]


def test_time_and_a_negation_are_no_words_of_the_command():
    assert run_lines("time ! a b; time -p ! ! c") == ["a b", "c"]


@pytest.mark.parametrize("line", ["x=$a/$b/c; d", "a=1; b=2; c $a/$b/c", "export x=$a/$b/c"])
def test_a_name_behind_another_expansion_is_no_word_of_its_own(line):
    assert not [each for each in parse_commands(line, "/w") if each.program in {"b", "b/c"}]
    assert "b/c" not in str(parse_commands(line, "/w")[-1:])
