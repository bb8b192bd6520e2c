/* SPDX-License-Identifier: MIT */
/* Hand-made programs for tests: see testmodel.h. */
#include "testmodel.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "neuron/hw/ext.h"
#include "neuron/isa/codec.h"

#define SP NEURON_ENG_SP
#define POOL NEURON_ENG_POOL
#define PE NEURON_ENG_PE

static void start(struct testmodel *t, const char *name)
{
	struct neff_header *h = &t->model.header;

	memset(t, 0, sizeof(*t));
	t->model.target = &neuron_target_inf1;
	t->model.nsubgraphs = 1;
	t->model.subgraphs = &t->sg;
	t->sg.name = strdup("sg00");
	h->pkg_version = 2;
	h->version_major = 1;
	h->num_tpb = 1;
	h->requested_tpb_count = 1;
	h->tpb_per_node[0] = 1;
	h->feature_bits = NEFF_FEATURE_EMU;
	h->lnc_size = 1;
	snprintf(h->build_version, sizeof(h->build_version), "neuron-emulator test");
	snprintf(h->name, sizeof(h->name), "%s", name);
	memcpy(h->uuid, "0123456789abcdef", 16);
}

unsigned int testmodel_var(struct testmodel *t, const char *name, enum neff_var_type type,
			   uint64_t size)
{
	unsigned int n = t->sg.nvars++;
	struct neff_var *v;

	t->sg.vars = realloc(t->sg.vars, t->sg.nvars * sizeof(*v));
	assert(t->sg.vars);
	v = &t->sg.vars[n];
	memset(v, 0, sizeof(*v));
	v->name = strdup(name);
	v->type = type;
	v->var_id = n;
	v->size = size;
	return n;
}

void testmodel_io(struct testmodel *t, unsigned int var, uint8_t dtype, unsigned int d0,
		  unsigned int d1)
{
	struct neff_var *v = &t->sg.vars[var];

	v->dtype = dtype;
	v->ndim = 2;
	v->shape[0] = d0;
	v->shape[1] = d1;
}

unsigned int testmodel_queue(struct testmodel *t, const char *name, enum neff_queue_type type,
			     unsigned int owner)
{
	unsigned int n = t->sg.nqueues++;

	t->sg.queues = realloc(t->sg.queues, t->sg.nqueues * sizeof(*t->sg.queues));
	assert(t->sg.queues);
	t->sg.queues[n] = (struct neff_queue){ strdup(name), type, owner };
	return n;
}

void testmodel_insn(struct testmodel *t, unsigned int eng, const struct neuron_insn *insn)
{
	struct neff_engine *e = &t->sg.engine[eng];
	uint8_t words[NEURON_ISA_MAX_WORDS * NEURON_INSN_WORD];
	int n = neuron_isa_encode(insn, words);

	assert(n > 0);
	e->instr = realloc(e->instr, e->instr_size + (size_t)n * NEURON_INSN_WORD);
	assert(e->instr);
	memcpy((uint8_t *)e->instr + e->instr_size, words, (size_t)n * NEURON_INSN_WORD);
	e->instr_size += (size_t)n * NEURON_INSN_WORD;
}

struct neff_dma *testmodel_dma(struct testmodel *t, unsigned int eng, unsigned int queue,
			       int semaphore, unsigned int ndesc)
{
	struct neff_engine *e = &t->sg.engine[eng];
	struct neuron_insn trigger = { .opcode = NEURON_OP_PSEUDO_DMA_TRIGGER, .id = e->ndma };
	struct neff_dma *dma;

	e->dma = realloc(e->dma, (e->ndma + 1) * sizeof(*dma));
	assert(e->dma);
	dma = &e->dma[e->ndma];
	*dma = (struct neff_dma){ e->ndma, queue, semaphore, ndesc,
				  calloc(ndesc, sizeof(*dma->desc)) };
	e->ndma++;
	testmodel_insn(t, eng, &trigger);
	return dma;
}

static void program_start(struct testmodel *t, unsigned int eng)
{
	struct neuron_insn insn = { .opcode = NEURON_OP_PROGRAM_START,
				    .isa_version = t->model.target->isa_version };

	testmodel_insn(t, eng, &insn);
}

