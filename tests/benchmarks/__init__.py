"""Measurements against a reference in the same run: `python -m tests.benchmarks`. Tests never assert a time."""
