"""The live page: a running measurement in a browser, watched and steered over the server's own protocol."""