static void wait_ge(struct testmodel *t, unsigned int eng, unsigned int sem, unsigned int value)
{
	struct neuron_insn insn = { .opcode = NEURON_OP_NOP,
				    .wait = NEURON_WAIT_SEM_GE,
				    .wait_index = (uint8_t)sem,
				    .wait_value = value };

	testmodel_insn(t, eng, &insn);
}

static void clear_all(struct testmodel *t)
{
	struct neuron_insn insn = { .opcode = NEURON_OP_SEM_RANGE_CLEAR, .first = 0, .last = 27 };

	testmodel_insn(t, SP, &insn);
}

/* [rows, row_bytes] in DRAM, one row a partition of SBUF from byte off on */
static struct neff_desc rows_desc(unsigned int dram, unsigned int sbuf, unsigned int rows,
				  unsigned int row_bytes, uint64_t off, bool to_sbuf)
{
	struct neff_pattern d = { dram, 0, 2, { row_bytes, rows }, { 1, row_bytes } };
	struct neff_pattern s = {
		sbuf, off, 2, { row_bytes, rows }, { 1, NEURON_SBUF_PART_STRIDE }
	};

	return to_sbuf ? (struct neff_desc){ .from = d, .to = s }
		       : (struct neff_desc){ .from = s, .to = d };
}

static struct neuron_ap ap(uint32_t offset, uint8_t dtype, unsigned int n)
{
	return (struct neuron_ap){ offset, dtype, { 0, 0, 0, 1 }, { 1, 1, 1, (uint16_t)n } };
}

/*
 * The variables of the models add and long: inputs a and b, output c, one behind the other in SBUF
 */
struct abc {
	unsigned int c, sb, out;
};

static struct abc start_abc(struct testmodel *t, const char *name, unsigned int cols)
{
	unsigned int row = cols * 4, a, b, c, sb, in;

	start(t, name);
	a = testmodel_var(t, "a", NEFF_VAR_INPUT, 128ull * row);
	b = testmodel_var(t, "b", NEFF_VAR_INPUT, 128ull * row);
	c = testmodel_var(t, "c", NEFF_VAR_OUTPUT, 128ull * row);
	sb = testmodel_var(t, "sb", NEFF_VAR_STATE_BUFFER, 0);
	testmodel_io(t, a, NEURON_DT_FP32, 128, cols);
	testmodel_io(t, b, NEURON_DT_FP32, 128, cols);
	testmodel_io(t, c, NEURON_DT_FP32, 128, cols);
	in = testmodel_queue(t, "qin", NEFF_QUEUE_IN, SP);
	program_start(t, SP);
	testmodel_dma(t, SP, in, 0, 1)->desc[0] = rows_desc(a, sb, 128, row, 0, true);
	testmodel_dma(t, SP, in, 0, 1)->desc[0] = rows_desc(b, sb, 128, row, row, true);
	program_start(t, POOL);
	return (struct abc){ c, sb, testmodel_queue(t, "qout", NEFF_QUEUE_OUT, SP) };
}

/* c is where the last instruction of POOL, which raises semaphore 1, left it */
static void end_abc(struct testmodel *t, struct abc v, unsigned int row, uint64_t off)
{
	wait_ge(t, SP, 1, 1);
	testmodel_dma(t, SP, v.out, 2, 1)->desc[0] = rows_desc(v.c, v.sb, 128, row, off, false);
	wait_ge(t, SP, 2, 1);
	clear_all(t);
}

void testmodel_add(struct testmodel *t, unsigned int cols)
{
	unsigned int row = cols * 4;
	struct neuron_insn add = {
		.opcode = NEURON_OP_TENSOR_TENSOR,
		.op0 = NEURON_ALU_ADD,
		.partitions = 128,
		.wait = NEURON_WAIT_SEM_GE,
		.wait_index = 0,
		.wait_value = 2,
		.update = NEURON_UPD_SEM_INC,
		.update_index = 1,
		.src0 = ap(0, NEURON_DT_FP32, cols),
		.src1 = ap(row, NEURON_DT_FP32, cols),
		.dst = ap(2 * row, NEURON_DT_FP32, cols),
	};
	struct abc v = start_abc(t, "add", cols);

	testmodel_insn(t, POOL, &add);
	end_abc(t, v, row, 2ull * row);
}

