/* SPDX-License-Identifier: Apache-2.0 */
/* What the program can do. Each takes the words behind its name and returns an exit code. */
#ifndef SOCKLOAD_VERBS_H
#define SOCKLOAD_VERBS_H

int verb_serve(int argc, char **argv);
int verb_drain(int argc, char **argv);
int verb_blast(int argc, char **argv);
int verb_push(int argc, char **argv);
int verb_stream(int argc, char **argv);
int verb_echo(int argc, char **argv);
int verb_udp(int argc, char **argv);
int verb_watch(int argc, char **argv);

#endif
