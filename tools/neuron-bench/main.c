/* SPDX-License-Identifier: MIT */
/*
 * neuron-bench measures how long executions of a model take, and how many there are a second;
 * neuron-bench(1). The exit status is 0, 1 when something failed, 2 for a wrong command line.
 */
#include <errno.h>
#include <getopt.h>
#include <libgen.h>
#include <limits.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "client.h"
#include "neuron_version.h"
#include "output.h"
#include "terminal.h"

extern char **environ;

enum {
	OPT_ADDRESS = 256,
	OPT_DAEMON,
	OPT_CORES,
	OPT_LATENCY,
	OPT_CC,
	OPT_FRAMEWORK,
	OPT_SEED,
	OPT_JSON,
	OPT_VERSION,
};

static const struct option long_options[] = {
	{ "work", required_argument, NULL, 'n' },
	{ "warmup", required_argument, NULL, 'w' },
	{ "threads", required_argument, NULL, 't' },
	{ "batch", required_argument, NULL, 'b' },
	{ "fixed-nc-count", required_argument, NULL, OPT_CORES },
	{ "fixed-instance-count", required_argument, NULL, OPT_CORES },
	{ "input", required_argument, NULL, 'i' },
	{ "fill", required_argument, NULL, 'f' },
	{ "seed", required_argument, NULL, OPT_SEED },
	{ "device", required_argument, NULL, 'd' },
	{ "core", required_argument, NULL, 'c' },
	{ "daemon", no_argument, NULL, OPT_DAEMON },
	{ "address", required_argument, NULL, 'a' },
	{ "framework", required_argument, NULL, OPT_FRAMEWORK },
	{ "output-directory", required_argument, NULL, 'o' },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "enable-only-latency", no_argument, NULL, OPT_LATENCY },
	{ "run-as-cc-neff", no_argument, NULL, OPT_CC },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static const char help[] =
	"usage: neuron-bench exec [options] MODEL\n"
	"Measures executions of a NEFF, or of an HLO module or an ONNX model, which is compiled first.\n"
	"\n"
	"  -n, --work N              executions of each thread (default 100)\n"
	"  -w, --warmup N            before those, without being measured (default 10); none: 0\n"
	"  -t, --threads N           threads that execute on each copy of the model (default 1)\n"
	"      --fixed-nc-count N    copies of the model, each on cores of its own (default 1)\n"
	"      --fixed-instance-count N  the same\n"
	"  -b, --batch N             items of an execution, for the rate (default 1)\n"
	"  -i, --input NAME=FILE.npy  an input; those that are not given are filled\n"
	"  -f, --fill {random,zeros}  with what (default random)\n"
	"      --seed N              random numbers are the same for the same seed (default 1)\n"
	"  -d, --device DEVICE       ndN for /dev/neuronN, emu:INSTANCE for chips in this process\n"
	"                            (default: the first free device; in process where there is none)\n"
	"  -c, --core N              first core of the device (default 0)\n"
	"      --daemon              through neuron-rtd\n"
	"  -a, --address ADDRESS     through the daemon at this address\n"
	"      --framework {XLA,StableHLO,ONNX,IR}  what the model is (default: by the end of its name)\n"
	"  -o, --output-directory DIR  write info.json, latency_data.json, nc_latency_data.json\n"
	"      --json                print info.json and no table\n"
	"      --enable-only-latency  no effect: nothing else is measured\n"
	"      --run-as-cc-neff      no effect: a NEFF of one worker needs nothing else\n"
	"      --version             print the version\n"
	"  -h, --help                print this help\n";

/* ---- the command line */

static void need_number(const char *option, unsigned long min, unsigned long max,
			unsigned long *value)
{
	char *end;

	errno = 0;
	*value = strtoul(optarg, &end, 10);
	if (!errno && end != optarg && !*end && *optarg != '-' && *value >= min && *value <= max)
		return;
	bench_fail(option, "expected a number from %lu to %lu: %s", min, max, optarg);
	exit(2);
}

static uint32_t number(const char *option, unsigned long min, unsigned long max)
{
	unsigned long n;

	need_number(option, min, max, &n);
	return (uint32_t)n;
}

static void add_input(struct bench *bench)
{
	char *eq = strchr(optarg, '=');

	if (!eq || eq == optarg || bench->ninputs == BENCH_MAX_INPUTS) {
		bench_fail("--input", "expected NAME=FILE.npy: %s", optarg);
		exit(2);
	}
	*eq = '\0';
	bench->inputs[bench->ninputs++] = (struct bench_input){ optarg, eq + 1 };
}

