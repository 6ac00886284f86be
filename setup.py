"""What a wheel holds: the package, the dashboard as ecv_core/dashboard, what is small of data/.

Recorded tunings stay in the project, and so does what no page or command reads.
"""

import re
import tomllib
from pathlib import Path

from setuptools import find_namespace_packages, find_packages, setup

DATA = Path("data")
LEFT_OUT = [
    DATA / "recorded" / name
    for name in (
        *("tunings.parquet", "unstable", "more"),
        *("sampled/protocols.npz", "sampled/splits/users.parquet"),
    )
]
SHIPPED = ["catalogue.toml", "papers.toml"]
for folder in ("energy", "lessons", "published", "recorded"):
    for path in (DATA / folder).rglob("*"):
        is_left_out = path.suffix == ".lock" or any(path.is_relative_to(one) for one in LEFT_OUT)
        if path.is_file() and not is_left_out:
            SHIPPED.append(str(path.relative_to(DATA)))
KINDS = ("html", "jinja", "j2", "css", "js", "svg", "tex", "toml", "mplstyle")
BESIDE_CODE = [f"**/*.{kind}" for kind in KINDS]
PAGES = find_namespace_packages(include=["pages", "pages.*"])


def for_an_index() -> str:
    """The README as a package index shows it: links lead to the project's address, if it has one.

    That is `Source` of [project.urls] in pyproject.toml. Without it words stay, and pictures go.
    """
    project = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]
    home = project.get("urls", {}).get("Source")

    def link(found: re.Match[str]) -> str:
        image, text, target = found.groups()
        if re.match(r"\w+:", target):
            return found[0]
        if home is None:
            return "" if image else text
        return f"{image}[{text}]({home}/{'raw' if image else 'blob'}/main/{target})"

    return re.sub(r"(!?)\[([^\]]*)\]\(([^)]+)\)", link, Path("README.md").read_text("utf-8"))


setup(
    long_description=for_an_index(),
    long_description_content_type="text/markdown",
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
        "ecv_core": ["py.typed", "__init__.pyi", "bridges/locks/*", *BESIDE_CODE],
        "ecv_core.data": SHIPPED,
        "ecv_core.dashboard": [".streamlit/config.toml"],
        "ecv_core.dashboard.pages": BESIDE_CODE,
    },
    include_package_data=False,
)
