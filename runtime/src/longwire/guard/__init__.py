"""The checks of requests: Host, Origin, tokens, hooks, scopes."""
