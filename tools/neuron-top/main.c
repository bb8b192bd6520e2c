// SPDX-License-Identifier: MIT
/*
 * neuron-top shows cores, processors, memory and processes of this machine, again every second;
 * neuron-top(1).
 */
#include "neuron_version.h"
#include "screen.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PERIOD 1.0 /* seconds */
#define ONCE_WIDTH 120

enum { OPT_VERSION = 256, OPT_ONCE };

static const struct option long_options[] = {
	{ "once", no_argument, NULL, OPT_ONCE },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static const char help[] = "usage: neuron-top [options]\n"
			   "Shows what the Neuron devices of this machine do, again every second.\n"
			   "\n"
			   "      --once      write it once, as plain text\n"
			   "      --version   print the version\n"
			   "  -h, --help      print this help\n";

static int fail(const char *why)
{
	fprintf(stderr, "neuron-top: %s\n", why);
	return EXIT_FAILURE;
}

/* The next snapshot in the place of the last one, which becomes the one before */
static bool take(struct top_data *data)
{
	struct tm_snapshot *now = tm_snapshot_take();

	if (!now)
		return false;
	tm_snapshot_drop((struct tm_snapshot *)data->before);
	data->before = data->now;
	data->now = now;
	return true;
}

static void drop(struct top_data *data)
{
	tm_snapshot_drop((struct tm_snapshot *)data->before);
	tm_snapshot_drop((struct tm_snapshot *)data->now);
}

/* Processes are looked at twice, so that there is a period */
static int show_once(struct top_data *data)
{
	struct top_lines lines = { 0 };
	struct top_view view = { 0 };
	struct top_line tabs;

	usleep((useconds_t)(PERIOD * 1e6));
	if (!take(data) || top_view_lines(&view, data, ONCE_WIDTH, &lines))
		return fail("out of memory");
	for (unsigned i = 0; i < lines.n; i++)
		puts(lines.line[i].text);
	top_view_tabs(&view, data, ONCE_WIDTH, &tabs);
	puts(tabs.text);
	top_lines_free(&lines);
	return fflush(stdout) || ferror(stdout) ? fail(strerror(errno)) : EXIT_SUCCESS;
}

static int show(struct top_data *data)
{
	struct top_lines lines = { 0 };
	struct top_view view = { 0 };
	enum top_key key = TOP_AGAIN;
	int ret = screen_begin();
	bool good = true;

	if (ret == -ENOTTY)
		return fail("standard input and output have to be a terminal; --once writes text");
	if (ret)
		return fail("this terminal is not known (TERM)");
	while (good && key != TOP_QUIT) {
		double left = data->now->time + PERIOD - tm_now();

		screen_draw(&view, data, &lines);
		key = screen_key(&view, data, left > 0 ? (int)(left * 1000) + 1 : 0);
		if (key == TOP_NONE || tm_now() >= data->now->time + PERIOD)
			good = take(data);
	}
	screen_end();
	top_lines_free(&lines);
	return good ? EXIT_SUCCESS : fail("out of memory");
}

int main(int argc, char **argv)
{
	struct tm_instance instance;
	struct top_data data = { .instance = &instance };
	bool once = false;
	int c, ret;

	while ((c = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
		switch (c) {
		case OPT_ONCE:
			once = true;
			break;
		case OPT_VERSION:
			puts("neuron-top " NEURON_EMULATOR_BUILD);
			return EXIT_SUCCESS;
		case 'h':
			fputs(help, stdout);
			return EXIT_SUCCESS;
		default:
			fputs(help, stderr);
			return 2;
		}
	}
	if (optind < argc) {
		fputs(help, stderr);
		return 2;
	}
	tm_instance_read(&instance);
	if (!take(&data))
		return fail("out of memory");
	if (!data.now->devices)
		ret = fail(data.now->error);
	else
		ret = once ? show_once(&data) : show(&data);
	drop(&data);
	tm_close();
	return ret;
}
