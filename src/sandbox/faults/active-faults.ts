import type { Request, Response } from 'express';
import { interfaceOf } from '../record.js';
import type { FaultSettings, SandboxFaults } from './faults.js';

/** The faults as they stood when a request came in. */
export type ActiveFaults = Readonly<FaultSettings>;

const active = new WeakMap<Response, ActiveFaults>();

function isAnyOn({ only, times, ...faults }: ActiveFaults): boolean {
  return Object.values(faults).some((value) => value !== false && value !== 0);
}

/** Decides whether the faults hit this request, and remembers them for its answer if so. */
export function hitByFaults(
  faults: SandboxFaults,
  req: Request,
  res: Response,
): ActiveFaults | undefined {
  const snapshot: ActiveFaults = { ...faults };
  const { only, times } = snapshot;
  if (!isAnyOn(snapshot)) return undefined;
  if (only !== undefined && only !== req.path && only !== interfaceOf(req.path)) return undefined;
  if (times === 1) faults.clear();
  else if (times !== undefined) faults.times = times - 1;
  active.set(res, snapshot);
  return snapshot;
}

/** The faults that hit the request this response belongs to. */
export const activeFaults = (res: Response): ActiveFaults | undefined => active.get(res);
