// SPDX-License-Identifier: MIT
/*
 * What of a module the importer does not read. hlo.proto has the fields that it reads; those of
 * XLA's messages that it leaves out are here, and whether they can change what is computed. A field
 * that neither has is newer than both, so it is refused, or only told of where a message says
 * nothing of values. tests/conformance/hlo_fields.py holds table and hlo.proto to the fields that
 * the oldest and the newest jaxlib have, and docs/compiler-operations.md to this table. Called by
 * import.c, once, on the whole module.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "operations.h"

/* Can it change what is computed? */
enum meaning {
	/* no: where a value lies, when it is computed, by which device, who wrote it; or what it
	 * belongs to is refused by its operation or type */
	IGNORED,
	REFUSED, /* yes, if it is set */
};

static const struct field {
	const char *message;
	unsigned int number;
	const char *name;
	enum meaning meaning;
} fields[] = {
	/* clang-format off */
	{ "HloInstructionProto", 11, "fusion_kind", IGNORED },
	{ "HloInstructionProto", 22, "outfeed_config", REFUSED },
	{ "HloInstructionProto", 27, "infeed_config", REFUSED },
	{ "HloInstructionProto", 29, "outfeed_shape", REFUSED },
	{ "HloInstructionProto", 37, "control_predecessor_ids", IGNORED },
	{ "HloInstructionProto", 40, "sharding", IGNORED },
	{ "HloInstructionProto", 45, "all_reduce_id", REFUSED },
	{ "HloInstructionProto", 47, "is_host_transfer", REFUSED },
	{ "HloInstructionProto", 51, "precision_config", IGNORED },
	{ "HloInstructionProto", 54, "domain_entry_sharding", IGNORED },
	{ "HloInstructionProto", 55, "domain_exit_sharding", IGNORED },
	{ "HloInstructionProto", 56, "constrain_layout", IGNORED },
	{ "HloInstructionProto", 57, "operand_shapes_with_layout", IGNORED },
	{ "HloInstructionProto", 61, "parameter_replication", IGNORED },
	{ "HloInstructionProto", 66, "delta", REFUSED },
	{ "HloInstructionProto", 67, "indices_are_sorted", IGNORED },
	{ "HloInstructionProto", 68, "frontend_attributes", IGNORED },
	{ "HloInstructionProto", 69, "unique_indices", IGNORED },
	{ "HloInstructionProto", 73, "is_cross_program_prefetch", IGNORED },
	{ "HloInstructionProto", 74, "output_operand_aliasing", IGNORED },
	{ "HloInstructionProto", 75, "padding_type", REFUSED },
	{ "HloInstructionProto", 76, "custom_call_schedule", IGNORED },
	{ "HloInstructionProto", 78, "async_group_id", IGNORED },
	{ "HloInstructionProto", 79, "async_execution_thread", IGNORED },
	{ "HloInstructionProto", 80, "cross_program_prefetch_index", IGNORED },
	{ "HloInstructionProto", 82, "statistics_viz", IGNORED },
	{ "HloInstructionProto", 87, "collective_device_list", REFUSED },
	{ "HloInstructionProto", 88, "original_value", IGNORED },
	{ "HloInstructionProto", 89, "is_composite", IGNORED },
	{ "HloInstructionProto", 90, "ragged_dot_dimension_numbers", REFUSED },
	{ "HloInstructionProto", 91, "result_accuracy", IGNORED },
	{ "HloInstructionProto", 92, "iota_collective_device_list", REFUSED },
	{ "HloInstructionProto", 93, "mesh_axes_replica_group_list", REFUSED },
	{ "HloInstructionProto", 94, "is_reverse", REFUSED },
	{ "HloInstructionProto", 95, "num_carries", REFUSED },
	{ "HloInstructionProto", 96, "is_associative", REFUSED },
	{ "HloInstructionProto", 97, "conv_kind", REFUSED },
	{ "HloInstructionProto", 98, "sparsity_config", REFUSED },
	{ "HloInstructionProto", 99, "backend_config_payload", REFUSED },
	{ "HloInstructionProto", 100, "has_dynamic_root", REFUSED },
	{ "HloInstructionProto", 101, "block_scaling_config", REFUSED },
	{ "HloInstructionProto", 103, "shuffle_mode", REFUSED },
	{ "HloComputationProto", 7, "is_fusion_computation", IGNORED },
	{ "HloComputationProto", 8, "execution_thread", IGNORED },
	{ "HloComputationProto", 9, "backend_config", IGNORED },
	{ "HloModuleProto", 7, "schedule", IGNORED },
	{ "HloModuleProto", 9, "dynamic_parameter_binding", REFUSED },
	{ "HloModuleProto", 10, "cross_program_prefetches", IGNORED },
	{ "HloModuleProto", 11, "is_dynamic", IGNORED },
	{ "HloModuleProto", 12, "spmd_output_sharding", IGNORED },
	{ "HloModuleProto", 13, "profile_info", IGNORED },
	{ "HloModuleProto", 14, "spmd_parameters_shardings", IGNORED },
	{ "HloModuleProto", 15, "device_assignment", IGNORED },
	{ "HloModuleProto", 16, "use_auto_spmd_partitioning", IGNORED },
	{ "HloModuleProto", 19, "frontend_attributes", IGNORED },
	{ "HloModuleProto", 20, "original_value_recovery_table", IGNORED },
	{ "HloModuleProto", 21, "device_type", IGNORED },
	{ "HloModuleProto", 22, "payloads", IGNORED },
	{ "HloModuleProto", 23, "pjrt_id", IGNORED },
	{ "HloModuleProto", 24, "debug_attributes", IGNORED },
	{ "HloModuleProto", 25, "backend_config", IGNORED },
	{ "LayoutProto", 6, "tiles", IGNORED },
	{ "LayoutProto", 7, "element_size_in_bits", IGNORED },
	{ "LayoutProto", 8, "memory_space", IGNORED },
	{ "LayoutProto", 9, "dim_level_types", IGNORED },
	{ "LayoutProto", 10, "physical_shape", IGNORED },
	{ "LayoutProto", 11, "index_primitive_type", IGNORED },
	{ "LayoutProto", 12, "pointer_primitive_type", IGNORED },
	{ "LayoutProto", 13, "dim_unique", IGNORED },
	{ "LayoutProto", 14, "dim_ordered", IGNORED },
	{ "LayoutProto", 15, "dynamic_shape_metadata_prefix_bytes", IGNORED },
	{ "LayoutProto", 16, "tail_padding_alignment_in_elements", IGNORED },
	{ "LayoutProto", 17, "split_configs", IGNORED },
	{ "LiteralProto", 14, "sparse_indices", REFUSED },
	{ "LiteralProto", 30, "s1s", IGNORED },
	{ "LiteralProto", 31, "u1s", IGNORED },
	{ "LiteralProto", 34, "dynamic_sizes", REFUSED },
	{ "LiteralProto", 35, "f6e3m2fns", IGNORED },
	{ "LiteralProto", 36, "f6e2m3fns", IGNORED },
	{ "OpMetadata", 5, "profile_type", IGNORED },
	{ "OpMetadata", 6, "creation_pass_id", IGNORED },
	{ "OpMetadata", 7, "logical_creation_pass_id", IGNORED },
	{ "OpMetadata", 8, "size_of_generated_code_in_bytes", IGNORED },
	{ "OpMetadata", 9, "size_of_memory_working_set_in_bytes", IGNORED },
	{ "OpMetadata", 10, "profile_info", IGNORED },
	{ "OpMetadata", 12, "deduplicated_name", IGNORED },
	{ "OpMetadata", 16, "scheduling_name", IGNORED },
	{ "OpMetadata", 17, "source_end_line", IGNORED },
	{ "OpMetadata", 18, "source_column", IGNORED },
	{ "OpMetadata", 19, "source_end_column", IGNORED },
	{ "OpMetadata", 20, "metadata_payload", IGNORED },
	{ "StackFrameIndexProto.FileLocation", 4, "column", IGNORED },
	{ "StackFrameIndexProto.FileLocation", 5, "end_line", IGNORED },
	{ "StackFrameIndexProto.FileLocation", 6, "end_column", IGNORED },
	/* clang-format on */
};