void testmodel_long(struct testmodel *t, unsigned int cols, unsigned int steps)
{
	unsigned int row = cols * 4, from = 0, to = 2 * row;
	struct abc v = start_abc(t, "long", cols);

	wait_ge(t, POOL, 0, 2);
	for (unsigned int i = 0; i < steps; i++) {
		struct neuron_insn mul = {
			.opcode = NEURON_OP_TENSOR_TENSOR,
			.op0 = NEURON_ALU_MULT,
			.partitions = 128,
			.src0 = ap(from, NEURON_DT_FP32, cols),
			.src1 = ap(row, NEURON_DT_FP32, cols),
			.dst = ap(to, NEURON_DT_FP32, cols),
		};

		if (i == steps - 1) {
			mul.update = NEURON_UPD_SEM_INC;
			mul.update_index = 1;
		}
		testmodel_insn(t, POOL, &mul);
		from = to;
		to = 2 * row - to;
	}
	end_abc(t, v, row, from);
}

void testmodel_matmul(struct testmodel *t, unsigned int m, unsigned int n, const uint16_t *w)
{
	unsigned int x, y, k, sb, in, out;
	uint32_t psum = NEURON_PSUM_OFFSET;
	struct neuron_insn ldw = {
		.opcode = NEURON_OP_LDWEIGHTS,
		.partitions = 128,
		.wait = NEURON_WAIT_SEM_GE,
		.wait_index = 0,
		.wait_value = 2,
		.src0 = ap(0, NEURON_DT_BF16, m),
	};
	struct neuron_insn mm = {
		.opcode = NEURON_OP_MATMUL,
		.partitions = 128,
		.update = NEURON_UPD_SEM_INC,
		.update_index = 1,
		.src0 = ap(2 * m, NEURON_DT_BF16, n),
		.dst = ap(psum, NEURON_DT_FP32, n),
	};
	struct neuron_insn cp = {
		.opcode = NEURON_OP_TENSOR_COPY,
		.partitions = (uint8_t)m,
		.wait = NEURON_WAIT_SEM_GE,
		.wait_index = 1,
		.wait_value = 1,
		.update = NEURON_UPD_SEM_INC,
		.update_index = 3,
		.src0 = ap(psum, NEURON_DT_FP32, n),
		.dst = ap(0x8000, NEURON_DT_FP32, n),
	};

	start(t, "matmul");
	x = testmodel_var(t, "x", NEFF_VAR_INPUT, 128ull * n * 2);
	k = testmodel_var(t, "w", NEFF_VAR_FILE, 128ull * m * 2);
	y = testmodel_var(t, "y", NEFF_VAR_OUTPUT, (uint64_t)m * n * 4);
	sb = testmodel_var(t, "sb", NEFF_VAR_STATE_BUFFER, 0);
	testmodel_io(t, x, NEURON_DT_BF16, 128, n);
	testmodel_io(t, y, NEURON_DT_FP32, m, n);
	t->sg.vars[k].file_name = strdup("w.bin");
	t->sg.vars[k].data = malloc(128ull * m * 2);
	memcpy(t->sg.vars[k].data, w, 128ull * m * 2);
	in = testmodel_queue(t, "qin", NEFF_QUEUE_IN, PE);
	out = testmodel_queue(t, "qout", NEFF_QUEUE_OUT, SP);
	program_start(t, PE);
	testmodel_dma(t, PE, in, 0, 1)->desc[0] = rows_desc(k, sb, 128, 2 * m, 0, true);
	testmodel_dma(t, PE, in, 0, 1)->desc[0] = rows_desc(x, sb, 128, 2 * n, 2 * m, true);
	testmodel_insn(t, PE, &ldw);
	testmodel_insn(t, PE, &mm);
	program_start(t, POOL);
	testmodel_insn(t, POOL, &cp);
	program_start(t, SP);
	wait_ge(t, SP, 3, 1);
	testmodel_dma(t, SP, out, 2, 1)->desc[0] = rows_desc(y, sb, m, 4 * n, 0x8000, false);
	wait_ge(t, SP, 2, 1);
	clear_all(t);
}

