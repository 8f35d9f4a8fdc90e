"""What the tests of the runtime share is in shared_fixtures.py, which those of a product may use too."""

pytest_plugins = ["shared_fixtures"]
