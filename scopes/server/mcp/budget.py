"""Fit an answer into its budget of tokens, by one measure for all tools: the estimate of its text.

Secrets are replaced first. Long texts are cut with a mark, then rows are left out and counted, then elements of other
lists.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scopes.errors import BudgetExhausted, Invalid
from scopes.ids import MAX_NAME_BYTES
from scopes.render.document import json_line
from scopes.sanitize import clip, for_prompt
from scopes.server.mcp.clearing import COUNT, clear_value, with_count
from scopes.tokens.count import EstimatingTokenizer

DEFAULT_TOKENS = 4_000
MIN_TOKENS = 100
MAX_TOKENS = 100_000
_TEXT_LIMITS = (8_000, 2_000, 500, 150)  # characters of one text, tried in this order
_ENOUGH_ROWS = 3  # before texts are cut further
_LONGEST_NAME = 2 * MAX_NAME_BYTES + 1  # characters: CONVERSATION/BRANCH
_NAMES = frozenset({
    "id", "oid", "commit", "conversation", "branch", "continuation_id", "next", "source", "target", "resolution_branch",
})  # fmt: skip
_FIRST = (
    "kind", "result", "recorded", "state", "id", "message", "continuation_id", "commit", "resolution_required",
    "resolution_branch", "remaining_turns", "operation", COUNT,
)  # fmt: skip

Document = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """The list of a document of which elements may be left out.

    Attributes:
        name: Its field.
        hidden: How many more elements there are, which the document does not have.
        newest: Leave out the first elements instead of the last ones.
        paged: Name the last element in `next` if others follow.
    """

    name: str
    hidden: int = 0
    newest: bool = False
    paged: bool = False

    def cut(self, document: Document, kept: int) -> Document:
        """Return the document with this many elements; `left_out` counts the others."""
        values = document[self.name]
        shown = values[len(values) - kept :] if self.newest else values[:kept]
        left = len(values) - len(shown) + self.hidden
        changed = document | {self.name: shown}
        if left:
            changed["left_out"] = left
        if left and shown and self.paged:
            changed["next"] = shown[-1]["id"]
        return changed


def check_budget(max_tokens: int) -> None:
    """Raise Invalid if a budget is too small for any answer, or larger than is allowed."""
    if not MIN_TOKENS <= max_tokens <= MAX_TOKENS:
        raise Invalid(
            f"max_tokens must be from {MIN_TOKENS} to {MAX_TOKENS:,}, not {max_tokens:,}", hint="for example: 4000"
        )


def count_tokens(text: str) -> int:
    """Count a text as every answer is counted."""
    return EstimatingTokenizer().count(text)


def document_text(document: Mapping[str, object]) -> str:
    """Return a document as the text of an answer."""
    return json_line(document).rstrip("\n")


def fit(document: Mapping[str, object], rows: Rows | None, max_tokens: int) -> Document:
    """Return a document within a budget.

    Raises:
        Invalid: the budget is too small or too large.
        BudgetExhausted: not even one row fits, or what is not a list does not.
    """
    check_budget(max_tokens)
    found = _fit(with_count(safe_value(document)), rows, max_tokens)
    if found is None:
        raise BudgetExhausted(f"the answer does not fit into {max_tokens:,} tokens", hint="raise max_tokens")
    return _recount(found)


def shorten(document: Mapping[str, object], rows: Rows | None, max_tokens: int) -> Document:
    """Return what fits into a budget that was checked before: of what was done the agent must read something.

    If lists without elements are still too long, the most important fields remain, and `shortened` is true.
    """
    safe = with_count(safe_value(document))
    return _recount(_fit(safe, rows, max_tokens) or _keep_fields(safe, max_tokens))


def _recount(fitted: Document) -> Document:
    """Return what fits with the number of secrets that are replaced in it, which is never more than in the whole."""
    return with_count(fitted) if COUNT in fitted else fitted


def _fit(whole: Document, rows: Rows | None, max_tokens: int) -> Document | None:
    complete = whole if rows is None else rows.cut(whole, len(whole[rows.name]))
    if count_document(complete) <= max_tokens:
        return complete
    shorter = whole
    for limit in _TEXT_LIMITS:
        shorter = _clip_texts(whole, limit)
        complete = shorter if rows is None else rows.cut(shorter, len(shorter[rows.name]))
        if count_document(complete) <= max_tokens:
            return complete
        kept = 0 if rows is None else _count_fitting_rows(shorter, rows, max_tokens)
        if rows is not None and (kept >= _ENOUGH_ROWS or (kept and limit == _TEXT_LIMITS[-1])):
            return rows.cut(shorter, kept)
        length = 0 if rows is not None else _longest_lists(shorter, None, max_tokens)
        if length >= _ENOUGH_ROWS:
            return _cut_lists(shorter, length, None)
    length = _longest_lists(shorter, rows, max_tokens)
    return None if length < (0 if rows is None else 1) else _cut_lists(shorter, length, rows)


def _count_fitting_rows(document: Document, rows: Rows, max_tokens: int) -> int:
    """Return how many rows fit; each is counted once, and the sum is checked."""
    values = document[rows.name]
    used, kept = count_document(rows.cut(document, 0)), 0
    for row in reversed(values) if rows.newest else values:
        used += count_tokens(document_text({"": row})) - 2
        if used > max_tokens:
            break
        kept += 1
    kept = min(kept + 1, len(values))
    while kept and count_document(rows.cut(document, kept)) > max_tokens:
        kept -= 1
    return kept


def _longest_lists(document: Document, rows: Rows | None, max_tokens: int) -> int:
    """Return the greatest length of lists with which a document fits; -1 if there is none."""
    lengths = range(_max_length(document) + 1)
    return bisect_right(lengths, max_tokens, key=lambda length: count_document(_cut_lists(document, length, rows))) - 1


def _max_length(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return max([len(value) if isinstance(value, list) else 0, *map(_max_length, inner)])


def _cut_lists(document: Document, length: int, rows: Rows | None) -> Document:
    """Return a document whose lists have at most this many elements; `<field>_left_out` counts the others."""
    if rows is None:
        return dict(_cut_inner_lists(document, length))
    values = [_cut_inner_lists(value, length) for value in document[rows.name]]
    others = {name: value for name, value in document.items() if name != rows.name}
    return rows.cut({**_cut_inner_lists(others, length), rows.name: values}, min(length, len(values)))


def _cut_inner_lists(value: Any, length: int) -> Any:
    if isinstance(value, list):
        return [_cut_inner_lists(item, length) for item in value[:length]]
    if not isinstance(value, dict):
        return value
    changed: Document = {}
    for name, item in value.items():
        changed[name] = _cut_inner_lists(item, length)
        if isinstance(item, list) and len(item) > length:
            changed[f"{name}_left_out"] = len(item) - length
    return changed


def _keep_fields(document: Document, max_tokens: int) -> Document:
    """Return the fields that fit, the most important ones first; lists and objects have no room."""
    kept: Document = {"shortened": True}
    for name in sorted(document, key=lambda each: _FIRST.index(each) if each in _FIRST else len(_FIRST)):
        value = document[name]
        if isinstance(value, list | dict):
            continue
        more = kept | {name: _clip_texts(value, _TEXT_LIMITS[-1], name)}
        kept = more if count_document(more) <= max_tokens else kept
    return kept


def _clip_texts(value: Any, characters: int, name: str = "") -> Any:
    """Return a JSON value with shorter texts; ids and names stay whole, since a cut one names nothing."""
    if isinstance(value, str):
        return value if name in _NAMES and len(value) <= _LONGEST_NAME else clip(value, characters)
    if isinstance(value, dict):
        return {clip(each, _LONGEST_NAME): _clip_texts(item, characters, each) for each, item in value.items()}
    if isinstance(value, list):
        return [_clip_texts(item, characters) for item in value]
    return value


def safe_value(value: Any) -> Any:
    """Return a JSON value whose texts may leave and are safe in a prompt: anybody may have written what is recorded.

    It is cleared twice: `for_prompt` changes what a secret is found by, and removes what may be inside of one.
    """
    return clear_value(_prompt_value(clear_value(value)))


def _prompt_value(value: Any) -> Any:
    if isinstance(value, str):
        return for_prompt(value, strip=False)
    if isinstance(value, Mapping):
        return {for_prompt(str(name), strip=False): _prompt_value(item) for name, item in value.items()}
    if isinstance(value, Sequence):
        return [_prompt_value(item) for item in value]
    return value


def count_document(document: Mapping[str, object]) -> int:
    """Count the text of a document."""
    return count_tokens(document_text(document))
