"""The commands `longwire serve`, `check` and `worker-check`; products may offer them as their own."""
