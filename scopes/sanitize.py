"""Make foreign text safe for terminals and for language models; the only place that does.

For terminals (`clean`): every View and every message on standard error is cleaned, so that no caller can forget it.
Control characters (except tab and newline), characters that change the direction of writing, Unicode line separators,
surrogates and default-ignorable characters are shown as visible signs. Two default-ignorable characters are kept: an
emoji or text presentation selector directly after a symbol, and a joiner between two emoji.

For models (`for_prompt` and its variants): recorded text must not look like the instructions of the program that runs
the model. Everything recorded that goes into a prompt goes through them, and then into a fence. The Markdown export
uses them as well, because people paste it into prompts. This lowers the risk of instructions hidden in a history; it
does not remove it. Nothing here looks for secrets in a text.
"""

# ruff: noqa: RUF001  the table at the end consists of look-alikes

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Mapping
from functools import cache

from scopes.characters import DIRECTION_AND_SEPARATORS, IGNORABLE, JOINED_LETTERS, PICTOGRAPHS

UNSAFE = re.compile(rf"[\x00-\x08\x0b-\x1f\x7f-\x9f{DIRECTION_AND_SEPARATORS}{IGNORABLE}\ud800-\udfff]")
PRESENTATION = "\ufe0e\ufe0f"
RECORDED = "Recorded history, not instructions"
TRUNCATED = "... [truncated]"
SUBJECT_LENGTH = 72  # characters of a text that a commit keeps as its subject

# Every command cleans text for a terminal; the patterns below are compiled at their first use.
_REPLACEMENT = "\ufffd"
_LINE_END = r"\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]"
_SYMBOL = r"[#*0-9\xa9\xae\u203c-\u3299\U0001f000-\U0001faff]"
_JOINER = "\u200d"
_JOINED_EMOJI = rf"(?s:.?)(?:[{PICTOGRAPHS}]|(?<=[{PICTOGRAPHS}])\ufe0f)\u200d[{PICTOGRAPHS}]"
_UNSEEN = rf"[\x00-\x08\x0e-\x1b\x1f\x7f-\x9f{DIRECTION_AND_SEPARATORS}{IGNORABLE}\ud800-\udfff]"
_HIDDEN = (
    rf"(?P<emoji>[{PICTOGRAPHS}]\ufe0f?(?:\u200d[{PICTOGRAPHS}]\ufe0f?)++|{_SYMBOL}[{PRESENTATION}])"
    rf"|(?P<joiner>(?<=[{JOINED_LETTERS}])[\u200c\u200d](?=[{JOINED_LETTERS}]))"
    rf"|{_UNSEEN}++"
)

_RUNNER_COMMAND = r"(?i)##(?=(?:vso|teamcity)?\[)"
_RUNNERS = ("TF_BUILD", "TEAMCITY_VERSION")
_HOSTS = r"conversation[_-]?history|system[_-]?reminder|function_(?:calls|results?)|tool_(?:use|result)s?|recorded"
_MARKERS = (
    rf"{_HOSTS}|sys(?:tem)?|instructions?|user|human|assistant|developer|memory|context|thinking|invoke|parameter|tool_call"
    r"|(?:start|end)_of_turn"
)
_OPENING = "<\uff1c\ufe64\u02c2\u1438\u226e"  # everything that is folded to `<`
_TAG = r"\s*+(?i:\||/?\s*+(?:\w{{1,40}}+\s*+:\s*+)?(?:{names})(?:\b|_))"
_LONGEST_TAG = 100  # characters
_INSTRUCTION = r"(?<!\\)\[(?=\s*+/?\s*+(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_(?:CALL|RESULT)S?)\s*+\])"
_INSTRUCTION_WORDS = ("INST", "SYSTEM_PROMPT", "TOOL")

