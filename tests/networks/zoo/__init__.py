# SPDX-License-Identifier: MIT
"""The zoo: networks and functions of the kinds that people write, each a builder like those of vision.py and text.py.

Their errors are sampled (sampled.py), so that a model may be made of any primitive. What a model decides, an index or
how often a loop turns, must not lie within rounding: the inputs are made so, and sampled.py sees to it.
"""

from typing import Callable

from layers import Network
from zoo import images, language, numeric, sequences, tables

PREFIX = "zoo_"
NETWORKS: dict[str, Callable[[bool], Network]] = {
    PREFIX + build.__name__: build for part in (language, sequences, images, tables, numeric) for build in part.MODELS}
