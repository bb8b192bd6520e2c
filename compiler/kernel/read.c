// SPDX-License-Identifier: MIT
/*
 * Kernels from their text: line by line, those of a loop as often as it says. What does not depend
 * on the target is refused here.
 */
#include "kernel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "neuron/isa/table.h"

#define BUDGET (1u << 20) /* lines that loops execute, in all */
#define DEPTH 8 /* of loops */
#define MAX_BYTES (1ll << 40) /* of a tensor; no chip has as many */
#define LINE (2 * NCC_ASM_LINE)

struct reader {
	const struct kernel_text *text;
	struct ncc_kernel *k;
	struct kernel_values values;
	unsigned int at; /* the current line, from 0 */
	unsigned int depth, budget;
	struct ncc_error *err;
};

#define refuse(r, ...) ncc_kernel_fail((r)->k, (r)->at + 1, (r)->err, -EINVAL, __VA_ARGS__)

static bool begins_with(const char *line, const char *word)
{
	const size_t n = strlen(word);

	line += strspn(line, " \t\r");
	return !strncmp(line, word, n) && strchr(" \t\r;#", line[n]);
}

/*
 * The line with the .end of what begins before first, or with or_else its .else; close: there is
 * none
 */
static unsigned int search_end(const struct kernel_text *t, unsigned int first, unsigned int close,
			       bool or_else)
{
	unsigned int open = 1;

	for (unsigned int i = first; i < close; i++) {
		const char *line = t->line[i];

		if (begins_with(line, ".kernel"))
			return close;
		open += begins_with(line, ".for") || begins_with(line, ".if");
		open -= begins_with(line, ".end");
		if (!open || (or_else && open == 1 && begins_with(line, ".else")))
			return i;
	}
	return close;
}

/* The same, which is searched for once, however often a loop comes by */
static unsigned int find_end(const struct kernel_text *t, unsigned int first, unsigned int close,
			     bool or_else)
{
	unsigned int *known = or_else ? &t->middle[first - 1] : &t->end[first - 1];

	if (!*known)
		*known = 1 + search_end(t, first, close, or_else);
	return *known - 1;
}

/* The next word, or "" */
static char *word(char **rest)
{
	char *w = strtok_r(NULL, " \t\r", rest);

	return w ? w : "";
}

static int no_more(struct reader *r, char **rest)
{
	const char *w = word(rest);

	return *w ? refuse(r, "'%.40s' is left over", w) : 0;
}

static int number(struct reader *r, const char *text, int64_t min, int64_t max, int64_t *out)
{
	struct ncc_asm_error why;

	if (kernel_value(&r->values, text, out, &why))
		return refuse(r, "%s", why.text);
	return *out < min || *out > max ? refuse(r, "%lld, expected %lld to %lld", (long long)*out,
						 (long long)min, (long long)max)
					: 0;
}

/* A name that is new */
static int new_name(struct reader *r, const char *name)
{
	static const char *const reserved[] = { "sbuf", "psum", "window", "hbm" };
	bool taken = false;

	if (!kernel_is_name(name))
		return refuse(r, "'%.40s', expected a name of letters, digits and _", name);
	for (unsigned int i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++)
		taken = taken || !strcmp(name, reserved[i]);
	for (unsigned int i = 0; i < r->k->ntensors; i++)
		taken = taken || !strcmp(name, r->k->tensor[i].name);
	for (unsigned int i = 0; i < r->k->nareas; i++)
		taken = taken || !strcmp(name, r->k->area[i].name);
	return taken ? refuse(r, "the name '%s' is taken", name) : 0;
}

static int set_type(struct reader *r, const char *name, size_t n, struct ncc_shape *s)
{
	for (unsigned int i = 0; i < 64; i++) {
		const char *other = neuron_isa_dtypes[i].name;

		if (!other || strlen(other) != n || strncmp(other, name, n))
			continue;
		s->dtype = (uint8_t)i;
		if (ncc_dtype_size(s->dtype))
			return 0;
	}
	return refuse(r, "'%.*s' is no type of tensors", (int)(n < 40 ? n : 40), name);
}

/* type[dimension,...] */
static int take_shape(struct reader *r, char *text, struct ncc_shape *s)
{
	const size_t n = strcspn(text, "[");
	char *save = NULL, *d;
	int64_t bytes;
	int rc = set_type(r, text, n, s);

	if (rc)
		return rc;
	d = text + n + strlen(text + n);
	if (d < text + n + 2 || d[-1] != ']')
		return refuse(r, "'%.40s', expected type[dimension,...]", text);
	d[-1] = 0;
	bytes = ncc_dtype_size(s->dtype);
	for (d = strtok_r(text + n + 1, ",", &save); d; d = strtok_r(NULL, ",", &save)) {
		if (s->ndim == NCC_MAX_DIMS)
			return refuse(r, "more than %d dimensions", NCC_MAX_DIMS);
		rc = number(r, d, 1, MAX_BYTES / bytes, &s->dim[s->ndim]);
		if (rc)
			return rc;
		bytes *= s->dim[s->ndim++];
	}
	return 0;
}

