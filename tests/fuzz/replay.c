// SPDX-License-Identifier: MIT
/*
 * Runs a fuzz target over files, or the contents of archives, once each, in order: this makes the
 * kept corpus a test. usage: fuzz_TARGET FILE|ARCHIVE.tar...
 */
#include <archive.h>
#include <archive_entry.h>
#include <sys/stat.h>

#include "fuzz.h"

static unsigned int done;

static int unreadable(const char *name)
{
	fprintf(stderr, "%s: cannot read it\n", name);
	return 1;
}

static void run(const char *name, const uint8_t *data, size_t size)
{
	if (getenv("FUZZ_VERBOSE"))
		fprintf(stderr, "%s\n", name);
	LLVMFuzzerTestOneInput(data, size);
	done++;
}

/* Copies an input into memory of exactly its size, so that the sanitizer sees a read beyond it. */
static uint8_t *room(size_t size)
{
	return malloc(size ? size : 1);
}

static int run_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data = NULL;
	struct stat st;
	int failed = 0;

	if (!f)
		return unreadable(path);
	if (!fstat(fileno(f), &st))
		data = room((size_t)st.st_size);
	if (data && fread(data, 1, (size_t)st.st_size, f) == (size_t)st.st_size)
		run(path, data, (size_t)st.st_size);
	else
		failed = unreadable(path);
	free(data);
	fclose(f);
	return failed;
}

static int run_archive(const char *path)
{
	struct archive *a = archive_read_new();
	struct archive_entry *entry;
	int ret, failed = 0;

	archive_read_support_format_tar(a);
	ret = archive_read_open_filename(a, path, 1 << 16);
	while (!ret && !(ret = archive_read_next_header(a, &entry))) {
		size_t size = (size_t)archive_entry_size(entry);
		uint8_t *data = room(size);

		if (data && archive_read_data(a, data, size) == (la_ssize_t)size)
			run(archive_entry_pathname(entry), data, size);
		else
			failed = unreadable(archive_entry_pathname(entry));
		free(data);
	}
	archive_read_free(a);
	return ret == ARCHIVE_EOF ? failed : unreadable(path);
}

int main(int argc, char **argv)
{
	int failed = 0;

	for (int i = 1; i < argc; i++) {
		const char *end = strrchr(argv[i], '.');

		failed |= end && !strcmp(end, ".tar") ? run_archive(argv[i]) : run_file(argv[i]);
	}
	printf("%u inputs\n", done);
	return failed || !done;
}
