// SPDX-License-Identifier: MIT
/*
 * Gathers and scatters (docs/neff.md) end to end: test_gather emu:inf1.6xlarge, or in a guest
 * test_gather node. The oracle is plain C over the inputs; a row says in its bytes which one of
 * which table it is.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../check_main.h"
#include "nrt_client.h"
#include "testmodel.h"

static const char *machine;

static void setup(void)
{
	ck_assert_int_eq(nrtx_machine_set(machine), NRT_SUCCESS);
	ck_assert_msg(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "") == NRT_SUCCESS, "%s",
		      nrtx_error_details());
}

static void teardown(void)
{
	nrt_close();
}

static uint32_t rnd(void)
{
	static uint32_t seed = 4711;

	seed = seed * 1664525u + 1013904223u;
	return seed >> 8;
}

struct job {
	struct testmodel_tables g;
	struct client cl;
	uint8_t *table, *y;
	int32_t *index;
};

static uint64_t rows_of(const struct job *j)
{
	return (uint64_t)j->g.tables * j->g.rows;
}

static void begin(struct job *j, const struct testmodel_tables *g, uint32_t vnc,
		  nrt_tensor_placement_t placement)
{
	struct testmodel t;
	size_t size;
	void *neff;

	j->g = *g;
	testmodel_gather(&t, g);
	neff = testmodel_write(&t, &size);
	testmodel_free(&t);
	client_load(&j->cl, neff, size, vnc, placement, 0);
	j->table = malloc(rows_of(j) * g->row);
	j->y = malloc((uint64_t)g->tables * g->n * g->row);
	j->index = malloc(g->n * sizeof(*j->index));
	ck_assert(j->table && j->y && j->index);
	for (uint64_t i = 0; i < rows_of(j) * g->row; i++)
		j->table[i] = (uint8_t)(rnd() >> 4);
	client_write(&j->cl, "table", j->table, rows_of(j) * g->row);
}

static void end(struct job *j)
{
	client_free(&j->cl);
	free(j->table);
	free(j->y);
	free(j->index);
}

static const uint8_t *row(const struct job *j, unsigned int k, int64_t i)
{
	i = k % 2 ? j->g.rows - 1 - i : i;
	return j->table + ((uint64_t)k * j->g.rows + (uint64_t)i) * j->g.row;
}

static void run(struct job *j)
{
	client_write(&j->cl, "index", j->index, j->g.n * sizeof(*j->index));
	ck_assert_msg(client_run(&j->cl) == NRT_SUCCESS, "%s", nrtx_error_details());
	client_read(&j->cl, "y", j->y, (uint64_t)j->g.tables * j->g.n * j->g.row);
}

static void run_and_compare(struct job *j)
{
	for (unsigned int i = 0; i < j->g.n; i++)
		j->index[i] = (int32_t)(rnd() % j->g.rows);
	j->index[0] = (int32_t)j->g.rows - 1;
	run(j);
	for (unsigned int k = 0; k < j->g.tables; k++)
		for (unsigned int i = 0; i < j->g.n; i++)
			ck_assert_msg(!memcmp(j->y + ((uint64_t)k * j->g.n + i) * j->g.row,
					      row(j, k, j->index[i]), j->g.row),
				      "table %u, row %u, index %d", k, i, j->index[i]);
}

static const struct testmodel_tables shapes[] = {
	{ 1, 1, 64, 1 },	{ 2, 1, 1, 5 },	      { 2, 2, 4, 300 },	    { 2, 256, 100, 256 },
	{ 2, 257, 3072, 1024 }, { 1, 65536, 4, 999 }, { 2, 300, 65536, 3 }, { 70, 40, 8, 130 },
};

/* Row counts to the limits, one and two bytes of index, pieces that the runtime joins and cuts */
START_TEST(shapes_and_places)
{
	struct job j;

	begin(&j, &shapes[_i], 0, NRT_TENSOR_PLACEMENT_HOST);
	for (int times = 0; times < 3; times++) /* other indices each time */
		run_and_compare(&j);
	end(&j);
}
END_TEST

