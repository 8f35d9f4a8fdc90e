"""Many encodes beside their references: scored together, remembered, and ranked."""
