"""The secrets in a store: find them, allow false alarms, and make the gates for everything that leaves the store."""
