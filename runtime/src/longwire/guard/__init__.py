"""Who may send requests: checks of Host, Origin and tokens, hooks, scopes."""
