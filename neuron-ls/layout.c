// SPDX-License-Identifier: MIT
/*
 * The tables: each is a list of columns, each column a title and a function that writes a cell.
 * Called through layout.h. Titles are split after their first word, except for "PCI BDF" of the
 * 2020 table.
 */
#include "layout.h"
#include "grid.h"

#include <errno.h>
#include <string.h>

#define CELL 256
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* The subject of a cell; process is NULL on a chip without a process to show. */
struct subject {
	const struct ls_inventory *inv;
	const struct ls_chip *chip;
	const struct ls_process *process;
	const struct ls_options *opt;
};

struct layout_column {
	const char *title;
	enum grid_align align;
	bool per_process;
	void (*write)(const struct subject *s, char cell[static CELL]);
};

struct layout {
	const struct layout_column *columns;
	unsigned n_columns;
	bool na; /* what is not known is "NA", and its column stays */
};

static void write_bdf(const struct subject *s, char cell[static CELL])
{
	snprintf(cell, CELL, "%s", s->chip->bdf);
}

static void write_index(const struct subject *s, char cell[static CELL])
{
	snprintf(cell, CELL, "%u", s->chip->index);
}

static void write_cores(const struct subject *s, char cell[static CELL])
{
	snprintf(cell, CELL, "%u", s->chip->cores);
}

static void write_core_ids(const struct subject *s, char cell[static CELL])
{
	unsigned first = s->chip->index * s->chip->cores;

	if (s->chip->cores > 1)
		snprintf(cell, CELL, "%u-%u", first, first + s->chip->cores - 1);
	else
		snprintf(cell, CELL, "%u", first);
}

static void write_channel(const struct subject *s, char cell[static CELL])
{
	snprintf(cell, CELL, "%llu MB", (unsigned long long)(s->chip->channel_bytes >> 20));
}

static void write_memory(const struct subject *s, char cell[static CELL])
{
	unsigned long long bytes = s->chip->channel_bytes * s->chip->channels;

	snprintf(cell, CELL, "%llu GB", bytes >> 30);
}

static void write_connected(const struct subject *s, char cell[static CELL])
{
	size_t used = 0;

	cell[0] = '\0';
	for (unsigned i = 0; i < s->chip->n_neighbours; i++)
		used += snprintf(cell + used, CELL - used, "%s%u", i ? ", " : "",
				 s->chip->neighbours[i]);
}

static void write_east(const struct subject *s, char cell[static CELL])
{
	snprintf(cell, CELL, "%d", s->chip->east);
}

static void write_west(const struct subject *s, char cell[static CELL])
{
	snprintf(cell, CELL, "%d", s->chip->west);
}

static void write_cpus(const struct subject *s, char cell[static CELL])
{
	snprintf(cell, CELL, "%s", s->chip->cpus);
}

static void write_numa_node(const struct subject *s, char cell[static CELL])
{
	snprintf(cell, CELL, "%d", s->chip->numa_node);
}

/* The daemon holds a chip when it is among the chip's processes. */
static bool runs_runtime(const struct subject *s)
{
	for (unsigned i = 0; i < s->chip->n_processes; i++) {
		if (s->inv->runtime.address[0] && s->chip->processes[i].pid == s->inv->runtime.pid)
			return true;
	}
	return false;
}

static void write_runtime_address(const struct subject *s, char cell[static CELL])
{
	snprintf(cell, CELL, "%s", runs_runtime(s) ? s->inv->runtime.address : "");
}

static void write_runtime_pid(const struct subject *s, char cell[static CELL])
{
	cell[0] = '\0';
	if (runs_runtime(s))
		snprintf(cell, CELL, "%d", s->inv->runtime.pid);
}

static void write_runtime_version(const struct subject *s, char cell[static CELL])
{
	snprintf(cell, CELL, "%s", runs_runtime(s) ? s->inv->runtime.version : "");
}

static void write_pid(const struct subject *s, char cell[static CELL])
{
	snprintf(cell, CELL, "%d", s->process->pid);
}

static void write_command(const struct subject *s, char cell[static CELL])
{
	ls_cut_command(s->process->command, s->opt, cell);
}

static void write_version(const struct subject *s, char cell[static CELL])
{
	snprintf(cell, CELL, "%s", s->process->runtime ? s->process->version : "NA");
}

