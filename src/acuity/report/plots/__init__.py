"""Plots of scores over time, as SVG and PNG, for papers, messages and pages without JavaScript."""
