import type { SandboxData } from '../data/sandbox-data.js';
import { isSameSecret } from '../same-secret.js';
import type { SeedWorkspace } from '../seed/types.js';

/** The workspace an api_key belongs to, if any: each operation acts on what belongs to its account. */
export const workspaceOfKey = (
  data: SandboxData,
  apiKey: string,
): Readonly<SeedWorkspace> | undefined =>
  data.workspaces.find(
    (workspace) => workspace.api_key !== undefined && isSameSecret(apiKey, workspace.api_key),
  );
