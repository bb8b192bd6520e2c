/* SPDX-License-Identifier: MIT */
/*
 * neuron-run loads a NEFF, executes it on .npy files and writes the outputs; neuron-run(1). Where
 * the machine has no device it uses a chip in this process, so it needs no VM, root or module.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "device.h"
#include "neuron_version.h"
#include "nrt/nrtx.h"
#include "output.h"
#include "run.h"
#include "terminal.h"

#define MAX_INPUTS 256

struct options {
	const char *neff, *device, *output_dir;
	struct input inputs[MAX_INPUTS];
	unsigned int ninputs;
	unsigned long repeat;
	unsigned int core;
	bool by_rows, whole;
};

static const struct option long_options[] = {
	{ "input", required_argument, NULL, 'i' },  { "output-dir", required_argument, NULL, 'o' },
	{ "device", required_argument, NULL, 'd' }, { "core", required_argument, NULL, 'c' },
	{ "repeat", required_argument, NULL, 'r' }, { "rows", no_argument, NULL, 'R' },
	{ "whole", no_argument, NULL, 'w' },	    { "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'v' },	    { NULL, 0, NULL, 0 },
};

static void usage(FILE *out)
{
	fputs("usage: neuron-run MODEL.neff --input NAME=FILE.npy ... --output-dir DIR [options]\n"
	      "  -i, --input NAME=FILE.npy  a model's input; once for each\n"
	      "  -o, --output-dir DIR       where NAME.npy of each output is written\n"
	      "  -d, --device DEVICE        ndN for /dev/neuronN, "
	      "emu:INSTANCE for chips in this process,\n"
	      "                             unix:PATH for those of a neuron-emud\n"
	      "                             (default: the first free device; " DEVICE_EMU " where\n"
	      "                             there is none)\n"
	      "  -c, --core N               first core of the device to load on (default 0)\n"
	      "  -r, --repeat N             execute N times (default 1)\n"
	      "  -R, --rows                 inputs have any number of rows; "
	      "execute batch by batch\n"
	      "  -w, --whole                outputs whose "
	      "sizes the data decide keep room for the most\n"
	      "  -h, --help                 this text\n"
	      "  -v, --version              the version\n",
	      out);
}

static int fail(const char *what, const char *detail)
{
	fprintf(stderr, "neuron-run: %s%s%s\n", what, detail ? ": " : "", detail ? detail : "");
	return EXIT_FAILURE;
}

static int fail_nrt(const char *what, NRT_STATUS status)
{
	fail(what, nrt_get_status_as_str(status));
	fputs(nrtx_error_details(), stderr);
	return EXIT_FAILURE;
}

static bool parse_number(const char *text, unsigned long min, unsigned long max,
			 unsigned long *value)
{
	char *end;

	errno = 0;
	*value = strtoul(text, &end, 10);
	return !errno && end != text && !*end && *value >= min && *value <= max;
}

static bool add_input(struct options *opt, char *arg)
{
	char *eq = strchr(arg, '=');

	if (!eq || eq == arg || opt->ninputs == MAX_INPUTS)
		return false;
	*eq = '\0';
	opt->inputs[opt->ninputs].name = arg;
	opt->inputs[opt->ninputs++].file = eq + 1;
	return true;
}

/* Returns 0 to go on, 1 when --help or --version was all, -1 when the command line is refused. */
static int parse(int argc, char **argv, struct options *opt)
{
	unsigned long n;
	int c;

	opt->repeat = 1;

	while ((c = getopt_long(argc, argv, "i:o:d:c:r:Rwhv", long_options, NULL)) != -1) {
		switch (c) {
		case 'i':
			if (!add_input(opt, optarg))
				return fail("--input takes NAME=FILE.npy", optarg), -1;
			break;
		case 'o':
			opt->output_dir = optarg;
			break;
		case 'd':
			opt->device = optarg;
			break;
		case 'c':
			if (!parse_number(optarg, 0, 255, &n))
				return fail("--core takes a number", optarg), -1;
			opt->core = (unsigned int)n;
			break;
		case 'r':
			if (!parse_number(optarg, 1, 1000000000, &opt->repeat))
				return fail("--repeat takes a number from 1 up", optarg), -1;
			break;
		case 'R':
			opt->by_rows = true;
			break;
		case 'w':
			opt->whole = true;
			break;
		case 'h':
			usage(stdout);
			return 1;
		case 'v':
			puts("neuron-run " NEURON_EMULATOR_BUILD);
			return 1;
		default:
			usage(stderr);
			return -1;
		}
	}

	if (optind + 1 != argc || !opt->output_dir) {
		usage(stderr);
		return -1;
	}

	opt->neff = argv[optind];
	return 0;
}

