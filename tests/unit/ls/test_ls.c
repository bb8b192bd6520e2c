// SPDX-License-Identifier: MIT
/*
 * neuron-ls without a device: inventories written by hand against the vendor's own samples and
 * captures (tests/data/neuron-ls), and its readers of /proc, /sys and datastores against small
 * trees made here.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../check_main.h"
#include "host.h"
#include "layout.h"
#include "pci.h"
#include "process.h"

typedef int (*print_fn)(const struct ls_inventory *, const struct ls_options *, FILE *);

static struct ls_inventory inv;
static const struct ls_options none;

static char *read_golden(const char *name)
{
	char path[512], *text = calloc(1, 16384);
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", LS_DATA, name);
	f = fopen(path, "r");
	ck_assert_msg(f != NULL, "%s", path);
	ck_assert_uint_gt(fread(text, 1, 16383, f), 0);
	fclose(f);
	return text;
}

static void expect(print_fn print, const struct ls_options *opt, const char *golden)
{
	char *want = read_golden(golden), *got;
	size_t size;
	FILE *out = open_memstream(&got, &size);

	ck_assert_int_eq(print(&inv, opt, out), 0);
	fclose(out);
	ck_assert_msg(!strcmp(got, want), "%s: got\n%s\nwant\n%s", golden, got, want);
	free(got);
	free(want);
}

/* Chips of a chain, the last one at 1f.0. */
static void chain(const char *type, unsigned n)
{
	memset(&inv, 0, sizeof(inv));
	inv.n_chips = n;
	snprintf(inv.instance_type, sizeof(inv.instance_type), "%s", type);
	for (unsigned i = 0; i < n; i++) {
		struct ls_chip *c = &inv.chips[i];

		*c = (struct ls_chip){ .index = i, .cores = 4, .channels = 2, .numa_node = -1 };
		c->channel_bytes = 4ull << 30;
		snprintf(c->bdf, sizeof(c->bdf), "0000:00:%02x.0", 0x20 - n + i);
		c->east = i + 1 < n;
		c->west = i > 0;
		if (c->east)
			c->neighbours[c->n_neighbours++] = i + 1;
		if (c->west)
			c->neighbours[c->n_neighbours++] = i - 1;
	}
}

static void add_process(unsigned chip, int pid, const char *command, const char *version)
{
	struct ls_chip *c = &inv.chips[chip];
	struct ls_process *p = &c->processes[c->n_processes++];

	p->pid = pid;
	snprintf(p->command, sizeof(p->command), "%s", command);
	p->runtime = version != NULL;
	snprintf(p->version, sizeof(p->version), "%s", version ? version : "");
}

static void trn2(void)
{
	memset(&inv, 0, sizeof(inv));
	strcpy(inv.instance_type, "trn2.48xlarge");
	strcpy(inv.instance_id, "i-0dcf246b9a7d5f066");
	inv.cores_of_one = 2;
	inv.n_chips = 1;
	inv.chips[0] = (struct ls_chip){ .cores = 4,
					 .channels = 4,
					 .channel_bytes = 24ull << 30,
					 .neighbours = { 12, 1, 9, 14 },
					 .n_neighbours = 4,
					 .numa_node = 1,
					 .bdf = "0000:e1:00.0",
					 .cpus = "48-95,144-191" };
	add_process(0, 1966680, "", "2.34.10");
	add_process(0, 1966681, "", "2.34.10");
}

static void trn1(void)
{
	memset(&inv, 0, sizeof(inv));
	strcpy(inv.instance_type, "trn1.2xlarge");
	strcpy(inv.instance_id, "i-09e7a3b60c6a6eac8");
	inv.n_chips = 1;
	inv.chips[0] = (struct ls_chip){ .cores = 2,
					 .channels = 2,
					 .channel_bytes = 16ull << 30,
					 .numa_node = -1,
					 .bdf = "0000:00:1e.0",
					 .cpus = "0-7" };
	add_process(0, 16237, "python equinox_mnist_verification.py", "2.27.23");
}

START_TEST(vendor_samples)
{
	chain("inf1.xlarge", 1);
	expect(ls_print_classic, &none, "vendor-classic-inf1.xlarge.txt");
	chain("inf1.6xlarge", 4);
	inv.runtime = (struct ls_runtime){ "unix:/run/neuron.sock", 8871, "1.0.x.x" };
	for (unsigned i = 0; i < 4; i++)
		add_process(i, 8871, "neuron-rtd", NULL);
	expect(ls_print_classic, &none, "vendor-classic-inf1.6xlarge-root.txt");
	inv.chips[1].n_processes = 0;
	expect(ls_print_september, &none, "1.0.11054-inf1.6xlarge.txt");
	trn2();
	expect(ls_print_modern, &none, "captured-modern-processes.txt");
	expect(ls_print_json, &none, "captured-processes.json");
	trn1();
	expect(ls_print_modern, &none, "captured-modern-processes-trn1.2xlarge.txt");
}
END_TEST

