/** Builds the part that runs checks and records receipts. */
import { existsSync } from "node:fs";
import { checkOf } from "@aegis/contract/check.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import { diffTrees } from "@aegis/lib/git/diff.ts";
import { hasRepository } from "@aegis/lib/git/repository.ts";
import { errorText } from "@aegis/lib/log.ts";
import { ownConsent } from "@aegis/lib/own-consent.ts";
import type { ConsentCheck } from "@aegis/project/trust/judge.ts";
import { folderOf, type SessionExtensions } from "@aegis/sessions/extensions.ts";
import type { Boundaries } from "@aegis/worktrees/boundaries.ts";
import { Checks } from "@aegis/worktrees/checks/checks.ts";
import type { CheckConsent } from "@aegis/worktrees/checks/consent.ts";
import type { FileStates } from "@aegis/worktrees/checks/measure.ts";
import { ReceiptViews } from "@aegis/worktrees/checks/views.ts";
import type { Confine } from "./build-confinement.ts";
import type { BuildOptions } from "./build-options.ts";
import type { SessionParts } from "./build-sessions.ts";

export type BuildChecksOptions = Pick<BuildOptions, "root" | "store" | "clock" | "env" | "settings" | "redact"> &
  Pick<SessionParts, "inbox" | "sessions"> & {
    extensions: SessionExtensions;
    boundaries: Boundaries;
    confine: Confine;
    judge: ConsentCheck;
  };

export type CheckParts = { checks: Checks; receipts: ReceiptViews; checkConsent: CheckConsent };

export function buildChecks(options: BuildChecksOptions): CheckParts {
  const { root, store, clock, env, redact, inbox, sessions, extensions } = options;
  const files = fileStates(options.boundaries);
  const checks = new Checks({
    store,
    clock,
    confine: (session, folder) => options.confine({ session, folder }),
    daemonEnv: env,
    redact,
    inbox,
    sessions,
    files,
    folderOf: (session) => folderOf(extensions, session, root),
  });
  const receipts = new ReceiptViews({
    store,
    files,
    sessions,
    async presentFolder(session) {
      const worktree = await store.read.worktrees.get(session);
      if (worktree === null) return root;
      return worktree.dir !== null && existsSync(worktree.dir) ? worktree.dir : null;
    },
  });
  return { checks, receipts, checkConsent: consentOf(options) };
}

/** What each origin of a command requires at each of its runs. */
function consentOf({ judge, settings }: Pick<BuildChecksOptions, "judge" | "settings">): CheckConsent {
  return async (origin, command) => {
    if (origin === "person") return ownConsent("check");
    if (origin === "agent") return ownConsent("approved");
    if ("workflow" in origin) {
      const { workflow, plugin } = origin;
      return judge.workflow(workflow, plugin === null ? null : judge.loadedPlugin(plugin));
    }
    const given = settings().config.queues[origin.queue]?.check;
    if (given === undefined || checkOf(given).command !== command)
      throw new AegisError("forbidden", `the configuration of queue "${origin.queue}" has changed`);
    return judge.commands(`queues.${origin.queue}.check`);
  };
}

function fileStates(boundaries: Boundaries): FileStates {
  return {
    async now(folder) {
      if (!hasRepository(folder)) return { tree: null, head: null, problem: "not a git project: no tree was recorded" };
      try {
        const { tree, head } = await boundaries.now(folder);
        return { tree, head };
      } catch (error) {
        return { tree: null, head: null, problem: `git recorded no tree: ${errorText(error)}` };
      }
    },
    async changed(folder, from, to) {
      return (await diffTrees(await boundaries.repository(folder), from, to)).map(({ path }) => path);
    },
  };
}