void testmodel_shuffle(struct testmodel *t)
{
	/* 30000 bytes: 300 runs of 100 on one side, 1000 runs of 30 on the other, then back */
	struct neff_pattern x = { 0, 0, 2, { 100, 300 }, { 1, 100 } };
	struct neff_pattern tmp = { 2, 0, 2, { 30, 1000 }, { 1, 50 } };
	struct neff_pattern y = { 1, 0, 1, { 30000 }, { 1 } };
	struct neff_dma *dma;
	unsigned int q;

	start(t, "shuffle");
	testmodel_var(t, "x", NEFF_VAR_INPUT, 30000);
	testmodel_var(t, "y", NEFF_VAR_OUTPUT, 30000);
	testmodel_var(t, "tmp", NEFF_VAR_TMP_BUF, 50000);
	testmodel_io(t, 0, NEURON_DT_INT8, 300, 100);
	testmodel_io(t, 1, NEURON_DT_INT8, 300, 100);
	q = testmodel_queue(t, "q", NEFF_QUEUE_DATA, SP);
	program_start(t, SP);
	dma = testmodel_dma(t, SP, q, 0, 2);
	dma->desc[0] = (struct neff_desc){ .from = x, .to = tmp };
	dma->desc[1] = (struct neff_desc){ .from = tmp, .to = y };
	wait_ge(t, SP, 0, 1);
	clear_all(t);
}

void testmodel_compute(struct testmodel *t, const struct testmodel_elements *e)
{
	const uint64_t ss = neff_dtype_size(e->from), ds = neff_dtype_size(e->to);
	const uint64_t piece = e->n / 3 * ss, stride = piece + 5;
	struct neff_desc *d;
	unsigned int q;

	start(t, "compute");
	t->model.target = neuron_target_of_name("trn1");
	testmodel_var(t, "x", NEFF_VAR_INPUT, e->sources * 3 * stride);
	testmodel_var(t, "y", NEFF_VAR_OUTPUT, e->n * ds);
	testmodel_io(t, 0, NEURON_DT_INT8, e->sources * 3, (unsigned int)stride);
	testmodel_io(t, 1, NEURON_DT_INT8, 1, (unsigned int)(e->n * ds));
	q = testmodel_queue(t, "q", NEFF_QUEUE_DATA, SP);
	program_start(t, SP);
	d = testmodel_dma(t, SP, q, 0, 1)->desc;
	*d = (struct neff_desc){
		.op = e->op,
		.from_dtype = e->from,
		.to_dtype = e->to,
		.to = { 1, 0, 1, { e->n * ds }, { 1 } },
		.nmore = e->sources - 1,
		.more = calloc(e->sources, sizeof(*d->more)),
	};
	assert(d->more);
	for (unsigned int i = 0; i < e->sources; i++)
		*(i ? &d->more[i - 1] : &d->from) = (struct neff_pattern){
			0, i * 3 * stride, 2, { piece, 3 }, { 1, (int64_t)stride }
		};
	wait_ge(t, SP, 0, 1);
	clear_all(t);
}

void testmodel_transpose(struct testmodel *t, const uint32_t shape[4], unsigned int size)
{
	const uint64_t middle = (uint64_t)shape[1] * shape[2] * size;
	const uint64_t from = middle * shape[3], to = middle * shape[0];
	struct neff_desc *d;
	unsigned int q;

	start(t, "transpose");
	t->model.target = neuron_target_of_name("trn1");
	testmodel_var(t, "x", NEFF_VAR_INPUT, shape[0] * (from + 6));
	testmodel_var(t, "y", NEFF_VAR_OUTPUT, shape[3] * (to + 6));
	testmodel_io(t, 0, NEURON_DT_INT8, shape[0], (unsigned int)from + 6);
	testmodel_io(t, 1, NEURON_DT_INT8, shape[3], (unsigned int)to + 6);
	q = testmodel_queue(t, "q", NEFF_QUEUE_DATA, SP);
	program_start(t, SP);
	d = testmodel_dma(t, SP, q, 0, 1)->desc;
	*d = (struct neff_desc){ { 0, 0, 2, { from, shape[0] }, { 1, (int64_t)from + 6 } },
				 { 1, 0, 2, { to, shape[3] }, { 1, (int64_t)to + 6 } },
				 .op = NEFF_TRANSPOSE };
	d->from_dtype = d->to_dtype = size == 2 ? NEURON_DT_UINT16 : NEURON_DT_UINT32;
	memcpy(d->shape, shape, sizeof(d->shape));
	wait_ge(t, SP, 0, 1);
	clear_all(t);
}

