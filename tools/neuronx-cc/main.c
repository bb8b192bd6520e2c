// SPDX-License-Identifier: MIT
/*
 * neuronx-cc: the compiler as a command. It owns messages, the command line with options.c, and
 * files with files.c; libncc does the work.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "files.h"
#include "ncc.h"
#include "neff.h"
#include "options.h"
#include "output.h"
#include "terminal.h"

static FILE *logfile; /* --logfile; NULL: none */

/* A line on standard error, unless it is for the log alone, and in the log */
static void say(bool shown, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void say(bool shown, const char *fmt, ...)
{
	FILE *const to[] = { shown ? stderr : NULL, logfile };

	for (unsigned int i = 0; i < 2; i++) {
		va_list ap;

		if (!to[i])
			continue;
		va_start(ap, fmt);
		fputs("neuronx-cc: ", to[i]);
		vfprintf(to[i], fmt, ap);
		fputc('\n', to[i]);
		va_end(ap);
	}
}

static void log_line(void *opaque, const char *line)
{
	say(true, "%s", line);
}

static void log_quietly(void *opaque, const char *line)
{
	say(false, "%s", line);
}

static void warn_line(void *opaque, const char *line)
{
	say(true, "warning: %s", line);
}

static int save(const char *path, const void *buf, size_t size)
{
	int rc = files_write(path, buf, size);

	if (rc)
		say(true, "%s: %s", path, strerror(-rc));
	return rc;
}

/* The models that are read to be compiled */
struct model {
	const char *path;
	bool refused; /* why has been said */
	void *bytes;
	size_t size;
	struct files_beside beside;
};

/* Frees the model once it is read: it may be as large as all that is made of it */
static void drop_model(void *opaque)
{
	struct model *model = opaque;

	free(model->bytes);
	model->bytes = NULL;
}

static void obstacle(void *opaque, const char *line)
{
	struct model *model = opaque;

	model->refused = true;
	say(true, "%s: %s", model->path, line);
}

static int external_data(void *opaque, const char *location, const void **data, size_t *size)
{
	struct model *model = opaque;

	return files_beside_get(&model->beside, location, data, size);
}

static int compile(struct args *a)
{
	struct model model = { .path = a->input_file };
	size_t neff_size, report_size;
	struct ncc_error err;
	char *report = NULL;
	void *neff = NULL;
	bool shows = false;
	int rc = files_read(a->input_file, &model.bytes, &model.size);

	if (rc) {
		say(true, "%s: %s", a->input_file, strerror(-rc));
		free(model.bytes);
		return 1;
	}
	files_beside(&model.beside, a->input_file);
	if (getrandom(a->opt.uuid, sizeof(a->opt.uuid), 0) != sizeof(a->opt.uuid))
		memset(a->opt.uuid, 0, sizeof(a->opt.uuid));
	a->opt.uuid[6] = (uint8_t)((a->opt.uuid[6] & 0x0f) | 0x40);
	a->opt.uuid[8] = (uint8_t)((a->opt.uuid[8] & 0x3f) | 0x80);
	a->opt.log = a->verbose ? log_line : logfile ? log_quietly : NULL;
	a->opt.warn = warn_line;
	if (a->cast_type && a->opt.auto_cast == NCC_CAST_NONE)
		warn_line(NULL, "--auto-cast-type changes nothing with --auto-cast none");
	a->opt.obstacle = obstacle;
	a->opt.model_read = drop_model;
	a->opt.external_data = external_data;
	a->opt.opaque = &model;
	if (a->report)
		a->opt.report = open_memstream(&report, &report_size);
	if (!a->verbose)
		shows = terminal_begin();
	a->opt.progress = shows ? terminal_progress : NULL;
	rc = ncc_compile(model.bytes, model.size, &a->opt, &neff, &neff_size, &err);
	terminal_end();
	free(model.bytes);
	files_beside_free(&model.beside);
	if (a->opt.report)
		fclose(a->opt.report);
	if (rc && !model.refused)
		say(true, "%s: %s", a->input_file, err.text);
	rc = rc ? rc : save(a->output, neff, neff_size);
	if (!rc && a->report)
		rc = save(a->report, report, report_size);
	free(neff);
	free(report);
	return rc ? 1 : 0;
}

/* Compiles with the library of custom operators, if one is given */
static int compile_with_library(struct args *a)
{
	struct neff_library *lib = NULL;
	struct neff_error err;
	size_t size;
	void *elf;
	int rc;

	if (!a->custom_ops)
		return compile(a);
	rc = files_read(a->custom_ops, &elf, &size);
	if (rc) {
		say(true, "%s: %s", a->custom_ops, strerror(-rc));
		free(elf);
		return 1;
	}
	if (neff_library_read(elf, size, &lib, &err)) {
		say(true, "%s: %s", a->custom_ops, err.text);
		free(elf);
		return 1;
	}
	lib->elf = elf;
	lib->size = size;
	a->opt.library = lib;
	rc = compile(a);
	neff_library_free(lib);
	return rc;
}

/* Compiles with the kernels, if some are given */
static int compile_with_kernels(struct args *a)
{
	struct ncc_kernels *kernels = NULL;
	struct ncc_error err = { .text = "" };
	int rc = 0;

	for (unsigned int i = 0; !rc && i < a->nkernels; i++) {
		void *text = NULL;
		size_t size;

		rc = files_read(a->kernels[i], &text, &size);
		if (rc)
			say(true, "%s: %s", a->kernels[i], strerror(-rc));
		else if ((rc = ncc_kernels_add(&kernels, text, size, a->kernels[i], &err)))
			say(true, "%s", err.text);
		free(text);
	}
	a->opt.kernels = kernels;
	rc = rc ? 1 : compile_with_library(a);
	ncc_kernels_free(kernels);
	return rc;
}

/* Compiles with a log, if one is asked for */
static int compile_and_log(struct args *a)
{
	bool lost;
	int rc;

	if (!a->logfile)
		return compile_with_kernels(a);
	logfile = fopen(a->logfile, "we");
	if (!logfile) {
		say(true, "%s: %s", a->logfile, strerror(errno));
		return 1;
	}
	rc = compile_with_kernels(a);
	lost = ferror(logfile);
	lost = fclose(logfile) || lost;
	logfile = NULL;
	if (lost)
		say(true, "%s: not all of the log could be written", a->logfile);
	return lost ? 1 : rc;
}

static int list_operators(enum ncc_framework framework)
{
	const char *name;

	if (framework == NCC_IR)
		return options_refuse("list-operators takes XLA or ONNX", NULL);
	for (unsigned int i = 0;
	     (name = framework == NCC_XLA ? ncc_hlo_operator(i) : ncc_onnx_operator(i)); i++)
		if (puts(name) < 0)
			return 1;
	return 0;
}

static void free_args(struct args *a)
{
	for (unsigned int i = 0; i < a->opt.ninputs; i++)
		free((void *)a->input[i].value);
}

static int run(struct args *a, const char *command)
{
	if (!*command)
		return options_refuse("a command is missing", NULL);
	if (!strcmp(command, "list-operators"))
		return list_operators(a->opt.framework);
	if (!a->framework)
		return options_refuse("--framework is missing", NULL);
	if (!a->input_file)
		return options_refuse("an input file is missing", NULL);
	return compile_and_log(a);
}

int main(int argc, char **argv)
{
	static struct args a = { .output = "file.neff",
				 .opt = { .compress_constants = NCC_COMPRESS_AUTO,
					  .print_elements = 16 } };
	const char *command = argc > 1 ? argv[1] : "";
	int rc;

	if (*command && strcmp(command, "compile") && strcmp(command, "list-operators") &&
	    command[0] != '-')
		return options_refuse("unknown command", command);
	if (*command && command[0] != '-') {
		argv[1] = argv[0];
		argc--;
		argv++;
	} else {
		command = "";
	}
	rc = options_parse(&a, argc, argv);
	if (!rc)
		rc = run(&a, command);
	free_args(&a);
	return output_end("neuronx-cc", rc < 0 ? 0 : rc);
}
