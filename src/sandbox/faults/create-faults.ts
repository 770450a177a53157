import { switchboard } from '../switches.js';
import { FAULT_SWITCHES } from './fault-switches.js';
import type { FaultSettings, SandboxFaults } from './faults.js';

/** Makes the fault switches of one sandbox, all off. */
export function createFaults(onChange?: () => void): SandboxFaults {
  const clear = () => {
    for (const key of Object.keys(FAULT_SWITCHES)) Object.assign(board, { [key]: undefined });
  };
  const board = switchboard<FaultSettings>('faults', FAULT_SWITCHES, {
    methods: { clear },
    ...(onChange && { onChange }),
  }) as SandboxFaults;
  return board;
}
