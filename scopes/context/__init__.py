"""Build what goes into a model's context window: `context`, `history`, `budget` and `tokens count`.

`context` runs request -> collect -> assemble -> result, with a cache in front. `collect` reads turns and touched files
from the store; `assemble` fits them into the budget with `select` (turns), `files` and `truncate`.
"""
