/* SPDX-License-Identifier: MIT */
/*
 * neuron-emud's command line: the time of a command, its status and signals, the socket's name and
 * mode, and what is refused. test_command PATH-OF-neuron-emud
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "peers.h"

static char dir[] = "/tmp/emud-command.XXXXXX";

/* Starts the program; what it says on both its outputs goes to the pipe. */
static pid_t start(const char *const *args, int *out)
{
	const char *argv[16] = { peers_server };
	int fd[2];
	pid_t pid;

	for (unsigned int i = 0; args[i]; i++)
		argv[1 + i] = args[i];
	ck_assert_int_eq(pipe2(fd, O_CLOEXEC), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* a shell cannot trap what it inherits as ignored, of nohup for example */
		signal(SIGHUP, SIG_DFL);
		signal(SIGINT, SIG_DFL);
		dup2(fd[1], 1);
		dup2(fd[1], 2);
		execv(peers_server, (char **)(uintptr_t)argv);
		_exit(99);
	}
	close(fd[1]);
	*out = fd[0];
	return pid;
}

static int end(pid_t pid, int out, char text[4096])
{
	size_t n = 0;
	ssize_t got;
	int status;

	while (n < 4095 && (got = read(out, text + n, 4095 - n)) > 0)
		n += (size_t)got;
	text[n] = '\0';
	close(out);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int run(const char *const *args, char text[4096])
{
	int out;
	pid_t pid = start(args, &out);

	return end(pid, out, text);
}

#define SH(script) "--instance", "trn1.2xlarge", "--", "sh", "-c", script, NULL
#define RUN(text, ...) run((const char *const[]){ __VA_ARGS__, NULL }, text)

START_TEST(statuses)
{
	char text[4096];

	ck_assert_int_eq(RUN(text, SH("exit 0")), 0);
	ck_assert_int_eq(RUN(text, SH("exit 7")), 7);
	ck_assert_int_eq(RUN(text, SH("kill -TERM $$")), 128 + SIGTERM);
	ck_assert_int_eq(RUN(text, "--", "/nonexistent/command"), 127);
	ck_assert_str_eq(text, "neuron-emud: /nonexistent/command: No such file or directory\n");
	ck_assert_int_eq(RUN(text, "--", "/"), 126);
}
END_TEST

/* The socket is the command's to find, its user's alone, and gone afterwards. */
START_TEST(environment)
{
	char text[4096], *path;
	struct stat st;

	setenv("NEURON_EMU_FAULTS", "nd0:dma-abort=1", 1);
	ck_assert_int_eq(RUN(text, SH("echo $NEURON_EMU; stat -c %a ${NEURON_EMU#unix:}; "
				      "stat -c %a $(dirname ${NEURON_EMU#unix:}); "
				      "echo ${NEURON_EMU_FAULTS-none}")),
			 0);
	unsetenv("NEURON_EMU_FAULTS");
	ck_assert_ptr_nonnull(strstr(text, "\n600\n700\nnone\n"));
	ck_assert_int_eq(strncmp(text, "unix:/", 6), 0);
	*strchr(text, '\n') = '\0';
	path = text + 5;
	ck_assert_int_eq(stat(path, &st), -1);
	*strrchr(path, '/') = '\0';
	ck_assert_int_eq(stat(path, &st), -1);
}
END_TEST

/* Signals are passed on, and those that end a server do not end it before its command. */
START_TEST(signals)
{
	static const int sig[] = { SIGTERM, SIGINT, SIGHUP, SIGUSR1 };
	char text[4096], line[16] = { 0 };
	int out;
	pid_t pid = start((const char *const[]){ SH("trap 'exit 9' TERM INT HUP USR1; echo ready; "
						    "while :; do sleep 0.05; done") },
			  &out);

	ck_assert_int_eq(read(out, line, 6), 6);
	ck_assert_str_eq(line, "ready\n");
	ck_assert_int_eq(kill(pid, sig[_i]), 0);
	ck_assert_int_eq(end(pid, out, text), 9);
}
END_TEST

START_TEST(refusals)
{
	char text[4096], path[64];
	int out;
	pid_t pid;

	snprintf(path, sizeof(path), "%s/s", dir);
	ck_assert_int_eq(RUN(text, "--instance", "trn1.2xlarge"), 1);
	ck_assert_int_eq(strncmp(text, "usage: ", 7), 0);
	ck_assert_int_eq(RUN(text, "--instance", "trn9.2xlarge", "--socket", path), 1);
	ck_assert_str_eq(text, "neuron-emud: trn9.2xlarge: no such instance\n");
	ck_assert_int_eq(RUN(text, "--mode", "0999", "--socket", path), 1);
	ck_assert_str_eq(text, "neuron-emud: 0999: not a mode of a file, such as 0660\n");
	ck_assert_int_eq(RUN(text, "--group", "no-such-group", "--socket", path), 1);
	ck_assert_int_eq(RUN(text, "--socket", "/nonexistent/s"), 1);
	ck_assert_str_eq(text, "neuron-emud: /nonexistent/s: No such file or directory\n");
	ck_assert_int_eq(RUN(text, "--socket", dir), 1);
	ck_assert_ptr_nonnull(strstr(text, "File exists"));

	/* one server at a name; what one that was killed left is taken away */
	pid = server_start((const char *const[]){ "--mode", "0660", NULL });
	ck_assert_int_eq(RUN(text, "--socket", peers_socket), 1);
	ck_assert_ptr_nonnull(strstr(text, "Address already in use"));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	pid = start((const char *const[]){ "--socket", peers_socket, "--", "true", NULL }, &out);
	ck_assert_int_eq(end(pid, out, text), 0);
}
END_TEST

int main(int argc, char **argv)
{
	Suite *s = suite_create("emud-command");
	TCase *tc = tcase_create("command");
	int failed;

	if (argc < 2 || !mkdtemp(dir))
		return 2;
	peers_server = argv[1];
	tcase_add_test(tc, statuses);
	tcase_add_test(tc, environment);
	tcase_add_loop_test(tc, signals, 0, 4);
	tcase_add_test(tc, refusals);
	suite_add_tcase(s, tc);
	failed = check_run_here(s);
	rmdir(dir);
	return failed;
}
