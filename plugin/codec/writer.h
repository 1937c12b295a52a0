/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a JSON text, without a word about json-c. A failure on the way (out of memory) is kept and shown by finish alone, so
 * that no call in between needs a check. */
#ifndef SKM_CODEC_WRITER_H
#define SKM_CODEC_WRITER_H

#include <stdbool.h>
#include <stdint.h>

struct skm_writer;

/* A writer that stands in an empty object, or array, which will be the whole document. NULL (out of memory) may be given to
 * all that follows. */
struct skm_writer *skm_writer_new_object(void);
struct skm_writer *skm_writer_new_array(void);

/* Each adds to the object or array in which the writer stands. key: the member's name, copied; NULL in an array. */
void skm_writer_text(struct skm_writer *writer, const char *key, const char *text); /* NULL: null */
void skm_writer_uint(struct skm_writer *writer, const char *key, uint64_t value);
void skm_writer_int(struct skm_writer *writer, const char *key, int64_t value);
void skm_writer_bool(struct skm_writer *writer, const char *key, bool value);
void skm_writer_null(struct skm_writer *writer, const char *key);

/* A number with up to four decimals: 8312 permyriad is 0.8312. */
void skm_writer_share(struct skm_writer *writer, const char *key, uint32_t permyriad);

/* Opens an object or array inside, in which the writer then stands until the end. At most 16 deep. */
void skm_writer_object(struct skm_writer *writer, const char *key);
void skm_writer_array(struct skm_writer *writer, const char *key);
void skm_writer_end(struct skm_writer *writer);

/* Frees the writer and returns the text, which the caller frees; NULL: out of memory on the way.
 * pretty: indented for a person. The text is ASCII: what is not is written as \u escapes, so that a container's id cannot paint
 * on the terminal that shows it; a byte that is no UTF-8 becomes '?'. */
char *skm_writer_finish(struct skm_writer *writer, bool pretty);

#endif
