"""Sessions: their table, their events, and the streams on which clients get these."""
