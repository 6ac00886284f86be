"""What a wheel holds: the package, and from data/ what comes with the project, as ecv_core/data."""

from setuptools import find_packages, setup

SHIPPED = ["catalogue.toml", "energy/*", "lessons/*", "recorded/*", "recorded/*/*"]
SHIPPED += ["recorded/*/users/*", "recorded/*/grids/*", "published/*"]
SHIPPED += ["recorded/sampled/splits/*", "recorded/sampled/splits/users/*"]
BESIDE_CODE = [f"**/*.{kind}" for kind in ("html", "jinja", "j2", "css", "svg", "tex", "toml")]

setup(
    packages=[*find_packages(include=["ecv_core", "ecv_core.*"]), "ecv_core.data"],
    package_dir={"ecv_core.data": "data"},
    package_data={"ecv_core": BESIDE_CODE, "ecv_core.data": SHIPPED},
    include_package_data=False,
)
