"""Decoding on the card: NVIDIA's decoder by way of PyNvVideoCodec, behind the reader's own demuxer."""
