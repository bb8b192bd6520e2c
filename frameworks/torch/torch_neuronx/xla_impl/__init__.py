# SPDX-License-Identifier: MIT
"""Where programs find some functions of torch_neuronx"""
