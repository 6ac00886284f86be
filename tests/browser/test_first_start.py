"""The first start on a new machine asks for nothing."""

from pathlib import Path

import pytest

from tests.browser.dashboard import Dashboard

pytestmark = pytest.mark.browser


def test_a_first_start_opens_the_dashboard_without_a_question(
    tmp_path: Path, data_dir: Path
) -> None:
    dashboard = Dashboard(tmp_path, data_dir)
    try:
        dashboard.start(first_time=True)
        assert "Email" not in dashboard.log.read_text()
    finally:
        dashboard.stop()
