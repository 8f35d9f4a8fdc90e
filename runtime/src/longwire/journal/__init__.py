"""Journals: what a restarted server continues its sessions from."""
