"""The senders of requests, and the limits on how many they send and how often."""
