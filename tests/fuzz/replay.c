// SPDX-License-Identifier: MIT
/*
 * Runs a fuzz target over files and directories of files, once each, in the order of their names:
 * how the kept corpus is a test. usage: fuzz_TARGET FILE|DIRECTORY...
 */
#include <dirent.h>
#include <sys/stat.h>

#include "fuzz.h"

static unsigned int done;

static int run_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data = NULL;
	size_t size = 0;
	struct stat st;

	if (!f || fstat(fileno(f), &st)) {
		perror(path);
		return 1;
	}
	/* exactly as large as the input: the sanitizer sees a read beyond it */
	data = malloc(st.st_size ? (size_t)st.st_size : 1);
	if (data)
		size = fread(data, 1, (size_t)st.st_size, f);
	fclose(f);
	if (!data || size != (size_t)st.st_size) {
		fprintf(stderr, "%s: cannot read it\n", path);
		free(data);
		return 1;
	}
	if (getenv("FUZZ_VERBOSE"))
		fprintf(stderr, "%s\n", path);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
	done++;
	return 0;
}

static int not_hidden(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

static int run_directory(const char *path)
{
	struct dirent **list;
	int n = scandir(path, &list, not_hidden, alphasort), failed = 0;
	char name[4096];

	if (n < 0) {
		perror(path);
		return 1;
	}
	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%s/%s", path, list[i]->d_name);
		failed |= run_file(name);
		free(list[i]);
	}
	free(list);
	return failed;
}

int main(int argc, char **argv)
{
	struct stat st;
	int failed = 0;

	for (int i = 1; i < argc; i++) {
		if (stat(argv[i], &st)) {
			perror(argv[i]);
			failed = 1;
		} else {
			failed |= S_ISDIR(st.st_mode) ? run_directory(argv[i]) : run_file(argv[i]);
		}
	}
	printf("%u inputs\n", done);
	return failed || !done;
}
