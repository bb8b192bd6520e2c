// SPDX-License-Identifier: MIT
/*
 * The tables of an MLIR bytecode file: strings, dialects and the names of operations, properties,
 * and where attributes and types are, of which each is read when it is first asked for
 */
#include <errno.h>
#include <string.h>

#include "bytecode.h"

/* Far beyond any program's, so that a small file does not take much memory */
#define MOST_NAMES 4096u
#define MOST_ENTRIES (1u << 22)

static struct cursor at_section(struct reader *r, enum section id)
{
	return (struct cursor){ r, r->section[id].p, r->section[id].p + r->section[id].size };
}

static int at_end(const struct cursor *c)
{
	if (c->r->rc || c->p == c->end)
		return c->r->rc;
	return reader_bad(c->r, c->p, "more bytes than there should be");
}

/* Lengths in reverse order, each with the NUL at its end; then the strings */
static int read_strings(struct reader *r)
{
	struct cursor c = at_section(r, SECTION_STRINGS);
	const size_t n = cursor_count(&c);
	const uint8_t *end = c.end;

	r->strings = reader_alloc(r, n + 1, sizeof(*r->strings));
	for (size_t i = n; i-- && !r->rc;) {
		const uint64_t size = cursor_number(&c);

		if (r->rc)
			break;
		if (!size || size > (uint64_t)(end - c.p))
			return reader_bad(r, c.p, "a string of a wrong size");
		end -= size;
		if (end[size - 1])
			return reader_bad(r, end, "a string without an end");
		r->strings[i] = (struct bytes){ end, size - 1 };
	}
	r->nstrings = n;
	if (!r->rc && end != c.p)
		return reader_bad(r, c.p, "strings of a wrong size");
	return r->rc;
}

/* StableHLO's own encoding, of what is between operations of Shardy's dialect: a token's type */
static const struct mlir_type *stablehlo_type(struct cursor *c, uint64_t code)
{
	if (!code)
		return new_type(c->r, MLIR_TOKEN, "token");
	reader_fail(c->r, -ENOTSUP, "a type of the dialect 'stablehlo' (code %llu)",
		    (unsigned long long)code);
	return NULL;
}

static const struct dialect known_dialects[] = {
	{ "builtin", builtin_attr, builtin_type },
	{ "vhlo", vhlo_attr, vhlo_type },
	{ "sdy", sdy_attr, NULL },
	{ "stablehlo", NULL, stablehlo_type },
};

static int take_dialect(struct cursor *c, struct dialect *d)
{
	struct reader *r = c->r;
	const uint64_t n = cursor_number(c);
	const bool versioned = r->version >= HAS_DIALECT_VERSIONS && n & 1;
	const uint64_t name = r->version >= HAS_DIALECT_VERSIONS ? n >> 1 : n;

	if (!r->rc && name >= r->nstrings)
		reader_bad(r, c->p, "a string that does not exist");
	if (r->rc)
		return r->rc;
	d->name = (const char *)r->strings[name].p;
	for (size_t i = 0; i < sizeof(known_dialects) / sizeof(known_dialects[0]); i++)
		if (!strcmp(known_dialects[i].name, d->name))
			*d = known_dialects[i];
	if (versioned) {
		enum section id;

		cursor_section(c, &id);
		if (!r->rc && id != SECTION_DIALECT_VERSIONS)
			return reader_bad(r, c->p, "a dialect without its version");
	}
	return r->rc;
}

/* "vhlo.add_v1" is "add", and "builtin.module" itself. */
static int name_op(struct reader *r, struct op_name *o, const char *dialect, struct bytes name)
{
	const char *text = (const char *)name.p;
	size_t n = name.size;

	o->spelled = arena_text(&r->m->arena, "%.100s.%.200s", dialect, text);
	o->name = o->spelled;
	if (!strcmp(dialect, "vhlo")) {
		while (n && text[n - 1] >= '0' && text[n - 1] <= '9')
			n--;
		n = n >= 2 && n < name.size && text[n - 1] == 'v' && text[n - 2] == '_' ? n - 2
											: name.size;
		o->name = arena_text(&r->m->arena, "%.*s", (int)(n < 200 ? n : 200), text);
	}
	return o->name && o->spelled ? 0 : reader_fail(r, -ENOMEM, "out of memory");
}

