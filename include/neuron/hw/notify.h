/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * Notification queues: their types, the same of all generations.
 *
 * Plain integer macros; what is written here is the public record, docs/hardware.md names the
 * section. Offsets are bytes, registers are little-endian 32-bit words.
 */
#ifndef NEURON_HW_NOTIFY_H
#define NEURON_HW_NOTIFY_H

#define NEURON_NQ_TRACE 0
#define NEURON_NQ_NOTIFY 1
#define NEURON_NQ_EVENT 2
#define NEURON_NQ_ERROR 3
#define NEURON_NQ_TRACE_DMA 4
#define NEURON_NQ_THROTTLE 5
#define NEURON_NQ_TYPES 6

#endif
