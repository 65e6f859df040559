/**
 * Consents for programs that Aegis starts for itself or at a person's command. No project content decides what they
 * run, so no trust in that content is required. `test/architecture.test.ts` lists the allowed callers of each reason.
 */
import { Consent } from "./consent.ts";

const reasons = {
  git: "git reads, compares and stores files, without hooks, filters or programs that the project names",
  probe: "a harness on the user's PATH is asked for its version, outside the project's folder",
  install: "a person has just agreed to install or remove a plugin, whose install script or modules run for it",
  approved: "an agent named the command of a check, and has the right to run it or a person approved it",
  check: "a person named the command that checks work",
  notify: "the user asked for desktop notifications, which a program of the desktop shows",
  sandbox: "the sandbox runs a program of Aegis to prove that it confines programs",
  validate: "a plugin is loaded because a person named it to `aegis plugin validate --load`",
} as const;

export type OwnReason = keyof typeof reasons;

export function ownConsent(reason: OwnReason): Consent {
  return Consent.grant(reasons[reason]);
}
