"""What model answers cost: tokens and money by day, model, agent, project and conversation.

`answers` reads the answers of a conversation, `tally` adds them up so that each counts once, `read_usage` does so for
many conversations with a cache, `prices` is the price table, `usage` is the verb and `statusline` its one line.
"""
