"""Journals, from which a restarted server continues its sessions."""