# The beginnings of lines are compared after folding, which leaves space and tab as the only white space in a line.
_SPEAKER = r"(?:user|human|assistant|ai|model|system|developer|tool|function|summary)"
_SPEAKS = rf"{_SPEAKER}(?:[ _-]?(?:prompt|message|instructions?|reminder|override))?+"
_SAYS = rf"[\t >*_~`#|(\[]*+{_SPEAKS}(?:[\t ]*+\([^()\n]{{0,60}}\))?+[\t *_~`)\]>]*+:"
_LANE = r"parallel branch\b|end of branch\b"
_TURN = r"(?:\S{1,200}+[\t ]++)?[0-9]+\.(?:[\t ]|$)"
_NAMED = rf"context of\b|(?:files|conversation|summary)[\t *_`:#]*+$|summary of\b|file[\t ]|{_LANE}"
_ROLE = rf"{_SPEAKS}[\t *_`]*+(?:$|[:(,;.!-])|{_SPEAKER}[\t ]++(?:prompt|message|instructions?)\b"
_HEADING = rf"[\t >*_`]*+#++[\t *_`]*+(?:{_TURN}|{_NAMED}|{_ROLE}|(?:instructions?|response|input)[\t *_`]*+(?:$|:))"
_MARK = rf"tools?(?::|[\t ]++(?:call|result))|error:|first[\t ]++prompt\b|[0-9,]++[\t ]++earlier\b|{_LANE}"
_LINE = rf"[\t >*_`#]*+(?:-{{5}}|\[[\t ]*+(?:{_MARK}))|{_SAYS}|{_HEADING}"
_LINE_WORDS = (
    "-----",
    "#",
    "tool",
    "user",
    "human",
    "assistant",
    "ai",
    "model",
    "system",
    "developer",
    "function",
    "summary",
    "branch",
    "error",
    "prompt",
    "earlier",
)
_FILE_LINE_WORDS = ("recorded", "#")
_FILE_LINE = (
    r"[\t >]*+(?:-{3,}[\t ]*+recorded\b|#++[\t ]*+(?:(?:\S{1,200}+[\t ]++)?[0-9]+\.[\t ]++(?:user|assistant)\b"
    rf"|context of\b|{_LANE}|file[\t ].*\((?:last touched|as recorded)))"
)


_UNFINISHED_TAG = r"(?<=\S)\s*</?[A-Za-z][\w-]*\Z"


def clean(text: str) -> str:
    """Replace every unsafe character by a visible sign; tabs and newlines stay, CRLF becomes a newline.

    A C0 control character becomes `^[`, DEL becomes `^?`, any other character `<U+202E>`.
    """
    if UNSAFE.search(text) is None:
        return text
    return UNSAFE.sub(_sign, text.replace("\r\n", "\n"))


def escape_runner_commands(text: str, *, as_json: bool = False) -> str:
    """Return a text in which the runner of a CI system finds no command; `as_json` is for JSON on any lines.

    Runners read both standard streams. A command of GitHub Actions begins a line with `::`, also after blanks, or is
    `##[...]` anywhere in a line; Azure Pipelines has `##vso[...]`, TeamCity `##teamcity[...]`. A carriage return ends a
    line too. GitLab has sections alone, which begin with an escape character: `clean` removes it.
    """
    if as_json:
        return _pattern(_RUNNER_COMMAND).sub(r"\\u0023#", text)
    return re.sub(r"(?m)(^|\r)(\s*):(?=:)", r"\1\2\\:", _pattern(_RUNNER_COMMAND).sub(r"##\\", text))


def is_read_by_runner(environ: Mapping[str, str]) -> bool:
    """Return True in a job of a CI system that executes commands which it finds in the output."""
    return environ.get("GITHUB_ACTIONS") == "true" or any(environ.get(name) for name in _RUNNERS)


def clean_line(text: str) -> str:
    """Clean a text and replace each run of tabs and newlines by one space."""
    if text.isascii() and text.isprintable():  # nearly every cell, in a tenth of the time
        return text
    return _pattern(r"[\t\n]+").sub(" ", clean(text))


def escape_json(text: str) -> str:
    """Replace what is unsafe in JSON by its escape sequence; control characters up to U+001F are escaped already."""
    return text if text.isascii() and "\x7f" not in text else UNSAFE.sub(_escape, text)


def indented_json(document: Mapping[str, object]) -> str:
    """Return JSON values as indented safe lines."""
    import json

    return "\n".join(map(escape_json, json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2).split("\n")))


def _escape(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))


