/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * Hardware contract of the Inferentia device (PCI 1d0f:7064), first generation ("V1").
 *
 * Plain integer macros, shared by the device core, the kernel module, the hal and tests. What is
 * written here is the public record, docs/hardware.md names the section; what is our own is in
 * ext.h. Offsets are bytes, registers are little-endian 32-bit words.
 */
#ifndef NEURON_HW_INFERENTIA_H
#define NEURON_HW_INFERENTIA_H

/* PCI identity (docs/hardware.md, PCI) */
#define NEURON_PCI_VENDOR 0x1d0f
#define NEURON_PCI_DEVICE_INF1 0x7064
#define NEURON_PCI_CLASS 0x088000
#define NEURON_PCI_REVISION 0x01

#define NEURON_BAR_APB 0
#define NEURON_BAR_AXI 2
#define NEURON_BAR_DRAM 4
#define NEURON_V1_BAR0_SIZE 0x1000000ull
#define NEURON_V1_BAR2_SIZE 0x10000000ull

/* Counts */
#define NEURON_V1_NC_PER_DEVICE 4
#define NEURON_V1_DMA_ENG_PER_NC 3
#define NEURON_V1_DMA_ENGINES 12
#define NEURON_DMA_QUEUES_PER_ENG 16
#define NEURON_V1_SEMAPHORES 32
#define NEURON_V1_EVENTS 256
#define NEURON_V1_DRAM_CHANNELS 2
#define NEURON_V1_DRAM_CHANNEL_SIZE 0x100000000ull

/* Device-side addresses (docs/hardware.md, Address map) */
#define NEURON_V1_DRAM0_BASE 0x0ull
#define NEURON_V1_DRAM1_BASE 0x1000000000ull
#define NEURON_V1_AXI_PORT1 0x100000000000ull /* bit 44: the same memory through another port */
#define NEURON_V1_TPB_BASE 0xfffc0000000ull
#define NEURON_V1_TPB_SIZE 0x4000000ull
#define NEURON_V1_APB_BASE 0xffff0000000ull
#define NEURON_V1_WINDOW_SHIFT 46 /* bits 47:46 select the window */
#define NEURON_V1_WINDOW_MASK 0xc00000000000ull
#define NEURON_V1_WINDOW_LOCAL 0x0ull
#define NEURON_V1_WINDOW_HOST 0x400000000000ull
#define NEURON_V1_WINDOW_EAST 0x800000000000ull
#define NEURON_V1_WINDOW_WEST 0xc00000000000ull

/* Inside a NeuronCore (TPB) window */
#define NEURON_V1_TPB_SBUF 0x0 /* chosen; the geometry is in ext.h */
#define NEURON_V1_TPB_PE_FIFO 0x265c000
#define NEURON_V1_TPB_FIFO_SIZE 0x4000
#define NEURON_V1_TPB_EVENTS 0x2700000
#define NEURON_V1_TPB_SEM_READ 0x2701000
#define NEURON_V1_TPB_SEM_SET 0x2701100
#define NEURON_V1_TPB_SEM_INC 0x2701200
#define NEURON_V1_TPB_SEM_DEC 0x2701300
#define NEURON_V1_TPB_SEM_APERTURE 0x80 /* bytes used of each 0x100 aperture */

/* Inside BAR0 (APB) */
#define NEURON_V1_APB_TDMA(nc, k) (0x100000 * (nc) + 0x1000 * (k))
#define NEURON_V1_APB_UDMA(eng) (0x40000 + ((eng) / 3) * 0x100000 + ((eng) % 3) * 0x40000)
#define NEURON_V1_APB_PUTILS(nc) (0x404000 + 0x10000 * (nc))
#define NEURON_V1_APB_PUTILS_SIZE 0x10000
#define NEURON_V1_APB_MISC_RAM 0x78e000
#define NEURON_V1_APB_MISC_RAM_SIZE 0x1000

/* The queue the driver itself copies with, one a core */
#define NEURON_V1_H2T_ENGINE(nc) (3 * (nc) + 2)
#define NEURON_V1_H2T_QUEUE 15

