# SPDX-License-Identifier: GPL-2.0-or-later
# What our QEMU has: the pc and q35 machines, root ports to plug into, expander bridges for machines
# of several buses, the Neuron devices, what a Debian guest needs of virtio, and an NVMe disk, which
# tests/bench measures beside the chip. (An expander bridge does not link without CXL.)
CONFIG_I440FX=y
CONFIG_Q35=y
CONFIG_PCIE_PORT=y
CONFIG_VTD=y
CONFIG_PXB=y
CONFIG_CXL=y
CONFIG_CXL_MEM_DEVICE=y
CONFIG_NEURON=y
CONFIG_ISA_DEBUG=y
CONFIG_NVME_PCI=y
CONFIG_VIRTIO_PCI=y
CONFIG_VIRTIO_BLK=y
CONFIG_VIRTIO_NET=y
CONFIG_VIRTIO_SERIAL=y
CONFIG_VIRTIO_RNG=y
CONFIG_VHOST_USER_FS=y