static const struct layout_column classic_columns[] = {
	{ "PCI BDF", GRID_LEFT, false, write_bdf },
	{ "LOGICAL\nID", GRID_RIGHT, false, write_index },
	{ "NEURON\nCORES", GRID_RIGHT, false, write_cores },
	{ "MEMORY\nCHANNEL 0", GRID_LEFT, false, write_channel },
	{ "MEMORY\nCHANNEL 1", GRID_LEFT, false, write_channel },
	{ "EAST", GRID_RIGHT, false, write_east },
	{ "WEST", GRID_RIGHT, false, write_west },
	{ "RUNTIME\nADDRESS", GRID_LEFT, false, write_runtime_address },
	{ "RUNTIME\nPID", GRID_RIGHT, false, write_runtime_pid },
	{ "RUNTIME\nVERSION", GRID_LEFT, false, write_runtime_version },
};

static const struct layout_column modern_columns[] = {
	{ "NEURON\nDEVICE", GRID_LEFT, false, write_index },
	{ "NEURON\nCORES", GRID_LEFT, false, write_cores },
	{ "NEURON\nCORE IDS", GRID_LEFT, false, write_core_ids },
	{ "NEURON\nMEMORY", GRID_LEFT, false, write_memory },
	{ "CONNECTED\nDEVICES", GRID_LEFT, false, write_connected },
	{ "PCI\nBDF", GRID_LEFT, false, write_bdf },
	{ "PID", GRID_LEFT, true, write_pid },
	{ "CPU\nAFFINITY", GRID_LEFT, false, write_cpus },
	{ "NUMA\nNODE", GRID_LEFT, false, write_numa_node },
	{ "COMMAND", GRID_LEFT, true, write_command },
	{ "RUNTIME\nVERSION", GRID_LEFT, true, write_version },
};

static const struct layout_column chip_columns[] = {
	{ "NEURON\nDEVICE", GRID_LEFT, false, write_index },
	{ "NEURON\nCORES", GRID_LEFT, false, write_cores },
	{ "NEURON\nMEMORY", GRID_LEFT, false, write_memory },
	{ "CONNECTED\nDEVICES", GRID_LEFT, false, write_connected },
	{ "PCI\nBDF", GRID_LEFT, false, write_bdf },
};

/* Tools 1.0.11054, September 2020 */
static const struct layout_column september_columns[] = {
	{ "NEURON\nDEVICE", GRID_LEFT, false, write_index },
	{ "NEURON\nCORES", GRID_LEFT, false, write_cores },
	{ "NEURON\nMEMORY", GRID_LEFT, false, write_memory },
	{ "CONNECTED\nDEVICES", GRID_LEFT, false, write_connected },
	{ "PCI\nBDF", GRID_LEFT, false, write_bdf },
	{ "RUNTIME\nADDRESS", GRID_LEFT, false, write_runtime_address },
	{ "RUNTIME\nPID", GRID_LEFT, false, write_runtime_pid },
	{ "RUNTIME\nVERSION", GRID_LEFT, false, write_runtime_version },
};

/* Releases 1.16 to 2.24 */
static const struct layout_column process_columns[] = {
	{ "NEURON\nDEVICE", GRID_LEFT, false, write_index },
	{ "NEURON\nCORES", GRID_LEFT, false, write_cores },
	{ "NEURON\nMEMORY", GRID_LEFT, false, write_memory },
	{ "CONNECTED\nDEVICES", GRID_LEFT, false, write_connected },
	{ "PCI\nBDF", GRID_LEFT, false, write_bdf },
	{ "PID", GRID_LEFT, true, write_pid },
	{ "COMMAND", GRID_LEFT, true, write_command },
	{ "RUNTIME\nVERSION", GRID_LEFT, true, write_version },
};

static const struct layout classic = { classic_columns, ARRAY_SIZE(classic_columns), false };
static const struct layout september = { september_columns, ARRAY_SIZE(september_columns), true };
static const struct layout processes = { process_columns, ARRAY_SIZE(process_columns), true };
static const struct layout modern = { modern_columns, ARRAY_SIZE(modern_columns), false };
static const struct layout chips = { chip_columns, ARRAY_SIZE(chip_columns), false };

void ls_cut_command(const char *command, const struct ls_options *opt, char text[static 81])
{
	size_t width = opt->wide ? 80 : 40;

	snprintf(text, width + 1, "%s", command);
	if (strlen(command) > width)
		memcpy(text + width - 3, "...", 3);
}