static int take_tensor(struct reader *r, char **rest, bool output)
{
	struct ncc_kernel *k = r->k;
	struct ncc_kernel_tensor *t = &k->tensor[k->ntensors];
	char *name = word(rest);
	int rc = new_name(r, name);

	if (rc)
		return rc;
	if (k->ntensors == NCC_KERNEL_TENSORS)
		return refuse(r, "more than %u tensors", NCC_KERNEL_TENSORS);
	*t = (struct ncc_kernel_tensor){ .output = output };
	rc = take_shape(r, word(rest), &t->shape);
	if (rc)
		return rc;
	snprintf(t->name, sizeof(t->name), "%s", name);
	k->ntensors++;
	return no_more(r, rest);
}

static int take_input(struct reader *r, char **rest)
{
	return take_tensor(r, rest, false);
}

static int take_output(struct reader *r, char **rest)
{
	return take_tensor(r, rest, true);
}

static uint32_t align_up(uint32_t v, uint32_t to)
{
	return (v + to - 1) / to * to;
}

static int take_area(struct reader *r, char **rest, bool psum)
{
	const uint32_t room = psum ? NEURON_PSUM_PART_STRIDE : NEURON_SBUF_PART_STRIDE;
	struct ncc_kernel *k = r->k;
	struct ncc_asm_area *a = &k->area[k->nareas];
	uint32_t *used = psum ? &k->psum : &k->sbuf;
	int64_t partitions, bytes;
	char *name = word(rest);
	int rc = new_name(r, name);

	if (!rc && k->nareas == NCC_KERNEL_AREAS)
		rc = refuse(r, "more than %d areas", NCC_KERNEL_AREAS);
	rc = rc ? rc : number(r, word(rest), 1, NEURON_PARTITIONS, &partitions);
	rc = rc ? rc : number(r, word(rest), 1, room, &bytes);
	if (rc)
		return rc;
	if (bytes > room - *used)
		return refuse(r, "the areas exceed the %u bytes of a partition", room);
	snprintf(k->area_name[k->nareas], NCC_KERNEL_NAME, "%s", name);
	*a = (struct ncc_asm_area){ .name = k->area_name[k->nareas],
				    .psum = psum,
				    .partitions = (unsigned int)partitions,
				    .base = *used,
				    .bytes = (uint32_t)bytes };
	*used = align_up(*used + a->bytes, psum ? NEURON_PSUM_BANK_SIZE : NCC_KERNEL_ALIGN);
	k->nareas++;
	return no_more(r, rest);
}

static int take_sbuf(struct reader *r, char **rest)
{
	return take_area(r, rest, false);
}

static int take_psum(struct reader *r, char **rest)
{
	return take_area(r, rest, true);
}

/* Names a number, until the end of the loop around it. */
static int name_value(struct reader *r, const char *name, int64_t value)
{
	struct kernel_values *v = &r->values;

	if (!kernel_is_name(name))
		return refuse(r, "'%.40s', expected a name of letters, digits and _", name);
	if (v->n == KERNEL_VALUES)
		return refuse(r, "more than %d names of numbers", KERNEL_VALUES);
	snprintf(v->name[v->n], NCC_KERNEL_NAME, "%s", name);
	v->value[v->n++] = value;
	return 0;
}

static int take_set(struct reader *r, char **rest)
{
	char *name = word(rest);
	int64_t value;
	int rc = number(r, word(rest), INT64_MIN, INT64_MAX, &value);

	rc = rc ? rc : name_value(r, name, value);
	return rc ? rc : no_more(r, rest);
}

static struct ncc_kernel_step *new_step(struct reader *r, int *rc)
{
	struct ncc_kernel *k = r->k;

	if (k->nsteps == NCC_KERNEL_STEPS) {
		*rc = refuse(r, "more than %d instructions and DMAs", NCC_KERNEL_STEPS);
		return NULL;
	}
	if (k->nsteps == k->cap) {
		unsigned int cap = k->cap ? 2 * k->cap : 64;
		struct ncc_kernel_step *p = realloc(k->step, cap * sizeof(*p));

		if (!p) {
			*rc = ncc_no_memory(r->err);
			return NULL;
		}
		k->step = p;
		k->cap = cap;
	}
	memset(&k->step[k->nsteps], 0, sizeof(*k->step));
	k->step[k->nsteps].line = r->at + 1;
	return &k->step[k->nsteps];
}

