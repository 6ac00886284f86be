"""What leaves the dashboard: files, links and reports, and runs that come in."""
