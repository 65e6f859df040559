/** Starts programs confined: the same interface as for programs that are not. */
import type { Command, Processes } from "@aegis/lib/process.ts";
import type { SandboxNetwork } from "./network/network.ts";
import type { SandboxPolicy } from "./policy.ts";
import type { Sandbox } from "./sandbox.ts";

/** What one start is confined to. */
export type Confinement = { policy: SandboxPolicy; network: SandboxNetwork; env: Readonly<Record<string, string>> };

/**
 * `confinementOf` decides for each start; null starts the program unconfined. A start that must be confined and cannot
 * be throws `SandboxUnavailable` and spends its consent.
 */
export function confined(
  processes: Processes,
  sandbox: Sandbox,
  confinementOf: (command: Command) => Promise<Confinement | null>,
): Processes {
  return {
    ...processes,
    async start(command, consent) {
      const confinement = await confinementOf(command);
      if (confinement === null) return processes.start(command, consent);
      const { policy, network, env } = confinement;
      const inside = await sandbox.confine({ ...command, env: { ...command.env, ...env } }, policy, network);
      return processes.start(inside, consent);
    },
  };
}