/* Takes apart the names of its properties. */
static int know_op(struct reader *r, struct op_name *o)
{
	char *at, *word, *save = NULL;

	o->known = op_properties_of(o->spelled);
	at = o->known ? arena_text(&r->m->arena, "%s", o->known->properties) : NULL;
	if (o->known && !at)
		return reader_fail(r, -ENOMEM, "out of memory");
	for (word = at ? strtok_r(at, " ", &save) : NULL; word; word = strtok_r(NULL, " ", &save))
		o->property[o->nproperties++] = word;
	return 0;
}

static int read_names(struct cursor *c)
{
	struct reader *r = c->r;
	const size_t size = (size_t)(c->end - c->p), most = size < MOST_NAMES ? size : MOST_NAMES;

	if (r->version >= HAS_ELIDED_LOCATIONS)
		cursor_number(c); /* how many there are */
	r->names = reader_alloc(r, most + 1, sizeof(*r->names));
	while (!r->rc && c->p < c->end) {
		const uint8_t *at = c->p;
		const uint64_t d = cursor_number(c);
		const size_t n = cursor_count(c);

		if (!r->rc && d >= r->ndialects)
			return reader_bad(r, at, "a dialect that does not exist");
		if (n > most - r->nnames)
			return reader_fail(r, -EFBIG, "more than %u names of operations",
					   MOST_NAMES);
		for (size_t i = 0; i < n && !r->rc; i++) {
			struct op_name *o = &r->names[r->nnames++];
			const uint64_t v = cursor_number(c);
			const uint64_t name = r->version >= HAS_PROPERTIES ? v >> 1 : v;

			if (!r->rc && name >= r->nstrings)
				return reader_bad(r, at, "a string that does not exist");
			if (!r->rc && !name_op(r, o, r->dialects[d].name, r->strings[name]))
				know_op(r, o);
		}
	}
	return r->rc;
}

static int read_dialects(struct reader *r)
{
	struct cursor c = at_section(r, SECTION_DIALECTS);
	const size_t n = cursor_count(&c);

	r->dialects = reader_alloc(r, n + 1, sizeof(*r->dialects));
	for (size_t i = 0; i < n && !r->rc; i++)
		take_dialect(&c, &r->dialects[i]);
	r->ndialects = n;
	return r->rc ? r->rc : read_names(&c);
}

/* Entries of one kind: groups of a dialect's, with the size of each; they lie one behind another */
static int read_entries(struct cursor *c, struct entry *e, size_t n, struct cursor *data)
{
	struct reader *r = c->r;

	for (size_t i = 0; i < n && !r->rc;) {
		const uint8_t *at = c->p;
		const uint64_t d = cursor_number(c);
		size_t count = cursor_count(c);

		if (!r->rc && (d >= r->ndialects || count > n - i || !count))
			return reader_bad(r, at, "a wrong group of attributes or types");
		for (; count && !r->rc; count--, i++) {
			const uint64_t size = cursor_flagged(c, &e[i].custom);

			e[i].dialect = &r->dialects[d];
			e[i].bytes = cursor_bytes(data, size);
		}
	}
	return r->rc;
}

static int read_offsets(struct reader *r)
{
	struct cursor c = at_section(r, SECTION_OFFSETS), data = at_section(r, SECTION_ATTRS);

	r->nattrs = cursor_count(&c);
	r->ntypes = cursor_count(&c);
	if (r->nattrs > MOST_ENTRIES || r->ntypes > MOST_ENTRIES)
		return reader_fail(r, -EFBIG, "more than %u attributes or types", MOST_ENTRIES);
	r->attrs = reader_alloc(r, r->nattrs + 1, sizeof(*r->attrs));
	r->types = reader_alloc(r, r->ntypes + 1, sizeof(*r->types));
	r->places = reader_alloc(r, r->nattrs + 1, sizeof(*r->places));
	if (!r->rc)
		read_entries(&c, r->attrs, r->nattrs, &data);
	if (!r->rc)
		read_entries(&c, r->types, r->ntypes, &data);
	return at_end(&c) ?: at_end(&data);
}

