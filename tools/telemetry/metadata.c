// SPDX-License-Identifier: MIT
/*
 * A client of the instance metadata service, version 2: a token, then the documents, on one
 * connection. Whatever answers is not trusted: lengths are bounded and only printable ASCII is kept.
 */
#include "metadata.h"
#include "host.h"
#include "process.h"

#include "ndlx.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define DMI "/sys/class/dmi/id"
#define ENDPOINT "http://169.254.169.254"
#define DEADLINE_MS 1500 /* of all documents: who starts a monitor waits for its first line */
#define ANSWER 4096

struct service {
	struct sockaddr_in at;
	int fd;
	char token[256];
	int64_t deadline; /* milliseconds */
	int error; /* -errno of the first that failed; nothing is asked after it */
};

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static int wait_for(const struct service *s, short events)
{
	struct pollfd p = { .fd = s->fd, .events = events };
	int64_t left = s->deadline - now_ms();
	int n = left > 0 ? poll(&p, 1, (int)left) : 0;

	if (n > 0)
		return 0;
	return n ? -errno : -ETIMEDOUT;
}

static int open_connection(struct service *s)
{
	socklen_t len = sizeof(int);
	int err;

	s->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (s->fd < 0)
		return -errno;
	if (!connect(s->fd, (const struct sockaddr *)&s->at, sizeof(s->at)))
		return 0;
	if (errno != EINPROGRESS)
		return -errno;
	err = wait_for(s, POLLOUT);
	if (!err && getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &err, &len))
		return -errno;
	return err > 0 ? -err : err;
}

/* The bytes of a whole answer, or 0 while some of it has not come */
static size_t answer_length(const char *answer)
{
	const char *body = strstr(answer, "\r\n\r\n"), *length = strcasestr(answer, "\r\nContent-"
										    "Length:");
	unsigned n = 0;

	if (!body)
		return 0;
	body += 4;
	if (length && length < body && sscanf(length + 17, "%5u", &n) != 1)
		n = 0;
	return strlen(body) >= n ? (size_t)(body - answer) + n : 0;
}

static int exchange(const struct service *s, const char *request, char answer[ANSWER])
{
	size_t used = 0;
	int ret = 0;

	if (send(s->fd, request, strlen(request), MSG_NOSIGNAL) != (ssize_t)strlen(request))
		return -EPIPE;
	answer[0] = '\0';
	while (!ret && !answer_length(answer)) {
		ssize_t n;

		ret = used < ANSWER - 1 ? wait_for(s, POLLIN) : -EPROTO;
		n = ret ? 0 : recv(s->fd, answer + used, ANSWER - 1 - used, 0);
		if (!ret && n <= 0)
			ret = n ? -errno : -EPROTO;
		used += n > 0 ? (size_t)n : 0;
		answer[used] = '\0';
	}
	if (!ret)
		answer[answer_length(answer)] = '\0';
	return ret;
}

/* The body of an answer with status 200, one line of it; -ENOENT for another status */
static int take_body(char *answer, char *text, size_t size)
{
	char *body = strstr(answer, "\r\n\r\n");
	unsigned status;

	if (!body || sscanf(answer, "HTTP/1.%*1[01] %3u", &status) != 1)
		return -EPROTO;
	if (status != 200)
		return -ENOENT;
	body += 4;
	body[strcspn(body, "\r\n")] = '\0';
	ls_printable(body);
	snprintf(text, size, "%s", body);
	return 0;
}

static int ask(struct service *s, const char *method, const char *path, char *text, size_t size)
{
	char request[1024], answer[ANSWER];
	int ret;

	text[0] = '\0';
	if (s->error)
		return s->error;
	snprintf(request, sizeof(request),
		 "%s /latest/%s HTTP/1.1\r\nHost: instance-data\r\n"
		 "X-aws-ec2-metadata-token%s: %s\r\nContent-Length: 0\r\n\r\n",
		 method, path, *s->token ? "" : "-ttl-seconds", *s->token ? s->token : "60");
	ret = exchange(s, request, answer);
	if (!ret)
		ret = take_body(answer, text, size);
	if (ret && ret != -ENOENT)
		s->error = ret;
	return ret;
}

static void ask_all(struct service *s, struct tm_instance *i)
{
	char token[sizeof(s->token)], mac[64], path[160];

	if (ask(s, "PUT", "api/token", token, sizeof(token)) || !*token) {
		s->error = s->error ? s->error : -EPROTO;
		return;
	}
	strcpy(s->token, token);
	ask(s, "GET", "meta-data/instance-id", i->id, sizeof(i->id));
	ask(s, "GET", "meta-data/instance-type", i->type, sizeof(i->type));
	ask(s, "GET", "meta-data/ami-id", i->ami, sizeof(i->ami));
	ask(s, "GET", "meta-data/placement/availability-zone", i->zone, sizeof(i->zone));
	ask(s, "GET", "meta-data/placement/availability-zone-id", i->zone_id, sizeof(i->zone_id));
	ask(s, "GET", "meta-data/placement/region", i->region, sizeof(i->region));
	ask(s, "GET", "meta-data/tags/instance/Name", i->name, sizeof(i->name));
	if (ask(s, "GET", "meta-data/mac", mac, sizeof(mac)) || strchr(mac, '/'))
		return;
	snprintf(path, sizeof(path), "meta-data/network/interfaces/macs/%s/subnet-id", mac);
	ask(s, "GET", path, i->subnet, sizeof(i->subnet));
}

/* http://ADDRESS[:PORT][/]: an IPv4 address, as the service's own */
static int parse_endpoint(const char *text, struct sockaddr_in *at)
{
	char address[64];
	unsigned port = 80;

	if (sscanf(text, "http://%63[0-9.]:%u", address, &port) < 1 || !port || port > 65535)
		return -EINVAL;
	at->sin_family = AF_INET;
	at->sin_port = htons((uint16_t)port);
	return inet_pton(AF_INET, address, &at->sin_addr) == 1 ? 0 : -EINVAL;
}

static bool is_ec2(void)
{
	FILE *f = fopen(DMI "/sys_vendor", "re");
	char vendor[64] = "";
	bool yes = f && fgets(vendor, sizeof(vendor), f) && !strncmp(vendor, "Amazon EC2", 10);

	if (f)
		fclose(f);
	return yes;
}

static bool disabled(void)
{
	const char *text = getenv("AWS_EC2_METADATA_DISABLED");

	return text && !strcasecmp(text, "true");
}

void tm_instance_read(struct tm_instance *i)
{
	const char *endpoint = getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT");
	struct service s = { .fd = -1, .deadline = now_ms() + DEADLINE_MS };
	struct tm_instance own = { 0 };

	memset(i, 0, sizeof(*i));
	snprintf(own.type, sizeof(own.type), "%s", ndlx_machine_instance());
	if (!ndlx_machine_is_emu())
		ls_host_instance_id(DMI, own.id, sizeof(own.id));
	if (!disabled() && (endpoint || (!ndlx_machine_is_emu() && is_ec2()))) {
		s.error = parse_endpoint(endpoint && *endpoint ? endpoint : ENDPOINT, &s.at);
		if (!s.error)
			s.error = open_connection(&s);
		if (!s.error)
			ask_all(&s, i);
		if (s.fd >= 0)
			close(s.fd);
		if (s.error)
			snprintf(i->error, sizeof(i->error), "instance metadata service: %s",
				 strerror(-s.error));
	}
	if (!*i->type)
		memcpy(i->type, own.type, sizeof(i->type));
	if (!*i->id)
		memcpy(i->id, own.id, sizeof(i->id));
}
