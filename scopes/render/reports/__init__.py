"""Reports of `check` in the formats that CI systems read; `write` chooses one. Secrets are redacted in all of them."""