void testmodel_stream(struct testmodel *t, uint8_t dtype, unsigned int n, bool lies)
{
	const uint64_t bytes = n * neff_dtype_size(dtype), piece = bytes / 3, room = bytes + 24;
	const struct neff_pattern x = { 0, 0, 2, { piece, 3 }, { 1, (int64_t)piece + 5 } };
	const struct neff_pattern stream = { lies ? 0 : 2, 0, 1, { lies ? bytes : room }, { 1 } };
	const struct neff_pattern y = { 1, 0, 1, { bytes }, { 1 } };
	struct neff_desc *d;
	unsigned int q;

	start(t, "stream");
	t->model.target = neuron_target_of_name("trn1");
	testmodel_var(t, "x", NEFF_VAR_INPUT, 3 * (piece + 5));
	testmodel_var(t, "y", NEFF_VAR_OUTPUT, bytes);
	testmodel_var(t, "tmp", NEFF_VAR_TMP_BUF, room);
	testmodel_io(t, 0, NEURON_DT_INT8, 3, (unsigned int)piece + 5);
	testmodel_io(t, 1, NEURON_DT_INT8, 1, (unsigned int)bytes);
	q = testmodel_queue(t, "q", NEFF_QUEUE_DATA, SP);
	program_start(t, SP);
	d = testmodel_dma(t, SP, q, 0, 2)->desc;
	d[0] = (struct neff_desc){ x,
				   { 2, 0, 1, { room }, { 1 } },
				   .op = NEFF_COMPRESS,
				   .from_dtype = dtype,
				   .to_dtype = dtype };
	d[1] = (struct neff_desc){ stream, y, .op = NEFF_DECOMPRESS, .from_dtype = dtype,
				   .to_dtype = dtype };
	wait_ge(t, SP, 0, 1);
	clear_all(t);
}

void testmodel_scatter(struct testmodel *t, uint64_t n)
{
	const struct neff_pattern x = { 0, 0, 2, { 1, n }, { 1, 2 } };
	const struct neff_pattern y = { 1, 0, 2, { 1, n }, { 1, 2 } };

	start(t, "scatter");
	testmodel_var(t, "x", NEFF_VAR_INPUT, 2 * n);
	testmodel_var(t, "y", NEFF_VAR_OUTPUT, 2 * n);
	testmodel_io(t, 0, NEURON_DT_INT8, 2, (unsigned int)n);
	testmodel_io(t, 1, NEURON_DT_INT8, 2, (unsigned int)n);
	program_start(t, SP);
	for (unsigned int i = 0; i < 2; i++) {
		unsigned int q = testmodel_queue(t, i ? "b" : "a", NEFF_QUEUE_DATA, SP);

		testmodel_dma(t, SP, q, (int)i, 1)->desc[0] =
			(struct neff_desc){ .from = x, .to = y };
	}
	wait_ge(t, SP, 0, 1);
	wait_ge(t, SP, 1, 1);
	clear_all(t);
}

/* Table k's rows, for an odd k from the last one on */
static struct neff_pattern table_rows(const struct testmodel_tables *g, unsigned int k)
{
	struct neff_pattern p = {
		1, (uint64_t)k * g->rows * g->row, 2, { g->row, g->rows }, { 1, g->row }
	};

	if (k % 2) {
		p.offset += (uint64_t)(g->rows - 1) * g->row;
		p.step[1] = -p.step[1];
	}
	return p;
}

/* n rows of SBUF, the i-th in partition i % 128: those that fill all of them, then the rest */
static unsigned int sbuf_rows(const struct testmodel_tables *g, struct neff_pattern p[2])
{
	unsigned int full = g->n / 128, rest = g->n % 128, i = 0;

	if (full)
		p[i++] = (struct neff_pattern){
			0, 0, 3, { g->row, 128, full }, { 1, NEURON_SBUF_PART_STRIDE, g->row }
		};
	if (rest)
		p[i++] = (struct neff_pattern){ 0,
						(uint64_t)full * g->row,
						2,
						{ g->row, rest },
						{ 1, NEURON_SBUF_PART_STRIDE } };
	return i;
}