static void choose_fill(struct bench *bench)
{
	if (strcmp(optarg, "random") && strcmp(optarg, "zeros")) {
		bench_fail("--fill", "expected random or zeros: %s", optarg);
		exit(2);
	}
	bench->fill = strcmp(optarg, "zeros") ? FILL_RANDOM : FILL_ZEROS;
}

static void parse_rest(int option, struct bench *bench)
{
	switch (option) {
	case 'd':
		bench->device = optarg;
		break;
	case 'a':
		bench->address = optarg;
		break;
	case OPT_DAEMON:
		bench->address = bench->address ? bench->address : rtd_client_default_address();
		break;
	case OPT_FRAMEWORK:
		bench->framework = optarg;
		break;
	case 'o':
		bench->directory = optarg;
		break;
	case OPT_JSON:
		bench->json = true;
		break;
	case OPT_LATENCY:
	case OPT_CC:
		break;
	case OPT_VERSION:
		puts("neuron-bench " NEURON_EMULATOR_BUILD);
		exit(0);
	case 'h':
		fputs(help, stdout);
		exit(0);
	default:
		fputs(help, stderr);
		exit(2);
	}
}

static void parse(int option, struct bench *bench)
{
	unsigned long n;

	switch (option) {
	case 'n':
		need_number("--work", 1, 100000000, &bench->work);
		break;
	case 'w':
		if (strcmp(optarg, "none"))
			need_number("--warmup", 0, 100000000, &bench->warmup);
		else
			bench->warmup = 0;
		break;
	case 't':
		bench->threads = number("--threads", 1, BENCH_MAX_THREADS);
		break;
	case 'b':
		bench->batch = number("--batch", 1, 1000000000);
		break;
	case 'c':
		bench->core = number("--core", 0, BENCH_MAX_CORES - 1);
		break;
	case OPT_CORES:
		bench->copies = number("--fixed-nc-count", 1, BENCH_MAX_CORES);
		break;
	case OPT_SEED:
		need_number("--seed", 0, ULONG_MAX, &n);
		bench->seed = n;
		break;
	case 'i':
		add_input(bench);
		break;
	case 'f':
		choose_fill(bench);
		break;
	default:
		parse_rest(option, bench);
	}
}

/* ---- compiling */

static bool ends(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && !strcmp(text + n - m, end);
}

/* NULL: it is a NEFF */
static const char *framework_of(const struct bench *bench)
{
	if (bench->framework)
		return bench->framework;
	if (ends(bench->model, ".onnx"))
		return "ONNX";
	if (ends(bench->model, ".mlirbc") || ends(bench->model, ".mlir"))
		return "StableHLO";
	return ends(bench->model, ".pb") || ends(bench->model, ".hlo") ? "XLA" : NULL;
}

/* The compiler beside this program, or on PATH */
static const char *compiler(char path[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - sizeof("/neuronx-cc"));

	if (n > 0) {
		path[n] = '\0';
		dirname(path);
		strcat(path, "/neuronx-cc");
		if (!access(path, X_OK))
			return path;
	}
	return "neuronx-cc";
}

static bool compile(struct bench *bench, const char *framework, char *out)
{
	char path[PATH_MAX];
	char *argv[] = { "neuronx-cc",	       "compile",  "--framework", (char *)framework,
			 (char *)bench->model, "--output", out,		  NULL };
	int fd = mkstemps(out, 5), err, status;
	pid_t pid;

	if (fd < 0)
		return bench_fail(out, "%s", strerror(errno));
	close(fd);
	bench->neff = out;
	err = posix_spawnp(&pid, compiler(path), NULL, NULL, argv, environ);
	if (err)
		return bench_fail("neuronx-cc", "%s", strerror(err));
	if (waitpid(pid, &status, 0) != pid || status)
		return bench_fail(bench->model, "it does not compile");
	return true;
}

/* ---- measuring */

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static pthread_barrier_t warm, begun;
static unsigned long done; /* by all threads, for the terminal */

static void *work(void *arg)
{
	struct bench_worker *worker = arg;
	const struct bench *bench = worker->bench;
	unsigned int workers = bench->copies * bench->threads;

	for (unsigned long i = 0; !worker->failed && i < bench->warmup; i++)
		worker->failed = !bench->way->execute(worker, &worker->core_us[0]);
	worker->num_errors = 0;
	pthread_barrier_wait(&warm);
	pthread_barrier_wait(&begun);
	for (unsigned long i = 0; !worker->failed && i < bench->work; i++) {
		double from = now();

		worker->failed = !bench->way->execute(worker, &worker->core_us[i]);
		worker->total_us[i] = (now() - from) * 1e6;
		terminal_progress(NULL, "executing",
				  (unsigned int)__atomic_add_fetch(&done, 1, __ATOMIC_RELAXED),
				  (unsigned int)(workers * bench->work));
	}
	return NULL;
}

