/* SPDX-License-Identifier: MIT */
/*
 * An application error: a NERR code and the stack of "[MODULE:function] text" lines that travels in
 * status.details, innermost first. Functions that fail return the code and fill in the struct.
 */
#ifndef RTD_ERROR_H
#define RTD_ERROR_H

#include <stdbool.h>
#include <stddef.h>

enum rtd_nerr {
	NERR_OK = 0,
	NERR_FAIL = 1,
	NERR_INVALID = 2,
	NERR_INVALID_HANDLE = 3,
	NERR_RESOURCE = 4,
	NERR_TIMEOUT = 5,
	NERR_HW_ERROR = 6,
	NERR_QUEUE_FULL = 7,
	NERR_FAILED_STATE = 8,
	NERR_RESOURCE_NC = 9,
	NERR_UNSUPPORTED_VERSION = 10,
	NERR_INFER_PENDING = 1000,
	NERR_INFER_CANCELLED = 1001,
	NERR_INFER_BAD_INPUT = 1002,
	NERR_INFER_COMPLETED_WITH_NUM_ERR = 1003,
	NERR_INFER_COMPLETED_WITH_ERR = 1004,
};

struct rtd_err {
	int code;
	bool hardware; /* caused by the chip, not by the program */
	size_t len;
	char text[1024];
};

/* Sets the code, unless an inner failure has set one, and adds a line. Returns err->code. */
int rtd_err_add(struct rtd_err *err, int code, const char *module, const char *function,
		const char *format, ...) __attribute__((format(printf, 5, 6)));
/* Adds ready-made lines, those of libnrt, as they are. */
void rtd_err_lines(struct rtd_err *err, const char *lines);

/* Cleans a client's text for a line: no part of it may end the line or control a terminal. */
void rtd_text_clean(char *text);
/* Cleans it for a protobuf string, which must be UTF-8: other characters than ASCII become '?'. */
void rtd_text_ascii(char *text);

#define rtd_fail(err, code, module, ...) rtd_err_add(err, code, module, __func__, __VA_ARGS__)

#endif
