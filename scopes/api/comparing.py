"""The methods of a conversation that build contexts, compare branches and contexts, and search a bad message."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scopes.api.merging import MergingConversation
from scopes.conversation.diff import Difference
from scopes.conversation.diff import diff as compare
from scopes.store.discovery import cache_directory
from scopes.tokens.rank_files import rank_file_paths

if TYPE_CHECKING:
    from scopes.context.context_diff import ContextDifference
    from scopes.context.request import Request
    from scopes.context.result import Context
    from scopes.conversation.bisect import Bisection, BisectPoint
    from scopes.conversation.range_diff import RangeDifference
    from scopes.tokens.choose import TokenizerChoice


@dataclass(frozen=True, slots=True)
class ComparingConversation(MergingConversation):
    """A conversation whose branches, messages and contexts can be compared; nothing here writes."""

    def diff(self, left: str, right: str) -> Difference:
        """Compare two branches or messages of this conversation."""
        return compare(self.repository, self.id, f"{left}..{right}")

    def range_diff(self, *names: str, patch: bool = True) -> RangeDifference:
        """Compare two ranges message by message: `A, B`, `A...B`, `BASE, A, B`, or `A..B, C..D`, as git does.

        Names are looked up in this conversation first. `BRANCH@{1}` is a branch before it was last moved.

        patch: also return the changed lines of each message.
        """
        from scopes.conversation.range_diff import range_diff as compare_ranges

        return compare_ranges(self.repository, names, conversation=self.id, patch=patch)

    def bisect(
        self,
        judge: Callable[[BisectPoint], bool | None],
        *,
        branch: str | None = None,
        good: str | None = None,
        bad: str | None = None,
        verify: bool = True,
    ) -> Bisection:
        """Find the first bad message of a branch (default: the active one), by binary search along first parents.

        judge: return True if a commit is good, False if it is bad, None if it cannot be tested; an exception ends the
            search. It is called about once for each doubling of the number of messages. `point.head` is the header of
            the message, None before the first one; `context(at=point.oid)` is the context up to it.
        good, bad: a good message (default: before the first one) and a bad one (default: the last one).
        verify: first check that both ends are what they should be.

        `first_bad` of the result is None if untested messages hide it: then `candidates` has them, oldest first.
        """
        from scopes.conversation.bisect import bisect as run_bisect
        from scopes.conversation.bisect import exit_code_of

        return run_bisect(
            self.repository,
            self._name(branch),
            lambda point: exit_code_of(judge(point)),
            good=good,
            bad=bad,
            verify=verify,
        )

    def context(
        self,
        branch: str | None = None,
        *,
        at: str | None = None,
        max_tokens: int | None = None,
        task: str | None = None,
        model: str | None = None,
        project: str | os.PathLike[str] | None = None,
    ) -> Context:
        """Build a context of at most `max_tokens` tokens: the newest turns, or the most relevant ones for a task.

        at: as of this message, such as `main~2`; files have their recorded content then.
        max_tokens: default: the content part of the model's window, 4000 for a task, or 8000.
        project: the directory whose files may be embedded; None: no file is read.
        """
        from scopes.context.context import context as build_context

        request, tokenizer = self._request(
            self._name(branch), at=at, max_tokens=max_tokens, task=task, model=model, project=project
        )
        return build_context(self.repository, request, tokenizer, cache_directory(os.environ))

    def context_diff(
        self,
        left: str,
        right: str,
        *,
        max_tokens: int | None = None,
        task: str | None = None,
        model: str | None = None,
        project: str | os.PathLike[str] | None = None,
    ) -> ContextDifference:
        """Compare the contexts of two branches or messages, turn by turn; the options are those of `context`."""
        from scopes.context.context_diff import diff_contexts

        request, tokenizer = self._request(
            self.id, at=None, max_tokens=max_tokens, task=task, model=model, project=project
        )
        names = self.id, f"{left}..{right}"
        return diff_contexts(self.repository, request, tokenizer, cache_directory(os.environ), names)

    def _request(
        self,
        where: str,
        *,
        at: str | None,
        max_tokens: int | None,
        task: str | None,
        model: str | None,
        project: str | os.PathLike[str] | None,
    ) -> tuple[Request, TokenizerChoice]:
        from scopes.context.request import new_request
        from scopes.tokens.choose import choose_tokenizer
        from scopes.tokens.models import resolve_model

        config = self.repository.config
        row = None if model is None else resolve_model(model, config.walk())
        request = new_request(
            config,
            row,
            where=where,
            at=at,
            max_tokens=max_tokens,
            task=task,
            project="" if project is None else os.fspath(project),
        )
        return request, choose_tokenizer(rank_file_paths(os.environ), row)

    def _name(self, branch: str | None) -> str:
        """Return the name of a branch, or of the active one, as a revision."""
        return self.id if branch is None else f"{self.id}/{branch}"
