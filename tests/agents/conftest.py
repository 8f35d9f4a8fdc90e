"""Acuity is the product that these tests serve, in the processes of tests too."""

from acuity.agents.standalone.acuity_product import declare_acuity

declare_acuity()
