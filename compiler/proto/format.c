// SPDX-License-Identifier: MIT
/* Formats by what a file begins with. Public magic numbers, each with its way to HLO or ONNX. */
#include "proto/format.h"

#include <stdbool.h>
#include <string.h>

#define FROM_JAX                                                                          \
	"export it with neuron_export.py, or with jax.jit(f).lower(x).compiler_ir('hlo')" \
	".as_serialized_hlo_module_proto()"
#define OR_ARTIFACT "; or give a portable artifact of StableHLO"
#define GIVE_XLA ": give --framework StableHLO"
#define FROM_TORCH "export it with torch.onnx.export() and give --framework ONNX"
#define FROM_KERAS "convert it with tf2onnx and give --framework ONNX"

#define IR_TEXT "module \""
#define MLIR_BYTECODE "ML\xefR"

/* clang-format off */
static const struct {
	size_t at;
	const char *magic, *text;
} formats[] = {
	{ 0, "HloModule",               "HLO as text: " FROM_JAX ", or run XLA with --xla_dump_hlo_as_proto" },
	{ 0, MLIR_BYTECODE,             "a portable artifact of StableHLO" GIVE_XLA },
	{ 0, IR_TEXT,                   "the tensor IR as text: give --framework IR" },
	{ 0, "module ",                 "MLIR as text, such as StableHLO: " FROM_JAX OR_ARTIFACT },
	{ 0, "module{",                 "MLIR as text, such as StableHLO: " FROM_JAX OR_ARTIFACT },
	{ 0, "builtin.module",          "MLIR as text, such as StableHLO: " FROM_JAX OR_ARTIFACT },
	{ 0, "func.func",               "MLIR as text, such as StableHLO: " FROM_JAX OR_ARTIFACT },
	{ 0, "#loc",                    "MLIR as text, such as StableHLO: " FROM_JAX OR_ARTIFACT },
	{ 0, "PK\x03\x04",              "a ZIP archive, such as PyTorch's .pt: " FROM_TORCH },
	{ 0, "\x80\x02",                "a Python pickle, such as PyTorch's .pth: " FROM_TORCH },
	{ 0, "\x89HDF",                 "an HDF5 file, such as Keras's .h5: " FROM_KERAS },
	{ 4, "TFL3",                    "a TensorFlow Lite model: " FROM_KERAS },
	{ 8, "{\"",                     "a safetensors file, which has weights and no model: export the model itself" },
	{ 0, "\x1f\x8b",                "a file compressed by gzip: give it unpacked" },
	{ 0, "version https://git-lfs", "a Git LFS pointer in place of the file: fetch it with git lfs pull" },
};
/* clang-format on */

static bool has(const uint8_t *buf, size_t size, size_t at, const char *magic)
{
	const size_t n = strlen(magic);

	return size >= at + n && !memcmp(buf + at, magic, n);
}

/* Text may begin with comments */
static size_t comments(const uint8_t *buf, size_t size)
{
	size_t at = 0;

	while (at < size) {
		const uint8_t *end;

		if (strchr(" \t\r\n", buf[at]) && buf[at]) {
			at++;
			continue;
		}
		end = has(buf, size, at, "//") ? memchr(buf + at, '\n', size - at) : NULL;
		if (!end)
			break;
		at = (size_t)(end - buf);
	}
	return at;
}

/* jax.export's artifact: a FlatBuffer (which starts with a small offset) around MLIR bytecode */
static bool is_jax_export(const uint8_t *buf, size_t size)
{
	return size > 8 && !buf[2] && !buf[3] && !(buf[0] & 3) &&
	       memmem(buf, size, MLIR_BYTECODE, strlen(MLIR_BYTECODE));
}

/* ModelProto starts with its small ir_version, then comes another field */
static bool is_onnx(const uint8_t *buf, size_t size)
{
	return size > 3 && buf[0] == 0x08 && buf[1] < 64 && (buf[2] & 7) == 2;
}

/* HloModuleProto starts with two strings, its name and that of its entry computation */
static bool is_hlo(const uint8_t *buf, size_t size)
{
	return size > 3 && buf[0] == 0x0a && buf[1] < 128 && size > buf[1] + 2u &&
	       buf[buf[1] + 2] == 0x12;
}

const char *ncc_format(const uint8_t *buf, size_t size, enum ncc_framework framework)
{
	size_t skip;

	if (framework != NCC_ONNX && is_onnx(buf, size))
		return "an ONNX model: give --framework ONNX";
	if (framework != NCC_XLA && is_hlo(buf, size))
		return "an HLO module: give --framework XLA";
	if (is_jax_export(buf, size))
		return framework == NCC_XLA ? "an artifact of jax.export without one of StableHLO"
					    : "an artifact of jax.export" GIVE_XLA;

	skip = comments(buf, size);
	if (framework == NCC_IR && has(buf, size, skip, IR_TEXT))
		return NULL;
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (has(buf, size, skip + formats[i].at, formats[i].magic))
			return formats[i].text;
	return NULL;
}
