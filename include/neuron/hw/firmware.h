/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * MISC RAM, by whose words driver and firmware talk, and the messages of its mailbox (FWIO), the
 * same of all generations.
 *
 * Plain integer macros; what is written here is the public record, docs/hardware.md names the
 * section. Offsets are bytes, registers are little-endian 32-bit words.
 */
#ifndef NEURON_HW_FIRMWARE_H
#define NEURON_HW_FIRMWARE_H

/* MISC RAM words */
#define NEURON_MISC_RAM_SIZE 0x1000
#define NEURON_NO_ANSWER 0xdeadbeef /* a word of a chip that does not answer yet */
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
/* The election of an UltraServer: what a chip found to its left and right, high words first; how it
 * went: an outcome, then the sides, the node and how many there are, a byte each; the server */
#define NEURON_MISC_POD_FOUND 0x180
#define NEURON_MISC_POD_OUTCOME 0x190
#define NEURON_POD_OUTCOME_BAD 2
#define NEURON_POD_OUTCOME_GOOD 3
#define NEURON_MISC_POD_SERVER 0x194
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

#endif