static int read_properties(struct reader *r)
{
	struct cursor c = at_section(r, SECTION_PROPERTIES);

	if (!r->section[SECTION_PROPERTIES].p)
		return 0;
	r->nproperties = cursor_count(&c);
	r->properties = reader_alloc(r, r->nproperties + 1, sizeof(*r->properties));
	for (size_t i = 0; i < r->nproperties && !r->rc; i++)
		r->properties[i] = cursor_blob(&c);
	return at_end(&c);
}

/* Begins to read an entry: its cursor and its code. false: it cannot be */
static bool open_entry(struct reader *r, struct entry *e, struct cursor *c, uint64_t *code)
{
	*c = (struct cursor){ r, e->bytes.p, e->bytes.p + e->bytes.size };
	if (!e->custom)
		reader_fail(r, -ENOTSUP,
			    "an attribute or type of the dialect '%.80s' as text: '%.80s'",
			    e->dialect->name,
			    e->bytes.size && !c->end[-1] ? (const char *)c->p : "");
	else if (e->open || r->depth >= MLIR_MAX_DEPTH)
		reader_bad(r, c->p,
			   e->open ? "something that is part of itself"
				   : "things nested too deeply");
	*code = cursor_number(c);
	if (r->rc)
		return false;
	e->open = true;
	r->depth++;
	return true;
}

static const void *close_entry(struct reader *r, struct entry *e, const struct cursor *c,
			       const void *value)
{
	e->open = false;
	r->depth--;
	if (!r->rc && !value)
		reader_bad(r, e->bytes.p, "an attribute or a type that cannot be read");
	e->value = at_end(c) ? NULL : value;
	return e->value;
}

static const struct mlir_attr *read_attr(struct reader *r, uint64_t i)
{
	struct entry *e;
	struct cursor c;
	uint64_t code;

	if (i >= r->nattrs) {
		reader_fail(r, -EINVAL,
			    "not a portable artifact of StableHLO: attribute %llu of %zu",
			    (unsigned long long)i, r->nattrs);
		return NULL;
	}
	e = &r->attrs[i];
	if (e->value || r->rc || !open_entry(r, e, &c, &code))
		return e->value;
	if (e->dialect->attr)
		return close_entry(r, e, &c, e->dialect->attr(&c, code));
	reader_fail(r, -ENOTSUP, "an attribute of the dialect '%.80s', which is not known",
		    e->dialect->name);
	return NULL;
}

static const struct mlir_type *read_type(struct reader *r, uint64_t i)
{
	struct entry *e;
	struct cursor c;
	uint64_t code;

	if (i >= r->ntypes) {
		reader_fail(r, -EINVAL, "not a portable artifact of StableHLO: type %llu of %zu",
			    (unsigned long long)i, r->ntypes);
		return NULL;
	}
	e = &r->types[i];
	if (e->value || r->rc || !open_entry(r, e, &c, &code))
		return e->value;
	if (e->dialect->type)
		return close_entry(r, e, &c, e->dialect->type(&c, code));
	reader_fail(r, -ENOTSUP, "a type of the dialect '%.80s', which is not known",
		    e->dialect->name);
	return NULL;
}

int reader_tables(struct reader *r)
{
	r->attr = read_attr;
	r->type = read_type;
	return read_strings(r) ?: read_dialects(r) ?: read_offsets(r) ?: read_properties(r);
}

#define MOST_FRAMES 64 /* calls in calls, and names around them */

struct place reader_place(struct reader *r, uint64_t attr)
{
	struct place p = { 0 };
	uint64_t i = attr;

	for (unsigned int n = 0; n < MOST_FRAMES && i < r->nattrs; n++) {
		const struct entry *e = &r->attrs[i];
		struct cursor c = { r, e->bytes.p, e->bytes.p + e->bytes.size };

		if (r->places[i].known)
			p = r->places[i];
		if (p.known || strcmp(e->dialect->name, "builtin") || !e->custom ||
		    !builtin_place(&c, cursor_number(&c), &p, &i))
			break;
	}
	p.known = true;
	if (attr < r->nattrs)
		r->places[attr] = p;
	return p;
}