/* MISC RAM words */
#define NEURON_MISC_RAM_SIZE 0x1000
#define NEURON_MISC_FW_API_VERSION 0x00
#define NEURON_MISC_FW_STATUS 0x1c
#define NEURON_MISC_FW_STATUS_READY 0x80000000u
#define NEURON_MISC_FW_STATUS_EAST 0x1u
#define NEURON_MISC_FW_STATUS_WEST 0x2u
#define NEURON_MISC_DEVICE_ID 0x24
#define NEURON_MISC_SERIAL_LO 0x38
#define NEURON_MISC_SERIAL_HI 0x3c
#define NEURON_MISC_ECC_SRAM 0x40 /* low 16 uncorrected, high 16 corrected */
#define NEURON_MISC_ECC_DRAM(ch) (0x44 + 4 * (ch))
#define NEURON_MISC_REPAIR 0x64 /* of memories, where the firmware does that: low 2 bits */
#define NEURON_REPAIR_MASK 3
#define NEURON_REPAIR_NONE 0
#define NEURON_REPAIR_PENDING 1
#define NEURON_REPAIR_FAILED 2
#define NEURON_MISC_POWER(die) (0x54 + 4 * (die)) /* low 16 basis points, high 16 sample */
/* The number of the chip's server, valid with NEURON_MISC_SERVER_VALID */
#define NEURON_MISC_SERVER 0x70
#define NEURON_MISC_SERVER_VALID 0x8000u
#define NEURON_MISC_ACK 0xf0
#define NEURON_MISC_METRIC 0x100
#define NEURON_MISC_METRIC_SIZE 128
#define NEURON_MISC_TPB_RESET_MAP 0x1d8
#define NEURON_MISC_RESET 0x1ec
#define NEURON_MISC_RESET_DEVICE 1
#define NEURON_MISC_RESET_TPB 2
#define NEURON_MISC_FWIO_REQ_HI 0x1f0
#define NEURON_MISC_FWIO_REQ_LO 0x1f4
#define NEURON_MISC_FWIO_RESP_HI 0x1f8
#define NEURON_MISC_FWIO_RESP_LO 0x1fc
#define NEURON_MISC_DOORBELL 0x800
#define NEURON_MISC_BUSY 0x808 /* status, from Trainium on */
#define NEURON_MISC_BUSY_RESET 0x8u /* a reset is in progress */

/* FWIO messages; CRC-32C over the request with the crc field taken as zero */
#define NEURON_FWIO_BUF_SIZE 0x10000
#define NEURON_FWIO_REQ_HDR 8 /* u8 seq, u8 cmd, u16 size, u32 crc */
#define NEURON_FWIO_RESP_HDR 4 /* u8 seq, u8 error, u16 size */
#define NEURON_FWIO_CMD_READ 1
#define NEURON_FWIO_CMD_POST_METRIC 2
#define NEURON_FWIO_OK 0
#define NEURON_FWIO_FAIL 1
#define NEURON_FWIO_UNKNOWN_CMD 2
/* Firmware versions from which on the driver expects something else */
#define NEURON_FIRMWARE_POWER 3 /* the power words have readings */
#define NEURON_FIRMWARE_ECC 6 /* of a memory's errors 15:12 are uncorrected, 11:0 repairable */
#define NEURON_FIRMWARE_WORDS 7 /* a mailbox in MISC RAM's words */
#define NEURON_FIRMWARE_MAX 7
/*
 * That mailbox: the request's header in FWIO_REQ_HI and _LO, nothing in FWIO_RESP_HI and _LO,
 * payloads from METRIC on. The answer is there when the doorbell reads 0: u8 seq, u8 error, u16
 * size, u32 crc.
 */
#define NEURON_FWIO_CMD_POWER_PROFILE 3 /* u32 0, u8 profile, voltage margin, frequency, ocw */
#define NEURON_FWIO_CMD_GET_DATA 4 /* u8 type */
#define NEURON_FWIO_DATA_PROFILE 1 /* as it was set */
#define NEURON_FWIO_DATA_PROFILES 2 /* u8 how many, 32 bytes: a bit for each that exists */
#define NEURON_FWIO_CMD_FEATURES 5 /* a bit each */
#define NEURON_FWIO_FEATURE_THROTTLING 0x1 /* notifications of it */
#define NEURON_FWIO_CRC32C_POLY 0x82f63b78u

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
#define NEURON_V1_UDMA_DESC_PER_PACKET 128

/* TDMA wrapper */
#define NEURON_TDMA_ENABLE 0x0
#define NEURON_TDMA_RD_REORDER 0x1c
#define NEURON_TDMA_WR_REORDER 0x20

/* Notification queues: register groups inside PUTILS; eng = 0..3 */
#define NEURON_NQ_TRACE 0
#define NEURON_NQ_NOTIFY 1
#define NEURON_NQ_EVENT 2
#define NEURON_NQ_ERROR 3
#define NEURON_NQ_TRACE_DMA 4
#define NEURON_NQ_THROTTLE 5
#define NEURON_NQ_TYPES 6
#define NEURON_V1_NQ_ENGINES 4
#define NEURON_V1_NQ_ERROR_REGS 0x1074
#define NEURON_V1_NQ_EVENT_REGS 0x1094
#define NEURON_V1_NQ_NOTIFY_REGS(eng) (0xbfc + 0x104 * (eng))
#define NEURON_V1_NQ_TRACE_REGS(eng) (0xc7c + 0x104 * (eng))
#define NEURON_V1_NQ_BASE_LO 0x0 /* offsets inside a register group */
#define NEURON_V1_NQ_BASE_HI 0x4
#define NEURON_V1_NQ_SIZE 0x8 /* bytes, a power of two; 0 disables */
#define NEURON_V1_NQ_HEAD 0x18

#endif