START_TEST(models_take_turns_on_a_core)
{
	struct job j[2];

	begin(&j[0], &shapes[3], 1, NRT_TENSOR_PLACEMENT_DEVICE);
	begin(&j[1], &shapes[7], 1, NRT_TENSOR_PLACEMENT_DEVICE);
	for (int times = 0; times < 4; times++)
		run_and_compare(&j[times % 3 == 1]);
	end(&j[0]);
	end(&j[1]);
}
END_TEST

/* An index beyond the table gives some row of the table; which one is not specified. */
START_TEST(wild_indices_stay_in_the_table)
{
	static const int32_t wild[] = { -1,    INT32_MIN, INT32_MAX, 200, 256,	  257,	   65535,
					65536, 65737,	  1 << 24,   -2,  -65536, 0x7f00ff };
	const struct testmodel_tables small = { 2, 200, 96, 13 }, large = { 2, 1000, 96, 13 };
	struct job j;

	begin(&j, _i ? &large : &small, 0, NRT_TENSOR_PLACEMENT_HOST);
	memcpy(j.index, wild, sizeof(wild));
	run(&j);
	for (unsigned int i = 0; i < 2 * j.g.n; i++) {
		unsigned int k = i / j.g.n, found = 0;

		for (unsigned int r = 0; r < j.g.rows; r++)
			found += !memcmp(j.y + (uint64_t)i * j.g.row, row(&j, k, r), j.g.row);
		ck_assert_msg(found == 1, "table %u, index %d", k, wild[i % j.g.n]);
	}
	run_and_compare(&j);
	end(&j);
}
END_TEST

static const struct testmodel_tables updates[] = {
	{ 1, 1, 64, 3 },      { 1, 7, 1, 300 },	  { 1, 256, 100, 256 }, { 1, 257, 3072, 40 },
	{ 1, 65536, 4, 999 }, { 1, 3, 65536, 5 }, { 1, 100, 12, 129 },
};

struct put {
	struct client cl;
	uint8_t *table, *u, *y, *z;
	int32_t *index;
};

static void put_begin(struct put *p, const struct testmodel_tables *g, bool sbuf)
{
	struct testmodel t;
	size_t size;
	void *neff;

	testmodel_put(&t, g, sbuf);
	neff = testmodel_write(&t, &size);
	testmodel_free(&t);
	client_load(&p->cl, neff, size, 0,
		    sbuf ? NRT_TENSOR_PLACEMENT_DEVICE : NRT_TENSOR_PLACEMENT_HOST, 0);
	p->table = malloc((uint64_t)g->rows * g->row);
	p->y = malloc((uint64_t)g->rows * g->row);
	p->u = malloc((uint64_t)g->n * g->row);
	p->z = malloc((uint64_t)g->n * g->row);
	p->index = malloc(g->n * sizeof(*p->index));
	ck_assert(p->table && p->y && p->u && p->z && p->index);
	for (uint64_t i = 0; i < (uint64_t)g->rows * g->row; i++)
		p->table[i] = (uint8_t)(rnd() >> 4);
}

static void put_run(struct put *p, const struct testmodel_tables *g)
{
	for (uint64_t i = 0; i < (uint64_t)g->n * g->row; i++)
		p->u[i] = (uint8_t)(rnd() >> 4);
	client_write(&p->cl, "table", p->table, (uint64_t)g->rows * g->row);
	client_write(&p->cl, "u", p->u, (uint64_t)g->n * g->row);
	client_write(&p->cl, "index", p->index, g->n * sizeof(*p->index));
	ck_assert_msg(client_run(&p->cl) == NRT_SUCCESS, "%s", nrtx_error_details());
	client_read(&p->cl, "y", p->y, (uint64_t)g->rows * g->row);
	client_read(&p->cl, "z", p->z, (uint64_t)g->n * g->row);
}

