/**
 * The port of sandboxes: what confines programs on one kind of machine. `bubblewrap/` is the one for Linux; another
 * implements this interface and passes the table of attacks and necessities in `test/`.
 */
import type { Command } from "@aegis/lib/process.ts";
import type { SandboxNetwork } from "./network/network.ts";
import type { SandboxPolicy } from "./policy.ts";

export interface Sandbox {
  /** Proves once, with the real arguments, that programs are confined here. Later calls return the same report. */
  report(): Promise<SandboxReport>;
  /**
   * Returns the command that runs the given one confined. The program ends together with everything that it started,
   * also when the daemon is killed. Throws `SandboxUnavailable` instead of confining less than the policy says.
   */
  confine(command: Command, policy: SandboxPolicy, network: SandboxNetwork): Promise<Command>;
}

export type SandboxReport =
  | { works: true; name: string }
  /** `cause` and `fix` are sentences for a person. */
  | { works: false; cause: string; fix: string };

/** A program that must be confined and cannot be. It does not start. */
export class SandboxUnavailable extends Error {
  override readonly name = "SandboxUnavailable";
  readonly fix: string;

  constructor({ cause, fix }: { cause: string; fix: string }) {
    super(`the program is not started without its sandbox: ${cause}`);
    this.fix = fix;
  }
}
