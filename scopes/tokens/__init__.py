"""Counting tokens.

`choose` picks a tokenizer for a model: `exact` counts with tiktoken, `estimate` needs no data, and `count_cache` puts
a cache in front of either. `models` maps a model name to its window and encoding; `encodings` and `rank_files` know
the data of an encoding and find it on disk. `fetch` and `status` are the commands `tokens fetch` and `tokens status`.
"""
