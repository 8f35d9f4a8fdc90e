"""Resources of a running measurement, subscriptions to them, and notifications of their changes."""
