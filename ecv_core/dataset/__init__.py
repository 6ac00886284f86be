"""Catalogue entry or file on disk -> Interactions, with every checksum verified."""

from ecv_core.dataset._catalogue import OWN_DOMAIN as OWN_DOMAIN
from ecv_core.dataset._catalogue import DatasetEntry as DatasetEntry
from ecv_core.dataset._catalogue import available as available
from ecv_core.dataset._catalogue import cache_dir as cache_dir
from ecv_core.dataset._catalogue import catalogue as catalogue
from ecv_core.dataset._catalogue import changed as changed
from ecv_core.dataset._catalogue import check_content as check_content
from ecv_core.dataset._catalogue import data_dir as data_dir
from ecv_core.dataset._catalogue import entry as entry
from ecv_core.dataset._catalogue import file_sha256 as file_sha256
from ecv_core.dataset._catalogue import how_to_supply as how_to_supply
from ecv_core.dataset._catalogue import listing as listing
from ecv_core.dataset._catalogue import locate as locate
from ecv_core.dataset._catalogue import own_sha256 as own_sha256
from ecv_core.dataset._catalogue import search_dirs as search_dirs
from ecv_core.dataset._catalogue import source_key as source_key
from ecv_core.dataset._load import download as download
from ecv_core.dataset._load import load as load
