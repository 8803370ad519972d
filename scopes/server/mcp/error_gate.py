"""The gate of errors: what is told to a client beside answers, whoever raised it, passes here.

An error of ours was cleared with the ids of the store when it was described. Errors of the library, of Python and of
what we call may quote what was asked or what is recorded: their placeholders have no ids.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from mcp.shared.exceptions import MCPError
from mcp.types import INTERNAL_ERROR
from pydantic import ValidationError

from scopes.secret_scan.clearance import without_store

if TYPE_CHECKING:
    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

_PLACE = "the error"
_LOG = logging.getLogger(__name__)


def clear_error(text: str) -> str:
    """Return the text of an error as a client may read it."""
    return without_store().clear_text(text, _PLACE)


async def clear_errors(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Answer a request; its error, or the text of a tool that failed, is cleared.

    Raises:
        MCPError: the request failed. ValidationError: it is malformed; the library says so without any text of it.
    """
    try:
        result = await call_next(ctx)
    except MCPError as error:
        data = error.data if error.data is None else without_store().clear_document(error.data, _PLACE)
        raise MCPError(error.code, clear_error(error.message), data) from error
    except ValidationError:
        raise
    except Exception as error:  # the library would send its text as it is
        _LOG.exception("the request %r failed", ctx.method)
        raise MCPError(INTERNAL_ERROR, clear_error(str(error)) or "the server failed") from error
    if isinstance(result, dict) and result.get("isError"):
        return {**result, "content": without_store().clear_document(result.get("content"), _PLACE)}
    return result