/* Messages of hlo.proto that have another name with XLA; silent: they say nothing of values */
static const struct message {
	const ProtobufCMessageDescriptor *descriptor;
	const char *name;
	bool silent;
} messages[] = {
	{ &ncc__hlo__module__descriptor, "HloModuleProto", true },
	{ &ncc__hlo__computation__descriptor, "HloComputationProto", false },
	{ &ncc__hlo__instruction__descriptor, "HloInstructionProto", false },
	{ &ncc__hlo__slice_dimensions__descriptor, "HloInstructionProto.SliceDimensions", false },
	{ &ncc__hlo__shape__descriptor, "ShapeProto", false },
	{ &ncc__hlo__program_shape__descriptor, "ProgramShapeProto", false },
	{ &ncc__hlo__literal__descriptor, "LiteralProto", false },
	{ &ncc__hlo__padding_config_dimension__descriptor, "PaddingConfig.PaddingConfigDimension",
	  false },
	{ &ncc__hlo__layout__descriptor, "LayoutProto", true },
	{ &ncc__hlo__input_output_alias__descriptor, "HloInputOutputAliasProto", true },
	{ &ncc__hlo__alias_entry__descriptor, "HloInputOutputAliasProto.AliasEntryProto", true },
	{ &ncc__hlo__buffer_donor__descriptor, "HloBufferDonorProto", true },
	{ &ncc__hlo__donor_entry__descriptor, "HloBufferDonorProto.BufferDonorEntryProto", true },
	{ &ncc__hlo__op_metadata__descriptor, "OpMetadata", true },
	{ &ncc__hlo__stack_frame_index__descriptor, "StackFrameIndexProto", true },
	{ &ncc__hlo__file_location__descriptor, "StackFrameIndexProto.FileLocation", true },
	{ &ncc__hlo__stack_frame__descriptor, "StackFrameIndexProto.StackFrame", true },
};