/* Is it one that a kernel may have? Its operands alone say what it does. */
static int check_insn(struct reader *r, const struct neuron_insn *insn)
{
	const struct neuron_isa_op *op = &neuron_isa_ops[insn->opcode];

	if (!(op->fields & (NEURON_FB(DST) | NEURON_FB(SRC0))))
		return refuse(r,
			      "%s: not an instruction of a kernel, which are those that read "
			      "or write areas",
			      op->name);
	if (insn->wait || insn->update)
		return refuse(r,
			      "%s: a wait or an update; the compiler orders a kernel's "
			      "instructions, and semaphores and events are not its own",
			      op->name);
	if (neuron_isa_patched(insn))
		return refuse(r, "%s: a patch; a kernel has no registers", op->name);
	return 0;
}

static int take_insn(struct reader *r, int engine, const char *text)
{
	int rc = 0, parsed;
	struct ncc_kernel_step *s = new_step(r, &rc);
	struct ncc_asm_error why;

	if (!s)
		return rc;
	parsed = ncc_asm_parse_in(text, r->k->area, r->k->nareas, &s->insn, &why);
	if (parsed <= 0)
		return refuse(r, "%s", parsed ? why.text : "an instruction is expected");
	s->engine = engine;
	rc = check_insn(r, &s->insn);
	r->k->nsteps += !rc;
	return rc;
}

static int take_transfer(struct reader *r, char *text)
{
	int rc = 0;
	struct ncc_kernel_step *s = new_step(r, &rc);
	struct ncc_asm_error why;

	if (!s)
		return rc;
	s->engine = -1;
	if (kernel_transfer(r->k, text, s, &why))
		return refuse(r, "dma: %s", why.text);
	r->k->nsteps++;
	return 0;
}

static int statement(struct reader *r, const char *first, char **rest)
{
	static const struct {
		const char *name;
		int (*take)(struct reader *r, char **rest);
	} directives[] = {
		{ ".input", take_input }, { ".output", take_output }, { ".sbuf", take_sbuf },
		{ ".psum", take_psum },	  { ".set", take_set },
	};
	static const struct {
		const char *name;
		int engine;
	} engines[] = {
		{ "tensor", NEURON_ENG_PE },
		{ "scalar", NEURON_ENG_ACT },
		{ "vector", NEURON_ENG_POOL },
		{ "gpsimd", NEURON_ENG_GPSIMD },
	};

	for (unsigned int i = 0; i < sizeof(directives) / sizeof(directives[0]); i++)
		if (!strcmp(first, directives[i].name))
			return directives[i].take(r, rest);
	for (unsigned int i = 0; i < sizeof(engines) / sizeof(engines[0]); i++)
		if (!strcmp(first, engines[i].name))
			return take_insn(r, engines[i].engine, *rest ? *rest : "");
	if (!strcmp(first, "dma"))
		return take_transfer(r, *rest ? *rest : "");
	return refuse(r,
		      "'%.40s', expected dma, tensor, scalar, vector, gpsimd, .input, .output, "
		      ".sbuf, .psum, .set, .for, .if or .end",
		      first);
}

static int block(struct reader *r, unsigned int first, unsigned int close);

/* .for NAME FIRST END [STEP]; its lines are [first, close). */
static int loop(struct reader *r, char **rest, unsigned int first, unsigned int close)
{
	const unsigned int names = r->values.n, line = r->at;
	const char *name = word(rest), *by;
	int64_t from, to, step = 1;
	int rc = number(r, word(rest), -MAX_BYTES, MAX_BYTES, &from);

	rc = rc ? rc : number(r, word(rest), -MAX_BYTES, MAX_BYTES, &to);
	by = word(rest);
	if (!rc && *by)
		rc = number(r, by, 1, MAX_BYTES, &step);
	rc = rc ? rc : no_more(r, rest);
	if (!rc && r->depth++ == DEPTH)
		rc = refuse(r, "more than %d loops and choices in each other", DEPTH);
	for (int64_t i = from; !rc && i < to; i += step) {
		r->at = line;
		rc = ++r->budget > BUDGET
			     ? refuse(r, "the loops execute more than %u lines", BUDGET)
			     : name_value(r, name, i);
		rc = rc ? rc : block(r, first, close);
		if (!rc)
			r->values.n = names;
	}
	r->depth--;
	return rc;
}

