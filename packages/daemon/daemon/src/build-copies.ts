/** Builds the parts that know the git working trees of sessions. */
import { createHash } from "node:crypto";
import { basename, isAbsolute, join, resolve } from "node:path";
import type { SessionId } from "@aegis/contract/ids.ts";
import { gitRunner } from "@aegis/lib/git/run.ts";
import { homeOf } from "@aegis/lib/home.ts";
import type { ConsentCheck } from "@aegis/project/trust/judge.ts";
import type { SessionExtensions } from "@aegis/sessions/extensions.ts";
import { Boundaries } from "@aegis/worktrees/boundaries.ts";
import { SessionChanges } from "@aegis/worktrees/changes.ts";
import { FileClaims } from "@aegis/worktrees/claims/claims.ts";
import { Landings } from "@aegis/worktrees/landing/landings.ts";
import { Removal } from "@aegis/worktrees/removal.ts";
import { Rescues } from "@aegis/worktrees/rescue/rescues.ts";
import { SessionFiles } from "@aegis/worktrees/session-files.ts";
import { CopyEdges } from "@aegis/worktrees/turn-edges.ts";
import { Worktrees } from "@aegis/worktrees/worktrees.ts";
import type { CheckParts } from "./build-checks.ts";
import type { Confine } from "./build-confinement.ts";
import type { BuildOptions } from "./build-options.ts";
import type { SessionParts } from "./build-sessions.ts";

export type CopyParts = {
  boundaries: Boundaries;
  changes: SessionChanges;
  files: SessionFiles;
  worktrees: Worktrees;
  rescues: Rescues;
  /** The landings that are at work, by the session whose branch moves. */
  landing: Map<SessionId, Promise<void>>;
};

export type LandingParts = { removal: Removal; landings: Landings };

/** Built before the hooks, which call it for each tool call. */
export function buildClaims({
  root,
  store,
  clock,
  log,
  redact,
  settings,
}: Pick<BuildOptions, "root" | "store" | "clock" | "log" | "redact" | "settings">): FileClaims {
  return new FileClaims({ root, store, clock, log, redact, automatic: () => settings().config.claims.automatic });
}

export type BuildCopiesOptions = Pick<
  BuildOptions,
  "root" | "store" | "clock" | "log" | "processes" | "env" | "settings" | "signal"
> & {
  extensions: SessionExtensions;
  judge: ConsentCheck;
  claims: FileClaims;
  confine: Confine;
};

export function buildCopies(options: BuildCopiesOptions): CopyParts {
  const { root, store, clock, log, processes, env, settings, signal, extensions, judge, claims } = options;
  const git = gitRunner({ processes, env });
  const boundaries = new Boundaries({ store, clock, log, git, root });
  const shownFolder = async (session: SessionId) => (await store.read.worktrees.get(session))?.dir ?? root;
  const changes = new SessionChanges({ store, boundaries, folderOf: shownFolder });
  const files = new SessionFiles({ boundaries, clock, folderOf: shownFolder });
  const folder = () => worktreeFolder({ root, env, settings });
  const worktrees = new Worktrees({
    store,
    clock,
    log,
    git,
    boundaries,
    root,
    signal,
    folder,
    ports: () => settings().config.worktrees.ports,
    confine: (session, folder) => options.confine({ session, folder }),
    fill: {
      settings: () => settings().config.worktrees,
      consent: () => judge.commands("worktrees.setup"),
      daemonEnv: env,
    },
  });
  const landing = new Map<SessionId, Promise<void>>();
  extensions.folders.push(worktrees);
  extensions.turnEdges.push(
    new CopyEdges({ store, clock, log, signal, root, extensions, boundaries, changes, claims, landing }),
  );
  const rescues = new Rescues({ git, clock, root, folder });
  return { boundaries, changes, files, worktrees, rescues, landing };
}

export type BuildLandingOptions = Pick<
  BuildOptions,
  "root" | "store" | "clock" | "log" | "processes" | "env" | "settings" | "signal"
> &
  Pick<CopyParts, "boundaries" | "rescues" | "landing"> &
  Pick<SessionParts, "inbox" | "turns" | "conversations"> &
  CheckParts;

/** Removal and landing end turns, send messages and run checks. */
export function buildLanding(options: BuildLandingOptions): LandingParts {
  const { root, store, clock, log, processes, env, settings, signal, boundaries, rescues, landing } = options;
  const { inbox, turns, conversations, checks, receipts, checkConsent } = options;
  const git = gitRunner({ processes, env });
  const settle = async (session: SessionId) => {
    await turns.interrupt(session);
    await conversations.close(session);
  };
  const removal = new Removal({ store, clock, log, git, root, boundaries, rescues, settle });
  const landings = new Landings({
    store,
    clock,
    log,
    git,
    root,
    folder: () => worktreeFolder({ root, env, settings }),
    boundaries,
    rescues,
    removal,
    inbox,
    signal,
    checks,
    receipts,
    landing,
    consent: (command) => checkConsent("person", command),
  });
  return { removal, landings };
}

/** Outside of the project, because tools that walk the project would find the files of every worktree. */
function worktreeFolder({ root, env, settings }: Pick<BuildOptions, "root" | "env" | "settings">): string {
  const { dir } = settings().config.worktrees;
  const id = `${basename(root)}-${createHash("sha256").update(root).digest("hex").slice(0, 8)}`;
  const home = homeOf(env);
  if (dir !== undefined) return join(resolve(root, dir.replace(/^~(?=\/|$)/, home)), id);
  const data = env.XDG_DATA_HOME;
  return join(data !== undefined && isAbsolute(data) ? data : join(home, ".local", "share"), "aegis", "worktrees", id);
}