/* Values that a string of an instruction may have; "" is what is not written */
static const struct word {
	unsigned int number;
	const char *name;
	const char *values[6];
} words[] = {
	{ 72, "comparison_type", { "", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED" } },
	{ 102, "comparison_order", { "", "TOTAL", "PARTIAL" } },
};

/* The same of numbers: each from the first to the last one */
static const struct range {
	unsigned int number;
	const char *name;
	int32_t first, last;
} ranges[] = {
	{ 23, "distribution", 0, 2 },
	{ 31, "fft_type", 0, 3 },
	{ 70, "rng_algorithm", 0, 2 },
};

#define TOLD 16 /* fields that a warning has told of */

struct walk {
	const struct ncc_options *opt;
	struct ncc_error *err;
	const Ncc__Hlo__Instruction *inst; /* that the message belongs to, or NULL */
	struct {
		const char *message;
		unsigned int number;
	} told[TOLD];
	unsigned int ntold;
};

static struct message message_of(const ProtobufCMessageDescriptor *d)
{
	for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++)
		if (messages[i].descriptor == d)
			return messages[i];
	return (struct message){ d, d->short_name, false };
}

static const struct field *field_of(const char *message, unsigned int number)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (fields[i].number == number && !strcmp(fields[i].message, message))
			return &fields[i];
	return NULL;
}

/* name: of a field of the table; NULL: it is not known at all */
static int refuse(struct walk *w, const char *message, unsigned int number, const char *name)
{
	const Ncc__Hlo__Instruction *p = w->inst;
	char what[200];

	if (name)
		snprintf(what, sizeof(what), "field %u of %s (%s) is not supported", number,
			 message, name);
	else
		snprintf(what, sizeof(what),
			 "field %u of %s is not known, and may say what is computed", number,
			 message);
	if (!p)
		return ncc_fail(w->err, -ENOTSUP, "%s", what);
	return ncc_fail(w->err, -ENOTSUP, "%.40s '%.80s': %s", p->opcode, p->name, what);
}