/* Copies rows of table k straight to their place in y (even k), or through SBUF. */
static void gather_one(struct testmodel *t, const struct testmodel_tables *g, unsigned int k)
{
	uint64_t y = (uint64_t)k * g->n * g->row;
	struct neff_desc d = { .from = table_rows(g, k),
			       .to = { 3, y, 2, { g->row, g->n }, { 1, g->row } },
			       .op = NEFF_GATHER,
			       .index = 2 };
	struct neff_pattern p[2];
	unsigned int np = k % 2 ? sbuf_rows(g, p) : 1;
	struct neff_dma *dma = testmodel_dma(t, SP, 0, 0, np);

	for (unsigned int i = 0; i < np; i++) {
		dma->desc[i] = d;
		if (k % 2)
			dma->desc[i].to = p[i];
		dma->desc[i].index_off = i ? g->n / 128 * 512 : 0;
	}
	wait_ge(t, SP, 0, k + 1);
	if (k % 2 == 0)
		return;
	dma = testmodel_dma(t, SP, 1, 1, np);
	for (unsigned int i = 0; i < np; i++) {
		dma->desc[i] = (struct neff_desc){ .from = p[i], .to = d.to };
		dma->desc[i].to.offset += i ? (uint64_t)(g->n / 128 * 128) * g->row : 0;
		dma->desc[i].to.size[1] = p[i].size[1] * (p[i].ndim == 3 ? p[i].size[2] : 1);
	}
	wait_ge(t, SP, 1, k / 2 + 1);
}

void testmodel_gather(struct testmodel *t, const struct testmodel_tables *g)
{
	start(t, "gather");
	testmodel_var(t, "sb", NEFF_VAR_STATE_BUFFER, 0);
	testmodel_var(t, "table", NEFF_VAR_INPUT, (uint64_t)g->tables * g->rows * g->row);
	testmodel_var(t, "index", NEFF_VAR_INPUT, (uint64_t)g->n * 4);
	testmodel_var(t, "y", NEFF_VAR_OUTPUT, (uint64_t)g->tables * g->n * g->row);
	testmodel_io(t, 1, NEURON_DT_INT8, g->tables * g->rows, g->row);
	testmodel_io(t, 2, NEURON_DT_INT32, 1, g->n);
	testmodel_io(t, 3, NEURON_DT_INT8, g->tables * g->n, g->row);
	testmodel_queue(t, "rows", NEFF_QUEUE_DATA, SP);
	testmodel_queue(t, "copies", NEFF_QUEUE_DATA, SP);
	program_start(t, SP);
	for (unsigned int k = 0; k < g->tables; k++)
		gather_one(t, g, k);
	clear_all(t);
}

/* Copies n rows of u, variable 3, to SBUF. */
static void rows_to_sbuf(struct testmodel *t, const struct testmodel_tables *g)
{
	struct neff_pattern p[2];
	unsigned int np = sbuf_rows(g, p);
	struct neff_dma *dma = testmodel_dma(t, SP, 1, 1, np);

	for (unsigned int i = 0; i < np; i++) {
		uint64_t n = p[i].size[1] * (p[i].ndim == 3 ? p[i].size[2] : 1);
		struct neff_pattern u = { 3, 0, 2, { g->row, n }, { 1, g->row } };

		u.offset = i ? (uint64_t)(g->n / 128 * 128) * g->row : 0;
		dma->desc[i] = (struct neff_desc){ .from = u, .to = p[i] };
	}
}