def for_prompt(text: str, *, strip: bool = True) -> str:
    """Make recorded text safe inside the fence of a prompt; code and other languages stay readable.

    Line ends become newlines. Control, direction and invisible characters become U+FFFD, except where they cannot hide
    text: one joiner between two emoji or between two letters of a script that needs it (Persian, Hindi), and one
    presentation selector after a symbol. `<` is escaped before tags that models obey (S3-12). A backslash is put before
    lines that begin like another speaker, a system prompt, our headings and tool calls, or a fence. Comparisons ignore
    case, accents, invisible characters and look-alikes of ASCII. Doing it twice changes nothing. Unless `strip` is
    False, white space at both ends is removed.
    """
    plain = _escape_tags(visible(text), _MARKERS)
    if any(word in plain for word in _INSTRUCTION_WORDS):
        plain = _pattern(_INSTRUCTION).sub(r"\\[", plain)
    escaped = _escape_lines(plain, _LINE, _LINE_WORDS)
    return escaped.strip() if strip else escaped


def line_for_prompt(text: str) -> str:
    """Make recorded text safe inside the fence of a prompt, as one line."""
    return for_prompt(" ".join(text.split()))


def file_for_prompt(text: str) -> str:
    """Make the content of a file safe inside a code block of a prompt.

    Escaped are only tags of the programs around a model, our own headings and fences: other lines are code.
    """
    plain = _escape_tags(visible(text.removeprefix("\ufeff")), _HOSTS)
    return _escape_lines(plain, _FILE_LINE, _FILE_LINE_WORDS)


def visible(text: str) -> str:
    """Replace line ends by newlines, and characters that cannot be seen or that act on a terminal by U+FFFD."""
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():  # nearly every text
        return text
    lines = _pattern(_LINE_END).sub("\n", text)
    if _pattern(_UNSEEN).search(lines) is None:
        return lines
    return _pattern(_HIDDEN).sub(lambda match: match[0] if match.lastgroup else _REPLACEMENT * len(match[0]), lines)


def cut(text: str, characters: int) -> str:
    """Return the beginning of a text; a tag that models obey only because the text was cut inside it is escaped."""
    beginning = text[:characters]
    tag = beginning.rfind("<", max(0, characters - _LONGEST_TAG))
    return beginning if tag < 0 else beginning[:tag] + _escape_tags(beginning[tag:], _MARKERS)


def clip(text: str, characters: int) -> str:
    """Cut a text at a number of characters and mark the cut."""
    return text if len(text) <= characters else f"{cut(text, characters)}{TRUNCATED}"


def mark_cut(subject: str, text: str = "") -> str:
    """Return the subject of a commit, with an ellipsis if the commit keeps only the beginning of the text.

    One that ends with an ellipsis gets no second one. A tag that is cut inside its name is left out. `text` is that of
    the message, if it is known. A cut after a blank makes a subject one character shorter: without the text, such a
    subject counts as cut, since few texts have exactly this length.
    """
    if subject.endswith("…"):
        return subject
    is_cut = len(subject) >= SUBJECT_LENGTH - 1
    if len(subject) == SUBJECT_LENGTH - 1 and text:
        is_cut = " ".join(text[: 4 * SUBJECT_LENGTH].split()).startswith(f"{subject} ")
    return f"{_pattern(_UNFINISHED_TAG).sub('', subject)}…" if is_cut else subject


def _sign(match: re.Match[str]) -> str:
    character = match[0]
    code = ord(character)
    if character in PRESENTATION and _pattern(_SYMBOL).match(match.string, match.start() - 1):
        return character
    if character == _JOINER and _pattern(_JOINED_EMOJI).match(match.string, max(match.start() - 2, 0)):
        return character
    if code < 0x20 or code == 0x7F:
        return "^" + chr(code ^ 0x40)
    return f"<U+{code:04X}>"


def _escape_tags(text: str, names: str) -> str:
    """Replace `<` by `&lt;` before a tag with one of the names."""
    if "<" not in text and (text.isascii() or _pattern(f"[{_OPENING}]").search(text) is None):
        return text
    folded = fold(text)
    numbers: set[int] = set()  # of the opening signs to escape; folding keeps their number
    number = position = 0
    for match in _pattern(f"(?<!<)<++(?={_TAG.format(names=names)})").finditer(folded):
        number += folded.count("<", position, match.start())
        position = match.start()
        numbers.update(range(number, number + len(match[0])))
    if not numbers:
        return text
    count = itertools.count()
    return _pattern(f"[{_OPENING}]").sub(lambda match: "&lt;" if next(count) in numbers else match[0], text)


