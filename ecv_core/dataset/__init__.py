"""Catalogue entry or file on disk -> Interactions, with every checksum verified."""

from ecv_core.dataset.downloads import download as download
from ecv_core.dataset.entries import OWN_DOMAIN as OWN_DOMAIN
from ecv_core.dataset.entries import DatasetEntry as DatasetEntry
from ecv_core.dataset.entries import catalogue as catalogue
from ecv_core.dataset.entries import entry as entry
from ecv_core.dataset.folders import cache_dir as cache_dir
from ecv_core.dataset.folders import data_dir as data_dir
from ecv_core.dataset.folders import search_dirs as search_dirs
from ecv_core.dataset.loading import load as load
from ecv_core.dataset.sources import available as available
from ecv_core.dataset.sources import change_sentence as change_sentence
from ecv_core.dataset.sources import check_content as check_content
from ecv_core.dataset.sources import file_sha256 as file_sha256
from ecv_core.dataset.sources import how_to_supply as how_to_supply
from ecv_core.dataset.sources import listing as listing
from ecv_core.dataset.sources import locate as locate
from ecv_core.dataset.sources import own_sha256 as own_sha256
from ecv_core.dataset.sources import source_key as source_key