static void put_end(struct put *p)
{
	client_free(&p->cl);
	free(p->table);
	free(p->y);
	free(p->u);
	free(p->z);
	free(p->index);
}

/* Rows replace others in the order of the indices; a gather of the same queue set sees them. */
START_TEST(rows_are_put)
{
	const struct testmodel_tables *g = &updates[_i / 2];
	struct put p;

	put_begin(&p, g, _i % 2);
	for (int times = 0; times < 3; times++) {
		for (unsigned int i = 0; i < g->n; i++) /* every fourth one again */
			p.index[i] = i % 4 == 3 ? p.index[i - 2] : (int32_t)(rnd() % g->rows);
		put_run(&p, g);
		for (unsigned int i = 0; i < g->n; i++)
			memcpy(p.table + (uint64_t)p.index[i] * g->row, p.u + (uint64_t)i * g->row,
			       g->row);
		ck_assert(!memcmp(p.y, p.table, (uint64_t)g->rows * g->row));
		for (unsigned int i = 0; i < g->n; i++)
			ck_assert(!memcmp(p.z + (uint64_t)i * g->row,
					  p.table + (uint64_t)p.index[i] * g->row, g->row));
	}
	put_end(&p);
}
END_TEST

/* A wild index replaces some row of the table and nothing else: other rows and inputs stay. */
START_TEST(wild_indices_put_rows_of_the_table)
{
	static const int32_t wild[] = { -1, INT32_MIN, INT32_MAX, 257, 65535, 1 << 24, 0x7f00ff };
	const struct testmodel_tables g = { 1, 1000, 96, 7 };
	struct put p;

	put_begin(&p, &g, false);
	memcpy(p.index, wild, sizeof(wild));
	put_run(&p, &g);
	for (unsigned int r = 0; r < g.rows; r++) {
		const uint8_t *row = p.y + (uint64_t)r * g.row;
		unsigned int found = !memcmp(row, p.table + (uint64_t)r * g.row, g.row);

		for (unsigned int i = 0; i < g.n && !found; i++)
			found = !memcmp(row, p.u + (uint64_t)i * g.row, g.row);
		ck_assert_msg(found, "row %u", r);
	}
	client_read(&p.cl, "table", p.y, (uint64_t)g.rows * g.row);
	ck_assert(!memcmp(p.y, p.table, (uint64_t)g.rows * g.row));
	put_end(&p);
}
END_TEST

/* The last one that fits is 32 lists of 32 */
START_TEST(too_many_tables)
{
	const struct testmodel_tables g = { 1025, 1, 4, 1 };
	nrt_model_t *model = NULL;
	struct testmodel t;
	size_t size;
	void *neff;

	testmodel_gather(&t, &g);
	neff = testmodel_write(&t, &size);
	testmodel_free(&t);
	ck_assert_int_eq(nrtx_load(neff, size, &(struct nrtx_load_params){ 0 }, &model),
			 NRT_RESOURCE);
	ck_assert_ptr_nonnull(strstr(nrtx_error_details(), "more than 1024 tables"));
	free(neff);
}
END_TEST

int main(int argc, char **argv)
{
	Suite *s = suite_create("gather");
	TCase *tc = tcase_create("rows");

	if (argc != 2)
		return 2;
	machine = argv[1];
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, shapes_and_places, 0, sizeof(shapes) / sizeof(shapes[0]));
	tcase_add_test(tc, models_take_turns_on_a_core);
	tcase_add_loop_test(tc, wild_indices_stay_in_the_table, 0, 2);
	tcase_add_loop_test(tc, rows_are_put, 0, 2 * sizeof(updates) / sizeof(updates[0]));
	tcase_add_test(tc, wild_indices_put_rows_of_the_table);
	tcase_add_test(tc, too_many_tables);
	suite_add_tcase(s, tc);
	return check_run(s);
}
