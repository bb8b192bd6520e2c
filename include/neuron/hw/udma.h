/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * UDMA engines: registers, queues, descriptors; the TDMA wrapper around one. All generations have
 * the same.
 *
 * Plain integer macros; what is written here is the public record, docs/hardware.md names the
 * section. Offsets are bytes, registers are little-endian 32-bit words.
 */
#ifndef NEURON_HW_UDMA_H
#define NEURON_HW_UDMA_H

#define NEURON_DMA_QUEUES_PER_ENG 16

/* UDMA: one engine's register file */
#define NEURON_UDMA_SIZE 0x3c800
#define NEURON_UDMA_M2S 0x0
#define NEURON_UDMA_S2M 0x20000
#define NEURON_UDMA_M2S_Q(q) (0x01000 + 0x1000 * (q))
#define NEURON_UDMA_S2M_Q(q) (0x21000 + 0x1000 * (q))
#define NEURON_UDMA_M2S_STATE 0x200
#define NEURON_UDMA_M2S_CHANGE_STATE 0x204
#define NEURON_UDMA_M2S_CFG_LEN 0x254
#define NEURON_UDMA_M2S_VERSION 0x604
#define NEURON_UDMA_VERSION 4 /* drivers before 2.0 ask for it */
#define NEURON_UDMA_S2M_STATE 0x20200
#define NEURON_UDMA_S2M_CHANGE_STATE 0x20204
#define NEURON_UDMA_S2M_STREAM_CFG 0x20250
#define NEURON_UDMA_STATE_NORMAL 1
#define NEURON_UDMA_STATE_DISABLE 2
#define NEURON_UDMA_STATE_ABORT 4

/* Queue registers, offsets inside a queue block */
#define NEURON_UDMA_Q_CFG 0x20
#define NEURON_UDMA_Q_CFG_PREFETCH 0x10000u
#define NEURON_UDMA_Q_CFG_SCHEDULER 0x20000u
#define NEURON_UDMA_Q_CFG_RESET 0x03000000u
#define NEURON_UDMA_Q_STATUS 0x24
#define NEURON_UDMA_Q_BASE_LO 0x28
#define NEURON_UDMA_Q_BASE_HI 0x2c
#define NEURON_UDMA_Q_LEN 0x30
#define NEURON_UDMA_Q_HEAD 0x34
#define NEURON_UDMA_Q_TAIL_INC 0x38 /* the doorbell */
#define NEURON_UDMA_Q_TAIL 0x3c
#define NEURON_UDMA_Q_CURRENT 0x40
#define NEURON_UDMA_Q_COMP_BASE_LO 0x44
#define NEURON_UDMA_Q_COMP_BASE_HI 0x48
#define NEURON_UDMA_Q_COMP_HEAD 0x4c
#define NEURON_UDMA_S2M_Q_COMP_CFG 0x54
#define NEURON_UDMA_S2M_Q_SW_CTRL 0x64
#define NEURON_UDMA_M2S_Q_RLIMIT_MASK 0x74
#define NEURON_UDMA_M2S_Q_COMP_CFG 0xa0
#define NEURON_UDMA_M2S_Q_SW_CTRL 0xb0
#define NEURON_UDMA_Q_SW_CTRL_RESET 0x100u
#define NEURON_UDMA_RING_ALIGN 256
#define NEURON_UDMA_RING_MIN 32
#define NEURON_UDMA_RING_MAX 0xfffff0u
#define NEURON_UDMA_RING_GRAIN 16

/* Descriptors, 16 bytes: u32 len_ctrl, u32 meta_ctrl (TX) or 0 (RX), u64 address */
#define NEURON_UDMA_DESC_SIZE 16
#define NEURON_UDMA_DESC_LEN_MASK 0xffffu /* 0 means 64 KiB */
#define NEURON_UDMA_DESC_LEN_MAX 0x10000u
#define NEURON_UDMA_DESC_RING_ID_SHIFT 24
#define NEURON_UDMA_DESC_RING_ID_MASK 0x03000000u
#define NEURON_UDMA_DESC_FIRST 0x04000000u
#define NEURON_UDMA_DESC_LAST 0x08000000u
#define NEURON_UDMA_DESC_INT 0x10000000u
#define NEURON_UDMA_DESC_DMB 0x40000000u
#define NEURON_UDMA_META_DEFAULT 0x01080003u
#define NEURON_UDMA_META_OP_MASK 0x00700000u
#define NEURON_UDMA_META_WRITE_BARRIER 0x04000000u

/* TDMA wrapper */
#define NEURON_TDMA_ENABLE 0x0
#define NEURON_TDMA_RD_REORDER 0x1c
#define NEURON_TDMA_WR_REORDER 0x20

#endif