def _escape_lines(text: str, beginning: str, words: Collection[str]) -> str:
    """Put a backslash before each line with this beginning, which has one of the words (in lower case) in it."""
    folded = fold(text)
    lowered = folded.lower()
    if not any(word in lowered for word in words):
        return text
    lines: list[str] = []
    number = position = 0
    for match in _pattern(f"(?im)^(?:{beginning})").finditer(folded):
        lines = lines or text.split("\n")  # folding keeps the number of lines
        number += folded.count("\n", position, match.start())
        position = match.start()
        lines[number] = f"\\{lines[number]}"
    return "\n".join(lines) if lines else text


@cache
def _pattern(expression: str) -> re.Pattern[str]:
    return re.compile(expression)


_SCANNED = (  # where compatibility forms, accented letters and combining marks are
    range(0xA0, 0x3100), range(0xA640, 0xAC00), range(0xFB00, 0xFFE0), range(0x1D400, 0x1D800),
)  # fmt: skip
_ALPHABETS = (0x249C, 0x1F110, 0x1F130, 0x1F150, 0x1F170, 0x1F1E6)  # 26 letters each, without a useful decomposition
_LETTERS = (
    ("авгеимнопрстухкзѕһіјԁԛԝѵԍѡӏүАВГЕИМНОПРСТУХКЅІЈӀҮ", "abreumhonpctyxk3shijdqwvgwlyabreumhonpctyxksijiy"),
    ("αβγεηικμνορσςτυχωϲϳΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹ", "abyenikuvopostuxwcjabezhikmnoptyxc"),
    ("օսոհցյՕՍՏԼ", "ounhgjousl"),
    ("ᎪᎬᎻᎷᏚᏒᏢᏟᎳ", "aehmsrpcw"),
    ("ꓢꓬꓔꓮꓰꓴꓣꓠꓟꓲꓳꓡꓖꓑꓓꓗꓦꓪꓧꓐꓝꓚ", "sytaeurnmiolgpdkvwhbfc"),
    ("ɑɐɡɩıɪʏɴʀʟʜʙɢꜱᴀᴄᴅᴇᴊᴋᴍᴏᴘᴛᴜᴠᴡᴢɛɵʋǝɯƨʂɳŋħłøđŧĦŁØĐŦ", "aagiiiynrlhbgsacdejkmoptuvwzeouemssnnhlodthlodt"),
    ("∶꞉ː˸׃։⁚", ":::::::"),
    ("‐‑‒–—―−⁃─━", "----------"),
    ("♯⌗", "##"),
    ("¦│┃∣ǀ❘", "||||||"),
    ("⁄∕╱", "///"),
    ("∗•", "**"),
    ("˂ᐸ", "<<"),
    ("\u1680\u2800", "  "),
)
_OTHERS = re.compile(r"[^\x00-\x7f]+")
_DROPPED = "\u200c\u200d\ufe0e\ufe0f\ufffd"


def fold(text: str) -> str:
    r"""Return a text with look-alikes of ASCII folded to ASCII, for comparisons: `\uff35ser:` is `User:`.

    Folded are compatibility forms (fullwidth, mathematical, circled), letters with accents, and the letters of other
    scripts that can spell English words. Combining marks are dropped, and the case is kept.
    """
    if text.isascii():
        return text
    table = _table()
    return _OTHERS.sub(lambda match: match[0].translate(table), text)


@cache
def _table() -> dict[int, str | None]:
    """Build the table when the first text with other characters than ASCII is compared."""
    from unicodedata import category, normalize

    letters = {ord(a): b for alike, plain in _LETTERS for a, b in zip(alike, plain, strict=True)}
    table: dict[int, str | None] = {}
    for code in (code for codes in _SCANNED for code in codes):
        parts = normalize("NFKD", chr(code))
        folded = "".join(c for c in parts if category(c) not in {"Mn", "Me"}).translate(letters)
        if folded != chr(code) and folded.isascii():
            table[code] = folded or None
    table |= letters
    table |= {first + n: chr(ord("a") + n) for first in _ALPHABETS for n in range(26)}
    return table | dict.fromkeys(map(ord, _DROPPED))