static void *map_file(const char *path, size_t *size)
{
	void *map = MAP_FAILED;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && st.st_size > 0)
		map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	else
		errno = EINVAL;
	close(fd);
	*size = (size_t)st.st_size;
	return map == MAP_FAILED ? NULL : map;
}

static int compare_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static NRT_STATUS execute(const struct options *opt, nrt_model_t *model, struct bindings *b,
			  double *times)
{
	uint64_t count = bindings_count(b);

	for (unsigned long r = 0; r < opt->repeat; r++) {
		for (uint64_t i = 0; i < count; i++) {
			NRT_STATUS status = bindings_load(b, i);
			double start;

			terminal_progress(NULL, "executing", (unsigned int)(r * count + i),
					  (unsigned int)(count * opt->repeat));
			start = now();

			if (!status)
				status = nrtx_execute(model, b->inputs, b->outputs);
			times[r * count + i] = now() - start;
			/* the outputs of an execution that saw NaN are delivered */
			if (status && status != NRT_EXEC_COMPLETED_WITH_NUM_ERR)
				return status;
			status = bindings_store(b, i);
			if (status)
				return status;
		}
	}
	return NRT_SUCCESS;
}

static int run_model(const struct options *opt, nrt_model_t *model)
{
	struct input *inputs = (struct input *)opt->inputs;
	struct bindings b;
	char why[512];
	double *times = NULL, total = 0;
	NRT_STATUS status;
	uint64_t n;
	int ret;

	if (!bindings_make(model, inputs, opt->ninputs, opt->by_rows, &b, why, sizeof(why))) {
		ret = fail(why, NULL);
		goto out;
	}

	b.whole = opt->whole;
	n = bindings_count(&b) * opt->repeat;
	times = calloc(n ? n : 1, sizeof(*times));
	if (!times) {
		ret = fail("out of memory", NULL);
		goto out;
	}

	terminal_begin();
	status = execute(opt, model, &b, times);
	terminal_end();
	if (status) {
		ret = fail_nrt("execution failed", status);
		goto out;
	}

	ret = bindings_write(&b, opt->output_dir, why, sizeof(why)) ? fail(why, NULL)
								    : EXIT_SUCCESS;
	if (ret || !n)
		goto out;

	qsort(times, n, sizeof(*times), compare_double);
	for (uint64_t i = 0; i < n; i++)
		total += times[i];
	printf("executions %llu, latency us min %.0f p50 %.0f p99 %.0f max %.0f, %.1f a second\n",
	       (unsigned long long)n, times[0] * 1e6, times[n / 2] * 1e6,
	       times[(n - 1) * 99 / 100] * 1e6, times[n - 1] * 1e6, (double)n / total);
out:
	bindings_free(&b);
	free(times);
	return ret;
}

static int run(struct options *opt)
{
	struct nrtx_load_params params = { 0 };
	NRT_STATUS status = NRT_SUCCESS;
	nrt_model_t *model;
	size_t size;
	void *neff;
	int ret;

	if (!opt->device)
		opt->device = device_default("neuron-run");
	if (!device_choose(opt->device, opt->core, &params.start_core, &status))
		return fail("--device takes emu:INSTANCE or ndN", opt->device);
	if (status)
		return fail_nrt(opt->device, status);

	neff = map_file(opt->neff, &size);
	if (!neff)
		return fail(opt->neff, strerror(errno));

	status = nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "");
	if (status) {
		ret = fail_nrt("the device cannot be used", status);
		munmap(neff, size);
		return ret;
	}

	terminal_begin();
	terminal_progress(NULL, "loading", 0, 0);
	status = nrtx_load(neff, size, &params, &model);
	terminal_end();
	munmap(neff, size);

	if (status) {
		ret = fail_nrt(opt->neff, status);
	} else {
		ret = run_model(opt, model);
		nrt_unload(model);
	}

	nrt_close();
	return ret;
}

int main(int argc, char **argv)
{
	static struct options opt;
	int ret = parse(argc, argv, &opt);

	if (ret)
		return ret < 0 ? 2 : EXIT_SUCCESS;
	for (unsigned int i = 0; i < opt.ninputs && !ret; i++) {
		const char *why;
		int err = npy_read(opt.inputs[i].file, &opt.inputs[i].npy, &why);

		if (err) {
			fprintf(stderr, "neuron-run: %s: %s: %s\n", opt.inputs[i].file, why,
				strerror(-err));
			ret = EXIT_FAILURE;
		}
	}
	if (!ret)
		ret = run(&opt);
	for (unsigned int i = 0; i < opt.ninputs; i++)
		npy_free(&opt.inputs[i].npy);
	return output_end("neuron-run", ret);
}
