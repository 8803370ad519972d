"""Proposals of changes of entities: create, review, test, apply and roll back."""
