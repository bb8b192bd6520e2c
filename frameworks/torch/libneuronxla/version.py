# SPDX-License-Identifier: MIT
"""The project's version (VERSION at the tree's root); the wheel's build writes it."""

VERSION = "0.1.0"
