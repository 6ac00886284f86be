"""As tests have them: a database of one's own, and prepared data outside the tree."""

from tests.conftest import data_dir, own_lock, own_surroundings, programs  # noqa: F401  fixtures
