"""What a wheel holds: the package, the dashboard as ecv_core/dashboard, what is small of data/.

Recorded tunings stay in the project: they are three quarters of its data.
"""

from pathlib import Path

from setuptools import find_namespace_packages, find_packages, setup

DATA = Path("data")
SHIPPED = ["catalogue.toml"]
SHIPPED += [
    str(path.relative_to(DATA))
    for folder in ("energy", "lessons", "published", "recorded")
    for path in (DATA / folder).rglob("*")
    if path.is_file() and "tunings" not in path.parts
]
KINDS = ("html", "jinja", "j2", "css", "js", "svg", "tex", "toml")
BESIDE_CODE = [f"**/*.{kind}" for kind in KINDS]
PAGES = find_namespace_packages(include=["pages", "pages.*"])

setup(
    packages=[
        *find_packages(include=["ecv_core", "ecv_core.*"]),
        "ecv_core.data",
        "ecv_core.dashboard",
        *(f"ecv_core.dashboard.{name}" for name in PAGES),
    ],
    package_dir={
        "ecv_core.data": "data",
        "ecv_core.dashboard": ".",
        "ecv_core.dashboard.pages": "pages",
    },
    package_data={
        "ecv_core": ["py.typed", *BESIDE_CODE],
        "ecv_core.data": SHIPPED,
        "ecv_core.dashboard": [".streamlit/config.toml"],
        "ecv_core.dashboard.pages": BESIDE_CODE,
    },
    include_package_data=False,
)