START_TEST(idle_machines)
{
	static const struct {
		const char *type;
		unsigned chips;
	} machines[] = { { "inf1.xlarge", 1 }, { "inf1.6xlarge", 4 }, { "inf1.24xlarge", 16 } };

	for (unsigned i = 0; i < 3; i++) {
		char name[64];

		chain(machines[i].type, machines[i].chips);
		snprintf(name, sizeof(name), "classic-%s.txt", machines[i].type);
		expect(ls_print_classic, &none, name);
		snprintf(name, sizeof(name), "modern-%s.txt", machines[i].type);
		expect(ls_print_modern, &none, name);
		snprintf(name, sizeof(name), "topology-%s.txt", machines[i].type);
		expect(ls_print_topology, &none, name);
		snprintf(name, sizeof(name), "json-%s.json", machines[i].type);
		expect(ls_print_json, &none, name);
	}
}
END_TEST

#define APP "infer --input-data-directory ~/my_input_data --inference-count 5000"

START_TEST(process_rows)
{
	chain("inf1.6xlarge", 4);
	for (unsigned i = 0; i < 4; i++)
		strcpy(inv.chips[i].cpus, "0-23");
	add_process(0, 23518, "neuron-app01 " APP, "2.0.0");
	add_process(0, 23531, "neuron-app02 " APP, "2.0.0");
	add_process(1, 23595, "neuron-app01 " APP, "2.0.0");
	add_process(2, 23608, "neuron-app02 " APP, "2.0.0");
	add_process(3, 23764, "neuron-monitor", NULL); /* only with -a */
	expect(ls_print_modern, &none, "processes-inf1.6xlarge.txt");
	expect(ls_print_processes, &none, "vendor-1.16-inf1.6xlarge.txt");
	expect(ls_print_headed, &none, "2.9-inf1.6xlarge.txt");
}
END_TEST

START_TEST(commands_are_cut)
{
	struct ls_options wide = { .wide = true };
	char text[81];

	ls_cut_command("0123456789012345678901234567890123456789", &none, text);
	ck_assert_str_eq(text, "0123456789012345678901234567890123456789");
	ls_cut_command("01234567890123456789012345678901234567890", &none, text);
	ck_assert_str_eq(text, "0123456789012345678901234567890123456...");
	ls_cut_command("neuron-app01 " APP, &wide, text);
	ck_assert_str_eq(text, "neuron-app01 infer --input-data-directory ~/my_input_data "
			       "--inference-count 5000");
	ls_cut_command("neuron-app01 " APP "0", &wide, text);
	ck_assert_uint_eq(strlen(text), 80);
	ck_assert_str_eq(text + 77, "...");
}
END_TEST

/* A gap in the chain (a chip that is being reset) is drawn as one. */
START_TEST(topology_shows_gaps)
{
	char *got;
	size_t size;
	FILE *out = open_memstream(&got, &size);

	chain("inf1.6xlarge", 4);
	inv.chips[1].n_neighbours = 1;
	inv.chips[1].neighbours[0] = 0;
	ck_assert_int_eq(ls_print_topology(&inv, &none, out), 0);
	fclose(out);
	ck_assert_ptr_nonnull(strstr(got, "\n  [ 0 ]\u25c4\u2013\u2013\u25ba[ 1 ]    [ 2 ]"));
	free(got);
}
END_TEST

/* Sixteen chips of a torus without one of its links are drawn as a chain */
START_TEST(topology_of_a_broken_torus)
{
	char *got;
	size_t size;

	for (unsigned broken = 0; broken < 3; broken++) {
		FILE *out = open_memstream(&got, &size);

		memset(&inv, 0, sizeof(inv));
		inv.n_chips = 16;
		for (unsigned i = 0; i < 16; i++) {
			inv.chips[i] = (struct ls_chip){
				.index = i,
				.neighbours = { (i + 12) % 16, i - i % 4 + (i + 3) % 4,
						(i + 4) % 16, i - i % 4 + (i + 1) % 4 },
				.n_neighbours = 4,
			};
		}
		/* to the right, from the last of a row; down, from the last row */
		inv.chips[broken == 1 ? 7 : 14].neighbours[broken == 1 ? 3 : 2] = broken ? 5 : 2;
		ck_assert_int_eq(ls_print_topology(&inv, &none, out), 0);
		fclose(out);
		ck_assert_int_eq(strstr(got, "Wrap-around") != NULL, !broken);
		free(got);
	}
}
END_TEST

static char root[64];

