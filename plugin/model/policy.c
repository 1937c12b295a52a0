/* SPDX-License-Identifier: Apache-2.0 */
#include "model/policy.h"

static bool is_alphanumeric(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool skm_policy_is_profile_name(const char *text, size_t length, const char **ret_reason)
{
	*ret_reason = "empty; write the name of a profile of the node file";
	if (length == 0)
		return false;
	*ret_reason = "longer than 63 bytes, which no profile's name is";
	if (length > SKM_PROFILE_MAX)
		return false;
	*ret_reason = "no name of a profile: letters, digits, '-', '_' and '.', the first and the last a letter or a digit";
	for (size_t i = 0; i < length; i++)
		if (!is_alphanumeric(text[i]) && text[i] != '-' && text[i] != '_' && text[i] != '.')
			return false;
	return is_alphanumeric(text[0]) && is_alphanumeric(text[length - 1]);
}