/* .if VALUE; what is executed lies before or behind the .else, if there is one. */
static int choose(struct reader *r, char **rest, unsigned int first, unsigned int close)
{
	const unsigned int names = r->values.n, middle = find_end(r->text, first, close, true);
	int64_t value;
	int rc = number(r, word(rest), INT64_MIN, INT64_MAX, &value);

	rc = rc ? rc : no_more(r, rest);
	if (!rc && r->depth++ == DEPTH)
		rc = refuse(r, "more than %d loops and choices in each other", DEPTH);
	if (!rc && value)
		rc = block(r, first, middle);
	else if (!rc && middle < close)
		rc = block(r, middle + 1, close);
	r->values.n = names;
	r->depth--;
	return rc;
}

static int one_line(struct reader *r, unsigned int close)
{
	struct ncc_asm_error why;
	char buf[LINE], *rest = NULL, *first;
	const unsigned int at = r->at;
	unsigned int end;
	bool loops;
	int rc;

	if (++r->budget > BUDGET)
		return refuse(r, "the loops execute more than %u lines", BUDGET);
	if (kernel_expand(&r->values, r->text->line[at], buf, sizeof(buf), &why))
		return refuse(r, "%s", why.text);
	first = strtok_r(buf, " \t\r", &rest);
	if (!first)
		return 0;
	loops = !strcmp(first, ".for");
	if (!loops && strcmp(first, ".if") != 0)
		return statement(r, first, &rest);
	end = find_end(r->text, at + 1, close, false);
	if (end == close)
		return refuse(r, "no '.end' of this '%s'", first);
	rc = loops ? loop(r, &rest, at + 1, end) : choose(r, &rest, at + 1, end);
	r->at = rc ? r->at : end;
	return rc;
}

static int block(struct reader *r, unsigned int first, unsigned int close)
{
	for (r->at = first; r->at < close; r->at++) {
		int rc = one_line(r, close);

		if (rc)
			return rc;
	}
	return 0;
}

/* Are there results, all of them written, of elements of one size? */
static int check_outputs(struct reader *r)
{
	const struct ncc_kernel_tensor *one = NULL;

	for (unsigned int i = 0; i < r->k->ntensors; i++) {
		const struct ncc_kernel_tensor *t = &r->k->tensor[i];

		if (!t->output)
			continue;
		if (!t->written)
			return refuse(r, "nothing writes the output '%s'", t->name);
		if (one && ncc_dtype_size(one->shape.dtype) != ncc_dtype_size(t->shape.dtype))
			return refuse(r,
				      "the outputs '%s' and '%s' have elements of two sizes, "
				      "expected one",
				      one->name, t->name);
		one = t;
	}
	return one ? 0 : refuse(r, "no '.output'");
}

static int read_kernel(struct reader *r, unsigned int open, unsigned int *at)
{
	const struct kernel_text *t = r->text;
	const unsigned int close = find_end(t, open + 1, t->nlines, false);
	int rc;

	r->at = open;
	if (close == t->nlines)
		return refuse(r, "no '.end' of this kernel");
	rc = block(r, open + 1, close);
	if (rc)
		return rc;
	r->at = open;
	*at = close + 1;
	return check_outputs(r);
}

/* A kernel with its name, that the line says */
static struct ncc_kernel *begin(struct reader *r, const char *line)
{
	struct ncc_kernel *k = calloc(1, sizeof(*k));
	char buf[LINE], *rest = NULL, *first;

	if (!k) {
		ncc_no_memory(r->err);
		return NULL;
	}
	k->file = r->text->file;
	k->line = r->at + 1;
	snprintf(buf, sizeof(buf), "%.*s", (int)strcspn(line, ";#"), line);
	first = strtok_r(buf, " \t\r", &rest);
	snprintf(k->name, sizeof(k->name), "%s", word(&rest));
	r->k = k;
	if (first && !strcmp(first, ".kernel") && kernel_is_name(k->name) && !*word(&rest))
		return k;
	ncc_fail(r->err, -EINVAL, "%.80s:%u: '%.40s', expected .kernel NAME", k->file, k->line,
		 line);
	free(k);
	return NULL;
}

int kernel_read(const struct kernel_text *text, unsigned int *at, struct ncc_kernel **kernel,
		struct ncc_error *err)
{
	struct reader r = { .text = text, .at = *at, .err = err };
	int rc;

	while (r.at < text->nlines &&
	       strchr(";#", text->line[r.at][strspn(text->line[r.at], " \t\r")]))
		r.at++;
	if (r.at == text->nlines)
		return 0;
	err->text[0] = 0;
	*kernel = begin(&r, text->line[r.at]);
	if (!*kernel)
		return -EINVAL;
	rc = read_kernel(&r, r.at, at);
	if (!rc)
		return 1;
	free((*kernel)->step);
	free(*kernel);
	return rc;
}
