"""Tiny models: small neural networks in ONNX files that score pictures, or features of them."""
