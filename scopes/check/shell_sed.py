"""Find the shell commands in the programs of sed and awk."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from scopes.check.shell_scripts import AWK_LETTERS, AWK_LONG, SED_LETTERS, SED_LONG
from scopes.check.shell_state import Word
from scopes.check.shell_wrappers import split_options
from scopes.lazy_patterns import compile_lazily

_ADDRESS: Final = compile_lazily(
    r"\d+(?:~\d+)?|\$|[+~]\d+|/(?:[^/\\\n]|\\.)*/[IM]*|\\(.)(?:(?!\1)[^\\\n]|\\.)*\1[IM]*", re.DOTALL
)
_SUBSTITUTION: Final = compile_lazily(
    r"[sy](.)(?:(?!\1)[^\\]|\\.)*\1(?:(?!\1)[^\\]|\\.)*\1([gpiImMeE0-9]*)(w[^\n]*)?", re.DOTALL
)
_TO_END: Final = compile_lazily(r"[^\n]*")
_TEXT: Final = compile_lazily(r"(?:\\.|[^\\\n])*", re.DOTALL)
_LABEL: Final = compile_lazily(r"[ \t]*[^\s;]*")
_ARGUMENTS: Final = {
    **dict.fromkeys("aic", _TEXT),
    **dict.fromkeys("rRwW#", _TO_END),
    **dict.fromkeys("btT:", _LABEL),
}  # what commands of sed take, by letter
_STRING: Final = compile_lazily(r'"((?:[^"\\\n]|\\.)*)"')
_REGEX: Final = compile_lazily(r"(?:(?<=[(,~!{};&|\n])|^|(?<=[(,~!{};&|\n] ))\s*/(?:[^/\\\n]|\\.)+/")
_BRACKET: Final = compile_lazily(r"\[\^?\]?[^\]\n]{0,200}\]")
_SHELL: Final = compile_lazily(r"(?:\S*/)?(?:ba|z|da|k|c|tc|fi)?sh(?:\s+-\w*)*\s*")
_AWK_SYSTEM: Final = compile_lazily(r'\bsystem(?:\s|\\\n)*\(\s*(?:"((?:[^"\\\n]|\\.)*)"\s*\))?')
_AWK_PIPE: Final = compile_lazily(r'"((?:[^"\\\n]|\\.)*)"\s*\|&?\s*getline|\|&?\s*"((?:[^"\\\n]|\\.)*)"')
_AWK_RUNS: Final = compile_lazily(r"\bsystem(?:\s|\\\n)*\(|(?<!\|)\|(?!\|)|@load|@[a-z_]\w*\s*\(")
_ESCAPED: Final = compile_lazily(r"\\(.)", re.DOTALL)


def sed_scripts(words: tuple[Word, ...]) -> list[Word]:
    """Return the programs in the words of sed."""
    rest, scripts, has_file = words[1:], [], False
    operands: list[Word] = []
    while rest:
        options = split_options(rest, SED_LETTERS, SED_LONG) if rest[0].text.startswith("-i") is False else None
        if options is None:
            rest = rest[1:]
            continue
        for name, value in options.given:
            has_file = has_file or name in {"-f", "--file"}
            if name in {"-e", "--expression"} and value is not None:
                scripts.append(value)
        operands += options.operands[:1]
        rest = options.operands[1:]
    return scripts or ([] if has_file else operands[:1])


def sed_commands(script: str) -> Iterator[str]:
    """Yield the shell commands of a sed program; an empty text if it runs the lines that it reads.

    A program that cannot be read yields nothing: sed refuses it, or a variable is in it. A separator in brackets ends
    no pattern, as in `/[/]/e`: the program is read without brackets too.
    """
    yield from _read_sed(script)
    plain = _BRACKET.sub(lambda match: "x" * len(match[0]), script)
    if plain != script:
        yield from _read_sed(plain)


def _read_sed(script: str) -> Iterator[str]:
    position = 0
    while position < len(script):
        char = script[position]
        if char in " \t\n;{}!,":
            position += 1
        elif match := _ADDRESS.match(script, position):
            position = match.end()
        elif char in "sy":
            match = _SUBSTITUTION.match(script, position)
            if match is None:
                return
            if char == "s" and "e" in match[2]:
                yield ""
            position = match.end()
        elif char == "e":
            end = _end(_TO_END, script, position + 1)
            yield script[position + 1 : end].strip().rstrip("};").strip()
            position = end
        elif char in _ARGUMENTS:
            position = _end(_ARGUMENTS[char], script, position + 1)
        else:
            position += 1


def _end(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return len(text) if match is None else match.end()


def awk_program(words: tuple[Word, ...]) -> Word | None:
    """Return the program in the words of awk; None if it is in a file."""
    options = split_options(words[1:], AWK_LETTERS, AWK_LONG)
    given = [value for name, value in options.given if name in {"-e", "--source"} and value is not None]
    if given:
        text = "\n".join(word.text for word in given)
        return Word(None if any(word.value is None for word in given) else text, text)
    if any(name in {"-f", "-E", "--file", "--exec"} for name, _ in options.given):
        return None
    return options.operands[0] if options.operands else None


def awk_commands(program: str) -> Iterator[str]:
    """Yield the shell commands of an awk program; an empty text if it runs one that it computes."""
    if not _AWK_RUNS.search(program):
        return
    found = False
    for match in (*_AWK_SYSTEM.finditer(program), *_AWK_PIPE.finditer(program)):
        text = next((each for each in match.groups() if each is not None), None)
        if text is not None:
            found = True
            if _SHELL.fullmatch(text):  # it runs what the program prints
                yield ""
            yield _ESCAPED.sub(r"\1", text)
    rest = _AWK_SYSTEM.sub(lambda match: match[0] if match[1] is None else " ", program)
    rest = _REGEX.sub(" ", _STRING.sub(" ", _AWK_PIPE.sub(" ", rest)))
    if _AWK_RUNS.search(rest):
        yield ""
    elif found:
        return
