/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * Compressed streams, as DMA engines write and read them (docs/hardware.md, Compressed streams):
 * up to 64 KiB of elements behind a header. Lossless, and the same bytes on every host.
 */
#ifndef NEURON_ISA_COMPRESS_H
#define NEURON_ISA_COMPRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NEURON_STREAM_RAW_MAX 65536u
#define NEURON_STREAM_MAGIC 0x3153434eu /* "NCS1" */
#define NEURON_STREAM_VERSION 2 /* that is written; the first is read too */
#define NEURON_STREAM_VERSION_1 1
#define NEURON_STREAM_HEADER 20 /* bytes */
#define NEURON_STREAM_AT_MAGIC 0 /* u32 */
#define NEURON_STREAM_AT_VERSION 4 /* u8 */
#define NEURON_STREAM_AT_WIDTH 5 /* u8: bytes of an element, 1, 2 or 4 */
#define NEURON_STREAM_AT_ZERO 6 /* u16 */
#define NEURON_STREAM_AT_RAW 8 /* u32: bytes of all elements */
#define NEURON_STREAM_AT_SIZE 12 /* u32: bytes of the stream, with the header */
/* u32: of what is behind the header, from the bytes of all elements; in version 1 XXH32, seed 0, of
 * the elements */
#define NEURON_STREAM_AT_CHECK 16
/* A stream has at most this many bytes more than its elements */
#define NEURON_STREAM_OVERHEAD (NEURON_STREAM_HEADER + 4)

#define NEURON_STREAM_BITS 11 /* of the longest code */

/* A plane: the bytes of one place of all elements */
#define NEURON_PLANE_PLAIN 0
#define NEURON_PLANE_CONSTANT 1
#define NEURON_PLANE_CODED 2
/* Version 2, in place of planes: the elements' indices, of 0, 1, 2 or 4 bits, into a table */
#define NEURON_STREAM_TABLE 3
#define NEURON_STREAM_TABLE_MAX 16
#define NEURON_PLANE_STREAMS 4 /* of a coded plane's bits */

/* Faults of a stream; data2 of DMA_STREAM */
enum neuron_stream_error {
	NEURON_STREAM_OK,
	NEURON_STREAM_BAD_HEADER, /* magic, version, the bytes that are 0 */
	NEURON_STREAM_BAD_WIDTH, /* not that of the elements that are asked for */
	NEURON_STREAM_BAD_RAW, /* none, more than 64 KiB, no whole elements */
	NEURON_STREAM_BAD_SIZE, /* more than there is, or other than the planes need */
	NEURON_STREAM_BAD_PLANE, /* of no kind */
	NEURON_STREAM_BAD_CODE, /* lengths that make no complete code, indices of other bits */
	NEURON_STREAM_BAD_BITS, /* codes end before or behind their bits, or bits behind are not 0 */
	NEURON_STREAM_BAD_CHECK,
	NEURON_STREAM_BAD_ROOM, /* what has to hold the elements, or the stream, is of another size */
};

/* Scratch memory for both ways' planes: the caller's, without a meaning between calls */
struct neuron_stream_work {
	uint8_t plane[NEURON_STREAM_RAW_MAX];
	uint16_t code[1 << NEURON_STREAM_BITS];
};

/*
 * Compresses raw bytes, 1 to 64 KiB of whole elements of width bytes (1, 2 or 4), into out with
 * room for raw + NEURON_STREAM_OVERHEAD. Without codes, which take long to decompress, if these are
 * not wanted. Returns the stream's bytes
 */
uint32_t neuron_compress(const void *in, uint32_t raw, unsigned int width, bool codes, void *out,
			 struct neuron_stream_work *work);

/* Checks a header, of which there are `have` bytes with what follows: *raw and *size */
enum neuron_stream_error neuron_stream_head(const void *in, size_t have, unsigned int width,
					    uint32_t *raw, uint32_t *size);
/* The elements of a stream into out, which has room for 64 KiB; if it is bad out holds anything */
enum neuron_stream_error neuron_decompress(const void *in, size_t have, unsigned int width,
					   void *out, struct neuron_stream_work *work);

/* XXH32 (xxHash's specification, which is public) */
uint32_t neuron_xxh32(const void *in, uint32_t len, uint32_t seed);
/* The header of a stream of raw bytes: docs/hardware.md, Compressed streams */
uint32_t neuron_stream_check(const void *behind, uint32_t len, uint32_t raw);
/* Has a stream that neuron_compress made a table, in place of planes? */
static inline bool neuron_stream_has_table(const void *stream)
{
	return ((const uint8_t *)stream)[NEURON_STREAM_HEADER] == NEURON_STREAM_TABLE;
}

#endif