/* Returns false if a thread cannot be made: those that were wait at the barrier for ever. */
static bool run_threads(struct bench *bench, unsigned int workers)
{
	pthread_t *thread = calloc(workers, sizeof(*thread));
	double from;
	bool ok = true;

	if (!thread)
		return bench_fail("threads", "out of memory");
	pthread_barrier_init(&warm, NULL, workers + 1);
	pthread_barrier_init(&begun, NULL, workers + 1);
	terminal_begin();
	terminal_progress(NULL, "warming up", 0, 0);
	for (unsigned int i = 0; i < workers; i++) {
		int err = pthread_create(&thread[i], NULL, work, &bench->worker[i]);

		if (err) {
			bench_fail("threads", "%s", strerror(err));
			exit(EXIT_FAILURE);
		}
	}
	pthread_barrier_wait(&warm);
	from = now();
	pthread_barrier_wait(&begun);
	for (unsigned int i = 0; i < workers; i++) {
		pthread_join(thread[i], NULL);
		ok = ok && !bench->worker[i].failed;
	}
	bench->seconds = now() - from;
	terminal_end();
	free(thread);
	return ok;
}

static bool open_workers(struct bench *bench, unsigned int workers)
{
	bench->worker = calloc(workers, sizeof(*bench->worker));
	if (!bench->worker)
		return bench_fail("threads", "out of memory");
	for (unsigned int i = 0; i < workers; i++) {
		struct bench_worker *worker = &bench->worker[i];

		worker->bench = bench;
		worker->copy = i / bench->threads;
		worker->total_us = calloc(bench->work, sizeof(double));
		worker->core_us = calloc(bench->work, sizeof(double));
		if (!worker->total_us || !worker->core_us)
			return bench_fail("results", "out of memory");
		if (!bench->way->worker_open(worker))
			return false;
	}
	return true;
}

static void close_all(struct bench *bench, unsigned int workers)
{
	for (unsigned int i = 0; bench->worker && i < workers; i++) {
		if (bench->worker[i].bench)
			bench->way->worker_close(&bench->worker[i]);
		free(bench->worker[i].total_us);
		free(bench->worker[i].core_us);
	}
	free(bench->worker);
	bench->way->close(bench);
	for (unsigned int i = 0; i < bench->ntensors; i++) {
		free(bench->tensor[i].name);
		free(bench->tensor[i].source);
		npy_free(&bench->tensor[i].npy);
	}
	free(bench->tensor);
}

static bool measure(struct bench *bench)
{
	unsigned int workers = bench->copies * bench->threads;
	bool ok;

	bench->way = bench->address ? &bench_remote : &bench_local;
	terminal_begin();
	terminal_progress(NULL, "loading", 0, 0);
	ok = bench->way->open(bench);
	terminal_end();
	ok = ok && inputs_make(bench) && open_workers(bench, workers) &&
	     run_threads(bench, workers) && report(bench);
	close_all(bench, workers);
	return ok;
}

int main(int argc, char **argv)
{
	static struct bench bench = {
		.copies = 1, .threads = 1, .batch = 1, .work = 100, .warmup = 10, .seed = 1
	};
	char compiled[] = "/tmp/neuron-bench.XXXXXX.neff";
	const char *framework;
	int option;
	bool ok = true;

	while ((option = getopt_long(argc, argv, "n:w:t:b:i:f:d:c:a:o:h", long_options, NULL)) !=
	       -1)
		parse(option, &bench);
	if (optind + 2 != argc || strcmp(argv[optind], "exec")) {
		fputs(help, stderr);
		return 2;
	}
	if (bench.copies * bench.threads > BENCH_MAX_THREADS) {
		bench_fail("--threads", "more than %d threads in all", BENCH_MAX_THREADS);
		return 2;
	}
	if (bench.device && bench.address) {
		bench_fail("--device", "the daemon chooses its devices itself");
		return 2;
	}
	bench.model = argv[optind + 1];
	bench.neff = bench.model;
	framework = framework_of(&bench);
	if (framework)
		ok = compile(&bench, framework, compiled);
	ok = ok && measure(&bench);
	if (bench.neff == compiled)
		unlink(compiled);
	return output_end("neuron-bench", ok ? EXIT_SUCCESS : EXIT_FAILURE);
}
