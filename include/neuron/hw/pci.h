/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * PCI: the identity that all generations share, and their BARs (docs/hardware.md, PCI).
 *
 * Plain integer macros; what is written here is the public record, docs/hardware.md names the
 * section. Offsets are bytes, registers are little-endian 32-bit words.
 */
#ifndef NEURON_HW_PCI_H
#define NEURON_HW_PCI_H

#define NEURON_PCI_VENDOR 0x1d0f
#define NEURON_PCI_CLASS 0x088000
#define NEURON_PCI_REVISION 0x01

#define NEURON_BAR_APB 0
#define NEURON_BAR_AXI 2
#define NEURON_BAR_DRAM 4

#endif
