"""Catalogue entry or file on disk -> Interactions, with every checksum verified."""

from ecv_core.dataset._catalogue import (
    OWN_DOMAIN,
    DatasetEntry,
    available,
    cache_dir,
    catalogue,
    data_dir,
    entry,
    how_to_supply,
    listing,
    locate,
    misnamed,
    search_dirs,
)
from ecv_core.dataset._download import download
from ecv_core.dataset._hashing import (
    changed,
    check_content,
    file_sha256,
    own_sha256,
    source_key,
)
from ecv_core.dataset._load import check_own, load

__all__ = [
    "OWN_DOMAIN",
    "DatasetEntry",
    "available",
    "cache_dir",
    "catalogue",
    "changed",
    "check_content",
    "check_own",
    "data_dir",
    "download",
    "entry",
    "file_sha256",
    "how_to_supply",
    "listing",
    "load",
    "locate",
    "misnamed",
    "own_sha256",
    "search_dirs",
    "source_key",
]
