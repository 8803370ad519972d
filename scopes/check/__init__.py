"""Check what agents did against rules: pass, fail or unknown for each rule and conversation (`scopes check`)."""