static void put(const char *path, const char *data, size_t size)
{
	char full[512];
	FILE *f;

	snprintf(full, sizeof(full), "%s/%s", root, path);
	for (char *slash = strchr(full + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(full, 0700);
		*slash = '/';
	}
	f = fopen(full, "w");
	ck_assert_ptr_nonnull(f);
	fwrite(data, 1, size, f);
	fclose(f);
}

static void make_root(void)
{
	strcpy(root, "/tmp/test-ls.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(root));
}

static void remove_root(void)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -rf %s", root);
	ck_assert_int_eq(system(command), 0);
}

START_TEST(commands_are_printable)
{
	static const char hostile[] = "evil\0--title\0\033]0;pwned\007\0\xff\xc3\xa4\n";
	char text[64], small[5];

	put("42/cmdline", hostile, sizeof(hostile));
	ls_process_command(root, 42, text, sizeof(text));
	ck_assert_str_eq(text, "evil --title ?]0;pwned? ???");
	ls_process_command(root, 42, small, sizeof(small));
	ck_assert_str_eq(small, "evil");
	put("43/cmdline", "", 0);
	put("43/comm", "kworker\n", 8);
	ls_process_command(root, 43, text, sizeof(text));
	ck_assert_str_eq(text, "kworker");
	ls_process_command(root, 44, text, sizeof(text));
	ck_assert_str_eq(text, "");
}
END_TEST

START_TEST(runtime_versions)
{
	unsigned char nds[512] = { 'n', 'd', 's', 0 };
	char text[32];

	/* the word at byte 8: build 32 bits, minor 8, major 8 */
	ck_assert_int_lt(ls_process_version(nds, sizeof(nds), text, sizeof(text)), 0);
	nds[8] = 0x2c;
	nds[9] = 1;
	nds[12] = 19;
	nds[13] = 2;
	ck_assert_int_eq(ls_process_version(nds, sizeof(nds), text, sizeof(text)), 0);
	ck_assert_str_eq(text, "2.19.300");
	ck_assert_int_lt(ls_process_version(nds, 64, text, sizeof(text)), 0);
	nds[0] = 'x';
	ck_assert_int_lt(ls_process_version(nds, sizeof(nds), text, sizeof(text)), 0);
}
END_TEST

static void put_pci(const char *bdf, const char *device)
{
	static const struct {
		const char *name, *value;
	} files[] = {
		{ "vendor", "0x1d0f\n" }, { "class", "0x088000\n" },	  { "irq", "0\n" },
		{ "numa_node", "1\n" },	  { "local_cpulist", "0-3,8\n" }, { "resource", "" },
	};
	char path[128];

	for (unsigned i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "devices/%s/%s", bdf, files[i].name);
		put(path, files[i].value, strlen(files[i].value));
	}
	snprintf(path, sizeof(path), "devices/%s/device", bdf);
	put(path, device, strlen(device));
}

START_TEST(pci_bus)
{
	struct ls_chip chips[2] = { { .bdf = "0000:00:1e.0" }, { .bdf = "0000:00:1d.0" } };

	put_pci("0000:00:1e.0", "0x7064\n");
	put_pci("0000:00:1f.0", "0x7064\n");
	put_pci("0000:00:05.0", "0xec20\n");
	put_pci("0000:10:1c.0", "0x7164\n");
	put_pci("0000:20:1c.0", "0x7264\n");
	put_pci("0000:33:00.0", "0x7364\n");
	ck_assert_uint_eq(ls_pci_count(root), 5);
	ls_pci_locate(root, chips, 2);
	ck_assert_int_eq(chips[0].numa_node, 1);
	ck_assert_str_eq(chips[0].cpus, "0-3,8");
	ck_assert_int_eq(chips[1].numa_node, -1);
	ck_assert_str_eq(chips[1].cpus, "");
}
END_TEST

START_TEST(no_pci_bus)
{
	struct ls_chip chip = { .bdf = "0000:00:1e.0" };
	char missing[80];

	snprintf(missing, sizeof(missing), "%s/none", root);
	ck_assert_uint_eq(ls_pci_count(missing), 0);
	ls_pci_locate(missing, &chip, 1);
	ck_assert_int_eq(chip.numa_node, -1);
}
END_TEST

START_TEST(instance_ids)
{
	char id[32];

	ls_host_instance_id(root, id, sizeof(id));
	ck_assert_str_eq(id, "");
	put("board_asset_tag", "i-0dcf246b9a7d5f066\n", 20);
	ls_host_instance_id(root, id, sizeof(id));
	ck_assert_str_eq(id, "i-0dcf246b9a7d5f066");
	put("board_asset_tag", "Not Specified\n", 14);
	ls_host_instance_id(root, id, sizeof(id));
	ck_assert_str_eq(id, "");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ls");
	TCase *print = tcase_create("print"), *read = tcase_create("read");

	tcase_add_test(print, vendor_samples);
	tcase_add_test(print, idle_machines);
	tcase_add_test(print, process_rows);
	tcase_add_test(print, commands_are_cut);
	tcase_add_test(print, topology_shows_gaps);
	tcase_add_test(print, topology_of_a_broken_torus);
	tcase_add_checked_fixture(read, make_root, remove_root);
	tcase_add_test(read, commands_are_printable);
	tcase_add_test(read, runtime_versions);
	tcase_add_test(read, pci_bus);
	tcase_add_test(read, no_pci_bus);
	tcase_add_test(read, instance_ids);
	suite_add_tcase(suite, print);
	suite_add_tcase(suite, read);
	return check_run(suite);
}