/* Tells of a field that is left out, once for each field */
static void tell(struct walk *w, const char *message, unsigned int number)
{
	char text[200];

	for (unsigned int i = 0; i < w->ntold; i++)
		if (w->told[i].number == number && !strcmp(w->told[i].message, message))
			return;
	if (w->ntold == TOLD || !w->opt->warn)
		return;
	w->told[w->ntold].message = message;
	w->told[w->ntold++].number = number;
	snprintf(text, sizeof(text), "field %u of %s is not known and left out", number, message);
	w->opt->warn(w->opt->opaque, text);
}

/* Is a field's value what it has where it is absent? The length in front of bytes is part of it. */
static bool is_default(const ProtobufCMessageUnknownField *f)
{
	for (size_t i = 0; i < f->len; i++)
		if (f->data[i] & 0x7f)
			return false;
	return true;
}

static int check_unknown(struct walk *w, const ProtobufCMessage *m)
{
	struct message of = message_of(m->descriptor);
	int rc = 0;

	for (unsigned int i = 0; !rc && i < m->n_unknown_fields; i++) {
		const ProtobufCMessageUnknownField *u = &m->unknown_fields[i];
		const struct field *f = field_of(of.name, u->tag);

		if (f && (f->meaning == IGNORED || is_default(u)))
			continue;
		if (!f && of.silent)
			tell(w, of.name, u->tag);
		else
			rc = refuse(w, of.name, u->tag, f ? f->name : NULL);
	}
	return rc;
}

static int refuse_value(struct walk *w, unsigned int number, const char *name, const char *value)
{
	return ncc_fail(w->err, -ENOTSUP,
			"%.40s '%.80s': %s (field %u of HloInstructionProto) is '%.20s', which is "
			"not known",
			w->inst->opcode, w->inst->name, name, number, value);
}

static int check_words(struct walk *w, const Ncc__Hlo__Instruction *p)
{
	const char *have[] = { p->comparison_type, p->comparison_order };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const char *const *v = words[i].values;

		while (*v && strcmp(*v, have[i]))
			v++;
		if (!*v)
			return refuse_value(w, words[i].number, words[i].name, have[i]);
	}
	return 0;
}

static int check_numbers(struct walk *w, const Ncc__Hlo__Instruction *p)
{
	const int32_t have[] = { p->distribution, p->fft_type, p->rng_algorithm };
	char text[16];

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		if (have[i] >= ranges[i].first && have[i] <= ranges[i].last)
			continue;
		snprintf(text, sizeof(text), "%d", have[i]);
		return refuse_value(w, ranges[i].number, ranges[i].name, text);
	}
	return 0;
}

static int check_message(struct walk *w, const ProtobufCMessage *m);

/* The messages in a message; proto/scan.c has bounded how deep they are. */
static int check_nested(struct walk *w, const ProtobufCMessage *m,
			const ProtobufCFieldDescriptor *f)
{
	const char *base = (const char *)m;
	void *const *at = (void *const *)(base + f->offset);
	size_t n = *at != NULL;
	int rc = 0;

	if (f->label == PROTOBUF_C_LABEL_REPEATED) {
		n = *(const size_t *)(base + f->quantifier_offset);
		at = *at;
	}
	for (size_t i = 0; !rc && i < n; i++)
		rc = check_message(w, at[i]);
	return rc;
}

static int check_message(struct walk *w, const ProtobufCMessage *m)
{
	const ProtobufCMessageDescriptor *d = m->descriptor;
	int rc = 0;

	if (d == &ncc__hlo__instruction__descriptor) {
		w->inst = (const void *)m;
		/* An operation that is not supported says so by itself. */
		if (!hlo_find(w->inst->opcode))
			return 0;
		rc = check_words(w, w->inst) ?: check_numbers(w, w->inst);
	}
	rc = rc ? rc : check_unknown(w, m);
	for (unsigned int i = 0; !rc && i < d->n_fields; i++)
		if (d->fields[i].type == PROTOBUF_C_TYPE_MESSAGE)
			rc = check_nested(w, m, &d->fields[i]);
	if (d == &ncc__hlo__instruction__descriptor)
		w->inst = NULL;
	return rc;
}

int hlo_check_fields(const Ncc__Hlo__Module *m, const struct ncc_options *opt,
		     struct ncc_error *err)
{
	struct walk w = { .opt = opt, .err = err };

	return check_message(&w, &m->base);
}
