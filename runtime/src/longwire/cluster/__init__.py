"""Several nodes: sessions that any of them can continue, through Redis or Valkey."""
