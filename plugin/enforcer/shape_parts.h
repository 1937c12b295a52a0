/* SPDX-License-Identifier: Apache-2.0 */
/* What shape.c and shape_ends.c share. */
#ifndef SKM_ENFORCER_SHAPE_PARTS_H
#define SKM_ENFORCER_SHAPE_PARTS_H

#include "enforcer/container.h"

/* Gives the next errand; none may be under way. want: of APPLY and UPDATE, else NULL. Returns 0 or -errno, told. */
int skm_shape_give(struct skm_container *container, enum skm_shape_verb verb, const struct skm_tc_want *want);

/* Takes what came of the errand, if it is done, and does what follows from it. */
void skm_shape_take(struct skm_container *container);

void skm_shape_drop(struct skm_container *container);

#endif
