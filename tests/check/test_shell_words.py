"""The words of a command: quotes, expansions and what a command substitution prints, compared with bash."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.check.shell import parse_commands
from scopes.check.shell_state import Word
from scopes.check.shell_words import add_words, known_output

QUOTES = [
    "a b  c\td",
    "a 'b c' \"d e\" f\\ g",
    "a '' \"\" ''\"\"",
    "a 'it'\\''s' \"it's\"",
    "a 'b'\"c\"d\\ e",
    "a \"b 'c' d\" 'b \"c\" d'",
    'a "\\a \\$x \\`b\\` \\\\ \\""',
    'a "b\\\nc" d\\\ne',
    "a 'b\\\nc'",
    "a 'b\nc' \"d\ne\"",
    "a \\$x \\\"b\\\" \\'c\\' \\\\ \\; \\| \\&",
    r"a $'b\tc\nd' $'\x41\101B' $'it\'s' $'\\' $'\e[0m'",
    'a $"b c"',
    "a b#c '#d' \\#e # f",
    "a -- -x --y=z -",
    "a b=c =d e= 'f=g'",
    "a [b] b] ^c d! %e f@g +h i,j k:l",
    "a \"!b\" !c '!d'",
    "a ü 'ß' \"é\"",
    "a {b} {} 'c{d,e}'",
    '"a" b; \'a\' c; \\a d; a"" e',
    "a \\\n  b \\\n  c",
    "a b;a c\na d",
    "a 1 2>/dev/null 3 4>&1 5",
    "a b >/dev/null c <<< d e",
    "a <<E b c\nd\nE\na f",
]
VARIABLES = [
    "x=b; a $x ${x} \"$x\" '$x' \\$x",
    'x=b; a $x.c ${x}c c$x "c${x}c" /$x/',
    'x=\'b c\'; a $x "$x" pre$x "pre$x" ${x}post',
    "x=' b '; a $x c",
    "x=$'b\\nc'; a $x \"$x\"",
    'x=; a $x b "$x" c${x}d',
    "x=b y=$x; a $y",
    "x=b; y=$x$x; x=c; a $x $y",
    "x='$y'; y=b; a \"$x\"",
    'x="b c"; y=$x; a "$y"',
    "x=b; x+=c; a $x",
    "x=(b 'c d' e); a \"${x[@]}\" f",
    "x=(b 'c d'); a ${x[@]} ${x[*]}",
    "x=(b 'c d'); a \"${x[*]}\"",
    "x=(b); x+=(c 'd e'); a \"${x[@]}\"",
    "x=(a 'b c'); \"${x[@]}\" d",
    "x='a b'; $x c",
    "set -- b 'c d'; a \"$@\" e",
    "set -- b 'c d'; a $@ e $*",
    "set -- b 'c d'; a \"$*\"",
    'set -- b c; a $1 "${2}" $2$1 x$3',
    "set -- 'b c'; a $1 \"$1\"",
    'set --; a "$@" b $1 c',
    'x=b; a ${x:?} "${x:?}"',
    "x=b; unset x; x=d; a $x",
    "x=b; (x=c; a $x); a $x",
    "for x in b 'c d' e; do a $x; a \"$x\"; done",
    'f1() { a "$1" $2 "$@"; }; f1 \'b c\' d',
    "f1() { local x=$1; a $x; }; f1 b; f1 c",
    "f1() { x=$1; }; f1 b; a $x",
    "sh -c 'a $0 $1' b c; bash -c 'a \"$@\"' b c d",
    "x=b; eval \"a $x\"; eval a '$x'; eval 'x=c'; a $x",
    'x=b; export x; bash -c "a $x"',
    "export x=b; a $x; readonly y=c; a $y; declare z=d; a $z",
]
SUBSTITUTIONS = [
    "a $(echo b c) \"$(echo b c)\" x$(echo b)y",
    "a $(echo b   c) \"$(echo 'b   c')\"",
    "a \"$(echo 'b\nc')\" $(echo 'b\nc')",
    "a $(echo -n b) $(echo -e 'b\\tc') \"$(echo -e 'b\\tc')\" $(echo -E 'b\\tc')",
    "a $(printf '%s\\n' b c) $(printf '%s-%s ' b c d)",
    "a $(printf 'b%%c') $(printf 'b c')",
    "a $(printf '%b' 'b') \"$(printf '%s, ' b c)\"",
    "a $(pwd)/x; cd x; a $(pwd) $PWD \"$PWD/y\"",
    "a $(cd x && pwd) $(cd x; cd y; pwd)",
    "a `echo b` \"`echo c d`\" x`echo e`",
    "a `echo '\\$x' \\\\$y`",
    "x=$(echo b c); a $x \"$x\"",
    "x=$(echo b); x=$x$(echo c); a $x",
    "a $(cat <<E\nb c\nE\n) d",
    "x=b; a \"$(cat <<'E'\n$x \"c\"\nE\n)\"",
    "x=b; a \"$(cat <<E\n$x \\$x 'c'\nE\n)\"",
    "$(echo a) b; x=a; $x c; ${x} d",
    "echo b c | xargs a; echo b | xargs a d",
    "printf '%s\\n' b c | xargs -I{} true {}; echo b | xargs -I{} a x/{}/y",
    "bash <<< 'a b'; bash <<E\na 'c d'\nE\necho 'a e' | bash",
    "cat <<< 'a b' | bash; echo 'a c' | tee | sh",
]  # fmt: skip
REAL = [*QUOTES, *VARIABLES, *SUBSTITUTIONS]


@pytest.mark.parametrize("line", REAL)
def test_the_words_are_those_that_bash_passes(bash, line):
    assert bash.commands(line), "bash runs nothing: the line has a mistake"
    assert bash.parsed(line) == bash.commands(line)


@pytest.mark.parametrize(
    ("line", "words", "argv"),
    [
        ("a $x", ("a", "$x"), ("a", None)),
        ("a pre$x/post", ("a", "pre$x/post"), ("a", None)),
        ("a ${x:-b c}", ("a", "${x:-b c}"), ("a", None)),
        ("x=b; a ${x#b} ${#x} ${x/b/c} ${x^^}", ("a", "${x#b}", "${#x}", "${x/b/c}", "${x^^}"), ("a", *[None] * 4)),
        ("a $(b)/c", ("a", "$(b)/c"), ("a", None)),
        ("a $(b; c)", ("a", "$(b; c)"), ("a", None)),
        ("a $((1+1))", ("a", "$((1+1))"), ("a", None)),
        ("a $? $$ $! $#", ("a", "$?", "$$", "$!", "$#"), ("a", *[None] * 4)),
        ("a $HOME ${HOME}/x", ("a", "$HOME", "${HOME}/x"), ("a", None, None)),
        ("a <(b)", ("a", "<(b)"), ("a", None)),
        ('a $1 "$@"', ("a", "$1", "$@"), ("a", None, None)),
        ("x=(b c); a ${x[2]} ${x[-1]}", ("a", "${x[2]}", "${x[-1]}"), ("a", None, None)),
        ("x=($b c); a ${x[0]} ${x[1]}", ("a", "${x[0]}", "${x[1]}"), ("a", None, None)),
        ("x=b..; a ${x#b}", ("a", "${x:-..}"), ("a", None)),
        ("a ~ ~/x ~bob", ("a", "~", "~/x", "~bob"), ("a", "~", "~/x", "~bob")),
        ("a *.py b? [cd] {e} g{1..x}", ("a", "*.py", "b?", "[cd]", "{e}", "g{1..x}"), None),
        ("x='*'; a $x", ("a", "*"), None),
    ],
)
def test_what_the_line_does_not_decide_stays_as_written(line, words, argv):
    """Globs and the tilde are known words: what they become depends on the disk."""
    command = parse_commands(line, "/w")[-1]
    assert command.words == words
    assert command.argv == (argv or words)


@pytest.mark.parametrize(
    ("line", "programs"),
    [
        ("a $(b $(c d))", ["c", "b", "a"]),
        ('a "$(b "$(c)")"', ["c", "b", "a"]),
        ("a `b \\`c\\``", ["c", "b", "a"]),
        ("a ${x:-$(b)} ${y:=`c`}", ["b", "c", "a"]),
        ("a $((1 + $(b)))", ["b", "a"]),
        ("x=$(b) a", ["b", "a"]),
        ("x=(b $(c)); a", ["c", "a"]),
        ("a x$(b)y'$(c)'", ["b", "a"]),
        ("a \"\\$(b)\" '`c`'", ["a"]),
        ("a <<E\n$(b) \\$(c) `d`\nE", ["b", "d", "a"]),
        ("a <<'E'\n$(b) `d`\nE", ["a"]),
        ("a <<< $(b)", ["b", "a"]),
        ("a > $(b) 2>> `c`", ["b", "c", "a"]),
        ('[ -n "$(b)" ] && a', ["b", "a"]),
        ("[[ $(b) == c ]] && a", ["b", "a"]),
        ("((x = $(b))); a", ["b", "a"]),
        ("case $(b) in c) a;; esac", ["b", "a"]),
        ("for x in $(b); do a; done", ["b", "a"]),
        ("echo $'\\\\'; a #'", ["echo", "a"]),
        ("echo $'it\\'s'; a", ["echo", "a"]),
        ('echo "$\'\\\\"; a', ["echo", "a"]),
    ],
)
def test_substitutions_run_before_the_command_that_reads_them(line, programs):
    assert [each.program for each in parse_commands(line, "/w") if each.program != "["] == programs


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["echo", "b", "c"], "b c\n"),
        (["/bin/echo", "b"], "b\n"),
        (["echo"], "\n"),
        (["echo", "-n", "b"], "b"),
        (["echo", "-en", r"b\tc"], "b\tc"),
        (["echo", "-x", "b"], "-x b\n"),
        (["printf", "b%sc", "d"], "bdc"),
        (["printf", "%s\\n", "b", "c"], "b\nc\n"),
        (["printf", "%%"], "%"),
        (["printf", "%s"], ""),
        (["printf", "b", "c"], "b"),
        (["mktemp"], "/tmp/tmp.XXXXXXXXXX"),
        (["mktemp", "-d"], "/tmp/tmp.XXXXXXXXXX"),
        (["mktemp", "-d", "/tmp/build.XXX"], "/tmp/build.XXX"),
        (["mktemp", "build.XXX"], None),
        (["mktemp", "-p", "/var/x", "y.XXX"], None),
        (["mktemp", "--tmpdir=/x"], None),
        (["printf", "%05.2f", "1"], None),
        (["printf", "-v", "x", "b"], None),
        (["printf"], None),
        (["cat", "b"], None),
        ([], None),
    ],
)
def test_the_output_of_a_printing_program_is_known_from_its_words(words, text):
    output = known_output([Word(word, word) for word in words])
    assert (None if output is None else output.value) == text


def test_the_output_is_computed_if_one_word_is():
    assert known_output([Word("echo", "echo"), Word(None, "$x")]) == Word(None, "$x\n")
    assert known_output([Word("echo", "echo"), Word(None, "$x", ("curl",))]) is None


def test_a_layout_that_would_print_more_than_a_variable_holds_is_unknown():
    """Each round of a layout prints it again: a short line could print without end."""
    words = [Word(word, word) for word in ["printf", "%s" + "x" * 1000, *["a"] * 100]]
    assert known_output(words) is None


@pytest.mark.parametrize(
    ("words", "more", "gap", "expected"),
    [
        (["a"], ["b"], b" ", ["a", "b"]),
        (["a"], ["b"], b"", ["ab"]),
        (["a"], ["b", "c"], b"", ["ab", "c"]),
        (["a"], ["b"], b"\\\n", ["ab"]),
        (["a"], ["b"], b" \\\n ", ["a", "b"]),
        (["a"], ["b"], b" \\ ", ["a", " b"]),
        (["a"], ["b"], b"\\ ", ["a b"]),
        ([], ["b"], b"", ["b"]),
        (["a"], [], b"", ["a"]),
    ],
)
def test_words_without_a_blank_between_them_are_one(words, more, gap, expected):
    result = [Word(word, word) for word in words]
    add_words(result, [Word(word, word) for word in more], gap)
    assert [word.value for word in result] == expected


@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12), max_size=5))
def test_words_in_single_quotes_are_read_as_they_are(words):
    quoted = ("'" + word.replace("'", "'\\''") + "'" for word in words)
    assert parse_commands(f"a {' '.join(quoted)}", "/w")[-1].argv == ("a", *words)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (r"""a "\$'\\'" """, (r"$'\'",)),
        (r"""a "$'\\'" """, (r"$'\'",)),
        (r"""a '$'b\\'c'""", (r"$b\c",)),
        (r"""a $'\\' "\$'\\'" $'b\\'""", ("\\", r"$'\'", "b\\")),
        (r"""a "$(b $'\\')" $'\'\\'""", (None, "'\\")),
    ],
)
def test_a_dollar_and_a_quote_within_other_quotes_are_plain_text(line, expected):
    assert parse_commands(line, "/w")[-1].argv == ("a", *expected)


@given(st.lists(st.text("ab \t\"\\$`'!*~#;&|\n", max_size=12), max_size=5))
def test_words_in_double_quotes_are_read_with_their_escapes_removed(words):
    escaped = ("".join(f"\\{char}" if char in '\\"$`' else char for char in word) for word in words)
    assert parse_commands(" ".join(["a", *(f'"{word}"' for word in escaped)]), "/w")[-1].argv == ("a", *words)
