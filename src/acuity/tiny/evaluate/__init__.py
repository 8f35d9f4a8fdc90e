"""How well ONNX models predict opinions: a table of rated clips in, correlations and a ranking out."""