void testmodel_put(struct testmodel *t, const struct testmodel_tables *g, bool sbuf)
{
	const struct neff_pattern whole = { 1, 0, 1, { (uint64_t)g->rows * g->row }, { 1 } },
				  rows = { 4, 0, 2, { g->row, g->rows }, { 1, g->row } };
	struct neff_pattern p[2] = { { 3, 0, 2, { g->row, g->n }, { 1, g->row } } };
	unsigned int np = sbuf ? sbuf_rows(g, p) : 1;
	struct neff_dma *dma;

	start(t, "put");
	testmodel_var(t, "sb", NEFF_VAR_STATE_BUFFER, 0);
	testmodel_var(t, "table", NEFF_VAR_INPUT, (uint64_t)g->rows * g->row);
	testmodel_var(t, "index", NEFF_VAR_INPUT, (uint64_t)g->n * 4);
	testmodel_var(t, "u", NEFF_VAR_INPUT, (uint64_t)g->n * g->row);
	testmodel_var(t, "y", NEFF_VAR_OUTPUT, (uint64_t)g->rows * g->row);
	testmodel_var(t, "z", NEFF_VAR_OUTPUT, (uint64_t)g->n * g->row);
	testmodel_io(t, 1, NEURON_DT_INT8, g->rows, g->row);
	testmodel_io(t, 2, NEURON_DT_INT32, 1, g->n);
	testmodel_io(t, 3, NEURON_DT_INT8, g->n, g->row);
	testmodel_io(t, 4, NEURON_DT_INT8, g->rows, g->row);
	testmodel_io(t, 5, NEURON_DT_INT8, g->n, g->row);
	testmodel_queue(t, "rows", NEFF_QUEUE_DATA, SP);
	testmodel_queue(t, "copies", NEFF_QUEUE_DATA, SP);
	program_start(t, SP);

	dma = testmodel_dma(t, SP, 1, 1, 1);
	dma->desc[0] = (struct neff_desc){ .from = whole, .to = whole };
	dma->desc[0].to.var = 4;
	if (sbuf)
		rows_to_sbuf(t, g);
	wait_ge(t, SP, 1, 1 + sbuf);
	dma = testmodel_dma(t, SP, 0, 0, np);
	for (unsigned int i = 0; i < np; i++)
		dma->desc[i] = (struct neff_desc){ .from = p[i],
						   .to = rows,
						   .op = NEFF_SCATTER,
						   .index = 2,
						   .index_off = i ? g->n / 128 * 512 : 0 };
	wait_ge(t, SP, 0, 1);
	dma = testmodel_dma(t, SP, 0, 0, 1);
	dma->desc[0] = (struct neff_desc){ .from = rows,
					   .to = { 5, 0, 2, { g->row, g->n }, { 1, g->row } },
					   .op = NEFF_GATHER,
					   .index = 2 };
	wait_ge(t, SP, 0, 2);
	clear_all(t);
}

static void one_square(struct testmodel *t, const char *name, unsigned int edge)
{
	start(t, name);
	testmodel_var(t, "y", NEFF_VAR_OUTPUT, edge * edge);
	testmodel_io(t, 0, NEURON_DT_INT8, edge, edge);
	program_start(t, SP);
}

void testmodel_bare(struct testmodel *t, const char *name)
{
	one_square(t, name, 8);
}

void testmodel_large(struct testmodel *t)
{
	one_square(t, "large", 2048);
}

void testmodel_peek(struct testmodel *t, unsigned int cols)
{
	unsigned int row = cols * 4, y, sb, queue;

	start(t, "peek");
	y = testmodel_var(t, "y", NEFF_VAR_OUTPUT, 128ull * row);
	sb = testmodel_var(t, "sb", NEFF_VAR_STATE_BUFFER, 0);
	testmodel_io(t, y, NEURON_DT_FP32, 128, cols);
	queue = testmodel_queue(t, "qout", NEFF_QUEUE_OUT, SP);
	program_start(t, SP);
	testmodel_dma(t, SP, queue, 0, 1)->desc[0] = rows_desc(y, sb, 128, row, 0, false);
	wait_ge(t, SP, 0, 1);
	clear_all(t);
}

void testmodel_hang(struct testmodel *t)
{
	testmodel_bare(t, "hang");
	wait_ge(t, SP, 5, 1);
}

void testmodel_fault(struct testmodel *t)
{
	testmodel_faults(t, 1);
}

void testmodel_faults(struct testmodel *t, unsigned int times)
{
	struct neuron_insn dec = { .opcode = NEURON_OP_NOP,
				   .update = NEURON_UPD_SEM_DEC,
				   .update_index = 7 };

	testmodel_bare(t, "fault");
	while (times--)
		testmodel_insn(t, SP, &dec);
	clear_all(t);
}

void *testmodel_write(struct testmodel *t, size_t *size)
{
	struct neff_error err;
	void *buf;
	int ret = neff_write(&t->model, &buf, size, &err);

	if (ret)
		fprintf(stderr, "neff_write: %s\n", err.text);
	assert(!ret);
	return buf;
}