static bool shown(const struct ls_process *p, const struct ls_options *opt)
{
	return p->runtime || opt->all_processes;
}

static unsigned count_shown(const struct ls_chip *chip, const struct ls_options *opt)
{
	unsigned n = 0;

	for (unsigned i = 0; i < chip->n_processes; i++)
		n += shown(&chip->processes[i], opt);
	return n;
}

/*
 * Adds one row. Only the `first` row of a chip has the chip's cells; those of further processes
 * leave them empty.
 */
static int add_row(struct grid *g, const struct layout *l, const struct subject *s, bool first)
{
	int ret = grid_add_row(g);

	for (unsigned c = 0; c < l->n_columns && !ret; c++) {
		const struct layout_column *col = &l->columns[c];
		char cell[CELL];

		if (col->per_process && !s->process) {
			ret = l->na ? grid_set(g, c, "NA") : grid_set_filler(g, c, "NA");
		} else if (first || col->per_process) {
			col->write(s, cell);
			if (l->na && !cell[0] && col->write != write_connected)
				strcpy(cell, "NA");
			ret = grid_set(g, c, cell);
		}
	}
	return ret;
}

static int add_chip(struct grid *g, const struct layout *l, struct subject s)
{
	bool first = true;
	int ret = 0;

	if (!count_shown(s.chip, s.opt))
		return add_row(g, l, &s, true);
	for (unsigned i = 0; i < s.chip->n_processes && !ret; i++) {
		if (!shown(&s.chip->processes[i], s.opt))
			continue;
		s.process = &s.chip->processes[i];
		ret = add_row(g, l, &s, first);
		first = false;
	}
	return ret;
}

static bool has_process_columns(const struct layout *l)
{
	for (unsigned c = 0; c < l->n_columns; c++) {
		if (l->columns[c].per_process)
			return true;
	}
	return false;
}

static int fill(struct grid *g, const struct layout *l, struct subject s)
{
	bool rules = false;
	int ret = 0;

	for (unsigned c = 0; c < l->n_columns && !ret; c++)
		ret = grid_add_column(g, l->columns[c].title, l->columns[c].align);
	for (unsigned i = 0; has_process_columns(l) && i < s.inv->n_chips; i++)
		rules |= count_shown(&s.inv->chips[i], s.opt) > 1;
	for (unsigned i = 0; i < s.inv->n_chips && !ret; i++) {
		s.chip = &s.inv->chips[i];
		ret = has_process_columns(l) ? add_chip(g, l, s) : add_row(g, l, &s, true);
		if (rules)
			grid_rule(g);
	}
	return ret;
}

static int print(const struct layout *l, struct subject s, FILE *out)
{
	struct grid *g = grid_new();
	int ret = g ? fill(g, l, s) : -ENOMEM;

	if (!ret)
		grid_print(g, out);
	grid_free(g);
	return ret;
}

int ls_print_classic(const struct ls_inventory *inv, const struct ls_options *opt, FILE *out)
{
	return print(&classic, (struct subject){ .inv = inv, .opt = opt }, out);
}

int ls_print_september(const struct ls_inventory *inv, const struct ls_options *opt, FILE *out)
{
	return print(&september, (struct subject){ .inv = inv, .opt = opt }, out);
}

int ls_print_processes(const struct ls_inventory *inv, const struct ls_options *opt, FILE *out)
{
	return print(&processes, (struct subject){ .inv = inv, .opt = opt }, out);
}

static void print_instance(const struct ls_inventory *inv, FILE *out)
{
	if (inv->instance_type[0])
		fprintf(out, "instance-type: %s\n", inv->instance_type);
	if (inv->instance_id[0])
		fprintf(out, "instance-id: %s\n", inv->instance_id);
	if (inv->cores_of_one)
		fprintf(out, "logical-neuroncore-config: %u\n", inv->cores_of_one);
}

int ls_print_headed(const struct ls_inventory *inv, const struct ls_options *opt, FILE *out)
{
	print_instance(inv, out);
	return ls_print_processes(inv, opt, out);
}

int ls_print_modern(const struct ls_inventory *inv, const struct ls_options *opt, FILE *out)
{
	print_instance(inv, out);
	return print(&modern, (struct subject){ .inv = inv, .opt = opt }, out);
}

int ls_print_chips(const struct ls_inventory *inv, FILE *out)
{
	struct ls_options none = { 0 };

	return print(&chips, (struct subject){ .inv = inv, .opt = &none }, out);
}
