"""Points: encodes of a clip with their scores, from the cache or made side by side."""
