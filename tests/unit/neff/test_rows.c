// SPDX-License-Identifier: MIT
/* Gathers and scatters in a NEFF that must be refused, with the descriptor and its side named */
#include "../check_main.h"
#include "testmodel.h"

#include <check.h>
#include <errno.h>

#include "neuron/hw/ext.h"

#define LEN(a) ((int)(sizeof(a) / sizeof((a)[0])))

/* The second gather's first descriptor, to SBUF, and what is wrong with it */
static void break_gather(struct testmodel *t, int which)
{
	struct neff_engine *sp = &t->sg.engine[NEURON_ENG_SP];
	struct neff_desc *d = &sp->dma[1].desc[0];

	switch (which) {
	case 0:
		d->from.var = 0;
		break;
	case 1:
		d->from.ndim = 1;
		break;
	case 2:
		d->from.size[1] = 65537;
		d->from.step[1] = 0;
		break;
	case 3:
		d->from.size[0] = d->to.size[0] = 65537;
		t->sg.vars[1].size = 1 << 24;
		t->sg.vars[1].shape[0] = t->sg.vars[1].shape[1] = 1 << 12;
		d->from.step[1] = 0;
		d->to.ndim = 2;
		break;
	case 4:
		d->from.offset = 100 * 600;
		break;
	case 5:
		d->to.size[0] = 99;
		break;
	case 6:
		d->to.var = 1;
		d->to.step[1] = d->to.step[2] = 0;
		break;
	case 7:
		d->index = 4;
		break;
	case 8:
		d->index_off = 12;
		break;
	case 9:
		d->index_off = UINT64_MAX - 4;
		break;
	case 10:
		d->index = 0;
		d->index_off = 131072 - 508;
		break;
	case 11:
		d->op = NEFF_COPY;
		break;
	case 12:
		d->op = NEFF_COPY;
		d->from.size[1] = 128;
		break;
	}
}

static const char *const broken_gather[] = {
	"dma[1] desc[0]: 'from': not a table in DRAM",
	"dma[1] desc[0]: 'from': not a table in DRAM",
	"dma[1] desc[0]: 'from': not a table in DRAM",
	"dma[1] desc[0]: 'from': not a table in DRAM",
	"dma[1] desc[0]: 'from': outside its variable",
	"dma[1] desc[0]: 'to': its pieces are not the table's rows",
	"dma[1] desc[0]: 'to': an input or a constant is not written",
	"dma[1] desc[0]: 'index': no such variable",
	"dma[1] desc[0]: 'index': outside its variable",
	"dma[1] desc[0]: 'index': outside its variable",
	"dma[1] desc[0]: 'index': outside a partition",
	"dma[1] desc[0]: 'to': not as many bytes",
	"dma[1]: a copy in a queue set of gathers or scatters",
};

/* The scatter's descriptor */
static void break_scatter(struct testmodel *t, int which)
{
	struct neff_engine *sp = &t->sg.engine[NEURON_ENG_SP];
	struct neff_desc *d = &sp->dma[1].desc[0];

	switch (which) {
	case 0:
		d->to.var = 0;
		break;
	case 1:
		d->to.ndim = 1;
		break;
	case 2:
		d->to.size[1] = 65537;
		d->to.step[1] = 0;
		break;
	case 3:
		d->to.offset = 100;
		break;
	case 4:
		d->from.size[0] = 99;
		break;
	case 5:
		d->to.var = 1;
		break;
	case 6:
		d->index_off = 4;
		break;
	}
}

static const char *const broken_scatter[] = {
	"dma[1] desc[0]: 'to': not a table in DRAM",
	"dma[1] desc[0]: 'to': not a table in DRAM",
	"dma[1] desc[0]: 'to': not a table in DRAM",
	"dma[1] desc[0]: 'to': outside its variable",
	"dma[1] desc[0]: 'from': its pieces are not the table's rows",
	"dma[1] desc[0]: 'to': an input or a constant is not written",
	"dma[1] desc[0]: 'index': outside its variable",
};

START_TEST(bad_scatter)
{
	const struct testmodel_tables g = { 1, 40, 100, 40 };
	struct testmodel t;

	testmodel_put(&t, &g, false);
	break_scatter(&t, _i);
	testmodel_refused(&t, -EINVAL, broken_scatter[_i]);
}
END_TEST

START_TEST(bad_gather)
{
	const struct testmodel_tables g = { 2, 300, 100, 130 };
	struct testmodel t;

	testmodel_gather(&t, &g);
	break_gather(&t, _i);
	testmodel_refused(&t, -EINVAL, broken_gather[_i]);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("rows");
	TCase *tc = tcase_create("rows");

	tcase_add_loop_test(tc, bad_gather, 0, LEN(broken_gather));
	tcase_add_loop_test(tc, bad_scatter, 0, LEN(broken_scatter));
	suite_add_tcase(s, tc);
	return check_run(s);
}