void testmodel_refused(struct testmodel *t, int ret, const char *text)
{
	struct neff_error err = { 0 };
	void *buf;
	size_t size;
	int got = neff_write(&t->model, &buf, &size, &err);
	bool right = got == ret && !buf && strstr(err.text, text);

	if (!right)
		fprintf(stderr, "neff_write: %d '%s', expected %d '%s'\n", got, err.text, ret,
			text);
	assert(right);
	testmodel_free(t);
}

static void set_name(struct testmodel *t, unsigned int var, const char *format, unsigned int n)
{
	char name[16];

	snprintf(name, sizeof(name), format, n);
	free(t->sg.vars[var].name);
	t->sg.vars[var].name = strdup(name);
}

void *testmodel_stages(unsigned int n, unsigned int cols, size_t *size)
{
	struct testmodel *t = calloc(n, sizeof(*t)), all;
	struct neff_subgraph *sg = calloc(n, sizeof(*sg));
	void *buf;

	for (unsigned int k = 0; k < n; k++) {
		testmodel_add(&t[k], cols);
		if (k)
			set_name(&t[k], 0, "sum%u", k);
		if (k + 1 < n)
			set_name(&t[k], 2, "sum%u", k + 1);
		free(t[k].sg.name);
		t[k].sg.name = malloc(16);
		snprintf(t[k].sg.name, 16, "sg%02u", k);
		sg[k] = t[k].sg;
	}
	all = t[0];
	all.model.header.num_tpb = n;
	all.model.nsubgraphs = n;
	all.model.subgraphs = sg;
	memset(all.model.header.tpb_per_node, 1, n);
	buf = testmodel_write(&all, size);
	for (unsigned int k = 0; k < n; k++)
		testmodel_free(&t[k]);
	free(t);
	free(sg);
	return buf;
}

static void sibling(struct testmodel *t, unsigned int k, enum testmodel_siblings how)
{
	const struct neuron_insn barrier = { .opcode = NEURON_OP_PSEUDO_CORE_BARRIER, .id = 9 };
	const struct neuron_insn zero = { .opcode = NEURON_OP_MOVE, .rd = 1, .immediate = true };
	const struct neuron_insn again = { .opcode = NEURON_OP_COMPARE_BRANCH,
					   .rop = NEURON_REL_LT,
					   .ra = 1,
					   .immediate = true,
					   .value = 1,
					   .target = -NEURON_INSN_WORD };

	start(t, "siblings");
	t->model.target = neuron_target_of_name("trn2");
	t->sg.name[3] = (char)('0' + k);
	testmodel_var(t, "y", NEFF_VAR_OUTPUT, 16);
	testmodel_io(t, 0, NEURON_DT_INT8, 4, 4);
	program_start(t, SP);
	if (how == TESTMODEL_ASTRAY || (how == TESTMODEL_LATE && k)) {
		testmodel_insn(t, SP, &zero);
		testmodel_insn(t, SP, &again);
	}
	testmodel_insn(t, SP, &barrier);
	wait_ge(t, SP, barrier.id, how == TESTMODEL_ABSENT && !k ? 2 : 1);
	if (how == TESTMODEL_ALONE && !k)
		wait_ge(t, SP, 5, 1);
	clear_all(t);
}

void *testmodel_siblings(enum testmodel_siblings how, size_t *size)
{
	struct neff_subgraph sg[2];
	struct testmodel t[2], all;
	void *buf;

	for (unsigned int k = 0; k < 2; k++) {
		sibling(&t[k], k, how);
		sg[k] = t[k].sg;
	}
	all = t[0];
	all.model.header.lnc_size = 2;
	all.model.nsubgraphs = 2;
	all.model.subgraphs = sg;
	buf = testmodel_write(&all, size);
	for (unsigned int k = 0; k < 2; k++)
		testmodel_free(&t[k]);
	return buf;
}

void testmodel_free(struct testmodel *t)
{
	struct neff_model *m = calloc(1, sizeof(*m));

	m->nsubgraphs = 1;
	m->subgraphs = malloc(sizeof(t->sg));
	m->subgraphs[0] = t->sg;
	neff_free(m);
	memset(t, 0, sizeof(*t));
}
