import type { RequestHandler } from 'express';
import type { SandboxContext } from '../context.js';
import { originOf } from '../origin.js';
import { queryParameters } from '../parameters.js';
import { accountResource } from './account-resource.js';
import { driftedAccount } from './drift.js';
import { sendError, sendRefusal, sendSuccess } from './errors.js';
import { requiredString } from './key-parameters.js';
import { workspaceOfKey } from './workspace-of-key.js';

/** GET /api/account/details → `{status, data: Account}` (spec, "Endpoints"). */
export function accountDetails({ data, dialect }: SandboxContext): RequestHandler {
  return (req, res) => {
    const apiKey = requiredString(queryParameters(req), 'api_key', dialect);
    if ('refusal' in apiKey) return sendRefusal(res, dialect, 400, apiKey.refusal);

    const workspace = workspaceOfKey(data, apiKey.value);
    if (!workspace) return sendError(res, dialect, 'account-details');
    const account = accountResource(workspace, originOf(req));
    const isFirst = workspace === data.workspaces[0];
    sendSuccess(res, dialect, { data: driftedAccount(account, dialect, isFirst) });
  };
}
