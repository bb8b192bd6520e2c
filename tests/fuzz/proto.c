// SPDX-License-Identifier: MIT
/* Mutation of a message through protobuf-c's descriptors (proto.h) */
#include "proto.h"

#ifdef FUZZ_LIBFUZZER

struct mutation {
	uint64_t state;
	const char *const *strings;
	unsigned int nstrings;
};

static uint64_t rnd(struct mutation *m)
{
	m->state ^= m->state >> 12;
	m->state ^= m->state << 25;
	m->state ^= m->state >> 27;
	return m->state * 0x2545f4914f6cdd1dull >> 16;
}

static size_t value_size(const ProtobufCFieldDescriptor *f)
{
	switch (f->type) {
	case PROTOBUF_C_TYPE_INT32:
	case PROTOBUF_C_TYPE_SINT32:
	case PROTOBUF_C_TYPE_SFIXED32:
	case PROTOBUF_C_TYPE_UINT32:
	case PROTOBUF_C_TYPE_FIXED32:
	case PROTOBUF_C_TYPE_FLOAT:
	case PROTOBUF_C_TYPE_ENUM:
		return 4;
	case PROTOBUF_C_TYPE_BOOL:
		return sizeof(protobuf_c_boolean);
	case PROTOBUF_C_TYPE_STRING:
	case PROTOBUF_C_TYPE_MESSAGE:
		return sizeof(void *);
	case PROTOBUF_C_TYPE_BYTES:
		return sizeof(ProtobufCBinaryData);
	default:
		return 8;
	}
}

static uint64_t number(struct mutation *m, uint64_t old)
{
	switch (rnd(m) % 8) {
	case 0:
		return rnd(m) % 4;
	case 1:
		return rnd(m) % 40;
	case 2:
		return old + 1;
	case 3:
		return old - 1;
	case 4:
		return 1ull << rnd(m) % 64;
	case 5:
		return (1ull << rnd(m) % 64) - 1;
	case 6:
		return -(rnd(m) % 4);
	default:
		return rnd(m) << 16 ^ rnd(m);
	}
}

static void change_string(struct mutation *m, char **s)
{
	char *old = *s;

	if (!m->nstrings)
		return;
	*s = strdup(m->strings[rnd(m) % m->nstrings]);
	if (old != protobuf_c_empty_string)
		free(old);
}

static void change_bytes(struct mutation *m, ProtobufCBinaryData *b)
{
	if (b->len && rnd(m) % 4)
		b->data[rnd(m) % b->len] = (uint8_t)rnd(m);
	else if (b->len)
		b->len -= 1 + rnd(m) % b->len;
}

static void mutate(struct mutation *m, ProtobufCMessage *msg);

static void change(struct mutation *m, const ProtobufCFieldDescriptor *f, uint8_t *p)
{
	uint64_t v = 0;

	switch (f->type) {
	case PROTOBUF_C_TYPE_MESSAGE:
		mutate(m, *(ProtobufCMessage **)p);
		break;
	case PROTOBUF_C_TYPE_STRING:
		change_string(m, (char **)p);
		break;
	case PROTOBUF_C_TYPE_BYTES:
		change_bytes(m, (ProtobufCBinaryData *)p);
		break;
	case PROTOBUF_C_TYPE_BOOL:
		*(protobuf_c_boolean *)p ^= 1;
		break;
	default:
		memcpy(&v, p, value_size(f));
		v = number(m, v);
		memcpy(p, &v, value_size(f));
	}
}

/* Copies a message, because memory that two own would be freed twice. */
static ProtobufCMessage *copy_of(const ProtobufCMessage *msg)
{
	size_t n = protobuf_c_message_get_packed_size(msg);
	uint8_t *buf = malloc(n ? n : 1);
	ProtobufCMessage *copy = NULL;

	if (buf) {
		protobuf_c_message_pack(msg, buf);
		copy = protobuf_c_message_unpack(msg->descriptor, NULL, n, buf);
		free(buf);
	}
	return copy;
}

static void mutate_list(struct mutation *m, const ProtobufCFieldDescriptor *f, size_t *n,
			uint8_t **list)
{
	size_t size = value_size(f), i, j;
	uint8_t swap[sizeof(ProtobufCBinaryData)], *more;

	if (!*n)
		return;
	i = rnd(m) % *n;
	j = rnd(m) % *n;
	switch (rnd(m) % 16) {
	case 0: /* the last one is dropped: the list has no gap */
		if (f->type == PROTOBUF_C_TYPE_MESSAGE)
			protobuf_c_message_free_unpacked(((ProtobufCMessage **)*list)[*n - 1],
							 NULL);
		if (f->type != PROTOBUF_C_TYPE_STRING && f->type != PROTOBUF_C_TYPE_BYTES)
			--*n;
		break;
	case 1:
		if (f->type == PROTOBUF_C_TYPE_STRING || f->type == PROTOBUF_C_TYPE_BYTES)
			break;
		more = realloc(*list, (*n + 1) * size);
		if (!more)
			break;
		*list = more;
		memcpy(more + *n * size, more + i * size, size);
		if (f->type == PROTOBUF_C_TYPE_MESSAGE &&
		    !(((ProtobufCMessage **)more)[*n] = copy_of(((ProtobufCMessage **)more)[i])))
			break;
		++*n;
		break;
	case 2:
		memcpy(swap, *list + i * size, size);
		memcpy(*list + i * size, *list + j * size, size);
		memcpy(*list + j * size, swap, size);
		break;
	default:
		change(m, f, *list + i * size);
	}
}

static bool present(const ProtobufCFieldDescriptor *f, const uint8_t *base)
{
	if (f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
		return *(const uint32_t *)(base + f->quantifier_offset) == f->id;
	if (f->label == PROTOBUF_C_LABEL_REPEATED)
		return *(const size_t *)(base + f->quantifier_offset) > 0;
	if (f->type == PROTOBUF_C_TYPE_MESSAGE || f->type == PROTOBUF_C_TYPE_STRING)
		return *(void *const *)(base + f->offset) != NULL;
	return true;
}

static void mutate(struct mutation *m, ProtobufCMessage *msg)
{
	uint8_t *base = (uint8_t *)msg;

	for (unsigned int tries = 0; tries < 16 && msg->descriptor->n_fields; tries++) {
		const ProtobufCFieldDescriptor *f =
			&msg->descriptor->fields[rnd(m) % msg->descriptor->n_fields];

		if (!present(f, base))
			continue;
		if (f->label == PROTOBUF_C_LABEL_REPEATED)
			mutate_list(m, f, (size_t *)(base + f->quantifier_offset),
				    (uint8_t **)(base + f->offset));
		else
			change(m, f, base + f->offset);
		return;
	}
}

size_t fuzz_proto_mutate(const ProtobufCMessageDescriptor *type, const char *const *strings,
			 uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
	struct mutation m = { .state = seed | 1ull << 40, .strings = strings };
	ProtobufCMessage *msg = NULL;
	unsigned int times = 1 + rnd(&m) % 4;
	size_t n;

	while (strings && strings[m.nstrings])
		m.nstrings++;
	if (rnd(&m) % 16)
		msg = protobuf_c_message_unpack(type, NULL, size, data);
	if (!msg)
		return LLVMFuzzerMutate(data, size, max_size);
	while (times--)
		mutate(&m, msg);
	n = protobuf_c_message_get_packed_size(msg);
	if (n <= max_size)
		protobuf_c_message_pack(msg, data);
	else
		n = LLVMFuzzerMutate(data, size, max_size);
	protobuf_c_message_free_unpacked(msg, NULL);
	return n;
}

#endif
